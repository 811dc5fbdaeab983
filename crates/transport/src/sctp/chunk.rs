//! The body of an SCTP packet: at most one control chunk, then DATA chunks (RFC 9260 sections 3 and 6.10), with their
//! sizes on the wire.
//!
//! Deviations: a packet has at most eight DATA chunks, and their TSNs follow each other. The initial TSN is the tag of
//! its sender (RFC 9260 section 3.3.2 permits that), so INIT has no field for it. The PPID and checksums are not modelled but for
//! their size.

use units::{Bytes, SimTime};

use crate::sctp::gaps::{GapBlocks, MORE};
use crate::sctp::tsn::{Ssn, StreamId, Tag, Tsn};

/// The common header: ports, tag, checksum.
pub const COMMON_HEADER: Bytes = Bytes(12);
/// Header of a DATA chunk.
pub const DATA_HEADER: Bytes = Bytes(16);
/// DATA chunks of one packet.
pub const MAX_CHUNKS: usize = 8;
/// Addresses of an INIT.
pub const MAX_ADDRESSES: usize = 8;

/// The body of an SCTP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SctpPacket {
    /// The tag that the receiver of the packet has chosen.
    pub tag: Tag,
    /// RFC 9260 section 6.10: "When bundling control chunks with DATA chunks, an endpoint MUST place control chunks first in the outbound
    /// SCTP packet."
    pub control: Control,
    /// DATA chunks.
    pub data: DataChunks,
}

impl SctpPacket {
    /// Bytes on the wire without the IP header.
    pub fn size(&self) -> Bytes {
        COMMON_HEADER + self.control.size() + self.data.size()
    }
}

/// A control chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// None.
    #[default]
    None,
    /// Opens an association.
    Init(Init),
    /// Answers an INIT; the sender keeps no state but the cookie, which the peer returns.
    InitAck(Init, Cookie),
    /// Returns the cookie. DATA may follow.
    CookieEcho(Cookie),
    /// The cookie was too old (ERROR with cause 3).
    StaleCookie,
    /// A cookie came while the association was shutting down (ERROR with cause 10).
    CookieInShutdown,
    /// The association is established. DATA may follow.
    CookieAck,
    /// Acknowledges DATA.
    Sack(Sack),
    /// Asks whether a path works.
    Heartbeat(Heartbeat),
    /// Returns the content of a HEARTBEAT.
    HeartbeatAck(Heartbeat),
    /// The sender has no more data; everything before this TSN has arrived.
    Shutdown(Tsn),
    /// Neither end has outstanding data.
    ShutdownAck,
    /// The association is over.
    ShutdownComplete,
    /// The association is given up.
    Abort,
}

/// Parameters of one end, in INIT and INIT ACK (RFC 9260 sections 3.3.2 and 3.3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// The tag that packets to this end must carry.
    pub tag: Tag,
    /// Its receive buffer in bytes.
    pub window: u32,
    /// Streams that it wants to send on.
    pub streams: u16,
    /// Its addresses.
    pub addresses: AddressList,
}

/// State that the end which answers an INIT gives to its peer for safe keeping (RFC 9260 section 5.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    /// The tag in its INIT ACK.
    pub own: Tag,
    /// The INIT that it answers.
    pub peer: Init,
    /// When it was made.
    pub made: SimTime,
    /// Local and peer's tie-tag: an association that there was already (RFC 9260 section 5.2.2). [`Cookie::UNTIED`]: there was none.
    pub ties: [Tag; 2],
}

/// Addresses of one end, as indices of its interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressList {
    len: u8,
    list: [u8; MAX_ADDRESSES],
    /// IPv6 addresses.
    six: bool,
}

impl AddressList {
    /// The first eight of `addresses`.
    pub fn new(addresses: impl Iterator<Item = u8>) -> Self {
        let mut all = Self::default();
        for address in addresses.take(MAX_ADDRESSES) {
            all.list[usize::from(all.len)] = address;
            all.len += 1;
        }
        all
    }

    /// The same addresses, of this version of IP.
    #[must_use]
    pub fn over_ipv6(self, six: bool) -> Self {
        Self { six, ..self }
    }

    /// It lists this address.
    pub fn contains(&self, address: u8) -> bool {
        self.list[..usize::from(self.len)].contains(&address)
    }

    /// Addresses in their order.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        self.list.into_iter().take(usize::from(self.len))
    }

    /// An INIT lists them: an end with a single address lists none (RFC 9260 section 5.1.2).
    pub fn are_listed(&self) -> bool {
        self.len > 1
    }

    /// Bytes of the address parameters (RFC 9260 section 3.3.2.1).
    fn size(&self) -> Bytes {
        let parameter = if self.six { Bytes(20) } else { Bytes(8) };
        if self.are_listed() { parameter * u64::from(self.len) } else { Bytes::ZERO }
    }
}

/// Content of a HEARTBEAT, which the peer returns unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// When it was sent.
    pub sent: SimTime,
    /// Random number (RFC 9260 section 5.4).
    pub nonce: u64,
}

/// A selective acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// The first TSN that has not arrived: the cumulative TSN ack is the one before it.
    pub next: Tsn,
    /// Free bytes of the receive buffer.
    pub window: u32,
    /// Duplicate TSNs since the last SACK; each is listed.
    pub duplicates: u16,
    /// Packets with DATA since the last SACK, for delayed ACKs with concurrent transfer (two bits of the flags).
    pub packets: u8,
    /// Blocks that have arrived above `next`.
    pub gaps: GapBlocks,
    /// Whether the blocks are kept.
    pub promise: Promise,
}

/// The promise of a receiver about the gap blocks of a SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// A SACK chunk: the receiver may still discard them.
    #[default]
    None,
    /// An NR-SACK chunk that says the same of all its blocks (draft-tuexen-tsvwg-sctp-multipath section 3.1).
    Renegable,
    /// An NR-SACK chunk: they are kept for certain.
    Kept,
}

/// The part of a message that a DATA chunk carries (bits B and E).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// All of it.
    #[default]
    Whole,
    /// The first of several parts.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last.
    Last,
}

impl Fragment {
    /// A message begins with it.
    pub const fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// A message ends with it.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// A DATA chunk without its TSN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataChunk {
    /// Bytes of user data.
    pub len: u16,
    /// Stream of the message.
    pub stream: StreamId,
    /// Its number in the stream; without meaning if it is unordered.
    pub ssn: Ssn,
    /// Which part of the message it is.
    pub fragment: Fragment,
    /// The message may be delivered before those that were sent earlier.
    pub unordered: bool,
}

impl DataChunk {
    /// User data.
    pub fn user_data(self) -> Bytes {
        Bytes(u64::from(self.len))
    }

    /// Header and user data: what windows of congestion control count.
    pub fn length(self) -> Bytes {
        DATA_HEADER + self.user_data()
    }

    /// The same with padding.
    pub fn size(self) -> Bytes {
        padded(self.length())
    }
}

/// Chunks with consecutive TSNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataChunks {
    first: Tsn,
    content: Content,
    count: u8,
}

/// Chunks, or in a packet without any the rest of the gap blocks of its SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Chunks([DataChunk; MAX_CHUNKS]),
    More([u8; MORE]),
}

impl Default for Content {
    fn default() -> Self {
        Self::Chunks(<[DataChunk; MAX_CHUNKS]>::default())
    }
}

impl DataChunks {
    /// No chunks, and the code of [`GapBlocks`] that has no place in the SACK beside them.
    pub fn with_more(more: [u8; MORE]) -> Self {
        Self { content: Content::More(more), ..Self::default() }
    }

    /// The code of [`GapBlocks`] that has no place in the SACK beside them.
    pub fn more(&self) -> &[u8] {
        if let Content::More(more) = &self.content { more } else { &[] }
    }

    /// Adds a chunk. RFC 9260 section 6.10: "The transmitter MUST transmit DATA chunks within an SCTP packet in increasing order of
    /// TSN." False, without change, if there is no place, or its TSN is not the next.
    pub fn push(&mut self, tsn: Tsn, chunk: DataChunk) -> bool {
        if self.count == 0 {
            self.first = tsn;
        }
        let index = usize::from(self.count);
        if index == MAX_CHUNKS || tsn.0 != self.first.0 + index as u64 {
            return false;
        }
        let Content::Chunks(chunks) = &mut self.content else { return false };
        chunks[index] = chunk;
        self.count += 1;
        true
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first TSN; zero without chunks.
    pub fn first(&self) -> Tsn {
        self.first
    }

    /// The TSN after the last.
    pub fn end(&self) -> Tsn {
        Tsn(self.first.0 + u64::from(self.count))
    }

    /// No further chunk has a place, however small.
    pub fn is_full(&self) -> bool {
        usize::from(self.count) == MAX_CHUNKS
    }

    /// TSNs and chunks.
    pub fn iter(&self) -> impl Iterator<Item = (Tsn, DataChunk)> {
        let chunks = if let Content::Chunks(chunks) = self.content { chunks } else { Default::default() };
        let chunks = chunks.into_iter().take(usize::from(self.count));
        (self.first.0..).map(Tsn).zip(chunks)
    }

    /// User data of all.
    pub fn user_data(&self) -> Bytes {
        self.iter().map(|(_, chunk)| chunk.user_data()).sum()
    }

    /// Bytes on the wire.
    pub fn size(&self) -> Bytes {
        self.iter().map(|(_, chunk)| chunk.size()).sum()
    }
}

/// RFC 9260 section 3.2: chunks are padded to a multiple of four bytes.
fn padded(bytes: Bytes) -> Bytes {
    Bytes(bytes.0.next_multiple_of(4))
}

/// Chunk header and fixed part of INIT and INIT ACK.
const INIT: Bytes = Bytes(20);
/// A SACK without blocks and duplicates.
pub const SACK: Bytes = Bytes(16);
/// The same of an NR-SACK, which also has the number of blocks that are kept.
pub const NR_SACK: Bytes = Bytes(20);
/// Header of a chunk or of a parameter.
const HEADER: Bytes = Bytes(4);
/// Time stamp, lifespan and MAC (HMAC-SHA-256) of a cookie.
const COOKIE_SEAL: Bytes = Bytes(8 + 4 + 32);

impl Init {
    fn size(&self) -> Bytes {
        INIT + self.addresses.size()
    }
}

impl Cookie {
    /// The tie-tags where there was no association before.
    pub const UNTIED: [Tag; 2] = [Tag::NONE; 2];

    /// The implementation chooses the content: the INIT, the own tag with its TSN, tie-tags if there are any, and what proves that it
    /// is genuine.
    fn size(&self) -> Bytes {
        let ties = if self.ties == Self::UNTIED { Bytes::ZERO } else { Bytes(8) };
        self.peer.size() + INIT + ties + COOKIE_SEAL
    }
}

impl Control {
    /// Bytes on the wire.
    pub fn size(&self) -> Bytes {
        match self {
            Self::None => Bytes::ZERO,
            Self::Init(init) => init.size(),
            Self::InitAck(init, cookie) => init.size() + HEADER + cookie.size(),
            Self::CookieEcho(cookie) => HEADER + cookie.size(),
            Self::Sack(sack) => {
                let head = if sack.promise == Promise::None { SACK } else { NR_SACK };
                head + Bytes(4 * sack.gaps.count() as u64 + 4 * u64::from(sack.duplicates))
            }
            // A parameter with time, nonce and the address that is asked about.
            Self::Heartbeat(_) | Self::HeartbeatAck(_) => HEADER + HEADER + Bytes(8 + 8 + 4),
            Self::Shutdown(_) => Bytes(8),
            Self::StaleCookie => HEADER + Bytes(8),
            Self::CookieInShutdown => HEADER + HEADER,
            // Without a cause.
            Self::CookieAck | Self::ShutdownAck | Self::ShutdownComplete | Self::Abort => HEADER,
        }
    }

    /// Its name in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::Init(_) => "init",
            Self::InitAck(..) => "init-ack",
            Self::CookieEcho(_) => "cookie",
            Self::StaleCookie => "stale",
            Self::CookieInShutdown => "in-shut",
            Self::CookieAck => "cook-ack",
            Self::Sack(_) => "sack",
            Self::Heartbeat(_) => "hb",
            Self::HeartbeatAck(_) => "hb-ack",
            Self::Shutdown(_) => "shutdown",
            Self::ShutdownAck => "shut-ack",
            Self::ShutdownComplete => "shut-end",
            Self::Abort => "abort",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(len: u16) -> DataChunk {
        DataChunk { len, ..DataChunk::default() }
    }

    /// RFC 9260 section 3.2: "The total length of a chunk (including Type, Length, and Value fields) MUST be a multiple of 4 bytes."
    #[test]
    fn sizes_on_the_wire() {
        let mut packet = SctpPacket::default();
        assert!(packet.data.push(Tsn(7), chunk(1452)));
        assert_eq!(packet.size(), Bytes(1480), "1500 bytes with an IPv4 header");
        assert!(packet.data.push(Tsn(8), chunk(1)));
        assert_eq!(packet.size(), Bytes(1480 + 20), "padded to four bytes");
        assert!(!packet.data.push(Tsn(10), chunk(1)), "TSN 9 is missing");
        assert_eq!((packet.data.user_data(), packet.data.end()), (Bytes(1453), Tsn(9)));
        let two = AddressList::new([0, 1].into_iter());
        let init = Init { addresses: two, ..Init::default() };
        let cookie = Cookie { peer: init, ..Cookie::default() };
        assert_eq!(Control::Init(init).size(), Bytes(36));
        let six = Init { addresses: two.over_ipv6(true), ..init };
        assert_eq!(Control::Init(six).size(), Bytes(60));
        assert_eq!(Control::InitAck(init, cookie).size(), Bytes(36 + 4 + 36 + 20 + 44));
        let sack = Sack { duplicates: 2, ..Sack::default() };
        assert_eq!(Control::Sack(sack).size(), Bytes(24));
        assert_eq!(Control::Sack(Sack { promise: Promise::Kept, ..sack }).size(), Bytes(28));
    }

    #[test]
    fn a_packet_has_room_for_eight_chunks() {
        let mut data = DataChunks::default();
        assert!((0..8).all(|i| data.push(Tsn(i), chunk(10))));
        assert!(data.is_full() && !data.push(Tsn(8), chunk(10)));
    }
}
