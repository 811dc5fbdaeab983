//! Transmission sequence numbers, stream identifiers and stream sequence numbers.

use std::fmt;

use crate::seq::{Position, Seq32};

/// A transmission sequence number (RFC 9260 section 1.6), counted from the initial TSN of its sender: 0 is the first
/// DATA chunk. It has 64 bits and never wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tsn(pub u64);

impl Tsn {
    /// The first DATA chunk.
    pub const FIRST: Self = Self(0);

    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The 32 bits of a chunk header. The initial TSN is the tag of its sender, as RFC 9260 section 3.3.2 permits.
    #[must_use]
    pub fn on_wire(self, initial: Seq32) -> Seq32 {
        // Modulo 2^32 by definition of the field.
        initial.wrapping_add(self.0 as u32)
    }
}

impl Position for Tsn {
    fn distance(self) -> u64 {
        self.0
    }

    fn at(distance: u64) -> Self {
        Self(distance)
    }
}

impl fmt::Display for Tsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A stream of an association, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// Number of an ordered message in its stream. It wraps; only equality has a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ssn(pub u16);

impl Ssn {
    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Verification tag (RFC 9260 section 8.5): identifies an association to the end that has chosen it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// The tag of a packet with INIT, whose sender knows none yet.
    pub const NONE: Self = Self(0);

    /// The initial TSN of the end with this tag.
    #[must_use]
    pub const fn initial_tsn(self) -> Seq32 {
        Seq32(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_the_wire_wrap() {
        assert_eq!(Tsn(3).on_wire(Seq32(u32::MAX)), Seq32(2));
        assert_eq!(Ssn(u16::MAX).next(), Ssn(0));
    }
}
