//! Proxies with limits, and proxies that crash.

use trace::FlowRecord;
use units::Bytes;

use super::*;

/// A terminal, a gateway with a proxy, and a server, without losses.
fn world(proxy: &str, flows: &str) -> String {
    format!(
        "name = \"test\"\nduration = \"60s\"\n\
         [[path]]\nname = \"near\"\nto = \"gateway\"\n\
         both = {{ rate = \"10Mbit/s\", delay = \"100ms\", queue = \"1000p\" }}\n\
         [[path]]\nname = \"far\"\nfrom = \"gateway\"\n\
         both = {{ rate = \"8Mbit/s\", delay = \"20ms\", queue = \"1000p\" }}\n\
         [[proxy]]\nname = \"pep\"\nnode = \"gateway\"\nkind = \"split\"\n{proxy}\n\
         client = {{ kind = \"tcp\", receive_buffer = \"2MB\" }}\n\
         server = {{ kind = \"tcp\", send_buffer = \"2MB\" }}\n{flows}"
    )
}

fn upload(keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n{keys}\n\
         transport = {{ kind = \"tcp\" }}\n"
    )
}

fn crash(form: &str) -> String {
    format!("[[event]]\nat = \"10s\"\nproxy = \"pep\"\ncrash = \"{form}\"\n")
}

fn lost(flow: &FlowRecord) -> Bytes {
    flow.legs[1].held.expect("a proxy").1
}

#[test]
fn a_proxy_passes_on_no_more_than_its_rate_in_each_direction() {
    let [up, down] = [
        "from = \"terminal\"\nto = \"server\"",
        "from = \"server\"\nto = \"terminal\"\nopened_by = \"receiver\"",
    ];
    let both = upload("") + &upload("").replace("bulk", "back").replace(up, down);
    let delivered = |duration: &str| {
        let text = world("rate = \"3Mbit/s\"", &both).replace("60s", duration);
        let record = run(&text, 1, NOTHING);
        record.flows.iter().map(|flow| flow.delivered.as_f64()).collect::<Vec<_>>()
    };
    for (late, early) in delivered("60s").into_iter().zip(delivered("20s")) {
        let rate = (late - early) * 8.0 / 40.0;
        assert!((rate / 3e6 - 1.0).abs() < 0.005, "{rate} bit/s");
    }
}

#[test]
fn connections_share_the_rate_in_turn() {
    let record = checked(&world("rate = \"3Mbit/s\"", &upload("count = 3")), 1);
    let shares: Vec<f64> = record.flows.iter().map(|flow| flow.delivered.as_f64() * 8.0 / 60.0).collect();
    assert!(shares.iter().all(|rate| (rate / 1e6 - 1.0).abs() < 0.05), "{shares:?}");
}

#[test]
fn connections_beyond_the_limit_wait_for_a_place() {
    let flows = upload("count = 3\napp = { kind = \"bulk\", size = \"1MB\" }");
    let record = checked(&world("connections = 1", &flows), 1);
    let mut times: Vec<_> = record.flows.iter().map(|f| (f.legs[0].established, f.end)).collect();
    assert!(record.flows.iter().all(|flow| flow.completed));
    times.sort();
    for pair in times.windows(2) {
        assert!(pair[1].0 > Some(pair[0].1), "one after another: {times:?}");
    }
    let free = checked(&world("", &flows), 1);
    let together = free.flows.iter().filter(|f| f.legs[0].established < Some(SimTime::from_millis(300)));
    assert_eq!(together.count(), 3, "without a limit all at once");
}

#[test]
fn a_crash_loses_what_was_acknowledged_and_had_not_gone_on() {
    for form in ["reset", "silent"] {
        let flow = &checked(&world("", &(upload("") + &crash(form))), 1).flows[0];
        // Nothing is lost on the links: the proxy has acknowledged all that it has received.
        assert_eq!(lost(flow), flow.legs[0].received - flow.delivered, "{form}");
        assert!(lost(flow) > Bytes(100_000), "{form}: {}", lost(flow));
        let last = flow.last_delivery.map(seconds);
        assert!(last.is_some_and(|at| (9.9..12.0).contains(&at)), "{form}: {last:?}");
        assert!(flow.failure.is_some() || form == "silent", "{form}");
    }
    let small = upload("app = { kind = \"bulk\", size = \"1MB\" }");
    let flow = &checked(&world("", &(small + &crash("reset"))), 1).flows[0];
    assert!(flow.completed && lost(flow) == Bytes::ZERO, "over before the crash");
}

#[test]
fn after_a_crash_a_process_begins_anew_and_a_box_without_power_does_not() {
    let second = upload("start = \"12s\"\napp = { kind = \"bulk\", size = \"100kB\" }")
        .replace("bulk\"\nfrom", "later\"\nfrom");
    for (form, answers) in [("reset", true), ("silent", false)] {
        let record = checked(&world("", &(upload("") + &second + &crash(form))), 1);
        assert_eq!(record.flows[1].completed, answers, "{form}");
        assert_eq!(record.flows[1].legs.is_empty(), !answers, "{form}: {:?}", record.flows[1].legs);
    }
}

/// Limits and a crash of proxies for MPTCP and for single subflows.
#[test]
fn proxies_of_every_kind_have_limits_and_crash() {
    for (kind, client) in [("mptcp", "mptcp"), ("one-subflow", "tcp")] {
        let text = world("rate = \"2Mbit/s\"", &upload("app = { kind = \"bulk\", size = \"1MB\" }"))
            .replace("kind = \"split\"", &format!("kind = \"{kind}\""))
            .replace("client = { kind = \"tcp\"", &format!("client = {{ kind = \"{client}\""))
            .replace("transport = { kind = \"tcp\"", "transport = { kind = \"mptcp\"");
        let flow = &checked(&text, 1).flows[0];
        assert!(flow.completed && seconds(flow.end) > 4.0, "{kind}: 8 Mbit at 2 Mbit/s, {:?}", flow.end);
        let flow = &checked(&(text.replace("1MB", "10MB") + &crash("reset")), 1).flows[0];
        assert!(!flow.completed && lost(flow) > Bytes::ZERO, "{kind}: {:?}", flow.failure);
    }
}
