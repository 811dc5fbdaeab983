//! Delivery-rate samples: how fast the network carried what was out between a segment and its acknowledgement.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02. Units: bytes of sequence space. A sample is what was
//! delivered since the segment was sent, over the longer of the times in which that was sent and in which its ACKs
//! came. Kept beside the scoreboard, and only for a controller that asks for it.
//! Linux (`tcp_rate_skb_delivered`) counts segments, whatever they carry. Where a sender paces as there each counts as a full one: small
//! ones between the writes of an application make a rate larger than that of payload.
//! Deviation: the connection was short of data if, when an ACK comes or data is given, the windows and the pacer have
//! left room unused since an earlier instant. The draft asks at each write, which a subflow does not see. Subflows of Linux never ask
//! (`tcp_rate_check_app_limited` is a part of the writes of TCP): all their samples count; here also those of the first flight, which the kernel marks.

use std::collections::VecDeque;

use congestion::RateSample;
use units::{Bytes, Nanos, SimTime};

use super::sent::Change;
use crate::seq::Seq;

/// The state of the connection when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    /// Sequence number after the segment.
    end: Seq,
    delivered: u64,
    delivered_at: SimTime,
    first_sent_at: SimTime,
    app_limited: bool,
}

/// The estimator of one sender.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    /// Bytes that a segment counts for; 0: its payload.
    unit: u64,
    /// Samples tell a shortage of data.
    sees_shortage: bool,
    /// Bytes delivered so far, and when the last of them were.
    delivered: u64,
    delivered_at: SimTime,
    /// Transmission time of the segment that was sent last among those delivered.
    first_sent_at: SimTime,
    /// Segments are marked until this much is delivered; 0: there is enough data.
    app_limited_until: u64,
    /// Outstanding segments by sequence number.
    sent: VecDeque<Snapshot>,
    /// When room for more may have appeared last.
    room_since: SimTime,
}

impl DeliveryRate {
    /// Nothing sent. A segment counts as `unit` bytes, or as its payload if that is zero.
    pub fn new(unit: Bytes, sees_shortage: bool) -> Self {
        let start = SimTime::ZERO;
        Self {
            unit: unit.0,
            sees_shortage,
            delivered: 0,
            delivered_at: start,
            first_sent_at: start,
            app_limited_until: 0,
            sent: VecDeque::new(),
            room_since: start,
        }
    }

    /// New data up to `end` leaves; `pipe` is what was in the network before.
    pub fn on_send(&mut self, now: SimTime, end: Seq, pipe: Bytes) {
        // Since an earlier instant it could have left: there was no data then.
        if self.room_since < now {
            self.note_shortage(pipe);
            self.room_since = now;
        }
        if self.sent.is_empty() {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        debug_assert!(self.sent.back().is_none_or(|last| last.end < end), "new data extends the stream");
        self.sent.push_back(self.snapshot(end));
    }

    /// The segment that ends at `end` leaves again.
    pub fn on_resend(&mut self, end: Seq) {
        let i = self.index_of(end);
        let snapshot = self.snapshot(end);
        if let Some(known) = self.sent.get_mut(i) {
            *known = Snapshot { end: known.end, ..snapshot };
        }
    }

    fn snapshot(&self, end: Seq) -> Snapshot {
        Snapshot {
            end,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > 0,
        }
    }

    fn index_of(&self, end: Seq) -> usize {
        self.sent.partition_point(|s| s.end < end)
    }

    /// Room was left unused for want of data.
    pub fn note_shortage(&mut self, pipe: Bytes) {
        if self.sees_shortage {
            self.app_limited_until = (self.delivered + pipe.0).max(1);
        }
    }

    /// An ACK, or the end of a wait, may have made room at `now`.
    pub fn room_may_appear(&mut self, now: SimTime) {
        self.room_since = now;
    }

    /// An ACK delivered `change` and acknowledges everything below `una`.
    pub fn on_ack(
        &mut self,
        now: SimTime,
        change: &Change,
        una: Seq,
        min_rtt: Option<Nanos>,
    ) -> Option<RateSample> {
        let latest = change.latest?;
        self.delivered +=
            if self.unit > 0 { change.delivered.segments * self.unit } else { change.delivered.bytes };
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let snapshot = self.sent.get(self.index_of(latest.end)).copied();
        while self.sent.front().is_some_and(|s| s.end <= una) {
            self.sent.pop_front();
        }
        let snapshot = snapshot?;
        self.first_sent_at = latest.sent_at;
        let send_elapsed = latest.sent_at.since(snapshot.first_sent_at);
        let ack_elapsed = now.since(snapshot.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        // Shorter than any round trip: the ACK was that of an earlier transmission.
        if interval < min_rtt.unwrap_or(Nanos(1)).max(Nanos(1)) {
            return None;
        }
        debug_assert!(snapshot.delivered <= self.delivered, "deliveries are never taken back");
        Some(RateSample {
            delivered: Bytes(self.delivered - snapshot.delivered),
            interval,
            before: Bytes(snapshot.delivered),
            total: Bytes(self.delivered),
            app_limited: snapshot.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::counted::Tally;
    use super::super::sent::Delivered;
    use super::*;

    const MSS: u64 = 1000;

    fn ms(n: u64) -> SimTime {
        SimTime::from_millis(n)
    }

    /// An ACK of `n` segments, the last of which ends at `end` and was sent at `sent_at`.
    fn delivered(n: u64, end: u64, sent_at: SimTime) -> Change {
        let latest = Some(Delivered { end: Seq(end), sent_at, retransmitted: false });
        Change {
            acked: n * MSS,
            delivered: Tally { bytes: n * MSS, segments: n },
            latest,
            ..Change::default()
        }
    }

    /// Ten segments leave together, their ACKs come 10 ms apart: the rate is that of the ACKs. Then each ACK lets one
    /// out.
    #[test]
    fn the_rate_of_a_burst_is_that_of_its_acks() {
        let mut rate = DeliveryRate::new(Bytes::ZERO, true);
        (1..=10).for_each(|n| rate.on_send(ms(0), Seq(n * MSS), Bytes((n - 1) * MSS)));
        rate.room_may_appear(ms(100));
        let first = rate.on_ack(ms(100), &delivered(1, MSS, ms(0)), Seq(MSS), None).unwrap();
        assert_eq!((first.delivered, first.interval), (Bytes(1000), Nanos::from_millis(100)));
        for n in 2..=10 {
            let at = ms(90 + 10 * n);
            rate.room_may_appear(at);
            let sample = rate.on_ack(at, &delivered(1, n * MSS, ms(0)), Seq(n * MSS), None).unwrap();
            assert_eq!((sample.delivered, sample.before), (Bytes(n * MSS), Bytes(0)));
            rate.on_send(at, Seq((9 + n) * MSS), Bytes(9 * MSS));
        }
        // Sent at 110 ms, when two segments had been delivered, and 110 ms after the last of those; with it nine more
        // came within 100 ms.
        rate.room_may_appear(ms(210));
        let steady = rate.on_ack(ms(210), &delivered(1, 11 * MSS, ms(110)), Seq(11 * MSS), None).unwrap();
        assert_eq!((steady.delivered, steady.interval), (Bytes(9 * MSS), Nanos::from_millis(110)));
        assert!(!steady.app_limited);
    }

    /// ACKs that come all at once say less than the time in which the data was sent.
    #[test]
    fn compressed_acks_do_not_raise_the_rate() {
        let mut rate = DeliveryRate::new(Bytes::ZERO, true);
        for n in 1..=5 {
            rate.room_may_appear(ms(10 * n));
            rate.on_send(ms(10 * n), Seq(n * MSS), Bytes(0));
        }
        rate.on_ack(ms(110), &delivered(1, MSS, ms(10)), Seq(MSS), None);
        rate.room_may_appear(ms(110));
        rate.on_send(ms(110), Seq(6 * MSS), Bytes(4 * MSS));
        let burst = rate.on_ack(ms(150), &delivered(4, 5 * MSS, ms(50)), Seq(5 * MSS), None).unwrap();
        assert_eq!((burst.delivered, burst.interval), (Bytes(5000), Nanos::from_millis(140)));
        // An ACK faster than any round trip is that of an earlier transmission.
        let change = delivered(1, 6 * MSS, ms(110));
        assert_eq!(rate.clone().on_ack(ms(151), &change, Seq(6 * MSS), Some(Nanos::from_millis(120))), None);
        assert_eq!(
            rate.on_ack(ms(151), &change, Seq(6 * MSS), None).unwrap().interval,
            Nanos::from_millis(100)
        );
    }

    #[test]
    fn segments_are_marked_while_data_is_short() {
        let mut rate = DeliveryRate::new(Bytes::ZERO, true);
        rate.on_send(ms(0), Seq(MSS), Bytes(0));
        rate.on_send(ms(40), Seq(2 * MSS), Bytes(MSS));
        let first = rate.on_ack(ms(100), &delivered(1, MSS, ms(0)), Seq(MSS), None).unwrap();
        assert!(!first.app_limited, "data was not short");
        rate.room_may_appear(ms(100));
        rate.on_send(ms(100), Seq(3 * MSS), Bytes(MSS));
        let second = rate.on_ack(ms(140), &delivered(1, 2 * MSS, ms(40)), Seq(2 * MSS), None).unwrap();
        assert!(second.app_limited);
        rate.room_may_appear(ms(140));
        rate.on_send(ms(140), Seq(4 * MSS), Bytes(MSS));
        let third = rate.on_ack(ms(200), &delivered(1, 3 * MSS, ms(100)), Seq(3 * MSS), None).unwrap();
        assert!(third.app_limited, "until what was out at the shortage is delivered");
        let fourth = rate.on_ack(ms(240), &delivered(1, 4 * MSS, ms(140)), Seq(4 * MSS), None).unwrap();
        assert!(!fourth.app_limited);
    }

    /// A subflow of Linux: as above, and nothing is marked.
    #[test]
    fn a_sender_that_sees_no_writes_marks_nothing() {
        let mut rate = DeliveryRate::new(Bytes::ZERO, false);
        rate.on_send(ms(0), Seq(MSS), Bytes(0));
        rate.room_may_appear(ms(100));
        rate.note_shortage(Bytes(MSS));
        rate.on_send(ms(140), Seq(2 * MSS), Bytes(MSS));
        let sample = rate.on_ack(ms(240), &delivered(1, 2 * MSS, ms(140)), Seq(2 * MSS), None).unwrap();
        assert!(!sample.app_limited);
    }

    #[test]
    fn a_retransmission_starts_anew() {
        let mut rate = DeliveryRate::new(Bytes::ZERO, true);
        (1..=3).for_each(|n| rate.on_send(ms(0), Seq(n * MSS), Bytes((n - 1) * MSS)));
        rate.on_ack(ms(100), &delivered(2, 3 * MSS, ms(0)), Seq(0), None);
        rate.on_resend(Seq(MSS));
        let sample = rate.on_ack(ms(200), &delivered(1, MSS, ms(100)), Seq(3 * MSS), None).unwrap();
        assert_eq!((sample.delivered, sample.interval), (Bytes(1000), Nanos::from_millis(100)));
        assert!(rate.sent.is_empty());
    }

    /// Five segments of a tenth of the size in 100 ms are as many as five full ones in Linux.
    #[test]
    fn linux_counts_segments() {
        let rate_of = |unit| {
            let mut rate = DeliveryRate::new(Bytes(unit), true);
            (1..=5).for_each(|n| rate.on_send(ms(0), Seq(n * 100), Bytes((n - 1) * 100)));
            rate.room_may_appear(ms(100));
            let change = Change {
                acked: 500,
                delivered: Tally { bytes: 500, segments: 5 },
                ..delivered(5, 500, ms(0))
            };
            rate.on_ack(ms(100), &change, Seq(500), None).map(|sample| sample.delivered)
        };
        assert_eq!((rate_of(0), rate_of(MSS)), (Some(Bytes(500)), Some(Bytes(5000))));
    }
}
