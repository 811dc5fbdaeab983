//! Transfers whose duration can be computed by hand.

use testkit::{Duo, Fault, Way, Wire, setups};
use transport::config::{RecoveryKind, TcpConfig};
use units::{Bytes, Nanos, SimTime};

const RTT: Nanos = Nanos::from_millis(500);

fn instant_wire() -> Vec<Wire> {
    vec![Wire { delay: RTT / 2, rate: None }]
}

/// Vector CF-1: 88 segments, initial window 2, an ACK per segment: the last byte arrives 6.5 RTT after the SYN at
/// the server, so its ACK is back after 7.
#[test]
fn cf_1_slow_start() {
    let mut config = setups::tcp();
    config.window.initial_window = 2;
    let (client, server) = setups::tcp_pair(&config, "newreno");
    let mut duo = Duo::new(client, server, instant_wire(), Bytes(127_080));
    assert!(duo.run(SimTime::from_secs(60)));
    assert_eq!(duo.seen.delivered_at, SimTime::ZERO + RTT * 13 / 2);
    assert_eq!(duo.seen.data_segments, [88]);
}

/// Serialisation and propagation of one segment, to the nanosecond, after a handshake of one round trip.
#[test]
fn one_segment() {
    let (client, server) = setups::tcp_pair(&setups::tcp(), "newreno");
    let rate: units::BitsPerSecond = "1Mbit/s".parse().unwrap();
    let wire = vec![Wire { delay: RTT / 2, rate: Some(rate) }];
    let mut duo = Duo::new(client, server, wire, Bytes(1460));
    assert!(duo.run(SimTime::from_secs(60)));
    let syn = rate.time_to_send(Bytes(40 + 4 + 4 + 4));
    // The third ACK rides on the data.
    let data = rate.time_to_send(Bytes(1500));
    assert_eq!(duo.seen.delivered_at, SimTime::ZERO + RTT * 3 / 2 + syn * 2 + data);
}

/// Vector CF-2 (choice D-72): a page of 8 segments in rounds of 2, 4, 2 is acknowledged at 4 RTT, then 80 segments
/// in rounds of 10, 20, 40, 10 at 8 RTT: 4.3 s at an RTT of 0.54 s.
#[test]
fn cf_2_page_and_objects() {
    let mut config = setups::tcp();
    config.window.initial_window = 2;
    let rtt = Nanos::from_millis(540);
    let (client, server) = setups::tcp_pair(&config, "newreno");
    let wires = vec![Wire { delay: rtt / 2, rate: None }];
    let page = Bytes(8 * 1460);
    let mut duo = Duo::new(client, server, wires, Bytes(88 * 1460)).with_page(page);
    duo.run(SimTime::ZERO + (rtt * 4).saturating_sub(Nanos(1)));
    assert_eq!((duo.seen.delivered_at, duo.server.delivered()), (SimTime::ZERO + rtt * 7 / 2, page));
    for (rounds, segments) in [(4, 18), (5, 38), (6, 78), (7, 88)] {
        duo.resume(SimTime::ZERO + rtt * rounds + rtt / 2);
        assert_eq!(duo.server.delivered(), Bytes(segments * 1460), "after {rounds} rounds");
    }
    assert_eq!(duo.seen.delivered_at, SimTime::ZERO + rtt * 15 / 2);
    duo.resume(SimTime::ZERO + rtt * 8);
    assert_eq!((duo.client.acked(), rtt * 8), (Bytes(88 * 1460), Nanos::from_millis(4320)));
}

/// Window limit: 65,535 bytes per 0.5 s are 1048.56 kbit/s. The MSS divides the window, so that none of it idles.
#[test]
fn one_window_per_round_trip() {
    let mut config = setups::tcp();
    config.segment.mss = Bytes(1285);
    config.options.window_scaling = false;
    let (client, server) = setups::tcp_pair(&config, "cubic");
    let mut duo = Duo::new(client, server, instant_wire(), Bytes(100_000_000));
    duo.run(SimTime::from_secs(20));
    let before = duo.server.delivered();
    duo.resume(SimTime::from_secs(120));
    let rate = (duo.server.delivered() - before).as_f64() * 8.0 / 100.0;
    assert!((rate - 1_048_560.0).abs() < 1e-6, "{rate}");
}

/// Mean goodput in bit/s over `seeds` runs of `seconds` after a warm-up, each data segment lost with `ppm` / 1e6.
fn goodput(config: &TcpConfig, control: &str, rtt: Nanos, ppm: u32, seeds: u64, seconds: u64) -> f64 {
    let warm_up = 100;
    let one = |seed| {
        let (client, server) = setups::tcp_pair(config, control);
        let faults = vec![Fault::Erase { wire: 0, way: Way::Up, ppm }];
        let wires = vec![Wire { delay: rtt / 2, rate: None }];
        let mut duo = Duo::new(client, server, wires, Bytes(u64::MAX / 2)).with_faults(faults, seed);
        duo.run(SimTime::from_secs(warm_up));
        let before = duo.server.delivered();
        for at in (0..=seconds).step_by(50) {
            duo.resume(SimTime::from_secs(warm_up + at));
        }
        (duo.server.delivered() - before).as_f64() * 8.0 / seconds as f64
    };
    (1..=seeds).map(one).sum::<f64>() / seeds as f64
}

fn lossy(recovery: RecoveryKind) -> TcpConfig {
    setups::tcp().with(|c| {
        c.segment.mss = Bytes(1448);
        c.recovery.kind = recovery;
        c.options.sack = recovery != RecoveryKind::NewReno;
    })
}

/// Square-root law, bit/s: MSS / RTT * sqrt(1.5 / p).
fn square_root(rtt: Nanos, ppm: u32) -> f64 {
    1448.0 * 8.0 / rtt.as_secs_f64() * (1.5e6 / f64::from(ppm)).sqrt()
}

/// RFC 9438 equation 6, bit/s: windows of (C (3 + beta) / (4 (1 - beta)))^(1/4) * (RTT / p)^(3/4) segments.
fn cubic_response(rtt: Nanos, ppm: u32) -> f64 {
    let ratio = rtt.as_secs_f64() * 1e6 / f64::from(ppm);
    let window = (0.4f64 * 3.7 / 1.2).sqrt().sqrt() * ratio.sqrt() * ratio.sqrt().sqrt();
    1448.0 * 8.0 / rtt.as_secs_f64() * window
}

/// The law is for losses at equal distances. Independent ones raise the mean window by 7 % (1.31 / sqrt(p)); what
/// timeouts, recovery without growth and slow start cost grows with p: at 1 % several losses share a window of 12
/// segments, at 0.1 % they rarely do.
#[test]
fn square_root_law() {
    assert!((square_root(RTT, 10_000) - 0.284e6).abs() < 0.0005e6);
    for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack] {
        for (rtt, ppm, bounds) in [
            (RTT, 10_000, 0.86..1.0),
            (RTT, 1_000, 0.94..1.08),
            (RTT / 5, 10_000, 0.90..1.04),
            (RTT / 5, 1_000, 0.96..1.08),
        ] {
            let share = goodput(&lossy(recovery), "newreno", rtt, ppm, 5, 600) / square_root(rtt, ppm);
            assert!(bounds.contains(&share), "{recovery:?}, RTT {rtt}, {ppm} ppm: {share} of the law");
        }
    }
}

/// CUBIC follows its response function where that is above Reno's, and is as fast as Reno elsewhere: somewhat
/// faster, because its additive increase is Reno's again above the last maximum (RFC 9438 section 4.3).
#[test]
fn cubic_response_function() {
    assert!((cubic_response(RTT, 10_000) - 0.459e6).abs() < 0.0005e6);
    for (rtt, ppm, bounds) in [
        (RTT, 10_000, 0.95..1.15),
        (RTT, 1_000, 0.97..1.17),
        (RTT / 5, 10_000, 0.97..1.15),
        (RTT / 5, 1_000, 1.05..1.27),
    ] {
        let law = cubic_response(rtt, ppm).max(square_root(rtt, ppm));
        let share = goodput(&lossy(RecoveryKind::Rack), "cubic", rtt, ppm, 5, 600) / law;
        assert!(bounds.contains(&share), "RTT {rtt}, {ppm} ppm: {share} of the law");
    }
}
