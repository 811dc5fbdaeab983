//! Subflows and the connections that they belong to.
//!
//! May: learn keys and tokens from handshakes. May not: read files.

use transport::mptcp::keys::Key;
use transport::tcp::ranges::RangeSet;
use wire::frame::Ends;

use crate::direction::Direction;
use crate::link::Way;

/// Where packets were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// At the end that opens.
    Client,
    /// At the end that listens.
    Server,
    /// Between them, or the handshake does not tell.
    Unknown,
}

impl Side {
    /// One word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether a subflow speaks MPTCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No option was seen.
    #[default]
    Plain,
    /// MP_CAPABLE or MP_JOIN on the SYN, and no answer yet.
    Asked,
    /// Options both ways, or in the middle of a connection.
    Multipath,
    /// Asked for, and the connection is plain TCP.
    FellBack,
}

/// One subflow at one place. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    /// Number of the file.
    pub(crate) file: u32,
    pub(crate) ends: Ends,
    pub(crate) connection: usize,
    /// It joined a connection.
    pub(crate) joins: bool,
    pub(crate) directions: [Direction; 2],
    pub(crate) mode: Mode,
    /// SYN, SYN/ACK, third ACK.
    pub(crate) handshake: [Option<u64>; 3],
    /// Direction of the first packet from the first end, if the file has it.
    pub(crate) way: Option<Way>,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// A RST, and the reason of MP_TCPRST.
    pub(crate) reset: bool,
    pub(crate) reason: Option<u8>,
}

impl Subflow {
    /// Where it was captured: at the client the SYN/ACK is a round trip late, at the server the third ACK.
    pub(crate) fn side(&self) -> Side {
        match self.way {
            Some(Way::Out) => return Side::Client,
            Some(Way::In) => return Side::Server,
            None => {}
        }
        match self.handshake {
            [Some(syn), Some(answer), Some(third)]
                if answer.saturating_sub(syn) > third.saturating_sub(answer) =>
            {
                Side::Client
            }
            [Some(_), Some(_), Some(_)] => Side::Server,
            _ => Side::Unknown,
        }
    }
}

/// One connection at one place. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) keys: [Option<Key>; 2],
    pub(crate) subflows: Vec<usize>,
    /// Data sequence numbers seen, counted from the initial ones.
    pub(crate) seen: [RangeSet<u64>; 2],
    /// Highest of them.
    pub(crate) highest: [u64; 2],
    /// The initial number where the key was not seen: one before the first that was seen.
    base: [Option<u64>; 2],
}

impl Connection {
    /// Where data sequence numbers of an end begin. `guess`: without its key, by the first mapping that was seen.
    pub(crate) fn initial(&mut self, end: usize, guess: u64) -> u64 {
        match (self.base[end], self.keys[end]) {
            (Some(base), _) => base,
            (None, key) => {
                let base = key.map_or(guess, Key::initial_dsn);
                *self.base[end].insert(base)
            }
        }
    }
}
