//! Dummy segments of TCP-Peach: when they leave. They are no data and no part of what is in flight.
//!
//! Deviation: none leaves when the application has nothing to send: it would probe for what nobody wants.

use congestion::{Dummies, DummyAnswer};
use units::{Bytes, Nanos, SimTime};

use super::Sender;

/// Dummies to be sent.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// A round trip of them follows the next segment with data.
    awaits_data: bool,
    /// Still to leave in equal steps of time, the next one at this time; `NEVER` without any.
    spaced: u64,
    gap: Nanos,
    next_at: SimTime,
    /// Still to leave, one with each ACK.
    per_ack: u64,
    /// To leave now.
    due: u64,
    sent: u64,
}

impl Default for Queue {
    fn default() -> Self {
        let (gap, next_at) = (Nanos::ZERO, SimTime::NEVER);
        Self { awaits_data: false, spaced: 0, gap, next_at, per_ack: 0, due: 0, sent: 0 }
    }
}

impl Queue {
    pub(super) fn next_at(&self) -> SimTime {
        self.next_at
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    fn obey(&mut self, order: Dummies) {
        *self = Self { sent: self.sent, ..Self::default() };
        match order {
            Dummies::WindowOverRoundTrip => self.awaits_data = true,
            Dummies::PerAck(count) => self.per_ack = count,
        }
    }
}

impl Sender {
    /// A segment with data has left: Sudden Start begins with it, once a round-trip time is known.
    pub(super) fn data_has_left(&mut self, now: SimTime) {
        let Some(queue) = self.dummies.as_deref_mut() else { return };
        if let Some(order) = self.congestion.take_dummies() {
            queue.obey(order);
        }
        let (Some(round_trip), true) = (self.rtt.srtt(), queue.awaits_data) else { return };
        queue.awaits_data = false;
        let window = self.window_right.saturating_sub(self.una);
        queue.spaced = (window / self.mss).saturating_sub(1);
        if queue.spaced > 0 {
            // tau = RTT MSS / rwnd.
            let gap = u128::from(round_trip.0) * u128::from(self.mss) / u128::from(window);
            queue.gap = Nanos(u64::try_from(gap).unwrap_or(u64::MAX));
            queue.next_at = now + queue.gap;
        }
    }

    /// An ACK has arrived.
    pub(super) fn clock_dummies(&mut self) {
        let Some(queue) = self.dummies.as_deref_mut() else { return };
        if let Some(order) = self.congestion.take_dummies() {
            queue.obey(order);
        }
        if queue.per_ack > 0 {
            queue.per_ack -= 1;
            queue.due += 1;
        }
    }

    /// Those whose time has come are due.
    pub(super) fn release_dummies(&mut self, now: SimTime) {
        let Some(queue) = self.dummies.as_deref_mut() else { return };
        while queue.next_at <= now {
            queue.due += 1;
            queue.spaced -= 1;
            queue.next_at = if queue.spaced > 0 { queue.next_at + queue.gap } else { SimTime::NEVER };
        }
    }

    /// True if a dummy leaves now.
    pub fn take_dummy(&mut self) -> bool {
        // What an MPTCP connection has to send is not all with the subflow.
        let in_use = self.unsent() > 0 || (self.mapped && !self.finish);
        let Some(queue) = self.dummies.as_deref_mut().filter(|queue| queue.due > 0) else { return false };
        if !in_use {
            queue.due = 0;
            return false;
        }
        queue.due -= 1;
        queue.sent += 1;
        true
    }

    /// The peer has answered a dummy; one that was never asked for has no meaning.
    pub fn on_dummy_answer(&mut self, now: SimTime) {
        if self.dummies.is_some() {
            let rwnd = Bytes(self.window_right.saturating_sub(self.una));
            self.congestion.on_dummy_answer(&DummyAnswer { now, rwnd });
        }
    }
}
