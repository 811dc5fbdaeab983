//! The rounds of BBR: by delivered data, not by sequence numbers.

use units::Bytes;

use crate::RateSample;

/// Counts rounds. A round ends when a segment is acknowledged that was sent after its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRounds {
    /// Bytes delivered so far.
    delivered: u64,
    /// The present round ends with the ACK of a segment that was sent when `delivered` had reached this.
    end: u64,
    count: u64,
}

impl DeliveryRounds {
    /// An ACK delivered this much.
    pub fn deliver(&mut self, bytes: Bytes) {
        self.delivered += bytes.0;
        self.check();
    }

    /// A sample of the delivery rate. True at the start of a round.
    pub fn on_sample(&mut self, sample: &RateSample) -> bool {
        debug_assert!(
            sample.before <= sample.total,
            "delivery goes back from {} to {}",
            sample.before,
            sample.total
        );
        self.delivered = sample.total.0;
        let starts = sample.before.0 >= self.end;
        if starts {
            self.end = self.delivered;
            self.count += 1;
        }
        self.check();
        starts
    }

    /// A round starts with the present ACK, but does not count.
    pub fn restart(&mut self) {
        self.end = self.delivered;
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// DeliveryRounds so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn check(&self) {
        debug_assert!(self.end <= self.delivered, "a round began in the future: {self:?}");
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn a_round_ends_with_a_segment_sent_after_its_beginning() {
        let mut rounds = DeliveryRounds::default();
        for (before, total, starts) in
            [(0, 1000, true), (0, 2000, false), (999, 3000, false), (1000, 4000, true), (3999, 5000, false)]
        {
            let sample = RateSample {
                delivered: Bytes(1000),
                interval: Nanos(1),
                before: Bytes(before),
                total: Bytes(total),
                app_limited: false,
            };
            rounds.deliver(Bytes(1000));
            assert_eq!(rounds.on_sample(&sample), starts, "sent at {before}");
        }
        assert_eq!((rounds.count(), rounds.delivered()), (2, 5000));
        rounds.restart();
        assert_eq!((rounds.count(), rounds.end), (2, 5000));
    }
}
