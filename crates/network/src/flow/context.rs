//! The context of an application: its requests are recorded during the call and carried out after it returns.
//!
//! May: open connections and record what is to be sent. May not: transmit packets; the world serves every end in
//! `touched` afterwards.

use apps::{AppContext, ConnectionId, Measurement, Message, Page, Side, Sockets};
use trace::{MessageRecord, PageRecord};
use transport::Connection;
use transport::packet::PathId;
use units::{Bytes, SimTime};

use crate::body::WorldNetwork;
use crate::flow::channel::{Channel, Sending, Traffic};
use crate::flow::flows::DirtyList;
use crate::flow::limits::Limits;
use crate::flow::stream::Streams;
use crate::flow::{Ended, Flow};
use crate::host::Hosts;
use crate::host::socket::{AppSocket, SocketId};
use crate::net::address::PacketAddresses;

/// The world as the application of one flow may change it.
#[derive(Debug)]
pub(crate) struct FlowContext<'w> {
    pub(crate) now: SimTime,
    pub(crate) index: usize,
    pub(crate) flow: &'w mut Flow,
    pub(crate) hosts: &'w mut Hosts,
    pub(crate) network: &'w mut WorldNetwork,
    /// Sockets that must be served.
    pub(crate) dirty: &'w mut DirtyList,
    /// Settings of the application that every connection it opens takes over.
    pub(crate) traits: Traits,
}

/// Settings of an application, constant over its life: its read rate, the size of its writes, and whether both ends send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    pub(crate) read_rate: Option<units::BitsPerSecond>,
    pub(crate) write_size: Option<Bytes>,
    pub(crate) talks_both_ways: bool,
}

impl FlowContext<'_> {
    fn app_socket(&self, connection: ConnectionId, side: Side) -> AppSocket {
        AppSocket { flow: self.index as u32, connection, side }
    }

    fn touch(&mut self, connection: ConnectionId, side: Side) {
        self.dirty.add(self.app_socket(connection, side));
    }

    /// The flow was stopped: nothing more may be sent.
    fn over(&self) -> bool {
        self.flow.ended() == Some(Ended::Stopped)
    }

    /// The client opens. Returns its socket and the addresses of the first subflow.
    fn open_client(&mut self, number: ConnectionId, side: Side, plain: bool) -> (SocketId, PacketAddresses) {
        let connection = self.flow.opener_mut().connect();
        let (server, port) = self.flow.opener().server(plain);
        let (owner, label) = (self.app_socket(number, side), self.flow.label(number));
        let places = (self.flow.opener().node(), server, port);
        let forwarding = self.network.forwarding_mut();
        let (socket, addresses) = self.hosts.open((self.now, forwarding), connection, places, (owner, label));
        if let Some((observer, _)) = self.network.tap_and_draft() {
            observer.know(addresses, (self.index, number), PathId::FIRST);
            if let Some(asked) = self.flow.opener().asks(plain) {
                observer.ask(addresses, asked);
            }
        }
        // The peer may send to any address of an association before this end has used it.
        let association = self.hosts.get(socket).connection().filter(|machine| machine.shares_port());
        let paths = association.map_or(1, Connection::subflow_count);
        for path in (1..=u8::MAX).take(paths - 1).map(PathId) {
            let forwarding = self.network.forwarding_mut();
            let further = self.hosts.open_path((self.now, forwarding), socket, path);
            if let Some((observer, _)) = self.network.tap_and_draft() {
                observer.know(further, (self.index, number), path);
            }
        }
        (socket, addresses)
    }
}

impl FlowContext<'_> {
    /// Opens a connection to the server of the flow, or to its plain one.
    fn connect(&mut self, plain: bool) -> ConnectionId {
        let number = self.flow.channels().len() as ConnectionId;
        let Traits { read_rate, write_size, talks_both_ways } = self.traits;
        let (start, client) = (self.flow.timing().start(), self.flow.opener().side());
        let server = client.other();
        let (socket, addresses) = self.open_client(number, client, plain);
        let machine = self.hosts.get_mut(socket).machine_mut();
        if let Some(connection) = machine.connection_mut() {
            let multipath = self.flow.opener().protocol().is_multihomed();
            let streams = self.flow.opener().protocol().streams();
            let mut streams = Streams::new(read_rate, self.flow.mss(), talks_both_ways, streams);
            streams.limit_writes(write_size);
            let early = streams.connect(connection);
            debug_assert!(early.is_empty(), "the client exists from the start");
            let limits = Limits::new(start, self.now, multipath);
            let mut channel = Channel::new(Traffic::Streams(streams), limits);
            channel.connect(client, socket);
            self.flow.opened(channel, addresses.source);
        } else {
            // There is no handshake: the two ends have agreed on addresses and ports by other means.
            let owner = (self.app_socket(number, server), self.flow.label(number));
            let other = self.hosts.accept((self.now, self.network.forwarding_mut()), addresses, owner);
            let traffic = Traffic::Datagrams(Box::default());
            let mut channel = Channel::new(traffic, Limits::of_datagrams(start));
            channel.connect(client, socket);
            channel.connect(server, other);
            self.flow.connected(channel);
        }
        debug_assert_eq!(self.flow.channels().len(), number as usize + 1, "numbers are indices");
        self.touch(number, client);
        self.touch(number, server);
        number
    }

    /// Sends a message, on this stream if it has one of its own.
    fn send_message(&mut self, connection: ConnectionId, from: (Side, Option<u16>), message: Message) {
        if self.over() {
            return;
        }
        let row = message.log.map(|what| {
            let (size, start) = (message.size, self.now);
            self.flow.log.messages.push(MessageRecord { what, size, start, end: None, delay: None });
            (self.flow.log.messages.len() - 1) as u32
        });
        let channel = self.flow.channel_mut(connection);
        if let Sending::AtOnce(number) = channel.send(self.now, from, message, row) {
            let socket = channel.socket(from.0).expect("both ends of a conversation in datagrams exist");
            self.hosts.get_mut(socket).machine_mut().send_datagrams(number, message.size);
        }
        self.touch(connection, from.0);
    }
}

impl Sockets for FlowContext<'_> {
    fn open(&mut self) -> ConnectionId {
        self.connect(false)
    }

    fn open_plain(&mut self) -> ConnectionId {
        self.connect(true)
    }

    fn send(&mut self, connection: ConnectionId, from: Side, message: Message) {
        self.send_message(connection, (from, None), message);
    }

    fn send_on(&mut self, connection: ConnectionId, from: Side, stream: u16, message: Message) {
        self.send_message(connection, (from, Some(stream)), message);
    }

    fn streams(&self) -> u16 {
        self.flow.opener().protocol().streams().unwrap_or(1)
    }

    fn close(&mut self, connection: ConnectionId, from: Side) {
        self.flow.channel_mut(connection).close(from);
        self.touch(connection, from);
    }

    fn notify(&mut self, connection: ConnectionId, from: Side) {
        self.flow.channel_mut(connection).notify(from);
        self.touch(connection, from);
    }

    fn space(&self, connection: ConnectionId, from: Side) -> Bytes {
        let channel = self.flow.channel(connection);
        let end = channel.socket(from).map(|socket| self.hosts.get(socket));
        // Datagrams are never refused.
        let space =
            end.map_or(Bytes::ZERO, |end| end.connection().map_or(Bytes::MAX, Connection::send_space));
        space.saturating_sub(Bytes(channel.backlog(from)))
    }
}

impl AppContext for FlowContext<'_> {
    fn now(&self) -> SimTime {
        self.now
    }

    fn uniform(&mut self) -> f64 {
        self.flow.random().uniform()
    }

    fn delivered(&self) -> Bytes {
        self.flow.recorder.delivered
    }

    fn wake(&mut self, at: SimTime, tag: u64) {
        self.flow.alarms_mut().request(at.max(self.now), tag);
    }

    fn finish(&mut self) {
        self.flow.finish();
    }

    fn stop(&mut self) {
        if self.over() {
            return;
        }
        let mut cut = !self.flow.finished();
        cut |= self.flow.cut();
        if cut {
            self.flow.stop();
        }
        for connection in 0..self.flow.channels().len() as ConnectionId {
            self.touch(connection, Side::Sender);
            self.touch(connection, Side::Receiver);
        }
    }

    fn log(&mut self, measurement: Measurement) {
        let Measurement { what, size, start, ended, delay } = measurement;
        let end = ended.then_some(self.now);
        if self.flow.log.messages.is_empty() {
            // For most flows it remains the only one.
            self.flow.log.messages.reserve_exact(1);
        }
        self.flow.log.messages.push(MessageRecord { what, size, start, end, delay });
    }

    fn page(&mut self, page: Page) {
        let Page { name, objects, arrived, size, connections, start, complete } = page;
        debug_assert!(arrived <= objects, "more objects than the page has");
        debug_assert!(!complete || arrived == objects, "a complete page lacks objects");
        let end = complete.then_some(self.now);
        self.flow.log.pages.push(PageRecord { name, objects, arrived, size, connections, start, end });
    }
}
