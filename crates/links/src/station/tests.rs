//! Stations: times by hand for each kind of model, the M/D/1 queue, every discipline under random loads.

use proptest::prelude::*;
use registry::{OptionValue, Options};
use units::{BitsPerSecond, QueueLimit, Ratio};

use super::*;
use crate::loss::bernoulli::Bernoulli;
use crate::queue::DropTail;
use crate::{Fifo, Parameters};
use crate::{delay, queue, rate};
use units::Nanos;

const MBIT: u64 = 1_000_000;

fn streams() -> Streams {
    let named = |purpose| Stream::named(1, "link", purpose);
    Streams { loss: named("loss"), faults: named("faults") }
}

fn models(rate: u64, delay_ms: u64, queue: u64) -> Models {
    Models {
        rate: Box::new(rate::ConstantRate::new(BitsPerSecond(rate))),
        delay: Box::new(delay::ConstantDelay(Nanos::from_millis(delay_ms))),
        queue: Box::new(DropTail::new(QueueLimit::Packets(queue))),
        loss: None,
        shapers: Vec::new(),
        faults: Faults::default(),
    }
}

fn ratio(p: f64) -> Ratio {
    Ratio::new(p).unwrap()
}

fn packet(id: u32, size: u32) -> Packet {
    Packet { id, size, flow: 0, ect: false, low_priority: false }
}

fn jitter(reorder: bool) -> Box<dyn DelayModel> {
    let registry = delay::Registry::builtin();
    let options = Options::new(vec![
        ("min", OptionValue::Duration(Nanos::from_millis(10))),
        ("max", OptionValue::Duration(Nanos::from_millis(30))),
        ("reorder", OptionValue::Flag(reorder)),
    ]);
    (registry.get("uniform").unwrap().build)(&options, Stream::named(1, "link", "delay"))
}

/// The fates of the packets so far.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    arrivals: Vec<(SimTime, u32)>,
    copies: Vec<u32>,
    fates: Vec<Fate>,
}

/// Lets everything happen until `until`.
fn run(station: &mut Station, until: SimTime, seen: &mut Seen) {
    loop {
        let at = station.next_event();
        if at > until || at.is_never() {
            return collect(station, seen);
        }
        while let Some(arrival) = station.take_arrival(at) {
            if arrival.copy {
                seen.copies.push(arrival.id);
            } else {
                seen.arrivals.push((at, arrival.id));
            }
        }
        collect(station, seen);
    }
}

fn collect(station: &mut Station, seen: &mut Seen) {
    let mut fates = Vec::new();
    station.swap_fates(&mut fates);
    seen.fates.extend(fates);
}

#[test]
fn serialisation_and_propagation_to_the_nanosecond() {
    let mut station = Station::new(models(10 * MBIT, 275, 100), streams());
    let mut seen = Seen::default();
    station.offer(SimTime(7), packet(1, 1500));
    station.offer(SimTime(7), packet(2, 40));
    assert_eq!(station.queue_length(), (1, Bytes(40)));
    run(&mut station, SimTime::from_secs(1), &mut seen);
    assert_eq!(seen.arrivals, [(SimTime(276_200_007), 1), (SimTime(276_232_007), 2)]);
    let counters = station.counters();
    assert_eq!((counters.packets, counters.bytes, counters.queue_max), (2, Bytes(1540), 1));
    assert_eq!(counters.queue_delay_max, Nanos(1_200_000));
    let late = SimTime::from_millis(500);
    assert!((station.utilisation(late) - 1540.0 * 8.0 / (10e6 * 0.5)).abs() < 1e-12);
}

/// Poisson packets into a queue served at constant rate: mean wait rho / (2 (1 - rho)) service times.
#[test]
fn m_d_1_mean_wait() {
    let mut stream = Stream::named(11, "arrivals", "test");
    let mut station = Station::new(models(8 * MBIT, 20, u64::MAX), streams());
    let (mut at, rho) = (0.0, 0.7);
    let mut seen = Seen::default();
    for _ in 0..1_000_000 {
        at += -libm::log(1.0 - stream.uniform()) * 1e-3 / rho;
        let now = SimTime((at * 1e9) as u64);
        run(&mut station, now, &mut seen);
        seen.arrivals.clear();
        station.offer(now, packet(0, 1000));
    }
    let wait = station.counters().queue_delay_mean().as_secs_f64();
    let expected = rho / (2.0 * (1.0 - rho)) * 1e-3;
    assert!((wait / expected - 1.0).abs() < 0.03, "{wait} is not {expected}");
}

#[test]
fn jitter_reorders_only_if_it_may() {
    for reorder in [true, false] {
        let mut station =
            Station::new(Models { delay: jitter(reorder), ..models(8 * MBIT, 0, 1000) }, streams());
        for id in 0..100 {
            station.offer(SimTime::ZERO, packet(id, 1000));
        }
        let mut seen = Seen::default();
        run(&mut station, SimTime::from_secs(10), &mut seen);
        assert_eq!(seen.arrivals.len(), 100);
        assert!(seen.arrivals.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(seen.arrivals.is_sorted_by_key(|(_, id)| *id), !reorder);
        for (at, id) in &seen.arrivals {
            let travel = at.since(SimTime::from_millis(u64::from(*id) + 1));
            assert!(travel >= Nanos::from_millis(10));
            assert!(travel <= Nanos::from_millis(if reorder { 30 } else { 30 + 100 }), "{travel}");
        }
    }
}

#[test]
fn a_token_bucket_holds_back_what_exceeds_it() {
    let shapers = vec![Shaper { rate: BitsPerSecond(MBIT), burst: Bytes(5000) }];
    let mut station = Station::new(Models { shapers, ..models(100 * MBIT, 0, 1000) }, streams());
    for id in 0..20 {
        station.offer(SimTime::ZERO, packet(id, 1000));
    }
    // Four leave at once and the fifth is sent as the transmitter gets free, 15 wait.
    let mut seen = Seen::default();
    run(&mut station, SimTime::from_millis(1), &mut seen);
    assert_eq!((seen.arrivals.len(), station.queue_length()), (5, (15, Bytes(15_000))));
    run(&mut station, SimTime::from_secs(1), &mut seen);
    // In any span at most burst + rate * time; the bits of a packet take another 80 us.
    for (i, (at, _)) in seen.arrivals.iter().enumerate() {
        let allowed = 5000.0 + at.as_secs_f64() * 125_000.0;
        assert!((i + 1) as f64 * 1000.0 <= allowed, "{i} at {at:?}");
    }
    let last = seen.arrivals.last().unwrap().0;
    assert_eq!(last, SimTime::from_millis(120) + Nanos(80_000));
    // Without it the link is fast again.
    for id in 20..40 {
        station.offer(SimTime::from_secs(1), packet(id, 1000));
    }
    station.set_shapers(SimTime::from_secs(1), &[]);
    seen.arrivals.clear();
    run(&mut station, SimTime::from_millis(1002), &mut seen);
    assert_eq!(seen.arrivals.len(), 20);
}

/// A contract with a peak: a burst at its peak rate, then the sustained one, exactly.
#[test]
fn a_packet_leaves_when_all_buckets_let_it() {
    let shapers = vec![
        Shaper { rate: BitsPerSecond(MBIT), burst: Bytes(5000) },
        Shaper { rate: BitsPerSecond(8 * MBIT), burst: Bytes(1000) },
    ];
    let mut station = Station::new(Models { shapers, ..models(8000 * MBIT, 0, 1000) }, streams());
    for id in 0..8 {
        station.offer(SimTime::ZERO, packet(id, 1000));
    }
    let mut seen = Seen::default();
    run(&mut station, SimTime::from_secs(1), &mut seen);
    let left: Vec<u64> = seen.arrivals.iter().map(|(at, _)| (at.0 - 1000) / 1_000_000).collect();
    // One in each ms by the small bucket. The large one has 5000 bytes and gets 125 in each ms: after five packets 500 are
    // left, the other 500 take 4 ms, and each further packet takes 8.
    assert_eq!(left, [0, 1, 2, 3, 4, 8, 16, 24]);
    // Buckets keep their places: without the second one the first is still empty.
    station
        .set_shapers(SimTime::from_millis(24), &[Shaper { rate: BitsPerSecond(MBIT), burst: Bytes(5000) }]);
    station.offer(SimTime::from_millis(24), packet(8, 1000));
    seen.arrivals.clear();
    run(&mut station, SimTime::from_secs(2), &mut seen);
    assert_eq!(seen.arrivals, [(SimTime::from_millis(32) + Nanos(1000), 8)]);
}

/// Packets of the size of an opportunity arrive at the instants of the trace, each used once.
#[test]
fn a_trace_replayed_delivers_exactly_its_opportunities() {
    let text = "3\n3\n7\n20\n21\n21\n21\n40\n";
    let file = registry::NamedFile::read("x", text, crate::trace_file::OPPORTUNITIES).unwrap();
    let row = *rate::Registry::builtin().get("opportunities").unwrap();
    let rate =
        (row.build)(&Options::new(vec![("file", OptionValue::File(file))]), Stream::named(1, "l", "rate"));
    let mut station = Station::new(Models { rate, ..models(1, 0, 100_000) }, streams());
    for id in 0..50_000 {
        station.offer(SimTime::ZERO, packet(id, 1500));
    }
    let mut seen = Seen::default();
    run(&mut station, SimTime::from_secs(200), &mut seen);
    let line = |text: &str| text.parse::<u64>().unwrap();
    let expected = (0..5000u64).flat_map(|round| text.lines().map(move |t| 40 * round + line(t)));
    let arrivals = seen.arrivals.iter().map(|(at, _)| at.0 as f64 / 1e6);
    assert!(arrivals.eq(expected.map(|ms| ms as f64)));
    assert_eq!(seen.arrivals.len(), 40_000);
    let utilisation = station.utilisation(SimTime::from_secs(200));
    assert!((utilisation - 1.0).abs() < 1e-12, "{utilisation}");
}

#[test]
fn rate_changes_in_the_middle_of_a_packet_are_exact() {
    let constant = |rate| -> Box<dyn RateModel> { Box::new(rate::ConstantRate::new(BitsPerSecond(rate))) };
    let mut station = Station::new(models(8 * MBIT, 5, 100), streams());
    station.offer(SimTime::ZERO, packet(1, 1000));
    station.offer(SimTime::ZERO, packet(2, 1000));
    let mut seen = Seen::default();
    station.set_rate(SimTime(250_000), constant(4 * MBIT));
    station.set_rate(SimTime(1_250_000), constant(MBIT));
    run(&mut station, SimTime::from_millis(20), &mut seen);
    assert_eq!(seen.arrivals, [(SimTime(8_250_000), 1), (SimTime(16_250_000), 2)]);
    let allowed = 8e6 * 0.25e-3 + 4e6 * 1e-3 + 1e6 * 18.75e-3;
    assert!((station.utilisation(SimTime::from_millis(20)) - 16_000.0 / allowed).abs() < 1e-12);
}

#[test]
fn down_cuts_off_one_packet_and_keeps_the_others() {
    let mut station = Station::new(models(8 * MBIT, 100, 3), streams());
    for id in 1..=4 {
        station.offer(SimTime::ZERO, packet(id, 1000));
    }
    let mut seen = Seen::default();
    station.set_up(SimTime(1_500_000), false);
    station.offer(SimTime(1_500_000), packet(5, 1000));
    station.offer(SimTime(1_500_000), packet(6, 1000));
    run(&mut station, SimTime::from_millis(300), &mut seen);
    assert_eq!(seen.fates, [Fate::CutOff(2), Fate::Refused(6)]);
    assert_eq!(seen.arrivals, [(SimTime::from_millis(101), 1)]);
    station.set_up(SimTime::from_millis(300), true);
    run(&mut station, SimTime::from_secs(1), &mut seen);
    let ms = |id, at| (SimTime::from_millis(at), id);
    assert_eq!(seen.arrivals[1..], [ms(3, 401), ms(4, 402), ms(5, 403)]);
    assert_eq!(station.counters().drops_down, 1);
}

/// 10^6 packets: each fault has its share; a damaged or lost packet is not copied.
#[test]
fn faults_have_their_probabilities() {
    let faults = Faults {
        corrupt: ratio(0.01),
        duplicate: ratio(0.02),
        reorder: ratio(0.03),
        reorder_delay: Nanos::from_millis(50),
    };
    let mut station = Station::new(Models { faults, ..models(8000 * MBIT, 10, 10) }, streams());
    let mut seen = Seen::default();
    let n = 1_000_000u32;
    for id in 0..n {
        let now = SimTime(u64::from(id) * 2000);
        run(&mut station, now, &mut seen);
        station.offer(now, packet(id, 1000));
    }
    run(&mut station, SimTime::from_secs(10), &mut seen);
    let counters = station.counters();
    let near = |found: f64, p: f64| {
        let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!((found - f64::from(n) * p).abs() < 4.5 * sigma, "{found} of {n} is not {p}");
    };
    near(counters.drops_corrupt as f64, 0.01);
    near(counters.duplicated as f64, 0.02 * 0.99);
    let late = seen.arrivals.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    near(late as f64, 0.03 * 0.99 * 0.97);
    assert_eq!(seen.copies.len() as u64, counters.duplicated);
    assert_eq!(seen.arrivals.len() as u64 + counters.drops_corrupt, u64::from(n));
}

#[test]
fn another_discipline_takes_over_what_waits() {
    let registry = queue::Registry::builtin();
    for row in registry.iter() {
        let build = || (row.build)(&Options::examples(row.options), Stream::named(1, "l", "queue"));
        let mut station = Station::new(models(8 * MBIT, 0, 100), streams());
        for id in 0..50 {
            station.offer(SimTime::ZERO, packet(id, 1000));
        }
        station.set_queue(SimTime::from_millis(1), build());
        assert_eq!(station.queue_length(), (48, Bytes(48_000)), "{}", row.name);
        station.set_queue(SimTime::from_millis(2), Box::new(DropTail::new(QueueLimit::Packets(1))));
        let mut seen = Seen::default();
        run(&mut station, SimTime::from_secs(1), &mut seen);
        assert!(seen.arrivals.iter().map(|(_, id)| *id).eq(0..50), "{}", row.name);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Offer {
        size: u32,
        flow: u64,
        ect: bool,
        low_priority: bool,
    },
    Wait(u64),
    Rate(u64),
    Outage(u64),
    Delay(u64),
    /// On top of a constant delay, in ns.
    Jitter(u64),
    Queue(usize),
    Shapers(Vec<(u64, u64)>),
    Faults(f64),
    Loss(bool),
    Up(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1u32..3000, 0u64..3, any::<bool>(), any::<bool>())
            .prop_map(|(size, flow, ect, low_priority)| Step::Offer { size, flow, ect, low_priority }),
        8 => (0u64..20_000_000).prop_map(Step::Wait),
        1 => (10_000u64..20_000_000).prop_map(Step::Rate),
        1 => (0u64..20_000_000).prop_map(Step::Outage),
        1 => (0u64..5_000_000).prop_map(Step::Delay),
        1 => (0u64..5_000_000).prop_map(Step::Jitter),
        1 => (0usize..100).prop_map(Step::Queue),
        1 => prop::collection::vec((10_000u64..20_000_000, 0u64..5000), 0..3).prop_map(Step::Shapers),
        1 => (0.0..0.5).prop_map(Step::Faults),
        1 => any::<bool>().prop_map(Step::Loss),
        1 => any::<bool>().prop_map(Step::Up),
    ]
}

fn apply(station: &mut Station, now: SimTime, step: &Step, seen: &mut Seen, offered: &mut u32) -> SimTime {
    match *step {
        Step::Offer { size, flow, ect, low_priority } => {
            station.offer(now, Packet { id: *offered, size, flow, ect, low_priority });
            *offered += 1;
        }
        Step::Wait(time) => {
            run(station, now + Nanos(time), seen);
            return now + Nanos(time);
        }
        Step::Rate(rate) => station.set_rate(now, Box::new(rate::ConstantRate::new(BitsPerSecond(rate)))),
        // Nothing until this instant, then slowly.
        Step::Outage(at) => {
            let row = *rate::Registry::builtin().get("steps").unwrap();
            let options = Options::new(vec![
                ("times", OptionValue::Durations(vec![Nanos::ZERO, Nanos(at + 1)])),
                ("rates", OptionValue::Rates(vec![BitsPerSecond(0), BitsPerSecond(50_000)])),
                ("repeat", OptionValue::Duration(Nanos(u64::MAX))),
            ]);
            station.set_rate(now, (row.build)(&options, Stream::named(1, "l", "rate")));
        }
        Step::Delay(delay) => station.set_delay(now, Box::new(delay::ConstantDelay(Nanos(delay)))),
        Step::Jitter(more) => {
            let parts =
                vec![jitter(false), Box::new(delay::ConstantDelay(Nanos(more))) as Box<dyn DelayModel>];
            station.set_delay(now, Box::new(delay::SummedDelays::new(parts)));
        }
        Step::Queue(n) => {
            let registry = queue::Registry::builtin();
            let row = registry.iter().nth(n % registry.iter().count()).unwrap();
            let small = OptionValue::Limit(QueueLimit::Packets(n as u64 % 10));
            let options = Options::examples(row.options).with("limit", small);
            station.set_queue(now, (row.build)(&options, Stream::named(1, "l", "queue")));
        }
        Step::Shapers(ref shapers) => {
            let shaper = |&(rate, burst)| Shaper { rate: BitsPerSecond(rate), burst: Bytes(burst) };
            station.set_shapers(now, &shapers.iter().map(shaper).collect::<Vec<_>>());
        }
        Step::Faults(p) => station.set_faults(now, Faults { corrupt: ratio(p), ..Faults::default() }),
        Step::Loss(some) => {
            let model = || -> Box<dyn LossModel> { Box::new(Bernoulli::new(ratio(0.4))) };
            station.set_loss(now, some.then(model));
        }
        Step::Up(up) => station.set_up(now, up),
    }
    now
}

proptest! {
    /// Whatever happens, each packet has exactly one end, counters add up, and within a flow and a band of priority
    /// no packet overtakes another.
    #[test]
    fn packets_are_conserved_and_keep_their_order(steps in prop::collection::vec(step(), 1..200)) {
        let mut station = Station::new(models(MBIT, 2, 5), streams());
        let (mut now, mut seen, mut offered) = (SimTime::ZERO, Seen::default(), 0);
        let mut labels = std::collections::BTreeMap::new();
        for step in &steps {
            if let Step::Offer { flow, low_priority, .. } = step {
                labels.insert(offered, (*flow, *low_priority));
            }
            now = apply(&mut station, now, step, &mut seen, &mut offered);
            collect(&mut station, &mut seen);
            let ended = seen.fates.iter().filter(|fate| !matches!(fate, Fate::Marked(_))).count();
            let inside = station.queue_length().0 as usize + usize::from(station.sending.is_some())
                + station.in_propagation();
            prop_assert_eq!(offered as usize, seen.arrivals.len() + ended + inside);
        }
        station.set_rate(now, Box::new(rate::ConstantRate::new(BitsPerSecond(MBIT))));
        station.set_shapers(now, &[]);
        station.set_up(now, true);
        run(&mut station, SimTime::from_secs(1_000_000), &mut seen);
        let counters = station.counters();
        let count = |wanted: fn(&Fate) -> bool| seen.fates.iter().filter(|fate| wanted(fate)).count() as u64;
        prop_assert_eq!(counters.drops_queue, count(|f| matches!(f, Fate::Refused(_))));
        prop_assert_eq!(counters.drops_error, count(|f| matches!(f, Fate::Lost(_))));
        prop_assert_eq!(counters.drops_corrupt, count(|f| matches!(f, Fate::Corrupted(_))));
        prop_assert_eq!(counters.drops_down, count(|f| matches!(f, Fate::CutOff(_))));
        prop_assert_eq!(counters.marked, count(|f| matches!(f, Fate::Marked(_))));
        let delivered = seen.arrivals.len() as u64;
        prop_assert_eq!(counters.packets, delivered + counters.drops_error + counters.drops_corrupt);
        prop_assert_eq!(u64::from(offered), counters.packets + counters.drops_queue + counters.drops_down);
        prop_assert_eq!(station.queue_length(), (0, Bytes::ZERO));
        let mut last = std::collections::BTreeMap::new();
        for (_, id) in &seen.arrivals {
            let before = last.insert(labels[id], *id);
            prop_assert!(before.is_none_or(|before| before < *id), "{} overtook", id);
        }
    }
}

/// The functions that both kinds of link have.
#[derive(Clone, Debug)]
enum Plain {
    Offer(u32),
    Wait(u64),
    Rate(u64),
    Delay(u64),
    Queue(QueueLimit),
    Up(bool),
}

fn plain() -> impl Strategy<Value = Plain> {
    let limit = prop_oneof![
        (0..5u64).prop_map(QueueLimit::Packets),
        (0..5000u64).prop_map(|bytes| QueueLimit::Bytes(Bytes(bytes))),
    ];
    prop_oneof![
        8 => (40..1600u32).prop_map(Plain::Offer),
        4 => (0..20_000_000u64).prop_map(Plain::Wait),
        1 => (10_000..20 * MBIT).prop_map(Plain::Rate),
        1 => (0..50_000_000u64).prop_map(Plain::Delay),
        2 => limit.prop_map(Plain::Queue),
        1 => any::<bool>().prop_map(Plain::Up),
    ]
}

proptest! {
    /// The packet that an idle transmitter takes at once needs no room in the queue, on either kind of link. Losses are
    /// those of the same numbers as long as no packet is cut off.
    #[test]
    fn without_models_it_does_what_a_simple_link_does(
        steps in prop::collection::vec(plain(), 1..200), losses: bool,
    ) {
        let parameters = Parameters {
            rate: BitsPerSecond(MBIT),
            delay: Nanos::from_millis(2),
            queue: QueueLimit::Packets(0),
        };
        let loss = || losses.then(|| -> Box<dyn LossModel> { Box::new(Bernoulli::new(ratio(0.3))) });
        let mut simple = Fifo::new(parameters, loss(), streams().loss);
        let mut station = Station::new(Models { loss: loss(), ..models(MBIT, 2, 0) }, streams());
        let (mut now, mut seen, mut simply) = (SimTime::ZERO, Seen::default(), Vec::new());
        for (id, step) in (0..).zip(steps.iter().chain([&Plain::Up(true), &Plain::Wait(1 << 50)])) {
            match *step {
                Plain::Offer(size) => {
                    station.offer(now, packet(id, size));
                    simple.offer(now, Bytes(size.into()), id);
                }
                Plain::Wait(time) => {
                    now += Nanos(time);
                    run(&mut station, now, &mut seen);
                    while simple.next_arrival() <= now {
                        let at = simple.next_arrival();
                        simply.extend(simple.take_arrival(at).map(|id| (at, id)));
                    }
                }
                Plain::Rate(rate) => {
                    station.set_rate(now, Box::new(rate::ConstantRate::new(BitsPerSecond(rate))));
                    simple.set_rate(now, BitsPerSecond(rate));
                }
                Plain::Delay(delay) => {
                    station.set_delay(now, Box::new(delay::ConstantDelay(Nanos(delay))));
                    simple.set_delay(now, Nanos(delay));
                }
                Plain::Queue(limit) => {
                    station.set_queue(now, Box::new(DropTail::new(limit)));
                    simple.set_queue(limit);
                }
                Plain::Up(_) if losses => {}
                Plain::Up(up) => {
                    station.set_up(now, up);
                    simple.set_up(now, up);
                }
            }
            prop_assert_eq!(station.queue_length(), simple.queue_length(now));
        }
        prop_assert_eq!(seen.arrivals, simply);
        prop_assert_eq!(station.counters(), simple.counters(now));
    }
}
