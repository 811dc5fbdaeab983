//! The window that Vegas, New Vegas and wVegas share: that of Reno, and once per round trip an epoch from which the
//! controller estimates the queue and decides.
//!
//! Source: Brakmo and Peterson, "TCP Vegas", 1995; draft-xu-mptcp-congestion-control-05 section 3. Units: bytes;
//! segments and seconds where a method says so. Loss and timeout are those of Reno, and so is growth where an epoch has
//! too few samples. In avoidance the window changes only with the decision of an epoch. After a recovery, a timeout or
//! an idle time one full round trip passes without a decision (`round.rs`).

use units::Nanos;

use crate::reno::{MIN_SSTHRESH_SEGMENTS, RenoWindow};
use crate::round::{RoundTrip, Rounds, Turn};
use crate::{Ack, Loss, Restart, Setup};

/// A round trip as a controller reads it: the expected rate is `w / base`, the actual one `w / rtt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    base: Nanos,
    rtt: Nanos,
}

impl Epoch {
    /// Read by the smallest sample of the round.
    pub fn of_smallest(round: &RoundTrip) -> Self {
        Self::new(round.base, round.min)
    }

    /// Read by the mean of the samples of the round.
    pub fn of_mean(round: &RoundTrip) -> Self {
        Self::new(round.base, round.mean)
    }

    fn new(base: Nanos, rtt: Nanos) -> Self {
        debug_assert!(base > Nanos::ZERO, "the formulas divide by the smallest round trip");
        debug_assert!(base <= rtt, "a round trip of {rtt} is shorter than {base}, the smallest so far");
        Self { base, rtt }
    }

    /// Segments queued by a window of `segments`: `(expected - actual) * base`, that is `w (rtt - base) / rtt`.
    pub fn queued(&self, segments: f64) -> f64 {
        let (base, rtt) = (self.base.as_secs_f64(), self.rtt.as_secs_f64());
        segments * (rtt - base) / rtt
    }

    /// The same as Linux estimates it: `w (rtt - base) / base` (choice D-05).
    pub fn queued_by_base(&self, segments: f64) -> f64 {
        let (base, rtt) = (self.base.as_secs_f64(), self.rtt.as_secs_f64());
        segments * (rtt - base) / base
    }

    /// Share of the window that would not queue: base / rtt.
    pub fn base_share(&self) -> f64 {
        self.base / self.rtt
    }

    /// Round-trip time of the epoch.
    pub fn rtt(&self) -> Nanos {
        self.rtt
    }

    /// Time that its segments spent in queues.
    pub fn queueing_delay(&self) -> Nanos {
        self.rtt.saturating_sub(self.base)
    }
}

/// A Reno window with epochs.
#[derive(Clone, Debug)]
pub(crate) struct DelayWindow {
    /// cwnd and ssthresh.
    pub reno: RenoWindow,
    rounds: Rounds,
    /// Segments queued, by the last epoch.
    queued: Option<f64>,
}

impl DelayWindow {
    /// For a path that was just set up. A round with fewer than `min_samples` samples is left to Reno.
    pub fn new(setup: &Setup, min_samples: u32) -> Self {
        Self { reno: RenoWindow::new(setup), rounds: Rounds::new(min_samples), queued: None }
    }

    /// Takes an ACK in, and grows as Reno where that applies. Returns the round that the ACK ends, if it counts: the
    /// caller decides what the window becomes.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<RoundTrip> {
        match self.rounds.on_ack(ack) {
            Turn::Over(round) => return Some(round),
            Turn::Inside if !self.reno.in_slow_start() => {}
            Turn::Inside | Turn::Repairing | Turn::Unknown => self.reno.grow(ack),
        }
        None
    }

    /// Window in segments.
    pub fn segments(&self) -> f64 {
        self.reno.cwnd / self.reno.mss
    }

    /// Keeps the estimate of an epoch for recorders, in segments.
    pub fn note_queued(&mut self, segments: f64) {
        debug_assert!(segments >= 0.0 && segments.is_finite(), "{segments} segments queued");
        self.queued = Some(segments);
    }

    /// At most `cwnd` bytes, but two segments are allowed.
    pub fn limit(&mut self, cwnd: f64) {
        self.reno.cwnd = self.reno.cwnd.min(cwnd.max(self.floor()));
        self.reno.check();
    }

    /// Ends slow start: ssthresh is at most `ssthresh` bytes, but two segments are allowed.
    pub fn lower_ssthresh(&mut self, ssthresh: f64) {
        self.reno.ssthresh = self.reno.ssthresh.min(ssthresh.max(self.floor()));
        debug_assert!(
            !self.reno.in_slow_start() || self.reno.cwnd < self.floor(),
            "a decision to shrink leaves slow start: {:?}",
            self.reno
        );
    }

    fn floor(&self) -> f64 {
        MIN_SSTHRESH_SEGMENTS * self.reno.mss
    }

    /// A retransmission timeout.
    pub fn time_out(&mut self, loss: &Loss) {
        self.rounds.time_out();
        let half = self.reno.half(loss);
        self.reno.time_out(loss, half);
    }

    /// The first transmission after an idle time.
    pub fn idle_restart(&mut self, restart: &Restart) {
        self.rounds.restart();
        self.reno.restart(restart);
    }

    /// An ACK inside recovery: only the smallest sample is of interest.
    pub fn note_rtt(&mut self, ack: &Ack) {
        self.rounds.note(ack);
    }

    /// Recovery is over.
    pub fn exit_recovery(&mut self) {
        self.rounds.restart();
    }

    /// Smallest round trip and estimated queue, for recorders.
    pub fn gauges(&self, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(base) = self.rounds.base() {
            report("base_rtt_s", base);
        }
        if let Some(queued) = self.queued {
            report("diff_segments", queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn epoch(base: u64, queue: u64) -> Epoch {
        Epoch::new(Nanos(base), Nanos(base + queue))
    }

    proptest! {
        /// The actual rate is never above the expected one, and the two estimates agree where nothing is queued.
        #[test]
        fn the_queue_is_a_part_of_the_window(
            segments in 1.0..10_000.0_f64, base in 1..10_000_000_000_u64, queue in 0..10_000_000_000_u64,
        ) {
            let epoch = epoch(base, queue);
            let (queued, by_base) = (epoch.queued(segments), epoch.queued_by_base(segments));
            prop_assert!((0.0..segments).contains(&queued));
            prop_assert!(by_base >= queued);
            prop_assert_eq!(queued == 0.0, by_base == 0.0);
            let fitting = segments * epoch.base_share();
            prop_assert!((fitting + queued - segments).abs() <= 1e-9 * segments, "{} + {}", fitting, queued);
        }
    }
}
