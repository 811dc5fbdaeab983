//! The event queue: ordered by time, ties by order of insertion. Few events are a sorted list, many a four-ary heap.
//!
//! Most events are scheduled shortly before they happen: in a list of few they find their place in a few steps from the
//! end where the next one is. A sorted list is a heap, so that one becomes the other in place.

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
    /// A list with the next event last, or a heap with the next event first.
    entries: Vec<Entry<E>>,
    /// It is the list.
    few: bool,
    /// A list of fewer entries has room for one more; zero with a heap.
    listed: usize,
    /// The root of the heap was taken out. Most events schedule another one, which takes its place.
    hole: bool,
    now: SimTime,
    inserted: u64,
    taken: u64,
}

/// A longer list becomes a heap.
const MOST_LISTED: usize = 64;

/// A smaller heap becomes a list.
const LEAST_HEAPED: usize = 24;

/// Children per node: half the levels of a binary heap, and siblings share cache lines.
const ARITY: usize = 4;

/// Entries that debug builds look at after each operation: two levels of the heap.
const CHECKED: usize = ARITY + ARITY * ARITY;

impl<E: Copy> EventQueue<E> {
    /// Empty, at time zero.
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            few: true,
            listed: 0,
            hole: false,
            now: SimTime::ZERO,
            inserted: 0,
            taken: 0,
        }
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
    #[inline(never)]
    pub fn push(&mut self, at: SimTime, event: E) {
        debug_assert!(at >= self.now, "event at {at} scheduled at {}", self.now);
        let entry = Entry { at, sequence: self.inserted, event };
        self.inserted += 1;
        if self.entries.len() < self.listed {
            self.insert(entry);
        } else {
            self.push_to_heap(entry);
        }
        self.check();
    }

    /// Inserts an entry that comes after all of the same time into the list, which has room for it.
    #[inline]
    fn insert(&mut self, entry: Entry<E>) {
        let mut place = self.entries.len();
        self.entries.push(entry);
        while place > 0 && self.entries[place - 1].at <= entry.at {
            self.entries[place] = self.entries[place - 1];
            place -= 1;
        }
        self.entries[place] = entry;
    }

    /// As `push`, into a heap or a list without room.
    #[inline(never)]
    fn push_to_heap(&mut self, entry: Entry<E>) {
        if self.few && self.entries.len() < MOST_LISTED {
            self.entries.reserve_exact(MOST_LISTED - self.entries.len());
            self.listed = MOST_LISTED;
            return self.insert(entry);
        }
        if std::mem::take(&mut self.few) {
            self.listed = 0;
            self.entries.reverse();
        }
        if std::mem::take(&mut self.hole) {
            self.place_at_root(entry);
        } else {
            self.entries.push(entry);
            self.sift_up(self.entries.len() - 1);
        }
    }

    /// When the next event happens.
    pub fn next_time(&mut self) -> Option<SimTime> {
        self.first().map(|first| first.at)
    }

    /// Takes out the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_before(SimTime::NEVER)
    }

    /// The same, if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<(SimTime, E)> {
        let Entry { at, event, .. } = *self.first()?;
        if at >= end {
            return None;
        }
        debug_assert!(at >= self.now, "the clock goes back from {} to {at}", self.now);
        if self.few {
            self.entries.pop();
        } else {
            self.hole = true;
        }
        self.now = at;
        self.taken += 1;
        self.check();
        Some((at, event))
    }

    #[inline]
    fn first(&mut self) -> Option<&Entry<E>> {
        if self.hole {
            self.fill_hole();
        }
        if self.few { self.entries.last() } else { self.entries.first() }
    }

    /// No event is lost or held twice, and no parent comes after its children.
    fn check(&self) {
        debug_assert_eq!(
            self.inserted,
            self.taken + self.entries.len() as u64 - u64::from(self.hole),
            "every event is in the queue until it is taken out"
        );
        debug_assert!(
            !self.hole || !self.few && !self.entries.is_empty(),
            "a root was taken out, and there is none"
        );
        debug_assert!(self.few || self.listed == 0, "a heap is no list");
        debug_assert!(
            !self.few || self.entries.is_sorted_by(|later, earlier| later.key() > earlier.key()),
            "the list is in order"
        );
        debug_assert!(
            self.few
                || self.entries.iter().enumerate().skip(1).take(CHECKED).all(|(i, entry)| {
                    let parent = &self.entries[(i - 1) / ARITY];
                    parent.key() < entry.key() || self.hole && i <= ARITY
                }),
            "a parent in the heap comes after its child"
        );
    }

    /// Nothing has taken the place of the root: the last entry does, unless few are left.
    #[inline(never)]
    fn fill_hole(&mut self) {
        self.hole = false;
        if self.entries.len() <= LEAST_HEAPED {
            self.entries.swap_remove(0);
            self.entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
            (self.few, self.listed) = (true, MOST_LISTED);
        } else if let Some(last) = self.entries.pop() {
            self.place_at_root(last);
        }
    }

    fn sift_up(&mut self, mut i: usize) {
        let entry = self.entries[i];
        let key = entry.key();
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.entries[parent].key() <= key {
                break;
            }
            self.entries[i] = self.entries[parent];
            i = parent;
        }
        self.entries[i] = entry;
    }

    /// `entry` takes the place of the root, and from there its own.
    #[inline(always)]
    fn place_at_root(&mut self, entry: Entry<E>) {
        let (mut i, key) = (0, entry.key());
        loop {
            let first = i * ARITY + 1;
            let Some(children) = self.entries.get(first..).filter(|rest| !rest.is_empty()) else { break };
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
            self.entries[i] = self.entries[first + least];
            i = first + least;
        }
        self.entries[i] = entry;
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

    /// Few events and many, near and far ones, pushed while others are taken out.
    #[test]
    fn the_order_does_not_depend_on_how_many_wait() {
        let mut stream = Stream::named(8, "queue", "test");
        let mut queue = EventQueue::new();
        let mut expected = std::collections::BTreeMap::new();
        for i in 0..20_000u64 {
            let grows = i % 4_000 < 2_000;
            if stream.below(3) > u64::from(grows) {
                let next = expected.pop_first().map(|((at, _), event)| (at, event));
                assert_eq!(queue.next_time(), next.map(|(at, _)| at));
                assert_eq!(queue.pop(), next);
            } else {
                let ahead = if stream.below(4) == 0 { stream.below(5_000) } else { stream.below(20) };
                let at = SimTime(queue.now().0 + ahead);
                queue.push(at, i);
                expected.insert((at, i), i);
            }
        }
        assert!(expected.len() < 100 && queue.taken() > 8_000, "{} wait", expected.len());
    }
}
