//! Files with measured values: rates, delays, losses and delivery opportunities over time.
//!
//! Lines of text; blank ones and what follows a `#` do not count. Times are seconds or carry a unit. Columns are
//! separated by blanks, commas or semicolons.

use std::sync::Arc;

use units::{BitsPerSecond, Bytes, Nanos, Ratio};

/// What a file holds, line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileFormat {
    /// One instant per line in whole milliseconds, not falling: one packet of 1500 bytes may leave then.
    Opportunities,
    /// `time value`, times rising.
    Series(Measure),
    /// One packet per line: `1` is lost, `0` is not.
    Flags,
    /// Orbital element sets, TLE or OMM in JSON or KVN; kept as text, whoever knows orbits reads it.
    ElementSets,
    /// `time size direction`, times not falling: a message of so many bytes goes `down`, to the receiver of the flow's
    /// data, or `up`.
    Messages,
}

/// What the second column of a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// bit/s, or with a unit.
    Rate,
    /// Seconds, or with a unit.
    Delay,
    /// Decibels of any reference.
    Decibels,
    /// Between 0 and 1, or in percent.
    Probability,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileRows {
    /// See [`FileFormat::Opportunities`].
    Opportunities(Vec<Nanos>),
    /// See [`FileFormat::Series`]; values in bit/s, seconds, decibels or as a probability.
    Series(Vec<(Nanos, f64)>),
    /// See [`FileFormat::Flags`].
    Flags(Vec<bool>),
    /// See [`FileFormat::ElementSets`].
    Text(String),
    /// See [`FileFormat::Messages`]; true: up.
    Messages(Vec<(Nanos, Bytes, bool)>),
}

/// A file that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// Its path as given.
    pub path: String,
    /// Shared by all that use it.
    pub rows: Arc<FileRows>,
}

impl TraceFile {
    /// The rows of a series.
    ///
    /// # Panics
    /// If the option was not declared as a series.
    pub fn series(&self) -> &[(Nanos, f64)] {
        match &*self.rows {
            FileRows::Series(rows) => rows,
            other => panic!("not a series: {other:?}"),
        }
    }

    /// The rows of a file of messages: when, how large, true if up.
    ///
    /// # Panics
    /// If the option was not declared as such.
    pub fn messages(&self) -> &[(Nanos, Bytes, bool)] {
        match &*self.rows {
            FileRows::Messages(rows) => rows,
            other => panic!("not messages: {other:?}"),
        }
    }

    /// The rows of a file of opportunities.
    ///
    /// # Panics
    /// If the option was not declared as such.
    pub fn opportunities(&self) -> &[Nanos] {
        match &*self.rows {
            FileRows::Opportunities(rows) => rows,
            other => panic!("not opportunities: {other:?}"),
        }
    }

    /// The rows of a file of flags.
    ///
    /// # Panics
    /// If the option was not declared as such.
    pub fn flags(&self) -> &[bool] {
        match &*self.rows {
            FileRows::Flags(rows) => rows,
            other => panic!("not flags: {other:?}"),
        }
    }

    /// The text of a file that is kept as text.
    ///
    /// # Panics
    /// If the option was not declared as such.
    pub fn text(&self) -> &str {
        match &*self.rows {
            FileRows::Text(text) => text,
            other => panic!("not text: {other:?}"),
        }
    }
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Line from 1; 0: the file as a whole.
    pub line: usize,
    /// What was found.
    pub message: String,
    /// What is allowed.
    pub help: String,
}

impl FileFormat {
    /// One line for messages and docs.
    pub fn what(self) -> &'static str {
        match self {
            Self::Opportunities => {
                "lines with one time in whole milliseconds each, none before the one above"
            }
            Self::Series(Measure::Rate) => "lines \"time rate\" in s and bit/s, or with units, times rising",
            Self::Series(Measure::Delay) => "lines \"time delay\" in s, or with units, times rising",
            Self::Series(Measure::Decibels) => "lines \"time value\" in s and dB, times rising",
            Self::Series(Measure::Probability) => "lines \"time probability\", times in s and rising",
            Self::Flags => "lines with 1 for a lost packet and 0 for any other",
            Self::ElementSets => "orbital element sets, TLE or OMM in JSON or KVN",
            Self::Messages => "lines \"time size direction\" in s and bytes, up or down, times not falling",
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is wrong, or an empty file.
    pub fn parse(self, text: &str) -> Result<FileRows, FileError> {
        // Some editors put a mark of the byte order in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows = match self {
            Self::Opportunities => FileRows::Opportunities(Vec::new()),
            Self::Series(_) => FileRows::Series(Vec::new()),
            Self::Flags => FileRows::Flags(Vec::new()),
            Self::ElementSets => return Ok(FileRows::Text(text.into())),
            Self::Messages => FileRows::Messages(Vec::new()),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.line(line, &mut rows).map_err(|message| FileError {
                    line: index + 1,
                    message,
                    help: format!("write {}", self.what()),
                })?;
            }
        }
        let whole = |message: &str| FileError {
            line: 0,
            message: message.into(),
            help: format!("write {}", self.what()),
        };
        match &rows {
            FileRows::Opportunities(times) if times.last().is_none() => Err(whole("the file has no lines")),
            FileRows::Opportunities(times) if times.last() == Some(&Nanos::ZERO) => {
                Err(whole("all times are 0: the trace would repeat without time passing"))
            }
            FileRows::Series(rows) if rows.is_empty() => Err(whole("the file has no lines")),
            FileRows::Flags(flags) if flags.is_empty() => Err(whole("the file has no lines")),
            FileRows::Messages(rows) if rows.is_empty() => Err(whole("the file has no lines")),
            _ => Ok(rows),
        }
    }

    fn line(self, line: &str, rows: &mut FileRows) -> Result<(), String> {
        let columns: Vec<&str> =
            line.split([' ', '\t', ',', ';']).filter(|column| !column.is_empty()).collect();
        let wanted = match self {
            Self::Messages => 3,
            Self::Series(_) => 2,
            _ => 1,
        };
        if columns.len() != wanted {
            return Err(format!("found {} columns where {wanted} are expected", columns.len()));
        }
        match (self, rows) {
            (Self::Opportunities, FileRows::Opportunities(rows)) => {
                let at = milliseconds(columns[0])?;
                if rows.last().is_some_and(|last| at < *last) {
                    return Err(format!("found {}, which is before the line above", columns[0]));
                }
                rows.push(at);
            }
            (Self::Series(measure), FileRows::Series(rows)) => {
                let at = seconds(columns[0])?;
                if rows.last().is_some_and(|(last, _)| at <= *last) {
                    return Err(format!("found the time {}, which is not after the line above", columns[0]));
                }
                rows.push((at, measure.parse(columns[1])?));
            }
            (Self::Flags, FileRows::Flags(rows)) => rows.push(match columns[0] {
                "0" => false,
                "1" => true,
                other => return Err(format!("found \"{other}\"; allowed: 0, 1")),
            }),
            (Self::Messages, FileRows::Messages(rows)) => {
                let at = seconds(columns[0])?;
                if rows.last().is_some_and(|(last, ..)| at < *last) {
                    return Err(format!("found the time {}, which is before the line above", columns[0]));
                }
                let size = columns[1].parse::<u64>().map(Bytes).or_else(|_| columns[1].parse());
                let size = size.ok().filter(|size| (1..=1 << 30).contains(&size.0));
                let size =
                    size.ok_or_else(|| format!("found the size {}; allowed: 1 to 2^30 bytes", columns[1]))?;
                let up = match columns[2] {
                    "up" => true,
                    "down" => false,
                    other => return Err(format!("found \"{other}\"; allowed: up, down")),
                };
                rows.push((at, size, up));
            }
            (format, rows) => unreachable!("{format:?} is read into {rows:?}"),
        }
        Ok(())
    }
}

impl Measure {
    fn parse(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Rate => match text.parse::<BitsPerSecond>() {
                Ok(rate) => Ok(rate.0 as f64),
                Err(_) => number(text, "a rate", 0.0),
            },
            Self::Delay => seconds(text).map(Nanos::as_secs_f64),
            Self::Decibels => number(text, "a value in dB", f64::NEG_INFINITY),
            Self::Probability => text.parse::<Ratio>().map(Ratio::get).map_err(|e| e.message),
        }
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

/// A time in seconds, or with its unit.
fn seconds(text: &str) -> Result<Nanos, String> {
    if let Ok(time) = text.parse::<Nanos>()
        && time != Nanos(u64::MAX)
    {
        return Ok(time);
    }
    match text.parse::<f64>() {
        Ok(x) if x < 0.0 => Err(format!("found the time {text}, which is negative")),
        // A century: what is later is a mistake.
        Ok(x) if x < 3.2e9 => Ok(Nanos::from_secs_f64(x)),
        _ => Err(format!("found \"{text}\", which is not a time")),
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
    use super::*;

    #[test]
    fn series_have_times_and_values() {
        let text = "# t rate\n0 1e6\n1.5s, 20Mbit/s\n\n2;0 # gap\n";
        let rows = FileFormat::Series(Measure::Rate).parse(text).unwrap();
        let times = [0, 1_500_000_000, 2_000_000_000].map(Nanos);
        let values = [1e6, 2e7, 0.0];
        assert_eq!(rows, FileRows::Series(times.into_iter().zip(values).collect()));
        let rows = FileFormat::Series(Measure::Delay).parse("0 250ms\n10 0.3").unwrap();
        assert_eq!(
            rows,
            FileRows::Series(vec![
                (Nanos::ZERO, 0.25),
                (Nanos::from_secs(10), Nanos::from_millis(300).as_secs_f64())
            ])
        );
    }

    #[test]
    fn a_mark_of_the_byte_order_does_not_count() {
        let rows = FileFormat::Flags.parse("\u{feff}0\n1\n").unwrap();
        assert_eq!(rows, FileRows::Flags(vec![false, true]));
        let sets = FileFormat::ElementSets.parse("\u{feff}[]").unwrap();
        assert_eq!(sets, FileRows::Text("[]".into()));
        // One inside of the text does.
        assert_eq!(FileFormat::Flags.parse("0\n\u{feff}1").unwrap_err().line, 2);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let rate = FileFormat::Series(Measure::Rate);
        let cases = [
            (rate, "0 1e6\n-1 1e6", 2, "negative"),
            (rate, "0 1e6\n1 -5", 2, "negative"),
            (rate, "1 1e6\n\n1 2e6", 3, "not after"),
            (rate, "0 1e6\n1", 2, "1 columns"),
            (rate, "0 fast", 1, "not a rate"),
            (rate, "0 nan", 1, "not a rate"),
            (rate, "later 1e6", 1, "not a time"),
            (rate, "# nothing\n", 0, "no lines"),
            (FileFormat::Opportunities, "", 0, "no lines"),
            (FileFormat::Opportunities, "0\n0\n", 0, "without time passing"),
            (FileFormat::Opportunities, "5\n4", 2, "before the line above"),
            (FileFormat::Opportunities, "5\n-4", 2, "negative"),
            (FileFormat::Opportunities, "5.5", 1, "whole number"),
            (FileFormat::Flags, "0\n2", 2, "allowed: 0, 1"),
            (FileFormat::Series(Measure::Probability), "0 1.5", 1, "between 0 and 1"),
        ];
        for (format, text, line, message) in cases {
            let error = format.parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text:?}: {error:?}");
        }
    }

    #[test]
    fn messages_say_when_how_much_and_which_way() {
        let FileRows::Messages(rows) =
            FileFormat::Messages.parse("0 200kB down\n0.5, 40, up # key\n").unwrap()
        else {
            panic!()
        };
        let expected = [(Nanos::ZERO, Bytes(200_000), false), (Nanos::from_millis(500), Bytes(40), true)];
        assert_eq!(rows, expected);
        for (text, line, word) in [
            ("1 40 up\n0.5 40 up", 2, "before the line above"),
            ("1 0 up", 1, "1 to 2^30"),
            ("1 40 left", 1, "up, down"),
            ("1 40", 1, "3 are expected"),
            ("", 0, "no lines"),
        ] {
            let error = FileFormat::Messages.parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(word), "{text}: {error:?}");
        }
    }
}
