//! Packets that wait, in the order of arrival, and their bytes.

use std::collections::VecDeque;

use units::Bytes;

use super::Waiting;

/// The packets of one queue. Their bytes are kept as a sum.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
}

impl Buffer {
    /// Takes a packet in behind the others.
    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += size_of(&waiting);
        self.packets.push_back(waiting);
        self.check();
    }

    /// Takes the first packet out.
    pub fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.packets.pop_front()?;
        self.remove(&waiting);
        Some(waiting)
    }

    /// Takes the last packet out.
    pub fn pop_back(&mut self) -> Option<Waiting> {
        let waiting = self.packets.pop_back()?;
        self.remove(&waiting);
        Some(waiting)
    }

    fn remove(&mut self, waiting: &Waiting) {
        debug_assert!(self.bytes >= size_of(waiting), "{waiting:?} leaves a queue of {}", self.bytes);
        self.bytes -= size_of(waiting);
        self.check();
    }

    /// Takes all packets out.
    pub fn release(&mut self) -> Vec<Waiting> {
        debug_assert_eq!(self.sum(), self.bytes, "the sum of the sizes of {} packets", self.packets.len());
        self.bytes = Bytes::ZERO;
        self.packets.drain(..).collect()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Packets and bytes.
    pub fn length(&self) -> (u64, Bytes) {
        (self.packets(), self.bytes)
    }

    fn sum(&self) -> Bytes {
        self.packets.iter().fold(Bytes::ZERO, |sum, waiting| sum + size_of(waiting))
    }

    /// A long queue is summed up only when it is released.
    fn check(&self) {
        debug_assert!(
            self.bytes.0 >= self.packets(),
            "no packet is empty: {} in {}",
            self.packets(),
            self.bytes
        );
        debug_assert_eq!(self.is_empty(), self.bytes == Bytes::ZERO, "bytes of packets that have left");
        debug_assert!(
            self.packets() > 16 || self.sum() == self.bytes,
            "{} is not the sum {}",
            self.bytes,
            self.sum()
        );
    }
}

fn size_of(waiting: &Waiting) -> Bytes {
    Bytes(waiting.packet.size.into())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::SimTime;

    use super::super::testing::packet;
    use super::*;
    use crate::Packet;

    proptest! {
        /// Whatever comes and goes at both ends, the bytes are those of the packets inside.
        #[test]
        fn the_bytes_are_those_of_the_packets(steps in vec((0..4_u8, 1..10_000_u32), 0..200)) {
            let mut buffer = Buffer::default();
            let mut model: VecDeque<u32> = VecDeque::new();
            for (step, size) in steps {
                let found = match step {
                    0 => buffer.pop().map(|out| out.packet.size),
                    1 => buffer.pop_back().map(|out| out.packet.size),
                    _ => {
                        buffer.push(Waiting { packet: Packet { size, ..packet(1) }, since: SimTime::ZERO });
                        None
                    }
                };
                let expected = match step {
                    0 => model.pop_front(),
                    1 => model.pop_back(),
                    _ => {
                        model.push_back(size);
                        None
                    }
                };
                prop_assert_eq!(found, expected);
                let bytes = model.iter().map(|size| u64::from(*size)).sum();
                prop_assert_eq!(buffer.length(), (model.len() as u64, Bytes(bytes)));
            }
            prop_assert_eq!(buffer.release().len(), model.len());
            prop_assert!(buffer.is_empty());
        }
    }
}
