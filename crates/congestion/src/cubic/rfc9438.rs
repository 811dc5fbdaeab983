//! Growth in congestion avoidance by RFC 9438 sections 4.2 to 4.5.
//!
//! Units: segments and seconds, as in the formulas; all state variables carry the names of section 4.1.2.
//! The growth per ACK is multiplied by the segments that it acknowledges (D-03), so that delayed ACKs do not halve it;
//! one ACK counts for at most one window.
//! A stage of congestion avoidance starts with the first ACK that finds cwnd >= ssthresh and the window full; that
//! ACK starts the clock of `W_cubic` and the count of `W_est`.
//! Application-limited time does not count: `t_epoch` moves on by each interval between ACKs that ends with an ACK
//! that did not find the window full, and by the silence before an idle restart.

use units::SimTime;

use crate::Ack;
use crate::reno::RenoWindow;

/// Growth on one path.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// C, in segments/s^3.
    c: f64,
    /// alpha_cubic: Reno growth per round trip that goes with beta.
    pub alpha: f64,
    /// Segments when ssthresh was set; 0 before that.
    pub cwnd_prior: f64,
    pub stage: Option<Stage>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    /// Start, moved on by application-limited time.
    pub t_epoch: SimTime,
    /// Until here application-limited time has been taken out.
    last_ack: SimTime,
    /// Seconds until the cubic function is back at W_max.
    pub k: f64,
    /// Window of a Reno flow with the same average, in segments.
    pub w_est: f64,
}

impl Growth {
    pub fn new(c: f64, beta: f64) -> Self {
        Self { c, alpha: 3.0 * (1.0 - beta) / (1.0 + beta), cwnd_prior: 0.0, stage: None }
    }

    /// An ACK in avoidance that found the window full. `w_max`: 0 lets the next stage set it to its first window.
    pub fn on_ack(&mut self, window: &mut RenoWindow, w_max: &mut f64, ack: &Ack) {
        let acked = window.acked_in_avoidance(ack.acked) / window.mss;
        let cwnd = window.cwnd / window.mss;
        let Some(mut stage) = self.stage else {
            let stage = self.start_stage(ack.now, cwnd, w_max);
            self.stage = Some(stage);
            window.cwnd += self.increment(&stage, *w_max, ack, cwnd) * acked * window.mss;
            return;
        };
        // Once W_est is back at the window before the loss, Reno grows by a whole segment (section 4.3).
        let alpha = if stage.w_est >= self.cwnd_prior { 1.0 } else { self.alpha };
        stage.w_est += alpha * acked / cwnd;
        stage.last_ack = ack.now;
        self.stage = Some(stage);
        if self.w_cubic(stage.k, stage.elapsed(ack.now), *w_max) < stage.w_est {
            window.cwnd = window.cwnd.max(stage.w_est * window.mss);
        } else {
            window.cwnd += self.increment(&stage, *w_max, ack, cwnd) * acked * window.mss;
        }
    }

    pub fn start_stage(&mut self, now: SimTime, cwnd_epoch: f64, w_max: &mut f64) -> Stage {
        // No maximum to return to (slow start without loss, timeout), or already beyond it: convex from here.
        *w_max = w_max.max(cwnd_epoch);
        if self.cwnd_prior <= 0.0 {
            self.cwnd_prior = cwnd_epoch;
        }
        let k = libm::cbrt((*w_max - cwnd_epoch) / self.c);
        Stage { t_epoch: now, last_ack: now, k, w_est: cwnd_epoch }
    }

    /// Equation 1, in segments.
    pub fn w_cubic(&self, k: f64, t: f64, w_max: f64) -> f64 {
        let d = t - k;
        self.c * d * d * d + w_max
    }

    /// Where the window should be one round trip after `t`, in segments.
    pub fn target(&self, k: f64, t: f64, srtt: f64, cwnd: f64, w_max: f64) -> f64 {
        debug_assert!(t >= 0.0, "{t} s into the stage");
        self.w_cubic(k, t + srtt, w_max).clamp(cwnd, 1.5 * cwnd)
    }

    /// Growth per acknowledged segment, in segments (sections 4.4 and 4.5).
    fn increment(&self, stage: &Stage, w_max: f64, ack: &Ack, cwnd: f64) -> f64 {
        let (t, srtt) = (stage.elapsed(ack.now), ack.srtt.as_secs_f64());
        (self.target(stage.k, t, srtt, cwnd, w_max) - cwnd) / cwnd
    }

    /// The time since the last ACK was limited by the application.
    pub fn exclude_until(&mut self, now: SimTime) {
        if let Some(stage) = &mut self.stage {
            stage.t_epoch += now.since(stage.last_ack);
            stage.last_ack = now;
        }
    }

    pub fn check(&self) {
        let Some(stage) = &self.stage else { return };
        debug_assert!(stage.k >= 0.0, "K {}: a stage starts at or below W_max", stage.k);
        debug_assert!(stage.t_epoch <= stage.last_ack, "a stage begins before its last ACK: {stage:?}");
        debug_assert!(stage.w_est > 0.0, "the estimate of Reno is empty: {stage:?}");
    }
}

impl Stage {
    /// Seconds of the stage that count.
    fn elapsed(&self, now: SimTime) -> f64 {
        now.since(self.t_epoch).as_secs_f64()
    }
}
