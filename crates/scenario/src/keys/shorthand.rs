//! Shorthand for the key tables.

use registry::OptionKind;
use units::Bytes;

use super::{Fallback, Key, Kind};

pub(super) const FLAG: Kind = Kind::Plain(OptionKind::Flag);
/// The largest window that can be advertised (RFC 7323 section 2.3).
pub(super) const GIB: Bytes = Bytes(1 << 30);

pub(super) const fn words(words: &'static [&'static str]) -> Kind {
    Kind::Plain(OptionKind::Choice(words))
}

pub(super) const fn integer(min: u64, max: u64) -> Kind {
    Kind::Plain(OptionKind::Integer { min, max })
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
