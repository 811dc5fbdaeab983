//! The MPTCP option, kind 30 (RFC 8684 section 3), as it is on the wire.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use transport::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, Token};

use crate::options::{OptionBytes, OptionSpaceFull, bytes_at};

/// Kind of the option.
pub const KIND: u8 = 30;

/// MP_CAPABLE: the checksum of DSS options is required.
const FLAG_CHECKSUM: u8 = 0x80;
/// MP_CAPABLE: HMAC-SHA256.
const FLAG_SHA256: u8 = 0x01;

/// A number of 64 bits of which the option may carry the low 32 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// All of it.
    Wide(u64),
    /// The low half.
    Narrow(u32),
}

impl Number {
    /// `value` in one of the two forms.
    pub fn new(value: u64, wide: bool) -> Self {
        // The low half by definition of the field.
        if wide { Self::Wide(value) } else { Self::Narrow(value as u32) }
    }

    /// The number meant: of those with the low half given, the one closest to `near`.
    pub fn near(self, near: u64) -> u64 {
        match self {
            Self::Wide(value) => value,
            // As a signed distance from `near`, modulo 2^64.
            Self::Narrow(low) => near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32)),
        }
    }

    fn read(body: &[u8], at: &mut usize, wide: bool) -> Option<Self> {
        let number = if wide {
            Self::Wide(u64::from_be_bytes(bytes_at(body, *at)?))
        } else {
            Self::Narrow(u32::from_be_bytes(bytes_at(body, *at)?))
        };
        *at += if wide { 8 } else { 4 };
        Some(number)
    }

    fn write(self, to: &mut OptionBytes) -> Result<(), OptionSpaceFull> {
        match self {
            Self::Wide(value) => to.part(value.to_be_bytes()),
            Self::Narrow(value) => to.part(value.to_be_bytes()),
        }
    }
}

/// A mapping of subflow sequence numbers to data sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First data sequence number.
    pub dsn: Number,
    /// First sequence number of the subflow, counted from its initial one; 0 where a DATA_FIN is alone.
    pub ssn: u32,
    /// Data sequence numbers that it covers, that of a DATA_FIN included. 0: infinite, the connection has fallen back.
    pub len: u16,
    /// Checksum, if negotiated.
    pub checksum: Option<u16>,
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mptcp<'a> {
    /// MP_CAPABLE.
    Capable {
        /// Version of the protocol; 1 is RFC 8684.
        version: u8,
        /// Flags A to H.
        flags: u8,
        /// Key of the sender: on all but the SYN.
        sender: Option<Key>,
        /// Key of the receiver: from the third ACK on.
        receiver: Option<Key>,
        /// Data-level length, on the first data: a mapping that begins with the first byte of the stream.
        data_len: Option<u16>,
        /// Checksum of this mapping.
        checksum: Option<u16>,
    },
    /// MP_JOIN on a SYN.
    JoinSyn {
        /// B.
        backup: bool,
        /// Address ID of the sender.
        id: u8,
        /// Token of the receiver.
        token: Token,
        /// Random number.
        nonce: Nonce,
    },
    /// MP_JOIN on a SYN/ACK.
    JoinSynAck {
        /// B.
        backup: bool,
        /// Address ID of the sender.
        id: u8,
        /// Truncated HMAC.
        hmac: Hmac64,
        /// Random number.
        nonce: Nonce,
    },
    /// MP_JOIN on the third ACK.
    JoinAck {
        /// HMAC.
        hmac: Hmac160,
    },
    /// DSS.
    Dss {
        /// Data ACK.
        data_ack: Option<Number>,
        /// Mapping.
        mapping: Option<Mapping>,
        /// DATA_FIN.
        data_fin: bool,
    },
    /// ADD_ADDR.
    AddAddr {
        /// E: answers one.
        echo: bool,
        /// Address ID.
        id: u8,
        /// The address.
        address: IpAddr,
        /// A port that is not that of the connection.
        port: Option<u16>,
        /// Absent from an echo.
        hmac: Option<Hmac64>,
    },
    /// REMOVE_ADDR with its address IDs.
    RemoveAddr(&'a [u8]),
    /// MP_PRIO.
    Prio {
        /// B.
        backup: bool,
    },
    /// MP_FAIL: the checksum of this data was wrong.
    Fail {
        /// Its data sequence number.
        dsn: u64,
    },
    /// MP_FASTCLOSE.
    FastClose {
        /// Key of the receiver.
        key: Key,
    },
    /// MP_TCPRST.
    Reset {
        /// U, V, W, T.
        flags: u8,
        /// Reason code.
        reason: u8,
    },
    /// Another subtype, or a length that its subtype does not have: the option without kind and length.
    Unknown(&'a [u8]),
}

/// DSS flags (RFC 8684 figure 9).
mod dss {
    pub(super) const DATA_FIN: u8 = 0x10;
    pub(super) const WIDE_DSN: u8 = 0x08;
    pub(super) const MAPPING: u8 = 0x04;
    pub(super) const WIDE_ACK: u8 = 0x02;
    pub(super) const ACK: u8 = 0x01;
}

impl<'a> Mptcp<'a> {
    /// MP_CAPABLE of version 1 with HMAC-SHA256.
    pub fn capable(sender: Option<Key>, receiver: Option<Key>, checksum: bool) -> Self {
        let flags = FLAG_SHA256 | if checksum { FLAG_CHECKSUM } else { 0 };
        Self::Capable { version: 1, flags, sender, receiver, data_len: None, checksum: None }
    }

    /// Reads the body of the option, which follows kind and length.
    pub fn decode(body: &'a [u8]) -> Self {
        Self::known(body).unwrap_or(Self::Unknown(body))
    }

    fn known(body: &'a [u8]) -> Option<Self> {
        let (&first, low) = (body.first()?, body.first()? & 0x0f);
        let key = |at| bytes_at(body, at).map(|bytes| Key(u64::from_be_bytes(bytes)));
        let nonce = |at| bytes_at(body, at).map(|bytes| Nonce(u32::from_be_bytes(bytes)));
        let hmac = |at| bytes_at(body, at).map(Hmac64);
        let backup = low & 1 == 1;
        // With kind and length, as RFC 8684 counts.
        let len = body.len() + 2;
        Some(match (first >> 4, len) {
            (0, 4 | 12 | 20 | 22 | 24) => Self::Capable {
                version: low,
                flags: *body.get(1)?,
                sender: key(2),
                receiver: key(10),
                data_len: bytes_at(body, 18).map(u16::from_be_bytes),
                checksum: bytes_at(body, 20).map(u16::from_be_bytes),
            },
            (1, 12) => Self::JoinSyn {
                backup,
                id: body[1],
                token: Token(u32::from_be_bytes(bytes_at(body, 2)?)),
                nonce: nonce(6)?,
            },
            (1, 16) => Self::JoinSynAck { backup, id: body[1], hmac: hmac(2)?, nonce: nonce(10)? },
            (1, 24) => Self::JoinAck { hmac: Hmac160(bytes_at(body, 2)?) },
            (2, _) => Self::dss(body)?,
            (3, _) => Self::add_addr(body)?,
            (4, 4..) => Self::RemoveAddr(&body[1..]),
            (5, 3) => Self::Prio { backup },
            (6, 12) => Self::Fail { dsn: u64::from_be_bytes(bytes_at(body, 2)?) },
            (7, 12) => Self::FastClose { key: key(2)? },
            (8, 4) => Self::Reset { flags: low, reason: body[1] },
            _ => return None,
        })
    }

    fn dss(body: &[u8]) -> Option<Self> {
        let flags = *body.get(1)?;
        let mut at = 2;
        let data_ack = match flags & dss::ACK {
            0 => None,
            _ => Some(Number::read(body, &mut at, flags & dss::WIDE_ACK != 0)?),
        };
        let mapping = match flags & dss::MAPPING {
            0 => None,
            _ => {
                let dsn = Number::read(body, &mut at, flags & dss::WIDE_DSN != 0)?;
                let ssn = u32::from_be_bytes(bytes_at(body, at)?);
                let len = u16::from_be_bytes(bytes_at(body, at + 4)?);
                let checksum = bytes_at(body, at + 6).map(u16::from_be_bytes);
                at += if checksum.is_some() { 8 } else { 6 };
                Some(Mapping { dsn, ssn, len, checksum })
            }
        };
        let whole = at == body.len();
        whole.then_some(Self::Dss { data_ack, mapping, data_fin: flags & dss::DATA_FIN != 0 })
    }

    fn add_addr(body: &[u8]) -> Option<Self> {
        let (echo, id) = (body[0] & 1 == 1, *body.get(1)?);
        let rest = body.len().checked_sub(if echo { 2 } else { 10 })?;
        let (address, end) = match rest {
            4 | 6 => (IpAddr::V4(Ipv4Addr::from(bytes_at::<4>(body, 2)?)), 6),
            16 | 18 => (IpAddr::V6(Ipv6Addr::from(bytes_at::<16>(body, 2)?)), 18),
            _ => return None,
        };
        let port = match rest {
            6 | 18 => Some(u16::from_be_bytes(bytes_at(body, end)?)),
            _ => None,
        };
        let hmac = if echo { None } else { Some(Hmac64(bytes_at(body, body.len() - 8)?)) };
        Some(Self::AddAddr { echo, id, address, port, hmac })
    }

    /// Adds the option, with its kind and length.
    ///
    /// # Errors
    /// The header has no room for it; then nothing is added.
    pub fn write(&self, options: &mut OptionBytes) -> Result<(), OptionSpaceFull> {
        options.option(KIND, |to| self.write_body(to))
    }

    fn write_body(&self, to: &mut OptionBytes) -> Result<(), OptionSpaceFull> {
        match *self {
            Self::Capable { version, flags, sender, receiver, data_len, checksum } => {
                to.part([version & 0x0f, flags])?;
                for key in [sender, receiver].into_iter().flatten() {
                    to.part(key.0.to_be_bytes())?;
                }
                for field in [data_len, checksum].into_iter().flatten() {
                    to.part(field.to_be_bytes())?;
                }
                Ok(())
            }
            Self::JoinSyn { backup, id, token, nonce } => {
                to.part([0x10 | u8::from(backup), id])?;
                to.part(token.0.to_be_bytes())?;
                to.part(nonce.0.to_be_bytes())
            }
            Self::JoinSynAck { backup, id, hmac, nonce } => {
                to.part([0x10 | u8::from(backup), id])?;
                to.part(hmac.0)?;
                to.part(nonce.0.to_be_bytes())
            }
            Self::JoinAck { hmac } => {
                to.part([0x10, 0])?;
                to.part(hmac.0)
            }
            Self::Dss { data_ack, mapping, data_fin } => write_dss(to, data_ack, mapping, data_fin),
            Self::AddAddr { echo, id, address, port, hmac } => {
                to.part([0x30 | u8::from(echo), id])?;
                match address {
                    IpAddr::V4(address) => to.part(address.octets())?,
                    IpAddr::V6(address) => to.part(address.octets())?,
                }
                if let Some(port) = port {
                    to.part(port.to_be_bytes())?;
                }
                hmac.map_or(Ok(()), |hmac| to.part(hmac.0))
            }
            Self::RemoveAddr(ids) => {
                to.part([0x40])?;
                ids.iter().try_for_each(|id| to.part([*id]))
            }
            Self::Prio { backup } => to.part([0x50 | u8::from(backup)]),
            Self::Fail { dsn } => {
                to.part([0x60, 0])?;
                to.part(dsn.to_be_bytes())
            }
            Self::FastClose { key } => {
                to.part([0x70, 0])?;
                to.part(key.0.to_be_bytes())
            }
            Self::Reset { flags, reason } => to.part([0x80 | (flags & 0x0f), reason]),
            Self::Unknown(bytes) => bytes.iter().try_for_each(|byte| to.part([*byte])),
        }
    }
}

fn write_dss(
    to: &mut OptionBytes,
    data_ack: Option<Number>,
    mapping: Option<Mapping>,
    data_fin: bool,
) -> Result<(), OptionSpaceFull> {
    let mut flags = if data_fin { dss::DATA_FIN } else { 0 };
    if let Some(number) = data_ack {
        flags |= dss::ACK | if matches!(number, Number::Wide(_)) { dss::WIDE_ACK } else { 0 };
    }
    if let Some(mapping) = mapping {
        flags |= dss::MAPPING | if matches!(mapping.dsn, Number::Wide(_)) { dss::WIDE_DSN } else { 0 };
    }
    to.part([0x20, flags])?;
    if let Some(number) = data_ack {
        number.write(to)?;
    }
    let Some(Mapping { dsn, ssn, len, checksum }) = mapping else { return Ok(()) };
    dsn.write(to)?;
    to.part(ssn.to_be_bytes())?;
    to.part(len.to_be_bytes())?;
    checksum.map_or(Ok(()), |checksum| to.part(checksum.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(option: &Mptcp<'_>) -> OptionBytes {
        let mut options = OptionBytes::default();
        option.write(&mut options).expect("each option fits alone");
        options
    }

    #[test]
    fn each_form_has_the_length_of_the_rfc_and_survives() {
        let key = Some(Key(0x0102_0304_0506_0708));
        let capable = |sender, receiver, data_len, checksum| {
            let flags = 0x81;
            Mptcp::Capable { version: 1, flags, sender, receiver, data_len, checksum }
        };
        let data = |data_ack, wide, checksum| Mptcp::Dss {
            data_ack,
            mapping: Some(Mapping { dsn: Number::new(1 << 40 | 7, wide), ssn: 3, len: 1424, checksum }),
            data_fin: true,
        };
        let (wide, narrow) = (Some(Number::Wide(1 << 50)), Some(Number::Narrow(9)));
        let ack = |data_ack| Mptcp::Dss { data_ack, mapping: None, data_fin: false };
        let add = |echo, address: &str, port| Mptcp::AddAddr {
            echo,
            id: 3,
            address: address.parse().expect("an address"),
            port,
            hmac: (!echo).then_some(Hmac64([5; 8])),
        };
        let join = Mptcp::JoinSyn { backup: true, id: 2, token: Token(5), nonce: Nonce(6) };
        let answer = Mptcp::JoinSynAck { backup: false, id: 2, hmac: Hmac64([7; 8]), nonce: Nonce(6) };
        let forms = [
            (capable(None, None, None, None), 4),
            (capable(key, None, None, None), 12),
            (capable(key, key, None, None), 20),
            (capable(key, key, Some(100), None), 22),
            (capable(key, key, Some(100), Some(9)), 24),
            (join, 12),
            (answer, 16),
            (Mptcp::JoinAck { hmac: Hmac160([8; 20]) }, 24),
            (ack(narrow), 8),
            (ack(wide), 12),
            (data(None, false, None), 14),
            (data(narrow, true, None), 22),
            (data(wide, true, None), 26),
            (data(wide, true, Some(1)), 28),
            (add(false, "10.0.0.1", None), 16),
            (add(false, "10.0.0.1", Some(80)), 18),
            (add(true, "10.0.0.1", None), 8),
            (add(true, "10.0.0.1", Some(80)), 10),
            (add(false, "fd00::1", None), 28),
            (add(false, "fd00::1", Some(80)), 30),
            (add(true, "fd00::1", None), 20),
            (Mptcp::RemoveAddr(&[1, 2]), 5),
            (Mptcp::Prio { backup: true }, 3),
            (Mptcp::Fail { dsn: 77 }, 12),
            (Mptcp::FastClose { key: Key(3) }, 12),
            (Mptcp::Reset { flags: 1, reason: 5 }, 4),
            (Mptcp::Unknown(&[0xf0, 1, 2]), 5),
        ];
        for (option, len) in forms {
            let options = written(&option);
            let bytes = options.as_slice();
            assert_eq!((bytes.len(), bytes[0], usize::from(bytes[1])), (len, KIND, len), "{option:?}");
            assert_eq!(Mptcp::decode(&bytes[2..]), option);
        }
    }

    /// RFC 8684 section 3.1: "An implementation that only supports this method MUST set bit "H" to 1 and bits "D" through "G" to 0."
    ///
    /// Bit A asks for checksums, B is to be zero.
    #[test]
    fn the_flags_name_one_method() {
        for (checksum, flags) in [(false, 0x01), (true, 0x81)] {
            let options = written(&Mptcp::capable(None, None, checksum));
            assert_eq!(options.as_slice(), [KIND, 4, 0x01, flags]);
        }
    }

    /// RFC 8684 section 3.3.1: "Implementations MUST accept a 32-bit DSN and implicitly promote it to a 64-bit quantity by incrementing the
    /// upper 32 bits of the sequence number each time the lower 32 bits wrap."
    ///
    /// RFC 8684 section 3.3.1: "A sanity check MUST be implemented to ensure that a wrap occurs at an expected time (e.g., the sequence
    /// number jumps from a very high number to a very low number) and is not triggered by out-of-order packets."
    #[test]
    fn a_narrow_number_means_the_closest_one() {
        assert_eq!(Number::Narrow(5).near(u64::from(u32::MAX)), (1 << 32) + 5);
        assert_eq!(Number::Narrow(u32::MAX).near(1 << 32), (1 << 32) - 1);
        assert_eq!(Number::new(u64::MAX - 3, false).near(u64::MAX), u64::MAX - 3);
        assert_eq!(Number::Narrow(2).near(u64::MAX), 2);
    }

    proptest! {
        #[test]
        fn any_body_is_decoded_and_written_as_it_was(body in proptest::collection::vec(any::<u8>(), 0..38)) {
            let option = Mptcp::decode(&body);
            let again = written(&option);
            // Reserved bits are not kept.
            prop_assert_eq!(Mptcp::decode(&again.as_slice()[2..]), option);
            prop_assert_eq!(again.as_slice().len(), body.len() + 2);
        }
    }
}
