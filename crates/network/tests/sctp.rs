//! Associations of SCTP in whole networks.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use trace::{FlowRecord, RunRecord};
use units::{Bytes, Nanos, SimTime};

fn run(text: &str) -> RunRecord {
    let document = match Document::parse(text, "test.toml", &[], &Registries::builtin()) {
        Ok(document) => document,
        Err(mistakes) => panic!("{mistakes}\n{text}"),
    };
    let observe = Observe { series: true, trace: true };
    let record = World::new(&document.scenario, 1, observe).run(&AtomicBool::new(false));
    record.expect("the run is not cancelled")
}

/// Two paths of 10 Mbit/s: `delays` one way in milliseconds.
fn two_paths(duration: u64, delays: [u64; 2], app: &str, more: &str) -> String {
    let mut text = format!("duration = \"{duration}s\"\n");
    for (delay, n) in delays.into_iter().zip(0..) {
        text += &format!(
            "[[path]]\nname = \"p{n}\"\nboth = {{ rate = \"10Mbit/s\", delay = \"{delay}ms\", queue = \"100p\" }}\n"
        );
    }
    text + &format!("[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\napp = {app}\n{more}\n")
}

fn sent(flow: &FlowRecord) -> Vec<Bytes> {
    flow.subflows.iter().map(|path| path.sending.bytes).collect()
}

#[test]
fn one_path_is_filled_and_the_other_is_idle() {
    let record = run(&two_paths(20, [20, 20], "\"bulk\"", "transport = { kind = \"sctp\" }"));
    let flow = &record.flows[0];
    // 1452 of 1500 bytes are user data: 9.68 Mbit/s.
    let goodput = flow.delivered.as_f64() * 8.0 / 20.0;
    assert!((8.9e6..9.68e6).contains(&goodput), "{goodput}");
    assert_eq!(sent(flow)[1], Bytes::ZERO);
    assert_eq!((flow.subflows[0].sending.timeouts, flow.failure.as_deref()), (0, None));
    assert!(flow.subflows[1].established.is_some(), "a HEARTBEAT has confirmed it");
    let heartbeats =
        record.trace.lines().filter(|line| line.contains(" hb ") && line.contains("send")).count();
    assert_eq!(heartbeats, 2, "one from each end");
}

#[test]
fn a_path_that_fails_is_replaced() {
    let outage = "transport = { kind = \"sctp\", path_retries = 2 }\n\
                  [[event]]\nat = \"5s\"\nlink = \"p0\"\nset = { up = false }\n";
    let record = run(&two_paths(40, [20, 40], "\"bulk\"", outage));
    let flow = &record.flows[0];
    let second = sent(flow)[1];
    // Timeouts of 1 s, 2 s and 4 s come first; lost data goes over the second path after the first of them.
    assert!(second > Bytes(30_000_000), "{second}");
    assert!(flow.subflows[1].reinjected > Bytes::ZERO);
    assert!(flow.subflows[0].sending.timeouts >= 3);
}

/// All applications work over associations: those that ask and answer, too.
#[test]
fn every_application_completes_or_runs_to_its_end() {
    for app in [
        "{ kind = \"bulk\", size = \"1MB\" }",
        "{ kind = \"http\", connections = 6 }",
        "{ kind = \"ftp\", size = \"3MB\", files = 2 }",
        "\"video\"",
        "\"onoff\"",
        "{ kind = \"iperf\" }",
        "{ kind = \"player\" }",
        "{ kind = \"sockperf\" }",
        "{ kind = \"ping\" }",
        "\"game\"",
    ] {
        for from in ["terminal", "server"] {
            let other = if from == "terminal" { "server" } else { "terminal" };
            let text = two_paths(30, [20, 30], app, "transport = { kind = \"sctp\" }").replace(
                "from = \"terminal\"\nto = \"server\"",
                &format!("from = \"{from}\"\nto = \"{other}\""),
            );
            let record = run(&text);
            let flow = &record.flows[0];
            assert_eq!(flow.failure, None, "{app} from {from}");
            assert!(flow.delivered > Bytes::ZERO, "{app} from {from}");
            let early = flow.messages.iter().filter(|message| message.start < SimTime::from_secs(29));
            let missing = early.filter(|message| message.end.is_none()).count();
            assert_eq!(missing, 0, "{app} from {from}: of {} messages", flow.messages.len());
            assert!(flow.pages.iter().all(|page| page.end.is_some()), "{app} from {from}: {:?}", flow.pages);
        }
    }
}

#[test]
fn a_transfer_with_a_size_completes() {
    let record = run(&two_paths(
        30,
        [20, 30],
        "{ kind = \"bulk\", size = \"1MB\" }",
        "transport = { kind = \"sctp\" }",
    ));
    let flow = &record.flows[0];
    assert!(flow.completed && flow.delivered == Bytes(1_000_000), "{flow:?}");
}

/// Data that goes with the COOKIE ECHO arrives before the sender knows that its association is established.
#[test]
fn a_transfer_within_the_handshake_has_not_failed() {
    let record = run(&two_paths(30, [20, 30], "{ size = \"600B\" }", "transport = { kind = \"sctp\" }"));
    let flow = &record.flows[0];
    assert_eq!((flow.completed, flow.failure.as_deref()), (true, None));
    assert!(flow.end < SimTime::ZERO + Nanos::from_millis(80), "ended at {:?}, after a COOKIE ACK", flow.end);
}

/// Concurrent transfer adds up two equal paths, and two that differ.
#[test]
fn all_paths_carry_data_at_once() {
    for delays in [[20, 20], [20, 60]] {
        let record = run(&two_paths(30, delays, "\"bulk\"", "transport = { kind = \"cmt-sctp\" }"));
        let flow = &record.flows[0];
        let goodput = flow.delivered.as_f64() * 8.0 / 30.0;
        assert!(goodput > 14e6, "{delays:?}: {goodput}");
        assert!(sent(flow).iter().all(|bytes| *bytes > Bytes(20_000_000)), "{:?}", sent(flow));
    }
}

/// Frames of three messages fit into the burst of the primary path: profile `inet` hardly uses the other, unless the first
/// is full. Round robin gives each path half.
#[test]
fn the_primary_path_comes_first_in_inet() {
    let video = "{ kind = \"video\", rate = \"950kbit/s\" }";
    let share = |app: &str, transport: &str| {
        let text = two_paths(20, [20, 20], app, transport);
        let flow = &run(&text).flows[0];
        assert_eq!(flow.failure, None, "{transport}");
        sent(flow)[0].as_f64() / sent(flow).iter().copied().sum::<Bytes>().as_f64()
    };
    let inet = "transport = { kind = \"cmt-sctp\", profile = \"inet\" }";
    let first = share(video, inet);
    assert!(first > 0.95, "{first}");
    let both = share("\"bulk\"", inet);
    assert!((0.4..0.6).contains(&both), "{both}");
    let turns = share(video, "transport = { kind = \"cmt-sctp\", confirm_paths = false }");
    assert!((0.4..0.6).contains(&turns), "{turns}");
}

/// Where paths need no HEARTBEAT the end that has accepted may use a path before its peer does: the packets belong to the
/// association, and nothing is sent twice over links without loss.
#[test]
fn the_accepting_end_may_use_a_path_first() {
    let more = "opened_by = \"receiver\"\ntransport = { kind = \"cmt-sctp\", profile = \"inet\" }";
    let record = run(&two_paths(20, [20, 40], "{ kind = \"video\", duration = \"10s\" }", more));
    let flow = &record.flows[0];
    assert!(sent(flow)[1] > Bytes(1452), "{:?}", sent(flow));
    let again: u64 =
        flow.subflows.iter().map(|path| path.sending.retransmitted + path.sending.timeouts).sum();
    assert_eq!((again, flow.failure.as_deref()), (0, None));
    assert!(
        flow.messages
            .iter()
            .all(|message| message.delay.is_some_and(|delay| delay < Nanos::from_millis(200)))
    );
}

/// The answer to a request that came with the cookie overtakes the COOKIE ACK on a faster path. Discarded, it waits for T3-rtx, 3 s
/// at first; taken for a COOKIE ACK, the page takes a few round trips.
#[test]
fn an_answer_that_overtakes_the_cookie_ack_waits_for_no_timer() {
    let page = "{ kind = \"http\", page = \"custom\", main = \"30kB\", objects = 0 }";
    let load = |taken: bool| {
        let transport = format!(
            "transport = {{ kind = \"cmt-sctp\", profile = \"inet\", data_is_cookie_ack = {taken} }}"
        );
        let text = two_paths(30, [60, 10], page, &transport)
            .replace("from = \"terminal\"\nto = \"server\"", "from = \"server\"\nto = \"terminal\"");
        let flow = &run(&text).flows[0];
        assert_eq!(flow.failure, None);
        (
            flow.pages[0].end.expect("the page is complete"),
            flow.subflows.iter().map(|path| path.sending.timeouts).sum(),
        )
    };
    let (slow, fast): ((SimTime, u64), (SimTime, u64)) = (load(false), load(true));
    assert!(slow.0 > SimTime::from_secs(3) && slow.1 >= 1, "{slow:?}");
    assert!(fast.0 < SimTime::from_millis(600) && fast.1 == 0, "{fast:?}");
}
