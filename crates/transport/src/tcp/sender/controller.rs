//! The congestion control of a sender, with its answers kept at hand: they are asked for several times per segment
//! and change only when the controller is told something.

use congestion::{Ack, CongestionControl, Dummies, DummyAnswer, Loss, Paths, RecoveryAck, RtoTimer, Wants};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::config::LossMeans;

/// A controller and its present cwnd and ssthresh in bytes.
#[derive(Debug)]
pub(super) struct Controller {
    inner: Box<dyn CongestionControl>,
    cwnd: u64,
    ssthresh: u64,
    wants: Wants,
    /// It wants anything: most do not, and then the following are not asked for.
    special: bool,
    pacing_rate: Option<BitsPerSecond>,
    beyond_window: u64,
    /// Ordered, and not taken yet.
    dummies: Option<Dummies>,
    /// Losses mean congestion: it hears of them.
    hears_losses: bool,
}

impl Controller {
    pub(super) fn new(inner: Box<dyn CongestionControl>, loss_means: LossMeans) -> Self {
        let (cwnd, ssthresh, wants) = (inner.cwnd().0, inner.ssthresh().0, inner.wants());
        let (special, pacing_rate) = (wants.anything(), inner.pacing_rate().filter(|_| wants.pacing));
        let hears_losses = loss_means == LossMeans::Congestion;
        Self {
            inner,
            cwnd,
            ssthresh,
            wants,
            special,
            pacing_rate,
            beyond_window: 0,
            dummies: None,
            hears_losses,
        }
    }

    pub(super) fn losses_mean(&mut self, what: LossMeans) {
        self.hears_losses = what == LossMeans::Congestion;
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(super) fn wants(&self) -> Wants {
        self.wants
    }

    /// `None` from one that does not pace, and before it knows a rate.
    pub(super) fn pacing_rate(&self) -> Option<BitsPerSecond> {
        self.pacing_rate
    }

    /// Bytes by which the advertised window may be passed.
    pub(super) fn beyond_window(&self) -> u64 {
        self.beyond_window
    }

    /// Bytes that may leave at once after a pause.
    pub(super) fn pacing_burst(&self) -> Bytes {
        self.inner.pacing_burst()
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.inner.in_slow_start()
    }

    pub(super) fn loss_interval(&self) -> f64 {
        self.inner.loss_interval()
    }

    pub(super) fn measured_rate(&self) -> f64 {
        self.inner.measured_rate()
    }

    pub(super) fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.inner.gauges(paths, report);
    }

    fn tell(&mut self, what: impl FnOnce(&mut dyn CongestionControl)) {
        what(&mut *self.inner);
        self.cwnd = self.inner.cwnd().0;
        self.ssthresh = self.inner.ssthresh().0;
        if self.special {
            self.pacing_rate = self.inner.pacing_rate().filter(|_| self.wants.pacing);
            self.beyond_window = if self.wants.beyond_window { self.inner.beyond_window().0 } else { 0 };
            if self.wants.dummies {
                self.dummies = self.inner.take_dummies().or(self.dummies);
            }
        }
    }

    pub(super) fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        self.tell(|c| c.on_established(now, srtt));
    }

    /// An ACK outside fast recovery; a controller that owns the whole window hears of it by `on_any_ack`.
    pub(super) fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        if !self.wants.whole_window {
            self.tell(|c| c.on_ack(ack, paths));
        }
    }

    pub(super) fn recovery_window(&self, window: u64, ack: RecoveryAck) -> Option<u64> {
        self.inner.recovery_window(Bytes(window), ack).map(|window| window.0)
    }

    pub(super) fn rto_margin(&self, timer: RtoTimer) -> Nanos {
        if self.wants.rto_margin { self.inner.rto_margin(timer) } else { Nanos::ZERO }
    }

    /// Any ACK that delivers something, for a controller that owns the whole window.
    pub(super) fn on_any_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        self.tell(|c| c.on_ack(ack, paths));
    }

    pub(super) fn take_dummies(&mut self) -> Option<Dummies> {
        self.dummies.take()
    }

    pub(super) fn on_dummy_answer(&mut self, answer: &DummyAnswer) {
        self.tell(|c| c.on_dummy_answer(answer));
    }

    pub(super) fn on_dup_ack(&mut self, now: SimTime) {
        self.tell(|c| c.on_dup_ack(now));
    }

    pub(super) fn on_enter_recovery(&mut self, loss: &Loss, paths: Paths<'_>) {
        if self.hears_losses {
            self.tell(|c| c.on_enter_recovery(loss, paths));
        }
    }

    pub(super) fn on_recovery_ack(&mut self, ack: &Ack) {
        if !self.wants.whole_window {
            self.tell(|c| c.on_recovery_ack(ack));
        }
    }

    pub(super) fn on_exit_recovery(&mut self, now: SimTime) {
        if self.hears_losses {
            self.tell(|c| c.on_exit_recovery(now));
        }
    }

    pub(super) fn on_ecn(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.tell(|c| c.on_ecn(loss, paths));
    }

    pub(super) fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>) {
        if self.hears_losses {
            self.tell(|c| c.on_rto(loss, paths));
        }
    }

    pub(super) fn on_needless_timeout(&mut self) {
        if self.hears_losses {
            self.tell(|c| c.on_needless_timeout());
        }
    }

    pub(super) fn on_idle_restart(&mut self, now: SimTime, restart_window: Bytes) {
        self.tell(|c| c.on_idle_restart(now, restart_window));
    }

    pub(super) fn set_cwnd(&mut self, cwnd: Bytes) {
        self.tell(|c| c.set_cwnd(cwnd));
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.tell(|c| c.set_ssthresh(ssthresh));
    }
}
