//! The payload of simulated packets: the byte at stream offset n is n modulo 251.
//!
//! A prime, so that the pattern does not repeat with the size of a segment, and a reader can check which data it has.

use transport::seq::StreamOffset;

/// Bytes after which the pattern repeats.
pub(crate) const PERIOD: u64 = 251;
/// Payload of the largest packet.
const LARGEST: usize = u16::MAX as usize;

/// The pattern, from each of its beginnings as long as a packet can be.
static PATTERN: [u8; PERIOD as usize + LARGEST] = pattern();

const fn pattern() -> [u8; PERIOD as usize + LARGEST] {
    let mut bytes = [0; PERIOD as usize + LARGEST];
    let mut place = 1;
    while place < bytes.len() {
        bytes[place] = (bytes[place - 1] + 1) % PERIOD as u8;
        place += 1;
    }
    bytes
}

/// `len` bytes of the stream from `offset`; no more than an IP packet can carry.
#[inline]
pub fn payload(offset: StreamOffset, len: usize) -> &'static [u8] {
    let start = (offset.0 % PERIOD) as usize;
    &PATTERN[start..start + len.min(LARGEST)]
}

/// Places of words repeat after two periods, in which each byte stands at an even and at an odd place.
const WORDS: usize = 2 * PERIOD as usize;
/// Sum of the bytes of a period.
const TOTAL: u32 = (PERIOD * (PERIOD - 1) / 2) as u32;

/// Sums of the bytes of the pattern before each place: of those at even places, and at odd ones.
static SUMS: [[u32; 2]; WORDS] = sums();

const fn sums() -> [[u32; 2]; WORDS] {
    let mut all = [[0; 2]; WORDS];
    let mut place = 1;
    while place < WORDS {
        all[place] = all[place - 1];
        all[place][(place - 1) % 2] += PATTERN[place - 1] as u32;
        place += 1;
    }
    all
}

/// The same, at any place.
#[inline]
fn sums_before(place: usize) -> [u32; 2] {
    let [one, other] = SUMS[place % WORDS];
    // Places are below 2^17.
    let before = TOTAL * (place / WORDS) as u32;
    [one + before, other + before]
}

/// Payload of a packet, of which the first bytes may be enough, with its part of the checksum.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    len: usize,
    sum: u16,
}

impl<'a> Payload<'a> {
    /// These bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        let words = bytes
            .chunks(2)
            .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low)));
        Self { bytes, len: bytes.len(), sum: folded(words.sum()) }
    }

    /// So many zeros, which stand for any payload.
    pub fn zeros(len: usize) -> Self {
        Self { bytes: &[], len, sum: 0 }
    }

    /// `len` bytes of the stream from `offset`, as [`payload`] has them.
    #[inline]
    pub fn of_stream(offset: StreamOffset, len: usize) -> Payload<'static> {
        let bytes = payload(offset, len);
        let start = (offset.0 % PERIOD) as usize;
        let (before, after) = (sums_before(start), sums_before(start + bytes.len()));
        let even = u64::from(after[start % 2] - before[start % 2]);
        let odd = u64::from(after[1 - start % 2] - before[1 - start % 2]);
        Payload { bytes, len: bytes.len(), sum: folded((even << 8) + odd) }
    }

    /// Without bytes behind the first `most`, which are counted nevertheless.
    #[must_use]
    #[inline]
    pub fn up_to(self, most: usize) -> Self {
        Self { bytes: &self.bytes[..self.bytes.len().min(most)], ..self }
    }

    /// The bytes that there are.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its length, with what is missing.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that are counted and not there.
    #[inline]
    pub fn missing(&self) -> usize {
        self.len - self.bytes.len()
    }

    /// The ones' complement sum of its words, as checksums have it.
    #[inline]
    pub fn sum(&self) -> u16 {
        self.sum
    }
}

/// Carries are added.
#[inline]
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // It fits now.
    sum as u16
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

    #[test]
    fn sums_are_those_of_the_bytes() {
        for (offset, len) in [(0, 0), (0, 1), (1, 1), (1, 2), (250, 7), (7, 1448), (501, 1447), (3, 1 << 20)]
        {
            let fast = Payload::of_stream(StreamOffset(offset), len);
            assert_eq!(fast.sum(), Payload::of(fast.bytes()).sum(), "{len} bytes from {offset}");
            let head = fast.up_to(96);
            assert_eq!(
                (head.sum(), head.len(), head.bytes().len() + head.missing()),
                (fast.sum(), fast.len(), fast.len())
            );
        }
        assert_eq!((Payload::zeros(9).missing(), Payload::zeros(9).sum()), (9, Payload::of(&[0; 9]).sum()));
    }
}
