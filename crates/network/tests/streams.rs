//! Streams and unordered delivery of associations: a loss delays the messages that are ordered behind it, and no others.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use scenario::{Document, Registries};
use trace::FlowRecord;
use units::{Bytes, Nanos, SimTime};

/// The flow of a scenario in this file.
fn run_at(text: &str, file: &str, seed: u64) -> FlowRecord {
    let document = match Document::parse(text, file, &[], &Registries::builtin()) {
        Ok(document) => document,
        Err(mistakes) => panic!("{mistakes}\n{text}"),
    };
    let record = World::new(&document.scenario, seed, Observe::default()).run(&AtomicBool::new(false));
    record.expect("the run is not cancelled").flows.swap_remove(0)
}

fn run(text: &str) -> FlowRecord {
    run_at(text, "test.toml", 1)
}

/// One path of 10 Mbit/s and 50 ms each way; `loss` is that of the direction of the data.
fn one_path(loss: &str, app: &str, transport: &str) -> String {
    format!(
        "duration = \"20s\"\n[[path]]\nname = \"p\"\ndown = {{ rate = \"10Mbit/s\", delay = \"50ms\", queue = \"200p\"{loss} }}\n\
         up = {{ rate = \"10Mbit/s\", delay = \"50ms\", queue = \"200p\" }}\n\
         [[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"terminal\"\napp = {app}\ntransport = {{ {transport} }}\n"
    )
}

/// Numbers of the messages, without those of the handshake, that take longer than a few packets on an idle path.
fn late(flow: &FlowRecord) -> Vec<usize> {
    let delay = |i: usize| flow.messages[i].delay.expect("each message arrives");
    (10..flow.messages.len()).filter(|i| delay(*i) > Nanos::from_millis(55)).collect()
}

/// One packet of a message each 33 ms is lost. Three later packets report that, and the retransmission arrives some 250 ms after the
/// first transmission: six to eight messages wait for it on one stream, one of two others on four streams, and none without order.
#[test]
fn a_loss_delays_its_own_stream_alone() {
    let video = "{ kind = \"video\", rate = \"240kbit/s\", frames = 30, duration = \"10s\" }";
    let late_with = |more: &str| {
        let loss = ", loss = { kind = \"list\", packets = [100] }";
        let flow = run(&one_path(loss, video, &format!("kind = \"sctp\", {more}")));
        assert_eq!(flow.failure, None);
        let again: u64 = flow.subflows.iter().map(|path| path.sending.retransmitted).sum();
        assert_eq!((flow.messages.len(), again), (300, 1), "{more}");
        late(&flow)
    };
    let ordered = late_with("streams = 1");
    let lost = ordered[0];
    assert!((90..=100).contains(&lost), "{lost}: two packets of the handshake and few others come before");
    assert_eq!(ordered, (lost..lost + ordered.len()).collect::<Vec<_>>());
    assert!((6..=8).contains(&ordered.len()), "{ordered:?}");
    assert_eq!(late_with("streams = 4"), [lost, lost + 4]);
    assert_eq!(late_with("unordered = true"), [lost]);
    assert_eq!(late_with("streams = 4, unordered = true"), [lost]);
}

/// 1 MB takes 0.8 s. A small message behind it on one stream waits for all of it, on another one for the send buffer alone.
#[test]
fn a_large_message_keeps_no_other_stream_from_sending() {
    let folder = std::env::temp_dir().join(format!("ropewalk-streams-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("writes.txt"), "1 1MB down\n1.01 100 down\n").expect("written");
    let file = folder.join("test.toml").display().to_string();
    let small = |streams: u32| {
        let transport = format!("kind = \"sctp\", send_buffer = \"64KiB\", streams = {streams}");
        let text = one_path("", "{ kind = \"replay\", file = \"writes.txt\" }", &transport);
        let flow = run_at(&text, &file, 1);
        assert_eq!((flow.failure.as_deref(), flow.delivered), (None, Bytes(1_000_100)));
        flow.messages.iter().find(|message| message.size == Bytes(100)).and_then(|message| message.delay)
    };
    let (behind, beside) = (small(1).expect("delivered"), small(2).expect("delivered"));
    // A buffer of 64 KiB per round trip: 16 of them for all of the large message. The first buffer takes four, from a window of 4404
    // bytes on, and then one way.
    assert!(behind > Nanos::from_millis(1500), "{behind}");
    assert!(beside < Nanos::from_millis(460), "{beside}");
    std::fs::remove_dir_all(folder).expect("removed");
}

/// Ten objects over an association with one stream come one after the other; over six streams six come at a time, as over six
/// associations, but with one handshake and one window: small objects come earlier, larger ones later.
#[test]
fn pages_choose_between_streams_and_associations() {
    let load = |bytes: u32, more: &str, streams: u32| {
        let page = format!(
            "{{ kind = \"http\", page = \"custom\", main = \"{bytes}B\", object = \"{bytes}B\"{more} }}"
        );
        let flow = run(&one_path("", &page, &format!("kind = \"sctp\", streams = {streams}")));
        assert_eq!(flow.failure, None);
        let page = &flow.pages[0];
        (page.end.expect("the page is complete").since(page.start), page.connections)
    };
    let round_trips = |from: u64, took: Nanos| {
        (Nanos::from_millis(100 * from)..Nanos::from_millis(100 * from + 50)).contains(&took)
    };
    let (serial, one) = load(300, ", connections = 1", 1);
    let (several, associations) = load(300, "", 1);
    let (streams, association) = load(300, "", 6);
    assert_eq!((one, associations, association), (1, 6, 1));
    // A round trip for the handshake, one for each object; then one, the main object, and ten others in two turns, of which the
    // first waits for the handshakes of further associations.
    assert!(round_trips(12, serial), "{serial}");
    assert!(round_trips(4, streams), "{streams}");
    assert!(round_trips(5, several), "{several}");
    // 15 kB leave in a round trip over five initial windows, and in three over one.
    let (several, streams) = (load(3000, "", 1).0, load(3000, "", 6).0);
    assert!(round_trips(5, several) && streams > several + Nanos::from_millis(100), "{several} {streams}");
    assert_eq!(load(3000, ", connections = 2", 3).1, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Random losses, duplicates and reordering in both directions, over one path and two: every message arrives once, in order
    /// within its stream, and no faster than light.
    #[test]
    fn every_message_arrives_once_and_in_order_within_its_stream(
        streams in 1usize..9, unordered in any::<bool>(), concurrent in any::<bool>(), loss in 0u32..80, seed in 1u64..1000,
        size in 200u64..6000,
    ) {
        let kind = if concurrent { "cmt-sctp" } else { "sctp" };
        let both = format!(
            "both = {{ rate = \"10Mbit/s\", delay = \"20ms\", queue = \"100p\", loss = {{ kind = \"packet\", probability = {} }}, \
             faults = {{ duplicate = \"2%\" }} }}",
            f64::from(loss) / 1000.0
        );
        let mut text = String::from("duration = \"120s\"\n");
        for path in ["one", "two"] {
            text += &format!("[[path]]\nname = \"{path}\"\n{both}\n");
        }
        text += &format!(
            "[[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"terminal\"\n\
             app = {{ kind = \"video\", rate = \"{}bit/s\", frames = 30, duration = \"10s\" }}\n\
             transport = {{ kind = \"{kind}\", streams = {streams}, unordered = {unordered} }}\n",
            size * 8 * 30
        );
        let flow = run_at(&text, "test.toml", seed);
        prop_assert_eq!(flow.failure, None);
        let ends: Vec<SimTime> = flow.messages.iter().filter_map(|message| message.end).collect();
        prop_assert_eq!(ends.len(), flow.messages.len());
        prop_assert_eq!(flow.messages.len(), 300);
        let sizes: Bytes = flow.messages.iter().map(|message| message.size).sum();
        prop_assert_eq!(flow.delivered, sizes);
        for message in &flow.messages {
            prop_assert!(message.delay >= Some(Nanos::from_millis(20)));
        }
        // Messages go to the streams in turn.
        if !unordered {
            for stream in 0..streams {
                let of_stream: Vec<_> = ends.iter().skip(stream).step_by(streams).collect();
                prop_assert!(of_stream.is_sorted(), "stream {} of {}", stream, streams);
            }
        }
    }
}
