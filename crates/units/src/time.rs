//! Instants and durations of the simulated clock, in integer nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::parse::{UnitError, parse_quantity, print_quantity};

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

const UNITS: [(&str, u64); 5] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// The nearest whole number of nanoseconds; negative and not-a-number become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9 + 0.5) as u64)
    }

    /// In seconds: the nearest number up to 2^53 ns, which are 104 days. A product with 1e-9 would be
    /// 30.000000000000004 for 30 s.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.as_f64() / 1e9
    }

    /// Nanoseconds, for formulas that are defined on reals.
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// `self - other`, zero if `other` is longer.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, the longest duration on overflow.
    pub fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// `n` milliseconds after the start.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds after the start.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Time since `earlier`, zero if `earlier` is in the future.
    pub fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, as [`Nanos::as_secs_f64`] has them.
    pub fn as_secs_f64(self) -> f64 {
        Nanos(self.0).as_secs_f64()
    }

    /// True for a timer that is not set.
    pub fn is_never(self) -> bool {
        self == Self::NEVER
    }
}

impl Add<Nanos> for SimTime {
    type Output = Self;
    fn add(self, duration: Nanos) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}

impl AddAssign<Nanos> for SimTime {
    fn add_assign(&mut self, duration: Nanos) {
        *self = *self + duration;
    }
}

impl Sub for SimTime {
    type Output = Nanos;
    fn sub(self, earlier: Self) -> Nanos {
        debug_assert!(self >= earlier, "time went back: {self:?} < {earlier:?}");
        Nanos(self.0 - earlier.0)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(self >= other, "a negative duration: {} ns less {} ns", self.0, other.0);
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Nanos {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

/// Ratio of two durations, from whole nanoseconds: 600 ms over 25 ms is exactly 24.
impl Div for Nanos {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_quantity(text, "duration", &UNITS, "275ms").map(Self)
    }
}

impl FromStr for SimTime {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        Nanos::from_str(text).map(|d| Self(d.0))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Minutes parse but are not printed: "30s" and "90s" read alike.
        print_quantity(f, self.0, &UNITS[..4])
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_exactly() {
        for (text, nanos, printed) in [
            ("275ms", 275_000_000, "275ms"),
            ("0.6 s", 600_000_000, "600ms"),
            ("2min", 120_000_000_000, "120s"),
            ("1.5us", 1_500, "1500ns"),
            ("0s", 0, "0ns"),
        ] {
            let value: Nanos = text.parse().unwrap();
            assert_eq!(value, Nanos(nanos), "{text}");
            assert_eq!(value.to_string(), printed);
            assert_eq!(value.to_string().parse::<Nanos>().unwrap(), value);
        }
    }

    #[test]
    fn seconds_are_the_nearest_number() {
        // A step without small factors reaches numbers of all sizes.
        for nanos in (0..1_u64 << 53).step_by(90_071_992_547_409).chain((0..100_000).map(|n| n * 100_003)) {
            let written = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            let nearest: f64 = written.parse().unwrap();
            assert_eq!(Nanos(nanos).as_secs_f64().to_bits(), nearest.to_bits(), "{nanos}");
        }
        assert_eq!(SimTime::from_secs(30).as_secs_f64().to_string(), "30");
    }

    #[test]
    fn refuses_with_the_cure() {
        for (text, part) in [
            ("275", "no unit"),
            ("ms", "no number"),
            ("3parsec", "unknown unit \"parsec\""),
            ("-1s", "negative"),
            ("0.5ns", "finer than the smallest unit"),
            ("99999999999999s", "too large"),
        ] {
            let error = text.parse::<Nanos>().unwrap_err().message;
            assert!(error.contains(part) && error.contains("ns, us, ms, s, min"), "{error}");
        }
    }
}
