//! A peer of an association that keeps no rule: any chunk at any moment, on any path.

use testkit::setups;
use transport::AbortForm;
use transport::packet::{Body, Packet, PathId};
use transport::sctp::SctpConfig;
use transport::sctp::chunk::{
    AddressList, Control, Cookie, DataChunk, DataChunks, Fragment, Heartbeat, Init, Promise, Sack, SctpPacket,
};
use transport::sctp::config::{
    BufferSplit, CmtConfig, EagerSack, FastRetransmit, MaxBurst, Occupancy, Reductions, Rescheduling,
    RetransmissionPolicy, TimerDefects, WindowUpdate,
};
use transport::sctp::gaps::GapBlocks;
use transport::sctp::tsn::{Ssn, StreamId, Tag, Tsn};
use transport::tcp::ranges::{Range, RangeSet};
use transport::{Connection, Role};
use units::{Bytes, Nanos, Ratio, SimTime};

use super::input::Input;
use super::play;

/// Numbers that the peer has seen: packets near them are nearly right.
#[derive(Default)]
struct Seen {
    /// The tag that packets to the connection must have.
    tag: Tag,
    /// The TSN after the last one that was sent.
    sent: u64,
    /// The first TSN that the connection misses.
    missing: u64,
    cookie: Cookie,
    heartbeat: Heartbeat,
}

/// Plays the input to an association: which one, what its application does, what arrives and when.
///
/// # Panics
/// If the association breaks one of its own rules, or never stops sending.
pub fn chunks(bytes: &[u8]) {
    let mut input = Input(bytes);
    let Target { mut end, tag, streams } = association(&mut input);
    let mut seen = Seen { tag, ..Seen::default() };
    let (mut now, mut closed) = (SimTime::ZERO, false);
    end.open();
    play::poll(&mut end, now, &mut |packet| note(packet, &mut seen));
    while !input.0.is_empty() {
        match input.below(16) {
            0 | 1 => {
                let bytes = Bytes(u64::from(input.byte()) * 300).min(end.send_space());
                if !closed && !end.peer_finished() {
                    end.write_on(StreamId(u16::from(input.byte()) % streams), bytes);
                }
            }
            2 => {
                let bytes = end.readable();
                end.read(now, bytes);
                while end.announce().is_some() {}
            }
            3 => now += Nanos(u64::from(input.byte()) * 5_000_000),
            4 | 5 => play::expire(&mut end, &mut now),
            6 => match input.below(6) {
                0 => {
                    end.close();
                    closed = true;
                }
                1 => {
                    end.abort(now, AbortForm::Reset);
                    closed = true;
                }
                _ => {}
            },
            _ => {
                let packet = packet(&mut input, now, &seen);
                end.on_packet(now, &packet);
            }
        }
        play::end_turn(&mut end, &mut now, &mut |packet| note(packet, &mut seen));
    }
}

/// An association, and values that its peer must know.
struct Target {
    end: Connection,
    /// The tag of its packets.
    tag: Tag,
    /// Streams that its application may write on.
    streams: u16,
}

/// One of the associations that a file can ask for.
fn association(input: &mut Input<'_>) -> Target {
    let names: Vec<_> = congestion::Registry::builtin().iter().map(|row| row.name).collect();
    let (control, shape, more) = (input.one(&names), input.byte(), input.byte());
    let mut config = SctpConfig::default();
    config.streams.count = 1 + u16::from(shape & 3);
    config.streams.unordered = shape & 4 == 4;
    config.streams.message = input.one(&[Bytes(100), Bytes(1452), Bytes(5000)]);
    config.data_is_cookie_ack = shape & 8 == 8;
    config.sack.non_renegable = shape & 16 == 16;
    config.heartbeat.confirm = shape & 32 == 32;
    if shape & 64 == 64 {
        config.recovery.fast_retransmit = FastRetransmit::All;
    }
    config.recovery.timer_defects = input.one(&[
        TimerDefects::Absent,
        TimerDefects::LateRestart,
        TimerDefects::Starvation,
        TimerDefects::Both,
    ]);
    config.sack.eager = input.one(&[EagerSack::Never, EagerSack::First, EagerSack::WithDepartures]);
    config.window.burst = input.one(&[
        MaxBurst::Packets(4),
        MaxBurst::Unlimited,
        MaxBurst::UseItOrLoseIt(4),
        MaxBurst::WindowLimiting(4),
    ]);
    if more & 1 == 1 {
        // Buffers that bind, and what a real stack charges for a piece.
        config.buffers.send = Bytes(30_000);
        config.buffers.receive = Bytes(20_000);
        config.buffers.chunk_overhead = Bytes(256);
    }
    if more & 2 == 2 {
        config.cmt = Some(concurrent(input));
    }
    let paths = 1 + (more >> 2 & 3);
    let names: Vec<_> = schedulers::Registry::builtin().iter().map(|row| row.name).collect();
    let scheduler = input.one(&names);
    let (client, server) = setups::sctp_pair_with(&config, control, scheduler, paths);
    let (end, role) = if more & 16 == 16 { (client, Role::Client) } else { (server, Role::Server) };
    let tag = setups::sctp_end(&config, control, paths, role).tag;
    Target { end, tag, streams: config.streams.count }
}

fn concurrent(input: &mut Input<'_>) -> CmtConfig {
    let splits = [BufferSplit::Off, BufferSplit::Sender, BufferSplit::Receiver, BufferSplit::Both];
    let rescheduling = Rescheduling {
        at: input.one(&splits),
        threshold: Ratio::new(0.5).expect("a ratio"),
        reduces: input.flag(),
    };
    CmtConfig {
        retransmission: input.one(&[
            RetransmissionPolicy::SamePath,
            RetransmissionPolicy::LargestWindow,
            RetransmissionPolicy::LargestThreshold,
            RetransmissionPolicy::LowestLoss,
            RetransmissionPolicy::AnyWithRoom,
            RetransmissionPolicy::LowestRtt,
        ]),
        split: input.one(&splits),
        split_by: input.one(&[Occupancy::Queued, Occupancy::Flight]),
        window_update: input.one(&[WindowUpdate::V1, WindowUpdate::V2]),
        reductions: input.one(&[Reductions::Once, Reductions::Each]),
        rescheduling,
        delayed_ack: input.flag(),
    }
}

/// Keeps what a packet of the connection tells its peer.
fn note(packet: &Packet, seen: &mut Seen) {
    let Body::Sctp(body) = &packet.body else { return };
    seen.sent = seen.sent.max(body.data.end().0);
    match body.control {
        Control::Sack(sack) => seen.missing = sack.next.0,
        Control::Shutdown(next) => seen.missing = next.0,
        Control::InitAck(_, cookie) => seen.cookie = cookie,
        Control::Heartbeat(beat) => seen.heartbeat = beat,
        _ => {}
    }
}

fn packet(input: &mut Input<'_>, now: SimTime, seen: &Seen) -> Packet {
    let control = control(input, now, seen);
    let data = if input.flag() { data(input, seen) } else { DataChunks::default() };
    let tag = if input.byte() < 240 { seen.tag } else { tag(input, seen) };
    let body = SctpPacket { tag, control, data };
    let payload = data.user_data().0 as u32;
    Packet {
        path: PathId(if input.byte() < 160 { 0 } else { input.below(6) }),
        size: body.size() + Bytes(20),
        payload,
        body: Body::Sctp(body),
        ..Packet::default()
    }
}

fn tag(input: &mut Input<'_>, seen: &Seen) -> Tag {
    match input.below(4) {
        0 => seen.tag,
        1 => Tag(0),
        _ => Tag(u32::from(input.byte()) + 1),
    }
}

/// A TSN near `base`, or anywhere: 32-bit numbers are unwrapped to those next to what is expected.
fn tsn(input: &mut Input<'_>, base: u64) -> Tsn {
    Tsn(match input.below(8) {
        0 => base.saturating_sub(1 << 31) + (input.number() & 0xffff_ffff),
        1 => u64::from(input.byte()),
        2 | 3 => base.saturating_sub(u64::from(input.below(20))),
        4 => base + u64::from(input.byte()),
        n => base + u64::from(n) - 5,
    })
}

fn data(input: &mut Input<'_>, seen: &Seen) -> DataChunks {
    let (mut chunks, first) = (DataChunks::default(), tsn(input, seen.missing));
    let many = 1 + u64::from(input.below(8));
    for tsn in first.0..first.0 + many {
        let chunk = DataChunk {
            // RFC 9260 section 3.3.1: a chunk has at least one byte.
            len: 1 + u16::from(input.byte()) * 6,
            stream: StreamId(u16::from(input.below(6))),
            ssn: Ssn(u16::from(input.byte())),
            fragment: input.one(&[Fragment::Whole, Fragment::First, Fragment::Middle, Fragment::Last]),
            unordered: input.flag(),
        };
        chunks.push(Tsn(tsn), chunk);
    }
    chunks
}

fn init(input: &mut Input<'_>, seen: &Seen) -> Init {
    let addresses = input.below(9);
    Init {
        tag: tag(input, seen),
        window: u32::from(input.byte()) * 1000,
        streams: u16::from(input.below(5)),
        addresses: AddressList::new((0..addresses).map(|address| address % 6)),
    }
}

fn cookie(input: &mut Input<'_>, seen: &Seen, now: SimTime) -> Cookie {
    if input.byte() < 160 {
        return seen.cookie;
    }
    let made = if input.flag() { now } else { SimTime(u64::from(input.byte()) * 1_000_000_000) };
    Cookie {
        own: tag(input, seen),
        peer: init(input, seen),
        made,
        ties: [tag(input, seen), tag(input, seen)],
    }
}

fn sack(input: &mut Input<'_>, seen: &Seen) -> Sack {
    let next = tsn(input, seen.sent);
    let (mut arrived, mut at) = (RangeSet::default(), next.0 + 1);
    for _ in 0..input.below(8) {
        let start = at + u64::from(input.byte() & 31);
        at = start + 1 + u64::from(input.byte() & 15);
        arrived.insert(Range::new(Tsn(start), Tsn(at)));
        at += 1;
    }
    Sack {
        next,
        window: [0, u32::from(input.byte()) * 100, u32::MAX, 1 << 20][usize::from(input.below(4))],
        duplicates: u16::from(input.below(4)),
        packets: input.below(4),
        gaps: GapBlocks::new(next, &arrived),
        promise: input.one(&[Promise::None, Promise::Renegable, Promise::Kept]),
    }
}

fn control(input: &mut Input<'_>, now: SimTime, seen: &Seen) -> Control {
    match input.below(24) {
        0 => Control::Init(init(input, seen)),
        1 => Control::InitAck(init(input, seen), cookie(input, seen, now)),
        2 => Control::CookieEcho(cookie(input, seen, now)),
        3 => Control::StaleCookie,
        4 => Control::CookieInShutdown,
        5 => Control::CookieAck,
        6 => Control::Heartbeat(Heartbeat { sent: now, nonce: input.number() }),
        7 | 8 => Control::HeartbeatAck(seen.heartbeat),
        9 => {
            let sent = SimTime(input.number() >> 4);
            Control::HeartbeatAck(Heartbeat {
                sent,
                nonce: if input.flag() { seen.heartbeat.nonce } else { 1 },
            })
        }
        10 => Control::Shutdown(tsn(input, seen.sent)),
        11 => Control::ShutdownAck,
        12 => Control::ShutdownComplete,
        13 if input.flag() => Control::Abort,
        14..=20 => Control::Sack(sack(input, seen)),
        _ => Control::None,
    }
}
