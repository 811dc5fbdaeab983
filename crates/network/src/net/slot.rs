//! A link with the one entry that it may have in the event queue, and where it leads.
//!
//! May: hold both. May not: decide when the link is called.

use engine::LazyTimer;
use scenario::model::Strip;

use crate::net::link::Link;
use crate::net::topology::NodeId;

/// A link with the one queue entry that it may have.
#[derive(Debug)]
pub(crate) struct LinkSlot {
    pub(crate) link: Link,
    pub(crate) timer: LazyTimer,
    /// The node at its far end.
    pub(crate) head: NodeId,
    /// The middlebox at its entrance.
    pub(crate) strip: Strip,
}
