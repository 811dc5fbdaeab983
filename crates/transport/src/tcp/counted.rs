//! Windows count the bytes of segments, or as in Linux a whole MSS for each.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use units::Bytes;

use super::sent::Sent;
use crate::config::CwndCounts;

/// A number of segments, and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sequence numbers that they occupy.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
}

impl From<&Sent> for Tally {
    fn from(segment: &Sent) -> Self {
        Self { bytes: u64::from(segment.len), segments: 1 }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, segments: self.segments + other.segments }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { bytes: self.bytes - other.bytes, segments: self.segments - other.segments }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Tally {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// How a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Bytes that each segment counts for; 0: those that it has.
    each: u64,
}

impl Counted {
    /// In segments of `mss` bytes, whatever they carry, or in bytes.
    pub fn new(counts: CwndCounts, mss: Bytes) -> Self {
        Self { each: if counts == CwndCounts::Segments { mss.0 } else { 0 } }
    }

    /// Bytes of a window that `tally` takes.
    #[inline]
    pub fn of(self, tally: Tally) -> u64 {
        if self.each > 0 { tally.segments * self.each } else { tally.bytes }
    }

    /// The same of one segment of `len` bytes.
    #[inline]
    pub fn one(self, len: u64) -> u64 {
        if self.each > 0 { self.each } else { len }
    }
}
