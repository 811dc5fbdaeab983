//! Random valid scenarios: the expansion means the same and is its own expansion.

mod common;

use std::fmt::Write;

use common::{assert_round_trip, good};
use proptest::prelude::*;

/// Decisions drawn one after the other; when they run out, the first of each choice.
struct Draw<'d> {
    left: std::slice::Iter<'d, u8>,
}

impl Draw<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.left.next().copied().unwrap_or(0)) % n
    }

    fn one<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }
}

const RATES: &[&str] = &["3Mbit/s", "1.544Mbit/s", " 20 Mbit/s", "9_600 bit/s", "1Gbit/s"];
const DELAYS: &[&str] = &["250ms", "0s", "0.6 s", "35ms", "1.5us"];
const QUEUES: &[&str] = &["", ", queue = \"10p\"", ", queue = \"64KiB\"", ", queue = \"unlimited\""];
const LOSSES: &[&str] = &[
    "",
    ", loss = \"none\"",
    ", loss = { kind = \"packet\", probability = \"1%\" }",
    ", loss = { kind = \"packet\", probability = 0.333 }",
    ", loss = { kind = \"ber\", ratio = 1e-7 }",
];
const TRANSPORT: &[&str] = &[
    "mss = \"536B\"",
    "overhead = \"18B\"",
    "initial_window = 4",
    "initial_ssthresh = \"unlimited\"",
    "initial_ssthresh = \"64KiB\"",
    "slow_start_limit = \"unlimited\"",
    "slow_start_limit = 2",
    "byte_counting = false",
    "rto_min = \"0.3s\"",
    "rto_granularity = \"10ms\"",
    "rto_floor = \"variance\"",
    "retries = 3",
    "ack_every = 1",
    "sack = true",
    "sack = false\nprr = false\nrecovery = \"newreno\"",
    "timestamps = false",
    "nagle = false",
    "window_scaling = false",
    "receive_buffer = \"32KiB\"",
    "receive_buffer_max = \"8MB\"",
    "send_buffer = \"auto\"",
    "send_buffer = \"300kB\"",
    "congestion = \"lia\"",
    "congestion = { kind = \"cubic\", hystart = true }",
    "congestion = \"newreno\"",
];
const MULTIPATH: &[&str] = &[
    "scheduler = \"roundrobin\"",
    "path_manager = \"fullmesh\"",
    "path_manager = { kind = \"ndiffports\", subflows = 7 }",
    "path_manager = { subflows = 2 }",
    "reinjection = \"death\"",
    "reinject_on = \"all\"",
    "reassembly = \"joint\"",
    "checksum = true",
    "wide_sequence = false",
    "peer_capable = false",
];

fn direction(draw: &mut Draw<'_>) -> String {
    let (rate, delay) = (draw.one(RATES), draw.one(DELAYS));
    format!("{{ rate = \"{rate}\", delay = \"{delay}\"{}{} }}", draw.one(QUEUES), draw.one(LOSSES))
}

/// `both`, or the two directions, or something of each.
fn directions(draw: &mut Draw<'_>, names: [&str; 2]) -> String {
    let [there, back] = names;
    match draw.below(3) {
        0 => format!("both = {}\n", direction(draw)),
        1 => format!("{there} = {}\n{back} = {}\n", direction(draw), direction(draw)),
        _ => format!("both = {}\n{back} = {{ rate = \"{}\" }}\n", direction(draw), draw.one(RATES)),
    }
}

/// A line for each key that is drawn, each key once.
fn settings(draw: &mut Draw<'_>, from: &[&str]) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let key = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    for _ in 0..draw.below(8) {
        let line = draw.one(from);
        let clash = |old: &&str| old.split('\n').any(|o| line.split('\n').any(|n| key(o) == key(n)));
        if !lines.iter().any(clash) {
            lines.push(line);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn scenario(draw: &mut Draw<'_>) -> String {
    let mut text = format!("duration = \"{}\"\n", draw.one(&["30s", "2min", "90.5 s"]));
    text += draw.one(&[
        "",
        "name = \"a \\\"title\\\" \\\\ \\u00e9\"\n",
        "description = \"\"\"two\nlines\"\"\"\n",
    ]);
    text += draw.one(&["", "seeds = 20\n", "seeds = [9, 3]\n"]);
    text += draw.one(&["", "[routing]\necmp = \"packet\"\n", "[record]\ninterval = \"20ms\"\n"]);
    let paths = draw.below(3);
    let routed = paths == 0 || draw.below(2) == 1;
    for i in 0..paths {
        let _ = write!(text, "[[path]]\nname = \"p{i}\"\n");
        if i > 0 && draw.below(2) == 1 {
            let own = match draw.below(2) {
                0 => String::new(),
                _ => format!("down = {}\n", direction(draw)),
            };
            let _ = write!(text, "like = \"p0\"\n{own}");
        } else {
            text += &directions(draw, ["up", "down"]);
        }
    }
    if routed {
        let count = 1 + draw.below(3);
        let first = if count == 1 { "r" } else { "r1" };
        let _ = write!(
            text,
            "[[node]]\nname = \"r\"\ncount = {count}\n[[node]]\nname = \"a\"\nforward = false\n"
        );
        let _ =
            write!(text, "[[node]]\nname = \"b\"\n[[mesh]]\nname = \"m\"\nleft = [\"a\"]\nright = [\"r\"]\n");
        text += &directions(draw, ["forward", "reverse"]);
        let _ = write!(text, "[[link]]\nname = \"l\"\nends = [\"{first}\", \"b\"]\n");
        text += &directions(draw, ["forward", "reverse"]);
    }
    for i in 0..1 + draw.below(3) {
        let (from, to) =
            if routed && (paths == 0 || draw.below(2) == 1) { ("a", "b") } else { ("terminal", "server") };
        let _ = write!(text, "[[flow]]\nname = \"f{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
        text += draw.one(&["", "start = \"1s\"\n", "stop = \"9s\"\n", "opened_by = \"receiver\"\n"]);
        text += draw.one(&[
            "",
            "app = \"bulk\"\n",
            "app = { size = \"1MB\" }\n",
            "app = { kind = \"bulk\", read_rate = \"1Mbit/s\" }\n",
        ]);
        let profile =
            draw.one(&["", "profile = \"ns3\"\n", "profile = \"opnet2007\"\n", "profile = \"rfc\"\n"]);
        let kind = draw.one(&["tcp", "mptcp"]);
        let _ = write!(text, "[flow.transport]\nkind = \"{kind}\"\n{profile}");
        text += &settings(draw, TRANSPORT);
        if kind == "mptcp" {
            text += &settings(draw, MULTIPATH);
        }
    }
    for _ in 0..draw.below(3) {
        let link =
            if paths > 0 { draw.one(&["p0", "p0.up", "p0.down"]) } else { draw.one(&["l", "l.forward"]) };
        let at = draw.one(&["3s", "0s", "2.5 s"]);
        let set = draw.one(&[
            "up = false",
            "rate = \"1Mbit/s\"",
            "loss = \"none\"",
            "queue = \"1p\", delay = \"3ms\"",
        ]);
        let _ = write!(text, "[[event]]\nat = \"{at}\"\nlink = \"{link}\"\nset = {{ {set} }}\n");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn the_expansion_means_the_same(decisions in prop::collection::vec(any::<u8>(), 0..150)) {
        let text = scenario(&mut Draw { left: decisions.iter() });
        assert_round_trip(&good(&text, &[]));
    }
}
