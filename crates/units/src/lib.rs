//! Quantities with their units: times, sizes, rates, probabilities.
//!
//! A rate times a duration is a size, a size over a rate is a duration, and no function of this project
//! takes two bare integers of the same meaning. Each type parses what a person writes in a scenario
//! (`"275ms"`, `"20Mbit/s"`, `"64KiB"`, `"1%"`) and prints text that parses back to the same value.
//! May: integer arithmetic, text. May not: know what the quantities are used for.

mod limit;
mod parse;
mod rate;
mod ratio;
mod size;
mod time;

pub use limit::QueueLimit;
pub use parse::UnitError;
pub use rate::BitsPerSecond;
pub use ratio::Ratio;
pub use size::Bytes;
pub use time::{Nanos, SimTime};
