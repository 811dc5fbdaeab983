//! Capture files: pcap and pcapng, block by block.
//!
//! May: say which packets a file has, in their order there. May not: look into a packet.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcap_parser::pcapng::Block;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{InterfaceDescriptionBlock, PcapBlockOwned, PcapError, create_reader};

use crate::link::Way;
use crate::packet_block::PacketBlock;

/// Bytes that are read at once. A block that is longer makes the buffer grow, up to [`LARGEST`].
const BUFFER: usize = 1 << 18;
const LARGEST: usize = 1 << 26;
/// Least bytes that are read at once.
const LEAST: usize = 1 << 10;
const NANOS: u64 = 1_000_000_000;
/// Bytes of a block of pcapng around its content: type, and length twice.
const FRAME: u32 = 12;

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Nanoseconds since 1970.
    pub(crate) at: u64,
    /// Number of the interface in the file.
    pub(crate) interface: u32,
    /// Link type.
    pub(crate) link: i32,
    /// Direction, if the file has it.
    pub(crate) way: Option<Way>,
    /// Bytes that it had.
    pub(crate) len: u32,
    /// The bytes that were kept.
    pub(crate) bytes: &'a [u8],
}

impl Record<'_> {
    /// Bytes that the datagram had of which the packet holds `found`.
    pub(crate) fn sent(&self, found: &[u8]) -> usize {
        (self.len as usize).saturating_sub(self.bytes.len() - found.len())
    }
}

/// Where a capture is.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A file.
    File(PathBuf),
    /// The bytes of one.
    Bytes(Arc<[u8]>),
}

impl Input {
    /// The name in messages.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Self::File(file) => file.clone(),
            Self::Bytes(_) => PathBuf::from("<bytes>"),
        }
    }

    /// Bytes that are read at once: no more than there are.
    fn buffer(&self) -> usize {
        match self {
            Self::File(_) => BUFFER,
            Self::Bytes(bytes) => BUFFER.min(bytes.len().max(LEAST)),
        }
    }

    fn open(&self) -> Result<Box<dyn Read + Send>, String> {
        match self {
            Self::File(file) => {
                // Opening a pipe would wait for its other end.
                let about = fs::metadata(file).map_err(|error| reason(&error))?;
                if !about.is_file() {
                    return Err("not a regular file".into());
                }
                // So are files of /proc by their own word. Some of them wait for news when they are read.
                if about.len() == 0 {
                    return Err("the file is empty or too short".into());
                }
                Ok(Box::new(File::open(file).map_err(|error| reason(&error))?))
            }
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(Arc::clone(bytes)))),
        }
    }
}

/// Why the rest of a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.as_os_str().is_empty() {
            // It is one of all files together.
            return f.write_str(&self.reason);
        }
        write!(f, "{}: {}", self.file.display(), self.reason)
    }
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: i32,
    /// Units per second of its times, and seconds to be added.
    resolution: u64,
    offset: i64,
}

/// The form of the bytes that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// A file of pcap, or the beginning of one.
    Legacy,
    /// A section of pcapng with little-endian numbers.
    Little,
    /// The same with big-endian numbers.
    Big,
}

impl Section {
    /// True if a block with this beginning is shorter than its own frame: `pcap_parser` subtracts that without a look.
    fn is_too_short(self, data: &[u8]) -> bool {
        let Some(&length) = data.get(4..8).and_then(|bytes| bytes.first_chunk()) else { return false };
        match self {
            Self::Legacy => false,
            Self::Little => u32::from_le_bytes(length) < FRAME,
            Self::Big => u32::from_be_bytes(length) < FRAME,
        }
    }
}

/// One file while it is read.
pub(crate) struct Packets {
    reader: Box<dyn PcapReaderIterator>,
    file: PathBuf,
    /// Interfaces of the current section.
    interfaces: Vec<Interface>,
    /// Interfaces of earlier sections.
    before: u32,
    section: Section,
    packets: u64,
    /// When the capture of an interface ended, the last of them.
    ended: Option<u64>,
    size: usize,
}

impl fmt::Debug for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packets")
            .field("file", &self.file)
            .field("packets", &self.packets)
            .finish_non_exhaustive()
    }
}

impl Packets {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub(crate) fn open(input: &Input) -> Result<Self, Unreadable> {
        let file = input.name();
        let unreadable = |reason: String| Unreadable { file: file.clone(), reason };
        let opened = input.open().map_err(unreadable)?;
        let reader = create_reader(input.buffer(), opened).map_err(|error| match error {
            PcapError::Eof | PcapError::Incomplete(_) | PcapError::UnexpectedEof => {
                unreadable("the file is empty or too short".into())
            }
            _ => unreadable(kind_of(input)),
        })?;
        Ok(Self {
            reader,
            file,
            interfaces: Vec::new(),
            before: 0,
            section: Section::Legacy,
            packets: 0,
            ended: None,
            size: input.buffer(),
        })
    }

    /// The file, as messages name it.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Packets so far.
    pub(crate) fn number(&self) -> u64 {
        self.packets
    }

    /// When the capture ended, if the file has said it so far.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Shows the next packet to `take`. False at the end.
    ///
    /// # Errors
    /// The rest of the file cannot be read.
    pub(crate) fn next(&mut self, mut take: impl FnMut(Record<'_>)) -> Result<bool, Unreadable> {
        loop {
            if self.usual(&mut take) {
                self.packets += 1;
                return Ok(true);
            }
            if self.section.is_too_short(self.reader.data()) {
                return Err(self.unreadable("a block is damaged"));
            }
            let problem = match self.reader.next() {
                Ok((length, block)) => {
                    let mut seen = false;
                    self.ended = self.ended.max(ended(&self.interfaces, &block));
                    let state = (&mut self.interfaces, &mut self.before, &mut self.section);
                    if let Some(record) = packet(state, &block) {
                        take(record);
                        seen = true;
                    }
                    drop(block);
                    self.reader.consume(length);
                    if seen {
                        self.packets += 1;
                        return Ok(true);
                    }
                    continue;
                }
                Err(PcapError::Eof) => return Ok(false),
                Err(PcapError::Incomplete(_)) => None,
                Err(PcapError::UnexpectedEof) => Some("it ends within a block"),
                Err(PcapError::BufferTooSmall) => Some("a block is too long"),
                Err(_) => Some("a block is damaged"),
            };
            let problem = problem.or_else(|| self.refill());
            if let Some(problem) = problem {
                return Err(self.unreadable(problem));
            }
        }
    }

    fn unreadable(&self, problem: &str) -> Unreadable {
        let reason = format!("{problem}, after {} packets; the rest is not read", self.packets);
        Unreadable { file: self.file.clone(), reason }
    }

    /// Shows the packet of a usual block, if one is next.
    #[inline]
    fn usual(&mut self, take: impl FnOnce(Record<'_>)) -> bool {
        if self.section != Section::Little {
            return false;
        }
        let Some((block, length)) = PacketBlock::usual(self.reader.data()) else { return false };
        let Some(record) = record(&self.interfaces, self.before, &block) else { return false };
        take(record);
        self.reader.consume(length);
        true
    }

    /// Reads on; says why it cannot.
    fn refill(&mut self) -> Option<&'static str> {
        let before = self.reader.data().len();
        if self.reader.reader_exhausted() {
            return Some("it ends within a block");
        }
        if before >= self.size {
            self.size *= 2;
            if self.size > LARGEST || !self.reader.grow(self.size) {
                return Some("a block is too long");
            }
        }
        match self.reader.refill() {
            Ok(()) => None,
            Err(_) => Some("it cannot be read on"),
        }
    }
}

/// The reason why a file is no capture.
fn kind_of(input: &Input) -> String {
    const PACKERS: [(&[u8], &str); 3] = [
        (&[0x1f, 0x8b], "gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    ];
    let mut head = [0; 5];
    let length = input.open().ok().and_then(|mut file| file.read(&mut head).ok()).unwrap_or_default();
    let packer = PACKERS.iter().find(|(magic, _)| head[..length].starts_with(magic));
    match packer {
        Some((_, name)) => format!("it is compressed: unpack it with {name} -d"),
        None => "neither pcap nor pcapng".into(),
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        _ => error.to_string(),
    }
}

/// When the capture of an interface ended, if the block says it.
fn ended(interfaces: &[Interface], block: &PcapBlockOwned<'_>) -> Option<u64> {
    let PcapBlockOwned::NG(Block::InterfaceStatistics(block)) = block else { return None };
    let (high, low) = block.isb_endtime()?.ok()?;
    Some(interfaces.get(block.if_id as usize)?.nanos(u64::from(high) << 32 | u64::from(low)))
}

/// The packet of a block. Blocks of sections and interfaces change the state.
fn packet<'a>(
    (interfaces, before, section): (&mut Vec<Interface>, &mut u32, &mut Section),
    block: &'a PcapBlockOwned<'_>,
) -> Option<Record<'a>> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { NANOS } else { 1_000_000 };
            // Above them is the length of a checksum behind each frame.
            let link = header.network.0 & 0xffff;
            interfaces.push(Interface { link, resolution, offset: 0 });
            None
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first()?;
            let fraction = u64::from(packet.ts_usec) * (NANOS / interface.resolution);
            let at = u64::from(packet.ts_sec).saturating_mul(NANOS).saturating_add(fraction);
            Some(Record {
                at,
                interface: 0,
                link: interface.link,
                way: None,
                len: packet.origlen,
                bytes: kept(packet.data, packet.caplen),
            })
        }
        PcapBlockOwned::NG(Block::SectionHeader(block)) => {
            *before += interfaces.len() as u32;
            interfaces.clear();
            *section = if block.big_endian() { Section::Big } else { Section::Little };
            None
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            interfaces.push(interface(block));
            None
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(block)) => record(interfaces, *before, &block.into()),
        PcapBlockOwned::NG(Block::SimplePacket(block)) => {
            let interface = interfaces.first()?;
            // It has no time.
            Some(Record {
                at: 0,
                interface: *before,
                link: interface.link,
                way: None,
                len: block.origlen,
                bytes: block.packet_data(),
            })
        }
        PcapBlockOwned::NG(_) => None,
    }
}

/// `None` if the section has not told the interface.
fn record<'a>(interfaces: &[Interface], before: u32, block: &PacketBlock<'a>) -> Option<Record<'a>> {
    let interface = interfaces.get(block.interface as usize)?;
    let PacketBlock { interface: number, units, way, len, bytes } = *block;
    let (at, link) = (interface.nanos(units), interface.link);
    Some(Record { at, interface: before + number, link, way, len, bytes })
}

fn kept(data: &[u8], length: u32) -> &[u8] {
    data.get(..length as usize).unwrap_or(data)
}

fn interface(block: &InterfaceDescriptionBlock<'_>) -> Interface {
    let resolution = block.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000);
    Interface { link: block.linktype.0, resolution, offset: block.ts_offset() }
}

impl Interface {
    fn nanos(&self, units: u64) -> u64 {
        let nanos = u128::from(units) * u128::from(NANOS) / u128::from(self.resolution);
        let offset = i128::from(self.offset) * i128::from(NANOS);
        let sum = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        u64::try_from(sum.max(0)).unwrap_or(u64::MAX)
    }
}
