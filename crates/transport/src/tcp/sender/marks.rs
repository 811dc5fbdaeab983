//! How a sender answers congestion marks that the peer echoes (RFC 3168 section 6.1.2): once per window as after a
//! loss, but nothing is sent again. Negotiation and echo are in `tcp/ecn.rs`.

use crate::seq::Seq;

/// The reaction to ECN-echo.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkResponse {
    /// The ACK that is processed, or the last one, echoed a mark.
    marked: bool,
    /// Marks are ignored until this is acknowledged: snd_nxt when the window was last reduced.
    ignored_until: Seq,
    /// The peer has not been told that the window was reduced.
    owes_cwr: bool,
}

impl MarkResponse {
    /// An ACK with or without ECN-echo.
    #[inline]
    pub(super) fn on_ack(&mut self, echo: bool) {
        self.marked = echo;
    }

    /// The last ACK echoed a mark.
    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    /// The mark is of data sent after the last reduction.
    pub(super) fn is_news(&self, una: Seq) -> bool {
        self.marked && una > self.ignored_until
    }

    /// The window was reduced, for whatever reason: marks of what has been sent are answered with that.
    pub(super) fn window_reduced(&mut self, nxt: Seq) {
        debug_assert!(self.ignored_until <= nxt, "snd_nxt goes back");
        self.ignored_until = nxt;
        self.owes_cwr = true;
    }

    /// True once after each reduction: the next new segment carries CWR.
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.owes_cwr)
    }
}
