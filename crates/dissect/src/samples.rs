//! Samples of a direction over time: as many as fit, and fewer per second the longer the capture is.

use crate::waiting::{Cause, Waiting};

/// Samples are this far apart at first.
const INTERVAL_NANOS: u64 = 20_000_000;
/// More samples make every second one go, and double the interval.
pub(crate) const MOST: usize = 2_048;

/// When samples are taken, for all directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    interval: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { interval: INTERVAL_NANOS }
    }
}

impl Clock {
    /// The instant for a sample after `at`.
    fn next(self, at: u64) -> u64 {
        (at / self.interval).saturating_add(1).saturating_mul(self.interval)
    }

    /// Twice the interval.
    pub(crate) fn slow_down(&mut self) {
        self.interval = self.interval.saturating_mul(2);
    }
}

/// Values of a direction at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Nanoseconds from the first packet of all.
    pub(crate) at: u64,
    /// Bytes that were sent and are new here; of a connection, delivered in order.
    pub(crate) fresh: u64,
    /// Bytes acknowledged.
    pub(crate) acked: u64,
    /// Bytes sent and not acknowledged; of a connection, held because of gaps.
    pub(crate) waiting: u64,
    /// Smoothed round-trip time in nanoseconds, or 0; of a connection, the window that the receiver offers.
    pub(crate) other: u64,
    /// Latest round trip in nanoseconds, or 0.
    pub(crate) rtt: u64,
    /// Segments that repeat what this place has seen.
    pub(crate) repeated: u64,
    /// The limit of the sender, as far as packets tell.
    pub(crate) cause: Cause,
}

/// A direction or a stream over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) waiting: Waiting,
    pub(crate) samples: Samples,
}

/// Samples of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// `None`: nothing has been seen.
    next: Option<u64>,
    taken: Vec<Sample>,
}

impl Samples {
    /// A packet comes at `at`, before which a sample is due; samples begin after `first`.
    #[inline]
    pub(crate) fn is_due(&mut self, clock: Clock, first: u64, at: u64) -> bool {
        at >= *self.next.get_or_insert_with(|| clock.next(first))
    }

    /// The values before a packet at `at` are those of the instants since the last one. Values stay the same in a pause: its two
    /// ends are enough. True if there are too many.
    #[cold]
    pub(crate) fn take(&mut self, clock: Clock, at: u64, values: Sample) -> bool {
        let next = self.next.unwrap_or(at);
        self.taken.push(Sample { at: next, ..values });
        let after = clock.next(at);
        let last = after.saturating_sub(clock.interval);
        if last > next {
            self.taken.push(Sample { at: last, ..values });
        }
        self.next = Some(after);
        self.check();
        self.taken.len() > MOST
    }

    /// Every second sample goes.
    pub(crate) fn thin(&mut self) {
        let mut odd = false;
        self.taken.retain(|_| {
            odd = !odd;
            !odd
        });
        self.check();
    }

    /// In the order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.taken.iter()
    }

    fn check(&self) {
        debug_assert!(self.taken.is_sorted_by_key(|sample| sample.at), "samples are in the order of time");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_has_two_samples() {
        let (mut samples, clock) = (Samples::default(), Clock::default());
        for (at, fresh) in [(0, 0), (50, 1), (120, 2), (180, 3), (1_010, 4)] {
            if samples.is_due(clock, at * 1_000_000, at * 1_000_000) {
                assert!(!samples.take(clock, at * 1_000_000, Sample { fresh, ..Sample::default() }));
            }
        }
        let found: Vec<_> = samples.iter().map(|sample| (sample.at / 1_000_000, sample.fresh)).collect();
        assert_eq!(found, [(20, 1), (40, 1), (60, 2), (120, 2), (140, 3), (180, 3), (200, 4), (1_000, 4)]);
    }

    #[test]
    fn samples_do_not_grow_without_end() {
        let (mut samples, mut clock) = (Samples::default(), Clock::default());
        for at in 0..200_000 {
            let at = at * 10_000_000;
            if samples.is_due(clock, at, at) && samples.take(clock, at, Sample::default()) {
                clock.slow_down();
                samples.thin();
            }
        }
        assert!(samples.iter().count() <= MOST && samples.iter().count() > MOST / 4);
    }
}
