//! Which subflow carries which data: the scheduler is asked, and its answer is carried out.

use schedulers::{ConnectionView, Decision, Needs, Question, Queueing, Report, SubflowSet, SubflowView};
use units::{Bytes, Nanos, SimTime};

use super::connection::{Mode, MptcpConnection, take_bits};
use super::reinject::Reinjection;
use super::send_side::{DataFin, SendSide};
use crate::config::ReinjectOn;
use crate::tcp::sender::Sender;

/// The oldest segment without Data ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// Its first byte; 0: not known.
    start: u64,
    end: u64,
    /// Subflows on which it is outstanding.
    carriers: SubflowSet,
}

impl MptcpConnection {
    /// Before subflows send what is queued on them: what must be sent again goes first, and what was never sent may
    /// be placed anew. Returns the subflow that was given something.
    pub(super) fn schedule_ahead(&mut self, now: SimTime) -> Option<usize> {
        if self.mode != Mode::Multipath || self.failure.is_some() {
            return None;
        }
        if std::mem::take(&mut self.acked_since) && self.needs.redistribution {
            self.redistribute(now);
        }
        if self.send.reinject.is_empty() {
            return None;
        }
        self.freshen_views();
        self.place_reinjection(now)
    }

    /// Gives the next stretch of data to a subflow: reinjections first. Returns the subflow.
    pub(super) fn schedule(&mut self, now: SimTime) -> Option<usize> {
        let idle = self.send.reinject.is_empty() && self.send.unassigned() == 0;
        if idle && !self.needs.head && !self.needs.copies {
            return None;
        }
        if self.send.reinject.is_empty()
            && let Some(decided) = self.schedule_without_views()
        {
            return decided;
        }
        self.freshen_views();
        if !self.send.reinject.is_empty() {
            if let Some(i) = self.place_reinjection(now) {
                return Some(i);
            }
            // What was taken back comes before what follows it in the stream.
            if self.send.reinject.front().is_some_and(|front| front.carried == 0) {
                return None;
            }
        }
        let len = self.send.next_len(self.mss.0).filter(|&len| !self.nagle_forbids(len));
        let Some(len) = len else { return self.place_without_new(now) };
        self.judge_room(len);
        match self.ask_scheduler(now, Question::New, len) {
            Decision::Send(i) => {
                debug_assert!(
                    self.views[i].available || self.needs.queueing != Queueing::Never && self.views[i].usable,
                    "the scheduler chose a subflow without room"
                );
                self.give_new(i, len);
                Some(i)
            }
            Decision::Copy(set) => self.copy(set),
            Decision::Wait | Decision::ResendHead(_) | Decision::Penalise(_) => None,
        }
    }

    /// RFC 9293 3.7.4 for the stream of the connection: a small segment waits while any subflow has something
    /// outstanding, whose acknowledgement will ask again, unless it ends the stream.
    fn nagle_forbids(&self, len: u64) -> bool {
        let small = len < self.mss.0 && self.send.unassigned() < self.mss.0;
        let alive = || self.subflows.iter().flatten().filter(|s| s.is_alive());
        self.tcp.nagle
            && small
            && self.send.fin == DataFin::Open
            && alive().any(|s| s.endpoint.sender().unacked() > 0)
    }

    /// How most rounds end is found out before views are made: nobody has room, so that the scheduler could only wait,
    /// or one has, and a greedy scheduler would take it. `None`: the scheduler must be asked.
    fn schedule_without_views(&mut self) -> Option<Option<usize>> {
        let Needs { queueing, copies, watching, greedy, .. } = self.needs;
        if queueing != Queueing::Never || copies || watching {
            return None;
        }
        let len = self.send.next_len(self.mss.0)?;
        if self.nagle_forbids(len) {
            return None;
        }
        let room = self.with_room_for(len);
        if room == 0 {
            return Some(None);
        }
        let i = room.trailing_zeros() as usize;
        let backup = self.subflows[i].as_ref().is_some_and(|s| s.backup != [false; 2]);
        if !greedy || backup || !room.is_power_of_two() {
            return None;
        }
        self.give_new(i, len);
        Some(Some(i))
    }

    /// Usable subflows with room for `len` bytes, as bits.
    fn with_room_for(&mut self, len: u64) -> u64 {
        let Self { subflows, room, .. } = self;
        let has_room = |i: usize| {
            subflows[i].as_ref().is_some_and(|s| s.endpoint.sender().has_room_for(len) && s.usable())
        };
        if len < self.mss.0 {
            return (0..subflows.len()).filter(|i| has_room(*i)).collect::<SubflowSet>().0;
        }
        for i in take_bits(&mut self.stale_room) {
            *room = *room & !(1 << i) | u64::from(has_room(i)) << i;
        }
        *room
    }

    /// Nothing new may leave: copies of old data may, and the oldest segment may go elsewhere as well.
    fn place_without_new(&mut self, now: SimTime) -> Option<usize> {
        if self.needs.copies {
            return match self.ask_scheduler(now, Question::NothingNew, 0) {
                Decision::Copy(set) => self.copy(set),
                _ => None,
            };
        }
        if !self.needs.head || self.send.next == self.send.una || !self.send.reinject.is_empty() {
            return None;
        }
        let question = if self.send.unassigned() > 0 {
            Question::WindowFull
        } else if self.send_space() == Bytes::ZERO {
            Question::BufferFull
        } else {
            return None;
        };
        self.find_head();
        let mut decision = self.ask_scheduler(now, question, 0);
        if let Decision::Penalise(set) = decision {
            for i in set.iter() {
                if let Some(subflow) = self.subflow(i) {
                    subflow.endpoint.sender_mut().penalise();
                }
                self.touch(i);
            }
            self.freshen_views();
            decision = self.ask_scheduler(now, question, 0);
        }
        let Decision::ResendHead(i) = decision else { return None };
        let Head { start, end, .. } = self.head;
        self.repeat(i, start, (end - start).min(self.mss.0));
        Some(i)
    }

    /// Finds out who carries the oldest segment. It is asked for at every ACK while the window is full, and changes
    /// only with the Data ACK and with what is given a second time.
    fn find_head(&mut self) {
        let una = self.send.una;
        if self.head.start == una {
            return;
        }
        self.head = Head { start: una, end: una + self.mss.0, carriers: SubflowSet::default() };
        for (i, subflow) in self.subflows.iter().enumerate() {
            let Some(subflow) = subflow.as_ref().filter(|s| s.endpoint.death().is_none()) else { continue };
            let mut sent = subflow.endpoint.sender().sent_mappings();
            if let Some((dsn, len)) = sent.find(|(dsn, len)| (*dsn..dsn + len).contains(&una)) {
                self.head.carriers.0 |= 1 << i;
                self.head.end = self.head.end.min(dsn + len);
            }
        }
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

    /// What is sent again goes ahead of what is queued.
    fn judge_room_ahead(&mut self, now: SimTime, len: u64) {
        for (i, (view, subflow)) in self.views.iter_mut().zip(&self.subflows).enumerate() {
            self.stale_views |= 1 << i;
            let room =
                subflow.as_ref().is_some_and(|s| s.endpoint.sender().has_room_ahead_of_queue(now, len));
            view.available = view.usable && room;
        }
    }

    /// The next `len` bytes of new data for subflow `i`.
    fn give_new(&mut self, i: usize, len: u64) {
        let dsn = self.send.next;
        self.send.next += len;
        self.send.override_window = false;
        let Some(subflow) = self.subflow(i) else { return };
        subflow.endpoint.sender_mut().give(dsn, len);
        subflow.next_copy = dsn + len;
    }

    /// Data for subflow `i` that was given to another before.
    fn repeat(&mut self, i: usize, dsn: u64, len: u64) {
        debug_assert!(self.views[i].available, "the scheduler chose a subflow without room");
        self.carry_again(i, dsn, len);
    }

    pub(super) fn carry_again(&mut self, i: usize, dsn: u64, len: u64) {
        if let Some(subflow) = self.subflow(i) {
            subflow.endpoint.sender_mut().give_ahead(dsn, len);
            subflow.reinjected_bytes += len;
        }
        self.busy |= 1 << i;
        self.head.start = 0;
    }

    /// For each of a set the next stretch that others were given and it was not. Returns the first of them.
    fn copy(&mut self, set: SubflowSet) -> Option<usize> {
        let (una, next, mss) = (self.send.una, self.send.next, self.mss.0);
        for i in set.iter() {
            let Some(subflow) = self.subflow(i) else { continue };
            let start = subflow.next_copy.max(una);
            let len = mss.min(next - start);
            subflow.next_copy = start + len;
            self.repeat(i, start, len);
        }
        set.iter().next()
    }

    fn place_reinjection(&mut self, now: SimTime) -> Option<usize> {
        if matches!(self.config.reinject_on, ReinjectOn::LowestRtt | ReinjectOn::All) {
            return self.place_by_policy(now);
        }
        let front = *self.send.reinject.front()?;
        let len = (front.end - front.start).min(self.mss.0);
        if front.carried == 0 {
            return self.place_taken_back(now, 0, len);
        }
        if self.needs.queueing == Queueing::Never {
            self.judge_room(len);
        } else {
            self.judge_room_ahead(now, len);
        }
        let usable_without = |(i, v): (usize, &SubflowView)| v.usable && front.carried & (1 << i) == 0;
        // When all have carried it, it may go anywhere again.
        let matters = self.views.iter().enumerate().any(usable_without);
        for (i, view) in self.views.iter_mut().enumerate() {
            view.carried = matters && front.carried & (1 << i) != 0;
        }
        let decision = self.ask_scheduler(now, Question::Again, len);
        self.views.iter_mut().for_each(|view| view.carried = false);
        // Waiting for a fresh subflow must not hold up new data.
        let Decision::Send(i) = decision else { return None };
        let (dsn, len) = self.send.reinject.take(self.mss.0)?;
        self.repeat(i, dsn, len);
        Some(i)
    }

    /// Gives the first stretch that finds a subflow to it, whatever the scheduler: the fastest with room that has not
    /// carried it. With `All` it stays queued until every subflow in question has carried it.
    fn place_by_policy(&mut self, now: SimTime) -> Option<usize> {
        let targets = self.targets();
        // Each subflow repeats what it carries: when all in question carry it, it is looked after.
        let done = |r: &Reinjection| targets != 0 && r.carried != 0 && targets & !r.carried == 0;
        self.send.reinject.forget(done);
        let mss = self.mss.0;
        let found =
            self.send.reinject.items().enumerate().filter(|(_, r)| r.carried != 0).find_map(|(n, r)| {
                let len = (r.end - r.start).min(mss);
                Some((n, r.carried, self.fastest_with_room(now, targets & !r.carried, len)?))
            });
        let unsent = self.send.reinject.items().position(|r| r.carried == 0);
        // What was never sent takes its turn as new data.
        if let Some(n) = unsent.filter(|n| found.is_none_or(|(m, ..)| *n < m)) {
            let len = self.send.reinject.items().nth(n).map(|r| (r.end - r.start).min(mss))?;
            return self.place_taken_back(now, n, len);
        }
        let (n, carried, i) = found?;
        let (dsn, len) = self.send.reinject.take_at(n, self.mss.0)?;
        let carried = carried | 1 << i;
        if self.config.reinject_on == ReinjectOn::All && targets & !carried != 0 {
            self.send.reinject.insert(dsn, dsn + len, carried);
        }
        self.carry_again(i, dsn, len);
        Some(i)
    }

    /// Subflows that may be given something, as bits; backups count only where no other is usable.
    fn targets(&self) -> u64 {
        let set = |of: fn(&SubflowView) -> bool| {
            let members = self.views.iter().enumerate().filter(|(_, v)| of(v));
            members.map(|(i, _)| i).collect::<SubflowSet>().0
        };
        match set(|v| v.usable && !v.backup) {
            0 => set(|v| v.usable),
            regular => regular,
        }
    }

    /// The one of `among` with the smallest round-trip time that has room for so many bytes ahead of its queue; one
    /// without a sample comes last (choice D-31).
    pub(super) fn fastest_with_room(&self, now: SimTime, among: u64, len: u64) -> Option<usize> {
        let ahead = self.needs.queueing != Queueing::Never;
        let has_room = |i: &usize| {
            let sender = self.subflows[*i].as_ref().map(|s| s.endpoint.sender());
            let room = |s: &Sender| {
                if ahead { s.has_room_ahead_of_queue(now, len) } else { s.has_room_for(len) }
            };
            sender.is_some_and(room)
        };
        let srtt = |i: &usize| self.views[*i].srtt.unwrap_or(Nanos(u64::MAX));
        SubflowSet(among).iter().filter(has_room).min_by_key(srtt)
    }

    /// Data that no subflow has sent is placed like new data.
    fn place_taken_back(&mut self, now: SimTime, n: usize, len: u64) -> Option<usize> {
        self.judge_room(len);
        let Decision::Send(i) = self.ask_scheduler(now, Question::New, len) else { return None };
        let (dsn, len) = self.send.reinject.take_at(n, self.mss.0)?;
        if let Some(subflow) = self.subflow(i) {
            subflow.endpoint.sender_mut().give_ahead(dsn, len);
        }
        self.busy |= 1 << i;
        Some(i)
    }

    /// Takes back what subflow `i` was given and has not sent.
    pub(super) fn take_back(&mut self, i: usize) {
        let Self { subflows, send, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        for (dsn, len) in subflow.endpoint.sender_mut().take_unsent() {
            if dsn + len > send.una {
                send.reinject.insert(dsn.max(send.una), dsn + len, 0);
            }
        }
        self.touch(i);
    }

    /// Places what is queued and was never sent anew if the scheduler would split it otherwise today.
    fn redistribute(&mut self, now: SimTime) {
        self.freshen_views();
        let Self { scheduler, views, send, head, .. } = self;
        if scheduler.redistributes(&connection_view(views, send, head, (now, Question::New, 0))) {
            for i in 0..self.subflows.len() {
                if self.views[i].unsent > Bytes::ZERO {
                    self.take_back(i);
                }
            }
        }
    }

    fn ask_scheduler(&mut self, now: SimTime, question: Question, len: u64) -> Decision {
        let mut usable = self.views.iter().enumerate().filter(|(_, v)| v.usable && !v.carried);
        match (usable.next(), usable.next()) {
            (None, _) => return Decision::Wait,
            (Some((i, view)), None) if !self.needs.copies => {
                let places = matches!(question, Question::New | Question::Again);
                return if view.available && places { Decision::Send(i) } else { Decision::Wait };
            }
            _ => {}
        }
        if self.needs.copies {
            self.note_lags();
        }
        let Self { scheduler, views, send, head, .. } = self;
        scheduler.pick(&connection_view(views, send, head, (now, question, len)))
    }

    fn note_lags(&mut self) {
        let (una, next) = (self.send.una, self.send.next);
        for (view, subflow) in self.views.iter_mut().zip(&self.subflows) {
            let place = subflow.as_ref().map_or(next, |s| s.next_copy.max(una));
            view.lag = Bytes(next - place);
        }
    }

    /// State of the scheduler.
    pub fn scheduler_gauges(&self, report: Report<'_>) {
        self.scheduler.gauges(report);
    }
}

/// What the scheduler sees when it is asked this, about a segment of so many bytes.
fn connection_view<'a>(
    subflows: &'a [SubflowView],
    send: &SendSide,
    head: &Head,
    (now, question, len): (SimTime, Question, u64),
) -> ConnectionView<'a> {
    let blocked = matches!(question, Question::WindowFull | Question::BufferFull);
    ConnectionView {
        now,
        question,
        subflows,
        unassigned: Bytes(send.unassigned()),
        len: Bytes(len),
        send_window: Bytes(send.right.saturating_sub(send.una)),
        window_left: Bytes(send.window()),
        head: if blocked { head.carriers } else { SubflowSet::default() },
    }
}
