//! MPTCP: keys and tokens, modes, mappings, and the connections of subflows whose handshake was not captured.
//!
//! May: learn from options. May not: count payload.

use std::collections::BTreeMap;

use transport::mptcp::keys::{Key, Token};
use transport::seq::{Position as _, Seq, Seq32};
use transport::tcp::ranges::Range;
use wire::frame::{Ends, TcpFlags, TcpHeader};
use wire::mptcp::{self, Mapping, Mptcp, Number};
use wire::options::TcpOption;

use crate::connection::{Mode, SeenKey};
use crate::direction::Mapped;
use crate::link::Way;
use crate::place::{Place, opposite};
use crate::reading::Reading;

/// Subflows of a connection that may have fallen back: more are those of a scan.
const REFUSED: usize = 64;
/// Places at which a connection is looked for by its token: the client's and the server's.
const PLACES: usize = 4;
/// Data sequence numbers with the same higher bits belong to one connection, where its keys were not captured.
const NEAR_BITS: u32 = 31;
/// Subflows at which REMOVE_ADDR looks, the last of a connection: Linux has eight at most.
const REMOVABLE: usize = 1 << 10;
/// Length of the mapping behind which all data is in order.
const INFINITE: u64 = 1 << 62;

/// Kinds of options (RFC 2018, RFC 7323).
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Content of the options of a segment: DSS, or MP_CAPABLE in its place; timestamps and SACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signal {
    pub(crate) mapping: Option<Mapping>,
    pub(crate) data_ack: Option<Number>,
    /// TSval and TSecr.
    pub(crate) timestamps: Option<[u32; 2]>,
    /// The end of the highest SACK block.
    pub(crate) sacked: Option<Seq32>,
    /// There was an option of MPTCP.
    any: bool,
    /// Subtypes that the packets before it had in its connection, a bit each.
    pub(crate) known: u16,
    /// Options were cut off.
    cut: bool,
}

/// Connections by what joins and data tell of them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Connections that can be joined, by place and token.
    tokens: BTreeMap<(u32, Option<Way>, u32), usize>,
    /// The same at any place, in the order of their first packets.
    anywhere: BTreeMap<u32, Vec<usize>>,
    /// How often a SYN that joins was seen, by its ends and its number.
    joins: BTreeMap<(Ends, u32), usize>,
    /// Connections without keys, by the place of the sender and by a data sequence number; and which end sends it.
    strays: BTreeMap<(Place, u64), (usize, usize)>,
    /// Packets whose options of MPTCP, or of a SYN, were cut off.
    pub(crate) cut: u64,
    /// Packets whose SACK blocks or timestamps were cut off.
    pub(crate) cut_acks: u64,
}

impl Reading {
    /// MPTCP options of a segment: keys, the mode, and what a DSS option says. The scale of windows as well.
    pub(crate) fn mptcp(
        &mut self,
        index: usize,
        end: usize,
        header: &TcpHeader<'_>,
        payload: bool,
    ) -> Signal {
        let syn = header.flags.has(TcpFlags::SYN);
        let mut signal = Signal { cut: header.options.0.len() < header.options_len, ..Signal::default() };
        if signal.cut && syn {
            self.subflows[index].directions[end].heard.windows.unscaled = false;
        }
        // Nothing is known where all options are cut off.
        let unseen = signal.cut && (syn || header.options.0.is_empty());
        let (mut hidden, mut subtypes) = (unseen, 0);
        for option in header.options {
            let option = match option {
                TcpOption::Mptcp(option) => option,
                TcpOption::WindowScale(shift) if syn => {
                    // RFC 7323 section 2.3: at most 14.
                    self.subflows[index].directions[end].heard.windows.scale = Some(shift.min(14));
                    continue;
                }
                TcpOption::ScpsCapable(_) if syn => {
                    // The answer comes from the other end.
                    self.subflows[index].directions[1 - end].heard.held_back = true;
                    continue;
                }
                TcpOption::Timestamps { value, echo } => {
                    signal.timestamps = Some([value, echo]);
                    continue;
                }
                TcpOption::Sack(list) => {
                    let ends = list.blocks().map(|[_, end]| end);
                    signal.sacked = ends.reduce(|one, other| if one.precedes(other) { other } else { one });
                    continue;
                }
                TcpOption::Broken([mptcp::KIND, ..]) if signal.cut => {
                    (signal.any, hidden) = (true, true);
                    continue;
                }
                TcpOption::Broken([SACK | TIMESTAMPS, ..]) if signal.cut => {
                    self.multipath.cut_acks += 1;
                    continue;
                }
                _ => continue,
            };
            signal.any = true;
            let subtype = subtype(&option);
            subtypes |= 1 << subtype;
            self.options.subtypes[subtype] += 1;
            self.option((index, end), &option, &mut signal);
        }
        self.multipath.cut += u64::from(hidden);
        let subflow = &mut self.subflows[index];
        let known = &mut self.connections[subflow.connection].subtypes;
        signal.known = std::mem::replace(known, *known | subtypes);
        subflow.mode = match (subflow.mode, signal.any) {
            (Mode::Plain, true) if syn && end == 0 => Mode::Asked,
            // The capture began in the middle.
            (Mode::Plain | Mode::Asked, true) => Mode::Multipath,
            (Mode::Asked, false) if end == 1 && (syn || payload) && !signal.cut => Mode::FellBack,
            (mode, _) => mode,
        };
        signal
    }

    fn option(&mut self, (index, end): (usize, usize), option: &Mptcp<'_>, signal: &mut Signal) {
        let connection = self.subflows[index].connection;
        match *option {
            Mptcp::Capable { sender, receiver, data_len, .. } => {
                self.learn(index, [(end, sender), (1 - end, receiver)]);
                if let (Some(len), Some(key)) = (data_len, sender) {
                    let dsn = Number::Wide(key.initial_dsn().wrapping_add(1));
                    signal.mapping = Some(Mapping { dsn, ssn: 1, len, checksum: None });
                }
            }
            Mptcp::Dss { data_ack, mapping, data_fin } => {
                (signal.data_ack, signal.mapping) = (data_ack, mapping);
                self.connections[connection].streams[end].fin |= data_fin;
            }
            Mptcp::JoinSyn { backup, id, .. } | Mptcp::JoinSynAck { backup, id, .. } => {
                let joining = &mut self.subflows[index].joining;
                joining.backup[end] |= backup;
                joining.ids[end] = Some(id);
            }
            Mptcp::Prio { backup } => self.subflows[index].joining.backup[end] = backup,
            Mptcp::RemoveAddr(ids) => self.remove((index, end), ids),
            Mptcp::FastClose { .. } => self.connections[connection].aborted = true,
            Mptcp::Reset { reason, .. } => self.subflows[index].ending.reason = Some(reason),
            // RFC 8684 section 3.7: without a RST it asks for a fallback.
            Mptcp::Fail { .. } => self.subflows[index].ending.failed = true,
            _ => {}
        }
    }

    /// An end gives up addresses: RFC 8684 section 3.4.2 has the subflows closed that use them.
    fn remove(&mut self, (index, end): (usize, usize), ids: &[u8]) {
        let at = self.subflows[index].last;
        let connection = self.subflows[index].connection;
        let of_connection = &self.connections[connection].subflows;
        let last = of_connection[of_connection.len().saturating_sub(REMOVABLE)..].to_vec();
        for number in last {
            let subflow = &mut self.subflows[number];
            // RFC 8684 section 3.2: the initial subflow has the address ID zero.
            let id = if subflow.joins.is_none() { Some(0) } else { subflow.joining.ids[end] };
            if subflow.is_established() && id.is_some_and(|id| ids.contains(&id)) {
                subflow.ending.closed.get_or_insert(at);
                self.abandon(at, number);
            }
        }
    }

    /// A subflow ends while its connection goes on: data behind its gaps will come over others, and it is held no longer.
    pub(crate) fn abandon(&mut self, at: u64, index: usize) {
        let subflow = &mut self.subflows[index];
        if subflow.mode != Mode::Multipath || subflow.ending.abandoned {
            return;
        }
        subflow.ending.abandoned = true;
        let connection = &mut self.connections[subflow.connection];
        for (direction, stream) in subflow.directions.iter_mut().zip(&mut connection.streams) {
            let held = direction.behind_a_gap();
            if held > 0 {
                direction.held.set(connection.start, at, 0);
                stream.hold((connection.start, at), held, 0);
            }
        }
    }

    fn learn(&mut self, index: usize, found: [(usize, Option<Key>); 2]) {
        let subflow = &self.subflows[index];
        let number = subflow.connection;
        let connection = &mut self.connections[number];
        for (end, key) in found {
            if let Some(key) = key
                && connection.keys[end].is_none()
            {
                connection.keys[end] = Some(SeenKey::new(key));
            }
        }
        // Joins come from the client, with the token of the server.
        if let Some(seen) = connection.keys[1] {
            let token = seen.key.token().0;
            self.multipath.tokens.entry((subflow.file, subflow.way, token)).or_insert(number);
            let places = self.multipath.anywhere.entry(token).or_default();
            if !places.contains(&number) && places.len() < PLACES {
                places.push(number);
            }
        }
    }

    /// The connection that a SYN joins: at the place of that SYN, or at another one, where each interface has a file of its own. There the SYN
    /// is seen at the client first.
    pub(crate) fn joined(
        &mut self,
        (file, way): Place,
        ends: Ends,
        seq: Seq32,
        Token(token): Token,
    ) -> Option<usize> {
        if let Some(here) = self.multipath.tokens.get(&(file, way, token)) {
            return Some(*here);
        }
        let places = self.multipath.anywhere.get(&token)?;
        let seen = self.multipath.joins.entry((ends, seq.0)).or_default();
        let place = places.get(*seen).or(places.first()).copied();
        *seen += 1;
        place
    }

    /// Takes the mapping of a segment with `len` bytes of payload.
    pub(crate) fn map(&mut self, (index, end): (usize, usize), seq: Seq, mapping: Mapping, len: u64) {
        if mapping.len == 0 {
            // RFC 8684 section 3.7: an infinite mapping ends the use of MPTCP.
            self.fall_back(index, end, seq);
            return;
        }
        let synchronised = self.subflows[index].directions[end].synchronised;
        let joins = self.subflows[index].joins.is_some();
        let connection = &mut self.connections[self.subflows[index].connection];
        let highest = connection.streams[end].highest;
        let number = mapping.dsn.near(highest);
        let initial = if synchronised || connection.streams[end].is_stray() {
            // The third ACK may be lost, and overtaken by data: on the first subflow both numbers begin together.
            let before = if joins { 1 } else { u64::from(mapping.ssn.max(1)) };
            connection.initial(end, number.wrapping_sub(before))
        } else if let Some(initial) = connection.known_initial(end) {
            initial
        } else {
            return;
        };
        let near = initial.wrapping_add(highest);
        let dsn = mapping.dsn.near(near).wrapping_sub(initial);
        connection.streams[end].note_mapping(dsn, mapping.len);
        let direction = &mut self.subflows[index].directions[end];
        let Some(behind) = direction.behind_mapping(seq, (mapping.ssn, mapping.len), len) else {
            // The number of the subflow counts from a SYN that was not captured.
            return;
        };
        let start = seq.distance().wrapping_sub(u64::from(behind));
        direction.map(Mapped { seq: start, dsn, len: u64::from(mapping.len) });
    }

    /// Data of an end that follows what was seen, without a mapping and without an option: the connection has fallen back.
    pub(crate) fn notice_fallback(&mut self, (index, end): (usize, usize), seq: Seq, signal: &Signal) {
        let subflow = &self.subflows[index];
        let direction = &subflow.directions[end];
        // The first data follows the SYN.
        let follows = direction.synchronised && direction.sent().highest.max(1) == seq.distance();
        let told = signal.any || signal.cut;
        let mine = Range::new(seq.distance(), seq.distance() + 1);
        let unmapped = follows && !told && subflow.joins.is_none() && direction.mapped(mine).is_none();
        if unmapped && self.is_alone(index) {
            self.fall_back(index, end, seq);
        }
    }

    /// No other subflow of its connection got an answer to its SYN: MP_JOIN is refused after a fallback.
    fn is_alone(&self, index: usize) -> bool {
        let subflows = &self.connections[self.subflows[index].connection].subflows;
        let refused = |other: usize| matches!(self.subflows[other].handshake, [Some(_), None, _]);
        subflows.len() <= REFUSED && subflows.iter().all(|other| *other == index || refused(*other))
    }

    /// From `seq` on data of an end is in order: plain TCP, if none was mapped before.
    fn fall_back(&mut self, index: usize, end: usize, seq: Seq) {
        let subflow = &mut self.subflows[index];
        let connection = &mut self.connections[subflow.connection];
        if connection.streams.iter().all(|stream| stream.seen.is_empty()) {
            subflow.mode = Mode::FellBack;
            return;
        }
        subflow.mode = Mode::Infinite;
        let direction = &mut subflow.directions[end];
        if direction.fallen.is_none() {
            let dsn = connection.streams[end].highest.max(1);
            direction.fall_back(Mapped { seq: seq.distance().max(1), dsn, len: INFINITE });
        }
        // The other end maps no more either, nor does this one acknowledge its data by more than the subflow's number.
        let (direction, stream) = (&mut subflow.directions[1 - end], &connection.streams[1 - end]);
        let together = direction.synchronised && stream.highest.max(1) == direction.sent().highest.max(1);
        if direction.fallen.is_none() && together {
            direction.fall_back(Mapped { seq: 1, dsn: 1, len: INFINITE });
        }
    }

    /// Finds the connection of a subflow whose handshake was not captured, by data sequence numbers of 8 bytes that are close to those of
    /// another subflow.
    pub(crate) fn find_connection(&mut self, index: usize, ends: Ends, header: &TcpHeader<'_>) {
        let numbers = header.options.filter_map(|option| match option {
            TcpOption::Mptcp(Mptcp::Dss { data_ack, mapping, .. }) => {
                Some([mapping.map(|mapping| mapping.dsn), data_ack])
            }
            _ => None,
        });
        // A mapping has numbers of the sender, an acknowledgement those of the receiver.
        for (role, number) in numbers.flat_map(|both| both.into_iter().enumerate()) {
            let Some(Number::Wide(number)) = number else { continue };
            let subflow = &self.subflows[index];
            let sender = usize::from(subflow.ends != ends) ^ role;
            let way = if sender == 0 { subflow.way } else { subflow.way.map(opposite) };
            let place = (subflow.file, way);
            let mine = (subflow.connection, sender);
            let bucket = number >> NEAR_BITS;
            let strays = &mut self.multipath.strays;
            let near = [bucket, bucket.wrapping_sub(1), bucket.wrapping_add(1)];
            let found = near.into_iter().find_map(|bucket| strays.get(&(place, bucket)).copied());
            let (connection, end) = *strays.entry((place, bucket)).or_insert(found.unwrap_or(mine));
            if connection != mine.0 {
                self.adopt(index, connection, end == sender);
            }
            let subflow = &mut self.subflows[index];
            subflow.stray = false;
            self.connections[connection].streams[end].count_from(number);
        }
    }

    /// A subflow moves to a connection. Without a handshake it may have been taken for the wrong way round.
    fn adopt(&mut self, index: usize, connection: usize, same_way: bool) {
        let before = self.subflows[index].connection;
        if self.connections[before].subflows.len() > 1 {
            return;
        }
        if !same_way {
            if self.subflows[index].handshake[0].is_some() {
                // This one is right; all of the others are not.
                let others = self.connections[connection].subflows.clone();
                others.into_iter().for_each(|other| self.subflows[other].turn());
                self.connections[connection].streams.swap(0, 1);
                let strays = self.multipath.strays.values_mut();
                strays.filter(|(of, _)| *of == connection).for_each(|(_, end)| *end = 1 - *end);
            } else {
                self.subflows[index].turn();
            }
        }
        self.connections[before].subflows.clear();
        let start = self.connections[before].start.min(self.connections[connection].start);
        self.connections[connection].start = start;
        self.connections[connection].subflows.push(index);
        self.subflows[index].connection = connection;
    }
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
