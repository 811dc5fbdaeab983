//! Links: what one direction of a link does to packets over time.
//!
//! May: delay, lose and refuse packets by their size and the time. May not: know what a packet means.
//! To add a loss model: a new file under `loss/`, a row in `loss/registry.rs`.

mod link;
pub mod loss;
mod queue;

pub use link::{Counters, Link, Offered, Parameters};
pub use loss::LossModel;
pub use queue::QueueLimit;
