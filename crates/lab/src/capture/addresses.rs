//! IP addresses of the interfaces of a scenario.
//!
//! Duplex link c has the network 10.(c / 256).(c mod 256).0/24, or fd00::c:0/112; its first end is 1 there, its second 2. The
//! address of a host itself is that of its first interface.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use network::{HostAddress, LinkId, NodeId, OpenedSubflow, Topology};
use scenario::model::{Flow, ProxyKind, Scenario};
use wire::{ConnectionNumber, EndSettings, Ends};

use super::order::is_ipv6;

/// The plan of one scenario.
#[derive(Debug)]
pub(super) struct Addresses {
    topology: Topology,
    /// By flow.
    six: Vec<bool>,
    /// Client addresses of subflows over IPv6, and those of their servers.
    over_six: BTreeSet<[HostAddress; 2]>,
    /// By flow and node of a proxy: settings of its ends towards the client and towards the server.
    legs: BTreeMap<(usize, NodeId), Leg>,
    /// Numbers of connections, by flow, number there, and the proxy that has opened it.
    connections: BTreeMap<(usize, u32, Option<NodeId>), u64>,
}

/// The ends of a proxy.
#[derive(Clone, Debug)]
struct Leg {
    /// Towards the client and towards the server.
    settings: [EndSettings; 2],
    /// True for ends of connections of their own; false for those of subflows of one between others.
    whole: bool,
}

impl Addresses {
    /// The plan for the interfaces of `scenario`.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let forward = scenario.nodes.iter().map(|node| node.forward);
        let topology = Topology::new(forward, scenario.duplex_links.iter().map(|link| link.ends));
        let six = scenario.flows.iter().map(is_ipv6).collect();
        let (over_six, legs, connections) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        let mut plan = Self { topology, six, over_six, legs, connections };
        for (proxy, flow) in scenario.proxies.iter().flat_map(|p| p.flows.iter().map(move |flow| (p, *flow)))
        {
            let of_flow = &scenario.flows[flow];
            let settings = [&proxy.client, &proxy.server].map(|side| {
                // A proxy on one subflow passes on the options of the ends.
                let whole = proxy.kind != ProxyKind::OneSubflow;
                let mptcp = if whole { &side.mptcp } else { &of_flow.transport.mptcp };
                let mptcp = mptcp.as_ref().map(|multipath| &multipath.config);
                EndSettings::new(&side.tcp, mptcp, plan.addresses_of(proxy.node, is_ipv6(of_flow)))
            });
            plan.legs
                .entry((flow, proxy.node))
                .or_insert(Leg { settings, whole: proxy.kind != ProxyKind::OneSubflow });
        }
        plan
    }

    /// The settings of both ends of a subflow: those of its flow, but for an end at a proxy.
    pub(super) fn at_proxies(&self, subflow: &OpenedSubflow, of_flow: [EndSettings; 2]) -> [EndSettings; 2] {
        let [client, server] = of_flow;
        let leg = |end: usize| self.legs.get(&(subflow.flow, subflow.ends[end].node()));
        [
            leg(0).map_or(client, |leg| leg.settings[1].clone()),
            leg(1).map_or(server, |leg| leg.settings[0].clone()),
        ]
    }

    /// The number of the connection of a subflow: each leg is one, which has keys of its own.
    pub(super) fn connection(&mut self, subflow: &OpenedSubflow) -> ConnectionNumber {
        let node = subflow.ends[0].node();
        let proxy = self.legs.get(&(subflow.flow, node)).filter(|leg| leg.whole).map(|_| node);
        let next = self.connections.len() as u64;
        let known = self.connections.entry((subflow.flow, subflow.connection, proxy));
        ConnectionNumber(*known.or_insert(next))
    }

    fn addresses_of(&self, node: NodeId, six: bool) -> Arc<[IpAddr]> {
        self.topology.leaving(node).iter().map(|link| address(*link, six)).collect()
    }

    /// Settings of client and server of a flow.
    pub(super) fn settings(&self, flow: &Flow) -> [EndSettings; 2] {
        let ends = if flow.opened_by_receiver { [flow.to, flow.from] } else { [flow.from, flow.to] };
        let mptcp = flow.transport.mptcp.as_ref().map(|multipath| &multipath.config);
        ends.map(|node| {
            let addresses = self.addresses_of(node, is_ipv6(flow));
            if let Some(sctp) = &flow.transport.sctp {
                return EndSettings::of_association(sctp.config.packet.overhead, addresses);
            }
            let mut settings = EndSettings::new(&flow.transport.tcp, mptcp, addresses);
            if let Some(udp) = flow.transport.udp {
                settings.overhead = udp.overhead;
            }
            settings
        })
    }

    /// The flow uses IPv6.
    pub(super) fn is_ipv6(&self, flow: usize) -> bool {
        self.six[flow]
    }

    /// The node that an interface belongs to.
    pub(super) fn node_of(&self, interface: LinkId) -> NodeId {
        self.topology.tail(interface)
    }

    /// Keeps which version of IP a subflow uses.
    pub(super) fn remember(&mut self, subflow: &OpenedSubflow) {
        if self.is_ipv6(subflow.flow) {
            self.over_six.insert(subflow.ends);
        }
    }

    /// Addresses and ports of a packet of a subflow that was opened.
    pub(super) fn known_ends(&self, ends: [HostAddress; 2]) -> Ends {
        let [source, destination] = ends;
        let six = self.over_six.contains(&ends) || self.over_six.contains(&[destination, source]);
        self.ends(ends, six)
    }

    /// Addresses and ports.
    pub(super) fn ends(&self, [source, destination]: [HostAddress; 2], six: bool) -> Ends {
        let socket = |end: HostAddress| {
            let links = self.topology.leaving(end.node());
            let link = links.get(usize::from(end.interface().unwrap_or(0))).copied().unwrap_or_default();
            SocketAddr::new(address(link, six), end.port())
        };
        Ends { source: socket(source), destination: socket(destination) }
    }
}

/// The address of the interface where `link` leaves.
fn address(link: LinkId, six: bool) -> IpAddr {
    let (network, host) = (link / 2, 1 + (link % 2) as u8);
    // At most 65,536 links.
    let [.., high, low] = network.to_be_bytes();
    if six {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, u16::from_be_bytes([high, low]), host.into()).into()
    } else {
        Ipv4Addr::new(10, high, low, host).into()
    }
}
