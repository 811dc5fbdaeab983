//! New Vegas: Vegas with segments in pairs, pacing and rapid convergence.
//!
//! Source: Sing and Soh, "TCP New Vegas: improving the performance of TCP Vegas over high latency links", 2005, as
//! secondary sources give it; Vegas as in `vegas.rs`. Units: segments and seconds inside the formulas.
//! (a) pairs: in slow start the window is an even number of segments, so that a receiver that acknowledges every second
//! one does so at once and no sample holds its timer. (b) pacing: the window is spread over a smoothed round trip.
//! (c) rapid convergence: from the end of slow start until the queue lies between alpha and beta, a round moves the
//! window half of the way to `w base / m + (alpha + beta) / 2`, by one segment at least.
//! Deviation: with pairs, slow start is not paced: it would take the pairs apart.
//! Deviation: half of the way is a choice; the law of the source could not be read.

use registry::{OptionKind, OptionSpec, Options, in_order};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::delay_window::{DelayWindow, Epoch};
use crate::reno::may_grow;
use crate::vegas::{ALPHA, BETA, GAMMA, MIN_SAMPLES, VegasConfig, VegasKind};
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Pacing, Paths, RecoveryHooks, Restart, Setup,
    Window,
};

const fn flag(name: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Flag, "true", doc)
}

const OPTIONS: &[OptionSpec] = &[
    ALPHA,
    BETA,
    GAMMA,
    MIN_SAMPLES,
    flag("pairs", "slow start sends in pairs"),
    flag("pacing", "the window is spread over a round trip"),
    flag("rapid_convergence", "large steps after slow start"),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "newvegas",
    summary: "New Vegas: vegas with pairs in slow start, pacing and rapid convergence",
    source: "Sing and Soh, 2005 (secondary sources)",
    notes: "fidelity is not claimed; loses against loss-based flows at the same bottleneck",
    options: OPTIONS,
    check: |options| in_order(("alpha", "beta"), Options::number, options),
    build: |setup: &Setup, options: &Options| {
        Box::new(NewVegas::new(setup, NewVegasConfig::from_options(options)))
    },
};

/// Parameters of New Vegas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewVegasConfig {
    /// Thresholds and options of Vegas.
    pub vegas: VegasConfig,
    /// An even window in slow start.
    pub pairs: bool,
    /// The window is spread over a round trip.
    pub pacing: bool,
    /// Large steps after slow start.
    pub rapid_convergence: bool,
}

impl NewVegasConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        Self {
            vegas: VegasConfig::from_options(VegasKind::Original, options),
            pairs: options.flag("pairs"),
            pacing: options.flag("pacing"),
            rapid_convergence: options.flag("rapid_convergence"),
        }
    }
}

/// New Vegas on one path.
#[derive(Clone, Debug)]
pub(crate) struct NewVegas {
    window: DelayWindow,
    config: NewVegasConfig,
    /// Seconds; 0 before the first sample.
    srtt: f64,
    /// Slow start has ended and the queue has not been right since.
    converging: bool,
}

impl NewVegas {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: NewVegasConfig) -> Self {
        let window = DelayWindow::new(setup, config.vegas.min_samples);
        Self { window, config, srtt: 0.0, converging: false }
    }

    /// Bytes that may be in flight: in slow start whole pairs.
    fn shown(&self) -> f64 {
        let reno = &self.window.reno;
        let pair = 2.0 * reno.mss;
        if self.config.pairs && reno.in_slow_start() && reno.cwnd >= pair {
            (reno.cwnd / pair).floor() * pair
        } else {
            reno.cwnd
        }
    }

    fn decide(&mut self, ack: &Ack, epoch: Epoch) {
        let mss = self.window.reno.mss;
        let segments = self.shown() / mss;
        let diff = self.config.vegas.diff(segments, epoch);
        self.window.note_queued(diff);
        let fitting = segments * epoch.base_share();
        if self.window.reno.in_slow_start() {
            if diff > self.config.vegas.gamma {
                self.converging = self.config.rapid_convergence;
                self.shrink((fitting + 1.0) * mss);
            } else {
                self.window.reno.grow(ack);
            }
            return;
        }
        let VegasConfig { alpha, beta, .. } = self.config.vegas;
        let step = if self.converging {
            let target = fitting + f64::midpoint(alpha, beta);
            ((target - segments) / 2.0).abs().max(1.0)
        } else {
            1.0
        };
        if diff > beta {
            self.shrink((segments - step) * mss);
        } else if diff >= alpha {
            self.converging = false;
        } else if may_grow(ack) {
            self.window.reno.cwnd += step * mss;
        }
    }

    /// A smaller window, not below two segments; slow start is over.
    fn shrink(&mut self, cwnd: f64) {
        self.window.reno.cwnd = self.shown();
        self.window.limit(cwnd);
        self.window.lower_ssthresh(self.window.reno.cwnd);
    }

    fn check(&self) {
        self.window.reno.check();
        debug_assert!(
            self.config.rapid_convergence || !self.converging,
            "large steps without rapid convergence"
        );
        debug_assert!(
            self.shown() <= self.window.reno.cwnd
                && self.shown() + 2.0 * self.window.reno.mss > self.window.reno.cwnd,
            "pairs hide less than two segments of {:?}",
            self.window.reno
        );
        debug_assert!(self.srtt >= 0.0, "srtt {}", self.srtt);
    }
}

impl Extensions for NewVegas {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn pacing(&self) -> Option<&dyn Pacing> {
        self.config.pacing.then_some(self as &dyn Pacing)
    }
}

impl CongestionControl for NewVegas {
    fn on_established(&mut self, _now: SimTime, srtt: Option<Nanos>) {
        self.srtt = srtt.unwrap_or(Nanos::ZERO).as_secs_f64();
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.srtt = ack.srtt.as_secs_f64();
        if let Some(round) = self.window.on_ack(ack) {
            self.decide(ack, Epoch::of_smallest(&round));
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.converging = false;
        self.window.reno.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.converging = false;
        self.window.time_out(loss);
        self.check();
    }

    fn on_idle_restart(&mut self, _now: SimTime, restart: &Restart) {
        self.window.idle_restart(restart);
    }

    fn set_window(&mut self, cwnd: Bytes, ssthresh: Option<Bytes>) {
        self.window.reno.set_both(cwnd, ssthresh);
    }

    fn window(&self) -> Window {
        Window { cwnd: Bytes(self.shown() as u64), ..self.window.reno.shown() }
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.window.gauges(report);
    }
}

impl RecoveryHooks for NewVegas {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.window.note_rtt(ack);
    }

    fn on_exit_recovery(&mut self, _now: SimTime) {
        self.window.exit_recovery();
    }
}

impl Pacing for NewVegas {
    fn pacing_rate(&self) -> Option<BitsPerSecond> {
        let in_pairs = self.config.pairs && self.window.reno.in_slow_start();
        let paces = self.srtt > 0.0 && !in_pairs;
        paces.then(|| BitsPerSecond(((8.0 * self.window.reno.cwnd / self.srtt) as u64).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::testing::{ack, close, loss, one_round, setup_with};
    use crate::vegas::Vegas;

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn config() -> NewVegasConfig {
        NewVegasConfig::from_options(&Options::defaults(OPTIONS))
    }

    fn newvegas(segments: u64, ssthresh: u64, config: NewVegasConfig) -> NewVegas {
        NewVegas::new(&setup_with(1000, 1000 * segments, ssthresh, BYTES), config)
    }

    #[test]
    fn slow_start_goes_in_pairs() {
        let mut cc = newvegas(2, u64::MAX, config());
        for shown in [2000, 4000, 4000, 6000, 6000] {
            cc.on_ack(&Ack { snd_nxt: 1 << 40, ..ack(1000) }, Paths::ALONE);
            assert_eq!(cc.window().cwnd, Bytes(shown));
        }
        cc.on_loss(&loss(7000), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(3500));
    }

    #[test]
    fn avoidance_is_paced_over_a_round_trip() {
        let srtt = Nanos::from_millis(500);
        let mut cc = newvegas(30, 30_000, config());
        assert_eq!(cc.pacing_rate(), None);
        cc.on_established(SimTime::ZERO, Some(srtt));
        assert_eq!(cc.pacing_rate(), Some(BitsPerSecond(480_000)));
        let mut cc = newvegas(30, u64::MAX, config());
        cc.on_established(SimTime::ZERO, Some(srtt));
        assert_eq!(cc.pacing_rate(), None, "pairs stay together");
        let mut cc = newvegas(30, u64::MAX, NewVegasConfig { pairs: false, ..config() });
        cc.on_established(SimTime::ZERO, Some(srtt));
        assert_eq!(cc.pacing_rate(), Some(BitsPerSecond(480_000)));
    }

    #[test]
    fn after_slow_start_it_goes_half_of_the_way() {
        for (rapid, expected) in [(true, 88.5), (false, 99.0)] {
            let mut cc = newvegas(100, 100_000, NewVegasConfig { rapid_convergence: rapid, ..config() });
            cc.converging = rapid;
            cc.window.note_rtt(&Ack { rtt: Some(Nanos::from_millis(400)), ..ack(0) });
            one_round(&mut cc, 0, &[540; 4], Paths::ALONE);
            // 74.07 segments fit, and three more: 77.07.
            if rapid {
                close(cc.window.reno.cwnd / 1000.0, f64::midpoint(100.0, 100.0 * 400.0 / 540.0 + 3.0), 1e-9);
            }
            assert!((cc.window.reno.cwnd / 1000.0 - expected).abs() < 0.1, "{}", cc.window.reno.cwnd);
        }
    }

    /// Without its three parts it is Vegas.
    #[test]
    fn without_its_parts_it_is_vegas() {
        let plain = NewVegasConfig { pairs: false, pacing: false, rapid_convergence: false, ..config() };
        let mut cc = newvegas(4, u64::MAX, plain);
        let mut vegas = Vegas::new(&setup_with(1000, 4000, u64::MAX, BYTES), plain.vegas);
        let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut vegas];
        let windows = both.map(|one| {
            let samples = [500, 500, 510, 560, 520, 505, 500, 700, 650, 600];
            let rounds = samples.iter().enumerate();
            let windows = rounds.map(|(n, ms)| {
                one_round(one, n as u64, &[*ms; 4], Paths::ALONE);
                (one.window().cwnd, one.window().ssthresh)
            });
            windows.collect::<Vec<_>>()
        });
        assert_eq!(windows[0], windows[1]);
    }
}
