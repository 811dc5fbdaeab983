//! The event queue: a four-ary heap ordered by time, ties by order of insertion.

use units::SimTime;

/// One scheduled event. The sequence number makes the order total, so equal runs stay equal.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: SimTime,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time, then sequence number, as one number: pairs are compared several times slower.
    fn key(&self) -> u128 {
        (u128::from(self.at.0) << 64) | u128::from(self.sequence)
    }
}

/// Future events of type `E` and the virtual clock, which is the time of the last event taken out.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    now: SimTime,
    inserted: u64,
    taken: u64,
}

/// Children per node: half the levels of a binary heap, and siblings share cache lines.
const ARITY: usize = 4;

impl<E: Copy> EventQueue<E> {
    /// Empty, at time zero.
    pub fn new() -> Self {
        Self { heap: Vec::new(), now: SimTime::ZERO, inserted: 0, taken: 0 }
    }

    /// The virtual clock.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Events taken out so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Schedules `event`. An instant in the past is a bug of the caller.
    pub fn push(&mut self, at: SimTime, event: E) {
        debug_assert!(at >= self.now, "event at {at} scheduled at {}", self.now);
        let entry = Entry { at, sequence: self.inserted, event };
        self.inserted += 1;
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1);
    }

    /// When the next event happens.
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.first().map(|e| e.at)
    }

    /// Takes out the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        let last = self.heap.pop()?;
        let first = match self.heap.first_mut() {
            Some(root) => std::mem::replace(root, last),
            None => last,
        };
        self.sift_down(0);
        self.now = first.at;
        self.taken += 1;
        Some((first.at, first.event))
    }

    fn sift_up(&mut self, mut i: usize) {
        let entry = self.heap[i];
        let key = entry.key();
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent].key() <= key {
                break;
            }
            self.heap[i] = self.heap[parent];
            i = parent;
        }
        self.heap[i] = entry;
    }

    fn sift_down(&mut self, mut i: usize) {
        let Some(&entry) = self.heap.get(i) else { return };
        let key = entry.key();
        loop {
            let first = i * ARITY + 1;
            let Some((eldest, rest)) = self.heap.get(first..).and_then(<[_]>::split_first) else { break };
            let (mut least, mut least_key) = (first, eldest.key());
            for (offset, child) in rest.iter().take(ARITY - 1).enumerate() {
                if child.key() < least_key {
                    (least, least_key) = (first + 1 + offset, child.key());
                }
            }
            if key <= least_key {
                break;
            }
            self.heap[i] = self.heap[least];
            i = least;
        }
        self.heap[i] = entry;
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn comes_out_by_time_then_by_insertion() {
        let mut stream = Stream::named(7, "queue", "test");
        let mut queue = EventQueue::new();
        let mut expected = Vec::new();
        for i in 0..2_000u64 {
            let at = SimTime(stream.below(50));
            queue.push(at, i);
            expected.push((at, i));
        }
        expected.sort();
        let mut got = Vec::new();
        while let Some(event) = queue.pop() {
            assert_eq!(queue.now(), event.0);
            got.push(event);
        }
        assert_eq!(got, expected);
        assert_eq!(queue.taken(), 2_000);
    }
}
