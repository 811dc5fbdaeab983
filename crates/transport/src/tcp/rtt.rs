//! Round-trip time estimation and the retransmission timeout (RFC 6298).
//!
//! Deviation: samples are exact to the nanosecond; the clock granularity G enters the timeout only. ns-3.19 and Linux reckon
//! otherwise: [`RtoRule::Ns3`], [`RtoRule::Linux`].

use units::{Nanos, SimTime};

use super::ranges::Range;
use crate::config::{RtoConfig, RtoFloor, RtoRule};
use crate::seq::Seq;

/// SRTT, RTTVAR and RTO of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    srtt: Option<Nanos>,
    rttvar: Nanos,
    /// The part of the timeout beside SRTT under the rule of Linux.
    peak: PeakDeviation,
    latest: Nanos,
    /// RTO before back-off.
    rto: Nanos,
    min: WindowedMin,
    samples: u64,
    sum: u128,
}

/// How long a minimum stays valid (choice D-39).
const MIN_WINDOW: Nanos = Nanos::from_secs(10);
/// RFC 6298 rule 5.7: after a retransmitted SYN data starts with this timeout.
const AFTER_SYN_LOSS: Nanos = Nanos::from_secs(3);

impl RttEstimator {
    /// Before the first sample.
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            srtt: None,
            rttvar: Nanos::ZERO,
            peak: PeakDeviation::NONE,
            latest: Nanos::ZERO,
            rto: config.initial.min(config.max),
            min: WindowedMin::EMPTY,
            samples: 0,
            sum: 0,
        }
    }

    /// Takes in a sample measured at `now`, while `outstanding` has no acknowledgement.
    #[inline(always)]
    pub fn sample_beside(&mut self, now: SimTime, r: Nanos, outstanding: Range<Seq>) {
        self.latest = r;
        self.samples += 1;
        self.sum += u128::from(r.0);
        self.min.update(now, r);
        let rule = self.config.estimator;
        let Some(srtt) = self.srtt.filter(|_| rule != RtoRule::Ns3) else {
            return self.sample_otherwise(r, outstanding);
        };
        // Fixed point in u64: round-trip times are far below the 2^60 ns that a gain could overflow at.
        let error = srtt.0.abs_diff(r.0);
        let smoothed = Nanos((7 * srtt.0 + r.0) / 8);
        (self.srtt, self.rttvar) = (Some(smoothed), Nanos((3 * self.rttvar.0 + error) / 4));
        let variance = if rule == RtoRule::Linux {
            self.peak.sample((error, r < srtt), outstanding, self.config.min);
            self.peak.variance
        } else {
            self.config.granularity.max(self.rttvar * 4)
        };
        self.rto = self.timeout(smoothed, variance);
    }

    /// The same where the sequence numbers do not matter.
    pub fn sample(&mut self, now: SimTime, r: Nanos) {
        self.sample_beside(now, r, Range::new(Seq(0), Seq(0)));
    }

    /// The first sample, and any in ns-3.
    #[inline(never)]
    fn sample_otherwise(&mut self, r: Nanos, outstanding: Range<Seq>) {
        let rule = self.config.estimator;
        let (srtt, rttvar) = match self.srtt {
            None => (r.0, if rule == RtoRule::Ns3 { r.0 } else { r.0 / 2 }),
            Some(srtt) => ((9 * srtt.0 + r.0) / 10, (9 * self.rttvar.0 + srtt.0.abs_diff(r.0)) / 10),
        };
        debug_assert!(rule == RtoRule::Ns3 || self.srtt.is_none(), "others weigh by eighths and quarters");
        (self.srtt, self.rttvar) = (Some(Nanos(srtt)), Nanos(rttvar));
        self.rto = match rule {
            RtoRule::Linux => {
                self.peak = PeakDeviation::first(r, outstanding, self.config.min);
                self.timeout(Nanos(srtt), self.peak.variance)
            }
            RtoRule::Rfc => self.timeout(Nanos(srtt), self.config.granularity.max(self.rttvar * 4)),
            RtoRule::Ns3 => self.timeout_of_ns3(Nanos(srtt)),
        };
    }

    #[inline(always)]
    fn timeout(&self, srtt: Nanos, variance: Nanos) -> Nanos {
        let rto = match self.config.floor {
            RtoFloor::Total => (srtt + variance).max(self.config.min),
            RtoFloor::Variance => srtt + variance.max(self.config.min),
        };
        rto.min(self.config.max)
    }

    #[inline(never)]
    fn timeout_of_ns3(&self, srtt: Nanos) -> Nanos {
        let whole = |time: Nanos| Nanos::from_millis(time.0 / Nanos::from_millis(1).0);
        (whole(srtt) + whole(self.rttvar) * 4).max(self.config.min).min(self.config.max)
    }

    /// The SYN had to be retransmitted and gave no sample (RFC 6298 rule 5.7).
    pub fn syn_was_lost(&mut self) {
        if self.srtt.is_none() {
            self.rto = self.rto.max(AFTER_SYN_LOSS).min(self.config.max);
        }
    }

    /// Timeout after `backoff` doublings.
    #[inline]
    pub fn rto(&self, backoff: u32) -> Nanos {
        if backoff == 0 {
            return self.rto;
        }
        let factor = 1u64.checked_shl(backoff).unwrap_or(u64::MAX);
        self.rto.saturating_mul(factor).min(self.config.max)
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Nanos> {
        self.srtt
    }

    /// Mean deviation.
    pub fn rttvar(&self) -> Nanos {
        self.rttvar
    }

    /// Last sample; zero before the first.
    pub fn latest(&self) -> Nanos {
        self.latest
    }

    /// Smallest sample of the last 10 to 20 s; `None` before the first.
    pub fn min(&self) -> Option<Nanos> {
        self.min.get()
    }

    /// Mean of all samples.
    pub fn mean(&self) -> Option<Nanos> {
        (self.samples > 0).then(|| Nanos((self.sum / u128::from(self.samples)) as u64))
    }
}

/// The deviation that the timeout of Linux allows for: the largest of a round trip, which fades by a quarter per round trip.
///
/// Source: Linux, `tcp_rtt_estimator` in net/ipv4/tcp_input.c.
#[derive(Clone, Copy, Debug)]
struct PeakDeviation {
    /// Four times the mean deviation. A sample below SRTT lowers it slowly, and hardly ever raises it.
    mean: Nanos,
    /// The largest `mean` of the round.
    largest: Nanos,
    /// The timeout beside SRTT.
    variance: Nanos,
    /// The round ends when this is acknowledged.
    round: Seq,
}

impl PeakDeviation {
    const NONE: Self = Self { mean: Nanos::ZERO, largest: Nanos::ZERO, variance: Nanos::ZERO, round: Seq(0) };

    /// After the first sample.
    fn first(r: Nanos, outstanding: Range<Seq>, least: Nanos) -> Self {
        let variance = (r * 2).max(least);
        Self { mean: r * 2, largest: variance, variance, round: outstanding.end }
    }

    /// After a sample that differs from SRTT by `error`, and may be `below` it.
    #[inline(always)]
    fn sample(&mut self, (error, below): (u64, bool), outstanding: Range<Seq>, least: Nanos) {
        let part = self.mean.0 / 4;
        let rise = error.saturating_sub(part);
        self.mean = Nanos(self.mean.0 - part.saturating_sub(error) + if below { rise / 8 } else { rise });
        if self.mean > self.largest {
            self.largest = self.mean;
            self.variance = self.variance.max(self.mean);
        }
        if outstanding.start > self.round {
            self.variance = Nanos(self.variance.0 - (self.variance.0 - self.largest.0) / 4);
            (self.largest, self.round) = (least, outstanding.end);
        }
        debug_assert!(self.variance >= self.largest && self.largest >= least, "{self:?}");
    }
}

/// Minimum over a sliding window, kept as two half-windows: exact enough, constant memory.
#[derive(Clone, Copy, Debug)]
struct WindowedMin {
    /// `NONE` before the first value.
    older: Nanos,
    recent: Nanos,
    turned: SimTime,
}

impl WindowedMin {
    /// Larger than any value.
    const NONE: Nanos = Nanos(u64::MAX);
    const EMPTY: Self = Self { older: Self::NONE, recent: Self::NONE, turned: SimTime::ZERO };

    fn update(&mut self, now: SimTime, value: Nanos) {
        if now.since(self.turned) >= MIN_WINDOW {
            self.older = std::mem::replace(&mut self.recent, Self::NONE);
            self.turned = now;
        }
        self.recent = self.recent.min(value);
    }

    fn get(&self) -> Option<Nanos> {
        let min = self.older.min(self.recent);
        (min != Self::NONE).then_some(min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(min: Nanos, granularity: Nanos, floor: RtoFloor) -> RtoConfig {
        RtoConfig {
            initial: Nanos::from_secs(1),
            min,
            max: Nanos::from_secs(60),
            granularity,
            floor,
            estimator: RtoRule::Rfc,
        }
    }

    /// Test vector RTO-1: G = 1 ms, no minimum.
    #[test]
    fn rto_1() {
        let mut rtt = RttEstimator::new(config(Nanos::ZERO, Nanos::from_millis(1), RtoFloor::Total));
        let expected = [
            (600, 600.0, 300.0, 1800.0),
            (650, 606.25, 237.5, 1556.25),
            (580, 602.96875, 184.6875, 1341.71875),
        ];
        for (sample, srtt, rttvar, rto) in expected {
            rtt.sample(SimTime::ZERO, Nanos::from_millis(sample));
            let ms = |x: f64| Nanos((x * 1e6) as u64);
            assert_eq!(rtt.srtt(), Some(ms(srtt)));
            assert_eq!(rtt.rttvar(), ms(rttvar));
            assert_eq!(rtt.rto(0), ms(rto));
        }
    }

    #[test]
    fn bounds_and_back_off() {
        let mut rtt =
            RttEstimator::new(config(Nanos::from_millis(200), Nanos::from_millis(1), RtoFloor::Variance));
        assert_eq!(rtt.rto(1), Nanos::from_secs(2), "initial RTO, doubled");
        for _ in 0..100 {
            rtt.sample(SimTime::ZERO, Nanos::from_millis(500));
        }
        assert_eq!(rtt.rto(0), Nanos::from_millis(700), "Linux floors the variance term");
        assert_eq!(rtt.rto(40), Nanos::from_secs(60));
        assert_eq!(rtt.rto(400), Nanos::from_secs(60));
    }

    /// ns-3.19, `RttMeanDeviation`: 1180.97 ms time after time leave a timer below the next sample.
    #[test]
    fn whole_milliseconds_undercut_a_steady_round_trip() {
        let minimum = config(Nanos::from_millis(200), Nanos::from_millis(1), RtoFloor::Total);
        let mut rtt = RttEstimator::new(RtoConfig { estimator: RtoRule::Ns3, ..minimum });
        let steady = Nanos(1_180_970_000);
        rtt.sample(SimTime::ZERO, steady);
        assert_eq!(rtt.rto(0), Nanos::from_millis(5 * 1180), "the first deviation is the sample");
        rtt.sample(SimTime::ZERO, steady + Nanos::from_millis(10));
        assert_eq!(rtt.srtt(), Some(steady + Nanos::from_millis(1)));
        assert_eq!(rtt.rttvar(), (steady * 9 + Nanos::from_millis(10)) / 10);
        for _ in 0..100 {
            rtt.sample(SimTime::ZERO, steady);
        }
        assert_eq!(rtt.rto(0), Nanos::from_millis(1180));
    }

    /// Worked out by hand from `tcp_rtt_estimator`: the first deviation is twice the sample, fades once per round, and grows at once.
    #[test]
    fn the_largest_deviation_of_a_round_fades_by_a_quarter() {
        let least = config(Nanos::from_millis(200), Nanos::from_millis(1), RtoFloor::Variance);
        let mut rtt = RttEstimator::new(RtoConfig { estimator: RtoRule::Linux, ..least });
        let steps = [
            (600, 1..11, 1_800_000),
            (600, 12..22, 1_800_000),
            (600, 23..33, 1_668_750),
            (700, 24..34, 1_681_250),
            (100, 25..35, 548_438 + 1_068_750),
            (1_900, 26..36, 717_383 + 1_840_088),
        ];
        for (sample, outstanding, micros) in steps {
            let outstanding = Range::new(Seq(outstanding.start), Seq(outstanding.end));
            rtt.sample_beside(SimTime::ZERO, Nanos::from_millis(sample), outstanding);
            assert_eq!((rtt.rto(0).0 + 500) / 1000, micros, "after {sample} ms");
        }
    }

    #[test]
    fn a_coarse_clock_floors_the_variance_term() {
        let mut rtt =
            RttEstimator::new(config(Nanos::from_secs(1), Nanos::from_millis(500), RtoFloor::Total));
        for _ in 0..100 {
            rtt.sample(SimTime::ZERO, Nanos::from_millis(600));
        }
        assert_eq!(rtt.rto(0), Nanos::from_millis(1100), "0.6 s + G");
    }

    #[test]
    fn minimum_forgets_after_the_window() {
        let mut rtt = RttEstimator::new(config(Nanos::ZERO, Nanos(1), RtoFloor::Total));
        rtt.sample(SimTime::from_secs(1), Nanos::from_millis(20));
        rtt.sample(SimTime::from_secs(12), Nanos::from_millis(40));
        assert_eq!(rtt.min(), Some(Nanos::from_millis(20)));
        rtt.sample(SimTime::from_secs(23), Nanos::from_millis(40));
        assert_eq!(rtt.min(), Some(Nanos::from_millis(40)));
    }
}
