//! Quantities with their units: times, sizes, rates, probabilities.
//!
//! A rate times a duration is a size, a size over a rate is a duration, and no function of this project
//! takes two bare integers of the same meaning. Each type parses what a person writes in a scenario
//! (`"275ms"`, `"20Mbit/s"`, `"64KiB"`, `"1%"`) and prints text that parses back to the same value.
//! Beside them live the declared options of algorithms and the registries that hold algorithms by name, because every
//! family of algorithms needs both and depends on nothing else.
//! May: integer arithmetic, text. May not: know what the quantities are used for.

mod file;
mod limit;
mod option;
mod parse;
mod rate;
mod ratio;
mod registry;
mod size;
mod time;

pub use file::{FileError, FileFormat, FileRows, Measure, TraceFile};
pub use limit::QueueLimit;
pub use option::{Items, OptionFault, OptionKind, OptionSpec, OptionValue, Options};
pub use parse::UnitError;
pub use rate::BitsPerSecond;
pub use ratio::Ratio;
pub use registry::{
    Algorithm, Entry, FIDELITY_NOT_CLAIMED, Family, Registry, at_least, at_most, in_order, independent,
};
pub use size::Bytes;
pub use time::{Nanos, SimTime};
