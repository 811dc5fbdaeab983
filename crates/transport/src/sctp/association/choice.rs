//! The path of new data, and chunks that are sent on another path before they are taken for lost.

use schedulers::{ConnectionView, Decision, Question, SubflowSet, SubflowView};
use units::{Bytes, SimTime};

use super::Association;
use super::output::Draft;
use crate::packet::PathId;
use crate::sctp::chunk::Promise;
use crate::sctp::config::{BufferSplit, Occupancy};
use crate::sctp::outqueue::{Fate, Outqueue, Special};
use crate::sctp::placement::Placement;
use crate::sctp::tsn::Tsn;

impl Association {
    /// The path for new data, if any has room.
    pub(super) fn path_fresh(&mut self, now: SimTime) -> Option<PathId> {
        if self.placement.is_none() {
            let id = self.paths.in_use();
            return self.paths.has_room(id).then_some(id);
        }
        match self.ask(now, Question::New) {
            Decision::Send(index) => Some(PathId(index as u8)),
            _ => None,
        }
    }

    /// Asks the scheduler of concurrent transfer.
    fn ask(&mut self, now: SimTime, question: Question) -> Decision {
        let next = self.outgoing.next_len(self.config.packet.payload).unwrap_or(Bytes::ZERO);
        loop {
            let decision = self.consult(now, question, next, Placement::pick).unwrap_or(Decision::Wait);
            let room = self.room();
            let goes_on = |placement: &mut Placement| placement.goes_on(room);
            if decision != Decision::Wait || !self.placement.as_mut().is_some_and(goes_on) {
                return decision;
            }
        }
    }

    /// Free window of the peer, and bytes in flight on all paths.
    pub(super) fn room(&self) -> Bytes {
        let flight = |id: PathId| self.paths.get(id).window.flight();
        self.peer_free() + self.paths.ids().map(flight).sum()
    }

    /// Lets the scheduler answer about the paths as they are now, and a chunk with `len` user data.
    fn consult<T>(
        &mut self,
        now: SimTime,
        question: Question,
        len: Bytes,
        answer: impl FnOnce(&mut Placement, ConnectionView<'_>) -> T,
    ) -> Option<T> {
        let mut placement = self.placement.take()?;
        let single = placement.needs().single_writes;
        let room = placement.pass_room();
        let asks_about_head = question != Question::New;
        // A pass counts packets that leave: without room at the peer none does.
        let closed = single && !asks_about_head && !self.peer_has_room(len);
        placement.look(self.paths.ids().map(|id| {
            let view = self.view(id, room);
            SubflowView { available: view.available && !closed, ..view }
        }));
        let answered = answer(
            &mut placement,
            ConnectionView {
                now,
                question,
                subflows: &[],
                unassigned: match single {
                    true if !self.may_open() => Bytes::ZERO,
                    true => self.outgoing.before_last_write(),
                    false => self.outgoing.bytes(),
                },
                len: if asks_about_head { Bytes::ZERO } else { len },
                send_window: self.peer_window.max(self.outqueue.in_flight()),
                window_left: self.peer_unplanned(),
                head: if asks_about_head { carriers(&self.outqueue) } else { SubflowSet::default() },
            },
        );
        self.placement = Some(placement);
        Some(answered)
    }

    fn view(&self, id: PathId, room: Option<Bytes>) -> SubflowView {
        // `sctp_med_chunk_output` admits nothing for an inactive path, but offers it what was admitted.
        let active = self.paths.is_usable(id);
        let usable = active || room.is_some() && self.paths.get(id).reach.is_confirmed();
        let (queued, unsent) = (self.outqueue.queued_on(id), self.outqueue.planned().bytes_on(id));
        let available = usable && self.paths.has_room_behind(id, unsent) && self.has_share(id, room);
        let send_buffer = self.share(self.config.buffers.send);
        let view = self.paths.get(id).show(self.config.largest_chunk(), usable, available, queued);
        SubflowView { send_window: self.peer_window, send_buffer, unsent, backup: !active, ..view }
    }

    fn share(&self, buffer: Bytes) -> Bytes {
        BufferSplit::share(buffer, self.paths.len())
    }

    /// The path has not used up its share of the buffers. `room`: that of the peer and its data in flight, if a pass has fixed it.
    fn has_share(&self, id: PathId, room: Option<Bytes>) -> bool {
        let Some(cmt) = self.config.cmt else { return true };
        let flight = |id: PathId| self.paths.get(id).window.flight();
        let free = self.peer_free();
        let planned = self.outqueue.planned();
        let (used, all) = match cmt.split_by {
            Occupancy::Queued => {
                let used = self.outqueue.queued_on(id) - planned.bytes_on(id);
                (used, self.outqueue.bytes() - planned.bytes())
            }
            Occupancy::Flight => (flight(id), self.room() - free),
        };
        // The sender keeps nothing that an NR-SACK has acknowledged.
        let kept = if self.config.promise() == Promise::Kept && cmt.split_by == Occupancy::Queued {
            self.outqueue.arrived_on(id)
        } else {
            Bytes::ZERO
        };
        (!cmt.split.at_sender() || used - kept <= self.share(self.config.buffers.send))
            && (!cmt.split.at_receiver() || used <= self.share(room.unwrap_or(free + all)))
    }

    /// Chunk rescheduling: a path whose share of a buffer is filled by chunks that have arrived out of order carries the
    /// oldest chunk in flight as well.
    pub(super) fn reschedule(&mut self, now: SimTime) -> Option<Draft> {
        let rescheduling = self.config.cmt?.rescheduling;
        if rescheduling.at == BufferSplit::Off || !self.life.may_send() {
            return None;
        }
        let id = self.paths.ids().find(|id| self.is_blocked(*id))?;
        let tsn = self.outqueue.oldest()?;
        let sent = *self.outqueue.get(tsn)?;
        let old = sent.path;
        let waits = now.since(sent.at) > self.paths.get(id).srtt().saturating_mul(2);
        if sent.special == Special::Moved || old == id && !waits {
            return None;
        }
        let flight = self.paths.get(old).window.flight();
        self.recall(tsn);
        if rescheduling.reduces && old != id {
            self.paths.refresh_views();
            let end = self.outqueue.unsent_on(old);
            let (path, siblings) = self.paths.with_siblings(old);
            let loss = path.window.loss(now, flight, path.srtt());
            if !path.window.on_missing(&loss, end, siblings) {
                path.blocked_until = now + path.srtt();
            }
        }
        Some(self.resend(now, id, tsn))
    }

    /// The path has room, and too much of its share of a buffer is filled out of order.
    fn is_blocked(&self, id: PathId) -> bool {
        let Some(cmt) = self.config.cmt else { return false };
        let free = self.peer_free();
        let rule = cmt.rescheduling;
        let arrived = self.outqueue.arrived_on(id);
        let due = |buffer| rule.is_due(arrived, self.share(buffer));
        let may_send = self.paths.is_usable(id) && self.paths.has_room(id);
        may_send
            && arrived > Bytes::ZERO
            && !self.paths.get(id).window.in_recovery()
            && (rule.at.at_sender() && due(self.config.buffers.send)
                || rule.at.at_receiver()
                    && due(free + self.outqueue.bytes() - self.outqueue.planned().bytes()))
    }

    /// A chunk in flight is no longer expected by its path.
    fn recall(&mut self, tsn: Tsn) {
        let sent = self.outqueue.recall(tsn);
        let path = self.paths.get_mut(sent.path);
        path.window.left(sent.chunk.length(), false);
        path.timer.forget(tsn);
        if path.window.flight() == Bytes::ZERO {
            path.timer.stop();
        }
    }

    /// The oldest chunk goes to another path as well if the scheduler wants that while the window or the send buffer is full.
    pub(super) fn head_again(&mut self, now: SimTime) -> Option<Draft> {
        if !self.life.may_send() || !self.placement.as_ref().is_some_and(|placement| placement.needs().head) {
            return None;
        }
        let tsn = self.outqueue.first();
        if self.outqueue.get(tsn).is_none_or(|sent| sent.fate != Fate::InFlight)
            || self.outqueue.missing() > 0
        {
            return None;
        }
        let next = self.outgoing.next_len(self.config.packet.payload);
        let question = match next {
            Some(len) if !self.peer_has_room(len) => Question::WindowFull,
            None if !self.outqueue.planned().is_empty() => return None,
            None if self.send_space() == Bytes::ZERO => Question::BufferFull,
            _ => return None,
        };
        let mut decision = self.ask(now, question);
        if let Decision::Penalise(set) = decision {
            for index in set.iter() {
                self.paths.get_mut(PathId(index as u8)).window.penalise();
            }
            decision = self.ask(now, question);
        }
        let Decision::ResendHead(index) = decision else { return None };
        self.recall(tsn);
        Some(self.resend(now, PathId(index as u8), tsn))
    }

    /// The scheduler queues chunks on paths.
    pub(super) fn queues(&self) -> bool {
        self.placement.as_ref().is_some_and(Placement::queues)
    }

    /// Gives new chunks their TSNs and paths, as far ahead as the scheduler and the window of the peer permit.
    pub(super) fn plan_ahead(&mut self, now: SimTime) {
        let planned = self.outqueue.planned();
        let strands = |id: PathId| planned.first_on(id).is_some() && !self.paths.is_usable(id);
        let stranded = self.paths.ids().any(strands);
        let asks = !planned.is_empty() && self.placement.as_mut().is_some_and(Placement::may_redistribute);
        if stranded
            || asks && self.consult(now, Question::New, Bytes::ZERO, Placement::redistributes) == Some(true)
        {
            self.plan_anew(now);
        }
        while let Some(len) = self.outgoing.next_len(self.config.packet.payload) {
            if !self.peer_has_room(len) {
                break;
            }
            let Decision::Send(index) = self.ask(now, Question::New) else { break };
            let offset = self.outgoing.offset();
            let Some(chunk) = self.outgoing.take(self.config.packet.payload) else { break };
            self.outqueue.plan(PathId(index as u8), chunk, offset);
        }
    }

    /// Asks about each chunk that was planned and not sent once more. One that the scheduler has no place for stays on its
    /// path, or goes to the path in use if that has failed.
    fn plan_anew(&mut self, now: SimTime) {
        for tsn in self.outqueue.take_plan() {
            let Some(sent) = self.outqueue.get(tsn).copied() else { continue };
            let path = match self.consult(now, Question::New, sent.chunk.user_data(), Placement::pick) {
                Some(Decision::Send(index)) => PathId(index as u8),
                _ if self.paths.is_usable(sent.path) => sent.path,
                _ => self.paths.in_use(),
            };
            self.outqueue.plan_on(tsn, path);
        }
    }

    /// The path that sends the next of its planned chunks: of those with room that with the lowest TSN.
    pub(super) fn path_planned(&self) -> Option<PathId> {
        let next = |id: PathId| Some((self.outqueue.planned().first_on(id)?, id));
        // The chunk that all others wait for needs no share of the buffers.
        let may = |(tsn, id): &(Tsn, PathId)| {
            self.paths.has_room(*id) && (*tsn == self.outqueue.first() || self.has_share(*id, None))
        };
        self.paths.ids().filter_map(next).filter(may).min().map(|(_, id)| id)
    }

    /// State of the scheduler.
    pub fn scheduler_gauges(&self, report: schedulers::Report<'_>) {
        self.placement.iter().for_each(|placement: &Placement| placement.gauges(&mut *report));
    }
}

/// Paths that carry the oldest chunk.
fn carriers(outqueue: &Outqueue) -> SubflowSet {
    let mut set = SubflowSet::default();
    let carriers = outqueue.get(outqueue.first()).map_or(0, |sent| sent.carriers);
    (0..8).filter(|index| carriers >> index & 1 != 0).for_each(|index| set.insert(index));
    set
}
