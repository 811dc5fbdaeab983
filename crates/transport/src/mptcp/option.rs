//! MPTCP options (RFC 8684 section 3) as a segment carries them.

use super::keys::{Hmac64, Hmac160, Key, Nonce, Token};
use crate::address::AddressPair;
use crate::seq::Dsn;

/// Data sequence signal (RFC 8684 section 3.3): mapping and connection-level acknowledgement.
///
/// RFC 8684 section 3.3.1: "Data sequence numbers are always 64-bit quantities and MUST be maintained as such in
/// implementations."
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// Data ACK: next data sequence number expected.
    pub data_ack: Option<Dsn>,
    /// Data sequence number of the first payload byte; the mapping covers the payload (and the DATA_FIN).
    pub dsn: Option<Dsn>,
    /// More that the mapping covers.
    pub margin: Margin,
    /// DATA_FIN: the mapping's last data sequence number is the end of the stream.
    pub data_fin: bool,
}

/// Bytes of a mapping on both sides of the payload of a segment: none if each segment has a mapping of its own. As the kernel, an
/// end may map a chunk as a whole, and name that in each of its segments. The size of the option is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// Bytes before the payload.
    pub before: u16,
    /// Bytes behind it.
    pub after: u16,
}

/// Where payload lies in the stream of the connection, and what its mapping covers around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// Data sequence number of the first byte (0 without mapping).
    pub dsn: Dsn,
    /// More that the mapping covers.
    pub margin: Margin,
}

impl Dss {
    /// With a Data ACK, and the mapping of the payload if there is any.
    #[inline]
    pub fn new(data_ack: Dsn, mapped: Option<Mapped>) -> Self {
        let (dsn, margin) = (mapped.map(|mapped| mapped.dsn), mapped.unwrap_or_default().margin);
        Self { data_ack: Some(data_ack), dsn, margin, data_fin: false }
    }
}

impl Mapped {
    /// A mapping of the payload alone, which begins at `dsn`.
    #[inline]
    pub fn alone(dsn: Dsn) -> Self {
        Self { dsn, margin: Margin::default() }
    }
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
        /// The segment carries the first data of the stream, where the mapping begins: bytes that it covers behind the payload.
        after: Option<u16>,
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
        data_ack: Dsn,
    },
    /// REMOVE_ADDR with the Data ACK of the segment.
    RemoveAddr {
        /// Address ID.
        id: u8,
        /// Data ACK.
        data_ack: Dsn,
    },
    /// MP_PRIO with the Data ACK of the segment: changes the priority of the subflow that carries it.
    Prio {
        /// B, as in MP_JOIN.
        backup: bool,
        /// Data ACK.
        data_ack: Dsn,
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

impl MptcpOption {
    /// MP_CAPABLE with both keys, and the mapping of the payload, which begins the stream, if there is any.
    pub fn capable_ack(sender: Key, receiver: Key, mapped: Option<Mapped>) -> Self {
        Self::CapableAck { sender, receiver, after: mapped.map(|mapped| mapped.margin.after) }
    }

    /// Data sequence number of the first payload byte, if the option maps the payload.
    #[inline]
    pub fn mapping(&self) -> Option<Dsn> {
        match self {
            Self::Dss(dss) => dss.dsn,
            Self::CapableAck { after, .. } => after.map(|_| Dsn::FIRST_DATA),
            _ => None,
        }
    }

    /// Next data sequence number expected, if the option carries a Data ACK.
    pub fn data_ack(&self) -> Option<Dsn> {
        match self {
            Self::Dss(dss) => dss.data_ack,
            Self::AddAddr { data_ack, .. }
            | Self::RemoveAddr { data_ack, .. }
            | Self::Prio { data_ack, .. } => Some(*data_ack),
            _ => None,
        }
    }
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
