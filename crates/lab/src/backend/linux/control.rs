//! Coupled congestion controls as BPF programs (`deploy/bpf`), which the kernel does not have itself.
//!
//! May: build them. May not: register them (`emulate` does).

use std::path::{Path, PathBuf};

use emulate::{ControlsNeed, takes_controls};
use scenario::Part;
use scenario::model::Flow;
use units::Bytes;

use super::rules;
use crate::backend::NotReady;
use crate::backend::compiled::Compiled;
use crate::backend::refusals::Refusals;

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../../deploy/bpf/", $name)))
    };
}

const CURE: &str = "on Debian 12, or in a container with it, as root: apt-get install clang gcc libbpf-dev";
const PACKAGE: &str = "libbpf-dev";
const ARCHITECTURE: &str =
    if cfg!(target_arch = "aarch64") { "-D__TARGET_ARCH_arm64" } else { "-D__TARGET_ARCH_x86" };

const LOADER: Compiled = Compiled {
    what: "libbpf",
    package: PACKAGE,
    cure: CURE,
    name: "load",
    sources: &[source!("load.c")],
    compiler: &["gcc", "-std=gnu11", "-Wall", "-Wextra", "-O2"],
    compiled: &["load.c"],
    libraries: &["-lbpf"],
};

const fn object(name: &'static str, compiled: &'static [&'static str]) -> Compiled {
    Compiled {
        what: "BPF",
        package: PACKAGE,
        cure: CURE,
        name,
        sources: SOURCES,
        compiler: &["clang", "-O2", "-g", "-Wall", "-target", "bpf", ARCHITECTURE, "-c"],
        compiled,
        libraries: &[],
    }
}

const SOURCES: &[(&str, &str)] = &[
    source!("kernel.h"),
    source!("paths.h"),
    source!("subflows.h"),
    source!("lia.h"),
    source!("olia.h"),
    source!("balia.h"),
    source!("wvegas.h"),
    source!("lia.bpf.c"),
    source!("olia.bpf.c"),
    source!("balia.bpf.c"),
    source!("wvegas.bpf.c"),
];

/// Names of the controls.
pub const CONTROLS: [&str; 4] = ["lia", "olia", "balia", "wvegas"];

const OBJECTS: [Compiled; 4] = [
    object(CONTROLS[0], &["lia.bpf.c"]),
    object(CONTROLS[1], &["olia.bpf.c"]),
    object(CONTROLS[2], &["balia.bpf.c"]),
    object(CONTROLS[3], &["wvegas.bpf.c"]),
];

/// Whether the kernel takes them from this process.
///
/// # Errors
/// The right or the option of the kernel that is missing, and the cure.
pub fn controls_permitted() -> Result<(), NotReady> {
    takes_controls().map_err(not_taken)
}

fn not_taken(need: ControlsNeed) -> NotReady {
    let (message, help) = match need {
        ControlsNeed::Btf => (
            "the kernel takes no coupled congestion control: it does not describe its types (/sys/kernel/btf/vmlinux)",
            "use a kernel with CONFIG_DEBUG_INFO_BTF",
        ),
        ControlsNeed::FirstUserNamespace => (
            "the kernel takes coupled congestion controls, which are BPF programs, from root of the machine, and not from \
             that of a user namespace",
            "run it as root of the machine, as with sudo",
        ),
        ControlsNeed::Capabilities => (
            "the kernel takes coupled congestion controls, which are BPF programs, from root, or from a process with \
             CAP_BPF and CAP_PERFMON",
            "run it as root, as with sudo; a container needs --cap-add BPF --cap-add PERFMON",
        ),
    };
    NotReady { message: message.into(), help: help.into() }
}

/// The program that registers a control and the BPF object of this one, built in `folder` unless they are there.
///
/// # Errors
/// There is no such control, a compiler or libbpf is missing, or they cannot be built.
pub fn control(folder: &Path, name: &str) -> Result<(PathBuf, PathBuf), NotReady> {
    let place = CONTROLS.iter().position(|known| *known == name).ok_or_else(|| NotReady {
        message: format!("no congestion control {name} for the kernel"),
        help: format!("take one of {}", CONTROLS.join(", ")),
    })?;
    Ok((LOADER.built(folder)?, OBJECTS[place].built(folder)?))
}

/// Refuses limits of what waits on subflows where no program sets them, and two limits with one program.
pub(super) fn check_limits(flows: &[Flow], refused: &mut Refusals) {
    for (index, flow) in flows.iter().enumerate() {
        let Some((control, limit)) = limit(flow) else { continue };
        if !CONTROLS.contains(&control) {
            refused.unless(limit == Bytes::MAX, Part::Flow(index), rules::SUBFLOW_UNSENT_LIMIT);
            continue;
        }
        let too_large = |limit: Bytes| limit != Bytes::MAX && i32::try_from(limit.0).is_err();
        if too_large(limit) {
            refused.add_with(Part::Flow(index), rules::SUBFLOW_UNSENT_LIMIT, format!("{}B", i32::MAX));
            continue;
        }
        let first = flows.iter().filter_map(self::limit).find(|(known, _)| *known == control);
        if let Some((_, first)) = first.filter(|(_, first)| *first != limit && !too_large(*first)) {
            let value = if first == Bytes::MAX { "unlimited".into() } else { format!("{}B", first.0) };
            refused.add_with(Part::Flow(index), rules::SAME_SUBFLOW_UNSENT_LIMIT, value);
        }
    }
}

/// The limit that the program of a control sets; `None`: none.
pub(super) fn limit_of(flows: &[Flow], control: &str) -> Option<u32> {
    let (_, limit) = flows.iter().filter_map(limit).find(|(name, _)| *name == control)?;
    u32::try_from(limit.0).ok()
}

/// Congestion control of a flow of MPTCP, and how much may wait on each of its subflows.
fn limit(flow: &Flow) -> Option<(&str, Bytes)> {
    let multipath = flow.transport.mptcp.as_ref()?;
    Some((flow.transport.congestion.as_ref()?.name(), multipath.config.subflow_unsent_limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_need_names_its_cure() {
        let told = |need| not_taken(need).to_string();
        for (need, message, cure) in [
            (ControlsNeed::Btf, "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"),
            (ControlsNeed::FirstUserNamespace, "not from that of a user namespace", "sudo"),
            (ControlsNeed::Capabilities, "CAP_BPF and CAP_PERFMON", "--cap-add BPF --cap-add PERFMON"),
        ] {
            let told = told(need);
            let (first, fix) = told.split_once("\n  fix: ").unwrap();
            assert!(first.contains(message) && fix.contains(cure), "{told}");
        }
    }
}
