//! Rules of FreeBSD that the profile `freebsd` has, as conversations with a scripted peer.

use testkit::association::{self, leaving_by_path};
use testkit::setups::sctp_end;
use transport::Role;
use transport::packet::{Body, Packet, PathId};
use transport::sctp::chunk::{
    AddressList, Control, Cookie, DataChunk, DataChunks, Heartbeat, Init, Promise, Sack, SctpPacket,
};
use transport::sctp::config::{EagerSack, FastRetransmit, InitialWindow, MaxBurst};
use transport::sctp::gaps::GapBlocks;
use transport::sctp::tsn::{Ssn, StreamId, Tag, Tsn};
use transport::sctp::{Association, SctpConfig, UserMessage};
use transport::tcp::ranges::{Range, RangeSet};
use units::{Bytes, SimTime};

/// Tag of the scripted peer.
const PEER: Tag = Tag(77);
/// Tag of the end under test, as `sctp_end` sets it for clients.
const OWN: Tag = Tag(0x0102_0304);

fn at(ms: u64) -> SimTime {
    SimTime::from_millis(ms)
}

fn hears(end: &mut Association, now: SimTime, control: Control, data: DataChunks) -> Vec<SctpPacket> {
    let tag = if matches!(control, Control::Init(_)) { Tag::NONE } else { OWN };
    association::hears(end, now, SctpPacket { tag, control, data })
}

/// A client with one path, whose handshake is complete at 40 ms and whose peer has this window.
fn established(config: &SctpConfig, window: u32) -> Association {
    let mut client = Association::new(sctp_end(config, "sctp", 1, Role::Client));
    client.open();
    leaving_by_path(&mut client, at(0));
    let peer = Init { tag: PEER, window, streams: 10, addresses: AddressList::new([0].into_iter()) };
    let cookie = Cookie { own: PEER, peer, made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), Control::InitAck(peer, cookie), DataChunks::default());
    hears(&mut client, at(40), Control::CookieAck, DataChunks::default());
    client
}

/// Four chunks of 1000 bytes arrive. Returns the windows that SACKs tell, before the application reads and after that; all after it with `reads_first`.
fn windows(eager: EagerSack, reads_first: bool) -> [Vec<u32>; 2] {
    let mut config = SctpConfig::default();
    config.sack.eager = eager;
    config.streams.message = Bytes(1000);
    (config.buffers.receive, config.buffers.chunk_overhead) = (Bytes(16_000), Bytes(256));
    let mut client = established(&config, 100_000);
    let mut data = DataChunks::default();
    for tsn in 0..4 {
        assert!(data.push(Tsn(tsn), DataChunk { len: 1000, unordered: true, ..DataChunk::default() }));
    }
    let body = Body::Sctp(SctpPacket { tag: OWN, control: Control::None, data });
    client.on_packet(at(50), &Packet { path: PathId::FIRST, body, ..Packet::default() });
    let told = |client: &mut Association| {
        let sacks =
            leaving_by_path(client, at(50)).into_iter().filter_map(|(_, packet)| match packet.control {
                Control::Sack(sack) => Some(sack.window),
                _ => None,
            });
        sacks.collect()
    };
    let before = if reads_first { Vec::new() } else { told(&mut client) };
    client.read(Bytes(4000));
    [before, told(&mut client)]
}

/// `sctp_sack_check` sends before the application reads. Then `sctp_user_rcvd` tells of each eighth of the buffer that reading frees,
/// message by message: two of them, 2512 bytes.
#[test]
fn a_sack_tells_the_window_before_data_is_read_and_others_that_reading_opens_it() {
    assert_eq!(windows(EagerSack::WithDepartures, true), [vec![], vec![10_976, 13_488, 16_000]]);
    assert_eq!(windows(EagerSack::First, true), [vec![], vec![16_000]]);
    // The window of 12,000 bytes has room for a packet: other ends are silent.
    assert_eq!(windows(EagerSack::WithDepartures, false), [vec![10_976], vec![13_488, 16_000]]);
    assert_eq!(windows(EagerSack::First, false), [vec![12_000], vec![]]);
}

/// Thirteen chunks of 1000 bytes overfill the buffer. `sctp_calc_rwnd` makes that a window of one byte. The first eighth that reading frees
/// opens nothing, so `sctp_user_rcvd` begins to count anew and says nothing; each later one is told.
#[test]
fn reading_an_overfull_buffer_tells_nothing_at_first() {
    let mut config = SctpConfig::default();
    config.sack.eager = EagerSack::WithDepartures;
    config.recovery.fast_retransmit = FastRetransmit::All;
    config.streams.message = Bytes(1000);
    (config.buffers.receive, config.buffers.chunk_overhead) = (Bytes(16_000), Bytes(256));
    let mut client = established(&config, 100_000);
    let mut told = Vec::new();
    for first in [1, 5, 9, 0] {
        let mut data = DataChunks::default();
        for tsn in first..(first + 4).min(13) {
            let chunk = DataChunk { len: 1000, ssn: Ssn(tsn as u16), ..DataChunk::default() };
            if first > 0 || tsn == 0 {
                assert!(data.push(Tsn(tsn), chunk));
            }
        }
        let sent = hears(&mut client, at(50), Control::None, data);
        told.extend(sent.into_iter().filter_map(|packet| match packet.control {
            Control::Sack(sack) => Some(sack.window),
            _ => None,
        }));
    }
    assert_eq!(told, [10_976, 5952, 928, 1]);
    client.read(Bytes(13_000));
    let after: Vec<u32> = leaving_by_path(&mut client, at(50))
        .into_iter()
        .filter_map(|(_, packet)| match packet.control {
            Control::Sack(sack) => Some(sack.window),
            _ => None,
        })
        .collect();
    assert_eq!(after, [4696, 7208, 9720, 12_232, 14_744]);
}

/// `sctp_total_flight_increase` charges a chunk with its header and the overhead, and a chunk needs room for its header.
#[test]
fn chunk_headers_fill_the_window_of_the_peer_where_chunks_have_an_overhead() {
    let sent = |overhead, window| {
        let mut config = SctpConfig::default();
        config.buffers.chunk_overhead = Bytes(overhead);
        let mut client = established(&config, window);
        (0..3).for_each(|_| {
            client.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1452) })
        });
        let packets = leaving_by_path(&mut client, at(50));
        packets.iter().filter(|(_, packet)| !packet.data.is_empty()).count()
    };
    let three = 2 * (1452 + 256 + 16) + 1452 + 16;
    assert_eq!([sent(256, three), sent(256, three - 1)], [3, 2]);
    assert_eq!([sent(0, 3 * 1452), sent(0, 3 * 1452 - 1)], [3, 2]);
}

/// Settings with the rules of loss recovery of FreeBSD, or those of RFC 9260.
fn recovery(freebsd: bool) -> SctpConfig {
    let mut config = SctpConfig::default();
    config.recovery.fast_retransmit = if freebsd { FastRetransmit::All } else { FastRetransmit::Single };
    config
}

/// `sctp_handle_sack`: chunks that a gap block had acknowledged are in flight again after a SACK without blocks, which was overtaken on a
/// slower path. The window is larger by as much until they are acknowledged anew. RFC 9260 has no such rule.
#[test]
fn a_sack_that_was_overtaken_revokes_what_gap_blocks_have_acknowledged() {
    for (freebsd, revoked) in [(true, 2 * 1468), (false, 0)] {
        let mut client = established(&recovery(freebsd), 100_000);
        (0..3).for_each(|_| {
            client.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1452) })
        });
        leaving_by_path(&mut client, at(50));
        let mut arrived = RangeSet::default();
        arrived.insert(Range::new(Tsn(1), Tsn(3)));
        let some = Sack { gaps: GapBlocks::new(Tsn(0), &arrived), window: 100_000, ..Sack::default() };
        let none = Sack { window: 100_000, ..Sack::default() };
        let states = [some, none, some].map(|sack| {
            hears(&mut client, at(70), Control::Sack(sack), DataChunks::default());
            let state = client.gauges(0).expect("a path");
            (state.cwnd, state.inflight)
        });
        let (cwnd, flight) = (states[0].0, Bytes(1468));
        let between = (cwnd + Bytes(revoked), flight + Bytes(revoked));
        assert_eq!(states, [(cwnd, flight), between, (cwnd, flight)], "freebsd: {freebsd}");
    }
}

/// `sctp_process_segment_range`: the window gives back the growth by a revoked chunk as well if the chunk waits to be sent again when it is
/// acknowledged anew. At most four packets are sent again at a time, so that the ninth chunk, which was revoked, waits behind the others.
#[test]
fn a_revoked_chunk_that_arrives_while_it_waits_shrinks_the_window() {
    let mut config = recovery(true);
    (config.window.initial, config.window.burst) =
        (InitialWindow::Bytes(Bytes(20 * 1468)), MaxBurst::Unlimited);
    let mut client = established(&config, 100_000);
    (0..14)
        .for_each(|_| client.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1452) }));
    leaving_by_path(&mut client, at(50));
    let windows = [8..9, 9..11, 9..12, 9..13, 8..13].map(|block| {
        let mut arrived = RangeSet::default();
        arrived.insert(Range::new(Tsn(block.start), Tsn(block.end)));
        let sack = Sack { gaps: GapBlocks::new(Tsn(0), &arrived), window: 100_000, ..Sack::default() };
        hears(&mut client, at(70), Control::Sack(sack), DataChunks::default());
        client.gauges(0).expect("a path").cwnd.0
    });
    assert_eq!(windows[1], windows[0] + 1468, "the ninth chunk is revoked: {windows:?}");
    assert_eq!(windows[4], windows[3] - 1468, "it arrives while it waits: {windows:?}");
}

/// `sctp_process_control`: a SACK or a HEARTBEAT that overtakes the COOKIE ACK on a faster path completes the handshake. INET, which has
/// `data_is_cookie_ack` as well, knows only DATA.
#[test]
fn a_sack_or_a_heartbeat_completes_the_handshake() {
    let controls = [Control::Sack(Sack::default()), Control::Heartbeat(Heartbeat::default()), Control::None];
    for (freebsd, expected) in [(true, [true, true, false]), (false, [false; 3])] {
        let found = controls.map(|control| {
            let config = SctpConfig { data_is_cookie_ack: true, ..recovery(freebsd) };
            let mut client = Association::new(sctp_end(&config, "sctp", 2, Role::Client));
            client.open();
            leaving_by_path(&mut client, at(0));
            let peer =
                Init { tag: PEER, window: 10_000, streams: 10, addresses: AddressList::new([0].into_iter()) };
            let cookie = Cookie { own: PEER, peer, made: at(10), ..Cookie::default() };
            hears(&mut client, at(20), Control::InitAck(peer, cookie), DataChunks::default());
            hears(&mut client, at(30), control, DataChunks::default());
            client.is_established()
        });
        assert_eq!(found, expected, "freebsd: {freebsd}");
    }
}

/// A message at `ms`; when T3-rtx expires.
fn deadline_of_a_message(end: &mut Association, ms: u64) -> SimTime {
    end.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(100) });
    leaving_by_path(end, at(ms));
    end.next_deadline()
}

/// `sctp_handle_cookie_ack`, `sctp_process_cookie_new`: the cookie is a round trip of 0.6 s for the client, after that of INIT, and of 0.7 s for the
/// server. The timeout is 0.6 s and four times 0.225 s, and three times 0.7 s. RFC 9260 has INIT alone (three times 0.6 s), and the server none.
#[test]
fn the_cookie_gives_both_ends_a_round_trip() {
    for (freebsd, [sent, answered]) in [(true, [1500, 2100]), (false, [1800, 1000])] {
        let own =
            Init { tag: OWN, window: 10_000, streams: 10, addresses: AddressList::new([0].into_iter()) };
        let peer = Init { tag: PEER, ..own };
        let new = |role| Association::new(sctp_end(&recovery(freebsd), "sctp", 1, role));
        let (mut client, mut server) = (new(Role::Client), new(Role::Server));
        client.open();
        leaving_by_path(&mut client, at(0));
        let cookie = Cookie { own: PEER, peer, made: at(300), ..Cookie::default() };
        hears(&mut client, at(600), Control::InitAck(peer, cookie), DataChunks::default());
        hears(&mut client, at(1200), Control::CookieAck, DataChunks::default());
        assert_eq!(deadline_of_a_message(&mut client, 1200), at(1200 + sent), "freebsd: {freebsd}");
        let tag = Tag(0x1112_1314);
        let cookie = Cookie { own: tag, peer, made: at(300), ..Cookie::default() };
        association::hears(
            &mut server,
            at(1000),
            SctpPacket { tag, control: Control::CookieEcho(cookie), data: DataChunks::default() },
        );
        assert_eq!(deadline_of_a_message(&mut server, 1000), at(1000 + answered), "freebsd: {freebsd}");
    }
}

/// Timers know whole milliseconds: one that starts 0.7 ms after a millisecond expires as if it had started with it.
#[test]
fn a_timer_starts_with_the_millisecond() {
    for (freebsd, early) in [(true, 700_000), (false, 0)] {
        let mut client = established(&recovery(freebsd), 10_000);
        client.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(100) });
        let now = SimTime(at(50).0 + 700_000);
        leaving_by_path(&mut client, now);
        assert_eq!(client.next_deadline(), SimTime(now.0 - early + 1_000_000_000), "freebsd: {freebsd}");
    }
}

/// `sctp_process_a_data_chunk`: the receiver may still discard ordered messages behind a gap, and its NR-SACKs do not promise them. Chunks that they
/// acknowledge stay in the send buffer.
#[test]
fn an_nr_sack_promises_messages_that_wait_for_no_other() {
    for (freebsd, unordered, promise) in [
        (true, false, Promise::Renegable),
        (true, true, Promise::Kept),
        (false, false, Promise::Kept),
        (false, true, Promise::Kept),
    ] {
        let mut config = recovery(freebsd);
        config.sack.non_renegable = true;
        config.streams.unordered = unordered;
        let mut client = established(&config, 100_000);
        (0..3).for_each(|_| client.send(UserMessage { stream: StreamId(0), unordered, size: Bytes(1452) }));
        leaving_by_path(&mut client, at(50));
        let mut arrived = RangeSet::default();
        arrived.insert(Range::new(Tsn(1), Tsn(3)));
        let gaps = GapBlocks::new(Tsn(0), &arrived);
        let sack = Sack { gaps, window: 100_000, promise, ..Sack::default() };
        hears(&mut client, at(70), Control::Sack(sack), DataChunks::default());
        let kept = if promise == Promise::Kept { 1452 } else { 3 * 1452 };
        assert_eq!(client.send_buffered(), Bytes(kept), "{freebsd} {unordered}");
        // The same end as a receiver.
        let mut chunks = DataChunks::default();
        assert!(chunks.push(Tsn(1), DataChunk { len: 1000, unordered, ..DataChunk::default() }));
        let told = hears(&mut client, at(80), Control::None, chunks);
        let told = told
            .iter()
            .find_map(|packet| if let Control::Sack(sack) = packet.control { Some(sack) } else { None });
        assert_eq!(told.map(|sack| sack.promise), Some(promise), "{freebsd} {unordered}");
    }
}
