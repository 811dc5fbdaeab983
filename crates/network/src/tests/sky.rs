//! Worlds under satellites: what the geometry says is what hosts see.

use std::collections::BTreeSet;
use std::sync::Arc;

use orbits::{
    BentPipe, Choice, Constellation, Degrees, GroundStation, Kilometres, Pattern, Place, Service, Shell,
    Sight, Walker,
};
use units::{Nanos, SimTime};

use super::{ALL, NOTHING, checked, datagrams, lines, one_path, run, travels};

const GOTHENBURG: &str = "terminal_lat = 57.7, terminal_lon = 12";

/// A station that never moves is a number.
#[test]
fn a_geostationary_satellite_is_a_plain_delay() {
    let text = one_path("", "", "", "");
    let geo = format!(
        "delay = {{ kind = \"geo\", satellite_lon = 22, {GOTHENBURG}, gateway_lat = 57.7, gateway_lon = 32 }}"
    );
    let sky = run(&text.replace("delay = \"100ms\"", &geo), 1, NOTHING);
    // Twice 130.7067 ms, the published vector, to the nanosecond.
    let plain = run(&text.replace("\"100ms\"", "\"261413491ns\""), 1, NOTHING);
    assert_eq!(sky.flows, plain.flows);
    assert_eq!(sky.links, plain.links);
    assert_eq!(sky.events, plain.events, "it is not as cheap");
}

fn in_low_orbit(more: &str) -> String {
    let shell =
        "kind = \"walker\", altitude = 550, inclination = 53, planes = 72, per_plane = 22, phasing = 39";
    let delay =
        format!("{{ {shell}, {GOTHENBURG}, gateway_lat = 53.6, gateway_lon = 10, phase = \"12s\"{more} }}");
    one_path("", "", "", "").replace("\"100ms\"", &delay).replace("\"10Mbit/s\"", "\"1Mbit/s\"")
}

/// The same by hand.
fn pipe(outage: Nanos) -> BentPipe {
    let shell = Shell {
        pattern: Pattern::Delta,
        altitude: Kilometres(550.0),
        inclination: Degrees(53.0),
        planes: 72,
        per_plane: 22,
        phasing: 39,
        node: Degrees(0.0),
        anomaly: Degrees(0.0),
    };
    let station = |latitude, longitude| {
        let place =
            Place { latitude: Degrees(latitude), longitude: Degrees(longitude), altitude: Kilometres(0.0) };
        GroundStation::on_sphere(place)
    };
    let service = Service {
        min_elevation: Degrees(25.0),
        slot: Nanos::from_secs(15),
        phase: Nanos::from_secs(12),
        outage,
        choice: Choice::Highest,
        rank: 1,
    };
    let sky = Arc::new(Constellation::Walker(Walker::new(shell)));
    BentPipe::new(sky, [station(57.7, 12.0), station(53.6, 10.0)], service)
}

/// A transfer pauses at the server after each hand-over and at no other time, until a packet that began with the end of
/// the outage has come the new way.
#[test]
fn a_transfer_pauses_at_hand_overs() {
    let outage = Nanos::from_millis(300);
    let text = in_low_orbit(", outage = \"300ms\"").replace("\"20s\"", "\"200s\"").replace("100p", "500p");
    let record = run(&text, 1, ALL);
    let arrivals: Vec<u64> = lines(&record)
        .filter(|words| words[1] == "recv" && words[2] == "server")
        .map(|words| words[0].parse().unwrap())
        .collect();
    let pauses: Vec<u64> = arrivals
        .windows(2)
        .filter(|pair| pair[0] > 3_000_000 && pair[1] - pair[0] > 200_000)
        .map(|pair| pair[1])
        .collect();
    let mut pipe = pipe(outage);
    let hand_overs = (0..13).map(|k| SimTime::from_secs(12 + 15 * k));
    let expected: Vec<u64> = hand_overs
        .filter(|at| matches!(pipe.at(*at), Sight::HandOver { .. }))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|at| {
            // 1500 bytes at 1 Mbit/s.
            let depart = at + outage + Nanos::from_millis(12);
            let Sight::Up { delay, .. } = pipe.at(depart) else { panic!("still out") };
            (depart + delay).0 / 1000
        })
        .collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(pauses, expected);
    assert_eq!(record.links[0].drops_error, 0);
}

/// Jitter on top of an orbit: each packet takes as long as the geometry says, hand-overs included, and a draw more.
#[test]
fn jitter_comes_on_top_of_the_orbit() {
    let jitter = "{ kind = \"uniform\", min = \"0ms\", max = \"5ms\", reorder = false }";
    let orbit = in_low_orbit("").replace("delay = {", "delay = [{");
    let orbit = orbit.replace("\"12s\" }", &format!("\"12s\" }}, {jitter}]"));
    let record = run(&datagrams(&orbit.replace("\"20s\"", "\"200s\"")), 1, ALL);
    let mut pipe = pipe(Nanos::ZERO);
    let (mut draws, mut last, mut steps) = (Vec::new(), None::<f64>, 0);
    for (sent, received) in travels(&record) {
        // 540 bytes at 1 Mbit/s.
        let depart = sent + 4320e-6;
        let Sight::Up { delay, .. } = pipe.at(SimTime((depart * 1e9) as u64)) else { panic!("no outage") };
        let delay = delay.as_secs_f64();
        steps += u64::from(last.is_some_and(|last| (last - delay).abs() > 100e-6));
        last = Some(delay);
        draws.push(received - depart - delay);
    }
    assert!(steps >= 2, "the delay steps at hand-overs: {steps}");
    // Traces have microseconds.
    assert!(draws.iter().all(|draw| (-2e-6..5002e-6).contains(draw)));
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    assert!(n > 19_000.0 && (mean - 2.5e-3).abs() < 4.5 * 5e-3 / (12.0 * n).sqrt(), "{n} {mean}");
}

#[test]
fn packets_are_conserved_under_satellites() {
    checked(&in_low_orbit(", outage = \"300ms\"").replace("\"20s\"", "\"60s\""), 1);
    let lossy = in_low_orbit(", outage = \"300ms\", while_out = \"lose\"").replace("\"20s\"", "\"60s\"");
    let record = checked(&lossy, 1);
    // One hand-over in a minute: 300 ms at 12 ms a packet, and the one that the outage begins in.
    assert!((20..=27).contains(&record.links[0].drops_error), "{}", record.links[0].drops_error);
}

/// A video in each direction of a link with shadows: seconds in which packets of both, of one, are lost.
fn shadowed(directions: &str) -> [usize; 2] {
    let loss = format!(
        "loss = {{ kind = \"lutz\", speed = 50, distance_good = 500, distance_bad = 200, directions = \"{directions}\" }}"
    );
    let flow = |name: &str, from: &str, to: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\napp = \"video\"\ntransport = {{ kind = \"udp\" }}\n"
        )
    };
    let text = format!(
        "name = \"shadow\"\nduration = \"300s\"\n[[path]]\nname = \"sat\"\n\
         both = {{ rate = \"10Mbit/s\", delay = \"5ms\", {loss} }}\n{}{}",
        flow("there", "terminal", "server"),
        flow("back", "server", "terminal")
    );
    let record = checked(&text, 1);
    let lost_on = |link: &str| {
        let lines = lines(&record).filter(|words| words[1] == "drop-error" && words[2] == link);
        lines.map(|words| words[0].parse::<u64>().expect("microseconds") / 1_000_000).collect::<BTreeSet<_>>()
    };
    let (up, down) = (lost_on("sat.up"), lost_on("sat.down"));
    [up.intersection(&down).count(), up.symmetric_difference(&down).count()]
}

#[test]
fn shadows_of_both_directions_come_together_if_asked() {
    let [both, one] = shadowed("together");
    assert!(both > 40 && one < 5, "{both} {one}");
    let [both, one] = shadowed("apart");
    assert!(one > both, "{both} {one}");
}
