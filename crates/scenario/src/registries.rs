//! The algorithms that a scenario may name. Parsing takes them as an argument, so that another crate can add its own.

use apps::Apps;
use congestion::Congestion;
use links::delay::Delays;
use links::loss::Losses;
use links::queue::Queues;
use links::rate::Rates;
use registry::{Entry, Family, Registry, independent};
use schedulers::Schedulers;

use crate::path_managers::PathManagers;

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
    /// Path managers. They are part of the protocol machine: no other crate adds one.
    pub(crate) path_managers: Registry<PathManagers>,
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
    /// Singular name of an entry.
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
            path_managers: Registry::builtin(),
        }
    }

    /// The path managers; they are the same with any registries.
    pub fn path_managers(&self) -> Vec<Entry> {
        self.all(Catalogue::PathManager)
    }

    /// All entries of one catalogue, in the order of entry.
    pub(crate) fn all(&self, catalogue: Catalogue) -> Vec<Entry> {
        let entries = self.of(catalogue).entries();
        if catalogue == Catalogue::Loss { std::iter::once(NONE).chain(entries).collect() } else { entries }
    }

    /// The entry of `name`.
    pub(crate) fn find(&self, catalogue: Catalogue, name: &str) -> Option<Entry> {
        if catalogue == Catalogue::Loss && name == NO_LOSS {
            return Some(NONE);
        }
        self.of(catalogue).entry(name)
    }

    fn of(&self, catalogue: Catalogue) -> &dyn Entries {
        match catalogue {
            Catalogue::Congestion => &self.congestion,
            Catalogue::Scheduler => &self.schedulers,
            Catalogue::Loss => &self.loss,
            Catalogue::Rate => &self.rates,
            Catalogue::Delay => &self.delays,
            Catalogue::Queue => &self.queues,
            Catalogue::App => &self.apps,
            Catalogue::PathManager => &self.path_managers,
        }
    }
}

/// The common part of all registries: rows without their constructors.
trait Entries {
    fn entries(&self) -> Vec<Entry>;
    fn entry(&self, name: &str) -> Option<Entry>;
}

impl<F: Family> Entries for Registry<F> {
    fn entries(&self) -> Vec<Entry> {
        self.iter().map(|row| row.entry()).collect()
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        self.get(name).map(|row| row.entry())
    }
}

/// A family that a scenario chooses from.
pub(crate) trait Listed: Family + Sized {
    /// Its rows.
    fn registry(registries: &Registries) -> &Registry<Self>;
}

macro_rules! listed {
    ($($family:ty: $field:ident),* $(,)?) => {
        $(impl Listed for $family {
            fn registry(registries: &Registries) -> &Registry<Self> {
                &registries.$field
            }
        })*
    };
}

listed! {
    Congestion: congestion,
    Schedulers: schedulers,
    Losses: loss,
    Rates: rates,
    Delays: delays,
    Queues: queues,
    Apps: apps,
    PathManagers: path_managers,
}
