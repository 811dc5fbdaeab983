//! Headers of the packets of the library: addresses, the port, and the DATA chunks.
//!
//! May: read IPv4 and SCTP headers, and write an address. May not: know associations.

use std::ops::Range;

use network::Interface;

/// Length of an IPv4 header without options.
const IP_HEADER: usize = 20;
/// Length of the common header (RFC 9260 section 3.1).
const COMMON_HEADER: usize = 12;
/// Length of the header of a DATA chunk (RFC 9260 section 3.3.1).
const DATA_HEADER: usize = 16;
/// Chunk type DATA.
const DATA: u8 = 0;
const SOURCE: Range<usize> = 12..16;
const DESTINATION: Range<usize> = 16..20;

/// The IPv4 address of an interface: 10, its number at the node, and the number of the node.
pub(super) fn address(at: Interface) -> [u8; 4] {
    let node = (at.node + 1) as u16;
    let [high, low] = node.to_be_bytes();
    [10, at.number, high, low]
}

/// The destination address; `None` if the packet is no IPv4 packet with SCTP.
pub(super) fn destination(packet: &[u8]) -> Option<[u8; 4]> {
    let plain = packet.len() >= IP_HEADER + COMMON_HEADER && packet[0] == 0x45;
    plain.then(|| <[u8; 4]>::try_from(&packet[DESTINATION]).ok())?
}

/// Writes the source address. The checksum of SCTP does not cover it.
pub(super) fn set_source(packet: &mut [u8], address: [u8; 4]) {
    packet[SOURCE].copy_from_slice(&address);
}

/// The source port, which is the destination port too.
pub(super) fn port(packet: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*packet.get(IP_HEADER..)?.first_chunk()?))
}

/// A DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Transmission sequence number.
    pub(super) tsn: u32,
    /// Bytes of user data.
    pub(super) payload: u32,
}

/// The DATA chunks of a packet.
pub(super) fn data_chunks(packet: &[u8]) -> impl Iterator<Item = Data> {
    let mut rest = packet.get(IP_HEADER + COMMON_HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            let &[kind, _, high, low] = rest.first_chunk::<4>()?;
            let length = usize::from(u16::from_be_bytes([high, low]));
            let chunk = rest.get(..length.max(4))?;
            // Padding to a multiple of four bytes does not count (RFC 9260 section 3.2).
            rest = rest.get(length.max(4).next_multiple_of(4)..).unwrap_or_default();
            if kind == DATA && length >= DATA_HEADER {
                let tsn = u32::from_be_bytes(*chunk[4..].first_chunk()?);
                return Some(Data { tsn, payload: (length - DATA_HEADER) as u32 });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SACK chunk of 16 bytes between two DATA chunks, of 5 and 4 bytes, the first padded.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.resize(IP_HEADER, 0);
        packet.extend([0x13, 0x89, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend([0, 3, 0, 21, 0, 0, 1, 0]);
        packet.resize(packet.len() + 16, 0);
        packet.extend([3, 0, 0, 16]);
        packet.resize(packet.len() + 12, 0);
        packet.extend([0, 3, 0, 20, 0, 0, 1, 1]);
        packet.resize(packet.len() + 12, 0);
        packet
    }

    #[test]
    fn data_chunks_are_found_between_others() {
        let found: Vec<Data> = data_chunks(&packet()).collect();
        assert_eq!(found, [Data { tsn: 256, payload: 5 }, Data { tsn: 257, payload: 4 }]);
        assert_eq!(data_chunks(&packet()[..40]).count(), 0, "cut off");
        assert_eq!((port(&packet()), destination(&packet())), (Some(5001), Some([0; 4])));
        assert_eq!(destination(&[0; 10]), None);
    }

    #[test]
    fn an_address_names_interface_and_node() {
        assert_eq!(address(Interface { node: 0, number: 1 }), [10, 1, 0, 1]);
        assert_eq!(address(Interface { node: 300, number: 0 }), [10, 0, 1, 45]);
        let mut bytes = packet();
        set_source(&mut bytes, [10, 1, 0, 1]);
        assert_eq!(bytes[SOURCE], [10, 1, 0, 1]);
    }
}
