//! Delay models: how long packets travel. One file each, behind [`DelayModel`].

use std::fmt;

use units::{Nanos, SimTime};

mod builtin;
mod composed;
mod jitter;
mod satellite;
mod series;

pub use builtin::{Algorithm, Delays, Registry};
pub use composed::SummedDelays;
pub use jitter::jittered;

/// Propagation over one link direction.
///
/// It is asked once per packet, in the order of transmission; random numbers come from a stream of its own.
pub trait DelayModel: fmt::Debug + Send {
    /// How long a packet travels whose last bit leaves the transmitter at `depart`, which never goes back.
    fn delay(&mut self, depart: SimTime) -> Nanos;

    /// When a transmission may begin that could take from `start` to `end`: `start`, or the end of a gap in which nothing
    /// is carried, after which it will be asked again. `start` never goes back.
    fn ready(&mut self, start: SimTime, _end: SimTime) -> SimTime {
        start
    }

    /// True if a packet whose last bit leaves the transmitter at `depart` falls into a gap and is lost. Asked before
    /// `delay`.
    fn loses(&mut self, _depart: SimTime) -> bool {
        false
    }

    /// True: packets may overtake others that left before. False: a packet that would overtake arrives together with the
    /// one in front (choice D-63).
    fn reorders(&self) -> bool {
        false
    }

    /// The delay, of a model that has but one.
    fn constant(&self) -> Option<Nanos> {
        None
    }
}

/// The same delay for all packets.
#[derive(Clone, Copy, Debug)]
pub struct ConstantDelay(pub Nanos);

impl DelayModel for ConstantDelay {
    fn delay(&mut self, _depart: SimTime) -> Nanos {
        self.0
    }

    fn constant(&self) -> Option<Nanos> {
        Some(self.0)
    }
}
