//! Buckets that grow with the value: below `STEPS` each value has its own, above it `STEPS` per factor of two.

/// Buckets per factor of two.
pub(crate) const STEPS: u64 = 128;

/// The bucket of `value`.
pub(crate) fn bucket_of(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let octave = u64::from(value.ilog2()) - u64::from(STEPS.ilog2());
    let step = (value >> octave) - STEPS;
    (STEPS + octave * STEPS + step) as usize
}

/// The first value of a bucket, and how many values it has.
pub(crate) fn values_of(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return (bucket, 1);
    }
    let (octave, step) = ((bucket - STEPS) / STEPS, (bucket - STEPS) % STEPS);
    ((STEPS + step) << octave, 1 << octave)
}

/// Buckets for which memory is taken at first: most flows of a large scenario have few delays.
const STRIDE: usize = 16;

/// Room for more is made for at least this many at a time, or for as many as there are if these are fewer.
const MORE: usize = 64;

/// Weights by bucket, from the first to the last that has any: there are thousands of flows, and the bucket of a value is
/// found in one step. Bucket 0 is kept apart, since zero is the value that most often lies far from all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets {
    zero: u64,
    /// The bucket of the first of `weights`, a multiple of `STRIDE`.
    first: usize,
    weights: Vec<u64>,
}

impl Buckets {
    /// Adds `weight` to a bucket.
    #[inline]
    pub(crate) fn add(&mut self, bucket: usize, weight: u64) {
        if bucket == 0 {
            self.zero += weight;
        } else if let Some(known) = self.weights.get_mut(bucket.wrapping_sub(self.first)) {
            *known += weight;
        } else {
            self.add_new(bucket, weight);
        }
    }

    /// The same outside the range of buckets so far.
    #[cold]
    #[inline(never)]
    fn add_new(&mut self, bucket: usize, weight: u64) {
        self.make_room_for(bucket);
        self.weights[bucket - self.first] += weight;
    }

    #[inline]
    fn holds(&self, bucket: usize) -> bool {
        bucket.wrapping_sub(self.first) < self.weights.len()
    }

    /// A range that grows does so by at least a half, a small one to its double: values that move on slowly must not be
    /// dear.
    fn make_room_for(&mut self, bucket: usize) {
        let place = bucket / STRIDE * STRIDE;
        let (start, end) = (self.first, self.first + self.weights.len());
        let held = self.weights.len();
        let half = (held / 2).max(held.min(MORE)).next_multiple_of(STRIDE);
        let range = if self.weights.is_empty() {
            place..place + STRIDE
        } else if place < start {
            place.min(start.saturating_sub(half))..end
        } else {
            start..(place + STRIDE).max(end + half)
        };
        let mut weights = vec![0; range.len()];
        weights[start.saturating_sub(range.start)..][..self.weights.len()].copy_from_slice(&self.weights);
        (self.first, self.weights) = (range.start, weights);
        debug_assert!(self.holds(bucket), "there is room for {bucket}");
        debug_assert!(start == end || self.first <= start, "buckets in use stay");
    }

    /// Buckets with weight, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let others = self.weights.iter().enumerate().map(|(i, weight)| (self.first + i, *weight));
        std::iter::once((0, self.zero)).chain(others).filter(|(_, weight)| *weight > 0)
    }

    /// The first bucket up to which a share `q` of the weight lies; `None` without weight.
    pub(crate) fn quantile(&self, total: u64, q: f64) -> Option<usize> {
        let wanted = (q * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = |(_, weight): &(usize, u64)| {
            seen += weight;
            seen >= wanted
        };
        self.iter().find(reached).map(|(bucket, _)| bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_on_both_sides_and_nothing_is_lost() {
        let mut buckets = Buckets::default();
        let added = [500, 501, 63, 0, 2_000, 64, 500, 0];
        for (i, bucket) in added.into_iter().enumerate() {
            buckets.add(bucket, 1 << i);
        }
        let expected = [(0, 0x88), (63, 4), (64, 32), (500, 65), (501, 2), (2_000, 16)];
        assert_eq!(buckets.iter().collect::<Vec<_>>(), expected);
        assert_eq!((buckets.first, buckets.weights.len()), (48, 1_968), "no more than it takes");
        let mut rising = Buckets::default();
        let mut lengths: Vec<usize> =
            (1..3_000).map(|bucket| (rising.add(bucket, 1), rising.weights.len()).1).collect();
        lengths.dedup();
        assert_eq!((rising.iter().count(), lengths.len() < 14), (2_999, true), "{lengths:?}");
    }

    #[test]
    fn every_value_is_in_its_bucket() {
        for value in (0..1_000u64).chain((0..63).map(|bit| (1 << bit) + 12_345)) {
            let (first, count) = values_of(bucket_of(value));
            assert!((first..first + count).contains(&value), "{value}: {first}, {count}");
            assert!(count == 1 || count * STEPS <= value, "{value}: {count} wide");
        }
    }
}
