//! Packets on their way: numbered, and numbers reused last in, first out, so that the warm ones come first.
//!
//! May: hold them. May not: look into a body, whose type is a parameter. The header, which routers read, is kept beside
//! the packet.

use transport::packet::{Ecn, Packet};

use crate::net::address::{PacketAddresses, SocketAddress};
use crate::net::routing::TargetId;

/// The part of a packet that routers read: its addresses, and what follows from them and is not computed at each hop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Header {
    /// Address of the sender.
    pub(crate) source: SocketAddress,
    /// Address of the receiver.
    pub(crate) destination: SocketAddress,
    /// Routes to the destination address.
    pub(crate) target: TargetId,
    /// Hash for the choice among equal next hops.
    pub(crate) hash: u64,
}

/// The place of a packet, which begins with a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Place<B> {
    header: Header,
    packet: Packet<B>,
}

/// Packets by number. Memory grows to the largest number of packets held at once and stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets<B> {
    places: Vec<Place<B>>,
    free: Vec<u32>,
}

impl<B: Copy + Default> Packets<B> {
    /// A number for a packet that is still to be written.
    pub(crate) fn reserve(&mut self) -> u32 {
        if let Some(number) = self.free.pop() {
            return number;
        }
        self.places.push(Place::default());
        (self.places.len() - 1) as u32
    }

    /// Addresses a packet that has been written.
    pub(crate) fn address(&mut self, number: u32, header: Header) {
        self.places[number as usize].header = header;
    }

    /// The header of a packet.
    pub(crate) fn header(&self, number: u32) -> &Header {
        &self.places[number as usize].header
    }

    /// The addresses of a packet.
    pub(crate) fn addresses(&self, number: u32) -> PacketAddresses {
        let Header { source, destination, .. } = *self.header(number);
        PacketAddresses { source, destination }
    }

    /// A packet, which stays readable until the number is used again.
    pub(crate) fn packet(&self, number: u32) -> &Packet<B> {
        &self.places[number as usize].packet
    }

    /// A packet as links see it.
    pub(crate) fn describe(&self, number: u32) -> links::Packet {
        let (header, packet) = (self.header(number), self.packet(number));
        links::Packet {
            id: number,
            size: u32::try_from(packet.size.0).unwrap_or(u32::MAX),
            flow: header.hash,
            ect: packet.ecn != Ecn::NotEct,
            low_priority: packet.is_low_priority(),
        }
    }

    /// A packet, to be changed on its way.
    pub(crate) fn packet_mut(&mut self, number: u32) -> &mut Packet<B> {
        &mut self.places[number as usize].packet
    }

    /// A queue has marked the packet: congestion experienced.
    pub(crate) fn mark(&mut self, number: u32) {
        let marked = self.places[number as usize].packet.mark();
        debug_assert!(marked, "packet {number} does not carry ECN");
    }

    /// Stores a copy of a packet and returns its number.
    pub(crate) fn copy(&mut self, number: u32) -> u32 {
        let copied = self.places[number as usize];
        let copy = self.reserve();
        self.places[copy as usize] = copied;
        copy
    }

    /// Gives `number` back.
    pub(crate) fn release(&mut self, number: u32) {
        debug_assert!(self.free.len() < self.places.len(), "packet {number} released twice");
        self.free.push(number);
    }

    /// The most packets that were held at once.
    pub(crate) fn most(&self) -> usize {
        self.places.len()
    }

    /// Packets held.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_reused_last_in_first_out() {
        let mut packets = Packets::<()>::default();
        let insert = |packets: &mut Packets<()>, seq| {
            let header = Header { hash: seq, ..Header::default() };
            let number = packets.reserve();
            packets.packet_mut(number).payload = seq as u32;
            packets.address(number, header);
            number
        };
        assert_eq!([10, 11, 12].map(|seq| insert(&mut packets, seq)), [0, 1, 2]);
        packets.release(0);
        packets.release(2);
        assert_eq!([13, 14, 15].map(|seq| insert(&mut packets, seq)), [2, 0, 3]);
        assert_eq!((packets.packet(0).payload, packets.header(1).hash, packets.len()), (14, 11, 4));
    }
}
