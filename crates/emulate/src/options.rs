//! The options of Multipath TCP in the bytes of a packet, for middleboxes that remove them.
//!
//! May: find them and overwrite them with padding. May not: decide where that happens; links do.

use std::ops::Range;

use network::Multipath;

use crate::address::of_packet;

const PROTOCOL_TCP: u8 = 6;
const FLAG_SYN: u8 = 2;
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MPTCP: u8 = 30;
/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;

/// Multipath TCP in a packet.
pub(crate) fn multipath(packet: &[u8]) -> Multipath {
    match tcp(packet) {
        Some(tcp) if options(packet, &tcp).next().is_some() => {
            if packet[tcp.start + 13] & FLAG_SYN == 0 {
                Multipath::Segment
            } else {
                Multipath::Syn
            }
        }
        _ => Multipath::None,
    }
}

/// Overwrites the options of Multipath TCP with padding; the checksum stays right.
pub(crate) fn strip(packet: &mut [u8]) {
    let Some(tcp) = tcp(packet) else { return };
    let found: Vec<Range<usize>> = options(packet, &tcp).collect();
    for place in found {
        let before = sum(packet, &place, tcp.start);
        packet[place.clone()].fill(NO_OPERATION);
        let after = sum(packet, &place, tcp.start);
        let field = tcp.start + 16..tcp.start + 18;
        let checksum = u16::from_be_bytes([packet[field.start], packet[field.start + 1]]);
        packet[field].copy_from_slice(&updated(checksum, before, after).to_be_bytes());
    }
}

/// The header of TCP, with its options.
fn tcp(packet: &[u8]) -> Option<Range<usize>> {
    of_packet(packet)?;
    let start = usize::from(packet[0] & 15) * 4;
    // Packets that a kernel writes to a device are whole; a fragment behind the first has no header.
    let whole = packet[9] == PROTOCOL_TCP && packet[6] & 31 == 0 && packet[7] == 0;
    let length = usize::from(*packet.get(start + 12)? >> 4) * 4;
    (whole && length >= TCP_HEADER && packet.len() >= start + length).then_some(start..start + length)
}

/// Where the options of Multipath TCP are.
fn options<'p>(packet: &'p [u8], tcp: &Range<usize>) -> impl Iterator<Item = Range<usize>> + 'p {
    let (mut at, end) = (tcp.start + TCP_HEADER, tcp.end);
    std::iter::from_fn(move || {
        while at < end {
            let start = at;
            match packet[start] {
                END => break,
                NO_OPERATION => at += 1,
                kind => {
                    let length = usize::from(*packet.get(start + 1)?);
                    if length < 2 || start + length > end {
                        break;
                    }
                    at += length;
                    if kind == MPTCP {
                        return Some(start..at);
                    }
                }
            }
        }
        at = end;
        None
    })
}

/// The sum of the bytes of `place`, a part of a segment that begins at `start` or of the addresses
/// before it.
fn sum(packet: &[u8], place: &Range<usize>, start: usize) -> u32 {
    place
        .clone()
        .map(|at| {
            let byte = u32::from(packet[at]);
            if at % 2 == start % 2 { byte << 8 } else { byte }
        })
        .sum()
}

/// Equation 3 of RFC 1624.
fn updated(checksum: u16, before: u32, after: u32) -> u16 {
    !folded(u32::from(!checksum) + u32::from(!folded(before)) + after)
}

fn folded(mut sum: u32) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with these options, `data` bytes of data and a right checksum.
    fn segment(flags: u8, options: &[u8], data: usize) -> Vec<u8> {
        assert!(options.len().is_multiple_of(4));
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, PROTOCOL_TCP, 0, 0];
        packet.extend([10, 64, 0, 1, 10, 65, 0, 1]);
        packet.extend([0x12; 12]);
        packet.extend([((TCP_HEADER + options.len()) as u8 / 4) << 4, flags, 1, 2, 0, 0, 0, 0]);
        packet.extend(options);
        packet.extend((0..data).map(|byte| byte as u8));
        let checksum = !checked(&packet);
        packet[36..38].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    /// 0xffff if the checksum of the segment is right.
    fn checked(packet: &[u8]) -> u16 {
        let (addresses, segment) = (sum(packet, &(12..20), 20), sum(packet, &(20..packet.len()), 20));
        folded(addresses + segment + u32::from(PROTOCOL_TCP) + packet.len() as u32 - 20)
    }

    const TIMESTAMPS: [u8; 10] = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];

    /// Options of any length at odd and even places.
    #[test]
    fn options_become_padding_and_the_checksum_stays_right() {
        let mut found = [0; 2];
        for length in 2..=24u8 {
            for padding in 0..4 {
                let mut options = vec![NO_OPERATION; padding];
                found[padding % 2] += 1;
                options.extend([MPTCP, length]);
                options.extend((2..length).map(|byte| byte.wrapping_mul(57)));
                options.extend(TIMESTAMPS);
                options.resize(options.len().next_multiple_of(4), END);
                for flags in [16, 2, 18] {
                    let mut packet = segment(flags, &options, 7);
                    let syn = flags != 16;
                    assert_eq!(multipath(&packet), if syn { Multipath::Syn } else { Multipath::Segment });
                    let before = packet.clone();
                    strip(&mut packet);
                    assert_eq!(multipath(&packet), Multipath::None);
                    assert_eq!(checked(&packet), 0xffff, "length {length}, after {padding}");
                    let place = 40 + padding..40 + padding + usize::from(length);
                    assert!(packet[place.clone()].iter().all(|&byte| byte == NO_OPERATION));
                    let outside = |packet: &[u8]| {
                        [&packet[..36], &packet[38..place.start], &packet[place.end..]].concat()
                    };
                    assert_eq!(outside(&packet), outside(&before));
                }
            }
        }
        assert!(found.iter().all(|&places| places > 0));
    }

    #[test]
    fn two_options_are_both_removed_and_other_packets_are_left_alone() {
        let mut both = segment(16, &[MPTCP, 4, 0x20, 1, MPTCP, 4, 0x30, 2], 0);
        strip(&mut both);
        assert_eq!((multipath(&both), checked(&both)), (Multipath::None, 0xffff));
        let plain = segment(2, &[2, 4, 5, 180, 1, 1, 4, 2], 0);
        let mut udp = segment(16, &[MPTCP, 4, 0x20, 1], 0);
        udp[9] = 17;
        // An option that is longer than the header ends the list; so does one of no length.
        let long = segment(16, &[MPTCP, 9, 0x20, 1], 0);
        let empty = segment(16, &[77, 0, MPTCP, 2], 0);
        let mut short = segment(16, &[MPTCP, 4, 0x20, 1], 0);
        short.truncate(42);
        for packet in [plain, udp, long, empty, short, vec![0x45; 12], Vec::new()] {
            assert_eq!(multipath(&packet), Multipath::None, "{packet:?}");
            let mut after = packet.clone();
            strip(&mut after);
            assert_eq!(after, packet);
        }
    }
}
