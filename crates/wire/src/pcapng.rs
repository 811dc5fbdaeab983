//! Capture files in the format pcapng (draft-ietf-opsawg-pcapng): one section, an interface block for each interface, times in
//! nanoseconds, IP datagrams without link headers.

use std::io::{self, Write};

use units::SimTime;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// IP datagrams, version 4 or 6 by their first half byte.
const LINKTYPE_RAW: u16 = 101;
/// Time zero of a simulation: 1 January 2020. Some tools take 1970 for no time.
pub const EPOCH_NANOS: u64 = 1_577_836_800_000_000_000;

mod option {
    pub(super) const COMMENT: u16 = 1;
    pub(super) const USER_APPLICATION: u16 = 4;
    pub(super) const NAME: u16 = 2;
    pub(super) const DESCRIPTION: u16 = 3;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const PACKET_FLAGS: u16 = 2;
    pub(super) const START_TIME: u16 = 2;
    pub(super) const END_TIME: u16 = 3;
}

/// An interface on which packets are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// A sentence on it; empty: none.
    pub description: String,
}

/// Which way a packet crosses its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the host.
    Inbound,
    /// Out of it.
    Outbound,
}

impl Direction {
    /// Bits of the option `epb_flags`.
    const fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// Writes one file.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    /// Bytes of a packet that are kept.
    snap: u32,
    interfaces: u32,
    /// Blocks that wait to be written end at `start`; the next one is made behind them, with room for any packet.
    blocks: Vec<u8>,
    start: usize,
    /// A block of another kind than a packet while it is made.
    block: Vec<u8>,
}

/// Bytes of kind and length, with which a block begins.
const HEAD: usize = 8;
/// Bytes of a packet block before the packet: interface, time and two lengths follow kind and length.
const PACKET_HEAD: usize = HEAD + 20;
/// Bytes behind a packet: padding, an option, the end of options and the length of the block.
const PACKET_TAIL: usize = 4 + 16;
/// Bytes that are written at once. Whole pages at their places in the file cost the system less than others, and many at a time less for each;
/// of some megabytes it costs more.
const AT_ONCE: usize = 1 << 20;
/// Bytes that there is room for in a packet: more than any has.
pub const ROOM: usize = 1 << 17;
/// Room for the block of a packet.
const BLOCK: usize = PACKET_HEAD + ROOM + PACKET_TAIL;
/// Bytes of a packet, written behind the head of its block.
pub type Room = [u8; ROOM];

impl<W: Write> Writer<W> {
    /// Begins a file. `snap`: bytes of a packet that are kept; 0: all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(to: W, comment: &str, interfaces: &[Interface], snap: u32) -> io::Result<Self> {
        let kept = if snap == 0 { u32::MAX } else { snap };
        // Two interfaces for each link, of which a scenario has fewer than 2^31.
        let mut writer = Self {
            to,
            snap: kept,
            interfaces: interfaces.len() as u32,
            blocks: vec![0; AT_ONCE + BLOCK],
            start: 0,
            block: Vec::new(),
        };
        writer.begin();
        writer.number(BYTE_ORDER);
        // Version 1.0; the length of the section is not told.
        writer.block.extend_from_slice(&1u32.to_le_bytes());
        writer.block.extend_from_slice(&u64::MAX.to_le_bytes());
        writer.option(option::COMMENT, comment.as_bytes());
        writer.option(option::USER_APPLICATION, b"ropewalk");
        writer.end(SECTION)?;
        for interface in interfaces {
            writer.begin();
            writer.number(u32::from(LINKTYPE_RAW));
            writer.number(snap);
            writer.option(option::NAME, interface.name.as_bytes());
            if !interface.description.is_empty() {
                writer.option(option::DESCRIPTION, interface.description.as_bytes());
            }
            writer.option(option::RESOLUTION, &[9]);
            writer.end(INTERFACE)?;
        }
        Ok(writer)
    }

    /// Bytes of a packet that are kept.
    pub fn snap(&self) -> u32 {
        self.snap
    }

    /// Adds a packet that crosses the interface at `at`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn packet(&mut self, interface: u32, at: SimTime, way: Direction, bytes: &[u8]) -> io::Result<()> {
        self.cut_packet(interface, at, Some(way), (bytes, bytes.len()))
    }

    /// Adds a packet of which these bytes are known, with its length. `way`: `None` if it is not known.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn cut_packet(
        &mut self,
        interface: u32,
        at: SimTime,
        way: Option<Direction>,
        (bytes, length): (&[u8], usize),
    ) -> io::Result<()> {
        let kept = bytes.len().min(self.snap as usize);
        if kept <= ROOM {
            let copied = |room: &mut Room| {
                room[..kept].copy_from_slice(&bytes[..kept]);
                Some((kept, length))
            };
            return self.written_packet(interface, at, way, copied).unwrap_or(Ok(()));
        }
        self.block.clear();
        self.block.resize(PACKET_HEAD + kept + PACKET_TAIL, 0);
        self.block[PACKET_HEAD..PACKET_HEAD + kept].copy_from_slice(&bytes[..kept]);
        let whole = frame(&mut self.block, (interface, at, way), (kept, length));
        self.block.truncate(whole.unwrap_or_default());
        self.append()
    }

    /// Adds a packet whose bytes `write` puts into the room: as many as it says of the length that it says, or as many as are kept of any.
    /// `None`: it says nothing, and no packet is added. `way`: `None` if it is not known.
    ///
    /// # Errors
    /// It cannot be written.
    #[inline(always)]
    pub fn written_packet(
        &mut self,
        interface: u32,
        at: SimTime,
        way: Option<Direction>,
        write: impl FnOnce(&mut Room) -> Option<(usize, usize)>,
    ) -> Option<io::Result<()>> {
        let block: &mut [u8; BLOCK] = self.blocks.get_mut(self.start..)?.first_chunk_mut()?;
        let (kept, length) = write(block[PACKET_HEAD..].first_chunk_mut()?)?;
        let kept = kept.min(self.snap as usize);
        debug_assert!(kept <= ROOM, "{kept} bytes of a packet");
        self.start += frame(block, (interface, at, way), (kept.min(ROOM), length))?;
        Some(if self.start >= AT_ONCE { self.write_pages() } else { Ok(()) })
    }

    /// Ends the file, with a block for each interface that says when its capture began and ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, end: SimTime) -> io::Result<W> {
        for interface in 0..self.interfaces {
            self.begin();
            self.number(interface);
            self.block.extend_from_slice(&halves(end));
            self.option(option::START_TIME, &halves(SimTime::ZERO));
            self.option(option::END_TIME, &halves(end));
            self.end(STATISTICS)?;
        }
        self.flush()?;
        self.to.flush()?;
        Ok(self.to)
    }

    /// Begins a block.
    fn begin(&mut self) {
        self.block.clear();
        self.block.resize(HEAD, 0);
    }

    fn number(&mut self, number: u32) {
        self.block.extend_from_slice(&number.to_le_bytes());
    }

    /// Text longer than the field of its length is cut.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// A block has options, ends them, and has its length at both ends.
    fn end(&mut self, kind: u32) -> io::Result<()> {
        self.number(0);
        debug_assert!(self.block.len().is_multiple_of(4), "blocks are words");
        // A block is shorter than 4 GiB.
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[..4].copy_from_slice(&kind.to_le_bytes());
        self.block[4..HEAD].copy_from_slice(&length);
        self.block.extend_from_slice(&length);
        self.append()
    }

    /// Adds a block that is complete.
    fn append(&mut self) -> io::Result<()> {
        match self.blocks.get_mut(self.start..self.start + self.block.len()) {
            Some(place) => place.copy_from_slice(&self.block),
            None => {
                self.flush()?;
                return self.to.write_all(&self.block);
            }
        }
        self.start += self.block.len();
        if self.start >= AT_ONCE { self.write_pages() } else { Ok(()) }
    }

    /// Writes what fills whole pages; the rest waits.
    #[inline(never)]
    fn write_pages(&mut self) -> io::Result<()> {
        let pages = self.start - self.start % AT_ONCE;
        let written = self.to.write_all(&self.blocks[..pages]);
        self.blocks.copy_within(pages..self.start, 0);
        self.start -= pages;
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.start);
        self.to.write_all(&self.blocks[..waiting])
    }
}

/// Completes a packet block, whose bytes are in their place: its head and its tail. Returns its length; `None` if it is not as long.
#[inline(always)]
fn frame(
    block: &mut [u8],
    (interface, at, way): (u32, SimTime, Option<Direction>),
    (kept, length): (usize, usize),
) -> Option<usize> {
    // As many as fill words.
    let padded = (kept + 3) & !3;
    // A packet is shorter than 4 GiB.
    let whole = (PACKET_HEAD + padded + if way.is_some() { 16 } else { 8 }) as u32;
    let time = EPOCH_NANOS.saturating_add(at.0);
    let (words, _) = block.as_chunks_mut::<4>();
    let head: &mut [[u8; 4]; PACKET_HEAD / 4] = words.first_chunk_mut()?;
    (head[0], head[1], head[2]) = (PACKET.to_le_bytes(), whole.to_le_bytes(), interface.to_le_bytes());
    (head[3], head[4]) = (((time >> 32) as u32).to_le_bytes(), (time as u32).to_le_bytes());
    (head[5], head[6]) = ((kept as u32).to_le_bytes(), (length as u32).to_le_bytes());
    // Zeros behind the bytes of the packet, as far as a word goes.
    *block.get_mut(PACKET_HEAD + kept..)?.first_chunk_mut()? = [0; 4];
    let tail = block.get_mut(PACKET_HEAD + padded..)?;
    // The end of options, and the length again.
    let end = u64::from(whole) << 32;
    if let Some(way) = way {
        let option = u64::from(option::PACKET_FLAGS) | 4 << 16 | u64::from(way.flags()) << 32;
        let both = u128::from(option) | u128::from(end) << 64;
        *tail.first_chunk_mut()? = both.to_le_bytes();
    } else {
        *tail.first_chunk_mut()? = end.to_le_bytes();
    }
    Some(whole as usize)
}

/// A time in two halves, the high one first.
fn halves(at: SimTime) -> [u8; 8] {
    EPOCH_NANOS.saturating_add(at.0).rotate_left(32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_blocks_of_the_draft() {
        let interface = Interface { name: "a".into(), description: String::new() };
        let mut writer = Writer::new(Vec::new(), "one", &[interface], 4).expect("memory takes it");
        let without_end = writer.written_packet(0, SimTime(4), None, |room| {
            room[..3].copy_from_slice(b"one");
            None
        });
        assert!(without_end.is_none(), "no packet, no error");
        writer.packet(0, SimTime(5), Direction::Outbound, &[1, 2, 3, 4, 5, 6]).expect("memory takes it");
        let file = writer.finish(SimTime(9)).expect("memory takes it");
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        let mut at = 0;
        let mut kinds = Vec::new();
        while at < file.len() {
            let length = word(at + 4) as usize;
            assert_eq!(word(at + length - 4) as usize, length, "the length stands at both ends");
            kinds.push((word(at), at));
            at += length;
        }
        assert_eq!(
            kinds.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [SECTION, INTERFACE, PACKET, STATISTICS]
        );
        let packet = kinds[2].1 + 8;
        let time = u64::from(word(packet + 4)) << 32 | u64::from(word(packet + 8));
        assert_eq!((time, word(packet + 12), word(packet + 16)), (EPOCH_NANOS + 5, 4, 6));
        assert_eq!(&file[packet + 20..packet + 24], [1, 2, 3, 4]);
        let ended = kinds[3].1 + 36;
        assert_eq!(u64::from(word(ended)) << 32 | u64::from(word(ended + 4)), EPOCH_NANOS + 9);
        assert_eq!((word(packet + 24), word(packet + 28), word(packet + 32)), (0x0004_0002, 2, 0));
    }

    /// A packet that is begun and ended is the one that is given whole, at each padding, with and without a direction.
    #[test]
    fn packets_in_parts_are_those_in_one() {
        for (length, way) in (0..9).flat_map(|n| [(n, None), (n, Some(Direction::Inbound))]) {
            let interface = || [Interface { name: "a".into(), description: String::new() }];
            let bytes = [0xff; 9];
            let mut whole = Writer::new(Vec::new(), "", &interface(), 7).expect("memory takes it");
            whole.cut_packet(0, SimTime(1), way, (&bytes[..length], 40)).expect("memory takes it");
            let mut parts = Writer::new(Vec::new(), "", &interface(), 7).expect("memory takes it");
            let written = parts.written_packet(0, SimTime(1), way, |room| {
                room.fill(0xee);
                room[..length].copy_from_slice(&bytes[..length]);
                Some((length, 40))
            });
            written.expect("it has bytes").expect("memory takes it");
            let [whole, parts] =
                [whole, parts].map(|writer| writer.finish(SimTime(2)).expect("memory takes it"));
            assert_eq!(whole, parts, "{length} bytes");
            let kept = whole.iter().filter(|byte| **byte == 0xff).count() - 8;
            assert_eq!(kept, length.min(7), "no byte behind the last that is kept");
            assert!(!whole.contains(&0xee), "nothing else from the room");
        }
    }

    /// A packet that is larger than the room is a block like any other.
    #[test]
    fn a_packet_may_have_any_length() {
        let size = AT_ONCE + ROOM + 101;
        let interface = Interface { name: "a".into(), description: String::new() };
        let mut writer = Writer::new(Vec::new(), "", &[interface], 0).expect("memory takes it");
        for length in [3, size, 2] {
            writer.packet(0, SimTime(1), Direction::Outbound, &vec![0xab; length]).expect("memory takes it");
        }
        let file = writer.finish(SimTime(2)).expect("memory takes it");
        assert_eq!(file.iter().filter(|byte| **byte == 0xab).count(), 3 + size + 2);
        let (mut at, mut lengths) = (0, Vec::new());
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        while at < file.len() {
            if word(at) == PACKET {
                lengths.push(word(at + 20) as usize);
            }
            at += word(at + 4) as usize;
        }
        assert_eq!((lengths, at), (vec![3, size, 2], file.len()));
    }
}
