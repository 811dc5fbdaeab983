//! The tail-loss probe (RFC 8985 section 7): after two round trips without an ACK one segment is sent, so that a loss
//! at the end of a flight leads to fast recovery instead of a timeout.

use units::SimTime;

use crate::seq::Seq;
use crate::tcp::ranges::Range;

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// snd_nxt when it left.
    end: Seq,
    retransmission: bool,
}

/// Outcome of the probe by an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeOutcome {
    /// Nothing yet, or there was none, or it repaired nothing.
    Nothing,
    /// The probe repaired a loss that nothing else has shown.
    RepairedLoss,
}

/// Timer and state of the probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// When one is to be sent; `NEVER`: not planned.
    deadline: SimTime,
    /// One is to be sent now.
    due: bool,
    in_flight: Option<InFlight>,
}

impl TailProbe {
    /// None planned.
    pub(super) fn new() -> Self {
        Self { deadline: SimTime::NEVER, due: false, in_flight: None }
    }

    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.deadline
    }

    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// A probe has left and its answer is awaited.
    #[inline]
    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// One is to be sent at `deadline`; `NEVER`: none.
    #[inline]
    pub(super) fn plan(&mut self, deadline: SimTime) {
        self.deadline = deadline;
    }

    /// True if the time has come: one is due from now on.
    pub(super) fn expire(&mut self, now: SimTime) -> bool {
        let expired = self.deadline <= now;
        if expired {
            self.deadline = SimTime::NEVER;
            self.due = true;
        }
        expired
    }

    #[inline]
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// None is to be sent; one in flight remains.
    #[inline]
    pub(super) fn cancel(&mut self) {
        self.deadline = SimTime::NEVER;
        self.due = false;
    }

    /// None is to be sent, and the answer to one in flight does not matter any more.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }

    /// The probe leaves; `end` is snd_nxt after it.
    pub(super) fn sent(&mut self, end: Seq, retransmission: bool) {
        debug_assert!(!self.is_in_flight(), "a second probe before the answer to the first");
        self.cancel();
        self.in_flight = Some(InFlight { end, retransmission });
    }

    /// Section 7.4: an ACK up to `ack` after a probe, with the duplicate that it reports by DSACK. `advanced`: it
    /// acknowledges new data.
    pub(super) fn on_ack(&mut self, ack: Seq, duplicate: Option<Range<Seq>>, advanced: bool) -> ProbeOutcome {
        let Some(probe) = self.in_flight.filter(|probe| ack >= probe.end) else {
            return ProbeOutcome::Nothing;
        };
        let original_arrived = duplicate.is_some_and(|d| d.end == probe.end);
        let repaired = probe.retransmission && !original_arrived && ack > probe.end;
        let duplicate_ack = ack == probe.end && !advanced;
        if !probe.retransmission || original_arrived || repaired || duplicate_ack {
            self.in_flight = None;
        }
        if repaired { ProbeOutcome::RepairedLoss } else { ProbeOutcome::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(retransmission: bool) -> TailProbe {
        let mut probe = TailProbe::new();
        probe.sent(Seq(1001), retransmission);
        probe
    }

    #[test]
    fn an_ack_above_a_repeated_segment_means_that_it_was_lost() {
        let (mut repeated, mut new) = (probe(true), probe(false));
        assert_eq!(repeated.on_ack(Seq(501), None, true), ProbeOutcome::Nothing);
        assert_eq!(repeated.on_ack(Seq(1001), None, true), ProbeOutcome::Nothing);
        assert!(repeated.is_in_flight(), "the duplicate may be reported yet");
        assert_eq!(repeated.on_ack(Seq(2001), None, true), ProbeOutcome::RepairedLoss);
        assert_eq!(new.on_ack(Seq(1001), None, true), ProbeOutcome::Nothing);
        assert!(!repeated.is_in_flight() && !new.is_in_flight());
    }

    #[test]
    fn a_dsack_or_a_duplicate_ack_means_that_nothing_was_lost() {
        let (mut dsack, mut dupack) = (probe(true), probe(true));
        let duplicate = Some(Range::new(Seq(1), Seq(1001)));
        assert_eq!(dsack.on_ack(Seq(2001), duplicate, true), ProbeOutcome::Nothing);
        assert_eq!(dupack.on_ack(Seq(1001), None, false), ProbeOutcome::Nothing);
        assert!(!dsack.is_in_flight() && !dupack.is_in_flight());
    }
}
