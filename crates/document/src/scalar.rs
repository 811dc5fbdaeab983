//! Single values: text of a file in, canonical text out, or what is wrong and the cure.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use registry::{Items, OptionKind, OptionValue};
use units::{BitsPerSecond, Bytes, Nanos, Ratio, UnitError};

use crate::diagnostic::{Code, nearest, suggest};
use crate::keys::{Fallback, Kind, MAX_SEEDS, Scalar, Section, UNLIMITED};
use crate::queue_size::QueueSize;
use crate::tree::{Origin, Placed, Value};

/// An error in a value.
#[derive(Debug)]
pub struct Fault {
    /// Kind of mistake.
    pub code: Code,
    /// The value found and the allowed ones.
    pub message: String,
    /// The cure.
    pub help: String,
}

/// Units that people write, and ours.
const FOREIGN_UNITS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("mbit", "Mbit/s"),
    ("kbit", "kbit/s"),
    ("msec", "ms"),
    ("sec", "s"),
    ("seconds", "s"),
    ("usec", "us"),
    ("m", "min"),
    ("k", "kB"),
    ("kb", "kB"),
    ("mb", "MB"),
    ("byte", "B"),
    ("bytes", "B"),
    ("packets", "p"),
    ("pkts", "p"),
];

/// Units by what they measure; a test holds them against the parsers.
pub const TIMES: &[&str] = &["ns", "us", "ms", "s", "min"];
/// Units of sizes.
pub const SIZES: &[&str] = &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
/// Characters of a title, a description or a label.
pub const LONGEST_TEXT: usize = 10_000;
/// Characters of a name.
pub const LONGEST_NAME: usize = 200;
/// Units of rates.
pub const RATES: &[&str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];

/// Checks a scalar and returns its canonical form. Tables and choices are not scalars.
pub fn scalar(kind: Kind, value: &Value) -> Result<Value, Fault> {
    match (kind, value) {
        (Kind::Scalar(scalar), _) => canonical(scalar, value),
        (Kind::OneOrMore(one), Value::List(items)) if items.is_empty() => {
            Err(bad("found an empty list".into(), format!("give {}", one.what())))
        }
        _ => Err(wrong_type(kind, value)),
    }
}

fn canonical(kind: Scalar, value: &Value) -> Result<Value, Fault> {
    match (kind, value) {
        (Scalar::Text, Value::Text(text)) => short(text, LONGEST_TEXT, "a text").map(|()| value.clone()),
        (Scalar::Reference(_), Value::Text(_)) => Ok(value.clone()),
        (Scalar::Any, _) => any(value).map(|()| value.clone()),
        (Scalar::Percentage, Value::Text(text)) => percentage(text).map(|()| value.clone()),
        (Scalar::Name, Value::Text(text)) => name(text).map(|()| value.clone()),
        (Scalar::Names { of, least, most }, Value::List(items)) => {
            names(kind, of, least..=most, items).map(|()| value.clone())
        }
        (Scalar::FlagOrCount { .. }, Value::Flag(_)) => Ok(value.clone()),
        (Scalar::FlagOrCount { word, .. }, Value::Text(text)) => {
            only_word(kind, word, text).map(|()| value.clone())
        }
        (Scalar::FlagOrCount { .. }, Value::Integer(_)) => {
            let number = OptionKind::Integer { min: 1, max: u64::from(u32::MAX) };
            plain(number, value).map_err(|fault| Fault { help: format!("allowed: {}", kind.what()), ..fault })
        }
        (Scalar::Words(words), Value::List(items)) => word_list(kind, words, items).map(|()| value.clone()),
        (Scalar::Seeds, Value::Integer(_) | Value::List(_)) => seeds(value).map(|()| value.clone()),
        (Scalar::OneOf { what, words }, Value::Text(text)) => word(text, what, words).map(|()| value.clone()),
        (Scalar::Plain(kind), _) => plain(kind, value),
        (Scalar::Limit { .. }, Value::Text(text)) if text == UNLIMITED => Ok(value.clone()),
        (Scalar::Limit { min, max }, Value::Integer(_)) => plain(OptionKind::Integer { min, max }, value),
        (Scalar::Duration { min, max }, Value::Text(text)) => quantity::<Nanos>(text, min, max, TIMES),
        (Scalar::Size { min, max }, Value::Text(text)) => quantity::<Bytes>(text, min, max, SIZES),
        (Scalar::Rate { min, max }, Value::Text(text)) => quantity::<BitsPerSecond>(text, min, max, RATES),
        (Scalar::WordOrSize { words, .. }, Value::Text(text)) if words.contains(&text.as_str()) => {
            Ok(value.clone())
        }
        (Scalar::WordOrSize { min, max, .. }, Value::Text(text)) => quantity::<Bytes>(text, min, max, SIZES),
        (Scalar::Queue, Value::Text(text)) => queue(text),
        _ => Err(wrong_type(kind.into(), value)),
    }
}

/// The value that a default in a table stands for.
pub fn from_default(kind: Kind, text: &str) -> Value {
    let number = |text: &str| text.parse().map(Value::Integer).ok();
    match kind {
        Kind::Scalar(Scalar::Plain(OptionKind::Flag)) | Kind::Scalar(Scalar::FlagOrCount { .. }) => {
            Value::Flag(text == "true")
        }
        Kind::Scalar(Scalar::Plain(OptionKind::FlagOr(_))) if matches!(text, "true" | "false") => {
            Value::Flag(text == "true")
        }
        Kind::Scalar(Scalar::Plain(OptionKind::Integer { .. }))
        | Kind::Scalar(Scalar::Limit { .. })
        | Kind::Scalar(Scalar::Seeds) => number(text).unwrap_or_else(|| Value::Text(text.into())),
        Kind::Scalar(Scalar::Plain(OptionKind::List(_))) => {
            let item = |item: &str| match item.parse::<f64>() {
                Ok(x) => Value::Float(x),
                Err(_) => Value::Text(item.into()),
            };
            let items = text.split(',').map(|text| Placed::new(item(text.trim()), Origin::Default));
            Value::List(items.collect())
        }
        Kind::Scalar(Scalar::Plain(OptionKind::Probability | OptionKind::Number { .. })) => {
            text.parse().map_or_else(|_| Value::Text(text.into()), Value::Float)
        }
        _ => Value::Text(text.into()),
    }
}

/// "found a list; expected a duration ...".
pub fn wrong_type(kind: Kind, value: &Value) -> Fault {
    let help = match (kind, value) {
        (Kind::Tables(section), Value::Table(_)) if !section.inline => {
            format!("write [[{0}]] with two brackets: there may be several", section.name)
        }
        (Kind::Table(section), _) => format!("write {}", sketch(section)),
        (Kind::Scalar(Scalar::Text | Scalar::Reference(_)), _) if value.bare().is_some() => {
            format!("put it into quotes: \"{}\"", value.bare().unwrap_or_default())
        }
        (_, Value::Integer(n)) => match unit_example(kind) {
            Some(unit) => format!("add the unit, in quotes: \"{n}{unit}\""),
            None => format!("give {}", kind.what()),
        },
        (_, Value::Float(x)) if unit_example(kind).is_some() => {
            format!("add the unit, in quotes: \"{x}{}\"", unit_example(kind).unwrap_or_default())
        }
        (
            Kind::Scalar(Scalar::Plain(OptionKind::Flag | OptionKind::Integer { .. }))
            | Kind::Scalar(Scalar::Limit { .. }),
            Value::Text(text),
        ) if text.parse::<i64>().is_ok() || text == "true" || text == "false" => {
            format!("leave out the quotes: {text}")
        }
        (Kind::List(Kind::Scalar(_)), Value::Text(text)) => format!("write a list: [\"{text}\"]"),
        (Kind::Tables(section), _) if section.inline => format!("write a list: [{}]", sketch(section)),
        (Kind::Scalar(Scalar::Names { .. }) | Kind::Scalar(Scalar::Words(_)), Value::Text(text)) => {
            format!("write a list: [\"{text}\"]")
        }
        _ => format!("give {}", kind.what()),
    };
    Fault {
        code: Code::WrongType,
        message: format!("found {}; expected {}", value.found(), kind.what()),
        help,
    }
}

/// `{ rate = ..., delay = ... }`: the compulsory keys, or all where none is.
pub fn sketch(section: &Section) -> String {
    let compulsory = section.keys.iter().filter(|key| matches!(key.default, Fallback::Compulsory));
    let mut names: Vec<&str> = compulsory.map(|key| key.name).collect();
    if names.is_empty() {
        names = section.names().collect();
    }
    format!("{{ {} = ... }}", names.join(" = ..., "))
}

fn unit_example(kind: Kind) -> Option<&'static str> {
    match kind {
        // Times of the run are seconds, those of a protocol or a link milliseconds.
        Kind::Scalar(Scalar::Duration { max, .. }) if max > Nanos::from_secs(86_400) => Some("s"),
        Kind::Scalar(Scalar::Duration { .. }) | Kind::Scalar(Scalar::Plain(OptionKind::Duration)) => {
            Some("ms")
        }
        Kind::Scalar(Scalar::Size { .. })
        | Kind::Scalar(Scalar::WordOrSize { .. })
        | Kind::Scalar(Scalar::Plain(OptionKind::Size)) => Some("B"),
        Kind::Scalar(Scalar::Rate { .. }) | Kind::Scalar(Scalar::Plain(OptionKind::Rate)) => Some("Mbit/s"),
        Kind::Scalar(Scalar::Queue) | Kind::Scalar(Scalar::Plain(OptionKind::Limit)) => Some("p"),
        Kind::Setting { plain, .. } => unit_example(*plain),
        Kind::OneOrMore(one) => unit_example(*one),
        _ => None,
    }
}

/// A plain value or an option of an algorithm.
fn plain(kind: OptionKind, value: &Value) -> Result<Value, Fault> {
    if let OptionKind::List(items) = kind {
        return list(items, value);
    }
    let fits = matches!(
        (kind, value),
        (OptionKind::Flag | OptionKind::FlagOr(_), Value::Flag(_))
            | (OptionKind::Integer { .. }, Value::Integer(_))
            | (OptionKind::Number { .. }, Value::Integer(_) | Value::Float(_))
            | (OptionKind::Probability, Value::Integer(_) | Value::Float(_) | Value::Text(_))
            | (
                OptionKind::Duration
                    | OptionKind::Size
                    | OptionKind::Rate
                    | OptionKind::Choice(_)
                    | OptionKind::FlagOr(_)
                    | OptionKind::Limit
                    | OptionKind::File(_)
                    | OptionKind::Text,
                Value::Text(_)
            )
    );
    // `--set ...tls=1.3` needs no quotes.
    let is_word = matches!(
        (kind, value.bare()),
        (OptionKind::Choice(words), Some(text)) if words.contains(&text.as_str())
    );
    let fits = fits || is_word;
    let text =
        value.bare().filter(|_| fits).ok_or_else(|| wrong_type(Kind::Scalar(Scalar::Plain(kind)), value))?;
    match kind {
        OptionKind::Choice(words) => word(&text, "allowed", words).map(|()| Value::Text(text)),
        OptionKind::FlagOr(words) => match value {
            Value::Text(_) => word(&text, "allowed beside true and false", words).map(|()| Value::Text(text)),
            _ => Ok(value.clone()),
        },
        OptionKind::Duration => quantity(&text, Nanos::ZERO, Nanos(u64::MAX), TIMES),
        OptionKind::Size => quantity(&text, Bytes::ZERO, Bytes::MAX, SIZES),
        OptionKind::Rate => quantity(&text, BitsPerSecond(0), BitsPerSecond(u64::MAX), RATES),
        OptionKind::Limit => queue(&text),
        OptionKind::File(_) => Ok(Value::Text(text)),
        OptionKind::Probability => match text.parse::<Ratio>() {
            Ok(ratio) => Ok(Value::Float(ratio.get())),
            Err(e) => Err(unit_fault(&text, &e, &[])),
        },
        _ => match kind.parse(&text) {
            Ok(OptionValue::Number(x)) => Ok(Value::Float(x)),
            Ok(_) => Ok(value.clone()),
            Err(message) => Err(bad(message, format!("give {}", Kind::Scalar(Scalar::Plain(kind)).what()))),
        },
    }
}

fn bad(message: String, help: String) -> Fault {
    Fault { code: Code::BadValue, message, help }
}

/// The size of a queue.
fn queue(text: &str) -> Result<Value, Fault> {
    match text.parse::<QueueSize>() {
        Ok(size) => Ok(Value::Text(size.to_string())),
        Err(e) => Err(unit_fault(text, &e, &["p", "BDP", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"])),
    }
}

/// Dates and times are the only values of TOML that no key of a scenario takes.
fn any(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Foreign("date or time") => {
            let message = "found a date or time: dates and times mean nothing to a scenario".into();
            Err(Fault { code: Code::WrongType, message, help: "put it into quotes".into() })
        }
        Value::Foreign(what) => Err(bad(format!("found an {what}"), "integers have at most 64 bits".into())),
        Value::List(items) => items.iter().try_for_each(|item| any(&item.value)),
        Value::Table(table) => table.entries.iter().try_for_each(|entry| any(&entry.node.value)),
        _ => Ok(()),
    }
}

/// The part of one that a percentage such as "5%" is; nothing if it is none, or 0.
pub fn part(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let part: f64 = number.chars().all(digits).then(|| number.parse().ok())??;
    (part > 0.0).then_some(part / 100.0)
}

fn percentage(text: &str) -> Result<(), Fault> {
    let help = || "write a part of the mean, as in \"5%\"".to_owned();
    part(text)
        .map(drop)
        .ok_or_else(|| bad(format!("found \"{text}\", which is no percentage above 0"), help()))
}

/// The items of a list in their canonical form.
fn list(items: Items, value: &Value) -> Result<Value, Fault> {
    let Value::List(nodes) = value else {
        return Err(wrong_type(Kind::Scalar(Scalar::Plain(OptionKind::List(items))), value));
    };
    let one = match items {
        Items::Durations => OptionKind::Duration,
        Items::Rates => OptionKind::Rate,
        Items::Numbers => OptionKind::Number { min: 0.0, max: f64::MAX },
        Items::Integers => OptionKind::Integer { min: 1, max: u64::MAX },
    };
    if nodes.is_empty() {
        return Err(bad("found an empty list".into(), "give at least one item".into()));
    }
    let node = |node: &Placed| Ok(Placed::new(plain(one, &node.value)?, node.at));
    nodes.iter().map(node).collect::<Result<_, _>>().map(Value::List)
}

/// The one word that may stand beside flags and counts; what else it may be stands in the help.
fn only_word(kind: Scalar, allowed: &'static str, text: &str) -> Result<(), Fault> {
    let help = match text.parse::<i64>() {
        Ok(_) => format!("leave out the quotes: {text}"),
        Err(_) if text == "true" || text == "false" => format!("leave out the quotes: {text}"),
        Err(_) => format!("allowed: {}", kind.what()),
    };
    word(text, "allowed", &[allowed]).map_err(|fault| Fault { help, ..fault })
}

/// A word of a closed list.
fn word(text: &str, what: &str, words: &[&'static str]) -> Result<(), Fault> {
    if words.contains(&text) {
        return Ok(());
    }
    let help = suggest(text, what, words.iter().copied());
    Err(Fault {
        code: Code::UnknownWord,
        message: format!("found \"{text}\", which is not one of the allowed words"),
        help,
    })
}

/// Names and texts stand in every table, message and page.
fn short(text: &str, longest: usize, what: &str) -> Result<(), Fault> {
    // Characters are counted only where there may be too many.
    let length = if text.len() > longest { text.chars().count() } else { 0 };
    if length <= longest {
        return Ok(());
    }
    let message = format!("found {what} of {length} characters; allowed: up to {longest}");
    Err(bad(message, "shorten it; a comment may have any length".into()))
}

/// Names address keys in overrides, and duplex links are named LEFT-RIGHT: dots and blanks would be ambiguous.
fn name(text: &str) -> Result<(), Fault> {
    short(text, LONGEST_NAME, "a name")?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(allowed) {
        return Ok(());
    }
    let proposal: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    let help = match proposal.trim_matches('-') {
        "" => "give it a name of letters, digits, - and _".into(),
        better => format!("write \"{better}\""),
    };
    let message = format!("found the name \"{text}\"; a name consists of ASCII letters, digits, - and _");
    Err(Fault { code: Code::BadName, message, help })
}

fn names(
    kind: Scalar,
    of: &'static str,
    count: RangeInclusive<usize>,
    items: &[Placed],
) -> Result<(), Fault> {
    if !count.contains(&items.len()) {
        let message = format!("found a list of {}; expected {}", items.len(), kind.what());
        return Err(bad(message, format!("give {}", kind.what())));
    }
    match items.iter().find(|item| item.as_text().is_none() && !item.is_broken()) {
        Some(item) => {
            let message = format!("found {}; expected the name of a {of}", item.value.found());
            Err(Fault { code: Code::WrongType, message, help: format!("give the name of a {of}") })
        }
        None => Ok(()),
    }
}

fn word_list(kind: Scalar, words: &[&'static str], items: &[Placed]) -> Result<(), Fault> {
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        let Some(text) = item.as_text() else {
            return Err(wrong_type(kind.into(), &item.value));
        };
        word(text, "allowed", words)?;
        if seen.contains(&text) {
            return Err(bad(format!("found \"{text}\" twice"), "name each word once".into()));
        }
        seen.push(text);
    }
    if items.is_empty() {
        return Err(bad("found an empty list".into(), format!("give {}", kind.what())));
    }
    Ok(())
}

fn seeds(value: &Value) -> Result<(), Fault> {
    let help = || format!("give {}", Kind::Scalar(Scalar::Seeds).what());
    let items = match value {
        Value::List(items) => items.as_slice(),
        Value::Integer(n) if (1..=MAX_SEEDS).contains(n) => return Ok(()),
        _ => return Err(bad(format!("found {}; allowed: 1 to {MAX_SEEDS} seeds", value.found()), help())),
    };
    let mut seen = std::collections::BTreeSet::new();
    for item in items {
        match item.value {
            Value::Integer(seed) if seed < 0 => {
                return Err(bad(format!("found the seed {seed}, which is negative"), help()));
            }
            Value::Integer(seed) if !seen.insert(seed) => {
                let help = "name each seed once: the same seed gives the same run";
                return Err(bad(format!("found the seed {seed} twice"), help.into()));
            }
            Value::Integer(_) => {}
            _ => return Err(wrong_type(Kind::Scalar(Scalar::Seeds), &item.value)),
        }
    }
    if items.is_empty() {
        return Err(bad("found an empty list; a scenario needs at least one seed".into(), help()));
    }
    Ok(())
}

/// A number with its unit, within bounds.
fn quantity<T>(text: &str, min: T, max: T, units: &[&'static str]) -> Result<Value, Fault>
where
    T: FromStr<Err = UnitError> + Display + PartialOrd,
{
    let value: T = text.parse().map_err(|e| unit_fault(text, &e, units))?;
    if value < min || value > max {
        let message = format!("found \"{text}\"; allowed: from \"{min}\" to \"{max}\"");
        let help = if value < min { format!("at least \"{min}\"") } else { format!("at most \"{max}\"") };
        return Err(bad(message, help));
    }
    Ok(Value::Text(value.to_string()))
}

/// A quantity that the parser refused. The parser's message says what is allowed; the cure is the same number with the
/// nearest unit, or with any.
fn unit_fault(text: &str, error: &UnitError, units: &[&'static str]) -> Fault {
    let split = text.find(|c: char| !(c.is_ascii_digit() || "._-".contains(c))).unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let (message, allowed) = error.message.split_once("; ").unwrap_or((&error.message, "see the reference"));
    let known = FOREIGN_UNITS
        .iter()
        .find(|(foreign, ours)| unit.eq_ignore_ascii_case(foreign) && units.contains(ours));
    let better = known
        .map(|(_, ours)| *ours)
        .or_else(|| if units.contains(&unit) { None } else { nearest(unit, units.iter().copied()) });
    // A quantity is not a thousandth of itself.
    let better = better.filter(|_| !unit.starts_with(['T', 'P', 'E']));
    let help = match better {
        None if let Some(smaller) = tera(number, unit, units) => {
            format!("did you mean \"{smaller}\"? units: {}", units.join(", "))
        }
        Some(better) if !number.is_empty() && !number.starts_with('-') && !unit.is_empty() => {
            format!("did you mean \"{number}{better}\"? units: {}", units.join(", "))
        }
        _ if text.trim().starts_with('-') => "give 0 or more".into(),
        _ if units.is_empty() => match number.parse::<f64>() {
            Ok(percent) if unit.is_empty() && percent > 1.0 && percent <= 100.0 => {
                format!("did you mean \"{number}%\"?")
            }
            _ => "give a number such as 0.01, or a percentage such as \"1%\"".into(),
        },
        _ if unit.is_empty() && !number.is_empty() => {
            let all: Vec<String> = units.iter().map(|unit| format!("\"{number}{unit}\"")).collect();
            format!("add a unit: {}", all.join(", "))
        }
        _ => allowed.into(),
    };
    bad(format!("{message}; {allowed}"), help)
}

/// The same quantity in the largest unit of its kind, as 1000Gbit/s for 1Tbit/s.
fn tera(number: &str, unit: &str, units: &[&'static str]) -> Option<String> {
    let giga = format!("G{}", unit.strip_prefix('T')?);
    let factor = if giga.starts_with("Gi") { 1024.0 } else { 1000.0 };
    let value = number.parse::<f64>().ok()? * factor;
    (units.contains(&giga.as_str()) && value < 1e15).then(|| format!("{value}{giga}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_unit_is_not_taken_for_a_smaller_one() {
        let help = |text: &str, units| {
            let error = text.parse::<BitsPerSecond>().unwrap_err();
            unit_fault(text, &error, units).help
        };
        assert!(help("1000Tbit/s", RATES).starts_with("did you mean \"1000000Gbit/s\"?"));
        assert!(help("1.5Tbit/s", RATES).starts_with("did you mean \"1500Gbit/s\"?"));
        assert!(help("3TiB", SIZES).starts_with("did you mean \"3072GiB\"?"));
        assert!(!help("5Pbit/s", RATES).contains("did you mean"));
        assert!(help("5Mbit", RATES).starts_with("did you mean \"5Mbit/s\"?"));
    }

    #[test]
    fn names_and_texts_have_a_length() {
        let told = |scalar: Scalar, text: String| {
            canonical(scalar, &Value::Text(text)).map_err(|fault| fault.message).err()
        };
        assert_eq!(told(Scalar::Name, "n".repeat(LONGEST_NAME)), None);
        assert_eq!(told(Scalar::Text, "\u{fc}".repeat(LONGEST_TEXT)), None);
        let long = told(Scalar::Name, "n".repeat(LONGEST_NAME + 1));
        assert_eq!(long.as_deref(), Some("found a name of 201 characters; allowed: up to 200"));
        let long = told(Scalar::Text, "\u{fc}".repeat(LONGEST_TEXT + 1));
        assert_eq!(long.as_deref(), Some("found a text of 10001 characters; allowed: up to 10000"));
    }

    #[test]
    fn a_cure_does_not_repeat_what_is_allowed() {
        let help = |text: &str, units| {
            let error = text.parse::<Nanos>().unwrap_err();
            unit_fault(text, &error, units).help
        };
        assert_eq!(help("3", &["ms", "s"]), "add a unit: \"3ms\", \"3s\"");
        assert_eq!(help("-3s", TIMES), "give 0 or more");
        let part = |text: &str| unit_fault(text, &text.parse::<Ratio>().unwrap_err(), &[]).help;
        assert_eq!(part("5"), "did you mean \"5%\"?");
        assert!(part("500").starts_with("give a number such as 0.01"));
        assert_eq!(part("-0.1"), "give 0 or more");
    }

    #[test]
    fn unit_lists_are_those_of_the_parsers() {
        for unit in TIMES {
            assert!(format!("1{unit}").parse::<Nanos>().is_ok(), "{unit}");
        }
        for unit in SIZES {
            assert!(format!("1{unit}").parse::<Bytes>().is_ok(), "{unit}");
        }
        for unit in RATES {
            assert!(format!("1{unit}").parse::<BitsPerSecond>().is_ok(), "{unit}");
        }
        let all = "1parsec".parse::<Nanos>().unwrap_err().message;
        assert!(all.contains(&TIMES.join(", ")), "{all}");
        let all = "1parsec".parse::<Bytes>().unwrap_err().message;
        assert!(all.contains(&SIZES.join(", ")), "{all}");
        let all = "1parsec".parse::<BitsPerSecond>().unwrap_err().message;
        assert!(all.contains(&RATES.join(", ")), "{all}");
    }
}
