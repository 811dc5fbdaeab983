//! The algorithms that a scenario may name. Parsing takes them as an argument, so that another crate can add its own.

use units::{OptionKind, OptionSpec};

/// Everything that a scenario chooses by name.
#[derive(Clone, Debug)]
pub struct Registries {
    /// Congestion controls.
    pub congestion: congestion::Registry,
    /// Multipath schedulers.
    pub schedulers: schedulers::Registry,
    /// Loss models.
    pub loss: links::loss::Registry,
    /// Applications.
    pub apps: apps::Registry,
}

/// Which registry a key chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Catalogue {
    Congestion,
    Scheduler,
    Loss,
    App,
    PathManager,
}

/// What all registries have in common.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its own options.
    pub options: &'static [OptionSpec],
}

/// The word for a link that loses nothing.
pub(crate) const NO_LOSS: &str = "none";

const NONE: Algorithm = Algorithm { name: NO_LOSS, summary: "nothing is lost", options: &[] };

const fn subflows(default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec {
        name: "subflows",
        kind: OptionKind::Integer { min: 1, max: 255 },
        default: Some(default),
        doc,
    }
}

/// The path managers are part of the protocol machine and not a registry.
const PATH_MANAGERS: &[Algorithm] = &[
    Algorithm {
        name: "per-path",
        summary: "each local address to one remote address that it reaches, known beforehand",
        options: &[subflows("1", "subflows on each path")],
    },
    Algorithm {
        name: "fullmesh",
        summary: "each local address to every remote address that the peer has announced",
        options: &[subflows("1", "subflows on each pair of addresses")],
    },
    Algorithm {
        name: "ndiffports",
        summary: "several subflows with different ports between the first pair of addresses",
        options: &[subflows("2", "subflows in all, the first one included")],
    },
];

impl Catalogue {
    /// What one entry is called.
    pub fn what(self) -> &'static str {
        match self {
            Self::Congestion => "congestion control",
            Self::Scheduler => "scheduler",
            Self::Loss => "loss model",
            Self::App => "application",
            Self::PathManager => "path manager",
        }
    }

    /// The same with its article.
    pub fn one(self) -> &'static str {
        match self {
            Self::Congestion => "a congestion control",
            Self::Scheduler => "a scheduler",
            Self::Loss => "a loss model",
            Self::App => "an application",
            Self::PathManager => "a path manager",
        }
    }
}

impl Registries {
    /// All that come with Ropewalk.
    pub fn builtin() -> Self {
        Self {
            congestion: congestion::Registry::builtin(),
            schedulers: schedulers::Registry::builtin(),
            loss: links::loss::Registry::builtin(),
            apps: apps::Registry::builtin(),
        }
    }

    /// The path managers; they are the same with any registries.
    pub fn path_managers(&self) -> &'static [Algorithm] {
        PATH_MANAGERS
    }

    /// All entries of one catalogue, in the order of entry.
    pub(crate) fn all(&self, catalogue: Catalogue) -> Vec<Algorithm> {
        // The rows have the same fields and different types.
        macro_rules! rows {
            ($registry:expr) => {
                $registry
                    .iter()
                    .map(|a| Algorithm { name: a.name, summary: a.summary, options: a.options })
                    .collect()
            };
        }
        match catalogue {
            Catalogue::Congestion => rows!(self.congestion),
            Catalogue::Scheduler => rows!(self.schedulers),
            Catalogue::App => rows!(self.apps),
            Catalogue::PathManager => PATH_MANAGERS.to_vec(),
            Catalogue::Loss => {
                let mut all: Vec<Algorithm> = rows!(self.loss);
                all.insert(0, NONE);
                all
            }
        }
    }

    /// The entry of `name`.
    pub(crate) fn find(&self, catalogue: Catalogue, name: &str) -> Option<Algorithm> {
        self.all(catalogue).into_iter().find(|a| a.name == name)
    }
}
