//! Congestion controls: how many bytes may be in flight on one path.
//!
//! May: read the ACK, the loss and a snapshot of the sibling paths; keep private state. May not: send, read a
//! clock, know segments, links or files, reach into a connection.
//! To add one: `docs/howto/add-a-congestion-control.md`.

mod abe;
mod adalr;
mod balia;
mod bbr;
mod builtin;
mod cubic;
mod fixed_rate;
mod hybla;
mod hystart;
mod jersey;
mod lia;
mod newreno;
mod newvegas;
mod olia;
mod peach;
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

pub use builtin::{Algorithm, Congestion, Registry, wants};

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
#[derive(Clone, Copy, Debug, Default)]
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
    /// FlightSize after this ACK.
    pub flight: Bytes,
    /// Bytes believed to be in the network after this ACK (RFC 6675 pipe).
    pub pipe: Bytes,
    /// Bytes ever deemed lost; a retransmission that was lost counts again.
    pub lost: Bytes,
    /// Receive window from `snd_una`, as advertised.
    pub rwnd: Bytes,
    /// First unacknowledged byte after this ACK, as an offset of the stream.
    pub snd_una: u64,
    /// Next byte to be sent, as an offset of the stream; an ACK beyond an earlier `snd_nxt` ends a round.
    pub snd_nxt: u64,
    /// True when the window, not the application or the receiver, limits the sender: only then may it grow.
    pub cwnd_limited: bool,
    /// It echoes a congestion mark (RFC 3168).
    pub marked: bool,
    /// How fast the data was delivered; only for a controller that [`Wants`] it, and not with every ACK.
    pub rate: Option<RateSample>,
}

/// How fast data was delivered between the transmission of a segment and its acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: Bytes,
    /// Its length: the longer of the times in which they were sent and in which their ACKs came. Not zero.
    pub interval: Nanos,
    /// Bytes that the connection had delivered when the segment was sent.
    pub before: Bytes,
    /// Bytes that it has delivered now.
    pub total: Bytes,
    /// There was not enough data to send: the path could have done more.
    pub app_limited: bool,
}

/// What a controller needs of its sender beyond the hooks. Asked once, before the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The sender spaces its segments by [`CongestionControl::pacing_rate`].
    pub pacing: bool,
    /// Its rate and burst count packets as they are on the wire, not payload.
    pub wire_pacing: bool,
    /// ACKs carry delivery-rate samples.
    pub rate_samples: bool,
    /// The window is the controller's own in loss episodes, too: the sender uses `cwnd` as it is in every phase, and
    /// calls `on_ack` with each ACK that delivers anything, after losses have been looked for and after
    /// `on_enter_recovery` or `on_exit_recovery`; never `on_recovery_ack`.
    pub whole_window: bool,
    /// The sender may pass the advertised window by [`CongestionControl::beyond_window`].
    pub beyond_window: bool,
    /// The retransmission timer is longer by [`CongestionControl::rto_margin`].
    pub rto_margin: bool,
    /// The sender sends dummy segments by [`CongestionControl::take_dummies`] and tells of their answers.
    pub dummies: bool,
    /// A timeout that timestamps show to have been needless is undone (RFC 3522): what it took for lost is in flight again,
    /// and [`CongestionControl::on_needless_timeout`] is called.
    pub undo_timeouts: bool,
    /// The connection negotiates ECN. The sender does nothing about it: a scenario without is refused.
    pub ecn: bool,
    /// The initial slow-start threshold is finite; in the same way.
    pub finite_ssthresh: bool,
}

impl Wants {
    /// Anything that the sender must do something about.
    pub fn anything(self) -> bool {
        self != Self { ecn: self.ecn, finite_ssthresh: self.finite_ssthresh, ..Self::default() }
    }
}

/// Dummy segments of low priority: as large as a full segment, without data, never sent again. The receiver answers each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dummies {
    /// One less than full segments fit into the advertised window, evenly over a round trip behind the next segment
    /// with data.
    WindowOverRoundTrip,
    /// So many, one with each ACK.
    PerAck(u64),
}

/// A dummy segment was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DummyAnswer {
    /// When the answer arrived.
    pub now: SimTime,
    /// Receive window from `snd_una`, as advertised with the last ACK.
    pub rwnd: Bytes,
}

/// A congestion event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loss {
    /// When it was detected.
    pub now: SimTime,
    /// FlightSize when it was detected, without Limited Transmit.
    pub flight: Bytes,
    /// True when the window limited the sender (then cwnd and FlightSize mean the same).
    pub cwnd_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Next byte to be sent, as an offset of the stream.
    pub snd_nxt: u64,
    /// The last ACK echoed a congestion mark (RFC 3168).
    pub marked: bool,
    /// Retransmission timeout only: true for the first timeout of this data. ssthresh is reduced once per data.
    pub first_timeout: bool,
}

/// An ACK of new data in fast recovery, as the recovery machine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryAck {
    /// Bytes newly acknowledged cumulatively.
    pub acked: Bytes,
    /// It ends the episode; otherwise it is a partial ACK.
    pub full: bool,
    /// The window is inflated by what duplicate ACKs told (RFC 6582); otherwise recovery goes by pipe.
    pub inflated: bool,
}

/// A retransmission timer that is being set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoTimer {
    /// It has run out before and is backed off.
    pub after_timeout: bool,
    /// The receiver does not acknowledge every segment at once.
    pub acks_are_delayed: bool,
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
    /// Takes part in coupling: established, sampled, neither closed nor potentially failed. Then `srtt` is not 0.
    pub coupled: bool,
    /// 1 / `srtt` in 1/s where the path takes part in coupling, else 0: sums over all paths are asked for with each ACK,
    /// and this way need neither divisions nor conditions.
    pub inverse_srtt: f64,
    /// What [`CongestionControl::loss_interval`] of its controller says, in bytes.
    pub loss_interval: f64,
    /// What [`CongestionControl::measured_rate`] of its controller says, in bytes per second.
    pub measured_rate: f64,
}

impl PathView {
    /// A path with this window in bytes, round-trip time in seconds and MSS in bytes, of whose controller nothing is known.
    pub fn new(cwnd: f64, srtt: f64, mss: f64, coupled: bool) -> Self {
        let coupled = coupled && srtt > 0.0;
        let inverse_srtt = if coupled { srtt.recip() } else { 0.0 };
        Self { cwnd, srtt, mss, coupled, inverse_srtt, loss_interval: 0.0, measured_rate: 0.0 }
    }
}

/// All paths of the connection, as they were before the event at hand, and which one the event is on.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    /// By subflow index; nothing with plain TCP, where there is nobody to be coupled with.
    pub all: &'a [PathView],
    /// The path of this controller.
    pub me: usize,
}

impl Paths<'_> {
    /// The path of a plain TCP connection.
    pub const ALONE: Self = Paths { all: &[], me: 0 };
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

    /// A duplicate ACK arrived, in a loss episode or not.
    fn on_dup_ack(&mut self, _now: SimTime) {}

    /// First loss of an episode: set ssthresh and cwnd to their values after the reduction. What recovery may
    /// send on top of it (inflation, proportional rate reduction) is not the controller's business.
    fn on_enter_recovery(&mut self, loss: &Loss, paths: Paths<'_>);

    /// An ACK of new data inside recovery.
    fn on_recovery_ack(&mut self, _ack: &Ack) {}

    /// The episode is over.
    fn on_exit_recovery(&mut self, _now: SimTime) {}

    /// Congestion was signalled by a mark (RFC 3168), at most once per window and never in a loss episode: as after a
    /// loss, but nothing is sent again.
    fn on_ecn(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.on_enter_recovery(loss, paths);
        self.on_exit_recovery(loss.now);
    }

    /// The retransmission timer fired: set ssthresh (if `first_timeout`) and fall to one MSS.
    fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>);

    /// The first of the timeouts since the last new acknowledgement was needless, and none of the data was in a loss episode
    /// before; only if it [`Wants`] such to be undone.
    fn on_needless_timeout(&mut self) {}

    /// First transmission after an idle time of at least one RTO: `restart_window` caps cwnd (RFC 5681 4.1).
    fn on_idle_restart(&mut self, now: SimTime, restart_window: Bytes);

    /// The recovery machine ends an episode with a smaller window than ssthresh (RFC 6582 full ACK), or
    /// something outside penalises the path.
    fn set_cwnd(&mut self, cwnd: Bytes);

    /// Something outside penalises the path: the threshold is set to this, and to no less than two segments. A controller
    /// without threshold has nothing to do.
    fn set_ssthresh(&mut self, ssthresh: Bytes);

    /// Congestion window, rounded down to whole bytes.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    fn ssthresh(&self) -> Bytes;

    /// Whether it is in slow start, for those who watch.
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }

    /// What it needs of its sender; the same at all times.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Rate at which payload leaves, if it [`Wants`] pacing and knows a rate; not zero.
    fn pacing_rate(&self) -> Option<BitsPerSecond> {
        None
    }

    /// Bytes that may leave at once after a pause, if it [`Wants`] pacing; below a packet: one packet.
    fn pacing_burst(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Bytes by which the sender may pass the right edge of the advertised window, if it [`Wants`] to.
    fn beyond_window(&self) -> Bytes {
        Bytes::ZERO
    }

    /// What an ACK of new data in fast recovery makes of the window of recovery; `None`: what the recovery machine says.
    fn recovery_window(&self, _window: Bytes, _ack: RecoveryAck) -> Option<Bytes> {
        None
    }

    /// Time added to the retransmission timer, if it [`Wants`] a margin.
    fn rto_margin(&self, _timer: RtoTimer) -> Nanos {
        Nanos::ZERO
    }

    /// A dummy segment was answered; only if it [`Wants`] dummies.
    fn on_dummy_answer(&mut self, _answer: &DummyAnswer) {}

    /// Dummies to send from now on, in the place of all that were ordered before; given once. Asked after each call, if
    /// it [`Wants`] dummies.
    fn take_dummies(&mut self) -> Option<Dummies> {
        None
    }

    /// Reports what it knows of the path, for recorders: names that carry their unit, as time series have, and
    /// values.
    fn gauges(&self, _paths: Paths<'_>, _report: &mut dyn FnMut(&'static str, f64)) {}

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
