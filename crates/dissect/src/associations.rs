//! From SCTP packets to associations, their paths and their data.
//!
//! Paths of one association have the same ports and the same verification tags: INIT and INIT ACK tell the tags, or, where the
//! capture begins later, the first packets of each direction.

use std::collections::BTreeMap;

use transport::seq::Seq32;
use wire::frame::{Ends, Frame};
use wire::sctp::{Chunk, DataFields, InitFields, SackFields, SctpHeader, kind};

use crate::association::{Association, Early, OnPath};
use crate::connection::{Connection, Join, Mode, Stream, Subflow};
use crate::place::{Key, Place, opposite};
use crate::reading::Reading;

/// Sender and receiver port, and the tag of the receiver.
type Tagged = (Place, [u16; 2], u32);

/// Chunks that may wait for a COOKIE ACK. More are those of a damaged file, and are taken as they come.
const EARLY: usize = 1 << 12;

/// Associations that are known.
#[derive(Debug, Default)]
pub(crate) struct Associations {
    /// The last path between two ends.
    paths: BTreeMap<Key, usize>,
    /// By the packets to an end: the association, and which end sends them.
    tagged: BTreeMap<Tagged, (usize, usize)>,
    /// Bytes of chunks that were cut off.
    pub(crate) cut: u64,
    /// SACKs of which gap blocks were cut off.
    pub(crate) cut_sacks: u64,
}

/// A packet of a path at a place.
#[derive(Clone, Copy, Debug)]
struct At {
    at: u64,
    /// The path, as a number of a subflow.
    index: usize,
    /// The end that sends.
    end: usize,
}

/// DATA of a packet: user data in all, of it new here, put on this path by it; later chunks were seen before.
#[derive(Clone, Copy, Debug, Default)]
struct Data {
    sums: [u64; 3],
    late: bool,
    any: bool,
    moved: u64,
}

impl Reading {
    /// An SCTP packet.
    pub(crate) fn sctp(&mut self, at: u64, place: Place, frame: &Frame<'_>, header: &SctpHeader<'_>) {
        let Some(first) = { header.chunks }.next() else {
            self.associations.cut += frame.payload_len as u64;
            return;
        };
        let key = Key::of(place, frame.ends);
        let index = match self.associations.paths.get(&key).copied() {
            Some(index) if !self.begins_anew(index, frame.ends, &first) => index,
            _ => self.open_path(at, key, place, frame.ends, (header.tag, &first)),
        };
        let end = usize::from(self.subflows[index].ends != frame.ends);
        let here = At { at, index, end };
        self.sample(at, (index, end));
        self.learn_tags(here, header.tag, &first);
        let subflow = &mut self.subflows[index];
        subflow.last = at;
        let direction = &mut subflow.directions[end];
        direction.counts.packets += 1;
        direction.counts.wire_bytes += frame.len as u64;
        let mut data = Data::default();
        let mut chunks = header.chunks;
        for chunk in chunks.by_ref() {
            if chunk.kind == kind::DATA {
                self.data_chunk(here, &chunk, &mut data);
            } else {
                self.control_chunk(here, &chunk);
            }
        }
        self.associations.cut += chunks.unread() as u64;
        if data.any {
            self.note_data(here, &data);
        }
        self.wait(at, index, end);
    }

    /// An INIT with another tag than that of its end opens another association.
    fn begins_anew(&self, index: usize, ends: Ends, first: &Chunk<'_>) -> bool {
        if first.kind != kind::INIT {
            return false;
        }
        let subflow = &self.subflows[index];
        let end = usize::from(subflow.ends != ends);
        let known = self.connections[subflow.connection].association.as_ref();
        let tag = known.and_then(|association| association.tags[end]);
        first.init().is_some_and(|init| tag.is_some_and(|tag| tag != init.tag))
    }

    fn open_path(
        &mut self,
        at: u64,
        key: Key,
        (file, way): Place,
        ends: Ends,
        (tag, first): (u32, &Chunk<'_>),
    ) -> usize {
        let ports = [ends.source.port(), ends.destination.port()];
        let joined = self.associations.tagged.get(&((file, way), ports, tag)).copied();
        let joined = joined.filter(|_| first.kind != kind::INIT);
        // Without an INIT the sender of the first packet stands for the client.
        let of_server = joined.map_or(first.kind == kind::INIT_ACK, |(_, end)| end == 1);
        let (ends, way) = if of_server { (ends.reversed(), way.map(opposite)) } else { (ends, way) };
        let connection = joined.map(|(connection, _)| connection).unwrap_or_else(|| {
            let number = first.init().map_or(tag, |init| init.tag);
            let start = *self.opened.entry((file, ends, number)).or_insert(at);
            let association = Some(Box::default());
            self.connections.push(Connection { start, association, ..Connection::default() });
            self.connections.len() - 1
        });
        let index = self.subflows.len();
        self.connections[connection].subflows.push(index);
        let opened = Subflow::open(at, (file, way), ends, connection, Mode::Association);
        self.subflows.push(Subflow {
            joins: joined.map(|_| Join::Path),
            on_path: Some(Box::default()),
            ..opened
        });
        self.associations.paths.insert(key, index);
        index
    }

    fn association(&mut self, index: usize) -> &mut Association {
        let connection = self.subflows[index].connection;
        self.connections[connection].association.get_or_insert_default()
    }

    /// Tags that a packet tells: its own is that of its receiver.
    fn learn_tags(&mut self, At { index, end, .. }: At, tag: u32, first: &Chunk<'_>) {
        let own = if matches!(first.kind, kind::INIT | kind::INIT_ACK) { first.init() } else { None };
        // A reflected tag is that of the sender.
        let reflected = matches!(first.kind, kind::ABORT | kind::SHUTDOWN_COMPLETE) && first.flags & 1 == 1;
        let peer = Some(tag).filter(|_| first.kind != kind::INIT && !reflected);
        let Subflow { file, way, ends, connection, .. } = self.subflows[index];
        for (of, found) in [(end, own.map(|init| init.tag)), (1 - end, peer)] {
            let Some(found) = found else { continue };
            let known = &mut self.association(index).tags[of];
            if known.is_some() {
                continue;
            }
            *known = Some(found);
            // Packets with this tag come from the other end.
            let (sender, way) = if of == 1 { (ends, way) } else { (ends.reversed(), way.map(opposite)) };
            let ports = [sender.source.port(), sender.destination.port()];
            self.associations.tagged.insert(((file, way), ports, found), (connection, 1 - of));
        }
    }

    fn data_chunk(&mut self, here: At, chunk: &Chunk<'_>, data: &mut Data) {
        let Some(fields) = chunk.data() else {
            self.associations.cut += chunk.len as u64;
            return;
        };
        let At { at, index, end } = here;
        let number = self.subflows[index].directions[end].counts.packets;
        if end == 1
            && let Some(early) = &mut self.association(index).early
            && early.len() < EARLY
        {
            early.push(Early { at, packet: (index, number), fields });
            return;
        }
        self.take_chunk(here, &fields, data);
    }

    /// Data that has come before the COOKIE ACK. RFC 9260 section 6 has the client discard it: no packet shows it until the COOKIE ACK comes. One
    /// that answers first has taken it for the COOKIE ACK.
    fn settle_early(&mut self, index: usize, taken: bool) {
        let early = self.association(index).early.take().unwrap_or_default();
        for chunks in early.chunk_by(|one, other| one.packet == other.packet) {
            let Some(Early { at, packet: (index, _), .. }) = chunks.first().copied() else { continue };
            if !taken {
                let len = chunks.iter().map(|chunk| chunk.fields.len as u64).sum();
                self.subflows[index].directions[1].discarded(len);
                continue;
            }
            let (here, mut data) = (At { at, index, end: 1 }, Data::default());
            chunks.iter().for_each(|chunk| self.take_chunk(here, &chunk.fields, &mut data));
            self.note_data(here, &data);
        }
    }

    fn take_chunk(&mut self, At { at, index, end }: At, fields: &DataFields, data: &mut Data) {
        let number = self.subflows[index].directions[end].counts.segments;
        let packet = crate::direction::Transmission { number, at };
        let len = fields.len as u64;
        let side = &mut self.association(index).sides[end];
        let seen = side.see(fields);
        let before = side.send(seen.tsn, index, len, packet);
        data.late |= !data.any && seen.late;
        data.any = true;
        data.sums[0] += len;
        if seen.fresh {
            data.sums[1] += len;
            side.messages.insert(seen.tsn, *fields);
        }
        let elsewhere = before.filter(|before| before.path != index);
        if before.is_none() && seen.fresh || elsewhere.is_some() {
            data.sums[2] += len;
        }
        if elsewhere.is_some() {
            data.moved += len;
        }
        if let Some(before) = before {
            let of_path = &mut self.subflows[before.path];
            of_path.directions[end].repeat_packet(before.packet);
            if before.path != index {
                of_path.directions[end].release(at, len);
            }
            if let Some(sides) = &mut of_path.on_path {
                // Karn: a chunk that was sent twice says nothing on the round trip.
                sides[end].timed = sides[end].timed.filter(|(tsn, _)| *tsn != seen.tsn);
            }
        } else if let (true, Some(sides)) = (seen.fresh, &mut self.subflows[index].on_path) {
            // RFC 9260 section 6.3.1: one chunk in a round trip is measured.
            sides[end].timed.get_or_insert((seen.tsn, at));
        }
    }

    fn note_data(&mut self, At { at, index, end }: At, data: &Data) {
        let subflow = &mut self.subflows[index];
        let direction = &mut subflow.directions[end];
        direction.chunks(at, data.sums, data.late);
        direction.counts.reinjected_bytes += data.moved;
        if let Some(sides) = &mut subflow.on_path {
            sides[end].usable.get_or_insert(at);
        }
        let connection = &mut self.connections[subflow.connection];
        let (start, stream): (u64, &mut Stream) = (connection.start, &mut connection.streams[end]);
        let Some(association) = &connection.association else { return };
        let messages = &association.sides[end].messages;
        stream.note_chunks((start, at), data.sums[1], messages.delivered(), messages.held());
        if data.sums[1] < data.sums[0] {
            stream.course.waiting.repeats(stream.highest);
        }
    }

    fn control_chunk(&mut self, here: At, chunk: &Chunk<'_>) {
        let At { at, index, end } = here;
        let connection = self.subflows[index].connection;
        match chunk.kind {
            kind::INIT | kind::INIT_ACK => {
                if let Some(init) = chunk.init() {
                    self.note_init(here, &init, usize::from(chunk.kind == kind::INIT_ACK));
                }
            }
            kind::COOKIE_ECHO => self.note_cookie(here, 2),
            kind::COOKIE_ACK => {
                self.settle_early(index, false);
                self.note_cookie(here, 3);
            }
            kind::SACK | kind::NR_SACK => {
                if end == 0 {
                    self.settle_early(index, true);
                }
                match chunk.sack() {
                    Some(sack) => self.sack(here, &sack),
                    None => self.associations.cut += chunk.len as u64,
                }
            }
            kind::SHUTDOWN => {
                if let Some(last) = chunk.shutdown() {
                    self.acknowledge_chunks(here, last, None);
                }
                self.connections[connection].streams[end].fin = true;
            }
            // Its sender has no data either.
            kind::SHUTDOWN_ACK => self.connections[connection].streams[end].fin = true,
            kind::ABORT => self.connections[connection].aborted = true,
            kind::HEARTBEAT => {
                if let Some(sides) = &mut self.subflows[index].on_path {
                    sides[end].heartbeat = Some((chunk.body.to_vec(), at));
                }
            }
            kind::HEARTBEAT_ACK => self.heartbeat_ack(here, chunk.body),
            _ => {}
        }
    }

    /// INIT or INIT ACK; `step`: which of both.
    fn note_init(&mut self, At { at, index, end }: At, init: &InitFields<'_>, step: usize) {
        let first = self.subflows[index].handshake[step].is_none();
        let association = self.association(index);
        association.sides[end].begin(init.tsn);
        if step == 1 && first {
            association.early = Some(Vec::new());
        }
        let subflow = &mut self.subflows[index];
        subflow.handshake[step].get_or_insert(at);
        // The number of an association, by which its places are found.
        subflow.directions[end].seq(Seq32(init.tag), true);
        let connection = &mut self.connections[subflow.connection];
        connection.streams[1 - end].window = Some(init.window.into());
        if let (1, true, Some(sent)) = (step, first, subflow.handshake[0]) {
            subflow.directions[1 - end].round_trip(at.saturating_sub(sent));
        }
    }

    /// COOKIE ECHO or COOKIE ACK: an end knows that the association stands when it has received it.
    fn note_cookie(&mut self, At { at, index, end }: At, step: usize) {
        let subflow = &mut self.subflows[index];
        if step == 2 {
            subflow.handshake[2].get_or_insert(at);
        }
        if let Some(sides) = &mut subflow.on_path {
            sides[1 - end].usable.get_or_insert(at);
        }
    }

    /// The content of a HEARTBEAT returns.
    fn heartbeat_ack(&mut self, At { at, index, end }: At, content: &[u8]) {
        let subflow = &mut self.subflows[index];
        let Some(sides) = &mut subflow.on_path else { return };
        let OnPath { heartbeat, usable, .. } = &mut sides[1 - end];
        if let Some((_, sent)) = heartbeat.take_if(|(asked, _)| asked == content) {
            usable.get_or_insert(at);
            subflow.directions[1 - end].round_trip(at.saturating_sub(sent));
        }
    }

    fn sack(&mut self, here: At, sack: &SackFields<'_>) {
        let At { index, end, .. } = here;
        self.associations.cut_sacks += u64::from(sack.is_cut());
        let subflow = &mut self.subflows[index];
        if let Some(sides) = &mut subflow.on_path {
            let repeats = sides[end].last_sack.replace(sack.cumulative) == Some(sack.cumulative);
            subflow.directions[end].counts.duplicate_acks += u64::from(repeats);
        }
        self.acknowledge_chunks(here, sack.cumulative, Some(sack));
    }

    /// A cumulative TSN of `end`, and gap blocks, acknowledge data of the other end.
    fn acknowledge_chunks(&mut self, here: At, cumulative: Seq32, sack: Option<&SackFields<'_>>) {
        let At { at, index, end } = here;
        let sender = 1 - end;
        let connection = self.subflows[index].connection;
        let Self { connections, subflows, .. } = self;
        let Connection { association, streams, .. } = &mut connections[connection];
        let Some(association) = association else { return };
        let side = &mut association.sides[sender];
        let mut news = |tsn: u64, sent: &crate::association::Sent| {
            let of_path = &mut subflows[sent.path];
            let Some(sides) = &mut of_path.on_path else { return };
            sides[sender].acked += sent.len;
            let direction = &mut of_path.directions[sender];
            direction.release(at, sent.len);
            if let Some((_, since)) = sides[sender].timed.take_if(|(timed, _)| *timed == tsn) {
                direction.round_trip(at.saturating_sub(since));
            }
        };
        let advanced = side.acknowledge(cumulative, &mut news);
        for gap in sack.into_iter().flat_map(SackFields::gaps) {
            side.gap(cumulative, gap, &mut news);
        }
        let stream = &mut streams[sender];
        if advanced {
            stream.ack(at, side.acked_bytes.saturating_add(1));
        }
        if let Some(sack) = sack {
            // Chunks of gap blocks are not outstanding, and lie behind the cumulative TSN.
            stream.window = Some(u64::from(sack.window).saturating_add(side.gap_bytes));
        }
    }
}
