//! From a checked scenario to a world at time zero.
//!
//! May: build algorithms from their rows and draw from named streams. May not: make any event happen.

pub(crate) mod addresses;
mod connections;
mod flow_events;
mod links;
mod precomputed;
mod proxies;

pub use links::{capacity, links, never_carries, opportunities};

use engine::{EventQueue, Stream};
use scenario::model::{Ecmp, Scenario};
use units::SimTime;

use crate::capture::PacketSink;
use crate::event::Event;
use crate::flow::Flow;
use crate::flow::flows::Flows;
use crate::host::Hosts;
use crate::net::ecmp::Chooser;
use crate::net::forwarding::Forwarding;
use crate::net::link::LinkChange;
use crate::net::middlebox::MiddleboxAccess;
use crate::net::network::Network;
use crate::net::routing::Routes;
use crate::net::tap::Tap;
use crate::net::topology::Topology;
use crate::observe::Observe;
use crate::observer::Observer;
use crate::plan::Plan;
use crate::sampler::Sampler;
use crate::tracer::{Names, Tracer};
use crate::world::World;

impl World {
    /// The world of `scenario` at time zero, with the random numbers of `seed`.
    pub fn new(scenario: &Scenario, seed: u64, observe: Observe) -> Self {
        Self::captured(scenario, seed, observe, None)
    }

    /// The same, with a sink that sees all packets.
    pub fn captured(
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        sink: Option<Box<dyn PacketSink>>,
    ) -> Self {
        let mut routes = routes(scenario);
        let tracer = observe.trace.then(|| Tracer::new(names(scenario)));
        let observer = Observer::new(tracer, sink).map(Box::new);
        let links = 2 * scenario.duplex_links.len();
        let sampler =
            observe.series.then(|| Sampler::new(scenario.record_interval, scenario.flows.len(), links));
        let duration = SimTime::ZERO + scenario.duration;
        let mut hosts = Hosts::new(routes.topology(), 2 * scenario.flows.len());
        let flow_events = flow_events::all(scenario, routes.topology());
        let flow = |(index, flow): (usize, &scenario::model::Flow)| {
            let absent = flow_events::absent(scenario, index, routes.topology());
            let opener = connections::sides((index, flow), seed, (&mut routes, &mut hosts), absent);
            let app = (flow.app.row.build)(&flow.app.options);
            Flow::new(flow, app, opener, (seed, duration))
        };
        let mut flows = Flows::new(scenario.flows.iter().enumerate().map(flow).collect());
        let relays = proxies::place(scenario, seed, (&mut routes, &mut hosts), &mut flows);
        let (network, changes) = network(scenario, seed, routes, observer);
        let mut queue = EventQueue::new();
        for (index, flow) in flows.all().iter().enumerate() {
            if !flow.timing().start().is_never() {
                queue.push(flow.timing().start(), Event::Start(index as u32));
            }
        }
        let plan = Plan::new(changes, flow_events, proxies::crashes(scenario));
        Self::at_start((seed, duration), (queue, network, hosts), (flows, relays), plan, sampler)
    }
}

/// Routes between the nodes of a scenario; targets are added when they are needed.
pub(crate) fn routes(scenario: &Scenario) -> Routes {
    let forward = scenario.nodes.iter().map(|node| node.forward);
    Routes::new(Topology::new(forward, scenario.duplex_links.iter().map(|link| link.ends)))
}

/// The idle links of a scenario, and the changes of their state over time, the next one last.
pub(crate) fn network<B: Copy + Default + MiddleboxAccess, T: Tap<B>>(
    scenario: &Scenario,
    seed: u64,
    routes: Routes,
    tap: Option<Box<T>>,
) -> (Network<B, T>, Vec<LinkChange>) {
    let (links, changes) = links(scenario, seed);
    let mut network = Network::new(Forwarding::new(routes, choosers(scenario, seed)), links, tap);
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    for (link, direction) in directions.enumerate() {
        network.set_strip(link as crate::LinkId, direction.strip);
    }
    (network, changes)
}

fn names(scenario: &Scenario) -> Names {
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    Names {
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        links: directions.map(|direction| direction.name.clone()).collect(),
        flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
    }
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
