//! Loss episodes as tables that a person can read, one per kind of recovery. 1460-byte segments over a wire of
//! 2.4 Mbit/s (5 ms per packet) and 50 ms each way; the client's view.

use testkit::{Duo, Fault, Way, Wire, golden, setups};
use transport::config::{RecoveryKind, TcpConfig};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

fn wire() -> Wire {
    Wire { delay: Nanos::from_millis(50), rate: Some(BitsPerSecond(2_400_000)) }
}

fn config(recovery: RecoveryKind, prr: bool) -> TcpConfig {
    setups::tcp().with(|c| {
        c.recovery.kind = recovery;
        c.recovery.prr = prr;
        c.options.sack = recovery != RecoveryKind::NewReno;
        c.window.initial_window = 8;
    })
}

fn drop(n: u64) -> Fault {
    Fault::Drop { wire: 0, way: Way::Up, n }
}

/// Sends `segments` and compares what happened with the file `name`.
fn episode(name: &str, config: &TcpConfig, segments: u64, faults: Vec<Fault>) {
    let (client, server) = setups::tcp_pair(config, "newreno");
    let total = Bytes(segments * 1460);
    let mut duo = Duo::new(client, server, vec![wire()], total).with_faults(faults, 1).with_log();
    assert!(duo.run(SimTime::from_secs(60)));
    golden::compare(env!("CARGO_MANIFEST_DIR"), name, duo.log());
}

/// Two segments of a window are lost: a partial ACK repairs the second.
#[test]
fn newreno() {
    episode("newreno.txt", &config(RecoveryKind::NewReno, false), 20, vec![drop(3), drop(6)]);
}

#[test]
fn sack() {
    episode("sack.txt", &config(RecoveryKind::Sack, false), 20, vec![drop(3), drop(6)]);
}

/// One loss in a larger window: what leaves is spread over the round trip of recovery, about one segment for two.
#[test]
fn sack_prr() {
    let config = config(RecoveryKind::Sack, true).with(|c| c.window.initial_window = 14);
    episode("sack-prr.txt", &config, 28, vec![drop(3)]);
}

/// The last three segments and the FIN are lost: a probe finds out.
#[test]
fn rack_prr_tail_loss() {
    episode("rack-prr-tail.txt", &config(RecoveryKind::Rack, true), 16, (14..18).map(drop).collect());
}

/// Everything is lost for a while: back-off, then slow start from one segment.
#[test]
fn timeout() {
    let cut = Fault::Cut { wire: 0, from: SimTime::from_millis(99), until: SimTime::from_millis(700) };
    episode("timeout.txt", &config(RecoveryKind::Sack, false), 12, vec![cut]);
}

/// Subflow 0 is cut for good when it has data in flight; its timeout gives the data to subflow 1.
#[test]
fn mptcp_reinjection() {
    let tcp = config(RecoveryKind::Sack, false).with(|c| c.window.initial_window = 4);
    let (client, server) = setups::mptcp_pair(&tcp, &setups::mptcp(), "newreno", "minrtt", 2);
    let cut = Fault::Cut { wire: 0, from: SimTime::from_millis(214), until: SimTime::NEVER };
    let slow = Wire { delay: Nanos::from_millis(80), ..wire() };
    let mut duo = Duo::new(client, server, vec![wire(), slow], Bytes(16 * 1432)).with_faults(vec![cut], 1);
    duo = duo.with_log();
    assert!(duo.run(SimTime::from_millis(1_500)));
    golden::compare(env!("CARGO_MANIFEST_DIR"), "mptcp-reinjection.txt", duo.log());
}
