//! RACK-TLP (RFC 8985): losses are detected by time instead of counting, and a probe turns tail losses into
//! fast recovery instead of a timeout.
//!
//! Deviations: the minimum RTT is this sender's windowed one; the reordering timer fires when the first segment is due,
//! not the last; an ACK that advances while nothing is SACKed or being repaired shows no loss, as in Linux
//! (`tcp_ack_is_dubious`); the echo of an ACK that only SACKs proves nothing about a retransmission; an ACK is taken
//! for that of the original if it comes a sixteenth before the minimum RTT, not the least bit before.

use units::{Nanos, SimTime};

use super::scoreboard::Scoreboard;

use super::sent::{Change, Delivered};
use crate::seq::Seq;

/// Largest ACK delay that a probe timeout must allow for.
const MAX_ACK_DELAY: Nanos = Nanos::from_millis(200);
/// Probe timeout before the first round-trip sample.
const INITIAL_PTO: Nanos = Nanos::from_secs(1);
/// Recoveries without DSACK after which the reordering window shrinks again.
const PERSIST: u32 = 16;

/// State of loss detection.
#[derive(Clone, Debug)]
pub struct Rack {
    /// Transmission time and end of the most recently sent segment that was delivered.
    latest: (SimTime, Seq),
    /// Round-trip time of the newest segment that the last ACK delivered.
    rtt: Nanos,
    reordering_seen: bool,
    /// Highest sequence number delivered.
    forward_ack: Seq,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// snd_nxt when the window was last widened: once per round.
    dsack_round: Option<Seq>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            latest: (SimTime::ZERO, Seq::SYN),
            rtt: Nanos::ZERO,
            reordering_seen: false,
            forward_ack: Seq::SYN,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSIST,
            dsack_round: None,
        }
    }
}

/// Inputs of RACK besides its own state.
#[derive(Clone, Copy, Debug)]
pub struct RackInput {
    /// When.
    pub now: SimTime,
    /// Minimum round-trip time.
    pub min_rtt: Nanos,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Recovery is under way, or as many segments as the duplicate threshold are SACKed.
    pub impatient: bool,
}

impl Rack {
    /// Steps 1 to 3 of section 6.2: takes in what an ACK delivered.
    pub fn on_ack(&mut self, now: SimTime, change: &Change, min_rtt: Nanos) {
        if change.lowest_clean.is_some_and(|end| end < self.forward_ack) {
            self.reordering_seen = true;
        }
        self.forward_ack = self.forward_ack.max(change.highest);
        if let Some(delivered) = change.latest_proved {
            self.advance(now, delivered, min_rtt);
        }
    }

    /// The same for data that was sent once and in order: `end` is where the newest segment ends, `sent_at` when it left.
    #[inline]
    pub fn on_clean_ack(&mut self, now: SimTime, (sent_at, end): (SimTime, Seq)) {
        debug_assert!(self.forward_ack < end, "delivered in order, and yet below what was delivered");
        self.forward_ack = end;
        self.rtt = now - sent_at;
        self.latest = self.latest.max((sent_at, end));
    }

    fn advance(&mut self, now: SimTime, delivered: Delivered, min_rtt: Nanos) {
        let rtt = now.since(delivered.sent_at);
        // A short segment, such as a bare FIN, is a little faster than those that gave the minimum.
        if delivered.retransmitted && rtt < min_rtt - min_rtt / 16 {
            // The ACK is of the original: it says nothing about the retransmission.
            return;
        }
        self.rtt = rtt;
        self.latest = self.latest.max((delivered.sent_at, delivered.end));
    }

    /// The receiver reported a duplicate: the reordering window was too small, once per round.
    pub fn on_dsack(&mut self, snd_una: Seq, snd_nxt: Seq) {
        debug_assert!(snd_una <= snd_nxt);
        if self.dsack_round.is_none_or(|round| snd_una >= round) {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = PERSIST;
        }
    }

    /// A recovery episode ended.
    pub fn on_exit_recovery(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Step 4: how long a segment may be late.
    pub fn reordering_window(&self, input: &RackInput) -> Nanos {
        if !self.reordering_seen && input.impatient {
            return Nanos::ZERO;
        }
        debug_assert!(self.reo_wnd_mult >= 1, "the window is a multiple of a quarter of the minimum RTT");
        (input.min_rtt.saturating_mul(u64::from(self.reo_wnd_mult)) / 4).min(input.srtt)
    }

    /// Nothing was sent before what has been delivered: the usual case, and cheaper to see than `detect`.
    #[inline]
    pub fn nothing_is_late(&self, board: &Scoreboard) -> bool {
        board.starts_after(self.latest)
    }

    /// Step 5: marks late segments. Returns whether any was marked, and when to look again (`NEVER`: no need).
    pub fn detect(&self, board: &mut Scoreboard, input: &RackInput) -> (bool, SimTime) {
        board.mark_late(self.latest, self.rtt + self.reordering_window(input), input.now)
    }

    /// Section 6.3: at a timeout only the oldest segment and those that are overdue are lost; data sent a
    /// moment ago is still on its way.
    pub fn mark_on_timeout(&self, board: &mut Scoreboard, input: &RackInput) {
        let patience = self.rtt + self.reordering_window(input);
        board.mark_lost_on_timeout(|segment| segment.sent_at + patience <= input.now);
    }
}

/// Section 7.2: when to probe for a tail loss, counted from the last transmission or ACK.
pub fn probe_timeout(srtt: Option<Nanos>, one_segment_outstanding: bool) -> Nanos {
    let Some(srtt) = srtt else { return INITIAL_PTO };
    let ack_delay = if one_segment_outstanding { MAX_ACK_DELAY } else { Nanos::ZERO };
    srtt * 2 + ack_delay
}

#[cfg(test)]
mod tests {
    use super::super::ranges::Range;
    use super::super::sent::Sent;
    use super::*;
    use crate::mptcp::option::Mapped;

    fn sent(seq: u64, at: SimTime) -> Sent {
        Sent::new(Seq(seq), (1000, false), Mapped::default(), at)
    }

    /// Test vector RACK-1: the window, the moment of loss, and the probe timeout.
    #[test]
    fn rack_1() {
        let (min_rtt, ms) = (Nanos::from_millis(560), SimTime::from_millis);
        let mut rack = Rack::default();
        let mut board = Scoreboard::default();
        board.push(sent(1, ms(0)));
        board.push(sent(1001, ms(0)));
        let mut change = Change::default();
        board.sack(Range::new(Seq(1001), Seq(2001)), &mut change);
        rack.on_ack(ms(600), &change, min_rtt);
        let input =
            |now| RackInput { now: ms(now), min_rtt, srtt: Nanos::from_millis(600), impatient: false };
        assert_eq!(rack.reordering_window(&input(600)), Nanos::from_millis(140));
        assert_eq!(rack.detect(&mut board, &input(600)), (false, ms(740)));
        assert_eq!(rack.detect(&mut board, &input(739)), (false, ms(740)));
        assert_eq!(rack.detect(&mut board, &input(740)), (true, SimTime::NEVER));
        assert_eq!(probe_timeout(Some(Nanos::from_millis(600)), true), Nanos::from_millis(1400));
        assert_eq!(probe_timeout(Some(Nanos::from_millis(600)), false), Nanos::from_millis(1200));
        assert_eq!(probe_timeout(None, true), Nanos::from_secs(1));
    }

    #[test]
    fn the_window_widens_once_per_round_and_shrinks_after_sixteen_recoveries() {
        let mut rack = Rack { reordering_seen: true, ..Rack::default() };
        let input = RackInput {
            now: SimTime::ZERO,
            min_rtt: Nanos::from_millis(400),
            srtt: Nanos::from_secs(10),
            impatient: true,
        };
        rack.on_dsack(Seq(100), Seq(500));
        rack.on_dsack(Seq(200), Seq(600));
        assert_eq!(rack.reordering_window(&input), Nanos::from_millis(200));
        rack.on_dsack(Seq(500), Seq(900));
        assert_eq!(rack.reordering_window(&input), Nanos::from_millis(300));
        (0..16).for_each(|_| rack.on_exit_recovery());
        assert_eq!(rack.reordering_window(&input), Nanos::from_millis(100));
    }
}
