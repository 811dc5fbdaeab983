//! One loss episode for each congestion control and each scheduler of the registries, as a short table.
//!
//! The wires carry 2.4 Mbit/s (5 ms per packet). A table of a congestion control has a row for each loss, retransmission
//! and timeout, for each change of state or threshold, and beside these one per 100 ms. A table of a scheduler has a
//! row for each instant at which a subflow sends, with the numbers of the segments in the stream.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use testkit::{Duo, Fault, Way, Wire, golden, setups};
use transport::config::TcpConfig;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

fn wire(delay_ms: u64) -> Wire {
    Wire { delay: Nanos::from_millis(delay_ms), rate: Some(BitsPerSecond(2_400_000)) }
}

/// A line of the log of a [`Duo`].
struct Line<'a> {
    ms: u64,
    subflow: usize,
    event: &'a str,
    seq: u64,
    end: u64,
    cwnd: u64,
    ssthresh: &'a str,
    state: &'a str,
    /// Data sequence number of the first payload byte.
    dsn: Option<u64>,
}

fn lines(log: &str) -> impl Iterator<Item = Line<'_>> {
    log.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |word: &str| word.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        let (seq, end) = words[3].split_once("..").expect("a range of sequence numbers");
        let dsn = words.iter().position(|word| *word == "dsn").map(|at| number(words[at + 1]));
        Line {
            ms: number(words[0]),
            subflow: number(words[1]) as usize,
            event: words[2],
            seq: number(seq),
            end: number(end),
            cwnd: number(words[5]),
            ssthresh: words[6],
            state: words[8],
            dsn,
        }
    })
}

/// How the windows move; segments of `payload` bytes are counted from 0 on each subflow.
fn windows(log: &str, payload: u64) -> String {
    let mut table = "#   t_ms  sub event     segment     cwnd ssthresh state\n".to_owned();
    // When a row of the subflow was written last, and its threshold and state.
    let mut last: BTreeMap<usize, (u64, String)> = BTreeMap::new();
    for line in lines(log) {
        let now = format!("{} {}", line.ssthresh, line.state);
        let is_rare = matches!(line.event, "lost" | "resend" | "timeout");
        let is_due = last.get(&line.subflow).is_none_or(|(ms, then)| line.ms >= ms + 100 || *then != now);
        if !is_rare && !is_due {
            continue;
        }
        last.insert(line.subflow, (line.ms, now));
        let segment =
            if line.end > line.seq + 1 { ((line.seq - 1) / payload).to_string() } else { "-".into() };
        let Line { ms, subflow, event, cwnd, ssthresh, state, .. } = line;
        writeln!(table, "{ms:>8}  {subflow:>3} {event:<8} {segment:>8} {cwnd:>8} {ssthresh:>8} {state}")
            .expect("a String");
    }
    table
}

/// Segments of 1000 bytes, so that a window reads as segments; a receive buffer that no queue outgrows.
fn config() -> TcpConfig {
    let buffer = Bytes(50_000);
    let tcp = setups::tcp();
    tcp.with(|c| {
        c.segment.mss = Bytes(1000);
        c.window.initial_window = 4;
        c.buffers.receive_buffer = buffer;
        c.buffers.receive_buffer_max = buffer;
    })
}

/// Congestion controls that read their sibling subflows.
const COUPLED: [&str; 4] = ["lia", "olia", "balia", "wvegas"];

/// Each congestion control sends 150 segments; segments 20 and 90 on the wire are lost. Coupled ones send twice as much
/// over two paths, one of which loses them.
#[test]
fn congestion_controls() {
    for row in congestion::Registry::builtin().iter() {
        let coupled = COUPLED.contains(&row.name);
        let (client, server) = if coupled {
            setups::mptcp_pair(&config(), &setups::mptcp(), row.name, "minrtt", 2)
        } else {
            setups::tcp_pair(&config(), row.name)
        };
        // A DSS takes 28 bytes of a segment.
        let (paths, payload, segments) = if coupled { (2, 972, 300) } else { (1, 1000, 150) };
        let faults = [20, 90].map(|n| Fault::Drop { wire: 0, way: Way::Up, n }).to_vec();
        let total = Bytes(segments * payload);
        let mut duo =
            Duo::new(client, server, vec![wire(50); paths], total).with_faults(faults, 1).with_log();
        assert!(duo.run(SimTime::from_secs(60)), "{}", row.name);
        let name = format!("congestion/{}.txt", row.name);
        golden::compare(env!("CARGO_MANIFEST_DIR"), &name, &windows(duo.log(), payload));
    }
}

/// Which segments of the stream leave on which subflow, and when.
fn placement(log: &str, payload: u64) -> String {
    let mut table = "#   t_ms  sub event    segments of the stream\n".to_owned();
    let mut open = (0, 0, "");
    for line in lines(log) {
        // The first segment carries MP_CAPABLE in the place of a DSS.
        let is_first = line.subflow == 0 && line.seq == 1 && line.end > 1;
        let Some(dsn) = line.dsn.or(is_first.then_some(1)) else { continue };
        if line.event == "recv" || line.end == line.seq {
            continue;
        }
        if open != (line.ms, line.subflow, line.event) {
            open = (line.ms, line.subflow, line.event);
            let end = if table.ends_with('\n') { "" } else { "\n" };
            write!(table, "{end}{:>8}  {:>3} {:<8}", line.ms, line.subflow, line.event).expect("a String");
        }
        write!(table, " {}", (dsn - 1) / payload).expect("a String");
    }
    table + "\n"
}

/// Each scheduler has 100 segments for two paths with round trips of 100 and 40 ms and a receive buffer of 30 segments.
/// Two segments of each path are lost.
#[test]
fn scheduling() {
    let payload = setups::SUBFLOW_MSS;
    let buffer = Bytes(30 * payload);
    let tcp = setups::tcp();
    let tcp = tcp.with(|c| {
        c.window.initial_window = 4;
        c.buffers.receive_buffer = buffer;
        c.buffers.receive_buffer_max = buffer;
    });
    for row in schedulers::Registry::builtin().iter() {
        let (client, server) = setups::mptcp_pair(&tcp, &setups::mptcp(), "newreno", row.name, 2);
        let faults = [(0, 24), (0, 25), (1, 24), (1, 25)];
        let faults = faults.map(|(wire, n)| Fault::Drop { wire, way: Way::Up, n }).to_vec();
        let mut duo = Duo::new(client, server, vec![wire(50), wire(20)], Bytes(100 * payload))
            .with_faults(faults, 1)
            .with_log();
        assert!(duo.run(SimTime::from_secs(60)), "{}", row.name);
        let name = format!("scheduling/{}.txt", row.name);
        golden::compare(env!("CARGO_MANIFEST_DIR"), &name, &placement(duo.log(), payload));
    }
}
