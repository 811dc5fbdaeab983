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
        /// Data sequence number of the first payload byte, if the segment carries data. The option has no field for
        /// it: the mapping begins with the first byte of the stream.
        dsn: Option<Dsn>,
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
    /// Data sequence number of the first payload byte, if the option maps the payload.
    #[inline]
    pub fn mapping(&self) -> Option<Dsn> {
        match self {
            Self::Dss(dss) => dss.dsn,
            Self::CapableAck { dsn, .. } => *dsn,
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
