//! Transfers whose duration can be computed by hand.

use testkit::{Duo, Wire, setups};
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
    config.initial_window = 2;
    let (client, server) = setups::tcp_pair(&config, "newreno");
    let mut duo = Duo::new(client, server, instant_wire(), Bytes(127_080));
    assert!(duo.run(SimTime::from_secs(60)));
    assert_eq!(duo.delivered_at, SimTime::ZERO + RTT * 13 / 2);
    assert_eq!(duo.data_segments, [88]);
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
    let ack = rate.time_to_send(Bytes(40));
    let data = rate.time_to_send(Bytes(1500));
    // The third ACK rides on the data.
    let _ = ack;
    assert_eq!(duo.delivered_at, SimTime::ZERO + RTT * 3 / 2 + syn * 2 + data);
}
