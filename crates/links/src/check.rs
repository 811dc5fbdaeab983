//! Options that several models have, and rules between the options of one model, for messages.

use registry::{Items, OptionFault, OptionKind, OptionSpec, Options, at_least};
use units::Nanos;

use crate::series_file;

/// The time after which a file begins anew.
pub(crate) const REPEAT: OptionSpec = OptionSpec::new(
    "repeat",
    OptionKind::Duration,
    "unlimited",
    "the file begins anew after this time, later than its last line",
);

/// Transitions between the states of a process.
pub(crate) const JUMP: OptionSpec = OptionSpec::new(
    "jump",
    OptionKind::List(Items::Numbers),
    "1",
    "weights of the next state, row by row, N * N numbers with 0 from a state to itself; 1 alone: all other states alike",
);

/// `jump` has a row for each item of `other`, `n` of them, and no state follows itself.
pub(crate) fn jump(jump: &[f64], other: &str, n: usize) -> Result<(), OptionFault> {
    as_many("jump", jump.len(), other, n * n)?;
    match (0..n).find(|state| jump[state * n + state] > 0.0) {
        None => Ok(()),
        Some(state) => Err(OptionFault {
            option: "jump",
            message: format!("state {} follows itself", state + 1),
            help: "give 0 from a state to itself: `dwell` says how long it lasts".into(),
        }),
    }
}

/// `repeat` comes after the last instant.
pub(crate) fn repeat(options: &Options, last: Option<Nanos>) -> Result<(), OptionFault> {
    // Shorter, and a run would do nothing but begin anew.
    at_least("repeat", Nanos(1_000), Options::duration, options)?;
    let (repeat, last) = (options.duration("repeat"), last.unwrap_or_default());
    if repeat > last {
        return Ok(());
    }
    Err(OptionFault {
        option: "repeat",
        message: format!("found \"{repeat}\", but the last time is \"{last}\""),
        help: "choose a longer time".into(),
    })
}

/// The series in `file` can be read as the options say, and `repeat` comes after its last line.
pub(crate) fn series(options: &Options) -> Result<(), OptionFault> {
    repeat(options, series_file::series(options)?.last().map(|(at, _)| *at))
}

/// No state lasts for less than 1 us on average: a run must not drown in states.
pub(crate) fn no_shorter(option: &'static str, means: &[Nanos]) -> Result<(), OptionFault> {
    match means.iter().find(|mean| mean.0 < 1_000) {
        None => Ok(()),
        Some(short) => Err(OptionFault {
            option,
            message: format!("found {short}"),
            help: "no state lasts for less than 1us on average".into(),
        }),
    }
}

/// A list has as many items as another.
pub(crate) fn as_many(
    option: &'static str,
    found: usize,
    other: &str,
    wanted: usize,
) -> Result<(), OptionFault> {
    if found == wanted {
        return Ok(());
    }
    Err(OptionFault {
        option,
        message: format!("found {found} items, but `{other}` asks for {wanted}"),
        help: format!("give {wanted}"),
    })
}

/// Each item is larger than the one before.
pub(crate) fn rising<T: PartialOrd + std::fmt::Display>(
    option: &'static str,
    items: &[T],
) -> Result<(), OptionFault> {
    match items.windows(2).find(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(pair) => Err(OptionFault {
            option,
            message: format!("found {} after {}", pair[1], pair[0]),
            help: "give them in rising order, each once".into(),
        }),
    }
}
