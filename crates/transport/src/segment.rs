//! Segments as the machines see them: ranges of byte streams and options, never bytes.

use units::{Bytes, SimTime};

use crate::connection::AddressPair;
use crate::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, Token};
use crate::tcp::ranges::Range;

/// Index of a subflow in its connection, the same at both ends: it stands for the pair of addresses and ports.
/// A plain TCP connection has subflow 0 only.
pub type SubflowId = u8;

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
}

/// Up to four SACK blocks; the first is the most recent (RFC 2018), or a duplicate report (RFC 2883).
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [Range; 4],
    count: u8,
}

/// What lies behind the last block does not count.
impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl SackBlocks {
    /// The blocks in order.
    pub fn as_slice(&self) -> &[Range] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a block; returns false if all four places are taken.
    pub fn push(&mut self, block: Range) -> bool {
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

/// Data sequence signal (RFC 8684 section 3.3): mapping and connection-level acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dss {
    /// Data ACK: next data sequence number expected.
    pub data_ack: Option<u64>,
    /// Data sequence number of the first payload byte; the mapping covers the payload (and the DATA_FIN).
    pub dsn: Option<u64>,
    /// DATA_FIN: the mapping's last data sequence number is the end of the stream.
    pub data_fin: bool,
}

/// The MPTCP option of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MptcpOption {
    /// No MPTCP option.
    #[default]
    None,
    /// MP_CAPABLE on a SYN: no key in version 1.
    CapableSyn,
    /// MP_CAPABLE on a SYN/ACK: the listener's key.
    CapableSynAck(Key),
    /// MP_CAPABLE on the third ACK and on the first data: both keys.
    CapableAck {
        /// Key of the sender of this segment.
        sender: Key,
        /// Key of its receiver.
        receiver: Key,
        /// Mapping, if the segment carries data.
        dss: Option<Dss>,
    },
    /// MP_JOIN on a SYN.
    JoinSyn {
        /// Token of the connection to join: that of the receiver's key.
        token: Token,
        /// Random number of the initiator.
        nonce: Nonce,
        /// Source and destination address of the packet.
        addresses: AddressPair,
    },
    /// MP_JOIN on a SYN/ACK.
    JoinSynAck {
        /// Truncated HMAC of the listener.
        hmac: Hmac64,
        /// Random number of the listener.
        nonce: Nonce,
    },
    /// MP_JOIN on the third ACK.
    JoinAck {
        /// HMAC of the initiator.
        hmac: Hmac160,
    },
    /// DSS.
    Dss(Dss),
    /// ADD_ADDR with the Data ACK of the segment.
    AddAddr {
        /// Address identifier.
        id: u8,
        /// True for the echo that acknowledges it.
        echo: bool,
        /// HMAC over the address; zero in an echo.
        hmac: Hmac64,
        /// Data ACK.
        data_ack: u64,
    },
}

/// One segment of one subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Which subflow.
    pub subflow: SubflowId,
    /// Flags.
    pub flags: Flags,
    /// Payload bytes.
    pub len: u32,
    /// Size on the wire with headers, options and overhead.
    pub wire_size: Bytes,
    /// Sequence number of the first payload byte; 0 is the SYN, 1 the first byte of the stream.
    pub seq: u64,
    /// Next sequence number expected.
    pub ack: u64,
    /// Receive window in bytes after scaling; with a Data ACK it counts from there.
    pub window: Bytes,
    /// Timestamps, if negotiated.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// MPTCP option.
    pub mptcp: MptcpOption,
    /// True for a retransmission; recorders look at it, the protocol does not.
    pub retransmission: bool,
}

impl Segment {
    /// Sequence numbers that it occupies: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    /// Sequence number after it.
    pub fn end(&self) -> u64 {
        self.seq + self.sequence_len()
    }
}
