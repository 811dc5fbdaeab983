//! Multipath schedulers: which subflow carries the next segment.
//!
//! May: read the views, keep private state. May not: send, read a clock, know segments, links or files.
//! To add one: a new file here, a row in `registry.rs`, its test vectors in the same file, a page under
//! `docs/reference/schedulers/`.

mod blest;
mod bufferbloat;
mod ecf;
mod eligible;
mod espc;
mod kimura;
mod minratio_thesis;
mod minrtt;
mod registry;
mod round_robin;
#[cfg(test)]
mod testing;
mod weighted_round_robin;

use std::fmt;

use units::{Bytes, Nanos, SimTime};

pub use blest::{Blest, BlestFormula};
pub use bufferbloat::MinRttBm;
pub use ecf::Ecf;
pub use espc::Espc;
pub use kimura::{HighestRate, LargestSpace, LowestTimeSpace};
pub use minratio_thesis::MinRatioThesis;
pub use minrtt::MinRtt;
pub use registry::{Algorithm, Registry};
pub use round_robin::RoundRobin;
pub use weighted_round_robin::WeightedRoundRobin;

/// What a scheduler may know of one subflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowView {
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Smallest round-trip time of the last 10 to 20 s; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    /// Mean deviation of the round-trip time (RTTVAR of RFC 6298).
    pub rttvar: Nanos,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    pub ssthresh: Bytes,
    /// Bytes in the network (pipe).
    pub inflight: Bytes,
    /// Bytes queued on the subflow and not yet sent.
    pub unsent: Bytes,
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Joined, able to send, not potentially failed: may be used now or as soon as its window opens.
    pub usable: bool,
    /// `usable`, and its congestion and send windows have room for a segment now.
    pub available: bool,
    /// Marked as backup by either end.
    pub backup: bool,
    /// Has already carried the data at hand (reinjections only).
    pub carried: bool,
}

/// What a scheduler may know of the connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView<'a> {
    /// When the question is asked.
    pub now: SimTime,
    /// By subflow index; ties go to the lowest (decision D-30).
    pub subflows: &'a [SubflowView],
    /// Bytes written by the application and not yet given to any subflow.
    pub unassigned: Bytes,
    /// Send window of the connection, counted from the Data ACK: the free part and what is outstanding.
    pub send_window: Bytes,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The segment goes to this subflow.
    Send(usize),
    /// Nothing now. Legal only if some other event is certain to ask again.
    Wait,
}

/// Chooses a subflow for each segment.
///
/// It is asked whenever there is a segment to place and again after each `Send`, until it says `Wait`. The
/// connection has already reduced `available` to non-backup subflows where one is usable, and bypasses the
/// scheduler while there is only one subflow.
pub trait Scheduler: fmt::Debug + Send {
    /// Where the next segment goes.
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision;
}
