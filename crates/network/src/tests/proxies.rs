//! Proxies: where connections end, what a proxy holds, and what its legs cost.

use trace::{JoinRecord, LegRecord};
use units::Bytes;

use super::*;

/// A terminal, a gateway with a proxy, and a server; `legs` are the keys of both directions of the two links.
fn split(keys: &str, flow: &str, legs: [&str; 2]) -> String {
    let proxy = format!("[[proxy]]\nname = \"pep\"\nnode = \"gateway\"\n{keys}\n");
    without(flow, legs) + &proxy
}

/// The same without the proxy.
fn without(flow: &str, [near, far]: [&str; 2]) -> String {
    format!(
        "name = \"test\"\nduration = \"60s\"\n\
         [[path]]\nname = \"near\"\nto = \"gateway\"\nboth = {{ {near} }}\n\
         [[path]]\nname = \"far\"\nfrom = \"gateway\"\nboth = {{ {far} }}\n\
         [[flow]]\nname = \"bulk\"\n{flow}\n",
    )
}

/// Data from the terminal to the server.
fn upload(app: &str, transport: &str) -> String {
    format!(
        "from = \"terminal\"\nto = \"server\"\napp = {{ kind = \"bulk\"{app} }}\n\
         transport = {{ kind = \"tcp\"{transport} }}"
    )
}

fn proxy(kind: &str, client: &str, server: &str) -> String {
    format!("kind = \"{kind}\"\nclient = {{ {client} }}\nserver = {{ {server} }}")
}

fn tcp(keys: &str) -> String {
    let side = format!("kind = \"tcp\"{keys}");
    proxy("split", &side, &side)
}

const GEO: [&str; 2] = [
    "rate = \"10Mbit/s\", delay = \"300ms\", queue = \"1000p\"",
    "rate = \"100Mbit/s\", delay = \"10ms\", queue = \"1000p\"",
];

/// Goodput from 20 to 60 s, in bit/s: slow start is over by then.
fn goodput(text: &str, seed: u64) -> f64 {
    let delivered = |duration: &str| {
        let text = text.replace("duration = \"60s\"", &format!("duration = \"{duration}\""));
        run(&text, seed, NOTHING).flows[0].delivered.as_f64()
    };
    (delivered("60s") - delivered("20s")) * 8.0 / 40.0
}

#[test]
fn a_transfer_passes_a_proxy_byte_by_byte_in_both_directions() {
    for [from, to] in [["terminal", "server"], ["server", "terminal"]] {
        for opener in ["sender", "receiver"] {
            let flow = format!(
                "from = \"{from}\"\nto = \"{to}\"\nopened_by = \"{opener}\"\n\
                 app = {{ kind = \"bulk\", size = \"1MB\" }}\ntransport = {{ kind = \"tcp\" }}"
            );
            let record = checked(&split(&tcp(""), &flow, GEO), 1);
            let flow = &record.flows[0];
            assert!(flow.completed && flow.delivered == Bytes(1_000_000), "{from}, opened by {opener}");
            assert_eq!(flow.delay.total(), 1_000_000, "one delay from end to end for each byte");
            let places: Vec<_> = flow.legs.iter().map(|leg| (leg.leg, leg.duplex_link)).collect();
            let links = if from == "terminal" { [0, 1] } else { [1, 0] };
            assert_eq!(places, [(0, Some(links[0])), (1, Some(links[1]))]);
            assert!(flow.legs.iter().all(|leg| leg.received == Bytes(1_000_000)), "{:?}", flow.legs);
            let held: Vec<bool> = flow.legs.iter().map(|leg| leg.held.is_some()).collect();
            assert_eq!(held, [false, true], "the data sender is no proxy");
            assert!(
                flow.legs.iter().all(|leg| leg.sending.srtt_mean < Some(units::Nanos::from_millis(1500)))
            );
        }
    }
}

#[test]
fn the_handshake_is_early_or_late() {
    let flow = upload(", size = \"1kB\"", "");
    let run = |handshake: &str| {
        let keys = format!("handshake = \"{handshake}\"\n{}", tcp(""));
        checked(&split(&keys, &flow, GEO), 1)
    };
    // Nanoseconds per byte of the links, and one-way delays.
    let ([near, far], [d, e]) = ([800, 80], [300_000_000, 10_000_000]);
    let early = run("early");
    let sizes: Vec<u64> = lines(&early)
        .filter(|words| words[1] == "send" && words[2] == "terminal")
        .map(|words| words[10].parse().expect("a size"))
        .collect();
    let (syn, data) = (sizes[0], sizes[1]);
    // Three crossings of the first leg, as without a proxy; the connection with the server is open by then.
    let first = (2 * syn + data) * near + 3 * d;
    assert_eq!(early.flows[0].end, SimTime(first + data * far + e));
    // The SYN/ACK waits for a round trip of the second leg.
    assert_eq!(run("late").flows[0].end, SimTime(first + (2 * syn + data) * far + 3 * e));
}

/// N segments leave the sender in r rounds of slow start; the proxy passes each on as it comes, and the leg with the
/// longer round trip decides: T = 3 * d + (r - 1) * max(RTT) + e. A late SYN/ACK adds the round trip of the second leg.
#[test]
fn slow_start_over_two_legs_takes_the_rounds_of_the_slower() {
    let fast = |delay: u64| format!("rate = \"100Gbit/s\", delay = \"{delay}ms\", queue = \"10000p\"");
    let keys = ", profile = \"rfc\", initial_window = 10, ack_every = 1, send_buffer = \"50MB\", \
                receive_buffer = \"50MB\", congestion = \"newreno\"";
    let cases = [(300, 10), (10, 300), (100, 100)];
    for ((d, e), handshake) in cases.into_iter().flat_map(|legs| ["early", "late"].map(|when| (legs, when))) {
        let flow = upload(", size = \"913240B\"", keys);
        let proxy = format!("handshake = \"{handshake}\"\n{}", tcp(keys));
        let flow = &checked(&split(&proxy, &flow, [&fast(d), &fast(e)]), 1).flows[0];
        let segments = flow.legs[0].sending.segments;
        // 10 + 20 + 40 + ... segments.
        let rounds = (1..).find(|r| 10 * ((1 << r) - 1) >= segments).expect("some number");
        let opened = if handshake == "late" { 3 * d + 2 * e } else { (2 * e + d).max(3 * d) } as f64;
        let expected = (opened + f64::from(rounds - 1) * 2.0 * d.max(e) as f64 + e as f64) * 1e-3;
        let found = seconds(flow.end);
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{handshake}, {d} and {e} ms: {found} s, {expected} by the formula"
        );
    }
}

#[test]
fn a_small_buffer_is_emptied_once_per_round_trip_of_the_slower_leg() {
    let leg = |delay: u64| format!("rate = \"100Mbit/s\", delay = \"{delay}ms\", queue = \"1000p\"");
    let fixed = ", profile = \"rfc\", send_buffer = \"60kB\", receive_buffer = \"60kB\"";
    // In the default profile a receive buffer grows, and counts memory.
    let kept = ", send_buffer = \"60kB\", receive_buffer = \"60kB\", receive_buffer_max = \"60kB\", receive_counts = \"payload\"";
    let large = ", profile = \"rfc\", send_buffer = \"5MB\", receive_buffer = \"5MB\"";
    for (d, e, buffer) in [(300, 10, fixed), (10, 300, fixed), (300, 10, kept), (10, 300, kept)] {
        let text = split(&tcp(buffer), &upload("", large), [&leg(d), &leg(e)]);
        let record = checked(&text, 1);
        let expected = 60_000.0 * 8.0 / (2.0 * d.max(e) as f64 * 1e-3);
        let found = goodput(&text, 1);
        // Whole segments, which take some milliseconds of their own.
        assert!((found / expected - 1.0).abs() < 0.03, "{d} and {e} ms: {found} bit/s, {expected}");
        let held = record.flows[0].legs[1].held.expect("a proxy").0;
        assert!(held.max <= Bytes(120_000), "{held:?}: a receive buffer and a send buffer");
    }
}

#[test]
fn a_loss_costs_by_the_round_trip_of_its_leg_alone() {
    let lossy = "rate = \"100Mbit/s\", delay = \"10ms\", queue = \"1000p\", \
                 loss = { kind = \"packet\", probability = 0.01 }";
    let large = ", send_buffer = \"5MB\", receive_buffer = \"5MB\", congestion = \"newreno\"";
    let mean = |text: &str| (1..=4).map(|seed| goodput(text, seed)).sum::<f64>() / 4.0;
    let direct = |from: &str, to: &str| {
        let flow = upload("", large).replace("terminal", from).replace("\"server\"", &format!("\"{to}\""));
        mean(&without(&flow, [GEO[0], lossy]))
    };
    let alone = direct("terminal", "gateway").min(direct("gateway", "server"));
    let whole = direct("terminal", "server");
    let text = split(&tcp(large), &upload("", large), [GEO[0], lossy]);
    let found = mean(&text);
    assert!((found / alone - 1.0).abs() < 0.05, "{found} with the proxy, {alone} the slower leg alone");
    assert!(found > 5.0 * whole, "{found} with the proxy, {whole} without");
}

#[test]
fn requests_and_answers_pass_and_both_directions_close() {
    let flow = "from = \"server\"\nto = \"terminal\"\napp = { kind = \"http\" }\n\
                transport = { kind = \"tcp\" }";
    let record = checked(&split(&tcp(""), flow, GEO), 1);
    let flow = &record.flows[0];
    assert!(flow.completed && flow.pages[0].end.is_some(), "{:?}", flow.failure);
    assert!(flow.legs.len() >= 4 && flow.legs.len().is_multiple_of(2), "each connection has two legs");
}

#[test]
fn a_reset_takes_both_connections_with_it() {
    let text = split(&tcp(""), &upload("", ""), GEO)
        + "[[event]]\nat = \"10s\"\nflow = \"bulk\"\ndo = { abort = \"reset\", end = \"server\" }\n";
    let record = checked(&text, 1);
    let flow = &record.flows[0];
    assert!(flow.failure.is_some(), "the server has reset its connection");
    let (_, lost) = flow.legs[1].held.expect("a proxy");
    assert!(lost > Bytes::ZERO, "what the proxy had acknowledged is lost");
    let last = flow.last_delivery.map(seconds);
    assert!(last.is_some_and(|at| at <= 10.1), "{last:?}");
}

/// `Relay::check` asserts after each step that what the proxy has acknowledged is delivered or held by it.
#[test]
fn random_faults_lose_nothing_at_a_proxy() {
    for seed in 1..=24 {
        let loss = 0.003 * (seed % 4) as f64;
        let faults = format!(
            ", loss = {{ kind = \"packet\", probability = {loss} }}, \
             faults = {{ duplicate = 0.01, reorder = 0.02, reorder_delay = \"30ms\", corrupt = 0.005 }}"
        );
        let legs = GEO.map(|leg| format!("{}{faults}", leg.replace("300ms", "60ms")));
        let buffer = ["20kB", "100kB", "2MB"][seed as usize % 3];
        let side = format!(", send_buffer = \"{buffer}\", receive_buffer = \"{buffer}\"");
        let handshake = ["early", "late"][seed as usize % 2];
        let keys = format!("handshake = \"{handshake}\"\n{}", tcp(&side));
        let down = "[[event]]\nat = \"2s\"\nlink = \"far\"\nset = { up = false }\n\
                    [[event]]\nat = \"4s\"\nlink = \"far\"\nset = { up = true }\n";
        let text = split(&keys, &upload(", size = \"300kB\"", ""), [&legs[0], &legs[1]]) + down;
        let flow = &checked(&text, seed).flows[0];
        assert!(flow.completed && flow.delivered == Bytes(300_000), "seed {seed}: {:?}", flow.failure);
    }
}

#[test]
fn two_proxies_make_three_legs() {
    let text = "name = \"test\"\nduration = \"60s\"\n\
        [[path]]\nname = \"lan\"\nto = \"modem\"\nboth = { rate = \"100Mbit/s\", delay = \"1ms\" }\n\
        [[path]]\nname = \"satellite\"\nfrom = \"modem\"\nto = \"gateway\"\n\
        both = { rate = \"10Mbit/s\", delay = \"300ms\", queue = \"1000p\" }\n\
        [[path]]\nname = \"wan\"\nfrom = \"gateway\"\nboth = { rate = \"100Mbit/s\", delay = \"10ms\" }\n\
        [[proxy]]\nname = \"modem\"\nnode = \"modem\"\nkind = \"split\"\nclient = { kind = \"tcp\" }\n\
        server = { kind = \"tcp\", congestion = \"hybla\", initial_ssthresh = \"64KiB\" }\n\
        [[proxy]]\nname = \"gateway\"\nlike = \"modem\"\nnode = \"gateway\"\n\
        [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
        app = { kind = \"bulk\", size = \"2MB\" }\ntransport = { kind = \"tcp\" }\n";
    let flow = &checked(text, 1).flows[0];
    assert!(flow.completed);
    let places = |leg: &LegRecord| (leg.leg, leg.from, leg.to, leg.duplex_link);
    let found: Vec<_> = flow.legs.iter().map(places).collect();
    // Nodes in the order of the paths: terminal, modem, gateway, server.
    assert_eq!(found, [(0, 0, 1, Some(0)), (1, 1, 2, Some(1)), (2, 2, 3, Some(2))]);
}

#[test]
fn a_client_with_mptcp_falls_back_at_a_split_proxy() {
    let flow = upload(", size = \"1MB\"", "").replace("\"tcp\"", "\"mptcp\"");
    let flow = &checked(&split(&tcp(""), &flow, GEO), 1).flows[0];
    assert!(flow.completed && flow.fell_back, "{:?}", flow.failure);
    assert_eq!(flow.subflows.len(), 1);
}

/// A direct path beside the one with the proxy; the first subflow uses it.
fn beside(keys: &str, size: &str) -> String {
    let flow = upload(&format!(", size = \"{size}\""), ", profile = \"linux-minrtt\"")
        .replace("\"tcp\"", "\"mptcp\"");
    let flow = flow.replace("to = \"server\"", "to = \"server\"\nvia = \"cellular\"");
    split(keys, &flow, GEO)
        + "[[path]]\nname = \"cellular\"\nboth = { rate = \"2Mbit/s\", delay = \"30ms\", queue = \"100p\" }\n"
}

#[test]
fn a_split_proxy_refuses_to_join_what_it_does_not_know() {
    let record = checked(&beside(&tcp(""), "1MB"), 1);
    let flow = &record.flows[0];
    assert!(flow.completed && !flow.fell_back, "{:?}", flow.failure);
    let carried: Vec<u64> = flow.subflows.iter().map(|subflow| subflow.received.0).collect();
    assert_eq!(carried.iter().sum::<u64>(), 1_000_000, "{carried:?}");
    assert_eq!(carried[0], 1_000_000, "all over the path beside the proxy");
    let failed = |from: usize, to: usize| JoinRecord {
        connection: 0,
        subflow: 1,
        from,
        to,
        duplex_link: Some(0),
        failure: "the answer to MP_JOIN had no MP_JOIN",
    };
    let text = beside(&tcp(""), "1MB");
    let nodes = scenario(&text).nodes;
    let node = |name: &str| nodes.iter().position(|node| node.name == name).expect("a node");
    assert_eq!(flow.failed_joins, [failed(node("terminal"), node("gateway"))]);
    // The sender of a download is the server, to whom the join never came.
    let down = text.replace(
        "from = \"terminal\"\nto = \"server\"",
        "from = \"server\"\nto = \"terminal\"\nopened_by = \"receiver\"",
    );
    let flow = &checked(&down, 1).flows[0];
    assert_eq!(
        (flow.subflows.len(), flow.failed_joins.clone()),
        (1, vec![failed(node("terminal"), node("gateway"))])
    );
    let alone = run(&beside(&tcp(""), "1MB").replace("[[proxy]]", "[[proxy]]\nflows = [\"bulk\"]"), 1, ALL);
    assert_eq!(alone, record, "the same flows, named");
    let none = &run(&text.replace("[[proxy]]", "[[proxy]]\nflows = []"), 1, ALL).flows[0];
    assert_eq!((none.failed_joins.len(), none.legs.len()), (0, 0), "it intercepts none");
    assert!(none.subflows[1].received > Bytes(100_000), "the join reaches the server");
}

/// A proxy that is the client of MPTCP towards the server, with the split proxy on one of its two ways.
#[test]
fn a_join_that_a_proxy_asked_for_is_its_own() {
    let mptcp = "kind = \"mptcp\"";
    let first = format!("[[proxy]]\nname = \"box\"\nnode = \"box\"\n{}\n", proxy("mptcp", mptcp, mptcp));
    let text = beside(&tcp(""), "1MB")
        .replace("name = \"near\"\n", "name = \"near\"\nfrom = \"box\"\n")
        .replace("name = \"cellular\"\n", "name = \"cellular\"\nfrom = \"box\"\n")
        .replace("via = \"cellular\"\n", "via = \"home\"\n")
        + "[[path]]\nname = \"home\"\nto = \"box\"\nboth = { rate = \"1Gbit/s\", delay = \"1ms\" }\n"
        + &first;
    let nodes = scenario(&text).nodes;
    let record = checked(&text, 1);
    let [join] = &record.flows[0].failed_joins[..] else { panic!("{:?}", record.flows[0].failed_joins) };
    assert_eq!([join.from, join.to].map(|node| nodes[node].name.as_str()), ["box", "gateway"]);
}

#[test]
fn only_joins_that_were_decided_have_failed() {
    let lost = |extra: &str| {
        run(&(beside(&tcp(""), "1MB").replace("[[proxy]]", "[[proxy]]\nflows = []") + extra), 1, ALL)
    };
    let down = "[[event]]\nat = \"0s\"\nlink = \"near\"\nset = { up = false }\n";
    assert_eq!(lost(down).flows[0].failed_joins, [], "the SYN is still being sent");
    let abort = "[[event]]\nat = \"300ms\"\nflow = \"bulk\"\ndo = { abort = \"reset\" }\n";
    let flow = &lost(abort).flows[0];
    assert!(flow.failure.is_some() && flow.subflows.len() == 2, "aborted while it joins");
    assert_eq!(flow.failed_joins, []);
    let strips = beside(&tcp(""), "1MB").replace("[[proxy]]", "[[proxy]]\nflows = []");
    let strips = strips.replace("delay = \"300ms\"", "delay = \"300ms\", strip_mptcp = true");
    let found = run(&strips, 1, ALL);
    assert_eq!(found.flows[0].failed_joins.len(), 1, "a middlebox took MP_JOIN away");
    assert_ne!(found.flows[0].failed_joins[0].to, found.flows[0].failed_joins[0].from);
}

#[test]
fn a_proxy_that_ends_mptcp_joins_all_subflows_that_reach_it() {
    let mptcp = "kind = \"mptcp\"";
    let text = "name = \"test\"\nduration = \"60s\"\n\
        [[path]]\nname = \"satellite\"\nto = \"gateway\"\n\
        both = { rate = \"2Mbit/s\", delay = \"100ms\", queue = \"200p\" }\n\
        [[path]]\nname = \"cellular\"\nlike = \"satellite\"\nboth = { delay = \"30ms\" }\n\
        [[path]]\nname = \"wan\"\nfrom = \"gateway\"\nboth = { rate = \"100Mbit/s\", delay = \"10ms\" }\n\
        [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
        app = { kind = \"bulk\", size = \"3MB\" }\ntransport = { kind = \"mptcp\" }\n\
        [[proxy]]\nname = \"pep\"\nnode = \"gateway\"\n";
    for server in ["kind = \"tcp\"", mptcp] {
        let flow = &checked(&format!("{text}{}", proxy("mptcp", mptcp, server)), 1).flows[0];
        assert!(flow.completed, "{server}: {:?}", flow.failure);
        let near: Vec<&LegRecord> = flow.legs.iter().filter(|leg| leg.leg == 0).collect();
        assert_eq!(near.len(), 2, "two subflows reach the proxy");
        assert!(near.iter().all(|leg| leg.received > Bytes(300_000)), "{near:?}");
        assert_eq!(flow.fell_back, server != mptcp, "the server end is told by its own packets");
    }
}

/// Domains of a page end at the proxy, or pass it: the main one at an MPTCP server, the others at plain TCP servers behind the proxy.
#[test]
fn a_proxy_may_end_the_connections_to_plain_servers_alone() {
    let flow = "from = \"server\"\nto = \"terminal\"\ntransport = { kind = \"mptcp\" }\n\
                app = { kind = \"http\", page = \"custom\", objects = 4, domains = 2, connections = 1, mptcp_domains = \"main\" }";
    for (servers, ended) in [("all", [true, true]), ("plain", [false, true]), ("multipath", [true, false])] {
        let keys = format!("servers = \"{servers}\"\n{}", tcp(""));
        let record = checked(&split(&keys, flow, GEO), 1);
        let flow = &record.flows[0];
        assert!(flow.completed, "{servers}: {:?}", flow.failure);
        let legs = |connection| flow.legs.iter().filter(|leg| leg.connection == connection).count();
        assert_eq!([0, 1].map(legs), ended.map(|ended| if ended { 2 } else { 0 }), "{servers}");
        let spoken = lines(&record).any(|words| words[2] == "server" && words[5] == "dss");
        assert_eq!(spoken, !ended[0], "{servers}: MPTCP from end to end where the proxy lets it pass");
    }
}
