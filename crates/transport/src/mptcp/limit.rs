//! The limits that keep a connection and its subflows from sending (more), for recorders. Nothing changes here.

use super::connection::{Mode, MptcpConnection};
use super::subflow::Subflow;
use crate::limit::Limit;

impl MptcpConnection {
    /// The limit of the connection, after `poll_transmit` has found nothing; `None`: no subflow has room, so that the
    /// limits of the subflows apply. `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Option<Limit> {
        if self.mode != Mode::Multipath || self.failure.is_some() || self.send.unassigned() == 0 {
            return self.limit_without_data(more);
        }
        // The usual case first: a full segment waits, and no subflow has room.
        if self.send.window() < self.mss.0 && self.window_is_full() {
            return Some(Limit::ReceiveWindow);
        }
        (self.room & !self.stale_room != 0).then_some(Limit::Scheduler)
    }

    /// The limit of a connection that has no new data for its subflows, or gives them none.
    fn limit_without_data(&self, more: bool) -> Option<Limit> {
        if self.failure.is_some() {
            return Some(Limit::PathDown);
        }
        if self.mode != Mode::Multipath {
            return Some(
                self.subflows[0].as_ref().map_or(Limit::Handshake, |first| first.endpoint.limit(more)),
            );
        }
        let holds = |s: &Subflow| s.usable() && s.endpoint.sender().unsent() > 0;
        if !self.send.reinject.is_empty() || self.subflows.iter().flatten().any(holds) {
            return None;
        }
        if !more {
            return Some(Limit::Application);
        }
        let could_send = |s: &Subflow| s.usable() && s.endpoint.sender().limit_of_new().is_none();
        self.subflows.iter().flatten().any(could_send).then_some(Limit::SendBuffer)
    }

    /// The limit of a subflow.
    #[inline]
    pub fn subflow_limit(&self, subflow: usize, more: bool) -> Limit {
        let bit = 1_u64 << subflow;
        if self.mode == Mode::Multipath
            && self.send.unassigned() > 0
            && (self.stale_room | self.room) & bit == 0
            && let Some(subflow) = self.subflows.get(subflow).and_then(Option::as_ref)
            && subflow.usable()
        {
            return subflow.endpoint.sender().blocked_by();
        }
        self.any_limit_of(subflow, more)
    }

    fn any_limit_of(&self, subflow: usize, more: bool) -> Limit {
        let Some(subflow) = self.subflows.get(subflow).and_then(Option::as_ref) else {
            return Limit::Handshake;
        };
        if subflow.is_alive() && !subflow.may_send() {
            return Limit::Handshake;
        }
        if !subflow.usable() {
            return Limit::PathDown;
        }
        let sender = subflow.endpoint.sender();
        if self.mode == Mode::Fallback || sender.limit(false) == Limit::Recovery || sender.unsent() > 0 {
            return sender.limit(more);
        }
        let waits = self.send.unassigned() > 0 || !self.send.reinject.is_empty();
        if !waits && !more {
            return Limit::Application;
        }
        let could_send = match waits {
            true if self.window_is_full() => Limit::ReceiveWindow,
            true => Limit::Scheduler,
            false => Limit::SendBuffer,
        };
        sender.limit_of_new().unwrap_or(could_send)
    }

    /// The window of the connection forbids new data.
    #[inline]
    fn window_is_full(&self) -> bool {
        self.send.reinject.is_empty()
            && self.send.unassigned() > 0
            && self.send.next_len(self.mss.0).is_none()
    }
}
