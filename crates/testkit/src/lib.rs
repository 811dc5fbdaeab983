//! Shared parts of the tests: two connections over faulty wires, scripted peers, golden traces. Never in the
//! product.

pub mod association;
mod bytes;
mod duo;
mod faults;
pub mod golden;
mod log;
mod mappings;
pub mod setups;
mod talk;
mod transfer;
mod wires;

pub use duo::{Act, Duo, Seen};
pub use faults::{Fault, Way};
pub use talk::Talk;
pub use transfer::Reading;
pub use wires::Wire;
