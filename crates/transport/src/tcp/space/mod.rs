//! What receivers of transports for space links report: holes instead of acknowledgements.
//!
//! - `snack.rs`: SCPS-TP (CCSDS 714.0-B), the SNACK option;
//! - `stp.rs`: STP, answers to polls and reports of new gaps.
//!
//! The sending sides are `sender/snack.rs` and `sender/stp.rs`.

mod snack;
mod stp;

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
