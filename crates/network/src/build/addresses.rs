//! Addresses that the opening side of a flow is configured with, as a name server and routing would provide them.
//!
//! May: ask routing which addresses are connected. May not: know connections.

use scenario::model::Flow as FlowModel;
use transport::AddressPair;
use transport::config::PathManager;

use crate::net::routing::{Routes, Target};
use crate::net::topology::{LinkId, NodeId, Topology};

/// Every pair of addresses of two hosts that routing connects when packets leave by the local interface and
/// arrive by the remote one: the configuration of a client (choice D-45).
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

/// Number of duplex links between the addresses of `pair`, both of which are given; `None` if routing does not connect them in
/// both directions.
pub(crate) fn hops(routes: &mut Routes, from: NodeId, to: NodeId, pair: AddressPair) -> Option<u32> {
    // A forwarding host could route a packet through itself and back; the answer would not take that route.
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

/// Addresses of the first subflow, seen from the data sender. `via` may be a duplex link at either host.
pub(super) fn first_pair(flow: &FlowModel, routes: &mut Routes, pairs: &[AddressPair]) -> AddressPair {
    let manager = flow.transport.mptcp.as_ref().map(|multipath| &multipath.config.path_manager);
    if let Some(PathManager::Triangle { .. }) = manager {
        let line = flow.via.and_then(|duplex_link| routes.topology().address_on(flow.from, duplex_link));
        let local = line.or(pairs.first().and_then(|pair| pair.local));
        let there = pairs.iter().filter(|pair| pair.local == local);
        // Without a pair, until an address has been added at one end, the choice is that without a path manager.
        if let Some(pair) = there.max_by_key(|pair| pair.remote) {
            return *pair;
        }
    }
    if let Some(duplex_link) = flow.via {
        if routes.topology().address_on(flow.from, duplex_link).is_some() {
            return pair_over(routes, flow.from, flow.to, duplex_link);
        }
        return pair_over(routes, flow.to, flow.from, duplex_link).reversed();
    }
    let nearest = match manager {
        // These path managers tell paths apart by addresses, so the first subflow must have a pair: the nearest.
        Some(PathManager::PerPath { .. } | PathManager::FullMesh { .. } | PathManager::InKernel(_)) => {
            pairs.iter().min_by_key(|pair| hops(routes, flow.from, flow.to, **pair))
        }
        None if flow.transport.sctp.is_some() => {
            pairs.iter().min_by_key(|pair| hops(routes, flow.from, flow.to, **pair))
        }
        Some(PathManager::Passive | PathManager::NdiffPorts { .. } | PathManager::Triangle { .. }) | None => {
            None
        }
    };
    nearest.copied().unwrap_or(AddressPair { local: None, remote: None })
}
