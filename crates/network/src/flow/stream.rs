//! The byte streams of one connection: the data that its application wants to send in each direction, and its progress.
//!
//! May: write to and read from the two ends. May not: send packets, talk to the application, or choose
//! times other than those that the read rate asks for.

use std::collections::VecDeque;

use apps::{Message, Side};
use engine::LazyTimer;
use transport::Connection;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::flow::events::EndAction;
use crate::flow::message::Mark;
use crate::flow::messages::Messages;
use crate::flow::recorder::{FlowRecorder, Recorder};

/// A reader with a rate.
#[derive(Clone, Copy, Debug)]
struct PacedReader {
    rate: BitsPerSecond,
    /// Read at once, if that much has arrived.
    chunk: Bytes,
    next: SimTime,
    timer: LazyTimer,
}

/// One direction. It is small: each turn of an end looks at both.
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
    /// Boxed: thousands of streams have no end, and no message.
    under_way: Option<Box<UnderWay>>,
}

/// Messages of one direction that have not arrived.
#[derive(Clone, Debug)]
enum UnderWay {
    /// Messages of a byte stream, in the order of sending, each with the offset after its last byte.
    InStream(VecDeque<(u64, Mark)>),
    /// Messages of an association.
    Apart(Messages),
}

impl UnderWay {
    /// The first one of a byte stream: for most flows one at a time is under way.
    fn in_stream() -> Box<Self> {
        Box::new(Self::InStream(VecDeque::with_capacity(1)))
    }

    fn len(&self) -> usize {
        match self {
            Self::InStream(marks) => marks.len(),
            Self::Apart(messages) => messages.held(),
        }
    }

    /// There is none, and over an association there never was.
    fn is_silent(&self) -> bool {
        match self {
            Self::InStream(marks) => marks.is_empty(),
            Self::Apart(messages) => messages.is_silent(),
        }
    }

    /// Drops those that are not fully written.
    fn cut(&mut self, written: u64) {
        match self {
            Self::InStream(marks) => marks.retain(|(end, _)| *end <= written),
            Self::Apart(messages) => messages.cut(written),
        }
    }

    /// One has arrived now that `delivered` bytes are.
    fn has_arrived(&self, delivered: Bytes) -> bool {
        match self {
            Self::InStream(marks) => marks.front().is_some_and(|(end, _)| *end <= delivered.0),
            Self::Apart(messages) => messages.has_arrived(delivered.0),
        }
    }

    /// Takes the first that has.
    fn take_arrived(&mut self, delivered: Bytes) -> Option<Mark> {
        match self {
            Self::InStream(marks) => {
                marks.front().filter(|(end, _)| *end <= delivered.0)?;
                marks.pop_front().map(|(_, mark)| mark)
            }
            Self::Apart(messages) => messages.take_arrived(delivered.0),
        }
    }
}

impl Outgoing {
    /// Nothing to send, over an association with this number of streams or a byte stream.
    fn new(streams: Option<u16>) -> Self {
        let apart = |streams| Box::new(UnderWay::Apart(Messages::new(streams)));
        Self { under_way: streams.map(apart), ..Self::default() }
    }

    /// Messages that have not arrived.
    fn held(&self) -> usize {
        self.under_way.as_ref().map_or(0, |under_way| under_way.len())
    }

    /// The messages of an association.
    #[inline]
    fn messages_mut(&mut self) -> Option<&mut Messages> {
        match self.under_way.as_deref_mut() {
            Some(UnderWay::Apart(messages)) => Some(messages),
            Some(UnderWay::InStream(_)) | None => None,
        }
    }

    /// The connection carries messages, which have identities.
    #[inline]
    fn has_messages(&self) -> bool {
        matches!(self.under_way.as_deref(), Some(UnderWay::Apart(_)))
    }

    /// Adds a message, whose row in the table of messages is known, on this stream if it has one of its own.
    pub(crate) fn ask(&mut self, now: SimTime, message: Message, row: Option<u32>, stream: Option<u16>) {
        debug_assert!(!self.close, "sent after close");
        let (before, mark) = (self.asked, Mark::new(now, message, row));
        self.asked = before.saturating_add(message.size.0);
        if let Some(messages) = self.messages_mut() {
            messages.ask(mark, stream, before);
        } else if message.size != Bytes::MAX
            && let UnderWay::InStream(marks) = &mut **self.under_way.get_or_insert_with(UnderWay::in_stream)
        {
            marks.push_back((self.asked, mark));
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

    /// Nothing was ever to be sent, not even a message without bytes.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        self.asked == 0 && self.under_way.as_ref().is_none_or(|under_way| under_way.is_silent())
    }

    /// Discards the backlog that the send buffer has not accepted; messages not fully written are dropped. False if
    /// there was none.
    fn cut(&mut self) -> bool {
        let cut = self.backlog() > 0;
        self.asked = self.written;
        if let Some(under_way) = &mut self.under_way {
            under_way.cut(self.written);
        }
        self.check();
        cut
    }

    #[inline]
    fn check(&self) {
        debug_assert!(self.written <= self.asked, "{} bytes written of {}", self.written, self.asked);
        debug_assert!(!self.closed || self.close, "closed without being told to");
        if let Some(UnderWay::InStream(marks)) = self.under_way.as_deref() {
            debug_assert!(
                marks.back().is_none_or(|(end, _)| *end <= self.asked),
                "a message ends after the stream"
            );
            debug_assert!(
                marks.front().is_none_or(|(end, mark)| *end >= mark.size.0),
                "a message begins before the stream"
            );
        }
    }

    /// Writes up to `bytes` in messages. A write of at most `size` makes one user message, or several.
    #[cold]
    #[inline(never)]
    fn write_messages(&mut self, connection: &mut Connection, bytes: Bytes, size: Bytes) {
        let size = connection.message_size().unwrap_or(Bytes::MAX).min(size);
        let written = self.written;
        if let Some(messages) = self.messages_mut() {
            self.written = messages.write(connection, (bytes, size), written);
        }
    }

    /// The first message that is delivered as a whole now that `delivered` bytes are.
    pub(crate) fn take_delivered(&mut self, delivered: Bytes) -> Option<Mark> {
        self.under_way.as_mut()?.take_arrived(delivered)
    }
}

/// Both directions of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) recorder: Recorder,
    /// By sending side.
    outgoing: [Outgoing; 2],
    /// Actions on the server end from before it was accepted.
    early: Vec<EndAction>,
    /// Boxed: thousands of connections have none.
    reader: Option<Box<PacedReader>>,
    /// Most bytes of one write.
    write_size: u64,
    /// Connections close when the application says so, and not as soon as the other end has.
    held_open: bool,
}

impl Streams {
    /// Nothing to send. `mss` is the least that a reader with a rate reads at a time; `streams` the number of streams of an
    /// association.
    pub(crate) fn new(
        read_rate: Option<BitsPerSecond>,
        mss: Bytes,
        held_open: bool,
        streams: Option<u16>,
    ) -> Self {
        let reader = read_rate.map(|rate| {
            Box::new(PacedReader {
                rate,
                chunk: rate.bytes_in(Nanos::from_millis(1)).max(mss),
                next: SimTime::ZERO,
                timer: LazyTimer::default(),
            })
        });
        Self {
            recorder: Recorder::new(streams.is_some()),
            outgoing: [streams, streams].map(Outgoing::new),
            early: Vec::new(),
            reader,
            write_size: u64::MAX,
            held_open,
        }
    }

    /// Applications write this much at once, if there is a limit.
    pub(crate) fn limit_writes(&mut self, size: Option<Bytes>) {
        debug_assert!(size.is_none_or(|size| size > Bytes::ZERO), "writes of nothing");
        self.write_size = size.map_or(u64::MAX, |size| size.0);
    }

    /// One side writes more, after a write of its size and the packets that came of it.
    #[inline]
    pub(crate) fn writes_on(&self, side: Side, connection: &Connection) -> bool {
        self.write_size != u64::MAX
            && self.outgoing[side.index()].backlog() > 0
            && connection.send_space() > Bytes::ZERO
    }

    /// The host of one side has opened or accepted the connection. Returns the actions on that end from before.
    pub(crate) fn connect(&mut self, connection: &mut Connection) -> Vec<EndAction> {
        if self.held_open {
            connection.hold_open();
        }
        std::mem::take(&mut self.early)
    }

    /// Something happens to the server end, which has not been accepted.
    pub(crate) fn before_accept(&mut self, action: EndAction) {
        self.early.push(action);
    }

    /// Messages under way.
    pub(crate) fn held(&self) -> usize {
        self.outgoing.iter().map(Outgoing::held).sum()
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
        let under_way = &self.outgoing(side.other()).under_way;
        under_way.as_ref().is_some_and(|under_way| under_way.has_arrived(connection.delivered()))
    }

    /// Connections carry messages, which have identities.
    #[inline]
    pub(crate) fn have_messages(&self) -> bool {
        self.outgoing[0].has_messages()
    }

    /// Messages have arrived at one side.
    #[cold]
    pub(crate) fn take_in(
        &mut self,
        now: SimTime,
        side: Side,
        connection: &mut Connection,
        flow: &mut FlowRecorder,
    ) {
        while let Some(delivery) = connection.announce() {
            if side == Side::Receiver {
                self.recorder.arrived(now, delivery, flow);
            }
            if let Some(messages) = self.outgoing[side.other().index()].messages_mut() {
                messages.take_in(delivery);
            }
        }
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
            let bytes = connection.send_space().0.min(outgoing.asked - outgoing.written).min(self.write_size);
            if bytes > 0 {
                let before = outgoing.written;
                if outgoing.has_messages() {
                    outgoing.write_messages(connection, Bytes(bytes), Bytes(self.write_size));
                } else {
                    connection.write(Bytes(bytes));
                    outgoing.written += bytes;
                }
                // A message for which there is no room as a whole waits.
                if side == Side::Sender && outgoing.written > before {
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

    /// Lets one side read. Returns the instant to push for its next turn, if one is needed.
    #[inline(always)]
    pub(crate) fn read(&mut self, now: SimTime, side: Side, connection: &mut Connection) -> Option<SimTime> {
        if self.reader.is_some() && side == Side::Receiver {
            return self.read_at_rate(now, connection);
        }
        connection.read_all(now);
        None
    }

    #[cold]
    #[inline(never)]
    fn read_at_rate(&mut self, now: SimTime, connection: &mut Connection) -> Option<SimTime> {
        let reader = self.reader.as_mut()?;
        let readable = connection.readable();
        if readable == Bytes::ZERO {
            return None;
        }
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

    /// Data was written in one direction at least.
    pub(crate) fn has_carried(&self) -> bool {
        self.outgoing.iter().any(|outgoing| outgoing.written > 0)
    }

    /// All that was to be sent by one side is delivered, of which the other side has `delivered`.
    pub(crate) fn is_idle(&self, from: Side, delivered: impl FnOnce() -> Option<Bytes>) -> bool {
        let outgoing = self.outgoing(from);
        outgoing.backlog() == 0
            && (outgoing.written == 0 || delivered().is_some_and(|bytes| bytes.0 >= outgoing.written))
    }
}
