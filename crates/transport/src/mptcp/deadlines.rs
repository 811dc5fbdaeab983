//! When the subflows of a connection want to be called: each has a deadline, one of them is the next.

use units::SimTime;

use super::connection::take_bits;
use super::subflow::Subflow;

/// Deadlines by subflow index, `NEVER` where there is none. Brought up to date when somebody asks.
#[derive(Debug)]
pub(super) struct Deadlines {
    of: Vec<SimTime>,
    /// Bit i: that of subflow i may have moved.
    stale: u64,
    next: SimTime,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { of: Vec::new(), stale: 0, next: SimTime::NEVER }
    }
}

impl Deadlines {
    /// One subflow more.
    pub(super) fn add(&mut self) {
        self.of.push(SimTime::NEVER);
    }

    /// That of subflow `i` may have moved.
    #[inline]
    pub(super) fn touch(&mut self, i: usize) {
        self.stale |= 1 << i;
    }

    /// The first of all.
    #[inline]
    pub(super) fn next(&mut self, subflows: &[Option<Subflow>]) -> SimTime {
        if self.stale != 0 {
            self.freshen(subflows);
        }
        self.next
    }

    /// That of subflow `i`.
    pub(super) fn of(&mut self, i: usize, subflows: &[Option<Subflow>]) -> SimTime {
        self.freshen(subflows);
        self.of[i]
    }

    fn freshen(&mut self, subflows: &[Option<Subflow>]) {
        let mut first_moved = false;
        for i in take_bits(&mut self.stale) {
            if let Some(subflow) = &subflows[i] {
                first_moved |= self.of[i] == self.next;
                self.of[i] = subflow.next_deadline();
                self.next = self.next.min(self.of[i]);
            }
        }
        // Deadlines mostly move back, and rarely it is the first one that does.
        if first_moved {
            self.next = self.of.iter().copied().min().unwrap_or(SimTime::NEVER);
        }
    }
}
