//! Allowance for aggregated ACKs: how much more than the estimated rate lets expect was delivered at once.
//!
//! Source: Linux 6.x, `bbr_update_ack_aggregation` and `bbr_ack_aggregation_cwnd` in net/ipv4/tcp_bbr.c. Units: bytes, bytes per second.
//! An interval begins anew as soon as no more was delivered in it than expected. The largest excess of five to ten rounds counts.

use units::{Bytes, SimTime};

/// Rounds of one of the two halves of the memory.
const ROUNDS: u32 = 5;
/// Most time for which the rate is added.
const MAX_TIME: f64 = 0.1;
/// Segments after which an interval begins anew.
const LONGEST: f64 = 1_048_576.0;

/// Excess over the estimated rate.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    mss: f64,
    since: SimTime,
    delivered: f64,
    /// All that was delivered so far.
    total: Bytes,
    /// Largest excess of the present five rounds and of those before.
    largest: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Nothing delivered.
    pub fn new(mss: f64) -> Self {
        Self { mss, since: SimTime::ZERO, delivered: 0.0, total: Bytes::ZERO, largest: [0.0; 2], rounds: 0 }
    }

    /// With an ACK `total` bytes are delivered, at the estimated rate `bw` with a window of `cwnd`; it may begin a round.
    pub fn on_sample(&mut self, now: SimTime, total: Bytes, (bw, cwnd): (f64, f64), round_start: bool) {
        let bytes = total.saturating_sub(self.total);
        self.total = total;
        if bytes == Bytes::ZERO {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.largest = [0.0, self.largest[0]];
            }
        }
        let mut expected = (bw * now.since(self.since).as_secs_f64() / self.mss).floor() * self.mss;
        if self.delivered <= expected || self.delivered + bytes.as_f64() >= LONGEST * self.mss {
            (self.since, self.delivered, expected) = (now, 0.0, 0.0);
        }
        self.delivered += bytes.as_f64();
        self.largest[0] = self.largest[0].max((self.delivered - expected).min(cwnd));
        debug_assert!(self.largest.iter().all(|excess| *excess >= 0.0), "less than nothing: {self:?}");
    }

    /// Bytes for the window beside its product.
    pub fn allowance(&self, bw: f64) -> f64 {
        self.largest[0].max(self.largest[1]).min(bw * MAX_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: f64 = 1000.0;

    /// 100 kB/s, with an ACK of ten segments every 100 ms: the second interval begins with each ACK.
    #[test]
    fn an_ack_of_ten_segments_is_ten_more_than_expected() {
        let mut aggregation = Aggregation::new(MSS);
        for n in 1..=8 {
            aggregation.on_sample(SimTime::from_millis(100 * n), Bytes(10_000 * n), (100_000.0, 1e6), false);
        }
        assert!((aggregation.allowance(1e9) - 10_000.0).abs() < 1e-6, "{aggregation:?}");
        assert!((aggregation.allowance(50_000.0) - 5_000.0).abs() < 1e-6, "at most 100 ms");
    }

    #[test]
    fn an_excess_is_forgotten_after_ten_rounds() {
        let mut aggregation = Aggregation::new(MSS);
        let mut total = 0;
        let mut rounds = |from: u64, count: u64, bytes| {
            for n in from..from + count {
                total += bytes;
                aggregation.on_sample(SimTime::from_millis(100 * n), Bytes(total), (100_000.0, 1e6), true);
            }
            aggregation.allowance(1e9)
        };
        assert!((rounds(1, 1, 50_000) - 50_000.0).abs() < 1e-6);
        assert!((rounds(20, 8, 1000) - 50_000.0).abs() < 1e-6);
        assert!((rounds(28, 2, 1000) - 1000.0).abs() < 1e-6);
    }
}
