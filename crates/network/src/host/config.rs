//! Configuration of connections: of the side that opens, and of the side that listens.
//!
//! May: make connections and draw their keys. May not: know what the other side is configured to do.

use std::fmt;
use std::sync::Arc;

use apps::Side;
use engine::Stream;
use schedulers::Scheduler;
use transport::config::{MptcpConfig, TcpConfig, UdpConfig};
use transport::convert::ConvertMessage;
use transport::mptcp::keys::Key;
use transport::mptcp::option::MptcpOption;
use transport::sctp::{AssociationSetup, SctpConfig};
use transport::udp::UdpSocket;
use transport::{AddressPair, Connection, NewCongestion, Role, Setup};
use units::Bytes;

use crate::host::machine::Machine;
use crate::net::address::{Port, SocketAddress};
use crate::net::topology::NodeId;

/// Makes the scheduler of one connection.
pub(crate) type NewScheduler = Arc<dyn Fn() -> Box<dyn Scheduler> + Send + Sync>;

/// A transport protocol with its parameters.
#[derive(Clone)]
pub(crate) enum Protocol {
    /// TCP, or MPTCP if it has that part.
    Stream { tcp: Arc<TcpConfig>, congestion: NewCongestion, mptcp: Option<(Arc<MptcpConfig>, NewScheduler)> },
    /// SCTP.
    Association { config: Arc<SctpConfig>, congestion: NewCongestion, scheduler: Option<NewScheduler> },
    /// UDP.
    Datagrams(UdpConfig),
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream { mptcp: None, .. } => "Tcp",
            Self::Stream { .. } => "Mptcp",
            Self::Association { .. } => "Sctp",
            Self::Datagrams(_) => "Udp",
        })
    }
}

impl Protocol {
    /// MPTCP is configured.
    pub(crate) fn is_multipath(&self) -> bool {
        matches!(self, Self::Stream { mptcp: Some(_), .. })
    }

    /// A connection may use several pairs of addresses, and has tags or keys.
    pub(crate) fn is_multihomed(&self) -> bool {
        self.is_multipath() || self.is_association()
    }

    /// SCTP is configured.
    pub(crate) fn is_association(&self) -> bool {
        matches!(self, Self::Association { .. })
    }

    /// Streams of an association.
    pub(crate) fn streams(&self) -> Option<u16> {
        match self {
            Self::Association { config, .. } => Some(config.streams.count),
            Self::Stream { .. } | Self::Datagrams(_) => None,
        }
    }

    /// The same without MPTCP.
    pub(crate) fn without_multipath(&self) -> Self {
        let mut plain = self.clone();
        if let Self::Stream { mptcp, .. } = &mut plain {
            *mptcp = None;
        }
        plain
    }

    /// Messages may get lost.
    pub(crate) fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_))
    }

    /// An end of one subflow of a connection between others; only TCP has such.
    fn subflow_end(&self, role: Role, first: AddressPair, options: &MptcpConfig) -> Connection {
        let Self::Stream { tcp, congestion, .. } = self else {
            unreachable!("the scenario has TCP on both sides of such a proxy")
        };
        let setup = Setup {
            tcp: Arc::clone(tcp),
            congestion: Arc::clone(congestion),
            mptcp: None,
            role,
            first,
            pairs: Vec::new(),
            own: Vec::new(),
            absent: [Vec::new(), Vec::new()],
            key: Key::default(),
            nonce_seed: 0,
        };
        Connection::subflow_of_others(&setup, options)
    }

    fn machine(&self, end: EndSetup) -> Machine {
        match self {
            Self::Datagrams(config) => Machine::Datagrams(Box::new((UdpSocket::new(*config), end.first))),
            Self::Association { config, congestion, scheduler } => {
                Machine::Stream(Connection::associate(AssociationSetup {
                    config: Arc::clone(config),
                    congestion: Arc::clone(congestion),
                    scheduler: scheduler.as_ref().map(|scheduler| scheduler()),
                    role: end.role,
                    paths: if end.pairs.is_empty() { vec![end.first] } else { end.pairs },
                    tag: end.key.tag(),
                }))
            }
            Self::Stream { tcp, congestion, mptcp } => Machine::Stream(Connection::new(Setup {
                tcp: Arc::clone(tcp),
                congestion: Arc::clone(congestion),
                mptcp: mptcp.as_ref().map(|(config, scheduler)| (Arc::clone(config), scheduler())),
                role: end.role,
                first: end.first,
                pairs: end.pairs,
                own: end.own,
                absent: end.absent,
                key: end.key,
                nonce_seed: end.nonce_seed,
            })),
        }
    }
}

/// The parts of a connection's set-up that are not of its protocol.
struct EndSetup {
    role: Role,
    first: AddressPair,
    pairs: Vec<AddressPair>,
    own: Vec<u8>,
    absent: [Vec<u8>; 2],
    key: Key,
    nonce_seed: u64,
}

/// The opening side of a flow: everything that its host needs to connect to the server.
#[derive(Debug)]
pub(crate) struct Opener {
    protocol: Protocol,
    side: Side,
    node: NodeId,
    server: NodeId,
    port: Port,
    /// Where a server listens that does not speak MPTCP; the same port where none is needed.
    plain: Port,
    /// Addresses of the first subflow, and all pairs of an own address and one of the server.
    first: AddressPair,
    pairs: Vec<AddressPair>,
    /// Own addresses and addresses of the server that do not exist now.
    absent: [Vec<u8>; 2],
    /// Stream of the keys of MPTCP and the tags of SCTP.
    keys: Option<Stream>,
    /// The server that its first SYN asks a converter for, with both of its ports.
    asks: Option<(SocketAddress, Port)>,
}

/// Addresses as the opening side is configured with them, seen from there.
#[derive(Debug)]
pub(crate) struct KnownAddresses {
    /// Addresses of the first subflow.
    pub(crate) first: AddressPair,
    /// Every pair of an own address and one of the server that may be joined, or each path of an association; empty with
    /// TCP and UDP.
    pub(crate) pairs: Vec<AddressPair>,
    /// Own addresses and those of the server that do not exist at the start.
    pub(crate) absent: [Vec<u8>; 2],
}

impl Opener {
    /// A client of the server at these ports, its own and that of plain TCP, which is this side of its flow.
    pub(crate) fn new(
        protocol: Protocol,
        (node, side): (NodeId, Side),
        (server, [port, plain]): (NodeId, [Port; 2]),
        addresses: KnownAddresses,
        keys: Option<Stream>,
    ) -> Self {
        let KnownAddresses { first, pairs, absent } = addresses;
        debug_assert_ne!(node, server, "a host that connects to itself");
        debug_assert!(
            pairs.is_empty() || protocol.is_multihomed(),
            "only MPTCP and SCTP use further addresses"
        );
        debug_assert_eq!(keys.is_some(), protocol.is_multihomed(), "only MPTCP and SCTP have keys or tags");
        Self { protocol, side, node, server, port, plain, first, pairs, absent, keys, asks: None }
    }

    /// Connections go to a converter at these ports, which is asked for the server. It has all of its addresses.
    pub(crate) fn ask(
        &mut self,
        (converter, [port, plain]): (NodeId, [Port; 2]),
        (first, pairs): (AddressPair, Vec<AddressPair>),
        remote: Option<u8>,
    ) {
        debug_assert!(pairs.is_empty() || self.protocol.is_multipath(), "only MPTCP uses further addresses");
        self.asks = Some((SocketAddress::new(self.server, remote, self.port), self.plain));
        (self.server, self.port, self.plain) = (converter, port, plain);
        (self.first, self.pairs, self.absent[1]) = (first, pairs, Vec::new());
    }

    /// The server that connections ask a converter for, or the plain one beside it; `None` without converter.
    pub(crate) fn asks(&self, plain: bool) -> Option<SocketAddress> {
        let (server, other) = self.asks?;
        Some(if plain { SocketAddress::new(server.node(), server.interface(), other) } else { server })
    }

    /// Addresses of the first subflow.
    pub(crate) fn first(&self) -> AddressPair {
        self.first
    }

    /// Which side of its flow it is.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// The host that opens.
    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    /// Host and port of the server, or of the plain one beside it.
    pub(crate) fn server(&self, plain: bool) -> (NodeId, Port) {
        (self.server, if plain { self.plain } else { self.port })
    }

    /// Addresses of every subflow that it may open, its first among them.
    pub(crate) fn addresses(&self) -> Vec<AddressPair> {
        let mut all = self.pairs.clone();
        if !all.contains(&self.first) {
            all.push(self.first);
        }
        all
    }

    /// The transport protocol.
    pub(crate) fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Bytes of its packets that are neither options nor payload; of TCP.
    pub(crate) fn header(&self) -> Bytes {
        match &self.protocol {
            Protocol::Stream { tcp, .. } => tcp.segment.header + tcp.segment.overhead,
            Protocol::Association { .. } | Protocol::Datagrams(_) => Bytes::ZERO,
        }
    }

    /// The client end of one more connection.
    pub(crate) fn connect(&mut self) -> Machine {
        // A connection that is opened later begins where there is an address.
        let other = self.pairs.iter().find(|pair| self.is_present(**pair)).copied();
        let first = other.filter(|_| !self.is_present(self.first)).unwrap_or(self.first);
        let (key, nonce_seed) = (Key(draw(&mut self.keys)), draw(&mut self.keys));
        let (pairs, absent) = (self.pairs.clone(), self.absent.clone());
        let end = EndSetup { role: Role::Client, first, pairs, own: Vec::new(), absent, key, nonce_seed };
        let mut machine = self.protocol.machine(end);
        if let Some(connection) = machine.connection_mut() {
            if self.asks.is_some() {
                connection.say(ConvertMessage::Connect { extended: self.protocol.is_multipath() });
            }
            connection.open();
        }
        machine
    }

    /// The client end of one subflow of a connection between others, whose SYN has this option.
    pub(crate) fn connect_subflow(&self, syn: MptcpOption, options: &MptcpConfig) -> Connection {
        let mut connection = self.protocol.subflow_end(Role::Client, self.first, options);
        connection.open_subflow(syn);
        connection
    }

    /// An own address (or one of the server, choice D-46) appears or is removed, for connections opened from now on.
    pub(crate) fn set_present(&mut self, own: bool, address: u8, present: bool) {
        set_present(&mut self.absent[usize::from(!own)], address, present);
        debug_assert!(self.absent.iter().all(|list| all_different(list)), "an address is absent once");
    }

    /// Both addresses exist; that of a host itself always does.
    fn is_present(&self, pair: AddressPair) -> bool {
        let [own, peer] = &self.absent;
        pair.local.is_none_or(|a| !own.contains(&a)) && pair.remote.is_none_or(|a| !peer.contains(&a))
    }
}

/// The listening side of a flow: what its host makes a connection of when the first packet arrives.
#[derive(Debug)]
pub(crate) struct Listener {
    protocol: Protocol,
    flow: u32,
    /// Own addresses that it may announce, and those that do not exist now.
    addresses: Vec<u8>,
    absent: Vec<u8>,
    /// Paths of an association, seen from here: routing tells which of the addresses that an INIT lists belong together.
    pairs: Vec<AddressPair>,
    /// Stream of the keys of MPTCP and the tags of SCTP.
    keys: Option<Stream>,
}

impl Listener {
    /// The server of `flow`.
    pub(crate) fn new(
        protocol: Protocol,
        flow: u32,
        addresses: Vec<u8>,
        absent: Vec<u8>,
        keys: Option<Stream>,
    ) -> Self {
        debug_assert!(addresses.is_empty() || protocol.is_multipath(), "only MPTCP announces addresses");
        debug_assert_eq!(keys.is_some(), protocol.is_multihomed(), "only MPTCP and SCTP have keys or tags");
        Self { protocol, flow, addresses, pairs: Vec::new(), absent, keys }
    }

    /// The same with the paths of an association, seen from here.
    #[must_use]
    pub(crate) fn with_paths(mut self, pairs: Vec<AddressPair>) -> Self {
        debug_assert!(
            pairs.is_empty() || self.protocol.is_association(),
            "only SCTP has paths from the start"
        );
        self.pairs = pairs;
        self
    }

    /// Paths of an association, seen from here; empty otherwise.
    pub(crate) fn paths(&self) -> &[AddressPair] {
        &self.pairs
    }

    /// The flow that it serves.
    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }

    /// A key for the next connection.
    pub(crate) fn draw_key(&mut self) -> Key {
        Key(draw(&mut self.keys))
    }

    /// The server end of a connection whose first packet came between these addresses.
    pub(crate) fn accept(&mut self, first: AddressPair, key: Key) -> Machine {
        let nonce_seed = draw(&mut self.keys);
        self.machine(first, key, nonce_seed)
    }

    /// The server end of one subflow of a connection between others.
    pub(crate) fn accept_subflow(&self, options: &MptcpConfig) -> Connection {
        self.protocol.subflow_end(Role::Server, AddressPair { local: None, remote: None }, options)
    }

    /// The receive window of a connection that has just been accepted; none with datagrams.
    pub(crate) fn first_window(&self) -> Bytes {
        let anywhere = AddressPair { local: None, remote: None };
        let machine = self.machine(anywhere, Key::default(), 0);
        machine.connection().map_or(Bytes::ZERO, Connection::receive_window)
    }

    /// MPTCP is configured.
    pub(crate) fn is_multipath(&self) -> bool {
        self.protocol.is_multipath()
    }

    /// An own address appears or is removed, for connections accepted from now on.
    pub(crate) fn set_present(&mut self, address: u8, present: bool) {
        set_present(&mut self.absent, address, present);
        debug_assert!(all_different(&self.absent), "an address is absent once");
    }

    fn machine(&self, first: AddressPair, key: Key, nonce_seed: u64) -> Machine {
        let (own, absent) = (self.addresses.clone(), [self.absent.clone(), Vec::new()]);
        let pairs = self.pairs.clone();
        self.protocol.machine(EndSetup { role: Role::Server, first, pairs, own, absent, key, nonce_seed })
    }
}

/// The next random number; zero with TCP and UDP, which need none.
fn draw(keys: &mut Option<Stream>) -> u64 {
    keys.as_mut().map_or(0, Stream::bits)
}

fn all_different(list: &[u8]) -> bool {
    list.iter().enumerate().all(|(i, one)| !list[..i].contains(one))
}

fn set_present(absent: &mut Vec<u8>, address: u8, present: bool) {
    absent.retain(|a| *a != address);
    if !present {
        absent.push(address);
    }
}
