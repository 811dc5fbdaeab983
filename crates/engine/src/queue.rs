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
    /// The root was taken out. Most events schedule another one, which takes its place.
    hole: bool,
    now: SimTime,
    inserted: u64,
    taken: u64,
}

/// Children per node: half the levels of a binary heap, and siblings share cache lines.
const ARITY: usize = 4;

/// Entries that debug builds look at after each operation: two levels of the heap.
const CHECKED: usize = ARITY + ARITY * ARITY;

impl<E: Copy> EventQueue<E> {
    /// Empty, at time zero.
    pub fn new() -> Self {
        Self { heap: Vec::new(), hole: false, now: SimTime::ZERO, inserted: 0, taken: 0 }
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
        if std::mem::take(&mut self.hole) {
            self.place_at_root(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1);
        }
        self.check();
    }

    /// When the next event happens.
    pub fn next_time(&mut self) -> Option<SimTime> {
        self.fill();
        self.heap.first().map(|e| e.at)
    }

    /// Takes out the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.fill();
        self.take_first()
    }

    /// The same, if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<(SimTime, E)> {
        self.fill();
        if self.heap.first()?.at >= end {
            return None;
        }
        self.take_first()
    }

    #[inline]
    fn take_first(&mut self) -> Option<(SimTime, E)> {
        let first = self.heap.first()?;
        debug_assert!(first.at >= self.now, "the clock goes back from {} to {}", self.now, first.at);
        debug_assert!(
            self.heap.iter().skip(1).take(CHECKED).all(|other| other.key() > first.key()),
            "an event at {} is not the first",
            first.at
        );
        self.hole = true;
        self.now = first.at;
        self.taken += 1;
        self.check();
        Some((first.at, first.event))
    }

    /// No event is lost or held twice, and no parent comes after its children.
    fn check(&self) {
        debug_assert_eq!(
            self.inserted,
            self.taken + self.heap.len() as u64 - u64::from(self.hole),
            "every event is in the queue until it is taken out"
        );
        debug_assert!(!self.hole || !self.heap.is_empty(), "the root was taken out of an empty heap");
        debug_assert!(
            self.heap.iter().enumerate().skip(1).take(CHECKED).all(|(i, entry)| {
                let parent = &self.heap[(i - 1) / ARITY];
                parent.key() < entry.key() || self.hole && i <= ARITY
            }),
            "a parent in the heap comes after its child"
        );
    }

    /// If nothing has taken the place of the root, the last entry does.
    #[inline]
    fn fill(&mut self) {
        if self.hole {
            self.fill_hole();
        }
    }

    #[inline(never)]
    fn fill_hole(&mut self) {
        self.hole = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.place_at_root(last);
        }
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

    /// `entry` takes the place of the root, and from there its own.
    #[inline(always)]
    fn place_at_root(&mut self, entry: Entry<E>) {
        let (mut i, key) = (0, entry.key());
        loop {
            let first = i * ARITY + 1;
            let Some(children) = self.heap.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let (least, least_key) = match children {
                [a, b, c, d, ..] => {
                    let keys = [a, b, c, d].map(|child| child.key());
                    earlier(earlier((0, keys[0]), (1, keys[1])), earlier((2, keys[2]), (3, keys[3])))
                }
                few => {
                    few.iter().enumerate().map(|(n, child)| (n, child.key())).fold((0, u128::MAX), earlier)
                }
            };
            if key <= least_key {
                break;
            }
            self.heap[i] = self.heap[first + least];
            i = first + least;
        }
        self.heap[i] = entry;
    }
}

/// The pair with the smaller key. Which one it is cannot be predicted, so it is not a branch.
fn earlier(a: (usize, u128), b: (usize, u128)) -> (usize, u128) {
    std::hint::select_unpredictable(b.1 < a.1, b, a)
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
