//! Sizes in bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{UnitError, parse_quantity, print_quantity};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 7] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything: a limit that does not bind.
    pub const MAX: Self = Self(u64::MAX);

    /// `self - other`, zero if `other` is larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// For formulas that are defined on reals.
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// A sum that is kept has no limit in it: an overflow is a bug.
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(self >= other, "a negative size: {} B less {} B", self.0, other.0);
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_quantity(text, "size", &UNITS, "64KiB").map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_quantity(f, self.0, &UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_exactly() {
        for (text, bytes) in [
            ("64KiB", 65_536),
            ("1500B", 1_500),
            ("50MB", 50_000_000),
            ("1.5kB", 1_500),
            ("1.5KiB", 1_536),
            ("0.0625MiB", 65_536),
        ] {
            let value: Bytes = text.parse().unwrap();
            assert_eq!(value, Bytes(bytes), "{text}");
            assert_eq!(value.to_string().parse::<Bytes>().unwrap(), value);
        }
        assert_eq!("unlimited".parse::<Bytes>().unwrap(), Bytes::MAX);
        assert_eq!(Bytes::MAX.to_string(), "unlimited");
        for fine in ["0.5B", "0.1KiB", "0.00000000000000000000000000000000000000001GiB"] {
            assert!(fine.parse::<Bytes>().unwrap_err().message.contains("finer"), "{fine}");
        }
        assert!("1Mbit".parse::<Bytes>().unwrap_err().message.contains("KiB"));
    }
}
