//! Events that are not among the next: buckets by the highest bit in which their time differs from a base, as in the radix
//! heap of Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem" (1990), with one level.
//!
//! Events of equal time are in one bucket at all times, in the order of their insertion, so they need no sequence numbers.

use units::SimTime;

/// Times that equal the base, and those that differ from it in any of 64 bits.
const BUCKETS: usize = 65;

/// Future events of type `E` in buckets of growing width: all events of a bucket come before those of the next.
#[derive(Clone, Debug)]
pub(crate) struct Later<E> {
    /// No event is earlier.
    base: SimTime,
    /// Bucket `n` has the times that differ from the base in bit `n - 1` and in no higher one.
    buckets: Vec<Vec<(SimTime, E)>>,
    waiting: usize,
}

impl<E: Copy> Later<E> {
    /// No events. The buckets are made with the first one.
    pub(crate) fn new() -> Self {
        Self { base: SimTime::ZERO, buckets: Vec::new(), waiting: 0 }
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.waiting
    }

    /// No event may be inserted before this instant.
    pub(crate) fn base(&self) -> SimTime {
        self.base
    }

    /// Inserts an event, after all others of the same time.
    pub(crate) fn push(&mut self, at: SimTime, event: E) {
        debug_assert!(at >= self.base, "event at {at} before the base {}", self.base);
        if self.buckets.is_empty() {
            self.buckets.resize_with(BUCKETS, Vec::new);
        }
        let bucket = self.bucket_of(at);
        self.buckets[bucket].push((at, event));
        self.waiting += 1;
        self.check();
    }

    fn bucket_of(&self, at: SimTime) -> usize {
        let differs = at.0 ^ self.base.0;
        (u64::BITS - differs.leading_zeros()) as usize
    }

    /// Moves the base to an instant before all events that differs from it in bits below that of the first bucket alone.
    pub(crate) fn advance(&mut self, base: SimTime) {
        debug_assert!(base >= self.base, "the base goes back from {} to {base}", self.base);
        debug_assert!(
            self.first_bucket(0).is_none_or(|first| self.bucket_of(base) < first),
            "events change their buckets"
        );
        self.base = base;
    }

    /// Moves the next events to the first of these places, the earliest last. Returns how many they are, and the instant
    /// before which there are no others. At most `most`, except where more happen at one instant.
    pub(crate) fn take_next(&mut self, places: &mut Vec<(SimTime, E)>, most: usize) -> (usize, SimTime) {
        let (mut taken, mut from) = (0, 0);
        let horizon = loop {
            let Some(first) = self.first_bucket(from) else { break SimTime::NEVER };
            let count = self.buckets[first].len();
            if taken > 0 && taken + count > most {
                break self.start(first);
            }
            if first > 0 && count > most {
                self.spread(first);
                continue;
            }
            let bucket = &mut self.buckets[first];
            if let Some(&any) = bucket.first()
                && places.len() < taken + count
            {
                places.resize(taken + count, any);
            }
            places[taken..taken + count].copy_from_slice(bucket);
            bucket.clear();
            taken += count;
            if count > most {
                // Further events of this instant wait in the bucket for their turn.
                break self.base;
            }
            from = first + 1;
        };
        self.waiting -= taken;
        places[..taken].sort_by_key(|&(at, _)| at);
        places[..taken].reverse();
        self.check();
        (taken, horizon)
    }

    /// The first bucket with events, from `from` on.
    fn first_bucket(&self, from: usize) -> Option<usize> {
        self.buckets.iter().skip(from).position(|bucket| !bucket.is_empty()).map(|n| from + n)
    }

    /// The earliest time that a bucket may have.
    fn start(&self, bucket: usize) -> SimTime {
        let Some(bit) = bucket.checked_sub(1) else { return self.base };
        SimTime((self.base.0 >> bit | 1) << bit)
    }

    /// Moves the base to the earliest event of the first bucket, and its events to buckets below.
    fn spread(&mut self, first: usize) {
        let mut events = std::mem::take(&mut self.buckets[first]);
        self.base = events.iter().map(|&(at, _)| at).min().unwrap_or(self.base);
        for &(at, event) in &events {
            let bucket = self.bucket_of(at);
            self.buckets[bucket].push((at, event));
        }
        events.clear();
        // Its memory stays.
        self.buckets[first] = events;
    }

    /// Every event is in its bucket, and is counted.
    fn check(&self) {
        debug_assert_eq!(
            self.buckets.iter().map(Vec::len).sum::<usize>(),
            self.waiting,
            "events are counted"
        );
        debug_assert!(
            self.buckets.iter().enumerate().all(|(n, bucket)| {
                bucket.iter().take(CHECKED).all(|&(at, _)| at >= self.base && self.bucket_of(at) == n)
            }),
            "an event is in the bucket of its time"
        );
    }
}

/// Events of a bucket that debug builds look at after each operation.
const CHECKED: usize = 4;
