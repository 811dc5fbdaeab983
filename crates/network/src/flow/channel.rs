//! One connection of a flow, or its conversation in datagrams: the two sockets and the data between them.
//!
//! May: find the sockets, and tell streams from datagrams. May not: call connections.

use apps::{Message, Side};
use transport::udp::MessageNumber;
use units::{Bytes, SimTime};

use crate::flow::datagrams::Conversation;
use crate::flow::limits::Limits;
use crate::flow::stream::Streams;
use crate::host::socket::SocketId;

/// Data between two sockets.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "streams are the hot path: no pointer in between")]
pub(crate) enum Traffic {
    /// Byte streams over a connection.
    Streams(Streams),
    /// Messages in datagrams.
    Datagrams(Box<Conversation>),
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It waits at the end of a stream.
    Queued,
    /// In datagrams, at once.
    AtOnce(MessageNumber),
}

/// Two sockets of a flow and the data between them, which begins with a line of the cache.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Channel {
    pub(crate) limits: Limits,
    /// By side; `None` at the server until its host has accepted.
    sockets: [Option<SocketId>; 2],
    traffic: Traffic,
}

impl Channel {
    /// Without sockets, and nothing to send.
    pub(crate) fn new(traffic: Traffic, limits: Limits) -> Self {
        Self { limits, sockets: [None; 2], traffic }
    }

    /// Messages under way.
    pub(crate) fn held(&self) -> usize {
        match &self.traffic {
            Traffic::Streams(streams) => streams.held(),
            Traffic::Datagrams(conversation) => conversation.held(),
        }
    }

    /// The socket at one side, once there is one.
    #[inline]
    pub(crate) fn socket(&self, side: Side) -> Option<SocketId> {
        self.sockets[side.index()]
    }

    /// The host of one side has opened or accepted.
    pub(crate) fn connect(&mut self, side: Side, socket: SocketId) {
        debug_assert_eq!(self.sockets[side.index()], None, "each end is opened or accepted once");
        debug_assert!(!self.sockets.contains(&Some(socket)), "the two ends are different sockets");
        self.sockets[side.index()] = Some(socket);
    }

    /// The streams of a connection; `None` with datagrams.
    #[inline]
    pub(crate) fn streams(&self) -> Option<&Streams> {
        match &self.traffic {
            Traffic::Streams(streams) => Some(streams),
            Traffic::Datagrams(_) => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn streams_mut(&mut self) -> Option<&mut Streams> {
        match &mut self.traffic {
            Traffic::Streams(streams) => Some(streams),
            Traffic::Datagrams(_) => None,
        }
    }

    /// The conversation in datagrams, if it is one.
    pub(crate) fn conversation(&self) -> Option<&Conversation> {
        match &self.traffic {
            Traffic::Streams(_) => None,
            Traffic::Datagrams(conversation) => Some(conversation),
        }
    }

    /// The same, to be changed.
    pub(crate) fn conversation_mut(&mut self) -> Option<&mut Conversation> {
        match &mut self.traffic {
            Traffic::Streams(_) => None,
            Traffic::Datagrams(conversation) => Some(conversation),
        }
    }

    /// The streams of a connection, and the recorder of its limits; `None` with datagrams.
    #[inline]
    pub(crate) fn streams_and_limits(&mut self) -> Option<(&mut Streams, &mut Limits)> {
        match &mut self.traffic {
            Traffic::Streams(streams) => Some((streams, &mut self.limits)),
            Traffic::Datagrams(_) => None,
        }
    }

    /// One side sends a message, whose row in the table of messages is known, on this stream if it has one of its own.
    pub(crate) fn send(
        &mut self,
        now: SimTime,
        (from, stream): (Side, Option<u16>),
        message: Message,
        row: Option<u32>,
    ) -> Sending {
        match &mut self.traffic {
            Traffic::Streams(streams) => {
                streams.outgoing_mut(from).ask(now, message, row, stream);
                Sending::Queued
            }
            Traffic::Datagrams(conversation) => Sending::AtOnce(conversation.send(now, from, message, row)),
        }
    }

    /// One side will send no more. Datagrams have no end.
    pub(crate) fn close(&mut self, from: Side) {
        if let Traffic::Streams(streams) = &mut self.traffic {
            streams.outgoing_mut(from).close();
        }
    }

    /// The application wants to know when one side has sent everything.
    pub(crate) fn notify(&mut self, from: Side) {
        match &mut self.traffic {
            Traffic::Streams(streams) => streams.outgoing_mut(from).notify(),
            Traffic::Datagrams(conversation) => conversation.notify(from),
        }
    }

    /// Bytes of one side that wait for the send buffer: none with datagrams.
    #[inline]
    pub(crate) fn backlog(&self, from: Side) -> u64 {
        self.streams().map_or(0, |streams| streams.outgoing(from).backlog())
    }

    /// Nothing more is written in either direction. False if all that was asked for is written already.
    pub(crate) fn cut(&mut self) -> bool {
        self.streams_mut().is_some_and(Streams::cut)
    }

    /// All that was to be sent in both directions has arrived. `delivered_at` tells how much of a stream a socket has
    /// delivered.
    pub(crate) fn is_idle(&self, delivered_at: impl Fn(SocketId) -> Bytes) -> bool {
        [Side::Sender, Side::Receiver].into_iter().all(|from| match &self.traffic {
            Traffic::Streams(streams) => {
                streams.is_idle(from, || self.socket(from.other()).map(&delivered_at))
            }
            Traffic::Datagrams(conversation) => conversation.is_idle(from),
        })
    }
}
