//! Values over time in a file: lines of columns, below a header or without one, and how the options of a model say what
//! they mean.
//!
//! Columns are separated by semicolons, commas, tabs or blanks, the first of these that a line has. Times are seconds
//! unless they, the header or `time_unit` say otherwise. A rate or a delay has a unit: its own, that of the header, or
//! that of `unit`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use registry::{FileError, OptionFault, OptionKind, OptionSpec, OptionValue, Options};
use units::{BitsPerSecond, Nanos, Ratio};

use crate::series_units::{RATES, TIMES, Unit, named, of_header};
use crate::timestamp;

/// Times, rising, each with a value in bit/s, seconds, decibels or as a probability.
pub type Series = Vec<(Nanos, f64)>;

/// Stands for "as the file says" where an option names a unit.
const FILE: &str = "file";
/// Stands for "the column that fits".
const AUTO: &str = "auto";
/// Later times are mistakes: a century.
const LATEST_S: f64 = 3.2e9;
/// From here on a time is more likely one since 1970 than one of a run.
const EPOCH: Nanos = Nanos::from_secs(100_000_000);

/// Column with the times.
pub(crate) const TIME: OptionSpec = OptionSpec::new(
    "time",
    OptionKind::Text,
    AUTO,
    "column of the times, its name in the header or its number from 1; auto: the one whose name says so, else the first",
);
/// Column with the values.
pub(crate) const COLUMN: OptionSpec = OptionSpec::new(
    "column",
    OptionKind::Text,
    AUTO,
    "column of the values, its name in the header or its number from 1; auto: the other one of two",
);
/// Unit of bare times.
pub(crate) const TIME_UNIT: OptionSpec = OptionSpec::new(
    "time_unit",
    OptionKind::Choice(&[FILE, "ns", "us", "ms", "s", "min"]),
    FILE,
    "unit of times without one; file: that of the header, else s",
);
/// Origin of the times.
pub(crate) const ORIGIN: OptionSpec = OptionSpec::new(
    "origin",
    OptionKind::Choice(&["run", "first"]),
    "run",
    "times count from the start of the run, or from the first line, as those of a clock do",
);
/// Unit of bare rates.
pub(crate) const RATE_UNIT: OptionSpec = OptionSpec::new(
    "unit",
    OptionKind::Choice(&[FILE, "bit/s", "kbit/s", "Mbit/s", "Gbit/s"]),
    FILE,
    "unit of values without one; file: that of the header",
);
/// Unit of bare delays.
pub(crate) const DELAY_UNIT: OptionSpec = OptionSpec::new(
    "unit",
    OptionKind::Choice(&[FILE, "ns", "us", "ms", "s"]),
    FILE,
    "unit of values without one; file: that of the header",
);
/// Whether values are those of both ways.
pub(crate) const RTT: OptionSpec = OptionSpec::new(
    "rtt",
    OptionKind::Flag,
    "false",
    "true: values are round-trip times, half of each is the delay of one way",
);

/// Quantity and unit of the values of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    Rate,
    Delay,
    Decibels,
    Probability,
}

/// How options say that a file is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Reading {
    time: String,
    column: String,
    time_unit: String,
    unit: String,
    first: bool,
    rtt: bool,
}

impl Reading {
    /// Options that a model does not have are at their defaults.
    fn of(options: &Options) -> Self {
        let word = |name: &str| match options.get(name) {
            Some(OptionValue::Text(text) | OptionValue::Choice(text)) if text != FILE && text != AUTO => {
                text.clone()
            }
            _ => String::new(),
        };
        Self {
            time: word("time"),
            column: word("column"),
            time_unit: word("time_unit"),
            unit: word("unit"),
            first: word("origin") == "first",
            rtt: options.get("rtt") == Some(&OptionValue::Flag(true)),
        }
    }
}

/// A file whose lines have been told apart, and what has been read of it so far.
pub(crate) struct Sheet {
    quantity: Quantity,
    text: Box<str>,
    /// Empty without a header.
    header: Vec<String>,
    /// Columns of the first line.
    width: usize,
    read: Mutex<BTreeMap<Reading, Result<Arc<Series>, OptionFault>>>,
}

impl fmt::Debug for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sheet({:?}, {} columns)", self.quantity, self.width)
    }
}

/// The lines that hold something, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then(|| (index + 1, cells(line)))
    })
}

fn cells(line: &str) -> Vec<&str> {
    let Some(between) = [';', ',', '\t'].into_iter().find(|c| line.contains(*c)) else {
        return line.split_whitespace().collect();
    };
    let mut cells: Vec<&str> = line.split(between).map(|cell| cell.trim().trim_matches('"').trim()).collect();
    while cells.last().is_some_and(|cell| cell.is_empty()) {
        cells.pop();
    }
    cells
}

/// True of names, false of numbers and of what stands for missing ones.
fn is_header(cells: &[&str]) -> bool {
    cells.iter().all(|cell| {
        cell.starts_with(|c: char| !c.is_ascii_digit() && !matches!(c, '+' | '-' | '.'))
            && !["nan", "inf", "null", "na"].contains(&cell.to_ascii_lowercase().as_str())
    })
}

impl Sheet {
    /// Tells the lines apart; what they mean is not looked at.
    ///
    /// # Errors
    /// There is no line with values.
    pub(crate) fn read(text: &str, quantity: Quantity) -> Result<Self, FileError> {
        let mut content = lines(text);
        let Some((_, first)) = content.next() else {
            return Err(FileError::whole("the file has no lines"));
        };
        let width = first.len();
        let named = is_header(&first);
        if named && content.next().is_none() {
            return Err(FileError::whole("the file has no lines below its header"));
        }
        let header = if named { first.into_iter().map(str::to_owned).collect() } else { Vec::new() };
        Ok(Self { quantity, text: text.into(), header, width, read: Mutex::default() })
    }

    /// The values, as `reading` says; computed once for each reading.
    fn series(&self, reading: &Reading, shown: &str) -> Result<Arc<Series>, OptionFault> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Reader::new(self, reading, shown)?.rows().map(Arc::new);
        read.entry(reading.clone()).or_insert_with(made).clone()
    }
}

/// The content of the option `file`, read as the other options say.
///
/// # Errors
/// The first line that is wrong, or the option that does not fit the file.
pub(crate) fn series(options: &Options) -> Result<Arc<Series>, OptionFault> {
    let file = options.file("file");
    file.content::<Sheet>().series(&Reading::of(options), file.shown())
}

/// The same of options that have been checked.
///
/// # Panics
/// If the options were not checked.
pub(crate) fn checked(options: &Options) -> Arc<Series> {
    series(options).unwrap_or_else(|fault| panic!("a model of options that were not checked: {fault:?}"))
}

/// The mistake of a file of values over time, in options that are right otherwise, if all of its times are after the
/// run, which lasts until `end`.
pub fn beyond_the_run(options: &Options, end: Nanos) -> Option<OptionFault> {
    let Some(OptionValue::File(file)) = options.get("file") else { return None };
    file.try_content::<Sheet>()?;
    let series = series(options).ok()?;
    let (first, _) = series.first()?;
    if *first < end {
        return None;
    }
    let what = if *first >= EPOCH { ", a time of a clock" } else { "" };
    Some(OptionFault {
        option: "file",
        message: format!("{}: begins at {first}{what}, but the run ends at {end}", file.shown()),
        help:
            "add origin = \"first\" to count from the first line, or time_unit if its times are not seconds"
                .into(),
    })
}

/// Columns and units for one reading of a sheet.
struct Reader<'a> {
    sheet: &'a Sheet,
    reading: &'a Reading,
    shown: &'a str,
    time: usize,
    value: usize,
    time_unit: f64,
    /// Factor for bare values, where something says it.
    unit: Option<f64>,
}

impl<'a> Reader<'a> {
    fn new(sheet: &'a Sheet, reading: &'a Reading, shown: &'a str) -> Result<Self, OptionFault> {
        let mut reader = Self { sheet, reading, shown, time: 0, value: 0, time_unit: 1.0, unit: None };
        reader.time = reader.column("time", &reading.time)?.unwrap_or_else(|| sheet.clock());
        reader.value = match reader.column("column", &reading.column)? {
            Some(index) => index,
            None => reader.other()?,
        };
        if reader.value == reader.time {
            let message = format!("column {} holds the times", reader.value + 1);
            return Err(OptionFault { option: "column", message, help: reader.columns() });
        }
        let header = |index: usize| sheet.header.get(index).map_or("", String::as_str);
        let said = of_header(header(reader.time), TIMES);
        reader.time_unit = reader.agreed("time_unit", &reading.time_unit, said, TIMES)?.unwrap_or(1.0);
        reader.unit = match sheet.quantity {
            Quantity::Rate => {
                reader.agreed("unit", &reading.unit, of_header(header(reader.value), RATES), RATES)?
            }
            Quantity::Delay => {
                reader.agreed("unit", &reading.unit, of_header(header(reader.value), TIMES), TIMES)?
            }
            Quantity::Decibels => Some(1.0),
            Quantity::Probability => {
                let name = header(reader.value).to_ascii_lowercase();
                Some(if name.contains('%') || name.contains("percent") || name.contains("pct") {
                    0.01
                } else {
                    1.0
                })
            }
        };
        reader.one_way(header(reader.value))?;
        Ok(reader)
    }

    /// A column that says it holds round-trip times is not taken for delays of one way.
    fn one_way(&self, header: &str) -> Result<(), OptionFault> {
        let name = header.to_ascii_lowercase();
        let both = ["rtt", "ping", "round"].iter().any(|word| name.contains(word));
        if self.sheet.quantity != Quantity::Delay || self.reading.rtt || !both {
            return Ok(());
        }
        Err(OptionFault {
            option: "rtt",
            message: format!("{}: the column \"{header}\" seems to hold round-trip times", self.shown),
            help:
                "add rtt = true, which takes half of each; if they are of one way, name the column otherwise"
                    .into(),
        })
    }

    /// The place of the column that an option names; `None` if it names none.
    fn column(&self, option: &'static str, name: &str) -> Result<Option<usize>, OptionFault> {
        if name.is_empty() {
            return Ok(None);
        }
        let header = &self.sheet.header;
        let named = header.iter().position(|one| one == name);
        let alike = || header.iter().position(|one| one.eq_ignore_ascii_case(name));
        let numbered =
            || name.parse::<usize>().ok().filter(|n| (1..=self.sheet.width).contains(n)).map(|n| n - 1);
        match named.or_else(alike).or_else(numbered) {
            Some(index) => Ok(Some(index)),
            None => {
                let message = format!("{} has no column \"{name}\"", self.shown);
                Err(OptionFault { option, message, help: self.columns() })
            }
        }
    }

    fn columns(&self) -> String {
        if self.sheet.header.is_empty() {
            return format!("columns: 1 to {}", self.sheet.width);
        }
        format!("columns: {}", self.sheet.header.join(", "))
    }

    /// The column that is not the time.
    fn other(&self) -> Result<usize, OptionFault> {
        match self.sheet.width {
            2 => Ok(1 - self.time.min(1)),
            width => {
                let line = lines(&self.sheet.text).next().map_or(1, |(line, _)| line);
                let help = if width < 2 {
                    "write a time and a value in each line".into()
                } else {
                    format!(
                        "say which holds the values, as in column = \"{}\"; {}",
                        self.example(),
                        self.columns()
                    )
                };
                Err(self.fault("file", line, &format!("number of columns: found {width}; expected 2"), help))
            }
        }
    }

    fn example(&self) -> String {
        let index = usize::from(self.time == 0);
        self.sheet.header.get(index).cloned().unwrap_or_else(|| (index + 1).to_string())
    }

    fn fault(&self, option: &'static str, line: usize, message: &str, help: String) -> OptionFault {
        OptionFault { option, message: format!("{}:{line}: {message}", self.shown), help }
    }

    /// The factor of bare numbers: of the option, which may not contradict the header.
    fn agreed(
        &self,
        option: &'static str,
        given: &str,
        header: Option<Unit>,
        units: &[Unit],
    ) -> Result<Option<f64>, OptionFault> {
        let given = named(given, units);
        match (given, header) {
            (Some(given), Some(header)) if given.factor.total_cmp(&header.factor).is_ne() => {
                Err(OptionFault {
                    option,
                    message: format!(
                        "found \"{}\", but the header of {} says {}",
                        given.name, self.shown, header.name
                    ),
                    help: format!("remove {option}, or mend the header"),
                })
            }
            (given, header) => Ok(given.or(header).map(|unit| unit.factor)),
        }
    }

    fn rows(&self) -> Result<Series, OptionFault> {
        let mut series: Series = Vec::new();
        let (mut origin, mut bare) = (Nanos::ZERO, false);
        let header = usize::from(!self.sheet.header.is_empty());
        for (line, cells) in lines(&self.sheet.text).skip(header) {
            if cells.len() != self.sheet.width {
                let message =
                    format!("number of columns: found {}; expected {}", cells.len(), self.sheet.width);
                return Err(self.fault("file", line, &message, self.form().into()));
            }
            let time = self.time(cells[self.time]).map_err(|(m, help)| self.fault("file", line, &m, help))?;
            let (value, own) =
                self.value(cells[self.value]).map_err(|(m, help)| self.fault("file", line, &m, help))?;
            bare |= !own;
            if self.reading.first && series.is_empty() {
                origin = time;
            }
            let at = Nanos(time.0.saturating_sub(origin.0));
            if time < origin || series.last().is_some_and(|(last, _)| at <= *last) {
                let message =
                    format!("found the time {}, which is not after the line above", cells[self.time]);
                return Err(self.fault("file", line, &message, self.form().into()));
            }
            series.push((at, if self.reading.rtt { value / 2.0 } else { value }));
        }
        if !bare && !self.reading.unit.is_empty() {
            let message = format!("every value of {} has its unit", self.shown);
            return Err(OptionFault { option: "unit", message, help: "remove it".into() });
        }
        debug_assert!(series.is_sorted_by(|a, b| a.0 < b.0), "times rise");
        Ok(series)
    }

    fn form(&self) -> &'static str {
        match self.sheet.quantity {
            Quantity::Rate => crate::trace_file::RATES.what,
            Quantity::Delay => crate::trace_file::DELAYS.what,
            Quantity::Decibels => crate::trace_file::DECIBELS.what,
            Quantity::Probability => crate::trace_file::PROBABILITIES.what,
        }
    }

    /// A time, or what is wrong with it and the cure.
    fn time(&self, text: &str) -> Result<Nanos, (String, String)> {
        if let Ok(time) = text.parse::<Nanos>()
            && time != Nanos(u64::MAX)
        {
            return Ok(time);
        }
        if let Some(time) = timestamp::parse(text) {
            return Ok(time);
        }
        let write = || format!("write {}", self.form());
        match text.parse::<f64>() {
            Ok(x) if x < 0.0 => Err((format!("found the time {text}, which is negative"), write())),
            Ok(x) if x * self.time_unit < LATEST_S => Ok(Nanos::from_secs_f64(x * self.time_unit)),
            Ok(x) if x.is_finite() => {
                let help = "say the unit of the times, as in time_unit = \"ms\"".into();
                Err((
                    format!("found \"{text}\", which is not a time: in seconds it is more than a century"),
                    help,
                ))
            }
            _ => Err((format!("found \"{text}\", which is not a time"), write())),
        }
    }

    /// A value, and whether it has a unit of its own or needs none; or what is wrong with it and the cure.
    fn value(&self, text: &str) -> Result<(f64, bool), (String, String)> {
        let wrong = |message: String| (message, format!("write {}", self.form()));
        let own = match self.sheet.quantity {
            Quantity::Rate => {
                text.parse::<BitsPerSecond>().ok().filter(|r| r.0 != u64::MAX).map(|rate| rate.0 as f64)
            }
            Quantity::Delay => {
                text.parse::<Nanos>().ok().filter(|d| *d != Nanos(u64::MAX)).map(Nanos::as_secs_f64)
            }
            Quantity::Decibels => None,
            Quantity::Probability => {
                return match text.parse::<f64>() {
                    Ok(x) if self.unit != Some(1.0) => {
                        Ratio::new(x * 0.01).map(|ratio| (ratio.get(), true)).map_err(|e| wrong(e.message))
                    }
                    _ => text.parse::<Ratio>().map(|ratio| (ratio.get(), true)).map_err(|e| wrong(e.message)),
                };
            }
        };
        if let Some(value) = own {
            return Ok((value, true));
        }
        let (what, least) = match self.sheet.quantity {
            Quantity::Rate => ("a rate", 0.0),
            Quantity::Delay => ("a delay", 0.0),
            Quantity::Decibels | Quantity::Probability => ("a value in dB", f64::NEG_INFINITY),
        };
        let number = number(text, what, least).map_err(wrong)?;
        match self.unit {
            Some(factor) => {
                let value = number * factor;
                // As exact as a delay is.
                let exact = self.sheet.quantity == Quantity::Delay;
                Ok((if exact { Nanos::from_secs_f64(value).as_secs_f64() } else { value }, false))
            }
            None if number == 0.0 => Ok((0.0, true)),
            None => Err((format!("found \"{text}\" without a unit"), self.missing_unit(text))),
        }
    }

    fn missing_unit(&self, text: &str) -> String {
        let (unit, header) = if self.sheet.quantity == Quantity::Rate {
            ("Mbit/s", "time_s,rate_Mbit/s")
        } else {
            ("ms", "time_s,delay_ms")
        };
        format!(
            "say it once, as in unit = \"{unit}\" or in a header line \"{header}\"; or with each value, \"{text}{unit}\""
        )
    }
}

impl Sheet {
    /// The column whose name says that it holds times, else the first.
    fn clock(&self) -> usize {
        let says = |name: &String| {
            let name = name.to_ascii_lowercase();
            name == "t"
                || name == "t_s"
                || ["time", "date", "epoch"].iter().any(|word| name.starts_with(word))
        };
        self.header.iter().position(says).unwrap_or(0)
    }
}

/// A finite number from `least` on.
///
/// # Errors
/// The text that was found, and why it is wrong.
fn number(text: &str, what: &str, least: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x < least => Err(format!("found {text}, which is negative")),
        // Beyond any rate, and still exact as a whole number of bit/s.
        Ok(x) if x.is_finite() && x < 9e15 => Ok(x),
        _ => Err(format!("found \"{text}\", which is not {what}")),
    }
}

#[cfg(test)]
mod tests;
