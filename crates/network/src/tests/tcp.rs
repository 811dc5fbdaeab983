//! One TCP connection over one path.

use trace::SeriesKey;
use units::{Bytes, SimTime};

use super::*;

#[test]
fn one_segment_takes_serialisation_and_propagation_to_the_nanosecond() {
    let record = checked(&one_path("", "app = { kind = \"bulk\", size = \"1kB\" }", "", ""), 1);
    let sizes: Vec<u64> = lines(&record)
        .filter(|words| words[1] == "send")
        .take(3)
        .map(|words| words[10].parse().unwrap())
        .collect();
    // SYN, SYN/ACK, then the data, which carries the third ACK; 10 Mbit/s is 800 ns per byte.
    let expected = sizes.iter().sum::<u64>() * 800 + 3 * 100_000_000;
    let flow = &record.flows[0];
    assert!(flow.completed && flow.delivered == Bytes(1000));
    assert_eq!(flow.end, SimTime(expected));
    assert_eq!(record.end, flow.end, "nothing else is to come");
    assert_eq!(
        (flow.messages.len(), flow.messages[0].size, flow.messages[0].end),
        (1, Bytes(1000), Some(flow.end))
    );
    assert_eq!(flow.subflows[0].established, Some(SimTime((sizes[0] + sizes[1]) * 800 + 200_000_000)));
}

#[test]
fn a_bulk_transfer_fills_the_link() {
    let record = checked(&one_path("", "", ", congestion = \"newreno\"", ""), 1);
    let flow = &record.flows[0];
    assert_eq!(record.end, SimTime::from_secs(20));
    assert_eq!((flow.start, flow.end), (SimTime::ZERO, SimTime::from_secs(20)));
    assert!(!flow.completed && flow.messages.is_empty());
    let goodput = flow.delivered.as_f64() * 8.0 / 20.0;
    assert!((8e6..10e6).contains(&goodput), "{goodput}");
    assert!((0.85..=1.0).contains(&record.links[0].utilisation));
    let series = &record.series;
    let queue = (0..series.len()).filter(|i| series.metric[*i] == "queue_packets").map(|i| series.value[i]);
    assert!((50.0..=100.0).contains(&queue.fold(0.0, f64::max)), "the queue fills and keeps its limit");
    assert_eq!(flow.subflows[0].duplex_link, Some(0));
    assert!(flow.subflows[0].sending.cwnd_mean > 100_000.0);
    assert!(flow.subflows[0].sending.wire.as_f64() > flow.subflows[0].sending.bytes.as_f64());
}

#[test]
fn equal_seeds_are_equal_and_others_are_not() {
    let text = one_path(", loss = { kind = \"packet\", probability = 0.01 }", "", "", "");
    let records = [1, 1, 2].map(|seed| checked(&text, seed));
    assert_eq!(records[0], records[1]);
    assert_ne!(records[0].flows, records[2].flows);
}

#[test]
fn the_transport_does_not_change_the_losses() {
    // The i-th packet that enters the link is lost or not, whatever carries it.
    let losses = |congestion: &str| {
        let loss = ", loss = { kind = \"packet\", probability = 0.02 }";
        let record = checked(&one_path(loss, "", &format!(", congestion = \"{congestion}\""), ""), 5);
        let (mut entered, mut lost) = (0, Vec::new());
        for words in lines(&record) {
            match (words[1], words[2]) {
                ("send", "terminal") => entered += 1,
                ("drop-queue", "beam.up") => entered -= 1,
                ("drop-error", "beam.up") => lost.push(entered),
                _ => {}
            }
        }
        (entered, lost)
    };
    let (first, second) = (losses("newreno"), losses("cubic"));
    assert_ne!(first, second, "the controls behave differently");
    let common = first.0.min(second.0);
    let until = |lost: Vec<u64>| lost.into_iter().filter(|i| *i <= common).collect::<Vec<_>>();
    assert!(common > 1000);
    assert_eq!(until(first.1), until(second.1));
}

#[test]
fn a_download_is_opened_by_the_receiver() {
    let text = one_path(
        "",
        "opened_by = \"receiver\"\nstart = \"1s\"\napp = { kind = \"bulk\", size = \"1MB\" }",
        "",
        "",
    );
    let record = checked(&text, 1);
    let flow = &record.flows[0];
    assert!(flow.completed && flow.delivered == Bytes(1_000_000));
    assert_eq!(flow.start, SimTime::from_secs(1));
    // Data goes up, so the first SYN comes down.
    let first: Vec<_> = lines(&record).find(|words| words[1] == "send").unwrap();
    assert_eq!((first[2], first[4]), ("server", "S"));
    assert_eq!(flow.subflows[0].duplex_link, Some(0));
}

#[test]
fn a_slow_reader_slows_the_sender() {
    let flow = "app = { kind = \"bulk\", read_rate = \"1Mbit/s\" }";
    let buffers = ", receive_buffer = \"64KiB\", receive_buffer_max = \"64KiB\"";
    let record = checked(&one_path("", flow, buffers, ""), 1);
    let delivered = record.flows[0].delivered.as_f64();
    // 20 s at 1 Mbit/s, and at most a buffer more.
    assert!((2.2e6..=2.5e6 + 65_536.0).contains(&delivered), "{delivered}");
    let closed = |i: &usize| record.series.metric[*i] == "rwnd_bytes" && record.series.value[*i] < 40_000.0;
    assert!((0..record.series.len()).any(|i| closed(&i)), "the buffer holds what is not read");
}

#[test]
fn writing_stops_on_time_and_the_rest_is_not_counted() {
    let record = checked(&one_path("", "app = { kind = \"bulk\", duration = \"5s\" }", "", ""), 1);
    let flow = &record.flows[0];
    assert_eq!(flow.end, SimTime::from_secs(5));
    assert!(!flow.completed && flow.messages.is_empty());
    assert!(record.end > flow.end && record.end < SimTime::from_secs(8), "{}", record.end);
    assert!(flow.delivered.as_f64() * 8.0 / 5.0 < 10e6);
    // Stopped short of its size, it is not complete.
    let flow = "stop = \"4s\"\napp = { kind = \"bulk\", size = \"50MB\" }";
    let record = checked(&one_path("", flow, "", ""), 1);
    assert_eq!((record.flows[0].completed, record.flows[0].end), (false, SimTime::from_secs(4)));
}

#[test]
fn series_add_up_to_the_totals() {
    let text =
        one_path(", loss = { kind = \"packet\", probability = 0.01 }", "", "", "").replace("20s", "7.25s");
    let record = checked(&text, 1);
    let series = &record.series;
    let integral = |key: SeriesKey, metric: &str| {
        let (mut last, mut sum) = (0.0, 0.0);
        for i in (0..series.len()).filter(|i| series.key[*i] == key && series.metric[*i] == metric) {
            sum += series.value[i] * (seconds(series.at[i]) - last) / 8.0;
            last = seconds(series.at[i]);
        }
        assert!((last - 7.25).abs() < 1e-9, "the last interval is partial");
        sum
    };
    let close = |a: f64, b: Bytes| assert!((a - b.as_f64()).abs() < 1.0, "{a} is not {b}");
    close(integral(SeriesKey::Flow(0), "goodput_bit_s"), record.flows[0].delivered);
    close(integral(SeriesKey::Link(0), "throughput_bit_s"), record.links[0].bytes);
    let received = record.flows[0].subflows[0].received;
    close(integral(SeriesKey::Subflow(0, 0, 0), "throughput_bit_s"), received);
}

#[test]
fn a_run_can_be_cancelled() {
    let world = World::new(&scenario(&one_path("", "", "", "")), 1, NOTHING);
    assert_eq!(world.run(&AtomicBool::new(true)), Err(crate::Unfinished::Cancelled));
}

/// One event may send any number of datagrams: they count as events do.
#[test]
fn a_run_of_few_events_and_many_datagrams_is_watched() {
    let flow = "app = { kind = \"sockperf\", size = \"20000B\", duration = \"20ms\" }";
    let text = one_path("", flow, "", "").replace("kind = \"tcp\"", "kind = \"udp\", payload = \"1B\"");
    let text = text.replace("duration = \"20s\"", "duration = \"50ms\"");
    let run = |stopped| World::new(&scenario(&text), 1, NOTHING).run(&AtomicBool::new(stopped));
    let record = run(false).expect("not cancelled");
    assert!(record.events < 4096 && record.end < SimTime::from_secs(1), "{} events", record.events);
    assert_eq!(run(true), Err(crate::Unfinished::Cancelled));
    let flow = "app = { kind = \"sockperf\", size = \"2MB\", duration = \"100ms\" }";
    let text = one_path("", flow, "", "").replace("kind = \"tcp\"", "kind = \"udp\", payload = \"1B\"");
    let world = World::new(&scenario(&text), 1, ALL).with_memory(1 << 20);
    match world.run(&AtomicBool::new(false)) {
        // A line of the trace for each datagram sent and for each lost, up to the next count.
        Err(crate::Unfinished::TooMuchMemory(held)) => assert!(held.trace < 65_536 * 2 * 200, "{held:?}"),
        other => panic!("{other:?}"),
    }
}

/// Packets that wait behind a slow link, messages that wait in a sender, and a trace.
#[test]
fn a_run_that_grows_without_end_stops() {
    let small = 1 << 20;
    let stopped = |app: &str, transport: &str, observe| {
        let text = format!(
            "duration = \"1000s\"\n[[path]]\nname = \"p\"\n\
             both = {{ rate = \"1kbit/s\", delay = \"1ms\", queue = \"1000000000p\" }}\n[[flow]]\nname = \"f\"\n\
             from = \"terminal\"\nto = \"server\"\napp = {{ {app} }}\ntransport = {{ {transport} }}\n"
        );
        match World::new(&scenario(&text), 1, observe).with_memory(small).run(&AtomicBool::new(false)) {
            Err(crate::Unfinished::TooMuchMemory(held)) => held,
            other => panic!("{other:?}"),
        }
    };
    let onoff = "kind = \"onoff\", rate = \"10Mbit/s\", packet = \"100B\", on = \"900s\", off = \"1s\"";
    let queued = stopped(onoff, "kind = \"udp\"", NOTHING);
    assert!(queued.packets * crate::PACKET > small && queued.trace == 0, "{queued:?}");
    let waiting = stopped(onoff, "kind = \"tcp\", send_buffer = \"64KiB\"", NOTHING);
    assert!(waiting.packets < 1000 && waiting.messages > 10_000, "{waiting:?}");
    let told = stopped(onoff, "kind = \"udp\"", ALL);
    assert!(told.trace > 0 && told.bytes() > small, "{told:?}");
}

/// The state of a controller is in the series, each value under a name of its own.
#[test]
fn series_tell_what_controllers_know() {
    let metrics = |congestion: &str| {
        let threshold = if congestion == "hybla" { ", initial_ssthresh = \"64KiB\"" } else { "" };
        let transport = format!(", congestion = \"{congestion}\"{threshold}");
        let text = one_path("", "", &transport, "").replace("20s", "5s");
        let series = checked(&text, 1).series;
        let ours = |i: &usize| series.key[*i] == SeriesKey::Subflow(0, 0, 0);
        let values = (0..series.len()).filter(ours).map(|i| (series.metric[i], series.value[i]));
        values.collect::<std::collections::BTreeMap<_, _>>()
    };
    for (congestion, expected) in [
        ("cubic", &["w_max_bytes", "k_s"][..]),
        ("lia", &["alpha"]),
        ("vegas", &["base_rtt_s", "diff_segments"]),
        ("wvegas", &["base_rtt_s", "alpha_segments", "weight"]),
        ("hybla", &["rho"]),
        ("westwood", &["bandwidth_bit_s"]),
        ("star", &["bandwidth_bit_s"]),
        ("adalr", &["rho"]),
    ] {
        let metrics = metrics(congestion);
        for name in expected {
            // K is 0 while slow start has ended without a loss.
            let is_known = |value: &f64| *value > 0.0 || (*name == "k_s" && *value == 0.0);
            assert!(metrics.get(name).is_some_and(is_known), "{congestion} {name}: {metrics:?}");
        }
        assert!((1.0..=4.0).contains(&metrics["sender_state"]));
        assert!(!metrics.contains_key("pacing_rate_bit_s"), "{congestion} does not pace");
    }
    let bbr = metrics("bbr");
    for name in ["cwnd_bytes", "srtt_s", "pacing_rate_bit_s"] {
        assert!(bbr.get(name).is_some_and(|value| *value > 0.0), "{name}: {bbr:?}");
    }
}

/// A source that drops what the send buffer refuses has nothing to deliver when its connection cannot be opened.
#[test]
fn a_flow_without_a_connection_is_not_complete() {
    let source = |size: &str| {
        format!("app = {{ kind = \"onoff\", off = \"10ms\", max_bytes = \"{size}\", backlog = \"drop\" }}")
    };
    let closed = ", loss = { kind = \"packet\", probability = 1 }";
    let record = checked(&one_path(closed, &source("778B"), "", ""), 1);
    let flow = &record.flows[0];
    assert_eq!((flow.completed, flow.failure.as_deref()), (false, Some(trace::NEVER_ESTABLISHED)));
    let empty = one_path("", "app = { kind = \"bulk\", size = \"0B\" }", "", "");
    let flow = &checked(&empty, 1).flows[0];
    assert_eq!((flow.completed, flow.failure.as_deref()), (true, None));
    assert_eq!(Some(flow.end), flow.subflows[0].established, "a transfer of nothing takes a handshake");
}

/// The last segments arrive, their ACKs do not; another flow keeps the run going.
#[test]
fn a_transfer_is_complete_though_its_sender_gives_up() {
    let event = "[[event]]\nat = \"250ms\"\nlink = \"beam.down\"\nset = { up = false }
        [[flow]]\nname = \"other\"\nfrom = \"terminal\"\nto = \"server\"\ntransport = { kind = \"tcp\" }";
    let transport = ", initial_window = 100, retries = 2";
    let record = checked(&one_path("", "app = { kind = \"bulk\", size = \"50kB\" }", transport, event), 1);
    let flow = &record.flows[0];
    assert_eq!((flow.completed, flow.delivered), (true, Bytes(50_000)));
    assert_eq!(flow.failure.as_deref(), Some("too many timeouts"));
}
