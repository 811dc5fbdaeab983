//! Answer of a connection that has been asked for its next packet.

use std::fmt;

/// Whether a packet has been written, whether to ask again, and what the host need not ask for then: one byte, which each packet
/// passes on.
#[derive(Clone, Copy)]
pub struct Departure(u8);

impl Departure {
    /// Nothing leaves now.
    pub const NOTHING: Self = Self(0);
    /// A packet has been written, and another may follow.
    pub const PACKET: Self = Self(1);
    /// A packet has been written. To ask again would find nothing and change nothing.
    pub const LAST: Self = Self(Self::PACKET.0 | 2);

    const FILLED: u8 = 4;
    const QUIET: u8 = 8;

    /// More data waits: the subflow of the packet, or the connection of plain TCP, has [`Limit::CongestionWindow`], and no other
    /// subflow has room.
    ///
    /// [`Limit::CongestionWindow`]: crate::Limit::CongestionWindow
    #[must_use]
    pub const fn filled(self) -> Self {
        Self(self.0 | Self::FILLED)
    }

    /// No deadline is nearer than when the next one was last asked for.
    #[must_use]
    pub const fn quiet(self) -> Self {
        Self(self.0 | Self::QUIET)
    }

    /// A packet has been written.
    #[inline]
    pub const fn is_packet(self) -> bool {
        self.0 & Self::PACKET.0 != 0
    }

    /// See [`LAST`](Self::LAST).
    #[inline]
    pub const fn is_last(self) -> bool {
        self.0 & Self::LAST.0 == Self::LAST.0
    }

    /// See [`filled`](Self::filled).
    #[inline]
    pub const fn is_filled(self) -> bool {
        self.0 & Self::FILLED != 0
    }

    /// See [`quiet`](Self::quiet).
    #[inline]
    pub const fn is_quiet(self) -> bool {
        self.0 & Self::QUIET != 0
    }
}

impl fmt::Debug for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.is_last() { "last" } else { ["nothing", "packet"][usize::from(self.is_packet())] };
        let marks = [(self.is_filled(), ", filled"), (self.is_quiet(), ", quiet")];
        let marks = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark);
        write!(f, "{name}{}", marks.collect::<String>())
    }
}
