//! Every metric, defined once: a list per table, and one of time series.
//!
//! Tables take names and types from here, Python takes units, labels and what one wants of a metric, and
//! `docs/reference/results.md` its rows. May: name and explain. May not: compute.

mod flows;
mod joins;
mod legs;
mod limits;
mod messages;
mod runs;
mod series;
mod subflows;

use crate::metric::{Kind, MetricSpec, SeriesSpec, TableSpec};

pub use flows::{DELAYS, FLOWS};
pub use joins::FAILED_JOINS;
pub use legs::LEGS;
pub use limits::LIMITED;
pub use messages::{MEASURES, MESSAGES, PAGES};
pub use runs::{LINKS, RUNS};
pub use series::SERIES;
pub use subflows::SUBFLOWS;

/// The tables of results, in the order in which they are handed out.
pub const TABLES: &[&TableSpec] =
    &[&RUNS, &FLOWS, &SUBFLOWS, &LEGS, &FAILED_JOINS, &LINKS, &MESSAGES, &MEASURES, &PAGES, &DELAYS, &SERIES];

/// Every time series that the project reports; an algorithm of a user may report others.
pub const TIME_SERIES: &[SeriesSpec] = series::ALL;

/// The seed, first in every table.
const RUN: MetricSpec = MetricSpec::key("run", Kind::Integer, "seed of the replication");

/// The flow, second in most.
const FLOW: MetricSpec =
    MetricSpec::key("flow", Kind::Word, "name of the flow, or `FLOW@PATH` of a baseline");

#[cfg(test)]
mod tests;
