//! One rate for the whole run.

use units::{BitsPerSecond, SimTime};

use super::RateModel;

/// A rate that does not change.
#[derive(Clone, Copy, Debug)]
pub struct Constant(u128);

impl Constant {
    /// At this rate, not zero.
    pub fn new(rate: BitsPerSecond) -> Self {
        Self(u128::from(rate.0))
    }
}

impl RateModel for Constant {
    fn ready(&mut self, at: SimTime) -> SimTime {
        at
    }

    fn end(&mut self, start: SimTime, work: u128) -> SimTime {
        let time = u64::try_from(work.div_ceil(self.0)).unwrap_or(u64::MAX);
        SimTime(start.0.saturating_add(time))
    }

    fn capacity(&mut self, until: SimTime) -> u128 {
        self.0 * u128::from(until.0)
    }

    fn served(&mut self, start: SimTime, now: SimTime) -> u128 {
        self.0 * u128::from(now.since(start).0)
    }
}
