//! Placement of data on subflows: asks the scheduler and carries out its answer.

use std::fmt;
use std::sync::Arc;

use schedulers::{
    ConnectionView, Decision, Needs, Question, Queueing, Report, Scheduler, SubflowSet, SubflowView,
};
use units::{Bytes, Nanos, SimTime};

use super::reinject::QueuedData;
use super::send_side::SendSide;
use super::subflow::{Join, Subflow};
use super::subflows::Subflows;
use crate::config::{MptcpConfig, ReinjectOn};
use crate::seq::Dsn;
use crate::tcp::ranges::Range;
use crate::tcp::sender::Sender;

/// The oldest segment without Data ACK.
#[derive(Clone, Copy, Debug)]
struct Head {
    data: Range<Dsn>,
    /// Subflows on which it is outstanding.
    carriers: SubflowSet,
}

/// Selects the subflow that gets the next data.
pub(super) struct Placement {
    config: Arc<MptcpConfig>,
    scheduler: Box<dyn Scheduler>,
    needs: Needs,
    /// The scheduler need not be asked when no subflow has room.
    skips_views: bool,
    /// Known while the window is full, until the Data ACK moves or the data is sent again.
    head: Option<Head>,
    /// Data of a subflow has been acknowledged since the scheduler last judged the queued data.
    acked_since: bool,
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placement").field("scheduler", &self.scheduler).field("head", &self.head).finish()
    }
}

impl Placement {
    pub(super) fn new(config: Arc<MptcpConfig>, scheduler: Box<dyn Scheduler>) -> Self {
        let needs = scheduler.needs();
        let Needs { queueing, copies, watching, .. } = needs;
        let skips_views = queueing == Queueing::Never && !copies && !watching;
        Self { config, scheduler, needs, skips_views, head: None, acked_since: false }
    }

    /// Inputs of the scheduler.
    #[inline]
    pub(super) fn needs(&self) -> Needs {
        self.needs
    }

    /// Data of a subflow has been acknowledged.
    #[inline]
    pub(super) fn note_ack(&mut self) {
        self.acked_since = true;
    }

    /// State of the scheduler.
    pub(super) fn gauges(&self, report: Report<'_>) {
        self.scheduler.gauges(report);
    }

    /// Runs before subflows send their queued data: reinjections go first, and queued data that was never sent may be
    /// placed anew. Returns the subflow that received data.
    pub(super) fn schedule_ahead(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        if std::mem::take(&mut self.acked_since) && self.needs.redistribution {
            self.redistribute(now, send, subflows);
        }
        if send.reinject().is_empty() {
            return None;
        }
        subflows.freshen_views(send.quantum());
        self.place_reinjection(now, send, subflows)
    }

    /// Gives the next stretch of data to a subflow: reinjections first. Returns the subflow.
    #[inline]
    pub(super) fn schedule(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        if !send.has_data() && !self.needs.head && !self.needs.copies {
            return None;
        }
        if send.reinject().is_empty()
            && let Some(decided) = self.schedule_without_views(send, subflows)
        {
            return decided;
        }
        self.schedule_by_views(now, send, subflows)
    }

    /// The same while nothing is to be sent again, for a scheduler that neither copies nor looks at the oldest segment.
    #[inline]
    pub(super) fn schedule_new(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        debug_assert!(send.reinject().is_empty() && !self.needs.head && !self.needs.copies);
        match self.schedule_without_views(send, subflows) {
            Some(decided) => decided,
            None => self.schedule_by_views(now, send, subflows),
        }
    }

    /// The subflow to which `schedule_new` would give a full segment without asking the scheduler, as no other has room.
    #[inline(always)]
    pub(super) fn only_choice(&self, full: u64, subflows: &mut Subflows) -> Option<usize> {
        if self.skips_views && self.needs.greedy { subflows.with_room_for(full).single() } else { None }
    }

    /// False if `schedule_new` would find no subflow with room, and the scheduler need not be asked.
    #[inline]
    pub(super) fn may_place_new(&self, send: &SendSide, subflows: &mut Subflows) -> bool {
        let next = if self.skips_views { send.next_len() } else { None };
        next.is_none_or(|len| send.nagle_forbids(len, subflows) || !subflows.with_room_for(len).is_empty())
    }

    #[inline(never)]
    fn schedule_by_views(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        subflows.freshen_views(send.quantum());
        if !send.reinject().is_empty() {
            if let Some(i) = self.place_reinjection(now, send, subflows) {
                return Some(i);
            }
            // Data taken back goes before the data that follows it in the stream.
            if send.reinject().front().is_some_and(QueuedData::is_unsent) {
                return None;
            }
        }
        let Some(len) = send.next_len().filter(|&len| !send.nagle_forbids(len, subflows)) else {
            return self.place_without_new(now, send, subflows);
        };
        judge_room(len, send, subflows);
        match self.ask_scheduler((now, Question::New, len), send, subflows) {
            Decision::Send(i) if send.nagle_forbids_on(i, len, subflows) => None,
            Decision::Send(i) => {
                debug_assert!(
                    view(subflows, i).available
                        || self.needs.queueing != Queueing::Never && view(subflows, i).usable,
                    "the scheduler chose a subflow without room"
                );
                debug_assert!(
                    self.needs.queueing == Queueing::Unlimited
                        || view(subflows, i).unsent < self.config.subflow_unsent_limit,
                    "more waits on the subflow than may"
                );
                give_new(i, len, send, subflows);
                Some(i)
            }
            Decision::Copy(set) => self.copy(set, send, subflows),
            Decision::Wait | Decision::ResendHead(_) | Decision::Penalise(_) => None,
        }
    }

    /// Fast path: skips the views when the answer is known, i.e. no subflow has room, so that the scheduler could only
    /// wait, or exactly one has and the scheduler is greedy. `None`: the scheduler must be asked.
    #[inline(always)]
    fn schedule_without_views(
        &mut self,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<Option<usize>> {
        if !self.skips_views {
            return None;
        }
        let len = send.next_len()?;
        if send.nagle_forbids(len, subflows) {
            return None;
        }
        let room = subflows.with_room_for(len);
        if room.is_empty() {
            return Some(None);
        }
        let i = room.single()?;
        if !self.needs.greedy || subflows.get(i).is_some_and(Subflow::is_backup) {
            return None;
        }
        if send.nagle_forbids_on(i, len, subflows) {
            return Some(None);
        }
        give_new(i, len, send, subflows);
        Some(Some(i))
    }

    /// No new data may be sent; copies of old data may be, and the oldest segment may be repeated on another subflow.
    fn place_without_new(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        if !self.needs.copies {
            return self.place_head(now, send, subflows);
        }
        match self.ask_scheduler((now, Question::NothingNew, 0), send, subflows) {
            Decision::Copy(set) => self.copy(set, send, subflows),
            _ => None,
        }
    }

    /// The oldest segment goes to another subflow as well if the window or the send buffer is full.
    fn place_head(&mut self, now: SimTime, send: &mut SendSide, subflows: &mut Subflows) -> Option<usize> {
        if !self.needs.head || send.outstanding().is_empty() || !send.reinject().is_empty() {
            return None;
        }
        let question = if send.unassigned() > 0 {
            Question::WindowFull
        } else if send.space(subflows) == Bytes::ZERO {
            Question::BufferFull
        } else {
            return None;
        };
        self.find_head(send, subflows);
        let mut decision = self.ask_scheduler((now, question, 0), send, subflows);
        if let Decision::Penalise(set) = decision {
            for i in set.iter() {
                subflows.get_mut(i).into_iter().for_each(Subflow::penalise);
            }
            subflows.freshen_views(send.quantum());
            decision = self.ask_scheduler((now, question, 0), send, subflows);
        }
        let Decision::ResendHead(i) = decision else { return None };
        let Head { data: Range { start, end }, .. } = self.head?;
        self.repeat(i, Range::new(start, end.min(start + send.mss())), subflows);
        Some(i)
    }

    /// Finds the subflows that carry the oldest segment. This is needed at every ACK while the window is full, and
    /// the answer changes only when the Data ACK moves or data is sent again.
    fn find_head(&mut self, send: &SendSide, subflows: &Subflows) {
        let una = send.una();
        if self.head.is_some_and(|head| head.data.start == una) {
            return;
        }
        let mut head = Head { data: Range::new(una, una + send.mss()), carriers: SubflowSet::default() };
        for (i, subflow) in subflows.enumerate().filter(|(_, s)| s.is_alive()) {
            if let Some(sent) = subflow.sent_data().find(|sent| (sent.start..sent.end).contains(&una)) {
                head.carriers.insert(i);
                head.data.end = head.data.end.min(sent.end);
            }
        }
        debug_assert!(!head.data.is_empty(), "the oldest segment holds the first byte without Data ACK");
        self.head = Some(head);
    }

    /// Data for subflow `i` that was given to another before; its view is up to date.
    fn repeat(&mut self, i: usize, data: Range<Dsn>, subflows: &mut Subflows) {
        debug_assert!(view(subflows, i).available, "the scheduler chose a subflow without room");
        self.carry_again(i, data, subflows);
    }

    /// Data for subflow `i` that was given to another before.
    pub(super) fn carry_again(&mut self, i: usize, data: Range<Dsn>, subflows: &mut Subflows) {
        if let Some(subflow) = subflows.activate(i) {
            subflow.give_again(data);
        }
        self.head = None;
    }

    /// The same, behind what the subflow has.
    pub(super) fn append_again(&mut self, i: usize, data: Range<Dsn>, subflows: &mut Subflows) {
        if let Some(subflow) = subflows.activate(i) {
            subflow.give(data);
            subflow.note_again(Bytes(data.len()));
        }
        self.head = None;
    }

    /// Gives each subflow of a set the next stretch of data that only others have carried. Returns the first subflow.
    fn copy(&mut self, set: SubflowSet, send: &SendSide, subflows: &mut Subflows) -> Option<usize> {
        for i in set.iter() {
            let Some(subflow) = subflows.get_mut(i) else { continue };
            let data = subflow.take_copy(send.outstanding(), send.mss());
            self.repeat(i, data, subflows);
        }
        set.first()
    }
}

/// Data that is sent again.
impl Placement {
    fn place_reinjection(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        if matches!(self.config.reinject_on, ReinjectOn::LowestRtt | ReinjectOn::All) {
            return self.place_by_policy(now, send, subflows);
        }
        let front = *send.reinject().front()?;
        let len = front.segment_len(send.mss());
        if front.is_unsent() {
            return self.place_taken_back(now, 0, len, send, subflows);
        }
        if self.needs.queueing == Queueing::Never {
            judge_room(len, send, subflows);
        } else {
            let (views, list) = subflows.views_mut();
            views.judge_room_ahead(list, now, len);
        }
        let carriers = front.carriers();
        let usable_without = |(i, v): (usize, &SubflowView)| v.usable && !carriers.contains(i);
        // When all have carried it, it may go anywhere again.
        let matters = subflows.views().subflows().iter().enumerate().any(usable_without);
        let carriers = if matters { carriers } else { SubflowSet::default() };
        subflows.views_mut().0.mark_carriers(carriers);
        let decision = self.ask_scheduler((now, Question::Again, len), send, subflows);
        subflows.views_mut().0.mark_carriers(SubflowSet::default());
        // Waiting for a fresh subflow must not hold up new data.
        let Decision::Send(i) = decision else { return None };
        let mss = send.mss();
        let data = send.reinject_mut().take(0, mss)?;
        self.repeat(i, data, subflows);
        Some(i)
    }

    /// Gives the first stretch that finds a subflow to it, whatever the scheduler: the fastest with room that has not
    /// carried it. With `All` it stays queued until every subflow in question has carried it.
    fn place_by_policy(
        &mut self,
        now: SimTime,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        let (targets, mss) = (subflows.views().targets(), send.mss());
        // Each subflow retransmits the data that it carries: a stretch that all targets carry needs no reinjection.
        let looked_after =
            |r: &QueuedData| !targets.is_empty() && !r.is_unsent() && targets.minus(r.carriers()).is_empty();
        send.reinject_mut().forget(looked_after);
        let found = send.reinject().items().enumerate().filter(|(_, r)| !r.is_unsent()).find_map(|(n, r)| {
            let fresh = targets.minus(r.carriers());
            let i = self.fastest_with_room(now, fresh, r.segment_len(mss), subflows)?;
            Some((n, r.carriers(), i))
        });
        let unsent = send.reinject().items().position(QueuedData::is_unsent);
        // Data that was never sent is scheduled as new data.
        if let Some(n) = unsent.filter(|n| found.is_none_or(|(m, ..)| *n < m)) {
            let len = send.reinject().items().nth(n).map(|r| r.segment_len(mss))?;
            return self.place_taken_back(now, n, len, send, subflows);
        }
        let (n, mut carriers, i) = found?;
        let data = send.reinject_mut().take(n, mss)?;
        carriers.insert(i);
        if self.config.reinject_on == ReinjectOn::All && !targets.minus(carriers).is_empty() {
            send.queue_again(data, carriers);
        }
        self.carry_again(i, data, subflows);
        Some(i)
    }

    /// The one of `among` with the smallest round-trip time that has room for `len` bytes ahead of its queue; one
    /// without a sample comes last (choice D-31).
    fn fastest_with_room(
        &self,
        now: SimTime,
        among: SubflowSet,
        len: u64,
        subflows: &Subflows,
    ) -> Option<usize> {
        let ahead = self.needs.queueing != Queueing::Never;
        let room = |s: &Sender| if ahead { s.has_room_ahead_of_queue(now, len) } else { s.has_room_for(len) };
        let has_room = |i: &usize| subflows.get(*i).is_some_and(|s| room(s.sender()));
        let srtt = |i: &usize| view(subflows, *i).srtt.unwrap_or(Nanos(u64::MAX));
        among.iter().filter(has_room).min_by_key(srtt)
    }

    /// Data that no subflow has sent is placed like new data.
    fn place_taken_back(
        &mut self,
        now: SimTime,
        n: usize,
        len: u64,
        send: &mut SendSide,
        subflows: &mut Subflows,
    ) -> Option<usize> {
        judge_room(len, send, subflows);
        let decision = self.ask_scheduler((now, Question::New, len), send, subflows);
        let Decision::Send(i) = decision else { return None };
        let mss = send.mss();
        let data = send.reinject_mut().take(n, mss)?;
        if let Some(subflow) = subflows.activate(i) {
            subflow.give_ahead(data);
        }
        Some(i)
    }

    /// Takes queued data that was never sent back, to be placed anew, if the scheduler would now divide it differently.
    fn redistribute(&mut self, now: SimTime, send: &mut SendSide, subflows: &mut Subflows) {
        subflows.freshen_views(send.quantum());
        let connection =
            connection_view(subflows.views().subflows(), send, self.head, (now, Question::New, 0));
        if self.scheduler.redistributes(&connection) {
            for i in 0..subflows.count() {
                if view(subflows, i).unsent > Bytes::ZERO {
                    take_back(i, send, subflows);
                }
            }
        }
    }

    /// Queues the outstanding data of subflow `i` for the others; as in the kernel, all data without a Data ACK.
    pub(super) fn reinject(&mut self, i: usize, send: &mut SendSide, subflows: &mut Subflows) {
        // Every subflow carries all data: the others carry this, too.
        if self.needs.copies {
            return;
        }
        let alive = subflows.get(i).is_some_and(Subflow::is_alive);
        if self.config.reinject_on == ReinjectOn::SamePath && alive {
            return;
        }
        if self.config.reinjects_as_new() {
            // The kernel repeats the data of an only subflow as well. Its bytes would then not be the stream of data any
            // more, and an end that falls back to TCP would deliver them as that stream.
            if !may_repeat(subflows) {
                return;
            }
            if !alive && let Some(subflow) = subflows.get_mut(i) {
                drop(subflow.take_unsent());
            }
            send.place_again();
            return;
        }
        take_back(i, send, subflows);
        let Some(subflow) = subflows.get_mut(i) else { return };
        subflow.health_mut().note_reinjection();
        for data in subflow.sent_data() {
            send.queue_again(data, SubflowSet::only(i));
        }
        if matches!(self.config.reinject_on, ReinjectOn::LowestRtt | ReinjectOn::All) {
            note_carriers(send, subflows);
        }
    }
}

/// The scheduler.
impl Placement {
    /// Asks the scheduler, if there is a choice.
    fn ask_scheduler(
        &mut self,
        question: (SimTime, Question, u64),
        send: &SendSide,
        subflows: &mut Subflows,
    ) -> Decision {
        let views = subflows.views().subflows();
        let mut usable = views.iter().enumerate().filter(|(_, v)| v.usable && !v.carried);
        match (usable.next(), usable.next()) {
            (None, _) => return Decision::Wait,
            (Some((i, view)), None) if !self.needs.copies && !self.needs.alone => {
                let places = matches!(question.1, Question::New | Question::Again);
                return if view.available && places { Decision::Send(i) } else { Decision::Wait };
            }
            _ => {}
        }
        if self.needs.copies {
            let (views, list) = subflows.views_mut();
            views.note_lags(list, send.outstanding());
        }
        let view = connection_view(subflows.views().subflows(), send, self.head, question);
        view.check();
        let decision = self.scheduler.pick(&view);
        view.check_answer(decision);
        decision
    }
}

#[inline]
fn view(subflows: &Subflows, i: usize) -> &SubflowView {
    &subflows.views().subflows()[i]
}

/// A segment smaller than usual needs less room than the views were made for.
fn judge_room(len: u64, send: &SendSide, subflows: &mut Subflows) {
    if len < send.quantum() {
        let (views, list) = subflows.views_mut();
        views.judge_room(list, len);
    }
}

/// The next `len` bytes for subflow `i`.
#[inline(always)]
fn give_new(i: usize, len: u64, send: &mut SendSide, subflows: &mut Subflows) {
    let first = send.next();
    let data = send.take_new(len);
    if let Some(whole) = send.maps_whole_chunks() {
        // It is sent when everything is placed.
        subflows.activate(i).into_iter().for_each(|subflow| subflow.give_fragment(data, whole));
    } else if let Some(subflow) = subflows.get_mut(i) {
        subflow.give(data);
    }
    if data.start < first
        && let Some(subflow) = subflows.get_mut(i)
    {
        subflow.note_again(first.min(data.end) - data.start);
    }
}

/// Both ends know that a second subflow has joined, so that neither becomes plain TCP any more.
pub(super) fn may_repeat(subflows: &Subflows) -> bool {
    subflows.iter().any(|s| matches!(s.join(), Join::Joined))
}

/// Takes back what subflow `i` was given and has not sent.
fn take_back(i: usize, send: &mut SendSide, subflows: &mut Subflows) {
    let Some(subflow) = subflows.get_mut(i) else { return };
    for data in subflow.take_unsent() {
        send.queue_again(data, SubflowSet::default());
    }
}

/// Notes for queued data the subflows that carry it, as original or as copy: it is not sent there again.
fn note_carriers(send: &mut SendSide, subflows: &Subflows) {
    for (j, subflow) in subflows.enumerate().filter(|(_, s)| s.is_alive()) {
        for data in subflow.sent_data() {
            send.reinject_mut().note_carriers(data, SubflowSet::only(j));
        }
    }
}

/// View for the scheduler, for this question about a segment of `len` bytes.
fn connection_view<'a>(
    subflows: &'a [SubflowView],
    send: &SendSide,
    head: Option<Head>,
    (now, question, len): (SimTime, Question, u64),
) -> ConnectionView<'a> {
    let blocked = matches!(question, Question::WindowFull | Question::BufferFull);
    ConnectionView {
        now,
        question,
        subflows,
        unassigned: Bytes(send.unassigned()),
        len: Bytes(len),
        send_window: send.whole_window(),
        window_left: Bytes(send.free_window()),
        head: head.filter(|_| blocked).map_or(SubflowSet::default(), |head| head.carriers),
    }
}
