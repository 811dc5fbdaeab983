//! The next segment: what subflows have to send of their own, then signals of the connection, then what `schedule.rs`
//! gives to subflows.

use schedulers::Queueing;
use units::{Nanos, SimTime};

use super::connection::{Mode, MptcpConnection};
use super::handshake::CAPABLE_SYN_RETRIES;
use super::keys::{join_hmac64, join_hmac160};
use super::send_side::DataFin;
use super::subflow::{Join, TOLD};
use crate::role::Role;
use crate::segment::{Dss, MptcpOption, Segment};
use crate::tcp::endpoint::Offer;
use crate::wire_size::wire_size;

/// DATA_FINs without an answer on the only subflow, before its FIN must do.
const DATA_FIN_TRIES: usize = 3;

impl MptcpConnection {
    /// Writes the next segment into `segment`; call until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        if self.busy == 0 && self.needs.queueing == Queueing::Never && self.has_said_everything() {
            self.watch_progress(now);
            return None;
        }
        self.find_segment(now, segment)
    }

    fn find_segment(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        while self.needs.queueing != Queueing::Never
            && let Some(i) = self.schedule_ahead(now)
        {
            if self.poll_subflow(now, i, segment).is_some() {
                return Some(());
            }
        }
        while self.busy != 0 {
            let i = self.busy.trailing_zeros() as usize;
            if self.poll_subflow(now, i, segment).is_some() {
                return Some(());
            }
            self.busy &= !(1 << i);
        }
        self.watch_progress(now);
        if self.has_said_everything() {
            return None;
        }
        if !self.replies.is_empty() {
            return self.reply(segment);
        }
        if self.failure.is_some() {
            return self.fast_close_segment(now, segment);
        }
        if self.mode == Mode::Negotiating {
            return None;
        }
        if self.signal(now, segment).is_some() {
            return Some(());
        }
        while let Some(i) = self.schedule(now) {
            if self.poll_subflow(now, i, segment).is_some() {
                return Some(());
            }
        }
        self.watch_window(now);
        None
    }

    /// Beside what subflows have to send of their own: the usual state of an end that only receives.
    fn has_said_everything(&self) -> bool {
        self.send.unassigned() == 0
            && self.send.reinject.is_empty()
            && self.send.fin != DataFin::Wanted
            && self.announcements.is_empty()
            && self.signals.is_empty()
            && self.replies.is_empty()
            && self.failure.is_none()
            && !self.needs.head
            && !self.needs.copies
    }

    pub(super) fn poll_subflow(&mut self, now: SimTime, i: usize, segment: &mut Segment) -> Option<()> {
        let sack_blocks = self.sack_blocks;
        let subflow = self.subflow(i)?;
        let offer = Offer { sack_blocks, may_send: subflow.may_send() };
        let written = subflow.endpoint.poll_transmit(now, &offer, segment);
        self.touch(i);
        written?;
        if segment.sequence_len() == 0 && !segment.is_low_priority() {
            // A bare acknowledgement is the last thing that an endpoint has to say.
            self.busy &= !(1 << i);
        }
        self.dress(i, segment);
        Some(())
    }

    /// Adds the MPTCP option, the window and the size on the wire.
    fn dress(&mut self, i: usize, segment: &mut Segment) {
        if self.mode == Mode::Fallback {
            segment.mptcp = MptcpOption::None;
        } else if segment.flags.rst {
            segment.mptcp = self.reset_option(i);
        } else if self.is_usual(i) && !segment.flags.syn {
            let dsn = if let MptcpOption::Dss(dss) = segment.mptcp { dss.dsn } else { None };
            segment.mptcp = MptcpOption::Dss(Dss { data_ack: Some(self.receive.next), dsn, data_fin: false });
        } else {
            segment.mptcp = if segment.flags.syn { self.syn_option(i) } else { self.option(i, segment) };
        }
        self.finish_segment(segment);
    }

    fn finish_segment(&mut self, segment: &mut Segment) {
        let free = self.free();
        segment.window = self.window.offer(&self.tcp, self.receive.next, free, self.buffer.size());
        segment.wire_size = wire_size(segment, &self.tcp, Some(&self.config));
    }

    fn syn_option(&self, i: usize) -> MptcpOption {
        let Some(subflow) = self.subflows[i].as_ref() else { return MptcpOption::None };
        match (subflow.join, self.role) {
            (Join::First, Role::Client) if subflow.endpoint.syn_tries() <= CAPABLE_SYN_RETRIES => {
                MptcpOption::CapableSyn
            }
            (Join::First, Role::Server) => MptcpOption::CapableSynAck(self.own_key),
            (Join::SynSent(nonce), _) => {
                let id = subflow.pair.local.map_or(0, |address| self.book.id_of(address));
                let backup = subflow.backup[TOLD];
                MptcpOption::JoinSyn {
                    token: self.peer_key.token(),
                    nonce,
                    addresses: subflow.pair,
                    id,
                    backup,
                }
            }
            (Join::AwaitingThirdAck { own, peer }, _) => MptcpOption::JoinSynAck {
                hmac: join_hmac64(self.own_key, self.peer_key, own, peer),
                nonce: own,
                id: subflow.pair.local.map_or(0, |address| self.book.id_of(address)),
                backup: subflow.backup[TOLD],
            },
            _ => MptcpOption::None,
        }
    }

    fn option(&self, i: usize, segment: &Segment) -> MptcpOption {
        if let Some(Join::AwaitingFourthAck { own, peer, .. }) = self.subflows[i].as_ref().map(|s| s.join) {
            return MptcpOption::JoinAck { hmac: join_hmac160(self.own_key, self.peer_key, own, peer) };
        }
        let mapping = match segment.mptcp {
            MptcpOption::Dss(dss) => dss.dsn,
            _ => None,
        };
        if self.mode == Mode::Negotiating && self.role == Role::Server {
            // The client sends its key until a DSS confirms it, so without the key there is no DSS.
            return MptcpOption::None;
        }
        let keys_not_confirmed = i == 0 && self.role == Role::Client && !self.fully_established;
        // RFC 8684 section 3.1: both keys in the third ACK and in the first data, until the peer shows it has them.
        if keys_not_confirmed && (segment.len == 0 || segment.seq == 1) {
            let dss = mapping.map(|dsn| Dss { data_ack: None, dsn: Some(dsn), data_fin: false });
            return MptcpOption::CapableAck { sender: self.own_key, receiver: self.peer_key, dss };
        }
        MptcpOption::Dss(Dss { data_ack: Some(self.receive.next), dsn: mapping, data_fin: false })
    }

    /// ADD_ADDR, its echo, DATA_FIN: they travel in ACKs of their own.
    fn signal(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        // Before the peer is known to have the keys every segment must carry them.
        if self.fully_established && !self.signals.is_empty() && self.next_signal(now, segment).is_some() {
            return Some(());
        }
        if self.announcements.iter().any(|a| a.resend_at <= now) {
            let rto = self.longest_rto(0);
            if let Some(i) = self.best_for_signals(0) {
                let option = self.next_announcement(now, rto)?;
                return self.bare_ack(now, i, option, segment);
            }
            // Nobody can carry it: a deadline in the past would stop the clock.
            self.announcements.iter_mut().for_each(|a| a.resend_at = a.resend_at.max(now + rto));
        }
        if self.send.fin != DataFin::Wanted || self.send.unassigned() > 0 {
            return None;
        }
        // Nothing else shows that a middlebox takes DATA_FIN away, or its acknowledgement.
        if self.mode == Mode::Multipath
            && self.send.fin_tries >= DATA_FIN_TRIES
            && self.fully_established
            && self.subflows.len() == 1
        {
            self.fall_back_late();
        }
        if self.mode == Mode::Fallback {
            self.send.fin = DataFin::Sent(SimTime::NEVER);
            self.subflow(0)?.endpoint.sender_mut().finish();
            return self.poll_subflow(now, 0, segment);
        }
        let i = self.best_for_signals(self.send.fin_tries);
        let backoff = u32::try_from(self.send.fin_tries).unwrap_or(u32::MAX);
        self.send.fin = DataFin::Sent(now + self.longest_rto(backoff));
        self.send.fin_tries += 1;
        let dss = Dss { data_ack: Some(self.receive.next), dsn: Some(self.send.written), data_fin: true };
        self.bare_ack(now, i?, MptcpOption::Dss(dss), segment)
    }

    pub(super) fn bare_ack(
        &mut self,
        now: SimTime,
        i: usize,
        option: MptcpOption,
        segment: &mut Segment,
    ) -> Option<()> {
        let offer = Offer { sack_blocks: [0; 2], may_send: false };
        let subflow = self.subflow(i)?;
        subflow.endpoint.acknowledge_now();
        subflow.endpoint.poll_transmit(now, &offer, segment)?;
        self.busy |= 1 << i;
        segment.mptcp = option;
        segment.sack.clear();
        self.finish_segment(segment);
        self.touch(i);
        Some(())
    }

    /// A subflow for a signal: usable ones in turn, `turn` saying whose.
    pub(super) fn best_for_signals(&mut self, turn: usize) -> Option<usize> {
        self.freshen_views();
        let usable: usize = self.views.iter().filter(|v| v.usable).count();
        if usable == 0 {
            return self.any_that_may_send();
        }
        let in_order = self.views.iter().enumerate().filter(|(_, v)| v.usable);
        in_order.map(|(i, _)| i).nth(turn % usable)
    }

    pub(super) fn any_that_may_send(&self) -> Option<usize> {
        self.subflows.iter().position(|s| s.as_ref().is_some_and(super::subflow::Subflow::may_send))
    }

    pub(super) fn longest_rto(&self, backoff: u32) -> Nanos {
        let alive = self.subflows.iter().flatten().filter(|s| s.may_send());
        let longest = alive.map(|s| s.endpoint.sender().rtt().rto(backoff)).max();
        longest.unwrap_or(self.tcp.rto.initial)
    }

    /// Starts the persist timer when nothing can be sent and no ACK is to be expected: the window of the connection is
    /// closed, or that of the subflow that the scheduler waits for, whose update was lost.
    fn watch_window(&mut self, now: SimTime) {
        if self.send.persist_at.is_never() && self.is_stalled() {
            self.send.persist_at = now + self.longest_rto(self.send.persists);
        }
    }

    /// Something is to be sent, and nothing is outstanding. A dead subflow never hears of what it has sent.
    pub(super) fn is_stalled(&self) -> bool {
        if self.send.unassigned() == 0 && self.send.reinject.is_empty() {
            return false;
        }
        let mut alive = self.subflows.iter().flatten().filter(|s| s.is_alive());
        !alive.any(|s| s.endpoint.sender().unacked() > 0)
    }
}
