//! Captures of real or simulated connections: TCP, MPTCP, SCTP and UDP, their subflows or paths, and what became of their data.
//!
//! - `file.rs`: pcap and pcapng, `packet_block.rs`: their most frequent block; `link.rs`: link headers; `order.rs`: packets of all interfaces in the order of time;
//!   `place.rs`: who speaks to whom there;
//! - `direction.rs`, `connection.rs`: state of a direction, of subflows and connections; in it `held.rs`: bytes behind gaps,
//!   `waiting.rs`: limits of a sender, `pace.rs`: rates of acknowledgements, `beginning.rs`: initial numbers, `samples.rs`: values over time;
//! - `multipath.rs`: options of MPTCP; `associations.rs`: the same for SCTP, with the TSNs of `association.rs` and the messages of `messages.rs`; `datagrams.rs`: UDP;
//! - `reading.rs`: from packets to that state; `views.rs`: what it says; `tables.rs`: the tables of a run, as far as a capture
//!   knows them, `over_time.rs`: those with a row per sample, `rows.rs`: all others; `anonymous.rs`: captures without addresses, payload and keys.
//!
//! A place is a file, and in it a direction where the file has it: an end sees the subflows of all its interfaces together.
//! May: count what it is shown. May not: guess; what a capture cannot know stays empty.

mod anonymous;
mod association;
mod associations;
mod beginning;
mod connection;
mod copies;
mod datagrams;
mod direction;
mod file;
mod fingerprint;
mod held;
mod later;
mod link;
mod messages;
mod multipath;
mod order;
mod over_time;
mod pace;
mod packet_block;
mod place;
mod reading;
mod round_trips;
mod rows;
mod samples;
mod survey;
mod tables;
mod views;
mod waiting;

pub use anonymous::{Anonymised, anonymise, anonymise_bytes};
pub use connection::{Mode, Side};
pub use direction::Counts;
pub use file::Unreadable;
pub use reading::{Options, Reading, read, read_bytes};
pub use tables::tables;
pub use views::{ConnectionView, FlowView, SubflowView};
