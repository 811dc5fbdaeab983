//! The payload of simulated packets: the byte at stream offset n is n modulo 251.
//!
//! A prime, so that the pattern does not repeat with the size of a segment, and a reader can check which data it has.

use transport::seq::StreamOffset;

/// Bytes after which the pattern repeats.
pub(crate) const PERIOD: u64 = 251;
/// Payload of the largest packet.
const LARGEST: usize = u16::MAX as usize;

/// The pattern, from each place of two periods as long as a packet can be.
static PATTERN: [u8; WORDS + LARGEST] = pattern();

const fn pattern() -> [u8; WORDS + LARGEST] {
    let mut bytes = [0; WORDS + LARGEST];
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
    StreamPlace::of(offset).bytes(len)
}

/// Words repeat after two periods, in which each byte is the high one of its word and the low one.
const WORDS: usize = 2 * PERIOD as usize;

/// Sums of the words of the stream before each place, of words that begin at an even one; the last of them is that of two periods.
static SUMS: [u32; WORDS + 1] = sums();

const fn sums() -> [u32; WORDS + 1] {
    let mut all = [0; WORDS + 1];
    let mut place = 1;
    while place < all.len() {
        let byte = PATTERN[place - 1] as u32;
        all[place] = all[place - 1] + if place % 2 == 1 { byte << 8 } else { byte };
        place += 1;
    }
    all
}

/// An offset of the stream, modulo two periods of the pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPlace(usize);

impl StreamPlace {
    #[inline(always)]
    pub(crate) fn of(offset: StreamOffset) -> Self {
        Self((offset.0 % WORDS as u64) as usize)
    }

    /// Bytes from here on; as many as a packet can carry.
    #[inline(always)]
    pub(crate) fn bytes(self, len: usize) -> &'static [u8] {
        &PATTERN[self.0..self.0 + len.min(LARGEST)]
    }

    /// The ones' complement sum of the words of the bytes from here on. With the bytes of each word exchanged it is the sum with its bytes
    /// exchanged (RFC 1071 section 2), so that one table does for words that begin at any place.
    #[inline(always)]
    pub(crate) fn sum(self, len: usize) -> u16 {
        let end = self.0 + len.min(LARGEST);
        let sum = SUMS[WORDS] * (end / WORDS) as u32 + SUMS[end % WORDS] - SUMS[self.0];
        folded(u64::from(sum)).rotate_left(8 * (self.0 % 2) as u32)
    }
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

    /// `len` zeros, which stand for any payload.
    pub fn zeros(len: usize) -> Self {
        Self { bytes: &[], len, sum: 0 }
    }

    /// `len` bytes of the stream from `offset`, as [`payload`] has them.
    #[inline]
    pub fn of_stream(offset: StreamOffset, len: usize) -> Payload<'static> {
        let place = StreamPlace::of(offset);
        let bytes = place.bytes(len);
        Payload { bytes, len: bytes.len(), sum: place.sum(len) }
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

/// Carries are added: the high half of a number and its halves exchanged is their sum, with the carry of the low half.
#[inline(always)]
pub(crate) fn folded(sum: u64) -> u16 {
    let two = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (two.wrapping_add(two.rotate_left(16)) >> 16) as u16
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
