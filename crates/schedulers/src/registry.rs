//! The schedulers by name: the one place that a new one is entered.

use units::{OptionSpec, Options};

use crate::{Scheduler, minrtt, round_robin, weighted_round_robin};

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// RFC, draft or paper.
    pub source: &'static str,
    /// Its own options.
    pub options: &'static [OptionSpec],
    /// Makes one for one connection.
    pub build: fn(&Options) -> Box<dyn Scheduler>,
}

/// Schedulers by name, in the order of entry.
#[derive(Clone, Debug)]
pub struct Registry(Vec<Algorithm>);

impl Registry {
    /// All that come with Ropewalk.
    pub fn builtin() -> Self {
        Self(vec![minrtt::ROW, round_robin::ROW, weighted_round_robin::ROW])
    }

    /// Adds one; a later entry with the same name replaces the earlier.
    pub fn register(&mut self, algorithm: Algorithm) {
        self.0.retain(|a| a.name != algorithm.name);
        self.0.push(algorithm);
    }

    /// The row of `name`.
    pub fn get(&self, name: &str) -> Option<&Algorithm> {
        self.0.iter().find(|a| a.name == name)
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = &Algorithm> {
        self.0.iter()
    }
}
