//! The shipped scenarios in which a beam leaves and joins in the middle of an upload: what their comments promise.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use trace::{RunRecord, SeriesKey};
use units::Bytes;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;
/// Twice the propagation delay.
const ROUND_TRIP: f64 = 0.5;

/// Every replication of a shipped file, with some keys changed.
fn shipped(name: &str, changes: &[(&str, &str)]) -> Vec<RunRecord> {
    let file = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("a shipped scenario");
    let changes: Vec<_> = changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let registries = Registries::builtin();
    let document = Document::parse(&text, &file, &changes, &registries);
    let scenario = document.unwrap_or_else(|e| panic!("{e}")).scenario;
    let run = |seed| {
        let world = World::new(&scenario, seed, Observe { series: true, trace: true });
        world.run(&AtomicBool::new(false)).expect("not cancelled")
    };
    SEEDS.map(run).collect()
}

/// The fields of a line of the trace.
struct Seen<'a> {
    at: f64,
    event: &'a str,
    host: &'a str,
    subflow: &'a str,
    option: &'a str,
    data: bool,
    cwnd: &'a str,
}

fn seen(record: &RunRecord) -> impl Iterator<Item = Seen<'_>> {
    record.trace.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[6].split_once(':').unwrap_or(("", ""));
        Seen {
            at: words[0].parse::<f64>().expect("a time") / 1e6,
            event: words[1],
            host: words[2],
            subflow: words[3],
            option: words[5],
            data: words[5] == "dss" && start != end,
            cwnd: words[11],
        }
    })
}

/// When data left the terminal on a subflow.
fn data_sent<'a>(record: &'a RunRecord, subflow: &'a str) -> impl Iterator<Item = Seen<'a>> {
    seen(record).filter(move |s| s.event == "send" && s.host == "terminal" && s.subflow == subflow && s.data)
}

/// Mean goodput in Mbit/s of all replications between two instants.
fn goodput(records: &[RunRecord], from: f64, until: f64) -> f64 {
    let samples = records.iter().flat_map(|record| {
        let series = &record.series;
        let wanted = move |i: &usize| {
            let at = series.at[*i].as_secs_f64();
            series.key[*i] == SeriesKey::Flow(0)
                && series.metric[*i] == "goodput_bit_s"
                && at > from
                && at <= until
        };
        (0..series.len()).filter(wanted).map(|i| series.value[i] / 1e6)
    });
    let (sum, count) = samples.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}

#[test]
fn what_was_on_its_way_over_a_removed_beam_goes_over_the_other() {
    let records = shipped("path-removal", &[]);
    for record in &records {
        let flow = &record.flows[0];
        let [stays, leaves] = flow.subflows.as_slice() else { panic!("two subflows: {flow:?}") };
        assert_eq!((flow.failure.as_deref(), flow.fell_back), (None, false));
        assert!(stays.reinjected > Bytes::ZERO, "seed {}", record.seed);
        assert_eq!(leaves.sending.timeouts, 0, "the terminal knows without: seed {}", record.seed);
        let last = data_sent(record, "upload.1").last().expect("it was used");
        assert!(last.at <= 15.0, "seed {}: {}", record.seed, last.at);
        let told: Vec<f64> =
            seen(record).filter(|s| s.event == "send" && s.option == "remove-addr").map(|s| s.at).collect();
        assert_eq!(told, [15.0], "seed {}", record.seed);
        // A byte that was lost for good would hold up all that follows it.
        assert!(goodput(std::slice::from_ref(record), 20.0, 30.0) > 0.0, "seed {}", record.seed);
    }
    // The goodput of two beams, and that of one from the start.
    let alone = shipped("path-removal", &[("flow.upload.transport.path_manager.subflows", "0")]);
    let (before, after) = (goodput(&records, 10.0, 15.0), goodput(&records, 17.0, 30.0));
    let one = goodput(&alone, 17.0, 30.0);
    assert!((0.85..1.15).contains(&(after / one)), "{after} {one}");
    assert!(before > 1.6 * one, "{before} {one}");
}

/// Its transfer ends: every byte arrives, whatever was on its way over the beam that left.
#[test]
fn no_byte_is_lost_with_a_removed_beam() {
    let changes = [("flow.upload.app.size", "3MB"), ("duration", "120s")];
    for record in shipped("path-removal", &changes) {
        let flow = &record.flows[0];
        assert!(flow.completed, "seed {}", record.seed);
        assert_eq!((flow.delivered, flow.delay.total()), (Bytes(3_000_000), 3_000_000));
    }
}

#[test]
fn a_beam_that_joins_takes_two_round_trips_and_begins_anew() {
    let records = shipped("path-join", &[]);
    for record in &records {
        let flow = &record.flows[0];
        assert_eq!((flow.failure.as_deref(), flow.fell_back, flow.subflows.len()), (None, false, 2));
        let joined = flow.subflows[1].established.expect("it joins").as_secs_f64();
        assert!(joined >= 10.0 + ROUND_TRIP, "seed {}: {joined}", record.seed);
        let first = data_sent(record, "upload.1").next().expect("it is used");
        assert!(first.at >= 10.0 + 2.0 * ROUND_TRIP, "seed {}: {}", record.seed, first.at);
        assert_eq!(first.cwnd, "14240", "the initial window of ten segments");
    }
    let prompt = |record: &&RunRecord| {
        let first = data_sent(record, "upload.1").next();
        first.is_some_and(|first| first.at < 10.1 + 2.0 * ROUND_TRIP)
    };
    // Three packets of its handshake may be lost, with a probability of 1 % each.
    assert!(records.iter().filter(prompt).count() >= 17);
    let alone = shipped("path-join", &[("flow.upload.transport.path_manager.subflows", "0")]);
    let (one, both) = (goodput(&alone, 14.0, 30.0), goodput(&records, 14.0, 30.0));
    let [at_first, later] = [goodput(&records, 11.0, 12.0), goodput(&records, 14.0, 16.0)];
    assert!(both > 1.7 * one, "{both} {one}");
    assert!(at_first < 0.6 * later, "{at_first} {later}");
}
