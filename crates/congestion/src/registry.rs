//! The congestion controls by name: the one place that a new one is entered.

use units::{OptionSpec, Options};

use crate::{CongestionControl, Setup, cubic, lia, newreno};

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// RFC, draft or paper.
    pub source: &'static str,
    /// Reads its siblings; such a controller alone on a connection behaves as its single-path base.
    pub coupled: bool,
    /// Its own options.
    pub options: &'static [OptionSpec],
    /// Makes one for one path.
    pub build: fn(&Setup, &Options) -> Box<dyn CongestionControl>,
}

/// Congestion controls by name, in the order of entry.
#[derive(Clone, Debug)]
pub struct Registry(Vec<Algorithm>);

impl Registry {
    /// All that come with Ropewalk.
    pub fn builtin() -> Self {
        Self(vec![newreno::ROW, cubic::ROW, lia::ROW])
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
