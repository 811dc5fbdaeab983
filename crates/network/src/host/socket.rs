//! Names of a connection: that of the hosts, and that of the application which uses it.
//!
//! May: be copied. May not: reach what they name.

use apps::{ConnectionId, Side};

/// A connection of some host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(crate) u32);

/// One end of a connection as its application names it. It exists from the moment when the application opens the
/// connection; the server end has a `SocketId` only once its host has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppSocket {
    /// Index of the flow.
    pub(crate) flow: u32,
    /// Connection of the flow.
    pub(crate) connection: ConnectionId,
    /// Which end.
    pub(crate) side: Side,
}

impl AppSocket {
    /// The same end of the flow, by index.
    pub(crate) fn flow(self) -> usize {
        self.flow as usize
    }
}
