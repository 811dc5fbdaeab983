//! The end of one subflow of a connection between others, at a proxy that stands on the path of this subflow alone.
//!
//! Source: CNES, "MPTCP and satellite access", IETF 106 (2019), the adaptation of PEPSal that the slides dissect. Such a proxy has two
//! ends, one for each part of the subflow. It passes on the options of the handshake, which hold keys, tokens and HMACs of
//! the true ends, so that both believe that they speak with each other. Then it behaves as an end of MPTCP: a segment in
//! order on the subflow is acknowledged at once, at both levels, and the window is that of its own buffer. The mappings
//! go on unchanged.
//!
//! Both are wrong for a connection with other subflows, and this end shows how. The Data ACK is cumulative over the
//! connection (RFC 8684 section 3.3.2), so that DSN + length of what has arrived here acknowledges what is on its way over
//! other subflows as well. The receive window is that of the connection (section 3.3.4), so that the sender uses the buffer of the proxy on
//! paths that do not lead there.
//!
//! Units: data sequence numbers, bytes. Deviations: where one side does not use MPTCP it relays plain TCP; the fallback in mid-transfer
//! of RFC 8684 section 3.7 is not relayed, and data without a mapping resets the subflow.

mod greeting;
mod inbox;
mod outbox;

use std::sync::Arc;

use congestion::Paths;
use units::{Bytes, SimTime};

use self::greeting::Greeting;
use self::inbox::Inbox;
use self::outbox::Outbox;
use super::option::{Dss, Mapped, MptcpOption};
use crate::address::AddressPair;
use crate::config::{MptcpConfig, TcpConfig};
use crate::departure::Departure;
use crate::packet::{Packet, PathId};
use crate::role::Role;
use crate::seq::{Dsn, Seq};
use crate::setup::Setup;
use crate::tcp::endpoint::{Endpoint, Offer};
use crate::tcp::segment::TcpSegment;
use crate::wire_size::{DssForm, PacketSizes, sack_room};

/// One end.
#[derive(Debug)]
pub struct SubflowEnd {
    tcp: Arc<TcpConfig>,
    role: Role,
    pair: AddressPair,
    endpoint: Endpoint,
    greeting: Greeting,
    inbox: Inbox,
    outbox: Outbox,
    sizes: PacketSizes,
    sack_blocks: [usize; 2],
}

impl SubflowEnd {
    /// An end towards the side that opens the subflow (role server), or towards the other. `mptcp`: the form of its options.
    pub fn new(setup: &Setup, mptcp: &MptcpConfig) -> Self {
        let tcp = Arc::clone(&setup.tcp);
        let form = DssForm::new(&tcp, mptcp);
        let mss = form.payload(tcp.segment.mss);
        let congestion = setup.new_congestion(mss);
        let endpoint = Endpoint::new(Arc::clone(&tcp), PathId::FIRST, mss, congestion, true);
        Self {
            role: setup.role,
            pair: setup.first,
            greeting: Greeting::default(),
            inbox: Inbox::new(&tcp, mss),
            outbox: Outbox::new(&tcp, endpoint.sender()),
            endpoint,
            sack_blocks: sack_room(&tcp, Some(&form)),
            sizes: PacketSizes::new(&tcp, Some(form)),
            tcp,
        }
    }

    /// Active open with the option of the SYN that arrived at the other end.
    pub fn open_with(&mut self, syn: MptcpOption) {
        self.greeting.say_syn(syn);
        self.endpoint.open();
    }

    /// Active open without an option: the subflow of plain TCP.
    pub fn open(&mut self) {
        self.open_with(MptcpOption::None);
    }

    /// It closes when it is told to, held open or not: a proxy passes on the FIN.
    pub fn hold_open(&mut self) {}

    /// Addresses, seen from here.
    pub fn address_pair(&self) -> AddressPair {
        self.pair
    }

    /// Which end it is: the client has sent the SYN.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Bytes that have come into order here.
    pub fn delivered(&self) -> u64 {
        self.inbox.taken() + self.inbox.waiting()
    }

    /// Bytes in order that the other end has not taken.
    pub fn readable(&self) -> u64 {
        self.inbox.waiting()
    }

    /// Bytes that its peer has acknowledged on the subflow.
    pub fn acked(&self) -> u64 {
        let sender = self.endpoint.sender();
        (sender.una() - Seq::FIRST_DATA).0 - u64::from(sender.finished())
    }

    /// Bytes given to it that its peer has not acknowledged on the subflow.
    pub fn send_buffered(&self) -> Bytes {
        Bytes(self.endpoint.sender().unacked())
    }

    /// Free bytes of its send buffer.
    pub fn send_space(&self) -> Bytes {
        if self.may_send() { self.outbox.space(&self.tcp, self.endpoint.sender()) } else { Bytes::ZERO }
    }

    /// The Data ACK that it tells: the end of the data that has come into order here, although data may be missing elsewhere, or the
    /// Data ACK that the other end was told if that is more.
    pub fn data_ack(&self) -> Dsn {
        if self.greeting.is_plain() {
            return Dsn(self.endpoint.receiver().next().0);
        }
        self.inbox.ahead().max(self.outbox.relayed_ack())
    }

    /// The Data ACK that its peer has told.
    pub fn peer_data_ack(&self) -> Dsn {
        self.outbox.una()
    }

    /// Figures that a correct proxy keeps at zero: bytes that this end has acknowledged although it has never had them and the receiver
    /// behind the `other` has not acknowledged them, and bytes by which its window passes the window of that receiver.
    pub fn overreach(&self, other: &Self) -> [Bytes; 2] {
        let window = self.inbox.right().saturating_since(other.outbox.right());
        [self.inbox.unbacked(other.peer_data_ack()), window]
    }

    /// The window that it would tell.
    pub fn receive_window(&self) -> Bytes {
        let room = self.inbox.room(&self.endpoint);
        self.inbox.peek_window(self.data_ack(), room)
    }

    /// The peer has sent its FIN, and everything before it was taken.
    pub fn peer_finished(&self) -> bool {
        self.endpoint.receiver().finished() && self.inbox.waiting() == 0
    }

    /// A FIN follows what was given.
    pub fn close(&mut self) {
        self.endpoint.sender_mut().finish();
    }

    /// A RST leaves.
    pub fn abort(&mut self) {
        self.endpoint.abort("aborted by the proxy");
    }

    /// Its address has left.
    pub fn lose_address(&mut self) {
        self.endpoint.end_silently("its address has left");
    }

    /// Both directions are finished.
    pub fn is_closed(&self) -> bool {
        self.endpoint.receiver().finished() && self.endpoint.sender().finished()
    }

    /// Every segment takes the general way; for tests.
    pub fn close_usual_way(&mut self) {
        self.endpoint.close_usual_way();
    }

    /// A side that joins must not send before its HMAC is confirmed (RFC 8684 section 3.2).
    fn may_send(&self) -> bool {
        self.endpoint.is_established() && self.greeting.permits_data(self.role)
    }

    /// The third segment of the handshake waits for that of the client: it holds the HMAC, or the keys.
    fn is_silent(&self) -> bool {
        self.role == Role::Client && self.endpoint.is_established() && !self.greeting.has_third()
    }
}

/// Segments and deadlines.
impl SubflowEnd {
    /// Takes in a packet; one that carries no segment of TCP is ignored.
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet) {
        let Some(segment) = packet.segment() else { return };
        self.greeting.receive(segment, self.role);
        let input = self.endpoint.on_packet(now, packet, Paths::ALONE);
        if input.reset || self.endpoint.death().is_some() {
            return;
        }
        if segment.flags.ack {
            let plain = self.greeting.is_plain();
            let told = if plain { Some(Dsn(segment.ack.0)) } else { segment.mptcp.data_ack() };
            self.outbox.on_data_ack(told.unwrap_or(Dsn::FIRST_DATA), segment.window);
            self.outbox.expand(now, &self.tcp, self.endpoint.sender());
        }
        let Some(received) = input.received.filter(|r| r.fresh > Bytes::ZERO) else { return };
        let dsn = if self.greeting.is_plain() { Some(Dsn(segment.seq.0)) } else { segment.mptcp.mapping() };
        let Some(dsn) = dsn else { return self.endpoint.abort("data without a mapping") };
        if self.sizes.has_short_data_acks() {
            let mss = self.sizes.lengthen_data_acks();
            self.endpoint.sender_mut().shorten_segments(mss);
        }
        self.inbox.on_data(segment.payload(), dsn, received.in_order);
        let free = self.inbox.free(&self.endpoint);
        self.endpoint.open_window(segment.len, free);
        self.check();
    }

    /// Acts on what is due.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.endpoint.on_timeout(now, Paths::ALONE);
        if self.outbox.persist_expires(now, self.endpoint.sender()) {
            self.endpoint.probe_window();
        }
    }

    /// The next deadline.
    pub fn next_deadline(&self) -> SimTime {
        if self.is_silent() {
            return SimTime::NEVER;
        }
        self.endpoint.next_deadline().min(self.outbox.persist_at())
    }

    /// Writes the next packet into `packet`; call until there is none.
    pub fn poll_transmit(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if self.is_silent() {
            return Departure::NOTHING;
        }
        if self.may_send()
            && let Some(notice) = self.greeting.next_notice()
        {
            self.endpoint.acknowledge_now();
            let offer = Offer { sack_blocks: self.sack_blocks, may_send: false };
            if self.endpoint.poll_transmit(now, &offer, packet).is_some() {
                let option = self.renewed(notice);
                return self.complete(option, packet);
            }
        }
        let offer = Offer { sack_blocks: self.sack_blocks, may_send: self.may_send() };
        let Some(written) = self.endpoint.poll_transmit(now, &offer, packet) else {
            return Departure::NOTHING;
        };
        let Some(segment) = packet.segment() else { return Departure::NOTHING };
        let option = self.option(segment, written.mapped);
        let last = written.mapped.is_some() && self.endpoint.sender().unsent() == 0;
        packet.segment_mut().into_iter().for_each(|segment| segment.flags.psh |= last);
        self.complete(option, packet)
    }

    fn complete(&mut self, option: MptcpOption, packet: &mut Packet) -> Departure {
        if let Some(segment) = packet.segment_mut() {
            segment.mptcp = option;
            self.sizes.fit_sack(segment);
        }
        let (ack, room) = (self.data_ack(), self.inbox.room(&self.endpoint));
        let window = self.inbox.offer_window(&self.tcp, ack, room);
        self.sizes.complete(packet, window);
        self.check();
        Departure::PACKET
    }

    /// The option of a segment whose payload has this mapping.
    fn option(&self, segment: &TcpSegment, mapped: Option<Mapped>) -> MptcpOption {
        let Self { greeting, role, .. } = self;
        if segment.flags.rst {
            greeting.reset()
        } else if segment.flags.syn {
            greeting.syn()
        } else if greeting.is_plain() {
            MptcpOption::None
        } else {
            let first = segment.len == 0 || segment.seq == Seq::FIRST_DATA;
            let third = if *role == Role::Client { greeting.third(first, mapped) } else { None };
            third.unwrap_or(MptcpOption::Dss(Dss::new(self.data_ack(), mapped)))
        }
    }

    /// An option that the other end has received, with the Data ACK of this one.
    fn renewed(&self, notice: MptcpOption) -> MptcpOption {
        let ack = self.data_ack();
        match notice {
            MptcpOption::Dss(dss) => MptcpOption::Dss(Dss { data_ack: Some(ack), ..dss }),
            MptcpOption::AddAddr { id, address, echo, hmac, .. } => {
                MptcpOption::AddAddr { id, address, echo, hmac, data_ack: ack }
            }
            MptcpOption::RemoveAddr { id, .. } => MptcpOption::RemoveAddr { id, data_ack: ack },
            MptcpOption::Prio { backup, .. } => MptcpOption::Prio { backup, data_ack: ack },
            other => other,
        }
    }

    fn check(&self) {
        debug_assert!(self.acked() <= self.outbox.given(), "acknowledged and not given");
        debug_assert!(
            self.greeting.is_plain() || self.data_ack() >= self.inbox.ahead(),
            "the Data ACK is behind what has arrived"
        );
    }
}

/// Passes on what one end of a proxy has received to the other: options, Data ACKs, and the data that is in order, as far as the
/// peer behind it has offered a window and its send buffer has room; no more segments once `most` bytes have gone. Returns how many bytes.
pub fn pass_on(now: SimTime, from: &mut SubflowEnd, to: &mut SubflowEnd, most: Bytes) -> Bytes {
    if to.greeting.pass_on(&mut from.greeting) {
        // The handshake has got further, or was asked about again.
        to.endpoint.acknowledge_now();
    }
    let told = to.data_ack();
    to.outbox.relay_ack(from.peer_data_ack());
    if to.data_ack() > told {
        to.endpoint.acknowledge_now();
    }
    from.inbox.is_delivered(to.peer_data_ack());
    let mut moved = Bytes::ZERO;
    let idle = |to: &SubflowEnd| to.endpoint.sender().unacked() == 0;
    while moved < most
        && to.may_send()
        && let Some(data) = from.inbox.next(to.outbox.right(), to.send_space(), idle(to))
    {
        to.endpoint.sender_mut().give(data);
        to.outbox.gave(data.len());
        moved += Bytes(data.len());
    }
    if moved > Bytes::ZERO {
        let SubflowEnd { inbox, endpoint, tcp, .. } = from;
        inbox.was_read(now, moved, endpoint);
        let room = inbox.room(endpoint);
        let ack = inbox.ahead();
        if inbox.deserves_update(tcp, ack, room) {
            endpoint.acknowledge_now();
        }
    }
    to.outbox.watch(now, from.inbox.waiting() > 0 && to.may_send(), to.endpoint.sender());
    to.check();
    moved
}
