//! Delays from a file with times and values, as satellite emulators such as OpenSAND take them.
//!
//! `step`: a value holds from its time until the next one. `linear`: between two times on the line between their values.
//! Before the first time and after the last one their values hold. With `repeat` the file begins anew after that time.

use std::sync::Arc;

use registry::{OptionKind, OptionSpec};
use units::{Nanos, SimTime};

use super::{Algorithm, DelayModel};
use crate::series_file::{COLUMN, DELAY_UNIT, ORIGIN, RTT, Series, TIME, TIME_UNIT, checked};
use crate::trace_file::DELAYS;

pub(super) const ROW: Algorithm = Algorithm {
    name: "series",
    summary: "delays over time from a file",
    source: "a file with times and values",
    notes: "",
    options: &[
        OptionSpec::compulsory(
            "file",
            OptionKind::File(DELAYS),
            "path of the file, from the folder of the scenario",
        ),
        DELAY_UNIT,
        RTT,
        COLUMN,
        TIME,
        TIME_UNIT,
        ORIGIN,
        OptionSpec::new(
            "between",
            OptionKind::Choice(&["step", "linear"]),
            "step",
            "between two lines the earlier value holds, or the line between them",
        ),
        crate::check::REPEAT,
        OptionSpec::new(
            "reorder",
            OptionKind::Flag,
            "false",
            "true: a falling delay lets packets overtake others; false: they keep their order",
        ),
    ],
    check: crate::check::series,
    build: |options, _| {
        Box::new(Recorded {
            rows: checked(options),
            linear: options.choice("between") == "linear",
            period: options.duration("repeat"),
            reorder: options.flag("reorder"),
        })
    },
};

#[derive(Clone, Debug)]
struct Recorded {
    rows: Arc<Series>,
    linear: bool,
    period: Nanos,
    reorder: bool,
}

impl DelayModel for Recorded {
    fn delay(&mut self, depart: SimTime) -> Nanos {
        let at = if self.period == Nanos(u64::MAX) { depart.0 } else { depart.0 % self.period.0 };
        let next = self.rows.partition_point(|(time, _)| time.0 <= at);
        let last = self.rows.get(next.saturating_sub(1)).copied().unwrap_or_default();
        let seconds = match self.rows.get(next) {
            Some((to, value)) if self.linear && next > 0 => {
                let share = (at - last.0.0) as f64 / (to.0 - last.0.0) as f64;
                debug_assert!((0.0..1.0).contains(&share), "{share} of the way to the next line");
                last.1 + share * (value - last.1)
            }
            _ => last.1,
        };
        Nanos::from_secs_f64(seconds)
    }

    fn reorders(&self) -> bool {
        self.reorder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lines_and_rounds() {
        let rows = vec![(Nanos::from_secs(1), 0.1), (Nanos::from_secs(3), 0.2)];
        let mut series =
            Recorded { rows: rows.into(), linear: false, period: Nanos(u64::MAX), reorder: false };
        let at = |series: &mut Recorded, ms: u64| series.delay(SimTime::from_millis(ms)).0 / 1_000_000;
        assert_eq!([0, 1000, 2999, 3000, 9000].map(|ms| at(&mut series, ms)), [100, 100, 100, 200, 200]);
        series.linear = true;
        assert_eq!(
            [0, 1000, 2000, 2500, 3000, 9000].map(|ms| at(&mut series, ms)),
            [100, 100, 150, 175, 200, 200]
        );
        series.period = Nanos::from_secs(4);
        assert_eq!([3999, 4000, 6000].map(|ms| at(&mut series, ms)), [200, 100, 150]);
    }
}
