//! Arbitrary subflows and histories of them.

// Each test program uses a part of it.
#![allow(dead_code)]

use proptest::collection::vec;
use proptest::prelude::*;
use schedulers::{ConnectionView, Decision, Scheduler, SubflowView};
use units::{Bytes, Nanos, SimTime};

/// Any subflow, usable or not.
pub fn subflow() -> impl Strategy<Value = SubflowView> {
    let srtt = proptest::option::weighted(0.9, 0..2_000_000_000_u64);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (srtt, 0..100_000_u64, 0..100_000_u64, 0..10_000_u64, 1..9_u64, flags).prop_map(
        |(srtt, cwnd, inflight, unsent, stretch, (usable, room, backup, carried))| SubflowView {
            srtt: srtt.map(Nanos),
            min_rtt: srtt.map(|srtt| Nanos(srtt / stretch)),
            rttvar: Nanos(1_000_000),
            cwnd: Bytes(cwnd),
            ssthresh: Bytes::MAX,
            inflight: Bytes(inflight),
            unsent: Bytes(unsent),
            mss: Bytes(1400),
            usable,
            available: usable && room,
            backup,
            carried,
        },
    )
}

/// The contract of the connection: backups are not available while another is usable.
pub fn connection(mut subflows: Vec<SubflowView>) -> Vec<SubflowView> {
    if subflows.iter().any(|s| s.usable && !s.backup) {
        subflows.iter_mut().filter(|s| s.backup).for_each(|s| s.available = false);
    }
    subflows
}

/// One decision with plenty to send and a wide window.
pub fn pick(scheduler: &mut dyn Scheduler, subflows: &[SubflowView]) -> Decision {
    let wide = Bytes(1 << 30);
    scheduler.pick(&ConnectionView { now: SimTime::ZERO, subflows, unassigned: wide, send_window: wide })
}

/// Steps of a history; the number of subflows changes at will.
pub fn history() -> impl Strategy<Value = Vec<Vec<SubflowView>>> {
    vec(vec(subflow(), 0..6).prop_map(connection), 1..40)
}

/// A subflow with room.
pub fn open() -> SubflowView {
    SubflowView {
        srtt: Some(Nanos::from_millis(50)),
        min_rtt: Some(Nanos::from_millis(50)),
        rttvar: Nanos::ZERO,
        cwnd: Bytes(14_000),
        ssthresh: Bytes::MAX,
        inflight: Bytes::ZERO,
        unsent: Bytes::ZERO,
        mss: Bytes(1400),
        usable: true,
        available: true,
        backup: false,
        carried: false,
    }
}
