//! Applications: what users do with connections. An application is a conversation between the two ends of a flow.
//!
//! It handles an `Event` and makes requests through its `AppContext`: send a message, close, set a wake-up. Messages are
//! ranges of a byte stream, or datagrams, with a tag that is returned when the last byte has arrived. One object models
//! both ends, and each end acts only on what has reached it.
//! May: read the time and the events, draw random numbers from its context. May not: know transports, links or packets.
//! To add one: `docs/howto/add-an-application.md`.

mod bounds;
mod builtin;
mod bulk;
mod command;
mod ftp;
mod game;
mod http;
mod iperf;
mod onoff;
mod pages;
mod phases;
mod player;
mod probe;
mod recording;
mod replay;
#[cfg(test)]
mod testing;
mod timed;
mod video;

use std::fmt;

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

pub use builtin::{Algorithm, Apps, Registry};
pub use command::COMMAND;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The node `from` of the flow: the sender of its data, such as a server of pages.
    Sender,
    /// The node `to`: the receiver of the data.
    Receiver,
}

impl Side {
    /// The other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// 0 for the sender, 1 for the receiver.
    pub fn index(self) -> usize {
        match self {
            Self::Sender => 0,
            Self::Receiver => 1,
        }
    }
}

/// Number of a connection within its flow, in the order of opening.
pub type ConnectionId = u32;

/// A range of bytes to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its size; `Bytes::MAX` is endless: such a message never arrives as a whole.
    pub size: Bytes,
    /// Returned with `Event::Arrived`.
    pub tag: u64,
    /// Its name in the table of messages; `None`: it has no row there.
    pub log: Option<&'static str>,
}

/// An event of the flow, as its application sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The flow starts.
    Start,
    /// All of a message is at the end that it was sent to, in order if the transport keeps order.
    Arrived {
        /// Over which connection.
        connection: ConnectionId,
        /// Where it is now.
        at: Side,
        /// Its tag.
        tag: u64,
        /// Its size.
        size: Bytes,
        /// When the application sent it.
        sent: SimTime,
    },
    /// All data that this end has sent over a connection is in the send buffer; once for each `Sockets::notify`.
    Accepted {
        /// Over which connection.
        connection: ConnectionId,
        /// Which end.
        from: Side,
    },
    /// A wake-up requested by `AppContext::wake`, with its tag.
    Wake(u64),
}

/// A row of the table of messages that the application measured itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Its name in the table.
    pub what: &'static str,
    /// Bytes concerned.
    pub size: Bytes,
    /// Start of the measurement.
    pub start: SimTime,
    /// True: it ends now. False: it was cut off by the end of the flow.
    pub ended: bool,
    /// The measured time, if there is one.
    pub delay: Option<Nanos>,
}

/// One load of a web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Name of the page.
    pub name: &'static str,
    /// Objects of the page, the main one included.
    pub objects: u64,
    /// Objects that have arrived.
    pub arrived: u64,
    /// Bytes that have arrived.
    pub size: Bytes,
    /// Connections opened for it.
    pub connections: u64,
    /// When it was requested: the first SYN leaves.
    pub start: SimTime,
    /// True if its last object has arrived.
    pub complete: bool,
}

/// The connections of a flow, as its application uses them.
pub trait Sockets {
    /// Opens one more connection; which end opens is a setting of the flow. Data waits for the handshake.
    fn open(&mut self) -> ConnectionId;

    /// The same to a server beside it that does not speak MPTCP: it answers a SYN as plain TCP.
    fn open_plain(&mut self) -> ConnectionId;

    /// Sends a message after everything that this end has sent over the connection before, unless it has several streams.
    fn send(&mut self, connection: ConnectionId, from: Side, message: Message);

    /// The same on one of the streams of the connection: it waits for what was sent on that stream alone.
    fn send_on(&mut self, connection: ConnectionId, from: Side, stream: u16, message: Message);

    /// Streams of each connection (SCTP), or 1. Messages without a stream of their own go to each in turn.
    fn streams(&self) -> u16;

    /// This end sends nothing more over the connection; the other end closes when it has sent all of its own.
    fn close(&mut self, connection: ConnectionId, from: Side);

    /// Requests `Event::Accepted` as soon as all data of this end is in the send buffer.
    fn notify(&mut self, connection: ConnectionId, from: Side);

    /// Free bytes of the send buffer, less what already waits for it; no limit with datagrams.
    fn space(&self, connection: ConnectionId, from: Side) -> Bytes;
}

/// The view of an application while it handles an event, to read and to request: connections, time, random numbers, wake-ups,
/// records. Requests take effect after it returns.
pub trait AppContext: Sockets {
    /// The present time.
    fn now(&self) -> SimTime;

    /// Uniform in [0, 1), from the flow's own random stream.
    fn uniform(&mut self) -> f64;

    /// Bytes of the flow's data that its receiver has got so far, over all connections.
    fn delivered(&self) -> Bytes;

    /// Requests `Event::Wake` with this tag at `at`; earlier requests stand.
    fn wake(&mut self, at: SimTime, tag: u64);

    /// Nothing more will be sent: the flow completes when all of its data is delivered.
    fn finish(&mut self);

    /// Ends the flow now: data that is not in a send buffer yet is discarded.
    fn stop(&mut self);

    /// Adds a row to the table of messages.
    fn log(&mut self, measurement: Measurement);

    /// Adds a row to the table of pages; a page that stays incomplete is reported once, at the end.
    fn page(&mut self, page: Page);
}

/// One application of one flow.
pub trait App: fmt::Debug + Send {
    /// Handles an event.
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext);

    /// The flow's time is over: last measurements may be logged. Data sent here is not transmitted.
    fn on_end(&mut self, _ctx: &mut dyn AppContext) {}

    /// Rate at which the receiving end reads; `None`: immediately.
    fn read_rate(&self) -> Option<BitsPerSecond> {
        None
    }

    /// Bytes that an end writes at once; `None`: as much as the send buffer takes.
    fn write_size(&self) -> Option<Bytes> {
        None
    }

    /// The end that opens connections unless the scenario sets one.
    fn opens(&self) -> Side {
        Side::Sender
    }

    /// True if it may call [`Sockets::open_plain`].
    fn meets_plain_servers(&self) -> bool {
        false
    }

    /// True if it can run over a transport that loses datagrams.
    fn takes_datagrams(&self) -> bool {
        false
    }

    /// True if both ends send: each waits until the other has finished before it closes. Otherwise the receiving end
    /// closes as soon as it has read the last byte.
    fn talks_both_ways(&self) -> bool {
        true
    }

    /// Messages with a longer delay are late.
    fn deadline(&self) -> Option<Nanos> {
        None
    }
}
