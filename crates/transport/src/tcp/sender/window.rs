//! The peer's receive window at the sender: right edge, silly window avoidance (RFC 1122 section 4.2.3.4), and the
//! persist timer that probes a closed window (RFC 9293 section 3.8.6.1).

use units::{Bytes, Nanos, SimTime};

use super::super::rtt::RttEstimator;
use crate::seq::Seq;

/// Bytes that the peer permits to be outstanding.
#[derive(Debug)]
pub(super) struct SendWindow {
    /// Right edge, as a sequence number; never moves left.
    right: Seq,
    /// Largest window that the peer ever offered.
    largest: u64,
    /// Sequence space that may be outstanding whatever the windows are.
    flight_limit: u64,
    /// Persist timer; `NEVER` while it does not run.
    persist: SimTime,
    /// Consecutive window probes.
    persists: u32,
    /// The persist timer has fired: a small segment may go.
    override_silly: bool,
}

impl SendWindow {
    /// Closed until the peer offers one. `flight_limit` is at least one segment.
    pub(super) fn new(flight_limit: Bytes, mss: Bytes) -> Self {
        Self {
            right: Seq::FIRST_DATA,
            largest: 0,
            flight_limit: flight_limit.0.max(mss.0),
            persist: SimTime::NEVER,
            persists: 0,
            override_silly: false,
        }
    }

    /// Right edge as offered.
    #[inline]
    pub(super) fn right(&self) -> Seq {
        self.right
    }

    /// Its size as seen from snd_una.
    #[inline]
    pub(super) fn size(&self, una: Seq) -> Bytes {
        self.right.saturating_since(una)
    }

    /// The peer offers everything below `right`. Returns true if the edge has moved.
    #[inline]
    pub(super) fn offer(&mut self, una: Seq, right: Seq) -> bool {
        let moved = right > self.right;
        if moved {
            self.right = right;
            self.stop_persist();
        }
        self.largest = self.largest.max(right.0.saturating_sub(una.0));
        self.check(una);
        moved
    }

    /// How far data may be sent: the offered edge, `beyond` bytes more where the congestion control may pass it,
    /// and never more than the flight limit.
    #[inline]
    pub(super) fn edge(&self, una: Seq, beyond: u64) -> Seq {
        Seq((self.right.0 + beyond).min(una.0.saturating_add(self.flight_limit)))
    }

    /// A fragment of `usable` bytes is worth sending: at least half of the largest window ever offered, or the persist
    /// timer insists.
    pub(super) fn permits_fragment(&mut self, usable: u64) -> bool {
        usable > 0 && (2 * usable >= self.largest || std::mem::take(&mut self.override_silly))
    }

    /// When the persist timer fires.
    #[inline]
    pub(super) fn persist_deadline(&self) -> SimTime {
        self.persist
    }

    /// The window forbids sending and nothing is outstanding whose ACK could open it.
    pub(super) fn start_persist(&mut self, now: SimTime, rtt: &RttEstimator) {
        if self.persist.is_never() {
            self.persist = now + rtt.rto(self.persists).max(Nanos::from_millis(1));
        }
    }

    /// No probe is needed: data is outstanding, or the window is open, or nothing waits.
    #[inline]
    pub(super) fn pause_persist(&mut self) {
        self.persist = SimTime::NEVER;
    }

    /// As `pause_persist`; the next time starts without back-off.
    #[inline]
    pub(super) fn stop_persist(&mut self) {
        self.persist = SimTime::NEVER;
        self.persists = 0;
    }

    /// The persist timer fires if it is due: true, and a probe of the window is to be sent. `backs_off`: the intervals
    /// double.
    pub(super) fn expire_persist(
        &mut self,
        now: SimTime,
        nxt: Seq,
        rtt: &RttEstimator,
        backs_off: bool,
    ) -> bool {
        if self.persist > now {
            return false;
        }
        self.persists += u32::from(backs_off);
        self.persist = now + rtt.rto(self.persists);
        self.override_silly = self.right > nxt;
        debug_assert!(self.persist > now, "the next probe lies ahead");
        true
    }

    #[inline]
    fn check(&self, una: Seq) {
        debug_assert!(self.flight_limit > 0, "nothing may ever be outstanding");
        debug_assert!(
            self.right.saturating_since(una).0 <= self.largest,
            "the present window is larger than the largest: {self:?} from {una}"
        );
    }
}
