//! Connections, subflows and flows of a reading: a flow is a connection with the places at which it was captured.
//!
//! May: answer questions. May not: change anything.

use std::collections::BTreeMap;

use trace::Held;
use wire::frame::Ends;

use crate::connection::{Connection, Join, Mode, Side, Stream, Subflow};
use crate::direction::{Counts, Direction};
use crate::reading::Reading;
use crate::samples::Sample;
use crate::waiting::Cause;

/// A subflow at one place with its counters. Ends are numbered, the one that sent its SYN first.
#[derive(Clone, Copy, Debug)]
pub struct SubflowView<'a> {
    reading: &'a Reading,
    subflow: &'a Subflow,
}

/// A connection at one place.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView<'a> {
    reading: &'a Reading,
    connection: &'a Connection,
}

/// A connection with its places.
#[derive(Clone, Copy, Debug)]
pub struct FlowView<'a> {
    /// Captured at the client and at the server.
    sides: [Option<ConnectionView<'a>>; 2],
    /// One of both, or the only place, which is unknown.
    any: ConnectionView<'a>,
}

impl Reading {
    /// Connections in the order of their first packets; one for each place.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionView<'_>> {
        self.all_connections().iter().map(|connection| ConnectionView { reading: self, connection })
    }

    /// Connections in the order of their first packets, those of both ends together.
    pub fn flows(&self) -> Vec<FlowView<'_>> {
        let mut found: Vec<FlowView<'_>> = Vec::new();
        // By the ends and the number of the first SYN: where the other place of a connection is. Behind a proxy on the first subflow both
        // are others, and the keys the same.
        let mut known = BTreeMap::new();
        let mut by_keys = BTreeMap::new();
        for connection in self.connections() {
            let Some(first) = connection.subflows().next() else { continue };
            let side = connection.side();
            let place = match side {
                Side::Client => 0,
                Side::Server => 1,
                Side::Unknown => {
                    found.push(FlowView { sides: [None, None], any: connection });
                    continue;
                }
            };
            let number = (first.mode() == Mode::Datagrams, first.subflow.directions[0].initial_number());
            let next = found.len();
            let here = known.get(&(first.ends(), number)).copied();
            let keys = connection.keys();
            let index: usize = here.or_else(|| by_keys.get(&keys?).copied()).unwrap_or(next);
            known.entry((first.ends(), number)).or_insert(index);
            if let Some(keys) = keys {
                by_keys.entry(keys).or_insert(index);
            }
            match found.get_mut(index) {
                Some(flow) if flow.sides[place].is_none() => flow.sides[place] = Some(connection),
                _ => {
                    let mut flow = FlowView { sides: [None, None], any: connection };
                    flow.sides[place] = Some(connection);
                    known.insert((first.ends(), number), next);
                    found.push(flow);
                }
            }
        }
        found
    }

    fn seconds(&self, at: u64) -> f64 {
        self.since_start(at) as f64 / 1e9
    }

    /// First to last packet, in seconds.
    pub fn duration(&self) -> f64 {
        self.seconds(self.last())
    }
}

impl<'a> FlowView<'a> {
    /// One of its places.
    pub fn any(&self) -> ConnectionView<'a> {
        self.any
    }

    /// The place of the end that sends this direction of data.
    pub fn sender(&self, end: usize) -> Option<ConnectionView<'a>> {
        self.sides[end]
    }

    /// The place of the end that receives it.
    pub fn receiver(&self, end: usize) -> Option<ConnectionView<'a>> {
        self.sides[1 - end]
    }

    /// One word: `client`, `server`, `both`, `unknown`.
    pub fn side(&self) -> &'static str {
        match self.sides {
            [Some(_), Some(_)] => "both",
            [Some(_), None] => "client",
            [None, Some(_)] => "server",
            [None, None] => "unknown",
        }
    }

    /// Its places.
    pub fn places(&self) -> impl Iterator<Item = ConnectionView<'a>> + use<'a> {
        let [client, server] = self.sides;
        let unknown = if client.is_none() && server.is_none() { Some(self.any) } else { None };
        [client, server, unknown].into_iter().flatten()
    }
}

/// The subflows of a connection at one place, the first of each kind, by what tells them at another place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counterparts<'a> {
    by_ends: BTreeMap<Ends, SubflowView<'a>>,
    /// By token and random number of the SYN.
    by_join: BTreeMap<(u32, u32), SubflowView<'a>>,
    opening: Option<SubflowView<'a>>,
}

impl<'a> Counterparts<'a> {
    /// A subflow that was captured at another place: between the same ends, or, behind a proxy that gave it others, opened by the
    /// same handshake.
    pub(crate) fn of(&self, other: &SubflowView<'_>) -> Option<SubflowView<'a>> {
        self.by_ends.get(&other.ends()).copied().or_else(|| match other.subflow.joins {
            Some(Join::Subflow(token, nonce)) => self.by_join.get(&(token.0, nonce.0)).copied(),
            None if other.opens() => self.opening,
            _ => None,
        })
    }
}

impl<'a> ConnectionView<'a> {
    /// Its subflows in the order of their first packets.
    pub fn subflows(&self) -> impl Iterator<Item = SubflowView<'a>> + use<'a> {
        let reading = self.reading;
        self.connection
            .subflows
            .iter()
            .map(move |index| SubflowView { reading, subflow: reading.subflow(*index) })
    }

    /// The subflow between these ends.
    pub fn subflow(&self, ends: Ends) -> Option<SubflowView<'a>> {
        self.subflows().find(|subflow| subflow.ends() == ends)
    }

    /// Its subflows by what tells them at another place.
    pub(crate) fn counterparts(&self) -> Counterparts<'a> {
        let mut found = Counterparts::default();
        for view in self.subflows() {
            found.by_ends.entry(view.ends()).or_insert(view);
            match view.subflow.joins {
                Some(Join::Subflow(token, nonce)) => {
                    found.by_join.entry((token.0, nonce.0)).or_insert(view);
                }
                None if view.opens() => {
                    found.opening.get_or_insert(view);
                }
                _ => {}
            }
        }
        found
    }

    /// Where it was captured.
    pub fn side(&self) -> Side {
        let sides = self.subflows().map(|subflow| subflow.side());
        sides.fold(Side::Unknown, |found, side| if found == Side::Unknown { side } else { found })
    }

    /// The keys of both ends.
    fn keys(&self) -> Option<[u64; 2]> {
        let [client, server] = self.connection.keys;
        Some([client?.key.0, server?.key.0])
    }

    /// MPTCP is in use.
    pub fn is_multipath(&self) -> bool {
        self.subflows().any(|subflow| matches!(subflow.mode(), Mode::Multipath | Mode::Infinite))
    }

    /// It is an SCTP association.
    pub fn is_association(&self) -> bool {
        self.connection.association.is_some()
    }

    /// It is a conversation over UDP.
    pub fn is_datagrams(&self) -> bool {
        // It has no other subflow.
        self.subflows().next().is_some_and(|subflow| subflow.mode() == Mode::Datagrams)
    }

    /// It counts data for itself, beside its subflows.
    fn has_stream(&self) -> bool {
        self.is_multipath() || self.is_association()
    }

    /// Bytes of the stream that an end has sent, each once: by data sequence numbers, or of the only subflow.
    pub fn bytes(&self, end: usize) -> u64 {
        let stream = self.stream(end);
        if stream.is_stray() {
            // Data that was acknowledged was sent, with a mapping that was captured or without.
            return stream.seen.bytes().max(stream.acknowledged_bytes());
        }
        let mapped = stream.seen.bytes();
        if mapped > 0 && self.has_stream() {
            return mapped;
        }
        self.directions(end).map(Direction::unique).sum()
    }

    /// Payload of an end was seen, and none of it has a mapping: the keys or the options are missing.
    pub fn is_unmapped(&self, end: usize) -> bool {
        self.is_multipath() && self.stream(end).seen.is_empty() && self.bytes(end) > 0
    }

    /// Bytes that are complete at this place: delivered, if it is that of the receiver.
    pub fn complete_bytes(&self, end: usize) -> u64 {
        if self.has_stream() {
            self.stream(end).delivered()
        } else {
            self.directions(end).map(Direction::complete_bytes).sum()
        }
    }

    /// When the last of them came, in seconds from the first packet of all.
    pub fn completed(&self, end: usize) -> Option<f64> {
        let at = if self.has_stream() {
            self.stream(end).delivered_at
        } else {
            self.directions(end).filter_map(|direction| direction.data).map(|[_, _, complete]| complete).max()
        };
        at.map(|at| self.reading.seconds(at))
    }

    /// Bytes that the other end has acknowledged.
    pub fn acknowledged_bytes(&self, end: usize) -> u64 {
        if self.has_stream() {
            self.stream(end).acknowledged_bytes()
        } else {
            self.directions(end).map(Direction::acknowledged_bytes).sum()
        }
    }

    /// When the last acknowledgement of new data came, in seconds from the first packet of all.
    pub fn acknowledged(&self, end: usize) -> Option<f64> {
        let at = if self.has_stream() {
            self.stream(end).acked_at
        } else {
            self.directions(end).filter_map(|direction| direction.heard.acked_at).max()
        };
        at.map(|at| self.reading.seconds(at))
    }

    /// An end has said that it sends no more.
    pub fn is_finished(&self, end: usize) -> bool {
        if self.has_stream() {
            let fell = |direction: &Direction| direction.fallen.is_some() && direction.fin;
            self.stream(end).fin || self.directions(end).any(fell)
        } else {
            self.directions(end).any(|direction| direction.fin)
        }
    }

    /// It was aborted: MP_FASTCLOSE, ABORT of SCTP, or a RST of plain TCP.
    pub fn is_aborted(&self) -> bool {
        self.connection.aborted || !self.has_stream() && self.subflows().any(|subflow| subflow.is_reset())
    }

    /// Its first packet, at this place or at another one of the same file, in seconds from the first packet of all.
    pub fn start(&self) -> f64 {
        self.reading.seconds(self.connection.start)
    }

    /// The last packet of all.
    pub fn end_of_capture(&self) -> f64 {
        self.reading.duration()
    }

    /// First and last time at which an end sent payload, in seconds from the first packet.
    pub fn active(&self, end: usize) -> Option<[f64; 2]> {
        let times = self.directions(end).filter_map(|direction| direction.data);
        let both = times.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1]), 0])?;
        Some([both[0], both[1]].map(|at| self.reading.seconds(at)))
    }

    /// Bytes of an end that are held because of gaps until `until` seconds: all, and those complete on their subflow.
    pub fn held(&self, end: usize, until: f64) -> [Held; 2] {
        let until = self.reading.instant(until);
        if self.has_stream() {
            return [0, 1].map(|which| self.stream(end).held[which].until(until));
        }
        let all =
            self.directions(end).next().map_or_else(Held::default, |direction| direction.held.until(until));
        [all, Held::default()]
    }

    /// Seconds until `until` in which there was nothing to send, the receive window was full, and losses were repaired.
    pub fn waited(&self, end: usize, until: f64) -> [Option<f64>; 3] {
        let at = self.reading.instant(until);
        if self.has_stream() {
            let waiting = &self.stream(end).course.waiting;
            let seconds = |cause| Some(waiting.spent(cause, at) as f64 / 1e9);
            return [seconds(Cause::Nothing), seconds(Cause::Window), None];
        }
        self.subflows().next().map_or([None; 3], |only| {
            let [nothing, window] = only.idle(end, until);
            [Some(nothing), Some(window), Some(only.recovery(end, until))]
        })
    }

    /// Samples of an end: delivered bytes, bytes held, window.
    pub(crate) fn samples(&self, end: usize) -> impl Iterator<Item = &'a Sample> + use<'a> {
        self.stream(end).course.samples.iter()
    }

    fn stream(&self, end: usize) -> &'a Stream {
        &self.connection.streams[end]
    }

    fn directions(&self, end: usize) -> impl Iterator<Item = &'a Direction> + use<'a> {
        self.subflows().map(move |subflow| &*subflow.subflow.directions[end])
    }
}

impl<'a> SubflowView<'a> {
    /// Client and server.
    pub fn ends(&self) -> Ends {
        self.subflow.ends
    }

    /// Where it was captured.
    pub fn side(&self) -> Side {
        self.subflow.side()
    }

    /// Whether it speaks MPTCP.
    pub fn mode(&self) -> Mode {
        self.subflow.mode
    }

    /// MPTCP was wanted, and it is plain TCP, at least from some time on: no options, an infinite mapping, or MP_FAIL without another
    /// subflow.
    pub fn fell_back(&self, alone: bool) -> bool {
        matches!(self.subflow.mode, Mode::FellBack | Mode::Infinite) || alone && self.subflow.ending.failed
    }

    /// It joined a connection.
    pub fn joins(&self) -> bool {
        self.subflow.joins.is_some()
    }

    /// It opened its connection, and was seen to.
    fn opens(&self) -> bool {
        self.subflow.handshake[0].is_some() && self.mode() == Mode::Multipath
    }

    /// It was reset.
    pub fn is_reset(&self) -> bool {
        self.subflow.ending.reset
    }

    /// It is a backup, as one of its ends has asked.
    pub fn is_backup(&self) -> bool {
        self.subflow.joining.backup.contains(&true)
    }

    /// When its first FIN or RST was seen, or REMOVE_ADDR of its address, in seconds from the first packet of all.
    pub fn closed(&self) -> Option<f64> {
        self.subflow.ending.closed.map(|at| self.reading.seconds(at))
    }

    /// The reason code of MP_TCPRST.
    pub fn reset_reason(&self) -> Option<u8> {
        self.subflow.ending.reason
    }

    /// Counters of the packets of one end.
    pub fn counts(&self, end: usize) -> Counts {
        self.subflow.directions[end].counts
    }

    /// Bytes of one end, each once on this subflow.
    pub fn unique_bytes(&self, end: usize) -> u64 {
        self.subflow.directions[end].unique()
    }

    /// Bytes of one end that the other has acknowledged on this subflow.
    pub fn acknowledged_bytes(&self, end: usize) -> u64 {
        match &self.subflow.on_path {
            Some(sides) => sides[end].acked,
            None => self.subflow.directions[end].acknowledged_bytes(),
        }
    }

    /// Mean, least and most of the round trips of data of one end, in seconds, as this place sees them.
    pub fn rtt(&self, end: usize) -> Option<[f64; 3]> {
        self.subflow.directions[end].heard.rtt.seconds()
    }

    /// Mean of the round trips that a sender measures with timestamps, SACK and the handshake, in seconds.
    pub fn mean_rtt(&self, end: usize) -> Option<f64> {
        self.subflow.directions[end].heard.echoed.seconds().map(|[mean, ..]| mean)
    }

    /// The round trip of the handshake, from the first packet to the third, in seconds.
    pub fn handshake(&self) -> Option<f64> {
        let [Some(syn), _, Some(third)] = self.subflow.handshake else { return None };
        Some(third.saturating_sub(syn) as f64 / 1e9)
    }

    /// The most frequent rate at which payload is acknowledged, in bit/s, and its share of what is.
    pub fn pace(&self, end: usize) -> Option<(f64, f64)> {
        self.subflow.directions[end].heard.paces.usual()
    }

    /// Largest payload of a segment of one end.
    pub fn largest(&self, end: usize) -> u64 {
        self.subflow.directions[end].sent().segment
    }

    /// Packets of an end that were sent again, by number and time in seconds from the first packet of all.
    pub fn lost(&self, end: usize) -> impl Iterator<Item = (u64, f64)> + use<'a> {
        let reading = self.reading;
        let lost = self.subflow.directions[end].heard.lost();
        lost.iter().map(move |packet| (packet.number, reading.seconds(packet.at)))
    }

    /// The first times without an answer while data was outstanding, in seconds from the first packet of all.
    pub fn silences(&self, end: usize) -> Vec<[f64; 2]> {
        let found = self.subflow.directions[end].course.waiting.silences(self.reading.last());
        found.into_iter().map(|times| times.map(|at| self.reading.seconds(at))).collect()
    }

    /// When the third packet of the handshake was seen, in seconds from the first packet of all; a path of SCTP: when an end knew that
    /// it works.
    pub fn established(&self, end: usize) -> Option<f64> {
        let known = match &self.subflow.on_path {
            Some(sides) => sides[end].usable,
            None => self.subflow.handshake[2],
        };
        known.map(|at| self.reading.seconds(at))
    }

    /// First and last packet, in seconds from the first packet of all.
    pub fn lifetime(&self) -> [f64; 2] {
        [self.subflow.first, self.subflow.last].map(|at| self.reading.seconds(at))
    }

    /// First and last payload of one end, in seconds from the first packet of all.
    pub fn active(&self, end: usize) -> Option<[f64; 2]> {
        let times = self.subflow.directions[end].data;
        times.map(|[first, last, _]| [first, last].map(|at| self.reading.seconds(at)))
    }

    /// Bytes of an end that are held because of gaps of this subflow, until `until` seconds.
    pub fn held(&self, end: usize, until: f64) -> Held {
        self.subflow.directions[end].held.until(self.reading.instant(until))
    }

    /// Seconds in which losses were repaired, from the first retransmission until all that was sent before it is acknowledged.
    pub fn recovery(&self, end: usize, until: f64) -> f64 {
        self.spent(Cause::Recovery, end, until)
    }

    /// Seconds in which all data was acknowledged, and in which the next segment did not fit into the receive window.
    fn idle(&self, end: usize, until: f64) -> [f64; 2] {
        [Cause::Nothing, Cause::Window].map(|cause| self.spent(cause, end, until))
    }

    fn spent(&self, cause: Cause, end: usize, until: f64) -> f64 {
        self.subflow.directions[end].course.waiting.spent(cause, self.reading.instant(until)) as f64 / 1e9
    }

    /// Seconds without an answer while data was outstanding.
    pub fn silent(&self, end: usize, until: f64) -> f64 {
        self.subflow.directions[end].course.waiting.silent(self.reading.instant(until)) as f64 / 1e9
    }

    /// Samples of an end.
    pub(crate) fn samples(&self, end: usize) -> impl Iterator<Item = &'a Sample> + use<'a> {
        self.subflow.directions[end].course.samples.iter()
    }
}
