//! Messages of the 0-RTT TCP Convert Protocol as bytes (RFC 8803 section 6).
//!
//! The options in an Extended TCP Header TLV are NOPs: the machines know how many bytes there are, not which.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use transport::convert::{ConvertError, ConvertMessage};

const VERSION: u8 = 1;
const MAGIC: [u8; 2] = [0x22, 0x63];
const CONNECT: u8 = 10;
const EXTENDED_HEADER: u8 = 20;
const ERROR: u8 = 30;
/// Kind of MPTCP, and the length of an option without a value, padded.
const NAME_OF_MPTCP: [u8; 4] = [30, 2, 0, 0];
const NOP: u8 = 1;
const WORD: usize = 4;

/// Appends a message; `server` is the one that a client asks for.
pub fn write(out: &mut Vec<u8>, message: ConvertMessage, server: Option<SocketAddr>) {
    let start = out.len();
    out.extend([VERSION, 0]);
    out.extend(MAGIC);
    match message {
        ConvertMessage::Connect { extended } => {
            let server = server.unwrap_or_else(|| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0));
            let address = match server.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            out.extend([CONNECT, if extended { 6 } else { 5 }]);
            out.extend(server.port().to_be_bytes());
            out.extend(address.octets());
            out.extend(NAME_OF_MPTCP.iter().take(if extended { WORD } else { 0 }));
        }
        ConvertMessage::Accepted { options: None } => {}
        ConvertMessage::Accepted { options: Some(bytes) } => {
            let bytes = usize::from(bytes);
            out.extend([EXTENDED_HEADER, words(WORD + bytes), 0, 0]);
            out.extend(std::iter::repeat_n(NOP, bytes));
        }
        ConvertMessage::Refused(error) => out.extend([ERROR, 1, error.code(), 0]),
    }
    out[start + 1] = words(out.len() - start);
    debug_assert_eq!(out.len() - start, message.size() as usize, "{message:?} as it is charged");
}

/// At most 60 bytes of options, and a header: far below 255 words.
fn words(bytes: usize) -> u8 {
    (bytes / WORD) as u8
}

/// The message that these bytes are, with the server that it names; `None` if they are none of a machine.
pub fn read(bytes: &[u8]) -> Option<(ConvertMessage, Option<SocketAddr>)> {
    let (head, tlv) = bytes.split_first_chunk::<WORD>()?;
    if head[0] != VERSION || head[2..] != MAGIC || usize::from(head[1]) * WORD != bytes.len() {
        return None;
    }
    if tlv.is_empty() {
        return Some((ConvertMessage::Accepted { options: None }, None));
    }
    let (head, value) = tlv.split_first_chunk::<WORD>()?;
    if usize::from(head[1]) * WORD != tlv.len() {
        return None;
    }
    let port = u16::from_be_bytes([head[2], head[3]]);
    match head[0] {
        CONNECT => {
            let (address, options) = value.split_first_chunk::<16>()?;
            let address = Ipv6Addr::from(*address).to_canonical();
            let extended = !options.is_empty();
            Some((ConvertMessage::Connect { extended }, Some(SocketAddr::new(address, port))))
        }
        EXTENDED_HEADER => {
            let options = u8::try_from(value.len()).ok()?;
            Some((ConvertMessage::Accepted { options: Some(options) }, None))
        }
        ERROR => {
            let error = ConvertError::ALL.into_iter().find(|error| error.code() == head[2])?;
            Some((ConvertMessage::Refused(error), None))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let server: SocketAddr = "10.0.1.2:5001".parse().unwrap();
        let messages = [
            ConvertMessage::Connect { extended: false },
            ConvertMessage::Connect { extended: true },
            ConvertMessage::Accepted { options: None },
            ConvertMessage::Accepted { options: Some(24) },
        ];
        for message in messages.into_iter().chain(ConvertError::ALL.map(ConvertMessage::Refused)) {
            let mut bytes = Vec::new();
            write(&mut bytes, message, Some(server));
            let named = matches!(message, ConvertMessage::Connect { .. }).then_some(server);
            assert_eq!(read(&bytes), Some((message, named)));
            assert_eq!(read(&bytes[..bytes.len() - 1]), None, "cut off");
        }
    }

    /// RFC 8803 section 6.2.5: version 1, seven words, magic; Connect TLV of six words, an address mapped to IPv6, MPTCP.
    #[test]
    fn an_extended_connect_by_hand() {
        let mut bytes = Vec::new();
        let server = "192.0.2.1:443".parse().unwrap();
        write(&mut bytes, ConvertMessage::Connect { extended: true }, Some(server));
        let address = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1];
        let expected = [&[1, 7, 0x22, 0x63, 10, 6, 1, 187][..], &address, &[30, 2, 0, 0]].concat();
        assert_eq!(bytes, expected);
    }
}
