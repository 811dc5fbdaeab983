//! Satellites to choose from: a synthetic shell or real ones.

use crate::elements::ElementSets;
use crate::quantities::Vector;
use crate::walker::Walker;

/// Satellites in motion.
#[derive(Clone, Debug)]
pub enum Constellation {
    /// A synthetic shell.
    Walker(Walker),
    /// Frozen element sets of real satellites.
    ElementSets(ElementSets),
}

impl Constellation {
    /// How many satellites.
    pub fn len(&self) -> usize {
        match self {
            Self::Walker(walker) => walker.len(),
            Self::ElementSets(sets) => sets.len(),
        }
    }

    /// Never true.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a satellite is, as seen from the turning Earth; `None` if it has decayed.
    pub(crate) fn position(&self, satellite: usize, seconds: f64) -> Option<Vector> {
        match self {
            Self::Walker(walker) => Some(walker.position(satellite, seconds)),
            Self::ElementSets(sets) => sets.position(satellite, seconds),
        }
    }
}
