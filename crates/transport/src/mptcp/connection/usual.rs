//! The usual way of a connection, on one page: a segment with a DSS arrives, or the next one leaves, while nothing is
//! negotiated, signalled, sent again or closed.
//!
//! The general way (`input.rs`, `output.rs`) has the same effects on such a segment, as `tests/usual.rs` shows. A scheduler
//! that queues on subflows, copies, or looks at the oldest segment has no usual way.

use schedulers::{Needs, Queueing};
use units::SimTime;

use super::MptcpConnection;
use crate::departure::Departure;
use crate::mptcp::option::{Dss, MptcpOption};
use crate::packet::Packet;
use crate::seq::Dsn;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

/// The scheduler needs nothing that the usual way leaves out.
pub(super) fn permits_usual_way(needs: Needs) -> bool {
    needs.queueing == Queueing::Never && !needs.head && !needs.copies
}

impl MptcpConnection {
    /// After an event that took the general way: is the usual one open now?
    #[inline]
    pub(super) fn look_for_usual_way(&mut self) {
        self.usual.return_if(self.usual.is_permitted() && self.is_calm());
    }

    /// Nothing is negotiated or signalled, nothing is to be sent again, neither end closes, and the connection lives.
    pub(super) fn is_calm(&self) -> bool {
        self.negotiation.is_multipath()
            && self.negotiation.is_fully_established()
            && !self.lifetime.has_failed()
            && self.signals.is_empty()
            && self.send.is_calm()
            && self.subflows.are_settled()
    }

    /// The DSS of a segment of the usual kind, on an existing subflow.
    #[inline]
    pub(super) fn expected_dss(&self, i: usize, segment: &TcpSegment) -> Option<Dss> {
        let MptcpOption::Dss(dss) = segment.mptcp else { return None };
        let flags = segment.flags;
        let expected = self.usual.is_open()
            && !flags.syn
            && !flags.rst
            && !dss.data_fin
            && self.subflows.get(i).is_some();
        expected.then_some(dss)
    }

    /// Takes in a segment of the usual kind.
    #[inline]
    pub(super) fn on_usual_packet(
        &mut self,
        now: SimTime,
        i: usize,
        packet: &Packet,
        (segment, dss): (&TcpSegment, Dss),
    ) {
        // Only a sender with data in flight has a congestion control that may look at its siblings.
        if !self.send.outstanding().is_empty() {
            self.subflows.freshen_paths();
        }
        let waits = self.send.waits_to_expand(&self.subflows);
        let Some(arrival) = self.subflows.on_usual_packet(now, i, packet) else { return };
        if arrival.acked {
            self.placement.note_ack();
        }
        if waits {
            self.send.expand(i, &mut self.subflows);
        }
        if let Some(received) = arrival.received {
            self.open_window(i, segment, received);
        }
        match (arrival.received, dss.dsn) {
            (None, _) => {}
            // Mostly the segment alone is what has come into order.
            (Some(received), Some(dsn))
                if arrival.in_order
                    && received.in_order == segment.payload()
                    && !self.sizes.has_short_data_acks() =>
            {
                self.receive.on_data(Range::new(dsn, dsn + received.fresh));
            }
            (Some(received), dsn) => self.on_received(i, segment, dsn, received),
        }
        self.send.on_data_ack(dss.data_ack.unwrap_or(Dsn::FIRST_DATA), segment.window.0);
        self.watch_progress(now);
        self.follow_the_peer();
    }

    /// Writes the next packet, and finds out whether another may follow.
    #[inline]
    pub(super) fn poll_usual(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if self.write_usual(now, packet).is_none() {
            Departure::Nothing
        } else if self.may_follow() {
            Departure::Packet
        } else {
            self.rest(now);
            let filled = self.is_filled(packet.path.index());
            if filled { Departure::WindowFilled } else { Departure::LastPacket }
        }
    }

    /// Writes the next packet: what subflows have to send of their own, then new data.
    #[inline]
    fn write_usual(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        while let Some(i) = self.next_subflow(now) {
            if let Some(dsn) = self.subflows.poll_transmit(now, i, packet) {
                self.add_option(i, dsn, packet);
                self.complete(packet);
                return Some(());
            }
            self.subflows.rest(i);
        }
        None
    }

    /// The subflow that sends next: one that has something to send of its own, or the one that is given new data.
    #[inline]
    fn next_subflow(&mut self, now: SimTime) -> Option<usize> {
        if let Some(busy) = self.subflows.first_busy() {
            return Some(busy);
        }
        self.watch_progress(now);
        if self.send.unassigned() == 0 {
            return None;
        }
        let chosen = self.placement.schedule_new(now, &mut self.send, &mut self.subflows);
        if chosen.is_none() {
            self.send.watch_window(now, &self.subflows);
        }
        chosen
    }

    /// False if no subflow has anything to send of its own, and none has room for new data.
    #[inline]
    fn may_follow(&mut self) -> bool {
        !self.subflows.are_idle()
            || self.send.unassigned() > 0 && self.placement.may_place_new(&self.send, &mut self.subflows)
    }

    /// A full segment waits, and no subflow has room for it: subflow `i` because of its congestion window.
    #[inline]
    fn is_filled(&self, i: usize) -> bool {
        let full = self.send.mss().0;
        let waits = self.send.unassigned() >= full && self.send.window() >= full;
        waits
            && self.subflows.get(i).is_some_and(|subflow| subflow.is_usable() && subflow.sender().is_filled())
    }

    /// The packet just written was the last: sets the timers that wait for an answer.
    #[inline]
    fn rest(&mut self, now: SimTime) {
        self.watch_progress(now);
        if self.send.unassigned() > 0 {
            self.send.watch_window(now, &self.subflows);
        }
    }

    /// Asserts what holds between calls, in debug builds.
    #[inline]
    pub(super) fn check(&self) {
        self.subflows.check();
        debug_assert!(
            !self.usual.is_open() || self.is_calm(),
            "the usual way is open while something else is going on"
        );
    }
}
