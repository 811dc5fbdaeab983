//! Views of the subflows of a connection for schedulers and congestion controls, updated lazily.

use congestion::{PathView, Paths};
use schedulers::{Needs, SubflowSet, SubflowView};
use units::{Bytes, SimTime};

use super::subflow::Subflow;
use crate::config::TcpConfig;
use crate::seq::Dsn;
use crate::tcp::ranges::Range;

/// For each subflow: a view for the scheduler, a view for coupled congestion controls, and whether its window has room.
/// Views of a subflow that has changed are stale and are made anew before they are read.
#[derive(Debug)]
pub(super) struct Views {
    needs: Needs,
    /// A subflow takes no more while this much waits on it to be sent.
    unsent_limit: Bytes,
    subflows: Vec<SubflowView>,
    paths: Vec<PathView>,
    /// Usable subflows with room for a full segment.
    room: SubflowSet,
    stale_subflows: SubflowSet,
    stale_paths: SubflowSet,
    stale_room: SubflowSet,
}

impl Views {
    pub(super) fn new(needs: Needs, unsent_limit: Bytes) -> Self {
        let none = SubflowSet::default();
        Self {
            needs,
            unsent_limit,
            subflows: Vec::new(),
            paths: Vec::new(),
            room: none,
            stale_subflows: none,
            stale_paths: none,
            stale_room: none,
        }
    }

    /// Adds the views of a new subflow.
    pub(super) fn push(&mut self) {
        self.subflows.push(SubflowView { unsent_limit: self.unsent_limit, ..SubflowView::default() });
        self.paths.push(PathView::default());
    }

    /// Marks all views of subflow `i` as stale, since it changes.
    #[inline]
    pub(super) fn touch(&mut self, i: usize) {
        self.stale_subflows.insert(i);
        self.stale_paths.insert(i);
        self.stale_room.insert(i);
    }

    /// True if all views of subflow `i` are stale.
    pub(super) fn is_stale(&self, i: usize) -> bool {
        [self.stale_subflows, self.stale_paths, self.stale_room].iter().all(|stale| stale.contains(i))
    }

    /// Views for the scheduler, current after `freshen`.
    #[inline]
    pub(super) fn subflows(&self) -> &[SubflowView] {
        &self.subflows
    }

    /// Views for the congestion control of subflow `me`; current after `freshen_paths`.
    #[inline]
    pub(super) fn paths(&self, me: usize) -> Paths<'_> {
        Paths { all: &self.paths, me }
    }

    /// Renews stale views of the scheduler. A subflow is available if its windows have room for `quantum` bytes.
    #[inline]
    pub(super) fn freshen(&mut self, list: &[Option<Subflow>], quantum: u64, tcp: &TcpConfig) {
        if self.stale_subflows.is_empty() {
            return;
        }
        let needs = self.needs.whole_view().then_some(self.needs);
        for i in std::mem::take(&mut self.stale_subflows).iter() {
            if let Some(subflow) = &list[i] {
                subflow.show(&mut self.subflows[i], quantum, needs, tcp);
            }
        }
    }

    /// Renews stale views of the congestion controls.
    #[inline(always)]
    pub(super) fn freshen_paths(&mut self, list: &[Option<Subflow>]) {
        for i in std::mem::take(&mut self.stale_paths).iter() {
            if let Some(subflow) = &list[i] {
                subflow.show_path(&mut self.paths[i]);
            }
        }
    }

    /// Usable subflows with room for a full segment, after stale ones have been judged again.
    #[inline(always)]
    pub(super) fn with_room(&mut self, list: &[Option<Subflow>], mss: u64) -> SubflowSet {
        for i in std::mem::take(&mut self.stale_room).iter() {
            self.room.set(i, has_room(list, i, mss));
        }
        self.room
    }

    /// Records that subflow `i` has no room for a full segment.
    #[inline]
    pub(super) fn note_full(&mut self, i: usize) {
        self.room.remove(i);
        self.stale_room.remove(i);
    }

    /// Subflows that had room for a full segment at the last judgement and have not changed since.
    #[inline]
    pub(super) fn known_room(&self) -> SubflowSet {
        self.room.minus(self.stale_room)
    }

    /// True if subflow `i` had no room for a full segment at the last judgement and has not changed since.
    #[inline]
    pub(super) fn is_known_full(&self, i: usize) -> bool {
        !self.room.union(self.stale_room).contains(i)
    }

    /// Judges anew which subflows are available to a segment of `len` bytes: views are made for a full segment.
    pub(super) fn judge_room(&mut self, list: &[Option<Subflow>], len: u64) {
        self.judge(list, |subflow| subflow.sender().has_room_for(len));
    }

    /// Judges anew which subflows are available to `len` bytes of reinjected data, which go ahead of queued data.
    pub(super) fn judge_room_ahead(&mut self, list: &[Option<Subflow>], now: SimTime, len: u64) {
        self.judge(list, |subflow| subflow.sender().has_room_ahead_of_queue(now, len));
    }

    fn judge(&mut self, list: &[Option<Subflow>], has_room: impl Fn(&Subflow) -> bool) {
        for (i, (view, subflow)) in self.subflows.iter_mut().zip(list).enumerate() {
            self.stale_subflows.insert(i);
            view.available = view.usable && subflow.as_ref().is_some_and(&has_room);
        }
    }

    /// Records which subflows have carried the data that is to be reinjected.
    pub(super) fn mark_carriers(&mut self, carriers: SubflowSet) {
        for (i, view) in self.subflows.iter_mut().enumerate() {
            view.carried = carriers.contains(i);
        }
    }

    /// Sets `lag`, for schedulers that send copies: bytes of the data `outstanding` that a subflow was not given.
    pub(super) fn note_lags(&mut self, list: &[Option<Subflow>], outstanding: Range<Dsn>) {
        for (view, subflow) in self.subflows.iter_mut().zip(list) {
            let place = subflow.as_ref().map_or(outstanding.end, |s| s.next_copy().max(outstanding.start));
            view.lag = outstanding.end - place;
        }
    }

    /// Subflows that may be given data: the usable ones that are not backups, or all usable ones if there is no other.
    pub(super) fn targets(&self) -> SubflowSet {
        let set = |of: fn(&SubflowView) -> bool| -> SubflowSet {
            self.subflows.iter().enumerate().filter(|(_, v)| of(v)).map(|(i, _)| i).collect()
        };
        let regular = set(|v| v.usable && !v.backup);
        if regular.is_empty() { set(|v| v.usable) } else { regular }
    }

    /// Asserts what holds between calls, in debug builds: views that are not stale are those that would be made now.
    /// Room in a view depends on the size of segment for which it was made, and is left out.
    pub(super) fn check(&self, list: &[Option<Subflow>], mss: u64, tcp: &TcpConfig) {
        if cfg!(not(debug_assertions)) {
            return;
        }
        debug_assert_eq!(self.subflows.len(), list.len(), "a view of each subflow");
        debug_assert_eq!(self.paths.len(), list.len(), "a path view of each subflow");
        let needs = self.needs.whole_view().then_some(self.needs);
        for (i, subflow) in list.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))) {
            let cached = &self.subflows[i];
            let mut view = *cached;
            subflow.show(&mut view, mss, needs, tcp);
            (view.available, view.carried) = (cached.available, cached.carried);
            debug_assert!(self.stale_subflows.contains(i) || *cached == view, "stale view of subflow {i}");
            debug_assert!(!cached.available || cached.usable, "room on a subflow that is not usable");
            let path = path_view(subflow);
            debug_assert!(self.stale_paths.contains(i) || self.paths[i] == path, "stale path view of {i}");
            debug_assert!(
                self.stale_room.contains(i) || self.room.contains(i) == has_room(list, i, mss),
                "stale room of subflow {i}"
            );
        }
    }
}

#[inline]
fn has_room(list: &[Option<Subflow>], i: usize, len: u64) -> bool {
    list[i].as_ref().is_some_and(|s| s.has_room_for(len))
}

/// View of this subflow for the congestion controls of the others.
pub(super) fn path_view(subflow: &Subflow) -> PathView {
    let mut view = PathView::default();
    subflow.show_path(&mut view);
    view
}
