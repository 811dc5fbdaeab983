//! Applications over whole networks: closed forms, every application over every transport, flows that wait.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use trace::{FlowRecord, RunRecord};
use units::{Bytes, Nanos, SimTime};

fn run(text: &str, seed: u64) -> RunRecord {
    let registries = Registries::builtin();
    let scenario = match Document::parse(text, "test.toml", &[], &registries) {
        Ok(document) => document.scenario,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    };
    let observe = Observe { series: true, trace: true };
    World::new(&scenario, seed, observe).run(&AtomicBool::new(false)).expect("not cancelled")
}

/// `paths` equal paths between `terminal` and `server`, and a download.
fn download(duration: &str, both: &str, paths: usize, flow: &str) -> String {
    let path = |n| format!("[[path]]\nname = \"p{n}\"\nboth = {{ {both} }}\n");
    let paths: String = (0..paths).map(path).collect();
    format!(
        "duration = \"{duration}\"\n{paths}[[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"terminal\"\n{flow}\n"
    )
}

/// A path of one second there and back on which serialisation takes no time to speak of, and a TCP with IW 2 and an
/// ACK for every segment: round trips can be counted.
fn round_trips(app: &str) -> FlowRecord {
    let both = "rate = \"1000Gbit/s\", delay = \"500ms\", queue = \"10000p\"";
    let transport = "transport = { kind = \"tcp\", profile = \"opnet2007\", congestion = \"newreno\", \
                     initial_ssthresh = \"unlimited\", receive_buffer = \"1MB\", ack_every = 1, idle_restart = \"never\" }";
    let record = run(&download("60s", both, 1, &format!("app = {app}\n{transport}")), 1);
    record.flows.into_iter().next().expect("one flow")
}

fn whole_seconds(from: SimTime, to: SimTime) -> u64 {
    let nanos = to.since(from);
    let rest = nanos.0 % 1_000_000_000;
    assert!(rest < 1_000_000, "{nanos} is no number of round trips");
    nanos.0 / 1_000_000_000
}

/// One object of 88 segments: windows 2, 4, 8, 16, 32, 64, so that the last byte comes 7 round trips after the SYN.
#[test]
fn cf_1() {
    let flow = round_trips("{ kind = \"http\", page = \"custom\", main = \"127080B\", objects = 0 }");
    let page = &flow.pages[0];
    assert_eq!(whole_seconds(page.start, page.end.expect("complete")), 7);
    assert!(flow.completed && page.arrived == 1);
}

/// The page of Omueti and Trajkovic over one connection with pipelining: the main object is complete after 4 round
/// trips, the 15 others after 8.
#[test]
fn cf_2() {
    let flow = round_trips("{ kind = \"http\", page = \"omueti2007\" }");
    let page = &flow.pages[0];
    assert_eq!(whole_seconds(page.start, flow.messages[0].end.expect("the main object")), 4);
    assert_eq!(whole_seconds(page.start, page.end.expect("complete")), 8);
    assert_eq!((page.objects, page.size, page.connections), (16, Bytes(127_080), 1));
}

/// A connection for each of four objects: a handshake and a request each, one after the other. A connection that stays open has one
/// handshake.
#[test]
fn connections_that_close_cost_a_handshake_each() {
    for (option, expected) in
        [("", 5), (", objects_per_connection = 1", 8), (", objects_per_connection = 2", 6)]
    {
        let page = "kind = \"http\", page = \"custom\", main = \"1kB\", objects = 3, object = \"1kB\", connections = 1";
        let flow = round_trips(&format!("{{ {page}{option} }}"));
        let page = &flow.pages[0];
        assert_eq!(whole_seconds(page.start, page.end.expect("complete")), expected, "{option}");
        assert_eq!(flow.failure, None);
    }
}

/// Six connections, one request each: handshake and main object as before, then two rounds with a handshake (five
/// new connections) and one without for what is left.
#[test]
fn six_connections_take_the_round_trips_that_they_should() {
    let flow = round_trips(
        "{ kind = \"http\", page = \"custom\", main = \"1kB\", objects = 6, object = \"1kB\", connections = 6 }",
    );
    // 2 for the main object; then 1 on its connection, 2 on the five new ones.
    assert_eq!(whole_seconds(flow.pages[0].start, flow.pages[0].end.expect("complete")), 4);
    assert_eq!(flow.pages[0].connections, 6);
    assert_eq!(flow.subflows.len(), 6);
    let connections: Vec<_> = flow.subflows.iter().map(|s| s.connection).collect();
    assert_eq!(connections, [0, 1, 2, 3, 4, 5]);
}

/// HTTP/2 over several domains: a handshake for each of the others, all at once.
#[test]
fn each_domain_costs_a_handshake() {
    let page = |domains: u64| {
        let app = format!(
            "{{ kind = \"http\", page = \"custom\", protocol = \"http/2\", main = \"1kB\", objects = 8, \
             object = \"100B\", domains = {domains} }}"
        );
        let flow = round_trips(&app);
        (whole_seconds(flow.pages[0].start, flow.pages[0].end.expect("complete")), flow.pages[0].connections)
    };
    assert_eq!(page(1), (3, 1));
    assert_eq!(page(4), (4, 4));
}

/// The file comes a handshake and a request after it is asked for; over a connection that is open, sooner.
#[test]
fn a_file_takes_a_handshake_a_request_and_its_rounds() {
    let app = |persistent: bool| {
        format!("{{ kind = \"ftp\", size = \"2920B\", files = 2, persistent = {persistent} }}")
    };
    let times = |persistent: bool| {
        let flow = round_trips(&app(persistent));
        assert!(flow.completed);
        flow.messages.iter().map(|m| whole_seconds(m.start, m.end.expect("delivered"))).collect::<Vec<_>>()
    };
    assert_eq!(times(false), [2, 2]);
    assert_eq!(times(true), [2, 1]);
}

/// Applications that come to an end by themselves on a lossy path of 5 Mbit/s, and whether they take datagrams.
const APPS: &[(&str, bool)] = &[
    ("{ kind = \"bulk\", size = \"300kB\" }", false),
    ("{ kind = \"bulk\", size = \"100kB\", repeat = 3, think = \"500ms\", connections = 3 }", false),
    ("{ kind = \"ftp\", size = \"100kB\", files = 3, interval = \"2s\" }", false),
    ("{ kind = \"http\", page = \"wikipedia\", pages = 2, keep_alive = true }", false),
    ("{ kind = \"http\", page = \"lemonde\", sizes = \"log-normal\" }", false),
    ("{ kind = \"http\", page = \"amazon\", pipelining = true, connections = 2 }", false),
    ("{ kind = \"onoff\", max_bytes = \"200kB\", packet = \"1kB\", log = true, phases = \"pareto\" }", true),
    ("{ kind = \"onoff\", max_bytes = \"200kB\", connections = 4, packet = \"1kB\", log = true }", true),
    ("{ kind = \"video\", duration = \"5s\" }", true),
    ("{ kind = \"player\", duration = \"12s\" }", false),
    ("{ kind = \"game\", duration = \"20s\" }", true),
];

/// Each message is delivered, once: those of datagrams unless they were lost.
#[test]
fn every_app_over_every_transport() {
    for (app, takes_datagrams) in APPS {
        for (kind, paths) in [("tcp", 1), ("mptcp", 2), ("udp", 1)] {
            if kind == "udp" && !takes_datagrams {
                continue;
            }
            for seed in 1..4 {
                let loss = "loss = { kind = \"packet\", probability = 0.01 }";
                let both = format!("rate = \"5Mbit/s\", delay = \"30ms\", {loss}");
                let flow = format!("app = {app}\ntransport = {{ kind = \"{kind}\" }}");
                let record = run(&download("120s", &both, paths, &flow), seed);
                check(&record, kind == "udp", &format!("{app} over {kind}, seed {seed}"));
            }
        }
    }
}

fn check(record: &RunRecord, datagrams: bool, what: &str) {
    let flow = &record.flows[0];
    let delivered = flow.messages.iter().filter(|message| message.end.is_some());
    let bytes: u64 = delivered.clone().map(|message| message.size.0).sum();
    let lost = flow.messages.len() - delivered.clone().count();
    assert!(!flow.messages.is_empty(), "{what}");
    for message in delivered {
        assert!(message.end.is_some_and(|end| end >= message.start), "{what}: {message:?}");
        assert!(message.delay.is_some(), "{what}: {message:?}");
    }
    if datagrams {
        assert!(lost > 0 && lost < flow.messages.len() / 10, "{what}: {lost} of {}", flow.messages.len());
        // Parts of messages that are not whole arrive, too.
        assert!(flow.delivered.0 >= bytes && !flow.completed, "{what}: {} and {bytes}", flow.delivered);
    } else {
        assert_eq!((lost, flow.completed, flow.failure.as_deref()), (0, true, None), "{what}: {flow:?}");
        assert_eq!(flow.delivered.0, bytes, "{what}");
    }
    assert_eq!(flow.delay.total(), flow.delivered.0, "{what}: every byte once");
    assert!(flow.pages.iter().all(|page| page.end.is_some() && page.arrived == page.objects), "{what}");
    assert!(flow.end < SimTime::from_secs(120), "{what}: it ends with the last message");
    assert!(datagrams || record.end == flow.end, "{what}: nothing is left to happen");
}

/// Without losses, a transfer takes serialisation, propagation and nothing else.
#[test]
fn a_datagram_takes_serialisation_and_propagation() {
    let flow = "app = { kind = \"onoff\", packet = \"972B\", log = true, max_bytes = \"9720B\" }\n\
                transport = { kind = \"udp\" }";
    let record = run(&download("20s", "rate = \"8Mbit/s\", delay = \"30ms\"", 1, flow), 1);
    let flow = &record.flows[0];
    assert_eq!(flow.messages.len(), 10);
    for message in &flow.messages {
        assert_eq!(message.delay, Some(Nanos::from_millis(31)), "1000 bytes at a byte per microsecond");
    }
    assert!(flow.completed && flow.subflows[0].sending.wire == Bytes(10_000));
}

#[test]
fn a_flow_waits_for_another_and_spreads_its_starts() {
    let text = download(
        "30s",
        "rate = \"10Mbit/s\", delay = \"10ms\"",
        1,
        "app = { kind = \"bulk\", size = \"1MB\" }\ntransport = { kind = \"tcp\" }",
    );
    let later = "[[flow]]\nname = \"later\"\nlike = \"f\"\nafter = \"f\"\nstart = \"2s\"\nspread = \"3s\"\ncount = 5\n";
    let record = run(&(text + later), 7);
    let first_end = record.flows[0].end;
    let starts: Vec<SimTime> = record.flows[1..].iter().map(|flow| flow.start).collect();
    for &start in &starts {
        let waited = start.since(first_end);
        assert!((Nanos::from_secs(2)..=Nanos::from_secs(5)).contains(&waited), "{waited}");
    }
    assert!(starts.windows(2).any(|pair| pair[0] != pair[1]), "each at its own time");
    assert!(record.flows.iter().all(|flow| flow.completed));
}

#[test]
fn a_flow_whose_turn_never_comes_says_so() {
    let text = download("5s", "rate = \"1Mbit/s\", delay = \"10ms\"", 1, "transport = { kind = \"tcp\" }");
    let later = "[[flow]]\nname = \"later\"\nlike = \"f\"\nafter = \"f\"\n";
    let record = run(&(text + later), 1);
    let flow = &record.flows[1];
    assert!(flow.failure.is_some() && flow.delivered == Bytes::ZERO && !flow.completed);
}

fn one(rate: &str, delay: &str, duration: &str, flow: &str) -> FlowRecord {
    let text = download(duration, &format!("rate = \"{rate}\", delay = \"{delay}\""), 1, flow);
    run(&text, 1).flows.into_iter().next().expect("one flow")
}

/// Echo requests meet no queue: serialisation of 84 bytes and propagation, both ways.
#[test]
fn ping_measures_the_round_trip() {
    let flow = one("672kbit/s", "50ms", "10s", "app = \"ping\"\ntransport = { kind = \"udp\" }");
    assert_eq!(flow.messages.len(), 10, "at 0 s to 9 s");
    assert!(flow.messages.iter().all(|m| m.delay == Some(Nanos::from_millis(102))), "{:?}", flow.messages);
}

/// Ping-pong over TCP: half the round trip, the first one with the handshake in it.
#[test]
fn ping_pong_measures_half_the_round_trip() {
    let flow = "app = { kind = \"sockperf\", mode = \"ping-pong\" }\ntransport = { kind = \"tcp\" }";
    let flow = one("1Gbit/s", "250ms", "10s", flow);
    let delays: Vec<u64> = flow.messages.iter().filter_map(|m| Some(m.delay?.0 / 1_000_000)).collect();
    assert_eq!(delays[..3], [500, 250, 250], "the handshake, then one way");
    assert_eq!(flow.messages.last().expect("some").end, None, "the last one has no answer yet");
}

/// 10,000 messages of 14 bytes are 1.12 Mbit/s on any path that is faster; on a slower one they queue.
#[test]
fn under_load_offers_its_rate_and_no_more() {
    let app = "app = { kind = \"sockperf\" }\ntransport = { kind = \"tcp\", nagle = true }";
    let fast = one("20Mbit/s", "250ms", "30s", app);
    let goodput = fast.delivered.as_f64() * 8.0 / 29.75;
    assert!((1.05e6..1.121e6).contains(&goodput), "{goodput}");
    let delay = |flow: &FlowRecord| flow.messages.iter().filter_map(|m| m.delay).max().expect("some");
    let slow = one("500kbit/s", "250ms", "30s", app);
    assert!(delay(&slow) > Nanos::from_secs(1) && delay(&slow) > delay(&fast), "{}", delay(&slow));
}

/// Live video on a path that carries it: each frame takes its serialisation and propagation.
#[test]
fn frames_take_their_time_and_no_longer() {
    let flow = "app = { kind = \"video\", duration = \"10s\" }\ntransport = { kind = \"udp\" }";
    let flow = one("4Mbit/s", "100ms", "20s", flow);
    // 3958 or 3959 bytes in three datagrams at 2 us per byte.
    let wire = |size: u64| Nanos((size + 3 * 28) * 2_000 + 100_000_000);
    assert_eq!(flow.messages.len(), 300);
    for message in &flow.messages {
        assert_eq!(message.delay, Some(wire(message.size.0)));
    }
    assert_eq!(flow.deadline, Some(Nanos::from_millis(150)));
    assert!(flow.completed && flow.delivered == Bytes(1_187_500));
}

/// A path faster than the best rate never stalls; one slower than the lowest does, and shows the lowest.
#[test]
fn the_player_adapts_and_stalls() {
    let app = "app = { kind = \"player\", duration = \"60s\" }\ntransport = { kind = \"tcp\" }";
    let kinds = |flow: &FlowRecord, what: &str| {
        flow.messages.iter().filter(|m| m.what == what).map(|m| (m.size.0, m.delay)).collect::<Vec<_>>()
    };
    let fast = one("20Mbit/s", "20ms", "200s", app);
    assert!(fast.completed && kinds(&fast, "stall").is_empty());
    assert_eq!(kinds(&fast, "segment").last().expect("some").0, 4_000_000, "4 s at 8 Mbit/s");
    let slow = one("400kbit/s", "20ms", "200s", app);
    assert!(slow.completed && !kinds(&slow, "stall").is_empty());
    assert!(kinds(&slow, "segment").iter().all(|(size, _)| *size == 250_000), "4 s at 500 kbit/s");
    // The time without playback is waiting, and 60 s at 500 kbit/s take at least 75 s.
    let waits: u64 =
        slow.messages.iter().filter(|m| m.what != "segment").filter_map(|m| m.delay).map(|d| d.0).sum();
    assert_eq!(SimTime(waits + 60_000_000_000), slow.end);
    assert!(waits > 15_000_000_000, "{waits}");
}

/// The bytes that iperf counts after its warm-up are those that the link carries.
#[test]
fn iperf_leaves_slow_start_out() {
    let app =
        "app = { kind = \"iperf\", omit = \"10s\", duration = \"20s\" }\ntransport = { kind = \"tcp\" }";
    let flow = one("10Mbit/s", "20ms", "60s", app);
    let total = flow.messages.last().expect("a total");
    let rate = total.size.as_f64() * 8.0 / total.delay.expect("measured").as_secs_f64();
    assert_eq!((total.what, flow.messages.len()), ("total", 21));
    assert!((rate / (10e6 * 1448.0 / 1500.0) - 1.0).abs() < 0.01, "{rate}");
    assert_eq!(flow.end, SimTime::from_secs(30));
}

/// A recording next to the scenario, with messages in both directions, over every transport.
#[test]
fn a_recording_is_replayed_in_both_directions() {
    let folder = std::env::temp_dir().join(format!("ropewalk-replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("game.txt"), "0 20kB down\n0.5 100 up\n0.5 300 down\n2 100 up\n")
        .expect("written");
    let file = folder.join("test.toml").display().to_string();
    for kind in ["tcp", "mptcp", "udp"] {
        let flow = format!(
            "app = {{ kind = \"replay\", file = \"game.txt\" }}\ntransport = {{ kind = \"{kind}\" }}"
        );
        let text = download("20s", "rate = \"10Mbit/s\", delay = \"20ms\"", 1, &flow);
        let registries = Registries::builtin();
        let document = Document::parse(&text, &file, &[], &registries).unwrap_or_else(|e| panic!("{e}"));
        let world = World::new(&document.scenario, 1, Observe::default());
        let record = world.run(&AtomicBool::new(false)).expect("not cancelled");
        let flow = &record.flows[0];
        let found: Vec<_> = flow.messages.iter().map(|m| (m.what, m.size.0, m.end.is_some())).collect();
        let expected = [("down", 20_000, true), ("up", 100, true), ("down", 300, true), ("up", 100, true)];
        assert_eq!(found, expected, "{kind}");
        assert!(flow.completed && flow.delivered == Bytes(20_300), "{kind}: {}", flow.delivered);
        let last = flow.messages[3].delay.expect("delivered");
        assert!((Nanos::from_millis(20)..Nanos::from_millis(21)).contains(&last), "{kind}: {last}");
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

/// The domains of embedded objects answer as plain TCP, that of the page speaks MPTCP.
#[test]
fn only_the_main_domain_of_a_page_may_speak_mptcp() {
    let both = "rate = \"8Mbit/s\", delay = \"20ms\", queue = \"100p\"";
    let page =
        "kind = \"http\", page = \"custom\", main = \"200kB\", object = \"200kB\", objects = 4, domains = 2";
    let transport = "transport = { kind = \"mptcp\", path_manager = \"fullmesh\" }";
    let flow = |more: &str| {
        let text = download("60s", both, 2, &format!("app = {{ {page}{more} }}\n{transport}"));
        run(&text, 1).flows.into_iter().next().expect("one flow")
    };
    let (all, main) = (flow(""), flow(", mptcp_domains = \"main\""));
    for one in [&all, &main] {
        assert!(one.completed && one.pages[0].arrived == 5 && one.pages[0].connections == 4);
    }
    // Two connections to each domain: with two subflows each, or with one where the server is plain.
    assert_eq!((all.subflows.len(), main.subflows.len()), (8, 6));
    assert!(!all.fell_back && main.fell_back);
}
