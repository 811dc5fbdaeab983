//! STP at the sender: when it polls. The peer answers what is missing; there are no acknowledgements and there is no
//! retransmission timer.
//!
//! Source: T. Henderson and R. Katz, IEEE JSAC 17(2), 1999, after the SSCOP of ITU-T Q.2110. Choice D-24: a poll
//! every third of a round trip but not more often than every 100 ms, or after 50 segments. Choice D-26: a peer that
//! answers no poll for as long as TCP would try is given up.

use std::collections::VecDeque;

use units::{Nanos, SimTime};

use crate::config::RtoConfig;

/// Least time between polls (choice D-24).
const MIN_INTERVAL: Nanos = Nanos::from_millis(100);
/// Segments after which a poll is due whatever the time (choice D-24).
const SEGMENTS: u32 = 50;

/// The sender, as far as a policy must know it.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// Anything is outstanding, or waits for room.
    pub waits: bool,
    /// Smoothed round-trip time.
    pub round_trip: Option<Nanos>,
}

/// The poll timer and the polls whose answer may still come.
#[derive(Clone, Debug)]
pub struct Poller {
    /// For the round-trip time before the first sample, and the granularity of the clock.
    rto: RtoConfig,
    /// Silence after which the peer is given up.
    patience: Nanos,
    /// Number of the last poll.
    number: u32,
    /// When it left, or the first segment after a pause; `NEVER` before.
    last_at: SimTime,
    /// Segments sent since.
    segments: u32,
    /// A poll is to be sent now.
    due: bool,
    /// When the next one is; `NEVER`: nothing waits for an answer.
    deadline: SimTime,
    /// Polls that are not answered, ascending, with the time at which they left.
    pending: VecDeque<(u32, SimTime)>,
    /// When the oldest poll left after which nothing has arrived; `NEVER`: something has.
    silent_since: SimTime,
}

impl Poller {
    /// Nothing sent. A peer that is silent for `retries` times the maximum timeout is given up.
    pub fn new(rto: RtoConfig, retries: u32) -> Self {
        Self {
            patience: rto.max.saturating_mul(u64::from(retries)),
            rto,
            number: 0,
            last_at: SimTime::NEVER,
            segments: 0,
            due: false,
            deadline: SimTime::NEVER,
            pending: VecDeque::new(),
            silent_since: SimTime::NEVER,
        }
    }

    /// When the timer runs out; `NEVER` while it does not run.
    pub fn deadline(&self) -> SimTime {
        self.deadline
    }

    /// Poll `number` is answered. Returns when it left, unless it or a later one has been answered before.
    pub fn answered(&mut self, number: u32) -> Option<SimTime> {
        self.silent_since = SimTime::NEVER;
        // Older polls are answered by this one.
        while self.pending.front().is_some_and(|(n, _)| *n < number) {
            self.pending.pop_front();
        }
        self.check();
        self.pending.front().filter(|(n, _)| *n == number).map(|(_, at)| *at)
    }

    /// A segment has left.
    pub fn count_segment(&mut self) {
        self.segments += 1;
        if self.segments >= SEGMENTS {
            self.due = true;
        }
    }

    /// Sets the timer: it runs while anything waits for an answer or for room.
    pub fn schedule(&mut self, now: SimTime, sender: SenderView) {
        if !sender.waits {
            self.last_at = SimTime::NEVER;
            self.silent_since = SimTime::NEVER;
            self.segments = 0;
            self.due = false;
            self.deadline = SimTime::NEVER;
            return;
        }
        if self.last_at.is_never() {
            self.last_at = now;
        }
        let round_trip = sender.round_trip.unwrap_or(self.rto.initial);
        let mut interval = (round_trip / 3).max(MIN_INTERVAL);
        if !self.silent_since.is_never() {
            // No answer within two round trips: another poll.
            interval = interval.min((round_trip * 2).max(self.rto.granularity));
        }
        // The interval may have shrunk since the last poll.
        self.deadline = (self.last_at + interval).max(now);
        self.check();
    }

    /// The timer has run out. True if the peer has been silent for too long.
    pub fn expire(&mut self, now: SimTime) -> bool {
        debug_assert!(self.deadline <= now, "it has not run out");
        self.due = true;
        // Set anew when the poll leaves.
        self.deadline = SimTime::NEVER;
        !self.silent_since.is_never() && now.since(self.silent_since) > self.patience
    }

    /// The number of the poll that leaves now, if one is due.
    pub fn take(&mut self, now: SimTime, sender: SenderView) -> Option<u32> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        self.number += 1;
        self.last_at = now;
        self.segments = 0;
        self.pending.push_back((self.number, now));
        if self.silent_since.is_never() {
            self.silent_since = now;
        }
        self.schedule(now, sender);
        Some(self.number)
    }

    fn check(&self) {
        debug_assert!(
            self.pending.back().is_none_or(|(n, _)| *n <= self.number),
            "a poll that was never sent"
        );
        debug_assert!(
            self.pending.iter().zip(self.pending.iter().skip(1)).all(|(a, b)| a.0 < b.0 && a.1 <= b.1),
            "polls out of order: {self:?}"
        );
        debug_assert!(self.deadline.is_never() || !self.last_at.is_never(), "the timer runs from no poll");
    }
}
