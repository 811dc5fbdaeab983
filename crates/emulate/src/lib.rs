//! The links of a scenario between real Linux kernels: packets of TCP and MPTCP sockets cross the models of `links` in the time of
//! the host.
//!
//! Each host of a plan is an anonymous network namespace with a TUN device for every interface. One thread reads packets from the
//! devices, carries them over the links ([`network::Carrier`]: the same models and the same random streams as in the simulator) and
//! writes them to the device where they arrive. Threads inside the namespaces are the applications. Everything belongs to file
//! descriptors and threads of this process: when it ends, however it ends, the kernel removes all of it.
//!
//! May: read the clock, open sockets, start threads. May not: decide what a link does, or know tables.

#![cfg(target_os = "linux")]

mod address;
mod bridge;
mod clock;
mod command;
mod context;
mod control;
mod conversation;
mod counters;
mod datagrams;
mod device;
mod diag;
mod fault;
mod host;
mod lateness;
mod namespace;
mod options;
mod outgoing;
mod plan;
mod ready;
mod run;
mod sampler;
mod socket;
mod stop;
mod talk;

pub use address::{MOST_NODES, address, further_address, interface};
pub use bridge::Tap;
pub use command::CommandPlan;
pub use control::ControlPlan;
pub use counters::Counters;
pub use datagrams::DatagramCounts;
pub use diag::{ConnectionState, ControlName, PayloadCounts, SegmentCounts, SubflowState};
pub use fault::Fault;
pub use lateness::lateness_bound;
pub use plan::{
    Arrival, ChangeOfEndpoint, Endpoint, EndpointChange, FlowPlan, HostPlan, Limits, MOST_FLOWS, Plan,
    Program, Route, SocketPlan, Uplink,
};
pub use ready::{ControlsNeed, Missing, Privilege, privilege, takes_controls};
pub use run::{Entrance, FlowRan, Ran, Surroundings, run};
pub use sampler::{Sample, Samples};
pub use talk::Talk;
