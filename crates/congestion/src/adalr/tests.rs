//! TCP-ADaLR: numbers worked out by hand from its formulas.

use super::*;
use crate::Growth;
use crate::newreno::NewReno;
use crate::testing::{ack, close, loss, setup_with};

const MSS: f64 = 1460.0;
const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

fn config() -> AdalrConfig {
    AdalrConfig::from_options(&Options::defaults(OPTIONS))
}

fn adalr(window: u64, config: AdalrConfig) -> Adalr {
    Adalr::new(&setup_with(1460, window, 65_535, PER_ACK), config)
}

/// An ACK of one segment with this round-trip sample and flight; 65,535 bytes are advertised.
fn at(rtt_ms: u64, flight: u64) -> Ack {
    let rtt = Nanos::from_millis(rtt_ms);
    let (flight, rwnd) = (Bytes(flight), Bytes(65_535));
    Ack { rtt: Some(rtt), srtt: rtt, flight, rwnd, snd_una: 1460, snd_nxt: 1460 + flight.0, ..ack(1460) }
}

#[test]
fn ad_1_rho_quanta_and_window() {
    for (ms, rho) in [(10, 1.0), (250, 15.0), (500, 30.0), (600, 36.0), (1200, 60.0)] {
        let mut cc = adalr(2920, config());
        cc.on_ack(&at(ms, 2920), Paths::ALONE);
        close(cc.rho, rho, 1e-12);
    }
    for (rho, slow_start, avoidance, gain) in [
        (15.0, 1_413.638_921, 2_827.277_843, 5475.0),
        (30.0, 1_999.187_335, 3_998.374_670, 10_950.0),
        (36.0, 2190.0, 4380.0, 13_140.0),
        (60.0, 2_827.277_843, 5_654.555_685, 21_900.0),
    ] {
        let mut cc = adalr(2920, config());
        cc.on_ack(&at((rho / 0.06_f64).round() as u64, 2920), Paths::ALONE);
        close(cc.window.cwnd, 2920.0 + slow_start, 1e-9);
        close(cc.avoidance_quantum() * MSS, avoidance, 1e-9);
        close(cc.effective, 65_535.0 + gain, 1e-9);
        assert_eq!(cc.beyond_window(), Bytes(gain as u64));
    }
}

#[test]
fn ad_2_sub_phases() {
    for (cwnd, flight, expected) in [
        (8000.0, 8000.0, Some(1)),
        (20_000.0, 10_000.0, Some(2)),
        (20_000.0, 20_000.0, Some(3)),
        (40_000.0, 20_000.0, Some(4)),
        (40_000.0, 10_000.0, None),
        (10_000.0, 17_000.0, None),
        (50_000.0, 50_000.0, None),
    ] {
        assert_eq!(sub_phase(cwnd, flight, 65_536.0, 65_535.0), expected, "{cwnd} {flight}");
    }
}

#[test]
fn ad_3_deflation() {
    let cc = adalr(8760, config());
    close(cc.deflated(8760.0, 2920.0), 8760.0, 0.0);
    close(cc.deflated(8760.0, 10_220.0), 2920.0, 0.0);
    let partial = |acked| RecoveryAck { acked: Bytes(acked), full: false, inflated: true };
    assert_eq!(cc.recovery_window(Bytes(8760), partial(2920)), Some(Bytes(8760)));
    let over_sack = RecoveryAck { inflated: false, ..partial(2920) };
    assert_eq!(cc.recovery_window(Bytes(8760), over_sack), None);
    let full = RecoveryAck { full: true, ..partial(10_220) };
    assert_eq!(cc.recovery_window(Bytes(8760), full), None);
    let literal = adalr(8760, AdalrConfig { deflation: Deflation::FullAck, ..config() });
    assert_eq!(literal.recovery_window(Bytes(8760), full), Some(Bytes(2920)));
    assert_eq!(literal.recovery_window(Bytes(8760), partial(2920)), None);
    let off = adalr(8760, AdalrConfig { deflation: Deflation::Off, ..config() });
    assert_eq!(off.recovery_window(Bytes(8760), full), None);
}

#[test]
fn avoidance_adds_its_quantum_per_round_trip_or_per_ack_while_the_flight_is_small() {
    let growth = |config, flight| {
        let mut cc = adalr(73_000, config);
        cc.on_ack(&at(600, flight), Paths::ALONE);
        cc.window.cwnd - 73_000.0
    };
    close(growth(config(), 30_000), 4380.0 * 1460.0 / 73_000.0, 1e-9);
    let mode = |avoidance| AdalrConfig { avoidance, ..config() };
    close(growth(mode(Avoidance::EachAck), 30_000), 4380.0, 1e-9);
    for (avoidance, counted) in [(Avoidance::RoundTrip, 2920.0), (Avoidance::AsBase, 1460.0)] {
        let mut cc = adalr(73_000, mode(avoidance));
        cc.on_ack(&Ack { acked: Bytes(2920), ..at(600, 30_000) }, Paths::ALONE);
        close(cc.window.cwnd - 73_000.0, 4380.0 * counted / 73_000.0, 1e-9);
    }
    close(growth(config(), 40_000), 1460.0 * 1460.0 / 73_000.0, 1e-9);
    let mut cc = adalr(73_000, config());
    cc.on_exit_recovery(SimTime::ZERO);
    cc.on_ack(&Ack { now: SimTime::from_millis(599), ..at(600, 30_000) }, Paths::ALONE);
    close(cc.window.cwnd - 73_000.0, 29.2, 1e-9);
    cc.on_ack(&Ack { now: SimTime::from_millis(600), ..at(600, 30_000) }, Paths::ALONE);
    assert!(cc.window.cwnd > 73_100.0, "a round trip has passed");
}

/// A clock of half a second reads 0.563 s as 1 s.
#[test]
fn rho_can_be_that_of_a_coarse_clock() {
    let coarse = AdalrConfig { rtt_granularity: Nanos::from_millis(500), ..config() };
    for (ms, rho) in [(10, 30.0), (500, 30.0), (501, 60.0), (563, 60.0), (1200, 60.0)] {
        let mut cc = adalr(2920, coarse);
        cc.on_ack(&at(ms, 2920), Paths::ALONE);
        close(cc.rho, rho, 1e-12);
    }
}

#[test]
fn the_floor_of_slow_start_is_an_option() {
    let growth = |config| {
        let mut cc = adalr(2920, config);
        cc.on_ack(&at(250, 2920), Paths::ALONE);
        cc.window.cwnd - 2920.0
    };
    close(growth(config()), 1_413.638_921, 1e-9);
    close(growth(AdalrConfig { floor_one: true, ..config() }), 1460.0, 0.0);
}

#[test]
fn slow_start_is_that_of_the_base_after_a_loss_and_outside_the_sub_phases() {
    let growth = |cc: &mut Adalr, ack: &Ack| {
        let before = cc.window.cwnd;
        cc.on_ack(ack, Paths::ALONE);
        cc.window.cwnd - before
    };
    close(growth(&mut adalr(40_000, config()), &at(600, 20_000)), 2190.0, 1e-9);
    close(growth(&mut adalr(40_000, config()), &at(600, 10_000)), 1460.0, 0.0);
    let mut cc = adalr(40_000, config());
    cc.on_rto(&loss(40_000), Paths::ALONE);
    close(growth(&mut cc, &at(600, 1000)), 1460.0, 0.0);
}

#[test]
fn a_loss_is_forgotten_after_a_window_without_one_unless_it_is_latched() {
    for latch in [false, true] {
        let mut cc = adalr(14_600, AdalrConfig { loss_latch: latch, ..config() });
        let ack = |una, nxt| Ack { snd_una: una, snd_nxt: nxt, ..at(600, nxt - una) };
        cc.on_ack(&ack(1, 14_601), Paths::ALONE);
        assert_eq!(cc.beyond_window(), Bytes(13_140));
        cc.on_loss(&Loss { snd_nxt: 20_000, ..loss(14_600) }, Paths::ALONE);
        cc.on_recovery_ack(&ack(10_000, 20_000));
        assert_eq!(cc.beyond_window(), Bytes(1460), "one segment in fast recovery");
        cc.on_exit_recovery(SimTime::ZERO);
        cc.on_ack(&ack(20_001, 27_000), Paths::ALONE);
        assert_eq!(cc.beyond_window(), Bytes(0));
        cc.on_ack(&ack(26_999, 34_000), Paths::ALONE);
        assert_eq!(cc.beyond_window(), Bytes(0));
        cc.on_ack(&ack(27_000, 34_000), Paths::ALONE);
        assert_eq!(cc.beyond_window(), Bytes(if latch { 0 } else { 13_140 }));
    }
}

#[test]
fn with_more_in_flight_than_advertised_the_window_stays() {
    let mut cc = adalr(100_000, config());
    cc.on_ack(&at(600, 65_535), Paths::ALONE);
    assert_eq!(cc.beyond_window(), Bytes(13_140));
    cc.on_ack(&at(500, 70_000), Paths::ALONE);
    assert_eq!(cc.beyond_window(), Bytes(13_140));
    cc.on_ack(&at(100, 70_000), Paths::ALONE);
    assert_eq!(cc.beyond_window(), Bytes(0), "a short path is left alone");
}

#[test]
fn the_margin_of_the_timer_is_for_timeouts_or_for_all() {
    let margins = |config| {
        let timer = |after_timeout, acks_are_delayed| RtoTimer { after_timeout, acks_are_delayed };
        let cases = [timer(false, false), timer(true, false), timer(false, true), timer(true, true)];
        cases.map(|timer| adalr(2920, config).rto_margin(timer).0 / 1_000_000)
    };
    assert_eq!(margins(config()), [0, 0, 0, 200]);
    assert_eq!(margins(AdalrConfig { rto_margin_always: true, ..config() }), [0, 0, 200, 200]);
    assert_eq!(margins(AdalrConfig { rto_margin_any_receiver: true, ..config() }), [0, 200, 0, 200]);
}

#[test]
fn on_a_short_path_it_is_newreno() {
    let mut cc = adalr(2920, config());
    let mut reno = NewReno::new(&setup_with(1460, 2920, 65_535, PER_ACK));
    let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
    for one in both {
        (0..100).for_each(|_| one.on_ack(&at(249, 2920), Paths::ALONE));
        one.on_loss(&loss(40_000), Paths::ALONE);
        if let Some(hooks) = one.recovery_hooks() {
            hooks.on_exit_recovery(SimTime::ZERO);
        }
        (0..100).for_each(|_| one.on_ack(&at(100, 2920), Paths::ALONE));
        one.on_rto(&loss(30_000), Paths::ALONE);
    }
    assert_eq!(format!("{:?}", cc.window), format!("{:?}", reno.window));
}

/// Choice D-14: the other reading adds to its own sum, up to the largest window of TCP.
#[test]
fn a_running_base_grows_with_each_ack() {
    let mut cc = adalr(14_600, AdalrConfig { running_base: true, ..config() });
    for n in 1..=3 {
        cc.on_ack(&at(600, 14_600), Paths::ALONE);
        assert_eq!(cc.beyond_window(), Bytes(13_140 * n));
    }
    (0..100_000).for_each(|_| cc.on_ack(&at(600, 14_600), Paths::ALONE));
    assert!(cc.beyond_window() <= Bytes((1 << 30) + 13_140), "{}", cc.beyond_window());
}

/// Choice D-17: with more in flight than rwnd the rule is suspended, or not; as printed it is suspended at ssthresh, too.
#[test]
fn the_guard_of_the_window_is_an_option() {
    let beyond = |guard, window, flight| {
        let mut cc = adalr(window, AdalrConfig { guard, ..config() });
        let ack = Ack { cwnd_limited: false, ..at(600, flight) };
        cc.on_ack(&ack, Paths::ALONE);
        cc.beyond_window().0
    };
    for (guard, calm, crowded, at_threshold) in [
        (Guard::Flight, 13_140, 0, 13_140),
        (Guard::Off, 13_140, 13_140, 13_140),
        (Guard::Literal, 13_140, 0, 0),
    ] {
        let found =
            (beyond(guard, 40_000, 40_000), beyond(guard, 40_000, 70_000), beyond(guard, 65_535, 40_000));
        assert_eq!(found, (calm, crowded, at_threshold), "{guard:?}");
    }
}

/// Choice D-19: the flight is that after the ACK or before it, and how long the pause after recovery lasts.
#[test]
fn the_flight_and_the_pause_after_recovery_are_options() {
    let growth = |config, flight_before, acks: u64| {
        let mut cc = adalr(73_000, config);
        cc.on_exit_recovery(SimTime::ZERO);
        let mut before = 0.0;
        for n in 0..acks {
            before = cc.window.cwnd;
            let now = SimTime::from_millis(1 + n);
            cc.on_ack(&Ack { now, flight_before: Bytes(flight_before), ..at(600, 32_000) }, Paths::ALONE);
        }
        (cc.window.cwnd - before) > 50.0
    };
    let pause = |after_recovery| AdalrConfig { after_recovery, ..config() };
    assert!(growth(pause(Pause::Nothing), 32_000, 1));
    assert!(!growth(pause(Pause::OneAck), 32_000, 1) && growth(pause(Pause::OneAck), 32_000, 2));
    assert!(!growth(pause(Pause::RoundTrip), 32_000, 100));
    // 32,000 is less than half of 65,535; the flight before was not.
    let before = AdalrConfig { flight_before: true, ..pause(Pause::Nothing) };
    assert!(growth(pause(Pause::Nothing), 33_460, 1) && !growth(before, 33_460, 1));
}
