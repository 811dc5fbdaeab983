//! Keys declared as data: parser, schema, expanded files and reference pages all read tables of these types.

use registry::{Items, OptionKind};
use units::{BitsPerSecond, Bytes, Nanos};

use crate::tree::Value;
use crate::vocabulary::Catalogue;

/// A table of a file: the keys that it may hold.
#[derive(Debug)]
pub struct Section {
    /// Name in the schema and the reference page.
    pub name: &'static str,
    /// For messages: "a path".
    pub what: &'static str,
    /// For the reference page.
    pub doc: &'static str,
    /// In the order of expanded files and of the reference page.
    pub keys: &'static [Key],
    /// Written on one line inside its parent.
    pub inline: bool,
    /// Its compulsory keys may come from elsewhere (`like`, `both`), but for `name`.
    pub inherits: bool,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// As in the file.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Its value where none is given.
    pub default: Fallback,
    /// For messages and the reference page.
    pub doc: &'static str,
    /// Exists only if the key `kind` of the same table has one of these values; empty: always.
    pub only: &'static [&'static str],
}

impl Key {
    /// False if a table of this kind cannot have it.
    pub fn exists_with(&self, kind: Option<&str>) -> bool {
        self.only.is_empty() || kind.is_some_and(|kind| self.only.contains(&kind))
    }
}

/// Where the value comes from when none is given.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// Nowhere: it must be given.
    Compulsory,
    /// It may be missing.
    Absent,
    /// This text, as in a file but without quotes.
    Text(&'static str),
    /// The profile of the transport.
    Profile,
    /// Other keys, as described.
    Derived(&'static str),
    /// The defaults of its own keys (tables only).
    Keys,
}

/// Type of the value of a key. Bounds are included.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// One value, or a list that is one.
    Scalar(Scalar),
    /// An algorithm of a registry, as a bare name or a table with `kind` and options.
    Choice(Catalogue),
    /// This, or a list of such, all at work at once.
    OneOrMore(&'static Kind),
    /// A plain value, or a model of a registry by name or as a table.
    Setting {
        /// Kind of the plain value.
        plain: &'static Kind,
        /// Registry of the models.
        models: Catalogue,
    },
    /// One table.
    Table(&'static Section),
    /// An array of tables.
    Tables(&'static Section),
    /// A list, which may be empty.
    List(&'static Kind),
    /// A table whose keys are not known ahead.
    Map(&'static Kind),
    /// The one of these that has the form of the value.
    Either(&'static [Kind]),
}

/// Type of a value that has no keys of its own. Bounds are included.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// Any text.
    Text,
    /// A new name.
    Name,
    /// The name of something that exists.
    Reference(&'static str),
    /// A list of names of things that exist.
    Names {
        /// The kind of thing that they name, such as "node".
        of: &'static str,
        /// Fewest of them.
        least: usize,
        /// Most of them.
        most: usize,
    },
    /// True, false, a word, or a whole number from 1 on.
    FlagOrCount {
        /// The word.
        word: &'static str,
        /// The unit of the count, such as "segments".
        of: &'static str,
    },
    /// A list of words of a closed list, each at most once.
    Words(&'static [&'static str]),
    /// One of a list of names that messages call `what`.
    OneOf {
        /// Plural, such as "profiles".
        what: &'static str,
        /// The names.
        words: &'static [&'static str],
    },
    /// An option of an algorithm, or a plain value.
    Plain(OptionKind),
    /// A whole number or "unlimited".
    Limit {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A duration.
    Duration {
        /// Shortest.
        min: Nanos,
        /// Longest.
        max: Nanos,
    },
    /// A number of bytes.
    Size {
        /// Least.
        min: Bytes,
        /// Most.
        max: Bytes,
    },
    /// A rate.
    Rate {
        /// Least.
        min: BitsPerSecond,
        /// Most.
        max: BitsPerSecond,
    },
    /// A queue limit, or a multiple of the product of bandwidth and delay.
    Queue,
    /// A word of a closed list or a size.
    WordOrSize {
        /// The words.
        words: &'static [&'static str],
        /// Least.
        min: Bytes,
        /// Most.
        max: Bytes,
    },
    /// How many replications, or which.
    Seeds,
    /// Anything but dates and times.
    Any,
    /// A percentage above 0, such as "5%".
    Percentage,
}

impl From<Scalar> for Kind {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

/// No limit, where a key takes that.
pub const UNLIMITED: &str = "unlimited";
/// Most replications that one file may ask for.
pub const MAX_SEEDS: i64 = 1_000_000;

impl Section {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }

    /// Names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().map(|k| k.name)
    }
}

impl Kind {
    /// Kind of one item where several are allowed.
    pub fn one(self) -> Self {
        match self {
            Self::OneOrMore(one) => *one,
            other => other,
        }
    }

    /// The kind that a value of this form is checked against, where there are several.
    pub fn of_form(self, value: &Value) -> Self {
        let Self::Either(kinds) = self else { return self };
        let fits = |kind: &&Self| match kind {
            Self::Table(_) | Self::Map(_) => matches!(value, Value::Table(_)),
            Self::Tables(_) | Self::List(_) => matches!(value, Value::List(_)),
            Self::Scalar(Scalar::Plain(OptionKind::Flag)) => matches!(value, Value::Flag(_)),
            Self::Scalar(Scalar::Plain(OptionKind::Integer { .. })) => matches!(value, Value::Integer(_)),
            _ => matches!(value, Value::Text(_)),
        };
        kinds.iter().find(fits).copied().unwrap_or(self)
    }

    /// "a duration such as "275ms"", for messages and the reference page.
    pub fn what(self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.what(),
            Self::Choice(catalogue) => {
                format!("the name of {}, or a table with its `kind`", catalogue.one)
            }
            Self::OneOrMore(one) => format!("{}, or a list of such", one.what()),
            Self::Setting { plain, models } => {
                format!("{}, or a table with the `kind` of {}", plain.what(), models.one)
            }
            Self::Table(_) => "a table".into(),
            Self::Tables(_) => "an array of tables".into(),
            Self::List(one) => format!("a list; each item: {}", one.what()),
            Self::Map(one) => format!("a table; for each name: {}", one.what()),
            Self::Either(kinds) => {
                let all: Vec<String> = kinds.iter().map(|kind| kind.what()).collect();
                all.join("; or ")
            }
        }
    }
}

impl Scalar {
    /// As [`Kind::what`].
    pub fn what(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Any => "a value as in a scenario".into(),
            Self::Percentage => "a percentage above 0 such as \"5%\"".into(),
            Self::Name => "a name of letters, digits, - and _".into(),
            Self::Reference(what) => format!("the name of {what}"),
            Self::Names { of, least, most } if least == most => format!("a list of {most} {of} names"),
            Self::Names { of, .. } => format!("a list of {of} names"),
            Self::FlagOrCount { word, of } => format!("true, false, \"{word}\", or a whole number of {of}"),
            Self::Words(words) => format!("a list of some of {}", quoted(words.iter().copied())),
            Self::Plain(OptionKind::Flag) => "true or false".into(),
            Self::Plain(OptionKind::Integer { min, max }) => format!("a whole number from {min} to {max}"),
            Self::Plain(OptionKind::Number { min, max: f64::MAX }) if min <= f64::MIN => "a number".into(),
            Self::Plain(OptionKind::Number { min, max: f64::MAX }) => format!("a number from {min} on"),
            Self::Plain(OptionKind::Number { min, max }) => format!("a number from {min} to {max}"),
            Self::Plain(OptionKind::Duration) => "a duration such as \"275ms\"".into(),
            Self::Plain(OptionKind::Size) => "a size such as \"64KiB\"".into(),
            Self::Plain(OptionKind::Rate) => "a rate such as \"20Mbit/s\"".into(),
            Self::Plain(OptionKind::Probability) => "a probability such as 0.01 or \"1%\"".into(),
            Self::Plain(OptionKind::Choice(words)) => format!("one of {}", quoted(words.iter().copied())),
            Self::Plain(OptionKind::FlagOr(words)) => {
                format!("true, false or {}", quoted(words.iter().copied()))
            }
            Self::Plain(OptionKind::Limit) => Self::Queue.what(),
            Self::Plain(OptionKind::Text) => Self::Text.what(),
            Self::Plain(OptionKind::List(items)) => match items {
                Items::Durations => "a list of durations".into(),
                Items::Rates => "a list of rates".into(),
                Items::Numbers => "a list of numbers from 0 on".into(),
                Items::Integers => "a list of whole numbers from 1 on".into(),
            },
            Self::Plain(OptionKind::File(format)) => format!("the path of a file of {}", format.what),
            Self::Limit { min, max } => format!("a whole number from {min} to {max}, or \"{UNLIMITED}\""),
            Self::Duration { min, max } => format!("a duration from \"{min}\" to \"{max}\""),
            Self::Size { min, max: Bytes::MAX } => format!("a size from \"{min}\" on, or \"{UNLIMITED}\""),
            Self::Size { min, max } => format!("a size from \"{min}\" to \"{max}\""),
            Self::Rate { min, max } => format!("a rate from \"{min}\" to \"{max}\""),
            Self::Queue => "a queue limit such as \"100p\", \"64KiB\" or \"1.5BDP\"".into(),
            Self::WordOrSize { words, min, max } => {
                format!("{}, or a size from \"{min}\" to \"{max}\"", quoted(words.iter().copied()))
            }
            Self::Seeds => format!("a number of seeds from 1 to {MAX_SEEDS}, or a list of seeds"),
            Self::OneOf { words, .. } => format!("one of {}", quoted(words.iter().copied())),
        }
    }
}

/// `"a", "b"`.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|w| format!("\"{w}\"")).collect();
    words.join(", ")
}
