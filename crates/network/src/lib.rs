//! Networks: joins links, routing, transport and applications to a world that runs.
//!
//! May: move packets between links and connections, and record what happens. May not: change what a link, a
//! transport or an application does.
//!
//! - `topology.rs`, `routing.rs`, `ecmp.rs`: which nodes are connected, and over which link a packet leaves;
//! - `fabric.rs`, `lane.rs`, `link.rs`, `packets.rs`: links, packets in flight, and the event queue;
//! - `address.rs`, `host/`: hosts with ports, listeners, demultiplexing and connections;
//! - `flow/`: an application, its connections, and what is recorded of them;
//! - `build/`: from a scenario to links with their changes, hosts and flows;
//! - `world.rs`, `plan.rs`, `outcome.rs`: a world runs and leaves a record;
//! - `sampler.rs`, `tracer.rs`: what is recorded besides totals. What is left is `trace::RunRecord`.

mod address;
mod build;
mod ecmp;
mod fabric;
mod flow;
mod host;
mod lane;
mod link;
mod middlebox;
mod outcome;
mod packets;
mod plan;
mod routing;
mod sampler;
mod topology;
mod tracer;
mod world;

pub use build::{links, opportunities};
pub use link::{Link, LinkChange, Part};
pub use routing::{Routes, Target, TargetId};
pub use topology::{LinkId, NodeId, Topology};
pub use world::{Cancelled, Observe, World};

#[cfg(test)]
mod tests;
