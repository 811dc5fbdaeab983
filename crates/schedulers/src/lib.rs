//! Multipath schedulers: which subflow carries the next segment.
//!
//! May: read the views, keep private state. May not: send, read a clock, know segments, links or files.
//! To add one: `docs/howto/add-a-scheduler.md`.

mod blest;
mod bufferbloat;
mod builtin;
mod daps;
mod ecf;
mod eligible;
mod espc;
mod head;
mod kimura;
mod minratio;
mod minratio_thesis;
mod minrtt;
mod minrtt_rp;
mod minrtt_thesis;
mod otias;
mod primary_first;
mod queueing;
mod redundant;
mod round_robin;
mod round_robin_pass;
mod round_robin_window;
mod set;
mod sttf;
#[cfg(test)]
mod testing;
mod weighted_round_robin;

use std::fmt;

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

pub use builtin::{Algorithm, Registry, Schedulers};
pub use eligible::Eligible;
pub use set::SubflowSet;

/// State of one subflow, for schedulers. The default is a subflow that does not exist. It is flat: a scheduler compares single
/// figures of subflows, and a field that is added later changes no scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubflowView {
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Nanos>,
    /// Smallest round-trip time of the last 10 to 20 s; `None` before the first sample.
    pub min_rtt: Option<Nanos>,
    /// The latest round-trip sample; `None` before the first. Only for a scheduler with [`Needs`].
    pub latest_rtt: Option<Nanos>,
    /// Mean deviation of the round-trip time (RTTVAR of RFC 6298).
    pub rttvar: Nanos,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `Bytes::MAX` while it is unlimited.
    pub ssthresh: Bytes,
    /// Bytes in the network (pipe).
    pub inflight: Bytes,
    /// Bytes queued on the subflow and not yet sent.
    pub unsent: Bytes,
    /// Bytes that the subflow's send buffer holds, payload or memory as its size counts: sent and not acknowledged, and not yet
    /// sent. Only for a scheduler with [`Needs`].
    pub held: Bytes,
    /// The peer's window as this subflow knows it, counted from its own first unacknowledged byte. Only for a
    /// scheduler with [`Needs`].
    pub send_window: Bytes,
    /// Size of its send buffer: fixed, expanded, or by choice D-32. Only for a scheduler with [`Needs`].
    pub send_buffer: Bytes,
    /// It takes no more while this much or more is `unsent`; `Bytes::MAX`: no limit.
    pub unsent_limit: Bytes,
    /// Rate at which the subflow would pace; `None` where it is unlimited or [`Needs::pacing`] is not set.
    pub pacing_rate: Option<BitsPerSecond>,
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// Joined, able to send, not potentially failed: may be used now or as soon as its window opens.
    pub usable: bool,
    /// `usable`, and its congestion and send windows have room for a segment now.
    pub available: bool,
    /// No loss episode: neither fast recovery nor the time after a timeout. Only for a scheduler with [`Needs`].
    pub open: bool,
    /// Marked as backup by either end.
    pub backup: bool,
    /// Has already carried the segment that is to be placed (reinjections only).
    pub carried: bool,
    /// Data that others were given and this subflow was not, up to the first new byte; 0 unless [`Needs::copies`].
    pub lag: Bytes,
}

impl SubflowView {
    /// Its send buffer takes another segment, whatever its congestion window says.
    pub fn has_queue_room(&self) -> bool {
        self.may_queue() && self.held + self.mss <= self.send_buffer
    }

    /// Its send buffer has free memory, and takes a fragment beyond its size (`sk_stream_memory_free`).
    pub fn has_memory(&self) -> bool {
        self.may_queue() && self.held < self.send_buffer
    }

    /// Less than its limit waits to be sent (`tcp_stream_memory_free`).
    fn may_queue(&self) -> bool {
        self.usable && self.unsent < self.unsent_limit
    }

    /// `bytes` in segments, rounded up.
    pub fn segments(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss.0.max(1))
    }
}

/// Occasion on which a scheduler is asked for a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// A segment of new data is to be placed.
    #[default]
    New,
    /// A segment is to be reinjected; `carried` marks the subflows that have carried it.
    Again,
    /// New data waits and the connection's send window has no room for it. Asked only with [`Needs::head`].
    WindowFull,
    /// The application has more, the send buffer is full and everything in it was given to subflows. Asked only with
    /// [`Needs::head`].
    BufferFull,
    /// No new segment may leave. Asked only with [`Needs::copies`].
    NothingNew,
}

/// State of the connection, for schedulers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionView<'a> {
    /// When the question is asked.
    pub now: SimTime,
    /// Why the scheduler is asked.
    pub question: Question,
    /// By subflow index; ties go to the lowest (choice D-30).
    pub subflows: &'a [SubflowView],
    /// Bytes written by the application and not yet given to any subflow.
    pub unassigned: Bytes,
    /// Size of the segment that is to be placed; 0 if there is none.
    pub len: Bytes,
    /// Send window of the connection, counted from the Data ACK: the free part and what is outstanding.
    pub send_window: Bytes,
    /// Its free part.
    pub window_left: Bytes,
    /// Subflows on which the oldest segment without Data ACK is outstanding; with [`Question::WindowFull`] and
    /// [`Question::BufferFull`] only.
    pub head: SubflowSet,
}

impl ConnectionView<'_> {
    /// Asserts, in debug builds, the preconditions of [`Scheduler::pick`].
    pub fn check(&self) {
        debug_assert!(self.subflows.len() <= SubflowSet::CAPACITY, "{} subflows", self.subflows.len());
        debug_assert!(self.window_left <= self.send_window, "the free part is a part of the window");
        debug_assert!(self.subflows.iter().all(|s| s.usable || !s.available), "room where no data may go");
        debug_assert!(
            self.question == Question::Again || self.subflows.iter().all(|s| !s.carried),
            "new data was carried before"
        );
        debug_assert!(
            self.head.is_empty() || matches!(self.question, Question::WindowFull | Question::BufferFull),
            "the carriers of the oldest segment are told where it is asked about"
        );
        debug_assert!(
            self.head.minus(SubflowSet::below(self.subflows.len())).is_empty(),
            "the oldest segment is on a subflow that exists"
        );
    }

    /// Asserts, in debug builds, that the connection can carry out this decision.
    pub fn check_answer(&self, decision: Decision) {
        let exists = |set: SubflowSet| set.iter().all(|i| i < self.subflows.len());
        match decision {
            Decision::Wait => {}
            Decision::Send(i) | Decision::ResendHead(i) => {
                debug_assert!(self.subflows[i].usable, "subflow {i} is chosen and gets no data");
            }
            Decision::Copy(set) | Decision::Penalise(set) => {
                debug_assert!(exists(set) && !set.is_empty(), "{set:?} is chosen of {}", self.subflows.len());
            }
        }
        debug_assert!(
            !matches!(decision, Decision::ResendHead(_) | Decision::Penalise(_)) || !self.head.is_empty(),
            "{decision:?} answers a question about the oldest segment"
        );
    }
}

/// Decision of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The segment goes to this subflow. New data may go to a subflow whose window is full if [`Needs::queueing`] allows it.
    Send(usize),
    /// No subflow now. Allowed only if a later event is certain to ask again.
    Wait,
    /// Each of these repeats a segment of the oldest data that it lacks (`lag`): needs [`Needs::copies`] and room on each.
    Copy(SubflowSet),
    /// The oldest segment without Data ACK goes to this subflow as well: needs [`Needs::head`] and room on the
    /// subflow.
    ResendHead(usize),
    /// The congestion windows of these are halved, and their thresholds if the window had reached them; then the
    /// question is asked again. An answer to [`Question::WindowFull`] only.
    Penalise(SubflowSet),
}

/// How much a scheduler may queue on a subflow whose congestion window is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// Nothing.
    #[default]
    Never,
    /// As much as the subflow's send buffer takes (choice D-32).
    SendBuffer,
    /// Without limit: queued segments are a plan.
    Unlimited,
}

/// Requirements of a scheduler on the connection, besides the views that cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// May it give new data to a usable subflow whose congestion window is full?
    pub queueing: Queueing,
    /// Views have pacing rates.
    pub pacing: bool,
    /// It is asked when the send window or the send buffer is full, and is told which subflows carry the oldest segment.
    pub head: bool,
    /// Every subflow carries all data: views have `lag`, and nothing is reinjected.
    pub copies: bool,
    /// [`Scheduler::redistributes`] is asked after acknowledgements.
    pub redistribution: bool,
    /// It is asked about new data even while no subflow has room, because its state depends on the views.
    pub watching: bool,
    /// It is asked about the only usable subflow too, and may queue there. Otherwise that one gets what its window takes.
    pub alone: bool,
    /// It never waits while a subflow has room and keeps no state: if only one subflow has room the segment goes there
    /// without a call.
    pub greedy: bool,
    /// The kernel's way of placing new data: in whole fragments of the send buffer, all of them before anything is sent, with
    /// writers that sleep until a third of the buffer is free.
    pub fragments: bool,
    /// SCTP asks as if the application's writes came one by one: `unassigned` is what waited before the messages that were written
    /// last; if nothing waited, it is the next message alone.
    pub single_writes: bool,
}

impl Needs {
    /// True if [`SubflowView`] has to be filled in as a whole.
    pub fn whole_view(self) -> bool {
        Self { greedy: false, single_writes: false, ..self } != Self::default()
    }
}

/// Where gauges of a scheduler go: the subflow that the number is about (`None`: the connection), its name with the
/// unit, the number.
pub type Report<'a> = &'a mut dyn FnMut(Option<usize>, &'static str, f64);

/// Chooses a subflow for each segment.
///
/// It is asked whenever there is a segment to place and a subflow with room for it (or where its [`Needs`] say more),
/// and again after each answer, until it returns `Wait`; it is not asked while only one subflow is usable, unless it sends copies. It
/// chooses among the [`Eligible`]: backups count only where no other is usable, and a reinjected segment goes to a
/// subflow that has not carried it.
pub trait Scheduler: fmt::Debug + Send {
    /// Where the next segment goes.
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision;

    /// Its requirements; the same for its whole life.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// True if segments that are queued on the subflows and were never sent are to be placed again.
    fn redistributes(&mut self, _connection: &ConnectionView<'_>) -> bool {
        false
    }

    /// With [`Needs::single_writes`]: an occasion to send, told before any question about new data.
    fn occasion(&mut self, _occasion: Occasion) {}

    /// Where occasions are told: the last `Wait` was the end of a pass only, and it is to be asked again.
    fn goes_on(&self) -> bool {
        false
    }

    /// Its state, for the recorder.
    fn gauges(&self, _report: Report<'_>) {}
}

/// An occasion to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// New data may leave.
    Data,
    /// A control packet leaves, and new data may leave with it.
    Control,
    /// A control packet leaves, and no new data may.
    ControlAlone,
    /// Neither.
    Nothing,
}
