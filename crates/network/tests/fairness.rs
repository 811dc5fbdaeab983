//! The purpose of coupling: two subflows over one bottleneck take as much as one TCP connection, not as two. And what it
//! does where there is nothing to couple.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use trace::RunRecord;

/// Goodput of an MPTCP connection of two subflows over that of a NewReno connection beside it, on a wide link with a
/// round-trip time of 40 ms that loses 2 packets in 1000; mean over four seeds.
fn share(congestion: &str) -> f64 {
    let flow = |name: &str, transport: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\n\
             transport = {{ {transport}, profile = \"rfc\", receive_buffer = \"16MiB\" }}\n"
        )
    };
    let text = format!(
        "name = \"shared\"\nduration = \"100s\"\n[[path]]\nname = \"shared\"\n\
         both = {{ rate = \"100Mbit/s\", delay = \"20ms\", queue = \"1000p\" }}\n\
         up = {{ loss = {{ kind = \"packet\", probability = 0.002 }} }}\ndown = {{}}\n{}{}",
        flow(
            "bundle",
            &format!(
                "kind = \"mptcp\", congestion = \"{congestion}\", \
                 path_manager = {{ kind = \"ndiffports\", subflows = 2 }}"
            )
        ),
        flow("competitor", "kind = \"tcp\", congestion = \"newreno\""),
    );
    let mut delivered = [0.0; 2];
    for seed in 1..=4 {
        for (sum, flow) in delivered.iter_mut().zip(run(&text, seed).flows) {
            *sum += flow.delivered.as_f64();
        }
    }
    delivered[0] / delivered[1]
}

fn run(text: &str, seed: u64) -> RunRecord {
    let registries = Registries::builtin();
    let document = Document::parse(text, "test.toml", &[], &registries);
    let scenario = document.unwrap_or_else(|e| panic!("{e}\n{text}")).scenario;
    let world = World::new(&scenario, seed, Observe { series: true, trace: false });
    world.run(&AtomicBool::new(false)).expect("not cancelled")
}

/// A connection of a single subflow over a path of 10 Mbit/s.
fn alone(congestion: &str, path: &str, seed: u64) -> RunRecord {
    let text = format!(
        "name = \"alone\"\nduration = \"60s\"\n[[path]]\nname = \"p\"\n\
         both = {{ rate = \"10Mbit/s\", queue = \"1000p\", {path} }}\n\
         [[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\n\
         transport = {{ kind = \"mptcp\", profile = \"rfc\", receive_buffer = \"16MiB\", path_manager = \"default\", \
         congestion = {congestion} }}\n"
    );
    run(&text, seed)
}

#[test]
fn uncoupled_subflows_take_twice_a_competitor() {
    let share = share("newreno");
    assert!((1.7..2.3).contains(&share), "{share}");
}

#[test]
fn coupled_subflows_take_as_much_as_a_competitor() {
    for congestion in ["lia", "olia", "balia"] {
        let share = share(congestion);
        assert!((0.7..1.3).contains(&share), "{congestion}: {share}");
    }
}

/// To the byte: the data sent, acknowledged and delivered, and every sample of the windows.
#[test]
fn alone_a_coupled_subflow_is_newreno() {
    for delay in ["20ms", "280ms"] {
        let path = format!("delay = \"{delay}\", loss = {{ kind = \"packet\", probability = 0.001 }}");
        for seed in 1..=3 {
            let reference = alone("\"newreno\"", &path, seed);
            assert!(reference.flows[0].subflows[0].sending.fast_recoveries > 1);
            for congestion in ["lia", "olia", "balia"] {
                let coupled = alone(&format!("\"{congestion}\""), &path, seed);
                assert_eq!(coupled.flows, reference.flows, "{congestion}, {delay}, seed {seed}");
                assert_eq!(coupled.links, reference.links, "{congestion}, {delay}, seed {seed}");
                let windows = |record: &RunRecord| samples(record, "cwnd_bytes");
                assert_eq!(windows(&coupled), windows(&reference), "{congestion}, {delay}, seed {seed}");
            }
        }
    }
}

/// It aims at ten segments in the queue. On a short path the window soon recovers from its drains, so that it carries
/// nearly what Vegas does with that aim, and queues less.
#[test]
fn alone_wvegas_is_vegas_with_ten_segments() {
    let path = "delay = \"2ms\"";
    let [wvegas, vegas, newreno] =
        ["\"wvegas\"", "{ kind = \"vegas\", alpha = 10, beta = 10 }", "\"newreno\""]
            .map(|c| alone(c, path, 1));
    let delivered = |record: &RunRecord| record.flows[0].delivered.as_f64();
    let queue = |record: &RunRecord| record.links[0].queue_delay_mean.as_secs_f64() / 1.2e-3;
    let shown = [&wvegas, &vegas, &newreno].map(|r| (delivered(r), queue(r)));
    assert!(samples(&wvegas, "alpha_segments").ends_with(&[10.0]));
    assert!((9.0..11.0).contains(&queue(&vegas)) && queue(&wvegas) < queue(&vegas), "{shown:?}");
    assert!(delivered(&wvegas) > 0.95 * delivered(&vegas), "{shown:?}");
    assert!(queue(&newreno) > 500.0, "{shown:?}");
    assert_eq!(wvegas.links[0].drops_queue + vegas.links[0].drops_queue, 0);
}

fn samples(record: &RunRecord, metric: &str) -> Vec<f64> {
    let series = &record.series;
    (0..series.len()).filter(|i| series.metric[*i] == metric).map(|i| series.value[i]).collect()
}
