//! Times as real numbers for tables.

use units::{Nanos, SimTime};

/// In seconds, correctly rounded: multiplying by 1e-9 would make 30 s out to be 30.000000000000004.
pub trait Seconds {
    /// The value in seconds.
    fn seconds(self) -> f64;
}

impl Seconds for Nanos {
    fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Seconds for SimTime {
    fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_decimal_times_read_as_written() {
        for tenths in 0..10_000u32 {
            let nanos = Nanos::from_millis(100 * u64::from(tenths));
            assert_eq!(nanos.seconds().to_string(), (f64::from(tenths) / 10.0).to_string());
        }
    }
}
