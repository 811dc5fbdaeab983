//! The sending side of the data sequence space: data written by the application, data given to subflows, data that the
//! peer's connection level has acknowledged, the send window of the connection and its persist timer.

use std::sync::Arc;

use schedulers::SubflowSet;
use units::{Bytes, SimTime};

use super::fragments::Fragments;
use super::reinject::ReinjectQueue;
use super::subflow::Subflow;
use super::subflows::Subflows;
use crate::config::{ConnectionBuffer, SendBuffer, TcpConfig};
use crate::seq::Dsn;
use crate::tcp::ranges::Range;
use crate::tcp::send_buffer::{BUFFERED_WINDOWS, CONNECTION_BUFFER, ExpandedBuffer, send_buffer, send_space};
use crate::tcp::sender::Sender;

/// Progress of DATA_FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataFin {
    /// The application has not closed.
    Open,
    /// To be sent as soon as everything before it was given to subflows.
    Wanted,
    /// Sent; to be sent again at this time.
    Sent(SimTime),
    /// The peer has it.
    Acknowledged,
}

/// The persist timer of the connection (RFC 9293 section 3.8.6.1).
#[derive(Clone, Copy, Debug)]
struct Persist {
    /// Next window probe, `NEVER` while the window is open or something is outstanding.
    at: SimTime,
    probes: u32,
    /// The timer has expired: a small segment may go.
    overrides: bool,
}

/// State of the sending side.
#[derive(Debug)]
pub(super) struct SendSide {
    tcp: Arc<TcpConfig>,
    /// Payload bytes of a full segment.
    mss: Bytes,
    /// After the last byte written.
    written: Dsn,
    /// Next byte to be given to a subflow for the first time.
    next: Dsn,
    /// Next byte to be given to a subflow: before `next` while everything is placed anew.
    pending: Dsn,
    /// First byte not acknowledged at connection level.
    una: Dsn,
    /// Right edge of the peer's window; never moves left.
    right: Dsn,
    /// Largest window ever offered.
    max_window: u64,
    fin: DataFin,
    /// Transmissions of DATA_FIN: each goes out on another subflow.
    fin_tries: usize,
    reinject: ReinjectQueue,
    persist: Persist,
    /// Size of the send buffer where that follows the largest subflow.
    buffer: ExpandedBuffer,
    /// Where data is placed in fragments.
    fragments: Option<Box<Fragments>>,
}

impl SendSide {
    /// With `fragments` data is placed in whole fragments of the buffer.
    pub(super) fn new(tcp: Arc<TcpConfig>, mss: Bytes, fragments: Option<Fragments>) -> Self {
        Self {
            fragments: fragments.map(Box::new),
            mss,
            written: Dsn::FIRST_DATA,
            next: Dsn::FIRST_DATA,
            pending: Dsn::FIRST_DATA,
            una: Dsn::FIRST_DATA,
            right: Dsn::FIRST_DATA,
            max_window: 0,
            fin: DataFin::Open,
            fin_tries: 0,
            reinject: ReinjectQueue::default(),
            persist: Persist { at: SimTime::NEVER, probes: 0, overrides: false },
            buffer: ExpandedBuffer::new(&tcp, BUFFERED_WINDOWS),
            tcp,
        }
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub(super) fn mss(&self) -> Bytes {
        self.mss
    }

    /// Segments get another size before anything was sent.
    pub(super) fn set_mss(&mut self, mss: Bytes) {
        debug_assert_eq!(self.next, Dsn::FIRST_DATA, "the size of segments changes in mid-transfer");
        self.mss = mss;
    }

    /// Segments get smaller in mid-transfer.
    pub(super) fn shorten_segments(&mut self, mss: Bytes) {
        debug_assert!(mss <= self.mss, "segments grow from {} to {mss}", self.mss);
        self.mss = mss;
    }

    /// Next byte to be given to a subflow for the first time.
    #[inline]
    pub(super) fn next(&self) -> Dsn {
        self.next
    }

    /// Given to subflows, not acknowledged at connection level, and not to be placed anew.
    pub(super) fn placed(&self) -> Range<Dsn> {
        Range::new(self.una, self.pending)
    }

    /// First byte not acknowledged at connection level.
    #[inline]
    pub(super) fn una(&self) -> Dsn {
        self.una
    }

    /// After the last byte written.
    pub(super) fn written(&self) -> Dsn {
        self.written
    }

    /// Given to subflows and not acknowledged at connection level.
    #[inline]
    pub(super) fn outstanding(&self) -> Range<Dsn> {
        Range::new(self.una, self.next)
    }

    /// Bytes acknowledged at connection level.
    pub(super) fn acked(&self) -> u64 {
        (self.una - Dsn::FIRST_DATA).0
    }

    /// Bytes written that are to be given to a subflow.
    #[inline]
    pub(super) fn unassigned(&self) -> u64 {
        (self.written - self.pending).0
    }

    /// Bytes of the send window from the next one that is to be given to a subflow.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.right.saturating_since(self.pending).0
    }

    /// Free bytes of the send window.
    #[inline]
    pub(super) fn free_window(&self) -> u64 {
        self.right.saturating_since(self.next).0
    }

    /// The send window counted from the Data ACK.
    #[inline]
    pub(super) fn whole_window(&self) -> Bytes {
        self.right.saturating_since(self.una)
    }

    /// The application has written at least twice since all had its Data ACK, or is taken to have where writes are not known.
    pub(super) fn has_written_again(&self) -> bool {
        self.fragments.as_ref().is_none_or(|fragments| fragments.last_write() > self.una)
    }

    /// The application appends to the stream.
    #[inline(always)]
    pub(super) fn write(&mut self, bytes: u64, subflows: &Subflows) {
        if let Some(fragments) = &mut self.fragments {
            fragments.write(self.written, self.pending < self.written, bytes);
        }
        self.written += Bytes(bytes);
        if self.fragments.is_some() {
            let (size, held) = (self.buffer_size(subflows), self.buffered());
            self.fragments.iter_mut().for_each(|fragments| fragments.note_write(size, held));
        }
        self.check();
    }

    /// Takes in a Data ACK with the window that came with it.
    #[inline(always)]
    pub(super) fn on_data_ack(&mut self, data_ack: Dsn, window: u64) {
        let right = Dsn(data_ack.0.saturating_add(window));
        if right > self.right {
            self.right = right;
            (self.persist.at, self.persist.probes) = (SimTime::NEVER, 0);
        }
        self.max_window = self.max_window.max(window);
        if self.right > self.next {
            self.push();
        }
        let fin_number = u64::from(matches!(self.fin, DataFin::Sent(_)));
        if data_ack <= self.una || data_ack > self.next + Bytes(fin_number) {
            return;
        }
        if data_ack == self.written + Bytes(1) {
            self.fin = DataFin::Acknowledged;
        }
        self.una = data_ack.min(self.next);
        self.pending = self.pending.max(self.una);
        self.reinject.acknowledge(self.una);
        if let Some(fragments) = &mut self.fragments {
            fragments.acknowledge(self.una);
        }
        self.check();
    }

    /// Size of the next new segment; `None` if there is none or the window forbids it. Like TCP, the connection sends
    /// a fragment only if it is half of the largest window ever offered. Whole fragments of the buffer are segments later.
    #[inline]
    pub(super) fn next_len(&self) -> Option<u64> {
        if let Some(fragments) = &self.fragments {
            let len = (fragments.end_of(self.pending)? - self.pending).0.min(self.window());
            return (len > 0).then_some(len);
        }
        let len = self.unassigned().min(self.mss.0);
        let window = self.window();
        if len > 0 && len <= window {
            return Some(len);
        }
        let worth_it = 2 * window >= self.max_window || self.persist.overrides;
        (len > 0 && window > 0 && worth_it).then_some(window)
    }

    /// Smallest segment that a window with room for it would let out.
    #[inline]
    pub(super) fn quantum(&self) -> u64 {
        if self.persist.overrides { 1 } else { self.mss.0.min(self.max_window.div_ceil(2)).max(1) }
    }

    /// RFC 9293 3.7.4 for the stream of the connection: a small segment waits while any subflow has something
    /// outstanding, whose acknowledgement will ask again, unless it ends the stream. After Minshall each subflow waits only
    /// while a small one of its own is outstanding: true if none may send it.
    #[inline]
    pub(super) fn nagle_forbids(&self, len: u64, subflows: &Subflows) -> bool {
        self.nagle_applies(len)
            && if self.tcp.sending.minshall {
                subflows.iter().filter(|s| s.may_send()).all(|s| s.sender().has_small_outstanding())
            } else {
                subflows.any_unacked()
            }
    }

    /// After Minshall subflow `i` does not send a segment of `len` bytes now.
    #[inline]
    pub(super) fn nagle_forbids_on(&self, i: usize, len: u64, subflows: &Subflows) -> bool {
        self.nagle_applies(len)
            && self.tcp.sending.minshall
            && subflows.get(i).is_some_and(|s| s.sender().has_small_outstanding())
    }

    /// A small segment, which Nagle's algorithm may hold back.
    #[inline]
    fn nagle_applies(&self, len: u64) -> bool {
        self.fragments.is_none()
            && len < self.mss.0
            && self.unassigned() < self.mss.0
            && self.tcp.sending.nagle
            && self.fin == DataFin::Open
    }

    /// Nagle's algorithm holds back all that is not given to subflows, on each of `room`, which have room for it.
    pub(super) fn nagle_holds(&self, room: SubflowSet, subflows: &Subflows) -> bool {
        self.next_len().is_some_and(|len| {
            self.nagle_forbids(len, subflows) || room.iter().all(|i| self.nagle_forbids_on(i, len, subflows))
        })
    }

    /// Takes the next `len` bytes, to be given to a subflow.
    #[inline]
    pub(super) fn take_new(&mut self, len: u64) -> Range<Dsn> {
        debug_assert!(len > 0 && len <= self.window(), "{len} bytes into a window of {}", self.window());
        let start = self.pending;
        self.pending += Bytes(len);
        self.next = self.next.max(self.pending);
        self.persist.overrides = false;
        self.check();
        Range::new(start, self.pending)
    }

    /// Waiting data may be placed now, if that depends on what has happened.
    #[inline]
    pub(super) fn push(&mut self) {
        self.fragments.iter_mut().for_each(|fragments| fragments.push());
    }

    /// New data waits in fragments that may be placed now; once.
    pub(super) fn take_push(&mut self) -> bool {
        self.fragments.as_mut().is_some_and(|fragments| fragments.take_push()) && self.has_data()
    }

    /// Data is placed in whole fragments.
    #[inline]
    pub(super) fn has_fragments(&self) -> bool {
        self.fragments.is_some()
    }

    /// The same, and whether segments name the mapping of a whole chunk of them; `None` if data is not placed so.
    #[inline]
    pub(super) fn maps_whole_chunks(&self) -> Option<bool> {
        self.fragments.as_deref().map(Fragments::maps_whole_chunks)
    }

    /// End of the fragment that holds byte `dsn`, as it was written where that is known and is not acknowledged.
    pub(super) fn fragment_end(&self, dsn: Dsn) -> Option<Dsn> {
        self.fragments.as_ref()?.end_of(dsn)
    }

    /// Nothing is to be sent again, and the application has not closed.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.fin == DataFin::Open && self.reinject.is_empty() && self.pending == self.next
    }

    /// Data waits to be given to a subflow, for the first time or again.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        self.pending < self.written || !self.reinject.is_empty()
    }
}

/// Data to be reinjected on another subflow.
impl SendSide {
    #[inline]
    pub(super) fn reinject(&self) -> &ReinjectQueue {
        &self.reinject
    }

    pub(super) fn reinject_mut(&mut self) -> &mut ReinjectQueue {
        &mut self.reinject
    }

    /// Everything without Data ACK is placed anew, as if no subflow had it (`__mptcp_retransmit_pending_data`).
    pub(super) fn place_again(&mut self) {
        self.pending = self.una;
        self.push();
        self.check();
    }

    /// Queues what the peer lacks of `data`, which was given to a subflow, and which `carriers` have sent.
    pub(super) fn queue_again(&mut self, data: Range<Dsn>, carriers: SubflowSet) {
        if data.end > self.una {
            self.reinject.insert(Range::new(data.start.max(self.una), data.end), carriers);
        }
        self.check();
    }
}

/// DATA_FIN.
impl SendSide {
    /// No more data after what has been written.
    pub(super) fn close(&mut self) {
        if self.fin == DataFin::Open {
            self.fin = DataFin::Wanted;
        }
    }

    /// DATA_FIN is to be sent as soon as everything before it was given to subflows.
    #[inline]
    pub(super) fn wants_fin(&self) -> bool {
        self.fin == DataFin::Wanted
    }

    /// Transmissions of DATA_FIN so far.
    pub(super) fn fin_tries(&self) -> usize {
        self.fin_tries
    }

    /// DATA_FIN leaves in a segment of its own, to be sent again at this time.
    pub(super) fn fin_leaves(&mut self, resend_at: SimTime) {
        debug_assert!(self.wants_fin() && self.unassigned() == 0, "DATA_FIN follows all data");
        self.fin = DataFin::Sent(resend_at);
        self.fin_tries += 1;
    }

    /// The FIN of the only subflow ends the stream instead of DATA_FIN.
    pub(super) fn fin_is_that_of_tcp(&mut self) {
        self.fin = DataFin::Sent(SimTime::NEVER);
    }

    /// When DATA_FIN is sent again.
    #[inline]
    pub(super) fn fin_deadline(&self) -> SimTime {
        if let DataFin::Sent(resend_at) = self.fin { resend_at } else { SimTime::NEVER }
    }

    /// DATA_FIN that was sent without an answer is to be sent again.
    pub(super) fn repeat_fin(&mut self) {
        if let DataFin::Sent(_) = self.fin {
            self.fin = DataFin::Wanted;
        }
    }

    /// Everything written has been acknowledged, DATA_FIN too.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.fin == DataFin::Acknowledged
    }
}

/// The send buffer.
impl SendSide {
    /// Free bytes of the send buffer.
    #[inline(always)]
    pub(super) fn space(&self, subflows: &Subflows) -> Bytes {
        let senders = || subflows.iter().filter(|s| s.may_send()).map(Subflow::sender);
        let unsent = || (self.written - self.next).0 + senders().map(Sender::unsent).sum::<u64>();
        let (size, held) = (self.buffer_size(subflows), self.written - self.una);
        if let Some(fragments) = &self.fragments
            && self.tcp.buffers.unsent_limit == Bytes::MAX
        {
            return fragments.space(size, held, self.unassigned() > 0);
        }
        send_space(&self.tcp, size, held, unsent)
    }

    /// Size of the send buffer: by the sum of the congestion windows, or by the send buffers of the subflows.
    fn buffer_size(&self, subflows: &Subflows) -> Bytes {
        match self.tcp.buffers.send_buffer {
            SendBuffer::Expand { connection: ConnectionBuffer::Sum, .. } => {
                subflows.iter().fold(CONNECTION_BUFFER, |sum, s| sum + s.send_buffer_share(&self.tcp))
            }
            _ => {
                let open = subflows.iter().filter(|s| s.may_send());
                let windows = || open.map(|s| s.sender().controlled_cwnd()).sum();
                send_buffer(&self.tcp, windows, self.buffer)
            }
        }
    }

    /// Bytes in it: written and not acknowledged.
    pub(super) fn buffered(&self) -> Bytes {
        self.written - self.una
    }

    /// The buffer expands, and the application waits for space for a segment.
    #[inline]
    pub(super) fn waits_to_expand(&self, subflows: &Subflows) -> bool {
        let SendBuffer::Expand { max, .. } = self.tcp.buffers.send_buffer else { return false };
        let unlimited = max >= self.mss && self.tcp.buffers.unsent_limit == Bytes::MAX;
        if self.written == self.una && unlimited {
            // All of the buffer is free, at least of ten segments.
            return false;
        }
        self.lacks_space(subflows)
    }

    #[inline(never)]
    fn lacks_space(&self, subflows: &Subflows) -> bool {
        subflows.any_ever_established() && self.space(subflows) < self.mss
    }

    /// The application waits for space, and an acknowledgement has arrived on subflow `i`.
    pub(super) fn expand(&mut self, now: SimTime, i: usize, subflows: &mut Subflows) {
        let Some(subflow) = subflows.get_mut(i) else { return };
        subflow.expand_send_buffer(now, &self.tcp);
        self.buffer.on_ack(now, &self.tcp, subflow.sender());
    }
}

/// The persist timer.
impl SendSide {
    /// When the peer is asked for its window.
    #[inline]
    pub(super) fn persist_at(&self) -> SimTime {
        self.persist.at
    }

    /// Data is to be sent, and nothing is outstanding. A dead subflow gets no acknowledgement of what it has sent.
    #[inline]
    fn is_stalled(&self, subflows: &Subflows) -> bool {
        self.has_data() && !subflows.any_unacked()
    }

    /// Starts the persist timer when nothing can be sent and no ACK is to be expected: the window of the connection is
    /// closed, or that of the subflow that the scheduler waits for, whose update was lost.
    #[inline(always)]
    pub(super) fn watch_window(&mut self, now: SimTime, subflows: &Subflows) {
        if self.persist.at.is_never() && self.is_stalled(subflows) {
            self.persist.at = now + subflows.longest_rto(self.persist.probes);
        }
    }

    /// The persist timer has expired.
    pub(super) fn on_persist_timeout(&mut self, now: SimTime, subflows: &mut Subflows) {
        if self.is_stalled(subflows) {
            self.probe_window(now, subflows);
        } else {
            self.persist.at = SimTime::NEVER;
        }
    }

    /// Nothing is outstanding, and a window is closed: asks for it, at growing intervals. If it is the window of the
    /// connection, on the fastest subflow. If it is that of a subflow that the scheduler waits for, only an answer there
    /// opens it: on all in turn, the one with the smallest window first.
    fn probe_window(&mut self, now: SimTime, subflows: &mut Subflows) {
        let in_turn = self.window() > 0 || !self.reinject.is_empty();
        let turn = if in_turn { self.persist.probes as usize } else { 0 };
        self.persist.probes += 1;
        self.persist.overrides = self.window() > 0;
        self.persist.at = now + subflows.longest_rto(self.persist.probes);
        subflows.freshen_views(self.quantum());
        let sender = |i: usize| subflows.get(i).map(Subflow::sender);
        let mut usable: Vec<_> =
            (0..subflows.count()).filter(|i| subflows.views().subflows()[*i].usable).collect();
        usable.sort_by_key(|i| sender(*i).map(|s| (in_turn.then(|| s.send_window()), s.rtt().srtt())));
        let asked = usable.get(turn % usable.len().max(1)).copied();
        if let Some(i) = asked.or_else(|| subflows.any_that_may_send())
            && let Some(subflow) = subflows.activate(i)
        {
            subflow.probe_window();
        }
    }

    /// Asserts what holds between calls, in debug builds.
    fn check(&self) {
        debug_assert!(self.una <= self.pending && self.pending <= self.next, "{self:?}");
        debug_assert!(self.next <= self.written, "{self:?}");
        debug_assert!(self.next <= self.right, "data beyond the window: {} > {}", self.next, self.right);
        debug_assert!(self.reinject.lies_in(self.outstanding()), "only what is outstanding is sent again");
        debug_assert!(
            self.fin != DataFin::Acknowledged || self.una == self.written,
            "DATA_FIN is acknowledged after all data"
        );
    }
}
