use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use scenario::{Document, Registries};

use super::*;
use crate::{Backend, RunOptions, Simulator};

const TEXT: &str = r#"
name = "two paths"
duration = "5s"
[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "20ms", queue = "60kB" }
[[path]]
name = "b"
both = { rate = "4Mbit/s", delay = "60ms", queue = "60kB", loss = { kind = "packet", probability = 0.01 } }
[[flow]]
name = "up"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "700kB" }
transport = { kind = "mptcp", profile = "linux" }
[[flow]]
name = "probe"
from = "server"
to = "terminal"
app = { kind = "onoff", rate = "64kbit/s", packet = "200B" }
transport = { kind = "udp" }
"#;

fn parsed(text: &str) -> Scenario {
    let document = Document::parse(text, "test.toml", &[], &Registries::builtin());
    document.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ropewalk-capture-{}-{name}", std::process::id()))
}

fn captured(text: &str, at: &str, name: &str) -> Vec<u8> {
    let scenario = parsed(text);
    let folder = folder(name);
    let order = CaptureOrder::new(&scenario, &folder, at, 96).unwrap_or_else(|error| panic!("{error}"));
    let mut options =
        RunOptions { seeds: vec![7], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let plain = crate::run(&scenario, &options, &|_, _| {}, &AtomicBool::new(false)).expect("it runs");
    options.capture = Some(order.clone());
    let output = crate::run(&scenario, &options, &|_, _| {}, &AtomicBool::new(false)).expect("it runs");
    assert_eq!(output.tables, plain.tables, "a capture changes a result");
    let bytes = fs::read(order.file(7)).expect("the file is there");
    fs::remove_dir_all(folder).expect("it can be removed");
    bytes
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = captured(TEXT, "both", "first");
    assert!(first.len() > 100_000, "{} bytes", first.len());
    assert_eq!(first, captured(TEXT, "both", "second"));
    assert!(captured(TEXT, "a", "link").len() < first.len());
    assert!(captured(TEXT, "server", "node").len() < first.len());
}

/// Every packet of associations has bytes, in both versions of IP: one that has none would be an error of the run.
#[test]
fn associations_are_captured() {
    for (kind, header) in [("sctp", "32B"), ("cmt-sctp", "32B"), ("cmt-sctp", "52B")] {
        let transport = format!(r#"kind = "{kind}", header = "{header}", nr_sack = true"#);
        let text = TEXT.replace(r#"kind = "mptcp", profile = "linux""#, &transport);
        let bytes = captured(&text, "both", &format!("sctp-{kind}-{header}"));
        assert!(bytes.len() > 100_000, "{} bytes", bytes.len());
    }
}

/// Legs whose ends have settings of their own; and a converter, which is asked in the payload of a SYN.
#[test]
fn legs_are_captured_at_their_proxy() {
    let legs = |proxy: &str, flow: &str| {
        format!(
            r#"
name = "legs"
duration = "5s"
[[path]]
name = "satellite"
both = {{ rate = "4Mbit/s", delay = "20ms", queue = "60kB" }}
[[proxy]]
name = "pep"
path = "satellite"
server_leg = {{ both = {{ rate = "10Mbit/s", delay = "5ms" }} }}
{proxy}
[[flow]]
name = "up"
from = "terminal"
to = "server"
app = {{ kind = "bulk", size = "300kB" }}
transport = {{ {flow} }}
"#
        )
    };
    let sides = |kind: &str, client: &str, server: &str| {
        format!("kind = \"{kind}\"\nclient = {{ {client} }}\nserver = {{ {server} }}")
    };
    let (linux, scps) = (r#"kind = "tcp""#, r#"kind = "tcp", profile = "scps""#);
    let mptcp = r#"kind = "mptcp", mss = "1400B", checksum = true"#;
    let cases = [
        (sides("split", r#"kind = "tcp", sack = false, recovery = "newreno", prr = false"#, scps), linux),
        (sides("split", scps, r#"kind = "tcp", profile = "rfc""#), scps),
        (sides("mptcp", mptcp, r#"kind = "mptcp", wide_sequence = false, short_data_ack = false"#), mptcp),
        (sides("one-subflow", linux, linux), mptcp),
        (sides("convert", mptcp, linux), mptcp),
        (sides("convert", linux, mptcp), linux),
    ];
    for (index, (proxy, flow)) in cases.iter().enumerate() {
        let bytes = captured(&legs(proxy, flow), "pep", &format!("legs-{index}"));
        assert!(bytes.len() > 50_000, "{proxy}: {} bytes", bytes.len());
        // RFC 8803: version, length and magic number before a Connect TLV.
        let asked = bytes.windows(6).any(|six| six[0] == 1 && six[2..5] == [0x22, 0x63, 10]);
        assert_eq!(asked, proxy.contains("convert"), "{proxy}");
    }
    let other = legs(&sides("split", r#"kind = "tcp", header = "60B""#, linux), linux);
    let refused = CaptureOrder::new(&parsed(&other), &folder("none"), "pep", 96).expect_err("two versions");
    assert!(refused.contains("two versions of IP"), "{refused}");
}

#[test]
fn a_flow_without_bytes_is_refused() {
    let refusal = |text: &str, at: &str| {
        CaptureOrder::new(&parsed(text), &folder("none"), at, 96).expect_err("it is refused")
    };
    let missing = refusal(TEXT, "c");
    assert!(missing.starts_with("there is no node or link c\n  fix: both, or one of the nodes"), "{missing}");
    let stp =
        TEXT.replace(r#"{ kind = "mptcp", profile = "linux" }"#, r#"{ kind = "tcp", profile = "stp" }"#);
    let stp = refusal(&stp, "both");
    assert!(stp.contains("STP has no published format"), "{stp}");
    let header = TEXT.replace(r#"profile = "linux" }"#, r#"profile = "linux", header = "52B" }"#);
    let header = refusal(&header, "both");
    assert!(header.contains("a header of 52B is none of IPv4"), "{header}");
}

#[test]
fn simulator_alone_captures() {
    assert!(Simulator.captures());
}
