//! One subflow of an MPTCP connection: a TCP endpoint and what MPTCP adds to it. `join.rs` is how far its handshake is,
//! `usual.rs` the way of most segments,
//! `memory.rs` its receive buffer.

mod join;
mod memory;
mod usual;

use congestion::{CongestionControl, PathView, Paths};
use schedulers::{Needs, SubflowView};
use units::{Bytes, Nanos, SimTime};

pub(super) use join::Join;

use super::health::Health;
use super::mappings::Mappings;
use super::negotiation::Negotiation;
use super::option::{MptcpOption, ResetReason};
use super::receive_side::ReceiveSide;
use crate::address::AddressPair;
use crate::config::{ReceiveCounts, TcpConfig};
use crate::convert::ConvertMessage;
use crate::packet::Packet;
use crate::seq::{Dsn, Seq};
use crate::tcp::buffers::SubflowBuffer;
use crate::tcp::endpoint::{Endpoint, Input, Offer, Written};
use crate::tcp::ranges::Range;
use crate::tcp::receiver::Received;
use crate::tcp::segment::TcpSegment;
use crate::tcp::send_buffer::{ExpandedBuffer, send_buffer};
use crate::tcp::sender::{Expired, Sender};

/// Consecutive segments without new data after which data that the subflow holds back is released.
const MAX_REPEATS: u32 = 8;

/// B, the flag of a subflow that carries data only while no other is usable.
#[derive(Clone, Copy, Debug, Default)]
struct Backup {
    /// As this end has told the peer.
    told: bool,
    /// As the peer has told this end.
    asked: bool,
}

/// How the subflow ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ending {
    /// It has died, and the data that it held out of order is discarded.
    discarded: bool,
    /// Its address has left: it does not count among the subflows that were opened.
    address_left: bool,
    /// Reason of its RST.
    reset: Option<ResetReason>,
    /// It was reset because of what the peer sent: each further segment is answered with another RST.
    refused: bool,
}

/// One subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pair: AddressPair,
    endpoint: Endpoint,
    send_buffer: ExpandedBuffer,
    join: Join,
    health: Health,
    /// Mappings of data that is out of order here.
    mappings: Mappings,
    /// Consecutive segments without new data.
    repeats: u32,
    /// Payload bytes given to it that a subflow was given before.
    reinjected_bytes: u64,
    backup: Backup,
    /// ID of the peer's address; `None` for the first subflow and where the peer has not said.
    remote_id: Option<u8>,
    ending: Ending,
    /// Next data to be copied to it, if every subflow carries everything.
    next_copy: Dsn,
    /// Right edge of the window that its last segment told, in its own sequence space.
    told: Seq,
    /// Its receive buffer, where subflows have memory of their own.
    buffer: Option<SubflowBuffer>,
}

impl Subflow {
    pub(super) fn new(pair: AddressPair, endpoint: Endpoint, join: Join, tcp: &TcpConfig) -> Self {
        let payload = Bytes(endpoint.sender().mss());
        Self {
            pair,
            send_buffer: ExpandedBuffer::new(tcp, endpoint.sender().buffered_windows()),
            endpoint,
            join,
            health: Health::default(),
            mappings: Mappings::default(),
            repeats: 0,
            reinjected_bytes: 0,
            backup: Backup::default(),
            remote_id: None,
            ending: Ending::default(),
            next_copy: Dsn::default(),
            told: Seq::default(),
            buffer: (tcp.buffers.receive_counts == ReceiveCounts::SubflowMemory)
                .then(|| SubflowBuffer::new(tcp, payload)),
        }
    }

    #[inline]
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    #[inline]
    pub(super) fn sender(&self) -> &Sender {
        self.endpoint.sender()
    }

    pub(super) fn pair(&self) -> AddressPair {
        self.pair
    }

    #[inline]
    pub(super) fn join(&self) -> Join {
        self.join
    }

    #[inline]
    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    pub(super) fn health_mut(&mut self) -> &mut Health {
        &mut self.health
    }

    /// Payload bytes given to it that another subflow was given before.
    pub(super) fn reinjected_bytes(&self) -> u64 {
        self.reinjected_bytes
    }

    /// ID of the peer's address; `None` for the first subflow and where the peer has not said.
    pub(super) fn remote_id(&self) -> Option<u8> {
        self.remote_id
    }

    /// Next data to be copied to it, if every subflow carries everything.
    pub(super) fn next_copy(&self) -> Dsn {
        self.next_copy
    }

    /// It has not died.
    #[inline]
    pub(super) fn is_alive(&self) -> bool {
        self.endpoint.death().is_none()
    }

    /// Established and joined as far as this end needs for sending data.
    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.endpoint.is_established() && matches!(self.join, Join::First | Join::Joined)
    }

    /// New data may be given to it, now or as soon as its window opens.
    #[inline]
    pub(super) fn is_usable(&self) -> bool {
        self.may_send() && self.health.is_well()
    }

    /// Usable, and a new segment of `len` bytes could leave now.
    #[inline(always)]
    pub(super) fn has_room_for(&self, len: u64) -> bool {
        self.sender().has_room_for(len) && self.is_usable()
    }

    /// Nothing is to be negotiated on it any more.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.join, Join::First | Join::Joined) && !self.ending.refused
    }

    /// It carries data only if no other is usable: either end has marked it, as in Linux since 6.11.
    #[inline]
    pub(super) fn is_backup(&self) -> bool {
        self.backup.told || self.backup.asked
    }

    /// B, as this end has told the peer.
    pub(super) fn backup_told(&self) -> bool {
        self.backup.told
    }

    /// B, as this end tells the peer.
    pub(super) fn tell_backup(&mut self, backup: bool) {
        self.backup.told = backup;
    }

    /// B, as the peer asks for it.
    pub(super) fn ask_backup(&mut self, backup: bool) {
        self.backup.asked = backup;
    }

    /// ID of the peer's address.
    pub(super) fn set_remote_id(&mut self, id: u8) {
        self.remote_id = Some(id);
    }

    /// Bytes held out of order; none once they are discarded.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        if self.ending.discarded { 0 } else { self.endpoint.receiver().out_of_order() }
    }

    /// Its next deadline.
    #[inline]
    pub(super) fn next_deadline(&self) -> SimTime {
        let deadline = self.endpoint.next_deadline();
        match self.join {
            Join::AwaitingFourthAck { resend_at, .. } if self.endpoint.is_established() => {
                deadline.min(resend_at)
            }
            _ => deadline,
        }
    }

    /// Brings what the congestion controls of the others see up to date.
    #[inline]
    pub(super) fn show_path(&self, view: &mut PathView) {
        self.endpoint.show_path(view, !self.health.is_potentially_failed());
    }

    /// Brings what the scheduler sees up to date, in place; room for `quantum` bytes makes it available. `needs`: for a
    /// scheduler that looks at more than most.
    pub(super) fn show(&self, view: &mut SubflowView, quantum: u64, needs: Option<Needs>, tcp: &TcpConfig) {
        let sender = self.sender();
        view.srtt = sender.rtt().srtt();
        view.min_rtt = sender.rtt().min();
        view.rttvar = sender.rtt().rttvar();
        view.cwnd = sender.cwnd();
        view.ssthresh = sender.ssthresh();
        view.inflight = Bytes(sender.pipe());
        view.unsent = Bytes(sender.unsent());
        view.mss = Bytes(sender.mss());
        view.usable = self.is_usable();
        view.available = view.usable && sender.has_room_for(quantum);
        view.backup = self.is_backup();
        view.carried = false;
        if let Some(needs) = needs {
            view.latest_rtt = view.srtt.map(|_| sender.rtt().latest());
            view.send_window = sender.send_window();
            (view.held, view.send_buffer) = self.queue(tcp, needs.fragments);
            view.pacing_rate = if needs.pacing { sender.pacing_rate_estimate() } else { None };
            view.open = sender.is_open();
        }
    }
}

/// Segments and deadlines.
impl Subflow {
    /// Its SYN or SYN/ACK has this payload.
    pub(super) fn say(&mut self, message: ConvertMessage) {
        self.endpoint.say(message);
    }

    /// Active open.
    pub(super) fn open(&mut self) {
        self.endpoint.open();
    }

    /// Takes in a segment.
    #[inline(always)]
    pub(super) fn on_packet(&mut self, now: SimTime, packet: &Packet, paths: Paths<'_>) -> Input {
        let input = self.endpoint.on_packet(now, packet, paths);
        self.health.on_segment(now, input.acked);
        input
    }

    /// Acts on deadlines that are due, beside those of MP_JOIN.
    pub(super) fn on_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        self.endpoint.on_timeout(now, paths)
    }

    /// Sends the third ACK of MP_JOIN again when that is due. False if the last try has had no answer: then the subflow
    /// is given up.
    pub(super) fn on_join_timeout(&mut self, now: SimTime, max_tries: u32) -> bool {
        let Join::AwaitingFourthAck { own, peer, resend_at, tries } = self.join else { return true };
        if resend_at > now {
            return true;
        }
        if tries >= max_tries {
            self.endpoint.abort("no answer to MP_JOIN");
            self.ending.reset = Some(ResetReason::Performance);
            return false;
        }
        let resend_at = now + self.sender().rtt().rto(tries + 1);
        self.join = Join::AwaitingFourthAck { own, peer, resend_at, tries: tries + 1 };
        self.endpoint.acknowledge_now();
        true
    }

    /// MP_JOIN in a segment that the endpoint has taken in; `established`: with it. True if the subflow has become
    /// usable.
    pub(super) fn on_join(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        established: bool,
        negotiation: &Negotiation,
    ) -> bool {
        match self.join {
            Join::SynSent(own) if established => {
                match segment.mptcp {
                    MptcpOption::JoinSynAck { hmac, nonce, id, backup }
                        if negotiation.is_authentic_syn_ack(hmac, own, nonce) =>
                    {
                        self.remote_id = Some(id);
                        self.backup.asked = backup;
                        let resend_at = now + self.sender().rtt().rto(0);
                        self.join = Join::AwaitingFourthAck { own, peer: nonce, resend_at, tries: 0 };
                    }
                    // Another listener has answered, or the option is lost; or the answer is forged.
                    MptcpOption::None => {
                        self.refuse("the answer to MP_JOIN had no MP_JOIN", ResetReason::Middlebox);
                    }
                    _ => self.refuse("the answer to MP_JOIN was not authentic", ResetReason::Protocol),
                }
                false
            }
            Join::AwaitingFourthAck { .. } if !(segment.flags.syn || segment.flags.rst) => {
                self.join = Join::Joined;
                true
            }
            Join::AwaitingThirdAck { own, peer } if !segment.flags.syn => {
                let authentic = matches!(segment.mptcp, MptcpOption::JoinAck { hmac }
                    if negotiation.is_authentic_third_ack(hmac, own, peer));
                if authentic {
                    self.join = Join::Joined;
                    self.endpoint.acknowledge_now();
                } else {
                    self.refuse("the third ACK of MP_JOIN was not authentic", ResetReason::Protocol);
                }
                authentic
            }
            // The fourth ACK was lost.
            Join::Joined if matches!(segment.mptcp, MptcpOption::JoinAck { .. }) => {
                self.endpoint.acknowledge_now();
                false
            }
            _ => false,
        }
    }

    /// Writes the next packet into `packet`.
    #[inline(always)]
    pub(super) fn poll_transmit(
        &mut self,
        now: SimTime,
        offer: &Offer,
        packet: &mut Packet,
    ) -> Option<Written> {
        self.endpoint.poll_transmit(now, offer, packet)
    }

    /// A pure acknowledgement leaves at once.
    pub(super) fn acknowledge_now(&mut self) {
        self.endpoint.acknowledge_now();
    }

    /// The application has read everything that has come.
    pub(super) fn everything_is_read(&mut self) {
        self.endpoint.receiver_mut().everything_is_read();
    }

    /// Asks the peer for its window with the next segment.
    pub(super) fn probe_window(&mut self) {
        self.endpoint.probe_window();
    }
}

/// Data of the connection.
impl Subflow {
    /// Another sender, before anything was given to the first one.
    pub(super) fn replace_sender(&mut self, mss: Bytes, congestion: Box<dyn CongestionControl>) {
        self.endpoint.replace_sender(mss, congestion);
    }

    /// Every segment takes the general way; for tests.
    pub(super) fn close_usual_way(&mut self) {
        self.endpoint.close_usual_way();
    }

    /// New data.
    #[inline]
    pub(super) fn give(&mut self, data: Range<Dsn>) {
        self.endpoint.sender_mut().give(data);
        self.next_copy = data.end;
    }

    /// A fragment of new data, which may be one with what was given before.
    /// `whole`: see [`super::fragments::Fragments::maps_whole_chunks`].
    pub(super) fn give_fragment(&mut self, data: Range<Dsn>, whole: bool) {
        self.endpoint.sender_mut().give_fragment(data, whole);
        self.next_copy = data.end;
    }

    /// Data that is to leave ahead of queued data with higher data sequence numbers.
    pub(super) fn give_ahead(&mut self, data: Range<Dsn>) {
        self.endpoint.sender_mut().give_ahead(data);
    }

    /// The same, and another subflow was given it before.
    pub(super) fn give_again(&mut self, data: Range<Dsn>) {
        self.give_ahead(data);
        self.note_again(Bytes(data.len()));
    }

    /// `bytes` of the data that it was given last had been given to a subflow before.
    pub(super) fn note_again(&mut self, bytes: Bytes) {
        self.reinjected_bytes += bytes.0;
    }

    /// The next data to be copied here, of `outstanding` at most `mss` bytes.
    pub(super) fn take_copy(&mut self, outstanding: Range<Dsn>, mss: Bytes) -> Range<Dsn> {
        let start = self.next_copy.max(outstanding.start);
        let len = mss.min(outstanding.end - start);
        self.next_copy = start + len;
        Range::new(start, self.next_copy)
    }

    /// Takes back what it was given and has not sent.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = Range<Dsn>> {
        self.endpoint.sender_mut().take_unsent()
    }

    /// Data sent on it and not acknowledged there, in the order of sending.
    pub(super) fn sent_data(&self) -> impl Iterator<Item = Range<Dsn>> {
        self.sender().sent_mappings()
    }

    /// Segments get smaller in mid-transfer.
    pub(super) fn shorten_segments(&mut self, mss: Bytes) {
        self.endpoint.sender_mut().shorten_segments(mss);
    }

    /// No more data.
    pub(super) fn finish(&mut self) {
        self.endpoint.sender_mut().finish();
    }

    /// Halves its congestion window.
    pub(super) fn penalise(&mut self) {
        self.endpoint.sender_mut().penalise();
    }

    /// Its send buffer where that expands.
    #[inline]
    pub(super) fn expanded_send_buffer(&self, tcp: &TcpConfig) -> Bytes {
        send_buffer(tcp, || 0, self.send_buffer)
    }

    /// The application waits for space in the send buffer, and an acknowledgement has arrived here.
    pub(super) fn expand_send_buffer(&mut self, now: SimTime, tcp: &TcpConfig) {
        self.send_buffer.on_ack(now, tcp, self.endpoint.sender());
    }

    /// The payload `subflow` has arrived, mapped to `dsn`: data in order here goes to the connection.
    #[inline]
    pub(super) fn on_payload(
        &mut self,
        subflow: Range<Seq>,
        dsn: Option<Dsn>,
        received: Received,
        receive: &mut ReceiveSide,
    ) {
        match dsn {
            // The usual case: the segment alone is what has come into order.
            Some(dsn) if self.mappings.is_empty() && subflow.covers(received.in_order) => {
                if !received.in_order.is_empty() {
                    let start = dsn + (received.in_order.start - subflow.start);
                    receive.on_data(Range::new(start, start + Bytes(received.in_order.len())));
                } else if received.fresh > Bytes::ZERO {
                    self.mappings.insert(subflow, dsn);
                }
            }
            Some(dsn) if received.fresh > Bytes::ZERO => {
                self.mappings.insert(subflow, dsn);
                self.mappings.take_below(received.in_order.end, |data| receive.on_data(data));
            }
            _ => {}
        }
    }

    /// Data that subflows hold back is looked through when something arrives in order; and when stored data has been
    /// repeated often: the data that the connection waits for may be queued behind it, after the death of a subflow.
    /// `gap`: the connection cannot deliver what has arrived.
    pub(super) fn is_time_to_release(&mut self, received: Received, payload: bool, gap: bool) -> bool {
        let repeated = received.fresh == Bytes::ZERO && payload;
        self.repeats = if repeated { self.repeats + 1 } else { 0 };
        !(received.in_order.is_empty() || gap) || self.repeats >= MAX_REPEATS
    }

    /// Hands over what it holds back.
    pub(super) fn release(&mut self, receive: &mut ReceiveSide) {
        let next = self.endpoint.receiver_mut().release();
        self.mappings.take_below(next, |data| receive.on_data(data));
    }
}

/// The end.
impl Subflow {
    /// Ends it with a RST because of what the peer has sent.
    pub(super) fn refuse(&mut self, why: &'static str, reason: ResetReason) {
        self.endpoint.abort(why);
        self.ending.reset = Some(reason);
        self.ending.refused = true;
        debug_assert!(!self.is_alive(), "a refused subflow is dead");
    }

    /// Ends it with a RST.
    pub(super) fn abort(&mut self, why: &'static str) {
        self.endpoint.abort(why);
    }

    /// Ends it without a segment.
    pub(super) fn end_silently(&mut self, why: &'static str) {
        self.endpoint.end_silently(why);
    }

    /// Its RST is sent once more.
    pub(super) fn reset_again(&mut self) {
        self.endpoint.reset_again();
    }

    /// Its RST carries this reason.
    pub(super) fn set_reset_reason(&mut self, reason: ResetReason) {
        self.ending.reset = Some(reason);
    }

    /// Reason of its RST.
    pub(super) fn reset_reason(&self) -> Option<ResetReason> {
        self.ending.reset
    }

    /// It was reset because of what the peer sent.
    #[inline]
    pub(super) fn is_refused(&self) -> bool {
        self.ending.refused
    }

    /// Its address has left.
    pub(super) fn note_address_left(&mut self) {
        self.ending.address_left = true;
    }

    /// Its address has left.
    pub(super) fn address_left(&self) -> bool {
        self.ending.address_left
    }

    /// Discards what it holds out of order, which will never come into order.
    pub(super) fn discard_held(&mut self) {
        self.ending.discarded = true;
        self.mappings = Mappings::default();
    }

    /// Its out-of-order data is discarded.
    pub(super) fn is_discarded(&self) -> bool {
        self.ending.discarded
    }

    /// Everything up to its FIN has arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.endpoint.receiver().finished()
    }

    /// Round-trip time as a data receiver sees it.
    pub(super) fn receive_rtt(&self) -> Option<Nanos> {
        self.endpoint.receive_rtt()
    }

    /// A segment that acknowledges `ack` here has advertised a window.
    #[inline]
    pub(super) fn note_told(&mut self, ack: Seq, window: Bytes) {
        self.told = ack + window;
    }

    /// Asserts what holds between calls, in debug builds.
    pub(super) fn check(&self) {
        debug_assert!(!self.ending.discarded || self.mappings.is_empty(), "a mapping of discarded data");
        debug_assert!(!self.ending.refused || !self.is_alive(), "a refused subflow is dead");
        debug_assert!(
            !matches!(self.join, Join::SynSent(_)) || !self.endpoint.is_established(),
            "the SYN/ACK of MP_JOIN has been judged"
        );
        debug_assert!(
            self.reinjected_bytes == 0 || self.endpoint.established_at().is_some(),
            "data is given to established subflows"
        );
    }
}
