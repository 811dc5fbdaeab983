//! Answer of a connection that has been asked for its next packet.

/// Whether a packet has been written, and whether to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Nothing leaves now.
    Nothing,
    /// A packet has been written, and another may follow.
    Packet,
    /// A packet has been written. To ask again would find nothing and change nothing.
    LastPacket,
    /// The same of an ACK without data. Besides, nothing is outstanding and no deadline is nearer than when it was last
    /// asked for.
    Answer,
    /// The same for MPTCP, and more data waits: the subflow of the packet has [`Limit::CongestionWindow`], and no other has
    /// room. So the limits need not be asked for.
    ///
    /// [`Limit::CongestionWindow`]: crate::Limit::CongestionWindow
    WindowFilled,
}
