//! The sender's timers: retransmission, persist, RACK reordering, tail-loss probe.
//!
//! Deviation: a timeout in a recovery keeps its ssthresh, as in Linux; RFC 5681 section 4.3 lowers it again.

use congestion::{Paths, RtoTimer};
use units::{Nanos, SimTime};

use super::super::rack::probe_timeout;
use super::{Phase, Sender};
use crate::config::{RecoveryKind, RtoRule};

/// What fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing that the owner must know.
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

/// A tail-loss probe in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub end: u64,
    pub retransmission: bool,
}

/// Deadlines; `NEVER` while not set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    retransmit: SimTime,
    persist: SimTime,
    reordering: SimTime,
    probe_at: SimTime,
    /// STP: the next poll.
    poll: SimTime,
    /// Losses mean corruption and a timer has run out: nothing but the oldest segment until something is heard.
    outage: bool,
    probe: Option<Probe>,
    /// A probe is to be sent now.
    probe_due: bool,
    /// Consecutive retransmission timeouts without progress.
    timeouts: u32,
    /// When the first of them was, if it may be undone; `NEVER` otherwise.
    undo_from: SimTime,
    /// Doublings of the timeout: kept until a round-trip sample confirms that it may shrink (RFC 6298 section 5).
    backoff: u32,
    /// Consecutive window probes.
    persists: u32,
    /// The persist timer has fired: a small segment may go.
    override_window: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            retransmit: SimTime::NEVER,
            persist: SimTime::NEVER,
            reordering: SimTime::NEVER,
            probe_at: SimTime::NEVER,
            poll: SimTime::NEVER,
            outage: false,
            probe: None,
            probe_due: false,
            timeouts: 0,
            undo_from: SimTime::NEVER,
            backoff: 0,
            persists: 0,
            override_window: false,
        }
    }
}

impl Timers {
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }

    pub(super) fn set_poll(&mut self, deadline: SimTime) {
        self.poll = deadline;
    }

    pub(super) fn is_outage(&self) -> bool {
        self.outage
    }

    pub(super) fn outage_is_over(&mut self) {
        self.outage = false;
    }

    /// From when on segments were sent because of a timeout that may be undone; asked once.
    pub(super) fn take_undo_from(&mut self) -> SimTime {
        std::mem::replace(&mut self.undo_from, SimTime::NEVER)
    }

    pub(super) fn set_reordering(&mut self, deadline: SimTime) {
        self.reordering = deadline;
    }

    pub(super) fn stop_probe(&mut self) {
        self.probe_at = SimTime::NEVER;
        self.probe_due = false;
    }

    pub(super) fn probe(&self) -> Option<Probe> {
        self.probe
    }

    pub(super) fn forget_probe(&mut self) {
        self.probe = None;
    }

    pub(super) fn window_opened(&mut self) {
        self.persist = SimTime::NEVER;
        self.persists = 0;
    }

    pub(super) fn take_override(&mut self) -> bool {
        std::mem::take(&mut self.override_window)
    }

    pub(super) fn is_probe_due(&self) -> bool {
        self.probe_due
    }

    pub(super) fn take_probe_due(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }
}

impl Sender {
    /// The next deadline, `NEVER` if none.
    pub fn next_deadline(&self) -> SimTime {
        let t = &self.timers;
        let dummy = self.dummies.as_deref().map_or(SimTime::NEVER, |queue| queue.next_at());
        let sending = self.held_until.min(dummy);
        t.retransmit.min(t.persist).min(t.reordering).min(t.probe_at).min(t.poll).min(sending)
    }

    /// When the retransmission timer runs out; `NEVER` while it does not run.
    pub fn retransmission_due(&self) -> SimTime {
        self.timers.retransmit
    }

    /// Acts on the deadlines that are due at `now`.
    pub fn on_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        self.is_held(now);
        self.release_dummies(now);
        if let Some(rate) = &mut self.delivery_rate {
            rate.room_may_appear(now);
        }
        // A probe that is due goes in the place of the timeout (RFC 8985 section 7.2).
        if self.timers.retransmit <= now && self.timers.probe_at > now {
            return self.retransmission_timeout(now, paths);
        }
        if self.timers.reordering <= now {
            self.timers.reordering = SimTime::NEVER;
            self.detect_by_time(now, 0, paths);
        }
        if self.timers.probe_at <= now {
            self.timers.probe_at = SimTime::NEVER;
            self.timers.probe_due = true;
            // Section 7.3: the retransmission timer starts anew, behind the probe.
            self.timers.retransmit = now + self.retransmission_timeout_after(self.timers.backoff);
        }
        if self.timers.poll <= now && self.poll_is_due(now) {
            return Expired::GaveUp;
        }
        if self.timers.persist <= now {
            self.timers.persists += u32::from(!self.is_corruption());
            self.timers.persist = now + self.rtt.rto(self.timers.persists);
            self.timers.override_window = self.window_right > self.nxt;
            return Expired::ProbeWindow;
        }
        Expired::Quiet
    }

    /// The timeout after so many doublings, with what the controller adds for a receiver that delays ACKs, and what one
    /// that acknowledges a few times per round trip holds back. Both ends of a connection have the same configuration.
    fn retransmission_timeout_after(&self, backoff: u32) -> Nanos {
        let (rto, ack) = (self.rtt.rto(backoff), self.config.ack);
        let timer = RtoTimer { after_timeout: backoff > 0, acks_are_delayed: ack.every > 1 };
        let rto = rto + self.congestion.rto_margin(timer);
        match u64::from(ack.per_round_trip) {
            0 => rto,
            times => rto + self.rtt.srtt().unwrap_or(Nanos::ZERO) / times,
        }
    }

    /// RFC 6298 section 5, RFC 5681 section 3.1 (loss window).
    fn retransmission_timeout(&mut self, now: SimTime, paths: Paths<'_>) -> Expired {
        debug_assert!(!self.board.is_empty(), "timer runs with nothing outstanding");
        let first = self.timers.timeouts == 0;
        if self.timers.timeouts >= self.config.retries {
            self.timers = Timers::default();
            return Expired::GaveUp;
        }
        // ssthresh has already been reduced for data that was sent before the present fast recovery.
        let reduced = self.phase == Phase::Recovery;
        if first {
            let may_be_undone = self.phase == Phase::Open && self.congestion.capabilities().spurious_timeouts;
            self.timers.undo_from = if may_be_undone { now } else { SimTime::NEVER };
        }
        let event = self.loss_event(now, first && !reduced);
        self.congestion.on_rto(&event, paths);
        self.timers.timeouts += 1;
        if self.is_corruption() {
            // The link is down rather than full: asks at a steady pace whether it is back.
            self.timers.outage = true;
        } else {
            self.timers.backoff += 1;
        }
        self.stats.timeouts += 1;
        self.phase = Phase::Loss;
        self.recover = Some(self.nxt - 1);
        self.note_reduction();
        self.dupacks = 0;
        self.limited_sent = 0;
        self.mark_lost_on_timeout(now);
        self.force_retransmit = true;
        self.timers.stop_probe();
        self.timers.forget_probe();
        self.timers.reordering = SimTime::NEVER;
        self.timers.retransmit = now + self.retransmission_timeout_after(self.timers.backoff);
        Expired::Timeout { first }
    }

    /// RFC 6298 rules 5.2 and 5.3, RFC 6582 (only the first partial ACK restarts the timer, in ns-3 each), RFC 8985 7.2.
    pub(super) fn restart_timers_after_ack(&mut self, now: SimTime, advanced: bool, sampled: bool) {
        if sampled {
            self.timers.backoff = 0;
        }
        if !advanced {
            return;
        }
        self.timers.timeouts = 0;
        if self.board.is_empty() {
            self.timers.retransmit = SimTime::NEVER;
            self.timers.reordering = SimTime::NEVER;
            self.timers.stop_probe();
            return;
        }
        let newreno_partial = self.phase == Phase::Recovery && self.config.recovery == RecoveryKind::NewReno;
        if !(newreno_partial && self.partial_seen && self.config.rto.estimator == RtoRule::Rfc) {
            self.timers.retransmit = now + self.retransmission_timeout_after(self.timers.backoff);
        }
        self.partial_seen = newreno_partial;
        self.schedule_probe(now);
    }

    /// A segment was sent: the retransmission timer runs if it did not.
    pub(super) fn start_timers_after_send(&mut self, now: SimTime, new_data: bool) {
        if self.polling.is_some() {
            self.count_for_poll(now);
            return;
        }
        self.timers.persist = SimTime::NEVER;
        if self.timers.retransmit.is_never() {
            self.timers.retransmit = now + self.retransmission_timeout_after(self.timers.backoff);
        }
        if new_data {
            self.schedule_probe(now);
        }
    }

    /// A retransmission was sent. During a SACK-based recovery it restarts the timer: such a recovery can outlast the
    /// RTO without being stuck (RFC 6675 section 6, the careful variant). What was first sent during the recovery does
    /// not: its losses would put off the timeout of a lost retransmission for ever.
    pub(super) fn restart_timer_after_resend(&mut self, now: SimTime, seq: u64) {
        let restarts = match self.config.recovery {
            RecoveryKind::NewReno | RecoveryKind::Stp => false,
            RecoveryKind::Sack | RecoveryKind::Rack => {
                self.phase == Phase::Recovery && self.recover.is_some_and(|recover| seq <= recover)
            }
            RecoveryKind::Snack { .. } => true,
        };
        if restarts {
            self.timers.retransmit = now + self.retransmission_timeout_after(self.timers.backoff);
        }
        self.start_timers_after_send(now, false);
    }

    fn schedule_probe(&mut self, now: SimTime) {
        let wanted = self.config.recovery == RecoveryKind::Rack
            && self.phase == Phase::Open
            && self.timers.probe.is_none()
            && self.timers.timeouts == 0
            && self.board.sacked().is_empty();
        if !wanted {
            self.timers.probe_at = SimTime::NEVER;
            return;
        }
        let one_segment = self.board.outstanding() <= self.mss;
        let at = now + probe_timeout(self.rtt.srtt(), one_segment);
        self.timers.probe_at = at.min(self.timers.retransmit);
    }

    pub(super) fn probe_was_sent(&mut self, end: u64, retransmission: bool) {
        self.timers.probe = Some(Probe { end, retransmission });
    }

    /// The receive window forbids sending and nothing is outstanding whose ACK could open it.
    pub(super) fn start_persist(&mut self, now: SimTime) {
        if self.polling.is_some() {
            self.schedule_poll(now);
        } else if self.timers.persist.is_never() && self.board.is_empty() {
            self.timers.persist = now + self.rtt.rto(self.timers.persists).max(Nanos::from_millis(1));
        }
    }
}
