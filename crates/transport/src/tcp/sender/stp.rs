//! STP at the sender: it polls, the peer answers what is missing. No acknowledgements, no retransmission timer.
//!
//! Source: T. Henderson and R. Katz, IEEE JSAC 17(2), 1999, after the SSCOP of ITU-T Q.2110. Choice D-24: a poll
//! every third of a round trip but not more often than every 100 ms, or after 50 segments. Choice D-26: a peer
//! that answers no poll for as long as TCP would try is given up.

use std::collections::VecDeque;

use congestion::Paths;
use units::{Nanos, SimTime};

use super::super::ranges::Range;
use super::super::scoreboard::Change;
use super::Sender;
use crate::space::SpaceSignal;
use crate::tcp::segment::TcpSegment;

/// Least time between polls (choice D-24).
const MIN_INTERVAL: Nanos = Nanos::from_millis(100);
/// Segments after which a poll is due whatever the time (choice D-24).
const SEGMENTS: u32 = 50;

/// State of the poll timer.
#[derive(Clone, Debug)]
pub(super) struct Polling {
    /// Number of the last poll.
    number: u32,
    /// When it left, or the first segment after a pause; `NEVER` before.
    last_at: SimTime,
    /// Segments sent since.
    segments: u32,
    /// A poll is to be sent now.
    due: bool,
    /// Polls whose answer may still come.
    pending: VecDeque<(u32, SimTime)>,
    /// When the oldest poll left that nothing has been heard after; `NEVER`: something has.
    silent_since: SimTime,
}

impl Default for Polling {
    fn default() -> Self {
        Self {
            number: 0,
            last_at: SimTime::NEVER,
            segments: 0,
            due: false,
            pending: VecDeque::new(),
            silent_since: SimTime::NEVER,
        }
    }
}

impl Sender {
    /// Takes in a STAT or USTAT. Returns true if it acknowledged new bytes.
    pub(super) fn on_status(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: u64,
        paths: Paths<'_>,
    ) -> bool {
        let flight_before = self.board.outstanding();
        let mut change = Change::default();
        let (sample, polled_at) = match signal {
            Some(SpaceSignal::Stat { number }) => self.take_answer(now, *number),
            Some(SpaceSignal::Ustat) => (None, None),
            // Data in the other direction, or the end of the handshake.
            _ => return false,
        };
        let advanced = self.advance(segment.ack, &mut change);
        self.offer_window(window_right);
        let lost = if signal == Some(&SpaceSignal::Ustat) {
            self.take_gap(segment)
        } else {
            polled_at.is_some_and(|at| self.take_stat(segment, at, &mut change))
        };
        if advanced || lost || change.sacked > 0 {
            let mut ack = self.describe_fully(now, &change, flight_before, sample, window_right);
            if self.marked {
                self.heed_mark(&mut ack, paths);
            }
            self.respond(&ack, (advanced, lost), paths);
        }
        self.schedule_poll(now);
        #[cfg(debug_assertions)]
        self.check();
        advanced
    }

    /// The poll that is answered: its round-trip time, and when it left.
    fn take_answer(&mut self, now: SimTime, number: u32) -> (Option<Nanos>, Option<SimTime>) {
        let Some(polling) = self.polling.as_deref_mut() else { return (None, None) };
        polling.silent_since = SimTime::NEVER;
        // Older polls are answered by this one.
        while polling.pending.front().is_some_and(|(n, _)| *n < number) {
            polling.pending.pop_front();
        }
        let Some(&(_, at)) = polling.pending.front().filter(|(n, _)| *n == number) else {
            return (None, None);
        };
        let sample = now.since(at);
        self.rtt.sample(now, sample);
        (Some(sample), Some(at))
    }

    /// A new gap: it is news only of what was sent once.
    fn take_gap(&mut self, segment: &TcpSegment) -> bool {
        let mut lost = false;
        for gap in segment.sack.as_slice() {
            let gap = Range::new(gap.start.max(self.una), gap.end);
            lost |= self.board.mark_missing(gap, |s| !s.retransmitted);
        }
        lost
    }

    /// What is missing and was last sent before the poll is sent again; the rest of the part has arrived.
    fn take_stat(&mut self, segment: &TcpSegment, polled_at: SimTime, change: &mut Change) -> bool {
        let Some((part, missing)) = segment.sack.as_slice().split_first() else { return false };
        let mut lost = false;
        let mut arrived_from = part.start;
        for gap in missing {
            self.take_arrived(Range::new(arrived_from, gap.start), change);
            let gap = Range::new(gap.start.max(self.una), gap.end);
            lost |= self.board.mark_missing(gap, |s| s.sent_at <= polled_at);
            arrived_from = gap.end;
        }
        self.take_arrived(Range::new(arrived_from, part.end), change);
        lost
    }

    fn take_arrived(&mut self, range: Range, change: &mut Change) {
        self.board.sack(Range::new(range.start.max(self.una), range.end), change);
    }

    /// A segment has left.
    pub(super) fn count_for_poll(&mut self, now: SimTime) {
        let Some(polling) = self.polling.as_deref_mut() else { return };
        polling.segments += 1;
        if polling.segments >= SEGMENTS {
            polling.due = true;
        }
        self.schedule_poll(now);
    }

    /// Sets the poll timer: it runs while anything waits for an answer or for room.
    pub(super) fn schedule_poll(&mut self, now: SimTime) {
        let waits = !self.board.is_empty() || self.unsent() > 0;
        let Some(polling) = self.polling.as_deref_mut() else { return };
        if !waits {
            polling.last_at = SimTime::NEVER;
            polling.silent_since = SimTime::NEVER;
            polling.segments = 0;
            polling.due = false;
            self.timers.set_poll(SimTime::NEVER);
            return;
        }
        if polling.last_at.is_never() {
            polling.last_at = now;
        }
        let round_trip = self.rtt.srtt().unwrap_or(self.config.rto.initial);
        let mut interval = (round_trip / 3).max(MIN_INTERVAL);
        if !polling.silent_since.is_never() {
            // No answer within two round trips: another poll.
            interval = interval.min((round_trip * 2).max(self.config.rto.granularity));
        }
        // The interval may have shrunk since the last poll.
        self.timers.set_poll((polling.last_at + interval).max(now));
    }

    /// The poll timer has run out. Returns true if the peer has been silent for too long.
    pub(super) fn poll_is_due(&mut self, now: SimTime) -> bool {
        let patience = self.config.rto.max.saturating_mul(u64::from(self.config.retries));
        let Some(polling) = self.polling.as_deref_mut() else { return false };
        polling.due = true;
        // Set anew when the poll leaves.
        self.timers.set_poll(SimTime::NEVER);
        !polling.silent_since.is_never() && now.since(polling.silent_since) > patience
    }

    /// The number of the poll that leaves now, if one is due.
    pub fn take_poll(&mut self, now: SimTime) -> Option<u32> {
        let polling = self.polling.as_deref_mut()?;
        if !std::mem::take(&mut polling.due) {
            return None;
        }
        polling.number += 1;
        polling.last_at = now;
        polling.segments = 0;
        polling.pending.push_back((polling.number, now));
        if polling.silent_since.is_never() {
            polling.silent_since = now;
        }
        let number = polling.number;
        self.schedule_poll(now);
        Some(number)
    }
}
