//! A turn of one end of a connection: it takes in a packet, hands over, writes and sends.
//!
//! Everything that a turn may change is found once, at its beginning. It pauses where an application or the host must
//! act first, which both may change anything, and goes on with the next step.
//! May: call the connection, record, and send packets. May not: call applications, or open paths.

use apps::Side;
use engine::EventQueue;
use transport::Departure;
use transport::packet::PathId;
use units::{Bytes, SimTime};

use crate::body::WorldNetwork;
use crate::event::Event;
use crate::flow::Flow;
use crate::flow::limits::Limits;
use crate::flow::recorder::FlowRecorder;
use crate::flow::stream::Streams;
use crate::host::connection::Parts;
use crate::host::socket::{AppSocket, SocketId};
use crate::net::network::Delivery;
use crate::observe::{trace_delivery, trace_sending, trace_states};
use crate::world::World;

/// Where a turn begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read what has arrived.
    Read,
    /// Write what the application wants to send.
    Write,
    /// Send what the connection has.
    Transmit,
    /// Send the packet that had no path.
    Send,
}

/// Why a turn pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Messages have arrived, and so many bytes are delivered: goes on with [`Step::Write`].
    Arrived(Bytes),
    /// The send buffer has accepted everything: goes on with [`Step::Transmit`].
    Accepted,
    /// The next packet is the first of its subflow: goes on with [`Step::Send`].
    NoPath(PathId),
    /// It is over. True if the application has ended and nothing of this connection waits for the send buffer.
    Over(bool),
}

/// One end of a connection, and everything that its turn may change.
#[derive(Debug)]
pub(super) struct Turn<'w> {
    now: SimTime,
    socket: SocketId,
    owner: AppSocket,
    /// The application has ended.
    ended: bool,
    end: Parts<'w>,
    streams: &'w mut Streams,
    limits: &'w mut Limits,
    recorder: &'w mut FlowRecorder,
    network: &'w mut WorldNetwork,
    queue: &'w mut EventQueue<Event>,
}

impl World {
    /// The turn of the connection behind a socket; `None` with datagrams.
    #[inline]
    pub(super) fn turn(&mut self, now: SimTime, socket: SocketId) -> Option<Turn<'_>> {
        let Self { flows, hosts, network, queue, .. } = self;
        let end = hosts.get_mut(socket);
        let owner = end.owner();
        let flow: &mut Flow = &mut flows[owner.flow()];
        let ended = flow.ended().is_some() && !flow.is_done();
        let (channel, recorder) = flow.channel_and_recorder(owner.connection);
        let (streams, limits) = channel.streams_and_limits()?;
        let end = end.parts()?;
        Some(Turn { now, socket, owner, ended, end, streams, limits, recorder, network, queue })
    }

    /// A turn has paused: lets application or host act, until it is over. `changed` has a bit for each subflow that
    /// something has happened to.
    pub(super) fn go_on(&mut self, now: SimTime, socket: SocketId, mut changed: u64, mut pause: Pause) {
        let owner = self.hosts.get(socket).owner();
        loop {
            let step = match pause {
                Pause::Arrived(delivered) => {
                    self.hand_over(now, owner, delivered);
                    Step::Write
                }
                Pause::Accepted => {
                    self.tell_accepted(now, owner);
                    Step::Transmit
                }
                Pause::NoPath(subflow) => {
                    self.open_path(now, socket, subflow);
                    Step::Send
                }
                Pause::Over(_) => return self.note_progress(now, owner),
            };
            let Some(mut turn) = self.turn(now, socket) else { return };
            pause = turn.go(step, &mut changed);
        }
    }
}

impl Turn<'_> {
    /// Takes in a packet and records what it has changed. Returns the bit of its subflow.
    #[inline]
    pub(super) fn receive(&mut self, delivery: Delivery) -> u64 {
        let packet = self.network.open(delivery);
        let subflow = packet.path;
        self.end.connection.on_packet(self.now, packet);
        trace_delivery(self.now, self.network, delivery, Some(self.end.connection));
        debug_assert!(self.end.has_path(subflow), "a packet of subflow {subflow}, which has no path");
        self.record(subflow);
        1 << subflow.index()
    }

    /// A deadline has come, which may have changed every subflow.
    pub(super) fn record_all(&mut self) {
        for subflow in 0..self.end.connection.subflow_count() {
            self.record(PathId(subflow as u8));
        }
    }

    /// Records congestion window or receive queues of a connection that may have changed, by what came over `subflow`.
    #[inline]
    fn record(&mut self, subflow: PathId) {
        let Self { now, owner, end, streams, recorder, .. } = self;
        if owner.side == Side::Sender {
            streams.recorder.sent(*now, end.connection, subflow);
        } else {
            streams.recorder.received(*now, end.connection, subflow, recorder);
        }
    }

    /// Goes on until it pauses. One pass is enough: sending frees no buffer.
    #[inline(never)]
    pub(super) fn go(&mut self, step: Step, changed: &mut u64) -> Pause {
        if step == Step::Read
            && let Some(delivered) = self.read()
        {
            return Pause::Arrived(delivered);
        }
        if matches!(step, Step::Read | Step::Write)
            && self.streams.write(self.now, self.owner.side, self.end.connection)
        {
            return Pause::Accepted;
        }
        if step == Step::Send {
            self.send(changed);
        } else if let Some((path, connection)) = self.end.path_and_connection(PathId::FIRST) {
            trace_states(self.now, self.network, (self.socket, self.owner), path, connection);
        }
        if let Some(subflow) = self.transmit(changed) {
            return Pause::NoPath(subflow);
        }
        self.finish(*changed);
        Pause::Over(self.ended && self.backlog() == 0)
    }

    /// Bytes of the sender that wait for its send buffer.
    #[inline]
    fn backlog(&self) -> u64 {
        self.streams.outgoing(Side::Sender).backlog()
    }

    /// Reads what has arrived. Returns how much is delivered if that completes a message.
    #[inline]
    fn read(&mut self) -> Option<Bytes> {
        let (side, connection) = (self.owner.side, &mut *self.end.connection);
        if let Some(at) = self.streams.read(self.now, side, connection) {
            self.queue.push(at, Event::Read(self.socket));
        }
        self.streams.has_arrived(side, connection).then(|| connection.delivered())
    }

    /// Lets the connection send until it has nothing more. Returns the subflow of a packet that has no path yet.
    #[inline]
    fn transmit(&mut self, changed: &mut u64) -> Option<PathId> {
        let (now, sends) = (self.now, self.owner.side == Side::Sender);
        loop {
            let departure = self.end.connection.poll_transmit_into(now, self.network.draft());
            if departure == Departure::Nothing {
                return None;
            }
            let packet = self.network.draft();
            let subflow = packet.path;
            if sends && packet.payload > 0 && !packet.retransmission {
                // Data leaves on a subflow that has not carried it before.
                self.streams.recorder.left(now, packet.stream(), self.recorder);
            }
            if !self.end.has_path(subflow) {
                return Some(subflow);
            }
            self.send(changed);
            if departure == Departure::LastPacket {
                return None;
            }
        }
    }

    /// Sends the draft on the path of its subflow.
    #[inline]
    fn send(&mut self, changed: &mut u64) {
        let packet = self.network.draft();
        let (subflow, size) = (packet.path, packet.size);
        debug_assert!(size > Bytes::ZERO, "a packet has a size");
        let known = self.end.path_and_connection(subflow);
        let (path, connection) = known.expect("the path of a subflow is open");
        path.wire += size;
        *changed |= 1 << subflow.index();
        trace_sending(self.now, self.network, &path.route, Some(connection));
        self.network.send(self.queue, self.now, &path.route);
    }

    /// Records what limits the sender now that it has nothing more to send, and arms the timer.
    #[inline]
    fn finish(&mut self, changed: u64) {
        if self.owner.side == Side::Sender {
            let more = self.backlog() > 0;
            self.limits.after(self.now, self.end.connection, more, changed);
        }
        if let Some(at) = self.end.arm(self.now) {
            self.queue.push(at, Event::Timer(self.socket));
        }
    }
}
