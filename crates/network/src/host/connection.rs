//! A connection of a host, or its end of a conversation in datagrams: the protocol machine with its timer, and the path
//! of each subflow.
//!
//! May: say over which link packets of a subflow leave. May not: send them, or know the other end but by the
//! addresses of its packets.

use engine::LazyTimer;
use transport::packet::PathId;
use transport::{AddressPair, Connection};
use units::{Bytes, Nanos, SimTime};

use crate::host::machine::Machine;
use crate::host::socket::AppSocket;
use crate::net::address::{PacketAddresses, Port, SocketAddress};
use crate::net::ecmp;
use crate::net::forwarding::{Forwarding, Route};
use crate::net::topology::NodeId;
use crate::relay::leg::{Leg, RelayId};

/// One subflow at one end, in one line of the cache: every packet that leaves takes its header from here.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Path {
    /// How its packets travel.
    pub(crate) route: Route,
    /// Bytes on the wire sent.
    pub(crate) wire: Bytes,
}

/// Which end of a connection a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It has opened the connection to a port of a server.
    Active {
        /// The host itself.
        node: NodeId,
        /// Host of the server.
        server: NodeId,
        /// Its port.
        port: Port,
    },
    /// It has accepted the connection.
    Passive,
}

/// A connection with its timer and its paths.
#[derive(Debug)]
pub(crate) struct Parts<'c> {
    /// The protocol machine.
    pub(crate) connection: &'c mut Connection,
    /// The application that uses it.
    pub(crate) owner: &'c AppSocket,
    timer: &'c mut LazyTimer,
    paths: &'c mut [Option<Path>],
}

impl Parts<'_> {
    /// Packets of a subflow have a path.
    #[inline]
    pub(crate) fn has_path(&self, subflow: PathId) -> bool {
        self.paths.get(subflow.index()).is_some_and(Option::is_some)
    }

    /// The path of a subflow, to be changed, and the connection.
    #[inline]
    pub(crate) fn path_and_connection(&mut self, subflow: PathId) -> Option<(&mut Path, &Connection)> {
        Some((self.paths.get_mut(subflow.index())?.as_mut()?, self.connection))
    }

    /// The instant to push into the queue for its next deadline, if one is needed.
    #[inline]
    pub(crate) fn arm(&mut self, now: SimTime) -> Option<SimTime> {
        // A deadline that lies in the past is due now.
        self.timer.set(self.connection.wake_at().max(now))
    }
}

/// One end of a connection, in one line of the cache: every packet looks here for its machine, its application and its path.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct HostConnection {
    machine: Machine,
    timer: LazyTimer,
    owner: AppSocket,
    /// By subflow index; `None` before the first packet of the subflow.
    paths: Box<[Option<Path>]>,
    life: Box<Life>,
}

const _: () =
    assert!(size_of::<HostConnection>() == 64, "an end of a connection has outgrown a line of the cache");

/// Beginning and end of a connection.
#[derive(Debug)]
struct Life {
    opening: Opening,
    /// Identifies the connection in the hashes by which routers choose among equal paths.
    flow_label: u64,
    /// When its host has noticed that it is closed; `NEVER` before.
    closed: SimTime,
}

/// TIME-WAIT: twice the maximum segment lifetime of RFC 9293 section 3.4.2. Until then a closed connection answers what
/// still arrives for it.
const TIME_WAIT: Nanos = Nanos::from_secs(240);

impl HostConnection {
    /// Without paths.
    pub(crate) fn new(machine: Machine, owner: AppSocket, opening: Opening, flow_label: u64) -> Self {
        let life = Box::new(Life { opening, flow_label, closed: SimTime::NEVER });
        Self { machine, timer: LazyTimer::default(), owner, paths: Box::default(), life }
    }

    /// True if the connection was closed or reset two segment lifetimes ago, so that no packet can arrive for it. Counted from the first time
    /// that its host asks.
    pub(crate) fn is_over(&mut self, now: SimTime) -> bool {
        let ended = |connection: &Connection| connection.is_closed() || connection.failure().is_some();
        let connection = self.connection().or_else(|| self.leg().map(Leg::connection));
        if !connection.is_some_and(ended) {
            return false;
        }
        let closed = self.life.closed.min(now);
        self.life.closed = closed;
        now.since(closed) >= TIME_WAIT
    }

    /// The protocol machine.
    #[inline]
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same, to be called.
    #[inline]
    pub(crate) fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The connection; `None` with datagrams.
    #[inline]
    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.machine.connection()
    }

    /// The same, to be called.
    #[inline]
    pub(crate) fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.machine.connection_mut()
    }

    /// The end of a relay, if it is one.
    pub(crate) fn leg(&self) -> Option<&Leg> {
        self.machine.leg()
    }

    /// The same, to be called.
    pub(crate) fn leg_mut(&mut self) -> Option<&mut Leg> {
        self.machine.leg_mut()
    }

    /// Its end belongs to a relay from now on, whose peer knows its first subflow by this number.
    pub(crate) fn into_leg(self, relay: RelayId, known_as: PathId) -> Self {
        let machine = match self.machine {
            Machine::Stream(connection) => Machine::Leg(Box::new(Leg::new(connection, relay, known_as))),
            other => other,
        };
        Self { machine, ..self }
    }

    /// The instant to push into the queue for the next deadline of the end of a relay, if one is needed.
    pub(crate) fn arm_leg(&mut self, now: SimTime) -> Option<SimTime> {
        let Self { machine: Machine::Leg(leg), timer, .. } = self else { return None };
        timer.set(leg.wake_at().max(now))
    }

    /// In-order bytes delivered so far; none with datagrams.
    pub(crate) fn delivered(&self) -> Bytes {
        self.connection().map_or(Bytes::ZERO, Connection::delivered)
    }

    /// The instant to push into the queue for this deadline, if one is needed.
    #[inline]
    pub(crate) fn arm_for(&mut self, deadline: SimTime) -> Option<SimTime> {
        self.timer.set(deadline)
    }

    /// A timer entry came out of the queue. False if it was a stale one.
    pub(crate) fn timer_fires(&mut self, now: SimTime) -> bool {
        self.timer.fires(now)
    }

    /// The application that uses it.
    #[inline]
    pub(crate) fn owner(&self) -> AppSocket {
        self.owner
    }

    /// The path of a subflow, if it has one.
    #[inline]
    pub(crate) fn path(&self, subflow: PathId) -> Option<&Path> {
        self.paths.get(subflow.index()).and_then(Option::as_ref)
    }

    /// Parts that a step of the connection needs at the same time; `None` with datagrams.
    #[inline]
    pub(crate) fn parts(&mut self) -> Option<Parts<'_>> {
        let Self { machine, timer, owner, paths, .. } = self;
        Some(Parts { connection: machine.connection_mut()?, owner, timer, paths })
    }

    /// The path of a subflow, to be changed, and the protocol machine.
    #[inline]
    pub(crate) fn path_and_machine(&mut self, subflow: PathId) -> Option<(&mut Path, &mut Machine)> {
        let path = self.paths.get_mut(subflow.index())?.as_mut()?;
        Some((path, &mut self.machine))
    }

    fn check(&self) {
        debug_assert!(self.paths.len() <= 1 + usize::from(u8::MAX), "more paths than numbers of subflows");
        let mut hosts = self.paths.iter().flatten().map(|path| path.route.header.source.node());
        let host = hosts.next();
        debug_assert!(hosts.all(|node| Some(node) == host), "all paths begin at the same host");
        debug_assert!(
            self.machine.datagrams().is_none() || self.paths.len() <= 1,
            "a conversation in datagrams has one path"
        );
    }

    /// Indices of subflows with a path are below this.
    pub(crate) fn path_count(&self) -> usize {
        self.paths.len()
    }

    /// Addresses of a subflow that this end opens: its host, the interfaces that the path manager has chosen, and host
    /// and port of the server. `None` at the end that has accepted the connection.
    pub(crate) fn wanted_path(&self, subflow: PathId) -> Option<(NodeId, AddressPair, NodeId, Port)> {
        match self.life.opening {
            Opening::Active { node, server, port } => {
                let pair = match &self.machine {
                    Machine::Stream(connection) => connection.address_pair(subflow),
                    Machine::Datagrams(end) => end.1,
                    Machine::Leg(leg) => leg.connection().address_pair(subflow),
                };
                Some((node, pair, server, port))
            }
            Opening::Passive => None,
        }
    }

    /// Packets of `subflow` travel between these addresses from now on.
    pub(crate) fn set_path(
        &mut self,
        forwarding: &mut Forwarding,
        subflow: PathId,
        addresses: PacketAddresses,
    ) {
        let index = subflow.index();
        if self.paths.len() <= index {
            let known = std::mem::take(&mut self.paths);
            self.paths = known.into_iter().chain(std::iter::repeat(None)).take(index + 1).collect();
        }
        let wire = self.paths[index].map_or(Bytes::ZERO, |path| path.wire);
        let hash = flow_hash(self.life.flow_label, addresses, hashed_ports(self.life.opening, subflow));
        self.paths[index] = Some(Path { route: forwarding.route(addresses, hash), wire });
        self.check();
    }
}

/// Ports as the hash of a flow has them, own port first. The choice of a path depends on the number of the subflow and
/// not on the ephemeral port that it got, so that a flow keeps its path when other flows are added to a scenario.
fn hashed_ports(opening: Opening, subflow: PathId) -> [u64; 2] {
    const SERVER: u64 = 5001;
    const FIRST_EPHEMERAL: u64 = 49_152;
    let client = FIRST_EPHEMERAL + u64::from(subflow.0);
    match opening {
        Opening::Active { .. } => [client, SERVER],
        Opening::Passive => [SERVER, client],
    }
}

/// Identifies the packets of a subflow where routers choose among equal paths.
fn flow_hash(flow_label: u64, addresses: PacketAddresses, [own_port, other_port]: [u64; 2]) -> u64 {
    let address = |a: SocketAddress| [a.node() as u64, a.interface().map_or(u64::MAX, u64::from)];
    let fields =
        [[flow_label, own_port], [other_port, 0], address(addresses.source), address(addresses.destination)];
    ecmp::flow_hash(fields.into_iter().flatten())
}
