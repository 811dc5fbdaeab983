//! Properties of whole networks that users expect, in simulated time: full links, added paths, survival, profiles.

use std::sync::atomic::AtomicBool;

use network::{NodeId, Observe, Routes, Target, TargetId, Topology, World};
use scenario::{Document, Registries};
use trace::{RunRecord, SeriesKey};
use units::Bytes;

fn run(text: &str, seed: u64) -> RunRecord {
    let registries = Registries::builtin();
    let scenario = match Document::parse(text, "test.toml", &[], &registries) {
        Ok(document) => document.scenario,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    };
    let observe = Observe { series: true, trace: true };
    let record = World::new(&scenario, seed, observe).run(&AtomicBool::new(false));
    let record = record.expect("not cancelled");
    for link in &record.links {
        assert!((0.0..=1.0).contains(&link.utilisation), "capacity is never exceeded: {link:?}");
    }
    packets_are_conserved(&record);
    record
}

/// Each packet was received or dropped, but for those in flight in the last second of the run.
fn packets_are_conserved(record: &RunRecord) {
    let count = |events: &[&str]| {
        let events_of = record.trace.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
        events_of.filter(|event| events.contains(event)).count()
    };
    let (sent, seen) = (count(&["send"]), count(&["recv", "drop-queue", "drop-error", "drop-down"]));
    assert!(seen <= sent && sent - seen < 5_000, "{sent} sent, {seen} accounted for");
    let carried: u64 = record.links.iter().map(|link| link.packets).sum();
    assert_eq!(carried, record.packet_hops);
}

/// `paths` paths of 10 Mbit/s with a round-trip time of 500 ms and queues of one bandwidth-delay product. Delays vary by up to 0.1 ms: of two
/// paths exactly alike one may lose a second time to the burst that ends its recovery, and LIA takes minutes to make up for it.
fn paths(paths: usize, duration: u64, flow: &str, extra: &str) -> String {
    let mut text = format!("name = \"promise\"\nduration = \"{duration}s\"\n");
    for n in 0..paths {
        text += &format!(
            "[[path]]\nname = \"p{n}\"\n\
             both = {{ rate = \"10Mbit/s\", delay = {{ kind = \"uniform\", min = \"250ms\", max = \"250100us\", \
             reorder = false }}, queue = \"625kB\" }}\n"
        );
    }
    text + &format!("[[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n{flow}\n{extra}")
}

/// Mean goodput in bit/s after `from` seconds.
fn goodput_after(record: &RunRecord, from: f64) -> f64 {
    let series = &record.series;
    let rows = (0..series.len()).filter(|i| {
        series.key[*i] == SeriesKey::Flow(0)
            && series.metric[*i] == "goodput_bit_s"
            && series.at[*i].as_secs_f64() > from
    });
    let values: Vec<f64> = rows.map(|i| series.value[i]).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rate of one path. A full packet of the `linux` profile carries 1448 of 1500 bytes.
const LINK: f64 = 10e6;

#[test]
fn cubic_fills_a_geo_link() {
    let text =
        paths(1, 120, "transport = { kind = \"tcp\", profile = \"linux\", congestion = \"cubic\" }", "");
    let record = run(&text, 1);
    let goodput = goodput_after(&record, 60.0);
    assert!(goodput >= 0.95 * LINK * 1448.0 / 1500.0, "{goodput}");
    // A hole that is repaired after 60 s delivers what waited behind it before: at most the link and its queue.
    let waited = 8.0 * 1.25e6 / 60.0;
    assert!(goodput <= LINK * 1448.0 / 1500.0 + waited, "{goodput}");
    assert_eq!(record.links[0].drops_error, 0);
}

#[test]
fn two_paths_carry_twice_as_much() {
    for congestion in ["lia", "cubic"] {
        let flow = |kind: &str| {
            format!(
                "transport = {{ kind = \"{kind}\", profile = \"linux\", congestion = \"{congestion}\", \
                 receive_buffer_max = \"16MB\", send_buffer_max = \"16MB\" }}"
            )
        };
        let alone = if congestion == "lia" { flow("tcp").replace("lia", "newreno") } else { flow("tcp") };
        let one = goodput_after(&run(&paths(1, 180, &alone, ""), 1), 90.0);
        let two = goodput_after(&run(&paths(2, 180, &flow("mptcp"), ""), 1), 90.0);
        assert!(two >= 1.9 * one, "{congestion}: {two} is not twice {one}");
        assert!(two <= 2.0 * LINK);
    }
}

/// Any proper subset of three paths is cut for ever, at any time after establishment: every byte arrives.
#[test]
fn a_transfer_survives_the_cut_of_any_proper_subset() {
    let flow =
        "app = { kind = \"bulk\", size = \"6MB\" }\ntransport = { kind = \"mptcp\", profile = \"linux\" }";
    for subset in 1..7 {
        for at in [1_600, 2_150, 3_000, 4_700, 8_000] {
            let cut = |n| format!("[[event]]\nat = \"{at}ms\"\nlink = \"p{n}\"\nset = {{ up = false }}\n");
            let events: String = (0..3).filter(|n| subset & (1 << n) != 0).map(cut).collect();
            let record = run(&paths(3, 300, flow, &events), 1);
            let flow = &record.flows[0];
            assert!(flow.completed, "paths {subset:03b} cut at {at} ms: {flow:?}");
            assert_eq!((flow.delivered, flow.failure.as_deref()), (Bytes(6_000_000), None));
            assert_eq!(flow.delay.total(), 6_000_000, "every byte once");
        }
    }
}

/// Staggered cuts, also of the path that carried the handshake, and downloads.
#[test]
fn a_download_survives_staggered_cuts() {
    let flow = "opened_by = \"receiver\"\napp = { kind = \"bulk\", size = \"6MB\" }\n\
                transport = { kind = \"mptcp\", profile = \"linux\" }";
    for (first, second) in [(0, 1), (1, 0), (2, 0), (0, 2)] {
        let cut = |n, at| format!("[[event]]\nat = \"{at}ms\"\nlink = \"p{n}\"\nset = {{ up = false }}\n");
        let record = run(&paths(3, 300, flow, &(cut(first, 2_500) + &cut(second, 6_000))), 2);
        assert!(record.flows[0].completed, "{first} then {second}: {:?}", record.flows[0]);
    }
}

#[test]
fn every_profile_completes_a_transfer() {
    for profile in ["ns3", "opnet2007", "rfc", "linux", "scps", "stp"] {
        let one_path = ["scps", "stp"].contains(&profile);
        for (kind, n) in [("tcp", 1), ("mptcp", 2)].into_iter().take(if one_path { 1 } else { 2 }) {
            let loss = "[[event]]\nat = \"3s\"\nlink = \"p0\"\n\
                        set = { loss = { kind = \"packet\", probability = 0.01 } }\n";
            let flow = format!(
                "app = {{ kind = \"bulk\", size = \"2MB\" }}\n\
                 transport = {{ kind = \"{kind}\", profile = \"{profile}\" }}"
            );
            let record = run(&paths(n, 600, &flow, loss), 1);
            let flow = &record.flows[0];
            assert!(flow.completed && flow.delivered == Bytes(2_000_000), "{profile} {kind}: {flow:?}");
            assert_eq!(flow.subflows.len(), n);
            assert!(!flow.fell_back && flow.failure.is_none());
        }
    }
}

/// Number of shortest paths from a node to a target, whose host is `to`.
fn ways(routes: &Routes, target: TargetId, from: NodeId, to: NodeId) -> u64 {
    let onward = routes.next_hops(target, from).iter().map(|&link| routes.topology().head(link));
    if from == to { 1 } else { onward.map(|node| ways(routes, target, node, to)).sum() }
}

/// The demonstration that is shipped, not a copy of it: from each terminal to its partner lead 3 * 4 * 6 * 4 * 3 ways.
#[test]
fn the_shipped_layered_graph_has_864_paths() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/layered-graph.toml");
    let text = std::fs::read_to_string(file).expect("a shipped scenario");
    let document =
        Document::parse(&text, file, &[], &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.scenario;
    let forward = scenario.nodes.iter().map(|node| node.forward);
    let mut routes = Routes::new(Topology::new(forward, scenario.duplex_links.iter().map(|link| link.ends)));
    for flow in &scenario.flows {
        let target = routes.target(Target { node: flow.to, interface: None });
        assert_eq!(ways(&routes, target, flow.from, flow.to), 864, "{}", flow.name);
    }
}
