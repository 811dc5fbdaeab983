//! The end of STARTUP: the pipe is full when the delivery rate no longer grows.

/// The rate must grow by this factor in three rounds, or the pipe is full.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// Whether the pipe is full. Once full it stays full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Rate when it last grew by a quarter, and the rounds since.
    rate: f64,
    rounds: u32,
    full: bool,
}

impl FullPipe {
    /// A round ended with this largest rate in bytes per second.
    pub fn judge(&mut self, rate: f64) {
        if self.full {
            return;
        }
        if rate >= self.rate * FULL_GROWTH {
            self.rate = rate;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.full = self.rounds >= FULL_ROUNDS;
        }
        self.check();
    }

    /// After a timeout the growth is measured anew.
    pub fn forget_rate(&mut self) {
        self.rate = 0.0;
    }

    /// The pipe is full.
    pub fn is_full(&self) -> bool {
        self.full
    }

    fn check(&self) {
        debug_assert_eq!(
            self.full,
            self.rounds >= FULL_ROUNDS,
            "three rounds without growth fill it: {self:?}"
        );
        debug_assert!(self.rate.is_finite(), "a rate of {}", self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more() {
        let mut pipe = FullPipe::default();
        for rate in [100.0, 124.0, 124.9, 125.0, 130.0, 156.0] {
            pipe.judge(rate);
            assert!(!pipe.is_full(), "{rate}");
        }
        pipe.judge(156.2);
        assert!(pipe.is_full());
        pipe.judge(1000.0);
        pipe.forget_rate();
        pipe.judge(1000.0);
        assert!(pipe.is_full(), "once full it stays full");
    }
}
