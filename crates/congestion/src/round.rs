//! Round trips as the delay-based controllers count them, and the time after a timeout.
//!
//! Source: draft-xu-mptcp-congestion-control-05 section 3; Brakmo and Peterson, "TCP Vegas", 1995. A round ends with
//! the first ACK at or beyond the `snd_nxt` of its beginning. Units: nanoseconds.
//! After a recovery, a timeout or an idle time a full round passes before the next one is measured: its samples are
//! those of segments sent before.

use units::Nanos;

use crate::Ack;

/// Position of an ACK in the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Data that was out at a timeout is still being acknowledged: Reno.
    Repairing,
    /// Inside a round, or at the end of one that does not count.
    Inside,
    /// A round is over, with too few samples.
    Unknown,
    /// A round is over.
    Over(RoundTrip),
}

/// The samples of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// Smallest sample of the path so far, never zero.
    pub base: Nanos,
    /// Smallest sample of the round.
    pub min: Nanos,
    /// Mean of the samples of the round, rounded down; at least `base`.
    pub mean: Nanos,
}

/// Measures round after round.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    repair: Repair,
    base: Nanos,
    min: Nanos,
    sum: u128,
    count: u32,
    /// Where the present round ends; `None`: with the next ACK a round begins.
    end: Option<u64>,
    /// The present round does not count.
    stale: bool,
    /// A round with fewer samples says nothing.
    min_samples: u32,
}

impl Rounds {
    /// A round with fewer samples than `min_samples` does not count.
    pub fn new(min_samples: u32) -> Self {
        debug_assert!(min_samples > 0, "the mean of no samples");
        let longest = Nanos(u64::MAX);
        Self {
            repair: Repair::Done,
            base: longest,
            min: longest,
            sum: 0,
            count: 0,
            end: None,
            stale: false,
            min_samples,
        }
    }

    /// Smallest sample so far in seconds.
    pub fn base(&self) -> Option<f64> {
        (self.base.0 < u64::MAX).then(|| self.base.as_secs_f64())
    }

    /// Recovery or idle time is over.
    pub fn restart(&mut self) {
        self.forget();
        self.end = None;
        self.stale = true;
        self.check();
    }

    pub fn time_out(&mut self) {
        self.restart();
        self.repair.begin();
    }

    /// Inside recovery: only the smallest sample is of interest.
    pub fn note(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt.max(Nanos(1)));
        }
    }

    pub fn on_ack(&mut self, ack: &Ack) -> Turn {
        debug_assert!(ack.snd_una <= ack.snd_nxt, "acknowledged {}, sent {}", ack.snd_una, ack.snd_nxt);
        let turn = self.advance(ack);
        self.check();
        turn
    }

    fn advance(&mut self, ack: &Ack) -> Turn {
        self.note(ack);
        if self.repair.lasts(ack) {
            return Turn::Repairing;
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.max(Nanos(1));
            self.min = self.min.min(rtt);
            self.sum += u128::from(rtt.0);
            self.count += 1;
        }
        let Some(end) = self.end else {
            self.end = Some(ack.snd_nxt);
            return Turn::Inside;
        };
        if ack.snd_una < end {
            return Turn::Inside;
        }
        self.end = Some(ack.snd_nxt);
        let turn = self.turn();
        self.forget();
        self.stale = false;
        turn
    }

    fn turn(&self) -> Turn {
        if self.stale {
            return Turn::Inside;
        }
        if self.count < self.min_samples {
            return Turn::Unknown;
        }
        // The mean of 64-bit samples is a 64-bit number.
        let mean = Nanos((self.sum / u128::from(self.count)) as u64);
        debug_assert!(self.min <= mean, "mean {mean} below the smallest sample {}", self.min);
        Turn::Over(RoundTrip { base: self.base, min: self.min, mean })
    }

    fn forget(&mut self) {
        self.min = Nanos(u64::MAX);
        self.sum = 0;
        self.count = 0;
    }

    /// Samples, their sum and their minimum belong together.
    fn check(&self) {
        debug_assert!(self.count > 0 || self.sum == 0, "a sum of {} without a sample", self.sum);
        debug_assert!(
            self.base <= self.min,
            "{} is smaller than the smallest sample {}",
            self.min,
            self.base
        );
        debug_assert_eq!(
            self.count == 0,
            self.min == Nanos(u64::MAX),
            "a round without samples has no minimum"
        );
        debug_assert!(
            u128::from(self.min.0) * u128::from(self.count) <= self.sum || self.count == 0,
            "{} samples of at least {} sum up to {}",
            self.count,
            self.min,
            self.sum
        );
        debug_assert!(
            self.repair == Repair::Done || self.end.is_none(),
            "no round runs while data of before a timeout is repaired"
        );
    }
}

/// The time from a timeout until all that was out then is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing to repair.
    Done,
    /// Timed out; how much is out shows with the next ACK.
    Begun,
    /// Until this is acknowledged.
    Until(u64),
}

impl Repair {
    pub fn begin(&mut self) {
        *self = Self::Begun;
    }

    /// Whether `ack` belongs to the repair; the one that completes it does not.
    pub fn lasts(&mut self, ack: &Ack) -> bool {
        let until = match *self {
            Self::Done => return false,
            Self::Begun => ack.snd_nxt,
            Self::Until(until) => until,
        };
        *self = if ack.snd_una >= until { Self::Done } else { Self::Until(until) };
        *self != Self::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    fn at(snd_una: u64, snd_nxt: u64, rtt_ms: u64) -> Ack {
        Ack { snd_una, snd_nxt, rtt: Some(Nanos::from_millis(rtt_ms)), ..ack(1000) }
    }

    #[test]
    fn a_round_ends_where_its_first_ack_had_sent_to() {
        let mut rounds = Rounds::new(3);
        assert_eq!(rounds.on_ack(&at(1000, 4000, 100)), Turn::Inside);
        assert_eq!(rounds.on_ack(&at(2000, 5000, 110)), Turn::Inside);
        let (base, mean) = (Nanos::from_millis(100), Nanos::from_millis(110));
        assert_eq!(rounds.on_ack(&at(4000, 8000, 120)), Turn::Over(RoundTrip { base, min: base, mean }));
        assert_eq!(rounds.on_ack(&at(6000, 9000, 130)), Turn::Inside);
        assert_eq!(rounds.on_ack(&at(8000, 9000, 130)), Turn::Unknown, "two samples");
    }

    #[test]
    fn after_a_restart_one_round_does_not_count() {
        let mut rounds = Rounds::new(3);
        rounds.restart();
        for una in [1000, 2000, 3000, 4000] {
            assert_eq!(rounds.on_ack(&at(una, una + 3000, 100)), Turn::Inside);
        }
        assert_eq!(rounds.on_ack(&at(5000, 8000, 200)), Turn::Inside);
        assert_eq!(rounds.on_ack(&at(6000, 9000, 200)), Turn::Inside);
        let base = Nanos::from_millis(100);
        let slow = Nanos::from_millis(200);
        assert_eq!(
            rounds.on_ack(&at(7000, 9000, 200)),
            Turn::Over(RoundTrip { base, min: slow, mean: slow })
        );
    }

    #[test]
    fn a_repair_lasts_until_all_that_was_out_is_acknowledged() {
        let mut rounds = Rounds::new(3);
        rounds.time_out();
        assert_eq!(rounds.on_ack(&at(1000, 4000, 100)), Turn::Repairing);
        assert_eq!(rounds.on_ack(&at(3000, 6000, 100)), Turn::Repairing);
        assert_eq!(rounds.on_ack(&at(4000, 6000, 100)), Turn::Inside);
        let mut repair = Repair::Begun;
        assert!(!repair.lasts(&at(4000, 4000, 100)), "one ACK repairs all");
    }
}
