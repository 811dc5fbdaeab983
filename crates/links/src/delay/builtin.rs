//! The delay models by name: the one place that a new one is entered. A bare duration is a constant and needs no name.

use engine::Stream;
use registry::{Family, Options};

use super::{DelayModel, jitter, satellite, series};

/// The delay models.
#[derive(Clone, Copy, Debug)]
pub enum Delays {}

impl Family for Delays {
    type Build = fn(&Options, Stream) -> Box<dyn DelayModel>;
    const BUILTIN: &'static [Algorithm] = &[
        jitter::UNIFORM,
        jitter::NORMAL,
        jitter::PARETO,
        series::ROW,
        satellite::GEO,
        satellite::WALKER,
        satellite::SGP4,
    ];
}

/// A row of the registry; `build` makes the delay model of one link direction, with random numbers of its own.
pub type Algorithm = registry::Algorithm<Delays>;

/// All rows by name.
pub type Registry = registry::Registry<Delays>;
