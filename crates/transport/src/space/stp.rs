//! The receiving side of STP: nothing is acknowledged; polls are answered, new gaps are reported at once.
//!
//! Source: T. Henderson and R. Katz, "Transport protocols for Internet-compatible satellite networks", IEEE JSAC
//! 17(2), 1999, after the SSCOP of ITU-T Q.2110.
//! Deviation: packets are known by their ranges of the stream and not by numbers of 24 bits; a STAT of more ranges than
//! a segment carries is sent in parts, each of which names the part of the stream that it describes.

use std::collections::VecDeque;

use super::segment::SpaceSignal;
use crate::seq::Seq;
use crate::tcp::ranges::{Range, RangeSet};
use crate::tcp::segment::SackBlocks;

/// Missing ranges in one part of a STAT: the first block is the part that it describes.
const RANGES_PER_PART: usize = 3;

/// Report that is due.
#[derive(Clone, Debug)]
pub struct StpReporter {
    /// Sequence number after the highest that has arrived.
    highest: Seq,
    /// New gaps, each for a USTAT.
    gaps: VecDeque<Range<Seq>>,
    /// A poll to answer: its number, how far the answer has come, and where it ends.
    poll: Option<(u32, Range<Seq>)>,
}

impl Default for StpReporter {
    fn default() -> Self {
        Self { highest: Seq::FIRST_DATA, gaps: VecDeque::new(), poll: None }
    }
}

impl StpReporter {
    /// Something has arrived; `next` is the state after it. A gap between it and everything before is news.
    pub fn arrived(&mut self, segment: Range<Seq>, next: Seq) {
        if segment.start > self.highest {
            self.gaps.push_back(Range::new(self.highest, segment.start));
        }
        self.highest = self.highest.max(segment.end).max(next);
    }

    /// A POLL asks for the state of everything below `until`. A newer one takes the place of an older one.
    pub fn polled(&mut self, number: u32, until: Seq) {
        // Data sent before the poll and still missing is not new: the STAT names it.
        self.highest = self.highest.max(until);
        if self.poll.is_none_or(|(known, _)| known <= number) {
            self.poll = Some((number, Range::new(Seq::SYN, until)));
        }
    }

    /// True if there is anything to report.
    pub fn is_due(&self) -> bool {
        !self.gaps.is_empty() || self.poll.is_some()
    }

    /// Writes the next report; `None` if there is none. `next` and `received` are the state of the receiver.
    pub fn report(
        &mut self,
        next: Seq,
        received: &RangeSet<Seq>,
        blocks: &mut SackBlocks,
    ) -> Option<SpaceSignal> {
        blocks.clear();
        if let Some(gap) = self.gaps.pop_front() {
            blocks.push(gap);
            return Some(SpaceSignal::Ustat);
        }
        let (number, part) = self.poll.take()?;
        let mut rest = Range::new(part.start.max(next), part.end.max(next));
        let mut missing = [Range::default(); RANGES_PER_PART];
        let mut count = 0;
        let mut end = rest.end;
        let start = rest.start;
        while let Some(gap) = received.first_gap(rest) {
            if count == RANGES_PER_PART {
                end = gap.start;
                self.poll = Some((number, Range::new(end, part.end)));
                break;
            }
            missing[count] = gap;
            count += 1;
            rest.start = gap.end;
        }
        blocks.push(Range::new(start, end));
        for gap in &missing[..count] {
            blocks.push(*gap);
        }
        Some(SpaceSignal::Stat { number })
    }

    pub(super) fn check(&self) {
        debug_assert!(
            self.gaps.iter().zip(self.gaps.iter().skip(1)).all(|(a, b)| a.end <= b.start),
            "gaps out of order: {self:?}"
        );
        debug_assert!(
            self.gaps.back().is_none_or(|gap| gap.end <= self.highest),
            "a gap above everything that has arrived: {self:?}"
        );
        debug_assert!(
            self.poll.is_none_or(|(_, part)| part.end <= self.highest),
            "data sent before a poll counts as new: {self:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 100 bytes, numbered from 1.
    fn segment(n: u64) -> Range<Seq> {
        Range::new(Seq(1 + (n - 1) * 100), Seq(1 + n * 100))
    }

    fn reports(
        reporter: &mut StpReporter,
        next: Seq,
        received: &RangeSet<Seq>,
    ) -> Vec<(SpaceSignal, Vec<Range<Seq>>)> {
        let mut all = Vec::new();
        while reporter.is_due() {
            let mut blocks = SackBlocks::default();
            let signal = reporter.report(next, received, &mut blocks).expect("a report is due");
            all.push((signal, blocks.as_slice().to_vec()));
        }
        all
    }

    /// The receiver's part of vector ST-1: of 20 segments 7 and 12 are lost.
    #[test]
    fn st_1_two_gaps() {
        let mut reporter = StpReporter::default();
        let mut received = RangeSet::default();
        let mut next = Seq(1);
        let mut heard = Vec::new();
        for n in (1..=20).filter(|n| ![7, 12].contains(n)) {
            received.insert(segment(n));
            next = received.take_from(next);
            reporter.arrived(segment(n), next);
            heard.extend(reports(&mut reporter, next, &received));
        }
        assert_eq!(heard, [(SpaceSignal::Ustat, vec![segment(7)]), (SpaceSignal::Ustat, vec![segment(12)])]);
        reporter.polled(1, segment(20).end);
        let stat = reports(&mut reporter, next, &received);
        let described = Range::new(segment(7).start, segment(20).end);
        assert_eq!(stat, [(SpaceSignal::Stat { number: 1 }, vec![described, segment(7), segment(12)])]);
    }

    #[test]
    fn a_poll_finds_the_end_missing_and_long_answers_come_in_parts() {
        let mut reporter = StpReporter::default();
        let mut received = RangeSet::default();
        for n in [2, 4, 6, 8, 10] {
            received.insert(segment(n));
            reporter.arrived(segment(n), Seq(1));
        }
        assert_eq!(reports(&mut reporter, Seq(1), &received).len(), 5, "a USTAT for each gap");
        reporter.polled(9, segment(12).end);
        let parts = reports(&mut reporter, Seq(1), &received);
        let part = |from: Seq, until: Seq, gaps: &[u64]| {
            let mut blocks = vec![Range::new(from, until)];
            blocks.extend(gaps.iter().map(|n| segment(*n)));
            (SpaceSignal::Stat { number: 9 }, blocks)
        };
        let mut last = part(segment(7).start, segment(12).end, &[7, 9]);
        last.1.push(Range::new(segment(11).start, segment(12).end));
        assert_eq!(parts, [part(Seq(1), segment(7).start, &[1, 3, 5]), last]);
        // Nothing is missing: the STAT says so.
        reporter.polled(10, Seq(1201));
        let stat = reports(&mut reporter, Seq(1201), &RangeSet::default());
        assert_eq!(stat, [(SpaceSignal::Stat { number: 10 }, vec![Range::new(Seq(1201), Seq(1201))])]);
        reporter.arrived(segment(14), Seq(1201));
        assert_eq!(reports(&mut reporter, Seq(1201), &received), [(SpaceSignal::Ustat, vec![segment(13)])]);
    }
}
