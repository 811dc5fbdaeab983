//! Transports over space links.

mod segment;

pub use segment::{SpaceSegment, SpaceSignal};
