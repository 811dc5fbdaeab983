//! Packets and their bytes: IPv4, IPv6, UDP, TCP with its options, MPTCP version 1, the options of SCPS-TP, SCTP.
//!
//! - `options.rs`, `mptcp.rs`: options of a TCP header; `sctp.rs`: chunks of SCTP, with `crc32c.rs`; `frame.rs`: IP datagrams
//!   with TCP, UDP or SCTP in them. No context: each decodes any bytes and never panics;
//! - `numbers.rs`, `codec.rs`: between packets of the machines and bytes, in the context of their connection: initial
//!   sequence numbers, window scale, keys, addresses; `payload.rs`: what the payload is made of, `convert.rs` that of a SYN
//!   between a client and a converter.
//!
//! May: turn one into the other. May not: know links, an event queue, a scenario; draw random numbers.

pub mod codec;
pub mod convert;
pub mod crc32c;
pub mod frame;
pub mod mptcp;
pub mod numbers;
pub mod options;
pub mod payload;
pub mod pcapng;
pub mod sctp;

pub use codec::{Codec, CodecError, ConnectionNumber, Opening};
pub use frame::{Ends, Frame, Malformed};
pub use numbers::{EndSettings, Numbers};
