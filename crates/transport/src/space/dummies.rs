//! Dummy segments of TCP-Peach: when they leave. They carry no data and are no part of what is in flight.
//!
//! Source: I. Akyildiz, G. Morabito and S. Palazzo, IEEE/ACM ToN 9(3), 2001; the orders come from the congestion
//! control.
//! Deviation: none leaves when the application has nothing to send: it would probe for a rate that is not wanted.

use congestion::Dummies;
use units::{Bytes, Nanos, SimTime};

use super::segment::SpaceSignal;

/// Dummies to be sent.
#[derive(Clone, Debug)]
pub struct DummyQueue {
    /// The newest order, not begun: it begins with the next ACK or segment with data.
    ordered: Option<Dummies>,
    /// A round trip of them follows the next segment with data.
    awaits_data: bool,
    /// Still to leave in equal steps of time, the next one at `next_at`; `NEVER` without any.
    spaced: u64,
    gap: Nanos,
    next_at: SimTime,
    /// Still to leave, one with each ACK.
    per_ack: u64,
    /// To leave now.
    due: u64,
    sent: u64,
}

impl Default for DummyQueue {
    fn default() -> Self {
        let (gap, next_at) = (Nanos::ZERO, SimTime::NEVER);
        Self { ordered: None, awaits_data: false, spaced: 0, gap, next_at, per_ack: 0, due: 0, sent: 0 }
    }
}

impl DummyQueue {
    /// When the next one is due; `NEVER` without any.
    pub fn deadline(&self) -> SimTime {
        self.next_at
    }

    /// Dummies that have left.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// An order of the congestion control takes the place of the one before, once it begins.
    pub fn order(&mut self, order: Dummies) {
        self.ordered = Some(order);
    }

    fn begin_order(&mut self) {
        let Some(order) = self.ordered.take() else { return };
        *self = Self { sent: self.sent, ..Self::default() };
        match order {
            Dummies::WindowOverRoundTrip => self.awaits_data = true,
            Dummies::PerAck(count) => self.per_ack = count,
        }
    }

    /// A segment with data has left: Sudden Start begins with it, once a round-trip time is known. `window` is what
    /// the peer offers.
    pub fn data_sent(&mut self, now: SimTime, round_trip: Option<Nanos>, window: Bytes, mss: Bytes) {
        self.begin_order();
        let (Some(round_trip), true) = (round_trip, self.awaits_data) else { return };
        self.awaits_data = false;
        self.spaced = (window.0 / mss.0).saturating_sub(1);
        if self.spaced > 0 {
            // tau = RTT MSS / rwnd.
            let gap = u128::from(round_trip.0) * u128::from(mss.0) / u128::from(window.0);
            self.gap = Nanos(u64::try_from(gap).unwrap_or(u64::MAX));
            self.next_at = now + self.gap;
        }
        self.check();
    }

    /// An ACK has arrived.
    pub fn on_ack(&mut self) {
        self.begin_order();
        if self.per_ack > 0 {
            self.per_ack -= 1;
            self.due += 1;
        }
    }

    /// Marks dummies as due whose time has come.
    pub fn release(&mut self, now: SimTime) {
        while self.next_at <= now {
            self.due += 1;
            self.spaced -= 1;
            self.next_at = if self.spaced > 0 { self.next_at + self.gap } else { SimTime::NEVER };
        }
        self.check();
    }

    /// The dummy that leaves now, if one is due, as large as a segment with `mss` bytes. `in_use`: there is data to
    /// send; without any those that are due are dropped.
    pub fn take(&mut self, in_use: bool, mss: Bytes) -> Option<SpaceSignal> {
        if !in_use {
            self.due = 0;
        }
        self.due = self.due.checked_sub(1)?;
        self.sent += 1;
        Some(SpaceSignal::Dummy { len: mss.0 as u32 })
    }

    fn check(&self) {
        debug_assert_eq!(
            self.spaced > 0,
            !self.next_at.is_never(),
            "spaced dummies need a time, and only they"
        );
    }
}
