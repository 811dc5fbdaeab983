//! How long a value that stays constant between changes had which size.

use units::{Bytes, Nanos, SimTime};

use crate::buckets::{self, Buckets, bucket_of};

/// Distribution over time of a step function of bytes: average, maximum, and quantiles within 1 %.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLevels {
    start: SimTime,
    /// Last change.
    since: SimTime,
    value: Bytes,
    /// Byte-nanoseconds up to the last change: whole numbers, which are exact and quick.
    area: u128,
    max: Bytes,
    /// Nanoseconds by bucket, up to the last change.
    lasted: Buckets<u32>,
}

impl TimeLevels {
    /// Starts at `now` with nothing.
    pub fn new(now: SimTime) -> Self {
        Self {
            start: now,
            since: now,
            value: Bytes::ZERO,
            area: 0,
            max: Bytes::ZERO,
            lasted: Buckets::default(),
        }
    }

    /// The present value.
    pub fn value(&self) -> Bytes {
        self.value
    }

    /// From `now` on the value is `value`.
    pub fn set(&mut self, now: SimTime, value: Bytes) {
        let (before, lasted) = (self.value, (now - self.since).0);
        self.value = value;
        self.max = self.max.max(value);
        if lasted > 0 {
            self.area += u128::from(before.0) * u128::from(lasted);
            self.since = now;
            self.lasted.add(bucket_of(before.0), lasted);
        }
        debug_assert!(self.value <= self.max, "the maximum is below the value");
        debug_assert!(
            self.lasted.zero() <= self.since.since(self.start).0,
            "longer than the time since the start"
        );
    }

    /// Average from the start to `now`; the present value if no time has passed.
    pub fn mean(&self, now: SimTime) -> f64 {
        let total = now.since(self.start).0;
        if total == 0 {
            return self.value.as_f64();
        }
        let area = self.area + u128::from(self.value.0) * u128::from(now.since(self.since).0);
        area as f64 / total as f64
    }

    /// Time from the start to `now` in which the value was not zero.
    pub fn time_above_zero(&self, now: SimTime) -> Nanos {
        let present = if self.value == Bytes::ZERO { Nanos::ZERO } else { now.since(self.since) };
        Nanos(self.since.since(self.start).0 - self.lasted.zero()) + present
    }

    /// Largest value so far.
    pub fn max(&self) -> Bytes {
        self.max
    }

    /// The smallest value that was not exceeded for a share `q` of the time from the start to `now`, within the bucket
    /// width; the present value if no time has passed.
    pub fn quantile(&self, now: SimTime, q: f64) -> Bytes {
        let total = now.since(self.start).0;
        if total == 0 {
            return self.value;
        }
        let mut lasted = self.lasted.clone();
        lasted.add(bucket_of(self.value.0), now.since(self.since).0);
        let found = lasted.quantile(total, q).map_or(0, |bucket| {
            let (first, count) = buckets::values_of(bucket);
            first + (count - 1) / 2
        });
        Bytes(found).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_weigh_by_time() {
        let at = SimTime::from_secs;
        let mut levels = TimeLevels::new(at(10));
        assert_eq!((levels.mean(at(10)), levels.quantile(at(10), 0.95)), (0.0, Bytes::ZERO));
        // 90 s nothing, 6 s 100 bytes, 4 s 100 kB, however often it is said.
        levels.set(at(100), Bytes(100));
        levels.set(at(103), Bytes(100));
        levels.set(at(106), Bytes(100_000));
        levels.set(at(106), Bytes(100_000));
        let now = at(110);
        assert_eq!(levels.quantile(now, 0.90), Bytes::ZERO);
        assert_eq!([0.91, 0.95, 0.96].map(|q| levels.quantile(now, q)), [Bytes(100); 3]);
        let top = levels.quantile(now, 0.97).as_f64();
        assert!((top / 100_000.0 - 1.0).abs() < 0.01 && top <= 100_000.0, "{top}");
        assert_eq!((levels.max(), levels.value()), (Bytes(100_000), Bytes(100_000)));
        assert_eq!(levels.time_above_zero(now), Nanos::from_secs(10));
        assert!((levels.mean(now) - 4_006.0).abs() < 1e-9, "{}", levels.mean(now));
    }
}
