//! IP addresses of the interfaces of a scenario.
//!
//! Duplex link c has the network 10.(c / 256).(c mod 256).0/24, or fd00::c:0/112; its first end is 1 there, its second 2. The
//! address of a host itself is that of its first interface.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use network::{HostAddress, LinkId, NodeId, OpenedSubflow, Topology};
use scenario::model::{Flow, Scenario};
use wire::{EndSettings, Ends};

use super::order::is_ipv6;

/// The plan of one scenario.
#[derive(Debug)]
pub(super) struct Addresses {
    topology: Topology,
    /// By flow.
    six: Vec<bool>,
    /// Client addresses of subflows over IPv6, and those of their servers.
    over_six: BTreeSet<[HostAddress; 2]>,
}

impl Addresses {
    /// The plan for the interfaces of `scenario`.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let forward = scenario.nodes.iter().map(|node| node.forward);
        let topology = Topology::new(forward, scenario.duplex_links.iter().map(|link| link.ends));
        let six = scenario.flows.iter().map(is_ipv6).collect();
        Self { topology, six, over_six: BTreeSet::new() }
    }

    /// Settings of client and server of a flow.
    pub(super) fn settings(&self, flow: &Flow) -> [EndSettings; 2] {
        let ends = if flow.opened_by_receiver { [flow.to, flow.from] } else { [flow.from, flow.to] };
        let mptcp = flow.transport.mptcp.as_ref().map(|multipath| &multipath.config);
        ends.map(|node| {
            let addresses =
                self.topology.leaving(node).iter().map(|link| address(*link, is_ipv6(flow))).collect();
            if let Some(sctp) = &flow.transport.sctp {
                return EndSettings::of_association(sctp.config.overhead, addresses);
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
        let six = !self.over_six.is_empty()
            && (self.over_six.contains(&ends) || self.over_six.contains(&[destination, source]));
        self.ends(ends, six)
    }

    /// Addresses and ports.
    pub(super) fn ends(&self, [source, destination]: [HostAddress; 2], six: bool) -> Ends {
        let socket = |end: HostAddress| {
            let links = self.topology.leaving(end.node);
            let link = links.get(usize::from(end.interface.unwrap_or(0))).copied().unwrap_or_default();
            SocketAddr::new(address(link, six), end.port)
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
