//! The congestion control of a sender, with its two answers kept at hand: they are asked for several times per
//! segment and change only when the controller is told something.

use congestion::{Ack, CongestionControl, Loss, Paths};
use units::{Bytes, Nanos, SimTime};

/// A controller and its present cwnd and ssthresh in bytes.
#[derive(Debug)]
pub(super) struct Controller {
    inner: Box<dyn CongestionControl>,
    cwnd: u64,
    ssthresh: u64,
}

impl Controller {
    pub(super) fn new(inner: Box<dyn CongestionControl>) -> Self {
        let (cwnd, ssthresh) = (inner.cwnd().0, inner.ssthresh().0);
        Self { inner, cwnd, ssthresh }
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(super) fn loss_interval(&self) -> f64 {
        self.inner.loss_interval()
    }

    pub(super) fn measured_rate(&self) -> f64 {
        self.inner.measured_rate()
    }

    fn tell(&mut self, what: impl FnOnce(&mut dyn CongestionControl)) {
        what(&mut *self.inner);
        self.cwnd = self.inner.cwnd().0;
        self.ssthresh = self.inner.ssthresh().0;
    }

    pub(super) fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        self.tell(|c| c.on_established(now, srtt));
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        self.tell(|c| c.on_ack(ack, paths));
    }

    pub(super) fn on_dup_ack(&mut self, now: SimTime) {
        self.tell(|c| c.on_dup_ack(now));
    }

    pub(super) fn on_enter_recovery(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.tell(|c| c.on_enter_recovery(loss, paths));
    }

    pub(super) fn on_recovery_ack(&mut self, ack: &Ack) {
        self.tell(|c| c.on_recovery_ack(ack));
    }

    pub(super) fn on_exit_recovery(&mut self, now: SimTime) {
        self.tell(|c| c.on_exit_recovery(now));
    }

    pub(super) fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.tell(|c| c.on_rto(loss, paths));
    }

    pub(super) fn on_idle_restart(&mut self, now: SimTime, restart_window: Bytes) {
        self.tell(|c| c.on_idle_restart(now, restart_window));
    }

    pub(super) fn set_cwnd(&mut self, cwnd: Bytes) {
        self.tell(|c| c.set_cwnd(cwnd));
    }
}
