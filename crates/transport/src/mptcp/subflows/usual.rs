//! The usual way to a subflow: what its segments change in what is known of all of them.

use units::{Bytes, SimTime};

use super::Subflows;
use crate::packet::Packet;
use crate::seq::Dsn;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

impl Subflows {
    /// The next data arrives on subflow `i`, and the connection has a receive buffer of `size`. False if the segment is of
    /// another kind; then nothing has changed.
    #[inline(always)]
    pub(in crate::mptcp) fn on_next_data(
        &mut self,
        now: SimTime,
        i: usize,
        segment: &TcpSegment,
        size: Bytes,
    ) -> bool {
        let Some(Some(subflow)) = self.list.get_mut(i) else { return false };
        let taken = !self.hold_back && subflow.on_next_data(now, segment);
        if taken {
            // It owes an ACK now or later, which is no deadline before it has been asked for it.
            subflow.open_window(segment.len, size);
            self.busy.insert(i);
            self.unread.insert(i);
            self.views.touch(i);
        }
        taken
    }

    /// A bare ACK of new data arrives on subflow `i`, whose congestion window is returned. `None` if the segment is of another
    /// kind; then nothing has changed.
    #[inline(always)]
    pub(in crate::mptcp) fn on_new_ack(
        &mut self,
        now: SimTime,
        i: usize,
        segment: &TcpSegment,
    ) -> Option<Bytes> {
        let Some(Some(subflow)) = self.list.get_mut(i) else { return None };
        if !subflow.on_new_ack(now, segment, self.views.paths(i)) {
            return None;
        }
        let (more, cwnd) = (subflow.endpoint().may_have_something(), subflow.sender().cwnd());
        if more {
            self.busy.insert(i);
        }
        self.touch(i);
        Some(cwnd)
    }

    /// Writes the ACK that subflow `i` owes, if it has nothing else to send. Returns the largest window that it offers so far;
    /// `None` if that is not so; then nothing has changed.
    #[inline(always)]
    pub(in crate::mptcp) fn write_ack(
        &mut self,
        now: SimTime,
        i: usize,
        packet: &mut Packet,
    ) -> Option<Bytes> {
        let Some(Some(subflow)) = self.list.get_mut(i) else { return None };
        if !subflow.write_ack(now, self.sack_blocks[1], packet) {
            return None;
        }
        // Nothing is due earlier than before.
        self.busy.remove(i);
        self.views.touch(i);
        Some(subflow.endpoint().window_limit())
    }

    /// True if subflow `i` has nothing to send now: the ACK that it owes is delayed.
    #[inline]
    pub(in crate::mptcp) fn rests_now(&mut self, now: SimTime, i: usize) -> bool {
        let Some(Some(subflow)) = self.list.get_mut(i) else { return false };
        let rests = subflow.rests_now(now);
        if rests {
            self.busy.remove(i);
            self.touch(i);
        }
        rests
    }

    /// Data of `len` bytes may be given to subflow `i` with `pass`, if it has room.
    #[inline]
    pub(in crate::mptcp) fn may_pass(&self, i: usize, len: u64) -> bool {
        self.get(i).is_some_and(|subflow| subflow.endpoint().may_pass(len) && !subflow.is_backup())
    }

    /// New data is given to subflow `i` and leaves at once. Returns the largest window that the subflow offers so far, and
    /// whether its own is filled now.
    #[inline(always)]
    pub(in crate::mptcp) fn pass(
        &mut self,
        now: SimTime,
        i: usize,
        data: Range<Dsn>,
        packet: &mut Packet,
    ) -> (Bytes, bool) {
        let Some(Some(subflow)) = self.list.get_mut(i) else { return (Bytes::ZERO, false) };
        let filled = subflow.pass(now, data, self.sack_blocks[0], packet);
        debug_assert_eq!(filled, subflow.sender().is_filled(), "nothing has changed since it left");
        self.views.touch(i);
        if filled {
            self.views.note_full(i);
        }
        debug_assert_eq!(
            subflow.sender().next_deadline(),
            subflow.next_deadline(),
            "an ACK has left with the data"
        );
        self.deadlines.note(i, subflow.sender().next_deadline());
        (subflow.endpoint().window_limit(), filled)
    }
}
