//! Requirements of RFC 9260 on the end of an association, as conversations with a scripted peer over one path.

use testkit::association::{self, leaving};
use testkit::setups::sctp_end;
use transport::Role;
use transport::sctp::chunk::{AddressList, Control, Cookie, DataChunk, DataChunks, Init, Sack, SctpPacket};
use transport::sctp::gaps::GapBlocks;
use transport::sctp::lifecycle::State;
use transport::sctp::tsn::{StreamId, Tag, Tsn};
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

/// A packet of the peer arrives; the packets that leave then.
fn hears(end: &mut Association, now: SimTime, control: Control, data: DataChunks) -> Vec<SctpPacket> {
    association::hears(end, now, SctpPacket { tag: OWN, control, data })
}

/// One unordered message of the peer.
fn data(tsn: u64) -> DataChunks {
    let mut chunks = DataChunks::default();
    assert!(chunks.push(Tsn(tsn), DataChunk { len: 1000, unordered: true, ..DataChunk::default() }));
    chunks
}

const NO_DATA: fn() -> DataChunks = DataChunks::default;

fn message() -> UserMessage {
    UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1000) }
}

/// A client whose handshake is complete at 40 ms. Its RTO is one second.
fn established() -> Association {
    let mut client = Association::new(sctp_end(&SctpConfig::default(), "sctp", 1, Role::Client));
    client.open();
    leaving(&mut client, at(0));
    let peer = Init { tag: PEER, window: 100_000, streams: 10, addresses: AddressList::new([0].into_iter()) };
    let cookie = Cookie { own: PEER, peer, made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), Control::InitAck(peer, cookie), NO_DATA());
    hears(&mut client, at(40), Control::CookieAck, NO_DATA());
    assert_eq!(client.state(), State::Established);
    client
}

fn controls(packets: &[SctpPacket]) -> Vec<Control> {
    packets.iter().map(|packet| packet.control).collect()
}

/// The time is that of the next deadline; what leaves then.
fn expires(client: &mut Association, due: SimTime) -> Vec<SctpPacket> {
    assert_eq!(client.next_deadline(), due);
    client.on_timeout(due);
    leaving(client, due)
}

/// RFC 9260 section 9.2: "If the timer expires, the endpoint MUST resend the SHUTDOWN chunk with the updated last sequential TSN received
/// from its peer."
///
/// RFC 9260 section 9.2: "if duplicate TSNs have been received, then a SACK chunk MUST also be sent."
///
/// RFC 9260 section 9.2: "the sender of the SHUTDOWN chunk MUST stop the T2-shutdown timer, send a SHUTDOWN COMPLETE chunk to its peer,
/// and remove all record of the association."
#[test]
fn shutdown_is_repeated_until_it_is_acknowledged() {
    let mut client = established();
    client.close();
    assert_eq!(controls(&leaving(&mut client, at(50))), [Control::Shutdown(Tsn(0))]);
    // The first data is acknowledged at once, with SHUTDOWN and SACK; a duplicate too.
    for now in [60, 70] {
        let answers = controls(&hears(&mut client, at(now), Control::None, data(0)));
        assert_eq!(answers[0], Control::Shutdown(Tsn(1)), "{answers:?}");
        assert!(matches!(answers[1..], [Control::Sack(Sack { next: Tsn(1), .. })]), "{answers:?}");
    }
    assert_eq!(controls(&expires(&mut client, at(1070))), [Control::Shutdown(Tsn(1))]);
    let last = hears(&mut client, at(1100), Control::ShutdownAck, NO_DATA());
    assert_eq!(controls(&last), [Control::ShutdownComplete]);
    assert_eq!((client.state(), client.next_deadline()), (State::Finished, SimTime::NEVER));
}

/// RFC 9260 section 9.2: "the SHUTDOWN chunk receiver MUST continue to follow normal data transmission procedures defined in Section 6,
/// until all outstanding DATA chunks are acknowledged"
///
/// RFC 9260 section 3.3.8: "the receiver of the SHUTDOWN chunk MUST NOT interpret the lack of a Gap Ack Block as a renege."
///
/// RFC 9260 section 9.2: "the SHUTDOWN chunk receiver MUST send a SHUTDOWN ACK chunk and start a T2-shutdown timer of its own"
///
/// RFC 9260 section 9.2: "If the timer expires, the endpoint MUST resend the SHUTDOWN ACK chunk."
///
/// RFC 9260 section 9.2: "If an endpoint is in the SHUTDOWN-ACK-SENT state and receives a SHUTDOWN ACK, it MUST stop the T2-shutdown
/// timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove all record of the association."
#[test]
fn a_shutdown_is_acknowledged_after_the_last_data() {
    let mut client = established();
    (0..3).for_each(|_| client.send(message()));
    leaving(&mut client, at(50));
    let mut arrived = RangeSet::default();
    arrived.insert(Range::new(Tsn(1), Tsn(3)));
    let sack = Sack { gaps: GapBlocks::new(Tsn(0), &arrived), window: 100_000, ..Sack::default() };
    assert_eq!(hears(&mut client, at(60), Control::Sack(sack), NO_DATA()), []);
    assert_eq!(hears(&mut client, at(70), Control::Shutdown(Tsn(0)), NO_DATA()), []);
    assert_eq!(client.state(), State::ShutdownReceived);
    let again = expires(&mut client, at(1050));
    assert!(matches!(again[..], [SctpPacket { control: Control::None, .. }]), "{again:?}");
    assert_eq!((again[0].data.first(), again[0].data.end()), (Tsn(0), Tsn(1)));
    let answer = hears(&mut client, at(1100), Control::Shutdown(Tsn(3)), NO_DATA());
    assert_eq!((controls(&answer), client.state()), (vec![Control::ShutdownAck], State::ShutdownAckSent));
    let due = client.next_deadline();
    assert_eq!(controls(&expires(&mut client, due)), [Control::ShutdownAck]);
    let last = hears(&mut client, due, Control::ShutdownAck, NO_DATA());
    assert_eq!(controls(&last), [Control::ShutdownComplete]);
    assert_eq!((client.state(), client.next_deadline()), (State::Finished, SimTime::NEVER));
}

/// RFC 9260 section 4: "In the SHUTDOWN-ACK-SENT state, the endpoint MUST NOT accept any new send requests from its SCTP user."
#[test]
fn nothing_is_accepted_after_shutdown_ack() {
    let mut client = established();
    assert!(client.send_space() > Bytes::ZERO);
    hears(&mut client, at(50), Control::Shutdown(Tsn(0)), NO_DATA());
    assert_eq!((client.state(), client.send_space()), (State::ShutdownAckSent, Bytes::ZERO));
}
