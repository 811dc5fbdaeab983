//! The limit that keeps the sender from sending (more).

use super::transmit::Transmission;
use super::{Phase, Sender};
use crate::limit::Limit;

impl Sender {
    /// There is nothing to send now, for this reason.
    #[inline]
    pub(super) fn wait(&mut self, limit: Limit) -> Option<Transmission> {
        self.limit = limit;
        None
    }

    /// The window is used up.
    #[inline]
    pub(super) fn limit_of_window(&self) -> Limit {
        if self.phase == Phase::Open { Limit::CongestionWindow } else { Limit::Recovery }
    }

    /// Why `next` had nothing. `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Limit {
        if more && self.limit == Limit::Application {
            return self.limit_of_new().unwrap_or(Limit::SendBuffer);
        }
        self.limit
    }

    /// Why a full new segment cannot leave now, where it is known that it cannot.
    #[inline]
    pub fn blocked_by(&self) -> Limit {
        if self.phase != Phase::Open {
            Limit::Recovery
        } else if self.nxt + self.mss > self.right_edge() {
            Limit::ReceiveWindow
        } else if self.held_until.is_never() {
            Limit::CongestionWindow
        } else {
            Limit::Pacing
        }
    }

    /// Why a full new segment could not leave now, whether there is one or not. `None` if it could.
    pub fn limit_of_new(&self) -> Option<Limit> {
        if self.timers.is_outage() {
            Some(Limit::PathDown)
        } else if self.nxt + self.mss > self.right_edge() {
            Some(Limit::ReceiveWindow)
        } else if self.phase == Phase::Loss || !self.windows_have_room_for(self.mss) {
            Some(self.limit_of_window())
        } else if self.held_until.is_never() {
            None
        } else {
            Some(Limit::Pacing)
        }
    }
}
