//! Packet blocks of pcapng as most programs write them: whole words, the direction as the only option or none.
//!
//! Such a block is read where it stands: the parser of any block makes a list of options for each, and captures
//! have millions. A test reads damaged blocks in both ways.

use pcap_parser::EnhancedPacketBlock;
use pcap_parser::traits::PcapNGPacketBlock;

use crate::link::Way;

/// Kind of an enhanced packet block.
const KIND: u32 = 6;
/// Its head: kind, length, interface, two halves of the time, two lengths of the packet.
const HEAD: usize = 28;
/// Its length again.
const TAIL: usize = 4;
/// The option whose two lowest bits are the direction.
const EPB_FLAGS: u16 = 2;
/// Its head, with its length of four bytes, and the end of options.
const FLAGS: [u8; 4] = [EPB_FLAGS as u8, 0, 4, 0];
const END: [u8; 4] = [0; 4];

/// The content of a packet block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketBlock<'a> {
    /// Number of the interface in the section.
    pub(crate) interface: u32,
    /// Time in units of the interface.
    pub(crate) units: u64,
    /// Direction, if the block has it.
    pub(crate) way: Option<Way>,
    /// Bytes that the packet had.
    pub(crate) len: u32,
    /// The bytes that were kept.
    pub(crate) bytes: &'a [u8],
}

impl<'a> PacketBlock<'a> {
    /// The block at the beginning of `data` of a section with little-endian numbers, and its length.
    /// `None`: it is of another kind or form, or not complete.
    #[inline]
    pub(crate) fn usual(data: &'a [u8]) -> Option<(Self, usize)> {
        let words: &[[u8; 4]; HEAD / 4] = data.as_chunks().0.first_chunk()?;
        let [kind, whole, interface, high, low, kept, len] = words.map(u32::from_le_bytes);
        if kind != KIND || !whole.is_multiple_of(4) {
            return None;
        }
        let whole = whole as usize;
        let content = data.get(HEAD..whole.checked_sub(TAIL)?)?;
        let kept = kept as usize;
        let bytes = content.get(..kept)?;
        let (options, _) = content.get(kept.checked_next_multiple_of(4)?..)?.as_chunks();
        let way = match options {
            [] | [END] => None,
            [FLAGS, flags, END] => way(flags[0]),
            _ => return None,
        };
        // The tail repeats the length; a block with another one is damaged.
        if data.get(whole - TAIL..whole)? != words[1] {
            return None;
        }
        let units = u64::from(high) << 32 | u64::from(low);
        Some((Self { interface, units, way, len, bytes }, whole))
    }
}

impl<'a> From<&'a EnhancedPacketBlock<'_>> for PacketBlock<'a> {
    fn from(block: &'a EnhancedPacketBlock<'_>) -> Self {
        let flags = block.options.iter().find(|option| option.code.0 == EPB_FLAGS);
        Self {
            interface: block.if_id,
            units: u64::from(block.ts_high) << 32 | u64::from(block.ts_low),
            way: flags.and_then(|option| option.value.first()).and_then(|flags| way(*flags)),
            len: block.origlen,
            bytes: block.packet_data(),
        }
    }
}

/// The direction in the lowest bits of `epb_flags`.
fn way(flags: u8) -> Option<Way> {
    match flags & 3 {
        1 => Some(Way::In),
        2 => Some(Way::Out),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pcap_parser::pcapng::parse_enhancedpacketblock_le;
    use proptest::prelude::*;

    use super::*;

    /// A block with these options behind a packet.
    fn block(bytes: &[u8], options: &[u8]) -> Vec<u8> {
        let padded = bytes.len().next_multiple_of(4);
        let whole = (HEAD + padded + options.len() + TAIL) as u32;
        let mut block: Vec<u8> = [KIND, whole, 3, 4, 5, bytes.len() as u32, 1_500]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        block.extend(bytes);
        block.resize(HEAD + padded, 0);
        block.extend(options);
        block.extend(whole.to_le_bytes());
        block
    }

    fn options() -> impl Strategy<Value = Vec<u8>> {
        let flags = [FLAGS, [2, 0, 0, 0]].concat();
        let comment = [1, 0, 2, 0, b'a', b'b', 0, 0];
        prop_oneof![
            Just(vec![]),
            Just(END.to_vec()),
            Just(flags.clone()),
            Just([&flags[..], &END].concat()),
            Just([&comment[..], &flags, &END].concat()),
        ]
    }

    proptest! {
        /// A block that is read where it stands is the one that the parser of any block has, damaged or not.
        #[test]
        fn a_usual_block_is_any_block(
            bytes in proptest::collection::vec(any::<u8>(), 0..9),
            options in options(),
            damage in proptest::option::of((0usize..60, any::<u8>())),
            missing in 0usize..3,
            behind in proptest::collection::vec(any::<u8>(), 0..5),
        ) {
            let mut data = block(&bytes, &options);
            let whole = data.len();
            data.extend(behind);
            if let Some((at, byte)) = damage && let Some(place) = data.get_mut(at) {
                *place = byte;
            }
            data.truncate(data.len() - missing);
            let usual = PacketBlock::usual(&data);
            if let Some((block, length)) = usual {
                let (rest, any) = parse_enhancedpacketblock_le(&data).expect("it is one");
                prop_assert_eq!((block, data.len() - length), (PacketBlock::from(&any), rest.len()));
            } else {
                let plain = [0, END.len(), FLAGS.len() + 8].contains(&options.len());
                prop_assert!(damage.is_some() || data.len() < whole || !plain);
            }
        }
    }
}
