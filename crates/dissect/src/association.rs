//! The data of one end of an SCTP association, as packets show it at one place: TSNs, outstanding chunks, and the path of the last
//! transmission of each.
//!
//! May: count chunks. May not: know packets, or the time of anything but of chunks.

use std::collections::BTreeMap;

use transport::seq::{Seq, Seq32};
use transport::tcp::ranges::{Range, RangeSet};
use wire::sctp::DataFields;

use crate::direction::Transmission;
use crate::messages::Messages;

/// Chunks that are outstanding at most. More are forgotten: the acknowledgements were not captured.
const MOST: usize = 1 << 16;
/// Where TSNs begin without an INIT: those before the first one seen have a place.
const JOINED: u64 = 1 << 16;

/// Both ends of an association at one place, the one that opened it first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Association {
    /// Verification tags that the ends have chosen, as far as they are known.
    pub(crate) tags: [Option<u32>; 2],
    /// Their data.
    pub(crate) sides: [Chunks; 2],
    /// Between INIT ACK and COOKIE ACK: data of the server, which its client may discard.
    pub(crate) early: Option<Vec<Early>>,
}

/// A chunk that has come before the COOKIE ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Early {
    pub(crate) at: u64,
    /// Its path as a number of a subflow, and its packet among those of the path.
    pub(crate) packet: (usize, u64),
    pub(crate) fields: DataFields,
}

/// Data of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// The TSN at which distances begin, and whether an INIT told it.
    initial: Option<Seq32>,
    /// After the highest TSN seen.
    end: u64,
    seen: RangeSet<u64>,
    /// Chunks that no SACK has acknowledged for good.
    outstanding: BTreeMap<u64, Sent>,
    /// TSNs below it are acknowledged.
    acked: u64,
    /// User data of all chunks below `acked`, and of those above it that gap blocks have told.
    pub(crate) acked_bytes: u64,
    pub(crate) gap_bytes: u64,
    /// Messages of the chunks seen.
    pub(crate) messages: Messages,
}

/// A chunk that is outstanding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The path of its last transmission, as a number of a subflow.
    pub(crate) path: usize,
    pub(crate) len: u64,
    /// The packet of its last transmission.
    pub(crate) packet: Transmission,
    /// A gap block has told that it has arrived.
    arrived: bool,
}

/// A chunk at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its TSN, from the initial one.
    pub(crate) tsn: u64,
    /// It was not seen before.
    pub(crate) fresh: bool,
    /// Later ones were seen before it.
    pub(crate) late: bool,
}

impl Chunks {
    /// INIT or INIT ACK tells the initial TSN.
    pub(crate) fn begin(&mut self, initial: Seq32) {
        if self.initial.is_none() {
            self.initial = Some(initial);
        }
    }

    /// The TSN of a field, counted from the initial one.
    fn tsn(&mut self, field: Seq32) -> u64 {
        let initial = *self.initial.get_or_insert_with(|| {
            (self.end, self.acked) = (JOINED, JOINED);
            self.messages.begin(true);
            Seq32(field.0.wrapping_sub(JOINED as u32))
        });
        field.extend(initial, Seq(self.end)).0
    }

    /// A DATA chunk is seen.
    pub(crate) fn see(&mut self, fields: &DataFields) -> Seen {
        let tsn = self.tsn(fields.tsn);
        let fresh = self.seen.insert(Range::new(tsn, tsn.saturating_add(1))) > 0;
        let late = tsn < self.end;
        self.end = self.end.max(tsn.saturating_add(1));
        Seen { tsn, fresh, late }
    }

    /// The chunk is sent by this packet of this path. Returns its transmission before.
    pub(crate) fn send(&mut self, tsn: u64, path: usize, len: u64, packet: Transmission) -> Option<Sent> {
        if tsn < self.acked {
            return None;
        }
        let before = self.outstanding.insert(tsn, Sent { path, len, packet, arrived: false });
        if before.is_some_and(|before| before.arrived) {
            self.gap_bytes = self.gap_bytes.saturating_sub(len);
        }
        if self.outstanding.len() > MOST {
            self.outstanding.pop_first();
        }
        self.check();
        before
    }

    /// A cumulative TSN. `each` is called with the chunks of which it is the first news. True if it advances.
    pub(crate) fn acknowledge(&mut self, field: Seq32, mut each: impl FnMut(u64, &Sent)) -> bool {
        if self.initial.is_none() {
            return false;
        }
        let next = self.tsn(field.wrapping_add(1));
        // A TSN that was never sent belongs to a damaged file.
        if next <= self.acked || next > self.end {
            return false;
        }
        self.acked = next;
        while let Some((tsn, sent)) = self.outstanding.first_key_value()
            && *tsn < next
        {
            self.acked_bytes += sent.len;
            if sent.arrived {
                self.gap_bytes = self.gap_bytes.saturating_sub(sent.len);
            } else {
                each(*tsn, sent);
            }
            self.outstanding.pop_first();
        }
        self.check();
        true
    }

    /// A gap block of a SACK with this cumulative TSN.
    pub(crate) fn gap(
        &mut self,
        cumulative: Seq32,
        [first, last]: [u16; 2],
        mut each: impl FnMut(u64, &Sent),
    ) {
        if self.initial.is_none() || first == 0 || first > last {
            return;
        }
        // The cumulative TSN of an INIT's sender may be the one before its first.
        let next = self.tsn(cumulative.wrapping_add(1));
        let block = next.saturating_add(first.into())..=next.saturating_add(last.into());
        // Offsets count from the cumulative TSN, which is one less.
        let block = block.start() - 1..=block.end() - 1;
        for (tsn, sent) in self.outstanding.range_mut(block) {
            if !sent.arrived {
                sent.arrived = true;
                self.gap_bytes += sent.len;
                each(*tsn, sent);
            }
        }
    }

    fn check(&self) {
        debug_assert!(self.outstanding.len() <= MOST, "what is outstanding has a bound");
        debug_assert!(
            self.outstanding.first_key_value().is_none_or(|(first, _)| *first >= self.acked),
            "what is acknowledged is not outstanding"
        );
    }
}

/// State of a path of an association, in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnPath {
    /// The chunk that gives the next round trip, and when it was sent.
    pub(crate) timed: Option<(u64, u64)>,
    /// Content of the last HEARTBEAT, and when it was sent.
    pub(crate) heartbeat: Option<(Vec<u8>, u64)>,
    /// User data that was acknowledged, by the path of its last transmission.
    pub(crate) acked: u64,
    /// The cumulative TSN of the last SACK.
    pub(crate) last_sack: Option<Seq32>,
    /// When it was known to work: the handshake, or a HEARTBEAT that was answered.
    pub(crate) usable: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(tsn: u32) -> DataFields {
        DataFields { tsn: Seq32(tsn), stream: 0, ssn: 0, flags: 3, len: 100 }
    }

    fn packet(at: u64) -> Transmission {
        Transmission { number: at, at }
    }

    #[test]
    fn a_chunk_is_acknowledged_once() {
        let mut chunks = Chunks::default();
        chunks.begin(Seq32(u32::MAX));
        for (number, tsn) in [u32::MAX, 0, 1, 2].into_iter().enumerate() {
            let seen = chunks.see(&fields(tsn));
            assert_eq!(seen, Seen { tsn: number as u64, fresh: true, late: false });
            assert!(chunks.send(seen.tsn, 0, 100, packet(1)).is_none());
        }
        let mut told = Vec::new();
        // TSN 2 (offset 3 from the one before the first) has arrived, then all up to 0.
        chunks.gap(Seq32(u32::MAX - 1), [4, 4], |tsn, _| told.push(tsn));
        assert!(chunks.acknowledge(Seq32(0), |tsn, _| told.push(tsn)));
        assert!(!chunks.acknowledge(Seq32(0), |tsn, _| told.push(tsn)));
        assert_eq!((&told[..], chunks.acked_bytes, chunks.gap_bytes), (&[3, 0, 1][..], 200, 100));
        // The hole is sent again, over another path.
        let seen = chunks.see(&fields(1));
        assert_eq!((seen.fresh, seen.late), (false, true));
        assert!(chunks.send(seen.tsn, 1, 100, packet(2)).is_some_and(|before| before.path == 0));
        assert!(chunks.acknowledge(Seq32(2), |tsn, sent| told.push(10 * tsn + sent.path as u64)));
        assert_eq!((&told[3..], chunks.acked_bytes, chunks.gap_bytes), (&[21][..], 400, 0));
    }

    #[test]
    fn a_capture_may_begin_in_the_middle() {
        let mut chunks = Chunks::default();
        assert!(!chunks.acknowledge(Seq32(7), |_, _| ()), "no data was seen");
        let first = chunks.see(&fields(500));
        let before = chunks.see(&fields(498));
        assert_eq!((first.tsn - before.tsn, before.fresh, before.late), (2, true, true));
    }
}
