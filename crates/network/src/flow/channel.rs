//! One connection of a flow: what its application asked to be sent in each direction, and what has become of it.
//!
//! May: write to and read from the connection's ends. May not: send packets, talk to the application, or choose
//! times other than those that the read rate asks for.

use std::collections::VecDeque;

use apps::{ConnectionId, Message, Side};
use engine::LazyTimer;
use transport::Connection;
use transport::tcp::ranges::Range;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::flow::recorder::Recorder;
use crate::host::endpoint::End;

/// A reader that takes its time.
#[derive(Clone, Copy, Debug)]
struct PacedReader {
    rate: BitsPerSecond,
    /// Read in one go, if so much is there.
    chunk: Bytes,
    next: SimTime,
    timer: LazyTimer,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Offset after its last byte.
    end: u64,
    pub(crate) size: Bytes,
    pub(crate) tag: u64,
    pub(crate) sent: SimTime,
    /// Its row in the table of messages.
    pub(crate) row: Option<u32>,
    /// Datagrams: bytes that have not arrived.
    pub(crate) left: u64,
}

/// Datagrams of a message that have not arrived after this long never will: no queue holds them longer.
const LOST_AFTER: Nanos = Nanos::from_secs(600);

/// One direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// Bytes that the application wants to send, and those that the send buffer has taken.
    asked: u64,
    written: u64,
    /// To be closed behind the last byte; closed.
    close: bool,
    closed: bool,
    /// The application wants to know when everything is written.
    notify: bool,
    /// In the order of sending.
    marks: VecDeque<Mark>,
}

impl Outgoing {
    /// Adds a message, whose row in the table of messages is known.
    pub(crate) fn ask(&mut self, now: SimTime, message: Message, row: Option<u32>) {
        debug_assert!(!self.close, "sent after close");
        let Message { size, tag, .. } = message;
        self.asked = self.asked.saturating_add(size.0);
        if size != Bytes::MAX {
            self.marks.push_back(Mark { end: self.asked, size, tag, sent: now, row, left: size.0 });
        }
    }

    /// The application will send no more.
    pub(crate) fn close(&mut self) {
        self.close = true;
    }

    /// The application wants to know when everything is written.
    pub(crate) fn notify(&mut self) {
        self.notify = true;
    }

    /// Bytes that are waiting for the send buffer.
    pub(crate) fn backlog(&self) -> u64 {
        self.asked - self.written
    }

    /// What is not written will not be; messages that are cut never arrive. False if nothing was cut.
    fn cut(&mut self) -> bool {
        let cut = self.backlog() > 0;
        self.asked = self.written;
        self.marks.retain(|mark| mark.end <= self.written);
        cut
    }

    /// The first message that is delivered as a whole now that `delivered` bytes are.
    pub(crate) fn take_delivered(&mut self, delivered: Bytes) -> Option<Mark> {
        if self.marks.front()?.end > delivered.0 {
            return None;
        }
        self.marks.pop_front()
    }

    /// Messages are under way.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// A datagram has arrived: the state of its message, which is complete if nothing of it is left.
    pub(crate) fn take_datagram(&mut self, now: SimTime, range: Range) -> Option<Mark> {
        while self.marks.front().is_some_and(|mark| now.since(mark.sent) > LOST_AFTER) {
            self.marks.pop_front();
        }
        let i = self.marks.partition_point(|mark| mark.end <= range.start);
        let mark = self.marks.get_mut(i).filter(|mark| mark.end - mark.size.0 <= range.start)?;
        mark.left -= range.len();
        let state = *mark;
        if state.left == 0 {
            self.marks.remove(i);
        }
        Some(state)
    }
}

/// One connection of a flow.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Whose it is, and its number there.
    pub(crate) flow: usize,
    pub(crate) number: ConnectionId,
    /// By sending side.
    pub(crate) outgoing: [Outgoing; 2],
    pub(crate) recorder: Recorder,
    reader: Option<PacedReader>,
    /// Closing is the business of this side, not of the transport.
    held_open: bool,
    pub(crate) datagrams: bool,
}

impl Channel {
    /// Nothing asked for. `mss` is the least that a reader with a rate reads at a time.
    pub(crate) fn new(
        flow: usize,
        number: ConnectionId,
        read_rate: Option<BitsPerSecond>,
        mss: Bytes,
        held_open: bool,
        datagrams: bool,
    ) -> Self {
        let reader = read_rate.map(|rate| PacedReader {
            rate,
            chunk: rate.bytes_in(Nanos::from_millis(1)).max(mss),
            next: SimTime::ZERO,
            timer: LazyTimer::default(),
        });
        Self {
            flow,
            number,
            outgoing: <[Outgoing; 2]>::default(),
            recorder: Recorder::default(),
            reader,
            held_open,
            datagrams,
        }
    }

    /// Lets one side write as much as the connection takes. True if the application is to be told that all is written.
    pub(crate) fn write(&mut self, now: SimTime, side: Side, connection: &mut Connection) -> bool {
        let outgoing = &mut self.outgoing[side.index()];
        if outgoing.written < outgoing.asked {
            let bytes = connection.send_space().0.min(outgoing.asked - outgoing.written);
            if bytes > 0 {
                connection.write(Bytes(bytes));
                outgoing.written += bytes;
                if side == Side::Sender && !self.datagrams {
                    self.recorder.wrote(now, outgoing.written);
                }
            }
        }
        if outgoing.written < outgoing.asked {
            return false;
        }
        if self.held_open && connection.peer_finished() {
            outgoing.close = true;
        }
        if outgoing.close && !outgoing.closed {
            outgoing.closed = true;
            connection.close();
        }
        std::mem::take(&mut outgoing.notify)
    }

    /// Lets one side read. Returns the instant to push for its next turn, if one is needed.
    pub(crate) fn read(&mut self, now: SimTime, side: Side, connection: &mut Connection) -> Option<SimTime> {
        let readable = connection.readable();
        if readable == Bytes::ZERO {
            return None;
        }
        let Some(reader) = self.reader.as_mut().filter(|_| side == Side::Receiver) else {
            connection.read(now, readable);
            return None;
        };
        if now >= reader.next {
            let bytes = readable.min(reader.chunk);
            connection.read(now, bytes);
            reader.next = now + reader.rate.time_to_send(bytes);
        }
        reader.timer.set(reader.next)
    }

    /// Nothing more is written in either direction. False if all that was asked for is written already.
    pub(crate) fn cut(&mut self) -> bool {
        let [there, back] = &mut self.outgoing;
        there.close();
        if self.held_open {
            back.close();
        }
        // Not lazily: both must be cut.
        there.cut() | back.cut()
    }

    /// A wake-up of the reader came out of the queue. False if it was a stale one.
    pub(crate) fn read_fires(&mut self, now: SimTime) -> bool {
        self.reader.as_mut().is_some_and(|reader| reader.timer.fires(now))
    }

    /// All that was asked for in both directions is delivered. `ends` are sender and receiver.
    pub(crate) fn is_idle(&self, ends: &[End]) -> bool {
        let arrived = |outgoing: &Outgoing, at: &End| {
            outgoing.backlog() == 0
                && (outgoing.written == 0 || at.connection.delivered().0 >= outgoing.written)
        };
        arrived(&self.outgoing[0], &ends[1]) && arrived(&self.outgoing[1], &ends[0])
    }
}
