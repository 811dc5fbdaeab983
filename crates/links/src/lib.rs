//! Links: what one direction of a link does to packets over time.
//!
//! May: delay, lose, mark, copy and refuse packets by their size, the time and what their owner says of them
//! ([`Packet`]). May not: know what a packet means.
//!
//! - `fifo.rs`: constant rate and delay between changes, a drop-tail queue: all is known when a packet is offered;
//! - `station.rs`: everything else, decided when packets leave the queue, the transmitter and the link;
//! - `queue/`, `rate/`, `delay/`, `loss/`: models, one file each. To add one: `docs/howto/add-a-link-model.md`.

mod check;
mod counters;
pub mod delay;
mod faults;
mod fifo;
pub mod loss;
pub mod queue;
pub mod rate;
mod series_file;
mod series_units;
mod shaper;
mod station;
mod timestamp;
pub mod trace_file;

pub use counters::Counters;
pub use delay::DelayModel;
pub use faults::Faults;
pub use fifo::{Fifo, Offered, Parameters};
pub use loss::LossModel;
pub use queue::QueueDiscipline;
pub use rate::RateModel;
pub use series_file::{Series, beyond_the_run};
pub use shaper::Shaper;
pub use station::{Arrival, Fate, Models, Station, Streams};

/// A packet as its owner describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The owner's number for it.
    pub id: u32,
    /// Bytes on the wire, not zero.
    pub size: u32,
    /// The same for all packets of a transport connection in this direction, most likely different for others.
    pub flow: u64,
    /// Congestion can be reported by a mark (RFC 3168: ECT).
    pub ect: bool,
    /// May be pushed out by other packets.
    pub low_priority: bool,
}
