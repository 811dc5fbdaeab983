//! The messages of one direction of an association, whose streams do not wait for each other.
//!
//! May: choose the stream that is written next, and tell which message of the application an arrival belongs to. May not: know what
//! the transport does with them.
//!
//! A message without a stream of its own goes to the next stream in turn. Streams with data take turns at writing, one user message
//! each: a large message keeps the send buffer from no other stream.

use std::collections::{BTreeMap, VecDeque};

use transport::Connection;
use transport::sctp::Delivery;
use transport::sctp::tsn::StreamId;
use units::Bytes;

use crate::flow::message::Mark;

/// Number of a message, in the order of sending.
type Number = u64;

/// A message of which a part is not written.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: Number,
    left: u64,
}

/// A written part of a message, in the concatenation of all that was written.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    end: u64,
    /// Bytes that have not arrived.
    left: u64,
    number: Number,
}

/// A message that has not arrived as a whole.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    mark: Mark,
    left: u64,
}

/// Messages of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    /// By stream: messages of which a part is not written.
    queues: Vec<VecDeque<Waiting>>,
    /// The stream that is written next.
    turn: usize,
    /// The stream of the next message without one of its own.
    next: usize,
    asked: Number,
    parts: VecDeque<Part>,
    under_way: BTreeMap<Number, UnderWay>,
    /// Messages without bytes, and how many bytes were sent before them: they arrive with these.
    empty: VecDeque<(u64, Mark)>,
    /// Messages that have arrived, and are not told.
    arrived: VecDeque<Mark>,
}

impl Messages {
    /// None yet; an association with this number of streams.
    pub(crate) fn new(streams: u16) -> Self {
        Self {
            queues: vec![VecDeque::new(); usize::from(streams)],
            turn: 0,
            next: 0,
            asked: 0,
            parts: VecDeque::new(),
            under_way: BTreeMap::new(),
            empty: VecDeque::new(),
            arrived: VecDeque::new(),
        }
    }

    /// Messages under way, whole and in parts.
    pub(crate) fn held(&self) -> usize {
        let waiting = self.queues.iter().map(VecDeque::len).sum::<usize>();
        waiting + self.parts.len() + self.under_way.len() + self.empty.len() + self.arrived.len()
    }

    /// Adds a message, on this stream if it has one of its own. `before` are the bytes sent before it.
    pub(crate) fn ask(&mut self, mark: Mark, stream: Option<u16>, before: u64) {
        if mark.size == Bytes::ZERO {
            return self.empty.push_back((before, mark));
        }
        let stream = stream.map_or(self.next, usize::from);
        if stream == self.next {
            self.next = (self.next + 1) % self.queues.len();
        }
        debug_assert!(stream < self.queues.len(), "stream {stream} of {}", self.queues.len());
        let left = mark.size.0;
        self.queues[stream].push_back(Waiting { number: self.asked, left });
        // An endless message never arrives.
        if mark.size != Bytes::MAX {
            self.under_way.insert(self.asked, UnderWay { mark, left });
        }
        self.asked += 1;
        self.check();
    }

    /// Writes up to `bytes` in user messages of at most `size`. `written` bytes were written before; returns how many are now.
    pub(crate) fn write(
        &mut self,
        connection: &mut Connection,
        (bytes, size): (Bytes, Bytes),
        mut written: u64,
    ) -> u64 {
        let until = written + bytes.0;
        let streams = self.queues.len();
        while let Some(stream) =
            (self.turn..self.turn + streams).map(|i| i % streams).find(|i| !self.queues[*i].is_empty())
        {
            let Some(waiting) = self.queues[stream].front_mut() else { break };
            let piece = waiting.left.min(size.0);
            if written + piece > until {
                break;
            }
            connection.write_on(StreamId(stream as u16), Bytes(piece));
            waiting.left -= piece;
            let Waiting { number, left } = *waiting;
            if left == 0 {
                self.queues[stream].pop_front();
            }
            if self.under_way.contains_key(&number) {
                self.note(number, written, written + piece);
            }
            written += piece;
            self.turn = (stream + 1) % streams;
        }
        self.check();
        written
    }

    /// Bytes of a message are written.
    fn note(&mut self, number: Number, start: u64, end: u64) {
        match self.parts.back_mut() {
            Some(last) if last.number == number && last.end == start => {
                last.end = end;
                last.left += end - start;
            }
            _ => self.parts.push_back(Part { start, end, left: end - start, number }),
        }
    }

    /// A user message has arrived.
    pub(crate) fn take_in(&mut self, delivery: Delivery) {
        let (offset, size) = (delivery.offset.0, delivery.size.0);
        let index = self.parts.partition_point(|part| part.end <= offset);
        let Some(part) = self.parts.get_mut(index).filter(|part| part.start <= offset) else {
            // It belongs to an endless message.
            return;
        };
        debug_assert!(offset + size <= part.end && size <= part.left, "{delivery:?} is not of {part:?}");
        part.left -= size;
        let number = part.number;
        while self.parts.front().is_some_and(|part| part.left == 0) {
            self.parts.pop_front();
        }
        // A message that was cut never arrives.
        if let Some(message) = self.under_way.get_mut(&number) {
            message.left -= size;
            if message.left == 0 {
                self.arrived.push_back(message.mark);
                self.under_way.remove(&number);
            }
        }
        self.check();
    }

    /// A message has arrived, when this many bytes have.
    #[inline(never)]
    pub(crate) fn has_arrived(&self, delivered: u64) -> bool {
        !self.arrived.is_empty() || self.empty.front().is_some_and(|(before, _)| *before <= delivered)
    }

    /// The next message that has arrived, in the order of arrival.
    pub(crate) fn take_arrived(&mut self, delivered: u64) -> Option<Mark> {
        let mark = self.arrived.pop_front();
        mark.or_else(|| {
            let next = self.empty.front().is_some_and(|(before, _)| *before <= delivered);
            next.then(|| self.empty.pop_front()).flatten().map(|(_, mark)| mark)
        })
    }

    /// Nothing was ever sent.
    pub(crate) fn is_silent(&self) -> bool {
        self.asked == 0 && self.empty.is_empty()
    }

    /// Messages that are not written as a whole are dropped, and those without bytes that were sent after `written`.
    pub(crate) fn cut(&mut self, written: u64) {
        for waiting in self.queues.iter_mut().flat_map(|queue| queue.drain(..)) {
            self.under_way.remove(&waiting.number);
        }
        self.empty.retain(|(before, _)| *before <= written);
        self.check();
    }

    fn check(&self) {
        debug_assert!(
            self.turn < self.queues.len() && self.next < self.queues.len(),
            "a stream that is none"
        );
        debug_assert!(self.parts.front().is_none_or(|part| part.left > 0), "an arrived part is kept");
        // All are looked at whenever their number is a power of two: there may be thousands.
        debug_assert!(
            !self.parts.len().is_power_of_two()
                || self.parts.iter().zip(self.parts.iter().skip(1)).all(|(one, next)| one.end <= next.start),
            "parts are in the order of writing"
        );
    }
}
