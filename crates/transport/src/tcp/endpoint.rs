//! One end of a TCP connection or of an MPTCP subflow: handshake and close around a sender and a receiver
//! (RFC 9293 section 3.10).
//!
//! It does not own a byte stream: its owner (`connection.rs`, or an MPTCP connection) gives it ranges to send,
//! and is told which ranges have become deliverable. The owner also determines the window to advertise, MPTCP
//! options and the size on the wire.
//!
//! Deviation: no simultaneous open, no TIME-WAIT clock (nothing reuses ports); an endpoint whose connection is
//! finished still answers a retransmitted FIN.

mod syn;
mod usual;

use std::sync::Arc;

use congestion::{CongestionControl, PathView, Paths};
use units::{Bytes, Nanos, SimTime};

use super::ecn::EcnState;
use super::handshake::{Handshake, SynTimer};
use super::opening::{ReceiverRtt, WindowOpening};
use super::receiver::{Received, Receiver};
use super::segment::{Flags, TcpSegment, Timestamps};
use super::sender::{Expired, Sender, SenderState, Transmission};
use crate::config::TcpConfig;
use crate::convert::ConvertMessage;
use crate::limit::Limit;
use crate::mptcp::option::{Mapped, MptcpOption};
use crate::packet::{Ecn, Packet, PathId};
use crate::seq::{Dsn, Seq};
use crate::space::{Extras, Outcome, Reports, SpaceSignal};
use crate::usual::UsualWay;

/// Connection state, as far as it is not told by the sender and the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Passive, nothing received; or active and not opened yet.
    Idle,
    SynSent,
    SynReceived,
    Established,
    Dead(&'static str),
}

/// Permissions of the owner for the next segments of the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// SACK blocks that fit beside the other options of a segment with data, and without.
    pub sack_blocks: [usize; 2],
    /// New or repeated data may leave (false: a joined subflow waits for its fourth ACK).
    pub may_send: bool,
}

/// Changes by a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input {
    /// The handshake is complete with this segment.
    pub established: bool,
    /// Payload or FIN arrived.
    pub received: Option<Received>,
    /// The peer acknowledged new bytes.
    pub acked: bool,
    /// The peer reset the connection.
    pub reset: bool,
}

/// Record of the segment that `poll_transmit` has written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The mapping of the payload, if there is payload of a mapped stream.
    pub mapped: Option<Mapped>,
    /// A bare acknowledgement or a RST: the endpoint has no other segment now.
    pub last: bool,
}

impl Written {
    /// A segment without payload that others may follow.
    const CONTROL: Self = Self { mapped: None, last: false };
    /// A bare acknowledgement, or a RST.
    const LAST: Self = Self { mapped: None, last: true };

    /// A segment of the stream.
    #[inline(always)]
    fn data(sent: &Transmission) -> Self {
        Self { mapped: (sent.mapped.dsn > Dsn(0)).then_some(sent.mapped), last: false }
    }
}

/// One end.
#[derive(Debug)]
pub struct Endpoint {
    config: Arc<TcpConfig>,
    path: PathId,
    state: State,
    sender: Sender,
    receiver: Receiver,
    ecn: EcnState,
    handshake: Handshake,
    /// A RST is to leave.
    send_reset: bool,
    /// A window probe is to leave.
    probe_window: bool,
    receive_rtt: ReceiverRtt,
    /// How far the receive window has opened.
    opening: WindowOpening,
    /// State of transports over space links; plain TCP has none.
    extras: Option<Box<Extras>>,
    usual: UsualWay,
}

fn new_receiver(config: &TcpConfig, mapped: bool) -> Receiver {
    let mut receiver = Receiver::new(config.ack, config.options.sack, mapped);
    if let Some(reports) = Reports::unconditional(config) {
        receiver.report_by(reports);
    }
    receiver
}

impl Endpoint {
    /// An endpoint that waits for a SYN, or for `open`. `mapped`: its stream is made of chunks of another.
    pub fn new(
        config: Arc<TcpConfig>,
        path: PathId,
        mss: Bytes,
        congestion: Box<dyn CongestionControl>,
        mapped: bool,
    ) -> Self {
        Self {
            sender: Sender::new(Arc::clone(&config), mss, congestion, mapped),
            receiver: new_receiver(&config, mapped),
            ecn: EcnState::new(config.options.ecn),
            extras: Extras::new(&config),
            opening: WindowOpening::new(&config, mss),
            receive_rtt: ReceiverRtt::new(&config),
            config,
            path,
            state: State::Idle,
            handshake: Handshake::new(),
            send_reset: false,
            probe_window: false,
            usual: UsualWay::new(true),
        }
    }

    /// Every segment takes the general way, here and in the sender; for tests.
    pub fn close_usual_way(&mut self) {
        self.usual = UsualWay::CLOSED;
        self.sender.close_usual_way();
    }

    /// Active open: a SYN becomes ready.
    pub fn open(&mut self) {
        debug_assert_eq!(self.state, State::Idle);
        self.state = State::SynSent;
        self.handshake.begin();
    }

    /// Gives up at once; the peer gets a RST.
    pub fn abort(&mut self, why: &'static str) {
        self.usual.leave();
        self.send_reset = !matches!(self.state, State::Idle | State::Dead(_));
        self.state = State::Dead(why);
    }

    /// Another sender, before anything was given to the first one.
    pub fn replace_sender(&mut self, mss: Bytes, congestion: Box<dyn CongestionControl>) {
        debug_assert!(self.established_at().is_none(), "the sender is in use");
        self.sender = Sender::new(Arc::clone(&self.config), mss, congestion, true);
    }

    /// Closes silently, without a RST: the local or the remote address is no longer available.
    pub fn end_silently(&mut self, why: &'static str) {
        self.usual.leave();
        self.state = State::Dead(why);
    }

    /// Queues another RST; only a dead endpoint does.
    pub fn reset_again(&mut self) {
        self.send_reset = matches!(self.state, State::Dead(_));
    }

    /// Takes in a packet; one that carries no segment of TCP changes nothing.
    #[inline(always)]
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet, paths: Paths<'_>) -> Input {
        if let Some(segment) = self.expected(packet) {
            return self.on_usual_segment(now, segment, paths);
        }
        let input = self.take_in(now, packet, paths);
        self.look_for_usual_way();
        input
    }

    #[inline(never)]
    fn take_in(&mut self, now: SimTime, packet: &Packet, paths: Paths<'_>) -> Input {
        self.usual.leave();
        let Some(segment) = packet.segment() else { return Input::default() };
        let signal = packet.signal();
        if segment.flags.rst {
            if self.has_closed() {
                // RFC 9293 section 3.10.7.4: in TIME-WAIT no error is signalled to the application.
                return Input::default();
            }
            self.state = State::Dead("reset by the peer");
            return Input { reset: true, ..Input::default() };
        }
        let mut input = Input::default();
        match self.state {
            State::Dead(_) => return input,
            State::Idle if segment.flags.syn => {
                self.receiver.note_timestamp(segment);
                self.ecn.on_syn(segment.flags);
                self.agree(signal, true);
                self.state = State::SynReceived;
                self.handshake.begin();
                return input;
            }
            State::SynReceived if segment.flags.syn => {
                // RFC 7323 section 4.3: what answers it must echo it, and not the SYN before it.
                self.receiver.note_timestamp(segment);
                self.handshake.answer_again();
                return input;
            }
            State::SynSent if segment.flags.syn && segment.flags.ack => {
                if let Some(SpaceSignal::Convert(ConvertMessage::Refused(error))) = signal {
                    // RFC 8803 section 6.2.8: upon an Error TLV the client must reset the connection.
                    self.abort(error.reason());
                    return Input { reset: true, ..input };
                }
                self.receiver.note_timestamp(segment);
                self.ecn.on_syn(segment.flags);
                self.agree(signal, false);
                self.receiver.acknowledge_now();
                self.establish(now, segment);
                input.established = true;
                return input;
            }
            State::Established if segment.flags.syn => {
                // The third ACK was lost; the next one echoes this SYN/ACK.
                self.receiver.note_timestamp(segment);
                self.receiver.acknowledge_now();
                return input;
            }
            State::SynReceived if segment.flags.ack => {
                self.establish(now, segment);
                input.established = true;
            }
            State::Established => {}
            State::Idle | State::SynSent | State::SynReceived => return input,
        }
        if let Some(probe) = signal.filter(|signal| signal.is_low_priority()) {
            self.on_probe(now, probe);
            return input;
        }
        self.receiver.note_timestamp(segment);
        if segment.flags.ack {
            input.acked = self.sender.on_ack(now, (segment, signal), segment.ack + segment.window, paths);
        }
        let before = self.receiver.next();
        if segment.len > 0 || segment.flags.fin || segment.seq < before {
            self.measure_as_receiver(now, segment);
            self.ecn.on_segment(packet.ecn, segment.flags);
            input.received = Some(self.receiver.on_segment(now, segment));
        }
        if let Some(signal) = signal {
            self.receiver.on_signal(signal, segment);
        }
        self.check();
        input
    }

    /// Both FINs have arrived and are acknowledged: TIME-WAIT, or closed.
    fn has_closed(&self) -> bool {
        self.receiver.finished() && self.sender.finished()
    }

    /// The peer's SYN has arrived, with what it says beyond TCP.
    fn agree(&mut self, signal: Option<&SpaceSignal>, passive: bool) {
        if let Some(extras) = self.extras.as_deref_mut() {
            extras.on_syn(signal, passive);
        }
    }

    /// A dummy or an answer arrives: it says nothing else. Any end answers dummies.
    #[cold]
    fn on_probe(&mut self, now: SimTime, probe: &SpaceSignal) {
        if self.extras.get_or_insert_default().on_probe(probe) {
            self.sender.on_dummy_answer(now);
        }
    }

    #[inline]
    fn check(&self) {
        debug_assert!(
            self.state != State::Established || self.established_at().is_some(),
            "established without a handshake"
        );
        debug_assert!(
            self.established_at().is_some() || self.sender.outstanding() == 0,
            "data has left before the handshake was complete"
        );
        debug_assert!(
            self.state != State::Idle || self.handshake.deadline().is_never(),
            "a SYN has left an idle endpoint"
        );
        debug_assert!(!self.usual.is_open() || self.is_calm(), "the usual way is open beside something odd");
    }

    #[inline(always)]
    fn measure_as_receiver(&mut self, now: SimTime, segment: &TcpSegment) {
        let Some(echo) = segment.timestamps.map(|t| t.echo).filter(|e| !e.is_never()) else { return };
        self.receive_rtt.on_echo(now, echo, segment.len);
        if self.receiver.wants_round_trip() {
            self.receiver.note_round_trip(now.since(echo));
        }
    }

    fn establish(&mut self, now: SimTime, segment: &TcpSegment) {
        self.state = State::Established;
        let echoed = segment.timestamps.map(|t| t.echo).filter(|e| !e.is_never());
        let rtt = self.handshake.complete(now, echoed);
        self.sender.on_established(now, segment.window, rtt, self.handshake.tries() > 0);
        if let Some(rtt) = rtt {
            self.receiver.note_round_trip(rtt);
        }
        match self.extras.as_deref().map(|extras| extras.outcome(&self.config)) {
            Some(Outcome::Reports(reports)) => self.receiver.report_by(reports),
            Some(Outcome::Plain(config)) => self.fall_back(config),
            None => {}
        }
    }

    /// The peer is a plain one: so is this end from now on.
    fn fall_back(&mut self, config: Arc<TcpConfig>) {
        self.extras = None;
        self.config = config;
        self.sender.fall_back(Arc::clone(&self.config));
        self.receiver.fall_back(self.config.ack);
    }

    /// Writes the next segment into `packet`, without window, size and range; call until `None`. In place, because
    /// a packet is large and this happens for each.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: SimTime, offer: &Offer, packet: &mut Packet) -> Option<Written> {
        if self.usual.is_open() {
            return self.usual_segment(now, offer, packet);
        }
        let written = self.find_segment(now, offer, packet);
        self.look_for_usual_way();
        written
    }

    #[inline(never)]
    fn find_segment(&mut self, now: SimTime, offer: &Offer, packet: &mut Packet) -> Option<Written> {
        if self.state == State::Established && !self.send_reset {
            return self.established_segment(now, offer, packet);
        }
        self.opening_or_closing_segment(now, packet)
    }

    /// False if `poll_transmit` would find nothing, which is cheaper to tell than to find out.
    #[inline(always)]
    pub fn may_have_something(&self) -> bool {
        if self.usual.is_open() {
            return self.receiver.owes_ack() || self.sender.may_have_something();
        }
        self.state != State::Established
            || self.send_reset
            || self.probe_window
            || self.receiver.owes_ack()
            || self.extras.as_deref().is_some_and(Extras::is_due)
            || self.sender.may_have_something()
    }

    fn established_segment(&mut self, now: SimTime, offer: &Offer, packet: &mut Packet) -> Option<Written> {
        if offer.may_send
            && let Some(transmission) = self.sender.next(now)
        {
            self.data(now, transmission, offer, packet);
            return Some(Written::data(&transmission));
        }
        if let Some(poll) = self.sender.take_poll(now) {
            return Some(self.signal(now, poll, packet));
        }
        if std::mem::take(&mut self.probe_window) {
            // Below snd_una: the peer must answer with its window (RFC 9293 3.8.6.1).
            self.bare_ack(now, Seq(self.sender.una().0 - 1), offer, packet);
            return Some(Written::LAST);
        }
        if self.receiver.ack_is_due(now) {
            self.bare_ack(now, self.sender.nxt(), offer, packet);
            return Some(Written::LAST);
        }
        // Probes and their answers go last.
        let answer = self.extras.as_deref_mut().and_then(Extras::next_signal);
        let probe = match answer {
            None if offer.may_send => self.sender.take_dummy()?,
            answer => answer?,
        };
        Some(self.signal(now, probe, packet))
    }

    /// A segment without data, for what `signal` says.
    #[cold]
    fn signal(&self, now: SimTime, signal: SpaceSignal, packet: &mut Packet) -> Written {
        self.header(now, self.sender.nxt(), packet).flags = Flags { ack: true, ..Flags::default() };
        packet.add_signal(signal);
        Written::CONTROL
    }

    fn data(&mut self, now: SimTime, transmission: Transmission, offer: &Offer, packet: &mut Packet) {
        let segment = self.header(now, transmission.seq, packet);
        self.receiver.acknowledge_into(now, offer.sack_blocks[0], &mut segment.sack);
        self.receiver.acknowledged_with_data(now);
        let ece = self.ecn.echoes();
        let psh = self.sender.ends_unit(now, transmission.len);
        segment.flags = Flags { ack: true, fin: transmission.fin, psh, ece, ..Flags::default() };
        if transmission.len > 0 {
            self.receiver.data_leaves(now);
        }
        // Sections 6.1.2 and 6.1.5: new data alone may be marked, and says that the window was reduced.
        let markable = self.ecn.is_on() && transmission.len > 0 && !transmission.retransmission;
        if markable {
            segment.flags.cwr = self.sender.take_window_reduced();
        }
        segment.len = transmission.len;
        packet.ecn = if markable { Ecn::Ect0 } else { Ecn::NotEct };
        packet.retransmission = transmission.retransmission;
    }

    fn bare_ack(&mut self, now: SimTime, seq: Seq, offer: &Offer, packet: &mut Packet) {
        let segment = self.header(now, seq, packet);
        self.receiver.acknowledge_into(now, offer.sack_blocks[1], &mut segment.sack);
        let report = self.receiver.report_into(now, segment);
        segment.flags = Flags { ack: true, ece: self.ecn.echoes(), ..Flags::default() };
        if let Some(signal) = report {
            packet.add_signal(signal);
        }
    }

    /// Fills in what all segments have; nothing of what `packet` held before remains.
    fn header<'p>(&self, now: SimTime, seq: Seq, packet: &'p mut Packet) -> &'p mut TcpSegment {
        let echo = self.receiver.ts_recent();
        let segment = packet.restart_tcp(self.path);
        segment.flags = Flags::default();
        segment.len = 0;
        segment.seq = seq;
        segment.ack = self.receiver.next();
        segment.window = Bytes::ZERO;
        segment.timestamps = self.config.options.timestamps.then_some(Timestamps { value: now, echo });
        segment.sack.clear();
        segment.mptcp = MptcpOption::None;
        segment
    }

    /// The next deadline, `NEVER` if none.
    #[inline]
    pub fn next_deadline(&self) -> SimTime {
        if self.usual.is_open() {
            return self.sender.next_deadline().min(self.receiver.ack_deadline());
        }
        match self.state {
            State::Idle | State::Dead(_) => SimTime::NEVER,
            State::SynSent | State::SynReceived => self.handshake.deadline(),
            State::Established => self.sender.next_deadline().min(self.receiver.ack_deadline()),
        }
    }

    /// Acts on the deadlines that are due; a delayed ACK needs nothing but the following `poll_transmit`.
    pub fn on_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        if self.death().is_some() {
            return Expired::Quiet;
        }
        match self.handshake.expire(now, self.config.timers.syn_retries, &self.config.timers.rto) {
            SynTimer::Waits => {}
            SynTimer::Repeats => return Expired::Quiet,
            SynTimer::GivesUp => {
                self.state = State::Dead("no answer to the SYN");
                return Expired::GaveUp;
            }
        }
        if self.sender.next_deadline() > now {
            return Expired::Quiet;
        }
        let expired = self.sender.on_timeout(now, paths);
        self.usual.leave();
        match expired {
            Expired::GaveUp => self.abort("too many timeouts"),
            Expired::ProbeWindow => self.probe_window = true,
            Expired::Quiet | Expired::Timeout { .. } => {}
        }
        self.look_for_usual_way();
        self.check();
        expired
    }

    /// Asks the peer for its window with the next segment.
    pub fn probe_window(&mut self) {
        self.usual.leave();
        self.probe_window = true;
    }

    /// A pure acknowledgement leaves at once.
    pub fn acknowledge_now(&mut self) {
        if self.receiver.acknowledges() {
            self.receiver.acknowledge_now();
        }
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The sending half, to be given data.
    pub fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The receiving half, to be told what its owner wants of it.
    pub fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// True after the handshake and before death.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Why it died, if it did.
    pub fn death(&self) -> Option<&'static str> {
        match self.state {
            State::Dead(why) => Some(why),
            _ => None,
        }
    }

    /// When the handshake was complete.
    pub fn established_at(&self) -> Option<SimTime> {
        self.handshake.complete_at()
    }

    /// SYN transmissions that were not answered in time.
    pub fn syn_tries(&self) -> u32 {
        self.handshake.tries()
    }

    /// Round-trip time for receive-buffer tuning: that of arrived data by its timestamps, or the sender's where there are none.
    pub fn receive_rtt(&self) -> Option<Nanos> {
        if self.config.options.timestamps { self.receive_rtt.get() } else { self.sender.rtt().srtt() }
    }

    /// The largest window to offer so far.
    #[inline]
    pub fn window_limit(&self) -> Bytes {
        if self.is_established() { self.opening.limit() } else { self.opening.limit_of_syn() }
    }

    /// A segment of `len` bytes has brought something new, and the buffer could offer `room` bytes: the window may open.
    /// While it does each segment is acknowledged at once. True if it has opened.
    #[inline]
    pub fn open_window(&mut self, len: u32, room: Bytes) -> bool {
        let opens = self.opening.on_segment(u64::from(len), room);
        if opens && self.receiver.acknowledges() {
            self.receiver.window_opened();
        }
        opens
    }

    /// State of the sender, or of the handshake.
    pub fn state(&self) -> SenderState {
        match self.state {
            State::Idle | State::SynSent | State::SynReceived => SenderState::Handshake,
            State::Established => self.sender.state(),
            State::Dead(_) => SenderState::Closed,
        }
    }

    /// Reason why it does not send (more). `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Limit {
        match self.state {
            State::Idle | State::SynSent | State::SynReceived => Limit::Handshake,
            State::Established => self.sender.limit(more),
            State::Dead(_) => Limit::PathDown,
        }
    }

    /// Brings the view for the congestion controls of siblings up to date; `usable` false keeps it out of the coupling.
    #[inline]
    pub fn show_path(&self, view: &mut PathView, usable: bool) {
        self.sender.show_path(view, usable && self.is_established());
    }
}
