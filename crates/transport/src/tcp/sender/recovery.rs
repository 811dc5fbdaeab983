//! Fast recovery: NewReno (RFC 6582), SACK (RFC 6675), PRR (RFC 6937), RACK (RFC 8985).

use congestion::{Ack, Paths, RecoveryAck};
use units::{Bytes, Nanos, SimTime};

use super::super::prr::Prr;
use super::super::rack::RackInput;
use super::super::ranges::Range;
use super::{Phase, Sender};
use crate::config::RecoveryKind;
use crate::tcp::segment::TcpSegment;

impl Sender {
    /// A loss episode begins; `delivered` is what the ACK at hand delivered.
    pub(super) fn enter_recovery(&mut self, now: SimTime, delivered: u64, paths: Paths<'_>) {
        self.congestion.on_loss(&self.loss_event(now, true), paths);
        self.phase = Phase::Recovery;
        self.recover = Some(self.nxt - 1);
        self.note_reduction();
        self.stats.fast_recoveries += 1;
        self.partial_seen = false;
        self.rescue_rxt = self.board.front().map_or(self.una, |s| s.end());
        self.high_rxt = self.una;
        self.force_retransmit = true;
        self.timers.stop_probe();
        match self.loss_kind() {
            // Reports say what is missing: that and nothing else goes out again.
            RecoveryKind::Snack { .. } | RecoveryKind::Stp => {
                self.force_retransmit = false;
                self.recovery_window = self.congestion.cwnd();
            }
            RecoveryKind::NewReno => {
                // The segments that caused the duplicate ACKs have left the network.
                self.recovery_window = self.congestion.cwnd() + u64::from(self.config.dupthresh) * self.mss;
            }
            RecoveryKind::Sack | RecoveryKind::Rack => {
                if self.loss_kind() == RecoveryKind::Sack {
                    let first = self.board.front().map_or(self.una, |s| s.end());
                    self.board.mark_lost_below(first);
                }
                self.recovery_window = self.congestion.cwnd();
                self.prr = Prr::new(self.board.outstanding());
                self.spread_reduction(delivered);
            }
        }
        self.limited_sent = 0;
    }

    /// PRR: what may be sent now is proportional to what was delivered.
    fn spread_reduction(&mut self, delivered: u64) {
        if !self.config.prr {
            return;
        }
        let pipe = self.board.pipe();
        let ssthresh = self.congestion.cwnd();
        self.recovery_window = pipe + self.prr.on_ack(delivered, pipe, ssthresh, self.mss);
    }

    pub(super) fn ack_in_recovery(&mut self, ack: &Ack, advanced: bool, duplicate: bool) {
        if advanced && self.recover.is_some_and(|recover| self.una > recover) {
            self.exit_recovery(ack.now, ack.acked);
            return;
        }
        if advanced {
            self.congestion.on_recovery_ack(ack);
        }
        match self.loss_kind() {
            RecoveryKind::NewReno if advanced => self.partial_ack(ack.acked),
            RecoveryKind::NewReno => self.recovery_window += if duplicate { self.mss } else { 0 },
            RecoveryKind::Snack { .. } | RecoveryKind::Stp => {}
            RecoveryKind::Sack => {
                self.mark_by_sacks_in_recovery();
                self.spread_reduction(ack.delivered.0);
            }
            // Losses are detected before the reduction is spread: pipe must know them.
            RecoveryKind::Rack => {
                self.mark_late(ack.now);
                self.spread_reduction(ack.delivered.0);
            }
        }
    }

    /// RFC 6582 section 3.2 step 5, partial acknowledgement.
    fn partial_ack(&mut self, acked: Bytes) {
        self.force_retransmit = true;
        let ack = RecoveryAck { acked, full: false, inflated: true };
        if let Some(window) = self.congestion.recovery_window(self.recovery_window, ack) {
            self.recovery_window = window;
            return;
        }
        self.recovery_window = self.recovery_window.saturating_sub(acked.0);
        if acked.0 >= self.mss {
            self.recovery_window += self.mss;
        }
    }

    fn mark_by_sacks_in_recovery(&mut self) {
        let threshold = self.board.lost_threshold(self.config.dupthresh, self.mss);
        self.board.mark_lost_below(threshold);
    }

    fn exit_recovery(&mut self, now: SimTime, acked: Bytes) {
        self.phase = Phase::Open;
        self.dupacks = 0;
        self.force_retransmit = false;
        let ack = RecoveryAck { acked, full: true, inflated: self.loss_kind() == RecoveryKind::NewReno };
        if let Some(window) = self.congestion.recovery_window(self.recovery_window, ack) {
            self.congestion.set_window(Bytes(window), None);
        } else if self.loss_kind() == RecoveryKind::NewReno && !self.keeps_window() {
            // RFC 6582 full acknowledgement, option 1: no burst of what the full ACK has freed.
            let flight = self.board.outstanding().max(self.mss) + self.mss;
            let window = self.congestion.cwnd().min(flight);
            self.congestion.set_window(Bytes(window), None);
        }
        self.rack.on_exit_recovery();
        self.congestion.on_exit_recovery(now);
    }

    /// Recovery leaves the window alone: losses are not the network's, or the window is the controller's own.
    fn keeps_window(&self) -> bool {
        self.is_corruption() || self.congestion.capabilities().needs.whole_window
    }

    fn rack_input(&self, now: SimTime) -> RackInput {
        let sacked_segments = self.board.sacked().bytes() / self.mss;
        RackInput {
            now,
            min_rtt: self.rtt.min().unwrap_or(Nanos::ZERO),
            srtt: self.rtt.srtt().unwrap_or(Nanos::ZERO),
            impatient: self.phase != Phase::Open || sacked_segments >= u64::from(self.config.dupthresh),
        }
    }

    /// Without RACK everything outstanding is deemed lost (RFC 6675 section 5.1, go-back-N of RFC 5681).
    pub(super) fn mark_lost_on_timeout(&mut self, now: SimTime) {
        if self.loss_kind() == RecoveryKind::Rack {
            let input = self.rack_input(now);
            self.rack.mark_on_timeout(&mut self.board, &input);
        } else if self.is_corruption() {
            // What was sent a timeout ago has met the same fate; of the rest the peer may yet tell.
            let rto = self.rtt.rto(0);
            self.board.mark_lost_on_timeout(|s| s.sent_at + rto <= now);
        } else {
            self.board.mark_lost_on_timeout(|_| true);
        }
    }

    /// Returns true if anything was marked.
    fn mark_late(&mut self, now: SimTime) -> bool {
        if self.rack.nothing_is_late(&self.board) {
            self.timers.set_reordering(SimTime::NEVER);
            return false;
        }
        let input = self.rack_input(now);
        let (marked, deadline) = self.rack.detect(&mut self.board, &input);
        self.timers.set_reordering(deadline);
        marked
    }

    /// RACK detection after an ACK that delivered so many bytes, or when its timer fires; the first loss starts an
    /// episode.
    pub(super) fn detect_by_time(&mut self, now: SimTime, delivered: u64, paths: Paths<'_>) {
        let marked = self.mark_late(now);
        // Losses above the recovery point, found before the last episode ended, belong to a new one.
        if self.phase == Phase::Open && self.board.lost() > 0 {
            self.enter_recovery(now, delivered, paths);
        } else if self.phase == Phase::Recovery && marked {
            // Found by the timer: pipe has shrunk, but nothing was delivered that would allow a burst.
            self.spread_reduction(0);
        }
    }

    /// RFC 8985 section 7.4: an ACK after a tail-loss probe. If the probe repaired a loss nobody else noticed,
    /// the window is still reduced, once.
    pub(super) fn resolve_probe(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        duplicate: Option<Range>,
        advanced: bool,
        paths: Paths<'_>,
    ) {
        let Some(probe) = self.timers.probe() else { return };
        if segment.ack < probe.end {
            return;
        }
        let original_arrived = duplicate.is_some_and(|d| d.end == probe.end);
        if !probe.retransmission || original_arrived {
            self.timers.forget_probe();
        } else if segment.ack > probe.end {
            self.timers.forget_probe();
            if self.phase == Phase::Open {
                self.congestion.on_loss(&self.loss_event(now, true), paths);
                self.congestion.on_exit_recovery(now);
            }
        } else if !advanced {
            self.timers.forget_probe();
        }
    }
}
