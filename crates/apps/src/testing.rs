//! An `AppContext` that records the requests of an application; messages arrive when the test says so.

use std::collections::{BTreeSet, VecDeque};

use units::{Bytes, SimTime};

use crate::{App, AppContext, ConnectionId, Event, Measurement, Message, Page, Side, Sockets};

/// A request of the application. Wake-ups are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Open(ConnectionId),
    OpenPlain(ConnectionId),
    Send(ConnectionId, Side, Message),
    Close(ConnectionId, Side),
    Notify(ConnectionId, Side),
    Finish,
    Stop,
    Log(Measurement),
    Page(Page),
}

/// An application and its context.
#[derive(Debug)]
pub(crate) struct Script<A> {
    pub(crate) app: A,
    context: Notes,
}

#[derive(Debug, Default)]
pub(crate) struct Notes {
    now: SimTime,
    asked: Vec<Asked>,
    wakes: BTreeSet<(SimTime, u64, u64)>,
    requested: u64,
    opened: ConnectionId,
    sent: VecDeque<(ConnectionId, Side, Message, SimTime)>,
    delivered: Bytes,
    space: Option<Bytes>,
    draws: u64,
    /// Streams of each connection, and those of messages that had one of their own.
    streams: u16,
    on_streams: Vec<u16>,
}

impl Sockets for Notes {
    fn open(&mut self) -> ConnectionId {
        self.opened += 1;
        self.asked.push(Asked::Open(self.opened - 1));
        self.opened - 1
    }

    fn open_plain(&mut self) -> ConnectionId {
        self.opened += 1;
        self.asked.push(Asked::OpenPlain(self.opened - 1));
        self.opened - 1
    }

    fn send(&mut self, connection: ConnectionId, from: Side, message: Message) {
        self.asked.push(Asked::Send(connection, from, message));
        self.sent.push_back((connection, from, message, self.now));
    }

    fn send_on(&mut self, connection: ConnectionId, from: Side, stream: u16, message: Message) {
        self.on_streams.push(stream);
        self.send(connection, from, message);
    }

    fn streams(&self) -> u16 {
        self.streams.max(1)
    }

    fn close(&mut self, connection: ConnectionId, from: Side) {
        self.asked.push(Asked::Close(connection, from));
    }

    fn notify(&mut self, connection: ConnectionId, from: Side) {
        self.asked.push(Asked::Notify(connection, from));
    }

    fn space(&self, _connection: ConnectionId, _from: Side) -> Bytes {
        self.space.unwrap_or(Bytes::MAX)
    }
}

impl AppContext for Notes {
    fn now(&self) -> SimTime {
        self.now
    }

    /// SplitMix64: the same numbers in every test.
    fn uniform(&mut self) -> f64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.draws;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn delivered(&self) -> Bytes {
        self.delivered
    }

    fn wake(&mut self, at: SimTime, tag: u64) {
        self.requested += 1;
        self.wakes.insert((at, self.requested, tag));
    }

    fn finish(&mut self) {
        self.asked.push(Asked::Finish);
    }

    fn stop(&mut self) {
        self.asked.push(Asked::Stop);
    }

    fn log(&mut self, measurement: Measurement) {
        self.asked.push(Asked::Log(measurement));
    }

    fn page(&mut self, page: Page) {
        self.asked.push(Asked::Page(page));
    }
}

impl<A: App> Script<A> {
    pub(crate) fn new(app: A) -> Self {
        Self { app, context: Notes::default() }
    }

    /// Each connection has this number of streams.
    pub(crate) fn with_streams(mut self, streams: u16) -> Self {
        self.context.streams = streams;
        self
    }

    /// Streams of the messages sent on one of their own since the last call.
    pub(crate) fn take_streams(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.context.on_streams)
    }

    pub(crate) fn start(&mut self) {
        self.app.on_event(Event::Start, &mut self.context);
    }

    /// Every request since the last call.
    pub(crate) fn take(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.context.asked)
    }

    pub(crate) fn now(&self) -> SimTime {
        self.context.now
    }

    pub(crate) fn next_wake(&self) -> Option<SimTime> {
        self.context.wakes.first().map(|(at, ..)| *at)
    }

    /// The earliest wake-up comes.
    pub(crate) fn wake(&mut self) {
        let (at, _, tag) = self.context.wakes.pop_first().expect("a wake-up requested");
        self.context.now = at;
        self.app.on_event(Event::Wake(tag), &mut self.context);
    }

    /// Bytes of an endless message arrive.
    pub(crate) fn deliver(&mut self, bytes: Bytes) {
        self.context.delivered += bytes;
    }

    /// Everything that an end has sent is in the send buffer.
    pub(crate) fn accept(&mut self, connection: ConnectionId, from: Side) {
        self.app.on_event(Event::Accepted { connection, from }, &mut self.context);
    }

    /// The message that was sent first (after `skip` others), and has not arrived yet, arrives `at` this end (it must
    /// be meant for it).
    pub(crate) fn arrive(&mut self, now: SimTime, skip: usize, at: Side) {
        let (connection, from, message, sent) = self.context.sent.remove(skip).expect("a message under way");
        assert_eq!(from.other(), at);
        self.context.now = now;
        self.context.delivered = Bytes(self.context.delivered.0 + message.size.0);
        let Message { size, tag, .. } = message;
        self.app.on_event(Event::Arrived { connection, at, tag, size, sent }, &mut self.context);
    }
}
