//! Shorthand for the key tables.

use registry::OptionKind;
use units::{BitsPerSecond, Bytes, Nanos};

use crate::keys::{Fallback, Key, Kind, Scalar};

/// True or false.
pub const FLAG: Kind = Kind::Scalar(Scalar::Plain(OptionKind::Flag));

/// One word of a closed list.
pub const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Scalar(Scalar::Plain(OptionKind::Choice(words)))
}

/// A whole number; bounds are included.
pub const fn integer(min: u64, max: u64) -> Kind {
    Kind::Scalar(Scalar::Plain(OptionKind::Integer { min, max }))
}

/// Any text.
pub const TEXT: Kind = Kind::Scalar(Scalar::Text);
/// A new name.
pub const NAME: Kind = Kind::Scalar(Scalar::Name);
/// A probability.
pub const PROBABILITY: Kind = Kind::Scalar(Scalar::Plain(OptionKind::Probability));

/// The name of something that exists.
pub const fn reference(what: &'static str) -> Kind {
    Kind::Scalar(Scalar::Reference(what))
}

/// A whole number or "unlimited".
pub const fn limit(min: u64, max: u64) -> Kind {
    Kind::Scalar(Scalar::Limit { min, max })
}

/// A duration; bounds are included.
pub const fn duration(min: Nanos, max: Nanos) -> Kind {
    Kind::Scalar(Scalar::Duration { min, max })
}

/// A number of bytes; bounds are included.
pub const fn size(min: Bytes, max: Bytes) -> Kind {
    Kind::Scalar(Scalar::Size { min, max })
}

/// A rate; bounds are included.
pub const fn rate(min: BitsPerSecond, max: BitsPerSecond) -> Kind {
    Kind::Scalar(Scalar::Rate { min, max })
}

/// A word of a closed list or a size.
pub const fn buffer(words: &'static [&'static str], min: Bytes, max: Bytes) -> Kind {
    Kind::Scalar(Scalar::WordOrSize { words, min, max })
}

/// A key that exists whatever `kind` its table has.
pub const fn key(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Key {
    Key { name, kind, default, doc, only: &[] }
}
