//! An ACK arrives (RFC 5681, 6298, 6582, 6675, 8985).

use congestion::{Ack, Loss, Paths};
use units::{Bytes, Nanos, SimTime};

use super::super::ranges::Range;
use super::super::scoreboard::Change;
use super::{Phase, Sender};
use crate::config::RecoveryKind;
use crate::space::SpaceSignal;
use crate::tcp::segment::TcpSegment;

impl Sender {
    /// Takes in the acknowledgement fields of `segment`, and what it says beyond TCP. Returns true if it acknowledged
    /// new bytes.
    pub fn on_ack(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: u64,
        paths: Paths<'_>,
    ) -> bool {
        if segment.ack > self.nxt {
            return false;
        }
        self.look_for_shortage(now);
        self.marked = segment.flags.ece;
        if segment.len == 0 || segment.ack > self.una {
            self.clock_dummies();
        }
        self.timers.outage_is_over();
        match self.loss_kind() {
            RecoveryKind::NewReno | RecoveryKind::Sack | RecoveryKind::Rack => {}
            RecoveryKind::Snack { .. } => return self.on_snack(now, (segment, signal), window_right, paths),
            RecoveryKind::Stp => return self.on_status(now, (segment, signal), window_right, paths),
        }
        let silent = segment.ack == self.una && segment.sack.as_slice().is_empty();
        if silent && self.board.is_empty() && self.timers.probe().is_none() {
            // The usual state of an end that only receives.
            self.offer_window(window_right);
            return false;
        }
        let flight_before = self.board.outstanding();
        let mut change = Change::default();
        let duplicate_report = self.take_sack_blocks(segment, &mut change);
        let advanced = segment.ack > self.una;
        if advanced {
            self.board.ack(segment.ack, &mut change);
            self.previous_ack = self.una;
            self.una = segment.ack;
        }
        let window_moved = self.offer_window(window_right);
        let sample = self.measure(now, segment, &change);
        if advanced && self.phase == Phase::Loss {
            self.undo_needless_timeout(segment);
        }
        if self.loss_kind() == RecoveryKind::Rack {
            let min_rtt = self.rtt.min().unwrap_or(Nanos::ZERO);
            self.rack.on_ack(now, &change, min_rtt);
            if duplicate_report.is_some() {
                self.rack.on_dsack(self.una, self.nxt);
            }
            self.resolve_probe(now, segment, duplicate_report, advanced, paths);
        }
        let duplicate = !advanced && flight_before > 0 && self.is_duplicate(segment, &change, window_moved);
        if advanced || duplicate || change.sacked > 0 {
            let mut ack = self.describe_fully(now, &change, flight_before, sample, window_right);
            if self.marked {
                self.heed_mark(&mut ack, paths);
            }
            if duplicate {
                self.congestion.on_dup_ack(now);
            }
            match self.phase {
                Phase::Open => self.ack_in_open(&ack, advanced, duplicate, paths),
                Phase::Recovery => self.ack_in_recovery(&ack, advanced, duplicate),
                Phase::Loss => self.ack_in_loss(&ack, advanced, paths),
            }
            if self.loss_kind() == RecoveryKind::Rack {
                self.detect_by_time(now, change.delivered, paths);
            }
            self.tell_owner_of_window(&ack, paths);
        }
        self.restart_timers_after_ack(now, advanced, sample.is_some());
        #[cfg(debug_assertions)]
        self.check();
        advanced
    }

    /// Returns the duplicate reported by DSACK (RFC 2883), if the first block is one.
    fn take_sack_blocks(&mut self, segment: &TcpSegment, change: &mut Change) -> Option<Range> {
        let blocks = segment.sack.as_slice();
        let first = *blocks.first()?;
        let inside_second = blocks.get(1).is_some_and(|second| second.covers(first));
        let is_duplicate = first.end <= segment.ack || inside_second;
        let una = segment.ack.max(self.una);
        for block in &blocks[usize::from(is_duplicate)..] {
            self.board.sack(Range::new(block.start.max(una), block.end), change);
        }
        is_duplicate.then_some(first)
    }

    /// A round-trip sample: from the echoed timestamp of an ACK that advances (RFC 7323), or by Karn's rule.
    /// A SACK of a segment that was sent once is as good, and keeps the timeout honest while a long recovery does
    /// not advance (as Linux does).
    fn measure(&mut self, now: SimTime, segment: &TcpSegment, change: &Change) -> Option<Nanos> {
        let echoed = segment.timestamps.map(|t| t.echo).filter(|echo| !echo.is_never());
        let sacked = change.latest.filter(|l| !l.retransmitted).map(|l| l.sent_at);
        let sent_at = match (change.acked > 0, echoed) {
            (true, Some(echo)) => Some(echo),
            (true, None) => change.oldest_clean,
            (false, _) => sacked,
        };
        let sample = now.since(sent_at?);
        self.rtt.sample(now, sample);
        Some(sample)
    }

    /// Eifel (RFC 3522 section 3.2): the first ACK of new data after a timeout echoes what was sent before it, so that the
    /// original had arrived. What the timeout took for lost is still on its way.
    fn undo_needless_timeout(&mut self, segment: &TcpSegment) {
        let from = self.timers.take_undo_from();
        let echo = segment.timestamps.map_or(SimTime::NEVER, |t| t.echo);
        if from.is_never() || echo >= from {
            return;
        }
        self.phase = Phase::Open;
        self.recover = None;
        self.force_retransmit = false;
        self.board.forget_losses();
        self.congestion.on_spurious_timeout();
    }

    /// RFC 5681 section 2; with SACK an ACK that reports new data above a hole (RFC 6675).
    fn is_duplicate(&self, segment: &TcpSegment, change: &Change, window_moved: bool) -> bool {
        if self.config.sack {
            return change.sacked > 0;
        }
        // The window of an MPTCP subflow belongs to the connection and moves with the other subflows' data.
        let window_update = window_moved && !self.mapped;
        segment.ack == self.una
            && segment.len == 0
            && !segment.flags.fin
            && !segment.flags.syn
            && !window_update
    }

    /// With the advertised window and what a controller may have asked for.
    pub(super) fn describe_fully(
        &mut self,
        now: SimTime,
        change: &Change,
        flight_before: u64,
        sample: Option<Nanos>,
        window_right: u64,
    ) -> Ack {
        let mut ack = self.describe(now, change, flight_before, sample);
        ack.rwnd = Bytes(window_right.saturating_sub(self.una));
        if let Some(rate) = &mut self.delivery_rate {
            ack.rate = rate.on_ack(now, change, self.una, self.rtt.min());
        }
        ack
    }

    /// A controller that owns the whole window hears of each ACK when all else has been decided.
    pub(super) fn tell_owner_of_window(&mut self, ack: &Ack, paths: Paths<'_>) {
        if self.congestion.capabilities().needs.whole_window {
            let (pipe, lost) = (Bytes(self.board.pipe()), Bytes(self.board.ever_lost()));
            self.congestion.on_any_ack(&Ack { pipe, lost, ..*ack }, paths);
        }
    }

    fn describe(&self, now: SimTime, change: &Change, flight_before: u64, sample: Option<Nanos>) -> Ack {
        Ack {
            now,
            acked: Bytes(change.acked),
            delivered: Bytes(change.delivered),
            rtt: sample,
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            flight_before: Bytes(flight_before),
            flight: Bytes(self.board.outstanding()),
            pipe: Bytes(self.board.pipe()),
            lost: Bytes(self.board.ever_lost()),
            rwnd: Bytes::ZERO,
            snd_una: self.una,
            snd_nxt: self.nxt,
            cwnd_limited: self.is_cwnd_limited(),
            marked: self.marked,
            rate: None,
        }
    }

    /// RFC 3168 section 6.1.2: once per window as after a loss, but nothing is sent again; an ACK that echoes a mark does
    /// not open the window.
    pub(super) fn heed_mark(&mut self, ack: &mut Ack, paths: Paths<'_>) {
        if self.phase == Phase::Open && self.una > self.marks_until {
            self.congestion.on_ecn(&self.loss_event(ack.now, true), paths);
            self.note_reduction();
        }
        ack.cwnd_limited = false;
    }

    /// Delivery-rate samples must know whether room was left unused for want of data before this ACK.
    pub(super) fn look_for_shortage(&mut self, now: SimTime) {
        if self.delivery_rate.is_none() {
            return;
        }
        let pipe = self.board.pipe();
        let room = self.in_flight() + self.mss <= self.window() && !self.is_held(now);
        let short = room && self.unsent() == 0;
        if let Some(rate) = &mut self.delivery_rate {
            if short {
                rate.note_shortage(pipe);
            }
            rate.room_may_appear(now);
        }
    }

    fn ack_in_open(&mut self, ack: &Ack, advanced: bool, duplicate: bool, paths: Paths<'_>) {
        if advanced {
            self.dupacks = 0;
            self.limited_sent = 0;
            self.congestion.on_ack(ack, paths);
        }
        if duplicate {
            self.dupacks += 1;
        }
        let lost = match self.loss_kind() {
            RecoveryKind::NewReno => {
                duplicate && self.dupacks == self.config.dupthresh && self.is_new_episode()
            }
            RecoveryKind::Sack => self.mark_by_sacks(),
            RecoveryKind::Rack | RecoveryKind::Snack { .. } | RecoveryKind::Stp => false,
        };
        if lost {
            self.enter_recovery(ack.now, ack.delivered.0, paths);
        }
    }

    /// RFC 6582: the duplicates belong to data sent after the last episode, or look like it by the ACK heuristic.
    fn is_new_episode(&self) -> bool {
        let Some(recover) = self.recover else { return true };
        let by_heuristic = self.congestion.cwnd() > self.mss && self.una - self.previous_ack <= 4 * self.mss;
        self.una > recover + 1 || by_heuristic
    }

    /// RFC 6675 Update() and the entry condition.
    fn mark_by_sacks(&mut self) -> bool {
        let threshold = self.board.lost_threshold(self.config.dupthresh, self.mss);
        self.board.mark_lost_below(threshold);
        self.board.lost() > 0 || self.dupacks >= self.config.dupthresh
    }

    pub(super) fn ack_in_loss(&mut self, ack: &Ack, advanced: bool, paths: Paths<'_>) {
        if !advanced {
            return;
        }
        self.dupacks = 0;
        self.limited_sent = 0;
        if self.recover.is_none_or(|recover| self.una > recover) {
            self.phase = Phase::Open;
        }
        // What arrived before the timeout must not open the window now (RFC 3465 section 2.1: L = 1 after a timeout);
        // SACK tells it apart.
        let tells_apart = self.config.sack || self.config.recovery != RecoveryKind::NewReno;
        let acked = if tells_apart { ack.delivered } else { Bytes(self.mss) };
        self.congestion.on_ack(&Ack { acked: ack.acked.min(acked), ..*ack }, paths);
    }

    pub(super) fn loss_event(&self, now: SimTime, first_timeout: bool) -> Loss {
        Loss {
            now,
            flight: Bytes(self.flight_size()),
            cwnd_limited: self.is_cwnd_limited(),
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            snd_nxt: self.nxt,
            marked: self.marked,
            first_timeout,
        }
    }

    /// RFC 5681's FlightSize, without Limited Transmit (RFC 3042). What a timeout has given up is in flight again once it
    /// is sent again: else the next timeout would set ssthresh by the window before the first.
    fn flight_size(&self) -> u64 {
        match self.phase {
            Phase::Loss => self.board.pipe() + self.board.sacked().bytes(),
            _ => self.board.outstanding().saturating_sub(self.limited_sent),
        }
    }
}
