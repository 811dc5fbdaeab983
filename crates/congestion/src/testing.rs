//! Short hands for the unit tests of the controllers.

use units::{Bytes, Nanos, SimTime};

use crate::newreno::NewReno;
use crate::reno::RenoWindow;
use crate::{Ack, CongestionControl, Growth, Loss, PathView, Paths, Setup, SsthreshFrom};

/// MSS 1460, ten segments, no threshold, one segment per ACK in slow start, bytes counted.
pub(crate) fn setup() -> Setup {
    setup_with(1460, 14_600, u64::MAX, Growth { slow_start_limit: 1, byte_counting: true })
}

pub(crate) fn setup_with(mss: u64, window: u64, ssthresh: u64, growth: Growth) -> Setup {
    Setup {
        mss: Bytes(mss),
        initial_window: Bytes(window),
        initial_ssthresh: Bytes(ssthresh),
        growth,
        ssthresh_from: SsthreshFrom::Flight,
        paced: false,
        offload: false,
    }
}

/// An ACK of `acked` bytes at time zero that finds the window full.
pub(crate) fn ack(acked: u64) -> Ack {
    Ack {
        now: SimTime::ZERO,
        acked: Bytes(acked),
        delivered: Bytes(acked),
        rtt: None,
        srtt: Nanos::ZERO,
        flight_before: Bytes(acked),
        flight: Bytes::ZERO,
        pipe: Bytes::ZERO,
        lost: Bytes::ZERO,
        rwnd: Bytes::MAX,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: true,
        marked: false,
        rate: None,
    }
}

/// A loss at time zero with `flight` bytes out.
pub(crate) fn loss(flight: u64) -> Loss {
    Loss {
        now: SimTime::ZERO,
        flight: Bytes(flight),
        cwnd_limited: true,
        srtt: Nanos::ZERO,
        snd_nxt: flight,
        marked: false,
        first_timeout: true,
    }
}

/// Coupled paths from (window in segments, srtt in seconds, MSS in bytes).
pub(crate) fn views(paths: &[(f64, f64, f64)]) -> Vec<PathView> {
    paths.iter().map(|&(w, srtt, mss)| PathView::new(w * mss, srtt, mss, true)).collect()
}

/// Asserts equality up to a relative error.
#[track_caller]
pub(crate) fn close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(error <= tolerance, "found {found}, expected {expected}, relative error {error:e}");
}

/// Growth of the window of path `me` by one ACK of one MSS in avoidance, in bytes, for a controller made by `new`
/// whose window to the fraction of a byte is `window`.
pub(crate) fn growth_in_avoidance<C: CongestionControl>(
    all: &[PathView],
    me: usize,
    growth: Growth,
    new: impl Fn(&Setup) -> C,
    window: impl Fn(&C) -> f64,
) -> f64 {
    let (mss, cwnd) = (all[me].mss as u64, all[me].cwnd as u64);
    let mut cc = new(&setup_with(mss, cwnd, cwnd, growth));
    cc.on_ack(&ack(mss), Paths { all, me });
    window(&cc) - cwnd as f64
}

/// Asserts that a coupled controller is NewReno to the bit while nothing is linked to it.
pub(crate) fn assert_reno_when_alone<C: CongestionControl>(
    new: impl Fn(&Setup) -> C,
    window: impl Fn(&C) -> RenoWindow,
) {
    let me = views(&[(10.0, 0.1, 1460.0)])[0];
    let unsampled = PathView::new(me.cwnd, 0.0, me.mss, true);
    let failed = PathView::new(me.cwnd, me.srtt, me.mss, false);
    for all in [vec![], vec![me], vec![me, unsampled, failed], vec![unsampled, me]] {
        for byte_counting in [true, false] {
            let setup = setup_with(1460, 2920, 8000, Growth { slow_start_limit: 1, byte_counting });
            let (mut cc, mut reno) = (new(&setup), NewReno::new(&setup));
            let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
            for one in both {
                for i in 0..200 {
                    one.on_ack(&ack(1460 * (1 + i % 2)), Paths { all: &all, me: 0 });
                    if i % 67 == 66 {
                        one.on_loss(&loss(one.window().cwnd.0), Paths { all: &all, me: 0 });
                    }
                }
            }
            assert_eq!(format!("{:?}", window(&cc)), format!("{:?}", reno.window));
        }
    }
}

/// One ACK of one segment of 1000 bytes for each sample in milliseconds; the last one ends round `n` (from 0).
pub(crate) fn one_round(cc: &mut dyn CongestionControl, n: u64, rtt_ms: &[u64], paths: Paths<'_>) {
    const ROUND: u64 = 1 << 20;
    let (start, end) = (n * ROUND, (n + 1) * ROUND);
    for (i, &ms) in rtt_ms.iter().enumerate() {
        let last = i + 1 == rtt_ms.len();
        let (snd_una, snd_nxt) = if last { (end, end + ROUND) } else { (start + i as u64 + 1, end) };
        cc.on_ack(&Ack { rtt: Some(Nanos::from_millis(ms)), snd_una, snd_nxt, ..ack(1000) }, paths);
    }
}
