//! Mappings of data that is out of order on its subflow.

use std::collections::VecDeque;

use units::Bytes;

use crate::seq::{Dsn, Seq};
use crate::tcp::ranges::Range;

/// Where a stretch of a subflow's sequence space lies in the stream of the connection.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    subflow: Range<Seq>,
    dsn: Dsn,
}

/// Mappings of one subflow, ascending by subflow sequence number; empty while the subflow is in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Mappings(VecDeque<Mapping>);

impl Mappings {
    /// The subflow is in order.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes `subflow` of the subflow are those from `dsn` on of the connection.
    pub(super) fn insert(&mut self, subflow: Range<Seq>, dsn: Dsn) {
        // The latest arrival is mostly the highest.
        let i = match self.0.back() {
            Some(last) if last.subflow.start >= subflow.start => {
                self.0.partition_point(|m| m.subflow.start < subflow.start)
            }
            _ => self.0.len(),
        };
        if let Some(previous) = i.checked_sub(1).and_then(|p| self.0.get_mut(p)) {
            if previous.subflow.end >= subflow.end {
                return;
            }
            if previous.subflow.end == subflow.start && previous.dsn + Bytes(previous.subflow.len()) == dsn {
                previous.subflow.end = subflow.end;
                return;
            }
        }
        if self.0.get(i).is_none_or(|m| m.subflow.start != subflow.start) {
            self.0.insert(i, Mapping { subflow, dsn });
        }
        self.check();
    }

    /// The subflow is in order up to `next`: hands out what that covers, as data ranges.
    pub(super) fn take_below(&mut self, next: Seq, mut deliver: impl FnMut(Range<Dsn>)) {
        // A peer that keeps to nothing maps bytes twice: of what lies above `next` one mapping is kept.
        let mut rest: Option<Mapping> = None;
        while let Some(first) = self.0.front().copied() {
            let from = first.subflow.start;
            if from > next || from == next && rest.is_none() {
                break;
            }
            self.0.pop_front();
            let until = first.subflow.end.min(next);
            let len = until - from;
            if len > Bytes::ZERO {
                deliver(Range::new(first.dsn, first.dsn + len));
            }
            if until < first.subflow.end {
                let (subflow, dsn) = (Range::new(until, first.subflow.end), first.dsn + len);
                match &mut rest {
                    None => rest = Some(Mapping { subflow, dsn }),
                    Some(kept) if kept.dsn == dsn => kept.subflow.end = kept.subflow.end.max(subflow.end),
                    Some(_) => {}
                }
            }
        }
        if let Some(rest) = rest {
            self.0.push_front(rest);
        }
        self.check();
    }

    fn check(&self) {
        let starts = || self.0.iter().map(|m| m.subflow.start);
        debug_assert!(starts().is_sorted_by(|a, b| a < b), "mappings are ascending: {:?}", self.0);
        debug_assert!(
            self.0.iter().all(|m| !m.subflow.is_empty()),
            "a mapping covers something: {:?}",
            self.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_wait_until_their_subflow_is_in_order() {
        let mut mappings = Mappings::default();
        mappings.insert(Range::new(Seq(101), Seq(201)), Dsn(5001));
        mappings.insert(Range::new(Seq(201), Seq(301)), Dsn(5101));
        mappings.insert(Range::new(Seq(301), Seq(401)), Dsn(901));
        mappings.insert(Range::new(Seq(201), Seq(301)), Dsn(5101));
        let mut got = Vec::new();
        mappings.take_below(Seq(351), |r| got.push((r.start.0, r.end.0)));
        assert_eq!(got, [(5001, 5201), (901, 951)]);
        mappings.take_below(Seq(401), |r| got.push((r.start.0, r.end.0)));
        assert_eq!(got.last(), Some(&(951, 1001)));
        assert!(mappings.is_empty());
    }

    #[test]
    fn bytes_that_are_mapped_twice_keep_one_mapping() {
        let mut mappings = Mappings::default();
        mappings.insert(Range::new(Seq(201), Seq(301)), Dsn(201));
        mappings.insert(Range::new(Seq(101), Seq(401)), Dsn(101));
        mappings.insert(Range::new(Seq(351), Seq(501)), Dsn(9001));
        let mut got = Vec::new();
        mappings.take_below(Seq(351), |r| got.push((r.start.0, r.end.0)));
        assert_eq!(got, [(101, 351), (201, 301)]);
        mappings.take_below(Seq(501), |r| got.push((r.start.0, r.end.0)));
        assert_eq!((got.last(), mappings.is_empty()), (Some(&(351, 401)), true));
    }
}
