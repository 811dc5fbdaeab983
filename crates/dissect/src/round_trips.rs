//! Round trips of a direction.
//!
//! May: collect samples. May not: know packets.

use std::ops::Range;

/// Differences to the ACK before that a delayed ACK has: Linux delays an ACK by 40 to 200 ms, and RFC 1122 section 4.2.3.2 allows less than 500.
const DELAY_NANOS: Range<u64> = 30_000_000..500_000_000;
/// Segments in a row at the end of a round that are acknowledged one by one.
const SUCCESSIVE: u8 = 3;

/// Round-trip samples, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    sum: u64,
    count: u64,
    least: u64,
    most: u64,
    pub(crate) latest: u64,
    /// Samples with a delayed ACK behind it.
    delayed: u8,
    /// As RFC 6298 section 2 has it: SRTT <- (1 - alpha) * SRTT + alpha * R', with alpha = 1/8.
    pub(crate) smoothed: u64,
}

impl RoundTrips {
    pub(crate) fn add(&mut self, sample: u64) {
        let first = self.count == 0;
        self.sum = self.sum.saturating_add(sample);
        self.count += 1;
        self.least = if first { sample } else { self.least.min(sample) };
        (self.most, self.latest, self.delayed) = (self.most.max(sample), sample, 0);
        self.smoothed = if first { sample } else { self.smoothed - self.smoothed / 8 + sample / 8 };
    }

    /// The same for an ACK that acknowledges one segment, if that is `alone`. By the delay of an ACK it comes later than the one before: that tells of the
    /// receiver, and not of the link. If several follow that are as late, the link is.
    pub(crate) fn add_unless_delayed(&mut self, sample: u64, alone: bool) {
        let later = sample.saturating_sub(self.latest);
        if alone && self.count > 0 && self.delayed < SUCCESSIVE && DELAY_NANOS.contains(&later) {
            self.delayed += 1;
        } else {
            self.add(sample);
        }
    }

    /// Mean, least and most in seconds.
    pub(crate) fn seconds(&self) -> Option<[f64; 3]> {
        let mean = self.sum as f64 / self.count as f64;
        (self.count > 0).then(|| [mean, self.least as f64, self.most as f64].map(|nanos| nanos / 1e9))
    }

    /// The mean, or 0.
    pub(crate) fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delayed_ack_is_no_round_trip_unless_those_behind_it_are_as_late() {
        let mut trips = RoundTrips::default();
        let lone = [300, 350, 301, 340, 341, 340, 300, 900].map(|millis| (millis, true));
        for (millis, alone) in lone.into_iter().chain([(301, true), (360, false), (301, true)]) {
            trips.add_unless_delayed(millis * 1_000_000, alone);
        }
        // Left out: 350, 340, 341, 340. No ACK is delayed by 600 ms.
        assert_eq!((trips.count, trips.most, trips.latest), (7, 900_000_000, 301_000_000));
        for _ in 0..4 {
            trips.add_unless_delayed(340_000_000, true);
        }
        assert_eq!((trips.count, trips.latest), (8, 340_000_000));
    }
}
