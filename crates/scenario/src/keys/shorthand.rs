//! Shorthand for the key tables.

use registry::OptionKind;
use units::{BitsPerSecond, Bytes, Nanos};

use super::{Fallback, Key, Kind, Scalar};

pub(super) const FLAG: Kind = Kind::Scalar(Scalar::Plain(OptionKind::Flag));
/// The largest window that can be advertised (RFC 7323 section 2.3).
pub(super) const GIB: Bytes = Bytes(1 << 30);

pub(super) const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Scalar(Scalar::Plain(OptionKind::Choice(words)))
}

pub(super) const fn integer(min: u64, max: u64) -> Kind {
    Kind::Scalar(Scalar::Plain(OptionKind::Integer { min, max }))
}

pub(super) const TEXT: Kind = Kind::Scalar(Scalar::Text);
pub(super) const NAME: Kind = Kind::Scalar(Scalar::Name);
pub(super) const PROBABILITY: Kind = Kind::Scalar(Scalar::Plain(OptionKind::Probability));

pub(super) const fn reference(what: &'static str) -> Kind {
    Kind::Scalar(Scalar::Reference(what))
}

pub(super) const fn limit(min: u64, max: u64) -> Kind {
    Kind::Scalar(Scalar::Limit { min, max })
}

pub(super) const fn duration(min: Nanos, max: Nanos) -> Kind {
    Kind::Scalar(Scalar::Duration { min, max })
}

pub(super) const fn size(min: Bytes, max: Bytes) -> Kind {
    Kind::Scalar(Scalar::Size { min, max })
}

pub(super) const fn rate(min: BitsPerSecond, max: BitsPerSecond) -> Kind {
    Kind::Scalar(Scalar::Rate { min, max })
}

pub(super) const fn buffer(min: Bytes, max: Bytes) -> Kind {
    Kind::Scalar(Scalar::Buffer { min, max })
}

pub(super) const fn key(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Key {
    Key { name, kind, default, doc, only: &[] }
}

pub(super) const END: Key = key(
    "end",
    words(&["client", "server"]),
    Fallback::Text("client"),
    "whose address: the end that opens the connection, or the other",
);
