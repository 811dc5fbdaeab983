//! Timers that cost nothing to move: the queue keeps one entry per timer, and that entry may be early.

use units::SimTime;

/// One timer of one component. The queue holds an entry for `armed`; the deadline itself may move later without
/// touching the queue, because an entry that fires early is put back at the deadline.
#[derive(Clone, Copy, Debug)]
pub struct LazyTimer {
    armed: SimTime,
}

impl Default for LazyTimer {
    fn default() -> Self {
        Self { armed: SimTime::NEVER }
    }
}

impl LazyTimer {
    /// The owner's deadline is now `deadline`. Returns the instant to push into the queue, if one is needed.
    #[must_use]
    pub fn set(&mut self, deadline: SimTime) -> Option<SimTime> {
        if deadline >= self.armed {
            return None;
        }
        debug_assert!(!deadline.is_never(), "an entry at the end of time never comes out");
        self.armed = deadline;
        Some(deadline)
    }

    /// An entry of this timer came out at `now`. True if it is the armed one (older entries are stale); the
    /// timer is then disarmed, and the owner acts on what is due and calls `set` again.
    #[must_use]
    pub fn fires(&mut self, now: SimTime) -> bool {
        debug_assert!(now <= self.armed, "the entry at {} has not come out by {now}", self.armed);
        if now != self.armed {
            return false;
        }
        self.armed = SimTime::NEVER;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_deadline_costs_nothing_and_an_earlier_one_makes_the_old_entry_stale() {
        let mut timer = LazyTimer::default();
        assert_eq!(timer.set(SimTime(100)), Some(SimTime(100)));
        assert_eq!(timer.set(SimTime(150)), None);
        assert_eq!(timer.set(SimTime(50)), Some(SimTime(50)));
        assert!(timer.fires(SimTime(50)));
        assert!(!timer.fires(SimTime(100)), "the entry at 100 was replaced by the one at 50");
        assert_eq!(timer.set(SimTime::NEVER), None);
    }
}
