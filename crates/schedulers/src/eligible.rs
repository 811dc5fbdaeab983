//! Which subflows may take the segment at hand: the part of the contract that all schedulers share.
//!
//! Source: the selection of the out-of-tree MPTCP of Linux (v0.9x). A reinjected segment goes to a subflow that has
//! not carried it yet, and waits for one that has no room now; once all have carried it, any will do.

use crate::SubflowView;

/// The subflows of one decision, backup and carried ones sorted out.
#[derive(Clone, Copy)]
pub(crate) struct Eligible<'a> {
    subflows: &'a [SubflowView],
    /// Backup subflows count only where no other is usable.
    backups: bool,
    /// Some subflow in question has not carried the data: those that have are passed over.
    fresh: bool,
}

impl<'a> Eligible<'a> {
    pub fn new(subflows: &'a [SubflowView]) -> Self {
        let backups = !subflows.iter().any(|s| s.usable && !s.backup);
        let fresh = subflows.iter().any(|s| s.usable && (backups || !s.backup) && !s.carried);
        Self { subflows, backups, fresh }
    }

    /// Those that may take it now or as soon as their window opens, by index.
    pub fn usable(self) -> impl Iterator<Item = (usize, &'a SubflowView)> {
        let passed_over = move |s: &SubflowView| s.carried && self.fresh || s.backup && !self.backups;
        self.subflows.iter().enumerate().filter(move |(_, s)| s.usable && !passed_over(s))
    }

    /// Those that may take it now, by index.
    pub fn available(self) -> impl Iterator<Item = (usize, &'a SubflowView)> {
        self.usable().filter(|(_, s)| s.available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::subflow;

    fn available(subflows: &[SubflowView]) -> Vec<usize> {
        Eligible::new(subflows).available().map(|(index, _)| index).collect()
    }

    #[test]
    fn a_reinjection_prefers_who_has_not_carried_it() {
        let free = subflow(10, 10, 0);
        let carried = SubflowView { carried: true, ..free };
        let full = SubflowView { available: false, ..free };
        let gone = SubflowView { usable: false, available: false, ..free };
        assert_eq!(available(&[carried, free]), [1]);
        assert!(available(&[carried, full]).is_empty(), "the fresh one will have room");
        assert_eq!(available(&[carried, gone]), [0], "nobody else is left");
        assert_eq!(available(&[carried, carried]), [0, 1]);
    }

    #[test]
    fn an_unused_backup_does_not_hold_up_a_reinjection() {
        let carried = SubflowView { carried: true, ..subflow(10, 10, 0) };
        let backup = SubflowView { backup: true, available: false, ..subflow(10, 10, 0) };
        assert_eq!(available(&[carried, backup]), [0]);
        assert_eq!(available(&[SubflowView { available: true, ..backup }]), [0], "unless it is all there is");
    }
}
