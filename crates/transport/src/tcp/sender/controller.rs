//! The congestion control of a sender, with its answers cached: the sender reads them several times per segment, and they
//! change only when the controller handles an event.

use congestion::{
    Ack, Capabilities, CongestionControl, DummyAnswer, Loss, Pacing, PathView, Paths, RecoveryAck, Restart,
    RtoTimer, Window,
};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::config::LossMeans;
use crate::space::DummyQueue;

/// Values that the controllers of sibling paths may read, see `congestion::SharedState`.
#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    loss_interval: f64,
    threshold: f64,
    measured_rate: f64,
}

/// A controller, its capabilities and its present answers.
#[derive(Debug)]
pub(super) struct Controller {
    inner: Box<dyn CongestionControl>,
    capabilities: Capabilities,
    window: Window,
    /// `None` of a controller whose extensions have no values.
    extensions: Option<Box<Extensions>>,
    /// Losses mean congestion: it is told of them.
    reacts_to_losses: bool,
}

/// Present answers of the extensions of a controller, as far as it has them.
#[derive(Debug, Default)]
struct Extensions {
    pacing_rate: Option<BitsPerSecond>,
    beyond_window: u64,
    /// For the sibling paths.
    shared: Shared,
    /// Dummies that it has ordered; only for one that probes.
    dummies: Option<DummyQueue>,
}

impl Controller {
    pub(super) fn new(mut inner: Box<dyn CongestionControl>, loss_means: LossMeans) -> Self {
        let capabilities = Capabilities::of(&mut *inner);
        let mut controller = Self {
            window: inner.window(),
            inner,
            capabilities,
            extensions: capabilities.has_cached_values().then(|| {
                let dummies = capabilities.probing.then(DummyQueue::default);
                Box::new(Extensions { dummies, ..Extensions::default() })
            }),
            reacts_to_losses: loss_means == LossMeans::Congestion,
        };
        controller.refresh();
        controller
    }

    pub(super) fn losses_mean(&mut self, what: LossMeans) {
        self.reacts_to_losses = what == LossMeans::Congestion;
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.window.cwnd.0
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.window.ssthresh.0
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.window.in_slow_start
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// `None` from one that does not pace, and before it knows a rate.
    pub(super) fn pacing_rate(&self) -> Option<BitsPerSecond> {
        self.extensions.as_deref().and_then(|extensions| extensions.pacing_rate)
    }

    /// Bytes that may leave at once after a pause.
    pub(super) fn pacing_burst(&self) -> Bytes {
        if !self.capabilities.pacing {
            return Bytes::ZERO;
        }
        self.inner.pacing().map_or(Bytes::ZERO, Pacing::pacing_burst)
    }

    /// Bytes by which the advertised window may be exceeded.
    pub(super) fn beyond_window(&self) -> u64 {
        self.extensions.as_deref().map_or(0, |extensions| extensions.beyond_window)
    }

    /// Adds what it shares to the view of its path.
    #[inline]
    pub(super) fn show_shared(&self, view: &mut PathView) {
        if let Some(extensions) = self.extensions.as_deref() {
            let Shared { loss_interval, threshold, measured_rate } = extensions.shared;
            (view.loss_interval, view.threshold, view.measured_rate) =
                (loss_interval, threshold, measured_rate);
        }
    }

    pub(super) fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.inner.gauges(paths, report);
    }

    #[inline(always)]
    fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionControl)) {
        event(&mut *self.inner);
        self.refresh();
    }

    #[inline(always)]
    fn refresh(&mut self) {
        let window = self.inner.window();
        self.note(window);
    }

    #[inline(always)]
    fn note(&mut self, window: Window) {
        self.window = window;
        if self.extensions.is_some() {
            self.refresh_extensions();
        }
    }

    #[inline(never)]
    fn refresh_extensions(&mut self) {
        let Self { inner, extensions: Some(known), capabilities, .. } = self else { return };
        let Capabilities { pacing, overdraft, shared_state, probing, .. } = *capabilities;
        if pacing {
            known.pacing_rate = inner.pacing().and_then(Pacing::pacing_rate);
            debug_assert_ne!(known.pacing_rate, Some(BitsPerSecond(0)), "a rate of zero stops the sender");
        }
        if overdraft {
            known.beyond_window = inner.overdraft().map_or(0, |overdraft| overdraft.beyond_window().0);
        }
        if shared_state && let Some(shared) = inner.shared_state() {
            known.shared = Shared {
                loss_interval: shared.loss_interval(),
                threshold: shared.threshold(),
                measured_rate: shared.measured_rate(),
            };
        }
        if probing
            && let (Some(queue), Some(probing)) = (&mut known.dummies, inner.probing())
            && let Some(order) = probing.take_dummies()
        {
            queue.order(order);
        }
    }

    pub(super) fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        self.tell(|c| c.on_established(now, srtt));
    }

    /// An ACK outside fast recovery; a controller that owns the whole window gets it by `on_any_ack`.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        if !self.capabilities.needs.whole_window {
            let window = self.inner.after_ack(ack, paths);
            self.note(window);
        }
    }

    /// Any ACK that delivers something, for a controller that owns the whole window.
    pub(super) fn on_any_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        self.tell(|c| c.on_ack(ack, paths));
    }

    pub(super) fn on_dup_ack(&mut self, now: SimTime) {
        if self.capabilities.recovery_hooks {
            self.tell(|c| {
                if let Some(hooks) = c.recovery_hooks() {
                    hooks.on_dup_ack(now);
                }
            });
        }
    }

    pub(super) fn on_loss(&mut self, loss: &Loss, paths: Paths<'_>) {
        if self.reacts_to_losses {
            self.tell(|c| c.on_loss(loss, paths));
        }
    }

    pub(super) fn on_recovery_ack(&mut self, ack: &Ack) {
        if self.capabilities.recovery_hooks && !self.capabilities.needs.whole_window {
            self.tell(|c| {
                if let Some(hooks) = c.recovery_hooks() {
                    hooks.on_recovery_ack(ack);
                }
            });
        }
    }

    pub(super) fn on_exit_recovery(&mut self, now: SimTime) {
        if self.capabilities.recovery_hooks && self.reacts_to_losses {
            self.tell(|c| {
                if let Some(hooks) = c.recovery_hooks() {
                    hooks.on_exit_recovery(now);
                }
            });
        }
    }

    pub(super) fn on_ecn(&mut self, loss: &Loss, paths: Paths<'_>) {
        self.tell(|c| c.on_ecn(loss, paths));
    }

    pub(super) fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>) {
        if self.reacts_to_losses {
            self.tell(|c| c.on_rto(loss, paths));
        }
    }

    pub(super) fn on_spurious_timeout(&mut self) {
        if self.capabilities.spurious_timeouts && self.reacts_to_losses {
            self.tell(|c| {
                if let Some(undo) = c.spurious_timeouts() {
                    undo.on_spurious_timeout();
                }
            });
        }
    }

    pub(super) fn on_idle_restart(&mut self, now: SimTime, restart: Restart) {
        self.tell(|c| c.on_idle_restart(now, &restart));
    }

    /// Sets cwnd, and ssthresh if there is one.
    pub(super) fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.tell(|c| c.set_window(cwnd, ssthresh));
    }

    pub(super) fn recovery_window(&self, window: u64, ack: RecoveryAck) -> Option<u64> {
        if !self.capabilities.overdraft {
            return None;
        }
        self.inner.overdraft()?.recovery_window(Bytes(window), ack).map(|window| window.0)
    }

    pub(super) fn rto_margin(&self, timer: RtoTimer) -> Nanos {
        if !self.capabilities.overdraft {
            return Nanos::ZERO;
        }
        self.inner.overdraft().map_or(Nanos::ZERO, |overdraft| overdraft.rto_margin(timer))
    }

    /// The dummies that are to leave, to be changed.
    #[inline]
    pub(super) fn dummies_mut(&mut self) -> Option<&mut DummyQueue> {
        self.extensions.as_deref_mut()?.dummies.as_mut()
    }

    /// The dummies that are to leave; `None` of a controller that does not probe.
    #[inline]
    pub(super) fn dummies(&self) -> Option<&DummyQueue> {
        self.extensions.as_deref()?.dummies.as_ref()
    }

    /// A dummy is answered; an answer to one that was never sent has no meaning.
    pub(super) fn on_dummy_answer(&mut self, answer: &DummyAnswer) {
        if self.dummies().is_none() {
            return;
        }
        self.tell(|c| {
            if let Some(probing) = c.probing() {
                probing.on_dummy_answer(answer);
            }
        });
    }
}
