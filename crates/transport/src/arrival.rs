//! Answer of a connection that has taken in a packet.

use units::Bytes;

/// Changes by a packet, so that the host need not ask for each thing that it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The usual ACK: new data of its subflow is acknowledged, whose congestion window is this now. No data has arrived.
    Acknowledged(Bytes),
    /// Anything.
    Any,
}
