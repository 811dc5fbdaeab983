//! Multipath TCP, version 1 (RFC 8684), between hosts whose addresses are interface indices.
//!
//! A connection is composed of parts; each is a type with private state, and knows those that stand below it here only:
//!
//! - `connection.rs`: one end as applications see it; `connection/input.rs`: a segment or a deadline arrives;
//!   `connection/output.rs`: the next segment, `connection/limit.rs`: why there is none;
//! - `meta_timer.rs`: when data is sent again elsewhere, as the kernel has it; `path_manager.rs`: which subflows to open;
//!   `signals.rs`: ADD_ADDR, REMOVE_ADDR, MP_PRIO, MP_FASTCLOSE and what waits of them;
//! - `placement.rs`: which subflow carries which data;
//! - `send_side.rs`, `fragments.rs`, `reinject.rs`: the data sequence space of the sender, its buffer as the kernel keeps it, and data
//!   to be sent again elsewhere;
//! - `subflows.rs`: all subflows; `views.rs`: what schedulers and congestion controls see of them; `deadlines.rs`: the
//!   first of their deadlines;
//! - `subflow.rs`: one subflow, `health.rs`: whether it gets data, `mappings.rs`: data that is out of order there;
//! - `receive_side.rs`: the data sequence space of the receiver and its buffer;
//! - `negotiation.rs`: what the ends have agreed on; `lifetime.rs`: failure and close; `option.rs`: the
//!   options of a segment; `keys.rs`: keys, tokens, HMACs;
//! - `subflow_end.rs`: an end of one subflow alone, at a proxy that breaks the rules of the connection.
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
mod fragments;
mod health;
pub mod keys;
mod lifetime;
mod mappings;
mod meta_timer;
mod negotiation;
pub mod option;
mod path_manager;
mod placement;
mod receive_side;
mod reinject;
mod send_side;
mod signals;
mod subflow;
mod subflow_end;
mod subflows;
mod views;

pub use connection::MptcpConnection;
pub use subflow_end::{SubflowEnd, pass_on};
pub use subflows::MAX_SUBFLOWS;
