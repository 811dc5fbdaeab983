//! Buckets that grow with the value: below `STEPS` each value has its own, above it `STEPS` per factor of two.

use std::collections::BTreeMap;

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

/// The lower part of a weight: thousands of flows have hundreds of buckets each, and few of them hold much.
pub(crate) trait Lower: Copy + Default + Into<u64> + TryFrom<u64> {
    /// The lower bits.
    fn of(weight: u64) -> Self;

    /// The sum of a block.
    fn sum(block: &[Self; STRIDE]) -> u64;
}

impl Lower for u16 {
    fn of(weight: u64) -> Self {
        weight as Self
    }

    fn sum(block: &[Self; STRIDE]) -> u64 {
        block.iter().map(|weight| u32::from(*weight)).sum::<u32>().into()
    }
}

impl Lower for u32 {
    fn of(weight: u64) -> Self {
        weight as Self
    }

    fn sum(block: &[Self; STRIDE]) -> u64 {
        block.iter().map(|weight| u64::from(*weight)).sum()
    }
}

/// Parts of weights above the lower ones, by bucket.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rest(BTreeMap<usize, u64>);

/// Weights by bucket, from the first to the last that has any: there are thousands of flows, and the bucket of a value is
/// found in one step. Bucket 0 is kept apart, since zero is the value that most often lies far from all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets<W> {
    zero: u64,
    /// The bucket of the first of `weights`, a multiple of `STRIDE`.
    first: u32,
    /// Lower parts of the weights.
    weights: Box<[W]>,
    /// The rest of those that have outgrown them, by bucket.
    rest: Option<Box<Rest>>,
}

impl<W: Lower> Buckets<W> {
    /// Adds `weight` to a bucket.
    #[inline]
    pub(crate) fn add(&mut self, bucket: usize, weight: u64) {
        if bucket == 0 {
            self.zero += weight;
        } else if let Some(known) = self.weights.get_mut(bucket.wrapping_sub(self.first as usize))
            && let Ok(sum) = W::try_from((*known).into() + weight)
        {
            *known = sum;
        } else {
            self.add_new(bucket, weight);
        }
    }

    /// The same outside the range of buckets so far, or beyond a lower part.
    #[cold]
    #[inline(never)]
    fn add_new(&mut self, bucket: usize, weight: u64) {
        if !self.holds(bucket) {
            self.make_room_for(bucket);
        }
        let known = &mut self.weights[bucket - self.first as usize];
        let sum = (*known).into() + weight;
        *known = W::of(sum);
        let rest = sum - (*known).into();
        if rest > 0 {
            *self.rest.get_or_insert_default().0.entry(bucket).or_default() += rest;
        }
    }

    /// The weight of bucket 0.
    pub(crate) fn zero(&self) -> u64 {
        self.zero
    }

    #[inline]
    fn holds(&self, bucket: usize) -> bool {
        bucket.wrapping_sub(self.first as usize) < self.weights.len()
    }

    /// A range that grows does so by at least a half, a small one to its double: values that move on slowly must not be
    /// dear.
    fn make_room_for(&mut self, bucket: usize) {
        let place = bucket / STRIDE * STRIDE;
        let held = self.weights.len();
        let (start, end) = (self.first as usize, self.first as usize + held);
        let half = (held / 2).max(held.min(MORE)).next_multiple_of(STRIDE);
        let range = if self.weights.is_empty() {
            place..place + STRIDE
        } else if place < start {
            place.min(start.saturating_sub(half))..end
        } else {
            start..(place + STRIDE).max(end + half)
        };
        let mut weights = vec![W::default(); range.len()].into_boxed_slice();
        weights[start.saturating_sub(range.start)..][..held].copy_from_slice(&self.weights);
        (self.first, self.weights) = (range.start as u32, weights);
        debug_assert!(self.holds(bucket), "there is room for {bucket}");
        debug_assert!(start == end || range.start <= start, "buckets in use stay");
    }

    /// Buckets with weight, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let zero = (self.zero > 0).then_some((0, self.zero));
        zero.into_iter().chain(self.others(self.first as usize))
    }

    /// Buckets with weight from `start` on, with the whole of it; bucket 0 is not among them.
    #[inline]
    fn others(&self, start: usize) -> impl Iterator<Item = (usize, u64)> {
        let first = self.first as usize;
        let mut rest = self.rest.iter().flat_map(move |rest| rest.0.range(start..)).peekable();
        let mut place = start - first;
        std::iter::from_fn(move || {
            let in_lower = self.weights[place..].iter().position(|weight| (*weight).into() > 0);
            let in_rest = rest.peek().map(|(bucket, _)| **bucket - first - place);
            place += match (in_lower, in_rest) {
                (Some(one), Some(other)) => one.min(other),
                (one, other) => one.or(other)?,
            };
            let more = rest.next_if(|(bucket, _)| **bucket == first + place).map_or(0, |(_, more)| *more);
            let found = (first + place, self.weights[place].into() + more);
            place += 1;
            Some(found)
        })
    }

    /// The first bucket of each `STRIDE` in a row, bucket 0 apart, and the weight of all of them.
    #[inline]
    fn blocks(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut rest = self.rest.iter().flat_map(|rest| &rest.0).peekable();
        let (blocks, over) = self.weights.as_chunks::<STRIDE>();
        debug_assert!(over.is_empty(), "room is made in whole blocks");
        (self.first as usize..).step_by(STRIDE).zip(blocks).map(move |(start, block)| {
            let mut sum = W::sum(block);
            while let Some((_, more)) = rest.next_if(|(bucket, _)| **bucket < start + STRIDE) {
                sum += more;
            }
            (start, sum)
        })
    }

    /// The first bucket up to which a share `q` of the weight lies; `None` without weight.
    pub(crate) fn quantile(&self, total: u64, q: f64) -> Option<usize> {
        let wanted = (q * total as f64).ceil().max(1.0) as u64;
        let mut seen = self.zero;
        if seen >= wanted {
            return Some(0);
        }
        let (start, sum) = self.blocks().find(|(_, sum)| {
            seen += sum;
            seen >= wanted
        })?;
        seen -= sum;
        let reached = self.others(start).find(|(_, weight)| {
            seen += weight;
            seen >= wanted
        });
        reached.map(|(bucket, _)| bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_on_both_sides_and_nothing_is_lost() {
        let mut buckets = Buckets::<u32>::default();
        let added = [500, 501, 63, 0, 2_000, 64, 500, 0];
        for (i, bucket) in added.into_iter().enumerate() {
            buckets.add(bucket, 1 << i);
        }
        let expected = [(0, 0x88), (63, 4), (64, 32), (500, 65), (501, 2), (2_000, 16)];
        assert_eq!(buckets.iter().collect::<Vec<_>>(), expected);
        assert_eq!((buckets.first, buckets.weights.len()), (48, 1_968), "no more than it takes");
        let mut rising = Buckets::<u16>::default();
        let mut lengths: Vec<usize> =
            (1..3_000).map(|bucket| (rising.add(bucket, 1), rising.weights.len()).1).collect();
        lengths.dedup();
        assert_eq!((rising.iter().count(), lengths.len() < 14), (2_999, true), "{lengths:?}");
    }

    #[test]
    fn weights_may_outgrow_their_lower_parts() {
        let mut buckets = Buckets::<u16>::default();
        let added = [(70, 65_535), (71, 1), (70, 1), (90, u64::MAX - 3), (70, 7), (300, 1), (71, 70_000)];
        for (bucket, weight) in added {
            buckets.add(bucket, weight);
        }
        let expected = [(70, 65_543), (71, 70_001), (90, u64::MAX - 3), (300, 1)];
        assert_eq!(buckets.iter().collect::<Vec<_>>(), expected);
        assert_eq!(buckets.rest.as_ref().map(|rest| rest.0.len()), Some(3));
        let mut other = Buckets::<u16>::default();
        for (bucket, weight) in expected {
            other.add(bucket, weight);
        }
        assert_eq!((other.quantile(140_000, 0.4), other == buckets), (Some(70), true), "whatever came first");
    }

    /// Bucket by bucket, over blocks without weight and buckets that have outgrown their lower parts.
    #[test]
    fn quantiles_are_where_the_sum_of_the_weights_reaches_them() {
        let mut buckets = Buckets::<u16>::default();
        for i in 1..200usize {
            buckets.add(if i % 20 == 0 { 0 } else { 90 + i * i % 1_009 }, (i * i * i) as u64 % 140_000);
        }
        buckets.add(3_000, 1 << 16);
        let total = buckets.iter().map(|(_, weight)| weight).sum::<u64>();
        let rest = buckets.rest.as_ref().map_or(0, |rest| rest.0.len());
        assert!(rest > 3 && buckets.weights.len() > 2 * buckets.iter().count(), "{rest} of {buckets:?}");
        for percent in 0..=100 {
            let q = f64::from(percent) / 100.0;
            let wanted = ((q * total as f64).ceil() as u64).max(1);
            let mut seen = 0;
            let expected = buckets.iter().find(|(_, weight)| {
                seen += weight;
                seen >= wanted
            });
            assert_eq!(buckets.quantile(total, q), expected.map(|(bucket, _)| bucket), "{percent} %");
        }
        assert_eq!(
            (buckets.quantile(total + 1, 1.0), Buckets::<u16>::default().quantile(0, 0.5)),
            (None, None)
        );
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
