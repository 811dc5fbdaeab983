//! Rates in bit/s, and the bridges between rate, size and time.

use std::fmt;
use std::str::FromStr;

use crate::parse::{UnitError, parse_quantity, print_quantity};
use crate::{Bytes, Nanos};

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

const UNITS: [(&str, u64); 4] =
    [("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];

const BIT_NANOS_PER_BYTE: u64 = 8_000_000_000;

impl BitsPerSecond {
    /// Time to clock `size` onto the link, rounded up: a link never finishes early.
    ///
    /// # Panics
    /// If the rate is zero; a scenario refuses such a link.
    pub fn time_to_send(self, size: Bytes) -> Nanos {
        debug_assert!(self.0 > 0, "a link without a rate never sends");
        // u64 is enough for packets (below 2.3 GB) and several times cheaper than u128.
        match size.0.checked_mul(BIT_NANOS_PER_BYTE) {
            Some(bit_nanos) => {
                let time = bit_nanos.div_ceil(self.0);
                debug_assert!(size.0 == 0 || time > 0, "{size} in no time");
                Nanos(time)
            }
            None => {
                let bit_nanos = u128::from(size.0) * u128::from(BIT_NANOS_PER_BYTE);
                Nanos(u64::try_from(bit_nanos.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
            }
        }
    }

    /// Whole bytes that fit into `duration`.
    pub fn bytes_in(self, duration: Nanos) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(duration.0) / u128::from(BIT_NANOS_PER_BYTE);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl FromStr for BitsPerSecond {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_quantity(text, "rate", &UNITS, "20Mbit/s").map(Self)
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_quantity(f, self.0, &UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_over_rate_is_time_rounded_up() {
        let rate: BitsPerSecond = "3Mbit/s".parse().unwrap();
        assert_eq!(rate.time_to_send(Bytes(1500)), Nanos::from_millis(4));
        assert_eq!(BitsPerSecond(3).time_to_send(Bytes(1)), Nanos(2_666_666_667));
        assert_eq!(BitsPerSecond(8).time_to_send(Bytes(u64::MAX / 2)), Nanos(u64::MAX));
        assert_eq!(rate.bytes_in(Nanos::from_millis(4)), Bytes(1500));
    }

    #[test]
    fn wrong_units_name_the_allowed_ones() {
        let error = "20Mb/s".parse::<BitsPerSecond>().unwrap_err().message;
        assert!(error.contains("unknown unit \"Mb/s\"") && error.contains("Mbit/s"), "{error}");
        assert_eq!("1.544Mbit/s".parse::<BitsPerSecond>().unwrap().to_string(), "1544kbit/s");
    }
}
