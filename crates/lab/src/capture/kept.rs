//! Bytes of packets that are on their way and cost much to write: a packet that crosses another interface unchanged has the same ones.

use network::{Crossing, HostAddress};
use transport::packet::Packet;

/// Bytes of one packet, as it was sent.
#[derive(Clone, Debug, Default)]
struct Kept {
    ends: Option<[HostAddress; 2]>,
    packet: Packet,
    bytes: Vec<u8>,
    length: usize,
}

/// Bytes by the number of their packet. Memory grows to the largest number of packets in flight and stays.
#[derive(Debug, Default)]
pub(super) struct KeptBytes {
    places: Vec<Kept>,
}

impl KeptBytes {
    /// A packet is sent, with these bytes of `length`; returns both.
    pub(super) fn keep<'a>(
        &mut self,
        crossing: &Crossing<'_>,
        bytes: &'a [u8],
        length: usize,
    ) -> (&'a [u8], usize) {
        let number = crossing.number as usize;
        if self.places.len() <= number {
            self.places.resize_with(number + 1, Kept::default);
        }
        let place = &mut self.places[number];
        (place.ends, place.packet, place.length) = (Some(crossing.ends), *crossing.packet, length);
        place.bytes.clear();
        place.bytes.extend_from_slice(bytes);
        debug_assert!(bytes.len() <= length, "no more bytes than the packet has");
        (bytes, length)
    }

    /// The bytes of a packet and its length. `None`: they are not known, since it is a copy or was changed on its way.
    pub(super) fn of(&self, crossing: &Crossing<'_>) -> Option<(&[u8], usize)> {
        // Numbers are used again: these bytes may be those of a lost packet.
        let place = self.places.get(crossing.number as usize)?;
        let same = place.ends == Some(crossing.ends) && place.packet == *crossing.packet;
        same.then_some((&place.bytes, place.length))
    }
}

#[cfg(test)]
mod tests {
    use transport::packet::Ecn;
    use units::{Bytes, SimTime};

    use super::*;

    fn crossing(number: u32, port: u16, packet: &Packet) -> Crossing<'_> {
        let [source, destination] =
            [(0, port), (1, 80)].map(|(node, port)| HostAddress::new(node, None, port));
        Crossing {
            at: SimTime::ZERO,
            interface: 0,
            leaves: false,
            ends: [source, destination],
            number,
            packet,
        }
    }

    #[test]
    fn a_packet_is_known_until_it_changes() {
        let mut kept = KeptBytes::default();
        let packet = |size| Packet { size: Bytes(size), ..Packet::default() };
        for number in [3, 1] {
            kept.keep(&crossing(number, 7, &packet(100)), &[number as u8; 2], 100);
        }
        assert_eq!(kept.of(&crossing(1, 7, &packet(100))), Some((&[1, 1][..], 100)));
        assert_eq!(kept.of(&crossing(3, 7, &packet(100))), Some((&[3, 3][..], 100)), "any number of times");
        assert_eq!(kept.of(&crossing(2, 7, &Packet::default())), None, "no packet has this number");
        assert_eq!(kept.of(&crossing(4, 7, &packet(100))), None, "a copy");
        assert_eq!(kept.of(&crossing(1, 8, &packet(100))), None, "of another subflow");
        assert_eq!(kept.of(&crossing(1, 7, &Packet { ecn: Ecn::Ce, ..packet(100) })), None, "marked");
        kept.keep(&crossing(1, 7, &packet(60)), &[9], 60);
        assert_eq!(kept.of(&crossing(1, 7, &packet(60))), Some((&[9][..], 60)), "the number is used again");
    }
}
