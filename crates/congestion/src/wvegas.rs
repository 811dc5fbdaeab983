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

use crate::reno::{MIN_SSTHRESH_SEGMENTS, RenoWindow, may_grow};
use crate::round::{RoundTrip, Rounds, Turn};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, RecoveryHooks, Setup, SharedState};

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
    OptionSpec::new(
        "gamma",
        OptionKind::Number { min: 0.0, max: 1000.0 },
        "1",
        "with more segments queued slow start ends",
    ),
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
    window: RenoWindow,
    config: WVegasConfig,
    rounds: Rounds,
    /// Segments queued, by the last round.
    diff: Option<f64>,
    /// alpha_i.
    alpha: f64,
    /// Share in the rate of the connection.
    weight: f64,
    /// w / rtt in bytes per second when last taken down; 0: unknown.
    rate: f64,
    /// Smallest queueing delay since the last drain in microseconds; 0: none.
    queue_delay: u64,
}

impl WVegas {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: WVegasConfig) -> Self {
        Self {
            window: RenoWindow::new(setup),
            config,
            rounds: Rounds::new(),
            diff: None,
            alpha: config.initial_alpha,
            weight: 1.0,
            rate: 0.0,
            queue_delay: 0,
        }
    }

    fn decide(&mut self, ack: &Ack, round: &RoundTrip, paths: Paths<'_>) {
        let diff = queued(self.window.cwnd / self.window.mss, round);
        self.diff = Some(diff);
        if self.window.in_slow_start() {
            if diff > self.config.gamma {
                let fitting = self.window.cwnd * base_share(round);
                self.step_down(fitting + self.window.mss);
            } else {
                self.window.grow(ack);
            }
            return;
        }
        if diff >= self.alpha {
            self.weigh(round.mean, paths);
        }
        if diff > self.alpha {
            self.step_down(self.window.cwnd - self.window.mss);
        } else if diff < self.alpha && may_grow(ack) {
            self.window.cwnd += self.window.mss;
        }
        self.drain(round);
    }

    /// Takes the rate down and the share that goes with it.
    fn weigh(&mut self, rtt: Nanos, paths: Paths<'_>) {
        self.rate = self.window.cwnd / rtt.as_secs_f64();
        let siblings = paths.all.iter().enumerate().filter(|(i, p)| *i != paths.me && p.coupled);
        let sum = self.rate + siblings.map(|(_, p)| p.measured_rate).sum::<f64>();
        self.weight = self.rate / sum;
        self.alpha = self.config.alpha(self.weight);
    }

    /// The queue has doubled: lets it run empty.
    fn drain(&mut self, round: &RoundTrip) {
        let delay = round.mean.saturating_sub(round.base).0 / 1000;
        if self.queue_delay == 0 || delay < self.queue_delay {
            self.queue_delay = delay;
        }
        if delay > 0 && delay / 2 >= self.queue_delay {
            self.limit(self.window.cwnd * 0.5 * base_share(round));
            self.queue_delay = 0;
        }
    }

    /// A smaller window, below which ssthresh comes to lie: slow start is over.
    fn step_down(&mut self, cwnd: f64) {
        self.limit(cwnd);
        let window = &mut self.window;
        let floor = MIN_SSTHRESH_SEGMENTS * window.mss;
        window.ssthresh = window.ssthresh.min((window.cwnd - window.mss).max(floor));
    }

    /// At most this window, but two segments are allowed.
    fn limit(&mut self, cwnd: f64) {
        self.window.cwnd = self.window.cwnd.min(cwnd.max(MIN_SSTHRESH_SEGMENTS * self.window.mss));
    }
}

/// base / rtt.
fn base_share(round: &RoundTrip) -> f64 {
    round.base / round.mean
}

/// Segments queued by a window of `segments`.
fn queued(segments: f64, round: &RoundTrip) -> f64 {
    let (base, rtt) = (round.base.as_secs_f64(), round.mean.as_secs_f64());
    segments * (rtt - base) / rtt
}

impl Extensions for WVegas {
    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn shared_state(&self) -> Option<&dyn SharedState> {
        Some(self)
    }
}

impl CongestionControl for WVegas {
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        match self.rounds.on_ack(ack) {
            Turn::Over(round) => self.decide(ack, &round, paths),
            Turn::Inside if !self.window.in_slow_start() => {}
            Turn::Inside | Turn::Repairing | Turn::Unknown => self.window.grow(ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.rounds.time_out();
        self.rate = 0.0;
        self.window.time_out(loss, loss.flight.as_f64() / 2.0);
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart_window: Bytes) {
        self.rounds.restart();
        self.window.restart(restart_window);
    }

    crate::reno::window_values!();

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(base) = self.rounds.base() {
            report("base_rtt_s", base);
        }
        if let Some(diff) = self.diff {
            report("diff_segments", diff);
        }
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
        self.rounds.note(ack);
    }

    fn on_exit_recovery(&mut self, _now: SimTime) {
        self.rounds.restart();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ack, close, loss, one_round, setup_with, views};
    use crate::{Growth, PathView};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn config() -> WVegasConfig {
        WVegasConfig::from_options(&Options::defaults(OPTIONS))
    }

    /// wVegas in avoidance with so many segments of 1000 bytes, on a path of this smallest round-trip time.
    fn wvegas(segments: u64, base_ms: u64) -> WVegas {
        let mut cc = WVegas::new(&setup_with(1000, 1000 * segments, 1000 * segments, BYTES), config());
        cc.rounds.note(&Ack { rtt: Some(Nanos::from_millis(base_ms)), ..ack(0) });
        cc
    }

    fn round(base: f64, rtt: f64) -> RoundTrip {
        let (base, mean) = (Nanos::from_secs_f64(base), Nanos::from_secs_f64(rtt));
        RoundTrip { base, min: mean, mean }
    }

    /// Coupled paths with these measured rates in segments of 1000 bytes per second.
    fn rates(rates: &[f64]) -> Vec<PathView> {
        let view = |&rate| PathView { measured_rate: 1000.0 * rate, ..views(&[(10.0, 0.1, 1000.0)])[0] };
        rates.iter().map(view).collect()
    }

    #[test]
    fn wv_1_queue_rates_and_weights() {
        let diff = queued(50.0, &round(0.560, 0.600));
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
        cc.drain(&round(0.560, 0.575));
        assert_eq!((cc.window().cwnd, cc.queue_delay), (Bytes(50_000), 15_000));
        cc.drain(&round(0.560, 0.600));
        close(0.5 * base_share(&round(0.560, 0.600)), 0.466_667, 1e-6);
        close((cc.window.cwnd / 1000.0).floor(), 23.0, 0.0);
        assert_eq!(cc.queue_delay, 0, "unset");
    }

    #[test]
    fn an_empty_queue_is_not_drained() {
        let mut cc = wvegas(50, 560);
        for _ in 0..5 {
            cc.drain(&round(0.560, 0.560_000_4));
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
        close(cc.window.cwnd, 19_400.0, 1e-9);
        close(cc.window.ssthresh, 18_400.0, 1e-9);
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
        let found = cc.window.cwnd / 1000.0 - 50.0;
        assert!(found < 12.0, "{found}");
    }

    #[test]
    fn two_segments_are_the_floor_and_an_unlimited_sender_does_not_grow() {
        let mut cc = wvegas(2, 10);
        for n in 0..4 {
            one_round(&mut cc, n, &[9000; 4], Paths::ALONE);
            assert!(cc.window.cwnd >= 2000.0);
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
            let near = queued(f64::from(w), &round(base, base + queue));
            let far = queued(f64::from(w), &round(scale * base, scale * (base + queue)));
            close(near, far, 1e-4);
        }
    }
}
