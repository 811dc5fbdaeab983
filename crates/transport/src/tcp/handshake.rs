//! The SYN of one end, or its SYN/ACK: when it leaves, how often it was repeated, and the round trip that its answer
//! shows (RFC 9293 section 3.5, RFC 6298).

use units::{Nanos, SimTime};

use crate::config::RtoConfig;
use crate::convert::ConvertMessage;

/// Progress of the handshake at one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// The SYN is to leave now.
    due: bool,
    /// When it is repeated; `NEVER` before the first, and after the handshake.
    deadline: SimTime,
    /// Transmissions that were not answered in time.
    tries: u32,
    /// First transmission.
    sent_at: SimTime,
    /// The SYN/ACK has left twice because the SYN arrived twice.
    repeated: bool,
    /// When the handshake was complete.
    complete_at: Option<SimTime>,
    /// Its payload, to or from a converter.
    message: Option<ConvertMessage>,
}

/// Effect of the timer of the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SynTimer {
    /// It does not run, or is not due.
    Waits,
    /// The SYN leaves again.
    Repeats,
    /// It has been repeated often enough.
    GivesUp,
}

impl Handshake {
    /// Not begun.
    pub(super) fn new() -> Self {
        Self {
            due: false,
            deadline: SimTime::NEVER,
            tries: 0,
            sent_at: SimTime::ZERO,
            repeated: false,
            complete_at: None,
            message: None,
        }
    }

    /// The SYN has this payload.
    pub(super) fn say(&mut self, message: ConvertMessage) {
        debug_assert!(self.deadline.is_never(), "the SYN has left");
        self.message = Some(message);
    }

    /// Its payload.
    pub(super) fn message(&self) -> Option<ConvertMessage> {
        self.message
    }

    /// The SYN, or the answer to one, is to leave.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.complete_at.is_none(), "a second handshake");
        self.due = true;
    }

    /// The peer has repeated its SYN.
    pub(super) fn answer_again(&mut self) {
        self.due = true;
        self.repeated = true;
    }

    /// Transmissions that were not answered in time.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }

    /// When the handshake was complete.
    #[inline]
    pub(super) fn complete_at(&self) -> Option<SimTime> {
        self.complete_at
    }

    /// When the SYN is repeated.
    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.deadline
    }

    /// True if the SYN leaves now; the timer starts, backed off.
    pub(super) fn take_due(&mut self, now: SimTime, rto: &RtoConfig) -> bool {
        if !std::mem::take(&mut self.due) {
            return false;
        }
        if self.deadline.is_never() {
            self.sent_at = now;
        }
        let timeout = rto.initial.saturating_mul(1 << self.tries.min(16));
        self.deadline = now + timeout.min(rto.max);
        self.check();
        true
    }

    /// Complete. Returns the round-trip time: that of the timestamp that the peer has echoed, or by Karn's rule that of a
    /// SYN that was sent once.
    pub(super) fn complete(&mut self, now: SimTime, echoed: Option<SimTime>) -> Option<Nanos> {
        self.deadline = SimTime::NEVER;
        self.due = false;
        self.complete_at = Some(now);
        self.check();
        let clean = (self.tries == 0 && !self.repeated).then_some(self.sent_at);
        echoed.or(clean).map(|sent_at| now.since(sent_at))
    }

    /// Acts on the deadline if it is due.
    #[inline]
    pub(super) fn expire(&mut self, now: SimTime, retries: u32, rto: &RtoConfig) -> SynTimer {
        if self.deadline > now {
            return SynTimer::Waits;
        }
        self.tries += 1;
        if self.tries > retries {
            self.deadline = SimTime::NEVER;
            return SynTimer::GivesUp;
        }
        self.due = true;
        self.deadline = now + rto.max;
        self.check();
        SynTimer::Repeats
    }

    fn check(&self) {
        debug_assert!(
            self.complete_at.is_none() || !self.due && self.deadline.is_never(),
            "a SYN after the handshake: {self:?}"
        );
        debug_assert!(self.deadline.is_never() || self.sent_at <= self.deadline, "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298: 1 s, 2 s, 4 s; a repeated SYN gives no sample without a timestamp.
    #[test]
    fn the_syn_backs_off_and_follows_karn() {
        let rto = RtoConfig {
            initial: Nanos::from_secs(1),
            max: Nanos::from_secs(3),
            ..crate::config::TcpConfig::default().timers.rto
        };
        let at = SimTime::from_millis;
        let mut handshake = Handshake::new();
        assert!(!handshake.take_due(at(0), &rto));
        handshake.begin();
        assert!(handshake.take_due(at(10), &rto) && !handshake.take_due(at(10), &rto));
        assert_eq!(handshake.expire(at(1009), 2, &rto), SynTimer::Waits);
        assert_eq!(handshake.expire(at(1010), 2, &rto), SynTimer::Repeats);
        assert!(handshake.take_due(at(1010), &rto));
        assert_eq!(handshake.deadline(), at(3010));
        assert_eq!(handshake.clone().complete(at(3000), None), None);
        assert_eq!(handshake.clone().complete(at(3000), Some(at(1010))), Some(Nanos::from_millis(1990)));
        assert_eq!(handshake.expire(at(3010), 2, &rto), SynTimer::Repeats);
        assert!(handshake.take_due(at(3010), &rto));
        assert_eq!(handshake.deadline(), at(6010), "at most the maximum");
        assert_eq!(handshake.expire(at(6010), 2, &rto), SynTimer::GivesUp);
    }
}
