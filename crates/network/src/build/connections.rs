//! Makes the connections of a flow, the first one and those that its application opens later.
//!
//! May: look up algorithms by name, ask routing which addresses are connected, draw keys. May not: make any event
//! happen.

use std::fmt;
use std::sync::Arc;

use apps::App;
use congestion::CongestionControl;
use engine::{LazyTimer, Stream};
use scenario::Registries;
use scenario::model::Flow as FlowModel;
use schedulers::Scheduler;
use transport::config::{MptcpConfig, PathManager, TcpConfig, UdpConfig};
use transport::mptcp::keys::Key;
use transport::{AddressPair, Connection, NewCongestion, Role, Setup};
use units::{Bytes, Options};

use crate::build::CHECKED;
use crate::flow::events;
use crate::host::endpoint::{End, connected_pairs, hops, pair_over};
use crate::routing::Routes;
use crate::topology::{NodeId, Topology};

/// What carries the data.
enum Carrier {
    Stream { tcp: Arc<TcpConfig>, congestion: NewCongestion, mptcp: Option<Multipath> },
    Datagrams(UdpConfig),
}

struct Multipath {
    /// Of the end that opens the connection, and of the other.
    configs: [Arc<MptcpConfig>; 2],
    scheduler: fn(&Options) -> Box<dyn Scheduler>,
    options: Options,
}

/// Everything that the connections of a flow have in common.
pub(crate) struct Factory {
    carrier: Carrier,
    /// Sender and receiver.
    nodes: [NodeId; 2],
    receiver_opens: bool,
    /// Addresses of the first subflow, and all pairs that are connected, seen from the sender.
    first: AddressPair,
    pairs: Vec<AddressPair>,
    /// Addresses of the sender and of the receiver that are not there.
    absent: [Vec<u8>; 2],
    keys: Stream,
    /// Least that a reader with a rate reads at a time.
    pub(crate) mss: Bytes,
    /// Made by the scenario's choice.
    pub(crate) app: Option<Box<dyn App>>,
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory")
            .field("nodes", &self.nodes)
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl Factory {
    /// As `flow` says.
    pub(crate) fn new(
        flow: &FlowModel,
        registries: &Registries,
        seed: u64,
        routes: &mut Routes,
        absent: [Vec<u8>; 2],
    ) -> Self {
        let app = (registries.apps.get(&flow.app.kind).expect(CHECKED).build)(&flow.app.options);
        let carrier = carrier(flow, registries, routes.topology());
        // Others than MPTCP have one way and ask for no others.
        let pairs = match carrier {
            Carrier::Stream { mptcp: Some(_), .. } => connected_pairs(routes, flow.from, flow.to),
            _ => Vec::new(),
        };
        let present: Vec<_> = pairs.iter().filter(|pair| is_present(&absent, **pair)).copied().collect();
        Self {
            carrier,
            nodes: [flow.from, flow.to],
            receiver_opens: flow.opened_by_receiver,
            first: first_pair(flow, routes, &present),
            pairs,
            absent,
            keys: Stream::named(seed, &flow.name, "keys"),
            mss: flow.transport.tcp.mss,
            app: Some(app),
        }
    }

    /// MPTCP is wanted.
    pub(crate) fn multipath(&self) -> bool {
        matches!(self.carrier, Carrier::Stream { mptcp: Some(_), .. })
    }

    /// Its messages may get lost.
    pub(crate) fn datagrams(&self) -> bool {
        matches!(self.carrier, Carrier::Datagrams(_))
    }

    /// Sender and receiver of one more connection.
    pub(crate) fn make(&mut self) -> [End; 2] {
        let [from, to] = self.nodes;
        // A connection that is opened later begins where there is an address.
        let other = self.pairs.iter().find(|pair| is_present(&self.absent, **pair)).copied();
        let first = other.filter(|_| !is_present(&self.absent, self.first)).unwrap_or(self.first);
        let [here, there] = self.absent.clone();
        let sender = self.end(from, !self.receiver_opens, first, [here.clone(), there.clone()]);
        let receiver = self.end(to, self.receiver_opens, first.reversed(), [there, here]);
        [sender, receiver]
    }

    /// An address of the sender (0) or of the receiver (1) comes or goes, for connections to come.
    pub(crate) fn set_present(&mut self, end: usize, address: u8, present: bool) {
        self.absent[end].retain(|a| *a != address);
        if !present {
            self.absent[end].push(address);
        }
    }

    fn end(&mut self, node: NodeId, client: bool, first: AddressPair, absent: [Vec<u8>; 2]) -> End {
        let role = if client { Role::Client } else { Role::Server };
        let from_here = |pair: &AddressPair| if node == self.nodes[0] { *pair } else { pair.reversed() };
        let seen: Vec<_> = self.pairs.iter().map(from_here).collect();
        let own = seen.iter().filter_map(|pair| pair.local);
        let (own, pairs) = if client { (Vec::new(), seen) } else { (own.collect(), Vec::new()) };
        let connection = match &self.carrier {
            Carrier::Datagrams(config) => Connection::datagrams(*config, role, first),
            Carrier::Stream { tcp, congestion, mptcp } => Connection::new(Setup {
                tcp: Arc::clone(tcp),
                congestion: Arc::clone(congestion),
                mptcp: mptcp
                    .as_ref()
                    .map(|m| (Arc::clone(&m.configs[usize::from(!client)]), (m.scheduler)(&m.options))),
                role,
                first,
                pairs,
                own,
                absent,
                key: Key(self.keys.bits()),
                nonce_seed: self.keys.bits(),
            }),
        };
        End { connection, timer: LazyTimer::default(), node, client, ways: Vec::new() }
    }
}

/// Both addresses are there; a host's own address always is.
fn is_present([here, there]: &[Vec<u8>; 2], pair: AddressPair) -> bool {
    pair.local.is_none_or(|a| !here.contains(&a)) && pair.remote.is_none_or(|a| !there.contains(&a))
}

fn carrier(flow: &FlowModel, registries: &Registries, topology: &Topology) -> Carrier {
    if let Some(udp) = flow.transport.udp {
        return Carrier::Datagrams(udp);
    }
    let transport = Arc::clone(&flow.transport);
    let build = registries.congestion.get(&transport.congestion.kind).expect(CHECKED).build;
    let congestion: NewCongestion =
        Arc::new(move |setup| -> Box<dyn CongestionControl> { build(setup, &transport.congestion.options) });
    let mptcp = flow.transport.mptcp.as_ref().map(|multipath| Multipath {
        configs: [true, false].map(|client| Arc::new(events::end_config(multipath, flow, client, topology))),
        scheduler: registries.schedulers.get(&multipath.scheduler.kind).expect(CHECKED).build,
        options: multipath.scheduler.options.clone(),
    });
    Carrier::Stream { tcp: Arc::clone(&flow.transport.tcp), congestion, mptcp }
}

/// Addresses of the first subflow, seen from the data sender. `via` may be a duplex link at either host.
fn first_pair(flow: &FlowModel, routes: &mut Routes, pairs: &[AddressPair]) -> AddressPair {
    let manager = flow.transport.mptcp.as_ref().map(|multipath| &multipath.config.path_manager);
    if let Some(PathManager::Triangle { .. }) = manager {
        let line = flow.via.and_then(|duplex_link| routes.topology().address_on(flow.from, duplex_link));
        let local = line.or(pairs.first().and_then(|pair| pair.local));
        let there = pairs.iter().filter(|pair| pair.local == local);
        return there.max_by_key(|pair| pair.remote).copied().expect("routing has been checked");
    }
    if let Some(duplex_link) = flow.via {
        if routes.topology().address_on(flow.from, duplex_link).is_some() {
            return pair_over(routes, flow.from, flow.to, duplex_link);
        }
        return pair_over(routes, flow.to, flow.from, duplex_link).reversed();
    }
    let nearest = match manager {
        // These set paths apart by their addresses, so the first subflow must have some: the nearest.
        Some(PathManager::PerPath { .. } | PathManager::FullMesh { .. } | PathManager::InKernel(_)) => {
            pairs.iter().min_by_key(|pair| hops(routes, flow.from, flow.to, **pair))
        }
        Some(PathManager::Passive | PathManager::NdiffPorts { .. } | PathManager::Triangle { .. }) | None => {
            None
        }
    };
    nearest.copied().unwrap_or(AddressPair { local: None, remote: None })
}
