//! Data that subflows have sent, which tells what is sent a second time. It is known from the first repetition on: until then
//! nothing was.

use units::Bytes;

use crate::seq::Dsn;
use crate::tcp::ranges::{Range, RangeSet};

/// Data without Data ACK that was sent, on whatever subflow; `None` while nothing has been repeated.
#[derive(Debug, Default)]
pub(super) struct Carried(Option<RangeSet<Dsn>>);

impl Carried {
    /// Data is about to be given to a second subflow: all of `placed` was sent, but for `unsent`.
    pub(super) fn begin(&mut self, placed: Range<Dsn>, unsent: impl Iterator<Item = Range<Dsn>>) {
        if self.0.is_some() {
            return;
        }
        let mut waiting = RangeSet::EMPTY;
        for data in unsent {
            waiting.insert(data);
        }
        let (mut sent, mut from) = (RangeSet::EMPTY, placed.start);
        while let Some(gap) = waiting.first_gap(Range::new(from, placed.end)) {
            sent.insert(gap);
            from = gap.end;
        }
        self.0 = Some(sent);
    }

    /// Nothing that is repeated waits any more.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    /// True between `begin` and `end`.
    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// A subflow sends `data` for the first time, and everything before `una` has its Data ACK. Returns how much of it was sent
    /// before.
    pub(super) fn on_sent(&mut self, data: Range<Dsn>, una: Dsn) -> Bytes {
        let Some(sent) = &mut self.0 else { return Bytes::ZERO };
        sent.remove_below(una);
        let fresh = sent.insert(Range::new(data.start.max(una), data.end.max(una)));
        Bytes(data.len() - fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> Range<Dsn> {
        Range::new(Dsn(start), Dsn(end))
    }

    #[test]
    fn data_that_waited_on_a_subflow_is_sent_once() {
        let mut carried = Carried::default();
        assert_eq!(carried.on_sent(range(1, 11), Dsn(1)), Bytes::ZERO);
        carried.begin(range(1, 101), [range(41, 61), range(81, 101)].into_iter());
        // 31 to 41 was sent, 41 to 61 waited on the subflow that died.
        assert_eq!(carried.on_sent(range(31, 61), Dsn(1)), Bytes(10));
        assert_eq!(carried.on_sent(range(31, 61), Dsn(1)), Bytes(30));
        // Data with a Data ACK was sent, and new data was not.
        assert_eq!(carried.on_sent(range(81, 121), Dsn(91)), Bytes(10));
        assert_eq!(carried.on_sent(range(81, 91), Dsn(91)), Bytes(10));
        carried.end();
        assert_eq!(carried.on_sent(range(81, 121), Dsn(91)), Bytes::ZERO);
        assert!(!carried.is_known());
    }
}
