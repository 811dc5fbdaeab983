//! From a checked scenario to a world at time zero.
//!
//! May: look up algorithms by name and draw from named streams. May not: make any event happen.

use std::sync::Arc;

use engine::{LazyTimer, Stream};
use links::{Link, LossModel, Parameters};
use scenario::Registries;
use scenario::model::{Change, Choice, Ecmp, Flow as FlowModel, Scenario};
use transport::config::PathManager;
use transport::mptcp::keys::Key;
use transport::{AddressPair, Connection, NewCongestion, Role, Setup};
use units::SimTime;

use crate::ecmp::{Chooser, name_hash};
use crate::end::{End, connected_pairs, hops, pair_over};
use crate::fabric::{Event, Fabric, LinkChange};
use crate::flow::Flow;
use crate::routing::Routes;
use crate::sampler::Sampler;
use crate::topology::{LinkId, Topology};
use crate::tracer::{Names, Tracer};
use crate::world::{Observe, World};

/// Scenarios come from the parser, which has looked up every name in the same registries.
const CHECKED: &str = "the parser has found this name in the registries";

impl World {
    /// The world of `scenario` at time zero, with the random numbers of `seed`.
    ///
    /// # Panics
    /// If the scenario names an algorithm that `registries` does not hold; the parser refuses such a scenario.
    pub fn new(scenario: &Scenario, registries: &Registries, seed: u64, observe: Observe) -> Self {
        let forward = scenario.nodes.iter().map(|node| node.forward);
        let mut routes = Routes::new(Topology::new(forward, scenario.cables.iter().map(|cable| cable.ends)));
        let mut ends = Vec::with_capacity(2 * scenario.flows.len());
        for flow in &scenario.flows {
            ends.extend(make_ends(flow, registries, seed, &mut routes));
        }
        let tracer = observe.trace.then(|| Box::new(Tracer::new(names(scenario))));
        let links = make_links(scenario, registries, seed);
        let sampler =
            observe.series.then(|| Sampler::new(scenario.record_interval, scenario.flows.len(), links.len()));
        let mut fabric = Fabric::new(routes, links, choosers(scenario, seed), tracer);
        let duration = SimTime::ZERO + scenario.duration;
        let flows: Vec<Flow> =
            scenario.flows.iter().map(|flow| make_flow(flow, registries, duration)).collect();
        for (index, flow) in flows.iter().enumerate() {
            fabric.queue.push(flow.start, Event::Start(index as u32));
        }
        Self {
            seed,
            duration,
            fabric,
            ends,
            open: flows.len(),
            flows,
            names: scenario.flows.iter().map(|flow| name_hash(&flow.name)).collect(),
            changes: changes(&scenario.events, registries),
            sampler,
        }
    }
}

fn names(scenario: &Scenario) -> Names {
    let directions = scenario.cables.iter().flat_map(|cable| &cable.directions);
    Names {
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        links: directions.map(|direction| direction.name.clone()).collect(),
        flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
    }
}

fn loss_model(choice: &Choice, registries: &Registries) -> Box<dyn LossModel> {
    (registries.loss.get(&choice.kind).expect(CHECKED).build)(&choice.options)
}

fn make_links(scenario: &Scenario, registries: &Registries, seed: u64) -> Vec<Link> {
    let directions = scenario.cables.iter().flat_map(|cable| &cable.directions);
    directions
        .map(|direction| {
            let parameters =
                Parameters { rate: direction.rate, delay: direction.delay, queue: direction.queue };
            let loss = direction.loss.as_ref().map(|choice| loss_model(choice, registries));
            Link::new(parameters, loss, Stream::named(seed, &direction.name, "loss"))
        })
        .collect()
}

fn choosers(scenario: &Scenario, seed: u64) -> Vec<Chooser> {
    let chooser = |name: &str| {
        let mut stream = Stream::named(seed, name, "ecmp");
        match scenario.ecmp {
            Ecmp::Flow => Chooser::ByFlow { salt: stream.bits() },
            Ecmp::Packet => Chooser::ByPacket(stream),
        }
    };
    scenario.nodes.iter().map(|node| chooser(&node.name)).collect()
}

fn make_flow(flow: &FlowModel, registries: &Registries, duration: SimTime) -> Flow {
    let app = (registries.apps.get(&flow.app.kind).expect(CHECKED).build)(&flow.app.options);
    Flow::new(app, flow.start, flow.stop.min(duration), flow.transport.tcp.mss)
}

/// Sender and receiver of a flow.
fn make_ends(flow: &FlowModel, registries: &Registries, seed: u64, routes: &mut Routes) -> [End; 2] {
    let congestion = &flow.transport.congestion;
    let (build, options) =
        (registries.congestion.get(&congestion.kind).expect(CHECKED).build, congestion.options.clone());
    let congestion: NewCongestion = Arc::new(move |setup| build(setup, &options));
    let tcp = Arc::new(flow.transport.tcp.clone());
    let mptcp = flow.transport.mptcp.as_ref().map(|multipath| {
        let row = registries.schedulers.get(&multipath.scheduler.kind).expect(CHECKED);
        (Arc::new(multipath.config.clone()), row.build, &multipath.scheduler.options)
    });
    let mut keys = Stream::named(seed, &flow.name, "keys");
    let mut end = |node, client, first, pairs| {
        let (key, nonce_seed) = (Key(keys.bits()), keys.bits());
        let setup = Setup {
            tcp: Arc::clone(&tcp),
            congestion: Arc::clone(&congestion),
            mptcp: mptcp.as_ref().map(|(config, build, options)| (Arc::clone(config), build(options))),
            role: if client { Role::Client } else { Role::Server },
            first,
            pairs,
            key,
            nonce_seed,
        };
        let connection = Connection::new(setup);
        End { connection, timer: LazyTimer::default(), node, client, ways: Vec::new() }
    };
    // Plain TCP has one way and asks for no others.
    let pairs = if mptcp.is_some() { connected_pairs(routes, flow.from, flow.to) } else { Vec::new() };
    let first = first_pair(flow, routes, &pairs);
    let back = pairs.iter().map(|pair| pair.reversed()).collect();
    let sender = end(flow.from, !flow.opened_by_receiver, first, pairs);
    let receiver = end(flow.to, flow.opened_by_receiver, first.reversed(), back);
    [sender, receiver]
}

/// Addresses of the first subflow, seen from the data sender. `via` may be a cable at either host.
fn first_pair(flow: &FlowModel, routes: &mut Routes, pairs: &[AddressPair]) -> AddressPair {
    if let Some(cable) = flow.via {
        if routes.topology().address_on(flow.from, cable).is_some() {
            return pair_over(routes, flow.from, flow.to, cable);
        }
        return pair_over(routes, flow.to, flow.from, cable).reversed();
    }
    let manager = flow.transport.mptcp.as_ref().map(|multipath| multipath.config.path_manager);
    let nearest = match manager {
        // These set paths apart by their addresses, so the first subflow must have some: the nearest.
        Some(PathManager::PerPath { .. } | PathManager::FullMesh { .. }) => {
            pairs.iter().min_by_key(|pair| hops(routes, flow.from, flow.to, **pair))
        }
        Some(PathManager::NdiffPorts { .. }) | None => None,
    };
    nearest.copied().unwrap_or(AddressPair { local: None, remote: None })
}

/// One change per link, the last one first.
fn changes(events: &[Change], registries: &Registries) -> Vec<LinkChange> {
    let mut changes = Vec::new();
    for event in events {
        changes.extend(event.links.iter().map(|&(cable, direction)| LinkChange {
            at: event.at,
            link: (2 * cable + direction) as LinkId,
            rate: event.rate,
            delay: event.delay,
            queue: event.queue,
            loss: event.loss.as_ref().map(|loss| loss.as_ref().map(|choice| loss_model(choice, registries))),
            up: event.up,
        }));
    }
    changes.sort_by_key(|change| change.at);
    changes.reverse();
    changes
}
