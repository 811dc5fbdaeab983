//! Loss models: which packets the sky drops. One file each, behind [`LossModel`].

mod bernoulli;
mod bit_errors;
mod registry;

use std::fmt;

use engine::Stream;
use units::{Bytes, SimTime};

pub use bernoulli::Bernoulli;
pub use bit_errors::{BitErrors, packet_error_ratio};
pub use registry::{Algorithm, Registry};

/// Decides which packets of one link direction are lost.
///
/// It is asked once per packet, in the order in which packets cross the link, so that two runs that differ only
/// in the transport see the same sky.
pub trait LossModel: fmt::Debug + Send {
    /// True if the packet of `size` whose last bit leaves the transmitter at `at` is lost.
    fn is_lost(&mut self, at: SimTime, size: Bytes, stream: &mut Stream) -> bool;
}
