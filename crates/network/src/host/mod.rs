//! Hosts: addresses, ports, listeners, demultiplexing and connections.
//!
//! A host makes a connection by opening it, or by accepting one when the first packet reaches a port at which it listens.
//! May: find the connection that a packet belongs to. May not: know what another host has, but from packets and from
//! configuration; run applications.

pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod demux;
pub(crate) mod machine;
pub(crate) mod ports;
pub(crate) mod socket;

use std::collections::BTreeMap;

use transport::mptcp::keys::Token;
use transport::packet::PathId;
use transport::{AddressPair, Connection};

use units::SimTime;

use crate::host::config::Listener;
use crate::host::connection::{HostConnection, Opening};
use crate::host::demux::{Demux, Match};
use crate::host::machine::Machine;
use crate::host::ports::{EphemeralPorts, service_at, service_port};
use crate::host::socket::{AppSocket, SocketId};
use crate::net::address::{PacketAddresses, Port, SocketAddress};
use crate::net::forwarding::Forwarding;
use crate::net::topology::{NodeId, Topology};
use crate::relay::leg::RelayId;

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    /// Number of its addresses: one for each interface.
    addresses: u16,
    ports: EphemeralPorts,
    /// The services, by port from the first service port on.
    listeners: Vec<Listener>,
    demux: Demux,
    /// Accepted MPTCP connections by the token that MP_JOIN names (RFC 8684 section 3.2).
    tokens: BTreeMap<u32, SocketId>,
}

/// All hosts. Their connections are in one arena, so that an event names one of them in four bytes.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// By node.
    hosts: Vec<Host>,
    connections: Vec<HostConnection>,
    /// Connections that a proxy intercepts: from a node and its interface to a server, the address of the proxy.
    detours: BTreeMap<(NodeId, Option<u8>, SocketAddress), SocketAddress>,
}

impl Hosts {
    /// A host for each node, without connections; `expected` are reserved.
    pub(crate) fn new(topology: &Topology, expected: usize) -> Self {
        let host = |node| Host {
            addresses: topology.addresses(node).count() as u16,
            ports: EphemeralPorts::default(),
            listeners: Vec::new(),
            demux: Demux::default(),
            tokens: BTreeMap::new(),
        };
        let hosts = (0..topology.nodes()).map(host).collect();
        Self { hosts, connections: Vec::with_capacity(expected), detours: BTreeMap::new() }
    }

    /// `node` listens; returns the port.
    pub(crate) fn listen(&mut self, node: NodeId, listener: Listener) -> Port {
        let listeners = &mut self.hosts[node].listeners;
        listeners.push(listener);
        service_port(listeners.len() - 1)
    }

    /// Subflows that leave `node` by `interface` for `server` meet a proxy on their way and end there.
    pub(crate) fn intercept(
        &mut self,
        (node, interface): (NodeId, Option<u8>),
        server: SocketAddress,
        proxy: SocketAddress,
    ) {
        debug_assert_ne!(node, proxy.node(), "a proxy intercepts what others open");
        self.detours.insert((node, interface, server), proxy);
    }

    /// The newest connection becomes an end of a relay, whose peer knows its first subflow by this number.
    pub(crate) fn give_to_relay(&mut self, socket: SocketId, relay: RelayId, known_as: PathId) {
        debug_assert_eq!(socket.0 as usize + 1, self.connections.len(), "an end has just been made");
        let newest = self.connections.pop().map(|connection| connection.into_leg(relay, known_as));
        self.connections.extend(newest);
    }

    /// A proxy accepts the SYN of a subflow of a connection that it does not know.
    pub(crate) fn accept_stranger(
        &mut self,
        at: (SimTime, &mut Forwarding),
        packet: PacketAddresses,
        connection: Connection,
        (owner, flow_label): (AppSocket, u64),
    ) -> SocketId {
        let machine = Machine::Stream(connection);
        let socket = self.add(HostConnection::new(machine, owner, Opening::Passive, flow_label));
        self.learn_path(at, packet, socket, PathId::FIRST);
        socket
    }

    /// The listener at a port of `node`.
    pub(crate) fn listener(&self, node: NodeId, port: Port) -> Option<&Listener> {
        self.hosts[node].listeners.get(service_at(port)?)
    }

    /// The same, to be changed.
    pub(crate) fn listener_mut(&mut self, node: NodeId, port: Port) -> Option<&mut Listener> {
        self.hosts[node].listeners.get_mut(service_at(port)?)
    }

    /// The connection of a socket.
    #[inline]
    pub(crate) fn get(&self, socket: SocketId) -> &HostConnection {
        &self.connections[socket.0 as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, socket: SocketId) -> &mut HostConnection {
        &mut self.connections[socket.0 as usize]
    }

    /// Two ends, to be changed together.
    pub(crate) fn pair_mut(&mut self, one: SocketId, other: SocketId) -> [&mut HostConnection; 2] {
        let indices = [one, other].map(|socket| socket.0 as usize);
        self.connections.get_disjoint_mut(indices).expect("two ends")
    }

    /// The connection that a packet belongs to.
    #[inline]
    pub(crate) fn find(&self, packet: PacketAddresses) -> Option<Match> {
        let host = &self.hosts[packet.destination.node()];
        host.demux.find(packet.destination.port(), packet.source)
    }

    /// `node` opens a connection to a port of `server`. Returns the addresses of its first subflow.
    pub(crate) fn open(
        &mut self,
        (now, forwarding): (SimTime, &mut Forwarding),
        machine: Machine,
        (node, server, port): (NodeId, NodeId, Port),
        (owner, flow_label): (AppSocket, u64),
    ) -> (SocketId, PacketAddresses) {
        let opening = Opening::Active { node, server, port };
        let socket = self.add(HostConnection::new(machine, owner, opening, flow_label));
        let addresses = self.open_path((now, forwarding), socket, PathId::FIRST);
        (socket, addresses)
    }

    /// The host that has opened a connection opens a subflow of it, from an ephemeral port of its own.
    #[cold]
    pub(crate) fn open_path(
        &mut self,
        (now, forwarding): (SimTime, &mut Forwarding),
        socket: SocketId,
        subflow: PathId,
    ) -> PacketAddresses {
        let wanted = self.get(socket).wanted_path(subflow);
        let (node, pair, server, port) =
            wanted.expect("the end that has accepted learns its paths from packets");
        let destination = SocketAddress::new(server, pair.remote, port);
        let destination = self.detours.get(&(node, pair.local, destination)).copied().unwrap_or(destination);
        self.make_room(now, node);
        // All addresses of an association have one port.
        let known = self.get(socket).path(PathId::FIRST).map(|path| path.route.header.source.port());
        let known = known.filter(|_| self.get(socket).connection().is_some_and(Connection::shares_port));
        let Host { ports, demux, .. } = &mut self.hosts[node];
        let own = known.unwrap_or_else(|| ports.allocate(|port| demux.find(port, destination).is_some()));
        let source = SocketAddress::new(node, pair.local, own);
        demux.insert(own, destination, Match { socket, path: subflow });
        let addresses = PacketAddresses { source, destination };
        self.get_mut(socket).set_path(forwarding, subflow, addresses);
        self.check(node);
        addresses
    }

    /// A host accepts a connection whose first packet has arrived at a port where it listens.
    ///
    /// # Panics
    /// If it does not listen there.
    pub(crate) fn accept(
        &mut self,
        (now, forwarding): (SimTime, &mut Forwarding),
        packet: PacketAddresses,
        (owner, flow_label): (AppSocket, u64),
    ) -> SocketId {
        let node = packet.destination.node();
        let socket = SocketId(self.connections.len() as u32);
        let Host { listeners, tokens, .. } = &mut self.hosts[node];
        let service = service_at(packet.destination.port()).expect("a service port");
        let listener = &mut listeners[service];
        let mut key = listener.draw_key();
        if listener.is_multipath() {
            // RFC 8684 section 3.1: the token of a new connection must differ from those of all others.
            while tokens.contains_key(&key.token().0) {
                key = listener.draw_key();
            }
            tokens.insert(key.token().0, socket);
        }
        let machine = listener.accept(seen_here(packet), key);
        let others = listener.paths().to_vec();
        self.add(HostConnection::new(machine, owner, Opening::Passive, flow_label));
        self.learn_path((now, forwarding), packet, socket, PathId::FIRST);
        // The addresses of an INIT share its port.
        for (pair, id) in others.into_iter().zip(0..).skip(1) {
            let PacketAddresses { source, destination } = packet;
            let source = SocketAddress::new(source.node(), pair.remote, source.port());
            let destination = SocketAddress::new(destination.node(), pair.local, destination.port());
            let addresses = PacketAddresses { source, destination };
            self.learn_path((now, forwarding), addresses, socket, PathId(id));
        }
        socket
    }

    /// Packets between these addresses belong to a subflow of a connection of this host.
    pub(crate) fn learn_path(
        &mut self,
        (now, forwarding): (SimTime, &mut Forwarding),
        packet: PacketAddresses,
        socket: SocketId,
        subflow: PathId,
    ) {
        let PacketAddresses { source, destination } = packet;
        self.make_room(now, destination.node());
        let demux = &mut self.hosts[destination.node()].demux;
        demux.insert(destination.port(), source, Match { socket, path: subflow });
        self.get_mut(socket).set_path(forwarding, subflow, packet.reversed());
        self.check(destination.node());
    }

    /// The accepted connection of a host that has this token.
    ///
    /// RFC 8684 section 3.2: "Demultiplexing subflow SYNs MUST be done using the token"
    pub(crate) fn with_token(&self, node: NodeId, token: Token) -> Option<SocketId> {
        self.hosts[node].tokens.get(&token.0).copied()
    }

    /// Removes connections that are over from the tables of a host, when a table would have to grow. The caller checks
    /// the host when its own entry is in: an accepted connection has a token before it has a path.
    #[inline]
    fn make_room(&mut self, now: SimTime, node: NodeId) {
        if self.hosts[node].demux.is_full() {
            self.remove_over(now, node);
        }
    }

    #[cold]
    fn remove_over(&mut self, now: SimTime, node: NodeId) {
        let Self { hosts, connections, .. } = self;
        let Host { demux, tokens, .. } = &mut hosts[node];
        let mut is_over = |socket: SocketId| connections[socket.0 as usize].is_over(now);
        demux.remove(&mut is_over);
        tokens.retain(|_, socket| !is_over(*socket));
    }

    fn add(&mut self, connection: HostConnection) -> SocketId {
        let socket = SocketId(u32::try_from(self.connections.len()).expect("fewer than 2^32 connections"));
        self.connections.push(connection);
        socket
    }

    /// Packets between these addresses are answered on a path of this connection, but do not belong to it.
    pub(crate) fn answer_path(
        &mut self,
        forwarding: &mut Forwarding,
        packet: PacketAddresses,
        socket: SocketId,
        subflow: PathId,
    ) {
        self.get_mut(socket).set_path(forwarding, subflow, packet.reversed());
    }

    /// Entries lead to connections of this host whose paths have the addresses of the entry. All are looked at
    /// whenever their number has doubled.
    fn check(&self, node: NodeId) {
        let host = &self.hosts[node];
        if cfg!(debug_assertions) && host.demux.len().is_power_of_two() {
            for Match { socket, path } in host.demux.matches() {
                let route = self.get(socket).path(path).map(|path| path.route);
                let header = route.map(|route| route.header);
                debug_assert_eq!(
                    header.map(|h| h.source.node()),
                    Some(node),
                    "{socket:?} is of another host"
                );
                let interface = header.and_then(|h| h.source.interface()).map(u16::from);
                debug_assert!(
                    interface.is_none_or(|i| i < host.addresses),
                    "{socket:?} sends from no interface"
                );
                debug_assert!(
                    header.is_some_and(|h| host.demux.find(h.source.port(), h.destination).is_some()),
                    "packets for subflow {path} of {socket:?} would not find it"
                );
            }
            let of_others = |socket: &&SocketId| self.get(**socket).wanted_path(PathId::FIRST).is_some();
            debug_assert_eq!(
                host.tokens.values().find(of_others),
                None,
                "a token of a connection not accepted"
            );
            debug_assert!(host.tokens.len() <= host.demux.len(), "every connection with a token has a path");
        }
    }
}

/// Interfaces of a packet, seen from the host where it has arrived.
fn seen_here(packet: PacketAddresses) -> AddressPair {
    AddressPair { local: packet.destination.interface(), remote: packet.source.interface() }
}
