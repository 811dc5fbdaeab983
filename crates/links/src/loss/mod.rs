//! Loss models: which packets the sky drops. One file each, behind [`LossModel`].

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
pub use composed::Composed;

/// Decides which packets of one link direction are lost.
///
/// It is asked once per packet, in the order in which packets cross the link, so that two runs that differ only
/// in the transport see the same sky.
pub trait LossModel: fmt::Debug + Send {
    /// True if the packet of `size` whose last bit leaves the transmitter at `at` is lost. `at` never goes back.
    fn is_lost(&mut self, at: SimTime, size: Bytes, stream: &mut Stream) -> bool;

    /// Before the first packet: random numbers that the model of the other direction of the link gets, too. Who wants to
    /// have something in common with it draws that from here.
    fn share(&mut self, _sky: Stream) {}
}
