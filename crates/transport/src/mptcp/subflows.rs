//! All subflows of a connection, with what is known of them together.
//!
//! Access to a subflow for a change makes the views of it stale, so that no cached view outlives a change.

mod usual;

use std::fmt;
use std::sync::Arc;

use congestion::PathView;
use schedulers::SubflowSet;
use units::{Bytes, Nanos, SimTime};

use super::deadlines::Deadlines;
use super::option::Mapped;
use super::receive_side::ReceiveSide;
use super::subflow::{Join, Subflow};
use super::views::{Views, path_view};
use crate::address::AddressPair;
use crate::config::TcpConfig;
use crate::packet::{Packet, PathId};
use crate::seq::Seq;
use crate::setup::{NewCongestion, new_congestion};
use crate::tcp::endpoint::{Endpoint, Input, Offer, Written};
use crate::tcp::sender::Expired;

/// Subflows of one connection: what fits into the sets of subflows that are kept as bits.
pub const MAX_SUBFLOWS: usize = SubflowSet::CAPACITY;

/// The subflows of one end.
pub(super) struct Subflows {
    tcp: Arc<TcpConfig>,
    new_congestion: NewCongestion,
    /// Subflows acknowledge data behind a filled gap only when the connection releases it.
    hold_back: bool,
    /// Payload bytes of a full segment.
    mss: Bytes,
    /// SACK blocks that fit beside the other options of a segment with data, and without.
    sack_blocks: [usize; 2],
    /// By subflow index; `None` where the peer has used an index that has not reached this end.
    list: Vec<Option<Subflow>>,
    views: Views,
    deadlines: Deadlines,
    /// Subflows that may have something to send of their own (handshake, repairs, acknowledgements).
    busy: SubflowSet,
    /// Subflows that may hold back an ACK until everything is read: those that have had data since it was looked at.
    unread: SubflowSet,
    /// Every segment takes the general way, see [`Sender::close_usual_way`].
    ///
    /// [`Sender::close_usual_way`]: crate::tcp::sender::Sender::close_usual_way
    general: bool,
    /// Bytes out of order on all subflows; those of dead subflows are discarded.
    held: u64,
}

impl fmt::Debug for Subflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subflows").field("list", &self.list).field("busy", &self.busy).finish_non_exhaustive()
    }
}

impl Subflows {
    pub(super) fn new(
        tcp: Arc<TcpConfig>,
        new_congestion: NewCongestion,
        views: Views,
        hold_back: bool,
        mss: Bytes,
        sack_blocks: [usize; 2],
    ) -> Self {
        Self {
            tcp,
            new_congestion,
            hold_back,
            mss,
            sack_blocks,
            list: Vec::new(),
            views,
            deadlines: Deadlines::default(),
            busy: SubflowSet::default(),
            unread: SubflowSet::default(),
            general: false,
            held: 0,
        }
    }

    /// One more subflow.
    pub(super) fn add(&mut self, path: PathId, pair: AddressPair, join: Join) {
        let congestion = new_congestion(&self.tcp, &self.new_congestion, self.mss);
        let mut endpoint = Endpoint::new(Arc::clone(&self.tcp), path, self.mss, congestion, true);
        if self.hold_back {
            endpoint.receiver_mut().hold_back();
        }
        let i = path.index();
        debug_assert!(i < MAX_SUBFLOWS && self.get(i).is_none(), "subflow {i} cannot be added");
        while self.list.len() <= i {
            self.list.push(None);
            self.views.push();
        }
        if self.general {
            endpoint.close_usual_way();
        }
        self.list[i] = Some(Subflow::new(pair, endpoint, join, &self.tcp));
        self.touch(i);
    }

    /// Every segment of every subflow takes the general way; for tests.
    pub(super) fn close_usual_way(&mut self) {
        self.general = true;
        self.list.iter_mut().flatten().for_each(Subflow::close_usual_way);
    }

    /// Plain TCP: option space is free for SACK blocks.
    pub(super) fn fall_back(&mut self, sack_blocks: [usize; 2]) {
        self.sack_blocks = sack_blocks;
    }

    /// The first subflow, which has sent nothing, gets segments of another size.
    pub(super) fn replace_first_sender(&mut self, mss: Bytes) {
        self.mss = mss;
        let congestion = new_congestion(&self.tcp, &self.new_congestion, mss);
        if let Some(first) = self.get_mut(0) {
            first.replace_sender(mss, congestion);
        }
        if self.general {
            self.close_usual_way();
        }
    }

    /// Segments get smaller in mid-transfer.
    pub(super) fn shorten_segments(&mut self, mss: Bytes) {
        self.mss = mss;
        for i in 0..self.list.len() {
            if let Some(subflow) = self.get_mut(i) {
                subflow.shorten_segments(mss);
            }
        }
    }

    /// Subflow `i` changes.
    #[inline]
    fn touch(&mut self, i: usize) {
        self.views.touch(i);
        self.deadlines.touch(i);
    }

    /// Indices in use are below this.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&Subflow> {
        self.list.get(i)?.as_ref()
    }

    /// Subflow `i`, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Subflow> {
        let Self { list, views, deadlines, .. } = self;
        let subflow = list.get_mut(i)?.as_mut()?;
        views.touch(i);
        deadlines.touch(i);
        Some(subflow)
    }

    /// Subflow `i`, to be changed further by the segment that it has just taken in.
    #[inline]
    pub(super) fn get_changed(&mut self, i: usize) -> Option<&mut Subflow> {
        debug_assert!(self.views.is_stale(i), "subflow {i} has taken in nothing");
        self.list.get_mut(i)?.as_mut()
    }

    /// Subflow `i`, to be given something to send of its own.
    #[inline]
    pub(super) fn activate(&mut self, i: usize) -> Option<&mut Subflow> {
        let Self { list, views, deadlines, busy, .. } = self;
        let subflow = list.get_mut(i)?.as_mut()?;
        busy.insert(i);
        views.touch(i);
        deadlines.touch(i);
        Some(subflow)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Subflow> {
        self.list.iter().flatten()
    }

    /// With their indices.
    pub(super) fn enumerate(&self) -> impl Iterator<Item = (usize, &Subflow)> {
        self.list.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?)))
    }

    /// Indices of the subflows that `chosen` is true for.
    pub(super) fn which(&self, chosen: impl Fn(&Subflow) -> bool) -> SubflowSet {
        self.enumerate().filter(|(_, s)| chosen(s)).map(|(i, _)| i).collect()
    }

    /// Bytes out of order on all subflows.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// No subflow has anything to send of its own.
    #[inline]
    pub(super) fn are_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// Subflows that may have something to send of their own.
    #[inline]
    pub(super) fn busy(&self) -> SubflowSet {
        self.busy
    }

    /// A subflow that may have something to send of its own.
    #[inline]
    pub(super) fn first_busy(&self) -> Option<usize> {
        self.busy.first()
    }

    /// Subflow `i` has nothing to send of its own.
    #[inline]
    pub(super) fn rest(&mut self, i: usize) {
        self.busy.remove(i);
    }
}

/// Segments and deadlines.
impl Subflows {
    /// Subflow `i` takes in a packet.
    pub(super) fn on_packet(&mut self, now: SimTime, i: usize, packet: &Packet) -> Option<Input> {
        let subflow = self.list.get_mut(i)?.as_mut()?;
        let before = subflow.held();
        let input = subflow.on_packet(now, packet, self.views.paths(i));
        self.held = self.held + subflow.held() - before;
        self.unread.insert(i);
        self.touch(i);
        Some(input)
    }

    /// A segment of `len` bytes has brought something new on subflow `i`, and the connection has a receive buffer of `size`.
    #[inline]
    pub(super) fn open_window(&mut self, i: usize, len: u32, size: Bytes) {
        let Some(subflow) = self.list.get_mut(i).and_then(Option::as_mut) else { return };
        if subflow.open_window(len, size) {
            self.busy.insert(i);
            self.touch(i);
        }
    }

    /// The largest window that subflow `i` offers so far.
    #[inline]
    pub(super) fn window_limit(&self, i: usize) -> Bytes {
        self.get(i).map_or(Bytes::ZERO, |s| s.endpoint().window_limit())
    }

    /// The largest window that a subflow offers so far.
    pub(super) fn largest_window_limit(&self) -> Bytes {
        self.iter().map(|s| s.endpoint().window_limit()).max().unwrap_or(Bytes::ZERO)
    }

    /// A segment of subflow `i` has been dealt with: looks whether the subflow has something to send.
    pub(super) fn after_segment(&mut self, i: usize) {
        if self.get(i).is_some_and(|s| s.endpoint().may_have_something()) {
            self.busy.insert(i);
        }
    }

    /// Acts on the deadlines of subflow `i`. `None`: MP_JOIN has had no answer, and the subflow is given up.
    pub(super) fn on_timeout(&mut self, now: SimTime, i: usize) -> Option<Expired> {
        let max_tries = self.tcp.timers.syn_retries;
        self.touch(i);
        self.busy.insert(i);
        let subflow = self.list[i].as_mut()?;
        let expired = subflow.on_timeout(now, self.views.paths(i));
        subflow.on_join_timeout(now, max_tries).then_some(expired)
    }

    /// Writes the next segment that subflow `i` has to send into `packet`. Returns the mapping of its payload, if it
    /// has one.
    #[inline(always)]
    pub(super) fn poll_transmit(
        &mut self,
        now: SimTime,
        i: usize,
        packet: &mut Packet,
    ) -> Option<Option<Mapped>> {
        let Self { list, sack_blocks, views, deadlines, .. } = self;
        let subflow = list.get_mut(i)?.as_mut()?;
        let offer = Offer { sack_blocks: *sack_blocks, may_send: subflow.may_send() };
        let written = subflow.poll_transmit(now, &offer, packet);
        views.touch(i);
        if subflow.sender().is_filled() {
            views.note_full(i);
        }
        deadlines.touch(i);
        let Written { mapped, last } = written?;
        if last {
            self.busy.remove(i);
        }
        Some(mapped)
    }

    /// Writes a pure ACK of subflow `i` that has room for an option of the connection.
    pub(super) fn poll_bare_ack(&mut self, now: SimTime, i: usize, packet: &mut Packet) -> Option<()> {
        let offer = Offer { sack_blocks: [0; 2], may_send: false };
        let subflow = self.get_mut(i)?;
        subflow.acknowledge_now();
        subflow.poll_transmit(now, &offer, packet)?;
        packet.segment_mut()?.sack.clear();
        self.busy.insert(i);
        Some(())
    }

    /// The next deadline.
    pub(super) fn next_deadline(&mut self) -> SimTime {
        self.deadlines.first(&self.list)
    }

    /// No deadline is earlier, unless `deadlines_moved`.
    #[inline]
    pub(super) fn known_deadline(&self) -> SimTime {
        self.deadlines.known()
    }

    /// A deadline may be nearer than at the last `wake_at`.
    #[inline]
    pub(super) fn deadlines_moved(&self) -> bool {
        self.deadlines.have_moved()
    }

    /// No deadline is earlier.
    #[inline]
    pub(super) fn wake_at(&mut self) -> SimTime {
        self.deadlines.bound(&self.list, self.busy)
    }

    /// All deadlines that were due have been acted upon.
    pub(super) fn forget_deadlines(&mut self) {
        self.deadlines.forget(self.list.len());
    }

    /// The longest retransmission timeout of the subflows that may send.
    pub(super) fn longest_rto(&self, backoff: u32) -> Nanos {
        let alive = self.iter().filter(|s| s.may_send());
        alive.map(|s| s.sender().rtt().rto(backoff)).max().unwrap_or(self.tcp.timers.rto.initial)
    }
}

/// Views for other parts.
impl Subflows {
    /// Brings what the scheduler sees up to date; room for `quantum` bytes makes a subflow available.
    #[inline]
    pub(super) fn freshen_views(&mut self, quantum: u64) {
        self.views.freshen(&self.list, quantum, &self.tcp);
    }

    /// Brings what the congestion controls see up to date.
    #[inline(always)]
    pub(super) fn freshen_paths(&mut self) {
        self.views.freshen_paths(&self.list);
    }

    /// Current views for the congestion controls.
    pub(super) fn path_views(&self) -> Vec<PathView> {
        self.list.iter().map(|s| s.as_ref().map_or(PathView::default(), path_view)).collect()
    }

    #[inline]
    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    /// The views, to be marked for a question, and the subflows behind them.
    #[inline]
    pub(super) fn views_mut(&mut self) -> (&mut Views, &[Option<Subflow>]) {
        (&mut self.views, &self.list)
    }

    /// Usable subflows with room for `len` bytes.
    #[inline(always)]
    pub(super) fn with_room_for(&mut self, len: u64) -> SubflowSet {
        if len < self.mss.0 {
            return self.which(|s| s.has_room_for(len));
        }
        self.views.with_room(&self.list, len)
    }

    /// A subflow for an option of the connection: usable ones in turn. `quantum` as for `freshen_views`.
    pub(super) fn for_signals(&mut self, turn: usize, quantum: u64) -> Option<usize> {
        self.freshen_views(quantum);
        let views = self.views.subflows();
        let usable = views.iter().filter(|v| v.usable).count();
        if usable == 0 {
            return self.any_that_may_send();
        }
        let in_order = views.iter().enumerate().filter(|(_, v)| v.usable);
        in_order.map(|(i, _)| i).nth(turn % usable)
    }

    pub(super) fn any_that_may_send(&self) -> Option<usize> {
        self.enumerate().find(|(_, s)| s.may_send()).map(|(i, _)| i)
    }

    /// A subflow other than `i` may be given data.
    pub(super) fn any_usable_beside(&self, i: usize) -> bool {
        self.enumerate().any(|(j, s)| j != i && s.is_usable())
    }

    /// A subflow that lives has data that is not acknowledged.
    #[inline]
    pub(super) fn any_unacked(&self) -> bool {
        self.iter().any(|s| s.is_alive() && s.sender().unacked() > 0)
    }

    /// The handshake of a subflow has been complete.
    #[inline]
    pub(super) fn any_ever_established(&self) -> bool {
        self.iter().any(|s| s.endpoint().established_at().is_some())
    }

    /// Nothing is to be negotiated on any subflow.
    pub(super) fn are_settled(&self) -> bool {
        self.iter().all(Subflow::is_settled)
    }

    /// Nothing is to be negotiated on subflow `i` any more.
    #[inline]
    pub(super) fn is_settled(&self, i: usize) -> bool {
        self.get(i).is_some_and(Subflow::is_settled)
    }

    /// Subflow `i` has been reset because of what the peer sent.
    #[inline]
    pub(super) fn is_refused(&self, i: usize) -> bool {
        self.get(i).is_some_and(Subflow::is_refused)
    }

    /// Subflows that live, beside the first one.
    pub(super) fn further(&self) -> usize {
        self.iter().filter(|s| s.join() != Join::First && s.is_alive()).count()
    }

    /// A second subflow has carried, or could have carried, data.
    pub(super) fn has_ever_joined(&self) -> bool {
        self.iter().any(|s| matches!(s.join(), Join::Joined | Join::AwaitingFourthAck { .. }))
    }
}

/// Operations on all subflows.
impl Subflows {
    /// DATA_FIN is acknowledged: every subflow may close (RFC 8684 section 3.3.3).
    pub(super) fn finish_all(&mut self) {
        for i in 0..self.list.len() {
            if let Some(subflow) = self.list[i].as_mut() {
                subflow.finish();
                self.busy.insert(i);
            }
        }
    }

    /// Subflow `i` has advertised a window, in a segment that acknowledges `ack` there. No view or deadline depends on it.
    #[inline]
    pub(super) fn note_told(&mut self, i: usize, ack: Seq, window: Bytes) {
        self.list[i].iter_mut().for_each(|subflow| subflow.note_told(ack, window));
    }

    /// The window has opened: the senders of these subflows must learn it.
    pub(super) fn acknowledge_on(&mut self, hit: impl Fn(&Subflow) -> bool) {
        for i in self.which(|s| s.may_send() && hit(s)).iter() {
            if let Some(subflow) = self.activate(i) {
                subflow.acknowledge_now();
            }
        }
    }

    /// The application has read everything that has come.
    #[inline(always)]
    pub(super) fn everything_is_read(&mut self) {
        for i in self.unread.iter() {
            if !self.get(i).is_some_and(|s| s.endpoint().receiver().awaits_read()) {
                self.unread.remove(i);
            } else if self.get(i).is_some_and(Subflow::may_send)
                && let Some(subflow) = self.activate(i)
            {
                subflow.everything_is_read();
            }
        }
    }

    /// Takes what subflows hold back, into `receive`.
    pub(super) fn release(&mut self, receive: &mut ReceiveSide) {
        for (i, subflow) in self.list.iter_mut().enumerate() {
            let Some(subflow) = subflow.as_mut().filter(|s| !s.is_discarded()) else { continue };
            let before = subflow.held();
            subflow.release(receive);
            self.held -= before - subflow.held();
            self.unread.insert(i);
            self.views.touch(i);
            self.deadlines.touch(i);
        }
    }

    /// Discards what the dead subflow `i` holds out of order: its room belongs to the others again.
    pub(super) fn discard_held(&mut self, i: usize) {
        let Some(subflow) = self.list[i].as_mut() else { return };
        self.held -= subflow.held();
        subflow.discard_held();
    }

    /// Resets every subflow, beside `spared`.
    pub(super) fn reset_all(&mut self, why: &'static str, spared: Option<usize>) {
        for i in 0..self.list.len() {
            self.busy.remove(i);
            if spared != Some(i) && self.get(i).is_some_and(Subflow::is_alive) {
                self.activate(i).into_iter().for_each(|s| s.abort(why));
            }
        }
    }

    /// Ends every subflow without a segment.
    pub(super) fn end_silently(&mut self, why: &'static str) {
        for i in 0..self.list.len() {
            self.get_mut(i).into_iter().for_each(|s| s.end_silently(why));
        }
    }

    /// Asserts what holds between calls, in debug builds.
    pub(super) fn check(&self) {
        if cfg!(not(debug_assertions)) {
            return;
        }
        debug_assert!(self.list.len() <= MAX_SUBFLOWS, "{} subflows", self.list.len());
        let held: u64 = self.iter().map(Subflow::held).sum();
        debug_assert_eq!(self.held, held, "bytes out of order on all subflows");
        let strange = self.busy.minus(SubflowSet::below(self.list.len()));
        debug_assert!(strange.is_empty(), "{strange:?} have something to send and do not exist");
        let awaiting = self.which(|s| s.endpoint().receiver().awaits_read());
        debug_assert!(awaiting.minus(self.unread).is_empty(), "{awaiting:?} hold back an ACK unnoticed");
        self.deadlines.check(&self.list, self.busy);
        self.views.check(&self.list, self.mss.0, &self.tcp);
        self.iter().for_each(Subflow::check);
    }
}
