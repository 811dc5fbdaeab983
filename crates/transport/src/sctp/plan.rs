//! Chunks with a TSN and a path that were not sent yet: what a scheduler has queued on paths.
//!
//! May: say which chunk of a path is next. May not: know chunks, or send.

use std::collections::VecDeque;

use units::Bytes;

use crate::packet::PathId;
use crate::sctp::chunk::MAX_ADDRESSES;
use crate::sctp::tsn::Tsn;

/// Planned chunks of each path, in the order of their TSNs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    queues: [VecDeque<Tsn>; MAX_ADDRESSES],
    bytes: [Bytes; MAX_ADDRESSES],
}

impl Plan {
    /// Nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        self.queues.iter().map(|queue| queue.len() as u64).sum()
    }

    /// User data of all of them.
    pub fn bytes(&self) -> Bytes {
        self.bytes.iter().copied().sum()
    }

    /// User data planned for a path.
    pub fn bytes_on(&self, path: PathId) -> Bytes {
        self.bytes[path.index()]
    }

    /// The next chunk of a path.
    pub fn first_on(&self, path: PathId) -> Option<Tsn> {
        self.queues[path.index()].front().copied()
    }

    /// The first chunk of all.
    pub fn first(&self) -> Option<Tsn> {
        self.queues.iter().filter_map(|queue| queue.front().copied()).min()
    }

    /// The next TSN is planned for this path.
    pub fn push(&mut self, path: PathId, tsn: Tsn, len: Bytes) {
        debug_assert!(self.queues[path.index()].back().is_none_or(|last| *last < tsn), "TSNs ascend");
        self.queues[path.index()].push_back(tsn);
        self.bytes[path.index()] += len;
        self.check();
    }

    /// The next chunk of a path leaves, with `len` user data.
    pub fn pop(&mut self, path: PathId, len: Bytes) {
        if self.queues[path.index()].pop_front().is_some() {
            self.bytes[path.index()] -= len;
        }
        self.check();
    }

    /// Forgets everything. Returns the TSNs, ascending.
    pub fn take(&mut self) -> Vec<Tsn> {
        let mut all: Vec<Tsn> = self.queues.iter_mut().flat_map(|queue| queue.drain(..)).collect();
        all.sort_unstable();
        self.bytes = [Bytes::ZERO; MAX_ADDRESSES];
        self.check();
        all
    }

    fn check(&self) {
        debug_assert!(
            self.queues
                .iter()
                .zip(self.bytes)
                .all(|(queue, bytes)| queue.is_empty() == (bytes == Bytes::ZERO)),
            "bytes counted by hand"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_sends_its_own_chunks_in_order() {
        let mut plan = Plan::default();
        let [a, b] = [PathId(0), PathId(1)];
        for (path, tsn) in [(a, 3), (a, 4), (b, 5), (a, 6)] {
            plan.push(path, Tsn(tsn), Bytes(100));
        }
        assert_eq!(
            (plan.first_on(b), plan.first(), plan.bytes_on(a)),
            (Some(Tsn(5)), Some(Tsn(3)), Bytes(300))
        );
        plan.pop(a, Bytes(100));
        assert_eq!((plan.first_on(a), plan.chunks(), plan.bytes()), (Some(Tsn(4)), 3, Bytes(300)));
        assert_eq!(plan.take(), [Tsn(4), Tsn(5), Tsn(6)]);
        assert!(plan.is_empty() && plan.bytes() == Bytes::ZERO);
    }
}
