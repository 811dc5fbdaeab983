//! Mappings that the segments of a [`crate::Duo`] name: each byte of a subflow has one, which never changes.

use std::collections::BTreeMap;

use transport::mptcp::option::{Margin, MptcpOption};
use transport::packet::PathId;
use transport::seq::{Dsn, Seq};
use transport::tcp::segment::TcpSegment;
use units::Bytes;

use crate::faults::Way;

/// Fields of a mapping (RFC 8684 section 3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    seq: Seq,
    dsn: Dsn,
    len: u64,
}

impl Mapping {
    /// That of the payload of a segment.
    fn of(segment: &TcpSegment) -> Option<Self> {
        let dsn = segment.mptcp.mapping().filter(|_| segment.len > 0)?;
        let Margin { before, after } = match segment.mptcp {
            MptcpOption::CapableAck { after, .. } => Margin { before: 0, after: after.unwrap_or(0) },
            MptcpOption::Dss(dss) => dss.margin,
            _ => Margin::default(),
        };
        let len = u64::from(before) + u64::from(segment.len) + u64::from(after);
        Some(Self { seq: Seq(segment.seq.0 - u64::from(before)), dsn: Dsn(dsn.0 - u64::from(before)), len })
    }

    fn end(&self) -> Seq {
        self.seq + Bytes(self.len)
    }
}

/// The mappings of both directions of every subflow, by their beginning.
#[derive(Debug, Default)]
pub(crate) struct Mappings(BTreeMap<(PathId, usize), BTreeMap<Seq, Mapping>>);

impl Mappings {
    /// A segment leaves the end that sends this way.
    ///
    /// # Panics
    /// If its payload, or what its mapping covers around it, had another mapping before.
    pub(crate) fn segment(&mut self, way: Way, path: PathId, segment: &TcpSegment) {
        let known = self.0.entry((path, way.index())).or_default();
        if segment.flags.syn {
            known.clear();
        }
        let Some(mapping) = Mapping::of(segment) else { return };
        let before = known.range(..mapping.end()).next_back().map(|(_, before)| *before);
        if let Some(before) = before.filter(|before| before.end() > mapping.seq) {
            assert_eq!(mapping, before, "the mapping of {segment:?} was another");
        }
        known.insert(mapping.seq, mapping);
    }
}

#[cfg(test)]
mod tests {
    use transport::mptcp::option::Dss;

    use super::*;

    /// A segment of 100 bytes.
    fn segment(seq: u64, dsn: u64, (before, after): (u16, u16)) -> TcpSegment {
        let mptcp = Dss { dsn: Some(Dsn(dsn)), margin: Margin { before, after }, ..Dss::default() };
        TcpSegment { seq: Seq(seq), len: 100, mptcp: MptcpOption::Dss(mptcp), ..TcpSegment::default() }
    }

    #[test]
    fn segments_of_a_chunk_name_one_mapping() {
        let mut mappings = Mappings::default();
        for seq in [101, 1, 201, 101] {
            let before = seq as u16 - 1;
            mappings.segment(Way::Up, PathId::FIRST, &segment(seq, 5000 + seq, (before, 200 - before)));
        }
        mappings.segment(Way::Up, PathId::FIRST, &segment(301, 2000, (0, 0)));
        mappings.segment(Way::Down, PathId::FIRST, &segment(1, 2000, (0, 0)));
    }

    #[test]
    #[should_panic(expected = "was another")]
    fn a_longer_mapping_is_another() {
        let mut mappings = Mappings::default();
        mappings.segment(Way::Up, PathId::FIRST, &segment(1, 1, (0, 100)));
        mappings.segment(Way::Up, PathId::FIRST, &segment(101, 101, (100, 100)));
    }
}
