//! Activity of a sender: counters, how the congestion window was used (RFC 7661 section 4.1, as Linux judges it),
//! when it last sent (idle restart of RFC 5681 section 4.1), and what keeps it from sending more.

use units::{Nanos, SimTime};

use crate::limit::Limit;
use crate::seq::Seq;

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among them.
    pub segments_retransmitted: u64,
    /// Payload bytes, retransmissions included.
    pub bytes_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
}

/// Activity of one sender.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    stats: SenderStats,
    /// Last transmission; `NEVER` before the first.
    last_sent_at: SimTime,
    /// cwnd was the limit in the present round.
    limited: bool,
    /// Largest flight of the present round, in bytes.
    max_flight: u64,
    /// snd_nxt when the judgement was made: it holds until that is acknowledged.
    until: Seq,
    /// Why the last request for a segment found none.
    limit: Limit,
    /// When the first segment of the present unit left, and how many had left before it.
    unit: (SimTime, u64),
    /// When a send quantum was begun, and how many segments of it are left.
    granted: (SimTime, u64),
}

impl Activity {
    /// Nothing sent.
    pub(super) fn new() -> Self {
        Self {
            stats: SenderStats::default(),
            last_sent_at: SimTime::NEVER,
            limited: false,
            max_flight: 0,
            until: Seq(0),
            limit: Limit::Application,
            unit: (SimTime::NEVER, 0),
            granted: (SimTime::NEVER, 0),
        }
    }

    pub(super) fn stats(&self) -> SenderStats {
        self.stats
    }

    /// A segment with `len` bytes of payload leaves, or a bare FIN, which no counter counts.
    #[inline]
    pub(super) fn sent(&mut self, now: SimTime, len: u32, again: bool) {
        debug_assert!(self.last_sent_at.is_never() || self.last_sent_at <= now, "time goes back");
        self.last_sent_at = now;
        if len > 0 {
            self.stats.segments_sent += 1;
            self.stats.segments_retransmitted += u64::from(again);
            self.stats.bytes_sent += u64::from(len);
        }
        debug_assert!(self.stats.segments_retransmitted <= self.stats.segments_sent);
    }

    /// Segments of the present unit, of which one leaves at `now`: those that have left at this time, unless a unit ended.
    #[inline]
    pub(super) fn unit(&mut self, now: SimTime) -> u64 {
        if self.unit.0 != now {
            self.unit = (now, self.stats.segments_sent - 1);
        }
        self.stats.segments_sent - self.unit.1
    }

    /// The next segment begins a unit.
    #[inline]
    pub(super) fn end_unit(&mut self) {
        self.unit.1 = self.stats.segments_sent;
    }

    /// A send quantum of this many segments begins.
    pub(super) fn grant(&mut self, now: SimTime, segments: u64) {
        self.granted = (now, segments);
    }

    /// The next segment belongs to the quantum that was begun now.
    #[inline]
    pub(super) fn is_granted(&self, now: SimTime) -> bool {
        self.granted.0 == now && self.granted.1 > 0
    }

    /// A full segment leaves, of that quantum if there is one.
    #[inline]
    pub(super) fn take_granted(&mut self, now: SimTime) {
        self.granted.1 -= u64::from(self.is_granted(now));
    }

    /// A timeout.
    pub(super) fn timed_out(&mut self) {
        self.stats.timeouts += 1;
    }

    /// Fast recovery begins.
    pub(super) fn recovers(&mut self) {
        self.stats.fast_recoveries += 1;
    }

    /// Time since the last transmission; `None` before the first.
    #[inline]
    pub(super) fn idle_for(&self, now: SimTime) -> Option<Nanos> {
        (!self.last_sent_at.is_never()).then(|| now.since(self.last_sent_at))
    }

    /// New data has left up to `nxt`: `flight` bytes count against the window. `limited`: it has no room for another
    /// segment.
    #[inline]
    pub(super) fn judge(&mut self, (una, nxt): (Seq, Seq), flight: u64, limited: bool) {
        debug_assert!(una < nxt, "judged after a transmission");
        if una >= self.until || limited || (!self.limited && flight > self.max_flight) {
            self.limited = limited;
            self.max_flight = flight;
            self.until = nxt;
        }
    }

    /// True if the window may grow: it was the limit, or slow start has used more than half of it.
    #[inline]
    pub(super) fn is_cwnd_limited(&self, cwnd: u64, ssthresh: u64) -> bool {
        let in_slow_start = cwnd < ssthresh;
        self.limited || (in_slow_start && cwnd < 2 * self.max_flight)
    }

    /// There is nothing to send now, for this reason.
    #[inline]
    pub(super) fn wait(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Why the last request for a segment found none.
    #[inline]
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }
}
