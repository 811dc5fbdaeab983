//! Applications: what users do with connections. An application is a conversation between the two ends of a flow.
//!
//! It is told what happens (`Event`) and answers by asking for something at its `Desk`: send a message, close, wake me
//! later. Messages are stretches of a byte stream, or datagrams, with a tag that comes back when the last byte has
//! arrived. One object stands for both ends, and each end acts only on what has reached it.
//! May: look at the time and at the events it is given, draw random numbers at its desk. May not: know transports,
//! links or packets.
//! To add one: `docs/howto/add-an-application.md`.

mod bulk;
mod ftp;
mod game;
mod http;
mod iperf;
mod onoff;
mod pages;
mod phases;
mod player;
mod probe;
mod registry;
mod replay;
#[cfg(test)]
mod testing;
mod video;

use std::fmt;

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

pub use registry::{Algorithm, Registry};

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The node `from` of the flow: the sender of its data, such as a server of pages.
    Sender,
    /// The node `to`: whoever the data is for.
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

/// A stretch of bytes to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its size; none of an endless one (`Bytes::MAX`) ever arrives as a whole.
    pub size: Bytes,
    /// Comes back with `Event::Arrived`.
    pub tag: u64,
    /// What it is called in the table of messages; `None`: it has no row there.
    pub log: Option<&'static str>,
}

/// What happens to an application.
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
        /// When it was asked to be sent.
        sent: SimTime,
    },
    /// Everything that this end asked to be sent over a connection is in the send buffer; told once for each
    /// `Desk::notify`.
    Accepted {
        /// Over which connection.
        connection: ConnectionId,
        /// Which end.
        from: Side,
    },
    /// A time that was asked for by `Desk::wake` has come.
    Wake(u64),
}

/// One row of the table of messages that an application measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// What it is called.
    pub what: &'static str,
    /// Bytes concerned.
    pub size: Bytes,
    /// From when.
    pub start: SimTime,
    /// Until now if true; never, if the end has not come and will not.
    pub ended: bool,
    /// The figure of interest.
    pub delay: Option<Nanos>,
}

/// One page, as its reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Which page.
    pub name: &'static str,
    /// Objects of the page, the main one included.
    pub objects: u64,
    /// Of these, objects that have arrived.
    pub arrived: u64,
    /// Bytes that have arrived.
    pub size: Bytes,
    /// Connections opened for it.
    pub connections: u64,
    /// When it was asked for: the first SYN leaves.
    pub start: SimTime,
    /// True if its last object has arrived.
    pub complete: bool,
}

/// What an application may ask for.
pub trait Desk {
    /// The present time.
    fn now(&self) -> SimTime;

    /// Uniform in [0, 1), from a stream of the flow's own.
    fn uniform(&mut self) -> f64;

    /// Opens one more connection; who opens is a matter of the flow. What is sent waits for its handshake.
    fn open(&mut self) -> ConnectionId;

    /// Sends a message after everything that this end has sent over the connection before.
    fn send(&mut self, connection: ConnectionId, from: Side, message: Message);

    /// This end sends nothing more over the connection; the other end closes when it has sent all of its own.
    fn close(&mut self, connection: ConnectionId, from: Side);

    /// Asks for `Event::Accepted` as soon as all that was sent is in the send buffer.
    fn notify(&mut self, connection: ConnectionId, from: Side);

    /// Bytes that the send buffer would still take at once; no limit with datagrams.
    fn space(&self, connection: ConnectionId, from: Side) -> Bytes;

    /// Bytes of the flow's data that its receiver has got so far, over all connections.
    fn delivered(&self) -> Bytes;

    /// Asks for `Event::Wake` with this tag at `at`; earlier wishes stand.
    fn wake(&mut self, at: SimTime, tag: u64);

    /// Nothing more will be sent: the flow is complete when all of it is delivered.
    fn finish(&mut self);

    /// Ends the flow now: what the send buffers have not taken is not sent.
    fn stop(&mut self);

    /// A row of the table of messages.
    fn log(&mut self, measurement: Measurement);

    /// A row of the table of pages, complete or the last word about one that is not.
    fn page(&mut self, page: Page);
}

/// One application of one flow.
pub trait App: fmt::Debug + Send {
    /// Something has happened.
    fn on_event(&mut self, event: Event, desk: &mut dyn Desk);

    /// The flow's time is over; last measurements may be written. Nothing that is sent leaves.
    fn on_end(&mut self, _desk: &mut dyn Desk) {}

    /// Rate at which the receiving end reads; `None`: it reads at once.
    fn read_rate(&self) -> Option<BitsPerSecond> {
        None
    }

    /// Which end opens connections, unless the scenario says.
    fn opens(&self) -> Side {
        Side::Sender
    }

    /// True if it copes with datagrams that get lost.
    fn takes_datagrams(&self) -> bool {
        false
    }

    /// True if each end waits until the other has finished sending before it closes for good. Otherwise the
    /// receiving end has nothing to say and closes as soon as it has read the last byte.
    fn talks_both_ways(&self) -> bool {
        true
    }

    /// Messages with a longer delay are late.
    fn deadline(&self) -> Option<Nanos> {
        None
    }
}
