//! Average over time of a value that stays constant between changes.

use units::SimTime;

/// Time average and maximum of a step function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeAverage {
    since: SimTime,
    last_change: SimTime,
    value: f64,
    /// Sum of value times nanoseconds.
    area: f64,
    max: f64,
}

impl TimeAverage {
    /// Starts at `now` with `value`.
    pub fn new(now: SimTime, value: f64) -> Self {
        Self { since: now, last_change: now, value, area: 0.0, max: value }
    }

    /// From `now` on the value is `value`.
    pub fn set(&mut self, now: SimTime, value: f64) {
        self.area += self.value * now.since(self.last_change).as_f64();
        self.last_change = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Average from the start to `now`; the present value if no time has passed.
    pub fn mean(&self, now: SimTime) -> f64 {
        let total = now.since(self.since).0 as f64;
        if total <= 0.0 {
            return self.value;
        }
        (self.area + self.value * now.since(self.last_change).0 as f64) / total
    }

    /// Largest value so far.
    pub fn max(&self) -> f64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighs_by_time() {
        let mut average = TimeAverage::new(SimTime::from_secs(1), 10.0);
        average.set(SimTime::from_secs(2), 40.0);
        average.set(SimTime::from_secs(4), 0.0);
        assert!((average.mean(SimTime::from_secs(5)) - 90.0 / 4.0).abs() < 1e-12);
        assert!((average.max() - 40.0).abs() < 1e-12);
    }
}
