//! The chunk that stands for the cumulative TSN of a path of concurrent transfer, as FreeBSD keeps it from SACK to SACK (CUC version 2).
//!
//! A chunk is expected until it arrives. Then the next is the first in flight that a SACK with gap blocks passes.

use std::cell::Cell;

use super::Association;
use crate::packet::PathId;
use crate::sctp::outqueue::{Fate, Outqueue, Sent};
use crate::sctp::path::Expected;
use crate::sctp::paths::Paths;
use crate::sctp::tsn::Tsn;

/// The chunks that all paths expect, while a SACK is read.
pub(super) struct AllExpected(Vec<Cell<[Expected; 2]>>);

/// Chunks that were sent once are expected apart from those that were sent again.
fn kind(sent: &Sent) -> usize {
    usize::from(sent.transmissions > 1)
}

impl AllExpected {
    /// None where `tracks` is false.
    pub(super) fn new(paths: &Paths, tracks: bool) -> Self {
        Self(paths.iter().filter(|_| tracks).map(|path| Cell::new(path.expected)).collect())
    }

    fn change<T>(&self, id: PathId, kind: usize, change: impl FnOnce(&mut Expected) -> T) -> Option<T> {
        let cell = self.0.get(id.index())?;
        let mut both = cell.get();
        let changed = change(&mut both[kind]);
        cell.set(both);
        Some(changed)
    }

    /// Gap blocks leave these chunks out (`sctp_process_segment_range`).
    pub(super) fn pass(&self, outqueue: &Outqueue, tsns: std::ops::Range<u64>) {
        if self.0.is_empty() {
            return;
        }
        for tsn in tsns.map(Tsn) {
            if let Some(sent) = outqueue.get(tsn).filter(|sent| sent.fate == Fate::InFlight) {
                self.change(sent.path, kind(sent), |expected| expected.pass(tsn));
            }
        }
    }

    /// A chunk has arrived, by a gap block unless `cumulative`. True if its path has advanced by that.
    pub(super) fn arrives(&self, tsn: Tsn, sent: &Sent, cumulative: bool) -> bool {
        if cumulative {
            let seek = |kind| self.change(sent.path_now(), kind, Expected::seek);
            return [0, 1].map(seek).contains(&Some(()));
        }
        self.change(sent.path, kind(sent), |expected| expected.pass(tsn));
        // Either kind may have expected it: a chunk that was sent again since is still the one that was expected of those sent once.
        let arrives = |kind| self.change(sent.path, kind, |expected| expected.arrives(tsn)) == Some(true);
        let [once, again] = [0, 1].map(arrives);
        (once || again) && !sent.is_revoked()
    }

    /// The SACK is read.
    pub(super) fn keep(self, paths: &mut Paths) {
        for (path, cell) in paths.iter_mut().zip(self.0) {
            path.expected = cell.get();
        }
    }
}

impl Association {
    /// Whether paths keep what they expect.
    pub(super) fn keeps_expected(&self) -> bool {
        self.config.recovers_as_freebsd() && self.config.cmt.is_some()
    }
}
