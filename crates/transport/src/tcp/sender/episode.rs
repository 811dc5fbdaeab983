//! A loss episode of a sender begins, goes on, ends: NewReno (RFC 6582), SACK (RFC 6675), PRR (RFC 6937), RACK (RFC
//! 8985).

use congestion::{Ack, Paths, RecoveryAck};
use units::{Bytes, SimTime};

use super::super::prr::{Before, News};
use super::super::sent::Change;
use super::Sender;
use super::detector::{Detection, ProbeAck};
use super::probe::ProbeOutcome;

impl Sender {
    pub(super) fn ack_in_open(&mut self, ack: &Ack, advanced: bool, duplicate: bool, paths: Paths<'_>) {
        if advanced {
            self.detector.forget_duplicates();
            self.congestion.on_ack(ack, paths);
        }
        if duplicate {
            self.detector.count_duplicate();
        }
        let lost = match self.detector.kind() {
            Detection::DuplicateAcks => duplicate && self.detector.at_threshold() && self.is_new_episode(),
            Detection::Sack => {
                self.detector.mark_by_sacks(&mut self.board, self.send.mss());
                self.detector.sacks_show_loss(&self.board)
            }
            Detection::Rack | Detection::Reported => false,
        };
        if lost {
            self.enter_recovery(ack.now, ack.delivered, paths);
        }
    }

    /// RFC 6582: the duplicates belong to data sent after the last episode, or look like it by the ACK heuristic.
    fn is_new_episode(&self) -> bool {
        if self.config.recovery.multiple_fast_retransmits {
            return true;
        }
        let mss = self.send.mss();
        let by_heuristic = self.congestion.cwnd() > mss && self.send.last_advance() <= 4 * mss;
        self.recovery.is_above(self.send.una()) || by_heuristic
    }

    /// A loss episode begins; `delivered` is the bytes that this ACK delivered.
    pub(super) fn enter_recovery(&mut self, now: SimTime, delivered: Bytes, paths: Paths<'_>) {
        self.remember_window();
        let before = Bytes(self.congestion.cwnd());
        self.congestion.on_loss(&self.loss_event(now, true), paths);
        let (una, nxt, cwnd) = (self.send.una(), self.send.nxt(), self.congestion.cwnd());
        let oldest_end = self.board.front().map_or(una, |s| s.end());
        // Reports say what is missing: that and nothing else is retransmitted.
        let forced = self.detector.kind() != Detection::Reported;
        self.recovery.begin((una, nxt), oldest_end, Bytes(cwnd), forced);
        self.note_reduction();
        self.activity.recovers();
        self.detector.probe_mut().cancel();
        match self.detector.kind() {
            Detection::Reported => {}
            Detection::DuplicateAcks => {
                // The segments that caused the duplicate ACKs have left the network.
                self.recovery.inflate(u64::from(self.config.recovery.dupthresh) * self.send.mss());
            }
            Detection::Sack => {
                self.board.mark_lost_below(oldest_end);
                self.begin_reduction(before, delivered);
            }
            Detection::Rack => self.begin_reduction(before, delivered),
        }
        self.detector.end_limited_transmit();
    }

    /// PRR begins. `cwnd` is the window before the loss.
    fn begin_reduction(&mut self, cwnd: Bytes, delivered: Bytes) {
        let before = Before { flight: Bytes(self.board.outstanding_counted()), cwnd };
        self.recovery.begin_reduction(self.config.recovery.prr_rule, before);
        self.spread_reduction(News { delivered, safe: false });
    }

    /// PRR: what may be sent now is proportional to what was delivered.
    fn spread_reduction(&mut self, news: News) {
        if self.config.recovery.prr {
            let (pipe, ssthresh) = (Bytes(self.board.pipe_counted()), Bytes(self.congestion.cwnd()));
            self.recovery.spread_reduction(news, pipe, ssthresh, Bytes(self.send.mss()));
        }
    }

    pub(super) fn ack_in_recovery(&mut self, ack: &Ack, advanced: bool, duplicate: bool) {
        if advanced && self.recovery.is_over(self.send.una()) {
            self.exit_recovery(ack.now, ack.acked);
            return;
        }
        if advanced {
            self.congestion.on_recovery_ack(ack);
        }
        let lost_before = self.board.ever_lost();
        match self.detector.kind() {
            Detection::DuplicateAcks if advanced => {
                self.detector.forget_duplicates();
                self.partial_ack(ack.acked);
            }
            Detection::DuplicateAcks if duplicate => {
                self.detector.count_duplicate();
                self.recovery.inflate(self.send.mss());
            }
            Detection::DuplicateAcks | Detection::Reported => {}
            Detection::Sack => {
                self.detector.mark_by_sacks(&mut self.board, self.send.mss());
                self.spread_reduction(self.news(ack, advanced, lost_before));
            }
            // Losses are detected before the reduction is spread: pipe must include them.
            Detection::Rack => {
                self.mark_late(ack.now);
                self.spread_reduction(self.news(ack, advanced, lost_before));
            }
        }
    }

    /// `lost` bytes had been deemed lost before this ACK.
    fn news(&self, ack: &Ack, advanced: bool, lost: u64) -> News {
        News { delivered: ack.delivered, safe: advanced && self.board.ever_lost() == lost }
    }

    /// RFC 6582 section 3.2 step 5, partial acknowledgement.
    fn partial_ack(&mut self, acked: Bytes) {
        self.recovery.force();
        let ack = RecoveryAck { acked, full: false, inflated: true };
        match self.congestion.recovery_window(self.recovery.window(), ack) {
            Some(window) => self.recovery.set_window(window),
            None => self.recovery.deflate(acked, Bytes(self.send.mss())),
        }
    }

    fn exit_recovery(&mut self, now: SimTime, acked: Bytes) {
        let inflated = self.detector.kind() == Detection::DuplicateAcks;
        let ack = RecoveryAck { acked, full: true, inflated };
        if let Some(window) = self.congestion.recovery_window(self.recovery.window(), ack) {
            self.congestion.set_window(Bytes(window), None);
        } else if inflated && !self.keeps_window() {
            // RFC 6582 full acknowledgement, option 1: no burst of what the full ACK has freed.
            let flight = self.board.outstanding_counted().max(self.send.mss()) + self.send.mss();
            let window = self.congestion.cwnd().min(flight);
            self.congestion.set_window(Bytes(window), None);
        }
        self.recovery.end();
        self.detector.on_exit_recovery();
        self.congestion.on_exit_recovery(now);
    }

    /// Recovery leaves the window alone: losses are not caused by congestion, or the controller owns the window.
    fn keeps_window(&self) -> bool {
        self.is_corruption() || self.congestion.capabilities().needs.whole_window
    }

    pub(super) fn ack_in_loss(&mut self, ack: &Ack, advanced: bool, paths: Paths<'_>) {
        if !advanced {
            return;
        }
        self.detector.forget_duplicates();
        if self.recovery.is_over(self.send.una()) {
            self.recovery.end_loss();
        }
        // Data acknowledged before the timeout must not open the window now (RFC 3465 section 2.1: L = 1 after a timeout);
        // SACK tells it apart.
        let tells_apart = self.config.options.sack || self.detector.kind() != Detection::DuplicateAcks;
        let acked = if tells_apart { ack.delivered } else { Bytes(self.send.mss()) };
        self.congestion.on_ack(&Ack { acked: ack.acked.min(acked), ..*ack }, paths);
    }

    /// After a timeout duplicate ACKs may be the answers to data that is sent again needlessly, and cause no fast
    /// retransmit (RFC 6582 section 4), unless a sender goes by their number alone.
    pub(super) fn duplicate_in_loss(&mut self, ack: &Ack, paths: Paths<'_>) {
        let goes_by_number = self.config.recovery.multiple_fast_retransmits
            && self.detector.kind() == Detection::DuplicateAcks;
        if !goes_by_number {
            return;
        }
        self.detector.count_duplicate();
        if self.detector.at_threshold() {
            self.enter_recovery(ack.now, ack.delivered, paths);
        }
    }

    /// RACK marks what is late. Returns true if anything was marked.
    fn mark_late(&mut self, now: SimTime) -> bool {
        let (repairing, mss) = (!self.recovery.is_open(), self.send.mss());
        self.detector.mark_late(now, &mut self.board, &self.rtt, (repairing, mss))
    }

    /// RACK detection after an ACK that delivered `delivered` bytes, or when its timer fires; the first loss starts an
    /// episode.
    pub(super) fn detect_by_time(&mut self, now: SimTime, delivered: Bytes, paths: Paths<'_>) {
        let marked = self.mark_late(now);
        // Losses above the recovery point, found before the last episode ended, belong to a new one.
        if self.recovery.is_open() && self.board.lost() > 0 {
            self.enter_recovery(now, delivered, paths);
        } else if self.recovery.phase() == super::Phase::Recovery && marked && self.recovery.follows_pipe() {
            // Found by the timer: pipe has shrunk, but nothing was delivered that would allow a burst.
            self.spread_reduction(News { delivered: Bytes::ZERO, safe: false });
        }
    }

    /// RACK takes in an ACK, and the tail-loss probe is answered (RFC 8985 section 7.4): if the probe repaired a loss that
    /// nothing else has shown, the window is still reduced, once.
    pub(super) fn detect_by_probe(
        &mut self,
        now: SimTime,
        change: &Change,
        ack: &ProbeAck,
        paths: Paths<'_>,
    ) {
        let outcome = self.detector.on_ack(now, change, &self.rtt, ack);
        if outcome == ProbeOutcome::RepairedLoss && self.recovery.is_open() {
            self.congestion.on_loss(&self.loss_event(now, true), paths);
            self.congestion.on_exit_recovery(now);
        }
    }
}
