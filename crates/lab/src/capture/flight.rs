//! Bytes of packets that are on a captured link: where they arrive unchanged they are the same.

use std::collections::VecDeque;

use transport::packet::Packet;

/// Packets of a link that are kept: more are made anew at their arrival.
const MOST: usize = 4096;
/// Packets that may have been lost before one arrives.
const LOST: usize = 64;

/// Bytes of packets that have arrived are kept until they are so many, and half of all.
const STALE: usize = 1 << 14;

/// A packet on its way, with the number of its bytes and its length.
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
    /// Their bytes, behind `stale` ones of packets that have arrived.
    bytes: Vec<u8>,
    stale: usize,
}

impl Flight {
    /// A packet leaves, with these bytes of `length`.
    pub(super) fn leaves(&mut self, packet: &Packet, bytes: &[u8], length: usize) {
        if self.packets.len() == MOST {
            self.drop_front();
        }
        if self.stale > STALE && 2 * self.stale > self.bytes.len() {
            self.bytes.drain(..self.stale);
            self.stale = 0;
        }
        self.packets.push_back(Flying { packet: *packet, bytes: bytes.len(), length });
        self.bytes.extend_from_slice(bytes);
        self.check();
    }

    /// A packet arrives: appends its bytes to `out` and returns its length, if it is known. Those before it have been lost, or come later and
    /// are made anew.
    pub(super) fn arrives(&mut self, packet: &Packet, out: &mut Vec<u8>) -> Option<usize> {
        let place = self.packets.iter().take(LOST).position(|flying| flying.packet == *packet)?;
        for _ in 0..place {
            self.drop_front();
        }
        let start = self.stale;
        let length = self.packets.front()?.length;
        self.drop_front();
        out.extend_from_slice(&self.bytes[start..self.stale]);
        self.check();
        Some(length)
    }

    fn drop_front(&mut self) {
        if let Some(flying) = self.packets.pop_front() {
            self.stale += flying.bytes;
        }
    }

    fn check(&self) {
        debug_assert!(self.packets.len() <= MOST, "a link keeps {MOST} packets");
        let left = self.bytes.len().checked_sub(self.stale);
        debug_assert!(left.is_some(), "no more bytes are stale than there are");
        debug_assert!(!self.packets.is_empty() || left == Some(0), "bytes belong to packets");
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
