//! The deadlines of the subflows of a connection.
//!
//! Deadlines mostly move back, and a timer that fires early asks again. So most calls do not need the exact first
//! deadline: a lower bound will do.

use schedulers::SubflowSet;
use units::SimTime;

use super::subflow::Subflow;

/// A lower bound of the deadlines of all subflows.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Subflows whose deadline may have moved.
    stale: SubflowSet,
    /// No deadline of the other subflows is earlier.
    bound: SimTime,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { stale: SubflowSet::default(), bound: SimTime::NEVER }
    }
}

impl Deadlines {
    /// The deadline of subflow `i` may have moved.
    #[inline]
    pub(super) fn touch(&mut self, i: usize) {
        self.stale.insert(i);
    }

    /// The deadline of subflow `i` is this now.
    #[inline]
    pub(super) fn note(&mut self, i: usize, deadline: SimTime) {
        self.stale.set(i, deadline < self.bound);
    }

    /// The bound, unless deadlines have moved.
    #[inline]
    pub(super) fn known(&self) -> SimTime {
        self.bound
    }

    /// Some deadline may have moved ahead of the last `bound`.
    #[inline]
    pub(super) fn have_moved(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Deadlines have passed and have been acted upon: the bound is that of no subflow any more.
    pub(super) fn forget(&mut self, subflows: usize) {
        (self.stale, self.bound) = (SubflowSet::below(subflows), SimTime::NEVER);
    }

    /// No deadline is earlier. `busy` subflows may owe something.
    #[inline]
    pub(super) fn bound(&mut self, subflows: &[Option<Subflow>], busy: SubflowSet) -> SimTime {
        let mut moved = std::mem::take(&mut self.stale).union(busy);
        // Mostly a single one, for which a loop is dear.
        while let Some(i) = moved.first() {
            moved.remove(i);
            if let Some(subflow) = &subflows[i] {
                self.bound = self.bound.min(subflow.next_deadline());
            }
        }
        self.check(subflows, busy);
        self.bound
    }

    /// The first deadline.
    pub(super) fn first(&mut self, subflows: &[Option<Subflow>]) -> SimTime {
        self.stale = SubflowSet::default();
        self.bound = subflows.iter().flatten().map(Subflow::next_deadline).min().unwrap_or(SimTime::NEVER);
        self.bound
    }

    /// Asserts what holds between calls, in debug builds.
    pub(super) fn check(&self, subflows: &[Option<Subflow>], busy: SubflowSet) {
        debug_assert!(
            subflows
                .iter()
                .enumerate()
                .filter(|(i, _)| !self.stale.union(busy).contains(*i))
                .filter_map(|(_, s)| s.as_ref())
                .all(|s| self.bound <= s.next_deadline()),
            "a deadline moved ahead of the bound and its subflow was not touched"
        );
    }
}
