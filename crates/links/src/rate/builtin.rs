//! The rate models by name: the one place that a new one is entered. A bare rate is a constant and needs no name.

use engine::Stream;
use registry::{Family, Options};

use super::{RateModel, acm, markov, opportunities, series, steps};

/// The rate models.
#[derive(Clone, Copy, Debug)]
pub enum Rates {}

impl Family for Rates {
    type Build = fn(&Options, Stream) -> Box<dyn RateModel>;
    const BUILTIN: &'static [Algorithm] =
        &[steps::ROW, series::ROW, opportunities::ROW, markov::ROW, acm::ROW];
}

/// A row of the registry; `build` makes the rate model of one link direction, with random numbers of its own.
pub type Algorithm = registry::Algorithm<Rates>;

/// All rows by name.
pub type Registry = registry::Registry<Rates>;
