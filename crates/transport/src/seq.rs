//! Positions: in the sequence space of a subflow, in the data sequence space of a connection, in its byte stream, and
//! the 32 bits of them that a header carries.
//!
//! Three kinds of numbers count the same bytes and begin at different places. A type for each keeps them apart: the
//! compiler refuses to compare a subflow sequence number with a data sequence number.
//!
//! | Type | Counts | First byte of the stream |
//! |---|---|---|
//! | [`Seq`] | one direction of one subflow, from its initial sequence number | `Seq::FIRST_DATA` (1) |
//! | [`Dsn`] | one direction of a connection, from its initial data sequence number | `Dsn::FIRST_DATA` (1) |
//! | [`StreamOffset`] | bytes written by the application | 0 |
//!
//! Positions of the machines have 64 bits and never wrap. [`Seq32`] is the field of a header, which does.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use units::Bytes;

/// A position that ranges are made of.
pub trait Position: Copy + Ord + Default + fmt::Debug {
    /// Units between the beginning of its space and this position.
    fn distance(self) -> u64;
    /// The position `distance` units after the beginning of its space.
    fn at(distance: u64) -> Self;
}

impl Position for u64 {
    #[inline]
    fn distance(self) -> u64 {
        self
    }

    #[inline]
    fn at(distance: u64) -> Self {
        distance
    }
}

/// Order, distance and advance, which all positions have.
macro_rules! position {
    ($name:ident, $what:literal) => {
        impl $name {
            #[doc = concat!("Bytes from `earlier` to this ", $what, "; zero if `earlier` is not earlier.")]
            #[inline]
            pub fn saturating_since(self, earlier: Self) -> Bytes {
                Bytes(self.0.saturating_sub(earlier.0))
            }

            #[doc = concat!("Bytes from `earlier` to this ", $what, "; `None` if `earlier` is later.")]
            #[inline]
            pub fn checked_since(self, earlier: Self) -> Option<Bytes> {
                self.0.checked_sub(earlier.0).map(Bytes)
            }
        }

        impl Position for $name {
            #[inline]
            fn distance(self) -> u64 {
                self.0
            }

            #[inline]
            fn at(distance: u64) -> Self {
                Self(distance)
            }
        }

        impl Add<Bytes> for $name {
            type Output = Self;
            #[inline]
            fn add(self, bytes: Bytes) -> Self {
                Self(self.0 + bytes.0)
            }
        }

        impl AddAssign<Bytes> for $name {
            #[inline]
            fn add_assign(&mut self, bytes: Bytes) {
                *self = *self + bytes;
            }
        }

        impl Sub for $name {
            type Output = Bytes;
            #[inline]
            fn sub(self, earlier: Self) -> Bytes {
                debug_assert!(earlier <= self, "{earlier:?} is not before {self:?}");
                Bytes(self.0 - earlier.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// A position in the sequence space of one direction of a subflow, counted from the initial sequence number: 0 is the
/// SYN, 1 the first byte of payload; the FIN occupies the number after the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// A data sequence number (RFC 8684 section 3.3), counted from the initial data sequence number (IDSN) of the sender:
/// 1 is the first byte of the stream, because MP_CAPABLE occupies the first number as a SYN does. DATA_FIN occupies
/// the number after the last byte.
///
/// The number on the wire is the IDSN, which is derived from the key, plus this; no table or trace contains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dsn(pub u64);

/// Offset of a byte in the stream that the application writes; 0 is the first. With datagrams: offset in the
/// concatenation of all messages of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamOffset(pub u64);

position!(Seq, "sequence number");
position!(Dsn, "data sequence number");
position!(StreamOffset, "offset");

impl Seq {
    /// The SYN.
    pub const SYN: Self = Self(0);
    /// The first byte of payload.
    pub const FIRST_DATA: Self = Self(1);

    /// The sequence number field of a header, for a subflow with this initial sequence number.
    pub fn on_wire(self, isn: Seq32) -> Seq32 {
        // Modulo 2^32 by definition of the field.
        isn.wrapping_add(self.0 as u32)
    }

    /// The byte of a stream that is not mapped, that of plain TCP.
    ///
    /// The SYN is no byte: `None`.
    pub fn stream_offset(self) -> Option<StreamOffset> {
        self.checked_since(Self::FIRST_DATA).map(|bytes| StreamOffset(bytes.0))
    }
}

impl Dsn {
    /// The first byte of the stream.
    pub const FIRST_DATA: Self = Self(1);

    /// The byte of the stream; `None` for the number that MP_CAPABLE occupies.
    pub fn stream_offset(self) -> Option<StreamOffset> {
        self.checked_since(Self::FIRST_DATA).map(|bytes| StreamOffset(bytes.0))
    }
}

impl StreamOffset {
    /// The first byte.
    pub const START: Self = Self(0);

    /// Its sequence number on a subflow that carries the stream without a mapping.
    pub fn seq(self) -> Seq {
        Seq::FIRST_DATA + Bytes(self.0)
    }

    /// Its data sequence number.
    pub fn dsn(self) -> Dsn {
        Dsn::FIRST_DATA + Bytes(self.0)
    }
}

/// A sequence number as the header carries it: modulo 2^32 (RFC 9293 section 3.4).
///
/// It has no `Ord`: "before" is defined only for two numbers less than 2^31 apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq32(pub u32);

impl Seq32 {
    /// The number `count` after this one, modulo 2^32.
    #[must_use]
    pub const fn wrapping_add(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// True if this number comes before `other`. RFC 9293 section 3.4: "all arithmetic dealing with sequence numbers
    /// must be performed modulo 2^32"; that is so if going ahead from this one to the other takes less than 2^31 steps.
    #[must_use]
    pub const fn precedes(self, other: Self) -> bool {
        let ahead = other.0.wrapping_sub(self.0);
        0 < ahead && ahead < 1 << 31
    }

    /// The position that this field means: among those that the field stands for, the one closest to `near`, which is
    /// a position that the receiver knows, such as the next one it expects. The inverse of [`Seq::on_wire`] while both
    /// are less than 2^31 apart.
    #[must_use]
    pub fn extend(self, isn: Self, near: Seq) -> Seq {
        let low = self.0.wrapping_sub(isn.0);
        let ahead = low.wrapping_sub(near.0 as u32);
        let after = near.0.checked_add(u64::from(ahead));
        let before = near.0.checked_sub(u64::from(ahead.wrapping_neg()));
        let extended = match (after, before) {
            (Some(after), Some(before)) => {
                if ahead < 1 << 31 {
                    after
                } else {
                    before
                }
            }
            // The beginning or the end of the space is closer than 2^31: there is but one such position.
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => unreachable!("the space has more than 2^32 positions"),
        };
        debug_assert_eq!(Seq(extended).on_wire(isn), self, "the extended number has the same low bits");
        Seq(extended)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_of_the_first_byte_agree() {
        assert_eq!(StreamOffset::START.seq(), Seq::FIRST_DATA);
        assert_eq!(StreamOffset::START.dsn(), Dsn::FIRST_DATA);
        assert_eq!(Seq::FIRST_DATA.stream_offset(), Some(StreamOffset::START));
        assert_eq!(Dsn(1461).stream_offset(), Some(StreamOffset(1460)));
        assert_eq!(Seq::SYN.stream_offset(), None);
    }

    #[test]
    fn distances_are_bytes() {
        assert_eq!(Seq(1461) - Seq(1), Bytes(1460));
        assert_eq!(Seq(1) + Bytes(1460), Seq(1461));
        assert_eq!(Seq(1).checked_since(Seq(2)), None);
        assert_eq!(Seq(1).saturating_since(Seq(2)), Bytes::ZERO);
        assert_eq!(Dsn(7).checked_since(Dsn(7)), Some(Bytes::ZERO));
    }

    /// RFC 9293 section 3.4: "all arithmetic dealing with sequence numbers must be performed modulo 2^32"
    #[test]
    fn order_on_the_wire_wraps() {
        let last = Seq32(u32::MAX);
        assert!(last.precedes(Seq32(0)) && !Seq32(0).precedes(last));
        assert!(!last.precedes(last));
        assert!(Seq32(0).precedes(Seq32((1 << 31) - 1)));
        assert!(!Seq32(0).precedes(Seq32(1 << 31)) && !Seq32(1 << 31).precedes(Seq32(0)));
    }

    #[test]
    fn a_field_is_extended_to_the_closest_position() {
        let isn = Seq32(0xffff_fff0);
        assert_eq!(Seq(0x20).on_wire(isn), Seq32(0x10));
        assert_eq!(Seq32(0x10).extend(isn, Seq(0)), Seq(0x20));
        assert_eq!(Seq32(0x10).extend(isn, Seq(1 << 32)), Seq((1 << 32) + 0x20));
        assert_eq!(Seq32(0xffff_ffff).extend(Seq32(0), Seq(1 << 32)), Seq((1 << 32) - 1));
        // Before the SYN there is nothing.
        assert_eq!(Seq32(0xffff_ffff).extend(Seq32(0), Seq(0)), Seq(0xffff_ffff));
    }

    proptest! {
        #[test]
        fn extend_undoes_on_wire(isn: u32, seq in 0..u64::MAX / 2, off in -(1i64 << 31) + 1..1 << 31) {
            let (isn, seq) = (Seq32(isn), Seq(seq));
            if let Some(near) = seq.0.checked_add_signed(off) {
                prop_assert_eq!(seq.on_wire(isn).extend(isn, Seq(near)), seq);
            }
        }

        #[test]
        fn order_on_the_wire_is_that_of_close_positions(isn: u32, seq in 0..u64::MAX / 2, ahead in 1u64..1 << 31) {
            let (isn, first, second) = (Seq32(isn), Seq(seq), Seq(seq + ahead));
            prop_assert!(first.on_wire(isn).precedes(second.on_wire(isn)));
            prop_assert!(!second.on_wire(isn).precedes(first.on_wire(isn)));
        }
    }
}
