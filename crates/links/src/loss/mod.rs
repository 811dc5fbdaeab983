//! Loss models: which packets are lost on the way. One file each, behind [`LossModel`].

pub(crate) mod bernoulli;
mod bit_errors;
mod builtin;
mod composed;
mod gilbert_elliott;
mod land_mobile;
mod listed;
mod on_off;
mod phases;
mod semi_markov;
#[cfg(test)]
mod statistics;

use std::fmt;

use engine::Stream;
use units::{Bytes, SimTime};

pub use builtin::{Algorithm, Losses, Registry};
pub use composed::CombinedLosses;

/// Decides which packets of one link direction are lost.
///
/// It is asked once per packet, in the order in which packets cross the link, so that two runs that differ only
/// in the transport lose the same packets.
pub trait LossModel: fmt::Debug + Send {
    /// True if the packet of `size` whose last bit leaves the transmitter at `at` is lost. `at` never goes back.
    fn is_lost(&mut self, at: SimTime, size: Bytes, stream: &mut Stream) -> bool;

    /// Called once before the first packet. `shared` is seeded identically for both directions of the link; draw from it
    /// any state that both must share, such as common shadowing.
    fn share(&mut self, _shared: Stream) {}
}
