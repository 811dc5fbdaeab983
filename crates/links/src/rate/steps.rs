//! Rates that change at given instants of the run.
//!
//! `times[i]` is when `rates[i]` begins to hold. Before the first of the times its rate holds too. With `repeat` the
//! list begins anew after that time.

use registry::{Items, OptionFault, OptionKind, OptionSpec, Options};
use units::{BitsPerSecond, Nanos, SimTime};

use super::Algorithm;
use super::piecewise::{Piecewise, Source};
use crate::check;

pub(super) const ROW: Algorithm = Algorithm {
    name: "steps",
    summary: "rates that change at given instants",
    source: "a list",
    notes: "",
    options: &[
        OptionSpec::compulsory(
            "times",
            OptionKind::List(Items::Durations),
            "instants of the run, rising, at which the rates begin to hold",
        ),
        OptionSpec::compulsory(
            "rates",
            OptionKind::List(Items::Rates),
            "one rate for each of the times; 0bit/s sends nothing",
        ),
        OptionSpec::new(
            "repeat",
            OptionKind::Duration,
            "unlimited",
            "the list begins anew after this time, later than the last of the times",
        ),
    ],
    check,
    build: |options, _| Box::new(Piecewise::new(Listed::new(options))),
};

fn check(options: &Options) -> Result<(), OptionFault> {
    let times = options.durations("times");
    check::as_many("rates", options.rates("rates").len(), "times", times.len())?;
    check::rising("times", &times)?;
    check::repeat(options, times.last().copied())
}

/// Pieces of a list, once or again and again.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    rows: Vec<(Nanos, BitsPerSecond)>,
    period: Nanos,
    index: usize,
    round: SimTime,
}

impl Listed {
    fn new(options: &Options) -> Self {
        let rows = options.durations("times").into_iter().zip(options.rates("rates")).collect();
        Self::of(rows, options.duration("repeat"))
    }

    /// Rows in the order of time; `period` is later than the last, or `u64::MAX` for none.
    pub(super) fn of(mut rows: Vec<(Nanos, BitsPerSecond)>, period: Nanos) -> Self {
        if let Some(first) = rows.first_mut() {
            first.0 = Nanos::ZERO;
        }
        debug_assert!(rows.is_sorted_by(|a, b| a.0 < b.0), "rows are not in the order of time");
        debug_assert!(rows.last().is_none_or(|last| last.0 < period), "a row at or after the end {period}");
        Self { rows, period, index: 0, round: SimTime::ZERO }
    }
}

impl Source for Listed {
    fn next(&mut self) -> Option<(SimTime, BitsPerSecond)> {
        if self.index == self.rows.len() {
            if self.period == Nanos(u64::MAX) {
                return None;
            }
            self.index = 0;
            self.round += self.period;
        }
        let (at, rate) = *self.rows.get(self.index)?;
        self.index += 1;
        Some((self.round + at, rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{RateModel, work_of};
    use units::Bytes;

    #[test]
    fn the_list_repeats() {
        let rows = vec![
            (Nanos::from_millis(1), BitsPerSecond(8_000_000)),
            (Nanos::from_millis(2), BitsPerSecond(0)),
        ];
        let mut rate = Piecewise::new(Listed::of(rows, Nanos::from_millis(4)));
        // 2000 bytes in the first two milliseconds of every four.
        assert_eq!(rate.end(SimTime::ZERO, work_of(Bytes(5000))), SimTime::from_millis(9));
        assert_eq!(rate.capacity(SimTime::from_millis(8)), work_of(Bytes(4000)));
    }
}
