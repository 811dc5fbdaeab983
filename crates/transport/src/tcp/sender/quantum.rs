//! Segments that wait for others of a send quantum.
//!
//! Source: Linux 6.18 `tcp_tso_should_defer`, `tcp_cwnd_test` and `tcp_write_xmit` in net/ipv4/tcp_output.c. A sender with less room in its
//! windows than a quantum waits for the next ACK, if that is about to come, and then sends a whole one. From some 24 Mbit/s on a quantum
//! is more than the two segments that a delayed ACK lets go. A quantum that waits for the congestion window counts as using it up (`tcp_cwnd_validate`).
//!
//! Deviation: all that waits counts as one buffer; in the kernel one that has another behind it leaves as soon as it fits.

use units::{Nanos, SimTime};

use super::super::send_buffer::{MIN_QUANTUM, send_quantum};
use super::Sender;
use crate::config::QuantumRule;
use crate::limit::Limit;

/// After a longer silence all leaves that the windows have room for.
const RECENT: Nanos = Nanos::from_millis(1);
/// Room for this part of the window is enough (`tcp_tso_win_divisor`).
const ENOUGH: u64 = 3;

impl Sender {
    /// Why a full segment that the windows have room for beside `flight` bytes in a window of `window` waits until they have room for
    /// more; `None`: it may leave.
    #[inline]
    pub(super) fn waits_for_quantum(&mut self, now: SimTime, flight: u64, window: u64) -> Option<Limit> {
        if self.config.sending.quantum_rule != QuantumRule::Linux || self.activity.is_granted(now) {
            return None;
        }
        let near =
            self.activity.idle_for(now).is_some_and(|idle| idle <= RECENT) && self.next_ack_is_near(now);
        if near || self.has_room_for_two(flight, window) {
            return self.begin_quantum(now, near, flight, window);
        }
        None
    }

    /// Another may leave with it.
    #[inline]
    fn has_room_for_two(&self, flight: u64, window: u64) -> bool {
        flight + 2 * self.full() <= window && self.send.nxt().0 + 2 * self.send.mss() <= self.right_edge().0
    }

    /// Nothing of a quantum is left: the next begins now, or not yet.
    #[inline(never)]
    fn begin_quantum(&mut self, now: SimTime, near: bool, flight: u64, window: u64) -> Option<Limit> {
        let (mss, one) = (self.send.mss().max(1), self.full().max(1));
        let cwnd = self.congestion.cwnd() / one;
        let by_cwnd = window.saturating_sub(flight) / one;
        let by_receiver = self.right_edge().0.saturating_sub(self.send.nxt().0) / mss;
        let room = by_cwnd.min(by_receiver);
        // The rate is asked for only where it decides.
        let least = room < MIN_QUANTUM || room == MIN_QUANTUM && !near;
        let quantum = if least { MIN_QUANTUM } else { send_quantum(self.pacing_rate_estimate(), mss) };
        let offered = self.window.size(self.send.una()).0;
        if near && room < quantum && room * mss < offered.min(cwnd * mss) / ENOUGH {
            if by_receiver <= by_cwnd {
                return Some(Limit::ReceiveWindow);
            }
            self.activity.judge((self.send.una(), self.send.nxt()), flight, true);
            return Some(Limit::CongestionWindow);
        }
        self.activity.grant(now, room.min(quantum).min(cwnd / 2).max(1));
        None
    }

    /// Some of the room in a window of `window` beside `flight` bytes will be left when this ACK has let whole quanta go.
    pub(super) fn will_wait_for_quantum(&self, now: SimTime, flight: u64, window: u64) -> bool {
        let mss = self.send.mss().max(1);
        let room = window.saturating_sub(flight) / self.full().max(1);
        if self.config.sending.quantum_rule != QuantumRule::Linux
            || self.send.unsent() <= room * mss
            || !self.next_ack_is_near(now)
        {
            return false;
        }
        let quantum = send_quantum(self.pacing_rate_estimate(), mss);
        let recent = self.activity.idle_for(now).is_some_and(|idle| idle <= RECENT);
        // A short segment is the end of its buffer, and leaves alone.
        let first = match self.send.next_len() < mss {
            true => 1,
            false if recent => 0,
            false => room.min(quantum),
        };
        room.saturating_sub(first) % quantum > 0
    }

    /// More than a segment waits, the last has just left, and the oldest is to be acknowledged soon.
    #[inline(never)]
    fn next_ack_is_near(&self, now: SimTime) -> bool {
        if !self.recovery.is_open() || self.send.unsent() <= self.send.mss() {
            return false;
        }
        let due =
            |srtt: Nanos| self.board.front().map(|oldest| (oldest.sent_at + srtt, RECENT.min(srtt / 2)));
        self.rtt.srtt().and_then(due).is_some_and(|(ack, patience)| ack <= now + patience)
    }
}
