//! User messages that wait for their first transmission, and how they become DATA chunks.
//!
//! May: number messages in their streams and cut them. May not: assign TSNs or know paths.

use std::collections::VecDeque;

use units::Bytes;

use crate::sctp::chunk::{DataChunk, Fragment};
use crate::sctp::tsn::{Ssn, StreamId};
use crate::seq::StreamOffset;

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserMessage {
    /// Its stream.
    pub stream: StreamId,
    /// It may be delivered before messages that were sent earlier.
    pub unordered: bool,
    /// User data, not zero.
    pub size: Bytes,
}

/// A message of which a part has not been sent.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: UserMessage,
    /// Number in its stream.
    ssn: Ssn,
    /// User data not sent.
    left: Bytes,
}

/// Messages in the order in which they were given. Streams take turns in no other way: first come, first served.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    waiting: VecDeque<Waiting>,
    /// The next number of each stream.
    next_ssn: Vec<Ssn>,
    /// User data not sent.
    bytes: Bytes,
    /// User data of all messages given so far.
    written: StreamOffset,
    /// The same when everything that may leave had left last.
    settled: StreamOffset,
}

impl Outgoing {
    /// Appends a message.
    ///
    /// # Panics
    /// In debug builds, if it is empty: RFC 9260 section 3.3.1 forbids DATA chunks without user data.
    pub fn push(&mut self, message: UserMessage) {
        debug_assert!(message.size > Bytes::ZERO, "a message without user data");
        let stream = usize::from(message.stream.0);
        if self.next_ssn.len() <= stream {
            self.next_ssn.resize(stream + 1, Ssn::default());
        }
        let ssn = self.next_ssn[stream];
        if !message.unordered {
            // RFC 9260 section 6.5: "the next Stream Sequence Number MUST be set to 0"
            self.next_ssn[stream] = ssn.next();
        }
        self.waiting.push_back(Waiting { message, ssn, left: message.size });
        self.bytes += message.size;
        self.written += message.size;
        self.check();
    }

    /// Everything has left that may: the rest waits.
    pub fn settle(&mut self) {
        self.settled = self.written;
    }

    /// User data that waited before it was written to last; without that the next message alone.
    pub fn before_last_write(&self) -> Bytes {
        let waited = Bytes(self.settled.0.saturating_sub(self.offset().0));
        if waited > Bytes::ZERO { waited } else { self.waiting.front().map_or(Bytes::ZERO, |next| next.left) }
    }

    /// User data that waits.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// User data of all messages given so far.
    pub fn written(&self) -> StreamOffset {
        self.written
    }

    /// Where the next chunk begins in the concatenation of all messages.
    pub fn offset(&self) -> StreamOffset {
        StreamOffset(self.written.0 - self.bytes.0)
    }

    /// User data of the next chunk in a packet with room for chunks of `payload` user data: all that is left of the
    /// message, or as much as fits. `None` if nothing waits.
    pub fn next_len(&self, payload: Bytes) -> Option<Bytes> {
        self.waiting.front().map(|waiting| waiting.left.min(payload))
    }

    /// The next chunk, with at most `payload` user data. A message that is larger than a packet is cut; one that is
    /// not is never cut (RFC 9260 section 6.9).
    pub fn take(&mut self, payload: Bytes) -> Option<DataChunk> {
        let waiting = self.waiting.front_mut()?;
        let len = waiting.left.min(payload);
        let begins = waiting.left == waiting.message.size;
        let ends = waiting.left == len;
        let fragment = match (begins, ends) {
            (true, true) => Fragment::Whole,
            (true, false) => Fragment::First,
            (false, false) => Fragment::Middle,
            (false, true) => Fragment::Last,
        };
        let UserMessage { stream, unordered, .. } = waiting.message;
        let chunk = DataChunk { len: len.0 as u16, stream, ssn: waiting.ssn, fragment, unordered };
        waiting.left -= len;
        if ends {
            self.waiting.pop_front();
        }
        self.bytes -= len;
        self.check();
        Some(chunk)
    }

    /// Discards what waits.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.written = self.offset();
        self.bytes = Bytes::ZERO;
        self.check();
    }

    fn check(&self) {
        debug_assert!(self.bytes.0 <= self.written.0, "more waits than was written");
        debug_assert_eq!(self.waiting.is_empty(), self.bytes == Bytes::ZERO, "bytes counted by hand");
        // All are looked at whenever their number is a power of two: there can be a message for every byte.
        debug_assert!(
            !self.waiting.len().is_power_of_two()
                || self.waiting.iter().skip(1).all(|waiting| waiting.left == waiting.message.size),
            "only the first message is sent in part"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stream: u16, size: u64) -> UserMessage {
        UserMessage { stream: StreamId(stream), unordered: false, size: Bytes(size) }
    }

    #[test]
    fn large_messages_are_cut_and_streams_count_for_themselves() {
        let mut outgoing = Outgoing::default();
        outgoing.push(message(1, 2500));
        outgoing.push(message(0, 10));
        outgoing.push(UserMessage { unordered: true, ..message(1, 5) });
        outgoing.push(message(1, 20));
        assert_eq!((outgoing.bytes(), outgoing.offset()), (Bytes(2535), StreamOffset(0)));
        let mut taken = Vec::new();
        while let Some(chunk) = outgoing.take(Bytes(1000)) {
            taken.push((chunk.stream.0, chunk.ssn.0, chunk.len, chunk.fragment));
        }
        let parts = [(1000, Fragment::First), (1000, Fragment::Middle), (500, Fragment::Last)];
        let mut expected: Vec<_> = parts.into_iter().map(|(len, part)| (1, 0, len, part)).collect();
        expected.extend([
            (0, 0, 10, Fragment::Whole),
            (1, 1, 5, Fragment::Whole),
            (1, 1, 20, Fragment::Whole),
        ]);
        assert_eq!(taken, expected);
        assert_eq!((outgoing.offset(), outgoing.written()), (StreamOffset(2535), StreamOffset(2535)));
    }

    /// RFC 9260 section 6.5: "the next Stream Sequence Number MUST be set to 0"
    #[test]
    fn stream_sequence_numbers_wrap() {
        let mut outgoing = Outgoing::default();
        let mut last = None;
        for _ in 0..=65_536 {
            outgoing.push(message(0, 1));
            last = outgoing.take(Bytes(10));
        }
        assert_eq!(last.map(|chunk| chunk.ssn), Some(Ssn(0)));
    }
}
