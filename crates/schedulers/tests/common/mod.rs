//! Arbitrary subflows and histories of them.

// Each test program uses a part of it.
#![allow(dead_code)]

use proptest::collection::vec;
use proptest::prelude::*;
use registry::{OptionValue, Options};
use schedulers::{ConnectionView, Decision, Registry, Scheduler, SubflowView};
use units::{BitsPerSecond, Bytes, Nanos};

/// A registered scheduler with its defaults, some of them changed.
pub fn scheduler(name: &str, changes: &[(&str, OptionValue)]) -> Box<dyn Scheduler> {
    let row = *Registry::builtin().get(name).expect("registered");
    let changed = |options: Options, (name, value): &(&str, OptionValue)| options.with(name, value.clone());
    (row.build)(&changes.iter().fold(Options::defaults(row.options), changed))
}

/// minRTT, with which others are compared.
pub fn minrtt(subflows: &[SubflowView]) -> Decision {
    pick(scheduler("minrtt", &[]).as_mut(), subflows)
}

/// Any subflow, usable or not.
pub fn subflow() -> impl Strategy<Value = SubflowView> {
    let srtt = proptest::option::weighted(0.9, 0..2_000_000_000_u64);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let buffers = (0..100_000_u64, 0..10_000_u64, 0..200_000_u64);
    let rates = (proptest::option::of(8..1_000_000_000_u64), 1..9_u64);
    (srtt, 0..100_000_u64, buffers, rates, flags).prop_map(
        |(srtt, cwnd, (inflight, unsent, window), (rate, stretch), (usable, room, backup, carried, open))| {
            SubflowView {
                srtt: srtt.map(Nanos),
                min_rtt: srtt.map(|srtt| Nanos(srtt / stretch)),
                latest_rtt: srtt.map(|srtt| Nanos(srtt * stretch / 4)),
                rttvar: Nanos(1_000_000),
                cwnd: Bytes(cwnd),
                ssthresh: Bytes::MAX,
                inflight: Bytes(inflight),
                unsent: Bytes(unsent),
                held: Bytes(inflight + unsent),
                send_window: Bytes(window),
                send_buffer: Bytes(if stretch % 2 == 0 {
                    87_040 + 2 * window
                } else {
                    (2 * cwnd + 16_384).max(87_040)
                }),
                unsent_limit: Bytes(if stretch < 4 { 5000 } else { u64::MAX }),
                pacing_rate: rate.filter(|_| srtt.is_some()).map(BitsPerSecond),
                mss: Bytes(1400),
                usable,
                available: usable && room,
                open,
                backup,
                carried,
                lag: Bytes::ZERO,
            }
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
    scheduler.pick(&ConnectionView {
        subflows,
        unassigned: wide,
        len: Bytes(1400),
        send_window: wide,
        window_left: wide,
        ..ConnectionView::default()
    })
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
        latest_rtt: Some(Nanos::from_millis(50)),
        cwnd: Bytes(14_000),
        ssthresh: Bytes::MAX,
        send_window: Bytes(1 << 20),
        send_buffer: Bytes(87_040),
        unsent_limit: Bytes::MAX,
        pacing_rate: Some(BitsPerSecond(4_480_000)),
        mss: Bytes(1400),
        usable: true,
        available: true,
        open: true,
        ..SubflowView::default()
    }
}
