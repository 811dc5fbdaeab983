//! Packets that cross several links, and flows that share them.

use transport::AddressPair;
use units::Bytes;

use super::*;
use crate::build::addresses::connected_pairs;
use crate::{Routes, Topology};

/// Two terminals and two servers with a router at each side and three equal links between the routers.
fn dumbbell(ecmp: &str) -> String {
    let mut text = format!("name = \"dumbbell\"\nduration = \"10s\"\n[routing]\necmp = \"{ecmp}\"\n");
    for (name, forward) in
        [("t1", false), ("t2", false), ("r1", true), ("r2", true), ("s1", false), ("s2", false)]
    {
        text += &format!("[[node]]\nname = \"{name}\"\nforward = {forward}\n");
    }
    for (a, b) in [("t1", "r1"), ("t2", "r1"), ("r2", "s1"), ("r2", "s2")] {
        text += &format!(
            "[[link]]\nname = \"{a}-{b}\"\nends = [\"{a}\", \"{b}\"]\n\
             both = {{ rate = \"100Mbit/s\", delay = \"1ms\", queue = \"100p\" }}\n"
        );
    }
    for i in 1..=3 {
        text += &format!(
            "[[link]]\nname = \"trunk{i}\"\nends = [\"r1\", \"r2\"]\n\
             both = {{ rate = \"10Mbit/s\", delay = \"30ms\", queue = \"50p\" }}\n"
        );
    }
    for (i, start) in [(1, 0), (2, 1)] {
        text += &format!(
            "[[flow]]\nname = \"flow{i}\"\nfrom = \"t{i}\"\nto = \"s{i}\"\nstart = \"{start}s\"\n\
             transport = {{ kind = \"tcp\", congestion = \"newreno\" }}\n"
        );
    }
    text
}

/// Bytes carried from `r1` to `r2` by each trunk.
fn trunks(record: &RunRecord) -> Vec<Bytes> {
    record.links[8..].iter().step_by(2).map(|link| link.bytes).collect()
}

#[test]
fn a_flow_keeps_its_way() {
    for seed in 1..=5 {
        let record = checked(&dumbbell("flow"), seed);
        let used = trunks(&record).into_iter().filter(|bytes| *bytes > Bytes(1_000_000)).count();
        assert!(used == 1 || used == 2, "{used} trunks for two flows");
        assert_eq!(record.flows[0].subflows[0].duplex_link, Some(0), "its own access link");
        let total: f64 = record.flows.iter().map(|flow| flow.delivered.as_f64() * 8.0 / 10.0).sum();
        assert!(total < used as f64 * 10e6);
    }
}

#[test]
fn packets_spread_and_overtake() {
    let record = checked(&dumbbell("packet"), 1);
    let bytes = trunks(&record);
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(least.as_f64() > 0.8 * most.as_f64(), "{bytes:?}");
}

#[test]
fn another_flow_does_not_change_the_way_of_the_first() {
    let way = |text: &str| {
        let record = run(text, 7, NOTHING);
        trunks(&record).iter().position(|bytes| *bytes > Bytes(1_000_000)).unwrap()
    };
    let both = dumbbell("flow");
    let alone = both.split("[[flow]]\nname = \"flow2\"").next().unwrap();
    let record = run(alone, 7, NOTHING);
    assert_eq!(record.flows.len(), 1);
    let first = way(alone);
    assert!(trunks(&run(&both, 7, NOTHING))[first] > Bytes(1_000_000));
}

#[test]
fn via_chooses_the_first_duplex_link() {
    let text = "name = \"two access links\"\nduration = \"5s\"\n\
        [[node]]\nname = \"t\"\nforward = false\n[[node]]\nname = \"wlan\"\n[[node]]\nname = \"lte\"\n\
        [[node]]\nname = \"core\"\n[[node]]\nname = \"s\"\nforward = false\n";
    let mut text = text.to_owned();
    for (a, b) in [("t", "wlan"), ("t", "lte"), ("wlan", "core"), ("lte", "core"), ("core", "s")] {
        text += &format!(
            "[[link]]\nname = \"{a}-{b}\"\nends = [\"{a}\", \"{b}\"]\n\
             both = {{ rate = \"10Mbit/s\", delay = \"10ms\", queue = \"50p\" }}\n"
        );
    }
    text += "[[flow]]\nname = \"up\"\nfrom = \"t\"\nto = \"s\"\nvia = \"t-lte\"\ntransport = { kind = \"tcp\" }\n";
    let record = checked(&text, 1);
    assert!(record.links[2].bytes > Bytes(1_000_000), "out over lte");
    assert!(record.links[3].bytes > Bytes(10_000), "and back, to the same address");
    assert_eq!((record.links[0].packets, record.links[1].packets), (0, 0));
    assert_eq!(record.flows[0].subflows[0].duplex_link, Some(1));
}

/// A dead end at one host is no path, even if that host would pass packets on.
#[test]
fn a_duplex_link_that_leads_back_connects_nothing() {
    let topology = Topology::new([true, true, false], [[0, 1], [0, 2], [0, 2]]);
    let pairs = connected_pairs(&mut Routes::new(topology), 0, 2);
    let expected = [(1, 0), (2, 1)];
    assert_eq!(pairs, expected.map(|(l, r)| AddressPair { local: Some(l), remote: Some(r) }));
}
