//! Westwood+: after a loss the window is what the path delivered, by an estimate of the bandwidth.
//!
//! Source: Linux `tcp_westwood.c`; Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
//! and Vegas TCP congestion control", ACM CCR 34(2), 2004. Units: bytes, seconds, bytes per second.
//! Acknowledged bytes are counted over windows longer than the last round-trip sample and 50 ms; each gives a sample of
//! the bandwidth, which passes two filters: `bw_ns = (7 bw_ns + sample) / 8`, `bw_est = (7 bw_est + bw_ns) / 8`, both
//! set by the first sample. A duplicate ACK counts for one segment at once, and what it counted is taken off a later
//! cumulative ACK of more than one segment. Growth is that of NewReno. A loss halves; at the end of the episode
//! `cwnd = ssthresh = max(2, floor(bw_est * rtt_min / MSS))` segments. A timeout sets ssthresh so.
//! Cumulative bytes are counted by `snd_una`, so that those of the ACK that ends an episode are not forgotten.
//! Deviation: until the bandwidth has been measured, a loss only halves; Linux falls to two segments.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::reno::{MAX_WINDOW, MIN_SSTHRESH_SEGMENTS, RenoWindow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryHooks, Setup};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "reset_rtt_min",
    OptionKind::Flag,
    "true",
    "after a timeout the smallest round-trip time is measured anew, as in newer kernels",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "westwood",
    summary: "Westwood+: NewReno with the window after a loss set by an estimate of the bandwidth",
    source: "Linux tcp_westwood.c; Grieco and Mascolo, ACM CCR 34(2), 2004",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |setup: &Setup, options: &Options| Box::new(Westwood::new(setup, options.flag("reset_rtt_min"))),
};

/// Shortest window over which the bandwidth is measured.
const MIN_INTERVAL: Nanos = Nanos::from_millis(50);

/// Westwood+ on one path.
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    window: RenoWindow,
    reset_rtt_min: bool,
    meter: Meter,
    /// Smallest round-trip sample in seconds; `None`: not measured, or to be measured anew.
    rtt_min: Option<f64>,
    /// The same, kept while it is measured anew.
    last_rtt_min: f64,
}

/// Measures the bandwidth.
#[derive(Clone, Debug, Default)]
struct Meter {
    /// Start of the present window.
    start: Option<SimTime>,
    /// Bytes acknowledged in it.
    bytes: f64,
    /// Bytes counted for duplicate ACKs and not yet seen in a cumulative one.
    accounted: f64,
    una: u64,
    /// Last round-trip sample; no window ends before the first.
    rtt: Option<Nanos>,
    bw_ns: f64,
    /// The estimate in bytes per second; 0 before the first sample.
    bw_est: f64,
}

impl Meter {
    fn on_ack(&mut self, ack: &Ack, mss: f64) {
        let advance = ack.snd_una.saturating_sub(self.una) as f64;
        self.una = self.una.max(ack.snd_una);
        // Bytes that duplicates have counted already come off; an ACK of more than a segment still counts for one.
        if advance > mss && self.accounted >= advance {
            self.accounted -= advance;
            self.bytes += mss;
        } else if advance > mss {
            self.bytes += advance - self.accounted;
            self.accounted = 0.0;
        } else {
            self.bytes += advance;
        }
        self.rtt = ack.rtt.or(self.rtt);
        self.end_window(ack.now);
    }

    fn on_dup_ack(&mut self, now: SimTime, mss: f64) {
        self.accounted += mss;
        self.bytes += mss;
        self.end_window(now);
    }

    /// One sample per round trip.
    fn end_window(&mut self, now: SimTime) {
        let length = now.since(*self.start.get_or_insert(now));
        if self.rtt.is_some_and(|rtt| length > rtt.max(MIN_INTERVAL)) {
            self.sample(self.bytes / length.as_secs_f64());
            self.start = Some(now);
            self.bytes = 0.0;
        }
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.bytes >= 0.0, "{} bytes acknowledged in a window", self.bytes);
        debug_assert!(self.accounted >= 0.0, "duplicates lent {} bytes", self.accounted);
        debug_assert!(self.bw_est >= 0.0 && self.bw_est.is_finite(), "bandwidth {}", self.bw_est);
        debug_assert!(
            self.bw_est == 0.0 || self.rtt.is_some(),
            "a sample of the bandwidth needs the length of a round trip"
        );
    }

    fn sample(&mut self, rate: f64) {
        if self.bw_est > 0.0 {
            self.bw_ns = (7.0 * self.bw_ns + rate) / 8.0;
            self.bw_est = (7.0 * self.bw_est + self.bw_ns) / 8.0;
        } else {
            self.bw_ns = rate;
            self.bw_est = rate;
        }
    }
}

impl Westwood {
    /// For a path that was just set up.
    pub fn new(setup: &Setup, reset_rtt_min: bool) -> Self {
        Self {
            window: RenoWindow::new(setup),
            reset_rtt_min,
            meter: Meter::default(),
            rtt_min: None,
            last_rtt_min: 0.0,
        }
    }

    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
        self.meter.on_ack(ack, self.window.mss);
    }

    /// Bytes that the path holds without a queue, in whole segments, at most the largest window of TCP; `None` before
    /// the first sample of the bandwidth.
    fn pipe(&self) -> Option<f64> {
        let rtt_min = self.rtt_min.unwrap_or(self.last_rtt_min);
        let bytes = (self.meter.bw_est * rtt_min).min(MAX_WINDOW);
        let segments = (bytes / self.window.mss).floor().max(MIN_SSTHRESH_SEGMENTS);
        (self.meter.bw_est > 0.0).then_some(segments * self.window.mss)
    }
}

impl Extensions for Westwood {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }
}

impl CongestionControl for Westwood {
    fn on_established(&mut self, now: SimTime, _srtt: Option<Nanos>) {
        self.meter.start = Some(now);
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.measure(ack);
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.time_out(loss, self.pipe().unwrap_or(self.window.half(loss)));
        if self.reset_rtt_min {
            self.last_rtt_min = self.rtt_min.take().unwrap_or(self.last_rtt_min);
        }
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        if self.meter.bw_est > 0.0 {
            report("bandwidth_bit_s", 8.0 * self.meter.bw_est);
        }
    }

    crate::reno::window_methods!();
}

impl RecoveryHooks for Westwood {
    fn on_dup_ack(&mut self, now: SimTime) {
        self.meter.on_dup_ack(now, self.window.mss);
    }

    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
    }

    fn on_exit_recovery(&mut self, _now: SimTime) {
        if let Some(pipe) = self.pipe() {
            self.window.reduce_to(pipe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::newreno::NewReno;
    use crate::testing::{ack, close, loss, setup_with};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };

    fn westwood() -> Westwood {
        let mut cc = Westwood::new(&setup_with(1448, 144_800, 144_800, BYTES), true);
        cc.on_established(SimTime::ZERO, None);
        cc
    }

    fn at(ms: u64, snd_una: u64, rtt_ms: u64) -> Ack {
        Ack { now: SimTime::from_millis(ms), snd_una, rtt: Some(Nanos::from_millis(rtt_ms)), ..ack(1448) }
    }

    /// Westwood after the three windows of the vector.
    fn measured() -> Westwood {
        let mut cc = westwood();
        cc.measure(&at(600, 150_000, 560));
        cc.measure(&at(1200, 270_000, 599));
        cc.measure(&at(1800, 420_000, 599));
        cc
    }

    #[test]
    fn ww_1_estimate_and_window() {
        let mut cc = westwood();
        for (ms, una, bw_ns, bw_est) in [
            (600, 150_000, 250_000.0, 250_000.0),
            (1200, 270_000, 243_750.0, 249_218.75),
            (1800, 420_000, 244_531.25, 248_632.812_5),
        ] {
            cc.measure(&at(ms, una, 560));
            close(cc.meter.bw_ns, bw_ns, 1e-12);
            close(cc.meter.bw_est, bw_est, 1e-12);
        }
        cc.on_loss(&loss(144_800), Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(72_400), "NewReno until the episode ends");
        cc.set_window(Bytes(2896), None);
        cc.on_exit_recovery(SimTime::from_millis(2400));
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(96 * 1448), Bytes(96 * 1448)));
    }

    #[test]
    fn a_timeout_sets_ssthresh_and_measures_the_round_trip_anew() {
        for reset in [true, false] {
            let mut cc = Westwood { reset_rtt_min: reset, ..measured() };
            cc.on_rto(&loss(144_800), Paths::ALONE);
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1448), Bytes(96 * 1448)));
            // A second timeout before any sample still knows the old one.
            cc.on_rto(&loss(1448), Paths::ALONE);
            assert_eq!(cc.window().ssthresh, Bytes(96 * 1448));
            cc.measure(&at(1900, 421_448, 700));
            close(cc.rtt_min.unwrap(), if reset { 0.7 } else { 0.56 }, 1e-12);
        }
    }

    #[test]
    fn duplicates_are_counted_once() {
        let mut cc = westwood();
        cc.on_ack(&at(10, 1448, 560), Paths::ALONE);
        for i in 0..3 {
            cc.on_dup_ack(SimTime::from_millis(11 + i));
        }
        close(cc.meter.bytes, 4.0 * 1448.0, 1e-12);
        cc.on_recovery_ack(&at(20, 3 * 1448, 560));
        close(cc.meter.bytes, 5.0 * 1448.0, 1e-12);
        close(cc.meter.accounted, 1448.0, 1e-12);
        cc.on_ack(&at(30, 6 * 1448, 560), Paths::ALONE);
        close(cc.meter.bytes, 7.0 * 1448.0, 1e-12);
        close(cc.meter.accounted, 0.0, 0.0);
    }

    #[test]
    fn a_window_is_longer_than_the_round_trip_and_than_50_ms() {
        let mut cc = westwood();
        cc.on_ack(&at(50, 1448, 10), Paths::ALONE);
        close(cc.meter.bw_est, 0.0, 0.0);
        cc.on_ack(&at(51, 2896, 10), Paths::ALONE);
        close(cc.meter.bw_est, 2896.0 / 0.051, 1e-9);
        cc.on_ack(&at(651, 5792, 600), Paths::ALONE);
        close(cc.meter.bytes, 2896.0, 1e-12);
    }

    #[test]
    fn without_a_measurement_it_is_reno() {
        let setup = setup_with(1448, 14_480, u64::MAX, BYTES);
        let (mut cc, mut reno) = (Westwood::new(&setup, true), NewReno::new(&setup));
        let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
        for one in both {
            for _ in 0..30 {
                one.on_ack(&ack(1448), Paths::ALONE);
            }
            one.on_loss(&loss(40_000), Paths::ALONE);
            if let Some(hooks) = one.recovery_hooks() {
                hooks.on_exit_recovery(SimTime::ZERO);
            }
            (0..50).for_each(|_| one.on_ack(&ack(1448), Paths::ALONE));
            one.on_rto(&loss(30_000), Paths::ALONE);
        }
        assert_eq!(format!("{:?}", cc.window), format!("{:?}", reno.window));
    }
}
