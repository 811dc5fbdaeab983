//! Networks: joins links, routing, transport and applications to a world that runs.
//!
//! May: move packets between links and connections, and record what happens. May not: change what a link, a
//! transport or an application does.
//!
//! - `net/`: nodes and links, routing, and packets in flight, of which it sees the envelope alone;
//! - `host/`: hosts with ports, listeners, demultiplexing and connections;
//! - `flow/`: an application, its connections, and what is recorded of them;
//! - `relay/`: the ends of connections at a proxy, and the bytes between them;
//! - `build/`: from a scenario to links with their changes, hosts and flows;
//! - `world.rs`, `plan.rs`, `outcome.rs`, `legs.rs`: a world runs and leaves a record; `watch.rs`: how it is stopped and how far it is;
//! - `carrier.rs`: the links alone, for hosts that run elsewhere;
//! - `sampler.rs`: time series; `tracer.rs`: the readable trace; `capture.rs`: packets for a capture. A run leaves a `trace::RunRecord`.

mod body;
mod build;
mod capture;
mod carrier;
mod event;
mod flow;
mod host;
mod joins;
mod legs;
mod memory;
mod net;
mod observe;
mod observer;
mod outcome;
mod plan;
mod relay;
mod sampler;
mod tracer;
mod watch;
mod world;

pub use build::{capacity, links, never_carries, opportunities};
pub use capture::{Crossing, HostAddress, OpenedSubflow, PacketSink};
pub use carrier::{Carrier, Delivered, Interface, Multipath};
pub use memory::{Footprint, MAX_MEMORY, PACKET};
pub use net::link::{Link, LinkChange, Part};
pub use net::routing::{Routes, Target, TargetId};
pub use net::topology::{LinkId, NodeId, Topology};
pub use observe::Observe;
pub use watch::Watch;
pub use world::{Unfinished, World};

#[cfg(test)]
mod tests;
