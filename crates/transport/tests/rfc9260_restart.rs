//! Requirements of RFC 9260 on INIT and COOKIE ECHO for an association that exists: both ends open it, or one restarts. Actions A to D
//! are those of table 12 in section 5.2.4.

use testkit::association::{hears, leaving};
use testkit::setups::sctp_end;
use transport::Role;
use transport::sctp::chunk::{AddressList, Control, Cookie, DataChunk, DataChunks, Init, Sack, SctpPacket};
use transport::sctp::lifecycle::State;
use transport::sctp::tsn::{StreamId, Tag, Tsn};
use transport::sctp::{Association, AssociationSetup, SctpConfig, UserMessage};
use units::{Bytes, SimTime};

/// Tags of the scripted peer: before and after it restarts.
const PEER: Tag = Tag(77);
const AGAIN: Tag = Tag(78);
/// Tag of the end under test.
const OWN: Tag = Tag(0x0102_0304);

fn at(ms: u64) -> SimTime {
    SimTime::from_millis(ms)
}

fn end(tag: Tag) -> Association {
    let setup = sctp_end(&SctpConfig::default(), "sctp", 2, Role::Client);
    Association::new(AssociationSetup { tag, ..setup })
}

/// A packet with this control chunk and tag.
fn control(tag: Tag, control: Control) -> SctpPacket {
    SctpPacket { tag, control, data: DataChunks::default() }
}

fn init(tag: Tag) -> Init {
    Init { tag, window: 100_000, streams: 10, addresses: AddressList::new([0, 1].into_iter()) }
}

/// A DATA chunk of 1000 bytes, which may be delivered at once.
fn data(tag: Tag, tsn: u64) -> SctpPacket {
    let mut data = DataChunks::default();
    assert!(data.push(Tsn(tsn), DataChunk { len: 1000, unordered: true, ..DataChunk::default() }));
    SctpPacket { tag, control: Control::None, data }
}

fn message() -> UserMessage {
    UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1000) }
}

/// A client that has returned the cookie of the peer.
fn echoed() -> Association {
    let mut client = end(OWN);
    client.open();
    leaving(&mut client, at(0));
    let cookie = Cookie { own: PEER, peer: init(OWN), made: at(10), ..Cookie::default() };
    hears(&mut client, at(20), control(OWN, Control::InitAck(init(PEER), cookie)));
    assert_eq!(client.state(), State::CookieEchoed);
    client
}

/// The same with the handshake complete; HEARTBEATs have left.
fn established() -> Association {
    let mut client = echoed();
    hears(&mut client, at(40), control(OWN, Control::CookieAck));
    assert_eq!(client.state(), State::Established);
    client
}

/// The INIT ACK that answers this INIT.
fn answer(end: &mut Association, now: SimTime, init: Init) -> (SctpPacket, Init, Cookie) {
    let packets = hears(end, now, control(Tag::NONE, Control::Init(init)));
    let [packet @ SctpPacket { control: Control::InitAck(answer, cookie), .. }] = packets[..] else {
        panic!("{packets:?}")
    };
    (packet, answer, cookie)
}

fn has(packets: &[SctpPacket], control: Control) -> bool {
    packets.iter().any(|packet| packet.control == control)
}

/// RFC 9260 section 5.2.1: "Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint MUST respond with an INIT ACK chunk using the
/// same parameters it sent in its original INIT chunk (including its Initiate Tag, unchanged)."
///
/// RFC 9260 section 5.2.4: "When both local and remote tags match, the endpoint SHOULD enter the ESTABLISHED state if it is in the
/// COOKIE-ECHOED state."
///
/// Two ends open the association at the same time: each gets an INIT in COOKIE-WAIT, and its own cookie back in COOKIE-ECHOED (action D).
#[test]
fn inits_that_cross_become_one_association() {
    let (mut one, mut other) = (end(OWN), end(PEER));
    one.open();
    other.open();
    one.send(message());
    let (mut to_other, mut to_one) = (leaving(&mut one, at(0)), leaving(&mut other, at(0)));
    assert!(matches!(to_other[..], [SctpPacket { control: Control::Init(_), tag: Tag::NONE, .. }]));
    let mut kinds = Vec::new();
    for round in 1..8 {
        let now = at(10 * round);
        kinds.extend(
            to_one
                .iter()
                .map(|packet| packet.control.name())
                .filter(|name| *name != "hb" && *name != "hb-ack"),
        );
        let arrived: Vec<_> = to_other.iter().flat_map(|packet| hears(&mut other, now, *packet)).collect();
        to_other = to_one.iter().flat_map(|packet| hears(&mut one, now, *packet)).collect();
        to_one = arrived;
    }
    assert_eq!(kinds[..4], ["init", "init-ack", "cookie", "cook-ack"]);
    assert_eq!((one.state(), other.state()), (State::Established, State::Established));
    assert_eq!((one.restarts(), other.restarts()), (0, 0));
    assert_eq!(other.readable(), Bytes(1000), "the message went with the cookie");
}

/// RFC 9260 section 5.2.1: "For an endpoint that is in the COOKIE-ECHOED state, it MUST populate its Tie-Tags within both the association TCB
/// and inside the State Cookie"
///
/// RFC 9260 section 5.2.4: "it MUST update its peer's Verification Tag from the State Cookie, stop any T1-init or T1-cookie timers that might
/// be running, and send a COOKIE ACK chunk."
///
/// Action B: the peer has answered our INIT, and has sent an INIT with another tag since.
#[test]
fn a_peer_with_another_tag_is_taken_at_its_word() {
    let mut client = echoed();
    let (packet, own, cookie) = answer(&mut client, at(25), init(AGAIN));
    assert_eq!((packet.tag, own.tag, cookie.own, client.state()), (AGAIN, OWN, OWN, State::CookieEchoed));
    assert_ne!(cookie.ties, Cookie::UNTIED);
    client.send(message());
    let packets = hears(&mut client, at(45), control(OWN, Control::CookieEcho(cookie)));
    assert_eq!((packets[0].control, packets[0].tag), (Control::CookieAck, AGAIN));
    assert_eq!((client.state(), client.restarts()), (State::Established, 0));
    assert!(
        packets.iter().all(|packet| packet.tag == AGAIN && !matches!(packet.control, Control::CookieEcho(_)))
    );
    assert!(client.next_deadline() >= at(1045), "T1-cookie does not run: {}", client.next_deadline());
}

/// The same in COOKIE-WAIT, where the tag of the peer is not known: also action B.
#[test]
fn a_cookie_may_come_before_the_init_ack() {
    let mut client = end(OWN);
    client.open();
    leaving(&mut client, at(0));
    let (_, own, cookie) = answer(&mut client, at(10), init(PEER));
    assert_eq!((own.tag, cookie.ties), (OWN, Cookie::UNTIED));
    let packets = hears(&mut client, at(20), control(OWN, Control::CookieEcho(cookie)));
    assert!(has(&packets, Control::CookieAck) && client.state() == State::Established);
    // RFC 9260 section 5.2.3: an INIT ACK is discarded then.
    let late = Cookie { own: PEER, peer: init(OWN), made: at(15), ..Cookie::default() };
    assert!(hears(&mut client, at(30), control(OWN, Control::InitAck(init(PEER), late))).is_empty());
}

/// RFC 9260 section 5.2.4: "The cookie SHOULD be silently discarded."
///
/// RFC 9260 section 5.2.4: "The endpoint SHOULD NOT change states and SHOULD leave any timers running."
///
/// Action C: a cookie of this end for the same peer, with a tag that it has no more.
#[test]
fn a_late_cookie_is_discarded() {
    let mut client = echoed();
    let due = client.next_deadline();
    let late = Cookie { own: Tag(5), peer: init(PEER), made: at(1), ..Cookie::default() };
    assert!(hears(&mut client, at(30), control(Tag(5), Control::CookieEcho(late))).is_empty());
    assert_eq!((client.state(), client.next_deadline()), (State::CookieEchoed, due));
    // So is one that table 12 does not have: another peer without tie-tags, or with those of another association.
    for ties in [Cookie::UNTIED, [Tag(1), Tag(2)]] {
        let foreign = Cookie { peer: init(AGAIN), ties, ..late };
        assert!(hears(&mut client, at(30), control(Tag(5), Control::CookieEcho(foreign))).is_empty());
        assert_eq!((client.state(), client.restarts()), (State::CookieEchoed, 0));
    }
}

/// RFC 9260 section 5.2.2: "the INIT ACK chunk MUST contain a new Initiate Tag (randomly generated; see Section 5.3.1)."
///
/// RFC 9260 section 5.2.2: "The outbound SCTP packet containing this INIT ACK chunk MUST carry a Verification Tag value equal to the Initiate
/// Tag found in the unexpected INIT chunk."
///
/// RFC 9260 section 5.2.2: "After sending the INIT ACK or ABORT chunk, the endpoint MUST take no further actions, i.e., the existing
/// association, including its current state, and the corresponding TCB MUST NOT be changed."
#[test]
fn an_unexpected_init_changes_nothing() {
    let mut client = established();
    let (packet, own, cookie) = answer(&mut client, at(50), init(AGAIN));
    assert_eq!((packet.tag, cookie.own), (AGAIN, own.tag));
    assert!(![OWN, Tag::NONE].contains(&own.tag) && !cookie.ties.contains(&Tag::NONE));
    hears(&mut client, at(60), data(OWN, 0));
    assert_eq!((client.state(), client.readable(), client.restarts()), (State::Established, Bytes(1000), 0));
    client.send(message());
    let packets = leaving(&mut client, at(60));
    assert!(packets.iter().any(|packet| packet.tag == PEER && packet.data.user_data() == Bytes(1000)));
}

/// RFC 9260 section 5.2.2: "If new addresses are added to the association, the endpoint MUST respond with an ABORT chunk"
#[test]
fn a_restart_brings_no_new_address() {
    let mut client = established();
    let three = Init { addresses: AddressList::new([0, 1, 2].into_iter()), ..init(AGAIN) };
    let packets = hears(&mut client, at(50), control(Tag::NONE, Control::Init(three)));
    assert_eq!(packets, [control(AGAIN, Control::Abort)]);
    assert_eq!(client.state(), State::Established);
}

/// RFC 9260 section 5.2.4: "All the congestion control parameters (e.g., cwnd, ssthresh) related to this peer MUST be reset to their initial
/// values"
///
/// RFC 9260 section 5.2.4: "A RESTART notification SHOULD be sent to the ULP instead of a COMMUNICATION LOST notification."
///
/// Action A: the peer has restarted.
#[test]
fn a_peer_that_has_restarted_begins_anew() {
    let mut client = established();
    let initial = client.cwnd(0);
    (0..9).for_each(|_| client.send(message()));
    leaving(&mut client, at(50));
    let arrived = Sack { next: Tsn(4), window: 50_000, ..Sack::default() };
    hears(&mut client, at(60), control(OWN, Control::Sack(arrived)));
    hears(&mut client, at(60), data(OWN, 0));
    assert!(client.cwnd(0) > initial && client.send_buffered() > Bytes::ZERO);
    let (_, own, cookie) = answer(&mut client, at(70), init(AGAIN));
    let packets = hears(&mut client, at(80), control(own.tag, Control::CookieEcho(cookie)));
    assert_eq!((packets[0].control, packets[0].tag), (Control::CookieAck, AGAIN));
    assert_eq!((client.state(), client.restarts(), client.failure()), (State::Established, 1, None));
    assert_eq!(
        (client.cwnd(0), client.send_buffered(), client.delivered()),
        (initial, Bytes::ZERO, Bytes::ZERO)
    );
    // Both directions begin with the first TSN; packets with the tag of before are discarded.
    client.send(message());
    let packets = leaving(&mut client, at(80));
    assert!(packets.iter().any(|packet| packet.tag == AGAIN && packet.data.end() == Tsn(1)), "{packets:?}");
    hears(&mut client, at(90), data(OWN, 1));
    assert_eq!(client.readable(), Bytes::ZERO);
    hears(&mut client, at(90), data(own.tag, 0));
    assert_eq!(client.readable(), Bytes(1000));
    // A second copy of the cookie: both tags match now.
    let packets = hears(&mut client, at(95), control(own.tag, Control::CookieEcho(cookie)));
    assert!(has(&packets, Control::CookieAck));
    assert_eq!((client.restarts(), client.readable()), (1, Bytes(1000)));
}

/// RFC 9260 section 5.2.4: "The endpoint also MUST transmit an ERROR chunk with a "Stale Cookie" error cause to the peer endpoint"
#[test]
fn the_cookie_of_a_restart_grows_stale() {
    let mut client = established();
    let (_, own, cookie) = answer(&mut client, at(70), init(AGAIN));
    let packets = hears(&mut client, at(60_071), control(own.tag, Control::CookieEcho(cookie)));
    assert!(packets.contains(&control(AGAIN, Control::StaleCookie)), "{packets:?}");
    assert_eq!((client.state(), client.restarts()), (State::Established, 0));
}

/// RFC 9260 section 5.2.4: "it MUST NOT set up a new association but instead resend the SHUTDOWN ACK chunk and send an ERROR chunk with a "Cookie
/// Received While Shutting Down" error cause to its peer."
#[test]
fn no_restart_while_shutting_down() {
    let mut client = established();
    let (_, own, cookie) = answer(&mut client, at(50), init(AGAIN));
    hears(&mut client, at(60), control(OWN, Control::Shutdown(Tsn(0))));
    assert_eq!(client.state(), State::ShutdownAckSent);
    let packets = hears(&mut client, at(70), control(own.tag, Control::CookieEcho(cookie)));
    assert_eq!(packets, [control(AGAIN, Control::ShutdownAck), control(AGAIN, Control::CookieInShutdown)]);
    assert_eq!((client.state(), client.restarts()), (State::ShutdownAckSent, 0));
    // RFC 9260 section 9.2: an INIT is discarded then, and the SHUTDOWN ACK repeated.
    let packets = hears(&mut client, at(80), control(Tag::NONE, Control::Init(init(AGAIN))));
    assert_eq!(packets, [control(PEER, Control::ShutdownAck)]);
}
