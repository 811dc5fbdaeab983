//! Chunks of an SCTP packet (RFC 9260 section 3; NR-SACK: draft-tuexen-tsvwg-sctp-multipath section 3.1) and their bytes. No context: any bytes
//! can be read, and nothing panics.

use transport::seq::Seq32;

use crate::options::bytes_at;

/// The common header.
pub const COMMON_HEADER: usize = 12;
/// Type, flags and length of a chunk; type and length of a parameter.
pub const CHUNK_HEADER: usize = 4;
/// The header of a DATA chunk.
pub const DATA_HEADER: usize = 16;

/// Types of chunks.
pub mod kind {
    /// DATA.
    pub const DATA: u8 = 0;
    /// INIT.
    pub const INIT: u8 = 1;
    /// INIT ACK.
    pub const INIT_ACK: u8 = 2;
    /// SACK.
    pub const SACK: u8 = 3;
    /// HEARTBEAT.
    pub const HEARTBEAT: u8 = 4;
    /// HEARTBEAT ACK.
    pub const HEARTBEAT_ACK: u8 = 5;
    /// ABORT.
    pub const ABORT: u8 = 6;
    /// SHUTDOWN.
    pub const SHUTDOWN: u8 = 7;
    /// SHUTDOWN ACK.
    pub const SHUTDOWN_ACK: u8 = 8;
    /// ERROR.
    pub const ERROR: u8 = 9;
    /// COOKIE ECHO.
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE ACK.
    pub const COOKIE_ACK: u8 = 11;
    /// SHUTDOWN COMPLETE.
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// NR-SACK.
    pub const NR_SACK: u8 = 16;
}

/// Types of parameters of INIT and INIT ACK, and of a HEARTBEAT.
pub mod parameter {
    /// Heartbeat information.
    pub const HEARTBEAT: u16 = 1;
    /// An IPv4 address.
    pub const IPV4: u16 = 5;
    /// An IPv6 address.
    pub const IPV6: u16 = 6;
    /// The state cookie.
    pub const COOKIE: u16 = 7;
}

/// Bits of the flags of a DATA chunk.
pub mod data_flag {
    /// The last fragment.
    pub const END: u8 = 1;
    /// The first fragment.
    pub const BEGIN: u8 = 2;
    /// Unordered.
    pub const UNORDERED: u8 = 4;
}

/// Bit T of ABORT and SHUTDOWN COMPLETE: the tag is that of the sender.
pub const REFLECTED: u8 = 1;
/// The cause "stale cookie" of an ERROR.
pub const STALE_COOKIE: u16 = 3;
/// The cause "cookie received while shutting down".
pub const COOKIE_IN_SHUTDOWN: u16 = 10;
/// The number of packets that a SACK covers stands in the two highest bits of its flags: concurrent transfer, delayed ACKs.
const PACKETS_SHIFT: u8 = 6;

/// The header of a packet, and its chunks.
#[derive(Clone, Copy, Debug)]
pub struct SctpHeader<'a> {
    /// The tag that its receiver has chosen; 0 with INIT.
    pub tag: u32,
    /// CRC32c, as it was read.
    pub checksum: [u8; 4],
    /// Its chunks.
    pub chunks: Chunks<'a>,
}

/// Chunks of a packet, which may be cut off.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    bytes: &'a [u8],
    /// Bytes that the packet has by its IP header, those of `bytes` included.
    left: usize,
}

/// A chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Bytes behind its header by its length field.
    pub len: usize,
    /// Its content, as far as it was captured.
    pub body: &'a [u8],
}

/// The fixed fields of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFields {
    /// TSN.
    pub tsn: Seq32,
    /// Stream.
    pub stream: u16,
    /// Number of the message in its stream.
    pub ssn: u16,
    /// Bits of [`data_flag`].
    pub flags: u8,
    /// Bytes of user data.
    pub len: usize,
}

/// Fields of INIT and INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitFields<'a> {
    /// The tag that packets to its sender carry.
    pub tag: u32,
    /// Receive window.
    pub window: u32,
    /// Streams outbound and inbound.
    pub streams: [u16; 2],
    /// Initial TSN.
    pub tsn: Seq32,
    /// Parameters.
    pub parameters: Parameters<'a>,
}

/// Fields of SACK and NR-SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackFields<'a> {
    /// The last TSN before the first gap.
    pub cumulative: Seq32,
    /// Receive window.
    pub window: u32,
    /// It is an NR-SACK.
    pub kept: bool,
    /// Packets that it covers, if its sender counts them.
    pub packets: u8,
    /// Number of blocks: those that the receiver may discard, and those that it keeps.
    pub blocks: [u16; 2],
    /// Number of duplicate TSNs.
    pub duplicates: u16,
    /// Blocks and duplicates, as far as they were captured.
    list: &'a [u8],
}

/// Parameters, or causes of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a>(pub &'a [u8]);

/// The length with padding.
fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_be_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_be_bytes)
}

impl<'a> Chunks<'a> {
    /// Chunks in these bytes, of a packet with `left` bytes of them.
    pub fn new(bytes: &'a [u8], left: usize) -> Self {
        Self { bytes: &bytes[..bytes.len().min(left)], left }
    }

    /// Bytes that follow and whose chunks are not known: cut off, or with a wrong length.
    pub fn unread(&self) -> usize {
        self.left
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        let [kind, flags] = bytes_at(self.bytes, 0)?;
        let length = usize::from(half(self.bytes, 2)?);
        let len = length.checked_sub(CHUNK_HEADER)?;
        // RFC 9260 section 3.2: the length does not count the padding, which the last chunk may lack here.
        if length > self.left {
            return None;
        }
        let body = &self.bytes[CHUNK_HEADER..self.bytes.len().min(length)];
        let whole = padded(length).min(self.left);
        self.left -= whole;
        self.bytes = self.bytes.get(whole..).unwrap_or_default();
        Some(Chunk { kind, flags, len, body })
    }
}

impl<'a> Chunk<'a> {
    /// As DATA; `None` if its header is cut off.
    pub fn data(&self) -> Option<DataFields> {
        let len = self.len.checked_sub(DATA_HEADER - CHUNK_HEADER)?;
        let (tsn, stream, ssn) = (word(self.body, 0)?, half(self.body, 4)?, half(self.body, 6)?);
        Some(DataFields { tsn: Seq32(tsn), stream, ssn, flags: self.flags, len })
    }

    /// As INIT or INIT ACK; `None` if it is cut off.
    pub fn init(&self) -> Option<InitFields<'a>> {
        Some(InitFields {
            tag: word(self.body, 0)?,
            window: word(self.body, 4)?,
            streams: [half(self.body, 8)?, half(self.body, 10)?],
            tsn: Seq32(word(self.body, 12)?),
            parameters: Parameters(&self.body[16..]),
        })
    }

    /// As SACK or NR-SACK; `None` if its fixed part is cut off.
    pub fn sack(&self) -> Option<SackFields<'a>> {
        let (cumulative, window) = (Seq32(word(self.body, 0)?), word(self.body, 4)?);
        let kept = self.kind == kind::NR_SACK;
        let (first, second) = (half(self.body, 8)?, half(self.body, 10)?);
        let (blocks, duplicates, fixed) =
            if kept { ([first, second], half(self.body, 12)?, 16) } else { ([first, 0], second, 12) };
        let packets = self.flags >> PACKETS_SHIFT;
        let list = self.body.get(fixed..).unwrap_or_default();
        Some(SackFields { cumulative, window, kept, packets, blocks, duplicates, list })
    }

    /// The TSN of a SHUTDOWN.
    pub fn shutdown(&self) -> Option<Seq32> {
        word(self.body, 0).map(Seq32)
    }

    /// Parameters of a HEARTBEAT, causes of an ERROR.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters(self.body)
    }
}

impl SackFields<'_> {
    /// Gap blocks were not captured.
    pub fn is_cut(&self) -> bool {
        self.gaps().count() < self.blocks.map(usize::from).into_iter().sum()
    }

    /// Blocks that were captured: offsets of the first and the last TSN from the cumulative one, those of NR-SACK behind the others.
    pub fn gaps(&self) -> impl Iterator<Item = [u16; 2]> {
        let count = self.blocks.map(usize::from).into_iter().sum();
        let (pairs, _) = self.list.as_chunks::<4>();
        pairs
            .iter()
            .take(count)
            .map(|[a, b, c, d]| [u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])])
    }
}

impl<'a> Iterator for Parameters<'a> {
    /// Type and content.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, length) = (half(self.0, 0)?, usize::from(half(self.0, 2)?));
        let content = self.0.get(CHUNK_HEADER..length)?;
        self.0 = self.0.get(padded(length)..).unwrap_or_default();
        Some((kind, content))
    }
}

/// Appends chunks to a buffer.
#[derive(Debug)]
pub struct ChunkWriter<'a>(pub &'a mut Vec<u8>);

impl ChunkWriter<'_> {
    /// A chunk whose body `write` appends; it is padded.
    pub fn chunk<E>(
        &mut self,
        kind: u8,
        flags: u8,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.extend_from_slice(&[kind, flags]);
        self.measured(2, write)
    }

    /// A parameter whose content `write` appends; it is padded.
    pub fn parameter<E>(
        &mut self,
        kind: u16,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.extend_from_slice(&kind.to_be_bytes());
        self.measured(2, write)
    }

    /// The length of the `before` bytes that were written, of itself and of what `write` appends.
    fn measured<E>(
        &mut self,
        before: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.0.len() - before;
        self.0.extend_from_slice(&[0; 2]);
        write(self.0)?;
        // Larger than an IP packet: its length then says the most that it can.
        let length = self.0.len() - start;
        let field = u16::try_from(length).unwrap_or(u16::MAX);
        self.0[start + before..start + before + 2].copy_from_slice(&field.to_be_bytes());
        self.0.resize(start + padded(length), 0);
        Ok(())
    }
}

/// The flags of a SACK that covers this many packets.
pub fn sack_flags(packets: u8) -> u8 {
    packets.min(3) << PACKETS_SHIFT
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn written(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let done: Result<(), Infallible> = ChunkWriter(&mut bytes).chunk(kind, 3, |out| {
            out.extend_from_slice(body);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        bytes
    }

    #[test]
    fn chunks_are_padded_and_their_length_is_not() {
        let mut bytes = written(kind::DATA, &[0, 0, 0, 7, 0, 1, 0, 2, 0, 0, 0, 0, 9]);
        assert_eq!((bytes.len(), &bytes[..4]), (20, &[0, 3, 0, 17][..]));
        bytes.extend(written(kind::COOKIE_ACK, &[]));
        let mut chunks = Chunks::new(&bytes, bytes.len());
        let data = chunks.next().expect("the first").data().expect("it is whole");
        assert_eq!(data, DataFields { tsn: Seq32(7), stream: 1, ssn: 2, flags: 3, len: 1 });
        assert_eq!(chunks.next().map(|chunk| (chunk.kind, chunk.len)), Some((kind::COOKIE_ACK, 0)));
        assert_eq!((chunks.next(), chunks.unread()), (None, 0));
        // Cut behind the header of DATA: the second chunk is not known.
        let mut chunks = Chunks::new(&bytes[..16], bytes.len());
        assert!(chunks.next().is_some_and(|chunk| chunk.data() == Some(data)));
        assert_eq!((chunks.next(), chunks.unread()), (None, 4));
    }

    #[test]
    fn a_sack_has_blocks_of_both_kinds() {
        let body = [0, 0, 0, 9, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 2, 0, 3, 0, 5, 0, 5, 0, 0, 0, 9];
        let bytes = written(kind::NR_SACK, &body);
        let sack =
            Chunks::new(&bytes, bytes.len()).next().and_then(|chunk| chunk.sack()).expect("it is whole");
        assert_eq!((sack.cumulative, sack.window, sack.kept), (Seq32(9), 0x1_0000, true));
        assert_eq!((sack.blocks, sack.duplicates), ([1, 1], 1));
        assert!(sack.gaps().eq([[2, 3], [5, 5]]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..200), left in 0usize..300) {
            let mut chunks = Chunks::new(&bytes, left);
            let mut known = 0;
            for chunk in chunks.by_ref() {
                known += 1;
                prop_assert!(chunk.body.len() <= chunk.len);
                let (_, init) = (chunk.data(), chunk.init());
                let parameters = init.map(|init| init.parameters).unwrap_or(chunk.parameters());
                prop_assert!(parameters.count() <= bytes.len());
                prop_assert!(chunk.sack().is_none_or(|sack| sack.gaps().count() <= bytes.len()));
            }
            prop_assert!(4 * known <= left && chunks.unread() <= left);
        }
    }
}
