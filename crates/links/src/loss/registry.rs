//! The loss models by name: the one place that a new one is entered. `none` is not a model: such a link has none.

use units::{Family, Options};

use super::{LossModel, bernoulli, bit_errors};

/// The loss models.
#[derive(Clone, Copy, Debug)]
pub enum Losses {}

impl Family for Losses {
    type Build = fn(&Options) -> Box<dyn LossModel>;
    const BUILTIN: &'static [Algorithm] = &[bernoulli::ROW, bit_errors::ROW];
}

/// A row of the registry; `build` makes the loss model of one link direction.
pub type Algorithm = units::Algorithm<Losses>;

/// All rows by name.
pub type Registry = units::Registry<Losses>;
