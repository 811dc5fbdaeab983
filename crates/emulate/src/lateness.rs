//! Lateness of packets while a run goes on.

use std::time::Duration;

use trace::{Accuracy, Histogram};
use units::{Nanos, SimTime};

/// A bound for any scenario.
const BOUND: Nanos = Nanos::from_millis(1);
/// The part of a round trip that lateness may be.
const SHARE: u64 = 100;

/// The largest 99th percentile of lateness that a result may have: a hundredth of the smallest round-trip time, 1 ms at most.
pub fn lateness_bound(smallest_rtt: Option<Nanos>) -> Nanos {
    smallest_rtt.map_or(BOUND, |rtt| Nanos(rtt.0 / SHARE).min(BOUND))
}

/// Lateness while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    times: Histogram,
    max: Nanos,
    pub(crate) refused: u64,
    pub(crate) strays: u64,
}

impl Lateness {
    /// A packet that was due at `due` has been written at `now`.
    pub(crate) fn add(&mut self, due: SimTime, now: SimTime) {
        debug_assert!(due <= now, "a packet arrived before its time");
        let late = now.since(due);
        self.times.add(late, 1);
        self.max = self.max.max(late);
    }

    /// The result, after `lasted` with this CPU time.
    pub(crate) fn accuracy(&self, cpu: Duration, lasted: Nanos, real_time: bool) -> Accuracy {
        // Quantiles are those of classes, whose upper end may be above the largest value.
        let quantile = |share| self.times.quantile(share).unwrap_or_default().min(self.max);
        Accuracy {
            packets: self.times.total(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: self.max,
            cpu_share: cpu.as_secs_f64() / lasted.as_secs_f64().max(f64::MIN_POSITIVE),
            real_time,
            refused: self.refused,
            strays: self.strays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_a_hundredth_of_a_round_trip_and_a_millisecond_at_most() {
        assert_eq!(lateness_bound(None), Nanos::from_millis(1));
        assert_eq!(lateness_bound(Some(Nanos::from_millis(560))), Nanos::from_millis(1));
        assert_eq!(lateness_bound(Some(Nanos::from_millis(40))), Nanos(400_000));
    }

    /// 98 packets 100 us late, two 5 ms late, in a second with 50 ms of CPU time.
    #[test]
    fn quantiles_of_lateness() {
        let mut lateness = Lateness::default();
        for number in 0..100 {
            let late = if number < 98 { 100_000 } else { 5_000_000 };
            lateness.add(SimTime(1_000_000), SimTime(1_000_000 + late));
        }
        let accuracy = lateness.accuracy(Duration::from_millis(50), Nanos::from_secs(1), false);
        let within = |found: Nanos, expected: f64| (found.0 as f64 / expected - 1.0).abs() < 0.02;
        assert!(within(accuracy.p50, 1e5) && within(accuracy.p99, 5e6), "{accuracy:?}");
        assert_eq!((accuracy.packets, accuracy.max), (100, Nanos(5_000_000)));
        assert!((accuracy.cpu_share - 0.05).abs() < 1e-12);
    }
}
