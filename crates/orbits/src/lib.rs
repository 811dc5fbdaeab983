//! Where satellites are, which of them serves a pair of ground stations, and how long a bit travels by way of it.
//!
//! May: geometry as a function of time. May not: hold a clock, read files, fetch element sets or know what a packet is.
//! Distances and angles are real numbers in kilometres and degrees with types of their own; trigonometry is libm's,
//! so that results do not depend on the machine.

mod bent_pipe;
#[cfg(test)]
mod closed_forms;
mod constellation;
mod earth;
mod elements;
mod geo;
mod quantities;
mod serving;
mod walker;

pub use bent_pipe::{BentPipe, Sight};
pub use constellation::Constellation;
pub use earth::{GroundStation, Place};
pub use elements::{ElementSets, Epoch, Mistake};
pub use geo::{GeoError, geo_delay};
pub use quantities::{Degrees, Kilometres};
pub use serving::{Choice, Service};
pub use walker::{Pattern, Shell, Walker};
