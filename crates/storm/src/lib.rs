//! Random whole scenarios against everything that must hold, and functions for hostile input: what `make storm` and
//! `make fuzz` run, and the tests a little of.
//!
//! A scenario follows from a seed: a topology with flows and events, its keys and algorithms drawn from the key tables and
//! the registries ([`Grammar`]). Keys that the parser refuses are taken out ([`Case`]). It is run in several ways and judged
//! ([`judge`]); a failure is made smaller ([`minimise`]) until a person can read it.
//! May: run scenarios and compare results. May not: be part of the product.

mod case;
mod dice;
mod generate;
mod grammar;
pub mod hostile;
mod invariants;
mod minimise;
mod text;
mod trial;
mod values;

pub use case::{Case, FILE, parse};
pub use grammar::Grammar;
pub use minimise::minimise;
pub use trial::{Outcome, judge};
