//! The network between the hosts: topology, routes, links and the packets on them.
//!
//! May: move packets from host to host, and write a trace of them. May not: call connections or applications.

pub(crate) mod address;
pub(crate) mod ecmp;
pub(crate) mod link;
mod middlebox;
pub(crate) mod network;
pub(crate) mod packets;
pub(crate) mod routing;
mod slot;
pub(crate) mod topology;
pub(crate) mod tracer;
