//! Files with measured values of a link: rates, delays, losses and delivery opportunities over time.

use std::sync::Arc;

use registry::{Content, FileError, FileFormat, rows};
use units::Nanos;

use crate::series_file::{Quantity, Sheet};

/// Instants at which one packet of 1500 bytes may leave, in ascending order; equal ones are allowed.
pub type Instants = Vec<Nanos>;
/// Fates of consecutive packets; true: lost.
pub type Fates = Vec<bool>;

/// `time rate`: a [`Sheet`] of rates.
pub const RATES: FileFormat = FileFormat {
    what: "lines \"time rate\" in s and with the unit of the rate, times rising",
    parse: |text| sheet(text, Quantity::Rate),
};

/// `time delay`: a [`Sheet`] of delays.
pub const DELAYS: FileFormat = FileFormat {
    what: "lines \"time delay\" in s and with the unit of the delay, times rising",
    parse: |text| sheet(text, Quantity::Delay),
};

/// `time value`: a [`Sheet`] of decibels of any reference.
pub const DECIBELS: FileFormat = FileFormat {
    what: "lines \"time value\" in s and dB, times rising",
    parse: |text| sheet(text, Quantity::Decibels),
};

/// `time probability`: a [`Sheet`] of probabilities.
pub const PROBABILITIES: FileFormat = FileFormat {
    what: "lines \"time probability\", times in s and rising",
    parse: |text| sheet(text, Quantity::Probability),
};

/// One instant per line in whole milliseconds, as mahimahi records them: [`Instants`].
pub const OPPORTUNITIES: FileFormat = FileFormat {
    what: "lines with one time in whole milliseconds each, none before the one above",
    parse: opportunities,
};

/// One packet per line, `1` is lost, `0` is not: [`Fates`].
pub const FATES: FileFormat = FileFormat {
    what: "lines with 1 for a lost packet and 0 for any other",
    parse: |text| {
        Ok(Arc::new(rows(text, 1, |columns, _: Option<&bool>| match columns[0] {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(format!("found \"{other}\"; allowed: 0, 1")),
        })?))
    },
};

/// Orbital element sets: the text itself, a `String`. The delay model parses it, since the result depends on the epoch of the model.
pub const ELEMENT_SETS: FileFormat = FileFormat {
    what: "orbital element sets, TLE or OMM in JSON or KVN",
    parse: |text| Ok(Arc::new(text.to_owned())),
};

fn sheet(text: &str, quantity: Quantity) -> Result<Content, FileError> {
    Ok(Arc::new(Sheet::read(text, quantity)?))
}

fn opportunities(text: &str) -> Result<Content, FileError> {
    let row = |columns: &[&str], last: Option<&Nanos>| {
        let at = milliseconds(columns[0])?;
        if last.is_some_and(|last| at < *last) {
            return Err(format!("found {}, which is before the line above", columns[0]));
        }
        Ok(at)
    };
    let instants: Instants = rows(text, 1, row)?;
    debug_assert!(instants.is_sorted(), "times do not fall");
    if instants.last() == Some(&Nanos::ZERO) {
        return Err(FileError::whole("all times are 0: the trace would repeat without time passing"));
    }
    Ok(Arc::new(instants))
}

fn milliseconds(text: &str) -> Result<Nanos, String> {
    if text.starts_with('-') {
        return Err(format!("found the time {text}, which is negative"));
    }
    match text.parse::<u64>() {
        Ok(n) if n < 3_200_000_000_000 => Ok(Nanos::from_millis(n)),
        _ => Err(format!("found \"{text}\", which is not a whole number of milliseconds")),
    }
}

#[cfg(test)]
mod tests {
    use registry::NamedFile;

    use super::*;

    #[test]
    fn what_is_wrong_has_its_line() {
        let cases = [
            (OPPORTUNITIES, "", 0, "no lines"),
            (OPPORTUNITIES, "0\n0\n", 0, "without time passing"),
            (OPPORTUNITIES, "5\n4", 2, "before the line above"),
            (OPPORTUNITIES, "5\n-4", 2, "negative"),
            (OPPORTUNITIES, "5.5", 1, "whole number"),
            (FATES, "0\n2", 2, "allowed: 0, 1"),
        ];
        for (format, text, line, message) in cases {
            let error = NamedFile::read("x", text, format).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text:?}: {error:?}");
        }
    }
}
