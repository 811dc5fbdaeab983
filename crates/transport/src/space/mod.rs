//! Transports over space links: SCPS-TP (CCSDS 714.0-B), STP, and the dummy segments of TCP-Peach. They use the sender
//! and the receiver of TCP; what they add is here.
//!
//! | Part | State | Asked by |
//! |---|---|---|
//! | `segment.rs` | what a segment says beyond TCP | |
//! | `policy.rs`, `poll.rs` | how a sender learns what has arrived; when STP polls | `tcp/sender/` |
//! | `dummies.rs` | when dummies leave | `tcp/sender/controller.rs` |
//! | `reports.rs` | how a receiver reports: `snack.rs` (which holes when), `stp.rs` (answers to polls) | `tcp/receiver/` |
//! | `extras.rs` | the agreement of both ends, answers to dummies | `tcp/endpoint.rs` |
//!
//! A plain TCP connection has none of these.

mod dummies;
mod extras;
mod policy;
mod poll;
mod reports;
mod segment;
mod snack;
mod stp;

pub use dummies::DummyQueue;
pub use extras::{Extras, Outcome};
pub use policy::{Finding, Measured, Policy};
pub use poll::SenderView;
pub use reports::{Due, Reports};
pub use segment::{SpaceSegment, SpaceSignal};
pub use snack::{Snack, SnackReporter};
pub use stp::StpReporter;
