//! Vegas: keeps between alpha and beta segments queued in the network; delay, not loss, is the sign of congestion.
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8),
//! 1995 (`vegas`); Linux `tcp_vegas.c` (`vegas_linux`). Units: segments and seconds inside the formulas.
//! Once per round trip of at least three samples, with base the smallest sample ever and m the smallest of the round,
//! the queue is estimated as `diff = w (m - base) / m` (`vegas`) or `w (m - base) / base` (`vegas_linux`, choice
//! D-05); rounds, epochs and the window are those of `delay_window.rs`. Avoidance: above beta one segment less, below alpha one more. Slow start ends when diff exceeds gamma, with
//! `w = min(w, w base / m + 1)`. A round with fewer samples grows as Reno does. Loss and timeout are those of Reno.
//! After a recovery, a timeout or an idle time one full round passes without a decision.
//! `vegas_linux` also raises ssthresh to 3/4 of the window after each decision.
//! Deviation: slow start doubles in each round trip, as in Linux; the paper doubles in every second one. The finer
//! retransmission timer of the paper belongs to the recovery machine and is not modelled.
//! Deviation: real numbers where Linux has whole segments.
//! Deviation: the window grows only while it is the limit.

use registry::{OptionKind, OptionSpec, Options, in_order};
use units::{Bytes, SimTime};

use crate::delay_window::{DelayWindow, Epoch};
use crate::reno::may_grow;
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryHooks, Restart, Setup, Window,
};

/// A number of queued segments.
const fn queue(name: &'static str, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Number { min: 0.0, max: 1000.0 }, default, doc)
}

/// Options of all variants.
pub(crate) const ALPHA: OptionSpec = queue("alpha", "2", "with fewer segments queued the window grows");
pub(crate) const BETA: OptionSpec = queue("beta", "4", "with more segments queued it shrinks");
pub(crate) const GAMMA: OptionSpec = queue("gamma", "1", "with more segments queued slow start ends");
pub(crate) const MIN_SAMPLES: OptionSpec = OptionSpec::new(
    "min_samples",
    OptionKind::Integer { min: 1, max: 1000 },
    "3",
    "a round trip with fewer samples is left to Reno; 1 for receivers that seldom acknowledge",
);

const OPTIONS: &[OptionSpec] = &[ALPHA, BETA, GAMMA, MIN_SAMPLES];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "vegas",
    summary: "two to four segments queued in the network, by delay",
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    notes: "loses against loss-based flows at the same bottleneck",
    options: OPTIONS,
    check: |options| in_order(("alpha", "beta"), Options::number, options),
    build: |setup: &Setup, options: &Options| {
        Box::new(Vegas::new(setup, VegasConfig::from_options(VegasKind::Original, options)))
    },
};

pub(crate) const LINUX_ROW: Algorithm = Algorithm {
    name: "vegas_linux",
    summary: "vegas with the queue estimated as Linux does",
    source: "Linux tcp_vegas.c",
    notes: "loses against loss-based flows at the same bottleneck",
    options: OPTIONS,
    check: |options| in_order(("alpha", "beta"), Options::number, options),
    build: |setup: &Setup, options: &Options| {
        Box::new(Vegas::new(setup, VegasConfig::from_options(VegasKind::Linux, options)))
    },
};

/// Which Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VegasKind {
    /// The queue by the round trip of the round, as published.
    Original,
    /// The queue by the smallest round trip, and a floor for ssthresh.
    Linux,
}

/// Parameters of Vegas, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VegasConfig {
    /// Which of the two.
    pub kind: VegasKind,
    /// Smallest queue.
    pub alpha: f64,
    /// Largest queue.
    pub beta: f64,
    /// Queue that ends slow start.
    pub gamma: f64,
    /// A round with fewer samples is left to Reno.
    pub min_samples: u32,
}

impl VegasConfig {
    /// From the options of the registry row.
    pub fn from_options(kind: VegasKind, options: &Options) -> Self {
        let number = |name| options.number(name);
        Self {
            kind,
            alpha: number("alpha"),
            beta: number("beta"),
            gamma: number("gamma"),
            min_samples: options.integer("min_samples") as u32,
        }
    }

    /// Segments queued by a window of `segments`.
    pub fn diff(&self, segments: f64, epoch: Epoch) -> f64 {
        match self.kind {
            VegasKind::Original => epoch.queued(segments),
            VegasKind::Linux => epoch.queued_by_base(segments),
        }
    }
}

/// Vegas on one path.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    window: DelayWindow,
    config: VegasConfig,
}

impl Vegas {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: VegasConfig) -> Self {
        Self { window: DelayWindow::new(setup, config.min_samples), config }
    }

    fn decide(&mut self, ack: &Ack, epoch: Epoch) {
        let diff = self.config.diff(self.window.segments(), epoch);
        self.window.note_queued(diff);
        let reno = &mut self.window.reno;
        if reno.in_slow_start() {
            if diff > self.config.gamma {
                let fitting = reno.cwnd * epoch.base_share();
                let target = fitting + reno.mss;
                self.shrink(target);
            } else {
                reno.grow(ack);
            }
        } else if diff > self.config.beta {
            let target = reno.cwnd - reno.mss;
            self.shrink(target);
        } else if diff < self.config.alpha && may_grow(ack) {
            reno.cwnd += reno.mss;
        }
        if self.config.kind == VegasKind::Linux {
            let reno = &mut self.window.reno;
            reno.ssthresh = reno.ssthresh.max(0.75 * reno.cwnd);
        }
    }

    /// A smaller window, not below two segments; slow start is over.
    fn shrink(&mut self, cwnd: f64) {
        self.window.limit(cwnd);
        self.window.lower_ssthresh(self.window.reno.cwnd);
    }

    /// Between alpha and beta the window rests, so they must not cross.
    fn check(&self) {
        self.window.reno.check();
        debug_assert!(self.config.alpha <= self.config.beta, "{:?}", self.config);
    }
}

impl Extensions for Vegas {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        if let Some(round) = self.window.on_ack(ack) {
            self.decide(ack, Epoch::of_smallest(&round));
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.reno.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.time_out(loss);
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
    }
}

impl RecoveryHooks for Vegas {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.window.note_rtt(ack);
    }

    fn on_exit_recovery(&mut self, _now: SimTime) {
        self.window.exit_recovery();
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;
    use crate::Growth;
    use crate::round::RoundTrip;
    use crate::testing::{ack, close, loss, one_round, setup_with};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };
    const KINDS: [VegasKind; 2] = [VegasKind::Original, VegasKind::Linux];

    fn config(kind: VegasKind) -> VegasConfig {
        VegasConfig::from_options(kind, &Options::defaults(OPTIONS))
    }

    /// Vegas with a window of `segments` of 1000 bytes and ssthresh the same or unlimited.
    fn vegas(kind: VegasKind, segments: u64, slow_start: bool) -> Vegas {
        let ssthresh = if slow_start { u64::MAX } else { 1000 * segments };
        Vegas::new(&setup_with(1000, 1000 * segments, ssthresh, BYTES), config(kind))
    }

    /// Window in segments after two rounds in avoidance, the first with the smallest sample.
    fn after_rounds(kind: VegasKind, segments: u64, base_ms: u64, rtt_ms: u64) -> f64 {
        let mut cc = vegas(kind, segments, false);
        cc.window.note_rtt(&Ack { rtt: Some(Nanos::from_millis(base_ms)), ..ack(0) });
        one_round(&mut cc, 0, &[rtt_ms; 4], Paths::ALONE);
        cc.window.reno.cwnd / 1000.0
    }

    #[test]
    fn vg_1_both_estimates_hold_the_window() {
        let ms = Nanos::from_millis;
        let round = RoundTrip { base: ms(500), min: ms(550), mean: ms(560) };
        let epoch = Epoch::of_smallest(&round);
        close(config(VegasKind::Linux).diff(30.0, epoch), 3.0, 1e-9);
        close(config(VegasKind::Original).diff(30.0, epoch), 2.727_273, 1e-6);
        for kind in KINDS {
            close(after_rounds(kind, 30, 500, 550), 30.0, 0.0);
        }
    }

    #[test]
    fn below_alpha_it_grows_and_above_beta_it_shrinks_by_one() {
        for kind in KINDS {
            close(after_rounds(kind, 30, 500, 510), 31.0, 1e-12);
            close(after_rounds(kind, 30, 500, 700), 29.0, 1e-12);
        }
        close(after_rounds(VegasKind::Linux, 2, 500, 9000), 2.0, 0.0);
        // 4.2 by the smallest round trip, 3.7 by that of the round.
        close(after_rounds(VegasKind::Linux, 30, 500, 570), 29.0, 1e-12);
        close(after_rounds(VegasKind::Original, 30, 500, 570), 30.0, 0.0);
    }

    #[test]
    fn slow_start_ends_when_a_queue_builds_up() {
        let mut cc = vegas(VegasKind::Original, 16, true);
        one_round(&mut cc, 0, &[500; 4], Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(20_000), "one segment per ACK");
        one_round(&mut cc, 1, &[625; 4], Paths::ALONE);
        // Three more ACKs, then the decision: 23 * 500 / 625 + 1.
        close(cc.window.reno.cwnd, 19_400.0, 1e-9);
        assert_eq!(cc.window().ssthresh, cc.window().cwnd);
        assert!(!cc.window.reno.in_slow_start());
    }

    #[test]
    fn linux_lifts_ssthresh() {
        for (kind, expected) in [(VegasKind::Original, 2000), (VegasKind::Linux, 23_250)] {
            let mut cc = vegas(kind, 30, false);
            cc.window.reno.ssthresh = 2000.0;
            one_round(&mut cc, 0, &[500; 4], Paths::ALONE);
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(31_000), Bytes(expected)));
        }
    }

    #[test]
    fn a_round_with_two_samples_is_left_to_reno() {
        let mut cc = vegas(VegasKind::Original, 2, false);
        one_round(&mut cc, 0, &[500; 2], Paths::ALONE);
        one_round(&mut cc, 1, &[900; 2], Paths::ALONE);
        one_round(&mut cc, 2, &[900; 2], Paths::ALONE);
        // Reno has counted the ACK at the end of each round.
        assert_eq!(cc.window().cwnd, Bytes(3000));
    }

    #[test]
    fn after_a_loss_reno_halves_and_one_round_passes() {
        let mut cc = vegas(VegasKind::Original, 30, false);
        one_round(&mut cc, 0, &[500; 4], Paths::ALONE);
        cc.on_loss(&loss(31_000), Paths::ALONE);
        cc.on_exit_recovery(SimTime::ZERO);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(15_500), Bytes(15_500)));
        one_round(&mut cc, 1, &[500; 4], Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(15_500));
        one_round(&mut cc, 2, &[500; 4], Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(16_500));
        cc.on_rto(&loss(16_000), Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1000), Bytes(8000)));
    }
}
