//! Hybla: a long path grows its window, in time, as a path of 25 ms would.
//!
//! Source: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22(5), 2004; Linux `tcp_hybla.c`. Units: segments and seconds inside the
//! formulas. With `rho = max(RTT / RTT0, 1)` an ACK adds `2^rho - 1` segments in slow start, up to ssthresh, and
//! `rho^2 / cwnd` in avoidance. rho is computed anew when SRTT reaches a new minimum. The first window is rho segments.
//! Loss and timeout are those of Reno, and so is growth while data that was out at a timeout is being acknowledged.
//! With rho = 1 growth is that of Reno to the last bit.
//! `2^rho` is astronomically large on a long path: growth saturates at the largest window of TCP, 2^30 bytes
//! (RFC 7323 section 2.3). A finite initial ssthresh is needed for sense; the option `scale_ssthresh` multiplies it by
//! rho, as the paper does with terrestrial values (choice D-04).
//! Deviation: an ACK counts for the segments it acknowledges, as far as the profile counts bytes; Linux counts ACKs.
//! Deviation: no packet spacing and no bandwidth estimate for ssthresh, which the paper leaves to other mechanisms.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::reno::{MAX_WINDOW, RenoWindow, may_grow};
use crate::round::Repair;
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, Setup};

const FROM_RHO: &str = "rho";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "rtt0",
        OptionKind::Duration,
        "25ms",
        "round-trip time of the path whose growth is copied",
    ),
    OptionSpec::new(
        "initial_window",
        OptionKind::Choice(&[FROM_RHO, "setup"]),
        FROM_RHO,
        "first window: rho segments, or what the transport sets up",
    ),
    OptionSpec::new(
        "scale_ssthresh",
        OptionKind::Flag,
        "false",
        "multiply the initial slow-start threshold by rho",
    ),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "hybla",
    summary: "growth of the window in time independent of the round-trip time",
    source: "Caini and Firrincieli, IJSCN 22(5), 2004",
    notes: "needs a finite `initial_ssthresh`",
    options: OPTIONS,
    check: registry::independent,
    build: |setup: &Setup, options: &Options| Box::new(Hybla::new(setup, HyblaConfig::from_options(options))),
};

/// `2^rho` is computed up to this rho; far beyond the largest window.
const MAX_EXPONENT: f64 = 64.0;

/// Parameters of Hybla.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HyblaConfig {
    /// RTT0; zero counts as a nanosecond.
    pub rtt0: Nanos,
    /// The first window is rho segments whatever the setup says.
    pub initial_window_from_rho: bool,
    /// The initial ssthresh is multiplied by rho.
    pub scale_ssthresh: bool,
}

impl HyblaConfig {
    /// From the options of the registry row.
    pub fn from_options(options: &Options) -> Self {
        Self {
            rtt0: options.duration("rtt0"),
            initial_window_from_rho: options.choice("initial_window") == FROM_RHO,
            scale_ssthresh: options.flag("scale_ssthresh"),
        }
    }

    fn rho(&self, rtt: Nanos) -> f64 {
        (rtt / self.rtt0.max(Nanos(1))).max(1.0)
    }
}

/// Segments that an ACK of one segment adds in slow start.
fn slow_start_step(rho: f64) -> f64 {
    libm::exp2(rho.min(MAX_EXPONENT)) - 1.0
}

/// Hybla on one path.
#[derive(Clone, Debug)]
pub(crate) struct Hybla {
    window: RenoWindow,
    config: HyblaConfig,
    rho: f64,
    /// Smallest SRTT so far; `None` before the first.
    min_srtt: Option<Nanos>,
    repair: Repair,
}

impl Hybla {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, config: HyblaConfig) -> Self {
        Self { window: RenoWindow::new(setup), config, rho: 1.0, min_srtt: None, repair: Repair::Done }
    }

    /// Returns true with the first round-trip time.
    fn note_srtt(&mut self, srtt: Nanos) -> bool {
        let first = self.min_srtt.is_none();
        if srtt == Nanos::ZERO || self.min_srtt.is_some_and(|min| srtt >= min) {
            return false;
        }
        self.min_srtt = Some(srtt);
        self.rho = self.config.rho(srtt);
        if first && self.config.scale_ssthresh {
            self.window.ssthresh *= self.rho;
        }
        first
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(self.rho >= 1.0 && self.rho.is_finite(), "rho {}", self.rho);
        debug_assert!(
            self.min_srtt.map_or(1.0, |srtt| self.config.rho(srtt)).to_bits() == self.rho.to_bits(),
            "rho {} is not that of the smallest SRTT {:?}",
            self.rho,
            self.min_srtt
        );
    }

    fn grow(&mut self, ack: &Ack) {
        let window = &mut self.window;
        let (added, limit) = if window.in_slow_start() {
            (slow_start_step(self.rho) * window.counted_in_slow_start(ack.acked), window.ssthresh)
        } else {
            let reno = window.mss * window.counted(ack.acked) / window.cwnd;
            (self.rho * self.rho * reno, f64::INFINITY)
        };
        debug_assert!(added >= 0.0, "an ACK takes {added} bytes from {window:?}");
        let grown = (window.cwnd + added).min(limit).min(MAX_WINDOW);
        window.cwnd = window.cwnd.max(grown);
    }
}

impl Extensions for Hybla {
    fn needs(&self) -> Needs {
        Needs { finite_ssthresh: true, ..Needs::default() }
    }
}

impl CongestionControl for Hybla {
    fn on_established(&mut self, _now: SimTime, srtt: Option<Nanos>) {
        let first = srtt.is_some_and(|srtt| self.note_srtt(srtt));
        if first && self.config.initial_window_from_rho {
            self.window.cwnd = (self.rho * self.window.mss).min(MAX_WINDOW);
        }
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.note_srtt(ack.srtt);
        if self.repair.lasts(ack) || self.rho <= 1.0 {
            self.window.grow(ack);
        } else if may_grow(ack) {
            self.grow(ack);
        }
        self.check();
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.repair.begin();
        let half = self.window.half(loss);
        self.window.time_out(loss, half);
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("rho", self.rho);
    }

    crate::reno::window_methods!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::newreno::NewReno;
    use crate::testing::{ack, close, loss, setup_with};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };
    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    fn config() -> HyblaConfig {
        HyblaConfig::from_options(&Options::defaults(OPTIONS))
    }

    /// Hybla of segments of 1000 bytes on a path of this round-trip time; the window is the first one of the setup.
    fn hybla(segments: u64, ssthresh: u64, rtt_ms: u64) -> Hybla {
        let config = HyblaConfig { initial_window_from_rho: false, ..config() };
        let mut cc = Hybla::new(&setup_with(1000, 1000 * segments, ssthresh, PER_ACK), config);
        cc.on_established(SimTime::ZERO, Some(Nanos::from_millis(rtt_ms)));
        cc
    }

    #[test]
    fn hy_1_rho_and_increments() {
        for (ms, rho, slow_start, avoidance) in [
            (25, 1.0, 1.0, 0.01),
            (100, 4.0, 15.0, 0.16),
            (250, 10.0, 1023.0, 1.0),
            (600, 24.0, 16_777_215.0, 5.76),
        ] {
            let mut cc = hybla(100, 100_000, ms);
            close(cc.rho, rho, 1e-12);
            close(slow_start_step(cc.rho), slow_start, 1e-12);
            cc.on_ack(&ack(1000), Paths::ALONE);
            close(cc.window.cwnd / 1000.0 - 100.0, avoidance, 1e-9);
        }
        let mut cc = hybla(100, 2_000_000, 250);
        cc.on_ack(&ack(1000), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(1_123_000));
    }

    #[test]
    fn growth_saturates_at_ssthresh_and_at_the_largest_window() {
        let mut cc = hybla(10, 655_000, 600);
        cc.on_ack(&ack(1000), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(655_000));
        cc.on_ack(&ack(1000), Paths::ALONE);
        close(cc.window.cwnd, 655_000.0 + 576.0 * 1000.0 / 655.0, 1e-9);
        for rtt_ms in [600, 10_000_000] {
            let mut cc = hybla(10, u64::MAX, rtt_ms);
            (0..3).for_each(|_| cc.on_ack(&ack(1000), Paths::ALONE));
            assert_eq!(cc.window().cwnd, Bytes(1 << 30));
        }
    }

    #[test]
    fn the_first_window_is_rho_segments_and_ssthresh_may_be_scaled() {
        for (scale_ssthresh, ssthresh) in [(false, 64_000), (true, 64_000 * 24)] {
            let config = HyblaConfig { scale_ssthresh, ..config() };
            let mut cc = Hybla::new(&setup_with(1000, 10_000, 64_000, BYTES), config);
            assert_eq!(cc.window().cwnd, Bytes(10_000));
            cc.on_established(SimTime::ZERO, Some(Nanos::from_millis(600)));
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(24_000), Bytes(ssthresh)));
        }
    }

    #[test]
    fn rho_follows_only_a_new_minimum() {
        let mut cc = hybla(100, 100_000, 500);
        for (ms, rho) in [(600, 20.0), (400, 16.0), (500, 16.0), (10, 1.0)] {
            cc.on_ack(&Ack { srtt: Nanos::from_millis(ms), ..ack(1000) }, Paths::ALONE);
            close(cc.rho, rho, 1e-12);
        }
    }

    #[test]
    fn at_the_reference_and_during_a_repair_it_is_reno_to_the_bit() {
        let setup = setup_with(1000, 10_000, 20_000, BYTES);
        for rtt_ms in [25, 600] {
            let mut cc = Hybla::new(&setup, HyblaConfig { initial_window_from_rho: false, ..config() });
            cc.on_established(SimTime::ZERO, Some(Nanos::from_millis(rtt_ms)));
            let mut reno = NewReno::new(&setup);
            let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
            for one in both {
                one.on_loss(&loss(30_000), Paths::ALONE);
                one.on_rto(&loss(20_000), Paths::ALONE);
                for i in 0..50 {
                    one.on_ack(&Ack { snd_una: i, snd_nxt: 50, ..ack(1000) }, Paths::ALONE);
                }
            }
            assert_eq!(format!("{:?}", cc.window), format!("{:?}", reno.window));
            cc.on_ack(&Ack { snd_una: 50, snd_nxt: 60, ..ack(1000) }, Paths::ALONE);
            assert_eq!(cc.window.cwnd > reno.window.cwnd + 1000.0, rtt_ms == 600, "repaired");
        }
    }
}
