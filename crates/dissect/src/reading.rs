//! From packets to subflows and connections.

use std::collections::BTreeMap;
use std::path::PathBuf;

use transport::seq::{Position as _, Seq};
use wire::frame::{Ends, Frame, Malformed, TcpFlags, TcpHeader, Transport};
use wire::mptcp::Mptcp;
use wire::options::TcpOption;

use crate::associations::Associations;
use crate::connection::{Connection, Join, Mode, Stream, Subflow};
use crate::direction::{Acknowledged, Direction};
use crate::file::{Input, Unreadable};
use crate::link::datagram;
use crate::multipath::{Known, Signal};
use crate::order::{InOrder, Ordered};
use crate::place::{Key, Place, opposite};
use crate::samples::Clock;

/// A capture may go on for a day after its last packet.
const LONGEST_END: u64 = 86_400_000_000_000;

/// A packet that has fewer bytes has no whole header of IPv4, or of IPv6.
const SHORT: [usize; 2] = [20, 40];
/// The cure for packets that are cut off.
const LARGER: &str = "capture with a larger snap length (tcpdump -s 128)";

/// Packets with each MPTCP option, and packets that are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Packets by subtype of the option.
    pub subtypes: [u64; 16],
    /// Packets in all.
    pub packets: u64,
    /// Without an IP header, or with one that is cut off or wrong.
    pub other: u64,
    /// Packets among these that are cut off within headers.
    pub cut: u64,
    /// IP packets that are none of TCP, SCTP and UDP.
    pub not_read: u64,
}

/// Options of MPTCP by subtype (RFC 8684 section 8.1).
const MPTCP_OPTIONS: [&str; 9] = [
    "MP_CAPABLE",
    "MP_JOIN",
    "DSS",
    "ADD_ADDR",
    "REMOVE_ADDR",
    "MP_PRIO",
    "MP_FAIL",
    "MP_FASTCLOSE",
    "MP_TCPRST",
];

impl Options {
    /// Packets by name of the option, without options that no packet has.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let named = MPTCP_OPTIONS.into_iter().zip(self.subtypes);
        let others = self.subtypes.iter().skip(MPTCP_OPTIONS.len()).sum();
        named.chain([("other", others)]).filter(|(_, packets)| *packets > 0)
    }
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Reading {
    pub(crate) subflows: Vec<Subflow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) associations: Associations,
    /// The last subflow between two ends.
    known: BTreeMap<Key, usize>,
    /// The same for UDP.
    pub(crate) conversations: BTreeMap<Key, usize>,
    pub(crate) multipath: Known,
    pub(crate) options: Options,
    /// Link types that are not known.
    links: Vec<i32>,
    /// Times of the first and the last packet that was read.
    span: Option<[u64; 2]>,
    /// When the capture ended, if a file says it.
    ended: Option<u64>,
    clock: Clock,
    problems: Vec<Unreadable>,
    /// First packet of connections by file, ends and sequence number, at whichever place of it.
    pub(crate) opened: BTreeMap<(u32, Ends, u32), u64>,
}

/// Reads capture files together. A part that cannot be read is noted as a problem; the rest is read.
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
    reading.ended = packets.ended();
    while packets.next(|packet| reading.packet(&packet)) {}
    reading.problems = packets.into_problems();
    for link in &reading.links {
        let reason = format!("packets of link type {link} are not read");
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    let (headers, options) = (reading.options.cut, reading.multipath.cut);
    if headers > 0 {
        let reason = format!("{headers} packets are cut off within their headers, and not read: {LARGER}");
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    if options > 0 {
        let reason = format!(
            "options of {options} TCP packets are cut off, so that MPTCP is not seen whole: {LARGER}"
        );
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    if reading.multipath.cut_acks > 0 {
        let reason = format!(
            "SACK blocks or timestamps of {} TCP packets are cut off, so that round trips are missing: {LARGER}",
            reading.multipath.cut_acks
        );
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    let (cut, sacks) = (reading.associations.cut, reading.associations.cut_sacks);
    if sacks > 0 {
        let reason = format!(
            "gap blocks of {sacks} SACKs are cut off, so that chunks seem to be in flight that have arrived, and round trips are too long: capture whole packets (tcpdump -s 0, ropewalk run --snap 0)"
        );
        reading.problems.push(Unreadable { file: PathBuf::new(), reason });
    }
    if cut > 0 {
        let reason = format!(
            "{cut} bytes of SCTP chunks were cut off: a packet with several needs a larger snap length (tcpdump -s 0)"
        );
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

    pub(crate) fn all_connections(&self) -> &[Connection] {
        &self.connections
    }

    pub(crate) fn subflow(&self, index: usize) -> &Subflow {
        &self.subflows[index]
    }

    /// Nanoseconds from the first packet.
    pub(crate) fn since_start(&self, at: u64) -> u64 {
        at.saturating_sub(self.span.map_or(0, |[start, _]| start))
    }

    /// Number of all samples.
    pub(crate) fn samples(&self) -> usize {
        let directions = self.subflows.iter().flat_map(|subflow| &subflow.directions);
        let streams = self.connections.iter().flat_map(|connection| &connection.streams);
        let of_directions: usize = directions.map(|direction| direction.course.samples.iter().count()).sum();
        of_directions + streams.map(|stream| stream.course.samples.iter().count()).sum::<usize>()
    }

    /// The end of the capture, or the last packet.
    pub(crate) fn last(&self) -> u64 {
        let last = self.span.map_or(0, |[_, last]| last);
        // An end that lies years behind is a damaged one.
        self.ended.filter(|end| (last..last.saturating_add(LONGEST_END)).contains(end)).unwrap_or(last)
    }

    /// The instant that lies `seconds` behind the first packet, to the nearest nanosecond.
    pub(crate) fn instant(&self, seconds: f64) -> u64 {
        let start = self.span.map_or(0, |[start, _]| start);
        start.saturating_add((seconds * 1e9).round() as u64)
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
        let decoded = found.map(|found| (found, Frame::decode_of(found.bytes, record.sent(found.bytes))));
        let Some((datagram, Ok(frame))) = decoded else {
            self.options.other += 1;
            let bytes = decoded.map_or(record.bytes, |(found, _)| found.bytes);
            let six = bytes.first().is_some_and(|first| first >> 4 == 6);
            let short = bytes.len() < SHORT[usize::from(six)];
            let cut = short || matches!(decoded, Some((_, Err(Malformed::Cut))));
            self.options.cut += u64::from(cut && record.bytes.len() < record.len as usize);
            return;
        };
        if matches!(frame.transport, Transport::Other(_)) {
            self.options.not_read += 1;
            return;
        }
        // A time that goes back further than packets can be held is taken for the one before.
        let [start, last] = self.span.unwrap_or([record.at; 2]);
        let at = record.at.max(last);
        self.span = Some([start, at]);
        let way = record.way.or(datagram.way);
        match &frame.transport {
            Transport::Tcp(header) => self.segment(at, (packet.file, way), &frame, header),
            Transport::Sctp(header) => self.sctp(at, (packet.file, way), &frame, header),
            Transport::Udp => self.datagram(at, (packet.file, way), &frame),
            Transport::Other(_) => {}
        }
    }

    fn segment(&mut self, at: u64, place: Place, frame: &Frame<'_>, header: &TcpHeader<'_>) {
        let opens = header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK);
        let key = Key::of(place, frame.ends);
        let index = match self.known.get(&key).copied() {
            // A SYN with another number on used ports opens another connection.
            Some(index) if !(opens && self.is_another(index, frame.ends, header)) => index,
            _ => self.open(at, key, place, frame.ends, header),
        };
        if self.subflows[index].stray {
            self.find_connection(index, frame.ends, header);
        }
        let end = usize::from(self.subflows[index].ends != frame.ends);
        self.sample(at, (index, end));
        let payload = frame.payload_len as u64;
        self.subflows[index].last = at;
        let signal = self.mptcp(index, end, header, payload > 0);
        let subflow = &mut self.subflows[index];
        note_handshake(subflow, at, end, header);
        if let Some([_, echo]) = signal.timestamps {
            subflow.note_echo(at, end, echo);
        }
        let direction = &mut subflow.directions[end];
        direction.counts.packets += 1;
        direction.counts.wire_bytes += frame.len as u64;
        direction.fin |= header.flags.has(TcpFlags::FIN);
        if let Some([value, _]) = signal.timestamps {
            direction.heard.stamp(at, value);
        }
        let syn = header.flags.has(TcpFlags::SYN);
        let seq = direction.seq(header.seq, syn);
        if let Some(mapping) = signal.mapping {
            self.map((index, end), seq, mapping, payload);
        }
        self.acknowledge(at, (index, end), header, (&signal, payload == 0));
        if payload > 0 {
            let first = if syn { Seq(seq.distance() + 1) } else { seq };
            if self.subflows[index].mode.has_stream() {
                self.notice_fallback((index, end), first, &signal);
            }
            self.data(at, index, end, first, payload);
        }
        if header.flags.has(TcpFlags::RST) {
            self.abandon(at, index);
        }
        self.wait(at, index, end);
    }

    /// Acknowledgements and windows that a segment of `end` brings.
    fn acknowledge(
        &mut self,
        at: u64,
        (index, end): (usize, usize),
        header: &TcpHeader<'_>,
        (signal, empty): (&Signal, bool),
    ) {
        let has = |flag| header.flags.has(flag);
        if !has(TcpFlags::ACK) {
            return;
        }
        let bare = empty && ![TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST].iter().any(|flag| has(*flag));
        let subflow = &mut self.subflows[index];
        let [one, other] = &mut subflow.directions;
        let (own, peer): (&mut Direction, &mut Direction) =
            if end == 0 { (one, other) } else { (other, one) };
        let found = Acknowledged { ack: header.ack, window: header.window, subtypes: signal.known };
        let bare = bare && own.ends_at(header.seq);
        own.heard.note_ack(found, bare, &mut own.counts);
        // RFC 7323 section 2.2: the window of a SYN is not scaled, and none is unless both ends have offered it.
        let shift = match (has(TcpFlags::SYN), own.heard.windows.scale, peer.heard.windows.scale) {
            (true, ..) => Some(0),
            (false, Some(shift), Some(_)) => Some(shift),
            (false, ..) => {
                [&*own, &*peer].iter().all(|one| one.synchronised && one.heard.windows.unscaled).then_some(0)
            }
        };
        let window = shift.map(|shift| u64::from(header.window) << shift);
        peer.heard.windows.offered = window;
        if let Some(ack) = peer.acknowledged(header.ack) {
            let sacked = signal.sacked.and_then(|end| peer.acknowledged(end));
            peer.ack(at, ack, (signal.timestamps.map(|[_, echo]| echo), sacked));
        }
        let connection = &mut self.connections[subflow.connection];
        if let (Some(fallen), Some(ack)) = (peer.fallen, peer.acknowledged(header.ack))
            && let Some(behind) = ack.distance().checked_sub(fallen.seq)
        {
            connection.streams[1 - end].ack(at, fallen.dsn.saturating_add(behind));
        }
        if let Some(number) = signal.data_ack
            && let Some(initial) = connection.known_initial(1 - end)
        {
            let stream = &mut connection.streams[1 - end];
            let near = initial.wrapping_add(stream.acked);
            stream.window = window;
            stream.ack(at, number.near(near).wrapping_sub(initial));
        }
    }

    /// Updates the limits of both senders of a subflow after a packet of `end`.
    pub(crate) fn wait(&mut self, at: u64, index: usize, end: usize) {
        let subflow = &mut self.subflows[index];
        if end == 0 && subflow.only_asks() {
            return;
        }
        let established = subflow.is_established();
        let connection = &mut self.connections[subflow.connection];
        for (sender, direction) in subflow.directions.iter_mut().enumerate() {
            let (direction, stream): (&mut Direction, &mut Stream) =
                (direction, &mut connection.streams[sender]);
            if established {
                direction.course.waiting.begin(at);
                stream.course.waiting.begin(at);
            }
            if subflow.ending.reset {
                direction.course.waiting.reset(at);
                continue;
            }
            let heard = sender != end;
            let sent = direction.sent();
            direction.course.waiting.packet(at, &sent, heard);
            if subflow.mode.has_stream() {
                let sent = stream.sent(sent.segment, sent.rtt);
                stream.course.waiting.packet(at, &sent, heard);
            }
        }
    }

    /// Samples of a subflow and of its connection, before a packet of `end` changes them.
    pub(crate) fn sample(&mut self, at: u64, (index, end): (usize, usize)) {
        if end == 0 && self.subflows[index].only_asks() {
            return;
        }
        let first = self.since_start(self.subflows[index].first);
        let at = self.since_start(at);
        let clock = self.clock;
        let subflow = &mut self.subflows[index];
        let multipath = subflow.mode.has_stream();
        let connection = &mut self.connections[subflow.connection];
        let mut full = false;
        for (direction, stream) in subflow.directions.iter_mut().zip(&mut connection.streams) {
            if direction.course.samples.is_due(clock, first, at) {
                let values = direction.sample(multipath.then(|| stream.course.waiting.cause()));
                full |= direction.course.samples.take(clock, at, values);
            }
            if stream.course.samples.is_due(clock, first, at) {
                let values = if multipath { stream.sample() } else { direction.sample_of_stream() };
                full |= stream.course.samples.take(clock, at, values);
            }
        }
        if full {
            self.clock.slow_down();
            let directions = self.subflows.iter_mut().flat_map(|subflow| &mut subflow.directions);
            let directions = directions.filter(|direction| !direction.is_blank());
            directions.for_each(|direction| direction.course.samples.thin());
            let streams = self.connections.iter_mut().flat_map(|connection| &mut connection.streams);
            let streams = streams.filter(|stream| !stream.is_blank());
            streams.for_each(|stream| stream.course.samples.thin());
        }
    }

    /// New payload of a subflow, and whether the connection has had it before.
    fn data(&mut self, at: u64, index: usize, end: usize, seq: Seq, len: u64) {
        let subflow = &mut self.subflows[index];
        let connection = &mut self.connections[subflow.connection];
        let start = connection.start;
        let stream: &mut Stream = &mut connection.streams[end];
        let direction: &mut Direction = &mut subflow.directions[end];
        let multipath = matches!(subflow.mode, Mode::Multipath | Mode::Infinite);
        let before = direction.behind_a_gap();
        let complete = direction.data(at, seq, len, |direction, part| {
            if !multipath {
                return;
            }
            match direction.mapped(part) {
                Some(mapped) => {
                    let fresh = stream.seen.insert(mapped);
                    stream.highest = stream.highest.max(mapped.end);
                    direction.counts.reinjected_bytes += part.len() - fresh;
                }
                None => direction.counts.unmapped_bytes += part.len(),
            }
        });
        if subflow.ending.abandoned {
            return;
        }
        let after = direction.behind_a_gap();
        direction.held.set(start, at, after);
        if multipath {
            direction.complete(complete, |part| stream.complete(at, part));
            stream.hold((start, at), before, after);
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
        let (mut join, mut joins) = (None, false);
        for option in header.options {
            match option {
                TcpOption::Mptcp(Mptcp::JoinSyn { token, nonce, .. }) => join = Some((token, nonce)),
                // The SYN was not captured.
                TcpOption::Mptcp(Mptcp::JoinSynAck { .. }) => joins = true,
                _ => {}
            }
        }
        let joined = join.and_then(|(token, _)| self.joined((file, way), ends, header.seq, token));
        let stray = joined.is_none() && (join.is_some() || joins || !syn);
        let connection = joined.unwrap_or_else(|| {
            // Seen before at the other end of it, in the same file and by the same clock.
            let start = *self.opened.entry((file, ends, header.seq.0)).or_insert(at);
            self.connections.push(Connection { start, ..Connection::default() });
            self.connections.len() - 1
        });
        let index = self.subflows.len();
        self.connections[connection].subflows.push(index);
        let opened = Subflow::open(at, (file, way), ends, connection, Mode::Plain);
        self.subflows.push(Subflow {
            joins: join.map(|(token, nonce)| Join::Subflow(token, nonce)),
            stray,
            ..opened
        });
        self.known.insert(key, index);
        index
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
    subflow.ending.reset |= has(TcpFlags::RST);
    if has(TcpFlags::FIN) || has(TcpFlags::RST) {
        subflow.ending.closed.get_or_insert(at);
    }
}
