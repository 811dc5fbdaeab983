//! The algorithms that a scenario may name. Parsing takes them as an argument, so that another crate can add its own.

use apps::Apps;
use congestion::Congestion;
use document::tree::Placed;
use document::vocabulary::{Catalogue, Vocabulary};
use links::delay::Delays;
use links::loss::Losses;
use links::queue::Queues;
use links::rate::Rates;
use registry::{Entry, Family, Registry, independent};
use schedulers::Schedulers;

use crate::path_managers::PathManagers;
use crate::profiles;

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

/// The registries that keys choose from.
pub(crate) mod catalogue {
    use document::vocabulary::Catalogue;

    const fn of(what: &'static str, one: &'static str) -> Catalogue {
        Catalogue { what, one, none: None }
    }

    pub const CONGESTION: Catalogue = of("congestion control", "a congestion control");
    pub const SCHEDULER: Catalogue = of("scheduler", "a scheduler");
    pub const LOSS: Catalogue = Catalogue { none: Some(super::NO_LOSS), ..of("loss model", "a loss model") };
    pub const RATE: Catalogue = of("rate model", "a rate model");
    pub const DELAY: Catalogue = of("delay model", "a delay model");
    pub const QUEUE: Catalogue = of("queue discipline", "a queue discipline");
    pub const APP: Catalogue = of("application", "an application");
    pub const PATH_MANAGER: Catalogue = of("path manager", "a path manager");
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
        self.all(catalogue::PATH_MANAGER)
    }

    fn of(&self, catalogue: Catalogue) -> Option<&dyn Entries> {
        Some(match catalogue {
            catalogue::CONGESTION => &self.congestion,
            catalogue::SCHEDULER => &self.schedulers,
            catalogue::LOSS => &self.loss,
            catalogue::RATE => &self.rates,
            catalogue::DELAY => &self.delays,
            catalogue::QUEUE => &self.queues,
            catalogue::APP => &self.apps,
            catalogue::PATH_MANAGER => &self.path_managers,
            _ => return None,
        })
    }
}

impl Vocabulary for Registries {
    fn all(&self, catalogue: Catalogue) -> Vec<Entry> {
        let entries = self.of(catalogue).map_or_else(Vec::new, Entries::entries);
        if catalogue == catalogue::LOSS { std::iter::once(NONE).chain(entries).collect() } else { entries }
    }

    fn find(&self, catalogue: Catalogue, name: &str) -> Option<Entry> {
        if catalogue == catalogue::LOSS && name == NO_LOSS {
            return Some(NONE);
        }
        self.of(catalogue)?.entry(name)
    }

    fn preset(&self, profile: &str, kind: &str, key: &str) -> Option<Placed> {
        profiles::value(profile, kind, key)
    }

    fn preset_option(&self, profile: &str, key_and_name: (&str, &str), option: &str) -> Option<Placed> {
        profiles::option(profile, key_and_name, option)
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
