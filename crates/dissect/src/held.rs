//! Bytes that a receiver holds because of gaps, over time.

use trace::{Held, TimeLevels};
use units::{Bytes, Nanos, SimTime};

/// Level over time; nothing is kept before the first byte is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    levels: Option<Box<TimeLevels>>,
    value: u64,
    /// Last change. Times of a damaged file may go back.
    last: u64,
}

impl Holding {
    /// From `at` on `bytes` are held, none before the first call. `start`: when the connection began.
    pub(crate) fn set(&mut self, start: u64, at: u64, bytes: u64) {
        if bytes == self.value {
            return;
        }
        self.last = self.last.max(at).max(start);
        let levels = self.levels.get_or_insert_with(|| Box::new(TimeLevels::new(SimTime(start))));
        levels.set(SimTime(self.last), Bytes(bytes));
        self.value = bytes;
        self.check();
    }

    /// Bytes that are held now.
    pub(crate) fn now(&self) -> u64 {
        self.value
    }

    /// The record until `end`.
    pub(crate) fn until(&self, end: u64) -> Held {
        let Some(levels) = &self.levels else { return Held::default() };
        let end = SimTime(end.max(self.last));
        Held {
            time: Nanos(levels.time_above_zero(end).0),
            mean: levels.mean(end),
            p95: levels.quantile(end, 0.95),
            max: levels.max(),
        }
    }

    fn check(&self) {
        debug_assert_eq!(
            self.levels.as_ref().map_or(0, |levels| levels.value().0),
            self.value,
            "the level is the value"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_before_the_first_byte_counts() {
        let mut holding = Holding::default();
        assert_eq!(holding.until(5), Held::default());
        holding.set(100, 200, 10);
        holding.set(100, 300, 0);
        // Time that goes back, and the same again.
        holding.set(100, 250, 0);
        let held = holding.until(500);
        assert_eq!((held.time, held.max, held.mean), (Nanos(100), Bytes(10), 2.5));
    }
}
