//! The segment of transports over space links: SCPS-TP (CCSDS 714.0-B), STP and the dummies of TCP-Peach; and the SYN of a
//! connection through a converter, which says more than TCP, too.

use super::snack::Snack;
use crate::convert::ConvertMessage;
use crate::tcp::segment::TcpSegment;

/// A TCP segment and what these transports add to it; only a SYN for a converter has an MPTCP option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceSegment {
    /// Header, SACK blocks, payload.
    pub segment: TcpSegment,
    /// The added fields.
    pub signal: SpaceSignal,
}

/// Fields of the segment beyond those of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceSignal {
    /// SCPS capabilities, on a SYN.
    ScpsCapable,
    /// SCPS-TP: holes of the stream, counted from the acknowledgement number.
    Snack(Snack),
    /// STP POLL: requests the state of everything below `seq`.
    Poll {
        /// Poll number.
        number: u32,
    },
    /// STP STAT, one part: the first block is the part of the stream that it describes, the others are missing from it.
    Stat {
        /// The poll that it answers.
        number: u32,
    },
    /// STP USTAT: the block has just been found missing.
    Ustat,
    /// TCP-Peach: as large as a segment with `len` bytes, without data; acknowledges nothing. Of low priority.
    Dummy {
        /// Bytes of no meaning.
        len: u32,
    },
    /// The answer to one dummy; acknowledges nothing. Of low priority.
    DummyAnswer,
    /// The payload of a SYN or SYN/ACK between a client and a converter (RFC 8803).
    Convert(ConvertMessage),
}

impl SpaceSignal {
    /// TCP-Peach sends dummies and their answers with low priority, so that routers drop them first.
    pub fn is_low_priority(&self) -> bool {
        matches!(self, Self::Dummy { .. } | Self::DummyAnswer)
    }

    /// Bytes of payload that have no sequence numbers.
    pub fn payload(&self) -> u32 {
        match self {
            Self::Dummy { len } => *len,
            Self::Convert(message) => message.size(),
            _ => 0,
        }
    }
}
