//! The sender's scoreboard: every segment between snd_una and snd_nxt and what is known of it.
//!
//! It keeps the sums that RFC 6675 calls pipe up to date, so that reading them is free. It decides nothing: loss
//! detection (`sender/detector.rs`, `rack.rs`) marks segments as lost, the scoreboard keeps the marks.

use std::collections::VecDeque;

use rings::Ring;
use units::{Nanos, SimTime};

use super::counted::{Counted, Tally};
use super::ranges::{Range, RangeSet};
use super::sent::{Change, CleanAck, Sent};
use crate::seq::Seq;

/// Segments for which memory is kept while none is outstanding: thousands of connections may be idle.
const KEPT: usize = 32;

/// Segments in sequence order with running sums.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// Numbered, so that one is found again when others have left at the front.
    segments: Ring<Sent>,
    outstanding: u64,
    /// The same as a window counts it.
    outstanding_counted: u64,
    counted: Counted,
    /// Bytes ever marked lost, retransmissions anew.
    ever_lost: u64,
    /// `None` until something is SACKed, marked as lost or retransmitted.
    repairs: Option<Box<Repairs>>,
}

/// State of segments that are SACKed, lost or sent again.
#[derive(Clone, Debug, Default)]
struct Repairs {
    sacked: RangeSet<Seq>,
    sacked_segments: u64,
    lost: Tally,
    in_flight_again: Tally,
    /// No segment before the one with this number needs a retransmission that has not been made.
    retransmit_hint: usize,
    /// Everything not SACKed below this has been considered by `mark_lost_below`.
    lost_hint: Seq,
    /// No original before the segment with this number waits for a judgement by `mark_late`.
    late_hint: usize,
    /// Everything at or above this was sent once.
    repeated_until: Seq,
    /// Retransmissions in the order in which they were made; entries that no longer hold are passed over.
    again: VecDeque<Again>,
}

/// One retransmission.
#[derive(Clone, Copy, Debug)]
struct Again {
    sent_at: SimTime,
    seq: Seq,
    /// Number of the segment.
    number: usize,
}

impl Repairs {
    /// Everything below `una` is acknowledged.
    fn acknowledged(&mut self, una: Seq) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(una);
        }
        if self.in_flight_again == Tally::default() && !self.again.is_empty() {
            self.again.clear();
        }
    }

    /// A segment, or `part` of it, has arrived: it is neither lost nor on its way.
    fn forget(&mut self, segment: &Sent, part: Tally) {
        self.lost -= if segment.lost { part } else { Tally::default() };
        self.in_flight_again -= if segment.in_flight_again { part } else { Tally::default() };
    }

    fn sacked_tally(&self) -> Tally {
        Tally { bytes: self.sacked.bytes(), segments: self.sacked_segments }
    }

    /// Nothing is lost, SACKed or on its way again, and all from `first` on was sent once.
    fn are_over(&self, first: Option<Seq>) -> bool {
        self.lost == Tally::default()
            && self.in_flight_again == Tally::default()
            && self.sacked.is_empty()
            && self.again.is_empty()
            && first.is_none_or(|first| first >= self.repeated_until)
    }
}

/// Nothing is SACKed.
static NO_RANGES: RangeSet<Seq> = RangeSet::EMPTY;

impl Scoreboard {
    /// Nothing is outstanding, for windows that count like this.
    pub fn new(counted: Counted) -> Self {
        Self { counted, ..Self::default() }
    }

    /// How windows count what is here.
    #[inline]
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// Bytes between snd_una and snd_nxt.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// All between snd_una and snd_nxt.
    #[inline]
    fn all(&self) -> Tally {
        Tally { bytes: self.outstanding, segments: self.segments.len() as u64 }
    }

    /// The same as a window counts it.
    #[inline]
    pub fn outstanding_counted(&self) -> u64 {
        self.outstanding_counted
    }

    /// RFC 6675 pipe: bytes believed to be in the network.
    pub fn pipe(&self) -> u64 {
        self.in_network().bytes
    }

    /// SACKed segments, as a window counts them.
    pub fn sacked_counted(&self) -> u64 {
        self.repairs.as_deref().map_or(0, |repairs| self.counted.of(repairs.sacked_tally()))
    }

    /// The same as a window counts it (`tcp_packets_in_flight` in Linux).
    pub fn pipe_counted(&self) -> u64 {
        self.counted.of(self.in_network())
    }

    fn in_network(&self) -> Tally {
        self.repairs.as_deref().map_or(self.all(), |repairs| {
            self.all() + repairs.in_flight_again - repairs.sacked_tally() - repairs.lost
        })
    }

    /// Outstanding segments that are not deemed lost, or were retransmitted since, as a window counts them.
    pub fn not_given_up_counted(&self) -> u64 {
        let outstanding = self.outstanding_counted();
        self.repairs.as_deref().map_or(outstanding, |repairs| {
            self.counted.of(self.all() + repairs.in_flight_again - repairs.lost).min(outstanding)
        })
    }

    /// Ranges SACKed above snd_una.
    pub fn sacked(&self) -> &RangeSet<Seq> {
        self.repairs.as_deref().map_or(&NO_RANGES, |repairs| &repairs.sacked)
    }

    /// Segments whose retransmissions are in the network.
    pub fn segments_in_flight_again(&self) -> u64 {
        self.repairs.as_deref().map_or(0, |repairs| repairs.in_flight_again.segments)
    }

    /// When the oldest retransmission left that may be in the network; `NEVER` if there is none.
    pub fn oldest_retransmission(&self) -> SimTime {
        let again = self.repairs.as_deref().and_then(|repairs| repairs.again.front());
        again.map_or(SimTime::NEVER, |again| again.sent_at)
    }

    /// Bytes deemed lost and not yet delivered.
    pub fn lost(&self) -> u64 {
        self.repairs.as_deref().map_or(0, |repairs| repairs.lost.bytes)
    }

    /// Bytes ever deemed lost; a retransmission that is lost again counts again.
    pub fn ever_lost(&self) -> u64 {
        self.ever_lost
    }

    /// True if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments in sequence order.
    pub fn iter(&self) -> impl Iterator<Item = &Sent> {
        self.segments.iter()
    }

    /// The oldest outstanding segment.
    pub fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The newest outstanding segment.
    pub fn back(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// A new segment was sent.
    #[inline(never)]
    pub fn push(&mut self, segment: Sent) {
        debug_assert!(self.segments.back().is_none_or(|b| b.end() == segment.seq));
        self.outstanding += u64::from(segment.len);
        self.outstanding_counted += self.counted.one(segment.len.into());
        self.segments.push(segment);
    }

    /// Cumulative acknowledgement up to `una`.
    pub fn ack(&mut self, una: Seq, change: &mut Change) {
        let mut clean = true;
        let mut oldest = None;
        while let Some(front) = self.segments.front_mut() {
            if front.seq >= una {
                break;
            }
            if front.end() > una {
                // A middlebox or a probe split the segment: the rest of it stays.
                let mut head = *front;
                head.len = front.cut(una) as u32;
                self.forget(&head, Tally { segments: 0, ..Tally::from(&head) }, change);
                break;
            }
            let segment = self.segments.pop_front().expect("front exists");
            clean &= !segment.retransmitted;
            oldest = oldest.or(Some(segment.sent_at));
            self.forget(&segment, Tally::from(&segment), change);
        }
        self.outstanding_counted = self.counted.of(self.all());
        if let Some(repairs) = &mut self.repairs {
            repairs.acknowledged(una);
        }
        self.give_room_back();
        if clean {
            change.oldest_clean = oldest;
        }
    }

    /// Keeps little memory while nothing is outstanding.
    #[inline]
    pub fn give_room_back(&mut self) {
        self.segments.give_back_beyond(KEPT);
    }

    /// Everything outstanding was sent once, and nothing of it is SACKed or lost.
    #[inline]
    pub fn is_clean(&self) -> bool {
        let first = self.segments.front().map(|front| front.seq);
        self.repairs.as_deref().is_none_or(|repairs| repairs.are_over(first))
    }

    /// As `ack`, of a clean scoreboard and new data. Its caller gives room back, and so nothing is called here.
    #[inline(never)]
    pub fn ack_clean(&mut self, una: Seq) -> CleanAck {
        debug_assert!(self.is_clean(), "not clean: {self:?}");
        let mut acked = CleanAck { oldest_sent_at: SimTime::NEVER, newest_sent_at: SimTime::ZERO };
        while let Some(front) = self.segments.front_mut() {
            if front.end() > una {
                if front.seq < una {
                    acked.newest_sent_at = front.sent_at;
                    self.outstanding -= front.cut(una);
                }
                break;
            }
            acked.oldest_sent_at = acked.oldest_sent_at.min(front.sent_at);
            acked.newest_sent_at = front.sent_at;
            self.outstanding -= u64::from(front.len);
            self.segments.drop_front();
        }
        self.outstanding_counted = self.counted.of(self.all());
        acked
    }

    /// `segment`, of which `part` counts, is acknowledged.
    fn forget(&mut self, segment: &Sent, part: Tally, change: &mut Change) {
        self.outstanding -= part.bytes;
        change.acked += part.bytes;
        if let Some(repairs) = &mut self.repairs {
            repairs.forget(segment, part);
            repairs.sacked_segments -= if segment.sacked { part.segments } else { 0 };
        }
        if !segment.sacked {
            change.deliver(segment, part);
        }
    }

    /// Selective acknowledgement of `block`, which lies above snd_una.
    pub fn sack(&mut self, block: Range<Seq>, change: &mut Change) {
        let limit = self.segments.back().map_or(Seq::SYN, Sent::end);
        let block = Range::new(block.start, block.end.min(limit));
        if block.is_empty() || self.sacked().covers(block) {
            return;
        }
        let mut rest = block;
        while let Some(gap) = self.sacked().first_gap(rest) {
            rest.start = gap.end;
            let mut i = self.number_of(gap.start);
            let repairs = self.repairs.get_or_insert_default();
            while let Some(segment) = self.segments.get_mut(i).filter(|s| s.end() <= gap.end) {
                i += 1;
                if segment.seq < gap.start || segment.sacked {
                    continue;
                }
                let one = Tally::from(&*segment);
                repairs.forget(segment, one);
                segment.sacked = true;
                segment.lost = false;
                segment.in_flight_again = false;
                change.sacked += one.bytes;
                change.deliver(segment, one);
                repairs.sacked.insert(segment.range());
                repairs.sacked_segments += 1;
            }
        }
    }

    /// Number of the segment that holds `seq`, or of the first one above it.
    fn number_of(&self, seq: Seq) -> usize {
        let first = self.segments.first();
        let Some(front) = self.segments.front().filter(|front| front.end() <= seq) else { return first };
        // Most segments are full, so the distance from the first one gives the number.
        let guess = first + ((seq - front.seq).0 / u64::from(front.len.max(1))) as usize;
        match self.segments.get(guess) {
            Some(segment) if segment.seq <= seq && seq < segment.end() => guess,
            _ => self.segments.partition_point(|s| s.end() <= seq),
        }
    }

    /// The segment that starts at or holds `seq`.
    pub fn at(&self, seq: Seq) -> Option<&Sent> {
        self.segments.get(self.number_of(seq))
    }

    /// Marks everything not SACKed below `seq` as lost, once. Returns true if anything was marked.
    pub fn mark_lost_below(&mut self, seq: Seq) -> bool {
        let hint = self.repairs.as_deref().map_or(Seq::SYN, |repairs| repairs.lost_hint);
        if seq <= hint {
            return false;
        }
        let mut i = self.number_of(hint);
        let mut marked = false;
        while let Some(segment) = self.segments.get(i).filter(|s| s.end() <= seq) {
            // A retransmission already made is not judged by sequence numbers.
            if !segment.retransmitted {
                marked |= self.mark_lost(i);
            }
            i += 1;
        }
        self.repairs.get_or_insert_default().lost_hint = seq;
        marked
    }

    /// Marks as lost what overlaps `missing` and for which `is_lost` holds. Returns true if anything was marked.
    pub fn mark_missing(&mut self, missing: Range<Seq>, is_lost: impl Fn(&Sent) -> bool) -> bool {
        let mut i = self.number_of(missing.start);
        let mut marked = false;
        while let Some(segment) = self.segments.get(i).filter(|s| s.seq < missing.end) {
            if segment.end() > missing.start && is_lost(segment) {
                marked |= self.mark_lost(i);
            }
            i += 1;
        }
        marked
    }

    /// True if all that is outstanding was sent once, and after `latest` (transmission time and end of a delivered
    /// segment): data later in the stream was sent later.
    #[inline(always)]
    pub fn starts_after(&self, latest: (SimTime, Seq)) -> bool {
        let none_again = self.repairs.as_deref().is_none_or(|repairs| repairs.again.is_empty());
        none_again
            && self.segments.front().is_none_or(|s| !s.retransmitted && !s.sacked)
            && self.segments.front().is_none_or(|s| (s.sent_at, s.end()) >= latest)
    }

    /// RACK (RFC 8985 section 6.2 step 5): marks what was sent before `latest` (transmission time and end of a
    /// delivered segment) and more than `patience` ago. Returns whether anything was marked, and when the next
    /// segment is due (`NEVER`: none waits).
    ///
    /// Originals are in time order because they are in sequence order, retransmissions because they are queued;
    /// so each is looked at once, and the first that is not due ends the search.
    pub fn mark_late(&mut self, latest: (SimTime, Seq), patience: Nanos, now: SimTime) -> (bool, SimTime) {
        let (originals, first) = self.mark_late_originals(latest, patience, now);
        let (repairs, second) = self.mark_late_retransmissions(latest, patience, now);
        (originals || repairs, first.min(second))
    }

    fn mark_late_originals(
        &mut self,
        latest: (SimTime, Seq),
        patience: Nanos,
        now: SimTime,
    ) -> (bool, SimTime) {
        let hint = self.repairs.as_deref().map_or(0, |repairs| repairs.late_hint);
        let first = hint.max(self.segments.first());
        let (mut i, mut marked, mut next) = (first, false, SimTime::NEVER);
        while let Some(segment) = self.segments.get(i) {
            if !segment.sacked && !segment.retransmitted && !segment.lost {
                if (segment.sent_at, segment.end()) >= latest {
                    break;
                }
                let due = segment.sent_at + patience;
                if now < due {
                    next = due;
                    break;
                }
                marked |= self.mark_lost(i);
            }
            i += 1;
        }
        if i > first {
            self.repairs.get_or_insert_default().late_hint = i;
        }
        (marked, next)
    }

    fn mark_late_retransmissions(
        &mut self,
        latest: (SimTime, Seq),
        patience: Nanos,
        now: SimTime,
    ) -> (bool, SimTime) {
        let mut marked = false;
        while let Some(&again) = self.repairs.as_deref().and_then(|repairs| repairs.again.front()) {
            let Again { sent_at, seq, number } = again;
            let holds = |s: &&Sent| s.seq == seq && s.in_flight_again && s.sent_at == sent_at;
            if let Some(segment) = self.segments.get(number).filter(holds) {
                if (sent_at, segment.end()) >= latest {
                    break;
                }
                let due = sent_at + patience;
                if now < due {
                    return (marked, due);
                }
                marked |= self.mark_lost(number);
            }
            if let Some(repairs) = &mut self.repairs {
                repairs.again.pop_front();
            }
        }
        (marked, SimTime::NEVER)
    }

    /// A timeout: the oldest segment is lost, and of the others those for which `is_lost` holds; retransmissions
    /// of them too.
    pub fn mark_lost_on_timeout(&mut self, is_lost: impl Fn(&Sent) -> bool) {
        let first = self.segments.first();
        for i in first..self.segments.next() {
            if i == first || self.segments.get(i).is_some_and(&is_lost) {
                self.mark_lost(i);
            }
        }
    }

    /// Segments that were deemed lost are in flight after all.
    pub fn forget_losses(&mut self) {
        self.segments.for_each(|segment| segment.lost = false);
        if let Some(repairs) = &mut self.repairs {
            (repairs.lost, repairs.late_hint) = (Tally::default(), 0);
        }
    }

    fn mark_lost(&mut self, number: usize) -> bool {
        let Some(segment) = self.segments.get_mut(number) else { return false };
        if segment.sacked || (segment.lost && !segment.in_flight_again) {
            return false;
        }
        let (one, repairs) = (Tally::from(&*segment), self.repairs.get_or_insert_default());
        if segment.in_flight_again {
            segment.in_flight_again = false;
            repairs.in_flight_again -= one;
        }
        if !segment.lost {
            segment.lost = true;
            repairs.lost += one;
        }
        self.ever_lost += one.bytes;
        repairs.retransmit_hint = repairs.retransmit_hint.min(number);
        true
    }

    /// The oldest segment that is lost and not on its way again.
    pub fn next_lost(&mut self) -> Option<Sent> {
        let hint = self.repairs.as_deref().filter(|repairs| repairs.lost.segments > 0)?.retransmit_hint;
        let mut i = hint.max(self.segments.first());
        while self.segments.get(i).is_some_and(|segment| !segment.lost || segment.in_flight_again) {
            i += 1;
        }
        self.repairs.get_or_insert_default().retransmit_hint = i;
        self.segments.get(i).copied()
    }

    /// The oldest segment at or above `seq` and below the highest SACKed octet that is neither SACKed nor on its
    /// way again (RFC 6675 NextSeg rule 3).
    pub fn next_hole(&self, seq: Seq) -> Option<Sent> {
        let highest = self.sacked().end();
        let candidates = self.segments.iter_from(self.number_of(seq)).take_while(|s| s.seq < highest);
        candidates.copied().find(|s| !s.sacked && !s.in_flight_again)
    }

    /// The segment that starts at `seq` is retransmitted at `now`.
    pub fn retransmit(&mut self, seq: Seq, now: SimTime) {
        let number = self.number_of(seq);
        let segment = self.segments.get_mut(number).expect("what is sent again is outstanding");
        debug_assert_eq!(segment.seq, seq);
        let repairs = self.repairs.get_or_insert_default();
        if !segment.in_flight_again {
            segment.in_flight_again = true;
            repairs.in_flight_again += Tally::from(&*segment);
        }
        segment.retransmitted = true;
        segment.sent_at = now;
        repairs.repeated_until = repairs.repeated_until.max(segment.end());
        repairs.again.push_back(Again { sent_at: now, seq, number });
    }

    /// RFC 6675 IsLost, for all sequence numbers at once: every number below the result that is not SACKed is
    /// lost, because at least `dupthresh` discontiguous SACKed ranges or more than `(dupthresh - 1) * mss` SACKed
    /// bytes lie above it.
    pub fn lost_threshold(&self, dupthresh: u32, mss: u64) -> Seq {
        let mut above = 0;
        for (n, range) in self.sacked().iter().rev().enumerate() {
            above += range.len();
            if n as u64 + 1 >= u64::from(dupthresh) || above > u64::from(dupthresh - 1) * mss {
                return range.start;
            }
        }
        Seq::SYN
    }

    /// Checks the running sums against the segments; for tests.
    #[cfg(any(test, debug_assertions))]
    pub fn check(&self) {
        let sum = |f: &dyn Fn(&Sent) -> bool| -> Tally {
            self.segments
                .iter()
                .filter(|s| f(s))
                .map(Tally::from)
                .fold(Tally::default(), |sum, one| sum + one)
        };
        assert_eq!(self.outstanding, sum(&|_| true).bytes);
        assert_eq!(self.outstanding_counted, self.counted.of(sum(&|_| true)));
        let none = Repairs::default();
        let repairs = self.repairs.as_deref().unwrap_or(&none);
        assert_eq!(repairs.lost, sum(&|s| s.lost));
        assert_eq!(repairs.in_flight_again, sum(&|s| s.in_flight_again));
        assert_eq!(repairs.sacked_tally(), sum(&|s| s.sacked));
        assert!(self.segments.iter().all(|s| !(s.sacked && (s.lost || s.in_flight_again))));
        assert!(self.segments.iter().all(|s| !s.retransmitted || s.seq < repairs.repeated_until));
    }
}

#[cfg(test)]
mod tests;
