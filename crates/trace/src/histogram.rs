//! A histogram of durations in fixed memory: buckets grow with the value, relative width below 1 %.

use units::Nanos;

use crate::buckets::{self, Buckets, bucket_of};

/// Resolution: finer times do not matter to any user of a network.
const UNIT: u64 = 1_000;

/// Weighted histogram of durations. Memory depends on the largest value only, not on the number of entries. All but its
/// buckets lie in one line of the cache.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Histogram {
    weights: Buckets<u16>,
    total: u64,
    /// Nanoseconds times weight: whole numbers, which are exact and quick.
    sum: u128,
}

impl Histogram {
    /// Counts `value` with `weight`.
    #[inline(always)]
    pub fn add(&mut self, value: Nanos, weight: u64) {
        self.weights.add(bucket_of(value.0 / UNIT), weight);
        self.total += weight;
        self.sum += u128::from(value.0) * u128::from(weight);
    }

    /// Sum of the weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Exact mean in seconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64 * 1e-9)
    }

    /// The value below which a share `q` of the weight lies, within the bucket width; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        debug_assert_eq!(
            self.weights.iter().map(|(_, weight)| weight).sum::<u64>(),
            self.total,
            "all weight is held"
        );
        self.weights.quantile(self.total, q).map(middle_of)
    }

    /// `(value, weight)` of the buckets that are not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.weights.iter().map(|(bucket, weight)| (middle_of(bucket), weight))
    }
}

fn middle_of(bucket: usize) -> Nanos {
    let (first, count) = buckets::values_of(bucket);
    Nanos(first * UNIT + count * UNIT / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_ordered() {
        let mut last = 0;
        for micros in (0..10_000_000u64).step_by(997) {
            let bucket = bucket_of(micros);
            assert!(bucket >= last);
            last = bucket;
            let middle = middle_of(bucket).0 as f64;
            let value = (micros * UNIT + UNIT / 2) as f64;
            assert!((middle - value).abs() <= 0.01 * value + 1000.0, "{micros}: {middle}");
        }
    }

    #[test]
    fn quantiles_and_mean() {
        let mut histogram = Histogram::default();
        for ms in 1..=100 {
            histogram.add(Nanos::from_millis(ms), 1448);
        }
        assert!((histogram.mean().unwrap() - 0.0505).abs() < 1e-9);
        let p95 = histogram.quantile(0.95).unwrap().as_secs_f64();
        assert!((p95 - 0.095).abs() < 0.001, "{p95}");
        assert_eq!(histogram.total(), 144_800);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
