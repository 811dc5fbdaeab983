//! The receiving side of the data sequence space: connection-level reassembly, and the mappings of data that is
//! out of order on its subflow.

use std::collections::VecDeque;

use crate::tcp::ranges::{Range, RangeSet};

/// Connection-level reassembly.
#[derive(Clone, Debug)]
pub(super) struct ReceiveSide {
    /// Next data sequence number expected: the Data ACK.
    pub next: u64,
    out_of_order: RangeSet,
    /// Number of DATA_FIN, once announced.
    fin: Option<u64>,
    /// Bytes read by the application.
    pub read: u64,
}

impl ReceiveSide {
    pub(super) fn new() -> Self {
        Self { next: 1, out_of_order: RangeSet::default(), fin: None, read: 0 }
    }

    /// In-order bytes so far.
    pub(super) fn delivered(&self) -> u64 {
        self.next - 1 - u64::from(self.finished())
    }

    /// Bytes above a gap.
    pub(super) fn out_of_order(&self) -> u64 {
        self.out_of_order.bytes()
    }

    /// Everything up to DATA_FIN has arrived.
    pub(super) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Data arrived, in order on its subflow. Duplicates are dropped.
    pub(super) fn on_data(&mut self, data: Range) {
        if data.end <= self.next {
            return;
        }
        if data.start > self.next {
            self.out_of_order.insert(data);
            return;
        }
        self.next = data.end;
        if !self.out_of_order.is_empty() {
            self.next = self.out_of_order.take_from(self.next);
        }
        self.take_fin();
    }

    /// DATA_FIN with this number arrived.
    pub(super) fn on_fin(&mut self, dsn: u64) {
        self.fin = Some(dsn);
        self.take_fin();
    }

    fn take_fin(&mut self) {
        if self.fin == Some(self.next) {
            self.next += 1;
        }
    }
}

/// Mapping of a stretch of a subflow's sequence space that is not in order there yet.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    seq: u64,
    len: u64,
    dsn: u64,
}

/// Mappings of one subflow, ascending; empty while the subflow is in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Mappings(VecDeque<Mapping>);

impl Mappings {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Subflow bytes `seq..seq + len` are data `dsn..`.
    pub(super) fn insert(&mut self, seq: u64, len: u64, dsn: u64) {
        let i = self.0.partition_point(|m| m.seq < seq);
        if let Some(previous) = i.checked_sub(1).and_then(|p| self.0.get_mut(p)) {
            if previous.seq + previous.len >= seq + len {
                return;
            }
            if previous.seq + previous.len == seq && previous.dsn + previous.len == dsn {
                previous.len += len;
                return;
            }
        }
        if self.0.get(i).is_none_or(|m| m.seq != seq) {
            self.0.insert(i, Mapping { seq, len, dsn });
        }
    }

    /// The subflow is in order up to `next`: hands out what that covers, as data ranges.
    pub(super) fn take_below(&mut self, next: u64, mut deliver: impl FnMut(Range)) {
        while let Some(first) = self.0.front_mut().filter(|m| m.seq < next) {
            let len = first.len.min(next - first.seq);
            deliver(Range::new(first.dsn, first.dsn + len));
            if len < first.len {
                *first = Mapping { seq: first.seq + len, len: first.len - len, dsn: first.dsn + len };
                break;
            }
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_delivered_once_and_in_order() {
        let mut side = ReceiveSide::new();
        side.on_data(Range::new(101, 201));
        side.on_data(Range::new(301, 401));
        assert_eq!((side.delivered(), side.out_of_order()), (0, 200));
        side.on_data(Range::new(1, 151));
        assert_eq!((side.delivered(), side.out_of_order()), (200, 100));
        side.on_data(Range::new(150, 351));
        assert_eq!((side.delivered(), side.out_of_order()), (400, 0));
        side.on_fin(401);
        assert!(side.finished());
        assert_eq!((side.delivered(), side.next), (400, 402));
    }

    #[test]
    fn mappings_wait_until_their_subflow_is_in_order() {
        let mut mappings = Mappings::default();
        mappings.insert(101, 100, 5001);
        mappings.insert(201, 100, 5101);
        mappings.insert(301, 100, 901);
        mappings.insert(201, 100, 5101);
        let mut got = Vec::new();
        mappings.take_below(351, |r| got.push((r.start, r.end)));
        assert_eq!(got, [(5001, 5201), (901, 951)]);
        mappings.take_below(401, |r| got.push((r.start, r.end)));
        assert_eq!(got.last(), Some(&(951, 1001)));
        assert!(mappings.is_empty());
    }
}
