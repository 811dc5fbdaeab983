//! Relays: two connections in the place of one, at a proxy: an end towards the client, an end towards the server, and the bytes
//! between them.
//!
//! A proxy knows of a connection what its two ends know. It reads what has arrived at the one only as far as the other
//! can buffer it, so that a buffer that fills closes the receive window of the end before it.
//! May: move bytes between two ends, and pass on that a stream has ended or a connection has failed. May not: send
//! packets, or acknowledge what no end of its own has received.

pub(crate) mod gate;
pub(crate) mod leg;
pub(crate) mod onward;
pub(crate) mod place;

use std::collections::BTreeMap;

use scenario::model::CrashForm;
use trace::TimeLevels;
use transport::packet::{Packet, PathId};
use transport::{AbortForm, Connection};
use units::{Bytes, SimTime};

use crate::host::Hosts;
use crate::host::connection::HostConnection;
use crate::host::socket::{AppSocket, SocketId};
use crate::net::address::{PacketAddresses, Port, SocketAddress};
use crate::net::topology::NodeId;
use crate::relay::gate::Gate;
use crate::relay::leg::{Leg, LegEnd, RelayId};
use crate::relay::onward::Onward;

/// One direction of a relay.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Bytes read at the one end and written at the other.
    moved: u64,
    /// The sender has finished, and the receiver was told.
    closed: bool,
    /// Bytes that the proxy has acknowledged and that nothing behind it has.
    pub(crate) held: TimeLevels,
    /// Most bytes acknowledged without having them, and by which a window passed that of the receiver.
    overreach: [Bytes; 2],
}

impl Stream {
    /// One subflow of a connection between others: what its end `here` has got goes on.
    fn pass_on(&mut self, now: SimTime, [here, there]: [&mut Leg; 2], most: Bytes) -> Bytes {
        let (here, there) = (here.connection_mut(), there.connection_mut());
        let moved = here.pass_on(now, there, most);
        if let Some(overreach) = here.overreach(there) {
            for (most, bytes) in self.overreach.iter_mut().zip(overreach) {
                *most = bytes.max(*most);
            }
        }
        moved
    }
}

/// The first packet of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A SYN/ACK of this size.
    Accepts { size: Bytes },
    /// A RST.
    Resets,
}

/// The two ends of one connection at a proxy.
#[derive(Debug)]
pub(crate) struct Relay {
    onward: usize,
    /// The connection of the flow that it carries; `None` for a SYN that belongs to none.
    carried: Option<AppSocket>,
    /// The subflow that it carries, of a connection whose others it does not see.
    subflow: Option<PathId>,
    /// Towards the client and towards the server, by [`LegEnd`].
    sockets: [Option<SocketId>; 2],
    /// The SYN of the client, which waits for the answer of the server.
    waiting: Option<(PacketAddresses, Packet)>,
    /// First packet of the server, if it came while the client waits.
    answer: Option<Answer>,
    /// From the client to the server, and back.
    streams: [Stream; 2],
    /// Bytes that it had received in order when a connection failed or the proxy crashed, by direction.
    received: [Bytes; 2],
    over: bool,
}

impl Relay {
    /// Without ends; the flow of its connection has started at `start`.
    pub(crate) fn new(onward: usize, carried: Option<AppSocket>, start: SimTime) -> Self {
        let stream =
            || Stream { moved: 0, closed: false, held: TimeLevels::new(start), overreach: [Bytes::ZERO; 2] };
        Self {
            onward,
            carried,
            subflow: None,
            sockets: [None; 2],
            waiting: None,
            answer: None,
            streams: [stream(), stream()],
            received: [Bytes::ZERO; 2],
            over: false,
        }
    }

    /// The same for one subflow of the connection.
    #[must_use]
    pub(crate) fn of_subflow(self, subflow: PathId) -> Self {
        Self { subflow: Some(subflow), ..self }
    }

    /// The subflow that it carries; `None`: the connection.
    pub(crate) fn subflow(&self) -> Option<PathId> {
        self.subflow
    }

    /// The listener of the proxy that has made it.
    pub(crate) fn onward(&self) -> usize {
        self.onward
    }

    /// The connection that it carries, as the end that its client has.
    pub(crate) fn carried(&self) -> Option<AppSocket> {
        self.carried
    }

    /// Its end on one side.
    pub(crate) fn socket(&self, end: LegEnd) -> Option<SocketId> {
        self.sockets[end.index()]
    }

    /// It has an end on this side from now on.
    pub(crate) fn connect(&mut self, end: LegEnd, socket: SocketId) {
        debug_assert_eq!(self.sockets[end.index()], None, "each end is opened or accepted once");
        self.sockets[end.index()] = Some(socket);
    }

    /// The client's SYN waits until the server has answered.
    pub(crate) fn wait(&mut self, syn: (PacketAddresses, Packet)) {
        self.waiting = Some(syn);
    }

    /// The SYN that waits for an answer of the server.
    pub(crate) fn waiting(&self) -> Option<&(PacketAddresses, Packet)> {
        self.waiting.as_ref()
    }

    /// The first packet of the server has arrived.
    pub(crate) fn note_answer(&mut self, packet: &Packet) {
        let Some(segment) = packet.segment().filter(|_| self.answer.is_none()) else { return };
        self.answer = match segment.flags {
            flags if flags.rst => Some(Answer::Resets),
            flags if flags.syn => Some(Answer::Accepts { size: packet.size }),
            _ => None,
        };
    }

    /// First packet of the server.
    pub(crate) fn answer(&self) -> Option<Answer> {
        self.answer
    }

    /// The client is told that there will be no connection, and resets its own.
    pub(crate) fn refuse(&mut self) {
        self.over = true;
    }

    /// The same, to be answered now.
    pub(crate) fn take_waiting(&mut self) -> Option<(PacketAddresses, Packet)> {
        self.waiting.take()
    }

    /// Bytes of the direction that begins at `end` which the proxy holds, over time.
    pub(crate) fn held(&self, end: LegEnd) -> &TimeLevels {
        &self.streams[end.index()].held
    }

    /// Most bytes of that direction that it has acknowledged without having them, and most by which its window has passed
    /// that of the receiver; `None` if it carries whole connections, of which it has everything.
    pub(crate) fn overreach(&self, end: LegEnd) -> Option<[Bytes; 2]> {
        self.subflow.map(|_| self.streams[end.index()].overreach)
    }

    /// Bytes of that direction that it has acknowledged and that are lost, where the next end has got `arrived`.
    pub(crate) fn lost(&self, end: LegEnd, arrived: Bytes) -> Bytes {
        self.received[end.index()].saturating_sub(arrived)
    }

    /// Moves what has arrived at each end to the other, as far as that has room; passes on ends and failures.
    fn serve(&mut self, now: SimTime, hosts: &mut Hosts, (id, gate): (RelayId, &mut Gate)) {
        if self.over {
            return gate.forget(id);
        }
        for from in LegEnd::BOTH {
            let [Some(here), Some(there)] = [from, from.other()].map(|end| self.socket(end)) else {
                continue;
            };
            self.pass(now, (hosts, id, gate), from, [here, there]);
            let stream = &mut self.streams[from.index()];
            if !stream.closed && leg(hosts, here).peer_finished() {
                stream.closed = true;
                leg_mut(hosts, there).close();
            }
        }
        self.pass_on_failure(now, hosts);
        self.note_held(now, hosts);
        self.check(hosts);
    }

    /// Moves what has arrived at the first socket to the second, as far as that has room and the proxy is fast enough.
    fn pass(
        &mut self,
        now: SimTime,
        (hosts, id, gate): (&mut Hosts, RelayId, &mut Gate),
        from: LegEnd,
        [here, there]: [SocketId; 2],
    ) {
        let most = gate.allows(now, from, id);
        let stream = &mut self.streams[from.index()];
        let moved = if self.subflow.is_some() {
            match hosts.pair_mut(here, there).map(HostConnection::leg_mut) {
                [Some(here), Some(there)] => stream.pass_on(now, [here, there], most),
                _ => Bytes::ZERO,
            }
        } else {
            let bytes = leg(hosts, here).readable().min(leg(hosts, there).send_space()).min(most);
            if bytes > Bytes::ZERO {
                leg_mut(hosts, here).read(now, bytes);
                leg_mut(hosts, there).write(bytes);
            }
            bytes
        };
        stream.moved += moved.0;
        // Data that lacks room at the other end goes on when an acknowledgement comes, and does not wait for the rate.
        let room = self.subflow.is_some() || leg(hosts, there).send_space() > Bytes::ZERO;
        let more = moved >= most && room && leg(hosts, here).readable() > Bytes::ZERO;
        gate.passed(now, from, id, ((most > Bytes::ZERO).then_some(moved), more));
    }

    fn note_held(&mut self, now: SimTime, hosts: &Hosts) {
        for from in LegEnd::BOTH {
            let held = self.holds(hosts, from);
            let known = &mut self.streams[from.index()].held;
            if held != known.value() {
                known.set(now, held);
            }
        }
    }

    /// The proxy crashes: what it holds is gone.
    pub(crate) fn crash(&mut self, now: SimTime, hosts: &mut Hosts, form: CrashForm) {
        if self.over {
            return;
        }
        match form {
            CrashForm::Reset => self.fail(now, hosts),
            CrashForm::Silent => {
                self.lose(hosts);
                for socket in self.sockets.into_iter().flatten() {
                    hosts.get_mut(socket).leg_mut().into_iter().for_each(Leg::fall_silent);
                }
            }
        }
        self.waiting = None;
        self.note_held(now, hosts);
    }

    /// Nothing of it goes on: a place for another connection.
    pub(crate) fn is_done(&self, hosts: &Hosts) -> bool {
        let closed = |socket: &SocketId| leg(hosts, *socket).is_closed();
        self.over || self.sockets.iter().flatten().count() == 2 && self.sockets.iter().flatten().all(closed)
    }

    /// One of its connections has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// A connection that has failed takes the other with it.
    fn pass_on_failure(&mut self, now: SimTime, hosts: &mut Hosts) {
        let failed = |socket: &SocketId| leg(hosts, *socket).failure().is_some();
        if self.sockets.iter().flatten().any(failed) {
            self.fail(now, hosts);
        }
    }

    /// Both connections are reset.
    fn fail(&mut self, now: SimTime, hosts: &mut Hosts) {
        self.lose(hosts);
        for socket in self.sockets.into_iter().flatten() {
            let connection = leg_mut(hosts, socket);
            if connection.failure().is_none() && !connection.is_closed() {
                connection.abort(now, AbortForm::Reset);
            }
        }
    }

    /// Bytes that it has received and not passed on are lost from now on.
    fn lose(&mut self, hosts: &Hosts) {
        let received = |from: LegEnd| self.socket(from).map(|socket| leg(hosts, socket).delivered());
        self.received = LegEnd::BOTH.map(|from| received(from).unwrap_or_default());
        self.over = true;
    }

    /// Bytes that the end on this side has received in order and that the peer of the other has not acknowledged.
    fn holds(&self, hosts: &Hosts, from: LegEnd) -> Bytes {
        if self.over {
            return Bytes::ZERO;
        }
        let received = self.socket(from).map_or(Bytes::ZERO, |socket| leg(hosts, socket).delivered());
        let acked = self.socket(from.other()).map_or(Bytes::ZERO, |socket| leg(hosts, socket).acked());
        received.saturating_sub(acked)
    }

    /// Data that an end has acknowledged is written at the other end or waits to be read; data that was written is
    /// acknowledged by the next peer, or in the send buffer.
    fn check(&self, hosts: &Hosts) {
        if !cfg!(debug_assertions) || self.over {
            return;
        }
        for from in LegEnd::BOTH {
            let moved = Bytes(self.streams[from.index()].moved);
            if let Some(here) = self.socket(from).map(|socket| leg(hosts, socket)) {
                debug_assert_eq!(here.delivered(), moved + here.readable(), "acknowledged and not held");
            }
            if let Some(there) = self.socket(from.other()).map(|socket| leg(hosts, socket)) {
                let known = there.acked() + there.send_buffered();
                debug_assert!(
                    there.is_closed() || known >= moved,
                    "written and neither buffered nor acknowledged"
                );
            }
        }
    }
}

/// The connection of an end of a relay.
fn leg(hosts: &Hosts, socket: SocketId) -> &Connection {
    hosts.get(socket).leg().expect("an end of a relay").connection()
}

fn leg_mut(hosts: &mut Hosts, socket: SocketId) -> &mut Connection {
    hosts.get_mut(socket).leg_mut().expect("an end of a relay").connection_mut()
}

/// All proxies of a world with their relays.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    onward: Vec<Onward>,
    listeners: BTreeMap<(NodeId, Port), usize>,
    relays: Vec<Relay>,
    /// The relay of a connection whose SYN came from this address, by the node of the proxy.
    by_client: BTreeMap<(NodeId, SocketAddress), RelayId>,
    /// By proxy.
    gates: Vec<Gate>,
}

impl Relays {
    /// None yet; `gates` are the limits of the proxies.
    pub(crate) fn new(gates: Vec<Gate>) -> Self {
        Self { gates, ..Self::default() }
    }

    /// Moves what has arrived at each end of a relay to the other.
    pub(crate) fn serve(&mut self, id: RelayId, now: SimTime, hosts: &mut Hosts) {
        let relay = &mut self.relays[id.0 as usize];
        relay.serve(now, hosts, (id, &mut self.gates[self.onward[relay.onward].proxy()]));
    }

    /// The relays of a proxy, the one of `id`, whose turn it is to pass on bytes: by direction with the end that is to wake then.
    pub(crate) fn turns(&self, id: RelayId) -> impl Iterator<Item = (SocketId, SimTime)> {
        let gate = &self.gates[self.onward[self.get(id).onward].proxy()];
        LegEnd::BOTH.into_iter().filter_map(|from| {
            let (relay, at) = gate.next(from)?;
            Some((self.get(relay).socket(from)?, at))
        })
    }

    /// The proxy of a listener accepts another connection.
    pub(crate) fn accepts(&self, onward: usize, hosts: &Hosts) -> bool {
        let proxy = self.onward[onward].proxy();
        let gate = &self.gates[proxy];
        let mine = |relay: &&Relay| self.onward[relay.onward].proxy() == proxy && !relay.is_done(hosts);
        let room = |most| self.relays.iter().filter(mine).count() < most as usize;
        !gate.is_silent() && gate.connections().is_none_or(room)
    }

    /// The proxy of a listener answers nothing any more.
    pub(crate) fn is_silent(&self, onward: usize) -> bool {
        self.gates[self.onward[onward].proxy()].is_silent()
    }

    /// A proxy crashes. Returns its relays.
    pub(crate) fn crash(
        &mut self,
        now: SimTime,
        hosts: &mut Hosts,
        (proxy, form): (usize, CrashForm),
    ) -> Vec<RelayId> {
        self.gates[proxy].crash(form == CrashForm::Silent);
        let onward = &self.onward;
        let mine = self.relays.iter_mut().zip(0..).filter(|(r, _)| onward[r.onward].proxy() == proxy);
        mine.map(|(relay, id)| {
            relay.crash(now, hosts, form);
            RelayId(id)
        })
        .collect()
    }

    /// A proxy listens at a port of its node.
    pub(crate) fn listen(&mut self, node: NodeId, port: Port, onward: Onward) -> usize {
        self.listeners.insert((node, port), self.onward.len());
        self.onward.push(onward);
        self.onward.len() - 1
    }

    /// The proxy that listens at this address.
    pub(crate) fn listening(&self, address: SocketAddress) -> Option<usize> {
        self.listeners.get(&(address.node(), address.port())).copied()
    }

    /// There is no proxy.
    pub(crate) fn is_empty(&self) -> bool {
        self.onward.is_empty()
    }

    /// The way on from a listener.
    pub(crate) fn onward_mut(&mut self, index: usize) -> &mut Onward {
        &mut self.onward[index]
    }

    /// The same.
    pub(crate) fn onward(&self, index: usize) -> &Onward {
        &self.onward[index]
    }

    /// The relay of a SYN that came from this address to `node`, if it is known.
    pub(crate) fn of_client(&self, node: NodeId, source: SocketAddress) -> Option<RelayId> {
        self.by_client.get(&(node, source)).copied()
    }

    /// Adds a relay for a SYN that came from this address to `node`.
    pub(crate) fn add(&mut self, relay: Relay, (node, source): (NodeId, SocketAddress)) -> RelayId {
        let id = RelayId(u32::try_from(self.relays.len()).expect("fewer than 2^32 relays"));
        self.relays.push(relay);
        self.by_client.insert((node, source), id);
        id
    }

    /// A relay.
    pub(crate) fn get(&self, id: RelayId) -> &Relay {
        &self.relays[id.0 as usize]
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, id: RelayId) -> &mut Relay {
        &mut self.relays[id.0 as usize]
    }

    /// The relays of a connection, with their numbers, in the order in which its SYN met them.
    pub(crate) fn of_connection(&self, flow: u32, connection: u32) -> impl Iterator<Item = &Relay> {
        self.relays.iter().filter(move |relay| {
            relay.carried.is_some_and(|owner| owner.flow == flow && owner.connection == connection)
        })
    }
}
