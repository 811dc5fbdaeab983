//! From packets to subflows and connections.

use std::collections::BTreeMap;
use std::path::PathBuf;

use transport::mptcp::keys::Token;
use transport::seq::{Position as _, Seq};
use wire::frame::{Ends, Frame, TcpFlags, TcpHeader, Transport};
use wire::mptcp::{Mapping, Mptcp};
use wire::options::TcpOption;

use crate::connection::{Connection, Mode, Side, Subflow};
use crate::direction::{Counts, Direction, Mapped};
use crate::file::{Input, Unreadable};
use crate::link::{Way, datagram};
use crate::order::{InOrder, Ordered};

/// Packets with each MPTCP option, and packets that are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Packets by subtype of the option.
    pub subtypes: [u64; 16],
    /// Packets in all.
    pub packets: u64,
    /// Without an IP header, or with one that is cut off or wrong.
    pub other: u64,
    /// IP packets that are not TCP.
    pub not_tcp: u64,
}

/// A place, the interface there, and the two ends in order.
type Key = (Place, Ends);
/// A file, and the direction of packets from the lower end.
type Place = (u32, Option<Way>);

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Reading {
    subflows: Vec<Subflow>,
    connections: Vec<Connection>,
    /// The last subflow between two ends.
    known: BTreeMap<Key, usize>,
    /// Connections that can be joined, by place and token.
    tokens: BTreeMap<(u32, Option<Way>, u32), usize>,
    options: Options,
    /// Link types that are not known.
    links: Vec<i32>,
    /// Time of the first packet.
    start: Option<u64>,
    problems: Vec<Unreadable>,
}

/// A subflow with its counters, seen from the end that sent its SYN.
#[derive(Clone, Copy, Debug)]
pub struct SubflowView<'a> {
    reading: &'a Reading,
    subflow: &'a Subflow,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView<'a> {
    reading: &'a Reading,
    connection: &'a Connection,
}

/// Reads capture files together. What cannot be read is a problem; the rest is read.
pub fn read(files: &[PathBuf]) -> Reading {
    let inputs: Vec<Input> = files.iter().cloned().map(Input::File).collect();
    read_inputs(&inputs)
}

/// Reads a capture that is in memory.
pub fn read_bytes(bytes: &[u8]) -> Reading {
    read_inputs(&[Input::Bytes(bytes.into())])
}

fn read_inputs(inputs: &[Input]) -> Reading {
    let mut reading = Reading::default();
    let mut packets = InOrder::open(inputs);
    while packets.next(|packet| reading.packet(&packet)) {}
    reading.problems = packets.into_problems();
    for link in &reading.links {
        let reason = format!("packets of link type {link} are not read");
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    reading.check();
    reading
}

impl Reading {
    /// Counters over all packets.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Files whose rest could not be read, and link types that are not known.
    pub fn problems(&self) -> &[Unreadable] {
        &self.problems
    }

    /// Connections in the order of their first packets.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionView<'_>> {
        self.connections.iter().map(|connection| ConnectionView { reading: self, connection })
    }

    fn packet(&mut self, packet: &Ordered<'_>) {
        self.options.packets += 1;
        let record = &packet.record;
        let found = match datagram(record.link, record.bytes) {
            Ok(found) => found,
            Err(link) => {
                if !self.links.contains(&link) {
                    self.links.push(link);
                }
                None
            }
        };
        let Some((datagram, frame)) = found.and_then(|found| Some((found, Frame::decode(found.bytes).ok()?)))
        else {
            self.options.other += 1;
            return;
        };
        let Transport::Tcp(header) = &frame.transport else {
            self.options.not_tcp += 1;
            return;
        };
        self.start.get_or_insert(record.at);
        let way = record.way.or(datagram.way);
        self.segment(record.at, (packet.file, way), &frame, header);
    }

    fn segment(
        &mut self,
        at: u64,
        (file, way): (u32, Option<Way>),
        frame: &Frame<'_>,
        header: &TcpHeader<'_>,
    ) {
        let opens = header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK);
        let reversed = frame.ends.destination < frame.ends.source;
        let lower = if reversed { frame.ends.reversed() } else { frame.ends };
        let place = (file, if reversed { way.map(opposite) } else { way });
        let known = self.known.get(&(place, lower)).copied();
        let index = match known {
            // A SYN with another number on used ports opens another connection.
            Some(index) if !(opens && self.is_another(index, frame.ends, header)) => index,
            _ => self.open(at, (place, lower), (file, way), frame.ends, header),
        };
        let end = usize::from(self.subflows[index].ends != frame.ends);
        let payload = frame.payload_len as u64;
        let mapping = self.mptcp(index, end, header, payload > 0);
        let subflow = &mut self.subflows[index];
        note_handshake(subflow, at, end, header);
        let direction = &mut subflow.directions[end];
        direction.counts.packets += 1;
        let syn = header.flags.has(TcpFlags::SYN);
        let seq = direction.seq(header.seq, syn);
        if let Some(mapping) = mapping {
            let mapped = self.mapped(index, end, seq, mapping);
            self.subflows[index].directions[end].map(mapped);
        }
        if header.flags.has(TcpFlags::ACK) {
            let bare = payload == 0
                && ![TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST].iter().any(|flag| header.flags.has(*flag));
            let subflow = &mut self.subflows[index];
            subflow.directions[end].note_ack(header.ack, header.window, bare);
            if let Some(ack) = subflow.directions[1 - end].acknowledged(header.ack) {
                subflow.directions[1 - end].ack(at, ack);
            }
        }
        if payload > 0 {
            let first = if syn { Seq(seq.distance() + 1) } else { seq };
            self.data(at, index, end, first, payload);
        }
    }

    /// New payload of a subflow, and whether the connection has had it before.
    fn data(&mut self, at: u64, index: usize, end: usize, seq: Seq, len: u64) {
        let subflow = &mut self.subflows[index];
        let new = subflow.directions[end].data(at, seq, len);
        if subflow.mode != Mode::Multipath {
            return;
        }
        let connection = &mut self.connections[subflow.connection];
        // Subflows of a connection are opened by its client.
        for part in new {
            let direction = &mut subflow.directions[end];
            match direction.mapped(part) {
                Some(mapped) => {
                    let fresh = connection.seen[end].insert(mapped);
                    connection.highest[end] = connection.highest[end].max(mapped.end);
                    direction.counts.reinjected_bytes += part.len() - fresh;
                }
                None => direction.counts.unmapped_bytes += part.len(),
            }
        }
    }

    /// A SYN that does not repeat the one of this subflow.
    fn is_another(&self, index: usize, ends: Ends, header: &TcpHeader<'_>) -> bool {
        let subflow = &self.subflows[index];
        let direction = &subflow.directions[usize::from(subflow.ends != ends)];
        let repeats = direction.acknowledged(header.seq) == Some(Seq::SYN);
        !(direction.synchronised && repeats) && direction.counts.packets > 0
    }

    fn open(&mut self, at: u64, key: Key, (file, way): Place, ends: Ends, header: &TcpHeader<'_>) -> usize {
        let syn = header.flags.has(TcpFlags::SYN);
        let answer = syn && header.flags.has(TcpFlags::ACK);
        // Without a SYN the sender of the first packet stands for the client.
        let (ends, way) = if answer { (ends.reversed(), way.map(opposite)) } else { (ends, way) };
        let mut token = None;
        for option in header.options {
            if let TcpOption::Mptcp(Mptcp::JoinSyn { token: of, .. }) = option {
                token = Some(of);
            }
        }
        let joined = token.and_then(|Token(token)| self.tokens.get(&(file, way, token)).copied());
        let connection = joined.unwrap_or_else(|| {
            self.connections.push(Connection::default());
            self.connections.len() - 1
        });
        let index = self.subflows.len();
        self.connections[connection].subflows.push(index);
        self.subflows.push(Subflow {
            file,
            ends,
            connection,
            joins: token.is_some(),
            directions: Default::default(),
            mode: Mode::Plain,
            handshake: [None; 3],
            way,
            first: at,
            last: at,
            reset: false,
            reason: None,
        });
        self.known.insert(key, index);
        index
    }

    /// MPTCP options of a segment: keys, the mode, and the mapping, if there is one.
    fn mptcp(&mut self, index: usize, end: usize, header: &TcpHeader<'_>, payload: bool) -> Option<Mapping> {
        let (mut mapping, mut any) = (None, false);
        let syn = header.flags.has(TcpFlags::SYN);
        for option in header.options {
            let TcpOption::Mptcp(option) = option else { continue };
            any = true;
            self.options.subtypes[subtype(&option)] += 1;
            match option {
                Mptcp::Capable { sender, receiver, data_len, .. } => {
                    self.learn(index, [(end, sender), (1 - end, receiver)]);
                    if let (Some(len), Some(key)) = (data_len, sender) {
                        let dsn = wire::mptcp::Number::Wide(key.initial_dsn().wrapping_add(1));
                        mapping = Some(Mapping { dsn, ssn: 1, len, checksum: None });
                    }
                }
                Mptcp::Dss { mapping: Some(found), .. } => {
                    if found.len == 0 {
                        // RFC 8684 section 3.7: an infinite mapping ends the use of MPTCP.
                        self.subflows[index].mode = Mode::FellBack;
                    } else {
                        mapping = Some(found);
                    }
                }
                Mptcp::Reset { reason, .. } => self.subflows[index].reason = Some(reason),
                _ => {}
            }
        }
        let subflow = &mut self.subflows[index];
        subflow.mode = match (subflow.mode, any) {
            (Mode::Plain, true) if syn && end == 0 => Mode::Asked,
            // The capture began in the middle.
            (Mode::Plain | Mode::Asked, true) => Mode::Multipath,
            (Mode::Asked, false) if end == 1 && (syn || payload) => Mode::FellBack,
            (mode, _) => mode,
        };
        mapping
    }

    fn learn(&mut self, index: usize, found: [(usize, Option<transport::mptcp::keys::Key>); 2]) {
        let subflow = &self.subflows[index];
        let connection = &mut self.connections[subflow.connection];
        for (end, key) in found {
            if let Some(key) = key
                && connection.keys[end].is_none()
            {
                connection.keys[end] = Some(key);
            }
        }
        // Joins come from the client, with the token of the server.
        if let Some(key) = connection.keys[1] {
            self.tokens.entry((subflow.file, subflow.way, key.token().0)).or_insert(subflow.connection);
        }
    }

    /// The mapping in numbers that count from the initial ones.
    fn mapped(&mut self, index: usize, end: usize, seq: Seq, mapping: Mapping) -> Mapped {
        if !self.subflows[index].directions[end].synchronised {
            // The number of the subflow counts from a SYN that was not captured.
            return Mapped { seq: 0, dsn: 0, len: 0 };
        }
        let joins = self.subflows[index].joins;
        let connection = &mut self.connections[self.subflows[index].connection];
        let number = mapping.dsn.near(connection.highest[end]);
        // The third ACK may be lost, and overtaken by data: on the first subflow both numbers begin together.
        let behind = if joins { 1 } else { u64::from(mapping.ssn.max(1)) };
        let initial = connection.initial(end, number.wrapping_sub(behind));
        let near = initial.wrapping_add(connection.highest[end]);
        let dsn = mapping.dsn.near(near).wrapping_sub(initial);
        // The field has the low half of the number, which is close to that of the segment.
        let behind = (seq.distance() as u32).wrapping_sub(mapping.ssn);
        let start = seq.distance().wrapping_sub(u64::from(behind));
        Mapped { seq: start, dsn, len: u64::from(mapping.len) }
    }

    fn check(&self) {
        debug_assert!(
            self.subflows.iter().all(|subflow| subflow.connection < self.connections.len()),
            "each subflow belongs to a connection"
        );
        let listed: usize = self.connections.iter().map(|connection| connection.subflows.len()).sum();
        debug_assert_eq!(listed, self.subflows.len(), "each subflow belongs to one connection");
    }
}

fn opposite(way: Way) -> Way {
    match way {
        Way::In => Way::Out,
        Way::Out => Way::In,
    }
}

fn note_handshake(subflow: &mut Subflow, at: u64, end: usize, header: &TcpHeader<'_>) {
    let has = |flag| header.flags.has(flag);
    let step = match (has(TcpFlags::SYN), has(TcpFlags::ACK), end) {
        (true, false, 0) => Some(0),
        (true, true, 1) => Some(1),
        (false, true, 0) if subflow.handshake[1].is_some() => Some(2),
        _ => None,
    };
    if let Some(step) = step {
        subflow.handshake[step].get_or_insert(at);
    }
    subflow.reset |= has(TcpFlags::RST);
    subflow.last = at;
}

fn subtype(option: &Mptcp<'_>) -> usize {
    match option {
        Mptcp::Capable { .. } => 0,
        Mptcp::JoinSyn { .. } | Mptcp::JoinSynAck { .. } | Mptcp::JoinAck { .. } => 1,
        Mptcp::Dss { .. } => 2,
        Mptcp::AddAddr { .. } => 3,
        Mptcp::RemoveAddr(_) => 4,
        Mptcp::Prio { .. } => 5,
        Mptcp::Fail { .. } => 6,
        Mptcp::FastClose { .. } => 7,
        Mptcp::Reset { .. } => 8,
        Mptcp::Unknown(body) => body.first().map_or(15, |first| usize::from(first >> 4)),
    }
}

impl<'a> ConnectionView<'a> {
    /// Its subflows in the order of their first packets.
    pub fn subflows(&self) -> impl Iterator<Item = SubflowView<'a>> + use<'a> {
        let reading = self.reading;
        self.connection
            .subflows
            .iter()
            .map(move |index| SubflowView { reading, subflow: &reading.subflows[*index] })
    }

    /// Bytes of the stream that an end has sent, each once: by data sequence numbers, or of the only subflow.
    pub fn bytes(&self, end: usize) -> u64 {
        let mapped = self.connection.seen[end].bytes();
        if mapped > 0 {
            return mapped;
        }
        self.subflows().map(|subflow| subflow.subflow.directions[end].unique()).sum()
    }

    /// First and last time at which an end sent payload, in seconds from the first packet.
    pub fn active(&self, end: usize) -> Option<[f64; 2]> {
        let times = self.subflows().filter_map(|subflow| subflow.subflow.directions[end].data);
        let both = times.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])])?;
        Some(both.map(|at| self.reading.seconds(at)))
    }
}

impl SubflowView<'_> {
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

    /// It joined a connection.
    pub fn joins(&self) -> bool {
        self.subflow.joins
    }

    /// It was reset.
    pub fn is_reset(&self) -> bool {
        self.subflow.reset
    }

    /// The reason code of MP_TCPRST.
    pub fn reset_reason(&self) -> Option<u8> {
        self.subflow.reason
    }

    /// Counters of the packets of one end.
    pub fn counts(&self, end: usize) -> Counts {
        self.subflow.directions[end].counts
    }

    /// Bytes of one end, each once on this subflow.
    pub fn unique_bytes(&self, end: usize) -> u64 {
        self.subflow.directions[end].unique()
    }

    /// Mean and least of the round trips of data of one end, in seconds, as this place sees them.
    pub fn rtt(&self, end: usize) -> Option<[f64; 2]> {
        let (sum, count, least) = self.subflow.directions[end].rtt;
        (count > 0).then(|| [sum as f64 / count as f64 * 1e-9, least as f64 * 1e-9])
    }

    /// When the third packet of the handshake was seen, in seconds from the first packet of all.
    pub fn established(&self) -> Option<f64> {
        self.subflow.handshake[2].map(|at| self.reading.seconds(at))
    }

    /// First and last packet, in seconds from the first packet of all.
    pub fn lifetime(&self) -> [f64; 2] {
        [self.subflow.first, self.subflow.last].map(|at| self.reading.seconds(at))
    }

    /// First and last payload of one end, in seconds from the first packet of all.
    pub fn active(&self, end: usize) -> Option<[f64; 2]> {
        let direction: &Direction = &self.subflow.directions[end];
        direction.data.map(|times| times.map(|at| self.reading.seconds(at)))
    }
}

impl Reading {
    fn seconds(&self, at: u64) -> f64 {
        at.saturating_sub(self.start.unwrap_or(0)) as f64 * 1e-9
    }
}
