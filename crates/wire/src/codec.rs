//! Packets of the machines <-> bytes, in the context of their connections.
//!
//! The machines count from 0, name interfaces by number and keep nanoseconds; a header has 32-bit numbers from a random
//! start, IP addresses and milliseconds. [`Codec::open`] gives a subflow its numbers; keys are learned from the handshake.
//! So every packet must pass through the codec in the order in which they are sent.
//!
//! `decode(encode(packet))` is the packet, but for what no header carries: that it is a retransmission; time stamps below a
//! millisecond; a window below the unit of its scale; the stream offset of SCTP. `associations.rs` has the rest for SCTP.

mod associations;
mod decode;
mod encode;
mod usual;

pub use encode::dss_checksum;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use transport::AddressPair;
use transport::mptcp::keys::Key;
use transport::packet::PathId;
use transport::seq::{Dsn, Seq, Seq32};
use units::Bytes;

use crate::frame::{Ends, Malformed};
use crate::numbers::{EndSettings, Numbers};
use crate::options::OptionSpaceFull;
use associations::Tags;
pub use usual::HEADERS;
use usual::Templates;

/// A connection, as the user of the codec numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionNumber(pub u64);

/// One subflow: what [`Codec::open`] is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The connection to which it belongs.
    pub connection: ConnectionNumber,
    /// Its number there.
    pub path: PathId,
    /// Interfaces, as the end sees them that opens it.
    pub interfaces: AddressPair,
}

/// Why a packet has no bytes, or bytes mean no packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// No subflow was opened between these ends.
    Unknown(Ends),
    /// The key of an end is needed and has not been seen.
    NoKey,
    /// The protocol has no form on the wire: no specification of STP says which bytes it has.
    NoForm,
    /// The verification tag of an end is needed and has not been seen.
    NoTag,
    /// Options do not fit into the header.
    Options(OptionSpaceFull),
    /// The packet is not as long as the size that was charged for it.
    Size {
        /// Bytes of the datagram.
        written: Bytes,
        /// Size of the packet without overhead.
        charged: Bytes,
    },
    /// These bytes are no packet.
    Malformed(Malformed),
    /// A segment that a machine would not send.
    Meaningless(&'static str),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(ends) => write!(f, "no subflow from {} to {}", ends.source, ends.destination),
            Self::NoKey => f.write_str("an MPTCP option before the keys were exchanged"),
            Self::NoForm => f.write_str("STP has no form on the wire"),
            Self::NoTag => f.write_str("an SCTP packet before the tags were exchanged"),
            Self::Options(error) => error.fmt(f),
            Self::Size { written, charged } => {
                write!(f, "{written} bytes on the wire, {charged} in the simulator")
            }
            Self::Malformed(error) => error.fmt(f),
            Self::Meaningless(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CodecError {}

impl From<OptionSpaceFull> for CodecError {
    fn from(error: OptionSpaceFull) -> Self {
        Self::Options(error)
    }
}

impl From<Malformed> for CodecError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

/// A direction of a subflow that was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way(u32);

impl Way {
    /// No direction.
    const NONE: Self = Self(u32::MAX);

    fn new((subflow, end): (usize, usize)) -> Self {
        // Fewer than 2^31 subflows have addresses and ports of their own.
        Self(2 * subflow as u32 + end as u32)
    }

    /// The index of the subflow, and the end that sends.
    #[inline]
    fn parts(self) -> (usize, usize) {
        (self.0 as usize / 2, self.0 as usize % 2)
    }
}

/// State of one subflow. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug)]
struct Subflow {
    /// Seen from the end that opened it.
    ends: Ends,
    opening: Opening,
    association: usize,
    numbers: Numbers,
    /// Highest sequence numbers sent: fields of 32 bits are extended to the position nearest to them.
    sent: [Seq; 2],
    /// Bytes that the SYN of an end carries, which have sequence numbers on the wire and none in the machines.
    greetings: [u32; 2],
    /// The last Data ACK had eight bytes.
    wide: [bool; 2],
    /// The server that a client asks a converter for.
    server: Option<SocketAddr>,
}

/// State of one connection. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug)]
struct Association {
    settings: [EndSettings; 2],
    keys: [Option<Key>; 2],
    /// The initial data sequence numbers of these keys, which are a hash of them.
    initial: [u64; 2],
    /// Highest data sequence numbers sent.
    sent: [Dsn; 2],
    /// With SCTP.
    tags: Tags,
}

/// Subflows by their addresses, and the connections to which they belong.
#[derive(Clone, Debug, Default)]
pub struct Codec {
    /// By the ends, seen from the one that opened; with the index of the subflow.
    ends: BTreeMap<Ends, usize>,
    templates: Templates,
    subflows: Vec<Subflow>,
    numbered: BTreeMap<ConnectionNumber, usize>,
    associations: Vec<Association>,
    /// Packets whose MPTCP option a middlebox had overwritten.
    padded: u64,
}

impl Codec {
    /// A subflow is opened from the first of `ends`. `settings` are of the end that opens and of the other.
    pub fn open(&mut self, ends: Ends, opening: Opening, settings: [EndSettings; 2], numbers: Numbers) {
        let new = self.associations.len();
        let association = *self.numbered.entry(opening.connection).or_insert(new);
        if association == new {
            self.associations.push(Association {
                settings,
                keys: [None; 2],
                initial: [0; 2],
                sent: [Dsn(0); 2],
                tags: Tags::default(),
            });
        }
        self.ends.insert(ends, self.subflows.len());
        self.subflows.push(Subflow {
            ends,
            opening,
            association,
            numbers,
            sent: [Seq::SYN; 2],
            greetings: [0; 2],
            wide: [true; 2],
            server: None,
        });
        self.check();
    }

    /// The subflow between these ends is one with a converter, which is asked for this server.
    pub fn ask_for(&mut self, ends: Ends, server: SocketAddr) {
        if let Ok((index, _)) = self.find(ends) {
            self.subflows[index].server = Some(server);
        }
    }

    /// The direction of packets between these ends.
    ///
    /// # Errors
    /// No subflow was opened between them.
    pub fn way(&self, ends: Ends) -> Result<Way, CodecError> {
        self.find(ends).map(Way::new)
    }

    /// Packets so far that were longer than their options: a middlebox has overwritten an MPTCP option with padding.
    pub fn padded(&self) -> u64 {
        self.padded
    }

    /// The subflow of a packet, and which end sends it.
    fn find(&self, ends: Ends) -> Result<(usize, usize), CodecError> {
        let opened = |ends: Ends| self.ends.get(&ends).copied();
        let found = opened(ends).map(|index| (index, 0));
        found.or_else(|| opened(ends.reversed()).map(|index| (index, 1))).ok_or(CodecError::Unknown(ends))
    }

    fn check(&self) {
        debug_assert!(self.ends.len() <= self.subflows.len(), "a subflow for each pair of ends");
        debug_assert_eq!(self.numbered.len(), self.associations.len(), "each connection has a number");
        debug_assert!(
            self.subflows.iter().all(|subflow| subflow.association < self.associations.len()),
            "a subflow belongs to a connection"
        );
    }
}

impl Subflow {
    /// Ends of the packets that `end` sends.
    fn ends(&self, end: usize) -> Ends {
        if end == 0 { self.ends } else { self.ends.reversed() }
    }

    /// The number on the wire before the data of `end`: its initial sequence number and what its SYN carries.
    fn origin(&self, end: usize) -> Seq32 {
        Seq32(self.numbers.initial[end].0.wrapping_add(self.greetings[end]))
    }

    /// The field for a sequence number of `end`, but for that of its SYN.
    fn field(&self, end: usize, seq: Seq) -> Seq32 {
        seq.on_wire(self.origin(end))
    }

    /// The sequence number of `end` that a field means, but for that of its SYN.
    fn seq(&self, end: usize, field: Seq32, near: Seq) -> Seq {
        field.extend(self.origin(end), near)
    }

    /// The subflow sequence number of a mapping: relative to the initial sequence number.
    fn ssn(&self, end: usize, seq: Seq) -> u32 {
        // Modulo 2^32 by definition of the field.
        (seq.0 as u32).wrapping_add(self.greetings[end])
    }
}

impl Association {
    /// True if it is another than before.
    fn learn_key(&mut self, end: usize, key: Key) -> bool {
        let another = self.keys[end].is_some_and(|known| known != key);
        if self.keys[end] != Some(key) {
            (self.keys[end], self.initial[end]) = (Some(key), key.initial_dsn());
        }
        another
    }

    fn key(&self, end: usize) -> Result<Key, CodecError> {
        self.keys[end].ok_or(CodecError::NoKey)
    }

    /// The number on the wire of data that `end` sends.
    fn dsn_on_wire(&self, end: usize, dsn: Dsn) -> Result<u64, CodecError> {
        self.key(end)?;
        Ok(self.initial[end].wrapping_add(dsn.0))
    }
}
