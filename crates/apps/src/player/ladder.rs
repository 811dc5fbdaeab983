//! The rates of a film, and the choice among them by measured throughput.

use std::collections::VecDeque;

use units::{BitsPerSecond, Bytes, Nanos};

/// Segments whose throughput is remembered.
const MEMORY: usize = 3;

/// Rates from the lowest to the highest, and the throughput of the last segments.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    rates: Vec<BitsPerSecond>,
    /// Share of the throughput that a rate may take.
    safety: f64,
    /// Throughput of the last segments in bit/s.
    measured: VecDeque<f64>,
}

impl Ladder {
    /// `steps` rates with a constant factor between them.
    pub fn new([low, high]: [BitsPerSecond; 2], steps: u64, safety: f64) -> Self {
        let (low, high) = (low.0 as f64, high.0 as f64);
        let factor = if steps > 1 { libm::pow(high / low, 1.0 / (steps - 1) as f64) } else { 1.0 };
        let rate = |i| BitsPerSecond(libm::round(low * libm::pow(factor, i as f64)) as u64);
        let ladder = Self { rates: (0..steps).map(rate).collect(), safety, measured: VecDeque::new() };
        ladder.check();
        ladder
    }

    /// The highest rate that the throughput allows, the lowest where none is allowed or known.
    pub fn rate(&self) -> BitsPerSecond {
        if self.measured.is_empty() {
            return self.rates[0];
        }
        let slowness: f64 = self.measured.iter().map(|rate| 1.0 / rate).sum();
        let allowed = self.safety * self.measured.len() as f64 / slowness;
        let fits = self.rates.iter().rev().find(|rate| rate.0 as f64 <= allowed);
        fits.copied().unwrap_or(self.rates[0])
    }

    /// A segment of `size` took this long.
    pub fn measure(&mut self, size: Bytes, time: Nanos) {
        if self.measured.len() == MEMORY {
            self.measured.pop_front();
        }
        self.measured.push_back(size.as_f64() * 8.0 / time.as_secs_f64().max(1e-9));
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.rates.is_sorted() && !self.rates.is_empty(), "rates rise: {:?}", self.rates);
        debug_assert!(self.measured.len() <= MEMORY, "{} segments are remembered", self.measured.len());
        debug_assert!(self.measured.iter().all(|rate| *rate > 0.0), "a segment came at no rate: {self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_spread_by_a_constant_factor_and_chosen_by_throughput() {
        let ladder = Ladder::new([BitsPerSecond(500_000), BitsPerSecond(8_000_000)], 5, 0.8);
        let rates: Vec<_> = ladder.rates.iter().map(|rate| rate.0 / 1000).collect();
        assert_eq!(rates, [500, 1000, 2000, 4000, 8000]);
        let with = |measured: &[f64]| {
            Ladder { measured: measured.iter().copied().collect(), ..ladder.clone() }.rate().0
        };
        assert_eq!(with(&[]), 500_000);
        assert_eq!(with(&[2.6e6]), 2_000_000);
        assert_eq!(with(&[2.4e6]), 1_000_000);
        assert_eq!(with(&[1e5]), 500_000, "never below the lowest");
        assert_eq!(with(&[1e6, 4e6]), 1_000_000, "harmonic mean 1.6 Mbit/s");
    }

    #[test]
    fn three_segments_are_remembered() {
        let mut ladder = Ladder::new([BitsPerSecond(1000), BitsPerSecond(4000)], 3, 1.0);
        for (bytes, rate) in [(125, 1000), (500, 1000), (500, 2000), (500, 4000)] {
            ladder.measure(Bytes(bytes), Nanos::from_secs(1));
            assert_eq!(ladder.rate(), BitsPerSecond(rate), "{bytes}");
        }
    }
}
