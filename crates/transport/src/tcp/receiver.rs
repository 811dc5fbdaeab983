//! The receiving half of a TCP connection or subflow: reassembly, SACK blocks, and when to acknowledge
//! (RFC 9293, RFC 5681 section 4.2, RFC 2018, RFC 2883).

use units::{Nanos, SimTime};

use super::ranges::{Range, RangeSet};
use super::segment::{SackBlocks, TcpSegment};
use crate::config::AckConfig;
use crate::space::{Reports, SpaceSignal};

/// For reports before the first sample.
const UNKNOWN_ROUND_TRIP: Nanos = Nanos::from_secs(1);

/// Is an acknowledgement owed?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// By this time at the latest.
    Later(SimTime),
    Now,
}

/// What arrived with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Sequence numbers that are now in order and were not before.
    pub in_order: Range,
    /// Payload bytes of the segment that had not arrived before.
    pub fresh: u64,
}

/// Segments with payload as a capture at this end would count them. It cannot tell a retransmission whose original was
/// lost from a segment that comes late: both arrive behind their successors and bring something new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// All that arrived.
    pub segments: u64,
    /// All of their payload had arrived before: visible retransmissions.
    pub repeated: u64,
    /// Something after them had arrived before.
    pub late: u64,
}

/// Sequence space received so far.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: AckConfig,
    sack: bool,
    next: u64,
    out_of_order: RangeSet,
    /// A number inside each of the most recently changed out-of-order ranges, latest first.
    recent: [u64; 4],
    duplicate: Option<Range>,
    owed: Owed,
    /// Data segments since the last acknowledgement.
    unacknowledged: u32,
    quick: u32,
    /// Sequence number of the peer's FIN, once seen.
    fin: Option<u64>,
    ts_recent: SimTime,
    last_ack_sent: u64,
    seen: Seen,
    /// What is stored behind a gap waits for `release` when the gap has been filled.
    holds_back: bool,
    /// What it reports besides acknowledgements, or in their place.
    reports: Option<Box<Reports>>,
    /// For the rhythm of acknowledgements and reports: the smallest sample, since echoes grow old during losses.
    round_trip: Option<Nanos>,
    last_ack_at: SimTime,
}

impl Receiver {
    /// Nothing received; the peer's SYN is sequence number 0.
    pub fn new(config: AckConfig, sack: bool) -> Self {
        Self {
            config,
            sack,
            next: 1,
            out_of_order: RangeSet::default(),
            recent: [0; 4],
            duplicate: None,
            owed: Owed::Nothing,
            unacknowledged: 0,
            quick: config.quick,
            fin: None,
            ts_recent: SimTime::NEVER,
            last_ack_sent: 0,
            seen: Seen::default(),
            holds_back: false,
            reports: None,
            round_trip: None,
            last_ack_at: SimTime::ZERO,
        }
    }

    /// Reports in this way from now on.
    pub fn report_by(&mut self, reports: Reports) {
        self.reports = Some(Box::new(reports));
    }

    /// From now on what fills a gap is taken alone, what is stored behind it by the next `release`.
    pub fn hold_back(&mut self) {
        self.holds_back = true;
    }

    /// Takes what is stored up to the next gap; that alone is no reason to acknowledge it. Returns rcv_nxt.
    pub fn release(&mut self) -> u64 {
        self.next = self.out_of_order.take_from(self.next);
        self.next
    }

    /// The peer is a plain one: acknowledges as `config` says.
    pub fn fall_back(&mut self, config: AckConfig) {
        self.config = config;
    }

    /// True if it works by the round-trip time and wants to be told it.
    pub fn wants_round_trip(&self) -> bool {
        self.config.per_round_trip > 0 || self.reports.is_some()
    }

    /// A round-trip time as this end sees it.
    pub fn note_round_trip(&mut self, sample: Nanos) {
        self.round_trip = Some(self.round_trip.map_or(sample, |known| known.min(sample)));
    }

    /// rcv_nxt.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes held above a gap.
    pub fn out_of_order(&self) -> u64 {
        self.out_of_order.bytes()
    }

    /// True once everything up to the FIN has arrived.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// What a capture would have counted.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// RFC 7323 section 4.3: the timestamp to echo, `NEVER` before the first.
    pub fn ts_recent(&self) -> SimTime {
        self.ts_recent
    }

    /// Takes the timestamp of a segment, also of a SYN.
    pub fn note_timestamp(&mut self, segment: &TcpSegment) {
        let Some(timestamps) = segment.timestamps else { return };
        let newer = self.ts_recent.is_never() || timestamps.value >= self.ts_recent;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = timestamps.value;
        }
    }

    /// Takes in the payload and FIN of a segment.
    pub fn on_segment(&mut self, now: SimTime, segment: &TcpSegment) -> Arrival {
        let owed = self.owed;
        let arrival = self.take_in(now, segment);
        if self.reports.is_some() {
            self.decide_to_report(now, segment, (owed, arrival.fresh));
        }
        arrival
    }

    /// A POLL of STP asks for the state of everything below `until`.
    pub fn on_poll(&mut self, number: u32, until: u64) {
        if let Some(Reports::Stp(reporter)) = self.reports.as_deref_mut() {
            reporter.polled(number, until);
            self.owed = Owed::Now;
        }
    }

    /// Who reports holes does not acknowledge around them: only what is new leaves at once. `before` is what was
    /// owed before the segment; it brought `fresh` bytes.
    fn decide_to_report(&mut self, now: SimTime, segment: &TcpSegment, (before, fresh): (Owed, u64)) {
        let range = Range::new(segment.seq, segment.end());
        match self.reports.as_deref_mut() {
            Some(Reports::Snack(reporter)) => {
                let urgent = reporter.arrived(now, range, self.next, &self.out_of_order);
                // Who sends what is here has missed an acknowledgement.
                let calm = self.fin.is_none() && before != Owed::Now && fresh > 0;
                if urgent {
                    self.owed = Owed::Now;
                } else if calm && let Some(at) = self.next_in_rhythm() {
                    self.owed = if at <= now { Owed::Now } else { Owed::Later(at) };
                }
            }
            Some(Reports::Stp(reporter)) => {
                if !range.is_empty() {
                    reporter.arrived(range, self.next);
                }
                self.owed = if reporter.is_due() { Owed::Now } else { before };
            }
            None => {}
        }
    }

    /// When the next of the acknowledgements per round trip is due; `None` if they are not sent like that, or the
    /// round trip is not known yet.
    fn next_in_rhythm(&self) -> Option<SimTime> {
        let times = u64::from(self.config.per_round_trip);
        let round_trip = self.round_trip.filter(|_| times > 0 && self.quick == 0)?;
        Some(self.last_ack_at + round_trip / times)
    }

    /// An acknowledgement went with data: reports need a segment of their own.
    pub fn acknowledged_with_data(&mut self, now: SimTime) {
        self.last_ack_at = now;
        let waiting = match self.reports.as_deref() {
            Some(Reports::Snack(reporter)) => reporter.is_due(now),
            Some(Reports::Stp(reporter)) => reporter.is_due(),
            None => false,
        };
        if waiting {
            self.owed = Owed::Now;
        }
    }

    /// Completes an acknowledgement that carries no data: reports go with it. Returns what is added to TCP.
    pub fn report_into(&mut self, now: SimTime, segment: &mut TcpSegment) -> Option<SpaceSignal> {
        self.last_ack_at = now;
        match self.reports.as_deref_mut() {
            Some(Reports::Snack(reporter)) => {
                let round_trip = self.round_trip.unwrap_or(UNKNOWN_ROUND_TRIP);
                let snack = reporter.report(now, self.next, &self.out_of_order, round_trip);
                if reporter.is_due(now) {
                    self.owed = Owed::Now;
                }
                snack.map(SpaceSignal::Snack)
            }
            Some(Reports::Stp(reporter)) => {
                let signal = reporter.report(self.next, &self.out_of_order, &mut segment.sack);
                if reporter.is_due() {
                    self.owed = Owed::Now;
                }
                signal
            }
            None => None,
        }
    }

    fn take_in(&mut self, now: SimTime, segment: &TcpSegment) -> Arrival {
        let end = segment.seq + u64::from(segment.len);
        if segment.flags.fin {
            self.fin = Some(end);
        }
        let range = Range::new(segment.seq, end + u64::from(segment.flags.fin));
        if range.is_empty() {
            // A window probe or keep-alive lies below rcv_nxt and must be answered (RFC 9293 3.10.7.4).
            if segment.seq < self.next {
                self.owed = Owed::Now;
            }
            return Arrival { in_order: Range::new(self.next, self.next), fresh: 0 };
        }
        let payload = u64::from(segment.len > 0);
        self.seen.segments += payload;
        if range.end <= self.next || self.out_of_order.covers(range) {
            self.seen.repeated += payload;
            self.duplicate = Some(range);
            self.owed = Owed::Now;
            return Arrival { in_order: Range::new(self.next, self.next), fresh: 0 };
        }
        let before = self.next;
        if range.start < self.out_of_order.end() {
            self.seen.late += payload;
        }
        let fresh = self.place(now, Range::new(range.start.max(before), range.end));
        Arrival {
            in_order: Range::new(before, self.next - u64::from(self.finished())),
            fresh: fresh - u64::from(segment.flags.fin),
        }
    }

    fn place(&mut self, now: SimTime, range: Range) -> u64 {
        if range.start > self.next {
            let fresh = self.out_of_order.insert(range);
            self.remember(range.start);
            self.owed = Owed::Now;
            return fresh;
        }
        if self.out_of_order.is_empty() {
            self.next = range.end;
            self.data_arrived(now);
            return range.len();
        }
        let fresh = self.out_of_order.insert(range);
        if self.holds_back {
            self.next = range.end;
            self.out_of_order.remove_below(range.end);
        } else {
            self.next = self.out_of_order.take_from(range.start);
        }
        // RFC 5681 section 4.2: a segment that fills all or part of a gap is acknowledged at once.
        self.owed = Owed::Now;
        fresh
    }

    fn remember(&mut self, point: u64) {
        let same_range =
            |known: u64| self.out_of_order.find(known).is_some_and(|r| r.start <= point && point < r.end);
        let position = self.recent.iter().position(|k| same_range(*k)).unwrap_or(self.recent.len() - 1);
        self.recent[..=position].rotate_right(1);
        self.recent[0] = point;
    }

    fn data_arrived(&mut self, now: SimTime) {
        self.unacknowledged += 1;
        if self.quick > 0 {
            self.quick -= 1;
            self.owed = Owed::Now;
        } else if let Some(at) = self.next_in_rhythm()
            && self.fin.is_none()
        {
            self.owed = match self.owed {
                Owed::Now => Owed::Now,
                _ if at <= now => Owed::Now,
                Owed::Nothing | Owed::Later(_) => Owed::Later(at),
            };
        } else if self.unacknowledged >= self.config.every || self.fin.is_some() {
            self.owed = Owed::Now;
        } else if self.owed == Owed::Nothing {
            self.owed = Owed::Later(now + self.config.delay);
        }
    }

    /// An acknowledgement must leave at once.
    pub fn acknowledge_now(&mut self) {
        self.owed = Owed::Now;
    }

    /// True if an acknowledgement is due at `now`.
    pub fn ack_is_due(&self, now: SimTime) -> bool {
        match self.owed {
            Owed::Nothing => false,
            Owed::Later(at) => at <= now,
            Owed::Now => true,
        }
    }

    /// An acknowledgement is due, or will be if nothing else carries it.
    pub fn owes_ack(&self) -> bool {
        self.owed != Owed::Nothing
    }

    /// When a delayed acknowledgement is due, `NEVER` if none is owed.
    pub fn ack_deadline(&self) -> SimTime {
        match self.owed {
            Owed::Nothing => SimTime::NEVER,
            Owed::Later(at) => at,
            Owed::Now => SimTime::ZERO,
        }
    }

    /// The segment about to leave acknowledges everything; with at most `limit` SACK blocks.
    pub fn acknowledge(&mut self, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        self.acknowledge_into(limit, &mut blocks);
        blocks
    }

    /// The same, into `blocks`, which is empty.
    pub fn acknowledge_into(&mut self, limit: usize, blocks: &mut SackBlocks) {
        self.owed = Owed::Nothing;
        self.unacknowledged = 0;
        self.last_ack_sent = self.next;
        let duplicate = self.duplicate.take();
        if !self.sack || limit == 0 || (self.out_of_order.is_empty() && duplicate.is_none()) {
            return;
        }
        if let Some(duplicate) = duplicate {
            blocks.push(duplicate);
        }
        for point in self.recent {
            if blocks.as_slice().len() >= limit {
                break;
            }
            if let Some(range) = self.out_of_order.find(point)
                && !blocks.as_slice().contains(&range)
            {
                blocks.push(range);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Flags;

    const CONFIG: AckConfig =
        AckConfig { every: 2, delay: Nanos::from_millis(40), quick: 0, per_round_trip: 0 };

    fn data(seq: u64, len: u32) -> TcpSegment {
        TcpSegment { seq, len, flags: Flags { ack: true, ..Flags::default() }, ..TcpSegment::default() }
    }

    #[test]
    fn delays_every_second_ack_and_none_around_gaps() {
        let mut receiver = Receiver::new(CONFIG, true);
        let at = SimTime::from_millis;
        assert_eq!(receiver.on_segment(at(0), &data(1, 100)).in_order, Range::new(1, 101));
        assert_eq!((receiver.ack_is_due(at(0)), receiver.ack_deadline()), (false, at(40)));
        receiver.on_segment(at(1), &data(101, 100));
        assert!(receiver.ack_is_due(at(1)));
        receiver.acknowledge(3);
        let arrival = receiver.on_segment(at(2), &data(301, 100));
        assert_eq!((arrival.in_order.len(), arrival.fresh), (0, 100));
        assert!(receiver.ack_is_due(at(2)), "out of order");
        receiver.acknowledge(3);
        assert_eq!(receiver.on_segment(at(3), &data(201, 100)).in_order, Range::new(201, 401));
        assert!(receiver.ack_is_due(at(3)), "fills a gap");
    }

    #[test]
    fn sack_blocks_are_most_recent_first_and_duplicates_are_reported() {
        let mut receiver = Receiver::new(CONFIG, true);
        for seq in [201, 401, 601, 301, 801] {
            receiver.on_segment(SimTime::ZERO, &data(seq, 100));
        }
        let blocks = receiver.acknowledge(3);
        assert_eq!(blocks.as_slice(), [Range::new(801, 901), Range::new(201, 501), Range::new(601, 701)]);
        receiver.on_segment(SimTime::ZERO, &data(301, 100));
        let blocks = receiver.acknowledge(2);
        assert_eq!(blocks.as_slice(), [Range::new(301, 401), Range::new(801, 901)], "DSACK first");
        assert_eq!(receiver.acknowledge(1).as_slice(), [Range::new(801, 901)]);
        assert_eq!(receiver.acknowledge(0).as_slice(), []);
    }

    #[test]
    fn the_fin_counts_once_everything_before_it_is_there() {
        let mut receiver = Receiver::new(CONFIG, true);
        let mut last = data(101, 100);
        last.flags.fin = true;
        receiver.on_segment(SimTime::ZERO, &last);
        assert!(!receiver.finished());
        let arrival = receiver.on_segment(SimTime::ZERO, &data(1, 100));
        assert_eq!((arrival.in_order, receiver.finished()), (Range::new(1, 201), true));
        assert_eq!(receiver.next(), 202);
    }

    #[test]
    fn a_window_probe_is_answered() {
        let mut receiver = Receiver::new(CONFIG, true);
        receiver.on_segment(SimTime::ZERO, &data(0, 0));
        assert!(receiver.ack_is_due(SimTime::ZERO));
    }
}
