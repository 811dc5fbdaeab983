//! The receiving half of a TCP connection or subflow: reassembly, SACK blocks, and when to acknowledge
//! (RFC 9293, RFC 5681 section 4.2, RFC 2018, RFC 2883).

use units::SimTime;

use super::ranges::{Range, RangeSet};
use crate::config::AckConfig;
use crate::segment::{SackBlocks, Segment};

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
    /// The peer's FIN is now in order.
    pub finished: bool,
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
    duplicates: u64,
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
            duplicates: 0,
        }
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

    /// Segments that brought nothing new.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// RFC 7323 section 4.3: the timestamp to echo, `NEVER` before the first.
    pub fn ts_recent(&self) -> SimTime {
        self.ts_recent
    }

    /// Takes the timestamp of a segment, also of a SYN.
    pub fn note_timestamp(&mut self, segment: &Segment) {
        let Some(timestamps) = segment.timestamps else { return };
        let newer = self.ts_recent.is_never() || timestamps.value >= self.ts_recent;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = timestamps.value;
        }
    }

    /// Takes in the payload and FIN of a segment.
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment) -> Arrival {
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
            return Arrival { in_order: Range::new(self.next, self.next), fresh: 0, finished: false };
        }
        if range.end <= self.next || self.out_of_order.covers(range) {
            self.duplicates += 1;
            self.duplicate = Some(range);
            self.owed = Owed::Now;
            return Arrival { in_order: Range::new(self.next, self.next), fresh: 0, finished: false };
        }
        let before = self.next;
        let fresh = self.place(now, Range::new(range.start.max(before), range.end));
        let finished = self.finished();
        let fin_byte = u64::from(finished);
        Arrival {
            in_order: Range::new(before, self.next - fin_byte),
            fresh: fresh - u64::from(segment.flags.fin),
            finished,
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
        self.next = self.out_of_order.take_from(range.start);
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
    use units::Nanos;

    use super::*;
    use crate::segment::Flags;

    const CONFIG: AckConfig = AckConfig { every: 2, delay: Nanos::from_millis(40), quick: 0 };

    fn data(seq: u64, len: u32) -> Segment {
        Segment { seq, len, flags: Flags { ack: true, ..Flags::default() }, ..Segment::default() }
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
        assert!(!receiver.on_segment(SimTime::ZERO, &last).finished);
        let arrival = receiver.on_segment(SimTime::ZERO, &data(1, 100));
        assert_eq!((arrival.in_order, arrival.finished), (Range::new(1, 201), true));
        assert_eq!(receiver.next(), 202);
    }

    #[test]
    fn a_window_probe_is_answered() {
        let mut receiver = Receiver::new(CONFIG, true);
        receiver.on_segment(SimTime::ZERO, &data(0, 0));
        assert!(receiver.ack_is_due(SimTime::ZERO));
    }
}
