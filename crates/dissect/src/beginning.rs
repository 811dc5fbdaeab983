//! The initial sequence number of a subflow whose SYN was not captured, as mappings tell it.

/// Where sequence numbers begin, as mappings of 16 bits tell: a mapping may begin before its segment, and end behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// Lowest and highest initial number, as a distance from the first one that was thought possible.
    bounds: [i32; 2],
    origin: u32,
}

impl Beginning {
    /// A segment at `field` with `len` bytes, whose mapping begins with `ssn` and has `mapped` numbers.
    pub(crate) fn note(known: Option<Self>, field: u32, (ssn, mapped): (u32, u16), len: u64) -> Self {
        let latest = field.wrapping_sub(ssn);
        let origin = known.map_or(latest, |known| known.origin);
        // As a signed distance modulo 2^32.
        let high = latest.wrapping_sub(origin) as i32;
        let low =
            high.saturating_sub(i32::from(mapped)).saturating_add(i32::try_from(len).unwrap_or(i32::MAX));
        let [before_low, before_high] = known.map_or([low, high], |known| known.bounds);
        Self { bounds: [low.max(before_low), high.min(before_high)], origin }
    }

    /// The initial number, once it is the only one possible.
    pub(crate) fn initial(self) -> Option<u32> {
        let [low, high] = self.bounds;
        // As a signed distance modulo 2^32.
        (low == high).then_some(self.origin.wrapping_add(low as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of three segments that begins with number 1,001, over segments of 100 bytes.
    #[test]
    fn first_and_last_segment_of_a_mapping_tell() {
        let isn = u32::MAX - 2_000;
        let segment =
            |known, n: u32| Beginning::note(known, isn.wrapping_add(1_001 + 100 * n), (1_001, 300), 100);
        let middle = segment(None, 1);
        assert_eq!(middle.initial(), None);
        let last = segment(Some(middle), 2);
        assert_eq!(last.initial(), None, "it may begin with the second");
        assert_eq!(segment(Some(last), 0).initial(), Some(isn));
        // A mapping of the segment alone tells at once.
        assert_eq!(Beginning::note(None, isn.wrapping_add(7), (7, 100), 100).initial(), Some(isn));
    }
}
