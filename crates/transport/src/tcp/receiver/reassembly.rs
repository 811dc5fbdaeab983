//! The reassembly queue: the sequence numbers that have arrived, and the SACK blocks that report them (RFC 2018, RFC 2883).

use units::Bytes;

use crate::seq::Seq;
use crate::tcp::ranges::{Range, RangeSet};
use crate::tcp::segment::SackBlocks;

/// Where the sequence numbers of a segment lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All of them had arrived before.
    Duplicate,
    /// Above a gap.
    AboveGap,
    /// At rcv_nxt, and nothing had arrived above it.
    InOrder,
    /// New bytes that fill all or part of a gap.
    InGap,
}

/// Sequence space received so far.
#[derive(Clone, Debug)]
pub(super) struct ReassemblyQueue {
    /// rcv_nxt.
    next: Seq,
    out_of_order: RangeSet<Seq>,
    /// A number inside each of the most recently changed out-of-order ranges, latest first.
    recent: [Seq; 4],
    /// The last duplicate, until it is reported (RFC 2883).
    duplicate: Option<Range<Seq>>,
    /// Sequence number of the peer's FIN, once seen.
    fin: Option<Seq>,
    /// Data stored behind a gap waits for `release` when the gap has been filled.
    holds_back: bool,
}

impl ReassemblyQueue {
    /// Nothing received; the peer's SYN is sequence number 0.
    pub(super) fn new() -> Self {
        Self {
            next: Seq::FIRST_DATA,
            out_of_order: RangeSet::default(),
            recent: [Seq::SYN; 4],
            duplicate: None,
            fin: None,
            holds_back: false,
        }
    }

    /// rcv_nxt.
    #[inline]
    pub(super) fn next(&self) -> Seq {
        self.next
    }

    /// Data that arrived above a gap.
    #[inline]
    pub(super) fn out_of_order(&self) -> &RangeSet<Seq> {
        &self.out_of_order
    }

    /// The peer's FIN has been seen, whether or not everything before it has arrived.
    #[inline]
    pub(super) fn fin_is_known(&self) -> bool {
        self.fin.is_some()
    }

    /// Everything up to the FIN has arrived.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// rcv_nxt without the FIN: the end of the data in order.
    #[inline]
    pub(super) fn data_end(&self) -> Seq {
        Seq(self.next.0 - u64::from(self.finished()))
    }

    /// From now on data that fills a gap is taken alone; data stored behind it is taken by the next `release`.
    pub(super) fn hold_back(&mut self) {
        self.holds_back = true;
    }

    /// Takes what is stored up to the next gap. Returns rcv_nxt.
    pub(super) fn release(&mut self) -> Seq {
        self.next = self.out_of_order.take_from(self.next);
        self.check();
        self.next
    }

    /// Nothing has arrived above a gap, and no FIN.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.out_of_order.is_empty() && self.fin.is_none()
    }

    /// Takes in `range`, which begins at rcv_nxt, while `is_in_order`.
    #[inline]
    pub(super) fn append(&mut self, range: Range<Seq>) {
        debug_assert!(
            self.is_in_order() && range.start == self.next,
            "{range:?} is not what comes next: {self:?}"
        );
        self.next = range.end;
    }

    /// The FIN of a segment that ends with data at `end`. The first one counts, and only if it ends the data: another one
    /// would take back what has been delivered.
    #[inline]
    pub(super) fn note_fin(&mut self, end: Seq) {
        if self.fin.is_none() && end >= self.next {
            self.fin = Some(end);
        }
    }

    /// Takes in `range`, which is not empty. Returns where it lies, and how many of its numbers are new.
    #[inline]
    pub(super) fn insert(&mut self, range: Range<Seq>) -> (Place, Bytes) {
        debug_assert!(!range.is_empty(), "nothing to take in");
        if range.end <= self.next || self.out_of_order.covers(range) {
            self.duplicate = Some(range);
            return (Place::Duplicate, Bytes::ZERO);
        }
        let placed = self.place(Range::new(range.start.max(self.next), range.end));
        self.check();
        placed
    }

    #[inline]
    fn place(&mut self, range: Range<Seq>) -> (Place, Bytes) {
        if range.start == self.next && self.out_of_order.is_empty() {
            self.next = range.end;
            return (Place::InOrder, Bytes(range.len()));
        }
        let fresh = Bytes(self.out_of_order.insert(range));
        if range.start > self.next {
            self.remember(range.start);
            return (Place::AboveGap, fresh);
        }
        if self.holds_back {
            self.next = range.end;
            self.out_of_order.remove_below(range.end);
        } else {
            self.next = self.out_of_order.take_from(range.start);
        }
        (Place::InGap, fresh)
    }

    fn remember(&mut self, point: Seq) {
        let Some(range) = self.out_of_order.find(point) else { return };
        let in_range = |known: &Seq| range.start <= *known && *known < range.end;
        let position = self.recent.iter().position(in_range).unwrap_or(self.recent.len() - 1);
        self.recent[..=position].rotate_right(1);
        self.recent[0] = point;
    }

    /// Writes at most `limit` blocks into `blocks`, which is empty: the duplicate, if there is one to report, and then the
    /// ranges that have changed last.
    #[inline]
    pub(super) fn report_into(&mut self, limit: usize, blocks: &mut SackBlocks) {
        if self.duplicate.is_some() || !self.out_of_order.is_empty() {
            self.write_blocks(limit, blocks);
        }
    }

    #[cold]
    fn write_blocks(&mut self, limit: usize, blocks: &mut SackBlocks) {
        let duplicate = self.duplicate.take();
        if limit == 0 {
            return;
        }
        debug_assert!(blocks.as_slice().is_empty(), "blocks of another acknowledgement");
        if let Some(duplicate) = duplicate {
            blocks.push(duplicate);
        }
        // Mostly there are fewer ranges than places for them.
        let most = limit.min(blocks.as_slice().len() + self.out_of_order.iter().len());
        for point in self.recent {
            if blocks.as_slice().len() >= most {
                break;
            }
            if let Some(range) = self.out_of_order.find(point)
                && !blocks.as_slice().contains(&range)
            {
                blocks.push(range);
            }
        }
    }

    #[inline]
    fn check(&self) {
        debug_assert!(
            self.out_of_order
                .iter()
                .next()
                .is_none_or(|first| first.start > self.next || self.holds_back && first.start == self.next),
            "a gap lies between what is in order and what is not: {self:?}"
        );
    }
}
