//! Changes that are known before a run begins: those of links, flow events, and crashes of proxies.
//!
//! May: say what is due. May not: make it happen. It is kept out of the event queue; at equal times it comes first.

use scenario::model::CrashForm;
use units::SimTime;

use crate::flow::events::ScheduledEvent;
use crate::net::link::LinkChange;

/// A proxy crashes: when, its index, and how.
pub(crate) type Crash = (SimTime, usize, CrashForm);

/// Changes of links, flow events and crashes, the next ones last.
#[derive(Debug)]
pub(crate) struct Plan {
    changes: Vec<LinkChange>,
    flow_events: Vec<ScheduledEvent>,
    crashes: Vec<Crash>,
}

impl Plan {
    /// Each in the order of time, the first one last.
    pub(crate) fn new(
        changes: Vec<LinkChange>,
        flow_events: Vec<ScheduledEvent>,
        crashes: Vec<Crash>,
    ) -> Self {
        debug_assert!(changes.is_sorted_by(|one, next| one.at >= next.at), "the next change is the last");
        debug_assert!(flow_events.is_sorted_by(|one, next| one.at >= next.at), "the next event is the last");
        debug_assert!(crashes.is_sorted_by(|one, next| one.0 >= next.0), "the next crash is the last");
        Self { changes, flow_events, crashes }
    }

    /// When the next of all is due; `NEVER` if nothing remains.
    #[inline]
    pub(crate) fn next(&self) -> SimTime {
        let change = self.changes.last().map_or(SimTime::NEVER, |change| change.at);
        let crash = self.crashes.last().map_or(SimTime::NEVER, |crash| crash.0);
        change.min(crash).min(self.flow_events.last().map_or(SimTime::NEVER, |event| event.at))
    }

    /// The next change of a link that is due.
    pub(crate) fn take_change(&mut self, now: SimTime) -> Option<LinkChange> {
        self.changes.pop_if(|change| change.at <= now)
    }

    /// The next crash that is due: the proxy, and how it crashes.
    pub(crate) fn take_crash(&mut self, now: SimTime) -> Option<(usize, CrashForm)> {
        self.crashes.pop_if(|crash| crash.0 <= now).map(|(_, proxy, form)| (proxy, form))
    }

    /// The next flow event that is due.
    pub(crate) fn take_flow_event(&mut self, now: SimTime) -> Option<ScheduledEvent> {
        self.flow_events.pop_if(|event| event.at <= now)
    }
}
