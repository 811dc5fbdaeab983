//! MPTCP over paths, over routers, and over paths that fail.

use proptest::prelude::*;
use units::{Bytes, SimTime};

use super::*;

/// Two paths of 10 and 5 Mbit/s between the same hosts.
fn two_paths(app: &str, transport: &str, extra: &str) -> String {
    format!(
        "name = \"two paths\"\nduration = \"30s\"\n\
         [[path]]\nname = \"geo\"\nboth = {{ rate = \"10Mbit/s\", delay = \"250ms\", queue = \"200p\" }}\n\
         [[path]]\nname = \"lte\"\nboth = {{ rate = \"5Mbit/s\", delay = \"30ms\", queue = \"100p\" }}\n\
         [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\napp = {{ kind = \"bulk\"{app} }}\n\
         transport = {{ kind = \"mptcp\"{transport} }}\n{extra}\n"
    )
}

fn event(at: u64, link: &str, set: &str) -> String {
    format!("[[event]]\nat = \"{at}ms\"\nlink = \"{link}\"\nset = {{ {set} }}\n")
}

#[test]
fn two_paths_carry_more_than_one() {
    let record = checked(&two_paths("", "", ""), 1);
    let flow = &record.flows[0];
    let goodput = flow.delivered.as_f64() * 8.0 / 30.0;
    assert!((9e6..15e6).contains(&goodput), "{goodput}");
    let duplex_links: Vec<_> = flow.subflows.iter().map(|subflow| subflow.duplex_link).collect();
    assert_eq!(duplex_links, [Some(0), Some(1)]);
    assert!(!flow.fell_back && flow.ofo.max > Bytes::ZERO && flow.ofo.mean > 0.0);
    let [first, second] = [0, 1].map(|i| flow.subflows[i].established.expect("both are"));
    assert!(second > first, "the join comes after the first handshake");
    let received: Bytes = flow.subflows.iter().map(|subflow| subflow.received).sum();
    assert!(received >= flow.delivered);
}

/// A terminal with two access links, each to a router of its own, and a server with two interfaces behind both.
fn routed(path_manager: &str) -> String {
    let mut text = String::from("name = \"mesh\"\nduration = \"20s\"\n");
    for (name, forward) in [("t", false), ("a", true), ("b", true), ("core", true), ("s", false)] {
        text += &format!("[[node]]\nname = \"{name}\"\nforward = {forward}\n");
    }
    let links = [
        ("ta", "t", "a"),
        ("tb", "t", "b"),
        ("ac", "a", "core"),
        ("bc", "b", "core"),
        ("c1", "core", "s"),
        ("c2", "core", "s"),
    ];
    for (name, a, b) in links {
        text += &format!(
            "[[link]]\nname = \"{name}\"\nends = [\"{a}\", \"{b}\"]\n\
             both = {{ rate = \"10Mbit/s\", delay = \"20ms\", queue = \"100p\" }}\n"
        );
    }
    text += "[[flow]]\nname = \"up\"\nfrom = \"t\"\nto = \"s\"\n";
    text + &format!("transport = {{ kind = \"mptcp\", path_manager = {path_manager} }}\n")
}

#[test]
fn the_triangle_leaves_out_the_addresses_of_the_first_pair() {
    let duplex_links = |via: &str| {
        let text = routed("{ kind = \"triangle\", subflows = 4 }") + via;
        checked(&text, 1).flows[0].subflows.iter().map(|subflow| subflow.duplex_link).collect::<Vec<_>>()
    };
    assert_eq!(
        duplex_links(""),
        [Some(0)],
        "the second address has none but the last one, which the first pair has"
    );
    assert_eq!(duplex_links("via = \"tb\"\n"), [Some(1), Some(0)]);
}

#[test]
fn the_triangle_begins_without_an_address() {
    let joins = "[[event]]\nat = \"2s\"\nflow = \"up\"\ndo = { join = \"ta\" }\n\
                 [[event]]\nat = \"2s\"\nflow = \"up\"\ndo = { join = \"tb\" }\n";
    let record = checked(&(routed("{ kind = \"triangle\" }") + joins), 1);
    assert!(!record.flows[0].subflows.is_empty(), "routing finds a way for what names no address");
}

#[test]
fn a_full_mesh_needs_routers() {
    let record = checked(&routed("\"fullmesh\""), 1);
    let flow = &record.flows[0];
    let mut duplex_links: Vec<_> = flow.subflows.iter().map(|subflow| subflow.duplex_link).collect();
    duplex_links.sort_unstable();
    assert_eq!(duplex_links, [Some(0), Some(0), Some(1), Some(1)], "two local by two remote addresses");
    assert!(flow.subflows.iter().all(|subflow| subflow.received > Bytes(10_000)));
    // The last link of a subflow is that of its remote address.
    assert!(record.links[8].bytes > Bytes(1_000_000) && record.links[10].bytes > Bytes(1_000_000));
}

#[test]
fn different_ports_take_different_ways() {
    let mut text = String::from("name = \"ports\"\nduration = \"10s\"\n");
    for (name, forward) in [("t", false), ("r1", true), ("r2", true), ("s", false)] {
        text += &format!("[[node]]\nname = \"{name}\"\nforward = {forward}\n");
    }
    let ends =
        [("in", "t", "r1"), ("x", "r1", "r2"), ("y", "r1", "r2"), ("z", "r1", "r2"), ("out", "r2", "s")];
    for (name, a, b) in ends {
        text += &format!(
            "[[link]]\nname = \"{name}\"\nends = [\"{a}\", \"{b}\"]\n\
             both = {{ rate = \"20Mbit/s\", delay = \"10ms\", queue = \"100p\" }}\n"
        );
    }
    text += "[[flow]]\nname = \"up\"\nfrom = \"t\"\nto = \"s\"\n\
             transport = { kind = \"mptcp\", path_manager = { kind = \"ndiffports\", subflows = 12 } }\n";
    let record = checked(&text, 1);
    assert_eq!(record.flows[0].subflows.len(), 12);
    assert!((1..4).all(|duplex_link| record.links[2 * duplex_link].packets > 100), "{:?}", record.links);
}

#[test]
fn without_a_capable_peer_there_is_one_path() {
    let record = checked(&two_paths(", size = \"1MB\"", ", peer_capable = false", ""), 1);
    let flow = &record.flows[0];
    assert!(flow.completed && flow.fell_back && flow.subflows.len() == 1);
    assert_eq!(record.links[2].packets, 0);
}

#[test]
fn one_path_takes_over_from_the_other() {
    let events = event(5_000, "geo", "up = false");
    let record = checked(&two_paths("", "", &events), 1);
    let arrivals = lines(&record).filter(|w| w[1] == "recv" && w[2] == "server" && w[3] == "bulk.1");
    let late: f64 = arrivals
        .filter(|w| w[0].parse::<u64>().unwrap() > 15_000_000)
        .map(|w| w[10].parse::<f64>().unwrap() * 8.0 / 15.0)
        .sum();
    assert!(late > 4e6, "lte is full: {late}");
    assert!(record.flows[0].failure.is_none());
    assert!(record.flows[0].delivered.as_f64() * 8.0 / 30.0 > 4e6);
}

#[test]
fn equal_seeds_are_equal() {
    let loss = "loss = { kind = \"packet\", probability = 0.02 }";
    let text = two_paths("", "", &(event(0, "geo", loss) + &event(0, "lte", loss)));
    let records = [3, 3, 4].map(|seed| checked(&text, seed));
    assert_eq!(records[0], records[1]);
    assert_ne!(records[0].flows, records[2].flows);
}

#[test]
fn losses_are_the_same_for_all_schedulers() {
    let losses = |scheduler: &str| {
        let loss = event(0, "lte.up", "loss = { kind = \"packet\", probability = 0.03 }");
        let record = checked(&two_paths("", &format!(", scheduler = \"{scheduler}\""), &loss), 2);
        let (mut entered, mut lost) = (0, Vec::new());
        for words in lines(&record) {
            match (words[1], words[2]) {
                ("send", "terminal") if words[3] == "bulk.1" => entered += 1,
                ("drop-queue", "lte.up") => entered -= 1,
                ("drop-error", "lte.up") => lost.push(entered),
                _ => {}
            }
        }
        (entered, lost)
    };
    let (first, second) = (losses("minrtt"), losses("roundrobin"));
    let common = first.0.min(second.0);
    let until = |lost: Vec<u64>| lost.into_iter().filter(|i| *i <= common).collect::<Vec<_>>();
    assert!(common > 500);
    assert_eq!(until(first.1), until(second.1));
}

#[derive(Clone, Debug)]
enum Fault {
    Rate(u64),
    Delay(u64),
    Loss(u64),
    Outage(u64),
}

fn fault() -> impl Strategy<Value = (u64, bool, Fault)> {
    let kind = prop_oneof![
        (200u64..20_000).prop_map(Fault::Rate),
        (1u64..400).prop_map(Fault::Delay),
        (0u64..20).prop_map(Fault::Loss),
        (1u64..5000).prop_map(Fault::Outage),
    ];
    (1u64..20_000, any::<bool>(), kind)
}

fn text_of((at, geo, fault): &(u64, bool, Fault)) -> String {
    let link = if *geo { "geo" } else { "lte" };
    match fault {
        Fault::Rate(kbit) => event(*at, link, &format!("rate = \"{kbit}kbit/s\"")),
        Fault::Delay(ms) => event(*at, link, &format!("delay = \"{ms}ms\"")),
        Fault::Loss(percent) => {
            let probability = *percent as f64 / 100.0;
            event(*at, link, &format!("loss = {{ kind = \"packet\", probability = {probability} }}"))
        }
        Fault::Outage(ms) => event(*at, link, "up = false") + &event(at + ms, link, "up = true"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever happens to the paths, a transfer is delivered whole once they work again.
    #[test]
    fn a_transfer_survives_everything(
        faults in prop::collection::vec(fault(), 0..12),
        size in 1u64..6_000_000,
        seed in 0u64..1000,
    ) {
        let mut events: String = faults.iter().map(text_of).collect();
        for link in ["geo", "lte"] {
            events += &event(25_001, link, "rate = \"5Mbit/s\", delay = \"20ms\", loss = \"none\", up = true");
        }
        let text = two_paths(&format!(", size = \"{size}B\""), "", &events).replace("30s", "600s");
        let record = checked(&text, seed);
        let flow = &record.flows[0];
        prop_assert!(flow.completed, "seed {seed}: {flow:?}");
        prop_assert_eq!(flow.delivered, Bytes(size));
        prop_assert!(record.end < SimTime::from_secs(600));
    }
}
