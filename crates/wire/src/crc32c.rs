//! CRC32c, the checksum of SCTP (RFC 9260 appendix A): polynomial 0x1EDC6F41, bits reflected.
//!
//! Sixteen bytes are taken at once, each through a table of its own. Payload is a function of its place in the stream, and so is what it does to the
//! checksum: whole packets are covered even where a capture keeps their headers alone.

use std::sync::LazyLock;

use transport::seq::StreamOffset;

use crate::payload::{PERIOD, payload};

/// The polynomial, its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Bytes of one step.
const STEP: usize = 16;

/// By the number of bytes that follow: what a byte adds.
static TABLES: [[u32; 256]; STEP] = tables();

const fn tables() -> [[u32; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut follow = 1;
    while follow < STEP {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[follow - 1][byte];
            tables[follow][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        follow += 1;
    }
    tables
}

/// Payload that is looked up: that of a packet with jumbo frames.
const LOOKED_UP: usize = 1 << 14;
/// The polynomial 1, its bits reversed.
const ONE: u32 = 1 << 31;

/// By a number of bytes: the state that payload of this length from offset zero leaves of a state of zero, and the polynomial by which zeros of this
/// length multiply a state.
static LENGTHS: LazyLock<Vec<[u32; 2]>> = LazyLock::new(|| {
    let bytes = payload(StreamOffset::START, PERIOD as usize + LOOKED_UP);
    let mut both = [0, ONE];
    let after = bytes.iter().map(|byte| {
        both = [step(both[0], *byte), step(both[1], 0)];
        both
    });
    std::iter::once([0, ONE]).chain(after).collect()
});

/// The state after one more byte.
fn step(state: u32, byte: u8) -> u32 {
    state >> 8 ^ TABLES[0][usize::from(state as u8 ^ byte)]
}

/// The product of two polynomials of reversed bits, modulo that of the checksum.
fn product(one: u32, other: u32) -> u32 {
    let (mut product, mut shifted) = (0, other);
    for bit in (0..u32::BITS).rev() {
        let selected = 0u32.wrapping_sub(one >> bit & 1);
        product ^= shifted & selected;
        shifted = shifted >> 1 ^ POLYNOMIAL & 0u32.wrapping_sub(shifted & 1);
    }
    product
}

/// A checksum over parts of a packet, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c(u32);

impl Default for Crc32c {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc32c {
    /// With these bytes too.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut crc = self.0;
        let (steps, rest) = bytes.as_chunks::<STEP>();
        for step in steps {
            let state = crc.to_le_bytes();
            let mut next = 0;
            for (at, byte) in step.iter().enumerate() {
                let byte = byte ^ state.get(at).copied().unwrap_or(0);
                next ^= TABLES[STEP - 1 - at][usize::from(byte)];
            }
            crc = next;
        }
        for byte in rest {
            crc = step(crc, *byte);
        }
        Self(crc)
    }

    /// With `len` bytes of the stream from `offset` too, as [`payload`] has them.
    #[must_use]
    pub fn with_payload(self, offset: StreamOffset, len: usize) -> Self {
        let start = (offset.0 % PERIOD) as usize;
        match (LENGTHS.get(start), LENGTHS.get(len), LENGTHS.get(start + len)) {
            // Linear: the state and what stands before the payload go through its length together, and drop out of the whole.
            (Some([before, _]), Some([_, zeros]), Some([whole, _])) => {
                Self(whole ^ product(self.0 ^ before, *zeros))
            }
            _ => self.with(payload(offset, len)),
        }
    }

    /// The field of the common header: RFC 9260 appendix A puts the low byte first.
    pub fn field(self) -> [u8; 4] {
        (!self.0).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(Crc32c::default().with(bytes).field())
    }

    /// RFC 3720 appendix B.4 has these values; that of "123456789" is the check value of catalogues.
    #[test]
    fn known_values() {
        assert_eq!(value(b"123456789"), 0xe306_9283);
        assert_eq!(value(&[0; 32]), 0x8a91_36aa);
        assert_eq!(value(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(value(&ascending), 0x46dd_794e);
        assert_eq!(value(&[]), 0);
    }

    #[test]
    fn payload_is_looked_up() {
        for (offset, len) in [(0, 0), (0, 1), (250, 1), (7, 250), (1000, 1452), (123, LOOKED_UP), (5, 60_000)]
        {
            let offset = StreamOffset(offset);
            let before = Crc32c::default().with(b"a header");
            let (looked_up, read) = (before.with_payload(offset, len), before.with(payload(offset, len)));
            assert_eq!(looked_up.field(), read.field(), "{len} bytes from {}", offset.0);
        }
    }

    #[test]
    fn parts_are_as_good_as_the_whole() {
        let bytes: Vec<u8> = (0..100u8).collect();
        for cut in 0..bytes.len() {
            let parts = Crc32c::default().with(&bytes[..cut]).with(&bytes[cut..]);
            assert_eq!(parts.field(), Crc32c::default().with(&bytes).field());
        }
    }
}
