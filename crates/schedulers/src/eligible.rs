//! The subflows that may carry the next segment: the part of the contract that all schedulers share.
//!
//! Source: the selection of the out-of-tree MPTCP of Linux (v0.9x). A reinjected segment goes to a subflow that has
//! not carried it yet, and waits for one that has no room now; once all have carried it, any will do.

use units::{Bytes, Nanos};

use crate::SubflowView;

/// A subflow and its index.
pub(crate) type Indexed<'a> = (usize, &'a SubflowView);

/// The smallest smoothed round-trip time; one without a sample comes last (choice D-31).
pub(crate) fn fastest<'a>(subflows: impl Iterator<Item = Indexed<'a>>) -> Option<Indexed<'a>> {
    // `min_by_key` keeps the first of equals: the lowest index.
    subflows.min_by_key(|(_, subflow)| subflow.srtt.unwrap_or(Nanos(u64::MAX)))
}

/// The largest score; ties go to the lowest index. Scores are not NaN.
pub(crate) fn best<'a>(
    subflows: impl Iterator<Item = Indexed<'a>>,
    score: impl Fn(&SubflowView) -> f64,
) -> Option<Indexed<'a>> {
    let scored = subflows.map(|candidate| (score(candidate.1), candidate));
    let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    debug_assert!(best.is_none_or(|(score, _)| !score.is_nan()), "a score is NaN");
    best.map(|(_, candidate)| candidate)
}

/// The question of a scheduler that may hold back.
#[derive(Clone, Copy)]
pub(crate) enum Contest<'a> {
    /// No subflow has room.
    Full,
    /// The fastest has room, or waiting for it is useless: send on this one.
    Settled(usize),
    /// `fast` is full and will have room again; `slow` is the fastest that has room now.
    Open { fast: Indexed<'a>, slow: Indexed<'a> },
}

/// The subflows of one decision, without backup subflows and those that have carried the data where others remain.
#[derive(Clone, Copy, Debug)]
pub struct Eligible<'a> {
    subflows: &'a [SubflowView],
    /// Backup subflows count only where no other is usable.
    backups: bool,
    /// At least one has not carried the data: those that have are passed over.
    fresh: bool,
}

impl<'a> Eligible<'a> {
    /// Among these, by index as in [`ConnectionView::subflows`](crate::ConnectionView::subflows).
    pub fn new(subflows: &'a [SubflowView]) -> Self {
        let backups = !subflows.iter().any(|s| s.usable && !s.backup);
        let fresh = subflows.iter().any(|s| s.usable && (backups || !s.backup) && !s.carried);
        let eligible = Self { subflows, backups, fresh };
        debug_assert_eq!(
            eligible.usable().next().is_some(),
            subflows.iter().any(|s| s.usable),
            "backups and subflows that have carried the data serve where no other does"
        );
        eligible
    }

    /// Subflows that may take it now or as soon as their window opens, by index.
    pub fn usable(self) -> impl Iterator<Item = (usize, &'a SubflowView)> {
        let passed_over = move |s: &SubflowView| s.carried && self.fresh || s.backup && !self.backups;
        self.subflows.iter().enumerate().filter(move |(_, s)| s.usable && !passed_over(s))
    }

    /// Subflows that may take it now, by index.
    pub fn available(self) -> impl Iterator<Item = (usize, &'a SubflowView)> {
        self.usable().filter(|(_, s)| s.available)
    }

    /// The fastest against the one that minRTT would take. A subflow without
    /// data in flight receives no ACK to wait for, and without round-trip samples nothing can be estimated: in both cases
    /// the choice is that of minRTT.
    pub(crate) fn contest(self) -> Contest<'a> {
        let (Some(fast), Some(slow)) = (fastest(self.usable()), fastest(self.available())) else {
            return Contest::Full;
        };
        let acknowledges = fast.1.inflight + fast.1.unsent > Bytes::ZERO;
        if fast.0 == slow.0 || !acknowledges || fast.1.srtt.is_none() || slow.1.srtt.is_none() {
            return Contest::Settled(slow.0);
        }
        debug_assert!(!fast.1.available, "minRTT would have taken the fastest");
        Contest::Open { fast, slow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, scene_s1, scene_s2, subflow};

    fn available(subflows: &[SubflowView]) -> Vec<usize> {
        Eligible::new(subflows).available().map(|(index, _)| index).collect()
    }

    #[test]
    fn a_reinjection_prefers_subflows_that_have_not_carried_it() {
        let free = subflow(10, 10, 0);
        let carried = SubflowView { carried: true, ..free };
        let full = SubflowView { available: false, ..free };
        let gone = SubflowView { usable: false, available: false, ..free };
        assert_eq!(available(&[carried, free]), [1]);
        assert!(available(&[carried, full]).is_empty(), "the fresh one will have room");
        assert_eq!(available(&[carried, gone]), [0], "no other subflow is left");
        assert_eq!(available(&[carried, carried]), [0, 1]);
    }

    #[test]
    fn an_unused_backup_does_not_hold_up_a_reinjection() {
        let carried = SubflowView { carried: true, ..subflow(10, 10, 0) };
        let backup = SubflowView { backup: true, available: false, ..subflow(10, 10, 0) };
        assert_eq!(available(&[carried, backup]), [0]);
        assert_eq!(available(&[SubflowView { available: true, ..backup }]), [0], "unless it is all there is");
    }

    #[test]
    fn a_contest_is_open_only_if_the_fastest_will_have_room() {
        let settled = |subflows: &[SubflowView]| match Eligible::new(subflows).contest() {
            Contest::Settled(index) => Some(index),
            Contest::Full | Contest::Open { .. } => None,
        };
        let [fast, slow] = scene_s1();
        assert_eq!(settled(&[fast, slow]), None);
        assert_eq!(settled(&scene_s2()), Some(0), "it has room");
        let idle = SubflowView { inflight: Bytes::ZERO, ..fast };
        assert_eq!(settled(&[idle, slow]), Some(1), "no acknowledgement is to be expected");
        assert_eq!(settled(&[fast, SubflowView { srtt: None, ..slow }]), Some(1), "it gets its first sample");
        assert!(matches!(Eligible::new(&[full(fast), full(slow)]).contest(), Contest::Full));
    }
}
