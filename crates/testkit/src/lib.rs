//! Shared parts of the tests: two connections over faulty wires, scripted peers, golden traces. Never in the
//! product.

mod duo;
mod faults;
pub mod golden;
pub mod setups;
mod talk;

pub use duo::{Act, Duo, Reading, Wire};
pub use faults::{Fault, Way};
pub use talk::Talk;
