//! Gap Ack Blocks of a SACK (RFC 9260 section 3.3.4), in the fixed space that a packet of the simulator has for them.
//!
//! A SACK on the wire has room for some 350 blocks. They are kept either as pairs of offsets, as the chunk has them, or as
//! a bit for each TSN: with concurrent transfer over unequal paths every second TSN may be missing. Deviation: blocks that fit
//! into neither form are left out, the highest first; the sender does not conclude from their absence that data was dropped.
//! A third form, for [`GapBlocks::many`], codes the bits by how often each follows the eight before: the patterns that queues and
//! schedulers leave are regular, so thousands of TSNs fit. The rest of the code travels in the place of DATA chunks, if there are none.

mod code;

use code::{Decoder, encode};

use crate::sctp::tsn::Tsn;
use crate::tcp::ranges::{Range, RangeSet};

/// Bytes for the blocks.
const SPACE: usize = 87;
/// Bytes of the forms as pairs and as bits.
const PLAIN: usize = 80;
/// Blocks as pairs of 16-bit offsets.
const PAIRS: usize = PLAIN / 4;
/// TSNs as single bits.
const BITS: u64 = 8 * PLAIN as u64;
/// `pairs` of blocks that are kept as bits.
const AS_BITS: u8 = u8::MAX;
/// `pairs` of blocks whose bits are coded: the end and the number of blocks, 16 bits each, stand before them.
const CODED: u8 = AS_BITS - 1;
/// Bytes of the code that have no place here.
pub const MORE: usize = 64;
/// Bytes before the code.
const HEAD: usize = 4;
/// Blocks in a packet of 1500 bytes with room for an IPv6 header (`sctp_send_sack`).
const MOST_BLOCKS: usize = 358;

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
        if self.pairs == CODED {
            return write!(f, "{} blocks", self.count());
        }
        f.debug_list().entries(self.blocks(Tsn::FIRST, &[])).finish()
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

    /// The same with as many blocks as a packet has room for on the wire (`sctp_send_sack` of FreeBSD), as far as their code fits: what
    /// is left of it goes to `more`, of [`MORE`] bytes or empty.
    pub fn many(next: Tsn, arrived: &RangeSet<Tsn>, more: &mut [u8]) -> Self {
        let plain = Self::new(next, arrived);
        let reach = plain.blocks(next, &[]).last().map_or(next, |last| last.end);
        if arrived.is_empty() || reach == arrived.end() {
            return plain;
        }
        let mut offset = next.next();
        let ranges = arrived.iter().take(MOST_BLOCKS);
        let ranges = ranges.take_while(|range| range.end.0 - next.0 <= u64::from(u16::MAX));
        let bits = ranges.flat_map(|range| {
            let gap = std::mem::replace(&mut offset, range.end).0..range.start.0;
            gap.map(|_| false).chain((range.start.0..range.end.0).map(|_| true))
        });
        let mut room = [0; SPACE + MORE];
        let end = 1 + encode(bits, &mut room[HEAD..SPACE + more.len()]) as u64;
        if next.0 + end <= reach.0 {
            return plain;
        }
        let mut blocks = Self { pairs: CODED, content: [0; SPACE] };
        room[..2].copy_from_slice(&(end as u16).to_be_bytes());
        let (head, tail) = room.split_at(SPACE);
        blocks.content.copy_from_slice(head);
        more.copy_from_slice(&tail[..more.len()]);
        let count = blocks.blocks(next, more).count();
        blocks.content[2..HEAD].copy_from_slice(&(count as u16).to_be_bytes());
        blocks
    }

    /// The blocks above `next`, in ascending order; `more` is what [`GapBlocks::many`] has put there.
    pub fn blocks<'a>(&'a self, next: Tsn, more: &'a [u8]) -> impl Iterator<Item = Range<Tsn>> + use<'a> {
        let mut at = 0;
        let code = || self.content[HEAD..].iter().chain(more);
        let mut decoder = (self.pairs == CODED).then(|| Decoder::new(code(), self.offset(0)));
        std::iter::from_fn(move || {
            let (start, end) = if let Some(decoder) = &mut decoder {
                decoder.block()?
            } else if self.pairs == AS_BITS {
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
        match self.pairs {
            AS_BITS => self.blocks(Tsn::FIRST, &[]).count(),
            CODED => self.offset(1) as usize,
            pairs => usize::from(pairs),
        }
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
        assert_eq!(blocks.blocks(Tsn(10), &[]).collect::<Vec<_>>(), arrived.iter().collect::<Vec<_>>());
        assert_eq!((blocks.count(), blocks.is_empty()), (2, false));
    }

    #[test]
    fn every_second_tsn_is_told_by_bits() {
        let every_second: Vec<_> = (0..300).map(|i| (2 * i + 1, 2 * i + 2)).collect();
        let blocks = GapBlocks::new(Tsn(0), &set(&every_second));
        assert_eq!(blocks.count(), 300);
        assert_eq!(blocks.blocks(Tsn(0), &[]).last(), Some(Range::new(Tsn(599), Tsn(600))));
    }

    /// 830 TSNs above the first missing one, of which two in four have arrived: slow start over GEO has overflowed the queue. Neither 20
    /// pairs nor 640 bits hold them.
    #[test]
    fn a_packet_full_of_blocks_is_told_whole() {
        let two_in_four: Vec<_> = (0..200).map(|i| (4 * i + 2, 4 * i + 4)).chain([(802, 830)]).collect();
        let arrived = set(&two_in_four);
        let plain = GapBlocks::new(Tsn(0), &arrived);
        assert_eq!(plain.blocks(Tsn(0), &[]).last(), Some(Range::new(Tsn(638), Tsn(640))));
        let blocks = GapBlocks::many(Tsn(0), &arrived, &mut []);
        assert_eq!(blocks.blocks(Tsn(0), &[]).collect::<Vec<_>>(), arrived.iter().collect::<Vec<_>>());
        assert_eq!(blocks.count(), 201);
        let every_second: Vec<_> = (0..1000).map(|i| (2 * i + 1, 2 * i + 2)).collect();
        assert_eq!(GapBlocks::many(Tsn(0), &set(&every_second), &mut []).count(), MOST_BLOCKS);
    }

    proptest! {
        /// The coded form tells no less than the others, in the same order, and never more than has arrived.
        #[test]
        fn many_blocks_are_told_from_the_lowest_on(
            parts in vec((1u64..3000, 1u64..9), 1..400), bundled in any::<bool>()
        ) {
            let arrived = set(&parts.iter().map(|(start, len)| (start + 7, start + 7 + len)).collect::<Vec<_>>());
            let mut more = [0; MORE];
            let more = if bundled { &mut more[..0] } else { &mut more[..] };
            let many = GapBlocks::many(Tsn(7), &arrived, more);
            let told: Vec<_> = many.blocks(Tsn(7), more).collect();
            prop_assert_eq!(told.len(), many.count());
            let (last, before) = told.split_last().expect("something has arrived");
            let all: Vec<_> = arrived.iter().collect();
            prop_assert_eq!(before, &all[..before.len()]);
            prop_assert!(last.start == all[before.len()].start && last.end <= all[before.len()].end);
        }

        /// Each listed TSN has arrived, and the lowest block is always listed.
        #[test]
        fn blocks_never_tell_more_than_has_arrived(parts in vec((1u64..3000, 1u64..60), 1..80)) {
            let arrived = set(&parts.iter().map(|(start, len)| (start + 7, start + 7 + len)).collect::<Vec<_>>());
            let blocks = GapBlocks::new(Tsn(7), &arrived);
            let told: Vec<_> = blocks.blocks(Tsn(7), &[]).collect();
            prop_assert_eq!(told.len(), blocks.count());
            prop_assert!(told.iter().all(|range| arrived.covers(*range)), "{:?}", told);
            prop_assert_eq!(told.first().map(|range| range.start), arrived.iter().next().map(|range| range.start));
        }
    }
}
