//! Random decisions of a generator, from a seed: the same on every machine and in every version.

/// A source of decisions (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The decisions of this seed. Neighbouring seeds have nothing in common.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed);
        Self(dice.next())
    }

    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A whole number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = (high - low).saturating_add(1);
        low + self.below(width)
    }

    /// A number from 0 to 1, 1 excluded.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A number from `low` to `high`, as likely in each decade; both are positive.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.share())
    }

    /// One of these, which are not empty.
    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_stay_within_their_bounds() {
        let mut dice = Dice::new(1);
        for _ in 0..1000 {
            assert!((3..=5).contains(&dice.between(3, 5)));
            assert!((0.0..1.0).contains(&dice.share()));
            assert!((1e-3..1e3).contains(&dice.log(1e-3, 1e3)));
        }
        assert_eq!(Dice::new(7).next(), Dice::new(7).next());
        assert_ne!(Dice::new(7).next(), Dice::new(8).next());
        assert!(dice.between(0, u64::MAX) > 0);
    }
}
