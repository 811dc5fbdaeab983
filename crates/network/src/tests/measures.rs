//! Figures of flows and subflows against closed forms, and against the trace of the same run.

use std::collections::BTreeMap;

use trace::{FlowRecord, Held};
use units::SimTime;

use super::*;

/// One path of 10 Gbit/s and 100 ms each way: a transfer takes round trips and nothing else.
fn round_trips(size: &str, transport: &str) -> FlowRecord {
    let flow = format!("app = {{ kind = \"bulk\", size = \"{size}\" }}");
    let transport = format!(", profile = \"rfc\", congestion = \"newreno\", ack_every = 1{transport}");
    let text = one_path("", &flow, &transport, "").replace("10Mbit/s", "10Gbit/s");
    checked(&text, 1).flows.remove(0)
}

/// Segments of 1460 bytes: 10, then 20, then 40 leave after 0, 1, 2 round trips of 0.2 s.
#[test]
fn bytes_wait_for_the_rounds_of_slow_start() {
    let flow = round_trips("102200B", ", timestamps = false, send_buffer = \"1MB\"");
    assert_eq!(flow.subflows[0].sending.segments, 70);
    let mean = flow.send_delay_mean.expect("something was sent");
    assert!((mean - 100.0 / 70.0 * 0.2).abs() < 0.001, "{mean}");
    let p95 = flow.send_delay_p95.expect("something was sent").as_secs_f64();
    assert!((p95 - 0.4).abs() < 0.005, "{p95}");
    // And half a round trip each on the way.
    assert!((flow.delay.mean().expect("delivered") - mean - 0.1).abs() < 0.001);
}

/// Data that the send buffer does not take is not written: nothing waits in a buffer as large as the first window.
#[test]
fn what_does_not_fit_into_the_buffer_does_not_wait_in_it() {
    let flow = round_trips("102200B", ", timestamps = false, send_buffer = \"14600B\"");
    let mean = flow.send_delay_mean.expect("something was sent");
    assert!(mean < 0.001, "{mean}");
    // Seven windows of ten segments, a round trip apart, after the handshake.
    assert!(((flow.end - flow.start).as_secs_f64() - (0.2 + 6.0 * 0.2 + 0.1)).abs() < 0.001);
}

#[test]
fn datagrams_wait_for_nothing_and_have_no_order() {
    let flow = "app = { kind = \"video\", duration = \"2s\" }";
    let text = one_path("", flow, "", "").replace("kind = \"tcp\"", "kind = \"udp\"");
    let record = checked(&text, 1);
    let flow = &record.flows[0];
    assert_eq!((flow.send_delay_mean, flow.send_delay_p95, flow.waiting_for_others), (None, None, None));
    assert_eq!(flow.subflows[0].segments_received, flow.subflows[0].sending.segments);
}

/// A capture at the receiver does not see what was lost: the repair of a loss is a late segment, and every copy that
/// the network makes is a retransmission.
#[test]
fn a_capture_at_the_receiver_sees_copies_and_late_segments() {
    let app = "app = { kind = \"bulk\", size = \"146kB\" }";
    let lost = |loss: &str| {
        // The way of the ACKs loses nothing.
        let change = format!("[[event]]\nat = \"0s\"\nlink = \"beam.up\"\nset = {{ {loss} }}\n");
        let text = one_path("", app, ", profile = \"rfc\", timestamps = false", &change);
        checked(&text, 1).flows.remove(0).subflows.remove(0)
    };
    // SYN, ACK, and the 30th of 100 data segments.
    let subflow = lost("loss = { kind = \"list\", packets = [32] }");
    assert_eq!((subflow.sending.segments, subflow.sending.retransmitted), (101, 1));
    assert_eq!((subflow.segments_received, subflow.segments_repeated, subflow.segments_late), (100, 0, 1));
    let subflow = lost("faults = { duplicate = 1.0 }");
    assert_eq!((subflow.sending.segments, subflow.sending.retransmitted), (100, 0));
    // The flow ends with the last new byte: its copy is still to come.
    assert_eq!((subflow.segments_received, subflow.segments_repeated, subflow.segments_late), (199, 99, 0));
}

/// A receiver as the trace shows it: the data that has arrived beyond a gap.
#[derive(Default)]
struct Reassembly {
    next: u64,
    parts: BTreeMap<u64, u64>,
}

impl Reassembly {
    fn take(&mut self, from: u64, to: u64) {
        self.parts.entry(from).and_modify(|end| *end = to.max(*end)).or_insert(to);
        while let Some(first) = self.parts.first_entry().filter(|first| *first.key() <= self.next) {
            self.next = self.next.max(first.remove());
        }
    }

    fn held(&self) -> u64 {
        let (mut held, mut until) = (0, 0);
        for (&from, &to) in &self.parts {
            held += to.saturating_sub(from.max(until));
            until = until.max(to);
        }
        held
    }
}

/// Bytes held by a TCP flow and for how many microseconds, from its trace.
fn held_in(record: &RunRecord) -> Vec<(u64, u64)> {
    let mut receiver = Reassembly { next: 1, ..Reassembly::default() };
    let (mut levels, mut last, end) =
        (Vec::new(), record.flows[0].start.0 / 1000, record.flows[0].end.0 / 1000);
    for words in lines(record).filter(|words| words[1] == "recv" && words[2] == "server") {
        let at: u64 = words[0].parse().expect("microseconds");
        let (from, to) = words[6].split_once(':').expect("a range");
        let [from, to]: [u64; 2] = [from, to].map(|n| n.parse().expect("a number"));
        if at <= end && to > from.max(1) {
            levels.push((receiver.held(), at - last));
            last = at;
            receiver.take(from.max(1), to);
        }
    }
    levels.push((receiver.held(), end - last));
    levels
}

fn same(held: Held, levels: &mut [(u64, u64)]) {
    let total: u64 = levels.iter().map(|(_, lasted)| lasted).sum();
    let mean = levels.iter().map(|(held, lasted)| held * lasted).sum::<u64>() as f64 / total as f64;
    assert!((held.mean - mean).abs() <= 0.001 * mean + 1.0, "{held:?}, mean {mean}");
    levels.sort_unstable();
    let mut lasted = 0;
    let p95 = levels.iter().find(|level| {
        lasted += level.1;
        lasted * 100 >= total * 95
    });
    let p95 = p95.map_or(0.0, |level| level.0 as f64);
    assert!((held.p95.as_f64() - p95).abs() <= 0.01 * p95 + 1.0, "{held:?}, p95 {p95}");
    assert_eq!(held.max.0, levels.last().map_or(0, |level| level.0));
}

#[test]
fn out_of_order_bytes_are_those_of_the_trace() {
    let text = one_path(", loss = { kind = \"packet\", probability = 0.02 }", "", "", "");
    let record = checked(&text, 3);
    let (flow, subflow) = (&record.flows[0], &record.flows[0].subflows[0]);
    assert!(flow.ofo.p95.0 > 0 && flow.waiting_for_others.is_none());
    same(flow.ofo, &mut held_in(&record));
    assert_eq!(flow.ofo, subflow.ofo);
    let lasted = held_in(&record).iter().filter(|(held, _)| *held > 0).map(|(_, lasted)| lasted).sum::<u64>();
    assert!(
        (flow.ofo.time.as_secs_f64() - lasted as f64 * 1e-6).abs() < 1e-3,
        "{:?}, trace {lasted} us",
        flow.ofo
    );
}

/// The parts of the bytes out of order: the connection and its subflows together hold all of them.
fn adds_up(flow: &FlowRecord) {
    let meta = flow.waiting_for_others.expect("MPTCP");
    let parts = meta.mean + flow.subflows.iter().map(|subflow| subflow.ofo.mean).sum::<f64>();
    assert!(flow.subflows.iter().all(|subflow| subflow.ofo.mean > 100.0), "{flow:?}");
    assert!((flow.ofo.mean / parts - 1.0).abs() < 1e-9, "{} and {parts}", flow.ofo.mean);
}

/// Without losses all of it waits for the other subflow; with losses the parts add up to the whole.
#[test]
fn out_of_order_bytes_have_parts() {
    let paths = |loss: &str| {
        let path = |name: &str, delay: u64| {
            format!(
                "[[path]]\nname = \"{name}\"\nboth = {{ rate = \"5Mbit/s\", delay = \"{delay}ms\", queue = \"500p\"{loss} }}\n"
            )
        };
        let text = format!(
            "name = \"parts\"\nduration = \"20s\"\n{}{}[[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
             transport = {{ kind = \"mptcp\", scheduler = \"roundrobin\", \
             receive_buffer = \"256KiB\", receive_buffer_max = \"256KiB\" }}\n",
            path("near", 20),
            path("far", 200)
        );
        checked(&text, 1).flows.remove(0)
    };
    let clean = paths("");
    assert!(clean.ofo.mean > 10_000.0);
    assert_eq!(clean.waiting_for_others, Some(clean.ofo));
    assert!(
        clean.subflows.iter().all(|subflow| subflow.ofo == Held::default() && subflow.segments_late == 0)
    );
    let lossy = paths(", loss = { kind = \"packet\", probability = 0.01 }");
    let meta = lossy.waiting_for_others.expect("MPTCP");
    adds_up(&lossy);
    assert!(lossy.subflows.iter().all(|subflow| subflow.segments_late > 0));
    assert!(meta.max <= lossy.ofo.max && lossy.start == SimTime::ZERO);
}

/// The beam whose receiver holds data behind a gap is taken away in mid-transfer, and the other one tells the receiver.
#[test]
fn a_subflow_that_another_one_ends_holds_nothing() {
    let path = "both = { rate = \"3Mbit/s\", delay = \"100ms\", queue = \"200p\", loss = { kind = \"packet\", probability = 0.02 } }";
    let text = format!(
        "name = \"end\"\nduration = \"8s\"\n[[path]]\nname = \"a\"\n{path}\n[[path]]\nname = \"b\"\n{path}\n[[flow]]\n\
         name = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\ntransport = {{ kind = \"mptcp\", profile = \"linux-minrtt\" }}\n\
         [[event]]\nat = \"5s\"\nflow = \"bulk\"\ndo = {{ leave = \"b\" }}\n\
         [[event]]\nat = \"5s\"\nlink = \"b\"\nset = {{ up = false }}\n"
    );
    // In about one of seven the beam holds something then.
    for seed in 20..40 {
        adds_up(&checked(&text, seed).flows[0]);
    }
}

/// With `reassembly = "joint"` a segment has other subflows release what they hold; the TSNs of an association have gaps of
/// their own on no path, and all are counted on the first one.
#[test]
fn a_packet_counts_on_the_subflow_that_it_changes() {
    let two = |transport: &str| {
        let path = |name: &str, delay: u64| {
            format!(
                "[[path]]\nname = \"{name}\"\nboth = {{ rate = \"5Mbit/s\", delay = \"{delay}ms\", queue = \"500p\", \
                 loss = {{ kind = \"packet\", probability = 0.01 }} }}\n"
            )
        };
        let text = format!(
            "name = \"two\"\nduration = \"10s\"\n{}{}[[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
             transport = {{ {transport} }}\n",
            path("near", 20),
            path("far", 60)
        );
        checked(&text, 1).flows.remove(0)
    };
    adds_up(&two("kind = \"mptcp\", reassembly = \"joint\""));
    let association = two("kind = \"cmt-sctp\"");
    assert!(association.ofo.mean > 1_000.0);
    assert_eq!(
        [association.subflows[0].ofo, association.subflows[1].ofo],
        [association.ofo, Held::default()]
    );
}
