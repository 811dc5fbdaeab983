//! Short hands for the unit tests of the schedulers.

use units::{Bytes, Nanos, SimTime};

use crate::{ConnectionView, Decision, Scheduler, SubflowView};

const MSS: u64 = 1400;

/// Sampled, no backup; window and flight in segments. Available if there is room.
pub(crate) fn subflow(srtt_ms: u64, cwnd: u64, inflight: u64) -> SubflowView {
    SubflowView {
        srtt: Some(Nanos::from_millis(srtt_ms)),
        min_rtt: Some(Nanos::from_millis(srtt_ms)),
        rttvar: Nanos::ZERO,
        cwnd: Bytes(cwnd * MSS),
        ssthresh: Bytes::MAX,
        inflight: Bytes(inflight * MSS),
        unsent: Bytes::ZERO,
        mss: Bytes(MSS),
        usable: true,
        available: inflight < cwnd,
        backup: false,
        carried: false,
    }
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

/// One decision with plenty to send and a wide window.
pub(crate) fn pick(scheduler: &mut dyn Scheduler, subflows: &[SubflowView]) -> Decision {
    scheduler.pick(&ConnectionView {
        now: SimTime::ZERO,
        subflows,
        unassigned: Bytes(1 << 20),
        send_window: Bytes(1 << 20),
    })
}

/// The next `n` decisions over unchanging subflows: A, B, C, ... or `-` for Wait.
pub(crate) fn picks(scheduler: &mut dyn Scheduler, subflows: &[SubflowView], n: usize) -> String {
    let letter = |decision| match decision {
        Decision::Send(index) => char::from(b'A' + index as u8),
        Decision::Wait => '-',
    };
    (0..n).map(|_| letter(pick(scheduler, subflows))).collect()
}
