//! Short hands for the unit tests of the controllers.

use units::{Bytes, Nanos, SimTime};

use crate::{Ack, Growth, Loss, PathView, Paths, Setup};

/// A connection that gives no view of its paths.
pub(crate) const ALONE: Paths<'static> = Paths { all: &[], me: 0 };

/// MSS 1460, ten segments, no threshold, one segment per ACK in slow start, bytes counted.
pub(crate) fn setup() -> Setup {
    setup_with(1460, 14_600, u64::MAX, Growth { slow_start_limit: 1, byte_counting: true })
}

pub(crate) fn setup_with(mss: u64, window: u64, ssthresh: u64, growth: Growth) -> Setup {
    Setup { mss: Bytes(mss), initial_window: Bytes(window), initial_ssthresh: Bytes(ssthresh), growth }
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
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: true,
    }
}

/// A loss at time zero with `flight` bytes out.
pub(crate) fn loss(flight: u64) -> Loss {
    Loss {
        now: SimTime::ZERO,
        flight: Bytes(flight),
        cwnd_limited: true,
        srtt: Nanos::ZERO,
        first_timeout: true,
    }
}

/// Coupled paths from (window in segments, srtt in seconds, MSS in bytes).
pub(crate) fn views(paths: &[(f64, f64, f64)]) -> Vec<PathView> {
    paths.iter().map(|&(w, srtt, mss)| PathView { cwnd: w * mss, srtt, mss, coupled: true }).collect()
}

/// Asserts equality up to a relative error.
#[track_caller]
pub(crate) fn close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(error <= tolerance, "found {found}, expected {expected}, relative error {error:e}");
}
