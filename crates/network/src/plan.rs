//! Changes that are known before a run begins: those of links, and flow events.
//!
//! May: say what is due. May not: make it happen. It is kept out of the event queue; at equal times it comes first.

use units::SimTime;

use crate::flow::events::ScheduledEvent;
use crate::net::link::LinkChange;

/// Changes of links and flow events, the next ones last.
#[derive(Debug)]
pub(crate) struct Plan {
    changes: Vec<LinkChange>,
    flow_events: Vec<ScheduledEvent>,
}

impl Plan {
    /// Both in the order of time, the first one last.
    pub(crate) fn new(changes: Vec<LinkChange>, flow_events: Vec<ScheduledEvent>) -> Self {
        debug_assert!(changes.is_sorted_by(|one, next| one.at >= next.at), "the next change is the last");
        debug_assert!(flow_events.is_sorted_by(|one, next| one.at >= next.at), "the next event is the last");
        Self { changes, flow_events }
    }

    /// When the next of all is due; `NEVER` if nothing remains.
    #[inline]
    pub(crate) fn next(&self) -> SimTime {
        let change = self.changes.last().map_or(SimTime::NEVER, |change| change.at);
        change.min(self.flow_events.last().map_or(SimTime::NEVER, |event| event.at))
    }

    /// The next change of a link that is due.
    pub(crate) fn take_change(&mut self, now: SimTime) -> Option<LinkChange> {
        self.changes.pop_if(|change| change.at <= now)
    }

    /// The next flow event that is due.
    pub(crate) fn take_flow_event(&mut self, now: SimTime) -> Option<ScheduledEvent> {
        self.flow_events.pop_if(|event| event.at <= now)
    }
}
