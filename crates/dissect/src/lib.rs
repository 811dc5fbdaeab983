//! Captures of real or simulated connections: TCP and MPTCP connections, their subflows, and what became of their data.
//!
//! - `file.rs`: pcap and pcapng; `link.rs`: link headers; `order.rs`: packets of all interfaces in the order of time;
//! - `direction.rs`, `connection.rs`: state of a direction, of subflows and connections;
//! - `reading.rs`: from packets to that state; `tables.rs`: the tables of a run, as far as a capture knows them.
//!
//! A place is a file, and in it a direction where the file has it: an end sees the subflows of all its interfaces together.
//! May: count what it is shown. May not: guess; what a capture cannot know stays empty.

mod connection;
mod direction;
mod file;
mod link;
mod order;
mod reading;
mod tables;

pub use connection::{Mode, Side};
pub use direction::Counts;
pub use file::Unreadable;
pub use reading::{ConnectionView, Options, Reading, SubflowView, read, read_bytes};
pub use tables::tables;
