//! A turn of one end of a connection: it takes in a packet, hands over, writes and sends.
//!
//! Everything that a turn may change is found once, at its beginning. It pauses where an application or the host must
//! act first, which both may change anything, and goes on with the next step.
//! May: call the connection, record, and send packets. May not: call applications, or open paths.

use apps::Side;
use engine::EventQueue;
use transport::packet::{Packet, PathId};
use transport::{Arrival, Departure, Limit};
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
use crate::world::{ALL_SUBFLOWS, World};

/// Why a turn pauses, and where it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Messages have arrived with the bytes that are delivered: goes on with [`Turn::write`].
    Arrived,
    /// The send buffer has accepted everything: goes on with [`Turn::transmit`].
    Accepted,
    /// The next packet is the first of its subflow: goes on with [`Turn::send_first`].
    NoPath(PathId),
    /// It is over. True if nothing of this connection waits for the send buffer: then its application may have ended.
    Over(bool),
}

/// Outcome of an attempt to send a packet.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The connection has nothing more to send.
    Last(Departure),
    /// The turn pauses.
    Pause(Pause),
    /// It may have more.
    MayFollow,
}

/// One end of a connection, and everything that its turn may change.
#[derive(Debug)]
pub(super) struct Turn<'w> {
    now: SimTime,
    socket: SocketId,
    side: Side,
    /// A bit for each subflow that something has happened to.
    changed: u64,
    end: Parts<'w>,
    streams: &'w mut Streams,
    limits: &'w mut Limits,
    recorder: &'w mut FlowRecorder,
    network: &'w mut WorldNetwork,
    queue: &'w mut EventQueue<Event>,
}

impl World {
    /// The turn of the connection behind a socket; `None` with datagrams. `changed` has a bit for each subflow that
    /// something has happened to.
    #[inline]
    pub(super) fn turn(&mut self, now: SimTime, socket: SocketId, changed: u64) -> Option<Turn<'_>> {
        let Self { flows, hosts, network, queue, .. } = self;
        let end = hosts.get_mut(socket);
        let owner = end.owner();
        let flow: &mut Flow = &mut flows[owner.flow()];
        let (channel, recorder) = flow.channel_and_recorder(owner.connection);
        let (streams, limits) = channel.streams_and_limits()?;
        let end = end.parts()?;
        let side = owner.side;
        Some(Turn { now, socket, side, changed, end, streams, limits, recorder, network, queue })
    }

    /// A turn has paused: lets application or host act, until it is over.
    #[cold]
    #[inline(never)]
    pub(super) fn go_on(&mut self, now: SimTime, socket: SocketId, mut changed: u64, mut pause: Pause) {
        let owner = self.hosts.get(socket).owner();
        loop {
            match pause {
                Pause::Arrived => {
                    let delivered = self.hosts.get(socket).delivered();
                    self.hand_over(now, owner, delivered);
                }
                Pause::Accepted => self.tell_accepted(now, owner),
                Pause::NoPath(subflow) => self.open_path(now, socket, subflow),
                Pause::Over(_) => return self.note_progress(now, owner),
            }
            let Some(mut turn) = self.turn(now, socket, changed) else { return };
            pause = turn.resume(pause);
            changed = turn.changed();
        }
    }
}

/// Taking in.
impl Turn<'_> {
    /// A bit for each subflow that something has happened to.
    pub(super) fn changed(&self) -> u64 {
        self.changed
    }

    /// The application that uses the connection.
    pub(super) fn owner(&self) -> AppSocket {
        *self.end.owner
    }

    /// Takes in a packet and records what it has changed.
    #[inline]
    pub(super) fn receive(&mut self, delivery: Delivery) {
        let packet = self.network.open(delivery);
        let subflow = packet.path;
        let arrival = self.end.connection.on_packet(self.now, packet);
        trace_delivery(self.now, self.network, delivery, Some(self.end.connection));
        debug_assert!(self.end.has_path(subflow), "a packet of subflow {subflow}, which has no path");
        match arrival {
            Arrival::Acknowledged(cwnd) if self.side == Side::Sender => {
                self.streams.recorder.window(self.now, subflow, cwnd);
            }
            Arrival::Acknowledged(_) => {}
            Arrival::Any => self.record_any(subflow),
        }
        self.changed |= 1 << subflow.index();
    }

    /// Anything may have changed by what came over `subflow`.
    #[inline(always)]
    fn record_any(&mut self, subflow: PathId) {
        if self.streams.have_messages() {
            self.streams.take_in(self.now, self.side, self.end.connection, self.recorder);
        }
        self.record(subflow);
    }

    /// A deadline has come, which may have changed every subflow.
    #[cold]
    #[inline(never)]
    pub(super) fn record_all(&mut self) {
        for subflow in 0..self.end.connection.subflow_count() {
            self.record(PathId(subflow as u8));
        }
    }

    /// Records congestion window or receive queues of a connection that may have changed, by what came over `subflow`.
    #[inline(always)]
    fn record(&mut self, subflow: PathId) {
        let Self { now, side, end, streams, recorder, .. } = self;
        if *side == Side::Sender {
            streams.recorder.sent(*now, end.connection, subflow);
        } else {
            streams.recorder.received(*now, end.connection, subflow, recorder);
        }
    }
}

/// Steps: each goes on with the next until one pauses. One pass is enough, since sending frees no buffer.
impl Turn<'_> {
    /// Reads what has arrived, writes and sends.
    #[inline(never)]
    pub(super) fn go(&mut self) -> Pause {
        if self.read() { Pause::Arrived } else { self.write() }
    }

    /// Goes on after a pause.
    #[cold]
    fn resume(&mut self, after: Pause) -> Pause {
        match after {
            Pause::Arrived => self.write(),
            Pause::Accepted => self.transmit(),
            Pause::NoPath(_) | Pause::Over(_) => self.send_first(),
        }
    }

    /// Writes what the application wants to send.
    #[inline(always)]
    fn write(&mut self) -> Pause {
        if self.streams.write(self.now, self.side, self.end.connection) {
            return Pause::Accepted;
        }
        self.transmit()
    }

    /// Lets the connection send until it has nothing more.
    #[inline(always)]
    fn transmit(&mut self) -> Pause {
        if self.network.is_traced() {
            let owner = *self.end.owner;
            if let Some((path, connection)) = self.end.path_and_connection(PathId::FIRST) {
                trace_states(self.now, self.network, (self.socket, owner), path, connection);
            }
        }
        self.send_all()
    }

    /// Sends the packet that had no path, and what follows it.
    fn send_first(&mut self) -> Pause {
        let Packet { path: subflow, size, .. } = *self.network.draft();
        let sent = self.send(subflow, size);
        debug_assert!(sent, "the path of subflow {subflow} is open");
        self.send_all()
    }

    /// Reads what has arrived. True if that completes a message.
    #[inline(always)]
    fn read(&mut self) -> bool {
        let (side, connection) = (self.side, &mut *self.end.connection);
        if self.streams.outgoing(side.other()).is_silent() {
            return false;
        }
        if let Some(at) = self.streams.read(self.now, side, connection) {
            self.queue.push(at, Event::Read(self.socket));
        }
        self.streams.has_arrived(side, connection)
    }

    /// Sends what the connection has. Mostly that is one packet, after which nothing is asked again: the loop for more is a
    /// call of its own.
    #[inline(always)]
    fn send_all(&mut self) -> Pause {
        match self.send_next() {
            Step::Last(departure) => self.finish(departure),
            Step::Pause(pause) => pause,
            Step::MayFollow => self.send_more(),
        }
    }

    #[inline(never)]
    fn send_more(&mut self) -> Pause {
        loop {
            match self.send_next() {
                Step::Last(departure) => return self.finish(departure),
                Step::Pause(pause) => return pause,
                Step::MayFollow => {}
            }
        }
    }

    /// Sends a packet, or writes on.
    #[inline(always)]
    fn send_next(&mut self) -> Step {
        let packet = self.network.draft();
        let departure = self.end.connection.poll_transmit_into(self.now, packet);
        if !departure.is_packet() {
            let writes_on = self.streams.writes_on(self.side, self.end.connection);
            return if writes_on { self.write_on() } else { Step::Last(departure) };
        }
        let (subflow, size) = (packet.path, packet.size);
        if self.side == Side::Sender && packet.payload > 0 && !packet.retransmission {
            // Data leaves on a subflow that has not carried it before.
            self.streams.recorder.left(self.now, packet.stream(), self.recorder);
        }
        if !self.send(subflow, size) {
            return Step::Pause(Pause::NoPath(subflow));
        }
        if departure.is_last() && !self.streams.writes_on(self.side, self.end.connection) {
            return Step::Last(departure);
        }
        Step::MayFollow
    }

    /// Writes more of what is written in parts.
    #[cold]
    #[inline(never)]
    fn write_on(&mut self) -> Step {
        let accepted = self.streams.write(self.now, self.side, self.end.connection);
        if accepted { Step::Pause(Pause::Accepted) } else { Step::MayFollow }
    }

    /// Sends the draft, which has this size, on the path of its subflow. False if that has none yet.
    #[inline(always)]
    fn send(&mut self, subflow: PathId, size: Bytes) -> bool {
        let Some((path, connection)) = self.end.path_and_connection(subflow) else { return false };
        path.wire += size;
        self.changed |= 1 << subflow.index();
        trace_sending(self.now, self.network, &path.route, Some(connection));
        self.network.send(self.queue, self.now, &path.route, size);
        true
    }

    /// Records what limits the sender now that it has nothing more to send, and arms the timer.
    #[inline(always)]
    fn finish(&mut self, departure: Departure) -> Pause {
        let waits = self.streams.outgoing(Side::Sender).backlog() > 0;
        let holds = departure.is_filled() && self.limits.hold(Limit::CongestionWindow, self.changed);
        if self.side == Side::Sender && !holds {
            self.limits.after(self.now, self.end.connection, waits, self.changed);
        }
        if !departure.is_quiet() || self.changed == ALL_SUBFLOWS {
            if let Some(at) = self.end.arm(self.now) {
                self.queue.push(at, Event::Timer(self.socket));
            }
        } else {
            debug_assert_eq!(
                self.end.arm(self.now),
                None,
                "a deadline is nearer, and the connection has not told"
            );
        }
        Pause::Over(!waits)
    }
}
