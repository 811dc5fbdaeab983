//! Files of studies and reproductions: TOML in, checked cases and plain data out.
//!
//! A study is a scenario, the factors varied in it, and the number of replications of each case. The file is read through the front
//! end of [`document`]; each combination of levels is checked as a scenario, and a mistake in it is reported where the
//! study file has the value.
//! May: read study files, name metrics, expand cases; know the keys of reproductions. May not: run anything.

mod factors;
mod file;
mod json;
mod keys;
mod like;
mod metric;
mod plan;
mod print;
mod reading;
mod reference;
mod reproduction;
mod rules;
mod value;

pub use factors::{Factor, Level, Override};
pub use file::{ComparePaths, Stopping, StudyFile, Treatment};
pub use metric::{Metric, NoMetric, Series};
pub use plan::{Case, Reach, usual_metrics};
pub use print::whole;
pub use reading::readings;
pub use reference::{kinds, reference_pages, schema};
pub use rules::read;
