//! One connection of a flow: the data that its application wants to send in each direction, and its progress.
//!
//! May: write to and read from the two sockets. May not: send packets, talk to the application, or choose
//! times other than those that the read rate asks for.

use std::collections::VecDeque;

use apps::{Message, Side};
use engine::LazyTimer;
use transport::Connection;
use transport::tcp::ranges::Range;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::flow::events::EndAction;
use crate::flow::limits::Limits;
use crate::flow::recorder::Recorder;
use crate::host::socket::SocketId;

/// A reader with a rate.
#[derive(Clone, Copy, Debug)]
struct PacedReader {
    rate: BitsPerSecond,
    /// Read at once, if that much has arrived.
    chunk: Bytes,
    next: SimTime,
    timer: LazyTimer,
}

/// A message that has not arrived.
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
    /// Bytes that the application wants to send, and those of them that the send buffer has taken.
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
        self.check();
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

    /// Discards the backlog that the send buffer has not accepted; messages not fully written are dropped. False if
    /// there was none.
    fn cut(&mut self) -> bool {
        let cut = self.backlog() > 0;
        self.asked = self.written;
        self.marks.retain(|mark| mark.end <= self.written);
        self.check();
        cut
    }

    #[inline]
    fn check(&self) {
        debug_assert!(self.written <= self.asked, "{} bytes written of {}", self.written, self.asked);
        debug_assert!(!self.closed || self.close, "closed without being told to");
        debug_assert!(
            self.marks.back().is_none_or(|mark| mark.end <= self.asked),
            "a message ends after the stream"
        );
        debug_assert!(self.marks.iter().all(|mark| mark.left <= mark.size.0), "more left than sent");
    }

    /// The first message that is delivered as a whole now that `delivered` bytes are.
    pub(crate) fn take_delivered(&mut self, delivered: Bytes) -> Option<Mark> {
        if self.marks.front()?.end > delivered.0 {
            return None;
        }
        self.marks.pop_front()
    }

    /// A datagram has arrived: the state of its message, which is complete if nothing of it is left.
    pub(crate) fn take_datagram(&mut self, now: SimTime, range: Range) -> Option<Mark> {
        while self.marks.front().is_some_and(|mark| now.since(mark.sent) > LOST_AFTER) {
            self.marks.pop_front();
        }
        let i = self.marks.partition_point(|mark| mark.end <= range.start);
        let mark = self.marks.get_mut(i).filter(|mark| mark.end - mark.size.0 <= range.start)?;
        debug_assert!(range.len() <= mark.left, "a datagram arrived twice");
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
    pub(crate) recorder: Recorder,
    pub(crate) limits: Limits,
    /// By sending side.
    outgoing: [Outgoing; 2],
    /// By side; `None` at the server until its host has accepted.
    sockets: [Option<SocketId>; 2],
    /// Actions on the server end from before it was accepted.
    early: Vec<EndAction>,
    reader: Option<PacedReader>,
    /// Connections close when the application says so, and not as soon as the other end has.
    held_open: bool,
    datagrams: bool,
}

impl Channel {
    /// Nothing to send. `mss` is the least that a reader with a rate reads at a time.
    pub(crate) fn new(
        read_rate: Option<BitsPerSecond>,
        mss: Bytes,
        held_open: bool,
        datagrams: bool,
        limits: Limits,
    ) -> Self {
        let reader = read_rate.map(|rate| PacedReader {
            rate,
            chunk: rate.bytes_in(Nanos::from_millis(1)).max(mss),
            next: SimTime::ZERO,
            timer: LazyTimer::default(),
        });
        Self {
            recorder: Recorder::default(),
            limits,
            outgoing: <[Outgoing; 2]>::default(),
            sockets: [None; 2],
            early: Vec::new(),
            reader,
            held_open,
            datagrams,
        }
    }

    /// The socket at one side, once there is one.
    #[inline]
    pub(crate) fn socket(&self, side: Side) -> Option<SocketId> {
        self.sockets[side.index()]
    }

    /// The host of one side has opened or accepted the connection. Returns the actions on that end from before.
    pub(crate) fn connect(
        &mut self,
        side: Side,
        socket: SocketId,
        connection: &mut Connection,
    ) -> Vec<EndAction> {
        debug_assert_eq!(self.sockets[side.index()], None, "each end is opened or accepted once");
        if self.held_open {
            connection.hold_open();
        }
        self.sockets[side.index()] = Some(socket);
        std::mem::take(&mut self.early)
    }

    /// Something happens to the server end, which has not been accepted.
    pub(crate) fn before_accept(&mut self, action: EndAction) {
        debug_assert!(self.sockets.contains(&None), "both ends exist");
        self.early.push(action);
    }

    /// Its messages are datagrams.
    #[inline]
    pub(crate) fn is_datagrams(&self) -> bool {
        self.datagrams
    }

    /// The data that one side wants to send.
    #[inline]
    pub(crate) fn outgoing(&self, from: Side) -> &Outgoing {
        &self.outgoing[from.index()]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn outgoing_mut(&mut self, from: Side) -> &mut Outgoing {
        &mut self.outgoing[from.index()]
    }

    /// A message of the other side has arrived at this one.
    #[inline]
    pub(crate) fn has_arrived(&self, side: Side, connection: &Connection) -> bool {
        let next = self.outgoing(side.other()).marks.front();
        next.is_some_and(|mark| !self.datagrams && mark.end <= connection.delivered().0)
    }

    /// Writes nothing, as there is no connection. True if the application is to be told that all is written.
    pub(crate) fn write_nothing(&mut self, side: Side) -> bool {
        let outgoing = &mut self.outgoing[side.index()];
        outgoing.backlog() == 0 && std::mem::take(&mut outgoing.notify)
    }

    /// Lets one side write as much as its connection takes. True if the application is to be told that all is written.
    #[inline(always)]
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
        outgoing.check();
        std::mem::take(&mut outgoing.notify)
    }

    /// The sender has sent all that it may: records what limits it, and those subflows whose bit is set.
    #[inline]
    pub(crate) fn record_limits(&mut self, now: SimTime, sender: &Connection, changed: u64) {
        let more = self.outgoing[Side::Sender.index()].backlog() > 0;
        self.limits.after(now, sender, more, changed);
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
        debug_assert!(reader.chunk > Bytes::ZERO, "a reader that reads nothing");
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

    /// All that was to be sent in both directions is delivered. `delivered_at` tells what a socket has delivered.
    pub(crate) fn is_idle(&self, delivered_at: impl Fn(SocketId) -> Bytes) -> bool {
        [Side::Sender, Side::Receiver].into_iter().all(|from| {
            let outgoing = self.outgoing(from);
            let to = self.sockets[1 - from.index()];
            outgoing.backlog() == 0
                && (outgoing.written == 0 || to.is_some_and(|to| delivered_at(to).0 >= outgoing.written))
        })
    }
}
