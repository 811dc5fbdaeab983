//! Networks: joins links, routing, transport and applications to a world that runs.
//!
//! May: move packets between links and connections, and record what happens. May not: change what a link, a
//! transport or an application does.
//!
//! - `topology.rs`, `routing.rs`, `ecmp.rs`: who is connected with whom, and over which cable a packet leaves;
//! - `fabric.rs`, `packets.rs`: links, packets on their way, and the event queue;
//! - `end.rs`, `flow.rs`: the two ends of a connection, the two applications that use it;
//! - `build.rs`, `world.rs`, `outcome.rs`: a scenario becomes a world, runs, and leaves a record;
//! - `recorder.rs`, `sampler.rs`, `tracer.rs`: what is recorded while it runs.

mod build;
mod ecmp;
mod end;
mod fabric;
mod flow;
mod outcome;
mod packets;
pub mod record;
mod recorder;
mod routing;
mod sampler;
mod topology;
mod tracer;
mod world;

pub use routing::{Routes, Target, TargetId};
pub use topology::{LinkId, NodeId, Topology};
pub use world::{Cancelled, Observe, World};

#[cfg(test)]
mod tests;
