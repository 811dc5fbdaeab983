//! Promises of transports for space links, over one path with an RTT of 0.6 s and a queue without end.

use testkit::{Duo, Fault, Way, Wire, setups};
use transport::config::TcpConfig;
use transport::{Connection, NewCongestion};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

const DELAY: Nanos = Nanos::from_millis(300);
/// Payload in 1500 bytes.
const PAYLOAD: f64 = 1460.0 / 1500.0;

fn mbit(rate: f64) -> BitsPerSecond {
    BitsPerSecond((rate * 1e6) as u64)
}

fn paced(config: TcpConfig) -> TcpConfig {
    config.with(|c| c.sending.pacing = true)
}

/// SCPS-TP, STP and TCP with SACK.
fn transports() -> [(&'static str, TcpConfig); 3] {
    [("scps", paced(setups::scps())), ("stp", paced(setups::stp())), ("tcp", setups::tcp())]
}

fn duo(config: &TcpConfig, control: &NewCongestion, link: f64, ppm: u32) -> Duo {
    let (client, server): (Connection, Connection) = setups::tcp_pair_with(config, control);
    let wires = vec![Wire { delay: DELAY, rate: Some(mbit(link)) }];
    let faults = vec![Fault::Erase { wire: 0, way: Way::Up, ppm }];
    Duo::new(client, server, wires, Bytes(u64::MAX / 2)).with_faults(faults, 7)
}

/// Runs to `end` seconds in steps.
fn run(duo: &mut Duo, from: u64, end: u64) {
    for at in from + 1..=end {
        duo.resume(SimTime::from_secs(at));
    }
}

/// Payload bit/s and bytes per second on the return path from 20 s to 80 s, and the timeouts.
fn measure(mut duo: Duo) -> (f64, f64, u64) {
    duo.run(SimTime::from_secs(1));
    run(&mut duo, 1, 20);
    let (delivered, back) = (duo.server.delivered(), duo.seen.wire_bytes[1]);
    run(&mut duo, 20, 80);
    let goodput = (duo.server.delivered() - delivered).as_f64() * 8.0 / 60.0;
    (goodput, (duo.seen.wire_bytes[1] - back) as f64 / 60.0, duo.client.stats(0).timeouts)
}

#[test]
fn each_fills_a_link_without_losses() {
    for (name, config) in transports() {
        for control in ["newreno", "cubic", "vegas"] {
            if (name, control) == ("scps", "vegas") {
                continue; // needs another number of samples: the profile has it
            }
            let (goodput, _, timeouts) = measure(duo(&config, &setups::congestion(control), 2.0, 0));
            let share = goodput / (2e6 * PAYLOAD);
            assert!((0.97..=1.001).contains(&share), "{name} {control}: {share}");
            assert_eq!(timeouts, 0, "{name} {control}");
        }
    }
}

/// Lost data is sent again in its turn: the rate stays, and the goodput is the share that is not lost.
#[test]
fn a_fixed_rate_is_kept_whatever_is_lost() {
    for (name, config) in transports() {
        if name == "tcp" {
            continue;
        }
        for ppm in [0, 10_000, 200_000] {
            let control = setups::fixed_rate(mbit(1.0), Bytes::ZERO);
            let (goodput, _, timeouts) = measure(duo(&config, &control, 2.0, ppm));
            let share = goodput / (1e6 * PAYLOAD * (1.0 - f64::from(ppm) / 1e6));
            assert!((0.97..=1.03).contains(&share), "{name} {ppm} ppm: {share}");
            assert_eq!(timeouts, 0, "{name} {ppm} ppm");
        }
    }
}

/// Losses that mean corruption cost what they cost; where they mean congestion NewReno collapses.
#[test]
fn newreno_collapses_where_a_fixed_rate_does_not() {
    let control = setups::congestion("newreno");
    let (tcp, ..) = measure(duo(&setups::tcp(), &control, 2.0, 20_000));
    assert!(tcp < 0.3e6, "{tcp}");
}

/// The load of the return path follows the polls: five per second at this RTT, whatever the rate of the data is, as
/// long as fewer than 50 segments leave between two polls.
#[test]
fn the_return_path_of_stp_does_not_grow_with_the_rate_of_the_data() {
    let back = |config: &TcpConfig, rate: f64| {
        measure(duo(config, &setups::fixed_rate(mbit(rate), Bytes::ZERO), 4.0, 0)).1
    };
    let [stp, tcp] = [setups::stp(), setups::tcp()].map(|config| [0.5, 2.5].map(|rate| back(&config, rate)));
    // A STAT has 40 + 4 + 8 bytes.
    for load in stp {
        assert!((load - 5.0 * 52.0).abs() < 6.0, "{load} B/s");
    }
    assert!((4.9..5.1).contains(&(tcp[1] / tcp[0])), "an ACK per segment: {tcp:?}");
    assert!(tcp[1] > 30.0 * stp[1], "{tcp:?} {stp:?}");
    // Beyond that an answer for 50 segments.
    let fast = back(&setups::stp(), 4.0);
    assert!((fast - 4e6 / 12_000.0 / 50.0 * 52.0).abs() < 6.0, "{fast} B/s");
}

/// Two acknowledgements per round trip are 3.33 per second.
#[test]
fn scps_acknowledges_twice_per_round_trip() {
    for rate in [0.5, 4.0] {
        let control = setups::fixed_rate(mbit(rate), Bytes::ZERO);
        let (_, back, _) = measure(duo(&setups::scps(), &control, 4.0, 0));
        assert!((back - 40.0 * 2.0 / 0.6).abs() < 4.0, "{rate} Mbit/s: {back} B/s");
    }
}
