//! Proxies in a world: SYNs that they intercept, packets and timers of their ends.
//!
//! May: open and accept the ends of relays, and send what they have to send. May not: move bytes; a relay does.

use engine::EventQueue;
use scenario::model::CrashForm;
use transport::convert::{ConvertError, ConvertMessage};
use transport::mptcp::option::MptcpOption;
use transport::packet::{Packet, PathId};
use units::SimTime;

use crate::body::WorldNetwork;
use crate::event::Event;
use crate::host::Hosts;
use crate::host::socket::{AppSocket, SocketId};
use crate::net::address::PacketAddresses;
use crate::net::network::Delivery;
use crate::observe::{trace_delivery, trace_sending};
use crate::relay::Relay;
use crate::relay::leg::{Leg, LegEnd, RelayId};
use crate::world::World;

impl World {
    /// A packet with unknown addresses has reached a proxy: a SYN opens a relay, or a subflow of one whose token it names.
    /// Returns the end that takes it in.
    #[cold]
    pub(super) fn first_at_proxy(
        &mut self,
        now: SimTime,
        proxy: usize,
        delivery: Delivery,
    ) -> Option<SocketId> {
        let addresses = self.network.addresses(delivery);
        let packet = *self.network.peek(delivery);
        let option = match packet.segment() {
            Some(segment) if segment.flags.syn && !segment.flags.ack => segment.mptcp,
            _ => return None,
        };
        let node = addresses.destination.node();
        let of_subflow = self.relays.onward(proxy).relays_subflows();
        if let MptcpOption::JoinSyn { token, .. } = option
            && !of_subflow
            && let Some(socket) = self.hosts.with_token(node, token)
        {
            self.hosts.learn_path((now, self.network.forwarding_mut()), addresses, socket, packet.path);
            return Some(socket);
        }
        if let Some(relay) = self.relays.of_client(node, addresses.source) {
            // A SYN repeated while the server has not answered; or one of a connection that is forgotten.
            debug_assert!(self.relays.get(relay).waiting().is_some() || self.relays.get(relay).is_over());
            return None;
        }
        let converts = self.relays.onward(proxy).converts();
        let full = !self.relays.accepts(proxy, &self.hosts);
        if full && !(converts && !self.relays.is_silent(proxy) && packet.path == PathId::FIRST) {
            return None;
        }
        if of_subflow {
            self.relay_subflow(now, proxy, addresses, packet);
            return None;
        }
        let flow = self.relays.onward(proxy).flow();
        if packet.path != PathId::FIRST {
            return self.accept_stranger(now, proxy, addresses, packet.path);
        }
        let connection = self.flows[flow as usize].accepted(addresses.source);
        debug_assert!(connection.is_some(), "a SYN from {:?}, which has opened nothing", addresses.source);
        let side = self.flows[flow as usize].opener().side();
        let owner = AppSocket { flow, connection: connection?, side };
        let relay = Relay::new(proxy, Some(owner), self.flows[owner.flow()].timing().start());
        let id = self.relays.add(relay, (node, addresses.source));
        if full {
            let refused = ConvertMessage::Refused(ConvertError::ResourceExceeded);
            return Some(self.answer_client(now, id, addresses, Some(refused)));
        }
        self.open_onward(now, id);
        if self.relays.onward(proxy).is_late() {
            self.relays.get_mut(id).wait((addresses, packet));
            self.serve_relay(now, id);
            return None;
        }
        Some(self.accept_near(now, id, addresses))
    }

    /// A SYN of a subflow, the first or another, goes on with its option. The client is answered when the server has.
    fn relay_subflow(&mut self, now: SimTime, proxy: usize, addresses: PacketAddresses, syn: Packet) {
        // Tables put the relay beside the connection of its subflow; the protocol machines do not know which it is.
        let Some(client) = self.hosts.find(addresses.reversed()) else { return };
        let owner = self.hosts.get(client.socket).owner();
        let relay = Relay::new(proxy, Some(owner), self.flows[owner.flow()].timing().start());
        let key = (addresses.destination.node(), addresses.source);
        let id = self.relays.add(relay.of_subflow(syn.path), key);
        self.relays.get_mut(id).wait((addresses, syn));
        if syn.path == PathId::FIRST {
            self.flows[owner.flow()].accepted(addresses.source);
        }
        self.open_onward(now, id);
        self.serve_relay(now, id);
    }

    /// The end towards the client, whose SYN came between these addresses.
    fn accept_near(&mut self, now: SimTime, id: RelayId, addresses: PacketAddresses) -> SocketId {
        let relay = self.relays.get(id);
        let (proxy, subflow) = (relay.onward(), relay.subflow());
        let owner = relay.carried().expect("a relay that carries a connection");
        let label = self.flows[owner.flow()].label(owner.connection);
        let at = (now, self.network.forwarding_mut());
        let socket = if subflow.is_some() {
            let end = self.relays.onward(proxy).accept_subflow();
            self.hosts.accept_stranger(at, addresses, end, (owner, label))
        } else {
            self.hosts.accept(at, addresses, (owner, label))
        };
        self.hosts.give_to_relay(socket, id, subflow.unwrap_or(PathId::FIRST));
        self.relays.get_mut(id).connect(LegEnd::Client, socket);
        socket
    }

    /// The end towards the client, whose SYN/ACK says this.
    fn answer_client(
        &mut self,
        now: SimTime,
        id: RelayId,
        addresses: PacketAddresses,
        message: Option<ConvertMessage>,
    ) -> SocketId {
        let near = self.accept_near(now, id, addresses);
        if let (Some(message), Some(leg)) = (message, self.hosts.get_mut(near).leg_mut()) {
            leg.connection_mut().say(message);
            if matches!(message, ConvertMessage::Refused(_)) {
                self.relays.get_mut(id).refuse();
            }
        }
        near
    }

    /// The end towards the server.
    fn open_onward(&mut self, now: SimTime, id: RelayId) {
        let relay = self.relays.get(id);
        let (proxy, subflow) = (relay.onward(), relay.subflow());
        let owner = relay.carried().expect("a relay that carries a connection");
        let syn = relay.waiting().and_then(|(_, syn)| syn.segment()).map_or(MptcpOption::None, |s| s.mptcp);
        let path = subflow.unwrap_or(PathId::FIRST);
        let label = self.flows[owner.flow()].label(owner.connection);
        let onward = self.relays.onward_mut(proxy);
        let (machine, places) = if subflow.is_some() { onward.open_subflow(syn) } else { onward.open() };
        let forwarding = self.network.forwarding_mut();
        let (socket, addresses) = self.hosts.open((now, forwarding), machine, places, (owner, label));
        self.hosts.give_to_relay(socket, id, path);
        if let Some((observer, _)) = self.network.tap_and_draft() {
            observer.know(addresses, (owner.flow(), owner.connection), path);
        }
        if path == PathId::FIRST {
            self.flows[owner.flow()].opened_again(owner.connection, addresses.source);
        }
        self.relays.get_mut(id).connect(LegEnd::Server, socket);
    }

    /// The SYN of a further subflow of a connection that the proxy does not know is answered as any other SYN: without
    /// MP_JOIN, so that the client gives the subflow up (RFC 8684 section 3.2).
    fn accept_stranger(
        &mut self,
        now: SimTime,
        proxy: usize,
        addresses: PacketAddresses,
        subflow: PathId,
    ) -> Option<SocketId> {
        let flow = self.relays.onward(proxy).flow();
        let connection = self.relays.onward_mut(proxy).stranger()?;
        let owner = AppSocket { flow, connection: 0, side: self.flows[flow as usize].opener().side() };
        let label = self.flows[flow as usize].label(0);
        let at = (now, self.network.forwarding_mut());
        let socket = self.hosts.accept_stranger(at, addresses, connection, (owner, label));
        let key = (addresses.destination.node(), addresses.source);
        let id = self.relays.add(Relay::new(proxy, None, now), key);
        self.hosts.give_to_relay(socket, id, subflow);
        self.relays.get_mut(id).connect(LegEnd::Client, socket);
        Some(socket)
    }

    /// A packet has reached an end of a relay.
    pub(super) fn deliver_to_leg(&mut self, now: SimTime, socket: SocketId, delivery: Delivery) {
        let Self { hosts, network, .. } = self;
        let Some(leg) = hosts.get_mut(socket).leg_mut() else { return };
        let packet = network.open(delivery);
        leg.receive(now, packet);
        let relay = leg.relay();
        if self.relays.get(relay).waiting().is_some() {
            self.relays.get_mut(relay).note_answer(packet);
        }
        trace_delivery(now, network, delivery, Some(leg.connection()));
        self.serve_relay(now, relay);
    }

    /// A timer entry of an end of a relay came out of the queue.
    #[cold]
    pub(super) fn on_leg_timer(&mut self, now: SimTime, socket: SocketId) {
        let end = self.hosts.get_mut(socket);
        let Some(leg) = end.leg_mut() else { return };
        if !leg.on_timeout(now) {
            if let Some(at) = end.arm_leg(now) {
                self.queue.push(at, Event::Timer(socket));
            }
            return;
        }
        let relay = leg.relay();
        self.serve_relay(now, relay);
    }

    /// A proxy crashes; its ends say so to their peers if they still can.
    pub(super) fn crash(&mut self, now: SimTime, event: (usize, CrashForm)) {
        for id in self.relays.crash(now, &mut self.hosts, event) {
            for end in LegEnd::BOTH {
                if let Some(socket) = self.relays.get(id).socket(end) {
                    self.send_from_leg(now, socket);
                }
            }
        }
    }

    /// Moves bytes between the ends of a relay and lets both send.
    fn serve_relay(&mut self, now: SimTime, id: RelayId) {
        let far = self.relays.get(id).socket(LegEnd::Server);
        // With a SYN/ACK, or with a RST, which the client gets too.
        let answered = |hosts: &Hosts, socket| {
            let leg = hosts.get(socket).leg().map(Leg::connection);
            leg.is_some_and(|far| far.is_established() || far.failure().is_some())
        };
        if self.relays.get(id).waiting().is_some()
            && far.is_some_and(|socket| answered(&self.hosts, socket))
            && let Some((addresses, syn)) = self.relays.get_mut(id).take_waiting()
        {
            let relay = self.relays.get(id);
            let message = self.relays.onward(relay.onward()).answer(&syn, relay.answer());
            let near = self.answer_client(now, id, addresses, message);
            if let Some(leg) = self.hosts.get_mut(near).leg_mut() {
                leg.receive(now, &syn);
            }
        }
        self.relays.serve(id, now, &mut self.hosts);
        for end in LegEnd::BOTH {
            if let Some(socket) = self.relays.get(id).socket(end) {
                self.send_from_leg(now, socket);
            }
        }
        self.wake_next(now, id);
    }

    /// The relays that wait for the rate of a proxy wake in turn.
    fn wake_next(&mut self, now: SimTime, id: RelayId) {
        for (socket, at) in self.relays.turns(id) {
            let end = self.hosts.get_mut(socket);
            end.leg_mut().into_iter().for_each(|leg| leg.resume_at(at));
            if let Some(at) = end.arm_leg(now) {
                self.queue.push(at, Event::Timer(socket));
            }
        }
    }

    /// Lets an end of a relay send until it has nothing more.
    fn send_from_leg(&mut self, now: SimTime, socket: SocketId) {
        loop {
            match send_one(now, socket, (&mut self.hosts, &mut self.network, &mut self.queue)) {
                Sent::Packet => {}
                Sent::Nothing => break,
                Sent::NoPath(subflow) => {
                    self.open_path(now, socket, subflow);
                    send_draft(now, socket, subflow, (&mut self.hosts, &mut self.network, &mut self.queue));
                }
            }
        }
        let end = self.hosts.get_mut(socket);
        if let Some(leg) = end.leg_mut() {
            leg.record(now);
        }
        if let Some(at) = end.arm_leg(now) {
            self.queue.push(at, Event::Timer(socket));
        }
    }
}

/// Outcome of a step of sending.
enum Sent {
    Packet,
    Nothing,
    /// It is the first of its subflow, which has no path.
    NoPath(PathId),
}

type Parts<'w> = (&'w mut Hosts, &'w mut WorldNetwork, &'w mut EventQueue<Event>);

/// Sends the next packet of an end.
fn send_one(now: SimTime, socket: SocketId, (hosts, network, queue): Parts<'_>) -> Sent {
    let end = hosts.get_mut(socket);
    let Some(leg) = end.leg_mut().filter(|leg| !leg.is_silent()) else { return Sent::Nothing };
    let packet: &mut Packet = network.draft();
    if !leg.connection_mut().poll_transmit_into(now, packet).is_packet() {
        return Sent::Nothing;
    }
    let subflow = leg.show(packet);
    if end.path(subflow).is_none() {
        return Sent::NoPath(subflow);
    }
    send_draft(now, socket, subflow, (hosts, network, queue));
    Sent::Packet
}

/// Sends the draft on the path of a subflow.
fn send_draft(now: SimTime, socket: SocketId, subflow: PathId, (hosts, network, queue): Parts<'_>) {
    let size = network.draft().size;
    let end = hosts.get_mut(socket);
    let Some((path, machine)) = end.path_and_machine(subflow) else { return };
    path.wire += size;
    let route = path.route;
    let connection = machine.leg().map(crate::relay::leg::Leg::connection);
    trace_sending(now, network, &route, connection);
    network.send(queue, now, &route, size);
}
