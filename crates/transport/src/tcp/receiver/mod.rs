//! The receiving half of a TCP connection or subflow (RFC 9293, RFC 5681 section 4.2, RFC 2018, RFC 2883).
//!
//! | Part | State |
//! |---|---|
//! | `reassembly.rs` | what has arrived, and the SACK blocks that say so |
//! | `acks.rs` | when an acknowledgement is due |
//! | `pushed.rs` | which one leaves as soon as everything is read |
//! | `echo.rs` | the timestamp that is echoed |
//! | `../../space/` | reports of SCPS-TP and STP, which go with acknowledgements or take their place |

mod acks;
mod echo;
mod pushed;
mod reassembly;

use units::{Bytes, Nanos, SimTime};

use super::ranges::Range;
use super::segment::{SackBlocks, TcpSegment};
use crate::config::AckConfig;
use crate::seq::Seq;
use crate::space::{Due, Reports, SpaceSignal};

use acks::{AckSchedule, Owed};
use echo::TimestampEcho;
use reassembly::{Place, ReassemblyQueue};

/// For reports before the first sample.
const UNKNOWN_ROUND_TRIP: Nanos = Nanos::from_secs(1);

/// Effect of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Sequence numbers of data that are now in order and were not before.
    pub in_order: Range<Seq>,
    /// Payload bytes of the segment that had not arrived before.
    pub fresh: Bytes,
}

impl Received {
    /// The segment, of `len` bytes, has brought more into order than itself.
    #[inline]
    pub fn has_filled_gap(&self, len: u32) -> bool {
        self.in_order.len() > u64::from(len)
    }
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

/// The receiving half.
#[derive(Clone, Debug)]
pub struct Receiver {
    queue: ReassemblyQueue,
    acks: AckSchedule,
    echo: TimestampEcho,
    /// SACK blocks may be sent.
    sack: bool,
    seen: Seen,
    /// Reports besides acknowledgements, or in their place.
    reports: Option<Box<Reports>>,
}

impl Receiver {
    /// Nothing received; the peer's SYN is sequence number 0. `subflow`: of a connection of several.
    pub fn new(config: AckConfig, sack: bool, subflow: bool) -> Self {
        Self {
            queue: ReassemblyQueue::new(),
            acks: AckSchedule::new(config, subflow),
            echo: TimestampEcho::new(),
            sack,
            seen: Seen::default(),
            reports: None,
        }
    }

    /// Reports in this way from now on.
    pub fn report_by(&mut self, reports: Reports) {
        self.reports = Some(Box::new(reports));
    }

    /// From now on data that fills a gap is taken alone; data stored behind it is taken by the next `release`.
    pub fn hold_back(&mut self) {
        self.queue.hold_back();
    }

    /// Takes what is stored up to the next gap; that alone is no reason to acknowledge it. Returns rcv_nxt.
    pub fn release(&mut self) -> Seq {
        self.queue.release()
    }

    /// The peer is a plain one: acknowledges as `config` says.
    pub fn fall_back(&mut self, config: AckConfig) {
        self.acks.fall_back(config);
    }

    /// True if it works by the round-trip time and wants to be told it.
    #[inline]
    pub fn wants_round_trip(&self) -> bool {
        self.acks.goes_by_round_trips() || self.reports.is_some()
    }

    /// A round-trip time as this end sees it.
    pub fn note_round_trip(&mut self, sample: Nanos) {
        self.acks.note_round_trip(sample);
    }

    /// rcv_nxt.
    #[inline]
    pub fn next(&self) -> Seq {
        self.queue.next()
    }

    /// Bytes of data in order.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        self.queue.data_end() - Seq::FIRST_DATA
    }

    /// Bytes held above a gap.
    #[inline]
    pub fn out_of_order(&self) -> u64 {
        self.queue.out_of_order().bytes()
    }

    /// After the last byte held above a gap; 0 if there is none.
    pub fn out_of_order_end(&self) -> Seq {
        self.queue.out_of_order().end()
    }

    /// True once everything up to the FIN has arrived.
    #[inline]
    pub fn finished(&self) -> bool {
        self.queue.finished()
    }

    /// Counters as a capture would have them.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// RFC 7323 section 4.3: the timestamp to echo, `NEVER` before the first.
    #[inline]
    pub fn ts_recent(&self) -> SimTime {
        self.echo.recent()
    }

    /// Takes the timestamp of a segment, also of a SYN.
    #[inline]
    pub fn note_timestamp(&mut self, segment: &TcpSegment) {
        self.echo.note(segment);
    }

    /// The segment brings the next data, nothing is missing before it, and no end of the stream is known.
    #[inline]
    pub fn expects(&self, segment: &TcpSegment) -> bool {
        segment.seq == self.queue.next()
            && segment.len > 0
            && !segment.flags.fin
            && self.queue.is_in_order()
            && self.reports.is_none()
    }

    /// Takes in a segment that `expects` is true for: as `on_segment`, on the usual way.
    #[inline]
    pub fn on_usual_segment(&mut self, now: SimTime, segment: &TcpSegment) -> Received {
        let in_order = segment.payload();
        self.queue.append(in_order);
        self.seen.segments += 1;
        self.acks.data_arrived(now, segment, false);
        self.check();
        Received { in_order, fresh: Bytes(u64::from(segment.len)) }
    }

    /// Takes in the payload and FIN of a segment.
    #[inline(never)]
    pub fn on_segment(&mut self, now: SimTime, segment: &TcpSegment) -> Received {
        let owed = self.acks.owed();
        let received = self.take_in(now, segment);
        if self.reports.is_some() {
            self.decide_to_report(now, segment, (owed, received.fresh));
        }
        received
    }

    fn take_in(&mut self, now: SimTime, segment: &TcpSegment) -> Received {
        let (range, fin) = (Range::new(segment.seq, segment.end()), segment.flags.fin);
        if fin {
            self.queue.note_fin(segment.payload().end);
        }
        let before = self.queue.next();
        let nothing = Received { in_order: Range::new(before, before), fresh: Bytes::ZERO };
        if range.is_empty() {
            // A window probe or keep-alive lies below rcv_nxt and must be answered (RFC 9293 3.10.7.4).
            if segment.seq < before {
                self.acks.at_once();
            }
            return nothing;
        }
        let payload = u64::from(segment.len > 0);
        let overtaken = range.start < self.queue.out_of_order().end();
        let (place, fresh) = self.queue.insert(range);
        self.seen.segments += payload;
        match place {
            Place::Duplicate => {
                self.seen.repeated += payload;
                self.acks.at_once();
                self.check();
                return nothing;
            }
            Place::InOrder => self.acks.data_arrived(now, segment, self.queue.fin_is_known()),
            // RFC 5681 section 4.2: at once above a gap, and when a segment fills all or part of one.
            Place::AboveGap | Place::InGap => {
                self.seen.late += payload * u64::from(overtaken);
                self.acks.at_once();
            }
        }
        self.check();
        Received {
            in_order: Range::new(before, self.queue.data_end()),
            fresh: Bytes(fresh.0 - u64::from(fin)),
        }
    }

    /// Takes the signals of `segment` beyond TCP: it may ask for a report.
    #[cold]
    pub fn on_signal(&mut self, signal: &SpaceSignal, segment: &TcpSegment) {
        if self.reports.as_deref_mut().is_some_and(|reports| reports.on_signal(signal, segment.seq)) {
            self.acks.at_once();
        }
    }

    /// A receiver that reports holes does not acknowledge around them: only what is new leaves at once. `before` is what
    /// was owed before the segment; it brought `fresh` bytes.
    fn decide_to_report(&mut self, now: SimTime, segment: &TcpSegment, (before, fresh): (Owed, Bytes)) {
        let Some(reports) = self.reports.as_deref_mut() else { return };
        let (range, queue) = (Range::new(segment.seq, segment.end()), &self.queue);
        match reports.arrived(now, range, (queue.next(), queue.out_of_order())) {
            Due::Now => self.acks.at_once(),
            Due::InRhythm => {
                // A retransmission of data received already means that our ACK was lost.
                let calm = !queue.fin_is_known() && before != Owed::NOW && fresh > Bytes::ZERO;
                if calm && let Some(at) = self.acks.next_in_rhythm() {
                    self.acks.decide(if at <= now { Owed::NOW } else { Owed::by(at) });
                }
            }
            Due::AsBefore => self.acks.decide(before),
        }
    }

    /// An acknowledgement went with data: reports need a segment of their own.
    #[inline]
    pub fn acknowledged_with_data(&mut self, now: SimTime) {
        self.acks.left(now);
        if self.reports.as_deref().is_some_and(|reports| reports.is_due(now)) {
            self.acks.at_once();
        }
    }

    /// Completes an acknowledgement that carries no data: reports go with it. Returns what is added to TCP.
    #[inline]
    pub fn report_into(&mut self, now: SimTime, segment: &mut TcpSegment) -> Option<SpaceSignal> {
        self.acks.left(now);
        let (signal, more) = self.reports.as_deref_mut()?.report_into(
            now,
            (self.queue.next(), self.queue.out_of_order()),
            self.acks.round_trip().unwrap_or(UNKNOWN_ROUND_TRIP),
            segment,
        );
        if more {
            self.acks.at_once();
        }
        signal
    }

    /// False if it answers polls alone: then the peer learns the window by asking.
    pub fn acknowledges(&self) -> bool {
        self.reports.as_deref().is_none_or(Reports::acknowledges)
    }

    /// An acknowledgement must leave at once.
    pub fn acknowledge_now(&mut self) {
        self.acks.at_once();
    }

    /// Everything that has come is read: an ACK that was held back leaves now if its segment ended what the sender had.
    #[inline]
    pub fn everything_is_read(&mut self) {
        self.acks.everything_is_read();
    }

    /// `everything_is_read` would let an ACK leave.
    #[inline]
    pub fn awaits_read(&self) -> bool {
        self.acks.awaits_read()
    }

    /// A segment with payload leaves.
    #[inline]
    pub fn data_leaves(&mut self, now: SimTime) {
        self.acks.data_leaves(now);
    }

    /// The window opens with the segment that has arrived: the peer learns it at once.
    #[inline]
    pub fn window_opened(&mut self) {
        self.acks.window_opened();
    }

    /// True if an acknowledgement is due at `now`.
    #[inline]
    pub fn ack_is_due(&self, now: SimTime) -> bool {
        self.acks.deadline() <= now
    }

    /// An acknowledgement is due, or will be if nothing else carries it.
    #[inline]
    pub fn owes_ack(&self) -> bool {
        self.acks.owed() != Owed::NOTHING
    }

    /// When a delayed acknowledgement is due, `NEVER` if none is owed.
    #[inline]
    pub fn ack_deadline(&self) -> SimTime {
        self.acks.deadline()
    }

    /// The segment about to leave acknowledges everything: with at most `limit` SACK blocks, written into `blocks`, which
    /// is empty.
    #[inline(always)]
    pub fn acknowledge_into(&mut self, now: SimTime, limit: usize, blocks: &mut SackBlocks) {
        self.acks.acknowledged(now);
        self.echo.acknowledged(self.queue.next());
        self.queue.report_into(if self.sack { limit } else { 0 }, blocks);
    }

    #[inline]
    fn check(&self) {
        debug_assert!(
            self.queue.out_of_order().is_empty() || self.owes_ack() || self.reports.is_some(),
            "a segment above a gap is acknowledged at once"
        );
        debug_assert!(self.seen.repeated + self.seen.late <= self.seen.segments, "{:?}", self.seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AckPushed;
    use crate::tcp::segment::Flags;

    const CONFIG: AckConfig = AckConfig {
        every: 2,
        delay: Nanos::from_millis(40),
        quick: 0,
        per_round_trip: 0,
        pushed: AckPushed::Never,
    };

    fn data(seq: u64, len: u32) -> TcpSegment {
        TcpSegment {
            seq: Seq(seq),
            len,
            flags: Flags { ack: true, ..Flags::default() },
            ..TcpSegment::default()
        }
    }

    fn range(start: u64, end: u64) -> Range<Seq> {
        Range::new(Seq(start), Seq(end))
    }

    fn blocks(receiver: &mut Receiver, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        receiver.acknowledge_into(SimTime::ZERO, limit, &mut blocks);
        blocks
    }

    #[test]
    fn delays_every_second_ack_and_none_around_gaps() {
        let mut receiver = Receiver::new(CONFIG, true, false);
        let at = SimTime::from_millis;
        assert_eq!(receiver.on_segment(at(0), &data(1, 100)).in_order, range(1, 101));
        assert_eq!((receiver.ack_is_due(at(0)), receiver.ack_deadline()), (false, at(40)));
        receiver.on_segment(at(1), &data(101, 100));
        assert!(receiver.ack_is_due(at(1)));
        blocks(&mut receiver, 3);
        let arrival = receiver.on_segment(at(2), &data(301, 100));
        assert_eq!((arrival.in_order.len(), arrival.fresh), (0, Bytes(100)));
        assert!(receiver.ack_is_due(at(2)), "out of order");
        blocks(&mut receiver, 3);
        assert_eq!(receiver.on_segment(at(3), &data(201, 100)).in_order, range(201, 401));
        assert!(receiver.ack_is_due(at(3)), "fills a gap");
    }

    #[test]
    fn sack_blocks_are_most_recent_first_and_duplicates_are_reported() {
        let mut receiver = Receiver::new(CONFIG, true, false);
        for seq in [201, 401, 601, 301, 801] {
            receiver.on_segment(SimTime::ZERO, &data(seq, 100));
        }
        let sack = blocks(&mut receiver, 3);
        assert_eq!(sack.as_slice(), [range(801, 901), range(201, 501), range(601, 701)]);
        receiver.on_segment(SimTime::ZERO, &data(301, 100));
        let sack = blocks(&mut receiver, 2);
        assert_eq!(sack.as_slice(), [range(301, 401), range(801, 901)], "DSACK first");
        assert_eq!(blocks(&mut receiver, 1).as_slice(), [range(801, 901)]);
        assert_eq!(blocks(&mut receiver, 0).as_slice(), []);
    }

    #[test]
    fn the_fin_counts_once_everything_before_it_is_there() {
        let mut receiver = Receiver::new(CONFIG, true, false);
        let mut last = data(101, 100);
        last.flags.fin = true;
        receiver.on_segment(SimTime::ZERO, &last);
        assert!(!receiver.finished());
        let arrival = receiver.on_segment(SimTime::ZERO, &data(1, 100));
        assert_eq!((arrival.in_order, receiver.finished()), (range(1, 201), true));
        assert_eq!(receiver.next(), Seq(202));
    }

    #[test]
    fn a_window_probe_is_answered() {
        let mut receiver = Receiver::new(CONFIG, true, false);
        receiver.on_segment(SimTime::ZERO, &data(0, 0));
        assert!(receiver.ack_is_due(SimTime::ZERO));
    }
}
