//! TCP segments (RFC 9293 section 3.1): ranges of sequence numbers and options, never bytes.

use units::{Bytes, SimTime};

use super::ranges::Range;
use crate::mptcp::option::MptcpOption;
use crate::seq::{Seq, StreamOffset};

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Synchronise: occupies sequence number 0.
    pub syn: bool,
    /// The acknowledgement fields are valid.
    pub ack: bool,
    /// No more data: occupies the sequence number after the last byte.
    pub fin: bool,
    /// Reset.
    pub rst: bool,
    /// Push: its payload is the last that was queued when it left (RFC 9293 section 3.9.1.2).
    pub psh: bool,
    /// ECN-echo: a mark has arrived and has not been answered (RFC 3168); on a SYN: ECN is understood.
    pub ece: bool,
    /// Congestion window reduced: the answer to ECN-echo.
    pub cwr: bool,
}

impl Flags {
    /// ACK is set and nothing else; PSH may be.
    #[inline]
    pub fn is_ack_alone(self) -> bool {
        let Self { syn, ack, fin, rst, psh: _, ece, cwr } = self;
        // Arrays, because each of the two comparisons compiles to one of integers.
        [syn, ack, fin, rst] == [false, true, false, false] && [ece, cwr] == [false; 2]
    }
}

/// Up to four SACK blocks; the first is the most recent (RFC 2018), or a duplicate report (RFC 2883).
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [Range<Seq>; 4],
    count: u8,
}

/// Entries behind the last block are ignored.
impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl SackBlocks {
    /// The blocks in order.
    #[inline]
    pub fn as_slice(&self) -> &[Range<Seq>] {
        &self.blocks[..usize::from(self.count)]
    }

    /// True without blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets all blocks.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a block; returns false if all four places are taken.
    pub fn push(&mut self, block: Range<Seq>) -> bool {
        let free = usize::from(self.count) < self.blocks.len();
        if free {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
        free
    }
}

/// Timestamps option (RFC 7323), in simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: when the segment was sent.
    pub value: SimTime,
    /// TSecr: the peer's value that is echoed; `NEVER` if there is none yet.
    pub echo: SimTime,
}

/// One segment. The packet that carries it says on which subflow, and how large it is with headers and options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSegment {
    /// Flags.
    pub flags: Flags,
    /// Payload bytes.
    pub len: u32,
    /// Sequence number of the first payload byte.
    pub seq: Seq,
    /// Next sequence number expected.
    pub ack: Seq,
    /// Receive window in bytes after scaling, counted from the Data ACK if there is one.
    pub window: Bytes,
    /// Timestamps, if negotiated.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// MPTCP option.
    pub mptcp: MptcpOption,
}

impl TcpSegment {
    /// Where its payload begins in the stream of its connection; zero without payload.
    #[inline]
    pub fn stream_offset(&self) -> StreamOffset {
        if self.len == 0 {
            return StreamOffset::START;
        }
        // Both sequence spaces begin with 1.
        StreamOffset(self.mptcp.mapping().map_or(self.seq.0, |dsn| dsn.0) - 1)
    }

    /// Sequence numbers that it occupies: payload, SYN and FIN.
    #[inline]
    pub fn sequence_len(&self) -> Bytes {
        Bytes(u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin))
    }

    /// Sequence number after it.
    #[inline]
    pub fn end(&self) -> Seq {
        self.seq + self.sequence_len()
    }

    /// The sequence numbers of its payload.
    #[inline]
    pub fn payload(&self) -> Range<Seq> {
        Range::new(self.seq, self.seq + Bytes(u64::from(self.len)))
    }
}
