//! One end of a TCP connection or of an MPTCP subflow: handshake and close around a sender and a receiver
//! (RFC 9293 section 3.10).
//!
//! It does not own a byte stream: its owner (`connection.rs`, or an MPTCP connection) gives it ranges to send,
//! is told which ranges have become deliverable. The window to advertise, MPTCP options and the size on the wire
//! are the owner's business too.
//!
//! Deviation: no simultaneous open, no TIME-WAIT clock (nothing reuses ports); an endpoint whose connection is
//! finished still answers a retransmitted FIN.

use std::sync::Arc;

use congestion::{CongestionControl, PathView, Paths};
use units::{Bytes, Nanos, SimTime};

use super::ecn::EcnState;
use super::receiver::{Arrival, Receiver};
use super::segment::{Flags, TcpSegment, Timestamps};
use super::sender::{Expired, Sender, SenderState, Transmission};
use crate::config::{LossMeans, Reliability, TcpConfig};
use crate::limit::Limit;
use crate::mptcp::option::{Dss, MptcpOption};
use crate::packet::{Ecn, Packet, PathId};
use crate::seq::{Dsn, Seq};
use crate::space::{Reports, SnackReporter, SpaceSignal, StpReporter};

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

/// What the owner lets the endpoint put into its segments.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// SACK blocks that fit beside the other options of a segment with data, and without.
    pub sack_blocks: [usize; 2],
    /// New or repeated data may leave (false: a joined subflow waits for its fourth ACK).
    pub may_send: bool,
}

/// What a segment changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Input {
    /// The handshake is complete with this segment.
    pub established: bool,
    /// Payload or FIN arrived.
    pub arrival: Option<Arrival>,
    /// The peer acknowledged new bytes.
    pub acked: bool,
    /// The peer reset the connection.
    pub reset: bool,
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
    /// SYN or SYN/ACK retransmission.
    syn_deadline: SimTime,
    syn_tries: u32,
    syn_sent_at: SimTime,
    /// The SYN/ACK has left twice because the SYN arrived twice.
    syn_repeated: bool,
    send_syn: bool,
    send_reset: bool,
    probe_window: bool,
    established_at: Option<SimTime>,
    /// Round-trip time as the data receiver sees it, from echoed timestamps.
    receive_rtt: Option<Nanos>,
    /// The peer's SYN has shown the capabilities of SCPS-TP, and this end has them too.
    scps: bool,
    /// Dummies of the peer that have not been answered.
    unanswered_dummies: u32,
}

/// STP needs no negotiation; SCPS-TP starts to report when both ends have shown that they can.
fn new_receiver(config: &TcpConfig) -> Receiver {
    let mut receiver = Receiver::new(config.ack, config.sack);
    if config.reliability == Reliability::Poll {
        receiver.report_by(Reports::Stp(StpReporter::default()));
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
            receiver: new_receiver(&config),
            ecn: EcnState::new(config.ecn),
            config,
            path,
            state: State::Idle,
            syn_deadline: SimTime::NEVER,
            syn_tries: 0,
            syn_sent_at: SimTime::ZERO,
            syn_repeated: false,
            send_syn: false,
            send_reset: false,
            probe_window: false,
            established_at: None,
            receive_rtt: None,
            scps: false,
            unanswered_dummies: 0,
        }
    }

    /// Active open: a SYN becomes ready.
    pub fn open(&mut self) {
        debug_assert_eq!(self.state, State::Idle);
        self.state = State::SynSent;
        self.send_syn = true;
    }

    /// Gives up at once; the peer gets a RST.
    pub fn abort(&mut self, why: &'static str) {
        self.send_reset = !matches!(self.state, State::Idle | State::Dead(_));
        self.state = State::Dead(why);
    }

    /// Another sender, before anything was given to the first one.
    pub fn replace_sender(&mut self, mss: Bytes, congestion: Box<dyn CongestionControl>) {
        debug_assert!(self.established_at.is_none(), "the sender is in use");
        self.sender = Sender::new(Arc::clone(&self.config), mss, congestion, true);
    }

    /// Is gone without a word: its address has left, or the peer's.
    pub fn vanish(&mut self, why: &'static str) {
        self.state = State::Dead(why);
    }

    /// Dead already, it says so once more.
    pub fn reset_again(&mut self) {
        self.send_reset = matches!(self.state, State::Dead(_));
    }

    /// Takes in a packet; one that carries no segment of TCP changes nothing.
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet, paths: Paths<'_>) -> Input {
        let Some(segment) = packet.segment() else { return Input::default() };
        let signal = packet.signal();
        if segment.flags.rst {
            self.state = State::Dead("reset by the peer");
            return Input { reset: true, ..Input::default() };
        }
        let mut input = Input::default();
        match self.state {
            State::Dead(_) => return input,
            State::Idle if segment.flags.syn => {
                self.receiver.note_timestamp(segment);
                self.ecn.on_syn(segment.flags);
                self.scps = signal == Some(&SpaceSignal::ScpsCapable) && self.config.speaks_scps();
                self.state = State::SynReceived;
                self.send_syn = true;
                return input;
            }
            State::SynReceived if segment.flags.syn => {
                // RFC 7323 section 4.3: what answers it must echo it, and not the SYN before it.
                self.receiver.note_timestamp(segment);
                self.send_syn = true;
                self.syn_repeated = true;
                return input;
            }
            State::SynSent if segment.flags.syn && segment.flags.ack => {
                self.receiver.note_timestamp(segment);
                self.ecn.on_syn(segment.flags);
                self.scps = signal == Some(&SpaceSignal::ScpsCapable);
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
        match signal {
            Some(SpaceSignal::Dummy { .. }) => {
                self.unanswered_dummies += 1;
                return input;
            }
            Some(SpaceSignal::DummyAnswer) => {
                self.sender.on_dummy_answer(now);
                return input;
            }
            _ => {}
        }
        self.receiver.note_timestamp(segment);
        if segment.flags.ack {
            input.acked =
                self.sender.on_ack(now, (segment, signal), Seq(segment.ack) + segment.window, paths);
        }
        let before = self.receiver.next();
        if segment.len > 0 || segment.flags.fin || segment.seq < before {
            self.measure_as_receiver(now, segment);
            self.ecn.on_segment(packet.ecn, segment.flags);
            input.arrival = Some(self.receiver.on_segment(now, segment));
        }
        if let Some(SpaceSignal::Poll { number }) = signal {
            self.receiver.on_poll(*number, segment.seq);
        }
        input
    }

    fn measure_as_receiver(&mut self, now: SimTime, segment: &TcpSegment) {
        let Some(echo) = segment.timestamps.map(|t| t.echo).filter(|e| !e.is_never()) else { return };
        let sample = now.since(echo);
        let rtt = self.receive_rtt.map_or(sample, |rtt| Nanos((7 * rtt.0 + sample.0) / 8));
        self.receive_rtt = Some(rtt);
        if self.receiver.wants_round_trip() {
            self.receiver.note_round_trip(sample);
        }
    }

    fn establish(&mut self, now: SimTime, segment: &TcpSegment) {
        self.state = State::Established;
        self.syn_deadline = SimTime::NEVER;
        self.send_syn = false;
        self.established_at = Some(now);
        let echoed = segment.timestamps.map(|t| t.echo).filter(|e| !e.is_never());
        // Karn: which transmission is answered?
        let clean = (self.syn_tries == 0 && !self.syn_repeated).then_some(self.syn_sent_at);
        let rtt = echoed.or(clean).map(|sent_at| now.since(sent_at));
        self.sender.on_established(now, segment.window, rtt, self.syn_tries > 0);
        if let Some(rtt) = rtt {
            self.receiver.note_round_trip(rtt);
        }
        if matches!(self.config.reliability, Reliability::Snack { .. }) {
            self.agree_on_scps();
        }
    }

    /// Both ends speak SCPS-TP, or it is TCP as RFC 6582 has it.
    fn agree_on_scps(&mut self) {
        if self.scps {
            self.receiver.report_by(Reports::Snack(SnackReporter::new(self.config.mss.0)));
            return;
        }
        let mut plain = TcpConfig::clone(&self.config);
        plain.reliability = Reliability::Acknowledged;
        plain.loss_means = LossMeans::Congestion;
        plain.ack.per_round_trip = 0;
        self.config = Arc::new(plain);
        self.sender.fall_back(Arc::clone(&self.config));
        self.receiver.fall_back(self.config.ack);
    }

    /// Writes the next segment into `packet`, without window, size and range; call until `None`. In place, because
    /// a packet is large and this happens for each.
    pub fn poll_transmit(&mut self, now: SimTime, offer: &Offer, packet: &mut Packet) -> Option<()> {
        if std::mem::take(&mut self.send_reset) {
            let segment = self.header(now, self.sender.nxt(), packet);
            segment.flags = Flags { rst: true, ack: true, ..Flags::default() };
            return Some(());
        }
        match self.state {
            State::Idle | State::Dead(_) => None,
            State::SynSent | State::SynReceived => self.syn(now, packet),
            State::Established => self.established_segment(now, offer, packet),
        }
    }

    /// False if `poll_transmit` would find nothing, which is cheaper to tell than to find out.
    pub fn may_have_something(&self) -> bool {
        self.state != State::Established
            || self.send_reset
            || self.probe_window
            || self.receiver.owes_ack()
            || self.unanswered_dummies > 0
            || self.sender.may_have_something()
    }

    fn syn(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        if !std::mem::take(&mut self.send_syn) {
            return None;
        }
        if self.syn_deadline.is_never() {
            self.syn_sent_at = now;
        }
        let timeout = self.config.rto.initial.saturating_mul(1 << self.syn_tries.min(16));
        self.syn_deadline = now + timeout.min(self.config.rto.max);
        let passive = self.state == State::SynReceived;
        if passive {
            self.receiver.acknowledge(0);
        }
        let segment = self.header(now, Seq::SYN, packet);
        segment.flags = Flags { syn: true, ack: passive, ..Flags::default() };
        self.ecn.offer(passive, &mut segment.flags);
        segment.ack = u64::from(passive);
        packet.retransmission = self.syn_tries > 0;
        if self.scps || (!passive && matches!(self.config.reliability, Reliability::Snack { .. })) {
            packet.add_signal(SpaceSignal::ScpsCapable);
        }
        Some(())
    }

    fn established_segment(&mut self, now: SimTime, offer: &Offer, packet: &mut Packet) -> Option<()> {
        if offer.may_send
            && let Some(transmission) = self.sender.next(now)
        {
            self.data(now, transmission, offer, packet);
            return Some(());
        }
        if let Some(number) = self.sender.take_poll(now) {
            self.header(now, self.sender.nxt(), packet).flags = Flags { ack: true, ..Flags::default() };
            packet.add_signal(SpaceSignal::Poll { number });
            return Some(());
        }
        if std::mem::take(&mut self.probe_window) {
            // Below snd_una: the peer must answer with its window (RFC 9293 3.8.6.1).
            self.bare_ack(now, Seq(self.sender.una().0 - 1), offer, packet);
            return Some(());
        }
        if self.receiver.ack_is_due(now) {
            self.bare_ack(now, self.sender.nxt(), offer, packet);
            return Some(());
        }
        let signal = self.dummy_or_answer(offer)?;
        self.header(now, self.sender.nxt(), packet).flags = Flags { ack: true, ..Flags::default() };
        packet.add_signal(signal);
        Some(())
    }

    /// What goes last.
    fn dummy_or_answer(&mut self, offer: &Offer) -> Option<SpaceSignal> {
        if self.unanswered_dummies > 0 {
            self.unanswered_dummies -= 1;
            return Some(SpaceSignal::DummyAnswer);
        }
        let dummy = offer.may_send && self.sender.take_dummy();
        dummy.then(|| SpaceSignal::Dummy { len: self.sender.mss() as u32 })
    }

    fn data(&mut self, now: SimTime, transmission: Transmission, offer: &Offer, packet: &mut Packet) {
        let segment = self.header(now, transmission.seq, packet);
        self.receiver.acknowledge_into(offer.sack_blocks[0], &mut segment.sack);
        self.receiver.acknowledged_with_data(now);
        let ece = self.ecn.echoes();
        segment.flags = Flags { ack: true, fin: transmission.fin, ece, ..Flags::default() };
        // Sections 6.1.2 and 6.1.5: new data alone may be marked, and says that the window was reduced.
        let markable = self.ecn.is_on() && transmission.len > 0 && !transmission.retransmission;
        if markable {
            segment.flags.cwr = self.sender.take_window_reduced();
        }
        segment.len = transmission.len;
        if transmission.dsn > Dsn(0) {
            segment.mptcp =
                MptcpOption::Dss(Dss { data_ack: None, dsn: Some(transmission.dsn.0), data_fin: false });
        }
        packet.ecn = if markable { Ecn::Ect0 } else { Ecn::NotEct };
        packet.retransmission = transmission.retransmission;
    }

    fn bare_ack(&mut self, now: SimTime, seq: Seq, offer: &Offer, packet: &mut Packet) {
        let segment = self.header(now, seq, packet);
        self.receiver.acknowledge_into(offer.sack_blocks[1], &mut segment.sack);
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
        segment.seq = seq.0;
        segment.ack = self.receiver.next();
        segment.window = Bytes::ZERO;
        segment.timestamps = self.config.timestamps.then_some(Timestamps { value: now, echo });
        segment.sack.clear();
        segment.mptcp = MptcpOption::None;
        segment
    }

    /// The next deadline, `NEVER` if none.
    pub fn next_deadline(&self) -> SimTime {
        match self.state {
            State::Idle | State::Dead(_) => SimTime::NEVER,
            State::SynSent | State::SynReceived => self.syn_deadline,
            State::Established => self.sender.next_deadline().min(self.receiver.ack_deadline()),
        }
    }

    /// Acts on the deadlines that are due; a delayed ACK needs nothing but the following `poll_transmit`.
    pub fn on_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        if self.syn_deadline <= now {
            self.syn_tries += 1;
            if self.syn_tries > self.config.syn_retries {
                self.state = State::Dead("no answer to the SYN");
                self.syn_deadline = SimTime::NEVER;
                return Expired::GaveUp;
            }
            self.send_syn = true;
            self.syn_deadline = now + self.config.rto.max;
            return Expired::Quiet;
        }
        if self.sender.next_deadline() > now {
            return Expired::Quiet;
        }
        let expired = self.sender.on_timeout(now, paths);
        match expired {
            Expired::GaveUp => self.abort("too many timeouts"),
            Expired::ProbeWindow => self.probe_window = true,
            Expired::Quiet | Expired::Timeout { .. } => {}
        }
        expired
    }

    /// Asks the peer for its window with the next segment.
    pub fn probe_window(&mut self) {
        self.probe_window = true;
    }

    /// A pure acknowledgement leaves at once.
    pub fn acknowledge_now(&mut self) {
        // STP says the window when it is polled.
        if self.config.reliability != Reliability::Poll {
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
        self.established_at
    }

    /// SYN transmissions that were not answered in time.
    pub fn syn_tries(&self) -> u32 {
        self.syn_tries
    }

    /// Round-trip time for receive-buffer tuning: measured by the receiver, or else by the sender.
    pub fn receive_rtt(&self) -> Option<Nanos> {
        self.receive_rtt.or(self.sender.rtt().srtt())
    }

    /// State of the sender, or of the handshake.
    pub fn state(&self) -> SenderState {
        match self.state {
            State::Idle | State::SynSent | State::SynReceived => SenderState::Handshake,
            State::Established => self.sender.state(),
            State::Dead(_) => SenderState::Closed,
        }
    }

    /// What keeps it from sending (more). `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Limit {
        match self.state {
            State::Idle | State::SynSent | State::SynReceived => Limit::Handshake,
            State::Established => self.sender.limit(more),
            State::Dead(_) => Limit::PathDown,
        }
    }

    /// What the siblings' congestion controls see; `usable` false keeps it out of the coupling.
    pub fn path_view(&self, usable: bool) -> PathView {
        self.sender.path_view(usable && self.is_established())
    }
}
