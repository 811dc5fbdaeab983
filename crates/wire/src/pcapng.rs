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
    /// Blocks that wait to be written; the last one, which begins at `start`, is being made: kind and length are filled in at its end.
    block: Vec<u8>,
    start: usize,
}

/// Bytes of kind and length, with which a block begins.
const HEAD: usize = 8;
/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

impl<W: Write> Writer<W> {
    /// Begins a file. `snap`: bytes of a packet that are kept; 0: all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(to: W, comment: &str, interfaces: &[Interface], snap: u32) -> io::Result<Self> {
        let kept = if snap == 0 { u32::MAX } else { snap };
        // Two interfaces for each link, of which a scenario has fewer than 2^31.
        let mut writer =
            Self { to, snap: kept, interfaces: interfaces.len() as u32, block: vec![0; HEAD], start: 0 };
        writer.number(BYTE_ORDER);
        // Version 1.0; the length of the section is not told.
        writer.block.extend_from_slice(&1u32.to_le_bytes());
        writer.block.extend_from_slice(&u64::MAX.to_le_bytes());
        writer.option(option::COMMENT, comment.as_bytes());
        writer.option(option::USER_APPLICATION, b"ropewalk");
        writer.end(SECTION)?;
        for interface in interfaces {
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
        self.number(interface);
        self.block.extend_from_slice(&halves(at));
        let kept = &bytes[..bytes.len().min(self.snap as usize)];
        // A packet is shorter than 4 GiB.
        self.number(kept.len() as u32);
        self.number(length as u32);
        self.block.extend_from_slice(kept);
        self.pad();
        if let Some(way) = way {
            self.option(option::PACKET_FLAGS, &way.flags().to_le_bytes());
        }
        self.end(PACKET)
    }

    /// Ends the file, with a block for each interface that says when its capture began and ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, end: SimTime) -> io::Result<W> {
        for interface in 0..self.interfaces {
            self.number(interface);
            self.block.extend_from_slice(&halves(end));
            self.option(option::START_TIME, &halves(SimTime::ZERO));
            self.option(option::END_TIME, &halves(end));
            self.end(STATISTICS)?;
        }
        self.block.truncate(self.start);
        self.flush()?;
        self.to.flush()?;
        Ok(self.to)
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

    /// Each block has options, ends them, and has its length at both ends.
    fn end(&mut self, kind: u32) -> io::Result<()> {
        self.number(0);
        debug_assert!(self.block.len().is_multiple_of(4), "blocks are words");
        let block = &mut self.block[self.start..];
        // A block is shorter than 4 GiB.
        let length = (block.len() as u32 + 4).to_le_bytes();
        block[..4].copy_from_slice(&kind.to_le_bytes());
        block[4..HEAD].copy_from_slice(&length);
        self.block.extend_from_slice(&length);
        if self.block.len() >= AT_ONCE {
            self.flush()?;
        }
        self.start = self.block.len();
        self.block.extend_from_slice(&[0; HEAD]);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

/// A time in two halves, the high one first.
fn halves(at: SimTime) -> [u8; 8] {
    let time = EPOCH_NANOS.saturating_add(at.0);
    let [high, low] = [(time >> 32) as u32, time as u32].map(u32::to_le_bytes);
    [high[0], high[1], high[2], high[3], low[0], low[1], low[2], low[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_blocks_of_the_draft() {
        let interface = Interface { name: "a".into(), description: String::new() };
        let mut writer = Writer::new(Vec::new(), "one", &[interface], 4).expect("memory takes it");
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
}
