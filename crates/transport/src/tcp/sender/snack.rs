//! SCPS-TP at the sender: an acknowledgement that may carry a SNACK (CCSDS 714.0-B).
//!
//! What the peer names is sent again at once, without a duplicate threshold. Whether that says anything about
//! congestion is a setting. Choice D-25: what was sent less than a round trip ago is not sent again, since the
//! report cannot know of it.

use congestion::{Ack, Paths};
use units::{Nanos, SimTime};

use super::super::ranges::Range;
use super::super::scoreboard::Change;
use super::super::space::Snack;
use super::{Phase, Sender};
use crate::space::SpaceSignal;
use crate::tcp::segment::TcpSegment;

impl Sender {
    /// Takes in an acknowledgement. Returns true if it acknowledged new bytes.
    pub(super) fn on_snack(
        &mut self,
        now: SimTime,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        window_right: u64,
        paths: Paths<'_>,
    ) -> bool {
        let flight_before = self.board.outstanding();
        let mut change = Change::default();
        let advanced = self.advance(segment.ack, &mut change);
        self.offer_window(window_right);
        let sample = self.measure_newest(now, &change);
        let lost = match signal {
            Some(SpaceSignal::Snack(snack)) => self.take_snack(now, segment.ack, *snack, &mut change),
            _ => false,
        };
        if advanced || lost || change.sacked > 0 {
            let mut ack = self.describe_fully(now, &change, flight_before, sample, window_right);
            if self.marked {
                self.heed_mark(&mut ack, paths);
            }
            self.respond(&ack, (advanced, lost), paths);
        }
        self.restart_timers_after_ack(now, advanced, sample.is_some());
        #[cfg(debug_assertions)]
        self.check();
        advanced
    }

    /// Cumulative acknowledgement. Returns true if it is news.
    pub(super) fn advance(&mut self, ack: u64, change: &mut Change) -> bool {
        let advanced = ack > self.una;
        if advanced {
            self.board.ack(ack, change);
            self.previous_ack = self.una;
            self.una = ack;
        }
        advanced
    }

    /// Acknowledgements are held back on purpose: the newest segment that one covers has waited least.
    fn measure_newest(&mut self, now: SimTime, change: &Change) -> Option<Nanos> {
        let newest = change.latest.filter(|l| !l.retransmitted)?;
        let sample = now.since(newest.sent_at);
        self.rtt.sample(now, sample);
        Some(sample)
    }

    /// Returns true if it named anything that was not known to be missing.
    fn take_snack(&mut self, now: SimTime, ack: u64, snack: Snack, change: &mut Change) -> bool {
        let round_trip = self.rtt.srtt().unwrap_or(Nanos::ZERO);
        let mut lost = false;
        for (range, received) in snack.ranges(ack, self.config.mss.0) {
            let range = Range::new(range.start.max(self.una), range.end);
            if range.is_empty() {
                continue;
            }
            if received {
                self.board.sack(range, change);
            } else {
                lost |= self.board.mark_missing(range, |s| s.sent_at + round_trip <= now);
            }
        }
        lost
    }

    /// Tells the controller what a report has changed: whether it `(advanced, lost)` anything.
    pub(super) fn respond(&mut self, ack: &Ack, (advanced, lost): (bool, bool), paths: Paths<'_>) {
        match self.phase {
            Phase::Open => {
                if advanced {
                    self.congestion.on_ack(ack, paths);
                }
                if lost && !self.is_corruption() {
                    self.enter_recovery(ack.now, ack.delivered.0, paths);
                }
            }
            Phase::Recovery => self.ack_in_recovery(ack, advanced, false),
            Phase::Loss => self.ack_in_loss(ack, advanced, paths),
        }
        self.tell_owner_of_window(ack, paths);
    }
}
