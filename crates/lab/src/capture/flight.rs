//! Bytes of packets that are on a captured link: where they arrive unchanged they are the same.

use std::collections::VecDeque;

use transport::packet::Packet;

/// Packets of a link that are kept: more are made anew at their arrival.
const MOST: usize = 4096;
/// Packets that may have been lost before one arrives.
const LOST: usize = 64;

/// A packet on its way, with the end of its bytes and its length.
#[derive(Clone, Copy, Debug)]
struct Flying {
    packet: Packet,
    bytes: usize,
    length: usize,
}

/// Packets on one link, in the order in which they left.
#[derive(Debug, Default)]
pub(super) struct Flight {
    packets: VecDeque<Flying>,
    bytes: VecDeque<u8>,
}

impl Flight {
    /// A packet leaves, with these bytes of `length`.
    pub(super) fn leaves(&mut self, packet: &Packet, bytes: &[u8], length: usize) {
        if self.packets.len() == MOST {
            self.drop_front();
        }
        self.packets.push_back(Flying { packet: *packet, bytes: bytes.len(), length });
        self.bytes.extend(bytes);
        self.check();
    }

    /// A packet arrives: appends its bytes to `out` and returns its length, if it is known. Those before it have been lost, or come later and
    /// are made anew.
    pub(super) fn arrives(&mut self, packet: &Packet, out: &mut Vec<u8>) -> Option<usize> {
        let place = self.packets.iter().take(LOST).position(|flying| flying.packet == *packet)?;
        for _ in 0..place {
            self.drop_front();
        }
        let found = self.packets.pop_front()?;
        let (one, other) = self.bytes.as_slices();
        let first = found.bytes.min(one.len());
        out.extend_from_slice(&one[..first]);
        out.extend_from_slice(&other[..found.bytes - first]);
        self.bytes.drain(..found.bytes);
        self.check();
        Some(found.length)
    }

    fn drop_front(&mut self) {
        if let Some(flying) = self.packets.pop_front() {
            self.bytes.drain(..flying.bytes);
        }
    }

    fn check(&self) {
        debug_assert!(self.packets.len() <= MOST, "a link keeps {MOST} packets");
        debug_assert!(!self.packets.is_empty() || self.bytes.is_empty(), "bytes belong to packets");
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn packet(size: u64) -> Packet {
        Packet { size: Bytes(size), ..Packet::default() }
    }

    #[test]
    fn a_packet_arrives_as_it_left() {
        let mut flight = Flight::default();
        for n in 0..MOST as u64 + 10 {
            flight.leaves(&packet(n), &n.to_le_bytes(), 1_000);
        }
        let mut out = Vec::new();
        assert_eq!(flight.arrives(&packet(9), &mut out), None, "too many");
        assert_eq!(flight.arrives(&packet(10), &mut out), Some(1_000));
        // The packets between were lost; one of them comes after all.
        assert_eq!(flight.arrives(&packet(15), &mut out), Some(1_000));
        assert_eq!(flight.arrives(&packet(12), &mut out), None);
        assert_eq!(out, [10_u64.to_le_bytes(), 15_u64.to_le_bytes()].concat());
        let marked = Packet { ecn: transport::packet::Ecn::Ce, ..packet(16) };
        assert_eq!(flight.arrives(&marked, &mut out), None, "it is another packet now");
    }
}
