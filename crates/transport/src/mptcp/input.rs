//! A segment or a deadline arrives.

use units::SimTime;

use super::connection::{Mode, MptcpConnection};
use super::send_side::DataFin;
use super::subflow::Join;
use crate::config::Reinjection;
use crate::segment::{Dss, MptcpOption, Segment};
use crate::tcp::ranges::Range;
use crate::tcp::receiver::Arrival;
use crate::tcp::sender::Expired;

/// The DSS of a segment, if it has one.
fn dss_of(segment: &Segment) -> Option<Dss> {
    match segment.mptcp {
        MptcpOption::Dss(dss) | MptcpOption::CapableAck { dss: Some(dss), .. } => Some(dss),
        MptcpOption::AddAddr { data_ack, .. } => {
            Some(Dss { data_ack: Some(data_ack), dsn: None, data_fin: false })
        }
        _ => None,
    }
}

impl MptcpConnection {
    /// Takes in a segment.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment) {
        let i = usize::from(segment.subflow);
        if self.failure.is_some() || (self.subflow(i).is_none() && !self.accept_join(segment)) {
            return;
        }
        if i == 0 && segment.flags.syn {
            self.negotiate(segment);
        }
        // Only a sender with data in flight has a congestion control that may look at its siblings.
        if self.send.next > self.send.una {
            self.freshen_paths();
        }
        let Some((subflow, paths)) = self.subflow_and_paths(i) else { return };
        let held = subflow.endpoint.receiver().out_of_order();
        let input = subflow.endpoint.on_segment(now, segment, paths);
        let holds = subflow.endpoint.receiver().out_of_order();
        if input.acked {
            subflow.potentially_failed = false;
            subflow.reinjected_since = false;
        }
        self.held_by_subflows = self.held_by_subflows + holds - held;
        self.busy |= 1 << i;
        self.on_option(now, i, segment, &input);
        if let Some(arrival) = input.arrival {
            self.on_arrival(i, segment, arrival);
        }
        self.on_data_ack(segment);
        if input.reset {
            self.subflow_died(now, i);
        }
        self.touch(i);
        self.follow_the_peer();
    }

    /// Payload arrived: what is in order on the subflow goes to the connection.
    fn on_arrival(&mut self, i: usize, segment: &Segment, arrival: Arrival) {
        let dss = dss_of(segment);
        let dsn = match self.mode {
            Mode::Fallback => Some(segment.seq),
            Mode::Negotiating | Mode::Multipath => dss.and_then(|d| d.dsn),
        };
        let Self { subflows, receive, mode, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        let payload = Range::new(segment.seq, segment.seq + u64::from(segment.len));
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
        if arrival.finished && *mode == Mode::Fallback {
            receive.on_fin(receive.next);
        }
    }

    fn on_data_ack(&mut self, segment: &Segment) {
        let data_ack = match self.mode {
            Mode::Fallback => segment.ack.min(self.send.next),
            // Handshake segments carry no Data ACK, but they do carry the first window.
            Mode::Negotiating | Mode::Multipath => dss_of(segment).and_then(|d| d.data_ack).unwrap_or(1),
        };
        let multipath = self.mode != Mode::Fallback;
        if let Some(fin) = dss_of(segment).filter(|d| d.data_fin && multipath).and_then(|d| d.dsn) {
            self.receive.on_fin(fin);
            let i = usize::from(segment.subflow);
            if let Some(subflow) = self.subflow(i) {
                subflow.endpoint.acknowledge_now();
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
        self.freshen_paths();
        for i in 0..self.subflows.len() {
            if self.deadlines[i] <= now {
                self.subflow_timeout(now, i);
            }
        }
        if matches!(self.send.fin, DataFin::Sent(resend_at) if resend_at <= now) {
            self.send.fin = DataFin::Wanted;
        }
        if self.send.persist_at <= now {
            self.probe_window(now);
        }
        if self.given_up(now) {
            self.failure = Some("no subflow left for too long");
        }
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
                self.touch(i);
                return;
            }
            let resend_at = now + subflow.endpoint.sender().rtt().rto(tries + 1);
            subflow.join = Join::AwaitingFourthAck { own, peer, resend_at, tries: tries + 1 };
            subflow.endpoint.acknowledge_now();
        }
        match expired {
            Expired::Timeout { .. } => self.subflow_timed_out(i),
            Expired::GaveUp => self.subflow_died(now, i),
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

    /// Queues everything outstanding on subflow `i` for the others.
    fn reinject(&mut self, i: usize) {
        let Self { subflows, send, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        subflow.reinjected_since = true;
        for (dsn, len) in subflow.endpoint.sender().unacked_mappings() {
            if dsn + len > send.una {
                send.reinject.insert(dsn.max(send.una), dsn + len, 1 << i);
            }
        }
    }

    /// Subflow `i` has joined: it can help those that are stuck.
    pub(super) fn became_usable(&mut self, i: usize) {
        self.alone_since = SimTime::NEVER;
        self.touch(i);
        for j in 0..self.subflows.len() {
            let stuck = |s: &super::subflow::Subflow| s.potentially_failed && !s.reinjected_since;
            if j != i && self.subflows[j].as_ref().is_some_and(stuck) {
                self.reinject(j);
            }
        }
    }

    fn subflow_died(&mut self, now: SimTime, i: usize) {
        let Some(subflow) = self.subflow(i) else { return };
        let why = subflow.endpoint.death().unwrap_or("reset by the peer");
        let never_opened = i == 0 && subflow.endpoint.established_at().is_none();
        if never_opened || self.mode == Mode::Fallback {
            self.failure = Some(why);
            return;
        }
        self.reinject(i);
        let alive = self.subflows.iter().flatten().any(|s| s.endpoint.death().is_none());
        if !alive && !self.is_closed() {
            self.alone_since = now;
        }
    }

    /// The connection's window is closed and nothing is outstanding: ask on the best subflow, ever less often.
    fn probe_window(&mut self, now: SimTime) {
        self.send.persists += 1;
        self.send.override_window = self.send.window() > 0;
        let rto = self.longest_rto(self.send.persists);
        self.send.persist_at = now + rto;
        let fastest = |s: &super::subflow::Subflow| s.endpoint.sender().rtt().srtt();
        self.freshen_views();
        let usable = (0..self.subflows.len()).filter(|i| self.views[*i].usable);
        let best = usable.min_by_key(|i| self.subflows[*i].as_ref().and_then(fastest));
        if let Some(i) = best.or_else(|| self.any_that_may_send()) {
            self.busy |= 1 << i;
            if let Some(subflow) = self.subflow(i) {
                subflow.endpoint.probe_window();
            }
            self.touch(i);
        }
    }
}
