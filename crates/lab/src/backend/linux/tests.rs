//! Plans and refusals. Runs are tested from outside (`tests/linux.rs`).

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use emulate::{
    Arrival, ChangeOfEndpoint, ControlName, FlowRan, Limits, PayloadCounts, Plan, Program, Sample,
    SegmentCounts, SubflowState, Talk, address,
};
use network::Interface;
use scenario::{Document, Part, Registries};
use trace::Series;
use trace::metrics::TABLES;
use units::Bytes;

use super::*;

const TEXT: &str = r#"
duration = "5s"
[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms" }
[[path]]
name = "b"
both = { rate = "4Mbit/s", delay = "20ms" }
[[flow]]
name = "f"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "1MB" }
[flow.transport]
kind = "mptcp"
profile = "linux"
scheduler = "minratio"
reinjection = "upstream"
"#;

fn scenario(text: &str) -> Scenario {
    let parsed = Document::parse(text, "test.toml", &[], &Registries::builtin());
    parsed.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario
}

fn refused(text: &str) -> Vec<&'static str> {
    Linux::new(std::env::temp_dir()).unsupported(&scenario(text)).iter().map(|one| one.key).collect()
}

fn plan(text: &str) -> Plan {
    translate::plan(&scenario(text)).unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// Devices with their routes, and endpoints, in the words of `ip`.
fn hosts(plan: &Plan) -> String {
    let mut text = String::new();
    for host in &plan.hosts {
        let Limits { subflows, add_addr_accepted } = host.limits;
        writeln!(text, "node {}, subflows {subflows}, add_addr_accepted {add_addr_accepted}", host.node)
            .unwrap();
        for uplink in &host.uplinks {
            let routes = uplink.routes.iter().map(|route| {
                let mark = if route.preferred { "" } else { " (not preferred)" };
                let other = route.source != uplink.interface;
                let from = if other { format!(" from {}", address(route.source)) } else { String::new() };
                format!(" {}{from}{mark}", route.to)
            });
            let (number, further, routes) =
                (uplink.interface.number, uplink.further, routes.collect::<String>());
            writeln!(text, "  {number}: mtu {}, {further} further, to{routes}", uplink.mtu).unwrap();
        }
        for endpoint in &host.endpoints {
            writeln!(text, "  {} {}", endpoint.address, endpoint.flags.join(" ")).unwrap();
        }
    }
    text
}

#[test]
fn each_path_is_a_device_at_both_ends_and_the_server_announces_the_second() {
    let plan = plan(TEXT);
    assert_eq!(
        hosts(&plan),
        "\
node 0, subflows 8, add_addr_accepted 8
  0: mtu 1500, 0 further, to 10.65.0.1
  1: mtu 1500, 0 further, to 10.65.1.1
node 1, subflows 8, add_addr_accepted 8
  0: mtu 1500, 0 further, to 10.64.0.1
  1: mtu 1500, 0 further, to 10.64.1.1
  10.65.1.1 signal
"
    );
    let [flow] = &plan.flows[..] else { panic!("one flow") };
    assert_eq!((flow.sockets.mptcp, &*flow.sockets.congestion), (true, "cubic"));
    let rmem = plan.hosts[0].settings.iter().find(|(name, _)| *name == "net/ipv4/tcp_rmem").unwrap();
    assert_eq!(rmem.1, "4096 131072 6291456");
}

#[test]
fn subflows_on_one_path_go_to_further_addresses() {
    let text = TEXT.to_owned() + "path_manager = { kind = \"ndiffports\", subflows = 3 }\n";
    let found = hosts(&plan(&text));
    for line in ["  0: mtu 1500, 0 further, to 10.65.0.1 10.65.0.2 10.65.0.3", "  0: mtu 1500, 2 further"] {
        assert!(found.contains(line), "{found}");
    }
    assert!(found.ends_with("  10.65.0.2 signal\n  10.65.0.3 signal\n"), "{found}");
}

#[test]
fn endpoints_of_the_scenario_are_those_of_the_kernel() {
    let manager = "path_manager = { kind = \"in-kernel\", subflows = 1 }\n";
    let endpoints = "endpoints = [{ path = \"b\", end = \"client\", flags = [\"subflow\", \"backup\"] }]\n";
    let found = hosts(&plan(&(TEXT.to_owned() + manager + endpoints)));
    assert!(found.starts_with("node 0, subflows 1, add_addr_accepted 0\n"), "{found}");
    assert!(found.contains("  10.64.1.1 subflow backup\n"), "{found}");
}

/// Where the paths are disjoint the first address of the server is reached over that of the client, and answers go back over it.
#[test]
fn each_endpoint_of_the_client_reaches_the_first_address_of_the_server() {
    let manager = "path_manager = { kind = \"in-kernel\", subflows = 2 }\n";
    let endpoints =
        "endpoints = [{ path = \"a\", flags = [\"subflow\"] }, { path = \"b\", flags = [\"subflow\"] }]\n";
    let text = TEXT.to_owned() + manager + endpoints;
    for (text, client, server) in
        [(text.clone(), 0, 1), (text.replace("app =", "opened_by = \"receiver\"\napp ="), 1, 0)]
    {
        let plan = plan(&text);
        let [a, b] = [0, 1].map(|number| Interface { node: client, number });
        let [first, second] = [0, 1].map(|number| Interface { node: server, number });
        assert_eq!(plan.arrivals, [Arrival { from: b, to: first, at: second }]);
        assert_eq!([a, b].map(|from| plan.arrival(from, first)), [first, second]);
        assert_eq!(plan.arrival(second, b), b);
        let found = hosts(&plan);
        let [to_first, to_second, to_b] = [first, second, b].map(address);
        assert!(
            found.contains(&format!("  1: mtu 1500, 0 further, to {to_second} {to_first} (not preferred)\n")),
            "{found}"
        );
        let back = format!("  1: mtu 1500, 0 further, to {to_b} {to_b} from {to_first} (not preferred)\n");
        assert!(found.contains(&back), "{found}");
    }
}

/// A router connects the second address of the client with the only one of the server: nothing stands for that.
#[test]
fn what_routing_connects_goes_where_routing_says() {
    let mut text = String::from("duration = \"5s\"\n");
    for node in ["name = \"terminal\"", "name = \"server\"", "name = \"router\"\nforward = true"] {
        writeln!(text, "[[node]]\n{node}").unwrap();
    }
    for (name, ends) in [("a", "terminal"), ("b", "terminal"), ("c", "server")] {
        writeln!(text, "[[link]]\nname = \"{name}\"\nends = [\"{ends}\", \"router\"]").unwrap();
        writeln!(text, "both = {{ rate = \"4Mbit/s\", delay = \"20ms\" }}").unwrap();
    }
    let (_, flow) = TEXT.split_once("[[flow]]").unwrap();
    let manager = "path_manager = { kind = \"in-kernel\", subflows = 2 }\n";
    let endpoints = "endpoints = [{ path = \"b\", flags = [\"subflow\"] }]\n";
    let plan = plan(&format!("{text}[[flow]]{flow}{manager}{endpoints}"));
    assert_eq!(plan.arrivals, []);
    let found = hosts(&plan);
    assert!(found.contains("  1: mtu 1500, 0 further, to 10.65.0.1 (not preferred)\n"), "{found}");
}

#[test]
fn keys_without_counterpart_are_refused() {
    assert_eq!(refused(TEXT), [""; 0]);
    let add = |line: &str| refused(&(TEXT.to_owned() + line));
    assert_eq!(add("congestion = \"lia\"\n"), [""; 0]);
    assert_eq!(add("congestion = { kind = \"lia\", min_increase = \"1B\" }\n"), ["transport.congestion"]);
    assert_eq!(add("congestion = \"vegas\"\n"), ["transport.congestion"]);
    assert_eq!(add("congestion = \"newreno\"\n"), [""; 0]);
    assert_eq!(add("initial_window = 3\n"), ["transport.initial_window"]);
    assert_eq!(add("ecn = true\n"), ["transport.ecn"]);
    for line in [
        "rto_min = \"1s\"",
        "rto_max = \"60s\"",
        "rto_initial = \"3s\"",
        "rto_floor = \"total\"",
        "ack_every = 1",
        "ack_delay = \"100ms\"",
        "quick_acks = 1",
        "acks_per_rtt = 2",
        "prr_rule = \"rfc\"",
        "dupthresh = 5",
        "limited_transmit = false",
        "pacing = true",
    ] {
        let (key, _) = line.split_once(' ').unwrap();
        assert_eq!(
            add(&format!("{line}\n")),
            [format!("transport.{key}")],
            "the key that was set, and no other"
        );
    }
    for size in ["\"auto\"", "\"1kB\""] {
        assert_eq!(add(&format!("send_buffer = {size}\n")), ["transport.send_buffer"]);
    }
    assert_eq!(add("path_manager = \"fullmesh\"\n"), ["transport.path_manager"]);
    assert_eq!(refused(&TEXT.replace("minratio", "blest")), ["transport.scheduler"]);
    assert_eq!(refused(&TEXT.replace("4Mbit/s", "400Mbit/s")), ["rate"; 4]);
    let one = TEXT.replacen("4Mbit/s", "9Gbit/s", 1);
    assert_eq!(refused(&one), ["rate"; 2], "those that are too high, not those of the other path");
    assert_eq!(refused(&TEXT.replace("duration = \"5s\"", "duration = \"61min\"")), ["duration"]);
    let flow = TEXT.split("[flow.transport]").next().unwrap().to_owned();
    let udp = |more: &str| {
        let app = flow.replace("{ kind = \"bulk\", size = \"1MB\" }", "\"ping\"");
        refused(&format!("{app}transport = {{ kind = \"udp\"{more} }}"))
    };
    assert_eq!(udp(""), [""; 0]);
    assert_eq!(udp(", payload = \"2000B\""), ["transport.payload"]);
    let sctp = flow + "transport = { kind = \"sctp\", profile = \"freebsd\" }";
    assert_eq!(refused(&sctp), ["transport.kind", "transport.profile"]);
}

/// SO_SNDBUF, which the kernel doubles, holds for each socket; commands have sockets of their own.
#[test]
fn a_fixed_send_buffer_is_that_of_the_socket() {
    let found = plan(&(TEXT.to_owned() + "send_buffer = \"1MiB\"\n"));
    assert_eq!(found.flows[0].sockets.send_buffer, Some(512 << 10));
    let expands = |plan: &Plan| plan.hosts[0].settings.iter().any(|(name, _)| *name == "net/ipv4/tcp_wmem");
    assert!(!expands(&found), "another flow of the host may have a buffer that expands");
    let commands = TEXT.replace(
        "{ kind = \"bulk\", size = \"1MB\" }",
        "{ kind = \"command\", client = \"a {server} {port}\", server = \"b {port}\" }",
    );
    assert_eq!(refused(&commands), [""; 0]);
    for size in ["1MiB", "1kB"] {
        let one = &Linux::new(std::env::temp_dir())
            .unsupported(&scenario(&format!("{commands}send_buffer = \"{size}\"\n")))[0];
        assert_eq!((one.key, one.value.as_deref()), ("transport.send_buffer", Some("expand")));
    }
    let usual = plan(TEXT);
    assert_eq!(usual.flows[0].sockets.send_buffer, None);
    assert!(expands(&usual));
}

/// A kernel has one path manager, and one set of buffers.
#[test]
fn flows_of_one_host_have_the_same_settings() {
    let second = |transport: &str| {
        let flow = "[[flow]]\nname = \"g\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\n";
        refused(&format!("{TEXT}{flow}[flow.transport]\nprofile = \"linux\"\n{transport}"))
    };
    assert_eq!(second("kind = \"tcp\""), [""; 0]);
    assert_eq!(second("kind = \"tcp\"\nreceive_buffer_max = \"1MiB\""), ["transport.receive_buffer_max"]);
    let mptcp = "kind = \"mptcp\"\nscheduler = \"minratio\"\nreinjection = \"upstream\"\n";
    assert_eq!(second(mptcp), [""; 0]);
    assert_eq!(second(&format!("{mptcp}path_manager = \"ndiffports\"")), ["transport.path_manager"]);
}

#[test]
fn addresses_that_come_and_go_are_changes_of_endpoints() {
    let manager = "path_manager = { kind = \"in-kernel\", subflows = 1, add_addr_accepted = 1 }\n";
    let endpoints = "endpoints = [{ path = \"b\", end = \"server\", flags = [\"signal\"] }]\n";
    let event = |at: &str, what: &str| format!("[[event]]\nat = \"{at}\"\nflow = \"f\"\ndo = {{ {what} }}\n");
    let text = format!("{TEXT}{manager}{endpoints}");
    let found = plan(&format!(
        "{text}{}{}{}",
        event("1s", "join = \"b\", end = \"server\""),
        event("2s", "backup = \"b\", end = \"server\""),
        event("3s", "leave = \"b\", end = \"server\"")
    ));
    let server = &found.hosts[1];
    assert!(server.endpoints[0].absent, "its first event is that it comes");
    let what: Vec<_> =
        server.changes.iter().map(|change| (change.at.as_secs_f64() as u32, change.what)).collect();
    let wanted =
        [(1, ChangeOfEndpoint::Add), (2, ChangeOfEndpoint::Backup(true)), (3, ChangeOfEndpoint::Delete)];
    assert_eq!(what, wanted);
    // The client has no endpoint.
    assert_eq!(refused(&format!("{text}{}", event("1s", "leave = \"b\""))), ["event"]);
    assert_eq!(refused(&format!("{text}{}", event("1s", "abort = \"reset\""))), ["event"]);
}

/// Their sockets have the congestion control of the routes.
#[test]
fn commands_are_given_to_the_hosts_and_share_a_congestion_control() {
    let app = "app = { kind = \"command\", client = \"a {server} {port}\", server = \"b {port}\" }\n";
    let flow = format!(
        "[[flow]]\nname = \"c\"\nfrom = \"terminal\"\nto = \"server\"\n{app}[flow.transport]\nkind = \"tcp\"\n"
    );
    let linux = format!("{TEXT}{flow}profile = \"linux\"\n");
    let both = plan(&linux);
    let Program::Commands(commands) = &both.flows[1].program else { panic!("commands") };
    assert_eq!((&*commands.client, &*commands.server), ("a {server} {port}", "b {port}"));
    let controls =
        both.hosts.iter().flat_map(|host| &host.uplinks).map(|uplink| uplink.congestion.as_deref());
    assert_eq!(controls.collect::<Vec<_>>(), [Some("cubic"); 4]);
    assert_eq!(refused(&format!("{linux}congestion = \"newreno\"\n")), ["transport.congestion"]);
    let refused = |backend: &dyn Backend| -> Vec<&str> {
        backend.unsupported(&scenario(&linux)).iter().map(|one| one.key).filter(|key| *key == "app").collect()
    };
    assert_eq!(refused(&crate::Simulator), ["app"]);
    assert_eq!(refused(&crate::Ns3::new(std::env::temp_dir())), ["app"]);
}

/// One program serves all flows with its congestion control.
#[test]
fn a_limit_of_what_waits_on_subflows_needs_a_program_and_is_one_for_all_of_its_flows() {
    let key = "transport.subflow_unsent_limit";
    let unsupported = |text: &str| -> Vec<_> {
        let found = Linux::new(std::env::temp_dir()).unsupported(&scenario(text));
        found.into_iter().map(|one| (one.part, one.key, one.value)).collect()
    };
    let limited = format!("{TEXT}subflow_unsent_limit = \"16KiB\"\n");
    assert_eq!(refused(&limited), [key], "CUBIC is the kernel's own");
    let coupled = format!("{limited}congestion = \"olia\"\n");
    assert!(refused(&coupled).is_empty());
    assert_eq!(control::limit_of(&scenario(&coupled).flows, "olia"), Some(16_384));
    assert_eq!(control::limit_of(&scenario(&coupled).flows, "lia"), None);
    let without = format!("{TEXT}congestion = \"olia\"\n");
    assert_eq!(control::limit_of(&scenario(&without).flows, "olia"), None);
    let too_large = coupled.replace("16KiB", "4GiB");
    assert_eq!(refused(&too_large), [key]);
    let (_, flow) = TEXT.split_once("[[flow]]").unwrap();
    let second = |rest: &str| format!("{coupled}[[flow]]{}{rest}", flow.replace("\"f\"", "\"g\""));
    assert!(refused(&second("subflow_unsent_limit = \"16KiB\"\ncongestion = \"olia\"\n")).is_empty());
    assert!(refused(&second("congestion = \"lia\"\n")).is_empty(), "another program");
    let first_too_large = second("subflow_unsent_limit = \"16KiB\"\ncongestion = \"olia\"\n");
    let found = unsupported(&first_too_large.replacen("16KiB", "4GiB", 1));
    assert_eq!(
        found,
        [(Part::Flow(0), key, Some("2147483647B".into()))],
        "its size is no cure for the second"
    );
    let found = unsupported(&second("congestion = \"olia\"\n"));
    assert_eq!(found, [(Part::Flow(1), key, Some("16384B".into()))]);
}

/// Exact enough for a round trip of 40 ms.
fn accuracy() -> Accuracy {
    Accuracy {
        packets: 1000,
        p50: Nanos(50_000),
        p99: Nanos(390_000),
        max: Nanos(9_000_000),
        cpu_share: 0.1,
        real_time: true,
        refused: 0,
        strays: 0,
    }
}

#[test]
fn the_bound_of_lateness_is_that_of_the_shortest_path() {
    assert_eq!(translate::smallest_rtt(&scenario(TEXT)), Some(Nanos::from_millis(40)));
    let accuracy = accuracy();
    let bound = lateness_bound(Some(Nanos::from_millis(40)));
    assert!(judge(&accuracy, bound).is_ok());
    let late = Accuracy { p99: Nanos(410_000), ..accuracy };
    assert_eq!(
        judge(&late, bound).unwrap_err().0,
        "not exact enough: packets were late by 50 us (median), 410 us (99th percentile), 9000 us at most, and the 99th \
         percentile may be 400 us: a hundredth of the smallest round-trip time, 1000 us at most"
    );
    assert!(judge(&Accuracy { refused: 1, ..accuracy }, bound).is_err());
}

/// A socket of a sender with its first path.
fn socket(port: u16) -> SubflowState {
    SubflowState {
        local: (Ipv4Addr::LOCALHOST, port),
        remote: (Ipv4Addr::LOCALHOST, 2),
        state: 1,
        token: None,
        control: None,
        cwnd: 10,
        ssthresh: None,
        mss: Bytes(1448),
        srtt: Nanos::from_millis(40),
        unacked: 0,
        send_window: Bytes::ZERO,
        payload: PayloadCounts::default(),
        segments: SegmentCounts::default(),
        timeouts: 0,
    }
}

/// Thresholds of 21 segments, without limit, and one that only a register can have held.
#[test]
fn a_threshold_that_no_control_has_set_is_found() {
    let socket = |ssthresh| SubflowState { ssthresh, ..socket(1) };
    let host = |subflows, gone| {
        let sample = Sample { subflows, gone, ..Sample::default() };
        [Samples { samples: vec![Sample::default(), sample], ..Samples::default() }]
    };
    let usual = [socket(Some(21)), socket(None), socket(Some(1 << 20))];
    assert_eq!(lost_threshold(&host(usual.to_vec(), usual.to_vec())), None);
    let lost = socket(Some(667_073_280));
    for [subflows, gone] in [[vec![usual[0], lost], vec![]], [vec![], vec![lost, usual[1]]]] {
        assert_eq!(lost_threshold(&host(subflows, gone)), Some(667_073_280));
    }
}

/// The last look at a subflow counts: before its socket is set up it has the control of the system.
#[test]
fn a_subflow_with_another_control_is_found() {
    let plan = plan(TEXT);
    let scenario = scenario(TEXT);
    let told = |names: &[&str]| {
        let samples = names.iter().map(|name| {
            let control = Some(ControlName::new(name.as_bytes()));
            Sample { subflows: vec![SubflowState { control, ..socket(7) }], ..Sample::default() }
        });
        let mut samples: Vec<Sample> = samples.collect();
        // Gone.
        samples.push(Sample::default());
        let talk = Talk { ports: vec![7], ..Talk::default() };
        let ran = Ran {
            end: SimTime::ZERO,
            flows: vec![FlowRan { talk, ports: [2, 3] }],
            hosts: vec![Samples { samples, ..Samples::default() }; 2],
            links: Vec::new(),
            series: Series::default(),
            events: 0,
            accuracy: accuracy(),
        };
        let hosts: Vec<NodeId> = plan.hosts.iter().map(|host| host.node).collect();
        match other_control((&scenario, &ran), &plan, &hosts) {
            Some(Failure::Failed { message, .. }) => message,
            Some(other) => panic!("{other:?}"),
            None => String::new(),
        }
    };
    assert_eq!(plan.flows[0].sockets.congestion, "cubic");
    assert_eq!(told(&["reno", "cubic"]), "");
    assert_eq!(
        told(&["cubic", "reno"]),
        "flow f: the kernel gave a subflow the congestion control reno, not cubic"
    );
}

#[test]
fn measured_columns_are_specified_and_flags_are_all_measured() {
    assert!(MEASURED.unspecified().is_empty(), "{:?}", MEASURED.unspecified());
    for table in TABLES.iter().filter(|table| MEASURED.has_table(table)) {
        for column in table.columns.iter().filter(|column| column.kind == trace::Kind::Flag) {
            assert!(MEASURED.has(table, column), "{}.{} cannot be empty", table.name, column.name);
        }
    }
}
