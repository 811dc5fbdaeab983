//! When the subflows of a connection want to be called.
//!
//! Deadlines mostly move back, and a timer that fires early asks again. So at most calls nobody needs to know the first of
//! them: that none is earlier than what is known will do.

use units::SimTime;

use super::connection::take_bits;
use super::subflow::Subflow;

/// A lower bound of the deadlines of all subflows.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Bit i: that of subflow i may have moved.
    stale: u64,
    bound: SimTime,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { stale: 0, bound: SimTime::NEVER }
    }
}

impl Deadlines {
    /// That of subflow `i` may have moved.
    #[inline]
    pub(super) fn touch(&mut self, i: usize) {
        self.stale |= 1 << i;
    }

    /// What was due is over: all of them may have moved, and what was known of them is forgotten.
    pub(super) fn forget(&mut self, subflows: usize) {
        (self.stale, self.bound) = ((0..subflows).fold(0, |all, i| all | 1 << i), SimTime::NEVER);
    }

    /// None is earlier.
    #[inline]
    pub(super) fn bound(&mut self, subflows: &[Option<Subflow>]) -> SimTime {
        for i in take_bits(&mut self.stale) {
            if let Some(subflow) = &subflows[i] {
                self.bound = self.bound.min(subflow.next_deadline());
            }
        }
        self.bound
    }

    /// The first of all.
    pub(super) fn first(&mut self, subflows: &[Option<Subflow>]) -> SimTime {
        self.stale = 0;
        self.bound = subflows.iter().flatten().map(Subflow::next_deadline).min().unwrap_or(SimTime::NEVER);
        self.bound
    }
}
