//! The fields of a packet that stay on the way, as one number: two copies have the same, and no other packet has.

/// Protocols in the IP header.
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
/// A flag of TCP, and kinds of its options.
const SYN: u8 = 2;
const NOP: u8 = 1;
const TIMESTAMPS: u8 = 8;
/// Headers of IP.
const FOUR: usize = 20;
const SIX: usize = 40;
/// Least bytes of payload that tell a datagram of UDP without an identification.
const TELLING: usize = 8;
/// Most bytes that are looked at behind a header.
const MOST: usize = 48;
/// Digits of the golden ratio: multiplication spreads each bit.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number for the fields that stay on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) hash: u64,
    /// Another packet with this fingerprint is a copy; a bare acknowledgement without an identification may come again.
    pub(crate) tells: bool,
}

impl Fingerprint {
    /// That of a datagram. `None`: it is a fragment, of another protocol, or cut off.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let first = *bytes.first()?;
        let (protocol, head, counted, addresses, length, identified) = match first >> 4 {
            4 => {
                let head = usize::from(first & 15) * 4;
                let fixed = bytes.get(..FOUR)?;
                if fixed[6] & 0x3f != 0 || fixed[7] != 0 || head < FOUR {
                    return None;
                }
                (fixed[9], head, head, &fixed[12..], &fixed[2..6], fixed[4..6] != [0, 0])
            }
            6 => {
                let fixed = bytes.get(..SIX)?;
                (fixed[6], SIX, 0, &fixed[8..], &fixed[4..6], false)
            }
            _ => return None,
        };
        let rest = bytes.get(head..)?;
        // Checksums are not complete where an interface completes them.
        let (fields, more) = match protocol {
            TCP => {
                let whole = usize::from(u16::from_be_bytes([length[0], length[1]]));
                return Self::of_segment(rest, whole.saturating_sub(counted), [addresses, &length[2..]]);
            }
            UDP => {
                let payload = &rest.get(8..)?[..(rest.len() - 8).min(MOST)];
                if !identified && payload.len() < TELLING {
                    return None;
                }
                (&rest[..6], payload)
            }
            SCTP => (rest.get(..8)?, &rest.get(12..)?[..(rest.len() - 12).min(MOST)]),
            _ => return None,
        };
        Some(Self::whole(&[&[protocol], addresses, length, fields, more], true))
    }

    /// A number for a segment of TCP by which a sample is taken: the same for copies, and quickly found.
    #[inline]
    pub(crate) fn quick(bytes: &[u8]) -> Option<u64> {
        let first = *bytes.first()?;
        let (protocol, head) = match first >> 4 {
            4 => (bytes.get(9)?, usize::from(first & 15) * 4),
            _ => (bytes.get(6)?, SIX),
        };
        let numbers = bytes.get(head + 4..)?.first_chunk()?;
        (*protocol == TCP).then(|| finish(u64::from_le_bytes(*numbers).wrapping_mul(SPREAD)))
    }

    /// That of a segment of TCP with a header and payload of `len` bytes: some ways take options off those of a handshake.
    fn of_segment(bytes: &[u8], len: usize, [addresses, identification]: [&[u8]; 2]) -> Option<Self> {
        let fields = bytes.get(..20)?;
        let head = usize::from(fields[12] >> 4) * 4;
        let payload = len.saturating_sub(head);
        let identified = identification.iter().any(|byte| *byte != 0);
        let size = (payload as u32).to_le_bytes();
        let mut found = Self::whole(
            &[addresses, identification, &fields[..12], &fields[13..16], &size],
            identified || fields[13] & SYN != 0 || payload > 0,
        );
        let options = &bytes[20..head.clamp(20, bytes.len())];
        if !identified && fields[13] & SYN == 0 {
            // Options tell acknowledgements from each other.
            found.hash = finish(mix(found.hash, options));
        } else if !identified {
            found.hash =
                timestamps(options).iter().fold(found.hash, |hash, option| finish(mix(hash, option)));
        }
        Some(found)
    }

    fn whole(parts: &[&[u8]], tells: bool) -> Self {
        Self { hash: finish(parts.iter().fold(SPREAD, |hash, part| mix(hash, part))), tells }
    }
}

/// Timestamps among the options of a SYN, which tell one that is sent again.
fn timestamps(mut options: &[u8]) -> Option<&[u8]> {
    loop {
        let (kind, rest) = options.split_first()?;
        if *kind == NOP {
            options = rest;
            continue;
        }
        let length = usize::from(*rest.first().filter(|length| **length > 1)?);
        let option;
        (option, options) = options.split_at_checked(length)?;
        if *kind == TIMESTAMPS {
            return Some(option);
        }
    }
}

/// All bits of the number depend on all of the packet: a sample is taken by the low ones.
fn finish(hash: u64) -> u64 {
    (hash ^ hash >> 32).wrapping_mul(SPREAD) >> 8
}

fn mix(mut hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    for word in words {
        hash = (hash.rotate_left(29) ^ u64::from_le_bytes(*word)).wrapping_mul(SPREAD);
    }
    let last = rest.iter().fold(1, |last, byte| last << 8 | u64::from(*byte));
    (hash.rotate_left(29) ^ last).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment over IPv4 with 4 bytes of payload and timestamps.
    fn segment() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 56, 0, 7, 0x40, 0, 64, TCP, 1, 2, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 8 << 4, 16, 0, 9, 5, 6, 0, 0]);
        bytes.extend([NOP, NOP, TIMESTAMPS, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]);
        bytes
    }

    fn changed(at: usize) -> Option<Fingerprint> {
        let mut bytes = segment();
        bytes[at] ^= 1;
        Fingerprint::of(&bytes)
    }

    #[test]
    fn fields_that_change_on_the_way_do_not_count() {
        let own = Fingerprint::of(&segment());
        assert!(own.is_some_and(|print| print.tells));
        // Hops and checksums.
        for at in [8, 10, 11, 36, 37] {
            assert_eq!(changed(at), own, "byte {at}");
        }
        // Identification, addresses, ports, numbers, flags and window.
        for at in [4, 5, 12, 19, 20, 23, 24, 27, 28, 31, 33, 34, 35] {
            assert_ne!(changed(at), own, "byte {at}");
        }
    }

    #[test]
    fn without_an_identification_options_tell() {
        let mut bytes = segment();
        bytes[5] = 0;
        let own = Fingerprint::of(&bytes);
        bytes[47] ^= 1;
        assert_ne!(Fingerprint::of(&bytes), own);
        // A bare acknowledgement may come again.
        bytes[3] -= 4;
        assert!(Fingerprint::of(&bytes).is_some_and(|print| !print.tells));
        for cut in 0..40 {
            assert_eq!(Fingerprint::of(&bytes[..cut]), None);
        }
    }

    #[test]
    fn fragments_have_none() {
        let mut bytes = segment();
        bytes[6] = 0x20;
        assert_eq!(Fingerprint::of(&bytes), None);
    }
}
