//! A histogram of durations in fixed memory: buckets grow with the value, relative width below 1 %.

use units::Nanos;

/// Buckets per factor of two.
const STEPS: u64 = 128;
/// Values below this are counted exactly (in units of `UNIT`).
const LINEAR: u64 = STEPS;
/// Resolution: finer times do not matter to any user of a network.
const UNIT: u64 = 1_000;

/// Weighted histogram of durations. Memory depends on the largest value only, not on the number of entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    weights: Vec<u64>,
    total: u64,
    sum: f64,
}

impl Histogram {
    /// Counts `value` with `weight`.
    pub fn add(&mut self, value: Nanos, weight: u64) {
        let bucket = bucket_of(value.0 / UNIT);
        if bucket >= self.weights.len() {
            self.weights.resize(bucket + 1, 0);
        }
        self.weights[bucket] += weight;
        self.total += weight;
        self.sum += value.as_secs_f64() * weight as f64;
    }

    /// Sum of the weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Exact mean in seconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum / self.total as f64)
    }

    /// The value below which a share `q` of the weight lies, within the bucket width; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let wanted = (q * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = |&(_, &weight): &(usize, &u64)| {
            seen += weight;
            seen >= wanted
        };
        self.weights.iter().enumerate().find(reached).map(|(bucket, _)| middle_of(bucket))
    }

    /// `(value, weight)` of the buckets that are not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.weights.iter().enumerate().filter(|(_, w)| **w > 0).map(|(b, w)| (middle_of(b), *w))
    }
}

fn bucket_of(value: u64) -> usize {
    if value < LINEAR {
        return value as usize;
    }
    let octave = u64::from(value.ilog2()) - u64::from(LINEAR.ilog2());
    let step = (value >> octave) - STEPS;
    (LINEAR + octave * STEPS + step) as usize
}

fn middle_of(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return Nanos(bucket * UNIT + UNIT / 2);
    }
    let (octave, step) = ((bucket - LINEAR) / STEPS, (bucket - LINEAR) % STEPS);
    let width = UNIT << octave;
    Nanos((STEPS + step) * width + width / 2)
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
