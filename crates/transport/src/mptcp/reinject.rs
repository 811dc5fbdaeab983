//! Data that must be sent again on another subflow, in data sequence order, with the subflows that have already
//! carried it.

use std::collections::VecDeque;

/// A stretch of data to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reinjection {
    pub start: u64,
    pub end: u64,
    /// Bit i: subflow i has carried it.
    pub carried: u64,
}

/// Disjoint stretches, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct ReinjectQueue {
    items: VecDeque<Reinjection>,
}

impl ReinjectQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn front(&self) -> Option<&Reinjection> {
        self.items.front()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Reinjection> {
        self.items.iter()
    }

    /// Adds `start..end`, carried by the subflows in `carried`. Parts that are queued already stay as they are,
    /// with the new carriers noted.
    pub(super) fn insert(&mut self, start: u64, end: u64, carried: u64) {
        let mut from = start;
        let mut i = self.items.partition_point(|r| r.end <= start);
        while from < end {
            match self.items.get_mut(i) {
                Some(known) if known.start <= from => {
                    known.carried |= carried;
                    from = known.end;
                }
                next => {
                    let until = next.map_or(end, |n| n.start.min(end));
                    // Adjacent stretches with the same history are one.
                    let joins = |r: &Reinjection| r.end == from && r.carried == carried;
                    match i.checked_sub(1).and_then(|p| self.items.get_mut(p)).filter(|r| joins(r)) {
                        Some(previous) => {
                            previous.end = until;
                            i -= 1;
                        }
                        None => self.items.insert(i, Reinjection { start: from, end: until, carried }),
                    }
                    from = until;
                }
            }
            i += 1;
        }
    }

    /// The peer has everything below `data_ack`.
    pub(super) fn acknowledge(&mut self, data_ack: u64) {
        while self.items.front().is_some_and(|r| r.end <= data_ack) {
            self.items.pop_front();
        }
        if let Some(first) = self.items.front_mut() {
            first.start = first.start.max(data_ack);
        }
    }

    /// Takes up to `len` bytes from the front.
    pub(super) fn take(&mut self, len: u64) -> Option<(u64, u64)> {
        self.take_at(0, len)
    }

    /// Takes up to `len` bytes from the beginning of the `n`-th stretch.
    pub(super) fn take_at(&mut self, n: usize, len: u64) -> Option<(u64, u64)> {
        let item = self.items.get_mut(n)?;
        let (start, len) = (item.start, len.min(item.end - item.start));
        item.start += len;
        if item.start == item.end {
            self.items.remove(n);
        }
        Some((start, len))
    }

    /// Notes that the subflows in `carried` carry what is queued of `start..end`; nothing is added.
    pub(super) fn note_carriers(&mut self, start: u64, end: u64, carried: u64) {
        let mut i = self.items.partition_point(|r| r.end <= start);
        while let Some(item) = self.items.get_mut(i).filter(|r| r.start < end) {
            let whole = *item;
            if whole.carried & carried != carried {
                // The parts outside keep their history.
                item.start = whole.start.max(start);
                item.end = whole.end.min(end);
                item.carried |= carried;
                let (inner_start, inner_end) = (item.start, item.end);
                if inner_end < whole.end {
                    self.items.insert(i + 1, Reinjection { start: inner_end, ..whole });
                }
                if whole.start < inner_start {
                    self.items.insert(i, Reinjection { end: inner_start, ..whole });
                    i += 1;
                }
            }
            i += 1;
        }
    }

    /// Forgets the stretches that `done` says are looked after.
    pub(super) fn forget(&mut self, done: impl Fn(&Reinjection) -> bool) {
        self.items.retain(|item| !done(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector RJ-1: segments 1..10 outstanding on S, 4 of them Data-ACKed; the other six are reinjected.
    #[test]
    fn rj_1() {
        let mut queue = ReinjectQueue::default();
        let data_ack = 5;
        for dsn in 1..=10u64 {
            if dsn + 1 > data_ack {
                queue.insert(dsn.max(data_ack), dsn + 1, 0b10);
            }
        }
        let items: Vec<_> = queue.items().copied().collect();
        assert_eq!(items, [Reinjection { start: 5, end: 11, carried: 0b10 }]);
    }

    #[test]
    fn carriers_are_noted_where_they_overlap() {
        let mut queue = ReinjectQueue::default();
        queue.insert(100, 400, 0b001);
        queue.insert(500, 600, 0b001);
        queue.note_carriers(200, 300, 0b010);
        queue.note_carriers(250, 550, 0b100);
        let items: Vec<_> = queue.items().map(|r| (r.start, r.end, r.carried)).collect();
        assert_eq!(
            items,
            [
                (100, 200, 0b001),
                (200, 250, 0b011),
                (250, 300, 0b111),
                (300, 400, 0b101),
                (500, 550, 0b101),
                (550, 600, 0b001)
            ]
        );
        assert_eq!(queue.take_at(2, 20), Some((250, 20)));
        queue.forget(|r| r.carried & 0b100 != 0);
        let items: Vec<_> = queue.items().map(|r| (r.start, r.end)).collect();
        assert_eq!(items, [(100, 200), (200, 250), (550, 600)]);
    }

    #[test]
    fn overlaps_are_queued_once_and_remember_all_carriers() {
        let mut queue = ReinjectQueue::default();
        queue.insert(100, 200, 0b01);
        queue.insert(300, 400, 0b01);
        queue.insert(150, 350, 0b10);
        let items: Vec<_> = queue.items().map(|r| (r.start, r.end, r.carried)).collect();
        assert_eq!(items, [(100, 200, 0b11), (200, 300, 0b10), (300, 400, 0b11)]);
        queue.acknowledge(250);
        assert_eq!(queue.take(1000), Some((250, 50)));
        assert_eq!(queue.take(60), Some((300, 60)));
        assert_eq!(queue.take(60), Some((360, 40)));
        assert!(queue.is_empty());
    }
}
