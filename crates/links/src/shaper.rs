//! A token bucket between the queue and the transmitter.
//!
//! Tokens are bytes and come at a rate up to the size of the bucket, which is full at the start. A packet leaves the
//! queue when there is a token for each of its bytes, so that no span of time t carries more than burst + rate * t. The
//! exception is a packet larger than the bucket: it leaves when the bucket is full, and the tokens become negative.

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::rate::{WORK_PER_BYTE, work_of};

/// Parameters of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Rate of the tokens, not zero.
    pub rate: BitsPerSecond,
    /// Size of the bucket.
    pub burst: Bytes,
}

/// A bucket; tokens in units of work, so that nothing is lost to rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    shaper: Shaper,
    tokens: i128,
    since: SimTime,
}

impl TokenBucket {
    /// A full bucket at `now`.
    pub fn new(shaper: Shaper, now: SimTime) -> Self {
        Self { shaper, tokens: full(shaper), since: now }
    }

    /// When a packet of `size` may leave: `now` or later. `now` never goes back.
    pub fn ready(&mut self, now: SimTime, size: Bytes) -> SimTime {
        self.fill(now);
        let wanted = (work_of(size) as i128).min(full(self.shaper));
        let missing = wanted - self.tokens;
        if missing <= 0 {
            return now;
        }
        let time = (missing as u128).div_ceil(u128::from(self.shaper.rate.0));
        now + Nanos(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// A packet of `size` leaves at `now`.
    pub fn take(&mut self, now: SimTime, size: Bytes) {
        self.fill(now);
        debug_assert!(
            self.tokens >= (work_of(size) as i128).min(full(self.shaper)),
            "a packet of {size} leaves without tokens: {self:?}"
        );
        self.tokens -= work_of(size) as i128;
    }

    /// The same bucket with other parameters: tokens that do not fit are lost.
    #[must_use]
    pub fn with(mut self, shaper: Shaper, now: SimTime) -> Self {
        self.fill(now);
        let tokens = self.tokens.min(full(shaper));
        Self { shaper, tokens, since: now }
    }

    fn fill(&mut self, now: SimTime) {
        debug_assert!(now >= self.since, "tokens up to {} are there already", self.since);
        let new = u128::from(self.shaper.rate.0) * u128::from(now.since(self.since).0);
        self.tokens = (self.tokens + new as i128).min(full(self.shaper));
        self.since = now;
        debug_assert!(self.tokens <= full(self.shaper), "a bucket runs over: {self:?}");
    }
}

fn full(shaper: Shaper) -> i128 {
    // 2^64 bytes are less than 2^97 units of work.
    i128::from(shaper.burst.0) * WORK_PER_BYTE as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s are 1000 bytes in a millisecond.
    fn bucket(burst: u64) -> TokenBucket {
        TokenBucket::new(Shaper { rate: BitsPerSecond(8_000_000), burst: Bytes(burst) }, SimTime::ZERO)
    }

    fn send(bucket: &mut TokenBucket, now: SimTime, size: u64) -> SimTime {
        let at = bucket.ready(now, Bytes(size));
        bucket.take(at, Bytes(size));
        at
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let mut bucket = bucket(3000);
        let mut now = SimTime::ZERO;
        let mut times = Vec::new();
        for _ in 0..5 {
            now = send(&mut bucket, now, 1000);
            times.push(now.0 / 1_000_000);
        }
        assert_eq!(times, [0, 0, 0, 1, 2]);
        assert_eq!(send(&mut bucket, SimTime::from_millis(100), 3000), SimTime::from_millis(100));
        assert_eq!(send(&mut bucket, SimTime::from_millis(100), 1), SimTime(100_001_000));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_leaves_a_debt() {
        let mut bucket = bucket(500);
        assert_eq!(send(&mut bucket, SimTime::ZERO, 1000), SimTime::ZERO);
        // 500 bytes of debt and 500 that fill the bucket.
        assert_eq!(send(&mut bucket, SimTime::ZERO, 1000), SimTime::from_millis(1));
        assert_eq!(send(&mut bucket, SimTime::from_millis(1), 1000), SimTime::from_millis(2));
    }
}
