//! Gap Ack Blocks of a SACK (RFC 9260 section 3.3.4), in the fixed space that a packet of the simulator has for them.
//!
//! A SACK on the wire has room for some 350 blocks. They are kept either as pairs of offsets, as the chunk has them, or as
//! a bit for each TSN: with concurrent transfer over unequal paths every second TSN may be missing. Deviation: blocks that fit
//! into neither form are left out, the highest first; the sender does not conclude from their absence that data was dropped.

use crate::sctp::tsn::Tsn;
use crate::tcp::ranges::{Range, RangeSet};

/// Bytes for the blocks.
const SPACE: usize = 80;
/// Blocks as pairs of 16-bit offsets.
const PAIRS: usize = SPACE / 4;
/// TSNs as single bits.
const BITS: u64 = 8 * SPACE as u64;
/// `pairs` of blocks that are kept as bits.
const AS_BITS: u8 = u8::MAX;

/// Blocks of TSNs that have arrived above the cumulative TSN.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GapBlocks {
    /// Number of pairs, or `AS_BITS`.
    pairs: u8,
    content: [u8; SPACE],
}

impl Default for GapBlocks {
    fn default() -> Self {
        Self { pairs: 0, content: [0; SPACE] }
    }
}

impl std::fmt::Debug for GapBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.blocks(Tsn::FIRST)).finish()
    }
}

impl GapBlocks {
    /// The blocks of `arrived`, all of which lies above `next`, the first TSN that is missing.
    pub fn new(next: Tsn, arrived: &RangeSet<Tsn>) -> Self {
        if arrived.is_empty() {
            return Self::default();
        }
        let offset = |tsn: Tsn| tsn.0 - next.0;
        let listed = || {
            let fits = |range: &Range<Tsn>| offset(range.end) <= u64::from(u16::MAX);
            arrived.iter().filter(fits).take(PAIRS)
        };
        let reach = listed().last().map_or(0, |range| offset(range.end));
        let mut blocks = Self::default();
        if reach < offset(arrived.end()).min(BITS) {
            blocks.pairs = AS_BITS;
            for range in arrived.iter() {
                for bit in offset(range.start)..offset(range.end).min(BITS) {
                    blocks.content[bit as usize / 8] |= 1 << (bit % 8);
                }
            }
            return blocks;
        }
        for range in listed() {
            let at = 4 * usize::from(blocks.pairs);
            blocks.content[at..at + 2].copy_from_slice(&(offset(range.start) as u16).to_be_bytes());
            blocks.content[at + 2..at + 4].copy_from_slice(&(offset(range.end) as u16).to_be_bytes());
            blocks.pairs += 1;
        }
        blocks
    }

    /// The blocks above `next`, in ascending order.
    pub fn blocks(&self, next: Tsn) -> impl Iterator<Item = Range<Tsn>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (start, end) = if self.pairs == AS_BITS {
                let start = (at..BITS).find(|bit| self.bit(*bit))?;
                let end = (start..BITS).find(|bit| !self.bit(*bit)).unwrap_or(BITS);
                at = end;
                (start, end)
            } else {
                let pair = usize::try_from(at).ok().filter(|pair| *pair < usize::from(self.pairs))?;
                at += 1;
                (self.offset(2 * pair), self.offset(2 * pair + 1))
            };
            Some(Range::new(Tsn(next.0 + start), Tsn(next.0 + end)))
        })
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        if self.pairs == AS_BITS { self.blocks(Tsn::FIRST).count() } else { usize::from(self.pairs) }
    }

    /// Nothing has arrived out of order.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    fn bit(&self, bit: u64) -> bool {
        self.content[bit as usize / 8] >> (bit % 8) & 1 != 0
    }

    fn offset(&self, index: usize) -> u64 {
        u64::from(u16::from_be_bytes([self.content[2 * index], self.content[2 * index + 1]]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet<Tsn> {
        let mut set = RangeSet::default();
        for &(start, end) in ranges {
            set.insert(Range::new(Tsn(start), Tsn(end)));
        }
        set
    }

    #[test]
    fn a_few_long_blocks_are_exact() {
        let arrived = set(&[(12, 5000), (5001, 9000)]);
        let blocks = GapBlocks::new(Tsn(10), &arrived);
        assert_eq!(blocks.blocks(Tsn(10)).collect::<Vec<_>>(), arrived.iter().collect::<Vec<_>>());
        assert_eq!((blocks.count(), blocks.is_empty()), (2, false));
    }

    #[test]
    fn every_second_tsn_is_told_by_bits() {
        let every_second: Vec<_> = (0..300).map(|i| (2 * i + 1, 2 * i + 2)).collect();
        let blocks = GapBlocks::new(Tsn(0), &set(&every_second));
        assert_eq!(blocks.count(), 300);
        assert_eq!(blocks.blocks(Tsn(0)).last(), Some(Range::new(Tsn(599), Tsn(600))));
    }

    proptest! {
        /// Each listed TSN has arrived, and the lowest block is always listed.
        #[test]
        fn blocks_never_tell_more_than_has_arrived(parts in vec((1u64..3000, 1u64..60), 1..80)) {
            let arrived = set(&parts.iter().map(|(start, len)| (start + 7, start + 7 + len)).collect::<Vec<_>>());
            let blocks = GapBlocks::new(Tsn(7), &arrived);
            let told: Vec<_> = blocks.blocks(Tsn(7)).collect();
            prop_assert_eq!(told.len(), blocks.count());
            prop_assert!(told.iter().all(|range| arrived.covers(*range)), "{:?}", told);
            prop_assert_eq!(told.first().map(|range| range.start), arrived.iter().next().map(|range| range.start));
        }
    }
}
