//! From a checked scenario to a plan for the kernel.
//!
//! The model is taken apart field by field: a new key of scenarios does not compile here before it is translated, is what the
//! kernel does anyway, or is refused.

use apps::Apps;
use emulate::{
    CommandPlan, FlowPlan, HostPlan, MOST_FLOWS, MOST_NODES, Plan, Program, Route, SocketPlan, Uplink,
    address,
};
use network::{Carrier, Interface, NodeId};
use scenario::model::{Choice, Flow, Scenario, Setting, Transport};
use scenario::{Part, Unsupported};
use units::{Nanos, SimTime};

use super::control;
use super::path_manager::{self, Ends};
use super::{rules, tcp};
use crate::backend::Rule;
use crate::backend::refusals::Refusals;

const LONGEST: Nanos = Nanos::from_secs(3600);
const SHORTEST_INTERVAL: Nanos = Nanos::from_millis(10);
/// Full packets a second on all links: what one thread moves in time.
const MOST_PACKETS: u64 = 50_000;
const FULL_PACKET_BITS: u64 = 1500 * 8;
/// Begins the names of the profiles of the kernel.
const FAMILY: &str = "linux";
/// Refusals of a flow up to which each is told; more come from a profile of another TCP, and that one is told.
const FEW: usize = 2;

/// The plan of a run, without time series and seed.
///
/// # Errors
/// Keys that the kernel has nothing for.
pub(super) fn plan(scenario: &Scenario) -> Result<Plan, Vec<Unsupported>> {
    let Scenario {
        name: _,
        description: _,
        duration,
        seeds: _,
        jitter: _,
        ecmp: _,
        record_interval,
        nodes: _,
        duplex_links: _,
        proxies,
        flows,
        events: _,
        flow_events: _,
    } = scenario;
    let mut refused = Refusals::default();
    refused.unless(*duration <= LONGEST, Part::Scenario, rules::DURATION);
    refused.unless(*record_interval >= SHORTEST_INTERVAL, Part::Scenario, rules::INTERVAL);
    refused.unless(flows.len() <= MOST_FLOWS, Part::Scenario, rules::FLOWS);
    for (index, proxy) in proxies.iter().enumerate() {
        refused.unless(proxy.flows.is_empty(), Part::Proxy(index), Rule { key: "flows", ..rules::PROXY });
    }
    links(scenario, &mut refused);
    let mut plan = Plan::default();
    for (index, flow) in flows.iter().enumerate() {
        add_flow(&mut plan, (index, flow), scenario, &mut refused);
    }
    control::check_limits(flows, &mut refused);
    if refused.is_empty() {
        path_manager::changes(&mut plan, scenario, &mut refused);
    }
    for (name, control) in control_of_commands(&mut plan) {
        // Flows that were refused for another reason are not in the plan.
        let index = flows.iter().position(|flow| flow.name == name).unwrap_or_default();
        refused.add_with(Part::Flow(index), rules::SAME_CONGESTION, tcp::named(&control).into());
    }
    if refused.is_empty() { Ok(plan) } else { Err(refused.into_list()) }
}

/// Refuses the largest plain rates where all together are more than a run can carry.
fn links(scenario: &Scenario, refused: &mut Refusals) {
    let directions = scenario.duplex_links.iter().enumerate().flat_map(|(link, duplex)| {
        let part = move |index| Part::Direction(link, index);
        duplex.directions.iter().enumerate().map(move |(index, direction)| (part(index), direction))
    });
    let rates: Vec<(Part, u64)> = directions
        // The least of several rates applies.
        .filter_map(|(part, direction)| {
            Some((part, direction.rate.iter().filter_map(Setting::value).min()?.0))
        })
        .collect();
    let total = rates.iter().fold(0u64, |sum, (_, rate)| sum.saturating_add(rate / FULL_PACKET_BITS));
    if total <= MOST_PACKETS {
        return;
    }
    let largest = rates.iter().map(|&(_, rate)| rate).max();
    let (high, others): (Vec<_>, Vec<_>) = rates.into_iter().partition(|&(_, rate)| Some(rate) == largest);
    let taken: u64 = others.iter().map(|(_, rate)| rate / FULL_PACKET_BITS).sum();
    let left = MOST_PACKETS.saturating_sub(taken) / high.len().max(1) as u64;
    // Where the others leave nothing each has to have an equal part.
    let equal = MOST_PACKETS / (high.len() + others.len()).max(1) as u64;
    let rate = left.max(equal) * FULL_PACKET_BITS / 1_000_000;
    for (part, _) in high {
        refused.add_with(part, rules::RATE, format!("{rate}Mbit/s"));
    }
}

fn add_flow(plan: &mut Plan, (index, flow): (usize, &Flow), scenario: &Scenario, refused: &mut Refusals) {
    let Flow {
        name: flow_name,
        from,
        to,
        opened_by_receiver,
        start,
        after,
        spread,
        stop,
        app,
        transport,
        via,
        compare_paths,
    } = flow;
    let part = Part::Flow(index);
    let before = refused.count();
    refused.unless(!compare_paths, part, rules::COMPARE);
    let (client, server) = if *opened_by_receiver { (*to, *from) } else { (*from, *to) };
    let pairs =
        if client.max(server) < MOST_NODES { Carrier::pairs(scenario, client, server) } else { Vec::new() };
    let leaves = |(local, _): &&(Interface, Interface)| {
        via.is_none_or(|link| interface_on(scenario, client, link) == Some(*local))
    };
    let Some(&first) = pairs.iter().find(leaves) else {
        refused.add(part, rules::ROUTE);
        return;
    };
    let Some((name, mut shared, own)) = sockets(part, flow, refused) else { return };
    let (config, mptcp, udp) = (&transport.tcp, &transport.mptcp, &transport.udp);
    for (node, pairs) in [(client, pairs.clone()), (server, pairs.iter().map(|&(a, b)| (b, a)).collect())] {
        route(host(plan, node), &pairs, shared.mtu);
    }
    if let Some(multipath) = mptcp {
        let ends = Ends { client, server, first, pairs: &pairs, scenario };
        let same = path_manager::add(plan, part, multipath, &ends, refused);
        refused.unless(same, part, rules::SAME_PATH_MANAGER);
        shared.settings.push(("net/mptcp/checksum_enabled", u8::from(multipath.config.checksum).to_string()));
    }
    if !transport.profile.starts_with(FAMILY) && refused.count() > before + FEW {
        // The settings of another TCP are not worth a comparison with those of other flows.
        refused.replace_from(before, part, rules::PROFILE);
        return;
    }
    for (key, value) in settings_of_others(plan, [client, server], &shared) {
        refused.add_with(part, Rule { key, ..rules::SAME_SETTINGS }, value);
    }
    plan.flows.push(FlowPlan {
        name: flow_name.clone(),
        seed: 0,
        program: program(app),
        from: *from,
        to: *to,
        opened_by_receiver: *opened_by_receiver,
        client: address(first.0),
        server: address(first.1),
        sockets: SocketPlan {
            mptcp: mptcp.is_some(),
            datagrams: udp.map(|udp| udp.payload.0),
            congestion: name.unwrap_or_default().into(),
            receive_buffer: own.receive_buffer,
            send_buffer: own.send_buffer,
            no_delay: own.no_delay,
        },
        start: *start,
        after: after.clone(),
        spread: *spread,
        stop: (*stop).min(SimTime::ZERO + scenario.duration),
        mss: config.segment.mss,
    });
}

/// Congestion control by the kernel's name, settings of namespaces and of sockets. `None` if it has no such transport.
fn sockets(
    part: Part,
    Flow { app, transport, .. }: &Flow,
    refused: &mut Refusals,
) -> Option<(Option<&'static str>, tcp::Shared, tcp::Own)> {
    let Transport { profile, tcp: config, congestion, mptcp: _, sctp, udp } = &**transport;
    match (congestion, sctp, udp) {
        (Some(congestion), None, None) => {
            let name = tcp::congestion(congestion);
            refused.unless(name.is_some(), part, rules::CONGESTION);
            let (shared, own) = tcp::settings(part, config, app.name() == apps::COMMAND, refused);
            Some((name, shared, own))
        }
        (_, None, Some(udp)) => {
            refused.unless(udp.header == tcp::UDP_HEADER, part, rules::DATAGRAM_HEADER);
            refused.unless(udp.payload + tcp::UDP_HEADER <= tcp::ORDINARY_MTU, part, rules::DATAGRAM);
            refused.unless(app.name() != apps::COMMAND, part, rules::KIND.as_in("tcp"));
            Some((None, tcp::of_datagrams(*udp), tcp::Own::default()))
        }
        _ => {
            refused.add(part, rules::KIND);
            refused.unless(profile.starts_with(FAMILY), part, rules::PROFILE);
            None
        }
    }
}

/// An application, or commands in its place.
fn program(app: &Choice<Apps>) -> Program {
    if app.name() != apps::COMMAND {
        return Program::App(app.clone());
    }
    let text = |name| app.options.text(name).to_owned();
    Program::Commands(CommandPlan { client: text("client"), server: text("server") })
}

/// Commands choose no congestion control: all routes of their hosts get the one of the first flow there. Returns the flows
/// of these hosts that have another one, with that one.
fn control_of_commands(plan: &mut Plan) -> Vec<(String, String)> {
    let has_commands = |flow: &FlowPlan| matches!(flow.program, Program::Commands(_));
    let nodes: Vec<NodeId> =
        plan.flows.iter().filter(|flow| has_commands(flow)).flat_map(|flow| [flow.from, flow.to]).collect();
    let mut others = Vec::new();
    for node in nodes {
        let mut flows = plan
            .flows
            .iter()
            .filter(|flow| flow.sockets.datagrams.is_none() && [flow.from, flow.to].contains(&node));
        let Some(control) = flows.next().map(|flow| flow.sockets.congestion.clone()) else { continue };
        let different = flows.filter(|flow| flow.sockets.congestion != control);
        others.extend(different.map(|flow| (flow.name.clone(), control.clone())));
        for uplink in &mut host(plan, node).uplinks {
            uplink.congestion = Some(control.clone());
        }
    }
    others.sort_unstable();
    others.dedup();
    others
}

/// The duplex link of an interface: interfaces are numbered in the order of links.
pub(super) fn link_of(scenario: &Scenario, at: Interface) -> Option<usize> {
    let mut own =
        scenario.duplex_links.iter().enumerate().filter(|(_, duplex)| duplex.ends.contains(&at.node));
    own.nth(usize::from(at.number)).map(|(index, _)| index)
}

/// The interface of a node on a duplex link.
pub(super) fn interface_on(scenario: &Scenario, node: NodeId, link: usize) -> Option<Interface> {
    let mut own = scenario.duplex_links.iter().enumerate().filter(|(_, duplex)| duplex.ends.contains(&node));
    let number = own.position(|(index, _)| index == link)?;
    Some(Interface { node, number: u8::try_from(number).ok()? })
}

/// The plan of a node.
pub(super) fn host(plan: &mut Plan, node: NodeId) -> &mut HostPlan {
    let place = plan.hosts.iter().position(|host| host.node == node).unwrap_or_else(|| {
        plan.hosts.push(HostPlan { node, ..HostPlan::default() });
        plan.hosts.len() - 1
    });
    &mut plan.hosts[place]
}

/// Devices and routes for these pairs of interfaces, of which the first is the host's own.
fn route(host: &mut HostPlan, pairs: &[(Interface, Interface)], mtu: u32) {
    for &(local, remote) in pairs {
        let to = address(remote);
        let taken = |uplink: &Uplink| uplink.routes.iter().any(|route| route.to == to && route.preferred);
        let preferred = !host.uplinks.iter().any(taken);
        let place = host.uplinks.iter().position(|uplink| uplink.interface == local).unwrap_or_else(|| {
            host.uplinks.push(Uplink {
                interface: local,
                further: 0,
                mtu,
                routes: Vec::new(),
                congestion: None,
            });
            host.uplinks.len() - 1
        });
        let routes = &mut host.uplinks[place].routes;
        if !routes.iter().any(|route| route.to == to) {
            routes.push(Route { to, source: local, preferred });
        }
    }
}

/// Gives the hosts of a flow these settings. Returns the keys of which other flows have another value, with that value.
fn settings_of_others(
    plan: &mut Plan,
    nodes: [NodeId; 2],
    shared: &tcp::Shared,
) -> Vec<(&'static str, String)> {
    if plan.flows.is_empty() {
        plan.overhead = shared.overhead;
    }
    let mut others = Vec::new();
    if plan.overhead != shared.overhead {
        others.push(("transport.overhead", plan.overhead.to_string()));
    }
    for node in nodes {
        for other in agree(host(plan, node), shared) {
            if !others.contains(&other) {
                others.push(other);
            }
        }
    }
    others
}

/// Gives a host these settings. Returns the keys of which it has another value, with that value.
fn agree(host: &mut HostPlan, shared: &tcp::Shared) -> Vec<(&'static str, String)> {
    let mut others = Vec::new();
    if let Some(uplink) = host.uplinks.iter().find(|uplink| uplink.mtu != shared.mtu) {
        // Datagrams have no segment size, and a host of datagrams alone no settings.
        let of_host = if host.settings.is_empty() { &shared.settings } else { &host.settings };
        let known = tcp::mss(uplink.mtu, of_host);
        if shared.settings.is_empty() {
            others.push(("transport", String::new()));
        } else if known != tcp::mss(shared.mtu, &shared.settings) {
            others.push(("transport.mss", known));
        }
    }
    for (name, value) in &shared.settings {
        match host.settings.iter().find(|(known, _)| known == name) {
            Some((_, known)) if known == value => {}
            Some((_, known)) => others.extend(tcp::keys(name, known, value)),
            None => host.settings.push((name, value.clone())),
        }
    }
    others
}

/// The smallest round-trip time of propagation on a link with plain delays.
pub(super) fn smallest_rtt(scenario: &Scenario) -> Option<Nanos> {
    let one_way = |delays: &[scenario::model::Delay]| {
        delays.iter().map(Setting::value).try_fold(Nanos::ZERO, |sum, delay| Some(sum + delay?))
    };
    let round_trip = |link: &scenario::model::DuplexLink| {
        let [there, back] = &link.directions;
        Some(one_way(&there.delay)? + one_way(&back.delay)?)
    };
    scenario.duplex_links.iter().filter_map(round_trip).filter(|rtt| rtt.0 > 0).min()
}
