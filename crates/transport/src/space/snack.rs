//! The SNACK option of SCPS-TP: selective negative acknowledgement.
//!
//! Source: CCSDS 714.0-B-2 section 3.2.5. Numbers of the option are multiples of the MSS. Choice D-23: the bit vector
//! begins after the first hole, one bit per MSS, 1 for received. Choice D-25: a hole is reported again after 5/4
//! of a round trip, since its repair needs a whole one.

use units::{Bytes, Nanos, SimTime};

use crate::seq::Seq;
use crate::tcp::ranges::{Range, RangeSet};

/// Bits of the largest vector: with timestamps the option space holds more, but a word is what a segment carries.
const VECTOR_BITS: u8 = 64;

/// The option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snack {
    /// Start of the first hole, in MSS from the acknowledgement number.
    pub offset: u16,
    /// Its size in MSS, rounded up.
    pub size: u16,
    /// Bits of the vector; 0: there is none.
    pub bits: u8,
    /// One bit per MSS behind the first hole, the first is the lowest; 1: received.
    pub vector: u64,
}

impl Snack {
    /// Describes `hole` and what lies behind it. `next` is the acknowledgement number, `received` what is above it.
    /// `None` if the hole is too far away for the numbers of the option.
    pub fn describe(next: Seq, hole: Range<Seq>, received: &RangeSet<Seq>, mss: Bytes) -> Option<Self> {
        let first = (hole.start - next).0 / mss.0;
        let size = (hole.end - next).0.div_ceil(mss.0) - first;
        let (Ok(offset), size) = (u16::try_from(first), size.min(u64::from(u16::MAX)) as u16) else {
            return None;
        };
        let mut snack = Self { offset, size, bits: 0, vector: 0 };
        let base = snack.first_hole(next, mss).end;
        while snack.bits < VECTOR_BITS {
            let start = base + mss * u64::from(snack.bits);
            let unit = Range::new(start, start + mss);
            // The last unit before the end of the received data may be incomplete: its state is unknown.
            if unit.end > received.end() {
                break;
            }
            snack.vector |= u64::from(received.covers(unit)) << snack.bits;
            snack.bits += 1;
        }
        Some(snack)
    }

    /// The first hole as sequence numbers.
    pub fn first_hole(&self, ack: Seq, mss: Bytes) -> Range<Seq> {
        let start = ack + mss * u64::from(self.offset);
        Range::new(start, start + mss * u64::from(self.size))
    }

    /// Everything that the option describes, in order: ranges with whether they were received.
    pub fn ranges(&self, ack: Seq, mss: Bytes) -> impl Iterator<Item = (Range<Seq>, bool)> + use<> {
        let first = self.first_hole(ack, mss);
        let (vector, bits, base) = (self.vector, self.bits, first.end);
        let mut at = 0;
        let runs = std::iter::from_fn(move || {
            let from = at;
            let received = (from < bits).then(|| vector >> from & 1 == 1)?;
            while at < bits && (vector >> at & 1 == 1) == received {
                at += 1;
            }
            let range = Range::new(base + mss * u64::from(from), base + mss * u64::from(at));
            Some((range, received))
        });
        std::iter::once((first, false)).chain(runs)
    }

    /// Sequence number after what the option describes.
    fn end(&self, ack: Seq, mss: Bytes) -> Seq {
        self.first_hole(ack, mss).end + mss * u64::from(self.bits)
    }
}

/// A hole is not reported again before this, however short the round trip.
const SHORTEST_PATIENCE: Nanos = Nanos(10_000);

/// The receiver's memory of which holes it has reported when.
#[derive(Clone, Debug)]
pub struct SnackReporter {
    mss: Bytes,
    /// Holes at the last report, ascending, with the time at which each was reported (`NEVER`: not yet).
    known: Vec<(Range<Seq>, SimTime)>,
    /// Sequence number after the highest that has arrived.
    highest: Seq,
    /// When the next report is due; `NEVER` without holes.
    due: SimTime,
}

impl SnackReporter {
    /// Nothing received.
    pub fn new(mss: Bytes) -> Self {
        Self { mss, known: Vec::new(), highest: Seq::FIRST_DATA, due: SimTime::NEVER }
    }

    /// Something has arrived; `next` and `received` are the state after it. True if a report is due at once.
    pub fn arrived(
        &mut self,
        now: SimTime,
        segment: Range<Seq>,
        (next, received): (Seq, &RangeSet<Seq>),
    ) -> bool {
        if received.is_empty() {
            self.due = SimTime::NEVER;
        } else if segment.start > self.highest {
            self.due = now;
        }
        self.highest = self.highest.max(segment.end).max(next);
        self.check();
        self.due <= now
    }

    /// True if a report is due.
    pub fn is_due(&self, now: SimTime) -> bool {
        self.due <= now
    }

    /// The report that is due, if one is; ask until `None`.
    pub fn report(
        &mut self,
        now: SimTime,
        (next, received): (Seq, &RangeSet<Seq>),
        round_trip: Nanos,
    ) -> Option<Snack> {
        if self.due > now {
            return None;
        }
        // A peer can make the round trip look like nothing: then one hole would be reported for ever.
        let patience = (round_trip + round_trip / 4).max(SHORTEST_PATIENCE);
        self.refresh(next, received);
        let is_due = |at: SimTime| at.is_never() || at + patience <= now;
        let mut described = Seq::SYN;
        let mut snack = None;
        let mut due = SimTime::NEVER;
        for (hole, reported) in &mut self.known {
            if is_due(*reported) {
                if snack.is_none() {
                    snack = Snack::describe(next, *hole, received, self.mss);
                    described = snack.map_or(Seq::SYN, |s| s.end(next, self.mss));
                }
                if hole.start < described || snack.is_none() {
                    *reported = now;
                }
            }
            due = due.min(if is_due(*reported) { now } else { *reported + patience });
        }
        self.due = due;
        snack
    }

    /// Updates the list of holes; the remainder of a hole keeps its time.
    fn refresh(&mut self, next: Seq, received: &RangeSet<Seq>) {
        let mut old = std::mem::take(&mut self.known).into_iter().peekable();
        let mut rest = Range::new(next, received.end());
        while let Some(hole) = received.first_gap(rest) {
            rest.start = hole.end;
            while old.next_if(|(o, _)| o.end <= hole.start).is_some() {}
            let reported = old.peek().filter(|(o, _)| o.start < hole.end).map_or(SimTime::NEVER, |o| o.1);
            self.known.push((hole, reported));
        }
        self.check();
    }

    pub(super) fn check(&self) {
        debug_assert!(
            self.known.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start),
            "holes out of order: {self:?}"
        );
        debug_assert!(
            self.known.last().is_none_or(|(hole, _)| hole.end <= self.highest),
            "a hole above everything that has arrived: {self:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes(1000);
    const RTT: Nanos = Nanos::from_millis(600);

    fn range(start: u64, end: u64) -> Range<Seq> {
        Range::new(Seq(start), Seq(end))
    }

    fn set(ranges: &[(u64, u64)]) -> RangeSet<Seq> {
        let mut set = RangeSet::default();
        for (start, end) in ranges {
            set.insert(range(*start, *end));
        }
        set
    }

    fn holes(snack: &Snack, ack: u64) -> Vec<(u64, u64)> {
        snack.ranges(Seq(ack), MSS).filter(|(_, got)| !got).map(|(r, _)| (r.start.0, r.end.0)).collect()
    }

    #[test]
    fn sc_1() {
        let received = set(&[(12_000, 13_000), (15_000, 16_000)]);
        let snack = Snack::describe(Seq(10_000), range(10_000, 12_000), &received, MSS).unwrap();
        assert_eq!((snack.offset, snack.size), (0, 2));
        let bits: Vec<u64> = (0..snack.bits).map(|i| snack.vector >> i & 1).collect();
        assert_eq!(bits, [1, 0, 0, 1]);
        assert_eq!(holes(&snack, 10_000), [(10_000, 12_000), (13_000, 15_000)]);
        let missing: u64 = snack.ranges(Seq(10_000), MSS).filter(|(_, got)| !got).map(|(r, _)| r.len()).sum();
        assert_eq!(missing / 1000, 4, "segments to be sent again");
    }

    #[test]
    fn what_is_not_whole_is_rounded_towards_sending_again() {
        // The hole ends inside a unit, the last unit is not complete.
        let received = set(&[(2500, 4700)]);
        let snack = Snack::describe(Seq(1000), range(1000, 2500), &received, MSS).unwrap();
        assert_eq!((snack.offset, snack.size, snack.bits, snack.vector), (0, 2, 1, 1));
        let far = set(&[(70_000_000, 70_001_000)]);
        let hole = range(69_999_000, 70_000_000);
        assert_eq!(Snack::describe(Seq(1000), hole, &far, MSS), None, "beyond 65535 units");
        let long = Snack::describe(Seq(1000), range(1000, 70_000_000), &far, MSS).unwrap();
        assert_eq!((long.size, long.bits), (u16::MAX, VECTOR_BITS));
    }

    #[test]
    fn a_hole_is_reported_at_once_and_again_after_a_round_trip_and_a_quarter() {
        let at = SimTime::from_millis;
        let mut reporter = SnackReporter::new(MSS);
        let received = set(&[(2001, 3001)]);
        assert!(!reporter.arrived(at(0), range(1, 1001), (Seq(1001), &RangeSet::default())));
        assert!(reporter.arrived(at(1), range(2001, 3001), (Seq(1001), &received)));
        let first = reporter.report(at(1), (Seq(1001), &received), RTT).unwrap();
        assert_eq!(
            (first.offset, first.size, reporter.report(at(1), (Seq(1001), &received), RTT)),
            (0, 1, None)
        );
        let received = set(&[(2001, 3001), (4001, 5001)]);
        assert!(reporter.arrived(at(100), range(4001, 5001), (Seq(1001), &received)));
        let second = reporter.report(at(100), (Seq(1001), &received), RTT).unwrap();
        assert_eq!((second.offset, second.size), (2, 1), "only the new hole");
        assert!(!reporter.arrived(at(700), range(5001, 6001), (Seq(1001), &received)));
        assert!(
            reporter.arrived(at(751), range(6001, 7001), (Seq(1001), &received)),
            "750 ms after the report"
        );
        let again = reporter.report(at(751), (Seq(1001), &received), RTT).unwrap();
        assert_eq!(holes(&again, 1001), [(1001, 2001), (3001, 4001)]);
        assert!(!reporter.is_due(at(849)) && reporter.is_due(at(850)), "the second hole has its own time");
        // The repair of the first hole.
        assert!(!reporter.arrived(at(760), range(1001, 2001), (Seq(3001), &set(&[(4001, 7001)]))));
        reporter.arrived(at(770), range(3001, 4001), (Seq(7001), &RangeSet::default()));
        assert!(!reporter.is_due(at(9000)), "no hole is left");
    }

    #[test]
    fn holes_beyond_the_vector_follow_in_further_options() {
        let mut received = RangeSet::default();
        for n in 1..=100 {
            received.insert(range(2 * n * 1000, (2 * n + 1) * 1000));
        }
        let mut reporter = SnackReporter::new(MSS);
        assert!(reporter.arrived(SimTime::ZERO, range(200_000, 201_000), (Seq(1000), &received)));
        let mut reported = Vec::new();
        while let Some(snack) = reporter.report(SimTime::ZERO, (Seq(1000), &received), RTT) {
            reported.extend(holes(&snack, 1000));
        }
        let all: Vec<_> = (1..=100).map(|n| ((2 * n - 1) * 1000, 2 * n * 1000)).collect();
        assert_eq!(reported, all);
    }
}
