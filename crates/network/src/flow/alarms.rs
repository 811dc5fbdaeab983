//! Wake-ups that an application has requested.
//!
//! May: keep them in order. May not: call the application.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::LazyTimer;
use units::SimTime;

/// Wake-ups of one flow, with the one entry that it may have in the event queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms {
    /// Time, order of the request, tag.
    pending: BinaryHeap<Reverse<(SimTime, u64, u64)>>,
    requested: u64,
    timer: LazyTimer,
}

impl Alarms {
    /// Adds a wake-up.
    pub(crate) fn request(&mut self, at: SimTime, tag: u64) {
        self.requested += 1;
        if self.pending.capacity() == 0 {
            // Most applications wait for one instant at a time.
            self.pending.reserve_exact(1);
        }
        self.pending.push(Reverse((at, self.requested, tag)));
        debug_assert!(self.pending.len() as u64 <= self.requested, "more wake-ups than requests");
    }

    /// Cancels all wake-ups.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// The tag of the next wake-up that is due.
    pub(crate) fn take_due(&mut self, now: SimTime) -> Option<u64> {
        let Reverse((at, _, tag)) = *self.pending.peek()?;
        if at > now {
            return None;
        }
        self.pending.pop();
        Some(tag)
    }

    /// The instant to push into the queue for the next wake-up, or for `stop` if that comes first.
    pub(crate) fn arm(&mut self, now: SimTime, stop: SimTime) -> Option<SimTime> {
        let alarm = self.pending.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| *at);
        let stop = if now < stop { stop } else { SimTime::NEVER };
        // A wake-up in the past would stop the clock.
        self.timer.set(alarm.min(stop).max(now))
    }

    /// A wake-up came out of the queue. False if it was a stale one.
    pub(crate) fn fires(&mut self, now: SimTime) -> bool {
        self.timer.fires(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_come_by_time_and_then_by_request() {
        let mut alarms = Alarms::default();
        for (at, tag) in [(20, 1), (10, 2), (10, 3)] {
            alarms.request(SimTime(at), tag);
        }
        assert_eq!(alarms.arm(SimTime(0), SimTime(15)), Some(SimTime(10)));
        assert!(alarms.fires(SimTime(10)));
        assert_eq!([(); 3].map(|()| alarms.take_due(SimTime(10))), [Some(2), Some(3), None]);
        assert_eq!(alarms.arm(SimTime(10), SimTime(15)), Some(SimTime(15)), "the end of the flow's time");
        assert_eq!(alarms.arm(SimTime(16), SimTime(15)), None, "20 is later than what is armed");
    }
}
