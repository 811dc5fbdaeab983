//! Segments as the machines see them: ranges of byte streams and options, never bytes.

use units::{Bytes, SimTime};

use crate::address::AddressPair;
use crate::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, Token};
use crate::tcp::ranges::Range;
use crate::tcp::space::Snack;

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
    /// ECN-echo: a mark has arrived and has not been answered (RFC 3168); on a SYN: ECN is understood.
    pub ece: bool,
    /// Congestion window reduced: the answer to ECN-echo.
    pub cwr: bool,
}

/// ECN codepoint of the packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The ends do not speak ECN: routers drop instead.
    #[default]
    NotEct,
    /// ECN-capable: routers may mark instead of dropping.
    Ect0,
    /// Marked: congestion experienced.
    Ce,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        /// Address ID of the source.
        id: u8,
        /// B: the receiver should send on this subflow only if no other is usable.
        backup: bool,
    },
    /// MP_JOIN on a SYN/ACK.
    JoinSynAck {
        /// Truncated HMAC of the listener.
        hmac: Hmac64,
        /// Random number of the listener.
        nonce: Nonce,
        /// Address ID of the listener.
        id: u8,
        /// B, as in the SYN.
        backup: bool,
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
        /// Address ID.
        id: u8,
        /// The address.
        address: u8,
        /// True for the echo that acknowledges it.
        echo: bool,
        /// HMAC over the address; zero in an echo.
        hmac: Hmac64,
        /// Data ACK.
        data_ack: u64,
    },
    /// REMOVE_ADDR with the Data ACK of the segment.
    RemoveAddr {
        /// Address ID.
        id: u8,
        /// Data ACK.
        data_ack: u64,
    },
    /// MP_PRIO with the Data ACK of the segment: changes the priority of the subflow that carries it.
    Prio {
        /// B, as in MP_JOIN.
        backup: bool,
        /// Data ACK.
        data_ack: u64,
    },
    /// MP_FASTCLOSE, on an ACK or on a RST: the whole connection is aborted.
    FastClose {
        /// Key of the receiver of this segment.
        key: Key,
    },
    /// MP_TCPRST on a RST.
    Reset(ResetReason),
}

/// Reason codes of MP_TCPRST (RFC 8684 section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// 0: no particular reason.
    Unspecified,
    /// 1: the peer did not keep to MPTCP: wrong token, wrong HMAC, data without mapping.
    Protocol,
    /// 2: lack of resources.
    Resources,
    /// 3: refused by a limit of the administrator.
    Administrative,
    /// 5: the subflow did not perform.
    Performance,
    /// 6: a middlebox interferes.
    Middlebox,
}

impl ResetReason {
    /// Code on the wire.
    pub fn code(self) -> u8 {
        match self {
            Self::Unspecified => 0,
            Self::Protocol => 1,
            Self::Resources => 2,
            Self::Administrative => 3,
            Self::Performance => 5,
            Self::Middlebox => 6,
        }
    }
}

/// What a segment carries for a transport over space links; SCPS-TP and STP never stand beside an MPTCP option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// Nothing.
    #[default]
    None,
    /// SCPS capabilities, on a SYN.
    ScpsCapable,
    /// SCPS-TP: holes of the stream, counted from the acknowledgement number.
    Snack(Snack),
    /// STP POLL: asks for the state of everything below `seq`.
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
    /// TCP-Peach: as large as a segment with so many bytes, without data; acknowledges nothing. Of low priority.
    Dummy {
        /// Bytes of no meaning.
        len: u32,
    },
    /// The answer to one dummy; acknowledges nothing. Of low priority.
    DummyAnswer,
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
    /// What routers see and may change.
    pub ecn: Ecn,
    /// What a transport over space links says.
    pub signal: Signal,
    /// True for a retransmission; recorders look at it, the protocol does not.
    pub retransmission: bool,
}

impl Segment {
    /// A router marks it instead of dropping it. False if its ends do not speak ECN: then it must be dropped.
    pub fn mark(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }

    /// Routers with two bands drop it first.
    pub fn is_low_priority(&self) -> bool {
        matches!(self.signal, Signal::Dummy { .. } | Signal::DummyAnswer)
    }

    /// Offsets of its payload in the stream of its connection.
    pub fn stream_range(&self) -> Range {
        let mapping = match &self.mptcp {
            MptcpOption::Dss(dss) => dss.dsn,
            MptcpOption::CapableAck { dss, .. } => dss.and_then(|dss| dss.dsn),
            _ => None,
        };
        // Both sequence spaces begin with 1.
        let start = mapping.unwrap_or(self.seq) - 1;
        Range::new(start, start + u64::from(self.len))
    }

    /// Sequence numbers that it occupies: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    /// Sequence number after it.
    pub fn end(&self) -> u64 {
        self.seq + self.sequence_len()
    }
}
