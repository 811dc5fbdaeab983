//! Worlds with links that decide as time goes on: queue disciplines, varying rates and delays, faults.

use super::{ALL, NOTHING, checked, count, datagrams, one_path, run, travels};

/// One path of 10 Mbit/s and 100 ms each way with these keys in place of its queue.
fn station(keys: &str) -> String {
    one_path("", "", "", "").replace("queue = \"100p\"", keys)
}

/// A drop-tail queue as a station does what the simple link does, to the packet.
#[test]
fn a_station_agrees_with_the_simple_link() {
    let simple = run(&station("queue = \"50p\""), 1, NOTHING);
    // A shaper that never holds anything back.
    let general = station("queue = \"50p\", shaper = { rate = \"10Gbit/s\", burst = \"1GB\" }");
    let general = run(&general, 1, NOTHING);
    assert_eq!(simple.flows, general.flows);
    assert_eq!(simple.links, general.links);
    assert_eq!((simple.end, simple.packet_hops), (general.end, general.packet_hops));
    assert!(simple.links[0].drops_queue > 0);
}

#[test]
fn every_discipline_carries_a_transfer() {
    for (queue, utilisation) in [
        ("\"codel\"", 0.5),
        ("{ kind = \"codel\", interval = \"500ms\", target = \"25ms\" }", 0.8),
        ("{ kind = \"fq_codel\", interval = \"500ms\", target = \"25ms\" }", 0.8),
        ("\"pie\"", 0.4),
        ("\"red\"", 0.5),
        ("\"priority\"", 0.8),
        ("{ kind = \"droptail\", limit = \"1BDP\" }", 0.8),
    ] {
        let record = checked(&station(&format!("queue = {queue}")), 1);
        assert!(record.flows[0].failure.is_none());
        assert!(record.links[0].utilisation > utilisation, "{queue}: {}", record.links[0].utilisation);
    }
}

/// The reason for the discipline: under a standing load the delay stays near the target, which drop-tail does not know.
#[test]
fn codel_keeps_the_queue_of_a_bloated_link_short() {
    let bloated = |queue: &str| {
        let keys = format!("queue = {queue}");
        let text = station(&keys).replace("100ms", "20ms").replace("\"20s\"", "\"60s\"");
        let record = run(&text, 1, NOTHING);
        (record.links[0].queue_delay_mean.as_secs_f64(), record.links[0].utilisation)
    };
    let (droptail, full) = bloated("\"1000p\"");
    let (codel, used) = bloated("{ kind = \"codel\", limit = \"1000p\" }");
    assert!(droptail > 0.2 && codel < 0.02, "{droptail} {codel}");
    assert!(full > 0.95 && used > 0.85, "{full} {used}");
}

#[test]
fn faults_and_jitter_are_survived() {
    let record = checked(
        &station(
            "queue = \"100p\", faults = { corrupt = 0.001, duplicate = 0.01, reorder = 0.005, reorder_delay = \"5ms\" }",
        ),
        3,
    );
    let link = &record.links[0];
    assert!(link.drops_corrupt > 0 && link.duplicated > 20);
    assert_eq!(count(&record, "drop-check"), record.links.iter().map(|l| l.drops_corrupt).sum::<u64>());
    let jitter = "delay = { kind = \"normal\", mean = \"100ms\", deviation = \"3ms\", reorder = true }";
    checked(&station("queue = \"100p\"").replace("delay = \"100ms\"", jitter), 3);
}

#[test]
fn rates_that_vary() {
    let steps = "rate = { kind = \"steps\", times = [\"0s\", \"5s\", \"6s\"], \
                 rates = [\"10Mbit/s\", \"0bit/s\", \"2Mbit/s\"], repeat = \"10s\" }";
    let record = checked(&station("queue = \"100p\"").replace("rate = \"10Mbit/s\"", steps), 1);
    let delivered = record.flows[0].delivered.as_f64() * 8.0;
    // 58 Mbit in ten seconds, twice.
    assert!(delivered > 20e6 && delivered < 116e6, "{delivered}");
    assert!(record.links[0].utilisation <= 1.0);
}

fn with_models(from: &str, to: &str) -> trace::RunRecord {
    let text = station("queue = \"100p\"");
    assert!(text.contains(from));
    run(&text.replacen(from, to, 1), 1, NOTHING)
}

/// Parts that never change are one number, and cost no more than it.
#[test]
fn constant_parts_are_a_plain_link() {
    let plain = with_models("\"100ms\"", "\"100ms\"");
    assert_eq!(plain, with_models("\"100ms\"", "[\"60ms\", \"40ms\"]"));
    assert_eq!(plain, with_models("\"10Mbit/s\"", "[\"30Mbit/s\", \"10Mbit/s\", \"20Mbit/s\"]"));
}

/// A link whose rate is known ahead is a simple one: what a station makes of the model to the line of the trace, with fewer
/// events.
#[test]
fn known_rates_need_no_station() {
    let steps = "kind = \"steps\", times = [\"0s\", \"1.1s\", \"1.3s\"], \
                 rates = [\"10Mbit/s\", \"900kbit/s\", \"3.3Mbit/s\"]";
    let markov = "{ kind = \"markov\", rates = [\"2Mbit/s\", \"9Mbit/s\"], dwell = [\"700ms\", \"700ms\"] }";
    let others = "[[event]]\nat = \"4.25s\"\nlink = \"beam\"\nset = { up = false }\n\
                  [[event]]\nat = \"5.7s\"\nlink = \"beam\"\nset = { up = true, delay = \"60ms\", queue = \"20p\" }\n";
    for (rate, events) in [
        (format!("{{ {steps} }}"), ""),
        (format!("{{ {steps}, repeat = \"1.7s\" }}"), ""),
        (format!("{{ {steps}, repeat = \"1.7s\" }}"), others),
        (markov.into(), others),
        (format!("[\"6Mbit/s\", {markov}]"), ""),
    ] {
        let with = |shaper: &str| {
            let keys = format!("queue = \"50p\"{shaper}");
            let text = station(&keys).replace("rate = \"10Mbit/s\"", &format!("rate = {rate}")) + events;
            run(&text, 1, ALL)
        };
        // A shaper that never holds anything back makes it a station.
        let (mut ahead, model) = (with(""), with(", shaper = { rate = \"10Gbit/s\", burst = \"1GB\" }"));
        assert!(model.links[0].drops_queue > 0 && model.links[0].packets > 1000, "{rate}");
        assert!(ahead.events * 5 < model.events * 4, "{rate}: {} {}", ahead.events, model.events);
        ahead.events = model.events;
        // Events in the same nanosecond at both ends may change places.
        let sorted = |trace: &str| {
            let mut lines: Vec<String> = trace.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ahead.trace), sorted(&model.trace), "{rate} {events}");
        ahead.trace.clone_from(&model.trace);
        assert_eq!(ahead, model, "{rate} {events}");
    }
}

/// The same rates as events are the same run, but for their lines in a trace.
#[test]
fn steps_are_as_good_as_events() {
    let steps = "rate = { kind = \"steps\", times = [\"0s\", \"5s\", \"7s\"], \
                 rates = [\"10Mbit/s\", \"2Mbit/s\", \"7Mbit/s\"] }";
    let at = |at: u32, rate: u32| {
        format!("[[event]]\nat = \"{at}s\"\nlink = \"beam\"\nset = {{ rate = \"{rate}Mbit/s\" }}\n")
    };
    let plain = station("queue = \"50p\"");
    let ahead = run(&plain.replace("rate = \"10Mbit/s\"", steps), 1, NOTHING);
    assert_eq!(ahead, run(&(plain + &at(5, 2) + &at(7, 7)), 1, NOTHING));
}

/// Where steps could change what is lost, or what an event sets, the model stays.
#[test]
fn steps_leave_losses_and_events_alone() {
    let steps = "{ kind = \"steps\", times = [\"0s\", \"5s\"], rates = [\"10Mbit/s\", \"2Mbit/s\"] }";
    let event = "[[event]]\nat = \"7s\"\nlink = \"beam\"\nset = { rate = \"3Mbit/s\" }\n";
    let loss = ", loss = { kind = \"gilbert_elliott_time\", mean_good = \"300ms\", mean_bad = \"20ms\", e_good = 0.0, e_bad = 1.0 }";
    for (loss, event) in [("", event), (loss, "")] {
        let run = |shaper: &str| {
            let keys = format!("queue = \"50p\"{shaper}{loss}");
            run(&(station(&keys).replace("rate = \"10Mbit/s\"", &format!("rate = {steps}")) + event), 1, ALL)
        };
        assert_eq!(run(""), run(", shaper = { rate = \"10Gbit/s\", burst = \"1GB\" }"), "{loss} {event}");
    }
}

/// The least of two rates is what one list of the least ones would be.
#[test]
fn the_least_of_several_rates_holds() {
    let steps =
        |rates: &str| format!("{{ kind = \"steps\", times = [\"0s\", \"5s\", \"8s\"], rates = [{rates}] }}");
    let weather = steps("\"10Mbit/s\", \"2Mbit/s\", \"7Mbit/s\"");
    let least = with_models("\"10Mbit/s\"", &format!("[\"6Mbit/s\", {weather}]"));
    let by_hand = with_models("\"10Mbit/s\"", &steps("\"6Mbit/s\", \"2Mbit/s\", \"6Mbit/s\""));
    assert_eq!(least, by_hand);
    // 30 and 6 and 72 Mbit, of which slow start leaves some.
    let bits = least.flows[0].delivered.as_f64() * 8.0;
    assert!((70e6..108e6).contains(&bits), "{bits}");
}

/// A further part has random numbers of its own, and the first one those that it has alone.
#[test]
fn delays_add_up() {
    let jitter = "{ kind = \"normal\", mean = \"30ms\", deviation = \"1ms\", reorder = true }";
    let alone = with_models("\"100ms\"", jitter);
    assert_eq!(alone, with_models("\"100ms\"", &format!("[{jitter}, \"0ms\"]")));
    // Two draws of their own have a deviation of 1.41 ms together; the same draw twice would have 2.
    let both = format!("delay = [{jitter}, {jitter}, \"40ms\"]");
    let text = datagrams(&station("queue = \"100p\"").replacen("delay = \"100ms\"", &both, 1));
    let travels: Vec<f64> = travels(&run(&text, 1, ALL)).map(|(sent, received)| received - sent).collect();
    let n = travels.len() as f64;
    // 432 us on the transmitter.
    let mean = travels.iter().sum::<f64>() / n - 432e-6;
    let deviation = (travels.iter().map(|x| (x - 0.1 - 432e-6).powi(2)).sum::<f64>() / n).sqrt();
    assert!(n > 1900.0 && (mean - 0.1).abs() < 4.5 * 1.41e-3 / n.sqrt(), "{n} {mean}");
    assert!((deviation / 1.4142e-3 - 1.0).abs() < 4.5 / (2.0 * n).sqrt(), "{deviation}");
}

/// Whatever an event changes, packets are conserved and what waits stays.
#[test]
fn events_change_everything() {
    let events = [
        "queue = \"codel\"",
        "rate = { kind = \"markov\", rates = [\"2Mbit/s\", \"9Mbit/s\"], dwell = [\"300ms\", \"300ms\"] }",
        "delay = { kind = \"uniform\", min = \"10ms\", max = \"50ms\", reorder = false }",
        "delay = [\"5ms\", { kind = \"uniform\", min = \"1ms\", max = \"5ms\", reorder = true }], rate = [\"3Mbit/s\", { kind = \"markov\", rates = [\"2Mbit/s\", \"9Mbit/s\"], dwell = [\"300ms\", \"300ms\"] }]",
        "shaper = [{ rate = \"1Mbit/s\", burst = \"20kB\" }, { rate = \"2Mbit/s\", burst = \"2kB\" }]",
        "faults = { duplicate = 0.05 }, loss = [{ kind = \"packet\", probability = 0.01 }, { kind = \"ber\", ratio = 1e-7 }]",
        "up = false",
        "up = true, shaper = { rate = \"unlimited\", burst = \"20kB\" }",
        "rate = \"5Mbit/s\", delay = \"30ms\", queue = \"20p\", loss = \"none\", faults = { corrupt = 0 }",
    ];
    let mut text = one_path("", "", "", "");
    for (i, set) in events.iter().enumerate() {
        text += &format!("[[event]]\nat = \"{}s\"\nlink = \"beam\"\nset = {{ {set} }}\n", 2 * i + 1);
    }
    let record = checked(&text, 5);
    assert!(record.flows[0].failure.is_none());
    assert!(record.flows[0].delivered.0 > 1_000_000);
}

/// With ECN at both ends and a queue that marks nothing is dropped, and the queue is as short as with drops.
#[test]
fn marks_reach_the_sender() {
    let queue = |ecn: bool| format!("queue = {{ kind = \"codel\", limit = \"1000p\", ecn = {ecn} }}");
    let run_with = |ecn: bool| {
        let text = station(&queue(true)).replace("100ms", "20ms");
        let text = text.replace("kind = \"tcp\"", &format!("kind = \"tcp\", ecn = {ecn}"));
        checked(&text, 1)
    };
    let (plain, ecn) = (run_with(false), run_with(true));
    let link = |record: &trace::RunRecord| record.links[0].clone();
    assert!(link(&plain).drops_queue > 3 && link(&plain).marked == 0);
    assert!(link(&ecn).drops_queue == 0 && link(&ecn).marked > 3, "{:?}", link(&ecn));
    assert_eq!(count(&ecn, "mark"), link(&ecn).marked);
    assert_eq!(ecn.flows[0].subflows[0].sending.retransmitted, 0);
    assert!(link(&ecn).utilisation > 0.8);
    assert!(link(&ecn).queue_delay_mean.as_secs_f64() < 0.02);
}
