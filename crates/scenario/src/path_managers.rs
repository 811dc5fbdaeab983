//! The path managers. They are part of the protocol machine, so that no other crate adds one: a new one is a row here and
//! a variant of `transport::config::PathManager`.

use registry::{Algorithm, Family, OptionKind, OptionSpec, Options, independent};
use transport::config::{InKernel, PathManager};

/// The one of flows that name none.
pub(crate) const DEFAULT: &str = "per-path";
/// The one that has endpoints.
pub(crate) const IN_KERNEL: &str = "in-kernel";

/// The path managers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathManagers {}

impl Family for PathManagers {
    type Build = Manager;
    const BUILTIN: &'static [Row] = ROWS;
}

/// One path manager.
pub(crate) type Row = Algorithm<PathManagers>;

/// Facts about a path manager that the parser needs beside its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manager {
    /// Makes it.
    pub make: fn(&Options) -> PathManager,
    /// How many subflows it opens.
    pub subflows: Subflows,
    /// Its subflows are bound to addresses; routing decides how others go.
    pub bound: bool,
}

/// Meaning of the option `subflows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subflows {
    /// Subflows on each path.
    OnPath,
    /// Subflows on each pair of addresses.
    OnPair,
    /// All subflows of the connection.
    InAll,
    /// It is a limit, or there is no such option: what the peer announces decides.
    AtMost,
}

const fn row(
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    options: &'static [OptionSpec],
    build: Manager,
) -> Row {
    Row { name, summary, source, notes: "", options, check: independent, build }
}

const fn subflows(default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new("subflows", OptionKind::Integer { min: 1, max: 64 }, default, doc)
}

fn number(options: &Options, name: &str) -> u32 {
    u32::try_from(options.integer(name)).unwrap_or(u32::MAX)
}

const RFC_8684: &str = "RFC 8684 section 3.2";

const ROWS: &[Row] = &[
    row(
        "default",
        "opens nothing and announces nothing, accepts what the peer opens",
        "Linux out-of-tree MPTCP, `default`",
        &[],
        Manager { make: |_| PathManager::Passive, subflows: Subflows::AtMost, bound: false },
    ),
    row(
        DEFAULT,
        "each local address to one remote address that it reaches, known beforehand",
        RFC_8684,
        &[subflows("1", "subflows on each path")],
        Manager {
            make: |options| PathManager::PerPath { subflows: number(options, "subflows") },
            subflows: Subflows::OnPath,
            bound: true,
        },
    ),
    row(
        "fullmesh",
        "each local address to every remote address that the peer has announced",
        RFC_8684,
        &[subflows("1", "subflows on each pair of addresses")],
        Manager {
            make: |options| PathManager::FullMesh { subflows: number(options, "subflows") },
            subflows: Subflows::OnPair,
            bound: true,
        },
    ),
    row(
        "ndiffports",
        "several subflows with different ports between the first pair of addresses",
        RFC_8684,
        &[subflows("2", "subflows in all, the first one included")],
        Manager {
            make: |options| PathManager::NdiffPorts { subflows: number(options, "subflows") },
            subflows: Subflows::InAll,
            bound: false,
        },
    ),
    row(
        "triangle",
        "each local address to those of the server that do not come before it, known beforehand",
        "ns-3 model of MPTCP, Kheirkhah et al., arXiv:1510.07721",
        &[subflows("8", "subflows in all, the first one included, at most")],
        Manager {
            make: |options| PathManager::Triangle { subflows: number(options, "subflows") },
            subflows: Subflows::AtMost,
            bound: true,
        },
    ),
    row(
        IN_KERNEL,
        "endpoints with flags (key `endpoints`) within limits, as `ip mptcp` sets them",
        "Linux since 5.7, `ip-mptcp(8)`",
        &[
            OptionSpec::new(
                "subflows",
                OptionKind::Integer { min: 0, max: 8 },
                "2",
                "further subflows beside the first one, at most",
            ),
            OptionSpec::new(
                "add_addr_accepted",
                OptionKind::Integer { min: 0, max: 8 },
                "0",
                "announced addresses that are used, at most",
            ),
        ],
        Manager {
            make: |options| {
                PathManager::InKernel(InKernel {
                    subflows: number(options, "subflows"),
                    add_addr_accepted: number(options, "add_addr_accepted"),
                    endpoints: Vec::new(),
                })
            },
            subflows: Subflows::AtMost,
            bound: true,
        },
    ),
];

/// The path manager of this name.
pub(crate) fn find(name: &str) -> Option<Manager> {
    ROWS.iter().find(|row| row.name == name).map(|row| row.build)
}
