//! Each declared key is read: setting it to something else changes the model.

mod common;

use common::{BASE, MULTIPATH, ROUTED, assert_round_trip, good};
use scenario::model::{Endpoint, FlowAction};
use scenario::{Document, Registries, schema};
use transport::AbortForm;
use transport::config::{EndpointFlags, FlightAfterTimeout, Reliability};

/// Section of the schema, key, override, value. The path, link or flow is the first of its base.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    ("scenario", "name", "name", "other"),
    ("scenario", "description", "description", "longer"),
    ("scenario", "duration", "duration", "31s"),
    ("scenario", "seeds", "seeds", "[3, 5, 9]"),
    ("scenario", "jitter", "jitter", "1ms"),
    ("routing", "ecmp", "routing.ecmp", "packet"),
    ("record", "interval", "record.interval", "10ms"),
    ("node", "name", "node.a.name", "z"),
    ("node", "count", "node.r.count", "3"),
    ("node", "forward", "node.b.forward", "false"),
    ("path", "name", "path.beam1.name", "beam2"),
    ("path", "from", "path.beam1.from", "gateway"),
    ("path", "to", "path.beam1.to", "hub"),
    ("path", "both", "path.beam1.both.delay", "9ms"),
    ("path", "up", "path.beam1.up.delay", "9ms"),
    ("path", "down", "path.beam1.down.delay", "9ms"),
    ("direction", "rate", "path.beam1.up.rate", "9Mbit/s"),
    ("direction", "delay", "path.beam1.up.delay", "8ms"),
    ("direction", "queue", "path.beam1.up.queue", "64KiB"),
    (
        "direction",
        "queue_rtt",
        "path.beam1.up",
        "{ rate = \"3Mbit/s\", delay = \"250ms\", queue = \"1BDP\", queue_rtt = \"1s\" }",
    ),
    ("direction", "shaper", "path.beam1.up.shaper", "{ rate = \"1Mbit/s\", burst = \"15kB\" }"),
    ("direction", "faults", "path.beam1.up.faults.corrupt", "0.1"),
    ("shaper", "rate", "path.beam1.up.shaper", "{ rate = \"1Mbit/s\", burst = \"15kB\" }"),
    ("shaper", "burst", "path.beam1.up.shaper", "{ rate = \"1Mbit/s\", burst = \"15kB\" }"),
    ("faults", "corrupt", "path.beam1.up.faults.corrupt", "0.1"),
    ("faults", "duplicate", "path.beam1.up.faults.duplicate", "0.1"),
    ("faults", "reorder", "path.beam1.up.faults.reorder", "0.1"),
    ("faults", "reorder_delay", "path.beam1.up.faults.reorder_delay", "3ms"),
    ("direction", "loss", "path.beam1.up.loss", "{ kind = \"ber\", ratio = 1e-6 }"),
    ("direction", "strip_mptcp", "path.beam1.up.strip_mptcp", "syn"),
    ("set", "strip_mptcp", "event.0.set.strip_mptcp", "7"),
    ("link", "name", "link.two.name", "three"),
    ("link", "ends", "link.two.ends", "[\"b\", \"r2\"]"),
    ("link", "both", "link.two.both.rate", "9Mbit/s"),
    ("link", "forward", "link.two.forward.rate", "9Mbit/s"),
    ("link", "reverse", "link.two.reverse.rate", "9Mbit/s"),
    ("mesh", "name", "mesh.left.name", "west"),
    ("mesh", "left", "mesh.left.left", "[\"a\", \"b\"]"),
    ("mesh", "right", "mesh.left.right", "[\"r2\", \"r1\"]"),
    ("mesh", "both", "mesh.left.both.rate", "9Mbit/s"),
    ("mesh", "forward", "mesh.left.forward.rate", "9Mbit/s"),
    ("mesh", "reverse", "mesh.left.reverse.rate", "9Mbit/s"),
    ("flow", "name", "flow.upload.name", "g"),
    ("flow", "from", "flow.upload.from", "server"),
    ("flow", "to", "flow.upload.to", "terminal"),
    ("flow", "count", "flow.upload.count", "3"),
    ("flow", "start", "flow.upload.start", "1s"),
    ("flow", "spread", "flow.upload.spread", "2s"),
    ("flow", "stop", "flow.upload.stop", "20s"),
    ("flow", "app", "flow.upload.app.size", "1MB"),
    ("flow", "via", "flow.f.via", "left.a-r2"),
    ("flow", "opened_by", "flow.upload.opened_by", "receiver"),
    ("flow", "compare_paths", "flow.upload.compare_paths", "true"),
    ("flow", "transport", "flow.upload.transport", "{ kind = \"tcp\" }"),
    ("event", "at", "event.0.at", "13s"),
    ("event", "link", "event.0.link", "beam1.up"),
    ("event", "set", "event.0.set", "{ up = true }"),
    ("set", "rate", "event.0.set.rate", "1Mbit/s"),
    ("set", "delay", "event.0.set.delay", "1ms"),
    ("set", "queue", "event.0.set.queue", "1p"),
    ("set", "shaper", "event.0.set.shaper", "{ rate = \"1Mbit/s\", burst = \"15kB\" }"),
    ("set", "rate", "event.0.set.rate", "[\"1Mbit/s\", \"2Mbit/s\"]"),
    ("set", "delay", "event.0.set.delay", "[\"1ms\", \"2ms\"]"),
    ("set", "faults", "event.0.set.faults", "{ duplicate = 0.5 }"),
    ("set", "loss", "event.0.set.loss", "none"),
    ("set", "up", "event.0.set.up", "true"),
    ("event", "flow", "event.0.flow", "other"),
    ("event", "do", "event.0.do", "{ abort = \"ack\" }"),
    ("do", "leave", "event.2.do.leave", "beam2"),
    ("do", "join", "event.0.do.join", "beam3"),
    ("do", "backup", "event.1.do", "{ backup = \"beam2\" }"),
    ("do", "regular", "event.1.do.regular", "beam1"),
    ("do", "abort", "event.3.do.abort", "ack"),
    ("do", "end", "event.1.do.end", "server"),
    ("endpoint", "path", "flow.upload.transport.endpoints.0.path", "beam3"),
    ("endpoint", "end", "flow.upload.transport.endpoints.1.end", "client"),
    ("endpoint", "flags", "flow.upload.transport.endpoints.0.flags", "[\"subflow\"]"),
    (
        "transport",
        "endpoints",
        "flow.upload.transport.endpoints",
        "[{ path = \"beam3\", flags = [\"signal\"] }]",
    ),
    ("transport", "kind", "flow.upload.transport.kind", "tcp"),
    ("transport", "profile", "flow.upload.transport.profile", "rfc"),
    ("transport", "congestion", "flow.upload.transport.congestion.hystart", "true"),
    ("transport", "scheduler", "flow.upload.transport.scheduler", "roundrobin"),
    ("transport", "path_manager", "flow.upload.transport.path_manager", "ndiffports"),
    ("transport", "reinjection", "flow.upload.transport.reinjection", "death"),
    ("transport", "reinject_on", "flow.upload.transport.reinject_on", "lowest-rtt"),
    ("transport", "reassembly", "flow.upload.transport.reassembly", "joint"),
    ("transport", "subflow_unsent_limit", "flow.upload.transport.subflow_unsent_limit", "16KiB"),
    ("transport", "checksum", "flow.upload.transport.checksum", "true"),
    ("transport", "ssthresh_from", "flow.upload.transport.ssthresh_from", "flight"),
    ("transport", "wide_sequence", "flow.upload.transport.wide_sequence", "false"),
    ("transport", "short_data_ack", "flow.upload.transport.short_data_ack", "false"),
    ("transport", "peer_capable", "flow.upload.transport.peer_capable", "false"),
    ("transport", "mss", "flow.upload.transport.mss", "1000B"),
    ("transport", "header", "flow.upload.transport.header", "60B"),
    ("transport", "overhead", "flow.upload.transport.overhead", "18B"),
    ("transport", "initial_window", "flow.upload.transport.initial_window", "4"),
    ("transport", "initial_ssthresh", "flow.upload.transport.initial_ssthresh", "64KiB"),
    ("transport", "slow_start_limit", "flow.upload.transport.slow_start_limit", "2"),
    ("transport", "byte_counting", "flow.upload.transport.byte_counting", "false"),
    ("transport", "rto_initial", "flow.upload.transport.rto_initial", "3s"),
    ("transport", "rto_min", "flow.upload.transport.rto_min", "1s"),
    ("transport", "rto_max", "flow.upload.transport.rto_max", "60s"),
    ("transport", "rto_granularity", "flow.upload.transport.rto_granularity", "10ms"),
    ("transport", "rto_floor", "flow.upload.transport.rto_floor", "total"),
    ("transport", "rto_estimator", "flow.upload.transport.rto_estimator", "ns3"),
    ("transport", "syn_retries", "flow.upload.transport.syn_retries", "2"),
    ("transport", "retries", "flow.upload.transport.retries", "8"),
    ("transport", "ack_every", "flow.upload.transport.ack_every", "1"),
    ("transport", "ack_delay", "flow.upload.transport.ack_delay", "200ms"),
    ("transport", "quick_acks", "flow.upload.transport.quick_acks", "0"),
    ("transport", "ecn", "flow.upload.transport.ecn", "true"),
    ("transport", "acks_per_rtt", "flow.upload.transport.acks_per_rtt", "2"),
    ("transport", "cwnd_counts", "flow.upload.transport.cwnd_counts", "bytes"),
    ("transport", "ack_pushed", "flow.upload.transport.ack_pushed", "never"),
    ("transport", "pacing", "flow.upload.transport.pacing", "true"),
    ("transport", "loss_means", "flow.upload.transport.loss_means", "corruption"),
    ("transport", "timestamps", "flow.upload.transport.timestamps", "false"),
    ("transport", "recovery", "flow.upload.transport.recovery", "sack"),
    ("transport", "prr", "flow.upload.transport.prr", "false"),
    ("transport", "undo_rule", "flow.upload.transport.undo_rule", "never"),
    ("transport", "prr_rule", "flow.upload.transport.prr_rule", "rfc"),
    ("transport", "pacing_rule", "flow.upload.transport.pacing_rule", "ideal"),
    ("transport", "quantum_rule", "flow.upload.transport.quantum_rule", "none"),
    ("transport", "dupthresh", "flow.upload.transport.dupthresh", "4"),
    ("transport", "limited_transmit", "flow.upload.transport.limited_transmit", "false"),
    ("transport", "nagle", "flow.upload.transport.nagle", "false"),
    ("transport", "minshall", "flow.upload.transport.minshall", "false"),
    ("transport", "idle_restart", "flow.upload.transport.idle_restart", "never"),
    ("transport", "flight_limit", "flow.upload.transport.flight_limit", "64KiB"),
    ("transport", "unsent_limit", "flow.upload.transport.unsent_limit", "64KiB"),
    ("transport", "window_scaling", "flow.upload.transport.window_scaling", "false"),
    ("transport", "receive_buffer", "flow.upload.transport.receive_buffer", "1MB"),
    ("transport", "receive_buffer_max", "flow.upload.transport.receive_buffer_max", "1MB"),
    ("transport", "receive_counts", "flow.upload.transport.receive_counts", "payload"),
    ("transport", "send_buffer", "flow.upload.transport.send_buffer", "1MB"),
    ("transport", "send_buffer_max", "flow.upload.transport.send_buffer_max", "1MB"),
    ("transport", "header_room", "flow.upload.transport.header_room", "192B"),
];

/// Keys with tests of their own: `like` is inheritance, SACK cannot be turned off alone, and only SCPS-TP has peers
/// without it.
const ELSEWHERE: &[(&str, &str)] = &[
    // `proxies.rs` has crashes.
    ("event", "proxy"),
    ("event", "crash"),
    ("path", "like"),
    ("link", "like"),
    ("flow", "like"),
    ("flow", "after"),
    ("flow", "spacing"),
    ("transport", "sack"),
    ("transport", "payload"),
    ("transport", "scps_peer"),
    ("transport", "multiple_fast_retransmits"),
    ("transport", "flight_after_timeout"),
    ("transport", "message"),
    ("transport", "streams"),
    ("transport", "unordered"),
    ("transport", "init_retries"),
    ("transport", "path_retries"),
    ("transport", "association_retries"),
    ("transport", "heartbeat_interval"),
    ("transport", "confirm_paths"),
    ("transport", "burst"),
    ("transport", "idle_decay"),
    ("transport", "max_burst"),
    ("transport", "fast_retransmit"),
    ("transport", "retransmission"),
    ("transport", "buffer_split"),
    ("transport", "delayed_ack"),
    ("transport", "initial_cwnd"),
    ("transport", "nr_sack"),
    ("transport", "chunk_overhead"),
    ("transport", "data_is_cookie_ack"),
    ("transport", "eager_sack"),
    ("transport", "timer_defects"),
    ("transport", "reductions"),
    ("transport", "buffer_split_by"),
    ("transport", "window_update"),
    ("transport", "rescheduling"),
    ("transport", "rescheduling_threshold"),
    ("transport", "rescheduling_reduces"),
];

fn base(key: &str) -> &'static str {
    if ["do", ".flow", "endpoints"].iter().any(|part| key.contains(part)) {
        return MULTIPATH;
    }
    let routed = ["node.", "link.", "mesh.", "flow.f."].iter().any(|start| key.starts_with(start));
    if routed { ROUTED } else { BASE }
}

#[test]
fn each_key_reaches_the_model() {
    for (section, name, key, value) in CHANGES {
        let mut text = base(key).to_owned();
        // Other names for the ends of the path need other ends of the flow.
        let mut sets = vec![(*key, *value)];
        match *key {
            "path.beam1.from" => sets.push(("flow.upload.from", value)),
            "path.beam1.to" => sets.push(("flow.upload.to", value)),
            "path.beam1.name" => sets.push(("event.0.link", value)),
            "flow.upload.from" => sets.push(("flow.upload.to", "terminal")),
            "flow.upload.to" => sets.push(("flow.upload.from", "server")),
            "node.a.name" => {
                text = text.replace("[\"a\"]", "[\"z\"]").replace("from = \"a\"", "from = \"z\"")
            }
            "node.r.count" => {}
            "mesh.left.left" => text = text.replace("forward = false", ""),
            _ => {}
        }
        let document = good(&text, &sets);
        assert_ne!(document.scenario, good(base(key), &[]).scenario, "{section}.{name}");
        assert_round_trip(&document);
    }
}

#[test]
fn no_key_is_left_out() {
    let schema = schema(&Registries::builtin());
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut add = |section: &str, object: &serde_json::Value| {
        let properties = object["properties"].as_object().into_iter().flatten();
        keys.extend(properties.map(|(name, _)| (section.to_owned(), name.clone())));
    };
    // The tables of the top level are covered by their own keys; `proxies.rs` covers those of proxies.
    let tables = ["routing", "record", "node", "path", "link", "mesh", "flow", "event"];
    add("scenario", &schema);
    for section in tables.into_iter().chain(["direction", "transport", "set", "do", "endpoint"]) {
        add(section, &schema["$defs"][section]);
    }
    assert!(keys.len() > 80, "{keys:?}");
    for (section, name) in &keys {
        let changed = CHANGES.iter().any(|(s, n, ..)| s == section && n == name);
        let elsewhere = ELSEWHERE.contains(&(section.as_str(), name.as_str()));
        let top = section == "scenario" && (name == "proxy" || tables.contains(&name.as_str()));
        assert!(changed || elsewhere || top, "no test changes {section}.{name}");
    }
}

#[test]
fn counted_flows_have_numbers_and_start_in_turn() {
    let sets = [("flow.upload.count", "3"), ("flow.upload.start", "2s"), ("flow.upload.spacing", "5s")];
    let document = good(BASE, &sets);
    let flows = &document.scenario.flows;
    let found: Vec<_> = flows.iter().map(|f| (f.name.as_str(), f.start.0 / 1_000_000_000)).collect();
    assert_eq!(found, [("upload1", 2), ("upload2", 7), ("upload3", 12)]);
    assert_round_trip(&document);
}

#[test]
fn a_flow_waits_for_each_of_a_count() {
    let later =
        "[[flow]]\nname = \"later\"\nlike = \"upload\"\nafter = \"upload\"\nstart = \"1s\"\ncount = 1\n";
    let text = format!("{}\n{later}", BASE.replace("name = \"upload\"", "name = \"upload\"\ncount = 2"));
    let document = good(&text, &[]);
    let flow = &document.scenario.flows[2];
    assert_eq!((flow.name.as_str(), flow.after.as_slice()), ("later", [0, 1].as_slice()));
    assert_round_trip(&document);
}

#[test]
fn datagrams_have_a_payload_and_no_settings_of_tcp() {
    let onoff = ("flow.upload.app", "onoff");
    let udp = |more: &str| format!("{{ kind = \"udp\"{more} }}");
    let config = |transport: &str| {
        let document = good(BASE, &[onoff, ("flow.upload.transport", transport)]);
        assert_round_trip(&document);
        document.scenario.flows[0].transport.udp.unwrap()
    };
    assert_eq!((config(&udp("")).payload.0, config(&udp("")).header.0), (1472, 28));
    assert_eq!(config(&udp(", payload = \"500B\", overhead = \"18B\"")).overhead.0, 18);
    assert_eq!(config(&udp(", payload = \"500B\"")).payload.0, 500);
}

#[test]
fn each_key_of_associations_reaches_the_model() {
    let config = |more: &str| {
        let transport = format!("{{ kind = \"sctp\"{more} }}");
        let document = good(BASE, &[("flow.upload.transport", &transport)]);
        assert_round_trip(&document);
        let transport = &document.scenario.flows[0].transport;
        assert_eq!((transport.profile.as_str(), transport.udp, &transport.mptcp), ("rfc", None, &None));
        transport.sctp.clone().expect("an association").config
    };
    let usual = config("");
    assert_eq!((usual.packet.ip_header.0, usual.largest_chunk().0), (20, 1468));
    for key in [
        "mss = \"1000B\"",
        "header = \"52B\"",
        "overhead = \"18B\"",
        "message = \"500B\"",
        "streams = 6",
        "unordered = true",
        "initial_cwnd = \"rfc4960\"",
        "initial_cwnd = \"4464B\"",
        "initial_ssthresh = \"64KiB\"",
        "rto_initial = \"3s\"",
        "rto_min = \"2s\"",
        "rto_max = \"9s\"",
        "rto_granularity = \"1ms\"",
        "ack_every = 1",
        "ack_delay = \"40ms\"",
        "dupthresh = 4",
        "idle_decay = false",
        "init_retries = 1",
        "path_retries = 0",
        "association_retries = 4",
        "heartbeat_interval = \"5s\"",
        "confirm_paths = false",
        "burst = \"unlimited\"",
        "max_burst = 8",
        "fast_retransmit = \"all\"",
        "nr_sack = true",
        "chunk_overhead = \"256B\"",
        "data_is_cookie_ack = true",
        "eager_sack = \"never\"",
        "eager_sack = \"with-departures\"",
        "timer_defects = \"both\"",
        "burst = \"use-it-or-lose-it\"",
        "burst = \"window-limiting\"",
        "receive_buffer = \"64KiB\"",
        "send_buffer = \"64KiB\"",
    ] {
        assert_ne!(config(&format!(", {key}")), usual, "{key}");
    }
}

#[test]
fn each_key_of_concurrent_transfer_reaches_the_model() {
    let config = |more: &str| {
        let transport = format!("{{ kind = \"cmt-sctp\"{more} }}");
        let document = good(BASE, &[("flow.upload.transport", &transport)]);
        assert_round_trip(&document);
        document.scenario.flows[0].transport.sctp.clone().expect("concurrent")
    };
    for key in [
        "retransmission = \"same-path\"",
        "retransmission = \"lowest-rtt\"",
        "retransmission = \"largest-window\"",
        "retransmission = \"lowest-loss\"",
        "retransmission = \"any-with-room\"",
        "scheduler = \"minrtt\"",
        "scheduler = \"primary_first\"",
        "buffer_split_by = \"flight\"",
        "window_update = \"v1\"",
        "reductions = \"each\"",
        "rescheduling = \"both\"",
        "buffer_split = \"off\"",
        "buffer_split = \"sender\"",
        "buffer_split = \"receiver\"",
        "delayed_ack = false",
    ] {
        assert_ne!(config(&format!(", {key}")), config(""), "{key}");
    }
    let moving = config(", rescheduling = \"both\"");
    for key in ["rescheduling_threshold = 0.7", "rescheduling_reduces = false"] {
        assert_ne!(config(&format!(", rescheduling = \"both\", {key}")), moving, "{key}");
    }
}

#[test]
fn mistakes_about_associations_name_the_cure() {
    let mistakes = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let found = Document::parse(BASE, "test.toml", &sets, &Registries::builtin());
        found.expect_err("a mistake").to_string()
    };
    let sctp = |more: &str| format!("{{ kind = \"sctp\"{more} }}");
    let cmt = |more: &str| format!("{{ kind = \"cmt-sctp\"{more} }}");
    for (transport, needles) in [
        (sctp(", profile = \"linux\""), ["says nothing of SCTP", "rfc"]),
        (sctp(", ecn = true"), ["no effect", "remove `ecn`"]),
        (sctp(", send_buffer = \"auto\""), ["is for TCP", "1MiB"]),
        (sctp(", burst = \"unlimited\", max_burst = 3"), ["no effect", "another `burst`"]),
        (sctp(", nagle = true"), ["nagle", "sctp"]),
        (cmt(", scheduler = \"redundant\""), ["is for MPTCP", "primary_first"]),
        (
            cmt(", buffer_split = \"off\", buffer_split_by = \"flight\""),
            ["no effect", "another `buffer_split`"],
        ),
        (cmt(", rescheduling_threshold = 0.3"), ["no effect", "another `rescheduling`"]),
    ] {
        let found = mistakes(&[("flow.upload.transport", &transport)]);
        assert!(needles.iter().all(|needle| found.contains(needle)), "{transport}: {found}");
    }
}

#[test]
fn sack_is_turned_off_with_what_needs_it() {
    let sets = ["sack=false", "prr=false", "recovery=newreno"].map(|set| set.split_once('=').unwrap());
    let sets: Vec<(String, &str)> = sets.map(|(k, v)| (format!("flow.upload.transport.{k}"), v)).to_vec();
    let sets: Vec<(&str, &str)> = sets.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    assert!(!good(BASE, &sets).scenario.flows[0].transport.tcp.options.sack);
}

#[test]
fn events_are_sorted_and_stable() {
    let text = format!(
        "{BASE}\n[[event]]\nat = \"3s\"\nlink = \"beam1.up\"\nset = {{ rate = \"1Mbit/s\" }}\n\
         [[event]]\nat = \"3s\"\nlink = \"beam1.down\"\nset = {{ loss = \"none\", queue = \"9p\" }}\n"
    );
    let document = good(&text, &[]);
    let links: Vec<_> =
        document.scenario.events.iter().map(|e| (e.at.0 / 1_000_000_000, e.links.clone())).collect();
    assert_eq!(links, [(3, vec![(0, 0)]), (3, vec![(0, 1)]), (12, vec![(0, 0), (0, 1)])]);
    assert_eq!(document.scenario.events[1].loss, Some(Vec::new()));
    assert_eq!(document.scenario.events[0].loss, None);
    assert_round_trip(&document);
}

/// Endpoints and flow events name links; the network finds the interfaces.
#[test]
fn endpoints_and_flow_events_reach_the_model() {
    let text = MULTIPATH.to_owned();
    let document = good(&text, &[]);
    let flow = &document.scenario.flows[0];
    let endpoints = &flow.transport.mptcp.as_ref().unwrap().endpoints;
    let flags = EndpointFlags { subflow: true, backup: true, ..EndpointFlags::default() };
    let signal = EndpointFlags { signal: true, ..EndpointFlags::default() };
    assert_eq!(
        endpoints,
        &[
            Endpoint { duplex_link: 1, client: true, flags },
            Endpoint { duplex_link: 0, client: false, flags: signal },
        ]
    );
    let flow_events: Vec<_> = document
        .scenario
        .flow_events
        .iter()
        .map(|d| (d.at.0 / 1_000_000_000, d.flow, d.client, d.what))
        .collect();
    assert_eq!(
        flow_events,
        [
            (3, 0, true, FlowAction::Join(1)),
            (4, 0, true, FlowAction::Backup(1, false)),
            (5, 0, false, FlowAction::Leave(0)),
            (6, 0, true, FlowAction::Abort(AbortForm::Reset)),
        ]
    );
    assert_round_trip(&document);
}

#[test]
fn recoveries_for_space_links_reach_the_model() {
    let transport = |recovery: &'static str| {
        let keys = [
            ("flow.upload.transport.kind", "tcp"),
            ("flow.upload.transport.profile", "rfc"),
            ("flow.upload.transport.recovery", recovery),
        ];
        keys.to_vec()
    };
    let of = |sets: &[(&str, &str)]| good(BASE, sets).scenario.flows[0].transport.tcp.clone();
    let snack = of(&transport("snack"));
    assert_eq!(
        (snack.recovery.reliability, snack.options.sack),
        (Reliability::Snack { peer_capable: true }, false)
    );
    let mut incapable = transport("snack");
    incapable.push(("flow.upload.transport.scps_peer", "false"));
    assert_eq!(of(&incapable).recovery.reliability, Reliability::Snack { peer_capable: false });
    let stp = of(&transport("stp"));
    assert_eq!(
        (stp.recovery.reliability, stp.options.sack, stp.recovery.prr, stp.options.timestamps),
        (Reliability::Poll, false, false, false)
    );
}

/// `multiple_fast_retransmits` and `flight_after_timeout` need a recovery and a congestion control that use them.
#[test]
fn keys_about_timeouts_reach_the_model() {
    let of = |sets: &[(&str, &str)]| {
        let document = good(BASE, &[&[("flow.upload.transport.profile", "ns3")], sets].concat());
        assert_round_trip(&document);
        let recovery = document.scenario.flows[0].transport.tcp.recovery;
        (recovery.multiple_fast_retransmits, recovery.flight_after_timeout)
    };
    let multiple = ("flow.upload.transport.multiple_fast_retransmits", "true");
    let outstanding = ("flow.upload.transport.flight_after_timeout", "outstanding");
    assert_eq!(of(&[]), (false, FlightAfterTimeout::Retransmitted));
    assert_eq!(of(&[multiple]), (true, FlightAfterTimeout::Retransmitted));
    assert_eq!(of(&[multiple, outstanding]), (true, FlightAfterTimeout::Outstanding));
    let by_control = [
        ("flow.upload.transport.ssthresh_from", "cwnd"),
        ("flow.upload.transport.congestion", "cubic"),
        ("flow.upload.transport.congestion.ssthresh_from", "flight"),
    ];
    assert_eq!(of(&[&by_control[..], &[outstanding]].concat()), (false, FlightAfterTimeout::Outstanding));
}
