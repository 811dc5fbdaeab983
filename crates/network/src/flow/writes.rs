//! When each byte of a stream was written, kept until it is delivered.
//!
//! May: tell how long bytes waited. May not: grow with the number of bytes, only with that of writes under way.

use rings::Ring;
use trace::Histogram;
use transport::tcp::ranges::{Range, RangeSet};
use units::{Bytes, SimTime};

/// Writes for which memory is kept while none is outstanding: thousands of connections may be idle.
const KEPT: usize = 32;

/// Writes of one connection that are not delivered, and how far they have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// Offset after the last byte, and when it was written.
    writes: Ring<(u64, SimTime), 1>,
    delivered: u64,
    /// All bytes before this offset have been sent.
    sent: u64,
    /// Number of the first write with a byte at or behind `sent`.
    next: usize,
    /// Sent before what lies between it and `sent`: where several subflows send, and thousands of connections have one.
    ahead: Option<Box<RangeSet>>,
    /// Delivered before what lies between it and `delivered`: of messages alone, and thousands of streams have none.
    overtaking: Option<Box<RangeSet>>,
}

impl Writes {
    /// The application has written up to `offset`.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, now: SimTime, offset: u64) {
        match self.writes.back_mut() {
            Some((end, at)) if *at == now => {
                *end = offset;
                // Data sent in one segment may have been written in several parts.
                self.next = self.next.min(self.writes.next() - 1);
            }
            _ => self.writes.push((offset, now)),
        }
        self.check();
    }

    /// A part of the stream is transmitted. Bytes that are transmitted for the first time are counted in `waits`.
    #[inline(never)]
    pub(crate) fn left(&mut self, now: SimTime, part: Range, waits: &mut Histogram) {
        let part = Range::new(part.start.max(self.sent), part.end);
        if part.is_empty() {
            return;
        }
        if part.start == self.sent && self.ahead.as_ref().is_none_or(|ahead| ahead.is_empty()) {
            self.sent = part.end;
            self.next = self.count(now, self.next, part, waits);
        } else {
            self.left_ahead(now, part, waits);
        }
    }

    /// The same where something before or behind it has been sent by another subflow.
    #[cold]
    #[inline(never)]
    fn left_ahead(&mut self, now: SimTime, part: Range, waits: &mut Histogram) {
        let mut ahead = self.ahead.take().unwrap_or_default();
        while let Some(gap) = ahead.first_gap(part) {
            let first = self.writes.partition_point(|(end, _)| *end <= gap.start);
            self.count(now, first, gap, waits);
            ahead.insert(gap);
        }
        self.sent = ahead.take_from(self.sent);
        self.ahead = Some(ahead);
        self.next = self.writes.partition_point(|(end, _)| *end <= self.sent);
        self.check();
    }

    /// The stream is delivered up to `until`; returns how many bytes that adds, which are counted in `delays`.
    #[inline]
    pub(crate) fn delivered(&mut self, now: SimTime, until: Bytes, delays: &mut Histogram) -> Bytes {
        let more = until.0.saturating_sub(self.delivered);
        if more > 0 {
            self.deliver(now, until.0, delays);
        }
        Bytes(more)
    }

    #[inline(never)]
    fn deliver(&mut self, now: SimTime, until: u64, delays: &mut Histogram) {
        let mut from = self.delivered;
        while from < until {
            let &(end, written) = self.writes.front().expect("what is delivered was written");
            let to = end.min(until);
            delays.add(now - written, to - from);
            from = to;
            if end == to {
                self.writes.drop_front();
            }
        }
        self.writes.give_back_beyond(KEPT);
        self.delivered = until;
        self.check();
    }

    /// A part of the stream is delivered, which nothing before was; its bytes are counted in `delays`.
    pub(crate) fn arrived(&mut self, now: SimTime, part: Range, delays: &mut Histogram) {
        let first = self.writes.partition_point(|(end, _)| *end <= part.start);
        self.count(now, first, part, delays);
        let overtaking = self.overtaking.get_or_insert_default();
        debug_assert!(
            part.start >= self.delivered && overtaking.first_gap(part) == Some(part),
            "delivered twice"
        );
        overtaking.insert(part);
        self.delivered = overtaking.take_from(self.delivered);
        while self.writes.front().is_some_and(|(end, _)| *end <= self.delivered) {
            self.writes.drop_front();
        }
        self.writes.give_back_beyond(KEPT);
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.delivered <= self.sent, "{} bytes delivered, {} sent", self.delivered, self.sent);
        debug_assert!(
            (self.writes.first()..=self.writes.next()).contains(&self.next),
            "the next write is none"
        );
        debug_assert!(
            self.writes.front().is_none_or(|(end, _)| *end > self.delivered),
            "a delivered write is kept"
        );
        debug_assert!(
            self.ahead
                .iter()
                .all(|ahead| ahead.is_empty()
                    || ahead.first_gap(Range::new(self.sent, self.sent + 1)).is_some())
        );
    }

    /// Counts the age of each byte of `part`, whose first byte is in the write `first`. Returns the first write with
    /// a byte behind it.
    #[inline(always)]
    fn count(&self, now: SimTime, first: usize, part: Range, ages: &mut Histogram) -> usize {
        let (mut from, mut write) = (part.start, first);
        while from < part.end {
            let &(end, written) = self.writes.get(write).expect("what is counted was written");
            let to = end.min(part.end);
            debug_assert!(from < to, "byte {from} is not in the write that ends at {end}");
            ages.add(now - written, to - from);
            from = to;
            write += usize::from(end == to);
        }
        write
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    fn ms(ms: u64) -> SimTime {
        SimTime::from_millis(ms)
    }

    /// Milliseconds and bytes of each entry.
    fn entries(histogram: &Histogram) -> Vec<(u64, u64)> {
        let round = |at: Nanos| (at.0 as f64 / 1e6).round() as u64;
        histogram.buckets().map(|(at, bytes)| (round(at), bytes)).collect()
    }

    #[test]
    fn each_byte_waits_until_it_leaves_first() {
        let (mut writes, mut waits) = (Writes::default(), Histogram::default());
        writes.wrote(ms(0), 100);
        writes.left(ms(0), Range::new(0, 50), &mut waits);
        writes.wrote(ms(0), 150);
        writes.left(ms(10), Range::new(50, 120), &mut waits);
        writes.wrote(ms(20), 300);
        // A second write of more; then the rest of the first write, and of the second.
        writes.left(ms(40), Range::new(100, 200), &mut waits);
        assert_eq!(entries(&waits), [(0, 50), (10, 70), (20, 50), (40, 30)]);
        assert_eq!(waits.total(), 200);
    }

    #[test]
    fn what_overtakes_is_counted_once_and_so_is_what_follows() {
        let (mut writes, mut waits) = (Writes::default(), Histogram::default());
        for i in 0..4 {
            writes.wrote(ms(i), 100 * (i + 1));
        }
        writes.left(ms(10), Range::new(100, 200), &mut waits);
        writes.left(ms(20), Range::new(50, 350), &mut waits);
        assert_eq!(entries(&waits), [(9, 100), (17, 50), (18, 100), (20, 50)]);
        writes.left(ms(30), Range::new(0, 400), &mut waits);
        assert_eq!(entries(&waits), [(9, 100), (17, 50), (18, 100), (20, 50), (27, 50), (30, 50)]);
        // In order again.
        writes.wrote(ms(40), 500);
        writes.left(ms(45), Range::new(400, 500), &mut waits);
        assert_eq!(waits.total(), 500);
        assert!(entries(&waits).contains(&(5, 100)));
    }

    /// Messages of other streams overtake those that wait for a retransmission.
    #[test]
    fn deliveries_may_overtake_each_other() {
        let (mut writes, mut waits) = (Writes::default(), Histogram::default());
        let mut delays = Histogram::default();
        for i in 0..4 {
            writes.wrote(ms(i), 100 * (i + 1));
        }
        writes.left(ms(5), Range::new(0, 400), &mut waits);
        writes.arrived(ms(20), Range::new(100, 200), &mut delays);
        writes.arrived(ms(30), Range::new(300, 400), &mut delays);
        assert_eq!((writes.delivered, writes.writes.len()), (0, 4));
        writes.arrived(ms(50), Range::new(0, 100), &mut delays);
        assert_eq!((writes.delivered, writes.writes.len()), (200, 2));
        writes.arrived(ms(60), Range::new(200, 300), &mut delays);
        assert_eq!(entries(&delays), [(19, 100), (27, 100), (50, 100), (58, 100)]);
        assert_eq!((writes.delivered, writes.writes.len()), (400, 0));
    }

    #[test]
    fn delivery_forgets_writes_and_keeps_the_place() {
        let (mut writes, mut waits) = (Writes::default(), Histogram::default());
        let mut delays = Histogram::default();
        writes.wrote(ms(0), 100);
        writes.wrote(ms(5), 200);
        writes.left(ms(10), Range::new(0, 150), &mut waits);
        assert_eq!(writes.delivered(ms(30), Bytes(120), &mut delays), Bytes(120));
        assert_eq!(writes.delivered(ms(30), Bytes(120), &mut delays), Bytes::ZERO);
        assert_eq!(entries(&delays), [(25, 20), (30, 100)]);
        writes.left(ms(40), Range::new(150, 200), &mut waits);
        assert_eq!(entries(&waits), [(5, 50), (10, 100), (35, 50)]);
        assert_eq!(writes.delivered(ms(50), Bytes(200), &mut delays), Bytes(80));
        writes.wrote(ms(60), 300);
        writes.left(ms(61), Range::new(200, 300), &mut waits);
        assert_eq!(entries(&waits)[0], (1, 100));
    }
}
