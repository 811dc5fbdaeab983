//! Vectors and behaviour of the growth of Linux. The expected numbers are those of the integer arithmetic of
//! net/ipv4/tcp_cubic.c, worked out by hand.

use super::*;
use crate::Growth;
use crate::testing::{ack, close, loss, setup_with};

const MSS: u64 = 1000;
const GROWTH: Growth = Growth { slow_start_limit: u32::MAX, byte_counting: true };
const RTT: Nanos = Nanos::from_millis(100);

/// In avoidance with `cwnd` segments, no loss known.
fn exploring(cwnd: u64) -> Cubic {
    let config =
        CubicConfig { growth: GrowthRule::Linux, hystart: Detection::Linux, ..CubicConfig::default() };
    let mut setup = setup_with(MSS, cwnd * MSS, cwnd * MSS, GROWTH);
    setup.ssthresh_from = crate::SsthreshFrom::Cwnd;
    Cubic::new(&setup, config)
}

/// In avoidance with `cwnd` segments, after a loss at `w_max`.
fn after_loss(cwnd: u64, w_max: f64) -> Cubic {
    let mut cc = exploring(cwnd);
    cc.w_max = w_max;
    cc
}

fn ack_at(ms: u64, segments: u64, rtt: Nanos) -> Ack {
    let flight = Bytes(50 * MSS);
    Ack { now: SimTime::from_millis(ms), rtt: Some(rtt), srtt: rtt, flight, ..ack(segments * MSS) }
}

/// `rounds` round trips of 100 ms in which every segment of the window is acknowledged; the window after each.
fn rounds(cc: &mut Cubic, from_ms: u64, rounds: u64) -> Vec<u64> {
    let mut windows = Vec::new();
    for round in 0..rounds {
        let cwnd = cc.window().cwnd.0 / MSS;
        for i in 0..cwnd {
            cc.on_ack(&ack_at(from_ms + 100 * round + 100 * i / cwnd, 1, RTT), Paths::ALONE);
        }
        windows.push(cc.window().cwnd.0 / MSS);
    }
    windows
}

/// C = 0.4, W_max = 100, 70 segments: K = 4.217 s. One round trip of 100 ms ahead the function is at 100 - floor(27.9) = 73, so
/// that a segment is added for each floor(70 / 3) = 23 acknowledged.
#[test]
fn lcub_1_the_first_acks_of_a_stage() {
    let mut cc = after_loss(70, 100.0);
    for i in 1..=22 {
        cc.on_ack(&ack_at(3000, 1, RTT), Paths::ALONE);
        assert_eq!(cc.window().cwnd.0, 70 * MSS, "{i} acknowledged");
    }
    cc.on_ack(&ack_at(3000, 1, RTT), Paths::ALONE);
    assert_eq!(cc.window().cwnd.0, 71 * MSS);
}

/// With a queue of 400 ms the target stays that of the least round-trip time.
#[test]
fn a_queue_does_not_hasten_growth() {
    let grown = |rtt| {
        let mut cc = after_loss(70, 100.0);
        cc.delay_min = RTT;
        (0..23).for_each(|_| cc.on_ack(&ack_at(3000, 1, rtt), Paths::ALONE));
        cc.window().cwnd.0
    };
    assert_eq!(grown(Nanos::from_millis(500)), grown(RTT));
}

/// Where the function is flat Reno decides: W_est grows by one for each floor(15 * 20 / 8) = 37 acknowledged, which are 0.54 per
/// round trip, even far above the window before the loss.
#[test]
fn lcub_2_the_slope_of_reno_does_not_change_above_the_old_window() {
    let mut cc = after_loss(20, 20.0);
    let windows = rounds(&mut cc, 1000, 10);
    assert_eq!(windows.last(), Some(&25), "{windows:?}");
}

#[test]
fn it_explores_by_a_twentieth_until_the_first_loss() {
    let mut cc = exploring(200);
    assert_eq!(rounds(&mut cc, 1000, 1), [210]);
    cc.on_loss(&loss(200 * MSS), Paths::ALONE);
    assert_eq!(rounds(&mut cc, 2000, 1), [150], "of 147, at 5 % it would be 154");
    cc.on_rto(&loss(150 * MSS), Paths::ALONE);
    cc.window.set(Bytes(200 * MSS));
    assert_eq!(rounds(&mut cc, 3000, 1), [210]);
}

/// W_max = 200, 70 segments: K = 6.875 s. At first the function is at 76 a round trip ahead, 32 ms later at 78.
#[test]
fn the_same_window_keeps_its_count_for_a_32nd_of_a_second() {
    let mut cc = after_loss(70, 200.0);
    let mut count_at = |ms| {
        cc.on_ack(&ack_at(ms, 1, RTT), Paths::ALONE);
        match &cc.avoidance {
            Avoidance::Linux(growth) => growth.cnt(),
            Avoidance::Rfc9438(_) => 0,
        }
    };
    assert_eq!((count_at(3000), count_at(3031), count_at(3032)), (70 / 6, 70 / 6, 70 / 8));
}

/// A loss at 107.5 segments counts 107 and leaves 74, of whole segments.
#[test]
fn windows_are_whole() {
    let mut cc = exploring(107);
    cc.window.cwnd += 500.0;
    cc.on_loss(&loss(107 * MSS), Paths::ALONE);
    close(cc.w_max, 107.0, 1e-12);
    assert_eq!(cc.window().cwnd, Bytes(74 * MSS));
}

/// The ACK that reaches ssthresh gives what it has left to avoidance.
#[test]
fn an_ack_that_passes_ssthresh_is_divided() {
    let mut cc = after_loss(70, 100.0);
    cc.window.set(Bytes(60 * MSS));
    cc.on_ack(&ack_at(3000, 30, RTT), Paths::ALONE);
    assert_eq!(cc.window().cwnd, Bytes(70 * MSS));
    cc.on_ack(&ack_at(3000, 3, RTT), Paths::ALONE);
    assert_eq!(cc.window().cwnd, Bytes(71 * MSS), "20 and 3 are the 23 that a segment takes");
}

/// The time between two ACKs counts whatever limits the sender, but for silence with nothing in flight.
#[test]
fn only_silence_stops_the_clock() {
    let started = |cc: &Cubic| cc.avoidance.begun().unwrap();
    let run = |flight: Bytes, cwnd_limited: bool| {
        let mut cc = after_loss(70, 100.0);
        cc.on_ack(&ack_at(1000, 1, RTT), Paths::ALONE);
        cc.on_ack(&Ack { flight, cwnd_limited, ..ack_at(1500, 1, RTT) }, Paths::ALONE);
        cc.on_ack(&Ack { cwnd_limited, ..ack_at(9000, 1, RTT) }, Paths::ALONE);
        started(&cc)
    };
    let busy = Bytes(MSS);
    assert_eq!(run(busy, true), SimTime::from_millis(1000));
    assert_eq!(run(busy, false), SimTime::from_millis(1000));
    // The last segment left at 1400, the next one at 8900.
    assert_eq!(run(Bytes::ZERO, true), SimTime::from_millis(8500));
    assert_eq!(run(Bytes::ZERO, false), SimTime::from_millis(8500));
}

/// The samples of the first second of a stage do not enter the least round-trip time; those before and after do.
#[test]
fn samples_of_a_young_stage_do_not_count() {
    let mut cc = after_loss(70, 100.0);
    cc.on_ack(&ack_at(1000, 1, RTT), Paths::ALONE);
    cc.on_ack(&ack_at(1999, 1, Nanos::from_millis(50)), Paths::ALONE);
    assert_eq!(cc.delay_min, RTT);
    cc.on_ack(&ack_at(2000, 1, Nanos::from_millis(60)), Paths::ALONE);
    assert_eq!(cc.delay_min, Nanos::from_millis(60));
    cc.on_rto(&loss(70 * MSS), Paths::ALONE);
    assert_eq!(cc.delay_min, INFINITE);
}
