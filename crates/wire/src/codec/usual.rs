//! Segments like the one before them: its headers, with other numbers in them.
//!
//! Most segments of a direction differ in sequence numbers, window, timestamps and DSS alone. Their headers are those of the last
//! segment that was written option by option, and their checksum is the sum of its other words and of these fields.

use transport::mptcp::option::{Dss, MptcpOption};
use transport::packet::{Body, Ecn, Packet};
use transport::seq::StreamOffset;
use transport::tcp::segment::{TcpSegment, Timestamps};
use units::Bytes;

use super::encode::IP_HEADERS;
use super::{Association, Codec, Subflow, Way};
use crate::frame::TCP_HEADER;
use crate::options::OPTION_SPACE;
use crate::payload::{folded, payload, stream_sum};

/// Room for the headers of a segment: those of IPv6 and TCP, all options, and a power of two, which is copied without a call.
pub const HEADERS: usize = WORD * WORDS;
/// Headers are words of 32 bits.
const WORD: usize = 4;
const WORDS: usize = 32;
/// A TCP header and its options, behind an IP header.
const TCP_WORDS: usize = (TCP_HEADER + OPTION_SPACE) / WORD;
const _: () = assert!(IP_HEADERS[1] / WORD + TCP_WORDS <= WORDS, "all options have room");
/// Payload that is copied without a call, where there is room for as much.
const SOON: usize = 32;

/// Properties of a segment that decide where its header has which field, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape(u32);

impl Shape {
    const DATA_ACK: u32 = 1;
    const MAPPING: u32 = 1 << 1;
    const DSS: u32 = 1 << 2;
    const TIMESTAMPS: u32 = 1 << 3;
    const FIN: u32 = 1 << 4;
    const ECE: u32 = 1 << 5;
    const CWR: u32 = 1 << 6;
    const PSH: u32 = 1 << 7;
    /// The first of two bits.
    const ECN: u32 = 1 << 8;
    /// The first of three bits: the number of SACK blocks.
    const SACK: u32 = 1 << 10;

    /// `None` for segments that are written option by option.
    #[inline(always)]
    fn of(ecn: Ecn, segment: &TcpSegment) -> Option<Self> {
        let flags = segment.flags;
        if flags.syn || flags.rst || !flags.ack {
            return None;
        }
        let dss = match &segment.mptcp {
            MptcpOption::None => 0,
            // A mapping without data is that of a DATA_FIN.
            MptcpOption::Dss(Dss { data_ack, dsn, data_fin: false }) if dsn.is_none() || segment.len > 0 => {
                let (data_ack, mapping) = (u32::from(data_ack.is_some()), u32::from(dsn.is_some()));
                Self::DSS | (data_ack * Self::DATA_ACK) | (mapping * Self::MAPPING)
            }
            _ => return None,
        };
        let fin = u32::from(flags.fin) * Self::FIN;
        let psh = u32::from(flags.psh) * Self::PSH;
        let ecn_flags = (u32::from(flags.ece) * Self::ECE) | (u32::from(flags.cwr) * Self::CWR);
        let timestamps = u32::from(segment.timestamps.is_some()) * Self::TIMESTAMPS;
        // Four blocks at most.
        let sack = segment.sack.as_slice().len() as u32 * Self::SACK;
        let ecn = ecn as u32 * Self::ECN;
        Some(Self(dss | fin | psh | ecn_flags | timestamps | sack | ecn))
    }

    #[inline(always)]
    fn blocks(self) -> usize {
        (self.0 / Self::SACK) as usize
    }

    #[inline(always)]
    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// Fields that differ from segment to segment. Those that a header does not have are zero.
#[derive(Clone, Copy, Debug)]
struct Fields {
    seq: u32,
    ack: u32,
    window: u16,
    timestamps: [u32; 2],
    /// SACK blocks: start and end.
    sack: [[u32; 2]; 4],
    data_ack: u64,
    dsn: u64,
    ssn: u32,
    /// Length of the mapping.
    mapped: u16,
}

impl Fields {
    /// No field.
    const NONE: Self = Self {
        seq: 0,
        ack: 0,
        window: 0,
        timestamps: [0; 2],
        sack: [[0; 2]; 4],
        data_ack: 0,
        dsn: 0,
        ssn: 0,
        mapped: 0,
    };

    #[inline(always)]
    fn of(
        (subflow, association, end): (&Subflow, &Association, usize),
        segment: &TcpSegment,
        wide: [bool; 2],
    ) -> Self {
        let numbers = &subflow.numbers;
        let mut fields = Self {
            seq: subflow.field(end, segment.seq).0,
            ack: subflow.field(1 - end, segment.ack).0,
            window: association.settings[end].window_field(segment.window, false),
            ..Self::NONE
        };
        if let Some(Timestamps { value, echo }) = segment.timestamps {
            let echo = if echo.is_never() { 0 } else { numbers.timestamp(1 - end, echo) };
            fields.timestamps = [numbers.timestamp(end, value), echo];
        }
        if !segment.sack.is_empty() {
            for (place, block) in fields.sack.iter_mut().zip(segment.sack.as_slice()) {
                *place = [subflow.field(1 - end, block.start).0, subflow.field(1 - end, block.end).0];
            }
        }
        let MptcpOption::Dss(dss) = &segment.mptcp else { return fields };
        // The low half by definition of the field.
        let number = |value: u64, wide: bool| if wide { value } else { u64::from(value as u32) };
        if let Some(ack) = dss.data_ack {
            fields.data_ack = number(association.initial[1 - end].wrapping_add(ack.0), wide[0]);
        }
        if let Some(dsn) = dss.dsn {
            fields.dsn = number(association.initial[end].wrapping_add(dsn.0), wide[1]);
            fields.ssn = subflow.ssn(end, segment.seq);
            // No longer than the datagram.
            fields.mapped = segment.len as u16;
        }
        fields
    }

    /// Sum of their words in the TCP header: 2^16 is 1 in ones' complement arithmetic, so those of a longer field may be added at once.
    #[inline(always)]
    fn sum(&self, blocks: usize) -> u64 {
        let halves = |number: u64| (number >> 32) + (number & 0xffff_ffff);
        let [value, echo] = self.timestamps;
        let (value, echo) = (u64::from(value), u64::from(echo));
        let shorts = u64::from(self.window) + u64::from(self.mapped);
        let numbers = u64::from(self.seq) + u64::from(self.ack) + u64::from(self.ssn) + value + echo;
        let mut sum = shorts + numbers + halves(self.data_ack) + halves(self.dsn);
        for [start, end] in self.sack.get(..blocks).unwrap_or_default() {
            sum += u64::from(*start) + u64::from(*end);
        }
        sum
    }
}

/// Headers of the last segment of a kind that was written option by option, without its [`Fields`].
#[derive(Clone, Debug)]
struct Headers {
    /// `None`: there was no such segment.
    shape: Option<Shape>,
    words: [[u8; WORD]; WORDS],
    /// In bytes.
    len: usize,
    six: bool,
    /// The Data ACK, and the data sequence number of a mapping, have eight bytes.
    wide: [bool; 2],
    /// Sums of the words that are no fields: of the IP header, and of TCP with its pseudo header.
    sums: [u16; 2],
}

impl Default for Headers {
    fn default() -> Self {
        let words = [[0; WORD]; WORDS];
        Self { shape: None, words, len: 0, six: false, wide: [true; 2], sums: [0; 2] }
    }
}

impl Headers {
    /// Keeps the headers of a segment, without its payload.
    fn keep(&mut self, shape: Shape, headers: &[u8], six: bool, wide: [bool; 2]) {
        *self = Self { len: headers.len(), six, wide, ..Self::default() };
        let Some(place) = self.words.as_flattened_mut().get_mut(..headers.len()) else { return };
        place.copy_from_slice(headers);
        let mut words = self.words;
        let form = Form { shape, six, wide };
        if put(&mut words, form, &Fields::NONE, [0; 3]).is_none() {
            return;
        }
        self.words = words;
        let (ip, tcp) = words.as_flattened()[..self.len].split_at(IP_HEADERS[usize::from(six)]);
        let addresses = if six { &ip[8..] } else { &ip[12..] };
        // The pseudo header: addresses, protocol, and a length, which is no constant.
        let pseudo = sum_of(addresses) + 6;
        (self.shape, self.sums) = (Some(shape), [folded(sum_of(ip)), folded(pseudo + sum_of(tcp))]);
    }

    /// Writes the headers of a segment of this shape in a datagram of `length`, whose payload has this sum.
    /// `None` if there is no place for a field.
    #[inline(always)]
    fn fill(
        &self,
        shape: Shape,
        fields: &Fields,
        (length, payload): (u16, u16),
        words: &mut [[u8; WORD]; WORDS],
    ) -> Option<()> {
        let whole = u64::from(length);
        let carried = whole - if self.six { 40 } else { 20 };
        let ip = folded(u64::from(self.sums[0]) + whole);
        let tcp = folded(u64::from(self.sums[1]) + carried + u64::from(payload) + fields.sum(shape.blocks()));
        *words = self.words;
        put(words, Form { shape, six: self.six, wide: self.wide }, fields, [length, !ip, !tcp])
    }
}

/// Where fields stand.
#[derive(Clone, Copy, Debug)]
struct Form {
    shape: Shape,
    six: bool,
    wide: [bool; 2],
}

/// Writes fields, the length of the datagram and both checksums into their places; `None` if there is none for one of them.
#[inline(always)]
fn put(
    words: &mut [[u8; WORD]; WORDS],
    Form { shape, six, wide }: Form,
    fields: &Fields,
    [length, ip, tcp]: [u16; 3],
) -> Option<()> {
    let tcp_words: &mut [[u8; WORD]; TCP_WORDS] = if six {
        put_half(&mut words[1], 0, length.saturating_sub(40));
        words[IP_HEADERS[1] / WORD..].first_chunk_mut()?
    } else {
        put_half(&mut words[0], 1, length);
        put_half(&mut words[2], 1, ip);
        words[IP_HEADERS[0] / WORD..].first_chunk_mut()?
    };
    tcp_words[1] = fields.seq.to_be_bytes();
    tcp_words[2] = fields.ack.to_be_bytes();
    put_half(&mut tcp_words[3], 1, fields.window);
    put_half(&mut tcp_words[4], 0, tcp);
    let mut at = TCP_HEADER / WORD;
    // Timestamps stand behind two NOPs.
    if shape.has(Shape::TIMESTAMPS) {
        tcp_words[6] = fields.timestamps[0].to_be_bytes();
        tcp_words[7] = fields.timestamps[1].to_be_bytes();
        at += 3;
    }
    if shape.blocks() > 0 {
        // Two NOPs, kind and length.
        at += 1;
        for number in fields.sack.get(..shape.blocks())?.as_flattened() {
            *tcp_words.get_mut(at)? = number.to_be_bytes();
            at += 1;
        }
    }
    if !shape.has(Shape::DSS) {
        return Some(());
    }
    // Kind, length, subtype and flags.
    let mut rest = tcp_words.get_mut(at + 1..)?;
    if shape.has(Shape::DATA_ACK) {
        rest = put_number(rest, fields.data_ack, wide[0])?;
    }
    if shape.has(Shape::MAPPING) {
        let mapping: &mut [[u8; WORD]; 2] = put_number(rest, fields.dsn, wide[1])?.first_chunk_mut()?;
        mapping[0] = fields.ssn.to_be_bytes();
        put_half(&mut mapping[1], 0, fields.mapped);
    }
    Some(())
}

/// Writes the first or the second half of a word.
#[inline(always)]
fn put_half(word: &mut [u8; WORD], which: usize, half: u16) {
    if let Some(place) = word.as_chunks_mut::<2>().0.get_mut(which) {
        *place = half.to_be_bytes();
    }
}

/// Writes a number of four or eight bytes, and returns the words behind it.
#[inline(always)]
fn put_number(to: &mut [[u8; WORD]], number: u64, wide: bool) -> Option<&mut [[u8; WORD]]> {
    // A number of four bytes has no high half.
    let (high, low) = ((number >> 32) as u32, number as u32);
    if wide {
        let (place, rest) = to.split_first_chunk_mut::<2>()?;
        *place = [high.to_be_bytes(), low.to_be_bytes()];
        Some(rest)
    } else {
        let (place, rest) = to.split_first_mut()?;
        *place = low.to_be_bytes();
        Some(rest)
    }
}

/// Sum of 16-bit words.
fn sum_of(bytes: &[u8]) -> u64 {
    let (pairs, _) = bytes.as_chunks::<2>();
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum()
}

/// Kinds of segments with headers of their own: a receiver's ACKs have SACK blocks now and then, a sender's segments have data,
/// and PSH now and then.
const KINDS: usize = 7;

#[inline]
fn kind(segment: &TcpSegment) -> usize {
    if segment.len > 0 { KINDS - 1 - usize::from(segment.flags.psh) } else { segment.sack.as_slice().len() }
}

/// Headers of one direction, by kind of segment.
type OfWay = (Way, [Headers; KINDS]);

/// Directions whose headers are kept.
const WAYS: usize = 256;

/// Headers of the directions that were opened last, one of each.
#[derive(Clone, Debug)]
pub(super) struct Templates(Box<[Option<Box<OfWay>>; WAYS]>);

impl Default for Templates {
    fn default() -> Self {
        Self(Box::new([const { None }; WAYS]))
    }
}

impl Templates {
    #[inline(always)]
    fn of(&self, way: Way, kind: usize) -> Option<&Headers> {
        let (known, headers) = self.0[way.0 as usize % WAYS].as_deref()?;
        if *known == way { headers.get(kind) } else { None }
    }

    /// The same, to be written.
    fn place(&mut self, way: Way, kind: usize) -> &mut Headers {
        let place = &mut self.0[way.0 as usize % WAYS];
        if place.as_ref().is_some_and(|place| place.0 != way) {
            *place = None;
        }
        &mut place.get_or_insert_with(|| Box::new((way, Default::default()))).1[kind]
    }
}

impl Codec {
    /// Writes the first `most` bytes of the datagram of a segment that is like one before it. `None` if it is not.
    #[inline]
    pub(super) fn encode_usual(
        &mut self,
        way: Way,
        packet: &Packet,
        most: usize,
        room: &mut [u8],
    ) -> Option<usize> {
        let Body::Tcp(segment) = &packet.body else { return None };
        let headers = self.templates.of(way, kind(segment))?;
        let shape = Shape::of(packet.ecn, segment)?;
        let (index, end) = way.parts();
        let subflow = &mut self.subflows[index];
        let association = &mut self.associations[subflow.association];
        let charged = packet.size.0.saturating_sub(association.settings[end].overhead.0);
        // Another length: a Data ACK of the other form, or padding.
        if headers.shape != Some(shape) || charged != headers.len as u64 + u64::from(segment.len) {
            return None;
        }
        let length = u16::try_from(charged).ok()?;
        let fields = Fields::of((subflow, association, end), segment, headers.wide);
        let sum = stream_sum(packet.offset, segment.len as usize);
        headers.fill(shape, &fields, (length, sum), room.as_chunks_mut().0.first_chunk_mut()?)?;
        if segment.len > 0 {
            let needed = most.saturating_sub(headers.len).min(segment.len as usize);
            write_payload(packet.offset, needed, room.get_mut(headers.len..)?)?;
        }
        subflow.sent[end] = subflow.sent[end].max(segment.end());
        if let Some(dsn) = segment.mptcp.mapping() {
            association.sent[end] = association.sent[end].max(dsn + Bytes(u64::from(segment.len)));
        }
        Some(usize::from(length))
    }

    /// Keeps the headers of a datagram that was written option by option, for segments like it.
    pub(super) fn keep_headers(&mut self, way: Way, packet: &Packet, datagram: &[u8]) {
        let Body::Tcp(segment) = &packet.body else { return };
        let Some(shape) = Shape::of(packet.ecn, segment) else { return };
        let (index, end) = way.parts();
        let subflow = &self.subflows[index];
        let settings = &self.associations[subflow.association].settings[end];
        // The checksum of a mapping covers the data.
        if settings.checksum && shape.has(Shape::MAPPING) {
            return;
        }
        let six = subflow.ends.source.is_ipv6();
        let overhead = settings.overhead.0 + u64::from(segment.len);
        let headers = packet.size.0.checked_sub(overhead).and_then(|len| datagram.get(..len as usize));
        if let Some(headers) = headers {
            let wide = [subflow.wide[end] && settings.wide, settings.wide];
            self.templates.place(way, kind(segment)).keep(shape, headers, six, wide);
        }
    }
}

/// Bytes of the stream, and perhaps others behind them. `None` without room for them.
#[inline(always)]
fn write_payload(offset: StreamOffset, len: usize, room: &mut [u8]) -> Option<()> {
    match room.first_chunk_mut::<SOON>() {
        Some(place) if len <= SOON => *place = *payload(offset, SOON).first_chunk()?,
        _ => room.get_mut(..len)?.copy_from_slice(payload(offset, len)),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use proptest::prelude::*;
    use transport::AddressPair;
    use transport::config::TcpConfig;
    use transport::mptcp::keys::Key;
    use transport::packet::PathId;
    use transport::seq::{Dsn, Seq, Seq32, StreamOffset};
    use transport::tcp::ranges::Range;
    use transport::tcp::segment::{Flags, SackBlocks};
    use units::SimTime;

    use super::*;
    use crate::codec::{ConnectionNumber, Opening};
    use crate::frame::Ends;
    use crate::numbers::{EndSettings, Numbers};

    fn ends(six: bool) -> Ends {
        let address = |host: u16| {
            if six { [0xfd00, 0, 0, 0, 0, 0, 0, host].into() } else { [10, 0, 0, host as u8].into() }
        };
        Ends { source: SocketAddr::new(address(1), 49_152), destination: SocketAddr::new(address(2), 5001) }
    }

    /// A codec that knows one subflow and its keys.
    fn codec(six: bool, wide: bool) -> Codec {
        let mut codec = Codec::default();
        let mut settings = EndSettings::new(&TcpConfig::default(), None, Arc::new([]));
        (settings.wide, settings.multipath) = (wide, true);
        let opening = Opening {
            connection: ConnectionNumber(0),
            path: PathId::FIRST,
            interfaces: AddressPair { local: None, remote: None },
        };
        let numbers = Numbers { initial: [Seq32(u32::MAX - 9000), Seq32(7)], timestamps: [u32::MAX, 3] };
        codec.open(ends(six), opening, [settings.clone(), settings], numbers);
        for end in [0, 1] {
            codec.associations[0].learn_key(end, Key(5 + end as u64));
        }
        codec
    }

    /// Numbers of a segment: sequence number, ACK, window, data sequence number, Data ACK, milliseconds.
    type Numbers6 = [u32; 6];

    fn packet(
        (len, numbers, blocks): (u32, Numbers6, u64),
        (six, wide): (bool, bool),
        [timestamps, echo, data_ack, multipath, marked]: [bool; 5],
    ) -> Packet {
        let [seq, ack, window, dsn, acked, ms] = numbers.map(u64::from);
        let stamps = Timestamps {
            value: SimTime::from_millis(ms),
            echo: if echo { SimTime::from_millis(ms / 2) } else { SimTime::NEVER },
        };
        let dss = Dss {
            data_ack: data_ack.then_some(Dsn(1 + (acked << 20))),
            dsn: (len > 0).then_some(Dsn(1 + (dsn << 10))),
            data_fin: false,
        };
        let mut sack = SackBlocks::default();
        for n in 0..blocks {
            assert!(sack.push(Range::new(Seq(ack + 100 * n + 2), Seq(ack + 100 * n + 2 + window % 90))));
        }
        let segment = TcpSegment {
            flags: Flags { ack: true, ..Flags::default() },
            sack,
            len,
            seq: Seq(1 + seq),
            ack: Seq(1 + ack),
            window: Bytes(window),
            timestamps: timestamps.then_some(stamps),
            mptcp: if multipath { MptcpOption::Dss(dss) } else { MptcpOption::None },
        };
        let number = if wide { 8 } else { 4 };
        let mapping = if len > 0 { number + 6 } else { 0 };
        let option: u32 = 4 + if data_ack { number } else { 0 } + mapping;
        let sacked = if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
        let options =
            if timestamps { 12 } else { 0 } + if multipath { option.next_multiple_of(4) } else { 0 } + sacked;
        Packet {
            ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
            size: Bytes(u64::from(if six { 60 } else { 40 } + options + len)),
            payload: len,
            offset: if len > 0 { segment.stream_offset() } else { StreamOffset::START },
            body: Body::Tcp(segment),
            ..Packet::default()
        }
    }

    #[test]
    fn the_second_of_a_kind_is_usual() {
        let mut codec = codec(false, true);
        let mut out = Vec::new();
        let way = codec.way(ends(false)).expect("it was opened");
        let mut room = [0; 2 * HEADERS];
        for (n, (len, usual)) in
            [(100, false), (0, false), (100, true), (7, true), (0, true)].into_iter().enumerate()
        {
            let packet = packet((len, [n as u32; 6], 0), (false, true), [true; 5]);
            assert_eq!(codec.encode_usual(way, &packet, 96, &mut room).is_some(), usual, "{n}");
            codec.encode_head(way, &packet, 96, &mut out).expect("it has bytes");
        }
        // A subflow opened anew between these ends has other numbers.
        let again = codec.associations[0].settings.clone();
        let opening = codec.subflows[0].opening;
        codec.open(ends(false), opening, again, Numbers::default());
        let anew = codec.way(ends(false)).expect("it was opened");
        let packet = packet((100, [9; 6], 0), (false, true), [true; 5]);
        assert_eq!(codec.encode_usual(anew, &packet, 96, &mut room), None);
    }

    /// Directions share places, and headers are those of one of them.
    #[test]
    fn headers_of_another_direction_are_not_used() {
        let mut templates = Templates::default();
        let (one, other) = (Way(3), Way(3 + WAYS as u32));
        templates.place(one, 0).len = 7;
        assert_eq!(templates.of(one, 0).map(|headers| headers.len), Some(7));
        assert!(templates.of(other, 0).is_none());
        assert_eq!(templates.place(other, 0).len, 0);
        assert!(templates.of(one, 0).is_none());
    }

    proptest! {
        /// Whatever came before, a segment has the bytes that it has alone, and another codec reads it.
        #[test]
        fn bytes_do_not_depend_on_the_segments_before(
            segments in proptest::collection::vec(
                (prop_oneof![Just(0), Just(1420), 0u32..3000], any::<Numbers6>(), any::<[bool; 5]>(), any::<bool>(), 0u64..4), 2..40),
            (six, wide) in any::<(bool, bool)>(),
            most in prop_oneof![Just(96usize), Just(usize::MAX), 0usize..200],
        ) {
            let mut used = codec(six, wide);
            for (len, numbers, mut has, back, blocks) in segments {
                // Half of all segments have what most of them have.
                if numbers[0] % 2 == 0 {
                    has = [true, true, true, true, false];
                }
                // As many SACK blocks as have room beside a DSS.
                let room = if len == 0 && has[0] && has[3] { 1 } else if has[3] && len > 0 { 0 } else { 3 };
                let packet = packet((len, numbers, blocks.min(room)), (six, wide), has);
                let ends = if back { ends(six).reversed() } else { ends(six) };
                let mut alone = codec(six, wide);
                let way = used.way(ends).expect("it was opened");
                let (mut one, mut other) = (vec![0xee; HEADERS + 4096], Vec::new());
                let again = used.encode_again(way, &packet, most, &mut one);
                one.truncate(again.unwrap_or(0).min(most));
                let length = match again {
                    Some(length) => Ok(length),
                    None => used.encode_head(way, &packet, most, &mut one),
                };
                prop_assert_eq!(&length, &alone.encode_head(way, &packet, most, &mut other));
                other.truncate(if again.is_some() { most } else { usize::MAX });
                prop_assert_eq!(length, Ok(packet.size.0 as usize));
                prop_assert_eq!(&one, &other);
                prop_assert_eq!((used.subflows[0].sent[usize::from(back)] >= packet.segment().expect("TCP").end(), used.padded), (true, 0));
            }
        }
    }
}
