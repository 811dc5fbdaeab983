//! The loss models by name: the one place that a new one is entered. `none` is not a model: such a link has none.

use registry::{Family, Options};

use super::{LossModel, bernoulli, bit_errors, gilbert_elliott, land_mobile, listed, on_off, semi_markov};

/// The loss models.
#[derive(Clone, Copy, Debug)]
pub enum Losses {}

impl Family for Losses {
    type Build = fn(&Options) -> Box<dyn LossModel>;
    const BUILTIN: &'static [Algorithm] = &[
        bernoulli::ROW,
        bit_errors::ROW,
        gilbert_elliott::GILBERT_ELLIOTT,
        gilbert_elliott::GILBERT_ELLIOTT_TIME,
        gilbert_elliott::GILBERT,
        gilbert_elliott::GILBERT_TIME,
        gilbert_elliott::BURSTY,
        gilbert_elliott::BURSTY_TIME,
        on_off::ROW,
        land_mobile::LUTZ,
        land_mobile::PEREZ_FONTAN,
        semi_markov::ROW,
        listed::LIST,
        listed::TRACE,
        listed::SERIES,
    ];
}

/// A row of the registry; `build` makes the loss model of one link direction.
pub type Algorithm = registry::Algorithm<Losses>;

/// All rows by name.
pub type Registry = registry::Registry<Losses>;
