//! At which rates acknowledgements come: behind a bottleneck most of them at its rate.

use std::collections::BTreeMap;

/// Buckets per factor of two: each is 1.1 % wide.
const STEPS: u64 = 64;
/// Buckets on either side that belong to the most frequent rate: 5 %.
const NEAR: u64 = 5;

/// Bytes by the rate at which they were acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paces(BTreeMap<u64, u64>);

impl Paces {
    /// `bytes` were acknowledged `nanos` after those before.
    pub(crate) fn add(&mut self, bytes: u64, nanos: u64) {
        let rate = (u128::from(bytes) * 8_000_000_000).checked_div(nanos.into());
        let Some(rate) = rate.and_then(|rate| u64::try_from(rate).ok()).filter(|rate| *rate >= STEPS) else {
            return;
        };
        let octave = u64::from(rate.ilog2());
        let step = (rate >> (octave - u64::from(STEPS.ilog2()))) - STEPS;
        *self.0.entry(octave * STEPS + step).or_default() += bytes;
    }

    /// The most frequent rate in bit/s, and its share of the bytes. `None`: there are none.
    pub(crate) fn usual(&self) -> Option<(f64, f64)> {
        let total: u64 = self.0.values().sum();
        let near = |bucket: u64| self.0.range(bucket.saturating_sub(NEAR)..=bucket + NEAR);
        let weight = |bucket: u64| near(bucket).map(|(_, bytes)| bytes).sum::<u64>();
        let best = self.0.keys().copied().max_by_key(|bucket| weight(*bucket))?;
        let bytes = weight(best);
        let sum: f64 = near(best).map(|(bucket, bytes)| middle(*bucket) * *bytes as f64).sum();
        (total > 0).then(|| (sum / bytes as f64, bytes as f64 / total as f64))
    }
}

/// The middle of a bucket, in bit/s.
fn middle(bucket: u64) -> f64 {
    let (octave, step) = (bucket / STEPS, bucket % STEPS);
    let width = libm::exp2(octave as f64) / STEPS as f64;
    (STEPS + step) as f64 * width + width / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottleneck_is_the_most_frequent_rate() {
        let mut paces = Paces::default();
        assert_eq!(paces.usual(), None);
        // Two segments per ACK at 4 Mbit/s, now and then a pause, and some at once.
        for n in 0..100_u64 {
            paces.add(2_848, 5_696_000 + n * 1_000);
            if n % 10 == 0 {
                paces.add(2_848, 40_000_000 + n * 500_000);
                paces.add(1_424, 1_000 + n);
            }
        }
        let (rate, share) = paces.usual().expect("there are some");
        assert!((rate / 4e6 - 1.0).abs() < 0.02 && share > 0.8, "{rate} {share}");
    }
}
