//! From a checked scenario to a world at time zero.
//!
//! May: look up algorithms by name and draw from named streams. May not: make any event happen.

pub(crate) mod connections;
mod links;
mod precomputed;

pub use links::opportunities;

use engine::Stream;
use scenario::Registries;
use scenario::model::{Ecmp, Scenario};
use units::SimTime;

use crate::build::connections::Factory;
use crate::ecmp::{Chooser, name_hash};
use crate::fabric::{Event, Fabric};
use crate::flow::Flow;
use crate::flow::events;
use crate::routing::Routes;
use crate::sampler::Sampler;
use crate::topology::Topology;
use crate::tracer::{Names, Tracer};
use crate::world::{Observe, World};

/// Scenarios come from the parser, which has looked up every name in the same registries.
pub(crate) const CHECKED: &str = "the parser has found this name in the registries";

impl World {
    /// The world of `scenario` at time zero, with the random numbers of `seed`.
    ///
    /// # Panics
    /// If the scenario names an algorithm that `registries` does not hold; the parser refuses such a scenario.
    pub fn new(scenario: &Scenario, registries: &Registries, seed: u64, observe: Observe) -> Self {
        let forward = scenario.nodes.iter().map(|node| node.forward);
        let mut routes =
            Routes::new(Topology::new(forward, scenario.duplex_links.iter().map(|link| link.ends)));
        let tracer = observe.trace.then(|| Box::new(Tracer::new(names(scenario))));
        let (links, changes) = links::links(scenario, registries, seed);
        let sampler =
            observe.series.then(|| Sampler::new(scenario.record_interval, scenario.flows.len(), links.len()));
        let duration = SimTime::ZERO + scenario.duration;
        let flow_events = events::all(scenario, routes.topology());
        let flow = |(index, flow)| {
            let absent = events::absent(scenario, index, routes.topology());
            let factory = Factory::new(flow, registries, seed, &mut routes, absent);
            Flow::new(flow, factory, seed, duration)
        };
        let flows: Vec<Flow> = scenario.flows.iter().enumerate().map(flow).collect();
        let mut fabric = Fabric::new(routes, links, choosers(scenario, seed), tracer);
        let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
        for (link, direction) in directions.enumerate() {
            fabric.set_strip(link as crate::LinkId, direction.strip);
        }
        for (index, flow) in flows.iter().enumerate() {
            if !flow.start.is_never() {
                fabric.queue.push(flow.start, Event::Start(index as u32));
            }
        }
        Self {
            seed,
            duration,
            fabric,
            ends: Vec::with_capacity(2 * flows.len()),
            channels: Vec::with_capacity(flows.len()),
            touched: Vec::new(),
            open: flows.len(),
            waits: flows.iter().any(crate::flow::Flow::waits),
            flows,
            names: scenario.flows.iter().map(|flow| name_hash(&flow.name)).collect(),
            changes,
            flow_events,
            sampler,
        }
    }
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
