//! A report of a transport over space links arrives instead of TCP's acknowledgements: the same sender, with another
//! source of what has arrived and what is missing.

use congestion::{Ack, Paths};
use units::SimTime;

use super::super::ranges::Range;
use super::super::sent::Change;
use super::Sender;
use super::recovery::Phase;
use crate::seq::Seq;
use crate::space::{Finding, Measured, SenderView, SpaceSignal};
use crate::tcp::segment::TcpSegment;

impl Sender {
    /// Takes in a segment of a peer that reports. Returns true if it acknowledged new bytes.
    pub(super) fn on_report(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: Seq,
        paths: Paths<'_>,
    ) -> bool {
        let Some(policy) = self.policy.as_deref_mut().filter(|policy| policy.reads(signal)) else {
            return false;
        };
        self.pacer.renew_basis();
        let flight_before = self.board.outstanding_counted();
        let mut change = Change::default();
        let ack = segment.ack;
        let advanced = ack > self.send.una();
        if advanced {
            self.board.ack(ack, &mut change);
            self.send.acknowledge(ack);
        }
        self.window.offer(self.send.una(), window_right);
        let newest = change.latest.filter(|l| !l.retransmitted).map(|l| l.sent_at);
        let measured = policy.measure(now, signal, newest);
        if let Some(sample) = measured.sample {
            self.rtt.sample_beside(now, sample, self.unacked_range());
        }
        let lost = self.mark_findings(now, (segment, signal), measured, &mut change);
        if advanced || lost || change.sacked > 0 {
            let mut ack = self.describe_fully(now, &change, flight_before, measured.sample, window_right);
            self.heed_mark(&mut ack, paths);
            self.respond_to_report(&ack, advanced, lost, paths);
        }
        self.restart_timers_after_ack(now, advanced, measured.sample.is_some());
        self.ask_peer(now);
        self.check();
        advanced
    }

    /// Marks on the scoreboard what a report says. Returns true if it names anything that was not known to be missing.
    fn mark_findings(
        &mut self,
        now: SimTime,
        report: (&TcpSegment, Option<&SpaceSignal>),
        measured: Measured,
        change: &mut Change,
    ) -> bool {
        let Some(policy) = &self.policy else { return false };
        let (una, board) = (self.send.una(), &mut self.board);
        let mut lost = false;
        let measured = (measured, self.rtt.srtt());
        policy.findings(now, report, measured, self.config.segment.mss, |range, finding| {
            let range = Range::new(range.start.max(una), range.end);
            lost |= match finding {
                _ if range.is_empty() => false,
                Finding::Arrived => {
                    board.sack(range, change);
                    false
                }
                Finding::MissingSince(at) => board.mark_missing(range, |s| s.sent_at <= at),
                Finding::MissingOriginal => board.mark_missing(range, |s| !s.retransmitted),
            };
        });
        lost
    }

    /// Tells the controller what a report has changed.
    fn respond_to_report(&mut self, ack: &Ack, advanced: bool, lost: bool, paths: Paths<'_>) {
        match self.recovery.phase() {
            Phase::Open => {
                if advanced {
                    self.congestion.on_ack(ack, paths);
                }
                if lost && !self.is_corruption() {
                    self.enter_recovery(ack.now, ack.delivered, paths);
                }
            }
            Phase::Recovery => self.ack_in_recovery(ack, advanced, false),
            Phase::Loss => self.ack_in_loss(ack, advanced, paths),
        }
        self.tell_owner_of_window(ack, paths);
    }

    /// The sender, as its policy sees it.
    fn view(&self) -> SenderView {
        let waits = !self.board.is_empty() || self.send.unsent() > 0;
        SenderView { waits, round_trip: self.rtt.srtt() }
    }

    /// The state has changed, or data waits for room. True if the policy asks the peer by itself.
    pub(super) fn ask_peer(&mut self, now: SimTime) -> bool {
        let view = self.view();
        self.policy.as_deref_mut().is_some_and(|policy| policy.wait(now, view))
    }

    /// A segment has left: the policy may count it.
    pub(super) fn count_for_policy(&mut self, now: SimTime) {
        let view = self.view();
        if let Some(policy) = self.policy.as_deref_mut() {
            policy.on_sent(now, view);
        }
    }

    /// The poll that leaves now, if one is due (STP).
    #[inline]
    pub fn take_poll(&mut self, now: SimTime) -> Option<SpaceSignal> {
        self.policy.as_ref()?;
        let view = self.view();
        self.policy.as_deref_mut()?.take_poll(now, view)
    }
}
