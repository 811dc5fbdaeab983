//! The limit that keeps the sender from sending (more).

use super::Sender;
use super::transmit::Transmission;
use crate::limit::Limit;
use crate::seq::Seq;

impl Sender {
    /// There is nothing to send now, for this reason.
    #[inline]
    pub(super) fn wait(&mut self, limit: Limit) -> Option<Transmission> {
        self.activity.wait(limit);
        None
    }

    /// The window is used up.
    #[inline]
    pub(super) fn limit_of_window(&self) -> Limit {
        if self.recovery.is_open() { Limit::CongestionWindow } else { Limit::Recovery }
    }

    /// Why `next` had nothing. `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Limit {
        let limit = self.activity.limit();
        if more && limit == Limit::Application {
            return self.limit_of_new().unwrap_or(Limit::SendBuffer);
        }
        limit
    }

    /// Why a full new segment cannot leave now, where it is known that it cannot.
    #[inline]
    pub fn blocked_by(&self) -> Limit {
        if self.recovery.is_open() && !self.pacer.holds() && !self.passes_right_edge() {
            return Limit::CongestionWindow;
        }
        self.limit_of_new().unwrap_or_else(|| self.limit_of_window())
    }

    /// Why a full new segment could not leave now, whether there is one or not. `None` if it could. The order is that of
    /// `tcp_write_xmit` in Linux: pacing, congestion window, receive window.
    pub fn limit_of_new(&self) -> Option<Limit> {
        if self.timer.is_outage() {
            Some(Limit::PathDown)
        } else if self.pacer.holds() {
            Some(Limit::Pacing)
        } else if !self.cwnd_has_room_for(self.send.mss()) {
            Some(self.limit_of_window())
        } else if self.passes_right_edge() {
            Some(Limit::ReceiveWindow)
        } else {
            None
        }
    }

    /// A full new segment does not fit into the receive window.
    #[inline]
    fn passes_right_edge(&self) -> bool {
        Seq(self.send.nxt().0 + self.send.mss()) > self.right_edge()
    }
}
