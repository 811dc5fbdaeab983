//! Segments that wait for others of a send quantum.
//!
//! Source: Linux 6.18 `tcp_tso_should_defer`, `tcp_cwnd_test` and `tcp_write_xmit` in net/ipv4/tcp_output.c. A sender with less room in its
//! windows than a quantum waits for the next ACK, if that is about to come, and then sends a whole one. From some 24 Mbit/s on a quantum
//! is more than the two segments that a delayed ACK lets go. What waits for the congestion window uses it up (`tcp_cwnd_validate`).
//!
//! Deviation: all that waits counts as one buffer; in the kernel one that has another behind it leaves as soon as it fits.

use units::{Nanos, SimTime};

use super::super::send_buffer::{MIN_QUANTUM, send_quantum};
use super::Sender;
use crate::config::QuantumRule;

/// After a longer silence all leaves that the windows have room for.
const RECENT: Nanos = Nanos::from_millis(1);
/// Room for this part of the window is enough (`tcp_tso_win_divisor`).
const ENOUGH: u64 = 3;

impl Sender {
    /// A full segment that the windows have room for waits until they have room for more.
    #[inline]
    pub(super) fn waits_for_quantum(&mut self, now: SimTime) -> bool {
        self.config.sending.quantum_rule == QuantumRule::Linux
            && !self.activity.take_granted(now)
            && !self.begins_quantum(now)
    }

    /// Nothing of a quantum is left: the next begins now, or not yet.
    #[inline(never)]
    fn begins_quantum(&mut self, now: SimTime) -> bool {
        let (mss, one) = (self.send.mss().max(1), self.full().max(1));
        let cwnd = self.congestion.cwnd() / one;
        let by_cwnd = self.usable_window().saturating_sub(self.in_flight()) / one;
        let by_receiver = self.right_edge().0.saturating_sub(self.send.nxt().0) / mss;
        let room = by_cwnd.min(by_receiver);
        let near = self.next_ack_is_near(now);
        // The rate is asked for only where it decides.
        let least = room < MIN_QUANTUM || room == MIN_QUANTUM && !near;
        let quantum = if least { MIN_QUANTUM } else { send_quantum(self.pacing_rate_estimate(), mss) };
        let window = self.window.size(self.send.una()).0.min(cwnd * mss);
        if near && room < quantum && room * mss < window / ENOUGH {
            if by_cwnd < by_receiver {
                self.activity.judge((self.send.una(), self.send.nxt()), self.in_flight(), true);
            }
            return false;
        }
        let segments = room.min(quantum).min(cwnd / 2).max(1);
        self.activity.grant(now, segments - 1);
        true
    }

    /// More than a segment waits, the last has just left, and the oldest is to be acknowledged soon.
    fn next_ack_is_near(&self, now: SimTime) -> bool {
        let recent = self.activity.idle_for(now).is_some_and(|idle| idle <= RECENT);
        if !recent || !self.recovery.is_open() || self.send.unsent() <= self.send.mss() {
            return false;
        }
        let due =
            |srtt: Nanos| self.board.front().map(|oldest| (oldest.sent_at + srtt, RECENT.min(srtt / 2)));
        self.rtt.srtt().and_then(due).is_some_and(|(ack, patience)| ack <= now + patience)
    }
}
