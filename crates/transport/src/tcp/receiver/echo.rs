//! The timestamp that a receiver echoes (RFC 7323 section 4.3).

use units::SimTime;

use crate::seq::Seq;
use crate::tcp::segment::TcpSegment;

/// TS.Recent and what decides whether it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimestampEcho {
    /// TS.Recent; `NEVER` before the first timestamp.
    recent: SimTime,
    /// Last.ACK.sent.
    last_ack_sent: Seq,
}

impl TimestampEcho {
    /// No timestamp has arrived.
    pub(super) fn new() -> Self {
        Self { recent: SimTime::NEVER, last_ack_sent: Seq::SYN }
    }

    /// TS.Recent; `NEVER` before the first timestamp.
    #[inline]
    pub(super) fn recent(&self) -> SimTime {
        self.recent
    }

    /// Takes the timestamp of a segment, also of a SYN, unless it lies above what was acknowledged last.
    #[inline]
    pub(super) fn note(&mut self, segment: &TcpSegment) {
        let Some(timestamps) = segment.timestamps else { return };
        let newer = self.recent.is_never() || timestamps.value >= self.recent;
        if newer && segment.seq <= self.last_ack_sent {
            self.recent = timestamps.value;
        }
    }

    /// An acknowledgement of everything below `next` leaves.
    #[inline]
    pub(super) fn acknowledged(&mut self, next: Seq) {
        debug_assert!(self.last_ack_sent <= next, "rcv_nxt goes back");
        self.last_ack_sent = next;
    }
}
