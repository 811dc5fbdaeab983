//! The retransmission timer (RFC 6298 section 5): when it runs out, how often it has, and what may be undone.

use units::{Nanos, SimTime};

/// The timer of one sender. A sender that polls its peer has none: then it never runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionTimer {
    /// False: `restart` does nothing.
    exists: bool,
    /// `NEVER` while it does not run.
    deadline: SimTime,
    /// Timeouts in a row without progress.
    timeouts: u32,
    /// Doublings of the timeout: kept until a round-trip sample confirms that it may shrink.
    backoff: u32,
    /// The first of the timeouts in a row, if it may be undone; `NEVER` otherwise.
    undo_from: SimTime,
    /// Losses mean corruption and the timer has run out: nothing leaves but the oldest segment until anything arrives.
    outage: bool,
}

impl RetransmissionTimer {
    /// Not running. `exists` false: it never will.
    pub(super) fn new(exists: bool) -> Self {
        Self {
            exists,
            deadline: SimTime::NEVER,
            timeouts: 0,
            backoff: 0,
            undo_from: SimTime::NEVER,
            outage: false,
        }
    }

    /// When it runs out; `NEVER` while it does not run.
    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.deadline
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        !self.deadline.is_never()
    }

    /// Doublings of the timeout.
    #[inline]
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Timeouts in a row without progress.
    #[inline]
    pub(super) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The link is taken to be down.
    #[inline]
    pub(super) fn is_outage(&self) -> bool {
        self.outage
    }

    /// Something has arrived from the peer.
    #[inline]
    pub(super) fn end_outage(&mut self) {
        self.outage = false;
    }

    /// Runs out `timeout` from now, whether it ran before or not.
    #[inline]
    pub(super) fn restart(&mut self, now: SimTime, timeout: Nanos) {
        if self.exists {
            self.deadline = now + timeout;
        }
        self.check();
    }

    #[inline]
    pub(super) fn stop(&mut self) {
        self.deadline = SimTime::NEVER;
    }

    /// The timer has run out: counts it. `undo` says whether the first of a row may be undone; with `outage` the
    /// timeouts keep their interval instead of doubling.
    pub(super) fn expire(&mut self, now: SimTime, undo: bool, outage: bool) {
        debug_assert!(self.deadline <= now, "it has not run out");
        if self.timeouts == 0 {
            self.undo_from = if undo { now } else { SimTime::NEVER };
        }
        self.timeouts += 1;
        if outage {
            self.outage = true;
        } else {
            self.backoff += 1;
        }
        self.check();
    }

    /// The path is given up: the timer does not run any more.
    pub(super) fn give_up(&mut self) {
        *self = Self::new(self.exists);
    }

    /// From when on segments were sent because of a timeout that may be undone; asked once.
    pub(super) fn take_undo_from(&mut self) -> SimTime {
        std::mem::replace(&mut self.undo_from, SimTime::NEVER)
    }

    /// A round-trip sample confirms the present estimate: no back-off.
    #[inline]
    pub(super) fn sampled(&mut self) {
        self.backoff = 0;
    }

    /// New data was acknowledged.
    #[inline]
    pub(super) fn progressed(&mut self) {
        self.timeouts = 0;
    }

    fn check(&self) {
        debug_assert!(self.exists || self.deadline.is_never(), "a timer that does not exist runs");
        debug_assert!(self.exists || self.timeouts == 0, "a timer that does not exist has run out");
    }
}
