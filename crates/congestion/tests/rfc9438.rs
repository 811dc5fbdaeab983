//! The MUSTs of RFC 9438, "CUBIC for Fast and Long-Distance Networks". Each test is below the sentence that it keeps;
//! `tools/requirements.py` compares the sentences with the list of requirements. Windows are in segments of 1000 bytes,
//! the round-trip time is 600 ms.

use congestion::{Ack, CongestionControl, Growth, Loss, Paths, Registry, Setup, SsthreshFrom};
use registry::Options;
use units::{Bytes, Nanos, SimTime};

const MSS: u64 = 1000;
const RTT: f64 = 0.6;

/// With this window, in slow start until a first loss.
fn cubic(segments: u64) -> Box<dyn CongestionControl> {
    let row = *Registry::builtin().get("cubic").expect("a registered congestion control");
    let setup = Setup {
        mss: Bytes(MSS),
        initial_window: Bytes(segments * MSS),
        initial_ssthresh: Bytes::MAX,
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        ssthresh_from: SsthreshFrom::Flight,
        paced: false,
        offload: false,
    };
    (row.build)(&setup, &Options::defaults(row.options))
}

/// An ACK of one segment.
fn ack(cc: &mut dyn CongestionControl, seconds: f64, cwnd_limited: bool) {
    let ack = Ack {
        now: SimTime::ZERO + Nanos::from_secs_f64(seconds),
        acked: Bytes(MSS),
        delivered: Bytes(MSS),
        rtt: None,
        srtt: Nanos::from_secs_f64(RTT),
        flight_before: Bytes(MSS),
        flight: Bytes::ZERO,
        pipe: Bytes::ZERO,
        lost: Bytes::ZERO,
        rwnd: Bytes::MAX,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited,
        marked: false,
        rate: None,
    };
    cc.on_ack(&ack, Paths::ALONE);
}

/// A loss of a full window.
fn lose(cc: &mut dyn CongestionControl) {
    let flight = cc.window().cwnd;
    let loss = Loss { flight, cwnd_limited: true, first_timeout: true, ..Loss::default() };
    cc.on_loss(&loss, Paths::ALONE);
}

/// Window of 100 segments, W_max, then a loss.
fn after_loss() -> Box<dyn CongestionControl> {
    let mut cc = cubic(100);
    lose(&mut *cc);
    cc
}

fn bytes(cc: &dyn CongestionControl) -> f64 {
    cc.window().cwnd.as_f64()
}

/// The target of section 4.2, `t` seconds into a stage that begins with 70 segments below a W_max of 100.
fn target(t: f64, cwnd: f64) -> f64 {
    let k = libm::cbrt(30.0 / 0.4);
    (0.4 * (t + RTT - k).powi(3) + 100.0).clamp(cwnd, 1.5 * cwnd)
}

/// Growth of the window with an ACK at `t`, and (target - cwnd) / cwnd segments, both in bytes.
fn growth(t: f64) -> (f64, f64) {
    let mut cc = after_loss();
    ack(&mut *cc, 0.0, true);
    // A hundred ACKs a second keep the window close to the curve, as in a connection.
    let mut now = 0.0;
    while now + 0.01 < t {
        now += 0.01;
        ack(&mut *cc, now, true);
    }
    let before = bytes(&*cc);
    ack(&mut *cc, t, true);
    let cwnd = before / MSS as f64;
    (bytes(&*cc) - before, (target(t, cwnd) - cwnd) / cwnd * MSS as f64)
}

/// RFC 9438 section 4.4: "In this region, _cwnd_ MUST be incremented by"
///
/// (target - cwnd) / cwnd for each ACK, while the window is below W_max.
#[test]
fn the_concave_region() {
    for t in [0.3, 1.0, 2.0] {
        let (found, expected) = growth(t);
        assert!((found - expected).abs() <= 1.0 && expected > 20.0, "{t} s: {found}, not {expected}");
    }
}

/// RFC 9438 section 4.5: "In this region, _cwnd_ MUST be incremented by"
///
/// (target - cwnd) / cwnd for each ACK, when the window is above W_max.
#[test]
fn the_convex_region() {
    for t in [6.0, 7.0, 8.0] {
        let (found, expected) = growth(t);
        assert!((found - expected).abs() <= 1.0 && expected > 5.0, "{t} s: {found}, not {expected}");
    }
}

/// RFC 9438 section 4.2: "The elapsed time _t_ in Figure 1 MUST NOT include periods during which _cwnd_ has not been
/// updated due to application-limited behavior"
#[test]
fn time_without_data_does_not_count() {
    let mut busy = after_loss();
    let mut paused = after_loss();
    ack(&mut *busy, 0.0, true);
    ack(&mut *paused, 0.0, true);
    for tenths in 1..=100 {
        ack(&mut *paused, f64::from(tenths) / 10.0, false);
    }
    for n in 1..=50 {
        ack(&mut *busy, 0.02 * f64::from(n), true);
        ack(&mut *paused, 10.0 + 0.02 * f64::from(n), true);
        assert!((bytes(&*busy) - bytes(&*paused)).abs() <= 1.0, "{n}");
    }
}

/// RFC 9438 section 4.6: "the sender MUST reduce _cwnd_ and _ssthresh_ immediately upon entering loss recovery"
#[test]
fn a_loss_reduces_at_once() {
    let cc = after_loss();
    assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(70 * MSS), Bytes(70 * MSS)));
}

/// RFC 9438 section 4.6: "Implementations that use _cwnd_ MUST use other measures to prevent _cwnd_ from growing when the
/// volume of bytes in flight is smaller than _cwnd_."
#[test]
fn a_window_that_is_not_full_does_not_grow() {
    for mut cc in [cubic(10), after_loss()] {
        let before = cc.window().cwnd;
        for n in 0..100 {
            ack(&mut *cc, f64::from(n), false);
        }
        assert_eq!(cc.window().cwnd, before);
    }
}

/// RFC 9438 section 4.10: "When _cwnd_ is no more than _ssthresh_, CUBIC MUST employ a slow start algorithm."
#[test]
fn slow_start_below_the_threshold() {
    let mut cc = cubic(10);
    for segments in 11..=40 {
        ack(&mut *cc, 0.0, true);
        assert_eq!(cc.window().cwnd, Bytes(segments * MSS));
    }
    // After a timeout too, up to the threshold of 0.7 * 40 segments.
    let loss = Loss { flight: Bytes(40 * MSS), cwnd_limited: true, first_timeout: true, ..Loss::default() };
    cc.on_rto(&loss, Paths::ALONE);
    assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(MSS), Bytes(28 * MSS)));
    for segments in 2..=28 {
        ack(&mut *cc, 1.0, true);
        assert_eq!(cc.window().cwnd, Bytes(segments * MSS));
    }
    ack(&mut *cc, 1.0, true);
    assert!(cc.window().cwnd < Bytes(29 * MSS), "congestion avoidance");
}
