//! One direction of one subflow, as packets show it at one place.
//!
//! May: count bytes and packets, keep mappings. May not: know other subflows.

use std::collections::VecDeque;

use transport::seq::{Position as _, Seq, Seq32};
use transport::tcp::ranges::{Range, RangeSet};

/// Mappings that are kept for data without an option of its own; kernels repeat theirs.
const MAPPINGS: usize = 64;
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
    /// Packets with payload.
    pub segments: u64,
    /// Payload, repetitions included.
    pub bytes: u64,
    /// Segments with payload that this place has seen before, and how much of it.
    pub repeated_segments: u64,
    /// Bytes seen before.
    pub repeated_bytes: u64,
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
    mappings: VecDeque<Mapped>,
    /// Ends of segments that were sent once, with their times.
    sent: VecDeque<(u64, u64)>,
    /// Highest acknowledgement of the other direction, and window of the last packet.
    acked: Option<(Seq32, u16)>,
    /// Sum, number and least of round-trip samples, in nanoseconds.
    pub(crate) rtt: (u64, u64, u64),
    /// First and last packet with payload.
    pub(crate) data: Option<[u64; 2]>,
}

impl Direction {
    /// The number of a field of this direction. Without a SYN the first one seen is the first byte.
    pub(crate) fn seq(&mut self, field: Seq32, syn: bool) -> Seq {
        if syn && !self.synchronised {
            (self.initial, self.synchronised, self.highest) = (Some(field), true, Seq::SYN);
            self.seen = RangeSet::default();
        }
        let before_first = Seq32(field.0.wrapping_sub(1));
        let initial = *self.initial.get_or_insert(before_first);
        field.extend(initial, self.highest)
    }

    /// The same for an acknowledgement of this direction, which changes nothing.
    pub(crate) fn acknowledged(&self, field: Seq32) -> Option<Seq> {
        self.initial.map(|initial| field.extend(initial, self.highest))
    }

    /// A segment with payload. Returns the parts that are new here; mostly one.
    pub(crate) fn data(&mut self, at: u64, seq: Seq, len: u64) -> Vec<Range<u64>> {
        let range = Range::new(seq.distance(), seq.distance() + len);
        self.counts.segments += 1;
        self.counts.bytes += len;
        self.data = Some([self.data.map_or(at, |[first, _]| first), at]);
        let behind = range.start < self.highest.distance();
        let mut new = Vec::new();
        if !behind {
            // Nothing of it has been seen.
            self.seen.insert(range);
            new.push(range);
        } else {
            while let Some(gap) = self.seen.first_gap(range) {
                self.seen.insert(gap);
                new.push(gap);
            }
        }
        let fresh: u64 = new.iter().map(|part| part.len()).sum();
        self.counts.repeated_segments += u64::from(fresh < len);
        self.counts.repeated_bytes += len - fresh;
        self.counts.late_segments += u64::from(behind && fresh > 0);
        if fresh == len && !behind {
            self.sent.push_back((range.end, at));
            if self.sent.len() > MEASURED {
                self.sent.pop_front();
            }
        } else {
            // Karn: an ACK of repeated data says nothing on the round trip.
            self.sent.retain(|(end, _)| *end <= range.start || *end > range.end);
        }
        self.highest = self.highest.max(Seq(range.end));
        new
    }

    /// An acknowledgement of data of this direction: a sample of the round trip.
    pub(crate) fn ack(&mut self, at: u64, ack: Seq) {
        let mut sent = None;
        while let Some((end, when)) = self.sent.front().copied()
            && end <= ack.distance()
        {
            sent = Some(when);
            self.sent.pop_front();
        }
        if let Some(sent) = sent {
            let sample = at.saturating_sub(sent);
            let (sum, count, least) = self.rtt;
            self.rtt =
                (sum.saturating_add(sample), count + 1, if count == 0 { sample } else { least.min(sample) });
        }
    }

    /// An ACK of this direction that may be a duplicate: nothing but an acknowledgement, the same as before with the same
    /// window. `open`: the other end has data outstanding.
    pub(crate) fn note_ack(&mut self, ack: Seq32, window: u16, bare: bool) {
        if bare && self.acked == Some((ack, window)) {
            self.counts.duplicate_acks += 1;
        }
        self.acked = Some((ack, window));
    }

    /// A mapping of this direction.
    pub(crate) fn map(&mut self, mapping: Mapped) {
        if self.mappings.back() != Some(&mapping) && mapping.len > 0 {
            self.mappings.push_back(mapping);
            if self.mappings.len() > MAPPINGS {
                self.mappings.pop_front();
            }
        }
    }

    /// The data sequence numbers of new payload, as far as it is mapped.
    pub(crate) fn mapped(&self, part: Range<u64>) -> Option<Range<u64>> {
        let inside = |mapping: &&Mapped| {
            mapping.seq <= part.start && part.end <= mapping.seq.saturating_add(mapping.len)
        };
        let mapping = self.mappings.iter().rev().find(inside)?;
        let start = mapping.dsn.wrapping_add(part.start - mapping.seq);
        Some(Range::new(start, start.checked_add(part.len())?))
    }

    /// Bytes that were seen, each once.
    pub(crate) fn unique(&self) -> u64 {
        self.seen.bytes()
    }
}
