//! Named random streams: each random process draws from its own, so that changing one component does not change
//! what another draws (common random numbers).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};

/// The random numbers of one process.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `purpose` in `component` for replication `seed`. The same three give the same numbers.
    pub fn named(seed: u64, component: &str, purpose: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        for name in [component, purpose] {
            // The length first: ("ab", "c") and ("a", "bc") are different streams.
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(hash.finalize().into()))
    }

    /// The next 2^128 numbers as a stream of their own; this one goes on behind them.
    pub fn split(&mut self) -> Self {
        let part = self.clone();
        self.0.jump();
        part
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0..n with negligible bias (n far below 2^64); 0 if n is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        let drawn = ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64;
        debug_assert!(drawn < n.max(1), "{drawn} is not below {n}");
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_repeat() {
        let draw = |seed, component, purpose| Stream::named(seed, component, purpose).bits();
        assert_eq!(draw(1, "beam1.up", "loss"), draw(1, "beam1.up", "loss"));
        let others = [
            (2, "beam1.up", "loss"),
            (1, "beam1.down", "loss"),
            (1, "beam1.up", "los"),
            (1, "beam1.u", "ploss"),
        ];
        for (seed, component, purpose) in others {
            assert_ne!(draw(1, "beam1.up", "loss"), draw(seed, component, purpose));
        }
    }

    #[test]
    fn a_part_goes_on_where_the_whole_was() {
        let mut whole = Stream::named(1, "x", "y");
        let mut same = whole.clone();
        let mut parts = [whole.split(), whole.split(), whole];
        assert_eq!(parts[0].bits(), same.bits());
        assert_ne!(parts[1].bits(), parts[2].bits());
    }

    #[test]
    fn uniform_has_the_right_mean_and_range() {
        let mut stream = Stream::named(1, "x", "y");
        let n = 100_000;
        let mut sum = 0.0;
        for _ in 0..n {
            let u = stream.uniform();
            assert!((0.0..1.0).contains(&u));
            sum += u;
        }
        // Standard error of the mean is 0.0009.
        assert!((sum / f64::from(n) - 0.5).abs() < 0.004);
        assert!((0..1000).all(|_| stream.below(3) < 3));
    }

    /// Results of all scenarios rest on these numbers: if they move, the model version must be raised.
    #[test]
    fn the_numbers_never_change() {
        let mut stream = Stream::named(1, "beam1.up", "loss");
        let drawn: Vec<u64> = (0..2).map(|_| stream.bits()).collect();
        assert_eq!(drawn, [9_865_265_054_751_692_725, 4_529_665_814_935_368_180]);
    }
}
