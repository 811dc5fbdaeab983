//! A conversation: the application of a flow, which is that of the simulator, over sockets of the kernel at both ends.
//!
//! One thread owns the sockets of both ends, wherever their namespaces are: messages need no identity on the wire, and both ends
//! have one clock. It waits for sockets and wake-ups, moves bytes, and tells the application.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use apps::{App, AppContext, ConnectionId, Event, Side};
use engine::Stream;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{SockRef, Socket};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::clock::HostClock;
use crate::context::Context;
use crate::datagrams::Datagrams;
use crate::fault::Fault;
use crate::namespace::Namespace;
use crate::outgoing::{Mark, Outgoing};
use crate::plan::FlowPlan;
use crate::socket::{again, connect, datagrams};
use crate::talk::Talk;

/// Most bytes of one write.
const WRITE: usize = 1 << 22;
/// Bytes of one read.
const READ: usize = 1 << 18;
/// Writes to one socket in a row.
const BURST: usize = 64;
/// Longest wait without a look at the stage of the run.
const LOOK: Nanos = Nanos::from_millis(20);

/// How an application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has requested everything that it will ever send.
    Finished,
    /// Its time was over.
    Stopped,
}

/// One end of a connection.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// `None` at the server until it has accepted.
    socket: Option<Socket>,
    connecting: bool,
    /// Its peer has closed, or an error has.
    over: bool,
    /// The last write found no room: the next one waits until a third of the buffer is free, as in a blocking write.
    full: bool,
    /// Data that it sends.
    pub(crate) out: Outgoing,
    /// The same with UDP.
    pub(crate) datagrams: Option<Datagrams>,
    /// When a reader with a rate reads again.
    next_read: SimTime,
}

impl End {
    /// The socket would take something now.
    pub(crate) fn is_writable(&self) -> bool {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.connecting) else { return false };
        let mut waiting = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
        poll(&mut waiting, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// It has more to write, and no write has found the buffer full.
    fn writes_on(&self) -> bool {
        let writes = self.socket.is_some() && self.datagrams.is_none() && !self.connecting && !self.over;
        writes && self.out.backlog() > 0 && !self.full
    }

    /// Events to wait for at `now`.
    fn wanted(&self, now: SimTime, waits_to_read: bool) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.over {
            return flags;
        }
        let waits = self.datagrams.as_ref().is_some_and(|datagrams| datagrams.next().is_some());
        if self.connecting || waits || self.out.backlog() > 0 {
            flags |= PollFlags::POLLOUT;
        }
        if !(self.connecting || waits_to_read && now < self.next_read) {
            flags |= PollFlags::POLLIN;
        }
        flags
    }
}

/// A connection: its ends by side.
#[derive(Debug, Default)]
struct Connection {
    ends: [End; 2],
    /// Port of the client, by which the server finds it.
    port: u16,
}

/// Everything but the application, which may change it through its context.
pub(crate) struct State<'p> {
    plan: &'p FlowPlan,
    /// Namespaces of client and server; the calling thread is in the first one.
    spaces: [&'p Namespace; 2],
    /// Ports of its server, and of the one beside it that does not speak MPTCP.
    ports: [u16; 2],
    pub(crate) random: Stream,
    pub(crate) talk: Talk,
    pub(crate) ended: Option<Ended>,
    connections: Vec<Connection>,
    alarms: BinaryHeap<Reverse<(SimTime, u64, u64)>>,
    requested: u64,
}

impl<'p> State<'p> {
    pub(crate) fn new(plan: &'p FlowPlan, ports: [u16; 2], spaces: [&'p Namespace; 2]) -> Self {
        Self {
            plan,
            spaces,
            ports,
            random: Stream::named(plan.seed, &plan.name, "application"),
            talk: Talk::default(),
            ended: None,
            connections: Vec::new(),
            alarms: BinaryHeap::new(),
            requested: 0,
        }
    }

    /// The side that opens connections.
    fn client(&self) -> Side {
        if self.plan.opened_by_receiver { Side::Receiver } else { Side::Sender }
    }

    /// Opens a connection; one that fails at once is never established.
    pub(crate) fn open(&mut self, plain: bool) -> ConnectionId {
        if let Some(payload) = self.plan.sockets.datagrams {
            return self.open_datagrams(payload);
        }
        let mut connection = Connection::default();
        let end = &mut connection.ends[self.client().index()];
        match connect(self.plan, self.plan.sockets.mptcp && !plain, self.ports[usize::from(plain)]) {
            Ok((socket, port)) => {
                (end.socket, end.connecting) = (Some(socket), true);
                connection.port = port;
            }
            Err(fault) => {
                end.over = true;
                self.talk.failure.get_or_insert(fault.message);
            }
        }
        self.talk.ports.push(connection.port);
        self.connections.push(connection);
        (self.connections.len() - 1) as ConnectionId
    }

    fn open_datagrams(&mut self, payload: u64) -> ConnectionId {
        let mut connection = Connection::default();
        match datagrams(self.plan, self.spaces) {
            Ok([client, server]) => {
                let side = self.client();
                connection.ends[side.index()].socket = Some(client);
                connection.ends[side.other().index()].socket = Some(server);
            }
            Err(fault) => {
                self.talk.failure.get_or_insert(fault.message);
            }
        }
        for end in &mut connection.ends {
            end.over = end.socket.is_none();
            end.datagrams = Some(Datagrams::new(payload));
        }
        self.connections.push(connection);
        (self.connections.len() - 1) as ConnectionId
    }

    pub(crate) fn end(&self, connection: ConnectionId, side: Side) -> &End {
        &self.connections[connection as usize].ends[side.index()]
    }

    pub(crate) fn end_mut(&mut self, connection: ConnectionId, side: Side) -> &mut End {
        &mut self.connections[connection as usize].ends[side.index()]
    }

    pub(crate) fn wake(&mut self, at: SimTime, tag: u64) {
        self.requested += 1;
        self.alarms.push(Reverse((at, self.requested, tag)));
    }

    /// Nothing more is written, unless everything is written already.
    pub(crate) fn stop(&mut self) {
        if self.ended == Some(Ended::Stopped) {
            return;
        }
        let mut cut = self.ended != Some(Ended::Finished);
        for end in self.connections.iter_mut().flat_map(|connection| &mut connection.ends) {
            cut |= end.out.cut();
            cut |= end.datagrams.as_mut().is_some_and(Datagrams::cut);
        }
        if cut {
            self.ended = Some(Ended::Stopped);
        }
    }

    /// Everything is delivered, over connections that exist.
    fn is_delivered(&self) -> bool {
        let established = |end: &End| !end.connecting && end.socket.is_some();
        let client = self.client().index();
        self.connections.iter().all(|connection| {
            let idle = |end: &End| end.datagrams.as_ref().map_or(end.out.is_idle(), Datagrams::is_idle);
            connection.ends.iter().all(idle) && established(&connection.ends[client])
        })
    }
}

/// One flow over its sockets.
pub(crate) struct Conversation<'p> {
    state: State<'p>,
    app: Box<dyn App>,
    /// That of the flow, and the plain one beside it if the application meets such.
    listeners: Vec<Socket>,
    clock: HostClock,
    reader: Option<BitsPerSecond>,
    /// Most bytes of one write.
    write_size: usize,
    events: VecDeque<Event>,
    buffer: Vec<u8>,
    /// Its time is over.
    is_over: bool,
}

impl<'p> Conversation<'p> {
    pub(crate) fn new(state: State<'p>, app: Box<dyn App>, listeners: Vec<Socket>, clock: HostClock) -> Self {
        let reader = app.read_rate();
        let write_size = app.write_size().map_or(WRITE, |size| WRITE.min(size.0 as usize));
        let (events, buffer) = (VecDeque::new(), vec![0; READ.max(write_size)]);
        Self { state, app, listeners, clock, reader, write_size, events, buffer, is_over: false }
    }

    /// The flow starts now.
    pub(crate) fn start(&mut self) {
        let now = self.clock.now();
        self.state.talk.start = Some(now);
        self.state.talk.deadline = self.app.deadline();
        self.events.push_back(Event::Start);
        self.tell(now);
    }

    /// Moves what can be moved and waits a moment.
    pub(crate) fn turn(&mut self) -> Result<(), Fault> {
        let now = self.clock.now();
        if now >= self.state.plan.stop {
            self.over(now);
        }
        while let Some(&Reverse((at, _, tag))) = self.state.alarms.peek()
            && at <= now
        {
            self.state.alarms.pop();
            self.events.push_back(Event::Wake(tag));
        }
        self.tell(now);
        self.accept()?;
        for number in 0..self.state.connections.len() {
            for side in [Side::Sender, Side::Receiver] {
                if let Err(fault) = self.serve(number, side) {
                    self.state.connections[number].ends[side.index()].over = true;
                    self.state.talk.failure.get_or_insert(fault.message);
                }
            }
        }
        self.conclude();
        self.wait()
    }

    /// The time of the flow is over: it writes nothing more.
    pub(crate) fn over(&mut self, now: SimTime) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if self.state.ended.is_none() {
            self.app.on_end(&mut Context { now, state: &mut self.state });
        }
        Context { now, state: &mut self.state }.stop();
        self.state.alarms.clear();
        self.conclude();
    }

    /// Its present state.
    pub(crate) fn talk(&self) -> &Talk {
        &self.state.talk
    }

    /// The result. Connections are reset: nothing lingers.
    pub(crate) fn into_talk(mut self) -> Talk {
        let client = self.state.client().index();
        let established =
            |one: &Connection| one.ends[client].socket.is_some() && !one.ends[client].connecting;
        let all = !self.state.connections.is_empty() && self.state.connections.iter().all(established);
        self.state.talk.established = all;
        let counts = |one: &Connection| one.ends[Side::Sender.index()].datagrams.as_ref().map(|d| d.counts);
        self.state.talk.datagrams = self.state.connections.iter().filter_map(counts).collect();
        if self.state.plan.sockets.datagrams.is_some() && self.state.ended == Some(Ended::Finished) {
            // Datagrams that have not arrived are lost.
            let talk = &mut self.state.talk;
            talk.end = talk.end.or(talk.last_delivery);
        }
        for end in self.state.connections.iter().flat_map(|connection| &connection.ends) {
            if let Some(socket) = &end.socket {
                // One that cannot be set closes in the ordinary way.
                let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
            }
        }
        self.state.talk
    }

    fn tell(&mut self, now: SimTime) {
        while let Some(event) = self.events.pop_front() {
            if self.state.ended != Some(Ended::Stopped) {
                self.app.on_event(event, &mut Context { now, state: &mut self.state });
            }
        }
    }

    fn accept(&mut self) -> Result<(), Fault> {
        let server = self.state.client().other().index();
        for listener in &self.listeners {
            loop {
                let (socket, from) = match listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) if again(&error) => break,
                    Err(error) => return Err(Fault::of("accept", error)),
                };
                socket.set_nonblocking(true).map_err(Fault::io("a connection"))?;
                let port = from.as_socket().map(|address| address.port());
                let opened =
                    |one: &&mut Connection| Some(one.port) == port && one.ends[server].socket.is_none();
                if let Some(connection) = self.state.connections.iter_mut().find(opened) {
                    connection.ends[server].socket = Some(socket);
                }
            }
        }
        Ok(())
    }

    /// Lets one end of a connection do what it can.
    fn serve(&mut self, number: usize, side: Side) -> Result<(), Fault> {
        let end = &mut self.state.connections[number].ends[side.index()];
        let Some(socket) = end.socket.as_ref().filter(|_| !end.over) else { return Ok(()) };
        if end.connecting {
            let mut waiting = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
            if poll(&mut waiting, PollTimeout::ZERO).map_err(|error| Fault::of("poll", error))? == 0 {
                return Ok(());
            }
            let failed = Fault::io("a connection");
            if let Some(error) = socket.take_error().map_err(&failed)? {
                return Err(failed(error));
            }
            end.connecting = false;
        }
        if end.datagrams.is_some() {
            self.receive_datagrams(number, side)?;
            return self.send_datagrams(number, side);
        }
        self.receive(number, side)?;
        self.send(number, side)
    }

    fn send(&mut self, number: usize, side: Side) -> Result<(), Fault> {
        let end = &mut self.state.connections[number].ends[side.index()];
        let Some(mut socket) = end.socket.as_ref() else { return Ok(()) };
        // As in a blocking write: after one that found no room the next waits until a third of the buffer is free. Otherwise data is
        // written until none fits. A write that finds no room is not without effect: MPTCP asks its scheduler, and sets the time after which
        // it sends again by what is left on the timers of the subflows then.
        let writable = end.out.backlog() > 0 && (!end.full || end.is_writable());
        end.full &= !writable;
        for _ in 0..BURST {
            let backlog = end.out.backlog();
            if !writable || backlog == 0 || self.clock.now() >= self.state.plan.stop {
                break;
            }
            let length = self.write_size.min(usize::try_from(backlog).unwrap_or(WRITE));
            match socket.write(&self.buffer[..length]) {
                Ok(written) => end.out.wrote(written as u64, self.clock.now()),
                Err(error) if again(&error) => {
                    end.full = true;
                    break;
                }
                Err(error) => return Err(Fault::of("a sender", error)),
            }
        }
        if end.out.take_notify() {
            self.events.push_back(Event::Accepted { connection: number as ConnectionId, from: side });
            self.tell(self.clock.now());
        }
        Ok(())
    }

    fn send_datagrams(&mut self, number: usize, side: Side) -> Result<(), Fault> {
        let end = &mut self.state.connections[number].ends[side.index()];
        let (Some(socket), Some(datagrams)) = (end.socket.as_ref(), end.datagrams.as_mut()) else {
            return Ok(());
        };
        while let Some((datagram, size)) = datagrams.next() {
            let head = Datagrams::head(datagram);
            let known = size.min(head.len());
            self.buffer[..known].copy_from_slice(&head[..known]);
            match socket.send(&self.buffer[..size]) {
                Ok(_) => datagrams.sent(),
                Err(error) if again(&error) => return Ok(()),
                Err(error) => return Err(Fault::of("a sender of datagrams", error)),
            }
        }
        if std::mem::take(&mut end.out.notify) {
            self.events.push_back(Event::Accepted { connection: number as ConnectionId, from: side });
            self.tell(self.clock.now());
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, number: usize, side: Side) -> Result<(), Fault> {
        for _ in 0..BURST {
            let [sender, receiver] = &mut self.state.connections[number].ends;
            let (end, peer) = if side == Side::Receiver { (receiver, sender) } else { (sender, receiver) };
            let (Some(mut socket), Some(datagrams)) = (end.socket.as_ref(), peer.datagrams.as_mut()) else {
                break;
            };
            let length = match socket.read(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if again(&error) => break,
                Err(error) => return Err(Fault::of("a receiver of datagrams", error)),
            };
            let now = self.clock.now();
            let Some((sent, bytes, whole)) = datagrams.arrive(&self.buffer[..length]) else { continue };
            let talk = &mut self.state.talk;
            if side == Side::Receiver && talk.end.is_none() {
                talk.delay.add(now.since(sent.min(now)), bytes);
                talk.delivered += bytes;
                talk.last_delivery = Some(now);
            }
            if let Some(mark) = whole {
                self.arrived(now, number, side, mark);
            }
        }
        Ok(())
    }

    /// A message has arrived whole.
    fn arrived(&mut self, now: SimTime, number: usize, side: Side, mark: Mark) {
        if let Some(row) = mark.row.and_then(|row| self.state.talk.messages.get_mut(row)) {
            (row.end, row.delay) = (Some(now), Some(now.since(mark.sent)));
        }
        self.events.push_back(Event::Arrived {
            connection: number as ConnectionId,
            at: side,
            tag: mark.tag,
            size: mark.size,
            sent: mark.sent,
        });
        self.tell(now);
    }

    /// Reads once: a socket that has more is ready again.
    fn receive(&mut self, number: usize, side: Side) -> Result<(), Fault> {
        let now = self.clock.now();
        let paced = self.reader.filter(|_| side == Side::Receiver);
        let [sender, receiver] = &mut self.state.connections[number].ends;
        let (end, peer) = if side == Side::Receiver { (receiver, sender) } else { (sender, receiver) };
        if peer.out.is_silent() || (paced.is_some() && now < end.next_read) {
            return Ok(());
        }
        let least = self.state.plan.mss;
        let size = paced.map_or(READ, |rate| rate.bytes_in(Nanos::from_millis(1)).max(least).0 as usize);
        let Some(mut socket) = end.socket.as_ref() else { return Ok(()) };
        let length = match socket.read(&mut self.buffer[..size.min(READ)]) {
            Ok(0) => {
                end.over = true;
                return Ok(());
            }
            Ok(length) => length as u64,
            Err(error) if again(&error) => return Ok(()),
            Err(error) => return Err(Fault::of("a receiver", error)),
        };
        if let Some(rate) = paced {
            end.next_read = now + rate.time_to_send(Bytes(length));
        }
        let talk = &mut self.state.talk;
        let counts = side == Side::Receiver && talk.end.is_none();
        peer.out.read(length, |written, bytes| {
            if counts {
                talk.delay.add(now.since(written.min(now)), bytes);
            }
        });
        if counts {
            talk.delivered += length;
            talk.last_delivery = Some(now);
        }
        let mut arrived = Vec::new();
        while let Some(mark) = peer.out.take_arrived() {
            arrived.push(mark);
        }
        for mark in arrived {
            self.arrived(now, number, side, mark);
        }
        Ok(())
    }

    /// Notes the end of the flow's interval, and that nothing remains.
    fn conclude(&mut self) {
        let Some(ended) = self.state.ended else { return };
        let all = self.state.is_delivered();
        let last = self.state.talk.last_delivery;
        let now = self.clock.now();
        let talk = &mut self.state.talk;
        if (all || ended == Ended::Stopped) && talk.end.is_none() {
            talk.end = Some(if ended == Ended::Finished {
                last.unwrap_or(now)
            } else {
                now.min(self.state.plan.stop)
            });
        }
        if all && talk.done.is_none() {
            talk.completed = ended == Ended::Finished;
            talk.done = Some(now);
        }
    }

    /// Until a socket or a wake-up is due.
    fn wait(&self) -> Result<(), Fault> {
        let now = self.clock.now();
        let alarm = self.state.alarms.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| *at);
        let mut next = alarm.min(now + LOOK);
        if !self.is_over {
            next = next.min(self.state.plan.stop);
        }
        let mut waiting: Vec<PollFd<'_>> =
            self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)).collect();
        for connection in &self.state.connections {
            for (end, side) in connection.ends.iter().zip([Side::Sender, Side::Receiver]) {
                let waits_to_read = self.reader.is_some() && side == Side::Receiver;
                if waits_to_read && end.next_read > now {
                    next = next.min(end.next_read);
                }
                if !self.is_over && end.writes_on() {
                    next = now;
                }
                let wanted = end.wanted(now, waits_to_read);
                if let Some(socket) = end.socket.as_ref().filter(|_| !wanted.is_empty()) {
                    waiting.push(PollFd::new(socket.as_fd(), wanted));
                }
            }
        }
        match ppoll(&mut waiting, Some(TimeSpec::from_duration(self.clock.until(next))), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(Fault::of("ppoll", error)),
        }
    }
}
