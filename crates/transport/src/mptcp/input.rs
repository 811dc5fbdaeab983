//! A segment or a deadline arrives.

use units::SimTime;

use super::connection::{Mode, MptcpConnection};
use super::send_side::DataFin;
use super::subflow::{Join, Subflow};
use crate::config::{Reassembly, ReinjectOn, Reinjection};
use crate::segment::{Dss, MptcpOption, ResetReason, Segment};
use crate::tcp::ranges::Range;
use crate::tcp::receiver::Arrival;
use crate::tcp::sender::Expired;

/// So often in a row what a subflow holds back may be repeated.
const MAX_REPEATS: u32 = 8;

/// The DSS of a segment; an empty one if it has none.
#[inline]
fn dss_of(segment: &Segment) -> Dss {
    match segment.mptcp {
        MptcpOption::Dss(dss) | MptcpOption::CapableAck { dss: Some(dss), .. } => dss,
        MptcpOption::AddAddr { data_ack, .. }
        | MptcpOption::RemoveAddr { data_ack, .. }
        | MptcpOption::Prio { data_ack, .. } => Dss { data_ack: Some(data_ack), ..Dss::default() },
        _ => Dss::default(),
    }
}

impl MptcpConnection {
    /// Takes in a segment.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment) {
        let i = usize::from(segment.subflow);
        let flags = segment.flags;
        let usual =
            matches!(segment.mptcp, MptcpOption::Dss(_)) && !flags.syn && !flags.rst && self.is_usual(i);
        if !usual && !self.admits(now, i, segment) {
            return;
        }
        // Only a sender with data in flight has a congestion control that may look at its siblings.
        if self.send.next > self.send.una {
            self.freshen_paths();
        }
        let blocked = self.is_blocked();
        let Some((subflow, paths)) = self.subflow_and_paths(i) else { return };
        let held = subflow.endpoint.receiver().out_of_order();
        let input = subflow.endpoint.on_segment(now, segment, paths);
        let holds = subflow.endpoint.receiver().out_of_order();
        subflow.silence.hear(now);
        if input.acked {
            subflow.potentially_failed = false;
            subflow.reinjected_since = false;
            self.acked_since = true;
        }
        self.held_by_subflows = self.held_by_subflows + holds - held;
        if blocked {
            self.expand_send_buffer(i);
        }
        if !usual {
            self.on_option(now, i, segment, &input);
        }
        let dss = dss_of(segment);
        if let Some(arrival) = input.arrival {
            self.on_arrival(i, segment, dss.dsn, arrival);
        }
        self.on_data_ack(segment, dss);
        if input.reset || (!usual && self.is_refused(i)) {
            self.subflow_died(now, i);
        }
        let busy = self.subflow(i).is_some_and(|s| s.endpoint.may_have_something());
        self.busy |= u64::from(busy) << i;
        self.touch(i);
        self.watch_progress(now);
        self.follow_the_peer();
    }

    /// Nothing is to be negotiated any more, neither on the connection nor on subflow `i`.
    #[inline]
    pub(super) fn is_usual(&self, i: usize) -> bool {
        let joined = |s: &Subflow| matches!(s.join, Join::First | Join::Joined) && !s.refused;
        self.mode == Mode::Multipath
            && self.fully_established
            && self.failure.is_none()
            && self.subflows.get(i).and_then(Option::as_ref).is_some_and(joined)
    }

    /// A segment that is not of the usual kind. False if nothing more is to be done with it.
    fn admits(&mut self, now: SimTime, i: usize, segment: &Segment) -> bool {
        if self.failure.is_some() {
            self.after_the_end(segment);
            return false;
        }
        if self.subflow(i).is_none() && !self.accept_join(segment) {
            return false;
        }
        if self.is_refused(i) {
            self.refuse_again(i, segment);
            return false;
        }
        if i == 0 && segment.flags.syn {
            self.negotiate(segment);
        }
        self.has_its_options(now, i, segment)
    }

    /// Payload arrived: what is in order on the subflow goes to the connection.
    fn on_arrival(&mut self, i: usize, segment: &Segment, mapped: Option<u64>, arrival: Arrival) {
        let dsn = match self.mode {
            Mode::Fallback => Some(segment.seq),
            Mode::Negotiating | Mode::Multipath => mapped,
        };
        let Self { subflows, receive, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        let payload = Range::new(segment.seq, segment.seq + u64::from(segment.len));
        let gap = dsn.is_none_or(|dsn| dsn > receive.next);
        match dsn {
            // The usual case: the segment alone is what has come into order.
            Some(dsn) if subflow.mappings.is_empty() && payload.covers(arrival.in_order) => {
                let offset = arrival.in_order.start - payload.start;
                if !arrival.in_order.is_empty() {
                    let start = dsn + offset;
                    receive.on_data(Range::new(start, start + arrival.in_order.len()));
                } else if arrival.fresh > 0 {
                    subflow.mappings.insert(payload.start, payload.len(), dsn);
                }
            }
            Some(dsn) if arrival.fresh > 0 => {
                subflow.mappings.insert(payload.start, payload.len(), dsn);
                subflow.mappings.take_below(arrival.in_order.end, |data| receive.on_data(data));
            }
            _ => {}
        }
        if self.config.reassembly == Reassembly::Joint && self.is_time_to_release(i, segment, arrival, gap) {
            self.release();
        }
        if self.mode == Mode::Fallback && !self.receive.finished() && self.has_ended(i) {
            self.receive.on_fin(self.receive.next);
        }
    }

    /// Everything up to the FIN of subflow `i` has arrived.
    fn has_ended(&self, i: usize) -> bool {
        self.subflows[i].as_ref().is_some_and(|s| s.endpoint.receiver().finished())
    }

    /// What subflows hold back is looked through when something arrives in order that has no gap before it; and when stored
    /// data has been repeated often: what the connection waits for may be queued behind it, after the death of a subflow.
    fn is_time_to_release(&mut self, i: usize, segment: &Segment, arrival: Arrival, gap: bool) -> bool {
        let Some(subflow) = self.subflow(i) else { return false };
        let repeats = arrival.fresh == 0 && segment.len > 0;
        subflow.repeats = if repeats { subflow.repeats + 1 } else { 0 };
        !(arrival.in_order.is_empty() || gap) || subflow.repeats >= MAX_REPEATS
    }

    /// Takes what subflows hold back.
    fn release(&mut self) {
        let Self { subflows, receive, held_by_subflows, .. } = self;
        for subflow in subflows.iter_mut().flatten().filter(|s| !s.buried) {
            let held = subflow.endpoint.receiver().out_of_order();
            let next = subflow.endpoint.receiver_mut().release();
            *held_by_subflows -= held - subflow.endpoint.receiver().out_of_order();
            subflow.mappings.take_below(next, |data| receive.on_data(data));
        }
    }

    fn on_data_ack(&mut self, segment: &Segment, dss: Dss) {
        let data_ack = match self.mode {
            Mode::Fallback => segment.ack.min(self.send.next),
            // Handshake segments carry no Data ACK, but they do carry the first window.
            Mode::Negotiating | Mode::Multipath => dss.data_ack.unwrap_or(1),
        };
        if dss.data_fin
            && self.mode != Mode::Fallback
            && let Some(fin) = dss.dsn
        {
            self.receive.on_fin(fin);
            let i = usize::from(segment.subflow);
            if let Some(subflow) = self.subflow(i) {
                subflow.endpoint.acknowledge_now();
                self.busy |= 1 << i;
            }
        }
        self.send.on_data_ack(data_ack, segment.window.0);
        if self.send.finished() {
            self.finish_subflows();
        }
    }

    /// DATA_FIN is acknowledged: every subflow may close (RFC 8684 section 3.3.3).
    fn finish_subflows(&mut self) {
        for i in 0..self.subflows.len() {
            let Some(subflow) = self.subflow(i) else { continue };
            subflow.endpoint.sender_mut().finish();
            self.busy |= 1 << i;
        }
    }

    /// Acts on all deadlines that are due.
    pub fn on_timeout(&mut self, now: SimTime) {
        if self.failure.is_some() {
            return;
        }
        self.freshen_paths();
        for i in 0..self.subflows.len() {
            if self.subflows[i].as_ref().is_some_and(|s| s.next_deadline() <= now) {
                self.subflow_timeout(now, i);
            }
        }
        if matches!(self.send.fin, DataFin::Sent(resend_at) if resend_at <= now) {
            self.send.fin = DataFin::Wanted;
        }
        if self.send.persist_at <= now {
            if self.is_stalled() {
                self.probe_window(now);
            } else {
                self.send.persist_at = SimTime::NEVER;
            }
        }
        if self.meta.at <= now {
            self.meta_timeout(now);
        }
        if self.given_up(now) {
            self.failure = Some("no subflow left for too long");
        }
        self.deadlines.forget(self.subflows.len());
    }

    fn subflow_timeout(&mut self, now: SimTime, i: usize) {
        self.busy |= 1 << i;
        let max_tries = self.tcp.syn_retries;
        let Some((subflow, paths)) = self.subflow_and_paths(i) else { return };
        let expired = subflow.endpoint.on_timeout(now, paths);
        if let Join::AwaitingFourthAck { own, peer, resend_at, tries } = subflow.join
            && resend_at <= now
        {
            if tries >= max_tries {
                subflow.endpoint.abort("no answer to MP_JOIN");
                subflow.reset = Some(ResetReason::Performance);
                self.subflow_died(now, i);
                self.touch(i);
                return;
            }
            let resend_at = now + subflow.endpoint.sender().rtt().rto(tries + 1);
            subflow.join = Join::AwaitingFourthAck { own, peer, resend_at, tries: tries + 1 };
            subflow.endpoint.acknowledge_now();
        }
        match expired {
            Expired::Timeout { .. } => self.subflow_timed_out(i),
            Expired::GaveUp => {
                subflow.reset = Some(ResetReason::Performance);
                self.subflow_died(now, i);
            }
            Expired::Quiet | Expired::ProbeWindow => {}
        }
        self.touch(i);
    }

    /// After a timeout the other subflows carry the data, and this one gets no more until it is well.
    fn subflow_timed_out(&mut self, i: usize) {
        if self.config.reinjection != Reinjection::Timeout {
            return;
        }
        let Some(subflow) = self.subflow(i) else { return };
        subflow.potentially_failed = true;
        let done = subflow.reinjected_since;
        let others =
            self.subflows.iter().enumerate().any(|(j, s)| j != i && s.as_ref().is_some_and(|s| s.usable()));
        if !done && others {
            self.reinject(i);
        }
    }

    /// What a dead subflow holds out of order will never come into order: its room belongs to the others again.
    fn bury(&mut self, i: usize) {
        let Some(subflow) = self.subflow(i).filter(|s| !s.buried) else { return };
        subflow.buried = true;
        subflow.mappings = super::receive_side::Mappings::default();
        let held = subflow.endpoint.receiver().out_of_order();
        self.held_by_subflows -= held;
    }

    /// Queues everything outstanding on subflow `i` for the others.
    pub(super) fn reinject(&mut self, i: usize) {
        // Where every subflow carries everything the others will carry this too.
        if self.needs.copies {
            return;
        }
        let alive = self.subflow(i).is_some_and(|s| s.is_alive());
        if self.config.reinject_on == ReinjectOn::SamePath && alive {
            return;
        }
        self.take_back(i);
        let Self { subflows, send, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        subflow.reinjected_since = true;
        for (dsn, len) in subflow.endpoint.sender().sent_mappings() {
            if dsn + len > send.una {
                send.reinject.insert(dsn.max(send.una), dsn + len, 1 << i);
            }
        }
        if matches!(self.config.reinject_on, ReinjectOn::LowestRtt | ReinjectOn::All) {
            self.note_carriers();
        }
    }

    /// Notes who else carries what is queued, original or copy: there it is not sent a third time.
    fn note_carriers(&mut self) {
        let Self { subflows, send, .. } = self;
        for (j, subflow) in subflows.iter().enumerate() {
            let Some(subflow) = subflow.as_ref().filter(|s| s.is_alive()) else { continue };
            for (dsn, len) in subflow.endpoint.sender().sent_mappings() {
                send.reinject.note_carriers(dsn, dsn + len, 1 << j);
            }
        }
    }

    /// Subflow `i` has joined: it can help those that are stuck.
    pub(super) fn became_usable(&mut self, i: usize) {
        self.alone_since = SimTime::NEVER;
        self.touch(i);
        for j in 0..self.subflows.len() {
            let stuck = |s: &Subflow| s.potentially_failed && !s.reinjected_since;
            if j != i && self.subflows[j].as_ref().is_some_and(stuck) {
                self.reinject(j);
            }
        }
    }

    pub(super) fn subflow_died(&mut self, now: SimTime, i: usize) {
        let Some(subflow) = self.subflow(i) else { return };
        let why = subflow.endpoint.death().unwrap_or("reset by the peer");
        let never_opened = i == 0 && subflow.endpoint.established_at().is_none();
        if never_opened || self.mode == Mode::Fallback {
            self.failure = Some(why);
            return;
        }
        self.bury(i);
        self.reinject(i);
        // Another one may take its place.
        self.open_missing();
        let alive = self.subflows.iter().flatten().any(Subflow::is_alive);
        if !alive && !self.is_closed() && self.alone_since.is_never() {
            self.alone_since = now;
        }
    }

    /// Nothing is outstanding, and a window is closed: ask, ever less often. If it is the connection's, on the fastest
    /// subflow. If it is that of a subflow that the scheduler waits for, only an answer there opens it: on all in turn,
    /// the one with the smallest window first.
    fn probe_window(&mut self, now: SimTime) {
        let in_turn = self.send.window() > 0 || !self.send.reinject.is_empty();
        let turn = if in_turn { self.send.persists as usize } else { 0 };
        self.send.persists += 1;
        self.send.override_window = self.send.window() > 0;
        let rto = self.longest_rto(self.send.persists);
        self.send.persist_at = now + rto;
        self.freshen_views();
        let sender = |i: usize| self.subflows[i].as_ref().map(|s| s.endpoint.sender());
        let mut usable: Vec<_> = (0..self.subflows.len()).filter(|i| self.views[*i].usable).collect();
        usable.sort_by_key(|i| sender(*i).map(|s| (in_turn.then(|| s.send_window()), s.rtt().srtt())));
        let asked = usable.get(turn % usable.len().max(1)).copied();
        if let Some(i) = asked.or_else(|| self.any_that_may_send()) {
            self.busy |= 1 << i;
            if let Some(subflow) = self.subflow(i) {
                subflow.endpoint.probe_window();
            }
            self.touch(i);
        }
    }
}
