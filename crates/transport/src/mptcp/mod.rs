//! Multipath TCP, version 1 (RFC 8684), between hosts whose addresses are interface indices.
//!
//! - `connection.rs`: the state and what applications see of it; `subflow.rs`: one subflow;
//!   `deadlines.rs`: which of them is due next;
//! - `input.rs`: a segment or a deadline arrives; `output.rs`: the next segment; `schedule.rs`: which subflow carries it;
//!   `limit.rs`: why none does;
//! - `handshake.rs`: MP_CAPABLE, MP_JOIN, ADD_ADDR; `path_manager.rs`: which subflows to open;
//! - `signals.rs`: REMOVE_ADDR, MP_PRIO, MP_FASTCLOSE, MP_TCPRST, and what the application asks for of these;
//! - `send_side.rs`, `receive_side.rs`: data sequence space; `reinject.rs`: data to be sent again elsewhere;
//!   `meta_timer.rs`: when, as the kernel has it;
//! - `keys.rs`: keys, tokens, HMACs.
//!
//! Data sequence numbers count from 1 for the first byte; the initial data sequence number derived from the key
//! belongs to the wire.
//!
//! Deviations: a server accepts mapped data before it has seen the client's key (the keys come with the third ACK
//! or with the first data, whichever survives; until then it confirms nothing); DATA_FIN travels in a segment of its
//! own; no joins from the server's side; a signal that RFC 8684 lets go unconfirmed leaves once (REMOVE_ADDR: once on
//! each subflow).

mod connection;
mod deadlines;
mod handshake;
mod input;
pub mod keys;
mod limit;
mod meta_timer;
mod output;
mod path_manager;
mod receive_side;
mod reinject;
mod schedule;
mod send_side;
mod signals;
mod subflow;

pub use connection::MptcpConnection;

/// Subflows of one connection: the bound of the sets of subflows that are kept as bits.
pub const MAX_SUBFLOWS: usize = 64;
