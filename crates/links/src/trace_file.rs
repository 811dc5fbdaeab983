//! Files with measured values of a link: rates, delays, losses and delivery opportunities over time.

use std::sync::Arc;

use registry::{Content, FileError, FileFormat, rows, seconds};
use units::{BitsPerSecond, Nanos, Ratio};

/// Times, rising, each with a value in bit/s, seconds, decibels or as a probability.
pub type Series = Vec<(Nanos, f64)>;
/// Instants at which one packet of 1500 bytes may leave, not falling.
pub type Instants = Vec<Nanos>;
/// One packet after the other: true is lost.
pub type Fates = Vec<bool>;

/// `time rate`: a [`Series`] in bit/s.
pub const RATES: FileFormat = FileFormat {
    what: "lines \"time rate\" in s and bit/s, or with units, times rising",
    parse: |text| series(text, rate),
};

/// `time delay`: a [`Series`] in seconds.
pub const DELAYS: FileFormat = FileFormat {
    what: "lines \"time delay\" in s, or with units, times rising",
    parse: |text| series(text, |value| seconds(value).map(Nanos::as_secs_f64)),
};

/// `time value`: a [`Series`] in decibels of any reference.
pub const DECIBELS: FileFormat = FileFormat {
    what: "lines \"time value\" in s and dB, times rising",
    parse: |text| series(text, |value| number(value, "a value in dB", f64::NEG_INFINITY)),
};

/// `time probability`: a [`Series`] of probabilities.
pub const PROBABILITIES: FileFormat = FileFormat {
    what: "lines \"time probability\", times in s and rising",
    parse: |text| series(text, |value| value.parse::<Ratio>().map(Ratio::get).map_err(|e| e.message)),
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

/// Orbital element sets: the text itself, a `String`. The delay model reads them, since they depend on its epoch.
pub const ELEMENT_SETS: FileFormat = FileFormat {
    what: "orbital element sets, TLE or OMM in JSON or KVN",
    parse: |text| Ok(Arc::new(text.to_owned())),
};

fn series(text: &str, value: fn(&str) -> Result<f64, String>) -> Result<Content, FileError> {
    let row = |columns: &[&str], last: Option<&(Nanos, f64)>| {
        let at = seconds(columns[0])?;
        if last.is_some_and(|(last, _)| at <= *last) {
            return Err(format!("found the time {}, which is not after the line above", columns[0]));
        }
        Ok((at, value(columns[1])?))
    };
    let series: Series = rows(text, 2, row)?;
    debug_assert!(series.is_sorted_by(|a, b| a.0 < b.0), "times rise");
    Ok(Arc::new(series))
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

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<BitsPerSecond>() {
        Ok(rate) => Ok(rate.0 as f64),
        Err(_) => number(text, "a rate", 0.0),
    }
}

fn number(text: &str, what: &str, least: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x < least => Err(format!("found {text}, which is negative")),
        // Beyond any rate, and still exact as a whole number of bit/s.
        Ok(x) if x.is_finite() && x < 9e15 => Ok(x),
        _ => Err(format!("found \"{text}\", which is not {what}")),
    }
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
    fn series_have_times_and_values() {
        let series = |text, format| NamedFile::read("x", text, format).unwrap().content::<Series>();
        let times = [0, 1_500_000_000, 2_000_000_000].map(Nanos);
        let values = [1e6, 2e7, 0.0];
        let read = series("# t rate\n0 1e6\n1.5s, 20Mbit/s\n\n2;0 # gap\n", RATES);
        assert_eq!(*read, times.into_iter().zip(values).collect::<Series>());
        let delay = Nanos::from_millis(300).as_secs_f64();
        assert_eq!(*series("0 250ms\n10 0.3", DELAYS), [(Nanos::ZERO, 0.25), (Nanos::from_secs(10), delay)]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let cases = [
            (RATES, "0 1e6\n-1 1e6", 2, "negative"),
            (RATES, "0 1e6\n1 -5", 2, "negative"),
            (RATES, "1 1e6\n\n1 2e6", 3, "not after"),
            (RATES, "0 1e6\n1", 2, "1 columns"),
            (RATES, "0 fast", 1, "not a rate"),
            (RATES, "0 nan", 1, "not a rate"),
            (RATES, "later 1e6", 1, "not a time"),
            (RATES, "# nothing\n", 0, "no lines"),
            (OPPORTUNITIES, "", 0, "no lines"),
            (OPPORTUNITIES, "0\n0\n", 0, "without time passing"),
            (OPPORTUNITIES, "5\n4", 2, "before the line above"),
            (OPPORTUNITIES, "5\n-4", 2, "negative"),
            (OPPORTUNITIES, "5.5", 1, "whole number"),
            (FATES, "0\n2", 2, "allowed: 0, 1"),
            (PROBABILITIES, "0 1.5", 1, "between 0 and 1"),
        ];
        for (format, text, line, message) in cases {
            let error = NamedFile::read("x", text, format).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text:?}: {error:?}");
        }
    }
}
