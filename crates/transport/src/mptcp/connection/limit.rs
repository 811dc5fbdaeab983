//! The limits that keep a connection and its subflows from sending (more), for recorders. Nothing changes here.

use schedulers::SubflowSet;

use super::MptcpConnection;
use crate::limit::Limit;
use crate::mptcp::subflow::Subflow;

impl MptcpConnection {
    /// The limit of the connection, after `poll_transmit` has found nothing; `None`: no subflow has room, so that the
    /// limits of the subflows apply. `more`: the application has more to write than the send buffer accepts.
    ///
    /// | Limit | When |
    /// |---|---|
    /// | `PathDown` | the connection has failed |
    /// | `Handshake` | before MPTCP or plain TCP is agreed on |
    /// | `Application` | everything written was given to subflows, and one that has sent its own could send more, or Nagle's algorithm holds it back |
    /// | `SendBuffer` | the same, and the application has more to write than the buffer accepts |
    /// | `ReceiveWindow` | data waits, and the receive window of the connection has no room for it; where the scheduler queues data on subflows, and one of them has sent its own and could send more |
    /// | `Scheduler` | data waits, a subflow has room for it, and the scheduler gives it none |
    #[inline]
    pub fn limit(&self, more: bool) -> Option<Limit> {
        if !self.negotiation.is_multipath() || self.lifetime.has_failed() || self.send.unassigned() == 0 {
            return self.limit_without_data(more);
        }
        // The usual case first: a full segment waits, and no subflow has room.
        if self.send.window() < self.send.mss().0 && self.window_is_full() {
            return self.unless_queues_wait(Limit::ReceiveWindow);
        }
        let room = self.subflows.views().known_room();
        if room.is_empty() {
            return None;
        }
        let held = self.send.unassigned() < self.send.mss().0 && self.send.nagle_holds(room, &self.subflows);
        Some(if held { Limit::Application } else { Limit::Scheduler })
    }

    /// The limit of a connection that has no new data for its subflows, or gives them none.
    fn limit_without_data(&self, more: bool) -> Option<Limit> {
        if self.lifetime.has_failed() {
            return Some(Limit::PathDown);
        }
        if !self.negotiation.is_multipath() {
            let first = self.subflows.get(0);
            return Some(first.map_or(Limit::Handshake, |first| first.endpoint().limit(more)));
        }
        if !self.send.reinject().is_empty() {
            return None;
        }
        if !more {
            return self.unless_queues_wait(Limit::Application);
        }
        let could_send = |s: &Subflow| s.is_usable() && s.sender().limit_of_new().is_none();
        if self.subflows.iter().any(could_send) { self.unless_queues_wait(Limit::SendBuffer) } else { None }
    }

    /// The connection has this limit, unless all that it could send with waits behind the windows of subflows: then these apply.
    /// A subflow with room that holds data has less than a segment of it, which Nagle's algorithm holds back.
    fn unless_queues_wait(&self, limit: Limit) -> Option<Limit> {
        let usable = || self.subflows.iter().filter(|s| s.is_usable());
        let has_room = |s: &Subflow| !s.is_backup() && s.sender().limit_of_new().is_none();
        let queues = |s: &Subflow| s.sender().unsent() > 0;
        (usable().any(has_room) || !usable().any(queues)).then_some(limit)
    }

    /// The limit of a subflow: `Handshake` until it has joined, `PathDown` when it is dead or gets no data, the limit of
    /// its sender while that has no room or repairs a loss, and otherwise why the connection gives it nothing.
    #[inline]
    pub fn subflow_limit(&self, subflow: usize, more: bool) -> Limit {
        if self.negotiation.is_multipath()
            && self.send.unassigned() > 0
            && self.subflows.views().is_known_full(subflow)
            && let Some(subflow) = self.subflows.get(subflow)
            && subflow.is_usable()
        {
            return subflow.sender().blocked_by();
        }
        self.any_limit_of(subflow, more)
    }

    fn any_limit_of(&self, index: usize, more: bool) -> Limit {
        let Some(subflow) = self.subflows.get(index) else { return Limit::Handshake };
        if subflow.is_alive() && !subflow.may_send() {
            return Limit::Handshake;
        }
        if !subflow.is_usable() {
            return Limit::PathDown;
        }
        let sender = subflow.sender();
        let fallback = self.negotiation.is_fallback();
        if fallback || sender.limit(false) == Limit::Recovery || sender.unsent() > 0 {
            return sender.limit(more);
        }
        let waits = self.send.has_data();
        if !waits && !more {
            return Limit::Application;
        }
        let could_send = match waits {
            true if self.window_is_full() => Limit::ReceiveWindow,
            true if self.nagle_holds_on(index) => Limit::Application,
            true => Limit::Scheduler,
            false => Limit::SendBuffer,
        };
        sender.limit_of_new().unwrap_or(could_send)
    }

    /// Nagle's algorithm holds back what the connection could give this subflow.
    fn nagle_holds_on(&self, index: usize) -> bool {
        let send = &self.send;
        send.reinject().is_empty() && send.nagle_holds(SubflowSet::only(index), &self.subflows)
    }

    /// The window of the connection forbids new data.
    #[inline]
    fn window_is_full(&self) -> bool {
        self.send.reinject().is_empty() && self.send.unassigned() > 0 && self.send.next_len().is_none()
    }
}
