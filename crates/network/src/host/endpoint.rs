//! The two ends of a flow's connection: hosts, addresses, and the way that packets of each subflow take.
//!
//! May: ask routing which addresses are connected. May not: send, or hold state of a transport.

use engine::LazyTimer;
use transport::segment::SubflowId;
use transport::{AddressPair, Connection};
use units::Bytes;

use crate::ecmp;
use crate::fabric::{EndId, Exit, Fabric, Route};
use crate::packets::Label;
use crate::routing::{Routes, Target};
use crate::topology::{LinkId, NodeId, Topology};

const SERVER: u16 = 5001;
const FIRST_EPHEMERAL: u16 = 49_152;

/// One subflow at one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// How its packets travel.
    pub(crate) route: Route,
    /// Bytes on the wire sent.
    pub(crate) wire: Bytes,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) timer: LazyTimer,
    pub(crate) node: NodeId,
    /// True if it opened the connection, and with it all subflows.
    pub(crate) client: bool,
    /// By subflow index.
    pub(crate) ways: Vec<Way>,
}

/// Every pair of addresses of two hosts that routing connects when packets leave by the local interface and
/// arrive by the remote one.
pub(crate) fn connected_pairs(routes: &mut Routes, from: NodeId, to: NodeId) -> Vec<AddressPair> {
    let mut pairs = Vec::new();
    for local in routes.topology().addresses(from) {
        for remote in routes.topology().addresses(to) {
            let pair = AddressPair { local: Some(local), remote: Some(remote) };
            if hops(routes, from, to, pair).is_some() {
                pairs.push(pair);
            }
        }
    }
    pairs
}

/// The addresses of a subflow that leaves `from` by `duplex_link`: the one there, and the nearest of `to` (on the same
/// duplex link, if it joins the two).
pub(crate) fn pair_over(routes: &mut Routes, from: NodeId, to: NodeId, duplex_link: usize) -> AddressPair {
    let local = routes.topology().address_on(from, duplex_link);
    let pair = |remote| AddressPair { local, remote: Some(remote) };
    let addresses = routes.topology().addresses(to);
    let nearest = addresses.filter_map(|remote| Some((hops(routes, from, to, pair(remote))?, remote))).min();
    AddressPair { local, remote: nearest.map(|(_, remote)| remote) }
}

/// Duplex links from one address to the other, both given; `None` if routing does not connect them in both directions.
pub(crate) fn hops(routes: &mut Routes, from: NodeId, to: NodeId, pair: AddressPair) -> Option<u32> {
    // A host that forwards could send a packet round and back through itself; the answer would not come that way.
    one_way(routes, to, from, pair.reversed())?;
    one_way(routes, from, to, pair)
}

fn one_way(routes: &mut Routes, from: NodeId, to: NodeId, pair: AddressPair) -> Option<u32> {
    let link = leaving(routes.topology(), from, pair.local?);
    let target = routes.target(Target { node: to, interface: pair.remote });
    routes.hops_over(target, link)
}

fn leaving(topology: &Topology, node: NodeId, interface: u8) -> LinkId {
    topology.leaving(node)[usize::from(interface)]
}

/// Ports `(local, remote)` of a subflow: a client has an ephemeral port for each, a server one port for all.
pub(crate) fn ports(client: bool, subflow: SubflowId) -> (u16, u16) {
    let ephemeral = FIRST_EPHEMERAL + u16::from(subflow);
    if client { (ephemeral, SERVER) } else { (SERVER, ephemeral) }
}

/// The way of a subflow from the end on `node` with these addresses and ports (seen from there) to the end `to`
/// on `home`. `name` tells flows apart that have the same addresses and ports.
pub(crate) fn way(
    fabric: &mut Fabric,
    name: u64,
    (node, to, home): (NodeId, EndId, NodeId),
    pair: AddressPair,
    ports: (u16, u16),
) -> Way {
    let target = fabric.routes.target(Target { node: home, interface: pair.remote });
    let address = |node: NodeId, interface: Option<u8>| [node as u64, interface.map_or(u64::MAX, u64::from)];
    let [ports_from, ports_to] = [u64::from(ports.0), u64::from(ports.1)];
    let fields = [[name, ports_from], [ports_to, 0], address(node, pair.local), address(home, pair.remote)];
    let hash = ecmp::flow_hash(fields.into_iter().flatten());
    let exit = match pair.local {
        Some(interface) => {
            let link = leaving(fabric.routes.topology(), node, interface);
            fabric.routes.hops_over(target, link).map_or(Exit::Nowhere, |_| Exit::Over(link))
        }
        None => fabric.fixed_hop(target, node, hash).map_or(Exit::Any, Exit::Over),
    };
    let label = Label { to, home, target, hash };
    Way { route: Route { label, node, exit }, wire: Bytes::ZERO }
}
