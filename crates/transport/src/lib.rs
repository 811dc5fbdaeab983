//! Transport protocols as state machines without I/O and without a clock: TCP, MPTCP and UDP.
//!
//! Time is an argument; packets go in (`on_packet`), packets come out (`poll_transmit`), the next deadline is
//! asked for (`next_deadline`). TCP and MPTCP speak of ranges of a byte stream, UDP of numbered datagrams, never of bytes,
//! so one implementation serves the simulator, captures, fuzzing and real endpoints.
//! May: hold protocol state, ask the congestion control and the scheduler. May not: know links, an event queue,
//! a socket, the wall clock; draw random numbers.

mod address;
mod arrival;
pub mod config;
mod connection;
pub mod convert;
mod departure;
mod limit;
pub mod mptcp;
pub mod packet;
mod role;
pub mod sctp;
pub mod seq;
mod setup;
pub mod space;
mod stats;
mod summary;
pub mod tcp;
pub mod udp;
mod usual;
mod wire_size;

pub use address::AddressPair;
pub use arrival::Arrival;
pub use connection::Connection;
pub use departure::Departure;
pub use limit::Limit;
pub use role::{AbortForm, Role};
pub use setup::{NewCongestion, Setup};
pub use stats::{Intake, SubflowGauges, SubflowStats};
pub use summary::Summary;
pub use tcp::sender::SenderState;
