//! Worlds that run: what must hold whatever the scenario is.

mod addresses;
mod convert;
mod faults;
mod limits;
mod measures;
mod multipath;
mod one_subflow;
mod proxies;
mod proxy_limits;
mod proxy_pairs;
mod scheduling;
mod sky;
mod stations;
mod tcp;
mod ways;

use std::sync::atomic::AtomicBool;

use scenario::model::Scenario;
use scenario::{Document, Registries};
use trace::RunRecord;
use units::SimTime;

use crate::{Observe, World};

const ALL: Observe = Observe { series: true, trace: true };
const NOTHING: Observe = Observe { series: false, trace: false };

/// One path of 10 Mbit/s and 100 ms each way with one flow; `extra` are further keys and tables.
fn one_path(path: &str, flow: &str, transport: &str, extra: &str) -> String {
    format!(
        "name = \"test\"\nduration = \"20s\"\n\
         [[path]]\nname = \"beam\"\nboth = {{ rate = \"10Mbit/s\", delay = \"100ms\", queue = \"100p\"{path} }}\n\
         [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n{flow}\n\
         transport = {{ kind = \"tcp\"{transport} }}\n{extra}\n"
    )
}

/// The same with a datagram of 540 bytes every 10.24 ms instead.
fn datagrams(text: &str) -> String {
    text.replace("kind = \"tcp\"", "kind = \"udp\"").replace(
        "to = \"server\"",
        "to = \"server\"\napp = { kind = \"onoff\", rate = \"400kbit/s\", off = \"0s\" }",
    )
}

/// When the datagrams of a trace were sent and received, in s.
fn travels(record: &RunRecord) -> impl Iterator<Item = (f64, f64)> {
    let times = |event: &str, at: &str| -> Vec<f64> {
        let found = lines(record).filter(|words| words[1] == event && words[2] == at);
        found.map(|words| words[0].parse::<f64>().expect("microseconds") * 1e-6).collect()
    };
    let (sent, received) = (times("send", "terminal"), times("recv", "server"));
    assert!(sent.len() - received.len() < 20, "only what is on its way has not arrived");
    sent.into_iter().zip(received)
}

fn scenario(text: &str) -> Scenario {
    match Document::parse(text, "test.toml", &[], &Registries::builtin()) {
        Ok(document) => document.scenario,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

fn run(text: &str, seed: u64, observe: Observe) -> RunRecord {
    let world = World::new(&scenario(text), seed, observe);
    world.run(&AtomicBool::new(false)).expect("not cancelled")
}

/// The record without what only observers see.
fn unobserved(mut record: RunRecord) -> RunRecord {
    record.series = trace::Series::default();
    record.trace.clear();
    record
}

/// The words of each line of a trace, without the header.
fn lines(record: &RunRecord) -> impl Iterator<Item = Vec<&str>> {
    record.trace.lines().skip(1).map(|line| line.split_whitespace().collect())
}

fn count(record: &RunRecord, event: &str) -> u64 {
    lines(record).filter(|words| words[1] == event).count() as u64
}

/// Runs `text` and checks what must hold in every run: packets are conserved, no link is over its capacity, each
/// byte delivered has one delay, and observers change nothing.
fn checked(text: &str, seed: u64) -> RunRecord {
    let mut world = World::new(&scenario(text), seed, ALL);
    let end = world.advance(&AtomicBool::new(false)).expect("not cancelled");
    let in_flight = world.network.in_flight() as u64;
    let record = world.into_record(end);
    let sum = |events: &[&str]| events.iter().map(|event| count(&record, event)).sum::<u64>();
    let ends = ["recv", "drop-queue", "drop-error", "drop-down", "drop-check"];
    assert_eq!(sum(&["send", "duplicate"]), sum(&ends) + in_flight, "packets are conserved, seed {seed}");
    for link in &record.links {
        assert!((0.0..=1.0).contains(&link.utilisation), "{link:?}");
    }
    let drops = |n: fn(&trace::LinkRecord) -> u64| record.links.iter().map(n).sum::<u64>();
    assert_eq!(drops(|l| l.drops_queue), sum(&["drop-queue"]));
    assert!(drops(|l| l.drops_error) <= sum(&["drop-error"]), "announced before they leave");
    for flow in &record.flows {
        assert_eq!(flow.delay.total(), flow.delivered.0, "one delay per byte");
        assert!(flow.start <= flow.end);
    }
    let times: Vec<u64> = lines(&record).map(|words| words[0].parse().expect("a number")).collect();
    assert!(times.is_sorted(), "time goes on");
    assert_eq!(unobserved(record.clone()), run(text, seed, NOTHING), "observers change nothing, seed {seed}");
    record
}

fn seconds(at: SimTime) -> f64 {
    at.as_secs_f64()
}
