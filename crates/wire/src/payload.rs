//! The payload of simulated packets: the byte at stream offset n is n modulo 251.
//!
//! A prime, so that the pattern does not repeat with the size of a segment, and a reader can check which data it has.

use std::sync::LazyLock;

use transport::seq::StreamOffset;

const PERIOD: u64 = 251;
/// Payload of the largest packet.
const LARGEST: usize = u16::MAX as usize;

/// The pattern, from each of its beginnings as long as a packet can be.
static PATTERN: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..PERIOD as usize + LARGEST).map(|n| (n % PERIOD as usize) as u8).collect());

/// `len` bytes of the stream from `offset`; no more than an IP packet can carry.
pub fn payload(offset: StreamOffset, len: usize) -> &'static [u8] {
    let start = (offset.0 % PERIOD) as usize;
    &PATTERN[start..start + len.min(LARGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_follows_from_its_offset() {
        assert_eq!(payload(StreamOffset(250), 3), [250, 0, 1]);
        assert_eq!(payload(StreamOffset(2 * 251 + 7), 1), [7]);
        assert_eq!(payload(StreamOffset(1), 1 << 20).len(), LARGEST);
        let (first, second) = (payload(StreamOffset(0), 1500), payload(StreamOffset(1460), 40));
        assert_eq!(&first[1460..], second);
    }
}
