//! Networks: joins links, routing, transport and applications to a world that runs.
//!
//! May: move packets between links and connections, and record what happens. May not: change what a link, a
//! transport or an application does.
//!
//! - `topology.rs`, `routing.rs`, `ecmp.rs`: who is connected with whom, and over which cable a packet leaves;
//! - `fabric.rs`, `lane.rs`, `packets.rs`: links, packets on their way, and the event queue;
//! - `end.rs`, `channel.rs`: the two ends of a connection, and what is to be sent over it in each direction;
//! - `deeds.rs`, `middlebox.rs`: what happens to addresses and connections meanwhile, and to options on their way;
//! - `flow.rs`, `desk.rs`, `factory.rs`: an application, what it asks for, and the connections made for it;
//! - `build.rs`, `links.rs`, `ahead.rs`, `world.rs`, `outcome.rs`: a scenario becomes a world, runs, and leaves a record;
//! - `recorder.rs`, `writes.rs`, `sampler.rs`, `tracer.rs`: what is recorded while it runs. What is left is `trace::RunRecord`.

mod ahead;
mod build;
mod channel;
mod deeds;
mod desk;
mod ecmp;
mod end;
mod fabric;
mod factory;
mod flow;
mod lane;
mod links;
mod middlebox;
mod outcome;
mod packets;
mod recorder;
mod routing;
mod sampler;
mod topology;
mod tracer;
mod world;
mod writes;

pub use links::opportunities;
pub use routing::{Routes, Target, TargetId};
pub use topology::{LinkId, NodeId, Topology};
pub use world::{Cancelled, Observe, World};

#[cfg(test)]
mod tests;
