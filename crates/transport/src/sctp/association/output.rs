//! Which packet leaves next.
//!
//! Control chunks come first, then HEARTBEATs, retransmissions, chunks that another path is to carry as well, new data, and a SACK
//! that no packet could carry.
//! Deviations: a packet has either retransmissions or new data. The limit of messages in the send window counts chunks of all streams.

use schedulers::Occasion;
use units::{Bytes, SimTime};

use super::Association;
use crate::departure::Departure;
use crate::packet::{Body, Packet, PathId};
use crate::sctp::chunk::{Control, DataChunk, DataChunks, NR_SACK, SACK, SctpPacket};
use crate::sctp::config::{FastRetransmit, MaxBurst};
use crate::sctp::gaps::MORE;
use crate::sctp::lifecycle::State;
use crate::sctp::tsn::{Tag, Tsn};
use crate::seq::StreamOffset;

/// Most chunks that are not cumulatively acknowledged.
const MOST_OUTSTANDING: u64 = u16::MAX as u64;

/// A packet that is being put together.
pub(super) struct Draft {
    path: PathId,
    body: SctpPacket,
    /// Where its data begins in the concatenation of all messages.
    offset: StreamOffset,
    again: bool,
}

impl Draft {
    fn control(path: PathId, tag: Tag, control: Control) -> Self {
        let body = SctpPacket { tag, control, data: DataChunks::default() };
        Self { path, body, offset: StreamOffset::START, again: false }
    }
}

impl Association {
    /// The next packet to put on the wire: overwrites `packet`, unless nothing leaves.
    pub fn poll_transmit(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        if std::mem::take(&mut self.opportunity) && self.life.may_send() {
            self.fast.begin();
            self.fast.set_open(!self.config.recovers_as_freebsd() || self.may_open());
            if !matches!(self.config.window.burst, MaxBurst::WindowLimiting(_)) {
                self.paths.begin_burst(now, self.config.window.burst, self.config.window.idle_decay);
            }
        }
        self.life.progress(self.has_nothing_outstanding(), self.received.next());
        let draft = self
            .control(now)
            .or_else(|| self.again_or_heartbeat(now))
            .or_else(|| self.new_data(now))
            .or_else(|| self.sack_alone());
        if let Some(draft) = draft.as_ref().filter(|draft| draft.body.data.is_empty()) {
            self.note_control(now, draft.body.control);
        }
        let Some(Draft { path, body, offset, again }) = draft else {
            self.outgoing.settle();
            if self.config.recovers_as_freebsd() && !self.life.is_over() {
                self.paths.assure_a_timer(now);
            }
            return Departure::NOTHING;
        };
        self.sack.on_departure();
        let user_data = body.data.user_data();
        *packet = Packet {
            path,
            retransmission: again,
            size: self.config.packet.ip_header + body.size() + self.config.packet.overhead,
            payload: user_data.0 as u32,
            offset,
            body: Body::Sctp(body),
            ..Packet::default()
        };
        packet.check();
        self.check();
        Departure::PACKET
    }

    /// Nothing more leaves now.
    fn is_exhausted(&mut self) -> bool {
        if !self.fast.is_exhausted() {
            return false;
        }
        // `sctp_lower_sosend` calls `sctp_chunk_output` for each message: one path at a time, a message that finds its window overfull only waits.
        let window = &self.paths.get(self.paths.in_use()).window;
        let tries = self.config.cmt.is_some() || window.flight() <= window.cwnd();
        !(tries && self.peer_free() > Bytes::ZERO && self.fast.go_on())
    }

    fn new_data(&mut self, now: SimTime) -> Option<Draft> {
        loop {
            if let Some(draft) = self.new_data_at_once(now) {
                return Some(draft);
            }
            // `sctp_lower_sosend`: each message that was written is another occasion to send.
            let each = self.config.recovers_as_freebsd() && self.config.cmt.is_some();
            if !(each && !self.is_exhausted() && self.fast.go_on()) {
                return None;
            }
            self.fast.set_open(self.may_open());
        }
    }

    /// The peer has a window, or nothing is on its way to it: `sctp_common_input_processing` and `sctp_lower_sosend` do not call
    /// `sctp_chunk_output` otherwise.
    pub(super) fn may_open(&self) -> bool {
        self.peer_free() > Bytes::ZERO || self.outqueue.in_flight() == Bytes::ZERO
    }

    /// A control packet leaves: it takes a turn of the scheduler, all of them at an occasion to send together one.
    fn note_control(&mut self, now: SimTime, control: Control) {
        if !self.config.recovers_as_freebsd() || self.placement.is_none() {
            return;
        }
        if !self.life.may_send() {
            // `sctp_handle_init_ack`: the cookie waits for its answer, and is looked at twice. An INIT does not wait.
            let turns = if matches!(control, Control::CookieEcho(_)) { 2 } else { 0 };
            (0..turns).for_each(|_| self.tell_occasion(Occasion::ControlAlone));
            return;
        }
        // A program writes when it knows of the association. A HEARTBEAT that implies the COOKIE ACK is answered after the others have left.
        let new = self.life.established_at() == Some(now);
        if new && matches!(control, Control::HeartbeatAck(_)) || self.fast.begins_control() {
            let with_data = self.may_open() && !new;
            self.tell_occasion(if with_data { Occasion::Control } else { Occasion::ControlAlone });
        }
    }

    /// Tells the scheduler of concurrent transfer of an occasion to send.
    fn tell_occasion(&mut self, occasion: Occasion) {
        let room = self.room();
        self.placement.iter_mut().for_each(|placement| placement.occasion(occasion, room));
    }

    fn new_data_at_once(&mut self, now: SimTime) -> Option<Draft> {
        let freebsd = self.config.recovers_as_freebsd();
        if self.is_exhausted() {
            if freebsd && self.fast.is_of_timer() && self.fast.is_silent() && self.fast.begins_new_data() {
                self.tell_occasion(Occasion::Nothing);
            }
            return None;
        }
        // `sctp_chunk_output`: windows are limited when retransmissions have left.
        if !self.fast.opens() {
            return None;
        }
        if self.fast.begins_new_data() {
            if matches!(self.config.window.burst, MaxBurst::WindowLimiting(_)) {
                self.paths.begin_burst(now, self.config.window.burst, self.config.window.idle_decay);
            }
            if self.fast.is_silent() {
                self.tell_occasion(Occasion::Data);
            }
        }
        self.reschedule(now).or_else(|| self.fresh(now)).or_else(|| self.head_again(now))
    }

    fn control(&mut self, now: SimTime) -> Option<Draft> {
        let timer = &self.paths.get(PathId::FIRST).timer;
        let (mut path, tag, control) = self.life.take(now, |doublings| timer.rto_after(doublings))?;
        if matches!(control, Control::Shutdown(_)) {
            path = self.paths.in_use();
        }
        let mut draft = Draft::control(path, tag, control);
        // RFC 9260 section 5.1: DATA may follow the cookie in its packet.
        if matches!(control, Control::CookieEcho(_)) && self.outqueue.is_empty() {
            let peer = self.life.peer().map_or(0, |peer| peer.window);
            self.peer_window = Bytes(u64::from(peer));
            self.add_fresh(now, &mut draft);
        }
        Some(draft)
    }

    /// `sctp_chunk_output`: retransmissions leave before HEARTBEATs, which a timeout may cause as well.
    fn again_or_heartbeat(&mut self, now: SimTime) -> Option<Draft> {
        if self.config.recovers_as_freebsd() {
            self.again(now).or_else(|| self.heartbeat(now))
        } else {
            self.heartbeat(now).or_else(|| self.again(now))
        }
    }

    fn heartbeat(&mut self, now: SimTime) -> Option<Draft> {
        if !self.life.may_send() {
            return None;
        }
        let tag = self.life.peer_tag();
        for id in self.paths.ids() {
            let path = self.paths.get_mut(id);
            let rto = path.timer.rto();
            if let Some(heartbeat) = path.reach.take_heartbeat(now, rto) {
                if !self.config.window.idle_decay {
                    path.last_sent = Some(now);
                }
                return Some(Draft::control(id, tag, Control::Heartbeat(heartbeat)));
            }
        }
        None
    }

    /// The path on which a missing chunk is sent again.
    fn path_again(&self, tsn: Tsn) -> PathId {
        let Some(sent) = self.outqueue.get(tsn) else { return PathId::FIRST };
        if let Some(chosen) = sent.again_on.filter(|id| self.paths.get(*id).reach.is_active()) {
            return chosen;
        }
        if let Some(cmt) = self.config.cmt {
            return self.paths.for_retransmission(cmt.retransmission, sent.path);
        }
        // RFC 9260 section 6.4.1: data that timed out goes to an alternate address; a fast retransmission stays.
        if sent.fast && self.paths.get(sent.path).reach.is_active() && sent.transmissions == 1 {
            sent.path
        } else {
            self.paths.alternate(sent.path)
        }
    }

    /// A packet of retransmissions.
    fn again(&mut self, now: SimTime) -> Option<Draft> {
        if !self.life.may_send() || self.outqueue.missing() == 0 {
            return None;
        }
        let mut from = self.outqueue.first();
        loop {
            let tsn = self.outqueue.first_missing(from)?;
            let id = self.path_again(tsn);
            let reported = self.outqueue.get(tsn).is_some_and(|sent| sent.reported);
            if self.waits_for_window(tsn) || self.is_exhausted() {
                return None;
            }
            if self.fast.is_open(id, reported) || self.paths.has_room(id) {
                return Some(self.resend(now, id, tsn));
            }
            from = tsn.next();
        }
    }

    /// `sctp_chunk_retransmission`: a peer without window gets the oldest chunk alone.
    fn waits_for_window(&self, tsn: Tsn) -> bool {
        self.config.recovery.fast_retransmit == FastRetransmit::All
            && tsn != self.outqueue.first()
            && self.outqueue.in_flight() > Bytes::ZERO
            && self.peer_free() < self.config.buffers.needed(self.config.packet.payload)
    }

    /// Sends missing chunks again on this path, from `tsn` on, as many as fit into a packet.
    pub(super) fn resend(&mut self, now: SimTime, id: PathId, mut tsn: Tsn) -> Draft {
        // RFC 9260 section 7.2.4: this single packet ignores cwnd.
        let reported = self.outqueue.get(tsn).is_some_and(|sent| sent.reported);
        self.fast.on_sent(id, reported);
        let first = tsn;
        let mut draft = Draft::control(id, self.life.peer_tag(), Control::None);
        draft.again = true;
        let room = self.config.room();
        while let Some(missing) = self.outqueue.first_missing(tsn).filter(|missing| *missing == tsn) {
            let chunk = self.outqueue.get(missing).expect("it is missing").chunk;
            let fits = draft.body.data.size() + chunk.size() <= room && !draft.body.data.is_full();
            let wanted = tsn == first || self.path_again(missing) == id;
            if !fits || !wanted {
                break;
            }
            let (before, revoked) =
                self.outqueue.get(missing).map_or((id, false), |sent| (sent.path, sent.is_revoked()));
            let sent = self.outqueue.resend(now, missing, id);
            if tsn == first {
                draft.offset = sent.offset;
            }
            draft.body.data.push(missing, sent.chunk);
            let path = self.paths.get_mut(id);
            path.window.sent(sent.chunk.length());
            if revoked {
                // `sctp_chunk_retransmission` takes back the growth that a revoked chunk has caused, and does so here.
                path.window.restored(sent.chunk.length());
            }
            path.timer.on_sent(now, missing, true);
            if before != id {
                path.stats.moved += sent.chunk.user_data();
            }
            tsn = tsn.next();
        }
        self.note_data(now, &draft);
        // RFC 9260 section 7.2.4: the timer is restarted if this is the first outstanding chunk of the address.
        if self.outqueue.oldest_on(id) == Some(first) {
            self.paths.get_mut(id).timer.restart(now);
        }
        self.attach_sack(&mut draft);
        draft
    }

    /// A packet of new data.
    fn fresh(&mut self, now: SimTime) -> Option<Draft> {
        if !self.life.may_send() {
            return None;
        }
        if self.queues() {
            self.plan_ahead(now);
            return self.planned(now);
        }
        if self.outgoing.is_empty() {
            return None;
        }
        let id = self.path_fresh(now)?;
        let mut draft = Draft::control(id, self.life.peer_tag(), Control::None);
        self.add_fresh(now, &mut draft);
        if draft.body.data.is_empty() {
            return None;
        }
        self.attach_sack(&mut draft);
        Some(draft)
    }

    /// Adds new chunks to a packet, as many as fit and the windows permit.
    fn add_fresh(&mut self, now: SimTime, draft: &mut Draft) {
        let room = self.config.room().saturating_sub(draft.body.control.size());
        while let Some(len) = self.outgoing.next_len(self.config.packet.payload) {
            let size = Bytes((len.0 + 16).next_multiple_of(4));
            let fits = draft.body.data.size() + size <= room && !draft.body.data.is_full();
            if !fits || !self.paths.get(draft.path).window.has_room() || !self.peer_has_room(len) {
                break;
            }
            let offset = self.outgoing.offset();
            let Some(chunk) = self.outgoing.take(self.config.packet.payload) else { break };
            if draft.body.data.is_empty() {
                draft.offset = offset;
            }
            let tsn = self.outqueue.push(now, draft.path, chunk, offset);
            self.add(now, draft, tsn, chunk);
        }
        if !draft.body.data.is_empty() {
            self.note_data(now, draft);
        }
    }

    /// A chunk leaves for the first time.
    fn add(&mut self, now: SimTime, draft: &mut Draft, tsn: Tsn, chunk: DataChunk) {
        draft.body.data.push(tsn, chunk);
        let path = self.paths.get_mut(draft.path);
        path.window.sent(chunk.length());
        path.timer.on_sent(now, tsn, false);
    }

    /// A packet of chunks that are planned for a path.
    fn planned(&mut self, now: SimTime) -> Option<Draft> {
        let id = self.path_planned()?;
        let mut draft = Draft::control(id, self.life.peer_tag(), Control::None);
        while let Some(tsn) = self.outqueue.planned().first_on(id) {
            let Some(planned) = self.outqueue.get(tsn).copied() else { break };
            let follows = draft.body.data.is_empty() || draft.body.data.end() == tsn;
            let fits = draft.body.data.size() + planned.chunk.size() <= self.config.room();
            // The window was reserved when it was planned; if the peer has reduced it since, one chunk probes.
            let probes = self.outqueue.in_flight() == Bytes::ZERO && self.outqueue.missing() == 0;
            let window = self.config.buffers.needed(planned.chunk.user_data()) <= self.peer_free() || probes;
            if !follows || !fits || draft.body.data.is_full() || !window || !self.paths.has_room(id) {
                break;
            }
            if draft.body.data.is_empty() {
                draft.offset = planned.offset;
            }
            self.outqueue.send_planned(now, id);
            self.add(now, &mut draft, tsn, planned.chunk);
        }
        if draft.body.data.is_empty() {
            return None;
        }
        self.note_data(now, &draft);
        self.attach_sack(&mut draft);
        Some(draft)
    }

    /// RFC 9260 section 6.1: "the data sender MUST NOT transmit new data to any destination transport address if its
    /// peer's rwnd indicates that the peer has no buffer space" One chunk may probe for it.
    ///
    /// RFC 9260 section 6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current
    /// send window." The peer would take the next one for the first, whose Stream Sequence Number it has.
    pub(super) fn peer_has_room(&self, len: Bytes) -> bool {
        if self.outqueue.next().0 - self.outqueue.first().0 >= MOST_OUTSTANDING {
            return false;
        }
        let idle = self.outqueue.in_flight() == Bytes::ZERO && self.outqueue.missing() == 0;
        self.config.buffers.needed(len) <= self.peer_unplanned() || idle && self.outqueue.planned().is_empty()
    }

    /// Data leaves.
    fn note_data(&mut self, now: SimTime, draft: &Draft) {
        let path = self.paths.get_mut(draft.path);
        // `sctp_med_chunk_output` notes when new data or a HEARTBEAT leaves, `sctp_chunk_retransmission` nothing.
        if self.config.window.idle_decay || !draft.again {
            path.last_sent = Some(now);
        }
        let rto = path.timer.rto();
        path.reach.on_data(now, rto);
        path.stats.packets_sent += 1;
        path.stats.packets_retransmitted += u64::from(draft.again);
        path.stats.bytes_sent += draft.body.data.user_data();
    }

    /// A SACK that waits travels with data on its path, if there is room.
    fn attach_sack(&mut self, draft: &mut Draft) {
        if !self.sack.is_pending() || self.sack.path() != draft.path {
            return;
        }
        let head = if self.config.sack.non_renegable { NR_SACK } else { SACK };
        let gaps = self.received.gaps(self.config.recovers_as_freebsd().then_some(&mut []));
        let size = head + Bytes(4 * gaps.count() as u64);
        if draft.body.data.size() + size <= self.config.room() {
            draft.body.control = Control::Sack(self.take_sack(&mut []));
        }
    }

    fn sack_alone(&mut self) -> Option<Draft> {
        let answers = self.life.may_receive()
            || matches!(self.life.state(), State::ShutdownReceived | State::ShutdownAckSent);
        if !self.sack.is_due() || !answers {
            return None;
        }
        let path = self.sack.path();
        let mut more = [0; MORE];
        let sack = self.take_sack(&mut more);
        let mut draft = Draft::control(path, self.life.peer_tag(), Control::Sack(sack));
        if more != [0; MORE] {
            draft.body.data = DataChunks::with_more(more);
        }
        Some(draft)
    }
}
