//! The next segment to send, if the windows allow one.

use congestion::Restart;
use units::{Bytes, Nanos, SimTime};

use super::super::sent::Sent;
use super::Sender;
use super::detector::Detection;
use super::recovery::{HoleKind, Phase};
use super::sequence::Fresh;
use crate::config::IdleRestart;
use crate::limit::Limit;
use crate::mptcp::option::Mapped;
use crate::seq::Seq;
use crate::space::SpaceSignal;

/// A range of the stream to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// First sequence number.
    pub seq: Seq,
    /// Payload bytes; 0 for a bare FIN.
    pub len: u32,
    /// The mapping of the payload.
    pub mapped: Mapped,
    /// Carries the FIN.
    pub fin: bool,
    /// Was sent before.
    pub retransmission: bool,
}

impl Sender {
    /// False if `next` would find nothing and start no timer: nothing queued, nothing to repair, no probe.
    #[inline(always)]
    pub fn may_have_something(&self) -> bool {
        self.send.unsent() > 0 || self.send.owes_fin() || !self.usual.is_open() && self.may_have_a_repair()
    }

    #[inline(never)]
    fn may_have_a_repair(&self) -> bool {
        !self.recovery.is_open()
            || self.board.lost() > 0
            || self.recovery.is_forced()
            || self.detector.probe().is_due()
            || self.polls()
            || self.congestion.dummies().is_some()
    }

    /// The policy may have something to send when no data waits.
    #[inline]
    fn polls(&self) -> bool {
        self.policy.as_deref().is_some_and(|policy| policy.may_poll())
    }

    /// The next segment; call until `None`. Retransmissions first, then new data, then the FIN.
    #[inline(always)]
    pub fn next(&mut self, now: SimTime) -> Option<Transmission> {
        if let Some(found) = self.next_usual(now) {
            return found;
        }
        let found = self.next_of_any_kind(now);
        self.look_for_usual_way();
        found
    }

    #[inline(never)]
    fn next_of_any_kind(&mut self, now: SimTime) -> Option<Transmission> {
        self.usual.leave();
        if self.pacer.is_held(now) {
            let waits = self.send.unsent() > 0 || self.board.lost() > 0;
            return self.wait(if waits { Limit::Pacing } else { Limit::Application });
        }
        if !self.may_have_something() {
            return self.wait(Limit::Application);
        }
        if self.recovery.take_forced()
            && let Some(front) = self.board.front().copied()
        {
            return Some(self.resend(now, front));
        }
        if self.timer.is_outage() {
            return self.wait(Limit::PathDown);
        }
        if self.detector.probe_mut().take_due()
            && let Some(probe) = self.tail_loss_probe(now)
        {
            return Some(probe);
        }
        let (window, flight) = (self.usable_window(), self.in_flight());
        if !self.recovery.holds_back()
            && let Some(lost) = self.board.next_lost()
        {
            let fits = flight + self.board.counted().one(u64::from(lost.len)) <= window || flight == 0;
            if fits || self.resends_at_once() {
                return Some(self.resend(now, lost));
            }
            return self.wait(Limit::Recovery);
        }
        let new = self.next_new(now, window, flight);
        if new.is_none() && self.may_fill_holes() {
            return self.fill_hole(now, window, flight);
        }
        new
    }

    /// Data named by a report replaces the lost data in the network, whatever the window is now.
    fn resends_at_once(&self) -> bool {
        self.detector.kind() == Detection::Reported && self.recovery.phase() != Phase::Loss
    }

    #[inline]
    fn may_fill_holes(&self) -> bool {
        self.recovery.phase() == Phase::Recovery && self.detector.kind() == Detection::Sack
    }

    fn next_new(&mut self, now: SimTime, window: u64, flight: u64) -> Option<Transmission> {
        let mut len = self.send.next_len();
        if len == 0 {
            self.activity.wait(Limit::Application);
            return self.next_fin(now);
        }
        let usable = self.right_edge().0.saturating_sub(self.send.nxt().0);
        if len > usable {
            // Sender-side silly window avoidance (RFC 1122 4.2.3.4).
            if !self.window.permits_fragment(usable) {
                self.start_persist(now);
                let full = !self.has_room_beside(flight, len, window);
                return self.wait(if full { self.limit_of_window() } else { Limit::ReceiveWindow });
            }
            len = usable;
        }
        if !self.has_room_beside(flight, len, window) {
            return self.wait(self.limit_of_window());
        }
        if self.nagle_forbids(len) {
            return self.wait(Limit::Application);
        }
        if len == self.send.mss() {
            if let Some(limit) = self.waits_for_quantum(now, flight, window) {
                return self.wait(limit);
            }
            self.activity.take_granted(now);
        }
        if self.recovery.is_open() {
            self.detector.count_limited_transmit(self.board.counted().one(len));
        }
        Some(self.send_new(now, len))
    }

    /// A window of `window` bytes has room for `len` new bytes beside what is in flight.
    #[inline]
    pub(super) fn has_room_beside(&self, flight: u64, len: u64, window: u64) -> bool {
        flight + self.board.counted().one(len) <= window + self.limited_transmit_allowance()
    }

    /// RFC 3042: what duplicate ACKs let out beyond the window.
    #[inline]
    pub(super) fn limited_transmit_allowance(&self) -> u64 {
        if self.recovery.is_open() { self.detector.limited_transmit_allowance(self.send.mss()) } else { 0 }
    }

    /// RFC 9293 3.7.4: a small segment waits while anything is outstanding, unless it ends the stream. After Minshall, as in
    /// Linux (`tcp_minshall_check`), only while a small one is.
    fn nagle_forbids(&self, len: u64) -> bool {
        if self.send.is_mapped() {
            return self.config.sending.nagle && self.config.sending.minshall && self.send.holds_tail(len);
        }
        self.config.sending.nagle
            && len < self.send.mss()
            && !self.send.is_closing()
            && if self.config.sending.minshall {
                self.send.has_small_outstanding()
            } else {
                !self.board.is_empty()
            }
    }

    fn next_fin(&mut self, now: SimTime) -> Option<Transmission> {
        if !self.send.owes_fin() {
            return None;
        }
        self.restart_after_idle(now);
        let fresh = self.send.advance_fin();
        Some(self.transmit(now, fresh, 0, true))
    }

    fn send_new(&mut self, now: SimTime, len: u64) -> Transmission {
        self.restart_after_idle(now);
        let fresh = self.send.advance(len);
        self.transmit(now, fresh, len as u32, false)
    }

    /// A first transmission: `len` bytes, or a FIN.
    fn transmit(&mut self, now: SimTime, fresh: Fresh, len: u32, fin: bool) -> Transmission {
        let sent = Sent::new(fresh.seq, (len + u32::from(fin), fin), fresh.mapped, now);
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_send(now, sent.end(), Bytes(self.board.pipe()));
        }
        self.board.push(sent);
        self.activity.sent(now, len, false);
        self.note_payload(len);
        self.judge_window_usage();
        self.start_timers_after_send(now, true);
        self.after_transmission(now, len);
        Transmission { seq: sent.seq, len, mapped: fresh.mapped, fin, retransmission: false }
    }

    /// After an idle time of one RTO the window starts anew.
    #[inline(always)]
    pub(super) fn restart_after_idle(&mut self, now: SimTime) {
        if self.board.is_empty() {
            self.restart_if_idle(now);
        }
    }

    #[inline(never)]
    fn restart_if_idle(&mut self, now: SimTime) {
        let rule = self.config.window.idle_restart;
        if rule == IdleRestart::Never {
            return;
        }
        let rto = self.rtt.rto(0);
        let Some(idle) = self.activity.idle_for(now).filter(|idle| *idle >= rto) else { return };
        let initial = Bytes(u64::from(self.config.window.initial_window) * self.send.mss());
        let cwnd = Bytes(self.congestion.cwnd());
        // TCP transmits what it queues at once. MPTCP fills the buffers of a subflow first, and each asks.
        let asked =
            if self.send.is_mapped() { self.send.unsent().div_ceil(QUEUED_AT_ONCE.0).max(1) } else { 1 };
        self.keep_rate();
        self.congestion.on_idle_restart(now, restart(rule, cwnd, initial, asked * timeouts_over(idle, rto)));
    }

    #[inline]
    fn judge_window_usage(&mut self) {
        let flight = self.in_flight();
        let limited = flight + self.full() > self.usable_window();
        self.activity.judge((self.send.una(), self.send.nxt()), flight, limited);
    }

    /// The pacer and the dummies of the controller follow each transmission.
    #[inline]
    fn after_transmission(&mut self, now: SimTime, len: u32) {
        self.hold_after(now, u64::from(len));
        let window = self.window.size(self.send.una());
        if let Some(queue) = self.congestion.dummies_mut() {
            queue.data_sent(now, self.rtt.srtt(), window, Bytes(self.send.mss()));
        }
        self.check();
    }

    /// PRR counts the payload that leaves.
    #[inline]
    pub(super) fn note_payload(&mut self, len: u32) {
        if len > 0 {
            self.recovery.sent(self.board.counted().one(u64::from(len)));
        }
    }

    fn resend(&mut self, now: SimTime, segment: Sent) -> Transmission {
        self.recovery.resent(segment.end());
        self.retransmit(now, segment)
    }

    fn retransmit(&mut self, now: SimTime, segment: Sent) -> Transmission {
        self.board.retransmit(segment.seq, now);
        self.note_resent(now);
        let len = segment.len - u32::from(segment.fin);
        self.activity.sent(now, len, true);
        self.note_payload(len);
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_resend(segment.end());
        }
        self.restart_timer_after_resend(now, segment.seq);
        self.after_transmission(now, len);
        let mapped = segment.mapped();
        Transmission { seq: segment.seq, len, mapped, fin: segment.fin, retransmission: true }
    }

    /// RFC 6675 NextSeg rules 3 and 4: with nothing better to send, fill holes that are not yet deemed lost, and
    /// rescue the end of the window once.
    fn fill_hole(&mut self, now: SimTime, window: u64, flight: u64) -> Option<Transmission> {
        if flight + self.full() > window {
            return None;
        }
        let (segment, kind) = self.recovery.next_hole(&self.board, self.send.una())?;
        Some(match kind {
            HoleKind::Hole => self.resend(now, segment),
            HoleKind::Rescue => self.retransmit(now, segment),
        })
    }

    /// RFC 8985 section 7.3: new data if there is any, otherwise the last segment once more, beyond the window.
    fn tail_loss_probe(&mut self, now: SimTime) -> Option<Transmission> {
        let len = self.send.next_len();
        let fits = Seq(self.send.nxt().0 + len) <= self.window.right();
        let probe = if len > 0 && fits {
            self.send_new(now, len)
        } else {
            let last = self.board.back().copied()?;
            self.resend(now, last)
        };
        self.detector.probe_mut().sent(self.send.nxt(), probe.retransmission);
        Some(probe)
    }

    /// The dummy that leaves now, if one is due (TCP-Peach).
    #[inline]
    pub fn take_dummy(&mut self) -> Option<SpaceSignal> {
        let queue = self.congestion.dummies_mut()?;
        // The data of an MPTCP connection is not all on this subflow.
        let in_use = self.send.unsent() > 0 || (self.send.is_mapped() && !self.send.is_closing());
        queue.take(in_use, Bytes(self.send.mss()))
    }

    /// The peer has answered a dummy.
    pub fn on_dummy_answer(&mut self, now: SimTime) {
        let rwnd = self.window.size(self.send.una());
        self.congestion.on_dummy_answer(&congestion::DummyAnswer { now, rwnd });
    }
}

/// Data in one buffer of a subflow of MPTCP: `sk_gso_max_size` less the headers, in whole segments of 1424 bytes.
const QUEUED_AT_ONCE: Bytes = Bytes(64_080);

/// Whole timeouts that an idle time exceeds: `tcp_cwnd_restart` takes them off while time is left.
fn timeouts_over(idle: Nanos, rto: Nanos) -> u64 {
    idle.0.saturating_sub(1) / rto.0.max(1)
}

/// The window after an idle time of a timeout or more.
fn restart(rule: IdleRestart, cwnd: Bytes, initial: Bytes, halvings: u64) -> Restart {
    if rule != IdleRestart::Halving {
        return Restart { cwnd: initial.min(cwnd), ssthresh: None };
    }
    Restart {
        cwnd: Bytes(cwnd.0 >> halvings.min(63)).max(initial.min(cwnd)),
        ssthresh: Some(Bytes(cwnd.0 / 2 + cwnd.0 / 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 was seen to do it: windows in segments before and after, timeouts of silence, buffers queued.
    #[test]
    fn windows_after_idling_are_those_of_linux() {
        let mss = 1424;
        let rto = Nanos::from_millis(400);
        for (before, after, timeouts, buffers) in
            [(165, 82, 1.7, 1), (82, 20, 1.3, 2), (46, 11, 1.4, 2), (84, 10, 2.4, 2)]
        {
            let halvings = buffers * timeouts_over(Nanos((timeouts * rto.0 as f64) as u64), rto);
            let kept = restart(IdleRestart::Halving, Bytes(before * mss), Bytes(10 * mss), halvings);
            assert_eq!(kept.cwnd.0 / mss, after, "{before} segments");
            assert_eq!(kept.ssthresh, Some(Bytes(before * mss / 2 + before * mss / 4)));
        }
    }
}
