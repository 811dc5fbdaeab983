//! Windowed maximum filter: the largest sample of the last rounds.

use std::collections::VecDeque;

/// Samples that may still become the largest: rounds rise, values fall. At most one per round.
#[derive(Clone, Debug)]
pub(super) struct LargestOfRounds {
    rounds: u64,
    samples: VecDeque<(u64, f64)>,
}

impl LargestOfRounds {
    pub fn new(rounds: u64) -> Self {
        Self { rounds, samples: VecDeque::new() }
    }

    /// A sample of `round`; rounds do not go back.
    pub fn update(&mut self, round: u64, value: f64) {
        while self.samples.back().is_some_and(|(_, known)| *known <= value) {
            self.samples.pop_back();
        }
        if self.samples.back().is_none_or(|(last, _)| *last < round) {
            self.samples.push_back((round, value));
        }
        while self.samples.len() > 1 && self.samples[0].0 + self.rounds <= round {
            self.samples.pop_front();
        }
        self.check();
    }

    fn check(&self) {
        let pairs = || self.samples.iter().zip(self.samples.iter().skip(1));
        debug_assert!(pairs().all(|(a, b)| a.0 < b.0), "rounds rise: {self:?}");
        debug_assert!(
            pairs().all(|(a, b)| a.1 > b.1),
            "rates fall, so that the first is the largest: {self:?}"
        );
        debug_assert!(self.samples.len() as u64 <= self.rounds.max(1), "one sample a round: {self:?}");
    }

    /// The largest sample; 0 before the first.
    pub fn get(&self) -> f64 {
        self.samples.front().map_or(0.0, |(_, value)| *value)
    }
}

#[cfg(test)]
// Samples come out as they went in.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_ten_rounds() {
        let mut filter = LargestOfRounds::new(10);
        assert_eq!(filter.get(), 0.0);
        for (round, value, largest) in [
            (1, 5.0, 5.0),
            (1, 7.0, 7.0),
            (2, 6.0, 7.0),
            (5, 3.0, 7.0),
            (10, 4.0, 7.0),
            (11, 1.0, 6.0),
            (12, 2.0, 4.0),
        ] {
            filter.update(round, value);
            assert_eq!(filter.get(), largest, "round {round}");
        }
        filter.update(12, 9.0);
        assert_eq!((filter.get(), filter.samples.len()), (9.0, 1));
    }
}
