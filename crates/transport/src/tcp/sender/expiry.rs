//! The sender's timers fire: retransmission, persist, RACK reordering, tail-loss probe, and those of pacing, dummies and
//! polls.
//!
//! Deviation: a timeout in a recovery keeps its ssthresh, as in Linux; RFC 5681 section 4.3 lowers it again.

use congestion::{Paths, RtoTimer};
use units::{Bytes, Nanos, SimTime};

use super::Sender;
use super::detector::{Detection, ProbePlan};
use super::recovery::Phase;
use crate::config::RtoRule;
use crate::seq::Seq;

/// Which timer fired, as far as the owner must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// None that the owner must know of.
    Quiet,
    /// The retransmission timer: the first timeout of this data, or a repeated one.
    Timeout {
        /// First timeout since the last progress.
        first: bool,
    },
    /// The receive window is closed and it is time to ask: the owner sends a window probe.
    ProbeWindow,
    /// Too many timeouts in a row: the path is dead.
    GaveUp,
}

impl Sender {
    /// The next deadline, `NEVER` if none.
    #[inline(always)]
    pub fn next_deadline(&self) -> SimTime {
        let timers = self.timer_due();
        if self.usual.is_open() {
            // No pacing, no dummies, no polls.
            return timers;
        }
        let dummy = self.congestion.dummies().map_or(SimTime::NEVER, |queue| queue.deadline());
        let poll = self.policy.as_deref().map_or(SimTime::NEVER, |policy| policy.deadline());
        timers.min(self.pacer.deadline()).min(dummy).min(poll)
    }

    /// The earliest deadline of the timers that share one timer in the kernel (`icsk_retransmit_timer`): retransmission,
    /// tail-loss probe, reordering, persist. `NEVER` while none runs.
    #[inline]
    pub fn timer_due(&self) -> SimTime {
        self.timer.deadline().min(self.window.persist_deadline()).min(self.detector.deadline())
    }

    /// Acts on the deadlines that are due at `now`.
    pub fn on_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        self.usual.leave();
        let expired = self.expire(now, paths);
        self.look_for_usual_way();
        if expired != Expired::GaveUp {
            self.check();
        }
        expired
    }

    fn expire(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        self.pacer.is_held(now);
        if let Some(queue) = self.congestion.dummies_mut() {
            queue.release(now);
        }
        if let Some(rate) = &mut self.delivery_rate {
            rate.room_may_appear(now);
        }
        // A probe that is due is sent instead of the timeout (RFC 8985 section 7.2).
        if self.timer.deadline() <= now && self.detector.probe().deadline() > now {
            return self.retransmission_timeout(now, paths);
        }
        if self.detector.expire_reordering(now) {
            self.keep_rate();
            self.detect_by_time(now, Bytes::ZERO, paths);
        }
        if self.detector.probe_mut().expire(now) {
            // Section 7.3: the retransmission timer starts anew, behind the probe.
            self.restart_retransmission_timer(now);
        }
        if self.policy.as_deref_mut().is_some_and(|policy| policy.expire(now)) {
            return Expired::GaveUp;
        }
        let backs_off = !self.is_corruption();
        if self.window.expire_persist(now, self.send.nxt(), &self.rtt, backs_off) {
            return Expired::ProbeWindow;
        }
        Expired::Quiet
    }

    /// The timeout after `backoff` doublings. The controller adds a margin for a receiver that delays ACKs; a receiver that
    /// acknowledges a few times per round trip adds the time between two ACKs. Both ends have the same configuration.
    fn timeout_after(&self, backoff: u32) -> Nanos {
        let (rto, ack) = (self.rtt.rto(backoff), self.config.ack);
        let timer = RtoTimer { after_timeout: backoff > 0, acks_are_delayed: ack.every > 1 };
        let rto = rto + self.congestion.rto_margin(timer);
        match u64::from(ack.per_round_trip) {
            0 => rto,
            times => rto + self.rtt.srtt().unwrap_or(Nanos::ZERO) / times,
        }
    }

    pub(super) fn restart_retransmission_timer(&mut self, now: SimTime) {
        let timeout = self.timeout_after(self.timer.backoff());
        self.timer.restart(now, timeout);
    }

    /// RFC 6298 section 5, RFC 5681 section 3.1 (loss window).
    fn retransmission_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        debug_assert!(!self.board.is_empty(), "timer runs with nothing outstanding");
        let first = self.timer.timeouts() == 0;
        if self.timer.timeouts() >= self.config.timers.retries {
            self.stop_timers();
            return Expired::GaveUp;
        }
        // ssthresh has already been reduced for data that was sent before the present fast recovery.
        let reduced = self.recovery.phase() == Phase::Recovery;
        let may_be_undone = self.recovery.is_open() && self.congestion.capabilities().spurious_timeouts;
        self.remember_window_of_timeout();
        let event = self.loss_event(now, first && !reduced);
        self.keep_rate();
        self.congestion.on_rto(&event, paths);
        // Losses mean corruption: the link is down rather than full. Asks at a steady pace whether it is back.
        self.timer.expire(now, may_be_undone, self.is_corruption());
        self.activity.timed_out();
        self.recovery.on_timeout(self.send.nxt());
        self.note_reduction();
        self.detector.on_timeout(self.config.recovery.multiple_fast_retransmits);
        let state = (self.is_corruption(), self.send.mss());
        self.detector.mark_on_timeout(now, &mut self.board, &self.rtt, state);
        self.restart_retransmission_timer(now);
        self.check();
        Expired::Timeout { first }
    }

    /// The path is given up.
    fn stop_timers(&mut self) {
        self.timer.give_up();
        self.window.stop_persist();
        self.detector.stop();
    }

    /// RFC 6298 rules 5.2 and 5.3, RFC 6582 (the first partial ACK alone restarts the timer; in ns-3 each does), RFC 8985 7.2.
    pub(super) fn restart_timers_after_ack(&mut self, now: SimTime, advanced: bool, sampled: bool) {
        if sampled {
            self.timer.sampled();
        }
        if !advanced {
            return;
        }
        self.timer.progressed();
        if self.board.is_empty() {
            self.timer.stop();
            self.detector.all_acknowledged();
            return;
        }
        let partial =
            self.recovery.phase() == Phase::Recovery && self.detector.kind() == Detection::DuplicateAcks;
        let repeated = self.recovery.note_partial(partial);
        if !repeated || self.config.timers.rto.estimator == RtoRule::Ns3 {
            self.restart_retransmission_timer(now);
        }
        self.plan_probe(now);
    }

    /// A segment was sent: the retransmission timer runs if it did not.
    pub(super) fn start_timers_after_send(&mut self, now: SimTime, new_data: bool) {
        self.window.pause_persist();
        if !self.timer.is_running() {
            self.restart_retransmission_timer(now);
        }
        if new_data {
            let plan = self.probe_plan_after_send(now);
            self.detector.plan_probe(now, &self.board, &self.rtt, &plan);
        }
        if self.policy.is_some() {
            self.count_for_policy(now);
        }
    }

    /// A retransmission was sent. During a SACK-based recovery it restarts the timer: such a recovery can outlast the
    /// RTO without being stuck (RFC 6675 section 6, the careful variant). New data sent during the recovery does
    /// not restart it: its losses would delay the timeout of a lost retransmission for ever.
    pub(super) fn restart_timer_after_resend(&mut self, now: SimTime, seq: Seq) {
        let restarts = match self.detector.kind() {
            Detection::DuplicateAcks => false,
            Detection::Sack | Detection::Rack => self.recovery.concerns(seq),
            Detection::Reported => true,
        };
        if restarts {
            self.restart_retransmission_timer(now);
        }
        self.start_timers_after_send(now, false);
    }

    #[inline]
    pub(super) fn plan_probe(&mut self, now: SimTime) {
        self.detector.plan_probe(now, &self.board, &self.rtt, &self.probe_plan());
    }

    /// The same on the usual way.
    #[inline(always)]
    pub(super) fn plan_calm_probe(&mut self, now: SimTime) {
        self.detector.plan_calm_probe(now, &self.board, &self.rtt, &self.probe_plan());
    }

    /// New data left on the usual way.
    #[inline(always)]
    pub(super) fn plan_calm_probe_after_send(&mut self, now: SimTime) {
        let plan = self.probe_plan_after_send(now);
        self.detector.plan_calm_probe(now, &self.board, &self.rtt, &plan);
    }

    /// The probe comes no later than one timeout after the oldest segment left, if that is not over (`tcp_rto_delta_us` in
    /// `tcp_schedule_loss_probe`); RFC 8985 section 7.2 knows only the timer, which starts anew with each ACK.
    #[inline(always)]
    fn probe_plan_after_send(&self, now: SimTime) -> ProbePlan {
        let mut plan = self.probe_plan();
        let oldest = self.board.front().map(|segment| segment.sent_at + self.rtt.rto(self.timer.backoff()));
        if let Some(at) = oldest.filter(|at| *at > now) {
            plan.retransmission = plan.retransmission.min(at);
        }
        plan
    }

    #[inline(always)]
    fn probe_plan(&self) -> ProbePlan {
        ProbePlan {
            allowed: self.recovery.is_open() && self.timer.timeouts() == 0,
            mss: self.send.mss(),
            retransmission: self.timer.deadline(),
        }
    }

    /// The receive window forbids sending and nothing is outstanding whose ACK could open it.
    pub(super) fn start_persist(&mut self, now: SimTime) {
        if !self.ask_peer(now) && self.board.is_empty() {
            self.window.start_persist(now, &self.rtt);
        }
    }
}
