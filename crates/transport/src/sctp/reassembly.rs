//! From DATA chunks to user messages, in order within each stream (RFC 9260 sections 6.5, 6.6 and 6.9).
//!
//! May: hold what cannot be delivered. May not: know TSNs that are missing, or acknowledge anything.

use std::collections::{BTreeMap, VecDeque};

use units::Bytes;

use crate::sctp::chunk::{DataChunk, Fragment};
use crate::sctp::tsn::{Ssn, StreamId, Tsn};
use crate::seq::StreamOffset;

/// A message for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its stream.
    pub stream: StreamId,
    /// TSN of its first chunk: messages have this order at the sender.
    pub first: Tsn,
    /// Where it begins in the concatenation of all messages of the sender: its identity.
    pub offset: StreamOffset,
    /// User data.
    pub size: Bytes,
}

/// Chunks and messages that have arrived and were not read.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Parts of messages of which other parts have not arrived.
    parts: BTreeMap<Tsn, (DataChunk, StreamOffset)>,
    /// Complete messages that wait for earlier ones of their stream.
    held: BTreeMap<(StreamId, Ssn), Delivery>,
    /// The next message of each stream.
    next_ssn: Vec<Ssn>,
    ready: VecDeque<Delivery>,
    /// Messages that can be read, or were, and were not announced.
    news: VecDeque<Delivery>,
    /// User data of `parts` and `held`, and of `ready` as far as it is not read.
    waiting: Bytes,
    readable: Bytes,
}

impl Reassembly {
    /// A chunk that has not arrived before; `offset` is where it begins in the concatenation of all messages of the sender.
    pub fn insert(&mut self, tsn: Tsn, chunk: DataChunk, offset: StreamOffset) {
        self.waiting += chunk.user_data();
        if chunk.fragment == Fragment::Whole {
            self.complete((tsn, offset), chunk, chunk.user_data());
        } else {
            let repeated = self.parts.insert(tsn, (chunk, offset));
            debug_assert!(repeated.is_none(), "TSN {tsn} arrives twice");
            self.join(tsn);
        }
        self.check();
    }

    /// The message that this part belongs to is complete if all TSNs from its first to its last part are here.
    fn join(&mut self, tsn: Tsn) {
        let neighbours = |mut tsn: Tsn, step: fn(Tsn) -> Option<Tsn>, is_end: fn(Fragment) -> bool| loop {
            let (chunk, _) = self.parts.get(&tsn)?;
            if is_end(chunk.fragment) {
                return Some(tsn);
            }
            tsn = step(tsn)?;
        };
        let first = neighbours(tsn, |tsn| tsn.0.checked_sub(1).map(Tsn), Fragment::begins);
        let last = neighbours(tsn, |tsn| Some(tsn.next()), Fragment::ends);
        let (Some(first), Some(last)) = (first, last) else { return };
        let mut size = Bytes::ZERO;
        let mut head = None;
        for tsn in (first.0..=last.0).map(Tsn) {
            let part = self.parts.remove(&tsn).expect("found before");
            size += part.0.user_data();
            head.get_or_insert(part);
        }
        let (chunk, offset) = head.expect("at least one part");
        self.complete((first, offset), chunk, size);
    }

    /// A message is complete. It is delivered if it is unordered or the next of its stream, and with it those that
    /// waited for it.
    fn complete(&mut self, (first, offset): (Tsn, StreamOffset), chunk: DataChunk, size: Bytes) {
        let delivery = Delivery { stream: chunk.stream, first, offset, size };
        if chunk.unordered {
            // RFC 9260 section 6.6: "When an endpoint receives a DATA chunk with the U flag set to 1, it bypasses the
            // ordering mechanism and immediately deliver the data to the upper layer (after reassembly if the user data is
            // fragmented by the data sender)."
            return self.deliver(delivery);
        }
        let stream = usize::from(chunk.stream.0);
        if self.next_ssn.len() <= stream {
            self.next_ssn.resize(stream + 1, Ssn::default());
        }
        self.held.insert((chunk.stream, chunk.ssn), delivery);
        // RFC 9260 section 6.6: "Within a stream, an endpoint MUST deliver DATA chunks received with the U flag set to 0 to
        // the upper layer according to the order of their Stream Sequence Number."
        while let Some(delivery) = self.held.remove(&(chunk.stream, self.next_ssn[stream])) {
            self.next_ssn[stream] = self.next_ssn[stream].next();
            self.deliver(delivery);
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        self.waiting -= delivery.size;
        self.readable += delivery.size;
        self.ready.push_back(delivery);
        self.news.push_back(delivery);
    }

    /// The next message that can be read and was not announced, read or not.
    pub fn announce(&mut self) -> Option<Delivery> {
        self.news.pop_front()
    }

    /// Messages that can be read.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Unread bytes of each of them, but for the first `from`.
    pub fn ready_from(&self, from: usize) -> impl Iterator<Item = Bytes> {
        self.ready.iter().skip(from).map(|delivery| delivery.size)
    }

    /// Unread bytes of the next message.
    pub fn next_size(&self) -> Option<Bytes> {
        self.ready.front().map(|delivery| delivery.size)
    }

    /// User data that can be read.
    pub fn readable(&self) -> Bytes {
        self.readable
    }

    /// User data that waits for other chunks.
    pub fn waiting(&self) -> Bytes {
        self.waiting
    }

    /// Chunks of incomplete messages, and complete messages that wait for earlier ones.
    pub fn pieces(&self) -> u64 {
        (self.parts.len() + self.held.len()) as u64
    }

    /// All user data that is here.
    pub fn buffered(&self) -> Bytes {
        self.waiting + self.readable
    }

    /// The next message.
    pub fn read(&mut self) -> Option<Delivery> {
        let delivery = self.ready.pop_front()?;
        self.readable -= delivery.size;
        self.check();
        Some(delivery)
    }

    /// Reads as much user data, of one message or several.
    pub fn read_bytes(&mut self, bytes: Bytes) {
        let mut left = bytes.min(self.readable);
        while left > Bytes::ZERO
            && let Some(next) = self.ready.front_mut()
        {
            let part = left.min(next.size);
            next.size -= part;
            self.readable -= part;
            left -= part;
            if next.size == Bytes::ZERO {
                self.ready.pop_front();
            }
        }
        self.check();
    }

    fn check(&self) {
        debug_assert_eq!(self.ready.is_empty(), self.readable == Bytes::ZERO, "bytes counted by hand");
        debug_assert_eq!(
            self.parts.is_empty() && self.held.is_empty(),
            self.waiting == Bytes::ZERO,
            "waiting bytes counted by hand"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(stream: u16, ssn: u16, fragment: Fragment) -> DataChunk {
        DataChunk { len: 10, stream: StreamId(stream), ssn: Ssn(ssn), fragment, unordered: false }
    }

    fn all(reassembly: &mut Reassembly) -> Vec<(u16, u64, u64)> {
        let next = || reassembly.read();
        std::iter::from_fn(next).map(|d| (d.stream.0, d.first.0, d.size.0)).collect()
    }

    /// RFC 9260 section 6.6: "If DATA chunks arrive out of order of their Stream Sequence Number, the endpoint MUST hold the received DATA
    /// chunks from delivery to the ULP until they are reordered."
    #[test]
    fn streams_do_not_block_each_other() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(Tsn(1), chunk(0, 1, Fragment::Whole), StreamOffset(10));
        reassembly.insert(Tsn(2), chunk(1, 0, Fragment::Whole), StreamOffset(20));
        assert_eq!(all(&mut reassembly), [(1, 2, 10)]);
        assert_eq!((reassembly.waiting(), reassembly.readable()), (Bytes(10), Bytes::ZERO));
        reassembly.insert(Tsn(0), chunk(0, 0, Fragment::Whole), StreamOffset(0));
        assert_eq!(all(&mut reassembly), [(0, 0, 10), (0, 1, 10)]);
    }

    /// RFC 9260 section 6.9: "it MUST support reassembly when receiving DATA chunks."
    #[test]
    fn a_message_is_complete_with_its_last_part() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(Tsn(2), chunk(0, 0, Fragment::Last), StreamOffset(20));
        reassembly.insert(Tsn(0), chunk(0, 0, Fragment::First), StreamOffset(0));
        reassembly.insert(Tsn(4), chunk(0, 1, Fragment::Last), StreamOffset(40));
        assert_eq!(all(&mut reassembly), []);
        reassembly.insert(Tsn(1), chunk(0, 0, Fragment::Middle), StreamOffset(10));
        reassembly.insert(Tsn(3), chunk(0, 1, Fragment::First), StreamOffset(30));
        let whole = |offset, size| (StreamOffset(offset), Bytes(size));
        let announced: Vec<_> =
            std::iter::from_fn(|| reassembly.announce()).map(|known| (known.offset, known.size)).collect();
        assert_eq!(announced, [whole(0, 30), whole(30, 20)]);
        assert_eq!(all(&mut reassembly), [(0, 0, 30), (0, 3, 20)]);
    }

    /// RFC 9260 section 6.6: "When an endpoint receives a DATA chunk with the U flag set to 1, it bypasses the ordering
    /// mechanism and immediately deliver the data to the upper layer (after reassembly if the user data is fragmented by the
    /// data sender)."
    #[test]
    fn unordered_messages_wait_for_nothing() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(
            Tsn(5),
            DataChunk { unordered: true, ..chunk(0, 9, Fragment::Whole) },
            StreamOffset(50),
        );
        assert_eq!(all(&mut reassembly), [(0, 5, 10)]);
    }

    #[test]
    fn parts_of_messages_can_be_read() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(Tsn(0), chunk(0, 0, Fragment::Whole), StreamOffset(0));
        reassembly.insert(Tsn(1), chunk(0, 1, Fragment::Whole), StreamOffset(10));
        reassembly.read_bytes(Bytes(13));
        assert_eq!((reassembly.readable(), reassembly.buffered()), (Bytes(7), Bytes(7)));
        assert_eq!(reassembly.read().map(|delivery| delivery.size), Some(Bytes(7)));
    }
}
