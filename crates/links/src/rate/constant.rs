//! One rate for the whole run.

use units::{BitsPerSecond, SimTime};

use super::RateModel;

/// A rate that does not change.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate(BitsPerSecond);

impl ConstantRate {
    /// At this rate, not zero.
    pub fn new(rate: BitsPerSecond) -> Self {
        debug_assert!(rate > BitsPerSecond(0), "a constant rate of nothing sends nothing for good");
        Self(rate)
    }

    fn work_per_ns(self) -> u128 {
        self.0.0.into()
    }
}

impl RateModel for ConstantRate {
    fn ready(&mut self, at: SimTime) -> SimTime {
        at
    }

    fn end(&mut self, start: SimTime, work: u128) -> SimTime {
        let time = u64::try_from(work.div_ceil(self.work_per_ns())).unwrap_or(u64::MAX);
        SimTime(start.0.saturating_add(time))
    }

    fn capacity(&mut self, until: SimTime) -> u128 {
        self.work_per_ns() * u128::from(until.0)
    }

    fn served(&mut self, start: SimTime, now: SimTime) -> u128 {
        self.work_per_ns() * u128::from(now.since(start).0)
    }

    fn piece(&mut self, _at: SimTime) -> Option<(BitsPerSecond, SimTime)> {
        Some((self.0, SimTime::NEVER))
    }
}
