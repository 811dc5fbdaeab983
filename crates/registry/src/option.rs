//! Named options of an algorithm: declared once as data, so that files, lists and docs cannot disagree.

use units::{BitsPerSecond, Bytes, Nanos, QueueLimit, Ratio};

use crate::{FileFormat, NamedFile};

/// Type of the value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// true or false.
    Flag,
    /// A whole number within the bounds, both included.
    Integer {
        /// Smallest allowed value.
        min: u64,
        /// Largest allowed value.
        max: u64,
    },
    /// A real number within the bounds, both included.
    Number {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// A duration with its unit.
    Duration,
    /// A size with its unit.
    Size,
    /// A rate with its unit.
    Rate,
    /// A probability between 0 and 1.
    Probability,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// true, false, or one of these words; the value is a [`OptionValue::Choice`].
    FlagOr(&'static [&'static str]),
    /// A queue limit.
    Limit,
    /// A list of one or more values.
    List(Items),
    /// A file, by its path.
    File(FileFormat),
    /// Any text.
    Text,
}

/// Type of the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Durations.
    Durations,
    /// Rates.
    Rates,
    /// Numbers that are not negative.
    Numbers,
    /// Whole numbers from 1 on.
    Integers,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// See [`OptionKind::Flag`].
    Flag(bool),
    /// See [`OptionKind::Integer`].
    Integer(u64),
    /// See [`OptionKind::Number`].
    Number(f64),
    /// See [`OptionKind::Duration`].
    Duration(Nanos),
    /// See [`OptionKind::Size`].
    Size(Bytes),
    /// See [`OptionKind::Rate`].
    Rate(BitsPerSecond),
    /// See [`OptionKind::Probability`].
    Probability(Ratio),
    /// See [`OptionKind::Choice`].
    Choice(String),
    /// See [`OptionKind::Limit`].
    Limit(QueueLimit),
    /// See [`Items::Durations`].
    Durations(Vec<Nanos>),
    /// See [`Items::Rates`].
    Rates(Vec<BitsPerSecond>),
    /// See [`Items::Numbers`].
    Numbers(Vec<f64>),
    /// See [`Items::Integers`].
    Integers(Vec<u64>),
    /// See [`OptionKind::File`].
    File(NamedFile),
    /// See [`OptionKind::Text`].
    Text(String),
}

/// Declaration of one option. `default` is text as in a scenario file; `None` makes the option compulsory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionSpec {
    /// The key in the scenario file.
    pub name: &'static str,
    /// Type of its value.
    pub kind: OptionKind,
    /// Default as written in a file, without quotes; `None`: must be given.
    pub default: Option<&'static str>,
    /// One line for lists and docs.
    pub doc: &'static str,
}

impl OptionSpec {
    /// An option with a default.
    pub const fn new(name: &'static str, kind: OptionKind, default: &'static str, doc: &'static str) -> Self {
        Self { name, kind, default: Some(default), doc }
    }

    /// An option that must be given.
    pub const fn compulsory(name: &'static str, kind: OptionKind, doc: &'static str) -> Self {
        Self { name, kind, default: None, doc }
    }

    /// The options of several lists, in order.
    ///
    /// # Panics
    /// If there are not `N` of them; a constant with another `N` does not compile.
    pub const fn joined<const N: usize>(lists: &[&[Self]]) -> [Self; N] {
        let mut all = [Self::compulsory("", OptionKind::Flag, ""); N];
        let (mut list, mut n) = (0, 0);
        while list < lists.len() {
            let mut i = 0;
            while i < lists[list].len() {
                all[n] = lists[list][i];
                (i, n) = (i + 1, n + 1);
            }
            list += 1;
        }
        assert!(n == N, "another number of options");
        all
    }
}

/// An option that is wrong together with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionFault {
    /// Its name.
    pub option: &'static str,
    /// The value that was found, and why it is wrong.
    pub message: String,
    /// The cure.
    pub help: String,
}

/// The checked options of one algorithm: every declared option is present with a value of its kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(Vec<(&'static str, OptionValue)>);

/// Asking for an undeclared option or with the wrong kind is a bug in the algorithm, not in a file.
macro_rules! getter {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty) => {
        $(#[$doc])*
        ///
        /// # Panics
        /// If the option is not declared with this kind.
        pub fn $name(&self, name: &str) -> $type {
            match self.get(name) {
                Some(OptionValue::$variant(value)) => value.clone().into(),
                other => panic!("option `{name}` is not declared as {}: {other:?}", stringify!($variant)),
            }
        }
    };
}

impl Options {
    /// From values already checked against their specs.
    pub fn new(values: Vec<(&'static str, OptionValue)>) -> Self {
        let first = |(index, (name, _)): (usize, &(&str, _))| values[..index].iter().all(|(n, _)| n != name);
        debug_assert!(values.iter().enumerate().all(first), "an option with two values: {values:?}");
        Self(values)
    }

    /// All defaults of `specs`.
    ///
    /// # Panics
    /// If a default does not parse, or an option is compulsory.
    pub fn defaults(specs: &'static [OptionSpec]) -> Self {
        let value = |spec: &'static OptionSpec| {
            let text = spec.default.unwrap_or_else(|| panic!("option `{}` has no default", spec.name));
            (spec.name, spec.kind.parse(text).unwrap_or_else(|e| panic!("default of `{}`: {e}", spec.name)))
        };
        Self(specs.iter().map(value).collect())
    }

    /// All defaults, and a plausible value where an option is compulsory; for tests that try every algorithm.
    ///
    /// # Panics
    /// If a default does not parse, or a compulsory option is a limit, a list or a file.
    pub fn examples(specs: &'static [OptionSpec]) -> Self {
        let value = |spec: &'static OptionSpec| {
            let text = spec.default.unwrap_or_else(|| match spec.kind {
                OptionKind::Flag | OptionKind::FlagOr(_) => "false",
                OptionKind::Integer { .. } | OptionKind::Number { .. } => "1",
                OptionKind::Duration => "1s",
                OptionKind::Size => "1kB",
                OptionKind::Rate => "1Mbit/s",
                OptionKind::Probability => "0.01",
                OptionKind::Choice(words) => words[0],
                other => panic!("option `{}` of {other:?} has no plausible value", spec.name),
            });
            (spec.name, spec.kind.parse(text).unwrap_or_else(|e| panic!("value of `{}`: {e}", spec.name)))
        };
        Self(specs.iter().map(value).collect())
    }

    /// The same options with `name` set to `value`; for tests and experiments in code.
    #[must_use]
    pub fn with(mut self, name: &str, value: OptionValue) -> Self {
        let slot =
            self.0.iter_mut().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no option `{name}`"));
        let same = std::mem::discriminant(&slot.1) == std::mem::discriminant(&value);
        debug_assert!(same, "option `{name}` holds {:?}, not {value:?}", slot.1);
        slot.1 = value;
        self
    }

    /// The value of `name`, if declared.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// In declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &OptionValue)> {
        self.0.iter().map(|(n, v)| (*n, v))
    }

    getter!(/** Value of a flag. */ flag, Flag, bool);
    getter!(/** Value of a whole number. */ integer, Integer, u64);
    getter!(/** Value of a real number. */ number, Number, f64);
    getter!(/** Value of a duration. */ duration, Duration, Nanos);
    getter!(/** Value of a size. */ size, Size, Bytes);
    getter!(/** Value of a rate. */ rate, Rate, BitsPerSecond);
    getter!(/** Value of a probability. */ probability, Probability, Ratio);
    getter!(/** Value of a choice. */ choice, Choice, String);
    getter!(/** Value of a queue limit. */ limit, Limit, QueueLimit);
    getter!(/** Value of a list of durations. */ durations, Durations, Vec<Nanos>);
    getter!(/** Value of a list of rates. */ rates, Rates, Vec<BitsPerSecond>);
    getter!(/** Value of a list of numbers. */ numbers, Numbers, Vec<f64>);
    getter!(/** Value of a list of whole numbers. */ integers, Integers, Vec<u64>);
    getter!(/** What a file holds. */ file, File, NamedFile);
    getter!(/** A text. */ text, Text, String);
}

impl OptionKind {
    /// Parses the text form of a value (what a file holds between the quotes, or the bare number or flag).
    ///
    /// # Errors
    /// The value that was found and the allowed ones.
    pub fn parse(self, text: &str) -> Result<OptionValue, String> {
        let unit = |e: units::UnitError| e.message;
        match self {
            Self::Flag => match text {
                "true" => Ok(OptionValue::Flag(true)),
                "false" => Ok(OptionValue::Flag(false)),
                _ => Err(format!("found {text}; allowed: true, false")),
            },
            Self::Integer { min, max } => match text.parse() {
                Ok(n) if (min..=max).contains(&n) => Ok(OptionValue::Integer(n)),
                _ => Err(format!("found {text}; allowed: whole numbers from {min} to {max}")),
            },
            Self::Number { min, max } => match text.parse() {
                Ok(x) if (min..=max).contains(&x) => Ok(OptionValue::Number(x)),
                _ => Err(format!("found {text}; allowed: numbers from {min} to {max}")),
            },
            Self::Duration => text.parse().map(OptionValue::Duration).map_err(unit),
            Self::Size => text.parse().map(OptionValue::Size).map_err(unit),
            Self::Rate => text.parse().map(OptionValue::Rate).map_err(unit),
            Self::Probability => text.parse().map(OptionValue::Probability).map_err(unit),
            Self::Choice(words) if words.contains(&text) => Ok(OptionValue::Choice(text.into())),
            Self::Choice(words) => Err(format!("found \"{text}\"; allowed: {}", words.join(", "))),
            Self::FlagOr(words) if matches!(text, "true" | "false") || words.contains(&text) => {
                Ok(OptionValue::Choice(text.into()))
            }
            Self::FlagOr(words) => {
                Err(format!("found \"{text}\"; allowed: true, false, {}", words.join(", ")))
            }
            Self::Limit => text.parse().map(OptionValue::Limit).map_err(unit),
            Self::List(items) => items.parse(text),
            Self::Text => Ok(OptionValue::Text(text.into())),
            Self::File(_) => Err("a file is read from its path, not from a value".into()),
        }
    }
}

impl Items {
    /// Parses items separated by commas; at least one.
    ///
    /// # Errors
    /// The value that was found and the allowed ones.
    pub fn parse(self, text: &str) -> Result<OptionValue, String> {
        let items: Vec<&str> = text.split(',').map(str::trim).collect();
        let unit = |e: units::UnitError| e.message;
        match self {
            Self::Durations => {
                let items: Result<_, _> = items.into_iter().map(str::parse).collect();
                items.map(OptionValue::Durations).map_err(unit)
            }
            Self::Rates => {
                let items: Result<_, _> = items.into_iter().map(str::parse).collect();
                items.map(OptionValue::Rates).map_err(unit)
            }
            Self::Numbers => {
                let number = |item: &str| match item.parse::<f64>() {
                    Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
                    _ => Err(format!("found {item}; allowed: numbers from 0 on")),
                };
                items.into_iter().map(number).collect::<Result<_, _>>().map(OptionValue::Numbers)
            }
            Self::Integers => {
                let number = |item: &str| match item.parse::<u64>() {
                    Ok(n) if n > 0 => Ok(n),
                    _ => Err(format!("found {item}; allowed: whole numbers from 1 on")),
                };
                items.into_iter().map(number).collect::<Result<_, _>>().map(OptionValue::Integers)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_checked_and_typed() {
        const SPECS: &[OptionSpec] = &[
            OptionSpec::new("hystart", OptionKind::Flag, "false", ""),
            OptionSpec::new("window", OptionKind::Duration, "10s", ""),
        ];
        let options = Options::defaults(SPECS).with("hystart", OptionValue::Flag(true));
        assert!(options.flag("hystart"));
        assert_eq!(options.duration("window"), Nanos::from_secs(10));
        assert!(OptionKind::Integer { min: 1, max: 3 }.parse("4").unwrap_err().contains("1 to 3"));
        let list = OptionKind::List(Items::Durations).parse("5s, 10ms");
        assert_eq!(list, Ok(OptionValue::Durations(vec![Nanos::from_secs(5), Nanos::from_millis(10)])));
        assert!(OptionKind::List(Items::Integers).parse("1, 0").unwrap_err().contains("found 0"));
    }
}
