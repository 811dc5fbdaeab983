//! A datagram of UDP, as it is on the wire.

/// Number of a message among those that one end sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageNumber(pub u64);

/// One datagram. The numbers stand for what an application writes at the head of its payload, as RTP does with sequence
/// number and timestamp (RFC 3550 section 5.1): the receiving application tells messages and copies apart by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Number among the datagrams that its end has sent.
    pub number: u64,
    /// The message of which it carries a part.
    pub message: MessageNumber,
    /// Payload bytes.
    pub len: u32,
}
