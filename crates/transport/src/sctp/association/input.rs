//! Reactions to packets.

use units::{Bytes, SimTime};

use super::expected::AllExpected;
use super::{Association, window_field};
use crate::packet::{Body, Packet, PathId};
use crate::sctp::chunk::{Control, DataChunks, Heartbeat, Promise, Sack};
use crate::sctp::config::{FastRetransmit, WindowUpdate};
use crate::sctp::lifecycle::CookieEffect;
use crate::sctp::outqueue::{Fate, Sent, Special};
use crate::sctp::path::Expected;
use crate::sctp::placement::Placement;
use crate::sctp::tsn::Tsn;
use crate::sctp::window::News;
use crate::seq::StreamOffset;

/// News of a SACK about one path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathNews {
    news: News,
    /// Before the SACK, with what it has revoked.
    pub(super) flight: Bytes,
    /// The oldest chunk in flight before the SACK, and whether it has arrived.
    oldest: Option<Tsn>,
    oldest_acked: bool,
    /// A chunk was cumulatively acknowledged that gap blocks had not.
    cumulative: bool,
    /// The oldest chunks that were sent on the path once, and again: CUC takes them for its cumulative TSN.
    pseudo: [Option<Tsn>; 2],
    /// The highest chunk of the path that was not acknowledged before.
    highest: Option<Tsn>,
    /// A chunk of the path has arrived that was in flight.
    answered: bool,
    /// One has that was not acknowledged before.
    fresh: bool,
    /// Chunks were taken for lost.
    lost: bool,
}

impl Association {
    /// Takes in a packet.
    #[inline(never)]
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet) {
        let Body::Sctp(body) = &packet.body else { return };
        // RFC 9260 section 8.5: "the endpoint MUST ensure that the value in the Verification Tag field of the received
        // SCTP packet matches its own tag."
        if !self.life.accepts(body.tag, &body.control) || !self.paths.contains(packet.path) {
            return;
        }
        self.opportunity = true;
        self.fast.on_opportunity();
        // A peer that sends data has accepted the cookie: its COOKIE ACK was lost, or data has overtaken it on another path.
        // `sctp_process_control`: the same with a SACK or a HEARTBEAT.
        let implies = !body.data.is_empty()
            || self.config.recovers_as_freebsd()
                && matches!(body.control, Control::Sack(_) | Control::Heartbeat(_));
        if implies && self.config.data_is_cookie_ack {
            self.on_cookie_ack(now, packet.path);
        }
        self.on_control(now, packet.path, &body.control, body.data.more());
        if !body.data.is_empty() {
            // Data that is discarded has reached the host nevertheless.
            self.paths.get_mut(packet.path).stats.packets_received += 1;
            // RFC 9260 section 6: "A DATA chunk received in any other state SHOULD be discarded."
            if self.life.may_receive() {
                self.on_data(now, packet.path, &body.data, packet.offset);
            }
        }
        self.life.progress(self.has_nothing_outstanding(), self.received.next());
        self.check();
    }

    pub(super) fn has_nothing_outstanding(&self) -> bool {
        self.outgoing.is_empty() && self.outqueue.is_empty()
    }

    fn on_control(&mut self, now: SimTime, path: PathId, control: &Control, more: &[u8]) {
        match control {
            Control::None => {}
            Control::Init(init) => self.life.on_init(now, path, *init),
            Control::InitAck(init, cookie) => {
                let (accepted, sample) = self.life.on_init_ack(now, *init, *cookie);
                if let (true, Some(sample)) = (accepted, sample) {
                    self.paths.get_mut(PathId::FIRST).timer.sample(now, sample);
                }
            }
            Control::CookieEcho(cookie) => match self.life.on_cookie_echo(now, path, *cookie) {
                CookieEffect::None => {}
                CookieEffect::Established => {
                    self.sample_handshake(now, path, Some(now.since(cookie.made)));
                    self.establish(now, None);
                }
                CookieEffect::Restarted => self.restart(now),
            },
            Control::StaleCookie => self.life.on_stale_cookie(),
            // The SHUTDOWN ACK beside it says what to do.
            Control::CookieInShutdown => {}
            Control::CookieAck => self.on_cookie_ack(now, path),
            Control::Sack(sack) => self.on_sack(now, sack, more),
            Control::Heartbeat(heartbeat) => self.life.on_heartbeat(path, *heartbeat),
            Control::HeartbeatAck(heartbeat) => self.on_heartbeat_ack(now, path, *heartbeat),
            Control::Shutdown(next) => {
                self.on_cumulative(now, *next);
                self.life.on_shutdown(path);
            }
            Control::ShutdownAck => self.life.on_shutdown_ack(path),
            Control::ShutdownComplete => self.life.on_shutdown_complete(),
            Control::Abort => self.life.on_abort(),
        }
        if self.life.is_over() {
            self.stop();
        }
    }

    /// The handshake is complete at the client, unless it was before.
    fn on_cookie_ack(&mut self, now: SimTime, path: PathId) {
        let (establishes, answered) = self.life.on_cookie_ack(now);
        if establishes {
            self.sample_handshake(now, path, answered);
            let sample = self.paths.get(PathId::FIRST).timer.rtt().srtt();
            self.establish(now, sample);
        }
    }

    /// Nothing is sent or awaited any more.
    pub(super) fn stop(&mut self) {
        for path in self.paths.iter_mut() {
            path.timer.stop();
            path.reach.stop();
        }
        self.sack.take();
    }

    fn on_heartbeat_ack(&mut self, now: SimTime, id: PathId, heartbeat: Heartbeat) {
        let path = self.paths.get_mut(id);
        let rto = path.timer.rto();
        let Some(sample) = path.reach.on_heartbeat_ack(now, heartbeat, rto) else { return };
        path.timer.sample(now, sample);
        if path.usable_since.is_none() {
            path.usable_since = Some(now);
            path.window.on_established(now, Some(sample));
        }
        self.paths.on_answer();
    }

    /// DATA arrives, which begins at `offset` in the concatenation of all messages: its chunks follow each other.
    fn on_data(&mut self, now: SimTime, id: PathId, data: &DataChunks, mut offset: StreamOffset) {
        let (mut fresh, mut dropped) = (Bytes::ZERO, false);
        let had_gap = self.received.has_gap();
        let complete = self.reassembly.ready();
        let late = data.first() < self.received.end();
        for (tsn, chunk) in data.iter() {
            let over = self.receive_window() < chunk.user_data();
            // A chunk that fills a gap releases those behind it; any other has no place in a full buffer.
            if over && tsn >= self.received.end() {
                dropped = true;
            } else if self.received.insert(tsn) {
                fresh += chunk.user_data();
                let before = self.reassembly.readable();
                self.reassembly.insert(tsn, chunk, offset);
                self.reader.delivered += self.reassembly.readable() - before;
            }
            offset += chunk.user_data();
        }
        let stats = &mut self.paths.get_mut(id).stats;
        stats.bytes_received += fresh;
        // RFC 9260 section 6.2: "When a packet arrives with duplicate DATA chunk(s) and with no new DATA chunk(s), the
        // endpoint MUST immediately send a SACK"
        let repeated = fresh == Bytes::ZERO;
        stats.packets_repeated += u64::from(repeated);
        stats.packets_late += u64::from(late && !repeated);
        // RFC 9260 section 6.7: a gap is reported at once, and as long as there is one.
        let delays = self.config.cmt.is_some_and(|cmt| cmt.delayed_ack);
        let urgent = repeated || dropped || !delays && (had_gap || self.received.has_gap());
        self.sack.on_packet(now, id, urgent);
        self.note_complete(complete);
        self.prepare_sack();
        self.life.on_data(self.received.next());
        self.check();
    }

    /// SHUTDOWN acknowledges cumulatively.
    fn on_cumulative(&mut self, now: SimTime, next: Tsn) {
        let window = window_field(self.peer_window);
        self.on_sack(now, &Sack { next, window, ..Sack::default() }, &[]);
    }

    fn on_sack(&mut self, now: SimTime, sack: &Sack, more: &[u8]) {
        // RFC 9260 section 6.2.1 i: a SACK that has been overtaken is dropped.
        let (before, end) = (self.outqueue.first(), self.outqueue.unsent());
        if sack.next < before {
            return;
        }
        if sack.next > end {
            self.life.abort("the peer acknowledges data that was not sent");
            return;
        }
        let mut news: Vec<PathNews> = self.paths.ids().map(|id| self.before_sack(id)).collect();
        self.placement.iter_mut().for_each(Placement::note_ack);
        let advanced = sack.next > before;
        let arrived = self.mark_arrivals(now, (sack, more), &mut news);
        // RFC 9260 section 8.1: "The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to
        // that peer endpoint is acknowledged (by the reception of a SACK chunk)." Also for a chunk that was taken for lost.
        if arrived.is_some() {
            self.paths.on_answer();
        }
        self.peer_window = Bytes(u64::from(sack.window));
        let freebsd = self.config.recovers_as_freebsd();
        // `sctp_express_handle_sack`.
        let saw_gaps = std::mem::replace(&mut self.paths.saw_gaps, !sack.gaps.is_empty());
        let express = sack.gaps.is_empty() && !saw_gaps;
        let recovers = advanced && !express && self.paths.recovery.is_some_and(|end| sack.next >= end);
        for (id, news) in self.paths.ids().zip(&mut news) {
            self.note_answer(now, id, news, (advanced, express));
            // CUC: with concurrent transfer each path has a cumulative TSN of its own.
            news.news.advanced |= advanced && (self.config.cmt.is_none() || freebsd);
            news.news.recovers = recovers;
            // `sctp_cwnd_update_after_sack_common` stops there without concurrent transfer.
            news.news.frozen = self.config.cmt.is_none() && self.paths.recovery.is_some();
        }
        if freebsd {
            if !express && sack.promise != Promise::Kept {
                self.revoke((sack, more), &mut news);
            }
            self.grow(now, &news);
        }
        if let Some((lowest, highest)) = arrived {
            self.strike(now, (sack, more), (advanced, Some(lowest), highest), &mut news);
        }
        if !freebsd {
            self.grow(now, &news);
        } else {
            if recovers {
                self.end_recovery();
            }
            self.paths.assure_timers(now);
        }
        self.end_recoveries(sack.next);
        self.check();
    }

    /// Windows of paths of which a SACK has acknowledged something.
    fn grow(&mut self, now: SimTime, news: &[PathNews]) {
        self.paths.refresh_views();
        let idle = self.outqueue.is_empty();
        for (id, PathNews { news, flight, .. }) in self.paths.ids().zip(news) {
            let window = self.peer_window;
            let (path, siblings) = self.paths.with_siblings(id);
            if news.acked > Bytes::ZERO {
                let srtt = path.srtt();
                path.window.on_sack(now, *news, (*flight, srtt, window), idle, siblings);
            }
        }
    }

    /// Fast recovery of the association is over.
    pub(super) fn end_recovery(&mut self) {
        self.paths.recovery = None;
        self.paths.iter_mut().for_each(|path| path.window.end_recovery());
    }

    /// Fast recovery of a path ends by the cumulative TSN, with concurrent transfer by that of the path.
    fn end_recoveries(&mut self, next: Tsn) {
        let concurrent = self.config.cmt.is_some();
        if self.config.recovers_as_freebsd() {
            return;
        }
        for id in self.paths.ids() {
            if !self.paths.get(id).window.in_recovery() {
                continue;
            }
            let of_path = || self.outqueue.find(next, |sent| sent.path == id && sent.fate != Fate::Arrived);
            let next = if concurrent { of_path().unwrap_or(self.outqueue.next()) } else { next };
            self.paths.get_mut(id).window.acknowledged(next);
        }
    }

    fn before_sack(&self, id: PathId) -> PathNews {
        let flight = self.paths.get(id).window.flight();
        let oldest = (flight > Bytes::ZERO).then(|| self.outqueue.oldest_on(id)).flatten();
        let mut pseudo = [None; 2];
        if let Some(cmt) = self.config.cmt.filter(|_| !self.keeps_expected()) {
            let first = |again: bool| {
                self.outqueue.find(self.outqueue.first(), |sent| {
                    let outstanding = !matches!(sent.fate, Fate::Arrived | Fate::Planned);
                    sent.path == id && outstanding && !sent.is_revoked() && (sent.transmissions > 1) == again
                })
            };
            pseudo = [first(false), None];
            if cmt.window_update == WindowUpdate::V2 {
                pseudo[1] = first(true);
            }
        }
        PathNews { flight, oldest, pseudo, ..PathNews::default() }
    }

    /// Marks the chunks that a SACK acknowledges. Returns the lowest and the highest TSN that were not acknowledged before.
    fn mark_arrivals(
        &mut self,
        now: SimTime,
        (sack, more): (&Sack, &[u8]),
        news: &mut [PathNews],
    ) -> Option<(Tsn, Tsn)> {
        let mut arrived: Option<(Tsn, Tsn)> = None;
        let freebsd = self.config.recovers_as_freebsd();
        let expected = AllExpected::new(&self.paths, self.keeps_expected());
        let Self { outqueue, paths, .. } = self;
        let mut sampled = false;
        let mut note = |tsn: Tsn, sent: &Sent| {
            let id = if freebsd { sent.path_now() } else { sent.path };
            let (path, news) = (paths.get_mut(id), &mut news[id.index()]);
            let length = sent.chunk.length();
            if sent.is_revoked() {
                path.window.restored(length);
            }
            // `sctp_process_segment_range`: a gap block says nothing more of a chunk that waits to be sent again.
            if freebsd && sent.fate == Fate::Missing && tsn >= sack.next {
                return;
            }
            if sent.fate == Fate::InFlight {
                path.window.left(length, false);
                news.answered = true;
                // Either path may have delivered a chunk that was moved.
                if sent.special != Special::Moved {
                    news.news.acked += length;
                }
                news.oldest_acked |= news.oldest == Some(tsn);
            } else if freebsd {
                news.news.acked += length;
            }
            // `sctp_process_segment_range`: a chunk that is acknowledged again is no news, unless by the cumulative TSN.
            news.fresh |= !sent.is_revoked() || tsn < sack.next;
            news.news.once |= sent.transmissions == 1;
            news.cumulative |= tsn < sack.next;
            news.news.advanced |= news.pseudo.contains(&Some(tsn));
            news.news.advanced |= expected.arrives(tsn, sent, tsn < sack.next);
            // A chunk that two paths have carried says nothing of those that either has lost. FreeBSD takes it for news of the last.
            if freebsd || sent.has_one_carrier() {
                news.highest = news.highest.max(Some(tsn));
            }
            // `rto_ok` of `sctp_handle_sack`: a SACK is one sample, of the lowest chunk that is timed.
            if let Some(sample) = path.timer.on_acked(now, tsn).filter(|_| !(freebsd && sampled)) {
                (news.news.rtt, sampled) = (Some(sample), true);
            }
            arrived = Some(arrived.map_or((tsn, tsn), |(low, high)| (low.min(tsn), high.max(tsn))));
        };
        outqueue.acknowledge(sack.next, &mut note);
        let mut passed = sack.next.0;
        for block in sack.gaps.blocks(sack.next, more) {
            expected.pass(outqueue, passed..block.start.0);
            outqueue.gap_acknowledge(block, &mut note);
            passed = block.end.0;
        }
        expected.keep(paths);
        arrived
    }

    /// Timer and error counters of a path that a SACK has acknowledged something of.
    fn note_answer(&mut self, now: SimTime, id: PathId, news: &PathNews, (advanced, express): (bool, bool)) {
        let defects = self.config.recovery.timer_defects;
        let late = express && defects.restarts_late();
        let path = self.paths.get_mut(id);
        if let Some(sample) = news.news.rtt {
            path.timer.sample(now, sample);
        }
        let (srtt, counters) = (path.srtt(), path.window.counters());
        path.losses.update(now, srtt, counters);
        // `sctp_handle_sack`: an advance restarts the timers of all paths, also of those that the SACK says nothing of.
        let all = defects.restarts_late() && self.config.cmt.is_none() && advanced && !late;
        if !news.answered {
            if all && path.window.flight() > Bytes::ZERO {
                path.timer.restart(now);
            }
            return;
        }
        path.reach.on_answer();
        if defects.restarts_late() && news.news.once {
            path.timer.restore();
        }
        // RFC 9260 section 6.3.2, rules R2 and R3: the timer stops when nothing is outstanding, and starts anew when
        // the oldest chunk is acknowledged.
        if path.window.flight() == Bytes::ZERO {
            path.timer.stop();
        } else if defects.starves() && self.config.cmt.is_some() {
            if (news.news.advanced || news.cumulative) && !late {
                path.timer.restart(now);
            }
        } else if defects.restarts_late() && self.config.cmt.is_none() {
            if all {
                path.timer.restart(now);
            }
        } else if news.oldest_acked && !late {
            path.timer.restart(now);
        }
    }

    /// Counts missing reports (RFC 9260 section 7.2.4), and begins loss episodes.
    fn strike(
        &mut self,
        now: SimTime,
        (sack, more): (&Sack, &[u8]),
        (advanced, lowest, highest): (bool, Option<Tsn>, Tsn),
        news: &mut [PathNews],
    ) {
        if sack.gaps.is_empty() {
            return;
        }
        let Self { outqueue, paths, config, .. } = self;
        let highest_on: Vec<_> = news.iter().map(|news| news.highest.filter(|_| news.fresh)).collect();
        let alone = highest_on.iter().flatten().count() == 1;
        // Split fast retransmit: only a later chunk of the same path that has arrived reports one missing. DAC: a SACK that
        // covers several packets of one path counts as many.
        let freebsd = config.recovers_as_freebsd();
        let recovering = paths.iter().any(|path| path.window.in_recovery());
        let recovering = if freebsd { paths.recovery.is_some() } else { recovering };
        // `sctp_strike_gap_ack_chunks`: in fast recovery a SACK that advances reports all that is missing, a second time as well.
        let loose = freebsd && recovering && advanced;
        let repeats = |sent: &Sent| freebsd && config.cmt.is_none() && (loose || highest >= sent.fast_until);
        let reports = |tsn: Tsn, sent: &Sent| match config.cmt {
            _ if sent.barred || sent.fast && !repeats(sent) => 0,
            None if !freebsd => 1,
            _ if highest_on[sent.path.index()].is_none() => 0,
            _ if highest_on[sent.path.index()] <= Some(tsn) && !loose => 0,
            Some(cmt) if cmt.delayed_ack && alone && lowest.is_some_and(|lowest| tsn < lowest) => {
                sack.packets.max(1)
            }
            _ => 1,
        };
        // In fast recovery a SACK that advances reports all that is missing.
        let reported = sack.gaps.blocks(sack.next, more).last().map_or(highest, |block| block.end);
        let end =
            if recovering && advanced && (config.cmt.is_none() || freebsd) { reported } else { highest };
        let mut lost = |tsn: Tsn, sent: &mut Sent| {
            if freebsd {
                let policy = config.cmt.map(|cmt| cmt.retransmission);
                let again_on = policy.map(|policy| paths.draw_for_retransmission(policy, sent.path));
                (sent.again_on, sent.barred) = (again_on.or(Some(sent.path)), config.cmt.is_some());
            }
            let path = paths.get_mut(sent.path);
            path.expected.iter_mut().for_each(Expected::seek);
            path.window.left(sent.chunk.length(), !std::mem::replace(&mut sent.counted, true));
            path.timer.forget(tsn);
            news[sent.path.index()].lost = true;
        };
        outqueue.strike(end, config.recovery.missing_reports, reports, &mut lost);
        self.paths.refresh_views();
        // `sctp_cwnd_update_after_fr`: one path at a time, the window is reduced once in a recovery.
        let spared = freebsd && self.config.cmt.is_none() && recovering;
        for (id, news) in self.paths.ids().zip(news) {
            if !news.lost {
                continue;
            }
            let end = self.outqueue.unsent_on(id);
            let (path, siblings) = self.paths.with_siblings(id);
            let loss = path.window.loss(now, news.flight, path.srtt());
            let reduced = !spared && path.window.on_missing(&loss, end, siblings);
            path.stats.fast_recoveries += u64::from(reduced);
            if path.window.flight() == Bytes::ZERO {
                path.timer.stop();
            } else if self.config.recovery.fast_retransmit == FastRetransmit::All && reduced {
                path.timer.restart(now);
            }
            self.fast.on_missing(id);
            if freebsd && reduced {
                self.paths.recovery = Some(self.outqueue.unsent());
            }
        }
    }
}
