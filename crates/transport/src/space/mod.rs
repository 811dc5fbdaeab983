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

use units::{Nanos, SimTime};

use crate::seq::Seq;
use crate::tcp::ranges::RangeSet;
use crate::tcp::segment::TcpSegment;

pub use dummies::DummyQueue;
pub use policy::{Finding, Measured, Policy};
pub use poll::SenderView;
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

impl Reports {
    /// Writes what is due into `segment`, an acknowledgement without data. `next` and `received` are the state of the
    /// receiver. Returns what is added to TCP, and whether more is due at once.
    pub fn report_into(
        &mut self,
        now: SimTime,
        (next, received): (Seq, &RangeSet<Seq>),
        round_trip: Nanos,
        segment: &mut TcpSegment,
    ) -> (Option<SpaceSignal>, bool) {
        match self {
            Self::Snack(reporter) => {
                let snack = reporter.report(now, (next, received), round_trip);
                (snack.map(SpaceSignal::Snack), reporter.is_due(now))
            }
            Self::Stp(reporter) => {
                let signal = reporter.report(next, received, &mut segment.sack);
                (signal, reporter.is_due())
            }
        }
    }
}
