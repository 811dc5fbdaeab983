//! The trait of every congestion control, and the window that it controls.

use std::fmt;

use units::{Bytes, Nanos, SimTime};

use crate::{Ack, Extensions, Loss, Paths, Restart};

/// Parameters that are fixed when a path is set up. Sizes in bytes.
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
    /// The quantity that the Reno rules halve on a loss.
    pub ssthresh_from: SsthreshFrom,
    /// The sender spaces its segments.
    pub paced: bool,
    /// Several segments are handed to the network card at once (segmentation offload), as in Linux: a controller with a model of the path has room
    /// for its send quantum.
    pub offload: bool,
}

/// The quantity that is halved on a loss: a controller without a rule of its own takes ssthresh from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SsthreshFrom {
    /// FlightSize (RFC 5681 equation 4).
    Flight,
    /// cwnd, as Linux does (`tcp_reno_ssthresh` in net/ipv4/tcp_cong.c).
    Cwnd,
}

/// How the window grows with acknowledgements (RFC 5681 section 3.1, RFC 3465).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Slow start adds at most this many MSS per ACK (L of RFC 3465): 1 or 2; `u32::MAX`: no limit.
    pub slow_start_limit: u32,
    /// Congestion avoidance counts acknowledged bytes; otherwise it adds MSS*MSS/cwnd per ACK.
    pub byte_counting: bool,
}

/// Congestion window and slow-start threshold of a path, in whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, rounded down.
    pub cwnd: Bytes,
    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    pub ssthresh: Bytes,
    /// Slow-start state, for recorders only.
    pub in_slow_start: bool,
}

impl Window {
    /// A window that is in slow start while it is below the threshold.
    #[inline]
    pub fn new(cwnd: Bytes, ssthresh: Bytes) -> Self {
        Self { cwnd, ssthresh, in_slow_start: cwnd < ssthresh }
    }
}

/// Congestion control of one path. Calls come in the order of events; at most one `on_loss` per recovery episode.
///
/// Contract: `window().cwnd` is at least one MSS after any sequence of calls.
pub trait CongestionControl: Extensions + fmt::Debug + Send {
    /// The handshake is complete. `srtt` is its round-trip time if it was measured without ambiguity.
    fn on_established(&mut self, _now: SimTime, _srtt: Option<Nanos>) {}

    /// New data was acknowledged outside recovery (slow start and congestion avoidance).
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>);

    /// As `on_ack`, and returns the window after it: one call for each ACK in the place of two.
    fn after_ack(&mut self, ack: &Ack, paths: Paths<'_>) -> Window {
        self.on_ack(ack, paths);
        self.window()
    }

    /// First loss of a recovery episode: sets ssthresh and cwnd to their values after the reduction. Inflation and
    /// proportional rate reduction are added by the recovery machine.
    fn on_loss(&mut self, loss: &Loss, paths: Paths<'_>);

    /// Congestion was signalled by a mark (RFC 3168), at most once per window and never in a loss episode: the same
    /// reaction as to a loss, but nothing is retransmitted.
    fn on_ecn(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.on_loss(loss, paths);
        if let Some(hooks) = self.recovery_hooks() {
            hooks.on_exit_recovery(loss.now);
        }
    }

    /// The retransmission timer expired: sets ssthresh (if `first_timeout`) and reduces cwnd to one MSS.
    fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>);

    /// First transmission after an idle time of at least one RTO: cwnd is capped (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, now: SimTime, restart: &Restart);

    /// Sets cwnd, to one segment at least: the recovery machine ends an episode with a smaller window than ssthresh
    /// (RFC 6582 full ACK), a SYN was lost, or a scheduler penalises the path. The penalty may also set ssthresh, to
    /// two segments at least; a controller without a threshold ignores that.
    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>);

    /// Window and threshold. Constant between two calls of other methods, so that the sender may cache it.
    fn window(&self) -> Window;

    /// Reports what it knows of the path, for recorders: names that carry their unit, as time series have, and
    /// values.
    fn gauges(&self, _paths: Paths<'_>, _report: &mut dyn FnMut(&'static str, f64)) {}
}
