//! BBR: numbers worked out by hand, state by state.

// Gains are constants, and samples come out of the filter as they went in.
#![allow(clippy::float_cmp)]

use super::*;
use crate::testing::{ack, close, loss, setup_with};
use crate::{Growth, RateSample};

const MSS: u64 = 1448;

fn bbr() -> Bbr {
    let mut bbr =
        Bbr::new(&setup_with(MSS, 10 * MSS, u64::MAX, Growth { slow_start_limit: 1, byte_counting: true }));
    bbr.on_established(SimTime::ZERO, Some(Nanos::from_millis(600)));
    bbr
}

/// The path of the vector: 250000 B/s, 0.6 s, after `rounds` rounds of one sample each.
struct Path {
    bbr: Bbr,
    now: SimTime,
    total: u64,
}

impl Path {
    fn new() -> Self {
        Self { bbr: bbr(), now: SimTime::ZERO, total: 0 }
    }

    /// A round of 0.6 s in which `rate` bytes per second arrive; `pipe` bytes are out after it.
    fn round(&mut self, rate: u64, pipe: u64) {
        self.now += Nanos::from_millis(600);
        let delivered = rate * 6 / 10;
        let before = self.total;
        self.total += delivered;
        let sample = RateSample {
            delivered: Bytes(delivered),
            interval: Nanos::from_millis(600),
            before: Bytes(before),
            total: Bytes(self.total),
            app_limited: false,
        };
        let ack = Ack {
            now: self.now,
            rtt: Some(Nanos::from_millis(600 + pipe / 1_000_000)),
            pipe: Bytes(pipe),
            rate: Some(sample),
            ..ack(delivered)
        };
        self.bbr.on_ack(&ack, Paths::ALONE);
    }

    /// In PROBE_BW, with the gain of 1.
    fn cruising() -> Self {
        let mut path = Self::new();
        (0..12).for_each(|_| path.round(250_000, 100_000));
        while path.bbr.pacing_gain() != 1.0 {
            path.round(250_000, 300_000);
        }
        path
    }
}

#[test]
fn bbr_1_product_window_and_pacing() {
    let mut bbr = bbr();
    bbr.bw.update(1, 250_000.0);
    close(bbr.bw.get() * bbr.min_rtt.unwrap().0.as_secs_f64(), 150_000.0, 1e-12);
    close(bbr.product(1.0) / 1448.0, 104.0, 0.0);
    close(bbr.product(WINDOW_GAIN) / 1448.0, 208.0, 0.0);
    (0..4).for_each(|_| bbr.pipe.judge(250_000.0));
    assert!(bbr.pipe.is_full());
    let cycle = |phase| Mode::ProbeBw { phase, since: SimTime::ZERO };
    for (mode, rate) in
        [(Mode::Startup, 714_037.5), (Mode::Drain, 85_788.56), (cycle(0), 309_375.0), (cycle(1), 185_625.0)]
    {
        bbr.mode = mode;
        bbr.set_pacing_rate();
        close(bbr.pacing_rate, rate, 1e-7);
    }
    assert_eq!(bbr.pacing_rate(), Some(BitsPerSecond(1_485_000)));
    // 208 and three quanta are 211; 212 is even.
    bbr.mode = cycle(4);
    close(bbr.target(WINDOW_GAIN) / 1448.0, 212.0, 0.0);
    bbr.mode = cycle(0);
    close(bbr.target(WINDOW_GAIN) / 1448.0, 214.0, 0.0);
}

#[test]
fn it_starts_with_the_initial_window_per_round_trip() {
    close(bbr().pacing_rate, 2.885 * 14_480.0 / 0.6, 1e-12);
    let unsampled =
        Bbr::new(&setup_with(MSS, 10 * MSS, u64::MAX, Growth { slow_start_limit: 1, byte_counting: true }));
    close(unsampled.pacing_rate, 2.885 * 14_480.0 / 0.001, 1e-12);
}

#[test]
fn startup_lasts_while_the_rate_grows_by_a_quarter_in_three_rounds() {
    let mut path = Path::new();
    for rate in [30_000, 80_000, 200_000, 240_000, 245_000] {
        path.round(rate, 300_000);
        assert_eq!(path.bbr.mode, Mode::Startup);
    }
    path.round(249_000, 300_000);
    assert_eq!(path.bbr.mode, Mode::Drain, "200000, then three times less than 250000");
    path.round(250_000, 200_000);
    assert_eq!(path.bbr.mode, Mode::Drain, "still a queue");
    path.round(250_000, 150_000);
    assert!(matches!(path.bbr.mode, Mode::ProbeBw { phase, .. } if phase != 1));
    close(path.bbr.target(2.0), path.bbr.cwnd, 0.0);
}

#[test]
fn the_cycle_turns_every_round_trip() {
    let mut path = Path::cruising();
    let mut gains = Vec::new();
    for _ in 0..16 {
        // Enough to end the phase of 1.25, and not so little that the next one ends at once.
        path.round(250_000, 200_000);
        path.now += Nanos(1);
        gains.push(path.bbr.pacing_gain());
    }
    let count = |gain| gains.iter().filter(|g| **g == gain).count();
    assert_eq!((count(1.25), count(0.75), count(1.0)), (2, 2, 12), "{gains:?}");
}

#[test]
fn rates_of_a_sender_short_of_data_count_only_if_larger() {
    let mut bbr = bbr();
    let sample = |rate, before, app_limited| Ack {
        rate: Some(RateSample {
            delivered: Bytes(rate),
            interval: Nanos::from_secs(1),
            before: Bytes(before),
            total: Bytes(before + rate),
            app_limited,
        }),
        ..ack(rate)
    };
    bbr.on_ack(&sample(100_000, 0, false), Paths::ALONE);
    for n in 1..=30 {
        bbr.on_ack(&sample(50_000, n * 100_000, true), Paths::ALONE);
        close(bbr.bw.get(), 100_000.0, 0.0);
    }
    bbr.on_ack(&sample(120_000, 3_500_000, true), Paths::ALONE);
    close(bbr.bw.get(), 120_000.0, 0.0);
    assert!(!bbr.pipe.is_full(), "a lack of data does not show that the pipe is full");
}

#[test]
fn after_ten_seconds_four_segments_look_for_a_shorter_round_trip() {
    let mut path = Path::cruising();
    let window = path.bbr.cwnd;
    // A queue of a second hides the shortest round trip.
    let mut rounds = 0;
    while !matches!(path.bbr.mode, Mode::ProbeRtt { .. }) {
        path.round(250_000, 250_000_000);
        rounds += 1;
    }
    assert!((16..=18).contains(&rounds), "{rounds} of 0.6 s");
    assert_eq!(path.bbr.window().cwnd, Bytes(4 * MSS));
    path.round(10_000, 4 * MSS);
    assert!(matches!(path.bbr.mode, Mode::ProbeRtt { until: Some(_), .. }), "now it is empty");
    path.round(10_000, 4 * MSS);
    assert!(matches!(path.bbr.mode, Mode::ProbeBw { .. }), "200 ms and a round are over");
    close(path.bbr.cwnd, window, 0.05);
    close(path.bbr.bw.get(), 250_000.0, 1e-12);
}

#[test]
fn a_loss_episode_conserves_and_restores() {
    let mut path = Path::cruising();
    let window = path.bbr.window().cwnd;
    path.bbr.on_loss(&loss(window.0), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, window, "until the ACK at hand has been counted");
    let now = path.now;
    let one = |pipe, lost| Ack { now, pipe: Bytes(pipe), lost: Bytes(lost), ..ack(MSS) };
    path.bbr.on_ack(&one(100_000, 0), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, Bytes(100_000 + MSS));
    path.bbr.on_ack(&one(99_000, 0), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, Bytes(100_000 + MSS));
    path.bbr.on_ack(&one(90_000, 5000), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, Bytes(95_000 + MSS), "what was lost in the meantime comes off");
    path.bbr.on_exit_recovery(now);
    assert_eq!(path.bbr.window().cwnd, window);
    path.bbr.on_rto(&loss(100_000), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, Bytes(MSS));
    path.bbr.on_ack(&one(0, 5000), Paths::ALONE);
    assert_eq!(path.bbr.window().cwnd, Bytes(4 * MSS));
    path.bbr.on_ack(&Ack { delivered: Bytes(1 << 20), ..one(0, 5000) }, Paths::ALONE);
    close(path.bbr.cwnd, path.bbr.target(2.0), 0.0);
}
