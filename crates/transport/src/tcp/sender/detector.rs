//! How a sender comes to know that a segment was lost: duplicate ACKs (RFC 5681, RFC 6582), SACK (RFC 6675), RACK-TLP
//! (RFC 8985), or a report of the peer. Limited Transmit (RFC 3042) stands here because it counts the same ACKs.

use units::{Nanos, SimTime};

use super::super::rack::{Rack, RackInput, probe_timeout};
use super::super::ranges::Range;
use super::super::rtt::RttEstimator;
use super::super::scoreboard::Scoreboard;
use super::super::sent::{Change, CleanAck};
use super::probe::{ProbeOutcome, TailProbe};
use super::recovery::Phase;
use crate::config::{RecoveryKind, Reliability, TcpConfig};
use crate::seq::Seq;

/// Evidence of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// RFC 6582: duplicate and partial ACKs.
    DuplicateAcks,
    /// RFC 6675: enough SACKed data above it.
    Sack,
    /// RFC 8985: time.
    Rack,
    /// The peer reports what is missing: nothing is inferred from ACKs.
    Reported,
}

impl Detection {
    fn of(config: &TcpConfig) -> Self {
        match (config.recovery.reliability, config.recovery.kind) {
            (Reliability::Snack { .. } | Reliability::Poll, _) => Self::Reported,
            (Reliability::Acknowledged, RecoveryKind::NewReno) => Self::DuplicateAcks,
            (Reliability::Acknowledged, RecoveryKind::Sack) => Self::Sack,
            (Reliability::Acknowledged, RecoveryKind::Rack) => Self::Rack,
        }
    }
}

/// Loss detection of one sender.
#[derive(Debug)]
pub(super) struct LossDetector {
    kind: Detection,
    dupthresh: u32,
    /// Limited Transmit is on.
    limited_transmit: bool,
    /// Duplicate ACKs since the last new one.
    dupacks: u32,
    /// Bytes sent by Limited Transmit since the last new ACK.
    limited_sent: u64,
    rack: Rack,
    /// When RACK looks again for late segments; `NEVER`: no need.
    reordering: SimTime,
    probe: TailProbe,
}

impl LossDetector {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            kind: Detection::of(config),
            dupthresh: config.recovery.dupthresh,
            limited_transmit: config.recovery.limited_transmit,
            dupacks: 0,
            limited_sent: 0,
            rack: Rack::default(),
            reordering: SimTime::NEVER,
            probe: TailProbe::new(),
        }
    }

    #[inline]
    pub(super) fn kind(&self) -> Detection {
        self.kind
    }

    #[inline]
    pub(super) fn probe(&self) -> &TailProbe {
        &self.probe
    }

    #[inline]
    pub(super) fn probe_mut(&mut self) -> &mut TailProbe {
        &mut self.probe
    }

    /// The next deadline of RACK and of the tail-loss probe.
    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.reordering.min(self.probe.deadline())
    }

    /// The flight that counts against the window: pipe, or FlightSize where SACK must not count.
    #[inline]
    pub(super) fn in_flight(&self, board: &Scoreboard, phase: Phase) -> u64 {
        let by_flight_size = match self.kind {
            // The inflated window of RFC 6582 is measured against FlightSize, and so is Limited Transmit: what SACK
            // says besides must not count twice.
            Detection::DuplicateAcks => phase != Phase::Loss,
            // Without Limited Transmit a SACK frees no room before the loss is recognised.
            Detection::Sack | Detection::Rack => !self.limited_transmit && phase == Phase::Open,
            Detection::Reported => false,
        };
        if by_flight_size { board.not_given_up_counted() } else { board.pipe_counted() }
    }

    /// RFC 5681's FlightSize, without what Limited Transmit has added (RFC 3042).
    pub(super) fn flight_size(&self, board: &Scoreboard) -> u64 {
        let outstanding = board.outstanding_counted();
        debug_assert!(self.limited_sent <= outstanding, "Limited Transmit is part of what is out");
        outstanding.saturating_sub(self.limited_sent)
    }

    /// A duplicate ACK outside recovery.
    #[inline]
    pub(super) fn count_duplicate(&mut self) {
        self.dupacks += 1;
    }

    /// New data was acknowledged, or an episode begins anew: duplicates are counted from zero.
    #[inline]
    pub(super) fn forget_duplicates(&mut self) {
        self.dupacks = 0;
        self.limited_sent = 0;
    }

    /// Segments sent by Limited Transmit belong to the flight of the recovery that begins.
    pub(super) fn end_limited_transmit(&mut self) {
        self.limited_sent = 0;
    }

    /// RFC 3042: each of the first two duplicate ACKs lets one new segment out. With SACK the same follows from the
    /// pipe, which the SACKed segments have left. Only outside recovery.
    #[inline]
    pub(super) fn limited_transmit_allowance(&self, mss: u64) -> u64 {
        if self.dupacks == 0 || !self.limited_transmit || self.kind != Detection::DuplicateAcks {
            return 0;
        }
        u64::from(self.dupacks.min(self.dupthresh - 1)) * mss
    }

    /// New data of `len` bytes leaves outside recovery.
    #[inline]
    pub(super) fn count_limited_transmit(&mut self, len: u64) {
        if self.dupacks > 0 {
            self.limited_sent += len;
        }
    }

    /// A timeout begins a new count, unless duplicates are counted on until the next new ACK.
    pub(super) fn on_timeout(&mut self, counts_on: bool) {
        self.limited_sent = 0;
        if !counts_on {
            self.dupacks = 0;
        }
    }

    /// Exactly as many duplicate ACKs have come as mean a loss.
    pub(super) fn at_threshold(&self) -> bool {
        self.dupacks == self.dupthresh
    }

    /// RFC 6675 Update(): marks what has enough SACKed data above it.
    pub(super) fn mark_by_sacks(&self, board: &mut Scoreboard, mss: u64) {
        debug_assert_eq!(self.kind, Detection::Sack);
        let threshold = board.lost_threshold(self.dupthresh, mss);
        board.mark_lost_below(threshold);
    }

    /// The entry condition of RFC 6675, after `mark_by_sacks`.
    pub(super) fn sacks_show_loss(&self, board: &Scoreboard) -> bool {
        board.lost() > 0 || self.dupacks >= self.dupthresh
    }

    /// RACK takes in what an ACK delivered, and whether it reported a duplicate; so does the tail-loss probe.
    pub(super) fn on_ack(
        &mut self,
        now: SimTime,
        change: &Change,
        rtt: &RttEstimator,
        ack: &ProbeAck,
    ) -> ProbeOutcome {
        self.rack.on_ack(now, change, rtt.min().unwrap_or(Nanos::ZERO));
        if ack.duplicate.is_some() {
            self.rack.on_dsack(ack.una, ack.nxt);
        }
        self.probe.on_ack(ack.ack, ack.duplicate, ack.advanced)
    }

    /// No duplicate ACK has arrived, and no tail-loss probe is due or awaits its answer.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.dupacks == 0 && self.limited_sent == 0 && !self.probe.is_due() && !self.probe.is_in_flight()
    }

    /// An ACK while nothing is lost, SACKed or retransmitted.
    #[inline]
    pub(super) fn on_clean_ack(&mut self, now: SimTime, acked: CleanAck, una: Seq) {
        debug_assert!(self.is_calm());
        if self.kind == Detection::Rack {
            self.rack.on_clean_ack(now, (acked.newest_sent_at, una));
            self.forget_reordering();
        }
    }

    /// RACK waits for nothing.
    #[inline]
    pub(super) fn forget_reordering(&mut self) {
        self.reordering = SimTime::NEVER;
    }

    /// RACK marks what is late. Returns true if anything was marked. `repairing`: a loss episode is under way.
    pub(super) fn mark_late(
        &mut self,
        now: SimTime,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        (repairing, mss): (bool, u64),
    ) -> bool {
        if self.rack.nothing_is_late(board) {
            self.forget_reordering();
            return false;
        }
        let input = self.rack_input(now, board, rtt, (repairing, mss));
        let (marked, deadline) = self.rack.detect(board, &input);
        debug_assert!(deadline > now, "what is due has been marked");
        self.reordering = deadline;
        marked
    }

    /// True if RACK's timer is due: it is to look again.
    pub(super) fn expire_reordering(&mut self, now: SimTime) -> bool {
        let expired = self.reordering <= now;
        if expired {
            self.reordering = SimTime::NEVER;
        }
        expired
    }

    /// A timeout: what of the outstanding data is lost. `overdue`: whether only what was sent a timeout ago is lost,
    /// because losses mean corruption; it was sent at this time or before.
    pub(super) fn mark_on_timeout(
        &mut self,
        now: SimTime,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        (corruption, mss): (bool, u64),
    ) {
        if self.kind == Detection::Rack {
            let input = self.rack_input(now, board, rtt, (true, mss));
            self.rack.mark_on_timeout(board, &input);
        } else if corruption {
            // Segments sent a timeout ago are lost as well; the rest may still be acknowledged.
            let rto = rtt.rto(0);
            board.mark_lost_on_timeout(|s| s.sent_at + rto <= now);
        } else {
            // Without RACK everything outstanding is deemed lost (RFC 6675 section 5.1, go-back-N of RFC 5681).
            board.mark_lost_on_timeout(|_| true);
        }
        self.probe.forget();
        self.reordering = SimTime::NEVER;
    }

    fn rack_input(
        &self,
        now: SimTime,
        board: &Scoreboard,
        rtt: &RttEstimator,
        (repairing, mss): (bool, u64),
    ) -> RackInput {
        let sacked_segments = board.sacked().bytes() / mss;
        RackInput {
            now,
            min_rtt: rtt.min().unwrap_or(Nanos::ZERO),
            srtt: rtt.srtt().unwrap_or(Nanos::ZERO),
            impatient: repairing || sacked_segments >= u64::from(self.dupthresh),
        }
    }

    /// A fast recovery has ended.
    pub(super) fn on_exit_recovery(&mut self) {
        self.dupacks = 0;
        self.rack.on_exit_recovery();
    }

    /// Nothing is outstanding.
    #[inline]
    pub(super) fn all_acknowledged(&mut self) {
        self.reordering = SimTime::NEVER;
        self.probe.cancel();
    }

    /// Plans the next tail-loss probe after a transmission or an ACK; `allowed` false, or another detection: none. It
    /// comes no later than the retransmission timeout.
    #[inline]
    pub(super) fn plan_probe(
        &mut self,
        now: SimTime,
        board: &Scoreboard,
        rtt: &RttEstimator,
        plan: &ProbePlan,
    ) {
        let wanted = self.kind == Detection::Rack
            && plan.allowed
            && !self.probe.is_in_flight()
            && board.sacked().is_empty();
        if wanted {
            self.plan_calm_probe(now, board, rtt, plan);
        } else {
            self.probe.plan(SimTime::NEVER);
        }
    }

    /// The same while one is allowed, none is in flight and nothing is SACKed.
    #[inline]
    pub(super) fn plan_calm_probe(
        &mut self,
        now: SimTime,
        board: &Scoreboard,
        rtt: &RttEstimator,
        plan: &ProbePlan,
    ) {
        debug_assert!(plan.allowed && !self.probe.is_in_flight() && board.sacked().is_empty());
        if self.kind == Detection::Rack {
            let at = now + probe_timeout(rtt.srtt(), board.outstanding() <= plan.mss);
            self.probe.plan(at.min(plan.retransmission));
        }
    }

    /// The path is given up: no timer runs.
    pub(super) fn stop(&mut self) {
        self.reordering = SimTime::NEVER;
        self.probe.forget();
    }
}

/// An ACK, as the tail-loss probe and RACK's duplicate detection see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeAck {
    pub ack: Seq,
    pub una: Seq,
    pub nxt: Seq,
    /// Reported by DSACK.
    pub duplicate: Option<Range<Seq>>,
    pub advanced: bool,
}

/// Inputs that decide whether and when a tail-loss probe is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbePlan {
    /// Outside recovery and not after a timeout.
    pub allowed: bool,
    pub mss: u64,
    /// When the retransmission timer runs out.
    pub retransmission: SimTime,
}
