//! Delays of the geometry on a link: saw-teeth, hand-overs where slots are, packets that wait or are lost, wrong options.

use std::sync::Arc;

use engine::Stream;
use registry::{NamedFile, OptionValue};
use units::{BitsPerSecond, QueueLimit};

use super::*;
use crate::queue::DropTail;
use crate::{Arrival, Fate, Faults, Models, Packet, Station, Streams, rate};

type Given<'a> = &'a [(&'static str, &'a str)];

/// Options as a file gives them.
fn options(row: &Algorithm, given: Given<'_>) -> Options {
    let value = |spec: &OptionSpec| {
        let text = given.iter().find(|(name, _)| *name == spec.name).map(|(_, text)| *text).or(spec.default);
        let text = text.unwrap_or_else(|| panic!("{} is compulsory", spec.name));
        let value = match spec.kind {
            OptionKind::File(format) => OptionValue::File(NamedFile::read("sky.tle", text, format).unwrap()),
            kind => kind.parse(text).unwrap(),
        };
        (spec.name, value)
    };
    Options::new(row.options.iter().map(value).collect())
}

fn model(row: &Algorithm, given: Given<'_>) -> Box<dyn DelayModel> {
    let options = options(row, given);
    (row.check)(&options).unwrap();
    (row.build)(&options, Stream::named(1, "link", "delay"))
}

const SHELL: Given<'_> = &[
    ("altitude", "550"),
    ("inclination", "53"),
    ("planes", "72"),
    ("per_plane", "22"),
    ("phasing", "39"),
    ("terminal_lat", "57.7"),
    ("terminal_lon", "12"),
    ("gateway_lat", "53.6"),
    ("gateway_lon", "10"),
    ("phase", "12s"),
];

fn shell_with(more: Given<'static>) -> Box<dyn DelayModel> {
    model(&WALKER, &[more, SHELL].concat())
}

fn pipe(outage: Nanos) -> BentPipe {
    let options = options(&WALKER, SHELL);
    let stations = ENDS.map(|end| GroundStation::on_sphere(place(&options, end)));
    let sky = Arc::new(Constellation::Walker(shell(&options)));
    BentPipe::new(sky, stations, Service { outage, ..service(&options) })
}

/// Offers a packet that takes half of `gap` to send at 10 Mbit/s every `gap` for `seconds`; arrivals and fates.
fn carry(delay: Box<dyn DelayModel>, gap: Nanos, seconds: u64) -> (Vec<(SimTime, u32)>, Vec<Fate>, Station) {
    let named = |purpose| Stream::named(1, "link", purpose);
    let models = Models {
        rate: Box::new(rate::ConstantRate::new(BitsPerSecond(10_000_000))),
        delay,
        queue: Box::new(DropTail::new(QueueLimit::Packets(1_000_000))),
        loss: None,
        shapers: Vec::new(),
        faults: Faults::default(),
    };
    let mut station = Station::new(models, Streams { loss: named("loss"), faults: named("faults") });
    let (mut arrivals, mut fates, mut id) = (Vec::new(), Vec::new(), 0);
    let mut drain = |station: &mut Station, until: SimTime, fates: &mut Vec<Fate>| {
        while station.next_event() <= until && !station.next_event().is_never() {
            let at = station.next_event();
            while let Some(Arrival { id, .. }) = station.take_arrival(at) {
                arrivals.push((at, id));
            }
            let mut new = Vec::new();
            station.swap_fates(&mut new);
            fates.extend(new);
        }
    };
    let size = (gap.0 / 1600) as u32;
    let mut now = SimTime::ZERO;
    while now < SimTime::from_secs(seconds) {
        drain(&mut station, now, &mut fates);
        station.offer(now, Packet { id, size, flow: 0, ect: false, low_priority: false });
        (id, now) = (id + 1, now + gap);
    }
    drain(&mut station, SimTime::from_secs(seconds + 60), &mut fates);
    (arrivals, fates, station)
}

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn gothenburg_by_way_of_a_geostationary_satellite() {
    let places = [
        ("satellite_lon", "12"),
        ("terminal_lat", "57.7"),
        ("terminal_lon", "2"),
        ("gateway_lat", "57.7"),
        ("gateway_lon", "22"),
    ];
    let mut plain = model(&GEO, &places);
    let way = plain.delay(SimTime::ZERO);
    assert!((way.as_secs_f64() * 1e3 - 261.413).abs() < 5e-4);
    assert_eq!(plain.delay(SimTime::from_secs(1000)), way);
    let mut longer = model(&GEO, &[&places[..], &[("extra", "15ms")]].concat());
    assert_eq!(longer.delay(SimTime::ZERO), way + Nanos::from_millis(15));
}

#[test]
fn extra_is_added_to_every_way() {
    let (mut plain, mut longer) = (shell_with(&[]), shell_with(&[("extra", "15ms")]));
    for at in [SimTime::ZERO, SimTime::from_secs(100)] {
        assert_eq!(longer.delay(at), plain.delay(at) + Nanos::from_millis(15));
    }
}

/// Packets arrive exactly when the geometry says; where the delay falls at a hand-over, no packet overtakes another.
#[test]
fn saw_teeth_on_a_link() {
    const GAP: Nanos = Nanos(200_000);
    let (arrivals, fates, _) = carry(shell_with(&[]), GAP, 200);
    assert!(fates.is_empty());
    assert_eq!(arrivals.len(), 1_000_000);
    let mut pipe = pipe(Nanos::ZERO);
    let (mut latest, mut held, mut falls) = (SimTime::ZERO, 0, 0);
    let mut before = None;
    for (i, (at, id)) in arrivals.iter().enumerate() {
        assert_eq!(*id as usize, i);
        let depart = SimTime::ZERO + GAP * i as u64 + GAP / 2;
        let Sight::Up { delay, satellite } = pipe.at(depart) else { panic!("a gap at {depart:?}") };
        if let Some((other, longer)) = before
            && other != satellite
        {
            assert_eq!((depart.0 + 3_000_000_000) % 15_000_000_000, GAP.0 / 2, "a hand-over at {depart:?}");
            falls += u32::from(longer > delay + GAP);
        }
        before = Some((satellite, delay));
        held += u32::from(depart + delay < latest);
        latest = latest.max(depart + delay);
        assert_eq!(*at, latest, "packet {i}");
    }
    // At 27, 117 and 192 s it falls by 0.5 to 0.9 ms.
    assert!(held >= 3 && falls == 3, "{held} packets held in {falls} steps");
}

/// While a hand-over lasts, packets wait in front of the transmitter: none is lost, none departs, the queue grows.
#[test]
fn packets_wait_for_the_end_of_an_outage() {
    let outage = Nanos::from_millis(300);
    let (arrivals, fates, station) = carry(shell_with(&[("outage", "300ms")]), Nanos::from_millis(2), 200);
    assert!(fates.is_empty());
    assert_eq!(arrivals.len(), 100_000);
    let counters = station.counters();
    // 300 ms at a packet each 2 ms wait, and the one that would not have been through in time.
    assert_eq!(counters.queue_max, 150);
    let longest = counters.queue_delay_max;
    assert!(longest >= outage && longest <= outage + MS, "{longest}");
    let mut pipe = pipe(outage);
    let hand_overs: Vec<u64> = (0..13)
        .map(|k| 12_000 + 15_000 * k)
        .filter(|ms| matches!(pipe.at(SimTime::from_millis(*ms)), Sight::HandOver { .. }))
        .collect();
    assert!(hand_overs.len() == 3);
    for ms in hand_overs {
        let Sight::Up { delay, .. } = pipe.at(SimTime::from_millis(ms + 301)) else { panic!("still out") };
        // The first packet after the outage: its last bit leaves 1 ms after the end.
        let first = SimTime::from_millis(ms + 301) + delay;
        assert!(arrivals.iter().any(|(at, _)| *at == first), "nothing arrives at {first:?}");
    }
}

/// The same with packets that are sent into the outage: exactly those are lost whose last bit leaves in it.
#[test]
fn packets_sent_into_an_outage_are_lost() {
    let model = shell_with(&[("outage", "300ms"), ("while_out", "lose")]);
    let (arrivals, fates, station) = carry(model, Nanos::from_millis(2), 200);
    let mut pipe = pipe(Nanos::from_millis(300));
    let departs = |i: u32| SimTime::from_millis(2 * u64::from(i) + 1);
    let lost: Vec<Fate> =
        (0..100_000).filter(|i| !matches!(pipe.at(departs(*i)), Sight::Up { .. })).map(Fate::Lost).collect();
    assert_eq!(lost.len(), 3 * 150);
    assert_eq!(fates, lost);
    assert_eq!(arrivals.len() + lost.len(), 100_000);
    assert_eq!(station.counters().drops_error, lost.len() as u64);
}

/// Where no satellite ever comes, packets wait, or all are lost.
#[test]
fn out_of_reach() {
    const POLE: Given<'_> = &[("terminal_lat", "89"), ("gateway_lat", "89")];
    let (arrivals, fates, station) = carry(shell_with(POLE), Nanos::from_secs(1), 10);
    assert!(arrivals.is_empty() && fates.is_empty());
    assert_eq!(station.queue_length().0, 10);
    let lose = shell_with(&[("terminal_lat", "89"), ("gateway_lat", "89"), ("while_out", "lose")]);
    let (arrivals, fates, _) = carry(lose, Nanos::from_secs(1), 10);
    assert_eq!((arrivals.len(), fates.len()), (0, 10));
}

/// A transmission that is longer than any stretch of service gets through all the same.
#[test]
fn slower_than_the_hand_overs() {
    let mut model = shell_with(&[("outage", "300ms")]);
    let mut at = SimTime::from_secs(1);
    for _ in 0..5 {
        let begin = model.ready(at, at + Nanos::from_secs(100));
        assert!(begin <= at + Nanos::from_secs(30));
        if begin == at {
            return;
        }
        at = begin;
    }
    panic!("it never begins");
}

const ISS: &str = "\
ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
";

#[test]
fn element_sets_on_a_link() {
    let given = [
        ("file", ISS),
        ("epoch", "2008-09-20T12:00:00Z"),
        ("terminal_lat", "0"),
        ("terminal_lon", "0"),
        ("gateway_lat", "1"),
        ("gateway_lon", "1"),
        ("min_elevation", "0"),
        ("slot", "1s"),
    ];
    let mut model = model(&SGP4, &given);
    // One satellite passes within a day; then its delay is between twice its altitude and twice the way to the horizon.
    let mut open = SimTime::ZERO;
    loop {
        let next = model.ready(open, open + Nanos(1_000_000));
        if next == open {
            break;
        }
        open = next;
    }
    assert!(open > SimTime::ZERO && open < SimTime::from_secs(86_400));
    let delay = model.delay(open).as_secs_f64() * 1e3;
    assert!((2.2..15.5).contains(&delay), "{delay} ms");
}

#[test]
fn wrong_options_name_the_cure() {
    let geo: Given<'_> = &[
        ("satellite_lon", "-120"),
        ("terminal_lat", "57.7"),
        ("terminal_lon", "12"),
        ("gateway_lat", "50"),
        ("gateway_lon", "8"),
    ];
    let sets: Given<'_> = &[
        ("epoch", "2008-09-20T12:00:00Z"),
        ("terminal_lat", "0"),
        ("terminal_lon", "0"),
        ("gateway_lat", "1"),
        ("gateway_lon", "1"),
    ];
    let wrong = ISS.replacen("51.6416", "51.6417", 1);
    let cases = [
        (&GEO, geo.to_vec(), "satellite_lon", "below the horizon of the terminal"),
        (&WALKER, [&[("phasing", "72")], SHELL].concat(), "phasing", "there are 72 planes"),
        (
            &WALKER,
            [&[("planes", "1000"), ("per_plane", "101")], SHELL].concat(),
            "per_plane",
            "1000 planes of 101 satellites",
        ),
        (&WALKER, [&[("outage", "15s")], SHELL].concat(), "outage", "slot = \"15s\""),
        (&WALKER, [&[("slot", "10s")], SHELL].concat(), "phase", "found \"12s\""),
        (&WALKER, [&[("slot", "1ms")], SHELL].concat(), "slot", "found \"1ms\""),
        (&SGP4, [&[("file", wrong.as_str())], sets].concat(), "file", "sky.tle:3: checksum"),
        (&SGP4, [&[("file", ISS), ("epoch", "today")], sets].concat(), "epoch", "found \"today\""),
    ];
    for (row, given, option, message) in cases {
        let fault = (row.check)(&options(row, &given)).unwrap_err();
        assert!(fault.option == option && fault.message.contains(message), "{fault:?}");
        assert!(!fault.help.is_empty());
    }
}
