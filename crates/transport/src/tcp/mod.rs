//! TCP: one connection, or one subflow of an MPTCP connection.
//!
//! - `segment.rs`: what travels; `endpoint.rs`: handshake (`handshake.rs`) and close around a sender and a receiver;
//!   `ecn.rs`: congestion marks;
//! - `sender/`, `scoreboard.rs` with `sent.rs` and `counted.rs`, `rtt.rs`, `prr.rs`, `rack.rs`, `delivery_rate.rs`: the sending half;
//! - `receiver/`: the receiving half; `ranges.rs`: sets of sequence numbers;
//! - `buffers.rs`: receive-buffer autotuning and the window told of it; `opening.rs`: its beginning; `send_buffer.rs`: size and contents of
//!   the send buffer; `connection.rs`: plain TCP with its two byte streams.

pub mod buffers;
pub mod connection;
pub mod counted;
pub mod delivery_rate;
pub mod ecn;
pub mod endpoint;
mod handshake;
pub mod opening;
pub mod prr;
pub mod rack;
pub mod ranges;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod segment;
pub mod send_buffer;
pub mod sender;
pub mod sent;
