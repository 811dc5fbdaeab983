//! A conversation in datagrams: the messages of each direction, the parts that have arrived, and copies told apart.
//!
//! Both ends have agreed on addresses and ports by other means; there is no handshake and no end.
//! May: number messages, and count what arrives. May not: send packets or talk to the application.

use std::collections::VecDeque;

use apps::{Message, Side};
use transport::tcp::ranges::{Range, RangeSet};
use transport::udp::{Datagram, MessageNumber};
use units::{Bytes, Nanos, SimTime};

use crate::flow::message::Mark;

/// Datagrams of a message that have not arrived after this long never will: no queue holds them longer.
const LOST_AFTER: Nanos = Nanos::from_secs(600);

/// A message of which a part has not arrived.
#[derive(Clone, Copy, Debug)]
struct Incomplete {
    number: MessageNumber,
    mark: Mark,
    left: Bytes,
}

/// A datagram that has arrived for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstCopy {
    /// When its message was sent.
    pub(crate) sent: SimTime,
    /// Payload.
    pub(crate) bytes: Bytes,
    /// Its message, if that is complete now.
    pub(crate) message: Option<Mark>,
}

/// One direction.
#[derive(Clone, Debug, Default)]
struct Direction {
    /// Messages sent, and their bytes.
    messages: u64,
    sent: Bytes,
    /// In the order of sending.
    incomplete: VecDeque<Incomplete>,
    /// Numbers of the datagrams that have arrived, their bytes, and further copies of them.
    seen: RangeSet,
    arrived: Bytes,
    copies: u64,
    /// The application wants to know when everything is sent.
    notify: bool,
}

impl Direction {
    fn check(&self) {
        debug_assert!(self.arrived <= self.sent, "{} bytes arrived of {}", self.arrived, self.sent);
        debug_assert!(self.seen.bytes() <= self.arrived.0, "each datagram carries a byte at least");
        debug_assert!(
            self.incomplete.back().is_none_or(|message| message.number.0 < self.messages),
            "a message arrives that has not been sent"
        );
        // Thousands can be under way: all are looked at whenever their number is a power of two.
        debug_assert!(
            !self.incomplete.len().is_power_of_two()
                || self.incomplete.iter().all(|message| message.left <= message.mark.size),
            "more is left of a message than was sent"
        );
    }
}

/// Both directions, by sending side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation([Direction; 2]);

impl Conversation {
    /// Messages under way.
    pub(crate) fn held(&self) -> usize {
        self.0.iter().map(|direction| direction.incomplete.len()).sum()
    }

    fn from(&mut self, side: Side) -> &mut Direction {
        &mut self.0[side.index()]
    }

    /// One side sends a message, whose row in the table of messages is known. Returns its number.
    pub(crate) fn send(
        &mut self,
        now: SimTime,
        from: Side,
        message: Message,
        row: Option<u32>,
    ) -> MessageNumber {
        debug_assert_ne!(message.size, Bytes::MAX, "a message without end is a stream");
        let direction = self.from(from);
        let number = MessageNumber(direction.messages);
        direction.messages += 1;
        direction.sent += message.size;
        let mark = Mark::new(now, message, row);
        direction.incomplete.push_back(Incomplete { number, mark, left: message.size });
        direction.check();
        number
    }

    /// A datagram from one side has arrived at the other. `None` for a further copy.
    pub(crate) fn receive(&mut self, now: SimTime, from: Side, datagram: Datagram) -> Option<FirstCopy> {
        let direction = self.from(from);
        let bytes = Bytes(u64::from(datagram.len));
        if direction.seen.insert(Range::new(datagram.number, datagram.number + 1)) == 0 {
            direction.copies += 1;
            return None;
        }
        direction.arrived += bytes;
        let incomplete = &mut direction.incomplete;
        while incomplete.front().is_some_and(|message| now.since(message.mark.sent) > LOST_AFTER) {
            incomplete.pop_front();
        }
        let index = incomplete.binary_search_by_key(&datagram.message, |message| message.number).ok()?;
        let message = &mut incomplete[index];
        message.left -= bytes;
        let Incomplete { mark, left, .. } = *message;
        if left == Bytes::ZERO {
            incomplete.remove(index);
        }
        direction.check();
        Some(FirstCopy { sent: mark.sent, bytes, message: (left == Bytes::ZERO).then_some(mark) })
    }

    /// The application wants to know when one side has sent everything.
    pub(crate) fn notify(&mut self, from: Side) {
        self.from(from).notify = true;
    }

    /// True if the application is to be told that one side has sent everything: datagrams never wait.
    pub(crate) fn take_notify(&mut self, from: Side) -> bool {
        std::mem::take(&mut self.from(from).notify)
    }

    /// Everything that one side has sent has arrived.
    pub(crate) fn is_idle(&self, from: Side) -> bool {
        let Direction { sent, arrived, .. } = &self.0[from.index()];
        sent == arrived
    }

    /// Bytes from one side that have arrived, each counted once, and further copies of datagrams.
    pub(crate) fn arrived(&self, from: Side) -> (Bytes, u64) {
        let Direction { arrived, copies, .. } = &self.0[from.index()];
        (*arrived, *copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_complete_with_its_last_datagram_and_copies_do_not_count() {
        let mut conversation = Conversation::default();
        let message = |bytes| Message { size: Bytes(bytes), tag: bytes, log: None };
        for bytes in [2000, 50] {
            conversation.send(SimTime(5), Side::Sender, message(bytes), None);
        }
        let mut receive = |number, message, len| {
            let datagram = Datagram { number, message: MessageNumber(message), len };
            let first = conversation.receive(SimTime(9), Side::Sender, datagram);
            first.map(|first| (first.sent.0, first.message.map(|mark| mark.tag)))
        };
        assert_eq!(receive(2, 1, 50), Some((5, Some(50))));
        assert_eq!(receive(1, 0, 528), Some((5, None)));
        assert_eq!(receive(1, 0, 528), None);
        assert_eq!(receive(0, 0, 1472), Some((5, Some(2000))));
        assert_eq!(conversation.arrived(Side::Sender), (Bytes(2050), 1));
        assert!(conversation.is_idle(Side::Sender) && conversation.is_idle(Side::Receiver));
    }
}
