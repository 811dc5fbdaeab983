//! What coupling is for: two subflows over one bottleneck take as much as one TCP connection, not as two.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};

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
    let registries = Registries::builtin();
    let document = Document::parse(&text, "test.toml", &[], &registries);
    let scenario = document.unwrap_or_else(|e| panic!("{e}\n{text}")).scenario;
    let mut delivered = [0.0; 2];
    for seed in 1..=4 {
        let world = World::new(&scenario, &registries, seed, Observe { series: false, trace: false });
        let record = world.run(&AtomicBool::new(false)).expect("nobody cancels");
        for (sum, flow) in delivered.iter_mut().zip(&record.flows) {
            *sum += flow.delivered.as_f64();
        }
    }
    delivered[0] / delivered[1]
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
