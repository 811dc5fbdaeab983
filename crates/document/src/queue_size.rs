//! Sizes of queues as a file writes them: packets, bytes, or multiples of the product of bandwidth and delay.

use std::fmt;
use std::str::FromStr;

use units::{BitsPerSecond, Bytes, Nanos, QueueLimit, UnitError};

/// A queue limit, or the rule that gives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// Packets or bytes.
    Limit(QueueLimit),
    /// Millionths of the product of bandwidth and delay.
    Bdp(u64),
}

/// Bits in a byte, nanoseconds in a second, millionths.
const PER_BYTE: u128 = 8 * 1_000_000_000 * 1_000_000;
/// Most products of bandwidth and delay.
const MOST: u64 = 1_000_000;

impl QueueSize {
    /// The limit on a link of this rate for this round-trip time, rounded up to a byte.
    pub fn limit(self, rate: BitsPerSecond, round_trip: Nanos) -> QueueLimit {
        match self {
            Self::Limit(limit) => limit,
            Self::Bdp(millionths) => {
                debug_assert!(millionths > 0, "a queue for no packet");
                let bit_nanos = u128::from(rate.0) * u128::from(round_trip.0);
                let bytes = bit_nanos.checked_mul(u128::from(millionths)).map(|bits| bits.div_ceil(PER_BYTE));
                QueueLimit::Bytes(Bytes(bytes.and_then(|b| u64::try_from(b).ok()).unwrap_or(u64::MAX)))
            }
        }
    }
}

impl FromStr for QueueSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some(number) = text.trim().strip_suffix("BDP") else {
            return text.parse().map(Self::Limit);
        };
        let bad = || UnitError {
            message: format!(
                "found \"{text}\"; a multiple of the product of bandwidth and delay looks like \"1.5BDP\""
            ),
        };
        let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 || whole.len() + fraction.len() == 0 {
            return Err(bad());
        }
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
        let padded: u64 = format!("{fraction:0<6}").parse().map_err(|_| bad())?;
        match whole {
            0..=MOST if whole + padded > 0 => Ok(Self::Bdp(whole * 1_000_000 + padded)),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Bdp(millionths) => {
                let fraction = format!("{:06}", millionths % 1_000_000);
                let fraction = fraction.trim_end_matches('0');
                let dot = if fraction.is_empty() { "" } else { "." };
                write!(f, "{}{dot}{fraction}BDP", millionths / 1_000_000)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_bandwidth_and_delay() {
        let size: QueueSize = "1.5BDP".parse().unwrap();
        // 10 Mbit/s times 500 ms are 625 kB.
        let limit = size.limit(BitsPerSecond(10_000_000), Nanos::from_millis(500));
        assert_eq!(limit, QueueLimit::Bytes(Bytes(937_500)));
        // Nine tenths of a bit ten times are nine bits.
        let limit = QueueSize::Bdp(10_000_000).limit(BitsPerSecond(1), Nanos::from_millis(900));
        assert_eq!(limit, QueueLimit::Bytes(Bytes(2)));
        let most = QueueSize::Bdp(MOST * 1_000_000).limit(BitsPerSecond(u64::MAX), Nanos(u64::MAX));
        assert_eq!(most, QueueLimit::Bytes(Bytes(u64::MAX)));
        for (text, canonical) in [("2BDP", "2BDP"), (".25 BDP", "0.25BDP"), ("1.50BDP", "1.5BDP")] {
            assert_eq!(text.parse::<QueueSize>().unwrap().to_string(), canonical);
        }
        for bad in ["BDP", "0BDP", "-1BDP", "1e3BDP", "1.5.2BDP", "9999999999BDP", ".BDP"] {
            assert!(bad.parse::<QueueSize>().is_err(), "{bad}");
        }
        assert_eq!("100p".parse::<QueueSize>().unwrap(), QueueSize::Limit(QueueLimit::Packets(100)));
    }
}
