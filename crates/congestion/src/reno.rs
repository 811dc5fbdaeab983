//! The Reno window: what happens to cwnd and ssthresh wherever a controller has no rule of its own.
//!
//! Source: RFC 5681 sections 3.1, 3.2 and 4.1; RFC 3465 sections 2.1 and 2.2 (byte counting). Units: bytes, kept
//! as reals and rounded down only when shown to the sender (D-01).
//! An ACK that crosses ssthresh is a slow-start ACK as a whole (the plain rule of RFC 5681, "cwnd < ssthresh"):
//! cwnd may pass ssthresh by less than the growth of that ACK.
//! Deviation: in avoidance an ACK counts for at most one window. It never binds while an ACK covers only what the
//! window let out; after a retransmission timeout one ACK may cover far more, and must not buy several segments.

use units::Bytes;

use crate::{Ack, Loss, Restart, Setup, SsthreshFrom, Window};

/// Smallest slow-start threshold, in segments (RFC 5681 equation 4).
pub(crate) const MIN_SSTHRESH_SEGMENTS: f64 = 2.0;

/// Largest window of TCP (RFC 7323 section 2.3): estimates that leave the realm of reason end here.
pub(crate) const MAX_WINDOW: f64 = (1_u64 << 30) as f64;

/// cwnd and ssthresh with the rules of Reno. Invariants: see [`RenoWindow::check`].
#[derive(Clone, Debug)]
pub(crate) struct RenoWindow {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold, infinite while it is unlimited.
    pub ssthresh: f64,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// L * SMSS of RFC 3465.
    slow_start_limit: f64,
    byte_counting: bool,
    ssthresh_from: SsthreshFrom,
    /// Bytes acknowledged towards the next segment of growth (RFC 3465).
    bytes_acked: f64,
}

impl RenoWindow {
    pub fn new(setup: &Setup) -> Self {
        let mss = setup.mss.as_f64();
        let unlimited = setup.growth.slow_start_limit == u32::MAX;
        Self {
            cwnd: setup.initial_window.as_f64().max(mss),
            ssthresh: if setup.initial_ssthresh == Bytes::MAX {
                f64::INFINITY
            } else {
                setup.initial_ssthresh.as_f64()
            },
            mss,
            slow_start_limit: if unlimited {
                f64::INFINITY
            } else {
                f64::from(setup.growth.slow_start_limit) * mss
            },
            byte_counting: setup.growth.byte_counting,
            ssthresh_from: setup.ssthresh_from,
            bytes_acked: 0.0,
        }
    }

    /// The contract of the trait, and what the rules of all controllers rely on.
    #[inline]
    pub fn check(&self) {
        debug_assert!(self.mss >= 1.0, "an MSS of {} bytes", self.mss);
        debug_assert!(self.cwnd.is_finite(), "{self:?}");
        debug_assert!(self.cwnd >= self.mss, "cwnd below one segment: {self:?}");
        debug_assert!(self.ssthresh >= 0.0, "ssthresh is no number: {self:?}");
        debug_assert!(self.bytes_acked >= 0.0, "counted more than was acknowledged: {self:?}");
        debug_assert!(self.byte_counting || self.bytes_acked == 0.0, "{self:?} counts ACKs, not bytes");
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Growth by the Reno rules, if the window was the limit.
    pub fn grow(&mut self, ack: &Ack) {
        if !may_grow(ack) {
        } else if self.in_slow_start() {
            self.slow_start(ack.acked);
        } else {
            self.avoid(ack.acked);
        }
    }

    /// Slow start: `cwnd += min(N, L*SMSS)`.
    pub fn slow_start(&mut self, acked: Bytes) {
        self.cwnd += self.counted_in_slow_start(acked);
        self.check();
    }

    /// Bytes for which an ACK counts in slow start.
    pub fn counted_in_slow_start(&self, acked: Bytes) -> f64 {
        acked.as_f64().min(self.slow_start_limit)
    }

    /// Congestion avoidance: about one segment per round trip.
    pub fn avoid(&mut self, acked: Bytes) {
        let before = self.cwnd;
        self.avoid_unchecked(acked);
        debug_assert!(
            self.cwnd >= before && self.cwnd <= before + self.mss,
            "an ACK in avoidance adds at most one segment to {before}: {self:?}"
        );
        self.check();
    }

    fn avoid_unchecked(&mut self, acked: Bytes) {
        if !self.byte_counting {
            self.cwnd += self.mss * self.mss / self.cwnd;
            return;
        }
        self.bytes_acked += self.acked_in_avoidance(acked);
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// Bytes for which an ACK counts in congestion avoidance: those it acknowledges, or one segment where Reno
    /// counts ACKs. Coupled increases use it too, so that they and their cap count alike.
    pub fn counted(&self, acked: Bytes) -> f64 {
        if self.byte_counting { self.acked_in_avoidance(acked) } else { self.mss }
    }

    /// Acknowledged bytes, at most one window.
    pub fn acked_in_avoidance(&self, acked: Bytes) -> f64 {
        acked.as_f64().min(self.cwnd)
    }

    /// Sets ssthresh, but not below its floor, and cwnd to it.
    pub fn reduce_to(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH_SEGMENTS * self.mss);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0.0;
        self.check();
    }

    /// Bytes that a reduction is a part of: the flight, or cwnd.
    pub fn at_loss(&self, loss: &Loss) -> f64 {
        match self.ssthresh_from {
            SsthreshFrom::Flight => loss.flight.as_f64(),
            SsthreshFrom::Cwnd => self.cwnd,
        }
    }

    /// ssthresh after a loss: half of the flight (RFC 5681 equation 4), or of cwnd.
    pub fn half(&self, loss: &Loss) -> f64 {
        self.at_loss(loss) / 2.0
    }

    /// Reduces to half of the flight, or of cwnd.
    pub fn halve(&mut self, loss: &Loss) {
        self.reduce_to(self.half(loss));
    }

    /// Retransmission timeout: one segment; ssthresh is set only once for the same data.
    pub fn time_out(&mut self, loss: &Loss, ssthresh: f64) {
        if loss.first_timeout {
            self.reduce_to(ssthresh);
        }
        self.set(Bytes::ZERO);
        debug_assert!(
            !loss.first_timeout || self.in_slow_start(),
            "a timeout leads back to slow start (RFC 5681 section 3.1): {self:?}"
        );
    }

    /// Restart after idling: `min(RW, cwnd)` (RFC 5681 section 4.1), and what is kept of the window as ssthresh.
    pub fn restart(&mut self, restart: &Restart) {
        if let Some(kept) = restart.ssthresh {
            self.ssthresh = self.ssthresh.max(kept.as_f64());
        }
        if restart.cwnd.as_f64() < self.cwnd {
            self.set(restart.cwnd);
        }
    }

    /// Sets cwnd from outside, to one segment at least.
    pub fn set(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.as_f64().max(self.mss);
        self.bytes_acked = 0.0;
        self.check();
    }

    /// Sets ssthresh from outside, to two segments at least.
    pub fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.as_f64().max(MIN_SSTHRESH_SEGMENTS * self.mss);
    }

    /// Sets cwnd, and ssthresh if there is one.
    pub fn set_both(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.set(cwnd);
        if let Some(ssthresh) = ssthresh {
            self.set_ssthresh(ssthresh);
        }
    }

    /// Whole bytes of cwnd, which is finite: a signed number is one step for a processor.
    #[inline]
    pub fn cwnd_bytes(&self) -> Bytes {
        Bytes(self.cwnd as i64 as u64)
    }

    /// The window in whole bytes, for the sender. An infinite threshold saturates to `Bytes::MAX`.
    #[inline]
    pub fn shown(&self) -> Window {
        self.check();
        Window::new(self.cwnd_bytes(), Bytes(self.ssthresh as u64))
    }
}

/// Only an ACK of new data that finds the window full may open it (RFC 7661, RFC 9438 section 4.2).
pub(crate) fn may_grow(ack: &Ack) -> bool {
    ack.cwnd_limited && ack.acked > Bytes::ZERO
}

/// The methods of a controller that it leaves to its field `window`, inside its `impl CongestionControl`.
macro_rules! window_methods {
    () => {
        fn on_idle_restart(&mut self, _now: SimTime, restart: &$crate::Restart) {
            self.window.restart(restart);
        }

        crate::reno::window_values!();
    };
}
pub(crate) use window_methods;

/// Methods of `window_methods` that set and show the window.
macro_rules! window_values {
    () => {
        fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
            self.window.set_both(cwnd, ssthresh);
        }

        fn window(&self) -> crate::Window {
            self.window.shown()
        }
    };
}
pub(crate) use window_values;
