//! The network between the hosts: topology, routes, links and the packets on them.
//!
//! May: move packets from host to host, and show them to a tap. May not: look into the body of a packet, call
//! connections or applications, or own the event queue.

pub(crate) mod address;
pub(crate) mod ecmp;
pub(crate) mod forwarding;
pub(crate) mod link;
pub(crate) mod middlebox;
pub(crate) mod network;
pub(crate) mod packets;
pub(crate) mod routing;
mod slot;
pub(crate) mod tap;
pub(crate) mod topology;
