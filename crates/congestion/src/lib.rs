//! Congestion controls: how many bytes may be in flight on one path.
//!
//! May: read the ACK, the loss and a snapshot of the sibling paths; keep private state. May not: send, read a
//! clock, know segments, links or files, reach into a connection.
//! To add one: a new file here, a row in `registry.rs`, its test vectors in the same file, a page under
//! `docs/reference/congestion/`.

mod abe;
mod balia;
mod cubic;
mod hybla;
mod hystart;
mod lia;
mod newreno;
mod olia;
mod registry;
mod reno;
mod round;
mod star;
#[cfg(test)]
mod testing;
mod vegas;
mod westwood;
mod wvegas;

use std::fmt;

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

pub use balia::Balia;
pub use cubic::{Cubic, CubicConfig, SsthreshFrom};
pub use hybla::{Hybla, HyblaConfig};
pub use lia::Lia;
pub use newreno::NewReno;
pub use olia::Olia;
pub use registry::{Algorithm, Registry};
pub use star::Star;
pub use vegas::{Vegas, VegasConfig, VegasKind};
pub use westwood::Westwood;
pub use wvegas::{WVegas, WVegasConfig};

/// What is fixed when a path is set up. Sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Initial window.
    pub initial_window: Bytes,
    /// Initial slow-start threshold; `Bytes::MAX` where it is unlimited.
    pub initial_ssthresh: Bytes,
    /// How the Reno rules count acknowledgements.
    pub growth: Growth,
}

/// How the window grows with acknowledgements (RFC 5681 section 3.1, RFC 3465).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Slow start adds at most this many MSS per ACK (L of RFC 3465): 1 or 2; `u32::MAX`: no limit.
    pub slow_start_limit: u32,
    /// Congestion avoidance counts acknowledged bytes; otherwise it adds MSS*MSS/cwnd per ACK.
    pub byte_counting: bool,
}

/// An acknowledgement of new data outside recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: SimTime,
    /// Bytes newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Bytes newly delivered, cumulatively or selectively.
    pub delivered: Bytes,
    /// Round-trip sample of this ACK, if it gave one.
    pub rtt: Option<Nanos>,
    /// Smoothed round-trip time after this ACK; zero before the first sample.
    pub srtt: Nanos,
    /// FlightSize before this ACK.
    pub flight_before: Bytes,
    /// First unacknowledged byte after this ACK, as an offset of the stream.
    pub snd_una: u64,
    /// Next byte to be sent, as an offset of the stream; an ACK beyond an earlier `snd_nxt` ends a round.
    pub snd_nxt: u64,
    /// True when the window, not the application or the receiver, limits the sender: only then may it grow.
    pub cwnd_limited: bool,
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was detected.
    pub now: SimTime,
    /// FlightSize when it was detected, without Limited Transmit.
    pub flight: Bytes,
    /// True when the window limited the sender (then cwnd and FlightSize mean the same).
    pub cwnd_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Retransmission timeout only: true for the first timeout of this data. ssthresh is reduced once per data.
    pub first_timeout: bool,
}

/// What a controller may know of one path of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathView {
    /// Window in bytes; the slow-start threshold while the path is in recovery.
    pub cwnd: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub srtt: f64,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// Takes part in coupling: established, sampled, neither closed nor potentially failed.
    pub coupled: bool,
    /// What [`CongestionControl::loss_interval`] of its controller says, in bytes.
    pub loss_interval: f64,
    /// What [`CongestionControl::measured_rate`] of its controller says, in bytes per second.
    pub measured_rate: f64,
}

/// All paths of the connection, as they were before the event at hand, and which one the event is on.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// By subflow index.
    pub all: &'a [PathView],
    /// The path of this controller.
    pub me: usize,
}

/// The window of one path. Calls come in the order in which things happen; at most one `on_enter_recovery` per
/// recovery episode.
///
/// Contract: `cwnd` is finite and at least one MSS after any sequence of calls.
pub trait CongestionControl: fmt::Debug + Send {
    /// The handshake is done. `srtt` is its round-trip time when it was measured without ambiguity.
    fn on_established(&mut self, _now: SimTime, _srtt: Option<Nanos>) {}

    /// New data was acknowledged outside recovery (slow start and congestion avoidance).
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>);

    /// A duplicate ACK arrived.
    fn on_dup_ack(&mut self, _now: SimTime) {}

    /// First loss of an episode: set ssthresh and cwnd to their values after the reduction. What recovery may
    /// send on top of it (inflation, proportional rate reduction) is not the controller's business.
    fn on_enter_recovery(&mut self, loss: &Loss, paths: Paths<'_>);

    /// An ACK of new data inside recovery.
    fn on_recovery_ack(&mut self, _ack: &Ack) {}

    /// The episode is over.
    fn on_exit_recovery(&mut self, _now: SimTime) {}

    /// The retransmission timer fired: set ssthresh (if `first_timeout`) and fall to one MSS.
    fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>);

    /// First transmission after an idle time of at least one RTO: `restart_window` caps cwnd (RFC 5681 4.1).
    fn on_idle_restart(&mut self, now: SimTime, restart_window: Bytes);

    /// The recovery machine ends an episode with a smaller window than ssthresh (RFC 6582 full ACK), or
    /// something outside penalises the path.
    fn set_cwnd(&mut self, cwnd: Bytes);

    /// Congestion window, rounded down to whole bytes.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    fn ssthresh(&self) -> Bytes;

    /// Rate at which to pace, if this controller paces.
    fn pacing_rate(&self) -> Option<BitsPerSecond> {
        None
    }

    /// For the siblings: bytes acknowledged between two losses, the larger of the last such interval and the
    /// present one (OLIA); 0 from a controller that does not count them.
    fn loss_interval(&self) -> f64 {
        0.0
    }

    /// For the siblings: rate in bytes per second at the last measurement (wVegas); 0 before one, and from a
    /// controller that does not measure it.
    fn measured_rate(&self) -> f64 {
        0.0
    }
}
