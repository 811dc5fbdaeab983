//! Demultiplexing: from ports and the remote address of a packet to the connection and path that it belongs to.
//!
//! May: find, add and remove entries. May not: look into connections; its host says which are over.

use transport::packet::PathId;

use crate::host::socket::SocketId;
use crate::net::address::{Port, SocketAddress};

/// The connection and path that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// The connection.
    pub(crate) socket: SocketId,
    /// Its path.
    pub(crate) path: PathId,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Remote address and local port.
    key: u64,
    found: Match,
}

/// The socket of an empty slot.
const NONE: SocketId = SocketId(u32::MAX);

const EMPTY: Slot = Slot { key: 0, found: Match { socket: NONE, path: PathId::FIRST } };

/// An open-addressed table with linear probing, at most half full: every packet looks up its connection here.
#[derive(Clone, Debug)]
pub(crate) struct Demux {
    /// A power of two of them.
    slots: Vec<Slot>,
    used: usize,
}

impl Default for Demux {
    fn default() -> Self {
        Self { slots: vec![EMPTY; 2], used: 0 }
    }
}

/// Fibonacci hashing (Knuth 6.4): consecutive ports and nodes spread over the table.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Demux {
    /// The owner of packets that reach `local` from `remote`.
    #[inline]
    pub(crate) fn find(&self, local: Port, remote: SocketAddress) -> Option<Match> {
        let found = self.place(remote.with_port(local)).1.found;
        (found.socket != NONE).then_some(found)
    }

    /// The next entry makes the table grow. Its host may remove entries first.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        2 * (self.used + 1) > self.slots.len()
    }

    /// Removes the entries of connections that are over. The table shrinks to what is left.
    #[cold]
    pub(crate) fn remove(&mut self, mut is_over: impl FnMut(SocketId) -> bool) {
        let left: Vec<Slot> = self
            .slots
            .iter()
            .copied()
            .filter(|slot| slot.found.socket != NONE && !is_over(slot.found.socket))
            .collect();
        if left.len() == self.used {
            return;
        }
        let size = (2 * (left.len() + 1)).next_power_of_two();
        (self.slots, self.used) = (vec![EMPTY; size], left.len());
        for slot in left {
            let position = self.place(slot.key).0;
            self.slots[position] = slot;
        }
        self.check();
    }

    /// Packets that reach `local` from `remote` belong to `found` from now on.
    pub(crate) fn insert(&mut self, local: Port, remote: SocketAddress, found: Match) {
        debug_assert_ne!(found.socket, NONE, "more sockets than numbers");
        if self.is_full() {
            self.grow();
        }
        let key = remote.with_port(local);
        let (position, before) = self.place(key);
        self.used += usize::from(before.found.socket == NONE);
        self.slots[position] = Slot { key, found };
        self.check();
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// All entries, in no order that a result may depend on.
    pub(crate) fn matches(&self) -> impl Iterator<Item = Match> {
        self.slots.iter().map(|slot| slot.found).filter(|found| found.socket != NONE)
    }

    /// The slot of this key, or the empty one where it would be put, with its position.
    #[inline]
    fn place(&self, key: u64) -> (usize, &Slot) {
        let last = self.slots.len() - 1;
        // The upper bits of the product depend on all bits of the key.
        let mut position =
            (key.wrapping_mul(GOLDEN) >> (u64::BITS - self.slots.len().trailing_zeros())) as usize;
        loop {
            let slot = &self.slots[position];
            if slot.key == key || slot.found.socket == NONE {
                return (position, slot);
            }
            position = (position + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = 2 * self.slots.len();
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; size]);
        for slot in old.into_iter().filter(|slot| slot.found.socket != NONE) {
            let position = self.place(slot.key).0;
            self.slots[position] = slot;
        }
    }

    fn check(&self) {
        debug_assert!(self.slots.len().is_power_of_two(), "the hash is cut to a power of two");
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
            demux.insert(local, remote, Match { socket: SocketId(i), path: PathId::FIRST });
        }
        for i in 0..500 {
            let (local, remote) = key(i);
            assert_eq!(demux.find(local, remote).map(|found| found.socket), Some(SocketId(i)));
        }
        let (local, remote) = key(3);
        demux.insert(local, remote, Match { socket: SocketId(9), path: PathId(1) });
        assert_eq!((demux.find(local, remote).map(|found| found.path), demux.len()), (Some(PathId(1)), 500));
        demux.remove(|socket| socket.0 % 5 != 0);
        for i in 0..500 {
            let (local, remote) = key(i);
            let left = i % 5 == 0;
            assert_eq!(demux.find(local, remote).is_some(), left, "{i}");
        }
        assert_eq!((demux.len(), demux.slots.len()), (100, 256));
    }
}
