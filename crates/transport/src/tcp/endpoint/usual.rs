//! The usual way of an endpoint, on one page: data or an ACK arrives or leaves, and nothing else is to be said.
//!
//! Handshakes, resets, window probes, marks and what transports over space links add take the general way. Sender and
//! receiver have usual ways of their own for data and ACKs.

use congestion::Paths;
use units::{Bytes, SimTime};

use super::{Endpoint, Input, Offer, State, Written};
use crate::mptcp::option::MptcpOption;
use crate::packet::{Body, Packet};
use crate::seq::{Dsn, Seq};
use crate::tcp::ranges::Range;
use crate::tcp::segment::{Flags, TcpSegment, Timestamps};

impl Endpoint {
    /// After an event that took the general way: is the usual one open now?
    #[inline]
    pub(super) fn look_for_usual_way(&mut self) {
        self.usual.return_if(self.usual.is_permitted() && self.is_calm());
    }

    /// Established, and nothing is to be said but data and acknowledgements. Marks are not agreed on.
    pub(super) fn is_calm(&self) -> bool {
        self.state == State::Established
            && !self.send_reset
            && !self.probe_window
            && self.extras.is_none()
            && !self.ecn.is_on()
            && !self.receiver.wants_round_trip()
            && !self.sender.has_signals()
    }

    /// The usual arrival at an end that only receives: the next data. False if the segment, which has no flag but ACK, is
    /// another; then nothing has changed.
    #[inline(always)]
    pub fn on_next_data(&mut self, now: SimTime, segment: &TcpSegment) -> bool {
        let expected =
            self.usual.is_open() && self.receiver.expects(segment) && self.sender.only_listens(segment);
        if expected {
            self.receiver.note_timestamp(segment);
            self.sender.note_window(segment);
            self.measure_as_receiver(now, segment);
            self.receiver.on_usual_segment(now, segment);
            self.check();
        }
        expected
    }

    /// The usual arrival at an end that only sends: an ACK of new data. False if the segment, which has no flag but ACK, is
    /// another; then nothing has changed.
    #[inline(always)]
    pub fn on_new_ack(&mut self, now: SimTime, segment: &TcpSegment, paths: Paths<'_>) -> bool {
        let bare = segment.len == 0 && segment.seq >= self.receiver.next();
        let expected = bare && self.usual.is_open() && self.sender.expects_ack(segment);
        if expected {
            self.receiver.note_timestamp(segment);
            self.sender.on_usual_ack(now, segment, segment.ack + segment.window, paths);
            self.check();
        }
        expected
    }

    /// The usual departure from an end that only receives: an ACK that is due, and nothing else is. False if that is not
    /// so; then nothing has changed.
    #[inline(always)]
    pub fn write_ack(&mut self, now: SimTime, blocks: usize, packet: &mut Packet) -> bool {
        let alone = self.usual.is_open() && self.receiver.ack_is_due(now) && self.sender.rests_without_data();
        if alone {
            self.write_usual(now, (self.sender.nxt(), 0), false, blocks, packet);
        }
        alone
    }

    /// The usual departure from an end that sends: the next full segment, whose sequence number is returned, or nothing yet. `None`: it
    /// is something else that leaves.
    #[inline(always)]
    pub fn write_data(&mut self, now: SimTime, blocks: usize, packet: &mut Packet) -> Option<Option<Seq>> {
        let next = if self.usual.is_open() { self.sender.next_usual(now)? } else { return None };
        if let Some(sent) = next {
            self.write_usual(now, (sent.seq, sent.len), false, blocks, packet);
            return Some(Some(sent.seq));
        }
        (!self.receiver.ack_is_due(now)).then_some(None)
    }

    /// Data of `len` bytes may be given to it with `pass`, if its windows have room.
    #[inline]
    pub fn may_pass(&self, len: u64) -> bool {
        self.usual.is_open() && self.sender.may_pass(len)
    }

    /// The usual departure from an end that only sends: new data in a full segment, which is given to it and leaves at once.
    /// True if the congestion window has no room for another.
    #[inline(always)]
    pub fn pass(&mut self, now: SimTime, data: Range<Dsn>, blocks: usize, packet: &mut Packet) -> bool {
        let (sent, filled) = self.sender.pass(now, data);
        self.write_usual(now, (sent.seq, sent.len), false, blocks, packet);
        filled
    }

    /// The segment of a packet of plain TCP that has no flag but ACK, if the usual way is open.
    #[inline]
    pub(super) fn expected<'p>(&self, packet: &'p Packet) -> Option<&'p TcpSegment> {
        match &packet.body {
            Body::Tcp(segment) if self.usual.is_open() && segment.flags.is_ack_alone() => Some(segment),
            _ => None,
        }
    }

    /// Takes in a segment that `expected` has returned.
    #[inline(always)]
    pub(super) fn on_usual_segment(&mut self, now: SimTime, segment: &TcpSegment, paths: Paths<'_>) -> Input {
        self.receiver.note_timestamp(segment);
        let acked = self.sender.on_ack(now, (segment, None), segment.ack + segment.window, paths);
        let mut input = Input { acked, ..Input::default() };
        if segment.len > 0 || segment.seq < self.receiver.next() {
            self.measure_as_receiver(now, segment);
            input.received = Some(if self.receiver.expects(segment) {
                self.receiver.on_usual_segment(now, segment)
            } else {
                self.receiver.on_segment(now, segment)
            });
        }
        self.check();
        input
    }

    /// Writes the next segment while the usual way is open: data, or else an acknowledgement that is due.
    #[inline(always)]
    pub(super) fn usual_segment(
        &mut self,
        now: SimTime,
        offer: &Offer,
        packet: &mut Packet,
    ) -> Option<Written> {
        if offer.may_send
            && let Some(data) = self.sender.next(now)
        {
            let blocks = offer.sack_blocks[0];
            self.write_usual(now, (data.seq, data.len), data.fin, blocks, packet);
            packet.retransmission = data.retransmission;
            return Some(Written::data(&data));
        }
        if !self.receiver.ack_is_due(now) {
            return None;
        }
        self.write_usual(now, (self.sender.nxt(), 0), false, offer.sack_blocks[1], packet);
        Some(Written::LAST)
    }

    /// True if `poll_transmit` would find nothing now: an ACK is delayed, or none is owed. Has the effects that this would have.
    #[inline]
    pub fn rests_now(&mut self, now: SimTime) -> bool {
        self.usual.is_open() && !self.receiver.ack_is_due(now) && self.sender.rests_without_data()
    }

    /// After a segment has left: true if it is known that `poll_transmit` would find nothing more. Has the effects that this
    /// would have.
    #[inline]
    pub fn rests_after(&mut self, now: SimTime, written: Written) -> bool {
        if !self.usual.is_open() {
            return written.last && !self.may_have_something();
        }
        self.rests_after_data(now)
    }

    /// The same after `write_data`.
    #[inline]
    pub fn rests_after_data(&mut self, now: SimTime) -> bool {
        !self.receiver.owes_ack() && self.sender.rests(now)
    }

    #[inline(always)]
    fn write_usual(
        &mut self,
        now: SimTime,
        (seq, len): (Seq, u32),
        fin: bool,
        blocks: usize,
        packet: &mut Packet,
    ) {
        let timestamps = Timestamps { value: now, echo: self.receiver.ts_recent() };
        let segment = packet.restart_tcp(self.path);
        segment.flags = Flags { ack: true, fin, psh: self.sender.ends_unit(now, len), ..Flags::default() };
        segment.len = len;
        segment.seq = seq;
        segment.ack = self.receiver.next();
        segment.window = Bytes::ZERO;
        segment.timestamps = self.config.options.timestamps.then_some(timestamps);
        segment.mptcp = MptcpOption::None;
        segment.sack.clear();
        self.receiver.acknowledge_into(now, blocks, &mut segment.sack);
        self.receiver.acknowledged_with_data(now);
        if len > 0 {
            self.receiver.data_leaves(now);
        }
    }
}
