//! From DATA chunks that a place sees to user messages that its host can deliver (RFC 9260 sections 6.6 and 6.9).
//!
//! May: hold chunks until their message is complete and its turn has come. May not: know packets or paths.

use std::collections::BTreeMap;

use wire::sctp::{DataFields, data_flag};

/// Chunks and messages that are held at most: more do not fit into any receive buffer.
const MOST: usize = 1 << 16;

/// A chunk of which other parts of the message are missing.
#[derive(Clone, Copy, Debug)]
struct Part {
    fields: DataFields,
    len: u64,
}

impl Part {
    fn has(self, flag: u8) -> bool {
        self.fields.flags & flag != 0
    }
}

/// Messages of one direction of an association.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    /// By TSN.
    parts: BTreeMap<u64, Part>,
    /// Complete messages that wait for earlier ones, by stream and number; their lengths.
    early: BTreeMap<(u16, u16), u64>,
    /// The number of the next message by stream.
    next: BTreeMap<u16, u16>,
    /// The capture began in the middle: the first message of a stream that is complete is taken for its next.
    joined: bool,
    held: u64,
    delivered: u64,
}

impl Messages {
    /// The association was seen from its beginning, or not.
    pub(crate) fn begin(&mut self, joined: bool) {
        self.joined = joined;
    }

    /// A chunk that was not seen before. True if messages are delivered by it.
    pub(crate) fn insert(&mut self, tsn: u64, fields: DataFields) -> bool {
        let len = fields.len as u64;
        let before = self.delivered;
        self.held += len;
        self.parts.insert(tsn, Part { fields, len });
        if let Some((first, last)) = self.whole(tsn) {
            let parts = (first..=last).filter_map(|tsn| self.parts.remove(&tsn));
            let len = parts.map(|part| part.len).sum();
            self.complete(fields, len);
        }
        if self.parts.len() + self.early.len() > MOST {
            // A damaged or endless gap: data behind it is counted as held, and is not delivered.
            self.parts.pop_first();
        }
        self.check();
        self.delivered > before
    }

    /// First and last TSN of the message of a chunk, if all its parts are here.
    fn whole(&self, tsn: u64) -> Option<(u64, u64)> {
        let (mut first, mut last) = (tsn, tsn);
        while !self.parts.get(&first)?.has(data_flag::BEGIN) {
            first = first.checked_sub(1)?;
        }
        while !self.parts.get(&last)?.has(data_flag::END) {
            last = last.checked_add(1)?;
        }
        Some((first, last))
    }

    fn complete(&mut self, fields: DataFields, len: u64) {
        if fields.flags & data_flag::UNORDERED != 0 {
            return self.deliver(len);
        }
        let start = if self.joined { fields.ssn } else { 0 };
        let next = self.next.entry(fields.stream).or_insert(start);
        if *next != fields.ssn {
            if let Some(before) = self.early.insert((fields.stream, fields.ssn), len) {
                // A number that is used twice belongs to a damaged file.
                self.held = self.held.saturating_sub(before);
            }
            return;
        }
        let mut ready = len;
        *next = next.wrapping_add(1);
        while let Some(len) = self.early.remove(&(fields.stream, *next)) {
            ready += len;
            *next = next.wrapping_add(1);
        }
        self.deliver(ready);
    }

    fn deliver(&mut self, len: u64) {
        self.held = self.held.saturating_sub(len);
        self.delivered += len;
    }

    /// User data that waits for other chunks.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// User data of all messages delivered.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    fn check(&self) {
        debug_assert!(self.parts.len() + self.early.len() <= MOST, "what is held has a bound");
    }
}

#[cfg(test)]
mod tests {
    use transport::seq::Seq32;

    use super::*;

    const BOTH: u8 = data_flag::BEGIN | data_flag::END;

    fn chunk(stream: u16, ssn: u16, flags: u8, len: usize) -> DataFields {
        DataFields { tsn: Seq32(0), stream, ssn, flags, len }
    }

    #[test]
    fn a_message_waits_for_its_parts_and_its_turn() {
        let mut messages = Messages::default();
        assert!(!messages.insert(1, chunk(0, 0, data_flag::END, 10)));
        assert!(!messages.insert(2, chunk(0, 1, BOTH, 5)));
        assert_eq!((messages.held(), messages.delivered()), (15, 0));
        // Another stream does not wait.
        assert!(messages.insert(3, chunk(7, 0, BOTH, 3)));
        assert!(messages.insert(0, chunk(0, 0, data_flag::BEGIN, 100)));
        assert_eq!((messages.held(), messages.delivered()), (0, 118));
        assert!(messages.insert(9, chunk(0, 40, BOTH | data_flag::UNORDERED, 2)));
        assert_eq!(messages.delivered(), 120);
    }

    #[test]
    fn numbers_wrap() {
        let mut messages = Messages::default();
        messages.begin(true);
        for (tsn, ssn) in [(0, u16::MAX), (2, 1), (1, 0)] {
            messages.insert(tsn, chunk(0, ssn, BOTH, 1));
        }
        assert_eq!((messages.held(), messages.delivered()), (0, 3));
    }

    #[test]
    fn an_endless_gap_does_not_fill_the_memory() {
        let mut messages = Messages::default();
        for tsn in 1..200_000 {
            messages.insert(2 * tsn, chunk(0, 0, 0, 1));
        }
        assert!(messages.parts.len() <= MOST);
    }
}
