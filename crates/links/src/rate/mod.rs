//! Rate models: how fast a transmitter clocks bits. One file each, behind [`RateModel`].
//!
//! Work is counted in bit times nanosecond per second: divided by a rate in bit/s it is nanoseconds.

use std::fmt;

use units::{BitsPerSecond, Bytes, SimTime};

mod acm;
mod builtin;
mod composed;
mod constant;
mod markov;
mod opportunities;
mod piecewise;
mod series;
mod steps;

pub use builtin::{Algorithm, Rates, Registry};
pub use composed::{has_rate_at_instants, least};
pub use constant::ConstantRate;
pub use opportunities::{trace_of, write_opportunities};

/// Work to transmit one byte.
pub const WORK_PER_BYTE: u128 = 8_000_000_000;

/// The rate of one link direction over the time of the run.
///
/// A model that draws random numbers has a stream of its own and draws them in the order of time, so that two runs that
/// differ only in the transport see the same rates.
pub trait RateModel: fmt::Debug + Send {
    /// The earliest instant from `at` on at which a transmission can begin; `NEVER` if there is none. `at` never goes
    /// back.
    fn ready(&mut self, at: SimTime) -> SimTime;

    /// When a transmission of `work` that begins at `start` ends; `NEVER` if it does not. `start` never goes back, and
    /// `ready(start)` is `start`.
    fn end(&mut self, start: SimTime, work: u128) -> SimTime;

    /// Work that could have been done from the start of the run to `until`. `until` never goes back, nor behind the
    /// latest `start`.
    fn capacity(&mut self, until: SimTime) -> u128;

    /// Work done by `now` of the latest transmission, which began at `start`.
    fn served(&mut self, start: SimTime, now: SimTime) -> u128;

    /// The rate at `at`, and the instant until which it holds; `None` if the model has no rate at an instant. `at` never
    /// goes back. A model that answers this is asked nothing else.
    fn piece(&mut self, _at: SimTime) -> Option<(BitsPerSecond, SimTime)> {
        None
    }
}

/// The work of transmitting `size`.
pub fn work_of(size: Bytes) -> u128 {
    u128::from(size.0) * WORK_PER_BYTE
}
