//! One direction of a conversation in datagrams: messages to be sent, on their way, and arrived.
//!
//! A datagram begins with as many bytes of its number as it has room for; the receiver knows the rest from those before.
//! May: count. May not: know sockets.

use std::collections::{BTreeMap, VecDeque};

use units::SimTime;

use crate::outgoing::Mark;

/// Bytes of a number.
const NUMBER: usize = 8;

/// Datagrams and bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams sent.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Datagrams that have arrived.
    pub received: u64,
    /// Their payload.
    pub received_bytes: u64,
}

/// One direction.
#[derive(Debug)]
pub(crate) struct Datagrams {
    /// Payload of a datagram at most.
    payload: u64,
    next: u64,
    /// Largest number that has arrived.
    highest: u64,
    /// Number, message and bytes of datagrams that no socket has taken.
    waiting: VecDeque<(u64, u64, u64)>,
    /// Message and bytes of those on their way, lost ones included, by number.
    flying: BTreeMap<u64, (u64, u64)>,
    /// Messages and their bytes that have not arrived.
    messages: BTreeMap<u64, (Mark, u64)>,
    asked: u64,
    pub(crate) counts: DatagramCounts,
}

impl Datagrams {
    /// `payload` is not 0.
    pub(crate) fn new(payload: u64) -> Self {
        Self {
            payload: payload.max(1),
            next: 0,
            highest: 0,
            waiting: VecDeque::new(),
            flying: BTreeMap::new(),
            messages: BTreeMap::new(),
            asked: 0,
            counts: DatagramCounts::default(),
        }
    }

    /// A message is to be sent, in several datagrams if it is larger than one.
    pub(crate) fn ask(&mut self, mark: Mark) {
        let mut left = mark.size.0;
        self.messages.insert(self.asked, (mark, left));
        while left > 0 {
            let size = left.min(self.payload);
            self.waiting.push_back((self.next, self.asked, size));
            self.next += 1;
            left -= size;
        }
        self.asked += 1;
    }

    /// Number and bytes of the next datagram.
    pub(crate) fn next(&self) -> Option<(u64, usize)> {
        self.waiting.front().map(|&(number, _, size)| (number, size as usize))
    }

    /// A socket has taken the next datagram.
    pub(crate) fn sent(&mut self) {
        if let Some((number, message, size)) = self.waiting.pop_front() {
            self.counts.sent += 1;
            self.counts.sent_bytes += size;
            self.flying.insert(number, (message, size));
        }
    }

    /// A datagram has arrived: when its message was sent, its bytes, and the message if it is whole. `None` for a repeated one.
    pub(crate) fn arrive(&mut self, datagram: &[u8]) -> Option<(SimTime, u64, Option<Mark>)> {
        let number = self.number(datagram);
        let (message, size) = self.flying.remove(&number)?;
        self.highest = self.highest.max(number);
        self.counts.received += 1;
        self.counts.received_bytes += size;
        let (mark, left) = self.messages.get_mut(&message)?;
        *left -= size;
        let (sent, whole, mark) = (mark.sent, *left == 0, *mark);
        if whole {
            self.messages.remove(&message);
        }
        Some((sent, size, whole.then_some(mark)))
    }

    /// The number whose beginning the datagram has, of those near the largest that has arrived.
    fn number(&self, datagram: &[u8]) -> u64 {
        let known = datagram.len().min(NUMBER);
        let mut bytes = [0; NUMBER];
        bytes[..known].copy_from_slice(&datagram[..known]);
        let low = u64::from_le_bytes(bytes);
        if known == NUMBER {
            return low;
        }
        let span = 1u64 << (8 * known);
        let base = self.highest - self.highest % span + low;
        let near = [base.checked_sub(span), Some(base), Some(base + span)];
        near.into_iter().flatten().min_by_key(|number| number.abs_diff(self.highest)).unwrap_or(base)
    }

    /// Discards what no socket has taken. False if there was nothing.
    pub(crate) fn cut(&mut self) -> bool {
        let cut = !self.waiting.is_empty();
        self.waiting.clear();
        cut
    }

    /// Everything that was to be sent has arrived.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.flying.is_empty()
    }

    /// The first bytes of a datagram of this number.
    pub(crate) fn head(number: u64) -> [u8; NUMBER] {
        number.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn mark(size: u64, tag: u64) -> Mark {
        Mark { size: Bytes(size), tag, sent: SimTime::from_millis(tag), row: None }
    }

    /// 2500 bytes go in three datagrams; the second one arrives last.
    #[test]
    fn a_message_arrives_with_the_last_of_its_datagrams() {
        let mut out = Datagrams::new(1000);
        out.ask(mark(2500, 7));
        let sizes: Vec<_> = std::iter::from_fn(|| {
            let next = out.next();
            out.sent();
            next
        })
        .collect();
        assert_eq!(sizes, [(0, 1000), (1, 1000), (2, 500)]);
        for number in [0, 2] {
            let (sent, _, whole) = out.arrive(&Datagrams::head(number)).expect("on its way");
            assert_eq!((sent, whole.is_none()), (SimTime::from_millis(7), true));
        }
        assert!(out.arrive(&Datagrams::head(2)).is_none(), "repeated");
        assert_eq!(
            out.arrive(&Datagrams::head(1)).and_then(|(.., whole)| whole).map(|mark| mark.tag),
            Some(7)
        );
        assert!(out.is_idle());
        let wanted = DatagramCounts { sent: 3, sent_bytes: 2500, received: 3, received_bytes: 2500 };
        assert_eq!(out.counts, wanted);
    }

    /// One byte has 256 numbers: those near the last one are meant, also out of order and after losses.
    #[test]
    fn short_datagrams_are_known_by_those_before() {
        let mut out = Datagrams::new(1);
        for tag in 0..1000 {
            out.ask(mark(1, tag));
            out.sent();
        }
        // The second of three is lost, and the third overtakes the first.
        for number in (0..333).flat_map(|three| [3 * three + 2, 3 * three]) {
            let found = out.arrive(&Datagrams::head(number)[..1]).and_then(|(.., whole)| whole);
            assert_eq!(found.map(|mark| mark.tag), Some(number));
        }
        assert!(!out.is_idle(), "a third is lost");
    }
}
