//! Probabilities and shares.

use std::fmt;
use std::str::FromStr;

use crate::UnitError;

/// A probability or share between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    /// Never, nothing.
    pub const ZERO: Self = Self(0.0);

    /// Checks that `value` lies in 0..=1.
    ///
    /// # Errors
    /// Not a number, or outside 0..=1.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        if (0.0..=1.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(UnitError {
            message: format!("found {value}; a probability lies between 0 and 1, or \"0%\" and \"100%\""),
        })
    }

    /// The value between 0 and 1.
    pub fn get(self) -> f64 {
        debug_assert!((0.0..=1.0).contains(&self.0), "{} is no share", self.0);
        self.0
    }
}

impl FromStr for Ratio {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (text.trim(), 1.0),
        };
        let bad =
            |_| UnitError { message: format!("found \"{text}\"; a probability looks like 0.01 or \"1%\"") };
        Self::new(number.parse::<f64>().map_err(bad)? / scale)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest text that parses back to the same float.
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_plain() {
        assert_eq!("1%".parse::<Ratio>().unwrap(), Ratio::new(0.01).unwrap());
        assert_eq!("0.25".parse::<Ratio>().unwrap().get().to_string(), "0.25");
        for bad in ["101%", "-0.1", "NaN", "one"] {
            assert!(bad.parse::<Ratio>().is_err(), "{bad}");
        }
    }
}
