//! Subflows and the connections that they belong to.
//!
//! May: learn keys and tokens from handshakes. May not: read files.

use transport::mptcp::keys::{Key, Nonce, Token};
use transport::tcp::ranges::{Range, RangeSet};
use wire::frame::Ends;

use crate::association::{Association, OnPath};
use crate::direction::Direction;
use crate::held::Holding;
use crate::later::Later;
use crate::link::Way;
use crate::place::{Place, opposite};
use crate::samples::{Course, Sample};
use crate::waiting::Sent;

/// Least ratio of the waits of both ends, where answers tell the side.
const CLEARLY: u64 = 3;

/// Room for data sequence numbers below the first one that was seen: those of subflows that are slower.
const STRAY: u64 = 1 << 32;

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
    /// It was MPTCP until it fell back: data follows without mappings.
    Infinite,
    /// A path of an SCTP association.
    Association,
    /// UDP.
    Datagrams,
}

impl Mode {
    /// Its connection counts data for itself, beside its subflows.
    pub(crate) fn has_stream(self) -> bool {
        matches!(self, Self::Multipath | Self::Infinite | Self::Association)
    }
}

/// How a subflow or path joins a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// MP_JOIN with the token of the receiver and a random number.
    Subflow(Token, Nonce),
    /// A path of an SCTP association.
    Path,
}

/// How a subflow ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    /// When the first FIN or RST of either end was seen, or REMOVE_ADDR of an address that it uses.
    pub(crate) closed: Option<u64>,
    /// A RST was seen.
    pub(crate) reset: bool,
    /// The reason of MP_TCPRST.
    pub(crate) reason: Option<u8>,
    /// MP_FAIL was seen: the subflow ends, or falls back if it is the only one.
    pub(crate) failed: bool,
    /// Its receiver has discarded what it held because of gaps, and takes no more.
    pub(crate) abandoned: bool,
}

/// Properties of a subflow that its ends tell when it is opened, and may change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Joining {
    /// An end asks for a backup, by end: with MP_JOIN, or the last time with MP_PRIO.
    pub(crate) backup: [bool; 2],
    /// Address ID by end; `None`: not seen.
    pub(crate) ids: [Option<u8>; 2],
}

/// One subflow at one place. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    /// Number of the file.
    pub(crate) file: u32,
    pub(crate) ends: Ends,
    pub(crate) connection: usize,
    /// How it joined a connection; `None`: it opened one.
    pub(crate) joins: Option<Join>,
    pub(crate) directions: [Later<Direction>; 2],
    pub(crate) mode: Mode,
    /// SYN, SYN/ACK, third ACK.
    pub(crate) handshake: [Option<u64>; 3],
    /// Without a SYN, by end: the least time from a timestamp of the other end to the first packet here that echoes it.
    pub(crate) answers: [Option<u64>; 2],
    /// Direction of the first packet from the first end, if the file has it.
    pub(crate) way: Option<Way>,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Its connection is not known yet: the handshake was not captured, or the one of the connection.
    pub(crate) stray: bool,
    pub(crate) joining: Joining,
    pub(crate) ending: Ending,
    /// With SCTP: state that only its paths have.
    pub(crate) on_path: Option<Box<[OnPath; 2]>>,
}

impl Subflow {
    /// One whose first packet comes at `at`; `ends` and direction are those of its client.
    pub(crate) fn open(at: u64, (file, way): Place, ends: Ends, connection: usize, mode: Mode) -> Self {
        Self {
            file,
            ends,
            connection,
            joins: None,
            directions: Default::default(),
            mode,
            handshake: [None; 3],
            answers: [None; 2],
            way,
            first: at,
            last: at,
            stray: false,
            joining: Joining::default(),
            ending: Ending::default(),
            on_path: None,
        }
    }

    /// Takes the other end for the client.
    pub(crate) fn turn(&mut self) {
        self.ends = self.ends.reversed();
        self.way = self.way.map(opposite);
        self.directions.swap(0, 1);
        self.answers.swap(0, 1);
        self.joining.ids.swap(0, 1);
        self.joining.backup.swap(0, 1);
    }

    /// The handshake is complete, or was not captured.
    pub(crate) fn is_established(&self) -> bool {
        self.handshake[2].is_some() || self.handshake[0].is_none()
    }

    /// No packet of the other end has been seen, and none of this end but SYNs. One that joins is not meant: others share its stream.
    pub(crate) fn only_asks(&self) -> bool {
        let [own, other] = &self.directions;
        let asked = self.handshake[0].is_some() && !self.ending.reset && own.counts.bytes == 0;
        self.joins.is_none() && self.on_path.is_none() && other.is_blank() && (own.is_blank() || asked)
    }

    /// A packet of `end` echoes a timestamp of the other one.
    pub(crate) fn note_echo(&mut self, at: u64, end: usize, echo: u32) {
        if self.way.is_none()
            && self.handshake[0].is_none()
            && let Some(heard) = self.directions[1 - end].heard.stamped(echo)
        {
            let waited = at.saturating_sub(heard);
            self.answers[end] = Some(self.answers[end].map_or(waited, |least| least.min(waited)));
        }
    }

    /// Where it was captured: at the client the SYN/ACK is a round trip late, at the server the third ACK. Without a SYN echoes of timestamps
    /// tell: those of the other end are late.
    pub(crate) fn side(&self) -> Side {
        match self.way {
            Some(Way::Out) => return Side::Client,
            Some(Way::In) => return Side::Server,
            None => {}
        }
        match (self.handshake, self.answers) {
            ([Some(syn), Some(answer), Some(third)], _) => {
                nearer([third.saturating_sub(answer), answer.saturating_sub(syn)])
            }
            ([None, ..], [Some(client), Some(server)]) => nearer([client, server]),
            _ => Side::Unknown,
        }
    }
}

/// The side whose end answers sooner. Between hosts of one rack the times of their software are as long as the round trip.
fn nearer(answers: [u64; 2]) -> Side {
    match answers.map(|wait| wait.saturating_mul(CLEARLY)) {
        [client, _] if client < answers[1] => Side::Client,
        [_, server] if server < answers[0] => Side::Server,
        _ => Side::Unknown,
    }
}

/// A key that was seen, and the initial data sequence number that is computed of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenKey {
    pub(crate) key: Key,
    initial: u64,
}

impl SeenKey {
    pub(crate) fn new(key: Key) -> Self {
        Self { key, initial: key.initial_dsn() }
    }
}

/// One connection at one place. Arrays are by end, the one that opened it first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) keys: [Option<SeenKey>; 2],
    pub(crate) subflows: Vec<usize>,
    pub(crate) streams: [Later<Stream>; 2],
    /// Its first packet at any place of the file.
    pub(crate) start: u64,
    /// MP_FASTCLOSE, or ABORT of SCTP, was seen.
    pub(crate) aborted: bool,
    /// Subtypes of the options of MPTCP that were seen, a bit each.
    pub(crate) subtypes: u16,
    /// With SCTP: TSNs and tags.
    pub(crate) association: Option<Box<Association>>,
}

/// The data of one end of a connection. Data sequence numbers are counted from the initial ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Numbers seen.
    pub(crate) seen: RangeSet<u64>,
    /// Highest of them.
    pub(crate) highest: u64,
    /// The initial number where the key was not seen: one before the first that was seen.
    base: Option<u64>,
    /// Numbers that are complete on their subflow and wait for others.
    early: RangeSet<u64>,
    /// Delivered in order up to here; `None`: nothing was complete yet.
    next: Option<u64>,
    /// When the last of them was.
    pub(crate) delivered_at: Option<u64>,
    /// Acknowledged up to here by the other end, and when.
    pub(crate) acked: u64,
    pub(crate) acked_at: Option<u64>,
    /// Bytes behind gaps of subflows.
    on_subflows: u64,
    /// Bytes held because of gaps of subflows or of the connection; those of the connection alone.
    pub(crate) held: [Holding; 2],
    pub(crate) course: Course,
    /// DATA_FIN was seen, or FIN after a fallback.
    pub(crate) fin: bool,
    /// Where the numbers of a capture begin that has neither key nor handshake: with the first acknowledgement.
    stray: Option<u64>,
    /// Its last number, that of the DATA_FIN, if the capture has no handshake.
    last: Option<u64>,
    /// Window that the other end offers.
    pub(crate) window: Option<u64>,
}

impl Connection {
    /// Where data sequence numbers of an end begin. `guess`: without its key, by the first mapping that was seen.
    pub(crate) fn initial(&mut self, end: usize, guess: u64) -> u64 {
        let stream = &mut self.streams[end];
        match (stream.base, self.keys[end]) {
            (Some(base), _) => base,
            (None, seen) => *stream.base.insert(seen.map_or(guess, |seen| seen.initial)),
        }
    }

    /// The same, if it is known.
    pub(crate) fn known_initial(&self, end: usize) -> Option<u64> {
        self.streams[end].base.or_else(|| self.keys[end].map(|seen| seen.initial))
    }
}

impl Stream {
    /// The capture has neither its key nor its handshake: numbers are counted from far below this one.
    pub(crate) fn count_from(&mut self, number: u64) {
        if self.base.is_none() {
            (self.base, self.stray) = (Some(number.wrapping_sub(STRAY)), Some(0));
        }
    }

    /// Neither key nor handshake was captured.
    pub(crate) fn is_stray(&self) -> bool {
        self.stray.is_some()
    }

    /// A mapping, which has the number of the DATA_FIN as its last if there is one.
    pub(crate) fn note_mapping(&mut self, dsn: u64, len: u16) {
        if self.is_stray() && self.fin {
            self.last = self.last.max(Some(dsn.saturating_add(u64::from(len)).saturating_sub(1)));
        }
    }

    /// Data that is complete on its subflow.
    pub(crate) fn complete(&mut self, at: u64, range: Range<u64>) {
        let first = match self.stray {
            None => 1,
            // Before the first acknowledgement it is not known what is complete.
            Some(0) => return,
            Some(first) => first,
        };
        let next = *self.next.get_or_insert(first);
        let rest = Range::new(range.start.max(next), range.end.max(next));
        if rest.start == next && self.early.is_empty() {
            self.next = Some(rest.end);
        } else {
            self.early.insert(rest);
            self.next = Some(self.early.take_from(next));
        }
        if self.next > Some(next) {
            self.delivered_at = Some(at);
        }
        self.check();
    }

    /// Bytes behind gaps of a subflow were `before` and are `after`. Keeps the record of what is held.
    pub(crate) fn hold(&mut self, (start, at): (u64, u64), before: u64, after: u64) {
        self.on_subflows = (self.on_subflows + after).saturating_sub(before);
        let early = self.early.bytes();
        self.held[0].set(start, at, self.on_subflows.saturating_add(early));
        self.held[1].set(start, at, early);
    }

    /// Bytes delivered in order: the first data sequence number is 1.
    pub(crate) fn delivered(&self) -> u64 {
        self.next.map_or(0, |next| next.saturating_sub(self.stray.unwrap_or(1)))
    }

    /// A Data ACK of the other end.
    pub(crate) fn ack(&mut self, at: u64, ack: u64) {
        if self.stray == Some(0) {
            (self.stray, self.acked) = (Some(ack), ack);
            return;
        }
        // An acknowledgement of what was never sent belongs to a damaged file. Without a handshake part of the data has no mapping.
        let most = if self.is_stray() {
            self.acked.saturating_add(STRAY / 2)
        } else {
            self.highest.saturating_add(1)
        };
        if ack > self.acked && ack <= most {
            (self.acked, self.acked_at) = (ack, Some(at));
        }
    }

    /// Bytes that the other end has acknowledged; DATA_FIN counts in an acknowledgement.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        match self.stray {
            None => self.acked.saturating_sub(1).min(self.seen.bytes()),
            Some(first) => self.acked.min(self.last.unwrap_or(u64::MAX)).saturating_sub(first),
        }
    }

    /// Positions after a packet.
    pub(crate) fn sent(&self, segment: u64, rtt: u64) -> Sent {
        Sent { highest: self.highest, acked: self.acked, window: self.window, segment, rtt }
    }

    /// Its values for a sample.
    pub(crate) fn sample(&self) -> Sample {
        Sample {
            at: 0,
            fresh: self.delivered(),
            acked: self.acknowledged_bytes(),
            waiting: self.held[0].now(),
            other: self.window.unwrap_or(0),
            ..Sample::default()
        }
    }

    /// User data of an association that is new here, and what of it is delivered by now.
    pub(crate) fn note_chunks(&mut self, (start, at): (u64, u64), fresh: u64, delivered: u64, waiting: u64) {
        let first = self.highest.max(1);
        let range = Range::new(first, first.saturating_add(fresh));
        self.seen.insert(range);
        self.highest = range.end;
        let next = delivered.saturating_add(1);
        if self.next.is_none_or(|before| next > before) {
            self.delivered_at = if delivered > 0 { Some(at) } else { None };
            self.next = Some(next);
        }
        self.held[0].set(start, at, waiting);
    }

    fn check(&self) {
        debug_assert!(
            self.early.iter().next().is_none_or(|first| Some(first.start) > self.next),
            "early data lies behind what was delivered"
        );
    }
}
