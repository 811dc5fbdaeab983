//! Forwarding: over which link a packet leaves a node.
//!
//! May: choose among next hops of equal cost, which may draw a random number. May not: see packets.

use crate::net::address::PacketAddresses;
use crate::net::ecmp::Chooser;
use crate::net::packets::Header;
use crate::net::routing::{Routes, Target, TargetId};
use crate::net::topology::{LinkId, NodeId, Topology};

/// How packets of one subflow leave their host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Their header.
    pub(crate) header: Header,
    /// The link over which they leave.
    pub(crate) egress: Egress,
}

/// The first link of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Egress {
    /// Always this one.
    Over(LinkId),
    /// One of several of equal cost, chosen for each packet.
    PerPacket,
    /// There is no route: packets are discarded.
    Unreachable,
}

/// Routes, and the choice of each node among those of equal cost.
#[derive(Debug)]
pub(crate) struct Forwarding {
    routes: Routes,
    /// By node.
    choosers: Vec<Chooser>,
}

impl Forwarding {
    /// `choosers` by node.
    pub(crate) fn new(routes: Routes, choosers: Vec<Chooser>) -> Self {
        debug_assert_eq!(choosers.len(), routes.topology().nodes(), "each node chooses for itself");
        Self { routes, choosers }
    }

    /// The graph.
    #[inline]
    pub(crate) fn topology(&self) -> &Topology {
        self.routes.topology()
    }

    /// The link over which `node` passes on a packet with this hash; `None` without a route.
    #[inline]
    pub(crate) fn next_hop(&mut self, target: TargetId, node: NodeId, hash: u64) -> Option<LinkId> {
        let hop = match self.routes.next_hops(target, node) {
            [] => None,
            [only] => Some(*only),
            several => Some(several[self.choosers[node].choose(hash, several.len())]),
        };
        debug_assert!(
            hop.is_none_or(|link| self.topology().tail(link) == node),
            "a packet leaves node {node} over a link of another"
        );
        hop
    }

    /// The route between two addresses for packets with this hash. Packets from an interface leave over its link, those
    /// from the address of a host over the next hop.
    pub(crate) fn route(&mut self, addresses: PacketAddresses, hash: u64) -> Route {
        let PacketAddresses { source, destination } = addresses;
        let target = Target { node: destination.node(), interface: destination.interface() };
        let target = self.routes.target(target);
        let egress = match source.interface() {
            Some(interface) => {
                let link = self.topology().leaving(source.node())[usize::from(interface)];
                self.routes.hops_over(target, link).map_or(Egress::Unreachable, |_| Egress::Over(link))
            }
            None => self.fixed_hop(target, source.node(), hash).map_or(Egress::PerPacket, Egress::Over),
        };
        Route { header: Header { source, destination, target, hash }, egress }
    }

    /// The link over which packets with this hash leave `node`; `None` if it differs from packet to packet or
    /// there is no route.
    fn fixed_hop(&mut self, target: TargetId, node: NodeId, hash: u64) -> Option<LinkId> {
        let fixed = matches!(self.choosers[node], Chooser::ByFlow { .. });
        let single = self.routes.next_hops(target, node).len() == 1;
        if fixed || single { self.next_hop(target, node, hash) } else { None }
    }
}
