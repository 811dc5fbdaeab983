//! The limit that keeps an association from sending.

use units::Bytes;

use super::Association;
use crate::limit::Limit;
use crate::packet::PathId;
use crate::sctp::lifecycle::State;

impl Association {
    /// The limit after `poll_transmit` has found nothing. `more`: the application has more to write than the send buffer
    /// accepts.
    /// `None`: the limits of the paths apply.
    pub fn limit(&self, more: bool) -> Option<Limit> {
        let limit = self.path_limit(self.paths.in_use().index(), more);
        let of_path = matches!(limit, Limit::CongestionWindow | Limit::Recovery | Limit::Scheduler);
        (self.config.cmt.is_none() || !of_path).then_some(limit)
    }

    /// The limit of one path.
    pub fn path_limit(&self, index: usize, more: bool) -> Limit {
        match self.life.state() {
            State::Closed | State::CookieWait | State::CookieEchoed => return Limit::Handshake,
            State::Failed(_) => return Limit::PathDown,
            _ => {}
        }
        if index >= self.paths.len() {
            return Limit::Handshake;
        }
        let id = PathId(index as u8);
        let path = self.paths.get(id);
        if !path.reach.is_confirmed() {
            return Limit::Handshake;
        }
        if !path.reach.is_active() {
            return Limit::PathDown;
        }
        let planned = self.outqueue.planned().first_on(id).and_then(|tsn| self.outqueue.get(tsn));
        let planned = planned.map(|sent| sent.chunk.user_data());
        let waiting = planned.or(self.outgoing.next_len(self.config.packet.payload));
        if waiting.is_none() && self.outqueue.missing() == 0 {
            return if more { Limit::SendBuffer } else { Limit::Application };
        }
        let window = &path.window;
        if !window.has_room() {
            let repairing = window.in_recovery() || window.has_timed_out();
            return if repairing { Limit::Recovery } else { Limit::CongestionWindow };
        }
        let fits = |len: Bytes| {
            if planned.is_some() {
                self.config.buffers.needed(len) <= self.peer_free()
            } else {
                self.peer_has_room(len)
            }
        };
        if waiting.is_some_and(|len| !fits(len)) {
            return Limit::ReceiveWindow;
        }
        // Another path is in use, or the share of the buffers is used up.
        Limit::Scheduler
    }
}
