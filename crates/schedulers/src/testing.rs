//! Short hands for the unit tests of the schedulers.

use registry::Options;
use units::{BitsPerSecond, Bytes, Nanos};

use crate::{Algorithm, ConnectionView, Decision, Question, Scheduler, SubflowSet, SubflowView};

pub(crate) const MSS: u64 = 1400;

/// The scheduler of a row with the defaults of its options.
pub(crate) fn by_default(row: &Algorithm) -> Box<dyn Scheduler> {
    (row.build)(&Options::defaults(row.options))
}

/// Sampled, no backup; window and flight in segments. Available if there is room.
pub(crate) fn subflow(srtt_ms: u64, cwnd: u64, inflight: u64) -> SubflowView {
    SubflowView {
        srtt: Some(Nanos::from_millis(srtt_ms)),
        min_rtt: Some(Nanos::from_millis(srtt_ms)),
        latest_rtt: Some(Nanos::from_millis(srtt_ms)),
        cwnd: Bytes(cwnd * MSS),
        ssthresh: Bytes::MAX,
        inflight: Bytes(inflight * MSS),
        held: Bytes(inflight * MSS),
        send_window: Bytes(1 << 20),
        send_buffer: Bytes((2 * cwnd * MSS + 16 * 1024).max(87_040)),
        unsent_limit: Bytes::MAX,
        mss: Bytes(MSS),
        usable: true,
        available: inflight < cwnd,
        open: true,
        ..SubflowView::default()
    }
}

/// The same with `unsent` segments queued behind its window.
pub(crate) fn queued(subflow: SubflowView, unsent: u64) -> SubflowView {
    let unsent = Bytes(unsent * MSS);
    SubflowView {
        unsent,
        held: subflow.inflight + unsent,
        available: subflow.available && unsent == Bytes::ZERO,
        ..subflow
    }
}

/// The same with this pacing rate.
pub(crate) fn paced(subflow: SubflowView, bytes_per_second: u64) -> SubflowView {
    SubflowView { pacing_rate: Some(BitsPerSecond(8 * bytes_per_second)), ..subflow }
}

/// A fast path that is full and a slow one that is not.
pub(crate) fn scene_s1() -> [SubflowView; 2] {
    let in_avoidance = |s: SubflowView, ssthresh: u64| SubflowView { ssthresh: Bytes(ssthresh * MSS), ..s };
    [in_avoidance(subflow(50, 10, 10), 8), in_avoidance(subflow(600, 20, 5), 16)]
}

/// Three paths with room on all.
pub(crate) fn scene_s2() -> [SubflowView; 3] {
    [subflow(30, 10, 1), subflow(80, 40, 35), subflow(35, 12, 2)]
}

/// The same subflow with its window full.
pub(crate) fn full(subflow: SubflowView) -> SubflowView {
    SubflowView { available: false, ..subflow }
}

/// Plenty to send and a wide window.
pub(crate) fn plenty(subflows: &[SubflowView]) -> ConnectionView<'_> {
    ConnectionView {
        subflows,
        unassigned: Bytes(1 << 20),
        len: Bytes(MSS),
        send_window: Bytes(1 << 20),
        window_left: Bytes(1 << 20),
        ..ConnectionView::default()
    }
}

/// One decision with plenty to send and a wide window.
pub(crate) fn pick(scheduler: &mut dyn Scheduler, subflows: &[SubflowView]) -> Decision {
    scheduler.pick(&plenty(subflows))
}

/// One decision while the send window is full and the oldest segment is on `head`.
pub(crate) fn pick_blocked(
    scheduler: &mut dyn Scheduler,
    subflows: &[SubflowView],
    head: &[usize],
) -> Decision {
    let head: SubflowSet = head.iter().copied().collect();
    scheduler.pick(&ConnectionView {
        question: Question::WindowFull,
        window_left: Bytes::ZERO,
        head,
        ..plenty(subflows)
    })
}

/// The next `n` decisions over unchanging subflows: A, B, C, ... (a, b, c, ... for copies) or `-` for any other.
pub(crate) fn picks(scheduler: &mut dyn Scheduler, subflows: &[SubflowView], n: usize) -> String {
    let letters = |decision| match decision {
        Decision::Send(index) => char::from(b'A' + index as u8).to_string(),
        Decision::Copy(set) => set.iter().map(|index| char::from(b'a' + index as u8)).collect(),
        Decision::Wait | Decision::ResendHead(_) | Decision::Penalise(_) => "-".to_owned(),
    };
    (0..n).map(|_| letters(pick(scheduler, subflows))).collect()
}

/// As the connection does it: asks until the answer is Wait, and queues each segment where it belongs.
pub(crate) fn fill(scheduler: &mut dyn Scheduler, subflows: &mut [SubflowView], n: usize) -> Vec<usize> {
    let mut chosen = Vec::new();
    for _ in 0..n {
        let Decision::Send(index) = pick(scheduler, subflows) else { break };
        let view = &mut subflows[index];
        let fits = view.unsent == Bytes::ZERO && view.inflight + view.mss <= view.cwnd;
        *if fits { &mut view.inflight } else { &mut view.unsent } += view.mss;
        view.held += view.mss;
        view.available &= fits && view.inflight + view.mss <= view.cwnd;
        chosen.push(index);
    }
    chosen
}
