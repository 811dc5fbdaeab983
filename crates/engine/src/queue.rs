//! The event queue: ordered by time, ties by order of insertion. The next events are a sorted list, others wait in buckets.
//!
//! Most events are scheduled shortly before they happen: in a list of few they find their place in a few steps from the
//! end where the next one is. Few events are all in the list.

use units::SimTime;

use crate::later::Later;

/// Future events of type `E` and the virtual clock, which is the time of the last event taken out.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// All events before the horizon are the first `listed` of these places, with the next event last. Of equal times the
    /// first inserted is nearer to the end.
    places: Vec<(SimTime, E)>,
    listed: usize,
    horizon: SimTime,
    /// All others.
    later: Later<E>,
    now: SimTime,
    inserted: u64,
    taken: u64,
}

/// Places of the list. With more events only the next of them stay there.
const PLACES: usize = 64;

/// Events that the list gets at once, at most.
const REFILL: usize = 24;

impl<E: Copy> EventQueue<E> {
    /// Empty, at time zero.
    pub fn new() -> Self {
        Self {
            places: Vec::new(),
            listed: 0,
            horizon: SimTime::NEVER,
            later: Later::new(),
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
        if at < self.horizon && self.listed < self.places.len() {
            self.insert(at, event);
        } else {
            self.push_elsewhere(at, event);
        }
        self.check();
    }

    /// Inserts an event that comes after all of the same time into the list, which has a place for it.
    #[inline]
    fn insert(&mut self, at: SimTime, event: E) {
        let places = &mut self.places[..=self.listed];
        let mut place = self.listed;
        while place > 0 && places[place - 1].0 <= at {
            places[place] = places[place - 1];
            place -= 1;
        }
        places[place] = (at, event);
        self.listed += 1;
    }

    /// As `push`, beyond the horizon, or into a list without a free place.
    #[inline(never)]
    fn push_elsewhere(&mut self, at: SimTime, event: E) {
        if at >= self.horizon {
            return self.later.push(at, event);
        }
        if self.places.is_empty() || self.now < self.later.base() {
            // Before the base, which is that of events not yet taken out, only the list has places.
            self.places.resize(self.listed + PLACES, (at, event));
            return self.insert(at, event);
        }
        self.horizon = self.now;
        self.later.advance(self.now);
        for (at, event) in self.places[..self.listed].iter().copied().rev().chain([(at, event)]) {
            self.later.push(at, event);
        }
        self.listed = 0;
    }

    /// When the next event happens.
    pub fn next_time(&mut self) -> Option<SimTime> {
        self.first().map(|(at, _)| *at)
    }

    /// Takes out the next event and moves the clock to it.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.pop_before(SimTime::NEVER)
    }

    /// The same, if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<(SimTime, E)> {
        let &(at, event) = self.first()?;
        if at >= end {
            return None;
        }
        debug_assert!(at >= self.now, "the clock goes back from {} to {at}", self.now);
        self.listed -= 1;
        self.now = at;
        self.taken += 1;
        self.check();
        Some((at, event))
    }

    #[inline]
    fn first(&mut self) -> Option<&(SimTime, E)> {
        if self.listed == 0 {
            self.refill();
        }
        self.places.get(self.listed.checked_sub(1)?)
    }

    /// The list is empty: the next events fill it.
    #[inline(never)]
    fn refill(&mut self) {
        // More were for a burst.
        self.places.truncate(PLACES);
        (self.listed, self.horizon) = self.later.take_next(&mut self.places, REFILL);
        self.check();
    }

    fn next_are_in_order(&self) -> bool {
        let next = &self.places[self.listed.saturating_sub(PLACES)..self.listed];
        next.is_sorted_by(|later, earlier| later.0 >= earlier.0)
    }

    /// No event is lost or held twice, and the list is in order where the next events are.
    fn check(&self) {
        debug_assert_eq!(
            self.inserted,
            self.taken + (self.listed + self.later.len()) as u64,
            "every event is in the queue until it is taken out"
        );
        debug_assert!(self.next_are_in_order(), "the list is in order");
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

    /// Many events at one instant, and events before those that were looked at.
    #[test]
    fn bursts_and_events_before_the_next_keep_the_order() {
        let mut stream = Stream::named(9, "queue", "test");
        let mut queue = EventQueue::new();
        let mut expected = std::collections::BTreeMap::new();
        let insert = |queue: &mut EventQueue<u64>, expected: &mut std::collections::BTreeMap<_, _>, at| {
            let event = queue.inserted;
            queue.push(at, event);
            expected.insert((at, event), event);
        };
        for round in 0..400u64 {
            // All at one instant, or spread over one of many orders of magnitude.
            let start = queue.now().0 + stream.below(1 << (round % 40));
            let width = if round % 3 == 0 { 1 } else { 1 << stream.below(40) };
            for _ in 0..stream.below(300) {
                insert(&mut queue, &mut expected, SimTime(start + stream.below(width)));
            }
            let next = queue.next_time().unwrap_or(queue.now()).0;
            // A look at the next event does not bind what is inserted after it.
            let between = next - queue.now().0 + 1;
            for _ in 0..stream.below(150) {
                let at = SimTime(queue.now().0 + stream.below(between));
                insert(&mut queue, &mut expected, at);
            }
            for _ in 0..stream.below(450) {
                let next = expected.pop_first().map(|((at, _), event)| (at, event));
                assert_eq!(queue.pop(), next);
                if stream.below(2) == 0 {
                    // Also at the very instant, after all that wait for it.
                    let most = 1 << stream.below(30);
                    let at = SimTime(queue.now().0 + stream.below(most) * stream.below(2));
                    insert(&mut queue, &mut expected, at);
                }
            }
        }
        while let Some(event) = queue.pop() {
            assert_eq!(Some(event), expected.pop_first().map(|((at, _), event)| (at, event)));
        }
        assert!(expected.is_empty() && queue.taken() > 50_000, "{} were taken", queue.taken());
    }

    /// The end of time and its beginning have their buckets.
    #[test]
    fn the_ends_of_time_are_in_order() {
        let mut queue = EventQueue::new();
        let times = (0..200).map(|n| if n % 2 == 0 { SimTime(n) } else { SimTime(u64::MAX - n) });
        let mut expected: Vec<_> = times.map(|at| (at, at.0)).collect();
        expected.iter().for_each(|&(at, event)| queue.push(at, event));
        expected.sort();
        let got: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(got, expected);
    }
}
