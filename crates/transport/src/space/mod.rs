//! Transports over space links: SCPS-TP (CCSDS 714.0-B), STP, and the dummy segments of TCP-Peach. They use the sender
//! and the receiver of TCP; what they add is here.
//!
//! - `segment.rs`: what a segment says beyond TCP;
//! - `policy.rs`: how a sender learns what has arrived; `poll.rs`: when STP polls;
//! - `snack.rs`: the SNACK option, and which holes a receiver reports when; `stp.rs`: answers of a receiver to polls;
//! - `dummies.rs`: when dummies leave.

mod dummies;
mod policy;
mod poll;
mod segment;
mod snack;
mod stp;

pub use dummies::DummyQueue;
pub use policy::{Finding, Measured, Policy, SenderView};
pub use segment::{SpaceSegment, SpaceSignal};
pub use snack::{Snack, SnackReporter};
pub use stp::StpReporter;

/// How a receiver reports; one that only acknowledges has none.
#[derive(Clone, Debug)]
pub enum Reports {
    /// SCPS-TP.
    Snack(SnackReporter),
    /// STP.
    Stp(StpReporter),
}
