//! Traces of associations: a loss episode, a failover, and reordering between paths without spurious retransmissions.

use testkit::setups::{sctp_pair, sctp_pair_with};
use testkit::{Duo, Fault, Way, Wire, golden};
use transport::Connection;
use transport::sctp::SctpConfig;
use transport::sctp::config::CmtConfig;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

/// 5 ms for a packet of 1500 bytes.
fn wire(delay_ms: u64) -> Wire {
    Wire { delay: Nanos::from_millis(delay_ms), rate: Some(BitsPerSecond(2_400_000)) }
}

/// Compares the trace of `total` bytes over these wires with the file `name`.
fn compare(name: &str, ends: (Connection, Connection), wires: Vec<Wire>, total: u64, faults: Vec<Fault>) {
    let mut duo = Duo::new(ends.0, ends.1, wires, Bytes(total)).with_faults(faults, 1).with_log();
    assert!(duo.run(SimTime::from_secs(60)), "{name}");
    golden::compare(env!("CARGO_MANIFEST_DIR"), &format!("sctp/{name}.txt"), duo.log());
}

fn lost(wire: usize, n: u64) -> Fault {
    Fault::Drop { wire, way: Way::Up, n }
}

/// One of twenty packets is lost: three missing reports, a fast retransmission, half of the window.
#[test]
fn a_loss_episode() {
    let ends = sctp_pair(&SctpConfig::default(), "sctp", 1);
    compare("loss-episode", ends, vec![wire(50)], 24 * 1452, vec![lost(0, 14)]);
}

/// The first path is cut: what it has lost goes to the second at the first timeout, new data when the path is inactive.
#[test]
fn a_failover() {
    let mut config = SctpConfig::default();
    config.recovery.limits.path = 1;
    let cut = Fault::Cut { wire: 0, from: SimTime::from_millis(250), until: SimTime::from_secs(60) };
    compare("failover", sctp_pair(&config, "sctp", 2), vec![wire(20), wire(40)], 24 * 1452, vec![cut]);
}

/// Vector CM-1 over paths of 10 and 60 ms: packets of the slow path are overtaken and none is sent again; of the one that is
/// lost a single retransmission goes to the path with the larger threshold.
#[test]
fn reordering_between_paths() {
    let cmt = Some(CmtConfig { delayed_ack: false, ..CmtConfig::default() });
    let mut config = SctpConfig { cmt, ..SctpConfig::default() };
    config.window.initial_ssthresh = Some(Bytes(12_000));
    let ends = || sctp_pair_with(&config, "sctp", "roundrobin", 2);
    compare("cm-1-reordering", ends(), vec![wire(10), wire(60)], 60 * 1452, Vec::new());
    compare("cm-1-loss", ends(), vec![wire(10), wire(60)], 60 * 1452, vec![lost(1, 6)]);
}
