//! From the proxies of a scenario to what listens on their nodes and which subflows end there.
//!
//! May: ask routing which ways a connection takes. May not: make any event happen.

use std::collections::BTreeMap;
use std::sync::Arc;

use apps::Side;
use engine::Stream;
use scenario::model::{Proxy, ProxyKind, ProxyServers, Scenario, Transport};
use transport::AddressPair;
use transport::config::MptcpConfig;

use crate::build::addresses::connected_pairs;
use crate::build::connections::stream_protocol;
use crate::flow::flows::Flows;
use crate::host::Hosts;
use crate::host::config::{KnownAddresses, Listener, Opener, Protocol};
use crate::net::address::{Port, SocketAddress};
use crate::net::routing::{Routes, Target};
use crate::net::topology::NodeId;
use crate::plan::Crash;
use crate::relay::Relays;
use crate::relay::gate::Gate;
use crate::relay::onward::Onward;
use crate::relay::place::{Stop, first_stop};

/// Lets the proxies of a scenario listen, and turns the subflows that meet one towards it.
pub(super) fn place(
    scenario: &Scenario,
    seed: u64,
    (routes, hosts): (&mut Routes, &mut Hosts),
    flows: &mut Flows,
) -> Relays {
    let mut relays = Relays::new(scenario.proxies.iter().map(Gate::new).collect());
    if scenario.proxies.is_empty() {
        return relays;
    }
    for (index, flow) in flows.all_mut().iter_mut().enumerate() {
        let proxies: Vec<usize> =
            (0..scenario.proxies.len()).filter(|p| scenario.proxies[*p].flows.contains(&index)).collect();
        let opener = flow.opener_mut();
        match proxies.first() {
            None => continue,
            Some(first) if scenario.proxies[*first].kind == ProxyKind::Convert => {
                let places = (&mut *routes, &mut *hosts, &mut relays);
                ask_converter(scenario, seed, (index as u32, opener), (*first, places));
                continue;
            }
            Some(_) => {}
        }
        let (server, port) = opener.server(false);
        let (_, plain) = opener.server(true);
        let known = (BTreeMap::new(), seed);
        let places = (&mut *routes, &mut *hosts, &mut relays);
        let (all, flow, side) = (proxies, index as u32, opener.side());
        let mut planner = Planner { scenario, proxies: Vec::new(), flow, side, server, places, known };
        for (port, others) in [(port, ProxyServers::Plain), (plain, ProxyServers::Multipath)] {
            // The scenario tells servers apart only where there are some of both kinds.
            let meant = |proxy: &usize| scenario.proxies[*proxy].servers != others;
            planner.proxies = all.iter().copied().filter(meant).collect();
            for pair in opener.addresses() {
                planner.turn((opener.node(), pair), port);
            }
        }
    }
    relays
}

/// The connections of a flow go to a converter, which no other proxy stands beside, if it is reachable from both ends.
fn ask_converter(
    scenario: &Scenario,
    seed: u64,
    (flow, opener): (u32, &mut Opener),
    (proxy, places): (usize, Places<'_>),
) {
    let (client, converter) = (opener.node(), scenario.proxies[proxy].node);
    let (server, port) = opener.server(false);
    let (_, plain) = opener.server(true);
    let routes = places.0;
    let reaches = |routes: &mut Routes, node, interface, from| {
        let target = routes.target(Target { node, interface });
        let first = match routes.next_hops(target, from) {
            [] => return None,
            [only] => Some(*only),
            _ => None,
        };
        Some(first.and_then(|link| routes.topology().leaving(from).iter().position(|l| *l == link)))
    };
    // By the address of the server that the client has in mind, or any.
    let wanted = opener.first().remote;
    let known = [wanted, None]
        .into_iter()
        .find_map(|remote| Some((remote, reaches(routes, server, remote, converter)?)));
    let (Some((remote, leaves)), Some(_)) = (known, reaches(routes, converter, None, client)) else { return };
    let leaves = leaves.and_then(|interface| u8::try_from(interface).ok());
    let mut pairs = connected_pairs(routes, client, converter);
    // The way that the flow asks for, if it leads there.
    let local = opener.first().local.and_then(|local| pairs.iter().find(|pair| pair.local == Some(local)));
    let first = local.copied().unwrap_or(AddressPair { local: None, remote: None });
    if !opener.protocol().is_multipath() {
        pairs.clear();
    }
    let places = (routes, places.1, places.2);
    let mut planner = Planner {
        scenario,
        proxies: Vec::new(),
        flow,
        side: opener.side(),
        server,
        places,
        known: (BTreeMap::new(), seed),
    };
    let stop = Stop { node: converter, arrives: None, leaves };
    let ports = [port, plain].map(|port| planner.listener(proxy, stop, remote, port));
    opener.ask((converter, ports), (first, pairs), remote);
}

/// All crashes of proxies, the last one first.
pub(super) fn crashes(scenario: &Scenario) -> Vec<Crash> {
    let of = |(index, proxy): (usize, &Proxy)| {
        proxy.crashes.iter().map(|crash| (crash.at, index, crash.form)).collect::<Vec<_>>()
    };
    let mut all: Vec<Crash> = scenario.proxies.iter().enumerate().flat_map(of).collect();
    all.sort_by_key(|crash| crash.0);
    all.reverse();
    all
}

type Places<'w> = (&'w mut Routes, &'w mut Hosts, &'w mut Relays);

/// A listener of a proxy: the proxy, the way on, and the port of the server.
type Place = (usize, Option<u8>, Option<u8>, Port);

struct Planner<'s, 'w> {
    scenario: &'s Scenario,
    /// Indices of the proxies that intercept the flow.
    proxies: Vec<usize>,
    flow: u32,
    side: Side,
    server: NodeId,
    places: Places<'w>,
    /// Ports of the listeners so far, and the seed of their keys.
    known: (BTreeMap<Place, Port>, u64),
}

impl Planner<'_, '_> {
    /// Turns a subflow that leaves `node` between these addresses to the first proxy on its way.
    fn turn(&mut self, (node, pair): (NodeId, AddressPair), port: Port) {
        let Some(stop) = self.first_stop(node, pair) else { return };
        let here = |proxy: &usize| self.scenario.proxies[*proxy].node == stop.node;
        let Some(proxy) = self.proxies.iter().copied().find(here) else { return };
        let at = self.listener(proxy, stop, pair.remote, port);
        let server = SocketAddress::new(self.server, pair.remote, port);
        let address = SocketAddress::new(stop.node, stop.arrives, at);
        self.places.1.intercept((node, pair.local), server, address);
    }

    fn first_stop(&mut self, node: NodeId, pair: AddressPair) -> Option<Stop> {
        // A proxy does not meet itself again.
        let nodes = self.proxies.iter().map(|proxy| self.scenario.proxies[*proxy].node);
        let nodes: Vec<NodeId> = nodes.filter(|other| *other != node).collect();
        let routes = &mut *self.places.0;
        let target = routes.target(Target { node: self.server, interface: pair.remote });
        let link = pair.local.map(|local| routes.topology().leaving(node)[usize::from(local)]);
        first_stop(routes, target, (node, link), &nodes)
    }

    /// The port where a proxy listens for connections that go on by this way.
    fn listener(&mut self, proxy: usize, stop: Stop, remote: Option<u8>, port: Port) -> Port {
        let place = (proxy, stop.leaves, remote, port);
        if let Some(known) = self.known.0.get(&place) {
            return *known;
        }
        let model = &self.scenario.proxies[proxy];
        let first = AddressPair { local: stop.leaves, remote };
        let (opener, pairs) = self.opener(model, first, port);
        let multipath = model.client.mptcp.is_some();
        let keys = multipath.then(|| self.stream(model, "keys with the client"));
        let client = protocol(&model.client);
        let flow = self.flow;
        let listener = Listener::new(client.clone(), flow, Vec::new(), Vec::new(), keys);
        let stranger = Listener::new(client.without_multipath(), flow, Vec::new(), Vec::new(), None);
        let (_, hosts, relays) = &mut self.places;
        let own = hosts.listen(stop.node, listener);
        let ends = self.scenario.flows[flow as usize].transport.mptcp.as_ref();
        let options = Arc::new(ends.map_or_else(MptcpConfig::default, |mptcp| mptcp.config.clone()));
        let onward = Onward::new((proxy, model.kind, model.handshake), opener, stranger, options);
        relays.listen(stop.node, own, onward);
        self.known.0.insert(place, own);
        for pair in pairs {
            self.turn((stop.node, pair), port);
        }
        own
    }

    /// The end of a proxy towards the server, and all address pairs that it may use.
    fn opener(&mut self, proxy: &Proxy, first: AddressPair, port: Port) -> (Opener, Vec<AddressPair>) {
        let multipath = proxy.server.mptcp.is_some();
        let pairs =
            if multipath { connected_pairs(self.places.0, proxy.node, self.server) } else { Vec::new() };
        let keys = multipath.then(|| self.stream(proxy, "keys with the server"));
        let mut all = pairs.clone();
        if !all.contains(&first) {
            all.push(first);
        }
        let addresses = KnownAddresses { first, pairs, absent: [Vec::new(), Vec::new()] };
        let protocol = protocol(&proxy.server);
        let opener =
            Opener::new(protocol, (proxy.node, self.side), (self.server, [port, port]), addresses, keys);
        (opener, all)
    }

    fn stream(&self, proxy: &Proxy, purpose: &str) -> Stream {
        let name = format!("{} {}", proxy.name, self.scenario.flows[self.flow as usize].name);
        Stream::named(self.known.1, &name, purpose)
    }
}

fn protocol(transport: &Arc<Transport>) -> Protocol {
    stream_protocol(transport, transport.mptcp.as_ref().map(|multipath| multipath.config.clone()))
}
