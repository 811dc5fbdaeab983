//! The applications by name: the one place that a new one is entered.

use units::{Family, Options};

use crate::{App, bulk};

/// The applications.
#[derive(Clone, Copy, Debug)]
pub enum Apps {}

impl Family for Apps {
    type Build = fn(&Options) -> Box<dyn App>;
    const BUILTIN: &'static [Algorithm] = &[bulk::ROW];
}

/// A row of the registry; `build` makes the application of one flow.
pub type Algorithm = units::Algorithm<Apps>;

/// All rows by name.
pub type Registry = units::Registry<Apps>;
