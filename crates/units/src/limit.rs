//! Limits of queues, in packets or in bytes.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, UnitError};

/// How much may wait in front of a transmitter. The packet being transmitted does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Whole packets, whatever their size.
    Packets(u64),
    /// Bytes.
    Bytes(Bytes),
}

impl QueueLimit {
    /// True if one more packet of `size` fits behind `packets` packets of together `bytes`.
    pub fn admits(self, packets: u64, bytes: Bytes, size: Bytes) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + size <= limit,
        }
    }
}

impl FromStr for QueueLimit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let number = text.strip_suffix('p').map(str::trim).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        if let Some(number) = number.filter(|n| !n.is_empty()) {
            let too_large = |_| UnitError { message: format!("found \"{text}\", which is too large") };
            return number.parse().map(Self::Packets).map_err(too_large);
        }
        let cure = |e: UnitError| UnitError {
            message: format!("{}; a queue may also be counted in packets, as in \"100p\"", e.message),
        };
        text.parse().map(Self::Bytes).map_err(cure)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_bytes() {
        assert_eq!("100p".parse::<QueueLimit>().unwrap(), QueueLimit::Packets(100));
        assert_eq!("64KiB".parse::<QueueLimit>().unwrap(), QueueLimit::Bytes(Bytes(65536)));
        assert!("100".parse::<QueueLimit>().unwrap_err().message.contains("\"100p\""));
        assert!(QueueLimit::Packets(2).admits(1, Bytes(9000), Bytes(1500)));
        assert!(!QueueLimit::Bytes(Bytes(3000)).admits(1, Bytes(1501), Bytes(1500)));
    }
}
