//! Networks: joins links, routing, transport and applications to a world that runs.
//!
//! May: move packets between links and connections, and record what happens. May not: change what a link, a
//! transport or an application does.

mod ecmp;
pub mod record;
mod routing;
mod topology;

pub use routing::{Routes, Target, TargetId};
pub use topology::{LinkId, NodeId, Topology};
