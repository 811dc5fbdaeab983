//! The algorithms that a scenario may name. Parsing takes them as an argument, so that another crate can add its own.

use registry::{Entry, independent};

use crate::model::Choice;
use crate::path_managers;

/// Everything that a scenario chooses by name.
#[derive(Clone, Debug)]
pub struct Registries {
    /// Congestion controls.
    pub congestion: congestion::Registry,
    /// Multipath schedulers.
    pub schedulers: schedulers::Registry,
    /// Loss models.
    pub loss: links::loss::Registry,
    /// Rate models.
    pub rates: links::rate::Registry,
    /// Delay models.
    pub delays: links::delay::Registry,
    /// Queue disciplines.
    pub queues: links::queue::Registry,
    /// Applications.
    pub apps: apps::Registry,
}

/// Which registry a key chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Catalogue {
    Congestion,
    Scheduler,
    Loss,
    Rate,
    Delay,
    Queue,
    App,
    PathManager,
}

/// The word for a link that loses nothing.
pub(crate) const NO_LOSS: &str = "none";

const NONE: Entry = Entry {
    name: NO_LOSS,
    summary: "nothing is lost",
    source: "",
    notes: "",
    options: &[],
    check: independent,
};

impl Catalogue {
    /// What one entry is called.
    pub fn what(self) -> &'static str {
        match self {
            Self::Congestion => "congestion control",
            Self::Scheduler => "scheduler",
            Self::Loss => "loss model",
            Self::Rate => "rate model",
            Self::Delay => "delay model",
            Self::Queue => "queue discipline",
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
            Self::Rate => "a rate model",
            Self::Delay => "a delay model",
            Self::Queue => "a queue discipline",
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
            rates: links::rate::Registry::builtin(),
            delays: links::delay::Registry::builtin(),
            queues: links::queue::Registry::builtin(),
            apps: apps::Registry::builtin(),
        }
    }

    /// The path managers; they are the same with any registries.
    pub fn path_managers(&self) -> Vec<Entry> {
        path_managers::ROWS.iter().map(|row| row.entry).collect()
    }

    /// All entries of one catalogue, in the order of entry.
    pub(crate) fn all(&self, catalogue: Catalogue) -> Vec<Entry> {
        match catalogue {
            Catalogue::Congestion => self.congestion.iter().map(|a| a.entry()).collect(),
            Catalogue::Scheduler => self.schedulers.iter().map(|a| a.entry()).collect(),
            Catalogue::Rate => self.rates.iter().map(|a| a.entry()).collect(),
            Catalogue::Delay => self.delays.iter().map(|a| a.entry()).collect(),
            Catalogue::Queue => self.queues.iter().map(|a| a.entry()).collect(),
            Catalogue::App => self.apps.iter().map(|a| a.entry()).collect(),
            Catalogue::PathManager => self.path_managers(),
            Catalogue::Loss => std::iter::once(NONE).chain(self.loss.iter().map(|a| a.entry())).collect(),
        }
    }

    /// True if a rate model, whose options have been checked, can be one of several.
    pub(crate) fn has_rate_at_instants(&self, choice: &Choice) -> bool {
        let row = self.rates.get(&choice.kind);
        row.is_none_or(|row| links::rate::has_rate_at_instants(row, &choice.options))
    }

    /// The entry of `name`.
    pub(crate) fn find(&self, catalogue: Catalogue, name: &str) -> Option<Entry> {
        self.all(catalogue).into_iter().find(|a| a.name == name)
    }
}
