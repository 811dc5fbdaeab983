//! Path managers of a scenario as endpoints and limits of the kernel's.
//!
//! May: add them to a plan. May not: open subflows.

use emulate::{
    Arrival, ChangeOfEndpoint, Endpoint, EndpointChange, HostPlan, Limits, Plan, Route, address,
    further_address,
};
use network::{Interface, NodeId};
use scenario::Part;
use scenario::model::{FlowAction, Multipath, Scenario};
use transport::config::{EndpointFlags, MptcpConfig, PathManager, Reassembly, ReinjectOn, Reinjection};

use super::rules;
use super::translate::{host, interface_on};
use crate::backend::refusals::Refusals;

/// The largest value of either limit of the kernel.
const MOST: u32 = 8;

/// The two ends of a connection.
pub(super) struct Ends<'a> {
    pub(super) client: NodeId,
    pub(super) server: NodeId,
    /// The interfaces of the first subflow.
    pub(super) first: (Interface, Interface),
    /// All that routing connects, the client's first.
    pub(super) pairs: &'a [(Interface, Interface)],
    pub(super) scenario: &'a Scenario,
}

/// Limits and addresses of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    limits: Limits,
    endpoints: Vec<Endpoint>,
}

/// Adds the path manager of a flow. False if a host has another one already.
pub(super) fn add(
    plan: &mut Plan,
    part: Part,
    multipath: &Multipath,
    ends: &Ends<'_>,
    refused: &mut Refusals,
) -> bool {
    let Multipath { config, scheduler, endpoints: _ } = multipath;
    let kernels = scheduler
        .options
        .iter()
        .all(|(name, value)| name == "kernel" && *value == registry::OptionValue::Choice("6".into()));
    refused.unless(scheduler.name() == "minratio" && kernels, part, rules::SCHEDULER);
    let MptcpConfig {
        path_manager,
        reinjection,
        reinject_on,
        reassembly,
        // With the congestion control, whose program sets it.
        subflow_unsent_limit: _,
        checksum: _,
        wide_sequence,
        short_data_ack,
        peer_capable,
    } = config;
    refused.unless(*reinjection == Reinjection::Upstream, part, rules::REINJECTION);
    refused.unless(*reinject_on == ReinjectOn::Scheduler, part, rules::REINJECT_ON);
    refused.unless(*reassembly == Reassembly::Separate, part, rules::REASSEMBLY);
    refused.unless(*wide_sequence, part, rules::WIDE_SEQUENCE);
    refused.unless(*short_data_ack, part, rules::SHORT_DATA_ACK);
    refused.unless(*peer_capable, part, rules::PEER);
    let sides = match path_manager {
        PathManager::Passive => Some([Side::default(), Side::default()]),
        PathManager::InKernel(limits) => {
            let limits = Limits { subflows: limits.subflows, add_addr_accepted: limits.add_addr_accepted };
            let sides = in_kernel(multipath, limits, ends);
            if let Some([client, _]) = &sides {
                reach_first(plan, client, ends);
            }
            refused.unless(sides.is_some(), part, rules::ENDPOINTS);
            Some(sides.unwrap_or_default())
        }
        PathManager::PerPath { subflows: 1 } => Some(per_path(ends)),
        PathManager::NdiffPorts { subflows } if *subflows <= MOST + 1 => {
            Some(further(plan, ends, *subflows as u8 - 1))
        }
        _ => None,
    };
    refused.unless(sides.is_some(), part, rules::PATH_MANAGER);
    let nodes = [ends.client, ends.server];
    nodes
        .into_iter()
        .zip(sides.unwrap_or_default())
        .fold(true, |same, (node, side)| give(host(plan, node), side) && same)
}

/// False if the host has another path manager.
fn give(host: &mut HostPlan, side: Side) -> bool {
    let new = Side { limits: host.limits, endpoints: host.endpoints.clone() } == Side::default();
    if new {
        host.limits = side.limits;
        host.endpoints = side.endpoints;
        return true;
    }
    host.limits == side.limits && host.endpoints == side.endpoints
}

/// As the scenario says. `None`: an address is on no path, or has a flag that `ip mptcp` does not know.
fn in_kernel(multipath: &Multipath, limits: Limits, ends: &Ends<'_>) -> Option<[Side; 2]> {
    let mut sides = [Side { limits, ..Side::default() }, Side { limits, ..Side::default() }];
    for endpoint in &multipath.endpoints {
        let node = if endpoint.client { ends.client } else { ends.server };
        let interface = interface_on(ends.scenario, node, endpoint.duplex_link)?;
        let known = ends.pairs.iter().any(|&(client, server)| client == interface || server == interface);
        let EndpointFlags { subflow, signal, backup, fullmesh, laminar } = endpoint.flags;
        if laminar || !known {
            return None;
        }
        let named = [(subflow, "subflow"), (signal, "signal"), (backup, "backup"), (fullmesh, "fullmesh")];
        let flags = named.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
        let side = &mut sides[usize::from(!endpoint.client)];
        side.endpoints.push(Endpoint { address: address(interface), interface, flags, absent: false });
    }
    Some(sides)
}

/// Lets each address of the client that opens subflows reach the first one of the server: where routing does not connect the two,
/// over the path of the client's address, as source-based routing does over several access networks.
fn reach_first(plan: &mut Plan, client: &Side, ends: &Ends<'_>) {
    let first = ends.first.1;
    for endpoint in client.endpoints.iter().filter(|endpoint| endpoint.flags.contains(&"subflow")) {
        let from = endpoint.interface;
        let Some(at) = stand_in(ends, from) else { continue };
        let arrival = Arrival { from, to: first, at };
        if plan.arrivals.contains(&arrival) {
            continue;
        }
        plan.arrivals.push(arrival);
        add_route(plan, from, Route { to: address(first), source: from, preferred: false });
        add_route(plan, at, Route { to: address(from), source: first, preferred: false });
    }
}

/// The interface of the server that the path from `local` leads to; `None` if that path leads to its first address.
fn stand_in(ends: &Ends<'_>, local: Interface) -> Option<Interface> {
    let there = |pair: &&(Interface, Interface)| pair.0 == local;
    let mut remotes = ends.pairs.iter().filter(there).map(|&(_, remote)| remote);
    if remotes.clone().any(|remote| remote == ends.first.1) {
        return None;
    }
    // The two ends of a path have the same number, as in the simulator.
    remotes.clone().find(|remote| remote.number == local.number).or_else(|| remotes.next())
}

/// Adds a route over the device of an interface that is in the plan.
fn add_route(plan: &mut Plan, over: Interface, route: Route) {
    let uplinks = &mut host(plan, over.node).uplinks;
    let uplink = uplinks.iter_mut().find(|uplink| uplink.interface == over);
    debug_assert!(uplink.is_some(), "{over:?} is an end of a pair, and has no device");
    uplink.into_iter().for_each(|uplink| uplink.routes.push(route));
}

/// Adds the changes of addresses while the run goes on, as those of endpoints.
pub(super) fn changes(plan: &mut Plan, scenario: &Scenario, refused: &mut Refusals) {
    let mut events: Vec<_> = scenario.flow_events.iter().collect();
    events.sort_by_key(|event| event.at);
    for event in events {
        let (link, what) = match event.what {
            FlowAction::Leave(link) => (link, ChangeOfEndpoint::Delete),
            FlowAction::Join(link) => (link, ChangeOfEndpoint::Add),
            FlowAction::Backup(link, backup) => (link, ChangeOfEndpoint::Backup(backup)),
            FlowAction::Abort(_) => {
                refused.add(Part::Scenario, rules::EVENT);
                continue;
            }
        };
        let flow = &plan.flows[event.flow];
        let node = if event.client { flow.client_node() } else { flow.server_node() };
        // An endpoint is one of all connections of its host.
        let of_node =
            plan.flows.iter().filter(|flow| flow.sockets.mptcp && [flow.from, flow.to].contains(&node));
        let alone = flow.sockets.mptcp && of_node.count() == 1;
        let host = host(plan, node);
        let place = interface_on(scenario, node, link)
            .and_then(|interface| host.endpoints.iter().position(|known| known.interface == interface));
        let Some(endpoint) = place.filter(|_| alone) else {
            refused.add(Part::Scenario, rules::EVENT);
            continue;
        };
        let first = !host.changes.iter().any(|change| change.endpoint == endpoint);
        host.endpoints[endpoint].absent |= first && what == ChangeOfEndpoint::Add;
        host.changes.push(EndpointChange { at: event.at, endpoint, what });
    }
}

/// Each further address of the server is announced; each further address of a client that leads to the first one of the server
/// opens a subflow.
fn per_path(ends: &Ends<'_>) -> [Side; 2] {
    let limits = Limits { subflows: MOST, add_addr_accepted: MOST };
    let [mut client, mut server] = [Side { limits, ..Side::default() }, Side { limits, ..Side::default() }];
    for &(local, remote) in ends.pairs {
        let endpoint = |interface, flag| Endpoint {
            address: address(interface),
            interface,
            flags: vec![flag],
            absent: false,
        };
        if local != ends.first.0 && remote == ends.first.1 {
            client.endpoints.push(endpoint(local, "subflow"));
        } else if remote != ends.first.1 && !server.endpoints.iter().any(|known| known.interface == remote) {
            server.endpoints.push(endpoint(remote, "signal"));
        }
    }
    [client, server]
}

/// Further addresses of the server on the interface of the first subflow: the kernel has no subflows that differ in ports alone.
fn further(plan: &mut Plan, ends: &Ends<'_>, count: u8) -> [Side; 2] {
    let limits = Limits { subflows: u32::from(count), add_addr_accepted: u32::from(count) };
    let (local, remote) = ends.first;
    let mut server = Side { limits, ..Side::default() };
    for number in 1..=count {
        let address = further_address(remote, number);
        server.endpoints.push(Endpoint { address, interface: remote, flags: vec!["signal"], absent: false });
    }
    for uplink in &mut host(plan, ends.server).uplinks {
        if uplink.interface == remote {
            uplink.further = uplink.further.max(count);
        }
    }
    for uplink in &mut host(plan, ends.client).uplinks {
        if uplink.interface == local {
            for number in 1..=count {
                let to = further_address(remote, number);
                if !uplink.routes.iter().any(|route| route.to == to) {
                    uplink.routes.push(Route { to, source: local, preferred: true });
                }
            }
        }
    }
    [Side { limits, ..Side::default() }, server]
}
