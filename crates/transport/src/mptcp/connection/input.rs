//! A segment or a deadline arrives.

use units::{Bytes, SimTime};

use super::{ABORTED, MptcpConnection, PEER_ABORTED, PEER_ADDRESS_LEFT};
use crate::arrival::Arrival;
use crate::config::{Reassembly, Reinjection};
use crate::mptcp::keys::Key;
use crate::mptcp::negotiation::Progress;
use crate::mptcp::option::{Dss, MptcpOption, ResetReason};
use crate::mptcp::signals::Reply;
use crate::mptcp::subflow::{Join, Subflow};
use crate::packet::{Packet, PathId};
use crate::role::Role;
use crate::seq::Dsn;
use crate::tcp::endpoint::Input;
use crate::tcp::receiver::Received;
use crate::tcp::segment::TcpSegment;
use crate::tcp::sender::Expired;

/// The DSS of a segment; an empty one if it has none.
#[inline]
fn dss_of(segment: &TcpSegment) -> Dss {
    match segment.mptcp {
        MptcpOption::Dss(dss) => dss,
        MptcpOption::CapableAck { .. } => Dss { dsn: segment.mptcp.mapping(), ..Dss::default() },
        MptcpOption::AddAddr { data_ack, .. }
        | MptcpOption::RemoveAddr { data_ack, .. }
        | MptcpOption::Prio { data_ack, .. } => Dss { data_ack: Some(data_ack), ..Dss::default() },
        _ => Dss::default(),
    }
}

/// Segments.
impl MptcpConnection {
    /// Takes in a packet; one that carries no segment of TCP is ignored.
    #[inline(never)]
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        if !self.usual.is_open() {
            return self.on_any_packet(now, packet);
        }
        if packet.payload > 0 { self.on_next_data(now, packet) } else { self.on_new_ack(now, packet) }
    }

    /// Takes in a packet that is not of the most usual kinds.
    #[inline(never)]
    pub(super) fn on_any_packet(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        if !self.on_data_or_ack(now, packet)
            && let Some(segment) = packet.segment()
        {
            self.usual.leave();
            self.take_in(now, packet, segment);
            self.look_for_usual_way();
        }
        self.check();
        Arrival::Any
    }

    #[inline(never)]
    fn take_in(&mut self, now: SimTime, packet: &Packet, segment: &TcpSegment) {
        let i = packet.path.index();
        let flags = segment.flags;
        let usual =
            matches!(segment.mptcp, MptcpOption::Dss(_)) && !flags.syn && !flags.rst && self.is_usual(i);
        if !usual && !self.admits(now, packet.path, segment) {
            return;
        }
        let Some(input) = self.pass_to_subflow(now, i, packet) else { return };
        if !usual {
            self.on_option(now, i, segment, &input);
        }
        let dss = dss_of(segment);
        if let Some(received) = input.received {
            self.open_window(i, segment, received);
            self.on_received(i, segment, dss.dsn, received);
            if received.has_filled_gap(segment.len) {
                self.receive.tell_before_read(self.subflows.held(), self.subflows.largest_window_limit());
            }
        }
        self.on_data_ack(i, segment, dss);
        if input.reset || (!usual && self.subflows.is_refused(i)) {
            self.subflow_died(now, i);
        }
        self.subflows.after_segment(i);
        self.watch_progress(now);
        self.follow_the_peer();
    }

    /// Subflow `i` takes in a packet; `None` if it does not exist.
    #[inline]
    pub(super) fn pass_to_subflow(&mut self, now: SimTime, i: usize, packet: &Packet) -> Option<Input> {
        // Only a sender with data in flight has a congestion control that may look at its siblings.
        if !self.send.outstanding().is_empty() {
            self.subflows.freshen_paths();
        }
        let waits = self.send.waits_to_expand(&self.subflows);
        let input = self.subflows.on_packet(now, i, packet)?;
        if input.acked {
            self.placement.note_ack();
        }
        if waits {
            self.send.expand(now, i, &mut self.subflows);
        }
        Some(input)
    }

    /// Nothing is to be negotiated any more, neither on the connection nor on subflow `i`.
    #[inline]
    pub(super) fn is_usual(&self, i: usize) -> bool {
        self.negotiation.is_multipath()
            && self.negotiation.is_fully_established()
            && !self.lifetime.has_failed()
            && self.subflows.is_settled(i)
    }

    /// Data may have been given to subflows, or acknowledged: sets the timer of the connection.
    #[inline]
    pub(super) fn watch_progress(&mut self, now: SimTime) {
        self.meta.watch(now, self.negotiation.is_multipath(), &self.send, &self.subflows);
    }

    /// A segment that is not of the usual kind. False if nothing more is to be done with it.
    #[cold]
    fn admits(&mut self, now: SimTime, path: PathId, segment: &TcpSegment) -> bool {
        let i = path.index();
        if self.lifetime.has_failed() {
            self.after_the_end(i, segment);
            return false;
        }
        if self.subflows.get(i).is_none() && !self.accept_join(path, segment) {
            return false;
        }
        if self.subflows.is_refused(i) {
            // The RST was lost.
            if !segment.flags.rst {
                self.subflows.activate(i).into_iter().for_each(Subflow::reset_again);
            }
            return false;
        }
        let opening = i == 0
            && segment.flags.syn
            && self.subflows.get(0).is_some_and(|first| first.endpoint().established_at().is_none());
        if opening && !self.negotiation.on_syn(segment.mptcp, self.config.peer_capable) {
            // Plain TCP from the start: nothing was sent, so segments may be as large as those of TCP.
            self.fall_back();
            self.send.set_mss(self.tcp.segment.mss);
            self.subflows.replace_first_sender(self.tcp.segment.mss);
        }
        self.has_its_options(now, i, segment)
    }

    /// False if the segment must not be taken in: it has lost the options that it must have had, and its subflow is
    /// reset for it. The only subflow that there ever was goes on as plain TCP instead (RFC 8684 section 3.7): its
    /// sequence numbers are those of the data.
    fn has_its_options(&mut self, now: SimTime, i: usize, segment: &TcpSegment) -> bool {
        if self.negotiation.is_fallback() {
            return i == 0;
        }
        // After both DATA_FINs only the FIN exchange of each subflow is left, which needs no option (RFC 8684 section 3.3.3).
        if segment.mptcp != MptcpOption::None
            || !self.negotiation.is_multipath()
            || !self.negotiation.is_fully_established()
            || self.is_closed()
        {
            return true;
        }
        let Some(subflow) = self.subflows.get(i) else { return true };
        let flags = segment.flags;
        let acknowledges = flags.ack && segment.ack > subflow.sender().una();
        if flags.syn || flags.rst || !(segment.len > 0 || flags.fin || acknowledges) {
            return true;
        }
        let joined = matches!(subflow.join(), Join::First | Join::Joined | Join::AwaitingFourthAck { .. });
        let resets = joined && subflow.is_alive();
        if i == 0 && !self.subflows.has_ever_joined() {
            self.fall_back_late();
            return true;
        }
        // A FIN alone closes its subflow and maps no data (RFC 8684 section 3.3.3): as in Linux it needs no option.
        if !resets || !(segment.len > 0 || acknowledges) {
            return true;
        }
        if let Some(subflow) = self.subflows.activate(i) {
            subflow.refuse("a middlebox takes MPTCP options away", ResetReason::Middlebox);
        }
        self.subflow_died(now, i);
        false
    }

    /// A SYN for an unknown subflow. Returns true if the subflow now exists.
    fn accept_join(&mut self, path: PathId, segment: &TcpSegment) -> bool {
        if self.negotiation.role() != Role::Server || !segment.flags.syn || segment.flags.ack {
            return false;
        }
        let index = path.index();
        let MptcpOption::JoinSyn { token, nonce, addresses, id, backup } = segment.mptcp else {
            // A middlebox has taken MP_JOIN away: a listener takes it for a new connection.
            self.signals.reply(Reply { path, refusal: None });
            return false;
        };
        if !self.addresses.is_here(addresses.remote) {
            return false;
        }
        let known = self.negotiation.is_multipath() && token == self.negotiation.own_key().token();
        let refusal = if known {
            self.addresses.refuses_join(index, &self.subflows)
        } else {
            Some(ResetReason::Protocol)
        };
        if refusal.is_some() {
            self.signals.reply(Reply { path, refusal });
            return false;
        }
        let join = Join::AwaitingThirdAck { own: self.negotiation.nonce(index), peer: nonce };
        self.subflows.add(path, addresses.reversed(), join);
        self.addresses.peer_uses(addresses.local);
        self.lifetime.gained_subflow();
        if let Some(subflow) = self.subflows.get_mut(index) {
            subflow.tell_backup(self.addresses.is_backup(addresses.remote));
            subflow.ask_backup(backup);
            subflow.set_remote_id(id);
        }
        true
    }

    /// Payload arrived on subflow `i`: the receive window may open.
    #[inline]
    pub(super) fn open_window(&mut self, i: usize, segment: &TcpSegment, received: Received) {
        if received.fresh > Bytes::ZERO {
            self.subflows.open_window(i, segment.len, self.receive.size());
        }
    }

    /// Payload arrived: data in order on the subflow goes to the connection.
    #[inline(never)]
    pub(super) fn on_received(
        &mut self,
        i: usize,
        segment: &TcpSegment,
        mapped: Option<Dsn>,
        received: Received,
    ) {
        let fallback = self.negotiation.is_fallback();
        let dsn = if fallback { Some(Dsn(segment.seq.0)) } else { mapped };
        if segment.len > 0 && self.sizes.has_short_data_acks() {
            self.lengthen_data_acks();
        }
        let Self { subflows, receive, config, .. } = self;
        let Some(subflow) = subflows.get_changed(i) else { return };
        let gap = dsn.is_none_or(|dsn| dsn > receive.next());
        subflow.on_payload(segment.payload(), dsn, received, receive);
        if config.reassembly == Reassembly::Joint
            && subflow.is_time_to_release(received, segment.len > 0, gap)
        {
            subflows.release(receive);
        }
        if fallback && !receive.finished() && subflows.get(i).is_some_and(Subflow::has_ended) {
            receive.on_fin(receive.next());
        }
    }

    /// The peer has sent data: Data ACKs are long from now on, and leave less room for payload.
    #[cold]
    pub(super) fn lengthen_data_acks(&mut self) {
        let mss = self.sizes.lengthen_data_acks();
        if self.negotiation.is_multipath() {
            self.send.shorten_segments(mss);
            self.subflows.shorten_segments(mss);
        }
    }

    fn on_data_ack(&mut self, i: usize, segment: &TcpSegment, dss: Dss) {
        let fallback = self.negotiation.is_fallback();
        let data_ack = if fallback {
            Dsn(segment.ack.0).min(self.send.next())
        } else {
            // Handshake segments carry no Data ACK, but they do carry the first window.
            dss.data_ack.unwrap_or(Dsn::FIRST_DATA)
        };
        if dss.data_fin
            && !fallback
            && let Some(fin) = dss.dsn
        {
            self.receive.on_fin(fin);
            self.subflows.activate(i).into_iter().for_each(Subflow::acknowledge_now);
        }
        self.send.on_data_ack(data_ack, segment.window.0);
        if self.send.finished() {
            self.subflows.finish_all();
        }
    }
}

/// Options.
impl MptcpConnection {
    /// The MPTCP option of a segment that has been taken in on subflow `i`.
    #[cold]
    fn on_option(&mut self, now: SimTime, i: usize, segment: &TcpSegment, input: &Input) {
        if i == 0 {
            match self.negotiation.on_segment(segment) {
                Progress::None => {}
                Progress::FullyEstablished => self.become_fully_established(),
                Progress::FallBack => self.fall_back(),
            }
        } else if let Some(subflow) = self.subflows.get_mut(i)
            && subflow.on_join(now, segment, input.established, &self.negotiation)
        {
            self.became_usable(i);
        }
        match segment.mptcp {
            MptcpOption::AddAddr { id, echo: true, .. } => self.signals.on_echo(id),
            MptcpOption::AddAddr { id, address, hmac, .. }
                if self.negotiation.is_authentic_announcement(hmac, id, address) =>
            {
                self.signals.echo(id, address);
                self.addresses.peer_announces(id, address);
                self.open_missing();
            }
            MptcpOption::RemoveAddr { id, .. } => self.on_removal(now, id),
            MptcpOption::Prio { backup, .. } => {
                self.subflows.get_mut(i).into_iter().for_each(|s| s.ask_backup(backup));
            }
            MptcpOption::FastClose { key } => self.on_fast_close(key, segment.flags.rst),
            _ => {}
        }
    }

    /// Joins are allowed from here on.
    fn become_fully_established(&mut self) {
        // MP_CAPABLE has no B: what should be a backup from the start is declared now.
        if self.addresses.is_backup(self.addresses.first().local) {
            self.tell_priority(0, true);
        }
        self.open_missing();
        let addresses = self.addresses.to_announce(self.negotiation.role());
        self.announce(addresses);
    }

    /// The peer's address with this ID has left.
    fn on_removal(&mut self, now: SimTime, id: u8) {
        let uses = |s: &Subflow| match s.remote_id() {
            Some(known) => known == id,
            None => s.pair().remote == Some(id),
        };
        let named = self.subflows.iter().find(|s| uses(s)).and_then(|s| s.pair().remote);
        let address = named.unwrap_or(id);
        let newer = |s: &Subflow| s.is_alive() && s.pair().remote == Some(address) && !uses(s);
        let still_used = self.subflows.iter().any(newer);
        self.addresses.peer_withdraws(id, address, still_used);
        self.lose_subflows(now, PEER_ADDRESS_LEFT, uses);
    }

    /// MP_FASTCLOSE arrived: with an ACK it is answered by resets, with a RST the peer has gone already.
    fn on_fast_close(&mut self, key: Key, with_reset: bool) {
        if key != self.negotiation.own_key() || !self.negotiation.is_multipath() {
            return;
        }
        self.lifetime.fail(PEER_ABORTED);
        if with_reset {
            self.subflows.end_silently(PEER_ABORTED);
        } else {
            self.subflows.reset_all(PEER_ABORTED, self.signals.fast_close_on());
        }
    }

    /// A segment for a connection that has ended.
    fn after_the_end(&mut self, i: usize, segment: &TcpSegment) {
        let own_key = self.negotiation.own_key();
        let asked = matches!(segment.mptcp, MptcpOption::FastClose { key } if key == own_key);
        if self.subflows.get(i).is_none() {
            return;
        }
        if segment.flags.rst {
            self.subflows.get_mut(i).into_iter().for_each(|s| s.end_silently(ABORTED));
        } else if asked {
            // Both ends abort at the same time, or the RST was lost.
            if let Some(subflow) = self.subflows.activate(i) {
                subflow.abort(ABORTED);
                subflow.reset_again();
            }
        } else {
            return;
        }
        if self.signals.fast_close_on() == Some(i) {
            self.signals.end_fast_close();
        }
    }
}

/// Subflows come and go.
impl MptcpConnection {
    /// Subflow `i` has joined: it can help those that are stuck.
    fn became_usable(&mut self, i: usize) {
        self.lifetime.gained_subflow();
        self.signals.announce_next();
        let stuck = |s: &Subflow| s.health().is_potentially_failed() && !s.health().was_reinjected();
        for j in 0..self.subflows.count() {
            if j != i && self.subflows.get(j).is_some_and(stuck) {
                self.placement.reinject(j, &mut self.send, &mut self.subflows);
            }
        }
    }

    /// Subflow `i` is dead: others carry its data.
    #[cold]
    pub(super) fn subflow_died(&mut self, now: SimTime, i: usize) {
        let Some(subflow) = self.subflows.get(i) else { return };
        let why = subflow.endpoint().death().unwrap_or("reset by the peer");
        let never_opened = i == 0 && subflow.endpoint().established_at().is_none();
        if never_opened || self.negotiation.is_fallback() {
            self.lifetime.fail(why);
            return;
        }
        self.subflows.discard_held(i);
        self.placement.reinject(i, &mut self.send, &mut self.subflows);
        // Another one may take its place.
        self.open_missing();
        if !self.subflows.iter().any(Subflow::is_alive) && !self.is_closed() {
            self.lifetime.lost_last_subflow(now);
        }
    }
}

/// Deadlines.
impl MptcpConnection {
    /// Acts on all deadlines that are due.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.usual.leave();
        if self.lifetime.has_failed() {
            return;
        }
        self.subflows.freshen_paths();
        for i in 0..self.subflows.count() {
            if self.subflows.get(i).is_some_and(|s| s.next_deadline() <= now) {
                self.subflow_timeout(now, i);
            }
        }
        if self.send.fin_deadline() <= now {
            self.send.repeat_fin();
        }
        if self.send.persist_at() <= now {
            self.send.on_persist_timeout(now, &mut self.subflows);
        }
        if self.meta.at() <= now {
            self.meta.on_timeout(now, &mut self.send, &mut self.subflows, &mut self.placement);
        }
        if self.lifetime.given_up_at() <= now {
            self.lifetime.fail("no subflow left for too long");
        }
        self.subflows.forget_deadlines();
        self.look_for_usual_way();
        self.check();
    }

    fn subflow_timeout(&mut self, now: SimTime, i: usize) {
        let Some(expired) = self.subflows.on_timeout(now, i) else {
            self.subflow_died(now, i);
            return;
        };
        match expired {
            Expired::Timeout { .. } => self.subflow_timed_out(i),
            Expired::GaveUp => {
                if let Some(subflow) = self.subflows.get_mut(i) {
                    subflow.set_reset_reason(ResetReason::Performance);
                }
                self.subflow_died(now, i);
            }
            Expired::Quiet | Expired::ProbeWindow => {}
        }
    }

    /// After a timeout the other subflows carry the data, and this one gets no more until it makes progress.
    fn subflow_timed_out(&mut self, i: usize) {
        if self.config.reinjection != Reinjection::Timeout {
            return;
        }
        let Some(subflow) = self.subflows.get_mut(i) else { return };
        subflow.health_mut().timed_out();
        let done = subflow.health().was_reinjected();
        if !done && self.subflows.any_usable_beside(i) {
            self.placement.reinject(i, &mut self.send, &mut self.subflows);
        }
    }
}
