//! A proxy that acts as the end of one subflow (CNES, IETF 106): the two issues of the slides as traces, and the invariants
//! of a correct proxy, which it violates.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use testkit::golden;
use trace::FlowRecord;
use transport::seq::Dsn;
use transport::tcp::ranges::{Range, RangeSet};
use units::Bytes;

use super::*;
use crate::{Crossing, HostAddress, OpenedSubflow, PacketSink};

/// A terminal with an access A1 beside the gateway and an access A2 over it; a proxy at the gateway.
fn two_accesses(a1: &str, flow: &str, proxy: &str, more: &str) -> String {
    format!(
        "name = \"slides\"\nduration = \"60s\"\n\
         [[path]]\nname = \"a1\"\nboth = {{ rate = \"2Mbit/s\", delay = \"40ms\", queue = \"100p\" }}\n{a1}\n\
         [[path]]\nname = \"a2\"\nto = \"gateway\"\nboth = {{ rate = \"10Mbit/s\", delay = \"10ms\", queue = \"1000p\" }}\n\
         [[path]]\nname = \"internet\"\nfrom = \"gateway\"\n\
         both = {{ rate = \"100Mbit/s\", delay = \"5ms\", queue = \"1000p\" }}\n\
         {proxy}\n\
         [[flow]]\nname = \"upload\"\nfrom = \"terminal\"\nto = \"server\"\nvia = \"a1\"\n{flow}\n{more}\n"
    )
}

fn flow(size: u64, transport: &str) -> String {
    format!(
        "app = {{ kind = \"bulk\", size = \"{size}B\" }}\n\
         transport = {{ kind = \"mptcp\", mss = \"1452B\"{transport} }}\n"
    )
}

fn proxy(kind: &str, side: &str, keys: &str) -> String {
    let side = |name: &str| format!("{name} = {{ kind = \"{side}\", mss = \"1452B\"{keys} }}\n");
    format!(
        "[[proxy]]\nname = \"pep\"\nnode = \"gateway\"\nkind = \"{kind}\"\n{}{}",
        side("client"),
        side("server")
    )
}

const ONE: &str = "one-subflow";

/// The hole of the slides depends on the segments that were on A1.
const MINRTT: &str = ", profile = \"linux-minrtt\"";

/// Packets at the terminal and at the server, in the terms of the slides.
#[derive(Debug, Default)]
struct Slides {
    text: String,
    /// Nodes of terminal, server and proxy.
    nodes: [usize; 3],
    /// Data that has reached the proxy.
    at_proxy: RangeSet<Dsn>,
    /// Most bytes that the proxy has acknowledged and that have never reached it.
    unbacked: u64,
    /// Bytes that the buffers of the proxy hold: each has a size, and what the server has not acknowledged is in one or the other.
    buffer: u64,
    /// Data ACK and right edge as the server tells them.
    server: (u64, u64),
    /// The terminal reaches the server beside the proxy, which then takes what the window of the connection allows as well.
    direct: bool,
    /// Most bytes that the window of the proxy allows and that an end where they may arrive cannot take.
    beyond: u64,
    /// Windows of the proxy that were judged.
    windows: u64,
}

impl Slides {
    fn line(&mut self, crossing: &Crossing<'_>, what: &str) {
        let Some(segment) = crossing.packet.segment() else { return };
        let option = &segment.mptcp;
        let through = crossing.ends[0].node() == self.nodes[2] && what.starts_with("server");
        let access = if through { "px" } else { ["A1", "A2"][crossing.packet.path.index()] };
        let data = option.mapping().filter(|_| segment.len > 0).map_or("-".into(), |dsn| {
            let end = dsn.0 + u64::from(segment.len);
            format!("{}..{end}", dsn.0)
        });
        let (ack, edge) = option.data_ack().map_or(("-".into(), "-".into()), |ack| {
            (ack.0.to_string(), (ack.0 + segment.window.0).to_string())
        });
        let ms = crossing.at.as_secs_f64() * 1e3;
        let _ = writeln!(self.text, "{ms:8.2}  {what:17} {access}  {data:>13}  {ack:>8}  {edge:>10}");
    }

    /// Adds the data that is lost on A1, and the end of the link.
    fn add_fate_of_a1(&mut self, record: &RunRecord) {
        let mut told: Vec<(f64, String)> = self.text.lines().map(|line| (time(line), line.into())).collect();
        for words in lines(record).filter(|words| words.get(2) == Some(&"a1.up")) {
            let ms = words[0].parse::<f64>().expect("microseconds") * 1e-3;
            match words[1] {
                "down" => told.push((ms, format!("{ms:8.2}  A1 goes down"))),
                "drop-error" | "drop-down" => {
                    let (from, to) = words[6].split_once(':').expect("sequence numbers");
                    let len = to.parse::<u64>().expect("a number") - from.parse::<u64>().expect("a number");
                    if let Ok(dsn) = words[8].parse::<u64>() {
                        let data = format!("{dsn}..{}", dsn + len);
                        told.push((ms, format!("{ms:8.2}  {:17} A1  {data:>13}", "lost on the link")));
                    }
                }
                _ => {}
            }
        }
        told.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        self.text = told.into_iter().map(|(_, line)| line + "\n").collect();
    }

    fn judge_proxy(&mut self, crossing: &Crossing<'_>) {
        let Some(segment) = crossing.packet.segment() else { return };
        let [terminal, _, gateway] = self.nodes;
        let (from, to) = (crossing.ends[0].node(), crossing.ends[1].node());
        if !crossing.leaves
            && (from, to) == (terminal, gateway)
            && let Some(dsn) = segment.mptcp.mapping().filter(|_| segment.len > 0)
        {
            self.at_proxy.insert(Range::new(dsn, dsn + Bytes(segment.len.into())));
        }
        self.direct |= (from, to) == (terminal, self.nodes[1]);
        if crossing.leaves && (from, to) == (gateway, terminal) {
            let Some(ack) = segment.mptcp.data_ack() else { return };
            let never_had = Range::new(Dsn::FIRST_DATA, ack);
            let below = |range: Range<Dsn>| Range::new(range.start, range.end.min(ack)).len();
            let had: u64 = self.at_proxy.iter().map(below).sum();
            // DATA_FIN takes a number.
            self.unbacked = self.unbacked.max((never_had.len() - had).saturating_sub(1));
            // The sender may use the window on any subflow: each end that one leads to has to have room for it.
            let held = ack.0.saturating_sub(self.server.0.max(1));
            let own = self.buffer.saturating_sub(held.saturating_sub(self.buffer));
            let right = ack.0 + segment.window.0;
            let of_server = if self.direct { right.saturating_sub(self.server.1) } else { 0 };
            self.beyond = self.beyond.max(segment.window.0.saturating_sub(own)).max(of_server);
            self.windows += 1;
        }
    }
}

/// The sink of a run; the test keeps the other end.
#[derive(Debug)]
struct Watch(Arc<Mutex<Slides>>);

impl PacketSink for Watch {
    fn opened(&mut self, _: &OpenedSubflow) {}

    fn asks(&mut self, _: [HostAddress; 2], _: HostAddress) {}

    fn packet(&mut self, crossing: &Crossing<'_>) {
        let mut slides = self.0.lock().expect("one thread");
        slides.judge_proxy(crossing);
        let [terminal, server, gateway] = slides.nodes;
        let Some(segment) = crossing.packet.segment() else { return };
        let (from, to) = (crossing.ends[0].node(), crossing.ends[1].node());
        if crossing.leaves
            && from == server
            && let Some(ack) = segment.mptcp.data_ack()
        {
            slides.server.0 = slides.server.0.max(ack.0);
            slides.server.1 = slides.server.1.max(ack.0 + segment.window.0);
        }
        let data = segment.len > 0;
        match (crossing.leaves, from, to) {
            (true, from, _) if from == terminal && data => slides.line(crossing, "terminal sends"),
            (false, _, to) if to == terminal => slides.line(crossing, "terminal gets"),
            (false, from, to) if to == server && data && from == gateway => {
                slides.line(crossing, "server gets");
            }
            (false, _, to) if to == server && data => slides.line(crossing, "server gets"),
            _ => {}
        }
    }
}

/// Runs and returns the record of the flow with what passed.
fn watched(text: &str, buffer: u64, seed: u64) -> (FlowRecord, Slides) {
    let scenario = scenario(text);
    let node = |name: &str| scenario.nodes.iter().position(|n| n.name == name).expect("a node");
    let nodes = ["terminal", "server", "gateway"].map(node);
    let slides = Arc::new(Mutex::new(Slides { nodes, buffer, ..Slides::default() }));
    let sink = Box::new(Watch(Arc::clone(&slides)));
    let observe = Observe { series: false, trace: true };
    let world = World::captured(&scenario, seed, observe, Some(sink));
    let mut record = world.run(&AtomicBool::new(false)).expect("not cancelled");
    let mut slides = std::mem::take(&mut *slides.lock().expect("one thread"));
    slides.add_fate_of_a1(&record);
    (record.flows.remove(0), slides)
}

const HEAD: &str = "\
# Times in ms. A1 goes straight to the server, A2 to the proxy, px comes from it. Data sequence numbers count from 1, segments hold 1428 bytes.
# \"terminal gets\": an acknowledgement with its Data ACK, and Data ACK + window, which is how far the connection may send.
# \"lost on the link\": the segment enters the queue of A1 then, and never arrives.
    t_ms  what              on           data  Data ACK  right edge
";

/// The time at the beginning of a line, in ms.
fn time(line: &str) -> f64 {
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a time")
}

/// Compares what passed in these milliseconds with a golden file.
fn golden_of(name: &str, notes: &str, slides: &Slides, (from, until): (f64, f64)) {
    let shown = slides.text.lines().filter(|line| (from..until).contains(&time(line)));
    let text = format!("{notes}{HEAD}{}\n", shown.collect::<Vec<_>>().join("\n"));
    golden::compare(env!("CARGO_MANIFEST_DIR"), name, &text);
}

/// The segment from 31417 on is lost on A1 after the proxy has acknowledged it at connection level, and A1 dies before it is
/// sent again.
const LOSS_AND_DEATH: [&str; 2] = [
    "loss = { kind = \"list\", packets = [25] }",
    "[[event]]\nat = \"328ms\"\nlink = \"a1\"\nset = { up = false }\n",
];

/// A1 with a loss in the direction of the data; `to` is a node.
fn lossy(text: &str, loss: &str, to: &str) -> String {
    let a1 = "queue = \"100p\" }\n\n";
    assert!(text.contains(a1), "the place of A1");
    text.replace(a1, &format!("queue = \"100p\" }}\nup = {{ {loss} }}\nto = \"{to}\"\n"))
}

fn issue_1(kind: Option<(&str, &str)>, beside: bool, dies: bool) -> (FlowRecord, Slides) {
    let proxy = kind.map_or(String::new(), |(kind, side)| proxy(kind, side, MINRTT));
    let [loss, death] = LOSS_AND_DEATH;
    let more = if dies { death } else { "" };
    let text = two_accesses("", &flow(57_120, MINRTT), &proxy, more);
    watched(&lossy(&text, loss, if beside { "server" } else { "gateway" }), u64::MAX, 1)
}

#[test]
fn issue_1_a_hole_that_no_subflow_can_fill() {
    let (flow, slides) = issue_1(Some((ONE, "tcp")), true, true);
    let notes = "\
# Issue 1. The proxy on A2 acknowledges DSN + length of each segment, at connection level. That covers all of A1 too,
# where 31417..32845 is lost. A1 dies before it is repeated. The terminal has freed it, so that A2 never carries it.
";
    golden_of("issue-1-one-subflow.txt", notes, &slides, (203.0, 700.0));
    assert!(!flow.completed && flow.delivered == Bytes(31_416), "{} delivered", flow.delivered);
    let overreach = flow.legs[1].overreach.expect("one subflow");
    assert_eq!(overreach[0], Bytes(20 * 1428), "all that A1 had in flight when A2 was acknowledged");
    assert!(slides.unbacked > 0 && slides.beyond > 0);
}

#[test]
fn issue_1_with_a_correct_proxy() {
    let (flow, slides) = issue_1(Some(("mptcp", "mptcp")), false, true);
    let notes = "\
# The same loss and the same death of A1 with a proxy that ends all subflows. Its Data ACK stays at the hole, the terminal keeps
# what follows, and A2 carries it.
";
    golden_of("issue-1-correct-proxy.txt", notes, &slides, (190.0, 900.0));
    assert!(flow.completed && flow.delivered == Bytes(57_120), "{:?}", flow.failure);
    assert_eq!((slides.unbacked, flow.legs[1].overreach), (0, None));
    let (flow, _) = issue_1(None, true, true);
    assert!(flow.completed, "without a proxy");
    let (flow, slides) = issue_1(Some((ONE, "tcp")), true, false);
    assert!(flow.completed && slides.unbacked > 0, "as long as A1 lives its TCP repairs the loss");
}

/// An upload to a receiver with a small buffer, beside a proxy with a large one. A1 loses a segment and takes long to repair it.
fn issue_2(kind: Option<&str>) -> (FlowRecord, Slides) {
    let buffer = ", profile = \"rfc\", send_buffer = \"4MB\", receive_buffer = \"4MB\"";
    let proxy = kind.map_or(String::new(), |kind| proxy(kind, "tcp", buffer));
    let transport = ", profile = \"rfc\", receive_buffer = \"64kB\", send_buffer = \"4MB\"";
    let text = two_accesses("", &flow(1_000_000, transport), &proxy, "");
    watched(&lossy(&text, "loss = { kind = \"list\", packets = [25] }", "server"), 4_000_000, 1)
}

#[test]
fn issue_2_whose_window() {
    let (with, slides) = issue_2(Some(ONE));
    let notes = "\
# Issue 2. The window belongs to the connection. The server offers what its buffer of 64 kB can take, the proxy what its own of
# 4 MB can. The terminal keeps to the larger right edge, on A1 too.
";
    golden_of("issue-2-one-subflow.txt", notes, &slides, (249.0, 292.0));
    let (without, _) = issue_2(None);
    let conflict = with.legs[1].overreach.expect("one subflow")[1];
    assert!(conflict > Bytes(3_000_000), "{conflict} beyond the window of the server");
    assert!(with.ofo.max > Bytes(64_000), "{} in a buffer of 64 kB", with.ofo.max);
    assert!(without.ofo.max <= Bytes(64_000), "{} without the proxy", without.ofo.max);
}

/// Both accesses with losses, copies and reordering.
fn faulty(seed: u64, kind: &str, beside: bool, extra: &str) -> (FlowRecord, Slides) {
    let faults = format!(
        "loss = {{ kind = \"packet\", probability = {} }}, \
         faults = {{ duplicate = 0.01, reorder = 0.02, reorder_delay = \"30ms\" }}",
        0.004 * (seed % 4) as f64
    );
    let buffer = ["64kB", "300kB", "2MB"][seed as usize % 3];
    let bytes = [64_000, 300_000, 2_000_000][seed as usize % 3];
    let keys = format!(", profile = \"rfc\", send_buffer = \"{buffer}\", receive_buffer = \"{buffer}\"");
    let sides = if kind == ONE { "tcp" } else { "mptcp" };
    let via = if seed.is_multiple_of(2) { "a1" } else { "a2" };
    let text = two_accesses("", &flow(300_000, &keys), &proxy(kind, sides, &keys), extra)
        .replace("queue = \"1000p\"", &format!("queue = \"1000p\", {faults}"))
        .replace("queue = \"100p\"", &format!("queue = \"100p\", {faults}"))
        .replace("via = \"a1\"", &format!("via = \"{via}\""));
    let to = if beside { "server" } else { "gateway" };
    let text =
        text.replace("[[path]]\nname = \"a1\"\n", &format!("[[path]]\nname = \"a1\"\nto = \"{to}\"\n"));
    watched(&text, bytes, seed)
}

#[test]
fn a_correct_proxy_keeps_both_invariants_whatever_path_dies() {
    for (seed, kind) in (1..=18).flat_map(|seed| [(seed, "mptcp"), (seed, "convert")]) {
        let dead = ["a1", "a2"][seed as usize % 2];
        let death = format!("[[event]]\nat = \"400ms\"\nlink = \"{dead}\"\nset = {{ up = false }}\n");
        let (flow, slides) = faulty(seed, kind, false, &death);
        assert!(flow.completed && flow.delivered == Bytes(300_000), "{kind}, {seed}: {:?}", flow.failure);
        assert_eq!((slides.unbacked, slides.beyond), (0, 0), "{kind}, seed {seed}");
        assert!(slides.windows > 100, "{kind}, seed {seed}: {} windows were judged", slides.windows);
    }
}

#[test]
fn a_proxy_for_one_subflow_violates_both_and_delivers_while_no_path_dies() {
    let mut worst = [0, 0];
    for seed in 1..=18 {
        let (flow, slides) = faulty(seed, ONE, true, "");
        assert!(flow.completed && flow.delivered == Bytes(300_000), "seed {seed}: {:?}", flow.failure);
        worst = [worst[0].max(slides.unbacked), worst[1].max(slides.beyond)];
    }
    assert!(worst.iter().all(|bytes| *bytes > 0), "{worst:?}");
}

#[test]
fn options_of_the_handshake_pass() {
    for (direction, opened) in [("up", "sender"), ("down", "sender"), ("down", "receiver")] {
        for via in ["a1", "a2"] {
            let text = two_accesses("", &flow(400_000, ""), &proxy(ONE, "tcp", ""), "");
            let link = if direction == "down" && via == "a2" { "internet" } else { via };
            let text = text.replace("via = \"a1\"", &format!("via = \"{link}\"\nopened_by = \"{opened}\""));
            let down =
                text.replace("from = \"terminal\"\nto = \"server\"", "from = \"server\"\nto = \"terminal\"");
            let record = checked(if direction == "up" { &text } else { &down }, 1);
            let flow = &record.flows[0];
            assert!(flow.completed && !flow.fell_back, "{direction} {via} {opened}: {:?}", flow.failure);
            let carried: Vec<u64> = flow.subflows.iter().map(|subflow| subflow.received.0).collect();
            // Behind the proxy lies a fast link: it may take everything that the server opens for.
            let over_proxy = carried.get(usize::from(via == "a1"));
            assert!(
                carried.len() == 2 && over_proxy > Some(&20_000),
                "{direction} {via} {opened}: {carried:?}"
            );
            let subflow = u32::from(via == "a1");
            assert!(flow.legs.len() == 2 && flow.legs.iter().all(|leg| leg.subflow == subflow));
        }
    }
}

#[test]
fn without_mptcp_at_both_ends_it_relays_tcp() {
    let text = two_accesses("", &flow(300_000, ""), &proxy(ONE, "tcp", ""), "")
        .replace("via = \"a1\"", "via = \"a2\"");
    let plain = checked(&text.replace("kind = \"mptcp\"", "kind = \"tcp\""), 1);
    assert!(plain.flows[0].completed && plain.flows[0].legs.len() == 2);
    let one_sided = text.replace("kind = \"mptcp\"", "kind = \"mptcp\", peer_capable = false");
    let flow = &checked(&one_sided, 1).flows[0];
    assert!(flow.completed && flow.fell_back, "{:?}", flow.failure);
}
