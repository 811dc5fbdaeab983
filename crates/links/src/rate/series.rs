//! Rates from a file with times and values, as satellite emulators such as OpenSAND take them.
//!
//! A value holds from its time until the next one; the first one also before its time. With `repeat` the file begins anew
//! after that time.

use registry::{OptionKind, OptionSpec, Options};
use units::BitsPerSecond;

use super::Algorithm;
use super::piecewise::Piecewise;
use super::steps::Listed;
use crate::series_file::{COLUMN, ORIGIN, RATE_UNIT, TIME, TIME_UNIT, checked};
use crate::trace_file::RATES;

pub(super) const ROW: Algorithm = Algorithm {
    name: "series",
    summary: "rates over time from a file",
    source: "a file with times and values",
    notes: "",
    options: &[
        OptionSpec::compulsory(
            "file",
            OptionKind::File(RATES),
            "path of the file, from the folder of the scenario",
        ),
        RATE_UNIT,
        COLUMN,
        TIME,
        TIME_UNIT,
        ORIGIN,
        crate::check::REPEAT,
    ],
    check: crate::check::series,
    build: |options, _| Box::new(Piecewise::new(listed(options))),
};

fn listed(options: &Options) -> Listed {
    let series = checked(options);
    let row = |(at, rate): &(_, f64)| (*at, BitsPerSecond((*rate + 0.5) as u64));
    Listed::of(series.iter().map(row).collect(), options.duration("repeat"))
}
