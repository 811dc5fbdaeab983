//! SCTP packets <-> bytes, in the context of their association: tags, which are also the initial TSNs, and addresses.
//!
//! No chunk has what the machine leaves out of its packets, and the other way round. The bytes have the PPID 0, any number of
//! inbound streams and, as a duplicate TSN, the cumulative one, since the machine counts duplicates alone; a SACK counts at
//! most 3 packets. The cookie is as long as the machine has it: when it was made, its lifespan, the INIT, the INIT ACK without
//! parameters, an HMAC whose secret is the tag of its maker.

use std::net::IpAddr;

use transport::AddressPair;
use transport::mptcp::keys::hmac_sha256;
use transport::sctp::chunk::{
    AddressList, Control, Cookie, DataChunk, DataChunks, Fragment, Heartbeat, Init, Promise, Sack, SctpPacket,
};
use transport::sctp::gaps::{GapBlocks, MORE};
use transport::sctp::tsn::{Ssn, StreamId, Tag, Tsn};
use transport::seq::{Seq, Seq32, StreamOffset};
use transport::tcp::ranges::{Range, RangeSet};
use units::SimTime;

use super::{Association, CodecError, Opening};
use crate::frame::{Ends, SctpWriter};
use crate::numbers::EndSettings;
use crate::options::bytes_at;
use crate::sctp::{
    COOKIE_IN_SHUTDOWN, Chunk, ChunkWriter, DATA_HEADER, InitFields, REFLECTED, STALE_COOKIE, SctpHeader,
    data_flag, kind, parameter, sack_flags,
};

/// Lifespan of a cookie in milliseconds (RFC 9260 section 16).
const COOKIE_LIFE_MS: u32 = 60_000;
/// HMAC-SHA-256.
const SEAL: usize = 32;

/// Numbers of an association. Arrays are by end, the one that opened it first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tags {
    /// `Tag::NONE` before the end has told it.
    tags: [Tag; 2],
    /// After the highest TSN sent.
    sent: [Tsn; 2],
}

impl Tags {
    /// Takes in the tags and the TSNs of a packet of `end`.
    pub(super) fn learn(&mut self, end: usize, packet: &SctpPacket) {
        let peer = 1 - end;
        match packet.control {
            Control::Init(init) => self.know(end, init.tag),
            // The tag of an INIT ACK holds when its cookie comes back: the answer to an INIT in an established association has another one.
            Control::InitAck(..) => self.know(peer, packet.tag),
            Control::CookieEcho(cookie) => {
                self.know(end, cookie.peer.tag);
                self.know(peer, packet.tag);
            }
            _ => {}
        }
        if !packet.data.is_empty() {
            self.sent[end] = self.sent[end].max(packet.data.end());
        }
    }

    fn know(&mut self, end: usize, tag: Tag) {
        if self.tags[end] != tag {
            (self.tags[end], self.sent[end]) = (tag, Tsn::FIRST);
        }
    }

    fn tag(&self, end: usize) -> Result<Tag, CodecError> {
        let known = Some(self.tags[end]).filter(|tag| *tag != Tag::NONE);
        known.ok_or(CodecError::NoTag)
    }

    fn field(&self, end: usize, tsn: Tsn) -> Result<Seq32, CodecError> {
        Ok(tsn.on_wire(self.tag(end)?.initial_tsn()))
    }

    fn tsn(&self, end: usize, field: Seq32) -> Result<Tsn, CodecError> {
        let initial = self.tag(end)?.initial_tsn();
        Ok(Tsn(field.extend(initial, Seq(self.sent[end].0)).0))
    }
}

/// The context of the packets of one end.
pub(super) struct Peers<'a> {
    pub(super) tags: &'a Tags,
    pub(super) settings: &'a [EndSettings; 2],
    /// Interfaces of the path, by end.
    pub(super) interfaces: [Option<u8>; 2],
    pub(super) six: bool,
    /// The end that sends.
    pub(super) end: usize,
}

/// The low bytes of an address, which a HEARTBEAT has room for.
fn low_bytes(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.octets();
            [a, b, c, d]
        }
    }
}

impl<'a> Peers<'a> {
    pub(super) fn new(association: &'a Association, opening: &Opening, (six, end): (bool, usize)) -> Self {
        let Association { tags, settings, .. } = association;
        let AddressPair { local, remote } = opening.interfaces;
        Self { tags, settings, interfaces: [local, remote], six, end }
    }

    /// Appends the IP datagram of a packet whose data begins at `offset`; bytes behind the first `most` may be missing. Returns how many are.
    pub(super) fn write(
        &self,
        (ends, ecn, offset): (Ends, u8, StreamOffset),
        packet: &SctpPacket,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let mut control = Vec::new();
        self.control(&mut control, ends, packet)?;
        let length = control.len() + packet.data.size().0 as usize;
        let mut written = SctpWriter::new(out, (ends, ecn), packet.tag.0, (length, most));
        written.bytes(&control);
        let mut at = offset;
        for (tsn, chunk) in packet.data.iter() {
            self.data(&mut written, (tsn, at), chunk)?;
            at += chunk.user_data();
        }
        Ok(written.finish())
    }

    fn data(
        &self,
        out: &mut SctpWriter<'_>,
        (tsn, at): (Tsn, StreamOffset),
        chunk: DataChunk,
    ) -> Result<(), CodecError> {
        let flag = |flag, set| if set { flag } else { 0 };
        let flags = flag(data_flag::BEGIN, chunk.fragment.begins())
            | flag(data_flag::END, chunk.fragment.ends())
            | flag(data_flag::UNORDERED, chunk.unordered);
        let field = self.tags.field(self.end, tsn)?;
        // Larger than an IP packet: its length then says the most that it can.
        let length = u16::try_from(chunk.length().0).unwrap_or(u16::MAX);
        let mut header = [0; DATA_HEADER];
        (header[0], header[1]) = (kind::DATA, flags);
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[4..8].copy_from_slice(&field.0.to_be_bytes());
        header[8..10].copy_from_slice(&chunk.stream.0.to_be_bytes());
        header[10..12].copy_from_slice(&chunk.ssn.0.to_be_bytes());
        out.bytes(&header);
        out.payload(at, usize::from(chunk.len));
        let padding = chunk.size() - chunk.length();
        out.bytes(&[0; 3][..padding.0 as usize]);
        Ok(())
    }

    fn control(&self, out: &mut Vec<u8>, ends: Ends, packet: &SctpPacket) -> Result<(), CodecError> {
        let peer = 1 - self.end;
        let reflected = u8::from(self.tags.tags[peer] != packet.tag);
        let empty = |_: &mut Vec<u8>| Ok(());
        let mut chunks = ChunkWriter(out);
        match packet.control {
            Control::None => Ok(()),
            Control::Init(init) => chunks.chunk(kind::INIT, 0, |out| self.init(out, self.end, &init)),
            Control::InitAck(init, cookie) => chunks.chunk(kind::INIT_ACK, 0, |out| {
                self.init(out, self.end, &init)?;
                ChunkWriter(out).parameter(parameter::COOKIE, |out| self.cookie(out, peer, &cookie))
            }),
            Control::CookieEcho(cookie) => {
                chunks.chunk(kind::COOKIE_ECHO, 0, |out| self.cookie(out, self.end, &cookie))
            }
            Control::StaleCookie => chunks.chunk(kind::ERROR, 0, |out| {
                ChunkWriter(out).parameter(STALE_COOKIE, |out| {
                    out.extend_from_slice(&[0; 4]);
                    Ok(())
                })
            }),
            Control::CookieInShutdown => {
                chunks.chunk(kind::ERROR, 0, |out| ChunkWriter(out).parameter(COOKIE_IN_SHUTDOWN, empty))
            }
            Control::CookieAck => chunks.chunk(kind::COOKIE_ACK, 0, empty),
            Control::Sack(sack) => self.sack(chunks, &sack, packet.data.more()),
            Control::Heartbeat(heartbeat) => {
                let asked = low_bytes(ends.destination.ip());
                chunks.chunk(kind::HEARTBEAT, 0, |out| write_heartbeat(out, heartbeat, asked))
            }
            Control::HeartbeatAck(heartbeat) => {
                let asked = low_bytes(ends.source.ip());
                chunks.chunk(kind::HEARTBEAT_ACK, 0, |out| write_heartbeat(out, heartbeat, asked))
            }
            Control::Shutdown(next) => {
                let last = self.before(peer, next)?;
                chunks.chunk(kind::SHUTDOWN, 0, |out| {
                    out.extend_from_slice(&last.0.to_be_bytes());
                    Ok(())
                })
            }
            Control::ShutdownAck => chunks.chunk(kind::SHUTDOWN_ACK, 0, empty),
            Control::ShutdownComplete => chunks.chunk(kind::SHUTDOWN_COMPLETE, reflected * REFLECTED, empty),
            Control::Abort => chunks.chunk(kind::ABORT, reflected * REFLECTED, empty),
        }
    }

    /// The field of the TSN before this one of `end`.
    fn before(&self, end: usize, next: Tsn) -> Result<Seq32, CodecError> {
        Ok(self.tags.field(end, next)?.wrapping_add(u32::MAX))
    }

    /// Fixed part and addresses of an INIT of `end`.
    fn init(&self, out: &mut Vec<u8>, end: usize, init: &Init) -> Result<(), CodecError> {
        write_fixed(out, init);
        if !init.addresses.are_listed() {
            return Ok(());
        }
        for index in init.addresses.iter() {
            let address = self.settings[end].addresses.get(usize::from(index));
            let address = address.ok_or(CodecError::Meaningless("an address that its host does not have"))?;
            let (kind, octets) = match address {
                IpAddr::V4(address) => (parameter::IPV4, address.octets().to_vec()),
                IpAddr::V6(address) => (parameter::IPV6, address.octets().to_vec()),
            };
            ChunkWriter(out).parameter::<CodecError>(kind, |out| {
                out.extend_from_slice(&octets);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The cookie for the INIT of `end`.
    fn cookie(&self, out: &mut Vec<u8>, end: usize, cookie: &Cookie) -> Result<(), CodecError> {
        let start = out.len();
        out.extend_from_slice(&cookie.made.0.to_be_bytes());
        out.extend_from_slice(&COOKIE_LIFE_MS.to_be_bytes());
        ChunkWriter(out).chunk(kind::INIT, 0, |out| self.init(out, end, &cookie.peer))?;
        let answer = Init { tag: cookie.own, ..Init::default() };
        ChunkWriter(out).chunk::<CodecError>(kind::INIT_ACK, 0, |out| {
            write_fixed(out, &answer);
            Ok(())
        })?;
        if cookie.ties != Cookie::UNTIED {
            cookie.ties.iter().for_each(|tie| out.extend_from_slice(&tie.0.to_be_bytes()));
        }
        let seal = hmac_sha256(&cookie.own.0.to_be_bytes(), &out[start..]);
        out.extend_from_slice(&seal);
        Ok(())
    }

    fn sack(&self, mut chunks: ChunkWriter<'_>, sack: &Sack, more: &[u8]) -> Result<(), CodecError> {
        let last = self.before(1 - self.end, sack.next)?;
        // The blocks are of one kind.
        let count = sack.gaps.count() as u16;
        let (chunk, counts) = match sack.promise {
            Promise::None => (kind::SACK, [count, sack.duplicates]),
            Promise::Renegable => (kind::NR_SACK, [count, 0]),
            Promise::Kept => (kind::NR_SACK, [0, count]),
        };
        chunks.chunk(chunk, sack_flags(sack.packets), |out| {
            out.extend_from_slice(&last.0.to_be_bytes());
            out.extend_from_slice(&sack.window.to_be_bytes());
            counts.iter().for_each(|count| out.extend_from_slice(&count.to_be_bytes()));
            if chunk == kind::NR_SACK {
                out.extend_from_slice(&sack.duplicates.to_be_bytes());
                out.extend_from_slice(&[0; 2]);
            }
            for block in sack.gaps.blocks(sack.next, more) {
                // Offsets of the first and the last TSN from the cumulative one.
                for offset in [block.start.0 - sack.next.0 + 1, block.end.0 - sack.next.0] {
                    let offset = u16::try_from(offset);
                    let offset =
                        offset.map_err(|_| CodecError::Meaningless("a gap block beyond 65,535 TSNs"))?;
                    out.extend_from_slice(&offset.to_be_bytes());
                }
            }
            (0..sack.duplicates).for_each(|_| out.extend_from_slice(&last.0.to_be_bytes()));
            Ok(())
        })
    }
}

fn write_fixed(out: &mut Vec<u8>, init: &Init) {
    out.extend_from_slice(&init.tag.0.to_be_bytes());
    out.extend_from_slice(&init.window.to_be_bytes());
    out.extend_from_slice(&init.streams.to_be_bytes());
    out.extend_from_slice(&u16::MAX.to_be_bytes());
    out.extend_from_slice(&init.tag.initial_tsn().0.to_be_bytes());
}

/// `asked`: the address whose reachability is tested.
fn write_heartbeat(out: &mut Vec<u8>, heartbeat: Heartbeat, asked: [u8; 4]) -> Result<(), CodecError> {
    ChunkWriter(out).parameter(parameter::HEARTBEAT, |out| {
        out.extend_from_slice(&heartbeat.sent.0.to_be_bytes());
        out.extend_from_slice(&heartbeat.nonce.to_be_bytes());
        out.extend_from_slice(&asked);
        Ok(())
    })
}

/// Reading.
impl Peers<'_> {
    /// The packet that these chunks mean.
    pub(super) fn read(&self, header: &SctpHeader<'_>) -> Result<SctpPacket, CodecError> {
        let mut packet = SctpPacket { tag: Tag(header.tag), ..SctpPacket::default() };
        let mut chunks = header.chunks;
        while let Some(chunk) = chunks.next() {
            if chunk.kind == kind::DATA {
                let (tsn, data) = self.read_data(&chunk)?;
                if !packet.data.push(tsn, data) {
                    return Err(CodecError::Meaningless("more than eight DATA chunks, or not in order"));
                }
            } else {
                if packet.control != Control::None || !packet.data.is_empty() {
                    return Err(CodecError::Meaningless("two control chunks, or one behind DATA"));
                }
                // Gap blocks without a place in the SACK stand where DATA chunks would, if none follow.
                let room = if chunks.unread() > 0 { 0 } else { MORE };
                let mut more = [0; MORE];
                packet.control = self.read_control(&chunk, &mut more[..room])?;
                if more != [0; MORE] {
                    packet.data = DataChunks::with_more(more);
                }
            }
        }
        if chunks.unread() > 0 {
            return Err(CodecError::Meaningless("chunks that are cut off, or wrong lengths"));
        }
        Ok(packet)
    }

    fn read_data(&self, chunk: &Chunk<'_>) -> Result<(Tsn, DataChunk), CodecError> {
        let fields = chunk.data().ok_or(CUT)?;
        let has = |flag| fields.flags & flag != 0;
        let fragment = match (has(data_flag::BEGIN), has(data_flag::END)) {
            (true, true) => Fragment::Whole,
            (true, false) => Fragment::First,
            (false, true) => Fragment::Last,
            (false, false) => Fragment::Middle,
        };
        let data = DataChunk {
            // The length field of a chunk has 16 bits.
            len: fields.len as u16,
            stream: StreamId(fields.stream),
            ssn: Ssn(fields.ssn),
            fragment,
            unordered: has(data_flag::UNORDERED),
        };
        Ok((self.tags.tsn(self.end, fields.tsn)?, data))
    }

    fn read_control(&self, chunk: &Chunk<'_>, more: &mut [u8]) -> Result<Control, CodecError> {
        let peer = 1 - self.end;
        Ok(match chunk.kind {
            kind::INIT => Control::Init(self.read_init(self.end, &chunk.init().ok_or(CUT)?)?),
            kind::INIT_ACK => {
                let fields = chunk.init().ok_or(CUT)?;
                let cookie = { fields.parameters }.find(|(kind, _)| *kind == parameter::COOKIE);
                let (_, cookie) = cookie.ok_or(CodecError::Meaningless("an INIT ACK without a cookie"))?;
                Control::InitAck(self.read_init(self.end, &fields)?, self.read_cookie(peer, cookie)?)
            }
            kind::COOKIE_ECHO => Control::CookieEcho(self.read_cookie(self.end, chunk.body)?),
            kind::COOKIE_ACK => Control::CookieAck,
            kind::ERROR if has_cause(chunk, STALE_COOKIE) => Control::StaleCookie,
            kind::ERROR if has_cause(chunk, COOKIE_IN_SHUTDOWN) => Control::CookieInShutdown,
            kind::SACK | kind::NR_SACK => Control::Sack(self.read_sack(chunk, more)?),
            kind::HEARTBEAT => Control::Heartbeat(read_heartbeat(chunk)?),
            kind::HEARTBEAT_ACK => Control::HeartbeatAck(read_heartbeat(chunk)?),
            kind::SHUTDOWN => Control::Shutdown(self.after(peer, chunk.shutdown().ok_or(CUT)?)?),
            kind::SHUTDOWN_ACK => Control::ShutdownAck,
            kind::SHUTDOWN_COMPLETE => Control::ShutdownComplete,
            kind::ABORT => Control::Abort,
            _ => return Err(CodecError::Meaningless("a chunk that no machine sends")),
        })
    }

    /// The TSN of `end` after that of the field.
    fn after(&self, end: usize, field: Seq32) -> Result<Tsn, CodecError> {
        self.tags.tsn(end, field.wrapping_add(1))
    }

    fn read_init(&self, end: usize, fields: &InitFields<'_>) -> Result<Init, CodecError> {
        if Tag(fields.tag).initial_tsn() != fields.tsn {
            return Err(CodecError::Meaningless("an initial TSN that is not the tag"));
        }
        let mut listed = Vec::new();
        for (kind, content) in fields.parameters {
            let address: IpAddr = match kind {
                parameter::IPV4 => bytes_at::<4>(content, 0).ok_or(CUT)?.into(),
                parameter::IPV6 => bytes_at::<16>(content, 0).ok_or(CUT)?.into(),
                _ => continue,
            };
            let index = self.settings[end].addresses.iter().position(|known| *known == address);
            let index = index.and_then(|index| u8::try_from(index).ok());
            listed.push(index.ok_or(CodecError::Meaningless("an address that its host does not have"))?);
        }
        if listed.is_empty() {
            // RFC 9260 section 5.1.2: then it has the address alone that the packet comes from.
            listed.extend(self.interfaces[end]);
        }
        Ok(Init {
            tag: Tag(fields.tag),
            window: fields.window,
            streams: fields.streams[0],
            addresses: AddressList::new(listed.into_iter()).over_ipv6(self.six),
        })
    }

    /// The cookie for the INIT of `end`.
    fn read_cookie(&self, end: usize, bytes: &[u8]) -> Result<Cookie, CodecError> {
        let (content, seal) = bytes.split_at_checked(bytes.len().saturating_sub(SEAL)).ok_or(CUT)?;
        let made = SimTime(bytes_at(content, 0).map(u64::from_be_bytes).ok_or(CUT)?);
        let rest = content.get(12..).unwrap_or_default();
        let mut chunks = crate::sctp::Chunks::new(rest, rest.len());
        let mut fields = || chunks.next().and_then(|chunk| chunk.init()).ok_or(CUT);
        let (peer, own) = (fields()?, Tag(fields()?.tag));
        let tie = |at| bytes_at(rest, rest.len() - chunks.unread() + at).map(u32::from_be_bytes);
        let ties = tie(0).zip(tie(4)).map_or(Cookie::UNTIED, |(local, peers)| [Tag(local), Tag(peers)]);
        if seal != hmac_sha256(&own.0.to_be_bytes(), content) {
            return Err(CodecError::Meaningless("a cookie with a wrong HMAC"));
        }
        Ok(Cookie { own, peer: self.read_init(end, &peer)?, made, ties })
    }

    /// Gap blocks that have no place in the SACK go to `more`; none is left out in silence.
    fn read_sack(&self, chunk: &Chunk<'_>, more: &mut [u8]) -> Result<Sack, CodecError> {
        let fields = chunk.sack().ok_or(CUT)?;
        let next = self.after(1 - self.end, fields.cumulative)?;
        let mut arrived = RangeSet::default();
        for [first, last] in fields.gaps() {
            // Block 1 to 1 is the TSN after the cumulative one, which would not be a gap.
            if first < 2 || last < first {
                return Err(CodecError::Meaningless("gap blocks that are no ranges"));
            }
            let at = |offset: u16| Tsn(next.0 + u64::from(offset));
            arrived.insert(Range::new(Tsn(at(first).0 - 1), at(last)));
        }
        let gaps = GapBlocks::many(next, &arrived, more);
        if !gaps.blocks(next, more).eq(arrived.iter()) {
            return Err(CodecError::Meaningless("more gap blocks than a machine keeps"));
        }
        Ok(Sack {
            next,
            window: fields.window,
            duplicates: fields.duplicates,
            packets: fields.packets,
            gaps,
            promise: match fields.blocks {
                _ if !fields.kept => Promise::None,
                [0, _] => Promise::Kept,
                _ => Promise::Renegable,
            },
        })
    }
}

/// An ERROR names this cause.
fn has_cause(chunk: &Chunk<'_>, code: u16) -> bool {
    chunk.parameters().any(|(cause, _)| cause == code)
}

const CUT: CodecError = CodecError::Meaningless("a chunk that is cut off");

fn read_heartbeat(chunk: &Chunk<'_>) -> Result<Heartbeat, CodecError> {
    let information = chunk.parameters().find(|(kind, _)| *kind == parameter::HEARTBEAT);
    let (_, content) = information.ok_or(CUT)?;
    let number = |at| bytes_at(content, at).map(u64::from_be_bytes).ok_or(CUT);
    Ok(Heartbeat { sent: SimTime(number(0)?), nonce: number(8)? })
}
