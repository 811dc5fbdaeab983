//! Each declared key is read: setting it to something else changes the model.

mod common;

use common::{BASE, ROUTED, assert_round_trip, good};
use scenario::{Registries, schema};

/// Section of the schema, key, override, value. The path, link or flow is the first of its base.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    ("scenario", "name", "name", "other"),
    ("scenario", "description", "description", "longer"),
    ("scenario", "duration", "duration", "31s"),
    ("scenario", "seeds", "seeds", "[3, 5, 9]"),
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
    ("direction", "loss", "path.beam1.up.loss", "{ kind = \"ber\", ratio = 1e-6 }"),
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
    ("flow", "start", "flow.upload.start", "1s"),
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
    ("set", "loss", "event.0.set.loss", "none"),
    ("set", "up", "event.0.set.up", "true"),
    ("transport", "kind", "flow.upload.transport.kind", "tcp"),
    ("transport", "profile", "flow.upload.transport.profile", "rfc"),
    ("transport", "congestion", "flow.upload.transport.congestion.hystart", "true"),
    ("transport", "scheduler", "flow.upload.transport.scheduler", "roundrobin"),
    ("transport", "path_manager", "flow.upload.transport.path_manager", "ndiffports"),
    ("transport", "reinjection", "flow.upload.transport.reinjection", "death"),
    ("transport", "checksum", "flow.upload.transport.checksum", "true"),
    ("transport", "wide_sequence", "flow.upload.transport.wide_sequence", "false"),
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
    ("transport", "syn_retries", "flow.upload.transport.syn_retries", "2"),
    ("transport", "retries", "flow.upload.transport.retries", "8"),
    ("transport", "ack_every", "flow.upload.transport.ack_every", "1"),
    ("transport", "ack_delay", "flow.upload.transport.ack_delay", "200ms"),
    ("transport", "quick_acks", "flow.upload.transport.quick_acks", "0"),
    ("transport", "timestamps", "flow.upload.transport.timestamps", "false"),
    ("transport", "recovery", "flow.upload.transport.recovery", "sack"),
    ("transport", "prr", "flow.upload.transport.prr", "false"),
    ("transport", "dupthresh", "flow.upload.transport.dupthresh", "4"),
    ("transport", "limited_transmit", "flow.upload.transport.limited_transmit", "false"),
    ("transport", "nagle", "flow.upload.transport.nagle", "false"),
    ("transport", "idle_restart", "flow.upload.transport.idle_restart", "false"),
    ("transport", "window_scaling", "flow.upload.transport.window_scaling", "false"),
    ("transport", "receive_buffer", "flow.upload.transport.receive_buffer", "1MB"),
    ("transport", "receive_buffer_max", "flow.upload.transport.receive_buffer_max", "1MB"),
    ("transport", "send_buffer", "flow.upload.transport.send_buffer", "1MB"),
    ("transport", "send_buffer_max", "flow.upload.transport.send_buffer_max", "1MB"),
];

/// Keys with tests of their own: `like` is inheritance, and SACK cannot be turned off alone.
const ELSEWHERE: &[(&str, &str)] =
    &[("path", "like"), ("link", "like"), ("flow", "like"), ("transport", "sack")];

fn base(key: &str) -> &'static str {
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
    // The tables of the top level are covered by their own keys.
    let tables = ["routing", "record", "node", "path", "link", "mesh", "flow", "event"];
    add("scenario", &schema);
    for section in tables.into_iter().chain(["direction", "transport", "set"]) {
        add(section, &schema["$defs"][section]);
    }
    assert!(keys.len() > 80, "{keys:?}");
    for (section, name) in &keys {
        let changed = CHANGES.iter().any(|(s, n, ..)| s == section && n == name);
        let elsewhere = ELSEWHERE.contains(&(section.as_str(), name.as_str()));
        let top = section == "scenario" && tables.contains(&name.as_str());
        assert!(changed || elsewhere || top, "no test changes {section}.{name}");
    }
}

#[test]
fn sack_is_turned_off_with_what_needs_it() {
    let sets = ["sack=false", "prr=false", "recovery=newreno"].map(|set| set.split_once('=').unwrap());
    let sets: Vec<(String, &str)> = sets.map(|(k, v)| (format!("flow.upload.transport.{k}"), v)).to_vec();
    let sets: Vec<(&str, &str)> = sets.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    assert!(!good(BASE, &sets).scenario.flows[0].transport.tcp.sack);
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
    assert_eq!(document.scenario.events[1].loss, Some(None));
    assert_eq!(document.scenario.events[0].loss, None);
    assert_round_trip(&document);
}
