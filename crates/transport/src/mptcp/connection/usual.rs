//! The usual way of a connection, on one page, while nothing is negotiated, signalled, sent again or closed. Two kinds of
//! segments arrive, the next data of a subflow and a bare ACK of new data; two kinds leave, the ACK that answers data
//! and a full segment of new data on the only subflow with room. Each is one straight function through connection,
//! subflow, endpoint and sender or receiver. Where a subflow has gaps its data and ACKs take their own way through it
//! (`on_data_or_ack`), and where several subflows could send the scheduler is asked (`poll_choosing`).
//!
//! The general way (`input.rs`, `output.rs`) has the same effects on such a segment, as `tests/usual.rs` shows. A scheduler
//! that queues on subflows, copies, or looks at the oldest segment has no usual way.

use schedulers::{Needs, Queueing};
use units::{Bytes, SimTime};

use super::MptcpConnection;
use crate::arrival::Arrival;
use crate::departure::Departure;
use crate::mptcp::option::{Dss, Mapped, MptcpOption};
use crate::packet::{Body, Packet};
use crate::seq::{Dsn, StreamOffset};
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

/// The scheduler needs nothing that the usual way leaves out.
pub(super) fn permits_usual_way(needs: Needs) -> bool {
    needs.queueing == Queueing::Never && !needs.head && !needs.copies
}

/// The segment and the DSS of a packet that says nothing else but data and acknowledgements.
#[inline(always)]
fn data_or_ack(packet: &Packet) -> Option<(&TcpSegment, &Dss)> {
    let Body::Tcp(segment) = &packet.body else { return None };
    let MptcpOption::Dss(dss) = &segment.mptcp else { return None };
    (!dss.data_fin && segment.flags.is_ack_alone()).then_some((segment, dss))
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

    /// Takes in a packet with payload: mostly it is the next data of its subflow, alone with a DSS. Another takes the way of
    /// any packet; then nothing has changed before.
    #[inline(never)]
    pub(super) fn on_next_data(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        let i = packet.path.index();
        let (waits, size) = (self.send.waits_to_expand(&self.subflows), self.receive.size());
        if let Some((segment, dss)) = data_or_ack(packet)
            && let Some(dsn) = dss.dsn
            && !self.sizes.has_short_data_acks()
            && self.subflows.on_next_data(now, i, segment, size)
        {
            if waits {
                self.send.expand(now, i, &mut self.subflows);
            }
            // The segment alone is what has come into order on its subflow.
            self.receive.on_data(Range::new(dsn, dsn + Bytes(u64::from(segment.len))));
            self.after_usual(now, segment, dss);
            return Arrival::Any;
        }
        self.on_any_packet(now, packet)
    }

    /// Takes in a packet without payload: mostly it is a bare ACK of new data. Another takes the way of any packet; then
    /// nothing has changed before.
    #[inline(never)]
    pub(super) fn on_new_ack(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        let i = packet.path.index();
        if let Some((segment, dss)) = data_or_ack(packet)
            && dss.dsn.is_none()
        {
            // Only a sender with data in flight has a congestion control that may look at its siblings.
            if !self.send.outstanding().is_empty() {
                self.subflows.freshen_paths();
            }
            let waits = self.send.waits_to_expand(&self.subflows);
            if let Some(cwnd) = self.subflows.on_new_ack(now, i, segment) {
                self.placement.note_ack();
                if waits {
                    self.send.expand(now, i, &mut self.subflows);
                }
                self.after_usual(now, segment, dss);
                return Arrival::Acknowledged(cwnd);
            }
        }
        self.on_any_packet(now, packet)
    }

    /// The Data ACK of a usual segment, and what follows from it.
    #[inline(always)]
    fn after_usual(&mut self, now: SimTime, segment: &TcpSegment, dss: &Dss) {
        self.send.on_data_ack(dss.data_ack.unwrap_or(Dsn::FIRST_DATA), segment.window.0);
        self.watch_progress(now);
        self.follow_the_peer();
        self.check();
    }

    /// Takes in any other data or ACK while the usual way is open: above a gap, into one, or with SACK blocks. Only subflow `i`
    /// has to look whether that is usual. False if the packet is something else; then nothing has changed.
    #[inline(never)]
    pub(super) fn on_data_or_ack(&mut self, now: SimTime, packet: &Packet) -> bool {
        let Some((segment, dss)) = data_or_ack(packet).filter(|_| self.usual.is_open()) else { return false };
        let i = packet.path.index();
        if let Some(input) = self.pass_to_subflow(now, i, packet) {
            if let Some(received) = input.received {
                self.open_window(i, segment, received);
                self.on_received(i, segment, dss.dsn, received);
            }
            self.send.on_data_ack(dss.data_ack.unwrap_or(Dsn::FIRST_DATA), segment.window.0);
            self.subflows.after_segment(i);
            self.watch_progress(now);
            self.follow_the_peer();
        }
        true
    }

    /// Writes the next packet of an end that has no new data, and finds out whether another may follow. Mostly it is the ACK that
    /// answers data, if it is due.
    #[inline(never)]
    pub(super) fn poll_answer(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if let Some(i) = self.subflows.busy().single() {
            if let Some(limit) = self.subflows.write_ack(now, i, packet) {
                self.complete_usual(limit, None, packet);
                self.watch_progress(now);
                let waits = !self.send.outstanding().is_empty() || self.subflows.deadlines_moved();
                return if waits { Departure::LAST } else { Departure::LAST.quiet() };
            }
            if self.subflows.rests_now(now, i) {
                self.watch_progress(now);
                return Departure::NOTHING;
            }
        }
        self.poll_choosing(now, packet)
    }

    /// The same where new data waits. Mostly it is a full segment on the only subflow with room, which an ACK has made.
    #[inline(never)]
    pub(super) fn poll_data(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        let (waiting, full) = (self.send.unassigned(), self.send.mss().0);
        if self.subflows.are_idle() && waiting >= full && self.send.window() >= full {
            self.watch_progress(now);
            if let Some(i) = self.placement.only_choice(full, &mut self.subflows)
                && self.subflows.may_pass(i, full)
            {
                let data = self.send.take_new(full);
                let (limit, filled) = self.subflows.pass(now, i, data, packet);
                self.complete_usual(limit, Some(data.start), packet);
                if filled && waiting >= 2 * full && self.send.window() >= full {
                    // No other subflow has room, as this one was the only choice.
                    self.watch_progress(now);
                    return self.rest(Departure::LAST).filled();
                }
                return if self.may_follow() { Departure::PACKET } else { self.after_last(now, i) };
            }
        }
        self.poll_choosing(now, packet)
    }

    /// Adds the DSS and what the envelope says, to a segment with payload from `dsn` on, whose subflow offers windows up to
    /// `limit`.
    #[inline(always)]
    fn complete_usual(&mut self, limit: Bytes, dsn: Option<Dsn>, packet: &mut Packet) {
        let Body::Tcp(segment) = &mut packet.body else { unreachable!("it has just been written") };
        segment.flags.psh |= dsn.is_some() && self.send.unassigned() == 0;
        segment.mptcp = MptcpOption::Dss(Dss::new(self.receive.next(), dsn.map(Mapped::alone)));
        let headers = self.sizes.with_dss(segment.len);
        let offset = dsn.map_or(StreamOffset::START, |dsn| StreamOffset((dsn - Dsn::FIRST_DATA).0));
        let window = self.receive.offer_window(self.subflows.held(), limit);
        self.note_told(packet.path.index(), window, packet);
        self.sizes.complete_usual(packet, window, (headers, offset));
    }

    /// The same where several subflows could send, or something small.
    #[inline(never)]
    fn poll_choosing(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if self.write_usual(now, packet).is_none() {
            Departure::NOTHING
        } else if self.may_follow() {
            Departure::PACKET
        } else {
            self.after_last(now, packet.path.index())
        }
    }

    /// Writes the next packet: what subflows have to send of their own, then new data.
    #[inline]
    fn write_usual(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        while let Some(i) = self.next_subflow(now) {
            if let Some(mapped) = self.subflows.poll_transmit(now, i, packet) {
                self.add_option(i, mapped, packet);
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

    /// The packet just written, on subflow `i`, was the last: sets the timers that wait for an answer.
    #[inline]
    fn after_last(&mut self, now: SimTime, i: usize) -> Departure {
        self.watch_progress(now);
        if self.send.unassigned() > 0 {
            self.send.watch_window(now, &self.subflows);
        }
        let last = self.rest(Departure::LAST);
        if self.is_filled(i) { last.filled() } else { last }
    }

    /// Nothing more leaves now.
    #[inline(always)]
    fn rest(&self, departure: Departure) -> Departure {
        if self.is_quiet() { departure.quiet() } else { departure }
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
