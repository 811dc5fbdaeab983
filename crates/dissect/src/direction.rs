//! One direction of one subflow, as packets show it at one place.
//!
//! May: count bytes and packets, keep mappings. May not: know other subflows.

use std::collections::{BTreeMap, VecDeque};

use transport::seq::{Position as _, Seq, Seq32};
use transport::tcp::ranges::{Range, RangeSet};

use crate::beginning::Beginning;
use crate::held::Holding;
use crate::pace::Paces;
use crate::round_trips::RoundTrips;
use crate::samples::{Course, Sample};
use crate::waiting::{Cause, Sent};

/// Mappings that are kept: those of data behind a gap, and of data without an option of its own; kernels repeat theirs.
const MAPPINGS: usize = 1 << 16;
/// Segments that an ACK acknowledges at most, to tell a rate.
const MOST_PER_ACK: u64 = 4;
/// Segments of which the round trip is measured at once.
const MEASURED: usize = 4096;

/// A mapping from sequence numbers of the subflow to data sequence numbers, both counted from the initial ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) seq: u64,
    pub(crate) dsn: u64,
    pub(crate) len: u64,
}

/// Counters of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP datagrams.
    pub wire_bytes: u64,
    /// Packets with payload.
    pub segments: u64,
    /// Payload, repetitions included.
    pub bytes: u64,
    /// Segments with payload that this place has seen before, and how much of it.
    pub repeated_segments: u64,
    /// Bytes seen before.
    pub repeated_bytes: u64,
    /// Segments with payload of which this place has seen every byte before.
    pub copied_segments: u64,
    /// Segments with payload seen for the first time behind data that was seen earlier: reordered, or filling a gap.
    pub late_segments: u64,
    /// Duplicate ACKs.
    pub duplicate_acks: u64,
    /// Bytes that are new on this subflow, and were on another one before.
    pub reinjected_bytes: u64,
    /// Bytes of a multipath connection without a mapping.
    pub unmapped_bytes: u64,
}

/// State of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    pub(crate) counts: Counts,
    /// `None` before its first packet.
    initial: Option<Seq32>,
    /// Its SYN was seen: sequence numbers count from it, otherwise from the first that was seen.
    pub(crate) synchronised: bool,
    /// Highest sequence number.
    highest: Seq,
    seen: RangeSet<u64>,
    /// Bytes before it have been seen without a gap.
    next: u64,
    /// By first sequence number.
    mappings: BTreeMap<u64, Mapped>,
    /// The mapping of all data behind a fallback.
    pub(crate) fallen: Option<Mapped>,
    /// Where its sequence numbers begin, if the SYN was not captured.
    beginning: Option<Beginning>,
    /// Acknowledgements of this direction, and what they tell of its receiver.
    pub(crate) heard: Heard,
    pub(crate) held: Holding,
    pub(crate) course: Course,
    /// Times of the first and the last packet with payload, and of the last byte that continues what was seen without a gap.
    pub(crate) data: Option<[u64; 3]>,
    /// A FIN was seen.
    pub(crate) fin: bool,
    /// Largest payload of a segment, and largest datagram.
    largest: u64,
}

/// Acknowledgements, windows and round trips of a direction, which packets of the other direction tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// Segments that were sent once.
    sent: VecDeque<Once>,
    /// Segments that were sent again: the last time, by their ends.
    again: BTreeMap<u64, Transmission>,
    /// Transmissions that were repeated.
    lost: Vec<Transmission>,
    /// Timestamps of this direction, with the time of the first packet that has each.
    stamps: VecDeque<(u32, u64)>,
    /// Data up to here does not tell a round trip by its acknowledgement alone.
    rtt_until: u64,
    /// Highest SACK block of the other direction.
    sacked: u64,
    /// Highest acknowledgement of this direction by the other, and when it came.
    acked: u64,
    pub(crate) acked_at: Option<u64>,
    /// The last packet of this direction as far as a duplicate ACK repeats it.
    last: Option<Acknowledged>,
    /// Its acknowledgements are held back on purpose (SCPS-TP): the newest data of each has waited least.
    pub(crate) held_back: bool,
    pub(crate) windows: Windows,
    /// Round trips of the data of this direction that was sent once, and of all by their echoed timestamps.
    pub(crate) rtt: RoundTrips,
    pub(crate) echoed: RoundTrips,
    /// Rates at which it is acknowledged.
    pub(crate) paces: Paces,
}

/// Windows of a direction, and that of the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    /// Shift of the windows of this direction, from its SYN.
    pub(crate) scale: Option<u8>,
    /// Without a shift its windows are not scaled: no option of its SYN was cut off.
    pub(crate) unscaled: bool,
    /// Window that the other end offers to this direction.
    pub(crate) offered: Option<u64>,
}

/// Fields that a duplicate ACK has in common with the packet before it. RFC 8684 section 3.4.1: an ACK with a signal of MPTCP is none, nor
/// one that answers it. As in Wireshark that is the first one behind an option of a kind that is new to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) ack: Seq32,
    pub(crate) window: u16,
    /// Subtypes of options of MPTCP that its connection had before, a bit each.
    pub(crate) subtypes: u16,
}

/// A segment of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Its number among those with payload in the direction, from 1.
    pub(crate) number: u64,
    /// When it was sent.
    pub(crate) at: u64,
}

/// A segment that was sent once.
#[derive(Clone, Copy, Debug)]
struct Once {
    /// Behind its last byte.
    end: u64,
    packet: Transmission,
    /// Its timestamp.
    stamp: u32,
}

impl Default for Windows {
    fn default() -> Self {
        Self { scale: None, unscaled: true, offered: None }
    }
}

impl Heard {
    /// A range is sent again by `packet`: the transmissions before are taken for lost.
    fn repeat(&mut self, range: Range<u64>, packet: Transmission) {
        let inside = |end: u64| range.start < end && end <= range.end;
        let first = self.sent.partition_point(|once| once.end <= range.start);
        let last = self.sent.partition_point(|once| once.end <= range.end);
        let once = self.sent.drain(first..last).map(|once| once.packet);
        let room = MEASURED.saturating_sub(self.lost.len());
        self.lost.extend(once.chain(self.again.remove(&range.end)).take(room));
        debug_assert!(self.sent.iter().all(|once| !inside(once.end)), "a repeated segment was sent twice");
        self.again.insert(range.end, packet);
        if self.again.len() > MEASURED {
            self.again.pop_first();
        }
    }

    /// Sequence numbers begin anew: a SYN behind data, which was reordered or belongs to a damaged file.
    fn restart(&mut self) {
        (self.sent, self.again) = Default::default();
        (self.rtt_until, self.sacked, self.acked) = (0, 0, 0);
    }

    /// A packet of this direction has this timestamp.
    pub(crate) fn stamp(&mut self, at: u64, value: u32) {
        if self.stamps.back().is_none_or(|(known, _)| *known != value) {
            self.stamps.push_back((value, at));
            if self.stamps.len() > MEASURED {
                self.stamps.pop_front();
            }
        }
    }

    /// When the first packet of this direction came that has this timestamp.
    pub(crate) fn stamped(&self, value: u32) -> Option<u64> {
        let place = self.stamps.partition_point(|(known, _)| Seq32(*known).precedes(Seq32(value)));
        self.stamps.get(place).filter(|(known, _)| *known == value).map(|(_, at)| *at)
    }

    /// When that was sent which an ACK of new data echoes. RFC 7323 section 4.3: of several segments the oldest. Several packets may have the same
    /// timestamp; then it is the first of them, if it is not the oldest segment.
    fn echoed_at(&mut self, echo: Option<u32>, oldest: Option<Once>) -> Option<u64> {
        let Some(echo) = echo else { return oldest.map(|once| once.packet.at) };
        while let Some((value, _)) = self.stamps.front()
            && Seq32(*value).precedes(Seq32(echo))
        {
            self.stamps.pop_front();
        }
        let exact = oldest.filter(|once| once.stamp == echo).map(|once| once.packet.at);
        exact.or_else(|| self.stamps.front().filter(|(value, _)| *value == echo).map(|(_, at)| *at))
    }

    /// When the segment was sent that a SACK has reached, if it was sent once.
    fn sacked_at(&self, sacked: Option<Seq>) -> Option<u64> {
        let end = sacked.map(Seq::distance).filter(|end| *end > self.sacked)?;
        let place = self.sent.binary_search_by_key(&end, |once| once.end).ok()?;
        self.sent.get(place).map(|once| once.packet.at)
    }

    /// Transmissions that were repeated, the first of them.
    pub(crate) fn lost(&self) -> &[Transmission] {
        &self.lost
    }

    /// An ACK of this direction. `bare`: it carries nothing but an acknowledgement, and comes behind all data of its sender.
    pub(crate) fn note_ack(&mut self, found: Acknowledged, bare: bool, counts: &mut Counts) {
        if bare && found.window > 0 && self.last == Some(found) {
            counts.duplicate_acks += 1;
        }
        self.last = Some(found);
    }
}

impl Direction {
    /// The number of a field of this direction. Without a SYN the first one seen is the first byte.
    pub(crate) fn seq(&mut self, field: Seq32, syn: bool) -> Seq {
        if syn && !self.synchronised {
            (self.initial, self.synchronised, self.highest) = (Some(field), true, Seq::SYN);
            (self.seen, self.next) = (RangeSet::default(), 1);
            self.heard.restart();
        }
        let before_first = Seq32(field.0.wrapping_sub(1));
        let initial = *self.initial.get_or_insert(before_first);
        field.extend(initial, self.highest)
    }

    /// The same for an acknowledgement of this direction, which changes nothing.
    pub(crate) fn acknowledged(&self, field: Seq32) -> Option<Seq> {
        self.initial.map(|initial| field.extend(initial, self.highest))
    }

    /// A segment with payload. `each` is called with the parts that are new here; mostly one. Returns what now is complete: the
    /// bytes from where the first gap was to where it is.
    pub(crate) fn data(
        &mut self,
        at: u64,
        seq: Seq,
        len: u64,
        mut each: impl FnMut(&mut Self, Range<u64>),
    ) -> Range<u64> {
        let range = Range::new(seq.distance(), seq.distance() + len);
        self.counts.segments += 1;
        self.counts.bytes += len;
        self.largest = self.largest.max(len);
        if self.data.is_none() && !self.synchronised {
            // The capture began in the middle: data before it is no gap.
            self.next = range.start;
        }
        let [first, _, complete] = self.data.unwrap_or([at; 3]);
        let packet = Transmission { number: self.counts.segments, at };
        let behind = range.start < self.highest.distance();
        let mut fresh = 0;
        if !behind {
            // Nothing of it has been seen.
            fresh += self.seen.insert(range);
            each(self, range);
        } else {
            while let Some(gap) = self.seen.first_gap(range) {
                fresh += self.seen.insert(gap);
                each(self, gap);
            }
        }
        self.counts.repeated_segments += u64::from(fresh < len);
        self.counts.repeated_bytes += len - fresh;
        self.counts.copied_segments += u64::from(fresh == 0);
        self.counts.late_segments += u64::from(behind && fresh > 0);
        if fresh == len && !behind {
            let stamp = self.heard.stamps.back().map_or(0, |(stamp, _)| *stamp);
            self.heard.sent.push_back(Once { end: range.end, packet, stamp });
            if self.heard.sent.len() > MEASURED {
                self.heard.sent.pop_front();
            }
        } else {
            // Karn: an ACK of repeated data says nothing on the round trip, and one that fills a gap comes late for all behind it.
            self.heard.rtt_until = self.highest.distance();
            self.heard.repeat(range, packet);
            self.course.waiting.repeats(self.highest.distance());
        }
        self.highest = self.highest.max(Seq(range.end));
        let before = self.next;
        self.next = self.seen.find(before).map_or(before, |whole| whole.end);
        self.data = Some([first, at, if self.next > before { at } else { complete }]);
        self.check();
        Range::new(before, self.next)
    }

    /// A packet with DATA chunks of SCTP: user data in all, of it new here, put on this path by it, and whether later chunks were
    /// seen before. The data of a path is counted as if it followed each other.
    pub(crate) fn chunks(&mut self, at: u64, [len, fresh, placed]: [u64; 3], late: bool) -> Transmission {
        self.counts.segments += 1;
        self.counts.bytes += len;
        self.largest = self.largest.max(len);
        self.counts.repeated_segments += u64::from(fresh < len);
        self.counts.repeated_bytes += len - fresh;
        // A damaged chunk may have no user data.
        self.counts.copied_segments += u64::from(fresh == 0 && len > 0);
        self.counts.late_segments += u64::from(late && fresh > 0);
        let unique = self.seen.bytes();
        self.seen.insert(Range::new(1 + unique, (1 + unique).saturating_add(fresh)));
        self.highest = Seq(self.highest.distance().saturating_add(placed));
        let first = self.data.map_or(at, |[first, ..]| first);
        self.data = Some([first, at, at]);
        if fresh < len {
            self.course.waiting.repeats(self.highest.distance());
        }
        self.check();
        Transmission { number: self.counts.segments, at }
    }

    /// A packet with user data that its receiver discards: it counts as one that has arrived.
    pub(crate) fn discarded(&mut self, len: u64) {
        self.counts.segments += 1;
        self.counts.bytes += len;
        self.largest = self.largest.max(len);
        self.check();
    }

    /// A datagram with payload: each is new.
    pub(crate) fn datagram(&mut self, at: u64, len: u64) {
        self.counts.segments += 1;
        self.counts.bytes += len;
        self.largest = self.largest.max(len);
        let start = self.unique().saturating_add(1);
        self.next = start.saturating_add(len);
        self.seen.insert(Range::new(start, self.next));
        self.highest = Seq(self.next);
        let first = self.data.map_or(at, |[first, ..]| first);
        self.data = Some([first, at, at]);
        self.check();
    }

    /// User data that is no longer outstanding on this path: acknowledged, or sent again over another one.
    pub(crate) fn release(&mut self, at: u64, len: u64) {
        self.heard.acked = self.heard.acked.saturating_add(len).min(self.highest.distance());
        self.heard.acked_at = Some(at);
    }

    /// An acknowledgement of a chunk whose round trip is measured, or of a HEARTBEAT.
    pub(crate) fn round_trip(&mut self, sample: u64) {
        self.heard.rtt.add(sample);
        self.heard.echoed.add(sample);
    }

    /// A packet whose chunks are sent again.
    pub(crate) fn repeat_packet(&mut self, packet: Transmission) {
        if self.heard.lost.len() < MEASURED && self.heard.lost.last() != Some(&packet) {
            self.heard.lost.push(packet);
        }
    }

    /// An acknowledgement of data of this direction: a sample of the round trip. `echo`: its TSecr; `sacked`: the end of its highest
    /// SACK block.
    pub(crate) fn ack(&mut self, at: u64, ack: Seq, (echo, sacked): (Option<u32>, Option<Seq>)) {
        let heard = &mut self.heard;
        let advanced = ack.distance() > heard.acked;
        if advanced {
            let bytes = ack.distance() - heard.acked;
            // An ACK that fills a gap acknowledges more than what came last, and the last segment is shorter.
            if let Some(before) = heard.acked_at
                && !self.course.waiting.recovers()
                && (self.largest..=MOST_PER_ACK * self.largest).contains(&bytes)
            {
                heard.paces.add(bytes, at.saturating_sub(before));
            }
            (heard.acked, heard.acked_at) = (ack.distance(), Some(at));
        }
        let (mut oldest, mut newest, mut count) = (None, None, 0);
        while let Some(segment) = heard.sent.front().copied()
            && segment.end <= ack.distance()
        {
            oldest = oldest.or(Some(segment));
            (newest, count) = (Some(segment), count + 1);
            heard.sent.pop_front();
        }
        // An ACK that echoes an earlier time is that of a copy which was sent before the capture began.
        let of_copy = |first: Once| echo.is_some_and(|echo| Seq32(echo).precedes(Seq32(first.stamp)));
        if let Some(segment) = newest
            && segment.end > heard.rtt_until
            && !oldest.is_some_and(of_copy)
        {
            heard.rtt.add_unless_delayed(at.saturating_sub(segment.packet.at), count == 1);
        }
        let mut repeated: Option<Transmission> = None;
        while let Some((end, _)) = heard.again.first_key_value()
            && *end <= ack.distance()
        {
            let packet = heard.again.pop_first().map(|(_, packet)| packet);
            repeated = packet.filter(|packet| repeated.is_none_or(|one| one.at < packet.at)).or(repeated);
        }
        // Karn's rule, where timestamps do not tell which transmission was acknowledged.
        let oldest = if echo.is_some() {
            oldest
        } else if heard.held_back {
            newest.filter(|newest| repeated.is_none_or(|again| again.at < newest.packet.at))
        } else {
            oldest.filter(|_| repeated.is_none())
        };
        let sent = if advanced { heard.echoed_at(echo, oldest) } else { heard.sacked_at(sacked) };
        if let Some(sent) = sent {
            heard.echoed.add(at.saturating_sub(sent));
        }
        heard.sacked = heard.sacked.max(sacked.map_or(0, Seq::distance));
    }

    /// Positions after a packet.
    pub(crate) fn sent(&self) -> Sent {
        Sent {
            highest: self.highest.distance(),
            acked: self.heard.acked,
            window: self.heard.windows.offered,
            segment: self.largest,
            rtt: self.heard.rtt.mean(),
        }
    }

    /// The field of a sequence number stands behind all that was seen of this direction.
    pub(crate) fn ends_at(&self, field: Seq32) -> bool {
        let next = self.highest.distance().max(1) + u64::from(self.fin);
        self.acknowledged(field).is_some_and(|seq| seq.distance() == next)
    }

    /// Bytes of payload that the other end has acknowledged.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        // A FIN counts in an acknowledgement.
        self.heard.acked.saturating_sub(self.first()).min(self.unique())
    }

    /// Bytes before the first gap.
    pub(crate) fn complete_bytes(&self) -> u64 {
        self.next.saturating_sub(self.first()).min(self.unique())
    }

    /// The sequence number of its SYN, or of its first packet.
    pub(crate) fn initial_number(&self) -> Option<u32> {
        self.initial.map(|number| number.0)
    }

    /// Bytes behind the first gap.
    pub(crate) fn behind_a_gap(&self) -> u64 {
        self.unique().saturating_sub(self.next.saturating_sub(self.first()))
    }

    /// Number of the first byte.
    fn first(&self) -> u64 {
        if self.synchronised { 1 } else { self.seen.iter().next().map_or(0, |first| first.start) }
    }

    /// Its values for a sample. `stream`: what keeps the connection of several subflows from sending: a subflow without data may wait for
    /// its scheduler.
    pub(crate) fn sample(&self, stream: Option<Cause>) -> Sample {
        let cause = match (self.course.waiting.cause(), stream) {
            (own @ (Cause::Handshake | Cause::Reset | Cause::Recovery), _) | (own, None) => own,
            (_, Some(all @ (Cause::Nothing | Cause::Window))) => all,
            _ => Cause::Unknown,
        };
        Sample {
            at: 0,
            fresh: self.unique(),
            acked: self.acknowledged_bytes(),
            waiting: self.highest.distance().saturating_sub(self.heard.acked),
            other: self.heard.echoed.smoothed,
            rtt: self.heard.rtt.latest,
            repeated: self.counts.repeated_segments,
            cause,
        }
    }

    /// The same of the stream of plain TCP.
    pub(crate) fn sample_of_stream(&self) -> Sample {
        Sample {
            at: 0,
            fresh: self.complete_bytes(),
            acked: self.acknowledged_bytes(),
            waiting: self.behind_a_gap(),
            other: self.heard.windows.offered.unwrap_or(0),
            ..Sample::default()
        }
    }

    /// How far behind its mapping a segment begins. Without a SYN the mappings of several segments tell.
    pub(crate) fn behind_mapping(&mut self, seq: Seq, mapping: (u32, u16), len: u64) -> Option<u32> {
        // The field has the low half of the number, which is close to that of the segment.
        let field = seq.distance() as u32;
        let initial = if self.synchronised {
            0
        } else {
            if len > 0 {
                self.beginning = Some(Beginning::note(self.beginning, field, mapping, len));
            }
            self.beginning?.initial()?
        };
        Some(field.wrapping_sub(mapping.0).wrapping_sub(initial))
    }

    /// A mapping of this direction. That of data which is complete already is not needed.
    pub(crate) fn map(&mut self, mapping: Mapped) {
        if mapping.seq.saturating_add(mapping.len) <= self.next || mapping.len == 0 {
            return;
        }
        self.mappings.insert(mapping.seq, mapping);
        if self.mappings.len() > MAPPINGS {
            self.mappings.pop_first();
        }
    }

    /// All data from a place on has this mapping.
    pub(crate) fn fall_back(&mut self, mapping: Mapped) {
        self.fallen = Some(mapping);
        self.mappings.split_off(&mapping.seq);
        self.map(mapping);
    }

    /// The data sequence numbers of new payload, as far as it is mapped.
    pub(crate) fn mapped(&self, part: Range<u64>) -> Option<Range<u64>> {
        let (_, mapping) = self.mappings.range(..=part.start).next_back()?;
        if part.end > mapping.seq.saturating_add(mapping.len) {
            return None;
        }
        let start = mapping.dsn.wrapping_add(part.start - mapping.seq);
        Some(Range::new(start, start.checked_add(part.len())?))
    }

    /// The data sequence numbers of payload that is complete, piece by piece; mappings that end there are forgotten.
    pub(crate) fn complete(&mut self, part: Range<u64>, mut each: impl FnMut(Range<u64>)) {
        let mut from = part.start;
        while from < part.end {
            let Some((_, mapping)) = self.mappings.range(..=from).next_back() else { break };
            let end = part.end.min(mapping.seq.saturating_add(mapping.len));
            let start = mapping.dsn.wrapping_add(from - mapping.seq);
            let Some(last) = start.checked_add(end.saturating_sub(from)).filter(|_| end > from) else {
                break;
            };
            each(Range::new(start, last));
            from = end;
        }
        while let Some((_, mapping)) = self.mappings.first_key_value()
            && mapping.seq.saturating_add(mapping.len) <= self.next
        {
            self.mappings.pop_first();
        }
    }

    /// Bytes that were seen, each once.
    pub(crate) fn unique(&self) -> u64 {
        self.seen.bytes()
    }

    fn check(&self) {
        debug_assert!(self.counts.segments <= self.counts.packets, "segments are packets");
        debug_assert!(
            self.counts.copied_segments <= self.counts.repeated_segments,
            "whole copies are repetitions"
        );
        debug_assert!(self.next <= self.highest.distance().max(1), "nothing is complete that was not sent");
    }
}
