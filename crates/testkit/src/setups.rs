//! Ready-made configurations and connections.

use std::sync::Arc;

use registry::{OptionValue, Options};
use schedulers::{Registry as Schedulers, Scheduler};
use transport::config::{LossMeans, MptcpConfig, RecoveryKind, Reliability, TcpConfig};
use transport::mptcp::keys::Key;
use transport::sctp::tsn::Tag;
use transport::sctp::{AssociationSetup, SctpConfig};
use transport::{AddressPair, Connection, NewCongestion, Role, Setup};
use units::{BitsPerSecond, Bytes};

use crate::Talk;

/// Keys of the two ends: those of test vector KEY-1.
pub const CLIENT_KEY: Key = Key(0x0102_0304_0506_0708);
/// Key of the server.
pub const SERVER_KEY: Key = Key(0x1112_1314_1516_1718);

/// A plain configuration: MSS 1460, SACK, an ACK per segment, buffers that do not bind.
pub fn tcp() -> TcpConfig {
    TcpConfig::default()
}

/// STP: no SACK, growth by what a report covers.
pub fn stp() -> TcpConfig {
    let growth = congestion::Growth { slow_start_limit: u32::MAX, byte_counting: true };
    let (reliability, recovery) = (Reliability::Poll, RecoveryKind::NewReno);
    tcp().with(|c| {
        c.recovery.reliability = reliability;
        c.recovery.kind = recovery;
        c.options.sack = false;
        c.window.growth = growth;
    })
}

/// SCPS-TP: two acknowledgements per round trip, losses are the links'.
pub fn scps() -> TcpConfig {
    let mut config = stp().with(|c| c.recovery.reliability = Reliability::Snack { peer_capable: true });
    config.ack.per_round_trip = 2;
    config.recovery.loss_means = LossMeans::Corruption;
    config
}

/// One subflow per path, reinjection at timeouts.
pub fn mptcp() -> MptcpConfig {
    MptcpConfig::default()
}

/// Makes controllers of the registry's `name` with default options; a compulsory rate is 1 Mbit/s.
///
/// # Panics
/// If there is none of that name.
pub fn congestion(name: &str) -> NewCongestion {
    let registry = congestion::Registry::builtin();
    let row = *registry.get(name).expect("a registered congestion control");
    Arc::new(move |setup| (row.build)(setup, &Options::examples(row.options)))
}

/// A token bucket of this rate on the wire.
///
/// # Panics
/// If it is not registered.
pub fn fixed_rate(rate: BitsPerSecond, burst: Bytes) -> NewCongestion {
    let row = *congestion::Registry::builtin().get("fixed-rate").expect("a registered congestion control");
    let options = Options::examples(row.options)
        .with("rate", OptionValue::Rate(rate))
        .with("burst", OptionValue::Size(burst));
    Arc::new(move |setup| (row.build)(setup, &options))
}

/// Client and server over plain TCP.
pub fn tcp_pair(config: &TcpConfig, control: &str) -> (Connection, Connection) {
    tcp_pair_with(config, &congestion(control))
}

/// The same with this congestion control.
pub fn tcp_pair_with(config: &TcpConfig, control: &NewCongestion) -> (Connection, Connection) {
    let end = |role| {
        let first = AddressPair { local: Some(0), remote: Some(0) };
        Connection::new(Setup {
            tcp: Arc::new(config.clone()),
            congestion: Arc::clone(control),
            mptcp: None,
            role,
            first,
            pairs: vec![first],
            own: Vec::new(),
            absent: Default::default(),
            key: Key::default(),
            nonce_seed: 0,
        })
    };
    (end(Role::Client), end(Role::Server))
}

/// Client and server over MPTCP with `paths` disjoint paths.
///
/// # Panics
/// If there is no congestion control or scheduler of that name.
pub fn mptcp_pair(
    tcp: &TcpConfig,
    mptcp: &MptcpConfig,
    control: &str,
    scheduler: &str,
    paths: u8,
) -> (Connection, Connection) {
    let end = |role, key| {
        let pairs: Vec<_> = (0..paths).map(|i| AddressPair { local: Some(i), remote: Some(i) }).collect();
        Connection::new(Setup {
            tcp: Arc::new(tcp.clone()),
            congestion: congestion(control),
            mptcp: Some((Arc::new(mptcp.clone()), self::scheduler(scheduler))),
            role,
            first: pairs[0],
            own: if role == Role::Server { (0..paths).collect() } else { Vec::new() },
            pairs: if role == Role::Client { pairs } else { Vec::new() },
            absent: Default::default(),
            key,
            nonce_seed: key.0 ^ 0x5555,
        })
    };
    (end(Role::Client, CLIENT_KEY), end(Role::Server, SERVER_KEY))
}

/// Client and server over SCTP with `paths` disjoint paths.
///
/// # Panics
/// If there is no congestion control of that name.
pub fn sctp_pair(config: &SctpConfig, control: &str, paths: u8) -> (Connection, Connection) {
    sctp_pair_with(config, control, "roundrobin_window", paths)
}

/// The same; `scheduler` is that of concurrent transfer.
///
/// # Panics
/// If there is no congestion control or scheduler of that name.
pub fn sctp_pair_with(
    config: &SctpConfig,
    control: &str,
    scheduler: &str,
    paths: u8,
) -> (Connection, Connection) {
    let end = |role| {
        let scheduler = config.cmt.is_some().then(|| self::scheduler(scheduler));
        Connection::associate(AssociationSetup { scheduler, ..sctp_end(config, control, paths, role) })
    };
    (end(Role::Client), end(Role::Server))
}

/// The parts of one end of an association with `paths` disjoint paths.
///
/// # Panics
/// If there is no congestion control of that name.
pub fn sctp_end(config: &SctpConfig, control: &str, paths: u8, role: Role) -> AssociationSetup {
    AssociationSetup {
        config: Arc::new(*config),
        congestion: congestion(control),
        scheduler: config.cmt.is_some().then(|| scheduler("roundrobin_window")),
        role,
        paths: (0..paths).map(|i| AddressPair { local: Some(i), remote: Some(i) }).collect(),
        tag: Tag(if role == Role::Client { 0x0102_0304 } else { 0x1112_1314 }),
    }
}

/// A scheduler of the registry with default options.
///
/// # Panics
/// If there is none of that name.
pub fn scheduler(name: &str) -> Box<dyn Scheduler> {
    let row = *Schedulers::builtin().get(name).expect("a registered scheduler");
    (row.build)(&Options::defaults(row.options))
}

/// A client over plain TCP for a scripted peer.
pub fn talk(config: &TcpConfig, control: &str) -> Talk {
    Talk::new(tcp_pair(config, control).0, config.segment.mss.0)
}

/// The same with the handshake done: the SYN leaves at 0 and is answered at `rtt_ms`.
pub fn established(config: &TcpConfig, control: &str, rtt_ms: u64) -> Talk {
    let mut talk = talk(config, control);
    talk.play(&format!("0 open\n0 > S 0..1\n{rtt_ms} < S. 0..1 ack 1\n{rtt_ms} > . ack 1"));
    talk
}

/// Payload of a full segment beside a 64-bit DSS, for `tcp()`.
pub const SUBFLOW_MSS: u64 = 1432;

/// A client over MPTCP with minRTT and NewReno on each of `paths` paths, for a scripted server.
pub fn mptcp_client(tcp: &TcpConfig, mptcp: &MptcpConfig, paths: u8) -> Talk {
    mptcp_client_with(tcp, mptcp, paths, "minrtt")
}

/// The same with this scheduler.
pub fn mptcp_client_with(tcp: &TcpConfig, mptcp: &MptcpConfig, paths: u8, scheduler: &str) -> Talk {
    Talk::new(mptcp_pair(tcp, mptcp, "newreno", scheduler, paths).0, SUBFLOW_MSS)
}

/// The same as a server, for a scripted client.
pub fn mptcp_server(tcp: &TcpConfig, mptcp: &MptcpConfig, paths: u8) -> Talk {
    Talk::new(mptcp_pair(tcp, mptcp, "newreno", "minrtt", paths).1, SUBFLOW_MSS)
}
