//! Demultiplexing: from ports and the remote address of a packet to the connection and path that it belongs to.
//!
//! May: find and add entries. May not: look into connections. Nothing is removed: a closed connection still answers.

use transport::segment::SubflowId;

use crate::address::{Port, SocketAddress};
use crate::host::socket::SocketId;

/// What a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// The connection.
    pub(crate) socket: SocketId,
    /// Its path.
    pub(crate) path: SubflowId,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    remote: u64,
    local: Port,
    found: Option<Match>,
}

const EMPTY: Slot = Slot { remote: 0, local: Port(0), found: None };

/// An open-addressed table with linear probing, at most half full: every packet looks up its connection here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demux {
    /// A power of two of them, or none.
    slots: Vec<Slot>,
    used: usize,
}

/// Fibonacci hashing (Knuth 6.4): consecutive ports and nodes spread over the table.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Demux {
    /// The owner of packets that reach `local` from `remote`.
    #[inline]
    pub(crate) fn find(&self, local: Port, remote: SocketAddress) -> Option<Match> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.position(local, remote.bits())].found
    }

    /// Packets that reach `local` from `remote` belong to `found` from now on.
    pub(crate) fn insert(&mut self, local: Port, remote: SocketAddress, found: Match) {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow();
        }
        let position = self.position(local, remote.bits());
        self.used += usize::from(self.slots[position].found.is_none());
        self.slots[position] = Slot { remote: remote.bits(), local, found: Some(found) };
        self.check();
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// All entries, in no order that a result may depend on.
    pub(crate) fn matches(&self) -> impl Iterator<Item = Match> {
        self.slots.iter().filter_map(|slot| slot.found)
    }

    /// The slot of this key, or the empty one where it would be put.
    #[inline]
    fn position(&self, local: Port, remote: u64) -> usize {
        let last = self.slots.len() - 1;
        let hash = (remote ^ (u64::from(local.0) << 48)).wrapping_mul(GOLDEN);
        // The upper bits depend on all bits of the key.
        let mut position = (hash >> (u64::BITS - self.slots.len().trailing_zeros())) as usize;
        loop {
            let slot = &self.slots[position];
            if slot.found.is_none() || (slot.remote == remote && slot.local == local) {
                return position;
            }
            position = (position + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![EMPTY; (2 * old.len()).max(4)];
        for slot in old.into_iter().filter(|slot| slot.found.is_some()) {
            let position = self.position(slot.local, slot.remote);
            self.slots[position] = slot;
        }
    }

    fn check(&self) {
        debug_assert!(self.slots.is_empty() || self.slots.len().is_power_of_two());
        debug_assert!(2 * self.used <= self.slots.len(), "a search must end at an empty slot");
        debug_assert_eq!(self.matches().count(), self.used, "entries counted by hand");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_addresses_has_its_own_entry() {
        let mut demux = Demux::default();
        let key = |i: u32| {
            let (port, node) = (Port(49_152 + (i % 7) as u16), (i / 7) as usize);
            (port, SocketAddress::new(node, Some((i % 3) as u8), Port(5001 + (i % 5) as u16)))
        };
        assert_eq!(demux.find(key(0).0, key(0).1), None);
        for i in 0..500 {
            let (local, remote) = key(i);
            assert_eq!(demux.find(local, remote), None, "{i}");
            demux.insert(local, remote, Match { socket: SocketId(i), path: 0 });
        }
        for i in 0..500 {
            let (local, remote) = key(i);
            assert_eq!(demux.find(local, remote).map(|found| found.socket), Some(SocketId(i)));
        }
        let (local, remote) = key(3);
        demux.insert(local, remote, Match { socket: SocketId(9), path: 1 });
        assert_eq!((demux.find(local, remote).map(|found| found.path), demux.len()), (Some(1), 500));
    }
}
