//! Names of algorithms: rows with name, source, notes and declared options, and registries that hold the rows of
//! one family by name.
//!
//! Each family of algorithms (congestion controls, schedulers, loss models, applications, ...) lists its rows in its own
//! crate, in a file `builtin.rs`. The parser of scenarios looks a name up once; after that its row is passed on.
//! May: declare, check and hold options. May not: know what an algorithm does.

mod algorithm;
mod file;
mod option;

pub use algorithm::{
    Algorithm, Entry, FIDELITY_NOT_CLAIMED, Family, Registry, at_least, at_most, in_order, independent,
};
pub use file::{Content, FileError, FileFormat, NamedFile, rows, seconds};
pub use option::{Items, OptionFault, OptionKind, OptionSpec, OptionValue, Options};
