//! A peer that keeps to nothing: any segment with any option at any moment, on any subflow.

use testkit::setups;
use transport::config::{
    IdleRestart, LossMeans, MptcpConfig, PathManager, ReinjectOn, Reinjection, TcpConfig,
};
use transport::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, Token};
use transport::mptcp::option::{Dss, MptcpOption, ResetReason};
use transport::packet::{Body, Ecn, Packet, PathId};
use transport::seq::{Dsn, Seq, StreamOffset};
use transport::space::{Snack, SpaceSegment, SpaceSignal};
use transport::tcp::ranges::Range;
use transport::tcp::segment::{Flags, SackBlocks, TcpSegment, Timestamps};
use transport::{AbortForm, AddressPair, Connection};
use units::{Bytes, Nanos, SimTime};

use super::input::Input;
use super::play;

/// A sequence number near `base`, or anywhere within what a sender can reach: 32-bit numbers are unwrapped to those
/// next to what is expected.
fn position(input: &mut Input<'_>, base: u64) -> u64 {
    match input.below(8) {
        0 => input.number() & 0xffff_ffff_ffff,
        1 => u64::from(input.byte()),
        n => (base + u64::from(input.byte()) * 100).saturating_sub(u64::from(n) * 500),
    }
}

/// Numbers that the peer has seen: packets near them are nearly right.
#[derive(Default)]
struct Seen {
    seq: u64,
    ack: u64,
    data: u64,
    token: Token,
    nonce: Nonce,
}

/// Plays the input to a connection: which one, what its application does, what arrives and when.
///
/// # Panics
/// If the connection breaks one of its own rules, or never stops sending.
pub fn packets(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut end = connection(&mut input);
    let mut now = SimTime::ZERO;
    let (mut seen, mut closed) = (Seen::default(), false);
    end.open();
    play::poll(&mut end, now, &mut |packet| note(packet, &mut seen));
    while !input.0.is_empty() {
        match input.below(16) {
            0 => {
                // An application that has closed, or follows the peer in it, writes no more.
                let bytes = Bytes(u64::from(input.byte()) * 300).min(end.send_space());
                if !closed && !end.peer_finished() {
                    end.write(bytes);
                }
            }
            1 => {
                let bytes = end.readable();
                end.read(now, bytes);
            }
            2 => now += Nanos(u64::from(input.byte()) * 5_000_000),
            3 | 4 => play::expire(&mut end, &mut now),
            5 => closed |= act(&mut end, now, &mut input),
            _ => {
                let packet = packet(&mut input, now, &seen);
                end.on_packet(now, &packet);
            }
        }
        play::end_turn(&mut end, &mut now, &mut |packet| note(packet, &mut seen));
    }
}

/// One of the connections that a file can ask for.
fn connection(input: &mut Input<'_>) -> Connection {
    let names: Vec<_> = congestion::Registry::builtin().iter().map(|row| row.name).collect();
    let control = names[usize::from(input.byte()) % names.len()];
    let mut tcp = match input.below(6) {
        0 => setups::scps(),
        1 => setups::stp(),
        _ => setups::tcp(),
    };
    let shape = input.byte();
    tcp.options.timestamps = shape & 1 == 1 && tcp.options.sack;
    tcp.sending.nagle = shape & 2 == 2;
    tcp.sending.pacing = shape & 4 == 4;
    tcp.options.ecn = shape & 8 == 8;
    tcp.options.window_scaling = shape & 16 == 16;
    tcp.recovery.limited_transmit = shape & 32 == 32;
    tcp.window.idle_restart = match shape & 65 {
        64 => IdleRestart::Initial,
        65 => IdleRestart::Halving,
        _ => IdleRestart::Never,
    };
    if shape & 128 == 128 {
        tcp.recovery.loss_means = LossMeans::Corruption;
    }
    let space = !tcp.options.sack;
    tcp.window.initial_ssthresh = Bytes(200_000);
    let (client, server) =
        if space || input.flag() { setups::tcp_pair(&tcp, control) } else { multipath(input, &tcp, control) };
    if input.flag() { client } else { server }
}

fn multipath(input: &mut Input<'_>, tcp: &TcpConfig, control: &str) -> (Connection, Connection) {
    let names: Vec<_> = schedulers::Registry::builtin().iter().map(|row| row.name).collect();
    let scheduler = names[usize::from(input.byte()) % names.len()];
    let mut config: MptcpConfig = setups::mptcp();
    config.path_manager = match input.below(4) {
        0 => PathManager::Passive,
        1 => PathManager::FullMesh { subflows: 1 },
        2 => PathManager::NdiffPorts { subflows: 3 },
        _ => PathManager::PerPath { subflows: 1 },
    };
    let when = [Reinjection::Timeout, Reinjection::Death, Reinjection::Upstream];
    let on = [ReinjectOn::Scheduler, ReinjectOn::SamePath, ReinjectOn::LowestRtt, ReinjectOn::All];
    config.reinjection = when[usize::from(input.below(3))];
    config.reinject_on = on[usize::from(input.below(4))];
    config.peer_capable = input.byte() > 10;
    config.subflow_unsent_limit = [Bytes::MAX, Bytes(1), Bytes(16_384)][usize::from(input.below(3))];
    setups::mptcp_pair(tcp, &config, control, scheduler, 1 + input.below(4))
}

/// Calls of an application or of the interfaces. True if nothing more may be written.
fn act(end: &mut Connection, now: SimTime, input: &mut Input<'_>) -> bool {
    let address = input.below(4);
    let what = input.below(8);
    match what {
        0 => end.close(),
        1 => end.abort(now, if input.flag() { AbortForm::Ack } else { AbortForm::Reset }),
        2 => end.remove_address(now, address),
        3 => end.add_address(address),
        4 => end.set_backup(address, input.flag()),
        _ => {}
    }
    what < 2
}

/// Keeps what a packet of the connection tells its peer.
fn note(packet: &Packet, seen: &mut Seen) {
    let Some(segment) = packet.segment() else { return };
    seen.ack = seen.ack.max(segment.end().0);
    seen.seq = segment.ack.0;
    seen.data = segment.mptcp.data_ack().map_or(seen.data, |ack| ack.0);
    if let MptcpOption::JoinSyn { token, nonce, .. } = segment.mptcp {
        (seen.token, seen.nonce) = (token, nonce);
    }
}

fn packet(input: &mut Input<'_>, now: SimTime, seen: &Seen) -> Packet {
    let segment = segment(input, now, seen);
    let signal = match input.below(24) {
        0 => Some(SpaceSignal::ScpsCapable),
        1 => Some(SpaceSignal::Poll { number: u32::from(input.byte()) }),
        2 => Some(SpaceSignal::Stat { number: u32::from(input.byte()) }),
        3 => Some(SpaceSignal::Ustat),
        4 => Some(SpaceSignal::Dummy { len: 1 + u32::from(input.byte()) * 8 }),
        5 => Some(SpaceSignal::DummyAnswer),
        6 => Some(SpaceSignal::Snack(Snack {
            offset: u16::from(input.byte()),
            size: 1 + u16::from(input.byte()),
            bits: input.below(65),
            vector: input.number(),
        })),
        _ => None,
    };
    let body = match signal {
        Some(signal) => Body::Space(SpaceSegment { segment, signal }),
        None => Body::Tcp(segment),
    };
    Packet {
        path: PathId(if input.byte() < 200 { 0 } else { input.below(6) }),
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ce][usize::from(input.below(3))],
        size: Bytes(40 + u64::from(segment.len)),
        payload: segment.len,
        offset: if segment.len > 0 { segment.stream_offset() } else { StreamOffset::START },
        body,
        ..Packet::default()
    }
}

fn segment(input: &mut Input<'_>, now: SimTime, seen: &Seen) -> TcpSegment {
    let flags = input.byte();
    let syn = flags & 3 == 3;
    let flags = Flags {
        syn,
        ack: flags & 4 == 0,
        fin: !syn && flags & 24 == 24,
        rst: flags & 224 == 224,
        psh: flags & 8 == 8,
        ece: flags & 48 == 48,
        cwr: flags & 80 == 80,
    };
    let len = if syn || input.flag() { 0 } else { u32::from(input.byte()) * 12 };
    let seq = Seq(if syn { 0 } else { position(input, seen.seq).max(1) });
    let mut sack = SackBlocks::default();
    for _ in 0..input.below(8).saturating_sub(3) {
        let start = position(input, seen.ack);
        sack.push(Range::new(Seq(start), Seq(start + u64::from(input.byte()) * 40)));
    }
    let timestamps = (input.below(4) == 0).then(|| Timestamps {
        value: SimTime(input.number() >> 4),
        echo: if input.flag() { now } else { SimTime(input.number() >> 4) },
    });
    let window = Bytes(match input.below(4) {
        0 => 0,
        1 => u64::from(input.byte()),
        _ => 65_535u64 << input.below(15),
    });
    TcpSegment {
        flags,
        len,
        seq,
        ack: Seq(position(input, seen.ack)),
        window,
        timestamps,
        sack,
        mptcp: option(input, seen),
    }
}

fn option(input: &mut Input<'_>, seen: &Seen) -> MptcpOption {
    let keys = [setups::CLIENT_KEY, setups::SERVER_KEY, Key(input.0.len() as u64)];
    let key = |input: &mut Input<'_>| keys[usize::from(input.below(3))];
    let id = input.below(6);
    match input.below(20) {
        0 => MptcpOption::CapableSyn,
        1 => MptcpOption::CapableSynAck(key(input)),
        2 => {
            let (sender, receiver) = (key(input), key(input));
            MptcpOption::CapableAck { sender, receiver, after: input.flag().then_some(0) }
        }
        3 => MptcpOption::JoinSyn {
            token: if input.flag() { key(input).token() } else { seen.token },
            nonce: Nonce(u32::from(input.byte())),
            addresses: AddressPair { local: Some(input.below(5)), remote: Some(input.below(5)) },
            id,
            backup: input.flag(),
        },
        4 => {
            let (own, peer, nonce) = (key(input), key(input), Nonce(u32::from(input.byte())));
            let hmac = transport::mptcp::keys::join_hmac64(own, peer, nonce, seen.nonce);
            let hmac = if input.flag() { hmac } else { Hmac64::default() };
            MptcpOption::JoinSynAck { hmac, nonce, id, backup: input.flag() }
        }
        5 => MptcpOption::JoinAck { hmac: Hmac160([input.byte(); 20]) },
        6 => {
            let (sender, receiver, address) = (key(input), key(input), input.below(6));
            let hmac =
                transport::mptcp::keys::add_addr_hmac(sender, receiver, id, [10, 0, 0, address].into(), 0);
            let echo = input.flag();
            MptcpOption::AddAddr { id, address, echo, hmac, data_ack: Dsn(position(input, seen.data)) }
        }
        7 => MptcpOption::RemoveAddr { id, data_ack: Dsn(position(input, seen.data)) },
        8 => MptcpOption::Prio { backup: input.flag(), data_ack: Dsn(position(input, seen.data)) },
        9 => MptcpOption::FastClose { key: key(input) },
        10 => MptcpOption::Reset(ResetReason::Protocol),
        11..=13 => MptcpOption::None,
        _ => MptcpOption::Dss(Dss {
            data_ack: input.flag().then(|| Dsn(position(input, seen.ack))),
            dsn: input.flag().then(|| Dsn(position(input, seen.data).max(1))),
            data_fin: input.byte() > 230,
            ..Dss::default()
        }),
    }
}
