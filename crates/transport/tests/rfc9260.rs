//! Requirements of RFC 9260, as conversations with a scripted peer.

use testkit::association::{self, leaving_by_path};
use testkit::setups::sctp_end;
use transport::Role;
use transport::packet::{Body, Packet, PathId};
use transport::sctp::chunk::{
    AddressList, Control, Cookie, DataChunk, DataChunks, Fragment, Heartbeat, Init, Sack, SctpPacket,
};
use transport::sctp::config::{InitialWindow, MaxBurst};
use transport::sctp::gaps::GapBlocks;
use transport::sctp::lifecycle::State;
use transport::sctp::tsn::{StreamId, Tag, Tsn};
use transport::sctp::{Association, SctpConfig, UserMessage};
use transport::tcp::ranges::{Range, RangeSet};
use units::{Bytes, Nanos, SimTime};

/// Tag of the scripted peer.
const PEER: Tag = Tag(77);
/// Tag of the end under test, as `sctp_end` sets it for clients.
const OWN: Tag = Tag(0x0102_0304);

fn at(ms: u64) -> SimTime {
    SimTime::from_millis(ms)
}

fn end(config: &SctpConfig, role: Role) -> Association {
    Association::new(sctp_end(config, "sctp", 2, role))
}

/// The packets with DATA chunks.
fn with_data(packets: &[SctpPacket]) -> Vec<DataChunks> {
    packets.iter().map(|packet| packet.data).filter(|data| !data.is_empty()).collect()
}

/// A packet of the peer arrives on the first path; the packets that leave then.
fn hears(end: &mut Association, now: SimTime, control: Control, data: DataChunks) -> Vec<SctpPacket> {
    let tag = if matches!(control, Control::Init(_)) { Tag::NONE } else { OWN };
    association::hears(end, now, SctpPacket { tag, control, data })
}

fn peer(window: u32) -> Init {
    Init { tag: PEER, window, streams: 10, addresses: AddressList::new([0, 1].into_iter()) }
}

/// DATA chunks of 1000 bytes from this TSN on.
fn data(first: u64, count: u64) -> DataChunks {
    let mut chunks = DataChunks::default();
    for tsn in first..first + count {
        assert!(chunks.push(Tsn(tsn), DataChunk { len: 1000, unordered: true, ..DataChunk::default() }));
    }
    chunks
}

fn message(size: u64) -> UserMessage {
    UserMessage { stream: StreamId(0), unordered: false, size: Bytes(size) }
}

/// A client whose handshake is complete at 40 ms; HEARTBEATs have left.
fn established(config: &SctpConfig) -> Association {
    establish(end(config, Role::Client))
}

/// The same with one path: no HEARTBEAT waits for an answer. Its RTO is one second.
fn alone(config: &SctpConfig) -> Association {
    establish(Association::new(sctp_end(config, "sctp", 1, Role::Client)))
}

fn establish(mut client: Association) -> Association {
    client.open();
    leaving_by_path(&mut client, at(0));
    let cookie = Cookie { own: PEER, peer: peer(100_000), made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), Control::InitAck(peer(100_000), cookie), DataChunks::default());
    hears(&mut client, at(40), Control::CookieAck, DataChunks::default());
    assert_eq!(client.state(), State::Established);
    client
}

/// RFC 9260 section 3.1: "A packet containing an INIT chunk MUST have a zero Verification Tag."
///
/// RFC 9260 section 6.10: "An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks."
#[test]
fn init_stands_alone_and_has_no_tag() {
    let mut client = end(&SctpConfig::default(), Role::Client);
    client.open();
    client.send(message(10));
    let packets = leaving_by_path(&mut client, at(0));
    assert_eq!(packets.len(), 1);
    let (_, init) = packets[0];
    assert!(matches!(init.control, Control::Init(Init { tag: OWN, .. })), "{init:?}");
    assert!(init.tag == Tag::NONE && init.data.is_empty());
}

/// RFC 9260 section 4: "If the T1-init timer expires, the endpoint MUST retransmit the INIT chunk and restart the T1-init timer."
#[test]
fn init_is_repeated() {
    let mut client = end(&SctpConfig::default(), Role::Client);
    client.open();
    leaving_by_path(&mut client, at(0));
    for due in [1000, 3000, 7000] {
        assert_eq!(client.next_deadline(), at(due));
        client.on_timeout(at(due));
        let packets = leaving_by_path(&mut client, at(due));
        assert!(matches!(packets[..], [(_, SctpPacket { control: Control::Init(_), .. })]), "{packets:?}");
    }
}

/// RFC 9260 section 5.1: "After sending an INIT ACK chunk with the State Cookie parameter, "Z" MUST NOT allocate any resources
/// or keep any states for the new association."
#[test]
fn a_server_keeps_nothing_before_the_cookie_is_back() {
    let mut server = end(&SctpConfig::default(), Role::Server);
    let answer = |server: &mut Association, tag| {
        hears(server, at(10), Control::Init(Init { tag: Tag(tag), ..peer(1000) }), DataChunks::default())
    };
    for tag in [77, 78] {
        let packets = answer(&mut server, tag);
        let [SctpPacket { tag: to, control: Control::InitAck(_, cookie), data }] = packets[..] else {
            panic!("{packets:?}")
        };
        assert!(to == Tag(tag) && cookie.peer.tag == Tag(tag) && data.is_empty());
        assert_eq!((server.state(), server.next_deadline()), (State::Closed, SimTime::NEVER));
    }
}

/// RFC 9260 section 3.3.2: "If the value of the Initiate Tag in a received INIT chunk is found to be 0, the receiver MUST silently
/// discard the packet."
///
/// RFC 9260 section 3.3.2: "A receiver of an INIT chunk with the OS value set to 0 MUST discard the packet, SHOULD send a packet in
/// response containing an ABORT chunk and using the Initiate Tag as the Verification Tag, and MUST NOT change the state of any
/// existing association."
#[test]
fn an_init_without_a_tag_or_without_streams_is_discarded() {
    for mut end in [end(&SctpConfig::default(), Role::Server), established(&SctpConfig::default())] {
        let state = end.state();
        let mut answer = |init| hears(&mut end, at(50), Control::Init(init), DataChunks::default());
        assert_eq!(answer(Init { tag: Tag::NONE, ..peer(10_000) }), []);
        let abort = SctpPacket { tag: PEER, control: Control::Abort, ..SctpPacket::default() };
        assert_eq!(answer(Init { streams: 0, ..peer(10_000) }), [abort]);
        assert_eq!(end.state(), state);
    }
}

/// RFC 9260 section 3.3.3: "If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the Initiate Tag set to 0, it MUST
/// destroy the TCB"
///
/// RFC 9260 section 3.3.3: "If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk with the OS value set to 0, it MUST
/// destroy the TCB and SHOULD send an ABORT chunk."
#[test]
fn an_init_ack_without_a_tag_or_without_streams_ends_the_attempt() {
    let answer = |init| {
        let mut client = end(&SctpConfig::default(), Role::Client);
        client.open();
        leaving_by_path(&mut client, at(0));
        let packets =
            hears(&mut client, at(20), Control::InitAck(init, Cookie::default()), DataChunks::default());
        assert!(client.failure().is_some() && client.next_deadline().is_never());
        packets
    };
    assert_eq!(answer(Init { tag: Tag::NONE, ..peer(10_000) }), []);
    let abort = SctpPacket { tag: PEER, control: Control::Abort, ..SctpPacket::default() };
    assert_eq!(answer(Init { streams: 0, ..peer(10_000) }), [abort]);
}

/// RFC 9260 section 5.1.4: "When an endpoint (in the COOKIE-WAIT state) receives an INIT ACK chunk with a State Cookie parameter, it
/// MUST immediately send a COOKIE ECHO chunk to its peer with the received State Cookie."
///
/// RFC 9260 section 3.3.11: "This field MUST contain the exact cookie received in the State Cookie parameter from the previous
/// INIT ACK chunk."
///
/// RFC 9260 section 5.1: "until the COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer."
#[test]
fn the_cookie_is_returned_with_one_packet_of_data() {
    let mut client = end(&SctpConfig::default(), Role::Client);
    client.open();
    (0..9).for_each(|_| client.send(message(1000)));
    leaving_by_path(&mut client, at(0));
    let cookie = Cookie { own: PEER, peer: Init { tag: OWN, ..peer(5) }, made: at(9), ..Cookie::default() };
    let packets = hears(&mut client, at(20), Control::InitAck(peer(100_000), cookie), DataChunks::default());
    assert_eq!(packets.len(), 1, "{packets:?}");
    assert_eq!((packets[0].control, packets[0].tag), (Control::CookieEcho(cookie), PEER));
    assert_eq!(packets[0].data.user_data(), Bytes(1000));
}

/// RFC 9260 section 4: "If the T1-cookie timer expires, the endpoint MUST retransmit COOKIE ECHO chunk and restart the T1-cookie
/// timer."
///
/// RFC 9260 section 4: "After that, the endpoint MUST abort the initialization process and report the error to the SCTP user."
#[test]
fn the_cookie_is_repeated_and_given_up() {
    let mut config = SctpConfig::default();
    config.recovery.limits.init = 2;
    let mut client = end(&config, Role::Client);
    client.open();
    leaving_by_path(&mut client, at(0));
    let cookie = Cookie { own: PEER, peer: peer(5), made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), Control::InitAck(peer(100_000), cookie), DataChunks::default());
    for due in [1020, 3020] {
        assert_eq!(client.next_deadline(), at(due));
        client.on_timeout(at(due));
        let packets = leaving_by_path(&mut client, at(due));
        assert!(
            matches!(packets[..], [(_, SctpPacket { control: Control::CookieEcho(_), .. })]),
            "{packets:?}"
        );
    }
    assert_eq!(client.next_deadline(), at(7020));
    client.on_timeout(at(7020));
    assert_eq!(leaving_by_path(&mut client, at(7020)), []);
    assert!(client.failure().is_some() && client.next_deadline().is_never());
}

/// A client that has returned the cookie; then DATA of the server comes by the second path, before the COOKIE ACK.
fn overtaken(data_is_cookie_ack: bool) -> (Association, Vec<SctpPacket>) {
    let config = SctpConfig { data_is_cookie_ack, ..SctpConfig::default() };
    let mut client = end(&config, Role::Client);
    client.open();
    leaving_by_path(&mut client, at(0));
    let cookie = Cookie { own: PEER, peer: Init { tag: OWN, ..peer(5) }, made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), Control::InitAck(peer(100_000), cookie), DataChunks::default());
    assert_eq!(client.state(), State::CookieEchoed);
    let body = Body::Sctp(SctpPacket { tag: OWN, control: Control::None, data: data(0, 2) });
    client.on_packet(at(30), &Packet { path: PathId(1), payload: 2000, body, ..Packet::default() });
    let answers = leaving_by_path(&mut client, at(30)).into_iter().map(|(_, body)| body).collect();
    (client, answers)
}

/// RFC 9260 section 6: "A DATA chunk received in any other state SHOULD be discarded."
#[test]
fn data_before_the_cookie_ack_is_discarded() {
    let (client, answers) = overtaken(false);
    assert_eq!((client.state(), client.readable(), answers), (State::CookieEchoed, Bytes::ZERO, vec![]));
    assert_eq!((client.stats(1).segments_received, client.stats(1).bytes_received), (1, 0), "it has come");
}

/// As INET and FreeBSD do: the data is acknowledged, T1-cookie stops, and the COOKIE ACK that follows changes nothing.
///
/// RFC 9260 section 5.1: "After the reception of the first DATA chunk in an association, the endpoint MUST immediately respond
/// with a SACK chunk to acknowledge the DATA chunk."
#[test]
fn data_stands_for_the_cookie_ack() {
    let (mut client, answers) = overtaken(true);
    assert_eq!((client.state(), client.readable()), (State::Established, Bytes(2000)));
    let sacks = |packet: &&SctpPacket| matches!(packet.control, Control::Sack(Sack { next: Tsn(2), .. }));
    assert_eq!(answers.iter().filter(sacks).count(), 1, "{answers:?}");
    let others = answers.iter().filter(|packet| !sacks(packet));
    assert!(others.into_iter().all(|packet| matches!(packet.control, Control::Heartbeat(_))), "{answers:?}");
    // T1-cookie was due at 1020 ms.
    assert!(client.next_deadline() > at(1020), "{:?}", client.next_deadline());
    hears(&mut client, at(240), Control::CookieAck, DataChunks::default());
    assert_eq!((client.state(), client.delivered()), (State::Established, Bytes(2000)));
}

/// RFC 9260 section 3.3.6: "An endpoint MUST send this chunk to its peer endpoint as a response to a HEARTBEAT chunk"
#[test]
fn a_heartbeat_is_returned_unchanged() {
    let mut client = established(&SctpConfig::default());
    let heartbeat = Heartbeat { sent: at(1), nonce: 99 };
    let packets = hears(&mut client, at(50), Control::Heartbeat(heartbeat), DataChunks::default());
    assert!(packets.iter().any(|packet| packet.control == Control::HeartbeatAck(heartbeat)), "{packets:?}");
}

/// RFC 9260 section 6.2: "When the receiver's advertised window is 0, the receiver MUST drop any new incoming DATA chunk with a
/// TSN larger than the largest TSN received so far."
///
/// RFC 9260 section 6.2: "the receiver MUST immediately send back a SACK chunk with the current receive window showing only DATA
/// chunks received and accepted so far."
///
/// RFC 9260 section 6.2: "The dropped DATA chunk(s) MUST NOT be included in the SACK chunk, as they were not accepted."
#[test]
fn a_full_buffer_drops_new_chunks_and_says_so() {
    let mut config = SctpConfig::default();
    config.buffers.receive = Bytes(2000);
    let mut client = established(&config);
    let sack = |packets: Vec<SctpPacket>| {
        let mut sacks = packets.into_iter().filter_map(|packet| match packet.control {
            Control::Sack(sack) => Some(sack),
            _ => None,
        });
        sacks.next_back().expect("a SACK")
    };
    // TSN 0 is missing, so that nothing can be read: unordered messages are whole, but TSNs have a gap.
    hears(&mut client, at(50), Control::None, data(1, 1));
    let full = sack(hears(&mut client, at(51), Control::None, data(2, 1)));
    assert_eq!((full.next, full.window), (Tsn(0), 0));
    let dropped = sack(hears(&mut client, at(52), Control::None, data(3, 1)));
    let blocks: Vec<_> =
        dropped.gaps.blocks(dropped.next, &[]).map(|block| (block.start, block.end)).collect();
    assert_eq!((dropped.window, blocks), (0, vec![(Tsn(1), Tsn(3))]));
}

/// RFC 9260 section 6.1: "the sender MUST first transmit any DATA chunks that are marked for retransmission (limited by the
/// current cwnd)."
#[test]
fn retransmissions_go_before_new_data() {
    let mut client = established(&SctpConfig::default());
    (0..9).for_each(|_| client.send(message(1452)));
    assert_eq!(
        leaving_by_path(&mut client, at(50)).iter().filter(|(_, packet)| !packet.data.is_empty()).count(),
        3
    );
    // The timer was started by the first packet; all three are lost.
    client.on_timeout(at(1050));
    let sent: Vec<_> = leaving_by_path(&mut client, at(1050))
        .into_iter()
        .filter(|(_, packet)| !packet.data.is_empty())
        .collect();
    assert_eq!(sent.first().map(|(_, packet)| packet.data.first()), Some(Tsn(0)), "{sent:?}");
}

/// RFC 9260 section 8.5: "the endpoint MUST ensure that the value in the Verification Tag field of the received SCTP packet
/// matches its own tag."
#[test]
fn a_packet_with_another_tag_is_discarded() {
    let mut client = established(&SctpConfig::default());
    client.send(message(100));
    leaving_by_path(&mut client, at(50));
    let deadline = client.next_deadline();
    let sack = Sack { next: Tsn(1), window: 100_000, ..Sack::default() };
    let controls =
        [Control::None, Control::Sack(sack), Control::Shutdown(Tsn(1)), Control::Abort, Control::ShutdownAck];
    for tag in [PEER, Tag::NONE, Tag(OWN.0 ^ 1)] {
        for control in controls {
            let body = Body::Sctp(SctpPacket { tag, control, data: data(0, 2) });
            client.on_packet(at(60), &Packet { payload: 2000, body, ..Packet::default() });
            assert_eq!(leaving_by_path(&mut client, at(60)), [], "{tag:?} {control:?}");
            assert_eq!((client.state(), client.readable()), (State::Established, Bytes::ZERO), "{control:?}");
            assert_eq!(client.next_deadline(), deadline, "{tag:?} {control:?}");
        }
    }
    // The same packet with the own tag is taken.
    hears(&mut client, at(60), Control::Sack(sack), data(0, 2));
    assert_eq!(client.readable(), Bytes(2000));
}

/// RFC 9260 section 8.1: "The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to that peer
/// endpoint is acknowledged (by the reception of a SACK chunk)."
///
/// Also if the chunk was taken for lost before its acknowledgement arrives.
#[test]
fn a_late_acknowledgement_resets_the_error_counter() {
    let failure_at = |acknowledged: bool| {
        let mut client = established(&SctpConfig::default());
        (0..3).for_each(|_| client.send(message(1452)));
        leaving_by_path(&mut client, at(50));
        // After the timeout at 1050 ms TSN 0 is in flight again, TSN 1 and 2 are taken for lost.
        let mut now = at(50);
        while client.failure().is_none() {
            let due = client.next_deadline();
            if acknowledged && now < at(6000) && due >= at(6000) {
                let mut second = RangeSet::default();
                second.insert(Range::new(Tsn(1), Tsn(2)));
                let gaps = GapBlocks::new(Tsn(0), &second);
                let sack = Sack { gaps, window: 100_000, ..Sack::default() };
                hears(&mut client, at(6000), Control::Sack(sack), DataChunks::default());
            }
            now = due;
            client.on_timeout(now);
            leaving_by_path(&mut client, now);
        }
        now
    };
    assert!(failure_at(true) > failure_at(false), "{} {}", failure_at(true), failure_at(false));
}

/// RFC 9260 section 12.4: "An SCTP implementation MUST abort the association if it receives a SACK chunk acknowledging a TSN that
/// has not been sent."
///
/// RFC 9260 section 9.1: "When an endpoint decides to abort an existing association, it MUST send an ABORT chunk to its peer
/// endpoint."
///
/// RFC 9260 section 9.1: "The sender MUST fill in the peer's Verification Tag in the outbound packet and MUST NOT bundle any DATA
/// chunk with the ABORT chunk."
#[test]
fn a_sack_of_what_was_not_sent_ends_the_association() {
    let mut client = established(&SctpConfig::default());
    client.send(message(100));
    leaving_by_path(&mut client, at(50));
    client.send(message(100));
    let sack = Sack { next: Tsn(3), window: 100_000, ..Sack::default() };
    let packets = hears(&mut client, at(60), Control::Sack(sack), DataChunks::default());
    assert_eq!(packets, [SctpPacket { tag: PEER, control: Control::Abort, ..SctpPacket::default() }]);
    assert!(client.failure().is_some());
    // A SACK that arrives later changes nothing.
    let sack = Sack { next: Tsn(1), window: 100_000, ..Sack::default() };
    assert_eq!(hears(&mut client, at(70), Control::Sack(sack), data(0, 1)), []);
}

/// RFC 9260 section 9.2: "While in the SHUTDOWN-SENT state, the SHUTDOWN chunk sender MUST immediately respond to each received
/// packet containing one or more DATA chunks with a SHUTDOWN chunk and restart the T2-shutdown timer."
///
/// RFC 9260 section 8.5.1: "An endpoint MUST ignore the SHUTDOWN COMPLETE chunk if it is not in the SHUTDOWN-ACK-SENT state."
#[test]
fn data_after_shutdown_is_answered_with_another() {
    let mut client = established(&SctpConfig::default());
    client.close();
    leaving_by_path(&mut client, at(50));
    assert_eq!(client.state(), State::ShutdownSent);
    let packets = hears(&mut client, at(60), Control::None, data(0, 1));
    assert!(packets.iter().any(|packet| packet.control == Control::Shutdown(Tsn(1))), "{packets:?}");
    // A SACK that waits is due at 260 ms; T2 would have expired at 1050 ms.
    client.on_timeout(at(260));
    leaving_by_path(&mut client, at(260));
    assert_eq!(client.next_deadline(), at(60) + Nanos::from_secs(1));
    hears(&mut client, at(270), Control::ShutdownComplete, DataChunks::default());
    assert_eq!(client.state(), State::ShutdownSent);
    let packets = hears(&mut client, at(280), Control::ShutdownAck, DataChunks::default());
    assert!(matches!(packets[..], [SctpPacket { control: Control::ShutdownComplete, .. }]), "{packets:?}");
}

/// RFC 9260 section 9.1: "An endpoint MUST NOT respond to any received packet that contains an ABORT chunk"
#[test]
fn an_abort_is_not_answered() {
    let mut client = established(&SctpConfig::default());
    client.send(message(100));
    assert_eq!(hears(&mut client, at(50), Control::Abort, DataChunks::default()), []);
    assert!(client.failure().is_some() && client.next_deadline().is_never());
}

/// RFC 9260 section 6.5: "The Stream Sequence Number in all the outgoing streams MUST start from 0 when the association is established."
///
/// RFC 9260 section 6.5: "The Stream Sequence Number of an outgoing stream MUST be incremented by 1 for each ordered user message sent
/// on that outgoing stream."
///
/// RFC 9260 section 6.5: "For unordered user messages, the Stream Sequence Number MUST NOT be changed."
///
/// RFC 9260 section 6.9: "it MUST fragment a user message if the size of the user message to be sent causes the outbound SCTP packet
/// size to exceed the current PMTU."
///
/// RFC 9260 section 6.9: "the B/E bits of the first DATA chunk in the series to 10, the B/E bits of the last DATA chunk in the series to
/// 01, and the B/E bits of all other DATA chunks in the series to 00."
///
/// RFC 9260 section 3.3.1: "the same Stream Sequence Number MUST be carried in each of the fragments of the message."
///
/// RFC 9260 section 3.3.1: "This means that the TSNs for each fragment of a fragmented user message MUST be strictly sequential."
///
/// RFC 9260 section 6.10: "The total size of the resultant SCTP packet MUST be less that or equal to the current PMTU."
///
/// RFC 9260 section 8.5: "When sending an SCTP packet, the endpoint MUST fill in the Verification Tag field of the outbound packet with
/// the tag value in the Initiate Tag parameter of the INIT or INIT ACK chunk received from its peer."
#[test]
fn messages_are_numbered_and_cut() {
    let mut client = alone(&SctpConfig::default());
    client.send(message(3000));
    client.send(UserMessage { unordered: true, ..message(10) });
    client.send(message(20));
    let packets = leaving_by_path(&mut client, at(50));
    assert!(packets.iter().all(|(_, packet)| packet.tag == PEER && packet.size() <= Bytes(1480)));
    let chunks: Vec<_> = packets
        .iter()
        .flat_map(|(_, packet)| packet.data.iter())
        .map(|(tsn, chunk)| (tsn.0, chunk.ssn.0, chunk.len, chunk.fragment, chunk.unordered))
        .collect();
    let expected = [
        (0, 0, 1452, Fragment::First, false),
        (1, 0, 1452, Fragment::Middle, false),
        (2, 0, 96, Fragment::Last, false),
        // The number of an unordered message has no meaning.
        (3, 1, 10, Fragment::Whole, true),
        (4, 1, 20, Fragment::Whole, false),
    ];
    assert_eq!(chunks, expected);
}

/// RFC 9260 section 6.1: "Senders MUST support zero window probing."
#[test]
fn a_peer_without_window_is_probed() {
    let mut client = alone(&SctpConfig::default());
    client.send(message(1000));
    leaving_by_path(&mut client, at(50));
    (0..3).for_each(|_| client.send(message(1000)));
    let sack = |next, window| Control::Sack(Sack { next: Tsn(next), window, ..Sack::default() });
    let probe = with_data(&hears(&mut client, at(60), sack(1, 0), DataChunks::default()));
    assert_eq!(probe.iter().map(|data| (data.first(), data.end())).collect::<Vec<_>>(), [(Tsn(1), Tsn(2))]);
    assert_eq!(with_data(&hears(&mut client, at(70), sack(2, 0), DataChunks::default())).len(), 1);
    let rest = with_data(&hears(&mut client, at(80), sack(3, 100_000), DataChunks::default()));
    assert_eq!(rest.iter().map(|data| (data.first(), data.end())).collect::<Vec<_>>(), [(Tsn(3), Tsn(4))]);
}

/// RFC 9260 section 6.1: "Whenever a transmission or retransmission is made to any address, if the T3-rtx timer of that address is not
/// currently running, the sender MUST start that timer."
///
/// RFC 9260 section 6.1: "Otherwise, the data sender MUST NOT restart the timer."
#[test]
fn the_timer_runs_from_the_first_chunk() {
    let mut client = alone(&SctpConfig::default());
    client.send(message(1000));
    leaving_by_path(&mut client, at(50));
    assert_eq!(client.next_deadline(), at(1050));
    client.send(message(1000));
    assert_eq!(leaving_by_path(&mut client, at(500)).len(), 1);
    assert_eq!(client.next_deadline(), at(1050));
    client.on_timeout(at(1050));
    leaving_by_path(&mut client, at(1050));
    assert_eq!(client.next_deadline(), at(3050));
}

/// RFC 9260 section 6.2: "An SCTP receiver MUST NOT generate more than one SACK chunk for every incoming packet, other than to update
/// the offered window as the receiving application consumes new data."
///
/// RFC 9260 section 6.2: "the SCTP endpoint MUST fill in the Cumulative TSN Ack field to indicate the latest sequential TSN (of a valid
/// DATA chunk) it has received."
#[test]
fn one_sack_at_most_for_each_packet() {
    let mut client = alone(&SctpConfig::default());
    let mut sacks = |first, count| -> Vec<u64> {
        let packets = hears(&mut client, at(50), Control::None, data(first, count));
        let next = packets.iter().filter_map(|packet| match packet.control {
            Control::Sack(sack) => Some(sack.next.0),
            _ => None,
        });
        next.collect()
    };
    assert_eq!(sacks(0, 2), [2], "the first packet");
    assert_eq!(sacks(2, 2), [0; 0], "delayed");
    assert_eq!(sacks(4, 2), [6], "the second");
    assert_eq!(sacks(8, 2), [6], "a gap");
    assert_eq!(sacks(8, 2), [6], "a duplicate");
    assert_eq!(sacks(6, 2), [10], "the gap is filled");
}

/// RFC 9260 section 6.7: "All DATA chunks with TSNs not included in the Gap Ack Blocks that are smaller than the highest-acknowledged
/// TSN reported in the SACK chunk MUST be treated as "missing" by the sending endpoint."
///
/// RFC 9260 section 6.7: "The number of "missing" reports for each outstanding DATA chunk MUST be recorded by the data sender to make
/// retransmission decisions."
#[test]
fn three_missing_reports_are_a_loss() {
    let mut client = alone(&SctpConfig::default());
    (0..8).for_each(|_| client.send(message(500)));
    leaving_by_path(&mut client, at(50));
    for (end, lost) in [(2, false), (3, false), (4, true)] {
        let mut arrived = RangeSet::default();
        arrived.insert(Range::new(Tsn(1), Tsn(end)));
        let sack = Sack { gaps: GapBlocks::new(Tsn(0), &arrived), window: 100_000, ..Sack::default() };
        let sent = with_data(&hears(&mut client, at(60), Control::Sack(sack), DataChunks::default()));
        assert_eq!(sent.iter().any(|data| data.first() == Tsn(0)), lost, "{sent:?}");
    }
    assert_eq!(client.stats(0).fast_recoveries, 1);
}

/// RFC 9260 section 7.2.1: "The initial cwnd after a retransmission timeout MUST be no more than PMDCS"
///
/// A chunk leaves while less than that is in flight: of small messages there is a second packet.
#[test]
fn a_timeout_leaves_one_chunk() {
    for (size, packets) in [(1452, 1), (500, 2)] {
        let mut client = alone(&SctpConfig::default());
        (0..9).for_each(|_| client.send(message(size)));
        leaving_by_path(&mut client, at(50));
        client.on_timeout(at(1050));
        assert_eq!(leaving_by_path(&mut client, at(1050)).len(), packets, "messages of {size} bytes");
        assert_eq!(client.gauges(0).map(|path| path.cwnd), Some(Bytes(1468)));
    }
}

/// RFC 9260 section 6.1: "For each stream, the data sender MUST NOT have more than 2^16 - 1 ordered user messages in the current send
/// window."
#[test]
fn stream_sequence_numbers_are_unique_in_the_send_window() {
    let mut config = SctpConfig::default();
    config.window.initial = InitialWindow::Bytes(Bytes(10_000_000));
    config.window.burst = MaxBurst::Unlimited;
    let mut client = alone(&config);
    (0..70_000).for_each(|_| client.send(message(1)));
    let chunks =
        |packets: &[SctpPacket]| packets.iter().map(|packet| packet.data.iter().count()).sum::<usize>();
    let packets: Vec<_> =
        leaving_by_path(&mut client, at(50)).into_iter().map(|(_, packet)| packet).collect();
    assert_eq!(chunks(&packets), 65_535);
    let sack = Sack { next: Tsn(3), window: 100_000, ..Sack::default() };
    assert_eq!(chunks(&hears(&mut client, at(60), Control::Sack(sack), DataChunks::default())), 3);
}
