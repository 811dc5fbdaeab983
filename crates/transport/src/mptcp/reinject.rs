//! Data that must be sent again on another subflow, in data sequence order, with the subflows that have already
//! carried it.

use std::collections::VecDeque;

use schedulers::SubflowSet;
use units::Bytes;

use crate::seq::Dsn;
use crate::tcp::ranges::Range;

/// A stretch of data to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuedData {
    data: Range<Dsn>,
    /// Subflows that have carried it; none if it was taken back before it was sent.
    carriers: SubflowSet,
}

impl QueuedData {
    /// Subflows that have carried it; none if it was taken back before it was sent.
    pub(super) fn carriers(&self) -> SubflowSet {
        self.carriers
    }

    /// No subflow has sent it.
    pub(super) fn is_unsent(&self) -> bool {
        self.carriers.is_empty()
    }

    /// Size of the segment at its beginning.
    pub(super) fn segment_len(&self, mss: Bytes) -> u64 {
        self.data.len().min(mss.0)
    }
}

/// Disjoint stretches, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct ReinjectQueue {
    items: VecDeque<QueuedData>,
}

impl ReinjectQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn front(&self) -> Option<&QueuedData> {
        self.items.front()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &QueuedData> {
        self.items.iter()
    }

    /// Adds `data`, carried by `carriers`. Parts that are queued already stay as they are, with the new carriers noted.
    pub(super) fn insert(&mut self, data: Range<Dsn>, carriers: SubflowSet) {
        let mut from = data.start;
        let mut i = self.items.partition_point(|r| r.data.end <= data.start);
        while from < data.end {
            match self.items.get_mut(i) {
                Some(known) if known.data.start <= from => {
                    known.carriers = known.carriers.union(carriers);
                    from = known.data.end;
                }
                next => {
                    let until = next.map_or(data.end, |n| n.data.start.min(data.end));
                    // Adjacent stretches with the same history are one.
                    let joins = |r: &QueuedData| r.data.end == from && r.carriers == carriers;
                    match i.checked_sub(1).and_then(|p| self.items.get_mut(p)).filter(|r| joins(r)) {
                        Some(previous) => {
                            previous.data.end = until;
                            i -= 1;
                        }
                        None => self.items.insert(i, QueuedData { data: Range::new(from, until), carriers }),
                    }
                    from = until;
                }
            }
            i += 1;
        }
        self.check();
    }

    /// The peer has everything below `data_ack`.
    #[inline]
    pub(super) fn acknowledge(&mut self, data_ack: Dsn) {
        while self.items.front().is_some_and(|r| r.data.end <= data_ack) {
            self.items.pop_front();
        }
        if let Some(first) = self.items.front_mut() {
            first.data.start = first.data.start.max(data_ack);
        }
        self.check();
    }

    /// Takes up to `len` bytes from the beginning of the `n`-th stretch.
    pub(super) fn take(&mut self, n: usize, len: Bytes) -> Option<Range<Dsn>> {
        let item = self.items.get_mut(n)?;
        let start = item.data.start;
        item.data.start = (start + len).min(item.data.end);
        let taken = Range::new(start, item.data.start);
        if item.data.is_empty() {
            self.items.remove(n);
        }
        self.check();
        Some(taken)
    }

    /// Notes that the subflows in `carriers` carry what is queued of `data`; nothing is added.
    pub(super) fn note_carriers(&mut self, data: Range<Dsn>, carriers: SubflowSet) {
        let mut i = self.items.partition_point(|r| r.data.end <= data.start);
        while let Some(item) = self.items.get_mut(i).filter(|r| r.data.start < data.end) {
            let whole = *item;
            if !carriers.minus(whole.carriers).is_empty() {
                // The parts outside keep their history.
                let inner = Range::new(whole.data.start.max(data.start), whole.data.end.min(data.end));
                *item = QueuedData { data: inner, carriers: whole.carriers.union(carriers) };
                if inner.end < whole.data.end {
                    let after = Range::new(inner.end, whole.data.end);
                    self.items.insert(i + 1, QueuedData { data: after, ..whole });
                }
                if whole.data.start < inner.start {
                    let before = Range::new(whole.data.start, inner.start);
                    self.items.insert(i, QueuedData { data: before, ..whole });
                    i += 1;
                }
            }
            i += 1;
        }
        self.check();
    }

    /// Forgets the stretches for which `done` is true.
    pub(super) fn forget(&mut self, done: impl Fn(&QueuedData) -> bool) {
        self.items.retain(|item| !done(item));
        self.check();
    }

    /// Everything queued lies in `data`.
    pub(super) fn lies_in(&self, data: Range<Dsn>) -> bool {
        let ends = self.items.front().zip(self.items.back());
        ends.is_none_or(|(first, last)| data.start <= first.data.start && last.data.end <= data.end)
    }

    fn check(&self) {
        debug_assert!(self.items.iter().all(|r| !r.data.is_empty()), "an empty stretch: {:?}", self.items);
        debug_assert!(
            self.items.iter().is_sorted_by(|a, b| a.data.end <= b.data.start),
            "stretches are disjoint and ascending: {:?}",
            self.items
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(start: u64, end: u64) -> Range<Dsn> {
        Range::new(Dsn(start), Dsn(end))
    }

    fn items(queue: &ReinjectQueue) -> Vec<(u64, u64, u64)> {
        queue.items().map(|r| (r.data.start.0, r.data.end.0, r.carriers.0)).collect()
    }

    /// Test vector RJ-1: segments 1..10 outstanding on S, 4 of them Data-ACKed; the other six are reinjected.
    #[test]
    fn rj_1() {
        let mut queue = ReinjectQueue::default();
        let data_ack = 5;
        for dsn in 1..=10u64 {
            if dsn + 1 > data_ack {
                queue.insert(data(dsn.max(data_ack), dsn + 1), SubflowSet(0b10));
            }
        }
        assert_eq!(items(&queue), [(5, 11, 0b10)]);
        assert!(queue.lies_in(data(5, 11)) && !queue.lies_in(data(6, 11)));
    }

    #[test]
    fn carriers_are_noted_where_they_overlap() {
        let mut queue = ReinjectQueue::default();
        queue.insert(data(100, 400), SubflowSet(0b001));
        queue.insert(data(500, 600), SubflowSet(0b001));
        queue.note_carriers(data(200, 300), SubflowSet(0b010));
        queue.note_carriers(data(250, 550), SubflowSet(0b100));
        assert_eq!(
            items(&queue),
            [
                (100, 200, 0b001),
                (200, 250, 0b011),
                (250, 300, 0b111),
                (300, 400, 0b101),
                (500, 550, 0b101),
                (550, 600, 0b001)
            ]
        );
        assert_eq!(queue.take(2, Bytes(20)), Some(data(250, 270)));
        queue.forget(|r| r.carriers.contains(2));
        assert_eq!(items(&queue), [(100, 200, 0b001), (200, 250, 0b011), (550, 600, 0b001)]);
    }

    #[test]
    fn overlaps_are_queued_once_and_remember_all_carriers() {
        let mut queue = ReinjectQueue::default();
        queue.insert(data(100, 200), SubflowSet(0b01));
        queue.insert(data(300, 400), SubflowSet(0b01));
        queue.insert(data(150, 350), SubflowSet(0b10));
        assert_eq!(items(&queue), [(100, 200, 0b11), (200, 300, 0b10), (300, 400, 0b11)]);
        queue.acknowledge(Dsn(250));
        assert_eq!(queue.take(0, Bytes(1000)), Some(data(250, 300)));
        assert_eq!(queue.take(0, Bytes(60)), Some(data(300, 360)));
        assert_eq!(queue.take(0, Bytes(60)), Some(data(360, 400)));
        assert!(queue.is_empty());
    }
}
