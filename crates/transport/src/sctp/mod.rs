//! SCTP (RFC 9260): associations of several paths that carry messages on several streams.
//!
//! | File | What it has |
//! |---|---|
//! | `association.rs` | one end: calls the others in the order of the RFC |
//! | `lifecycle.rs` | handshake with cookie, shutdown, abort |
//! | `outgoing.rs` | messages that wait, and how they are cut |
//! | `outqueue.rs`, `plan.rs` | chunks that were sent, and that are queued on paths: the scoreboard |
//! | `fast.rs` | fast retransmissions that need no room |
//! | `reception.rs` | TSNs that have arrived, and when a SACK is due |
//! | `reassembly.rs` | from chunks to messages, in order within a stream |
//! | `paths.rs`, `path.rs`, `window.rs`, `reachability.rs` | paths: timers, windows, HEARTBEATs, errors |
//! | `placement.rs` | concurrent transfer: the scheduler and what it sees |
//! | `chunk.rs`, `gaps.rs`, `tsn.rs` | the body of a packet, sizes on the wire |
//!
//! Deviations: HEARTBEATs have no jitter (RFC 9260 section 8.3), since transports draw no random numbers; data that a gap
//! block has acknowledged is never taken back (section 6.2.1 D iii), since no receiver here does that.

pub mod association;
pub mod chunk;
pub mod config;
mod fast;
pub mod gaps;
pub mod lifecycle;
pub mod outgoing;
mod outqueue;
mod path;
mod paths;
mod placement;
mod plan;
mod reachability;
mod reassembly;
mod reception;
pub mod tsn;
mod window;

pub use association::{Association, AssociationSetup};
pub use config::SctpConfig;
pub use outgoing::UserMessage;
pub use placement::schedules;
pub use reassembly::Delivery;
