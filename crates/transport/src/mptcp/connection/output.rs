//! The next segment: what subflows have to send of their own, then signals of the connection, then data that is given to
//! subflows.

use schedulers::Queueing;
use units::{Bytes, SimTime};

use super::{ABORTED, MptcpConnection};
use crate::departure::Departure;
use crate::mptcp::negotiation::Mode;
use crate::mptcp::option::{Dss, Mapped, MptcpOption};
use crate::mptcp::signals::{FastCloseStep, Reply};
use crate::mptcp::subflow::{Join, Subflow};
use crate::packet::{Body, Packet};
use crate::role::Role;
use crate::seq::{Dsn, Seq};
use crate::tcp::segment::{Flags, TcpSegment};

/// SYN retransmissions that still carry MP_CAPABLE; the next ones are plain, in case a middlebox drops the option
/// (choice D-41).
const CAPABLE_SYN_RETRIES: u32 = 2;
/// DATA_FINs without an answer on the only subflow, before its FIN must do.
const DATA_FIN_TRIES: usize = 3;

/// The next segment.
impl MptcpConnection {
    /// Writes the next packet into `packet`; call until there is none.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if !self.usual.is_open() {
            return self.poll_any(now, packet);
        }
        if self.send.unassigned() == 0 { self.poll_answer(now, packet) } else { self.poll_data(now, packet) }
    }

    #[inline(never)]
    fn poll_any(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if self.subflows.are_idle()
            && self.placement.needs().queueing == Queueing::Never
            && self.has_said_everything()
        {
            self.watch_progress(now);
            return Departure::NOTHING;
        }
        let found = self.find_packet(now, packet);
        self.look_for_usual_way();
        self.check();
        if found.is_some() { Departure::PACKET } else { Departure::NOTHING }
    }

    fn find_packet(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        let queues = self.placement.needs().queueing != Queueing::Never;
        let fragments = self.send.has_fragments() && self.is_open_for_data();
        let waits_for_push = fragments && self.meta.is_enabled();
        if fragments && (!waits_for_push || self.send.take_push()) {
            self.meta.note_placing(now, &self.subflows);
            // As in the kernel what is written is placed, and then sent: fragments that lie side by side are one.
            while self.placement.schedule(now, &mut self.send, &mut self.subflows).is_some() {}
        }
        while queues
            && self.is_open_for_data()
            && let Some(i) = self.placement.schedule_ahead(now, &mut self.send, &mut self.subflows)
        {
            if self.poll_subflow(now, i, packet).is_some() {
                return Some(());
            }
        }
        while let Some(i) = self.subflows.first_busy() {
            if self.poll_subflow(now, i, packet).is_some() {
                return Some(());
            }
            self.subflows.rest(i);
        }
        self.watch_progress(now);
        if self.has_said_everything() {
            return None;
        }
        if !self.signals.is_empty()
            && let Some(reply) = self.signals.take_reply()
        {
            self.write_reply(reply, packet);
            return Some(());
        }
        if self.lifetime.has_failed() {
            return self.fast_close_packet(now, packet);
        }
        if self.negotiation.mode() == Mode::Negotiating {
            return None;
        }
        if (!self.signals.is_empty() || self.send.wants_fin()) && self.signal(now, packet).is_some() {
            return Some(());
        }
        // New data has been placed above; without a reason to push only data to be sent again goes on.
        while !(waits_for_push && self.send.reinject().is_empty())
            && let Some(i) = self.placement.schedule(now, &mut self.send, &mut self.subflows)
        {
            if self.poll_subflow(now, i, packet).is_some() {
                return Some(());
            }
        }
        self.send.watch_window(now, &self.subflows);
        None
    }

    /// Data that waits may be placed ahead of what is queued on subflows.
    #[inline]
    fn is_open_for_data(&self) -> bool {
        self.negotiation.is_multipath() && !self.lifetime.has_failed()
    }

    /// Nothing is to be sent, beside what subflows have of their own: the usual state of an end that only receives.
    #[inline]
    fn has_said_everything(&self) -> bool {
        let needs = self.placement.needs();
        !self.send.has_data()
            && !self.send.wants_fin()
            && self.signals.is_empty()
            && !self.lifetime.has_failed()
            && !needs.head
            && !needs.copies
    }

    #[inline(never)]
    fn poll_subflow(&mut self, now: SimTime, i: usize, packet: &mut Packet) -> Option<()> {
        let mapped = self.subflows.poll_transmit(now, i, packet)?;
        self.add_option(i, mapped, packet);
        self.complete(packet);
        Some(())
    }

    /// Adds the MPTCP option to a segment of subflow `i` whose payload has this mapping.
    #[inline]
    pub(super) fn add_option(&mut self, i: usize, mapped: Option<Mapped>, packet: &mut Packet) {
        let Some(segment) = packet.segment_mut() else { return };
        segment.flags.psh |= mapped.is_some() && self.is_last_on(i);
        let usual = self.usual.is_open() || self.is_usual(i);
        if usual && !segment.flags.syn && !segment.flags.rst {
            // In place: an option is large.
            segment.mptcp = self.dss(mapped);
        } else {
            segment.mptcp = self.option_of_others(i, mapped, segment);
            self.sizes.fit_sack(segment);
        }
    }

    /// Subflow `i` has sent what it was given, and that was all there is: the last segment has PSH (RFC 9293 section 3.9.1.2). Data
    /// that a scheduler queues on a subflow is pushed, as in Linux (`mptcp_push_release`).
    #[inline]
    fn is_last_on(&self, i: usize) -> bool {
        let queues = self.placement.needs().queueing != Queueing::Never;
        (queues || self.send.unassigned() == 0)
            && self.subflows.get(i).is_some_and(|subflow| subflow.sender().unsent() == 0)
    }

    /// Writes an ACK of subflow `i` with this option.
    fn write_bare_ack(
        &mut self,
        now: SimTime,
        i: usize,
        option: MptcpOption,
        packet: &mut Packet,
    ) -> Option<()> {
        self.subflows.poll_bare_ack(now, i, packet)?;
        packet.segment_mut()?.mptcp = option;
        self.complete(packet);
        Some(())
    }

    /// Adds the window, and what the envelope says of the segment.
    #[inline]
    pub(super) fn complete(&mut self, packet: &mut Packet) {
        let i = packet.path.index();
        let window = self.receive.offer_window(self.subflows.held(), self.subflows.window_limit(i));
        self.note_told(i, window, packet);
        self.sizes.complete(packet, window);
    }

    /// Where it matters which window each subflow has advertised, notes this one.
    #[inline]
    pub(super) fn note_told(&mut self, i: usize, window: Bytes, packet: &Packet) {
        if self.receive.is_by_subflow()
            && let Body::Tcp(segment) = &packet.body
        {
            self.subflows.note_told(i, segment.ack, window);
        }
    }

    /// Writes the answer to the SYN of a subflow that does not exist.
    #[cold]
    fn write_reply(&mut self, Reply { path, refusal }: Reply, packet: &mut Packet) {
        let flags = Flags { syn: refusal.is_none(), rst: refusal.is_some(), ack: true, ..Flags::default() };
        let mptcp = refusal.map_or(MptcpOption::None, MptcpOption::Reset);
        *packet =
            Packet::tcp(path, TcpSegment { flags, ack: Seq::FIRST_DATA, mptcp, ..TcpSegment::default() });
        self.sizes.complete(packet, Bytes::ZERO);
        debug_assert_eq!(packet.payload, 0, "a reply has no payload");
    }
}

/// Options.
impl MptcpConnection {
    /// The MPTCP option of a segment of subflow `i` that is not of the usual kind; its payload has this mapping.
    #[cold]
    fn option_of_others(&self, i: usize, mapped: Option<Mapped>, segment: &TcpSegment) -> MptcpOption {
        if self.negotiation.is_fallback() {
            MptcpOption::None
        } else if segment.flags.rst {
            self.reset_option(i)
        } else if segment.flags.syn {
            self.syn_option(i)
        } else {
            self.option_of_handshake(i, mapped, segment)
        }
    }

    #[inline]
    fn dss(&self, mapped: Option<Mapped>) -> MptcpOption {
        MptcpOption::Dss(Dss::new(self.receive.next(), mapped))
    }

    fn syn_option(&self, i: usize) -> MptcpOption {
        let Self { negotiation, addresses, .. } = self;
        let Some(subflow) = self.subflows.get(i) else { return MptcpOption::None };
        let id = subflow.pair().local.map_or(0, |address| addresses.id_of(address));
        let backup = subflow.backup_told();
        match (subflow.join(), negotiation.role()) {
            (Join::First, Role::Client) if subflow.endpoint().syn_tries() <= CAPABLE_SYN_RETRIES => {
                MptcpOption::CapableSyn
            }
            (Join::First, Role::Server) => MptcpOption::CapableSynAck(negotiation.own_key()),
            (Join::SynSent(nonce), _) => {
                let token = negotiation.peer_key().token();
                MptcpOption::JoinSyn { token, nonce, addresses: subflow.pair(), id, backup }
            }
            (Join::AwaitingThirdAck { own, peer }, _) => {
                let hmac = negotiation.syn_ack_hmac(own, peer);
                MptcpOption::JoinSynAck { hmac, nonce: own, id, backup }
            }
            _ => MptcpOption::None,
        }
    }

    /// The option of a segment while keys or MP_JOIN are not confirmed.
    fn option_of_handshake(&self, i: usize, mapped: Option<Mapped>, segment: &TcpSegment) -> MptcpOption {
        let negotiation = &self.negotiation;
        if let Some(Join::AwaitingFourthAck { own, peer, .. }) = self.subflows.get(i).map(Subflow::join) {
            return MptcpOption::JoinAck { hmac: negotiation.third_ack_hmac(own, peer) };
        }
        if negotiation.mode() == Mode::Negotiating && negotiation.role() == Role::Server {
            // The client sends its key until a DSS confirms it, so without the key there is no DSS.
            return MptcpOption::None;
        }
        let client = negotiation.role() == Role::Client;
        let keys_not_confirmed = i == 0 && client && !negotiation.is_fully_established();
        // RFC 8684 section 3.1: both keys in the third ACK and in the first data, until the peer shows it has them.
        if keys_not_confirmed && (segment.len == 0 || segment.seq == Seq::FIRST_DATA) {
            debug_assert!(
                mapped.is_none_or(|mapped| mapped.dsn == Dsn::FIRST_DATA),
                "{mapped:?} is not the first"
            );
            let (sender, receiver) = (negotiation.own_key(), negotiation.peer_key());
            return MptcpOption::capable_ack(sender, receiver, mapped);
        }
        self.dss(mapped)
    }

    /// The option of a RST of subflow `i`.
    fn reset_option(&self, i: usize) -> MptcpOption {
        if !self.negotiation.is_multipath() {
            return MptcpOption::None;
        }
        if self.signals.resets_carry_fast_close() {
            return MptcpOption::FastClose { key: self.negotiation.peer_key() };
        }
        let reason = self.subflows.get(i).and_then(Subflow::reset_reason);
        reason.map_or(MptcpOption::None, MptcpOption::Reset)
    }
}

/// Signals.
impl MptcpConnection {
    /// ADD_ADDR, its echo, REMOVE_ADDR, MP_PRIO, DATA_FIN: they travel in ACKs of their own.
    #[cold]
    fn signal(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        // Before the peer is known to have the keys every segment must carry them.
        if self.negotiation.is_fully_established()
            && let Some((i, option)) = self.signals.next_notice(self.receive.next(), &self.subflows)
            && self.write_bare_ack(now, i, option, packet).is_some()
        {
            return Some(());
        }
        if self.signals.is_announcement_due(now) {
            let rto = self.subflows.longest_rto(0);
            if let Some(i) = self.subflows.for_signals(0, self.send.quantum()) {
                let data_ack = self.receive.next();
                let option = self.signals.next_announcement(now, rto, data_ack, &self.negotiation)?;
                return self.write_bare_ack(now, i, option, packet);
            }
            self.signals.defer_announcements(now + rto);
        }
        if !self.send.wants_fin() || self.send.unassigned() > 0 {
            return None;
        }
        self.data_fin(now, packet)
    }

    fn data_fin(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        // Nothing else shows that a middlebox takes DATA_FIN away, or its acknowledgement.
        if self.negotiation.is_multipath()
            && self.send.fin_tries() >= DATA_FIN_TRIES
            && self.negotiation.is_fully_established()
            && self.subflows.count() == 1
        {
            self.fall_back_late();
        }
        if self.negotiation.is_fallback() {
            self.send.fin_is_that_of_tcp();
            self.subflows.get_mut(0)?.finish();
            return self.poll_subflow(now, 0, packet);
        }
        let tries = self.send.fin_tries();
        let i = self.subflows.for_signals(tries, self.send.quantum());
        let backoff = u32::try_from(tries).unwrap_or(u32::MAX);
        self.send.fin_leaves(now + self.subflows.longest_rto(backoff));
        let end = Dss::new(self.receive.next(), Some(Mapped::alone(self.send.written())));
        self.write_bare_ack(now, i?, MptcpOption::Dss(Dss { data_fin: true, ..end }), packet)
    }

    /// MP_FASTCLOSE on an ACK, as long as no RST has answered it.
    #[cold]
    fn fast_close_packet(&mut self, now: SimTime, packet: &mut Packet) -> Option<()> {
        match self.signals.next_fast_close(now, &self.subflows)? {
            FastCloseStep::Reset(i) => {
                self.subflows.get_mut(i)?.abort(ABORTED);
                self.poll_subflow(now, i, packet)
            }
            FastCloseStep::Send(i) => {
                let option = MptcpOption::FastClose { key: self.negotiation.peer_key() };
                self.write_bare_ack(now, i, option, packet)?;
                self.subflows.rest(i);
                Some(())
            }
        }
    }
}
