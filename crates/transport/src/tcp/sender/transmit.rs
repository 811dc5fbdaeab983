//! The next segment to send, if the windows allow one.

use units::SimTime;

use super::super::scoreboard::Sent;
use super::{Phase, Sender};
use crate::config::RecoveryKind;
use crate::limit::Limit;

/// A range of the stream to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// First sequence number.
    pub seq: u64,
    /// Payload bytes; 0 for a bare FIN.
    pub len: u32,
    /// Data sequence number of the first byte (0 without mapping).
    pub dsn: u64,
    /// Carries the FIN.
    pub fin: bool,
    /// Was sent before.
    pub retransmission: bool,
}

impl Sender {
    /// False if `next` would find nothing and start no timer: nothing queued, nothing to repair, no probe.
    pub fn may_have_something(&self) -> bool {
        self.unsent() > 0
            || self.phase != Phase::Open
            || self.board.lost() > 0
            || self.force_retransmit
            || self.timers.is_probe_due()
            || (self.finish && !self.fin_sent)
            || self.polling.is_some()
            || self.dummies.is_some()
    }

    /// The next segment; call until `None`. Retransmissions first, then new data, then the FIN.
    pub fn next(&mut self, now: SimTime) -> Option<Transmission> {
        if self.is_held(now) {
            let limit =
                if self.unsent() > 0 || self.board.lost() > 0 { Limit::Pacing } else { Limit::Application };
            return self.wait(limit);
        }
        if !self.may_have_something() {
            return self.wait(Limit::Application);
        }
        if std::mem::take(&mut self.force_retransmit)
            && let Some(front) = self.board.front().copied()
        {
            return Some(self.resend(now, front));
        }
        if self.timers.is_outage() {
            return self.wait(Limit::PathDown);
        }
        if self.timers.take_probe_due()
            && let Some(probe) = self.tail_loss_probe(now)
        {
            return Some(probe);
        }
        let (window, flight) = (self.window(), self.in_flight());
        if let Some(lost) = self.board.next_lost() {
            let fits = flight + u64::from(lost.len) <= window || flight == 0;
            if fits || self.resends_at_once() {
                return Some(self.resend(now, lost));
            }
            return self.wait(Limit::Recovery);
        }
        let new = self.next_new(now, window, flight);
        if new.is_none() && self.phase == Phase::Recovery && self.config.recovery == RecoveryKind::Sack {
            return self.fill_hole(now, window, flight);
        }
        new
    }

    /// What a SNACK or STAT names takes the place in the network of what was lost, whatever the window has become.
    fn resends_at_once(&self) -> bool {
        let reported = matches!(self.config.recovery, RecoveryKind::Snack { .. } | RecoveryKind::Stp);
        reported && self.phase != Phase::Loss
    }

    fn next_new(&mut self, now: SimTime, window: u64, flight: u64) -> Option<Transmission> {
        let available = match self.unsent.front() {
            Some(chunk) => chunk.len,
            None => self.unsent(),
        };
        if available == 0 {
            self.limit = Limit::Application;
            return self.next_fin(now);
        }
        let mut len = available.min(self.mss);
        let usable = self.right_edge().saturating_sub(self.nxt);
        if len > usable {
            // Sender-side silly window avoidance (RFC 1122 4.2.3.4): a fragment only if it is half of the
            // largest window ever offered, or if the persist timer insists.
            let worth_it = usable > 0 && (2 * usable >= self.max_window || self.timers.take_override());
            if !worth_it {
                self.start_persist(now);
                return self.wait(Limit::ReceiveWindow);
            }
            len = usable;
        }
        if flight + len > window + self.limited_transmit_allowance() {
            return self.wait(self.limit_of_window());
        }
        if self.nagle_forbids(len) {
            return self.wait(Limit::Application);
        }
        if self.phase == Phase::Open && self.dupacks > 0 {
            self.limited_sent += len;
        }
        Some(self.send_new(now, len as u32, false))
    }

    /// RFC 3042: each of the first two duplicate ACKs lets one new segment out. With SACK the same follows from
    /// the pipe, which the SACKed segments have left.
    pub(super) fn limited_transmit_allowance(&self) -> u64 {
        let by_dupacks = self.config.limited_transmit && self.config.recovery == RecoveryKind::NewReno;
        if !by_dupacks || self.phase != Phase::Open || self.dupacks == 0 {
            return 0;
        }
        u64::from(self.dupacks.min(self.config.dupthresh - 1)) * self.mss
    }

    /// RFC 9293 3.7.4: a small segment waits while anything is outstanding, unless it ends the stream.
    fn nagle_forbids(&self, len: u64) -> bool {
        self.config.nagle && !self.mapped && len < self.mss && !self.board.is_empty() && !self.finish
    }

    fn next_fin(&mut self, now: SimTime) -> Option<Transmission> {
        if !self.finish || self.fin_sent {
            return None;
        }
        self.fin_sent = true;
        Some(self.send_new(now, 0, true))
    }

    fn send_new(&mut self, now: SimTime, len: u32, fin: bool) -> Transmission {
        self.restart_after_idle(now);
        let dsn = match self.unsent.front_mut() {
            Some(chunk) => {
                let dsn = chunk.dsn;
                chunk.dsn += u64::from(len);
                chunk.len -= u64::from(len);
                if chunk.len == 0 {
                    self.unsent.pop_front();
                }
                dsn
            }
            None => 0,
        };
        let sent = Sent {
            seq: self.nxt,
            len: len + u32::from(fin),
            fin,
            dsn,
            sent_at: now,
            sacked: false,
            lost: false,
            in_flight_again: false,
            retransmitted: false,
        };
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_send(now, sent.end(), self.board.pipe());
        }
        self.board.push(sent);
        self.nxt = sent.end();
        self.last_sent_at = now;
        if !fin {
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += u64::from(len);
            self.prr.on_send(u64::from(len));
        }
        self.note_window_usage();
        self.start_timers_after_send(now, true);
        self.hold_after(now, u64::from(len));
        self.data_has_left(now);
        Transmission { seq: sent.seq, len, dsn, fin, retransmission: false }
    }

    fn restart_after_idle(&mut self, now: SimTime) {
        let idle = self.board.is_empty() && !self.last_sent_at.is_never();
        if idle && self.config.idle_restart && now.since(self.last_sent_at) >= self.rtt.rto(0) {
            let initial = units::Bytes(u64::from(self.config.initial_window) * self.mss);
            let restart_window = initial.min(units::Bytes(self.congestion.cwnd()));
            self.congestion.on_idle_restart(now, restart_window);
        }
    }

    fn note_window_usage(&mut self) {
        let flight = self.in_flight();
        let limited = flight + self.mss > self.window();
        if self.una >= self.usage.until || limited || (!self.usage.limited && flight > self.usage.max_flight)
        {
            self.usage = super::WindowUsage { limited, max_flight: flight, until: self.nxt };
        }
    }

    fn resend(&mut self, now: SimTime, segment: Sent) -> Transmission {
        self.board.retransmit(segment.seq, now);
        self.high_rxt = self.high_rxt.max(segment.end());
        self.last_sent_at = now;
        let len = segment.len - u32::from(segment.fin);
        if !segment.fin {
            self.stats.segments_sent += 1;
            self.stats.segments_retransmitted += 1;
            self.stats.bytes_sent += u64::from(len);
            self.prr.on_send(u64::from(len));
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.on_resend(segment.end());
        }
        self.restart_timer_after_resend(now, segment.seq);
        self.hold_after(now, u64::from(len));
        self.data_has_left(now);
        Transmission { seq: segment.seq, len, dsn: segment.dsn, fin: segment.fin, retransmission: true }
    }

    /// RFC 6675 NextSeg rules 3 and 4: with nothing better to send, fill holes that are not yet deemed lost, and
    /// rescue the end of the window once.
    fn fill_hole(&mut self, now: SimTime, window: u64, flight: u64) -> Option<Transmission> {
        if flight + self.mss > window {
            return None;
        }
        if let Some(hole) = self.board.next_hole(self.high_rxt) {
            return Some(self.resend(now, hole));
        }
        let last = self.board.back().copied().filter(|s| !s.sacked && !s.in_flight_again)?;
        if self.una <= self.rescue_rxt {
            return None;
        }
        // Once per recovery: that ends when the recovery point is acknowledged.
        self.rescue_rxt = u64::MAX;
        let high_rxt = self.high_rxt;
        let rescue = self.resend(now, last);
        self.high_rxt = high_rxt;
        Some(rescue)
    }

    /// RFC 8985 section 7.3: new data if there is any, otherwise the last segment once more, beyond the window.
    fn tail_loss_probe(&mut self, now: SimTime) -> Option<Transmission> {
        let available = self.unsent.front().map_or(self.unsent(), |chunk| chunk.len);
        let len = available.min(self.mss);
        let probe = if len > 0 && self.nxt + len <= self.window_right {
            self.send_new(now, len as u32, false)
        } else {
            let last = self.board.back().copied()?;
            self.resend(now, last)
        };
        self.timers.stop_probe();
        self.probe_was_sent(self.nxt, probe.retransmission);
        Some(probe)
    }
}
