//! wVegas, weighted Vegas: the paths of a connection share a number of queued segments in proportion to their rates.
//!
//! Source: draft-xu-mptcp-congestion-control-05 section 3; the multipath Linux kernel (`mptcp_wvegas.c`) for what
//! happens around a loss. Units: segments and seconds inside the formulas; rates in bytes per second.
//! Once per round trip of at least three samples, with rtt their mean (Vegas: the smallest) and base the smallest ever,
//! `diff = w (rtt - base) / rtt` segments are queued. Slow start ends when diff exceeds gamma, with
//! `w = min(w, w base / rtt + 1)`. Avoidance: if diff >= alpha_i, the rate w / rtt is taken down and
//! `alpha_i = max(2, floor(total_alpha * rate_i / sum rate))`; then w loses a segment if diff > alpha_i, gains one if
//! diff < alpha_i. When the queueing delay has doubled since its smallest value, `w *= base / (2 rtt)`.
//! A path whose rate is 0 keeps its weight. Loss and timeout are those of Reno; a timeout sets the rate to 0. After a
//! recovery, a timeout or an idle time one full round passes without a decision.
//! The product with the weight is rounded down after adding 1e-9. Alone the weight is 1.
//! Queueing delays are compared in whole microseconds, as in the kernel, and less than one is no queue: without that a
//! path that never queues would be drained for noise.
//! Deviation: weights compare bytes per second; they are the draft's where all segments are equal.
//! Deviation: the window grows only while it is the limit.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::delay_window::{DelayWindow, Epoch};
use crate::reno::may_grow;
use crate::vegas::GAMMA;
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryHooks, Restart, Setup,
    SharedState, Window,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "initial_alpha",
        OptionKind::Number { min: 0.0, max: 1000.0 },
        "2",
        "segments queued on a path at first, and at least",
    ),
    OptionSpec::new(
        "total_alpha",
        OptionKind::Number { min: 0.0, max: 10_000.0 },
        "10",
        "segments queued on all paths together",
    ),
    GAMMA,
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "wvegas",
    summary: "weighted Vegas: ten queued segments shared by the paths in proportion to their rates",
    source: "draft-xu-mptcp-congestion-control-05",
    notes: "coupled: leaves long clean paths unfilled, alone too; loses against loss-based flows",
    options: OPTIONS,
    check: registry::independent,
    build: |setup: &Setup, options: &Options| {
        Box::new(WVegas::new(setup, WVegasConfig::from_options(options)))
    },
};

/// A round trip with fewer samples is left to Reno.
const MIN_SAMPLES: u32 = 3;

/// Guards the whole number of queued segments against rounding.
const SHARE_TOLERANCE: f64 = 1e-9;

/// Parameters of wVegas, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WVegasConfig {
    /// Queue of a path at first, and at least.
    pub initial_alpha: f64,
    /// Queue of all paths.
    pub total_alpha: f64,
    /// Queue that ends slow start.
    pub gamma: f64,
}

impl WVegasConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        let number = |name| options.number(name);
        Self {
            initial_alpha: number("initial_alpha"),
            total_alpha: number("total_alpha"),
            gamma: number("gamma"),
        }
    }

    /// alpha_i of a path with this weight.
    fn alpha(&self, weight: f64) -> f64 {
        (weight * self.total_alpha + SHARE_TOLERANCE).floor().max(self.initial_alpha)
    }
}

/// wVegas on one path.
#[derive(Clone, Debug)]
pub(crate) struct WVegas {
    window: DelayWindow,
    config: WVegasConfig,
    /// alpha_i.
    alpha: f64,
    /// Share in the rate of the connection.
    weight: f64,
    /// w / rtt in bytes per second at the last weighing; 0: unknown.
    rate: f64,
    /// Smallest queueing delay since the last drain in microseconds; 0: none.
    queue_delay: u64,
}

impl WVegas {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: WVegasConfig) -> Self {
        Self {
            window: DelayWindow::new(setup, MIN_SAMPLES),
            config,
            alpha: config.initial_alpha,
            weight: 1.0,
            rate: 0.0,
            queue_delay: 0,
        }
    }

    fn decide(&mut self, ack: &Ack, epoch: Epoch, paths: Paths<'_>) {
        let diff = epoch.queued(self.window.segments());
        self.window.note_queued(diff);
        let reno = &mut self.window.reno;
        if reno.in_slow_start() {
            if diff > self.config.gamma {
                let fitting = reno.cwnd * epoch.base_share();
                let target = fitting + reno.mss;
                self.step_down(target);
            } else {
                reno.grow(ack);
            }
            return;
        }
        if diff >= self.alpha {
            self.weigh(epoch.rtt(), paths);
        }
        let reno = &mut self.window.reno;
        if diff > self.alpha {
            let target = reno.cwnd - reno.mss;
            self.step_down(target);
        } else if diff < self.alpha && may_grow(ack) {
            reno.cwnd += reno.mss;
        }
        self.drain(epoch);
    }

    /// Measures the rate and sets the weight and alpha_i by it.
    fn weigh(&mut self, rtt: Nanos, paths: Paths<'_>) {
        self.rate = self.window.reno.cwnd / rtt.as_secs_f64();
        let siblings = paths.all.iter().enumerate().filter(|(i, p)| *i != paths.me && p.coupled);
        let sum = self.rate + siblings.map(|(_, p)| p.measured_rate).sum::<f64>();
        self.weight = self.rate / sum;
        self.alpha = self.config.alpha(self.weight);
    }

    /// Reduces the window so that the queue runs empty, when the queueing delay has doubled.
    fn drain(&mut self, epoch: Epoch) {
        let delay = epoch.queueing_delay().0 / 1000;
        if self.queue_delay == 0 || delay < self.queue_delay {
            self.queue_delay = delay;
        }
        if delay > 0 && delay / 2 >= self.queue_delay {
            self.window.limit(self.window.reno.cwnd * 0.5 * epoch.base_share());
            self.queue_delay = 0;
        }
    }

    /// A smaller window with ssthresh below it: slow start is over.
    fn step_down(&mut self, cwnd: f64) {
        self.window.limit(cwnd);
        self.window.lower_ssthresh(self.window.reno.cwnd - self.window.reno.mss);
    }

    fn check(&self) {
        self.window.reno.check();
        debug_assert!(self.weight > 0.0 && self.weight <= 1.0, "a share of the rate: {}", self.weight);
        debug_assert!(self.alpha >= self.config.initial_alpha, "alpha_i {} below its floor", self.alpha);
        debug_assert!(
            self.alpha <= (self.config.total_alpha + SHARE_TOLERANCE).max(self.config.initial_alpha),
            "a path queues no more than all paths together: {} {:?}",
            self.alpha,
            self.config
        );
        debug_assert!(self.rate >= 0.0 && self.rate.is_finite(), "rate {}", self.rate);
    }
}

impl Extensions for WVegas {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn shared_state(&self) -> Option<&dyn SharedState> {
        Some(self)
    }
}

impl CongestionControl for WVegas {
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        if let Some(round) = self.window.on_ack(ack) {
            self.decide(ack, Epoch::of_mean(&round), paths);
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.reno.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.time_out(loss);
        self.rate = 0.0;
        self.check();
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart: &Restart) {
        self.window.idle_restart(restart);
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.window.reno.set_both(cwnd, ssthresh);
    }

    fn window(&self) -> Window {
        self.window.reno.shown()
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.window.gauges(report);
        report("alpha_segments", self.alpha);
        report("weight", self.weight);
    }
}

impl SharedState for WVegas {
    fn measured_rate(&self) -> f64 {
        self.rate
    }
}

impl RecoveryHooks for WVegas {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.window.note_rtt(ack);
    }

    fn on_exit_recovery(&mut self, _now: SimTime) {
        self.window.exit_recovery();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::round::RoundTrip;
    use crate::testing::{ack, close, loss, one_round, setup_with, views};
    use crate::{Growth, PathView};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn config() -> WVegasConfig {
        WVegasConfig::from_options(&Options::defaults(OPTIONS))
    }

    /// wVegas in avoidance with a window of `segments` of 1000 bytes, on a path of this smallest round-trip time.
    fn wvegas(segments: u64, base_ms: u64) -> WVegas {
        let mut cc = WVegas::new(&setup_with(1000, 1000 * segments, 1000 * segments, BYTES), config());
        cc.window.note_rtt(&Ack { rtt: Some(Nanos::from_millis(base_ms)), ..ack(0) });
        cc
    }

    fn epoch(base: f64, rtt: f64) -> Epoch {
        let (base, mean) = (Nanos::from_secs_f64(base), Nanos::from_secs_f64(rtt));
        Epoch::of_mean(&RoundTrip { base, min: mean, mean })
    }

    /// Coupled paths with these measured rates in segments of 1000 bytes per second.
    fn rates(rates: &[f64]) -> Vec<PathView> {
        let view = |&rate| PathView { measured_rate: 1000.0 * rate, ..views(&[(10.0, 0.1, 1000.0)])[0] };
        rates.iter().map(view).collect()
    }

    #[test]
    fn wv_1_queue_rates_and_weights() {
        let diff = epoch(0.560, 0.600).queued(50.0);
        close(diff, 3.333_333, 1e-6);
        close(diff.floor(), 3.0, 0.0);
        let all = rates(&[50.0 / 0.6, 20.0 / 0.06]);
        let mut slow = wvegas(50, 560);
        one_round(&mut slow, 0, &[600; 4], Paths { all: &all, me: 0 });
        close(slow.measured_rate() / 1000.0, 83.3333, 1e-6);
        close(slow.weight, 0.2, 1e-9);
        close(slow.alpha, 2.0, 0.0);
        assert_eq!(
            (slow.window().cwnd, slow.window().ssthresh),
            (Bytes(49_000), Bytes(48_000)),
            "3.3 is more than 2"
        );
        let mut fast = wvegas(20, 53);
        one_round(&mut fast, 0, &[60; 4], Paths { all: &all, me: 1 });
        close(fast.measured_rate() / 1000.0, 333.3333, 1e-6);
        close(fast.weight, 0.8, 1e-9);
        close(fast.alpha, 8.0, 0.0);
        assert_eq!(fast.window().cwnd, Bytes(21_000), "2.3 is less than 8");
        close(config().alpha(0.8 - 1e-16), 8.0, 0.0);
    }

    #[test]
    fn wv_1_drain() {
        let mut cc = wvegas(50, 560);
        cc.drain(epoch(0.560, 0.575));
        assert_eq!((cc.window().cwnd, cc.queue_delay), (Bytes(50_000), 15_000));
        cc.drain(epoch(0.560, 0.600));
        close(0.5 * epoch(0.560, 0.600).base_share(), 0.466_667, 1e-6);
        close((cc.window.reno.cwnd / 1000.0).floor(), 23.0, 0.0);
        assert_eq!(cc.queue_delay, 0, "unset");
    }

    #[test]
    fn an_empty_queue_is_not_drained() {
        let mut cc = wvegas(50, 560);
        for _ in 0..5 {
            cc.drain(epoch(0.560, 0.560_000_4));
        }
        assert_eq!((cc.window().cwnd, cc.queue_delay), (Bytes(50_000), 0));
    }

    #[test]
    fn slow_start_ends_when_a_queue_builds_up() {
        let mut cc = WVegas::new(&setup_with(1000, 16_000, u64::MAX, BYTES), config());
        one_round(&mut cc, 0, &[500; 4], Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(20_000), "one segment per ACK");
        one_round(&mut cc, 1, &[625; 4], Paths::ALONE);
        // Three more ACKs, then the decision: 23 * 500 / 625 + 1.
        close(cc.window.reno.cwnd, 19_400.0, 1e-9);
        close(cc.window.reno.ssthresh, 18_400.0, 1e-9);
    }

    #[test]
    fn a_path_without_a_rate_does_not_count_and_a_timeout_forgets_the_rate() {
        let mut all = rates(&[0.0, 0.0, 500.0]);
        all[2].coupled = false;
        let mut cc = wvegas(50, 500);
        one_round(&mut cc, 0, &[600; 4], Paths { all: &all, me: 0 });
        close(cc.weight, 1.0, 0.0);
        cc.on_rto(&loss(50_000), Paths { all: &all, me: 0 });
        close(cc.measured_rate(), 0.0, 0.0);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1000), Bytes(25_000)));
        close(cc.weight, 1.0, 0.0);
    }

    #[test]
    fn alone_it_queues_ten_segments() {
        let mut cc = wvegas(50, 500);
        for n in 0..200 {
            // The queue of a path of 100 segments per second.
            let rtt = (cc.window().cwnd.0 / 100).max(500);
            one_round(&mut cc, n, &[rtt; 4], Paths::ALONE);
        }
        close(cc.alpha, 10.0, 0.0);
        let found = cc.window.reno.cwnd / 1000.0 - 50.0;
        assert!(found < 12.0, "{found}");
    }

    #[test]
    fn two_segments_are_the_floor_and_an_unlimited_sender_does_not_grow() {
        let mut cc = wvegas(2, 10);
        for n in 0..4 {
            one_round(&mut cc, n, &[9000; 4], Paths::ALONE);
            assert!(cc.window.reno.cwnd >= 2000.0);
        }
        let mut cc = wvegas(10, 100);
        let limited = Ack { cwnd_limited: false, rtt: Some(Nanos::from_millis(100)), ..ack(1000) };
        for i in 0..40 {
            cc.on_ack(&Ack { snd_una: i, snd_nxt: i + 10, ..limited }, Paths::ALONE);
        }
        assert_eq!(cc.window().cwnd, Bytes(10_000));
    }

    proptest! {
        #[test]
        fn n_equal_paths_have_equal_shares(n in 1..16_usize, w in 60..500_u64) {
            // Base 100 ms, round trip 200 ms: half of the window is queued, more than any alpha.
            let all = rates(&vec![w as f64 / 0.2; n]);
            let mut cc = wvegas(w, 100);
            one_round(&mut cc, 0, &[200; 4], Paths { all: &all, me: n - 1 });
            close(cc.weight, 1.0 / n as f64, 1e-9);
            close(cc.alpha, (10 / n).max(2) as f64, 0.0);
        }

        #[test]
        fn a_path_that_becomes_endless_leaves_its_share_to_the_other(w in 60..500_u64, other in 2..500_u32) {
            let all = rates(&[0.0, f64::from(other) / 1e9]);
            let mut cc = wvegas(w, 100);
            one_round(&mut cc, 0, &[200; 4], Paths { all: &all, me: 0 });
            close(cc.weight, 1.0, 1e-6);
        }

        #[test]
        fn the_queue_does_not_change_with_the_scale_of_time(
            w in 2..500_u32, base in 0.001..1.0_f64, queue in 0.001..1.0_f64, scale in 0.1..100.0_f64,
        ) {
            let near = epoch(base, base + queue).queued(f64::from(w));
            let far = epoch(scale * base, scale * (base + queue)).queued(f64::from(w));
            close(near, far, 1e-4);
        }
    }
}
