//! The keys of a scenario, declared once as data: parser, schema, expanded scenarios and reference page all read
//! these tables.
//!
//! To add a key: a row in `tables.rs`, `proxy.rs` or `transport.rs` and a field in the model, which `fields!` in `assemble.rs` fills by
//! its name; a transport key also needs a value in every profile. A closed list of words stands in `held.rs`. Back ends
//! that take the model apart (`lab/src/backend/ns3/`) do not compile before they translate the field or refuse the key.

mod proxy;
mod tables;
mod transport;

use document::keys::{Fallback, Key};
use document::shorthand::{key, words};
use units::Bytes;

pub(crate) use tables::{DIRECTION, FLOW_ACTIONS, LEG, ROOT, SET};
pub(crate) use transport::TRANSPORT;

/// The largest window that can be advertised (RFC 7323 section 2.3).
const GIB: Bytes = Bytes(1 << 30);
/// Value of `strip_mptcp`: only options on SYNs.
pub(crate) const SYN: &str = "syn";
/// The value of a buffer that sizes itself.
pub(crate) const AUTO: &str = "auto";
/// The value of a send buffer that grows with the largest window of each subflow and never shrinks.
pub(crate) const EXPAND: &str = "expand";
/// The same, with the size of the largest subflow for an MPTCP connection.
pub(crate) const EXPAND_LARGEST: &str = "expand-largest";
/// The values of a buffer that are not its size.
/// Initial windows of associations that follow from the size of packets.
pub(crate) const INITIAL_WINDOWS: [&str; 2] = ["rfc9260", "rfc4960"];
pub(crate) const BUFFER_RULES: [&str; 3] = [AUTO, EXPAND, EXPAND_LARGEST];

const END: Key = key(
    "end",
    words(&["client", "server"]),
    Fallback::Text("client"),
    "whose address: the end that opens the connection, or the other",
);
