//! The event queue: ordered by time, ties by order of insertion. Few events are a sorted list, many a four-ary heap.
//!
//! Most events are scheduled shortly before they happen: in a list of few they find their place in a few steps from the
//! end where the next one is. A list from the next event to the last is a heap.

use units::SimTime;

/// One event in the heap. The sequence number makes the order total, so equal runs stay equal.
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
    /// Few events: the first `listed` of these places, with the next event last. Of equal times the first inserted is
    /// nearer to the end, so they need no sequence numbers. No places while there is a heap.
    list: Vec<(SimTime, E)>,
    listed: usize,
    /// Many events, with the next one first. Empty while there is a list.
    heap: Vec<Entry<E>>,
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
            list: Vec::new(),
            listed: 0,
            heap: Vec::new(),
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
        self.inserted += 1;
        if self.listed < self.list.len() {
            self.insert(at, event);
        } else {
            self.push_to_heap(at, event);
        }
        self.check();
    }

    /// Inserts an event that comes after all of the same time into the list, which has a place for it.
    #[inline]
    fn insert(&mut self, at: SimTime, event: E) {
        let places = &mut self.list[..=self.listed];
        let mut place = self.listed;
        while place > 0 && places[place - 1].0 <= at {
            places[place] = places[place - 1];
            place -= 1;
        }
        places[place] = (at, event);
        self.listed += 1;
    }

    /// As `push`, into a heap, or into a list without a free place.
    #[inline(never)]
    fn push_to_heap(&mut self, at: SimTime, event: E) {
        let entry = Entry { at, sequence: self.inserted, event };
        if self.heap.is_empty() {
            if self.list.is_empty() {
                self.list.resize(MOST_LISTED, (at, event));
                return self.insert(at, event);
            }
            self.become_heap();
        }
        if std::mem::take(&mut self.hole) {
            self.place_at_root(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1);
        }
    }

    /// A list with the next event first is a heap. Its events get the sequence numbers before that of the newest.
    fn become_heap(&mut self) {
        let first = self.inserted - self.listed as u64;
        let entry = |((at, event), sequence)| Entry { at, sequence, event };
        self.heap.extend(self.list.drain(..).rev().zip(first..).map(entry));
        self.listed = 0;
    }

    /// Few entries are left in the heap: a list of them, from the last to the next.
    fn become_list(&mut self) {
        self.heap.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
        self.list.extend(self.heap.drain(..).map(|entry| (entry.at, entry.event)));
        self.listed = self.list.len();
        if let Some(&any) = self.list.last() {
            self.list.resize(MOST_LISTED, any);
        }
    }

    /// When the next event happens.
    pub fn next_time(&mut self) -> Option<SimTime> {
        self.first().map(|(at, _)| at)
    }

    /// Takes out the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_before(SimTime::NEVER)
    }

    /// The same, if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<(SimTime, E)> {
        let (at, event) = self.first()?;
        if at >= end {
            return None;
        }
        debug_assert!(at >= self.now, "the clock goes back from {} to {at}", self.now);
        if self.listed > 0 {
            self.listed -= 1;
        } else {
            self.hole = true;
        }
        self.now = at;
        self.taken += 1;
        self.check();
        Some((at, event))
    }

    #[inline]
    fn first(&mut self) -> Option<(SimTime, E)> {
        if self.listed == 0 {
            if self.hole {
                self.fill_hole();
            }
            if self.listed == 0 {
                return self.heap.first().map(|entry| (entry.at, entry.event));
            }
        }
        self.list.get(self.listed - 1).copied()
    }

    /// No event is lost or held twice, and no parent comes after its children.
    fn check(&self) {
        debug_assert_eq!(
            self.inserted,
            self.taken + (self.listed + self.heap.len()) as u64 - u64::from(self.hole),
            "every event is in the queue until it is taken out"
        );
        debug_assert!(!self.hole || !self.heap.is_empty(), "a root was taken out, and there is none");
        debug_assert!(self.heap.is_empty() || self.list.is_empty(), "a list beside a heap");
        debug_assert!(
            self.list[..self.listed].is_sorted_by(|later, earlier| later.0 >= earlier.0),
            "the list is in order"
        );
        debug_assert!(
            self.heap.iter().enumerate().skip(1).take(CHECKED).all(|(i, entry)| {
                let parent = &self.heap[(i - 1) / ARITY];
                parent.key() < entry.key() || self.hole && i <= ARITY
            }),
            "a parent in the heap comes after its child"
        );
    }

    /// Nothing has taken the place of the root: the last entry does, unless few are left.
    #[inline(never)]
    fn fill_hole(&mut self) {
        self.hole = false;
        if self.heap.len() <= LEAST_HEAPED {
            self.heap.swap_remove(0);
            self.become_list();
        } else if let Some(last) = self.heap.pop() {
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
