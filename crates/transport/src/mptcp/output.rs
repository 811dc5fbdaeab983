//! The next segment: what subflows have to send of their own, then signals of the connection, then new data, placed
//! by the scheduler.

use schedulers::{ConnectionView, Decision};
use units::{Bytes, Nanos, SimTime};

use super::connection::{Mode, MptcpConnection};
use super::handshake::CAPABLE_SYN_RETRIES;
use super::keys::{join_hmac64, join_hmac160};
use super::send_side::DataFin;
use super::subflow::Join;
use crate::connection::Role;
use crate::segment::{Dss, MptcpOption, Segment};
use crate::tcp::endpoint::Offer;
use crate::wire_size::wire_size;

impl MptcpConnection {
    /// Writes the next segment into `segment`; call until `None`.
    pub fn poll_transmit(&mut self, now: SimTime, segment: &mut Segment) -> Option<()> {
        while self.busy != 0 {
            let i = self.busy.trailing_zeros() as usize;
            if self.poll_subflow(now, i, segment).is_some() {
                return Some(());
            }
            self.busy &= !(1 << i);
        }
        if self.mode == Mode::Negotiating || self.failure.is_some() {
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

    fn poll_subflow(&mut self, now: SimTime, i: usize, segment: &mut Segment) -> Option<()> {
        let sack_blocks = self.sack_blocks;
        let subflow = self.subflow(i)?;
        let offer = Offer { sack_blocks, may_send: subflow.may_send() };
        let written = subflow.endpoint.poll_transmit(now, &offer, segment);
        self.touch(i);
        written?;
        if segment.sequence_len() == 0 {
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
        } else if !segment.flags.rst {
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
                MptcpOption::JoinSyn { token: self.peer_key.token(), nonce, addresses: subflow.pair }
            }
            (Join::AwaitingThirdAck { own, peer }, _) => MptcpOption::JoinSynAck {
                hmac: join_hmac64(self.own_key, self.peer_key, own, peer),
                nonce: own,
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

    fn bare_ack(&mut self, now: SimTime, i: usize, option: MptcpOption, segment: &mut Segment) -> Option<()> {
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
    fn best_for_signals(&mut self, turn: usize) -> Option<usize> {
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

    /// Gives the next stretch of data to a subflow: reinjections first. Returns the subflow.
    fn schedule(&mut self, now: SimTime) -> Option<usize> {
        if self.send.reinject.is_empty() && self.send.unassigned() == 0 {
            return None;
        }
        self.freshen_views();
        if !self.send.reinject.is_empty()
            && let Some(i) = self.place_reinjection(now)
        {
            return Some(i);
        }
        let len = self.send.next_len(self.mss.0)?;
        self.judge_room(len);
        let Decision::Send(i) = self.ask_scheduler(now) else { return None };
        let dsn = self.send.next;
        self.send.next += len;
        self.send.override_window = false;
        self.give(i, dsn, len);
        Some(i)
    }

    /// A segment smaller than usual needs less room than the views were made for.
    fn judge_room(&mut self, len: u64) {
        if len >= self.send.quantum(self.mss.0) {
            return;
        }
        for (i, (view, subflow)) in self.views.iter_mut().zip(&self.subflows).enumerate() {
            self.stale_views |= 1 << i;
            let room = subflow.as_ref().is_some_and(|s| s.endpoint.sender().has_room_for(len));
            view.available = view.usable && room;
        }
    }

    fn give(&mut self, i: usize, dsn: u64, len: u64) {
        debug_assert!(self.views[i].available, "the scheduler chose a subflow without room");
        if let Some(subflow) = self.subflow(i) {
            subflow.endpoint.sender_mut().give(dsn, len);
        }
    }

    fn place_reinjection(&mut self, now: SimTime) -> Option<usize> {
        let front = *self.send.reinject.front()?;
        let carried = front.carried;
        self.judge_room(front.end - front.start);
        let usable_without = |(i, v): (usize, &schedulers::SubflowView)| v.usable && carried & (1 << i) == 0;
        // When all have carried it, it may go anywhere again.
        let matters = self.views.iter().enumerate().any(usable_without);
        for (i, view) in self.views.iter_mut().enumerate() {
            view.carried = matters && carried & (1 << i) != 0;
        }
        let decision = self.ask_scheduler(now);
        self.views.iter_mut().for_each(|view| view.carried = false);
        // Waiting for a fresh subflow must not hold up new data.
        let Decision::Send(i) = decision else { return None };
        let (dsn, len) = self.send.reinject.take(self.mss.0)?;
        self.give(i, dsn, len);
        if let Some(subflow) = self.subflow(i) {
            subflow.reinjected_bytes += len;
        }
        Some(i)
    }

    fn ask_scheduler(&mut self, now: SimTime) -> Decision {
        let mut usable = self.views.iter().enumerate().filter(|(_, v)| v.usable && !v.carried);
        match (usable.next(), usable.next()) {
            (None, _) => return Decision::Wait,
            (Some((i, view)), None) => {
                return if view.available { Decision::Send(i) } else { Decision::Wait };
            }
            _ => {}
        }
        self.scheduler.pick(&ConnectionView {
            now,
            subflows: &self.views,
            unassigned: Bytes(self.send.unassigned()),
            send_window: Bytes(self.send.right.saturating_sub(self.send.una)),
        })
    }

    /// Starts the persist timer when the window forbids sending and no ACK is to be expected.
    fn watch_window(&mut self, now: SimTime) {
        let blocked = self.send.unassigned() > 0 && self.send.next_len(self.mss.0).is_none();
        if !blocked || !self.send.persist_at.is_never() {
            return;
        }
        let outstanding = self.subflows.iter().flatten().any(|s| s.endpoint.sender().unacked() > 0);
        if !outstanding && self.send.reinject.is_empty() {
            self.send.persist_at = now + self.longest_rto(self.send.persists);
        }
    }
}
