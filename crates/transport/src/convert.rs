//! Messages of the 0-RTT TCP Convert Protocol (RFC 8803): what a client asks a Transport Converter for, and the answer.
//!
//! They are the first bytes of a byte stream, in the payload of the SYN and of the SYN/ACK (section 3.2: a converter takes data of a
//! SYN before the handshake is complete, with or without TCP Fast Open). A machine gives them no sequence numbers, as the SYN that
//! carries them has one; on the wire they have theirs. On MPTCP they lie outside of the data sequence space (RFC 8684 appendix B.3).
//!
//! A connection of TCP asks with the Base Connect TLV, one of MPTCP with the Extended one, which names the option and is answered
//! with the options of the server (section 6.2.6).

/// Bytes of the fixed header: version, total length, magic number (RFC 8803 section 6.1).
const HEADER: u32 = 4;
/// Bytes of a Base Connect TLV: type, length, port, address.
const CONNECT: u32 = 20;
/// Bytes that name MPTCP in an Extended Connect TLV: kind and length, padded.
const NAMED_OPTION: u32 = 4;
/// Type, length, and two bytes.
const TLV: u32 = 4;

/// The payload of a SYN or SYN/ACK between a client and a converter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertMessage {
    /// Connect TLV of the client.
    Connect {
        /// It is the Extended one, which names MPTCP.
        extended: bool,
    },
    /// The server has accepted. After an Extended Connect TLV with the bytes of options in its SYN/ACK.
    Accepted {
        /// Bytes of options in an Extended TCP Header TLV; without one the fixed header stands alone.
        options: Option<u8>,
    },
    /// Error TLV: the client must reset the connection (section 6.2.8).
    Refused(ConvertError),
}

/// Error codes of RFC 8803 section 6.2.8 that a converter here has a reason for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertError {
    /// It has all the connections that it may have.
    ResourceExceeded,
    /// The server does not answer.
    NetworkFailure,
    /// The server has reset the connection.
    ConnectionReset,
}

impl ConvertError {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ResourceExceeded, Self::NetworkFailure, Self::ConnectionReset];

    /// The number in the TLV.
    pub fn code(self) -> u8 {
        match self {
            Self::ResourceExceeded => 64,
            Self::NetworkFailure => 65,
            Self::ConnectionReset => 96,
        }
    }

    /// Why the connection has failed, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::ResourceExceeded => "refused by the converter: Resource Exceeded (64)",
            Self::NetworkFailure => "refused by the converter: Network Failure (65)",
            Self::ConnectionReset => "refused by the converter: Connection Reset (96)",
        }
    }
}

impl ConvertMessage {
    /// Bytes of the message.
    pub fn size(self) -> u32 {
        HEADER
            + match self {
                Self::Connect { extended } => CONNECT + if extended { NAMED_OPTION } else { 0 },
                Self::Accepted { options } => options.map_or(0, |bytes| TLV + u32::from(bytes)),
                Self::Refused(_) => TLV,
            }
    }

    /// Name in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::Accepted { .. } => "converted",
            Self::Refused(_) => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the formats of RFC 8803 sections 6.1 and 6.2.
    #[test]
    fn sizes_are_whole_words() {
        let sizes = [
            ConvertMessage::Connect { extended: false },
            ConvertMessage::Connect { extended: true },
            ConvertMessage::Accepted { options: None },
            ConvertMessage::Accepted { options: Some(20) },
            ConvertMessage::Refused(ConvertError::NetworkFailure),
        ]
        .map(ConvertMessage::size);
        assert_eq!(sizes, [24, 28, 4, 28, 8]);
    }
}
