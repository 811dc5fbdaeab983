//! The engine of the simulation: an event queue with its virtual clock, lazy timers, named random streams.
//!
//! May: order events, draw random numbers. May not: know what the events mean; it knows nothing about networks.

mod later;
mod queue;
mod random;
mod timer;

pub use queue::EventQueue;
pub use random::Stream;
pub use timer::LazyTimer;
