//! Segments like the one before them: its headers, with other numbers in them.
//!
//! Most segments of a direction differ in sequence numbers, window, timestamps and DSS alone. Their headers are those of the last
//! segment that was written option by option, and their checksum is the sum of its other words and of these fields.

use transport::mptcp::option::{Margin, MptcpOption};
use transport::packet::{Body, Ecn, Packet};
use transport::seq::{Seq, Seq32};
use transport::tcp::segment::{Flags, TcpSegment, Timestamps};
use units::Bytes;

use super::encode::IP_HEADERS;
use super::{Association, Codec, Subflow, Way};
use crate::frame::TCP_HEADER;
use crate::numbers::{scaled, ticks};
use crate::options::OPTION_SPACE;
use crate::payload::{StreamPlace, folded};

/// Room for the headers of a segment: those of IPv6 and TCP, all options, and a power of two, which is copied without a call.
pub const HEADERS: usize = WORD * WORDS;
/// Headers are words of 32 bits.
const WORD: usize = 4;
const WORDS: usize = 32;
/// Words that headers have at most: those of IPv6 and TCP with all options.
const KEPT: usize = (IP_HEADERS[1] + TCP_HEADER + OPTION_SPACE) / WORD;
/// Words behind the longer IP header.
const FROM_TCP: usize = WORDS - IP_HEADERS[1] / WORD;
const _: () = assert!(WORDS >= KEPT, "all options have room");
/// Where the checksum stands in the TCP header.
const CHECKSUM: usize = 16;
/// Payload that is copied without a call: a part of it, or all.
const SOON: usize = 64;
/// Headers of most segments end before this.
const MOST_END: usize = 80 / WORD;

/// Properties of a segment that decide where its header has which field. It acknowledges, and neither opens nor ends anything.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// PSH, ECE and CWR.
    flags: [bool; 3],
    ecn: Ecn,
    /// Number of SACK blocks.
    blocks: u8,
    timestamps: bool,
    /// With MPTCP: it has a Data ACK, and a mapping.
    dss: Option<[bool; 2]>,
}

impl Shape {
    /// `None` for segments that are written option by option.
    fn of(ecn: Ecn, segment: &TcpSegment) -> Option<Self> {
        let dss = match &segment.mptcp {
            MptcpOption::None => None,
            // A mapping without data is that of a DATA_FIN.
            MptcpOption::Dss(dss) if dss.dsn.is_none() || segment.len > 0 => {
                Some([dss.data_ack.is_some(), dss.dsn.is_some()])
            }
            _ => return None,
        };
        let Flags { psh, ece, cwr, .. } = segment.flags;
        // Four at most.
        let blocks = segment.sack.as_slice().len() as u8;
        let shape =
            Self { flags: [psh, ece, cwr], ecn, blocks, timestamps: segment.timestamps.is_some(), dss };
        shape.is_that_of(ecn, segment).then_some(shape)
    }

    /// A segment with this codepoint, of the same kind, has these properties.
    #[inline(always)]
    fn is_that_of(&self, ecn: Ecn, segment: &TcpSegment) -> bool {
        let Flags { syn, ack, fin, rst, psh, ece, cwr } = segment.flags;
        let dss = match (&segment.mptcp, self.dss) {
            (MptcpOption::None, None) => true,
            (MptcpOption::Dss(dss), Some([data_ack, mapping])) => {
                !dss.data_fin && dss.data_ack.is_some() == data_ack && dss.dsn.is_some() == mapping
            }
            _ => false,
        };
        // In the order of memory the first four are one number.
        [syn, ack, fin, rst] == [false, true, false, false]
            && [psh, ece, cwr] == self.flags
            && ecn == self.ecn
            && segment.sack.as_slice().len() == usize::from(self.blocks)
            && segment.timestamps.is_some() == self.timestamps
            && dss
    }
}

/// Headers of the last segment of a kind that was written option by option. They are asked for as often as there are packets, of one kind and
/// of another: three lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Headers {
    words: [[u8; WORD]; KEPT],
    /// The direction of the segment; [`Way::NONE`]: there was no such segment.
    way: Way,
    shape: Shape,
    form: Form,
    /// In bytes.
    len: u8,
    /// Length of the datagram, as it stands in them; with the checksum of IPv4.
    length: u16,
    /// Size of a segment without its payload, as the simulator charges it.
    charged: u64,
    /// Sum of all words of TCP that are no fields, with its pseudo header.
    sum: u64,
    origins: Origins,
}

const _: () = assert!(size_of::<Headers>() == 3 * 64, "no line more");

/// The form of fields that have more than one.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    six: bool,
    /// The Data ACK, and the data sequence number of a mapping, have eight bytes.
    wide: [bool; 2],
    /// Shift of windows.
    shift: u8,
}

/// Fields of a segment whose numbers are zero: the others are added to them.
#[derive(Clone, Copy, Debug, Default)]
struct Origins {
    seq: Seq32,
    ack: Seq32,
    /// Subflow sequence numbers of mappings.
    relative: u32,
    /// Timestamps: value and echo.
    timestamps: [u32; 2],
    data_ack: u64,
    dsn: u64,
}

impl Origins {
    fn new(subflow: &Subflow, association: &Association, end: usize) -> Self {
        let (numbers, peer) = (&subflow.numbers, 1 - end);
        Self {
            seq: subflow.origin(end),
            ack: subflow.origin(peer),
            relative: subflow.ssn(end, Seq(0)),
            timestamps: [numbers.timestamps[end], numbers.timestamps[peer]],
            data_ack: association.initial[peer],
            dsn: association.initial[end],
        }
    }
}

impl Default for Headers {
    fn default() -> Self {
        Self {
            words: [[0; WORD]; KEPT],
            way: Way::NONE,
            shape: Shape::default(),
            form: Form::default(),
            len: 0,
            length: 0,
            charged: 0,
            sum: 0,
            origins: Origins::default(),
        }
    }
}

impl Headers {
    /// Keeps the headers of a segment, without its payload. `charged`: its size without it.
    fn keep(
        &mut self,
        (way, shape, segment): (Way, Shape, &TcpSegment),
        (form, origins, charged): (Form, Origins, Bytes),
        headers: &[u8],
    ) {
        *self = Self { shape, form, origins, charged: charged.0, ..Self::default() };
        let mut words = [[0; WORD]; WORDS];
        let Some(place) = words.as_flattened_mut().get_mut(..headers.len()) else { return };
        place.copy_from_slice(headers);
        let (ip, tcp) = headers.split_at(IP_HEADERS[usize::from(form.six)]);
        // The length field of IPv6 leaves its own header out.
        let (addresses, field, outside) =
            if form.six { (&ip[8..], [ip[4], ip[5]], ip.len()) } else { (&ip[12..], [ip[2], ip[3]], 0) };
        let Some(length) = u16::from_be_bytes(field).checked_add(outside as u16) else { return };
        let Some((before, behind)) = tcp.split_at_checked(CHECKSUM) else { return };
        let tcp_words = tcp_words(&mut words, form.six);
        let Some(fields) = tcp_words.and_then(|words| write(words, form, &origins, segment)) else { return };
        debug_assert_eq!(&words.as_flattened()[..headers.len()], headers, "fields stand at their places");
        // The pseudo header: addresses, protocol, and a length, which is no constant. A complement is the negative.
        let constant =
            sum_of(addresses) + 6 + sum_of(before) + sum_of(&behind[2..]) + u64::from(!folded(fields));
        self.sum = constant + payload_of(form, length);
        self.words.copy_from_slice(&words[..KEPT]);
        // No longer than those words.
        (self.way, self.len, self.length) = (way, headers.len() as u8, length);
    }

    /// The datagrams have another length from now on.
    #[cold]
    #[inline(never)]
    fn set_length(&mut self, length: u16) {
        self.sum = u64::from(folded(self.sum + u64::from(!folded(payload_of(self.form, self.length)))))
            + payload_of(self.form, length);
        self.length = length;
        if self.form.six {
            put_half(&mut self.words[1], 0, payload_of(self.form, length) as u16);
            return;
        }
        put_half(&mut self.words[0], 1, length);
        put_half(&mut self.words[2], 1, 0);
        let ip = folded(sum_of(self.words[..IP_HEADERS[0] / WORD].as_flattened()));
        put_half(&mut self.words[2], 1, !ip);
    }

    /// Writes the headers of a segment of this shape in a datagram of `length`, whose payload has this sum.
    /// `None` if there is no place for a field.
    #[inline(always)]
    fn fill(
        &mut self,
        segment: &TcpSegment,
        (length, payload): (u16, u16),
        words: &mut [[u8; WORD]; WORDS],
    ) -> Option<()> {
        if self.length != length {
            self.set_length(length);
        }
        let (most, rest) = words.split_first_chunk_mut::<MOST_END>()?;
        let (from, behind) = self.words.split_first_chunk::<MOST_END>()?;
        *most = *from;
        if usize::from(self.len) > MOST_END * WORD {
            rest[..KEPT - MOST_END].copy_from_slice(behind);
        }
        let words = tcp_words(words, self.form.six)?;
        let fields = write(words, self.form, &self.origins, segment)?;
        let sum = !folded(self.sum + u64::from(payload) + fields);
        put_half(&mut words[CHECKSUM / WORD], 0, sum);
        Some(())
    }
}

/// Bytes of a datagram behind the header of IP: its fixed part has another length in both versions.
#[inline(always)]
fn payload_of(form: Form, length: u16) -> u64 {
    u64::from(length).saturating_sub(IP_HEADERS[usize::from(form.six)] as u64)
}

/// Words from the TCP header on.
#[inline(always)]
fn tcp_words(words: &mut [[u8; WORD]; WORDS], six: bool) -> Option<&mut [[u8; WORD]; FROM_TCP]> {
    if six {
        words[IP_HEADERS[1] / WORD..].first_chunk_mut()
    } else {
        words[IP_HEADERS[0] / WORD..].first_chunk_mut()
    }
}

/// Writes the fields that differ from segment to segment into their places, but for checksums, and returns the sum of their words: 2^16 is 1
/// in ones' complement arithmetic, so those of a longer field may be added at once. `None` if there is no place for one of them.
#[inline(always)]
fn write(
    words: &mut [[u8; WORD]; FROM_TCP],
    Form { wide, shift, .. }: Form,
    origins: &Origins,
    segment: &TcpSegment,
) -> Option<u64> {
    let (seq, ack) = (segment.seq.on_wire(origins.seq).0, segment.ack.on_wire(origins.ack).0);
    let window = scaled(segment.window, shift);
    (words[1], words[2]) = (seq.to_be_bytes(), ack.to_be_bytes());
    put_half(&mut words[3], 1, window);
    let mut sum = u64::from(seq) + u64::from(ack) + u64::from(window);
    let mut at = TCP_HEADER / WORD;
    // Timestamps stand behind two NOPs.
    if let Some(Timestamps { value, echo }) = segment.timestamps {
        let value = origins.timestamps[0].wrapping_add(ticks(value));
        let echo = if echo.is_never() { 0 } else { origins.timestamps[1].wrapping_add(ticks(echo)) };
        (words[6], words[7]) = (value.to_be_bytes(), echo.to_be_bytes());
        sum += u64::from(value) + u64::from(echo);
        at += 3;
    }
    if !segment.sack.is_empty() {
        // Two NOPs, kind and length.
        at += 1;
        for block in segment.sack.as_slice() {
            let [start, end] = [block.start, block.end].map(|seq| seq.on_wire(origins.ack).0);
            *words.get_mut(at..)?.first_chunk_mut()? = [start.to_be_bytes(), end.to_be_bytes()];
            sum += u64::from(start) + u64::from(end);
            at += 2;
        }
    }
    let MptcpOption::Dss(dss) = &segment.mptcp else { return Some(sum) };
    // Kind, length, subtype and flags; then two numbers, a subflow sequence number and a length.
    let words: &mut [[u8; WORD]; 6] = words.get_mut(at + 1..)?.first_chunk_mut()?;
    let mut at = 0;
    if let Some(ack) = dss.data_ack {
        let number = origins.data_ack.wrapping_add(ack.0);
        at = put_number(words, 0, (number, wide[0]), &mut sum)?;
    }
    if let Some(dsn) = dss.dsn {
        let Margin { before, after } = dss.margin;
        let start = origins.dsn.wrapping_add(dsn.0).wrapping_sub(before.into());
        at = put_number(words, at, (start, wide[1]), &mut sum)?;
        let ssn = origins.relative.wrapping_add(segment.seq.0 as u32).wrapping_sub(before.into());
        // The payload is no longer than the datagram.
        let mapped = before.checked_add(segment.len as u16)?.checked_add(after)?;
        let mapping: &mut [[u8; WORD]; 2] = words.get_mut(at..)?.first_chunk_mut()?;
        mapping[0] = ssn.to_be_bytes();
        put_half(&mut mapping[1], 0, mapped);
        sum += u64::from(ssn) + u64::from(mapped);
    }
    Some(sum)
}

/// Writes the first or the second half of a word.
#[inline(always)]
fn put_half(word: &mut [u8; WORD], which: usize, half: u16) {
    if let Some(place) = word.as_chunks_mut::<2>().0.get_mut(which) {
        *place = half.to_be_bytes();
    }
}

/// Writes a number of eight bytes, or the low half of it, adds its words to a sum, and returns the place behind it.
#[inline(always)]
fn put_number(
    words: &mut [[u8; WORD]; 6],
    at: usize,
    (number, wide): (u64, bool),
    sum: &mut u64,
) -> Option<usize> {
    let (high, low) = ((number >> 32) as u32, number as u32);
    *sum += u64::from(low);
    if wide {
        *sum += u64::from(high);
        *words.get_mut(at..)?.first_chunk_mut()? = [high.to_be_bytes(), low.to_be_bytes()];
        Some(at + 2)
    } else {
        *words.get_mut(at)? = low.to_be_bytes();
        Some(at + 1)
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

/// Directions whose headers are kept.
const WAYS: usize = 1 << 12;

/// Headers of the directions that were opened last, by kind of segment: in one piece, so that none is looked for through another.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates(Vec<[Headers; KINDS]>);

impl Templates {
    #[inline(always)]
    fn of(&mut self, way: Way, kind: usize) -> Option<&mut Headers> {
        let headers = self.0.get_mut(way.0 as usize % WAYS)?.get_mut(kind)?;
        (headers.way == way).then_some(headers)
    }

    /// Numbers that headers of this subflow were made with are others now.
    pub(super) fn forget(&mut self, subflow: usize) {
        for end in [0, 1] {
            let place = Way::new((subflow, end)).0 as usize % WAYS;
            if let Some(headers) = self.0.get_mut(place) {
                *headers = Default::default();
            }
        }
    }

    /// The place of headers that are to be kept.
    fn place(&mut self, way: Way, kind: usize) -> &mut Headers {
        let place = way.0 as usize % WAYS;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Default::default);
        }
        &mut self.0[place][kind]
    }
}

impl Codec {
    /// The headers that a packet has with other numbers in them, its segment, and the length of its datagram.
    #[inline(always)]
    fn like<'a>(&mut self, way: Way, packet: &'a Packet) -> Option<(&mut Headers, &'a TcpSegment, u16)> {
        let Body::Tcp(segment) = &packet.body else { return None };
        let headers = self.templates.of(way, kind(segment))?;
        // Another size: a Data ACK of the other form, or padding.
        let size = headers.charged + u64::from(segment.len);
        if packet.size.0 != size || !headers.shape.is_that_of(packet.ecn, segment) {
            return None;
        }
        let length = u16::try_from(segment.len).ok()?.checked_add(u16::from(headers.len))?;
        Some((headers, segment, length))
    }

    /// [`Codec::encode_again`] writes this packet, and needs not: it would learn nothing from it.
    pub fn is_usual(&mut self, way: Way, packet: &Packet) -> bool {
        self.like(way, packet).is_some()
    }

    /// Writes the first `most` bytes of the datagram of a segment that is like one before it. `None` if it is not.
    #[inline(always)]
    pub(super) fn encode_usual(
        &mut self,
        way: Way,
        packet: &Packet,
        most: usize,
        room: &mut [u8],
    ) -> Option<usize> {
        let (headers, segment, length) = self.like(way, packet)?;
        let (before, len) = (usize::from(headers.len), segment.len as usize);
        let words = room.as_chunks_mut().0.first_chunk_mut()?;
        let stream = StreamPlace::of(packet.offset);
        headers.fill(segment, (length, if len > 0 { stream.sum(len) } else { 0 }), words)?;
        if len > 0 {
            write_payload(stream, (most.saturating_sub(before), len), room.get_mut(before..)?)?;
        }
        Some(usize::from(length))
    }

    /// The keys of this association are others now.
    #[cold]
    pub(super) fn forget_headers(&mut self, association: usize) {
        for (index, subflow) in self.subflows.iter().enumerate() {
            if subflow.association == association {
                self.templates.forget(index);
            }
        }
    }

    /// Keeps the headers of a datagram that was written option by option, for segments like it.
    pub(super) fn keep_headers(&mut self, way: Way, packet: &Packet, datagram: &[u8]) {
        let Body::Tcp(segment) = &packet.body else { return };
        let Some(shape) = Shape::of(packet.ecn, segment) else { return };
        let (index, end) = way.parts();
        let subflow = &self.subflows[index];
        let association = &self.associations[subflow.association];
        let settings = &association.settings[end];
        // The checksum of a mapping covers the data.
        if settings.checksum && matches!(shape.dss, Some([_, true])) {
            return;
        }
        let charged = packet.size.saturating_sub(Bytes(u64::from(segment.len)));
        let headers = charged.0.checked_sub(settings.overhead.0).and_then(|len| datagram.get(..len as usize));
        if let Some(headers) = headers {
            let six = subflow.ends.source.is_ipv6();
            let wide = [subflow.wide[end] && settings.wide, settings.wide];
            let form = Form { six, wide, shift: settings.shift(false) };
            let origins = Origins::new(subflow, association, end);
            self.templates.place(way, kind(segment)).keep(
                (way, shape, segment),
                (form, origins, charged),
                headers,
            );
        }
    }
}

/// The first `most` bytes of the `len` of the stream, and perhaps others behind them. `None` without room for them.
#[inline(always)]
fn write_payload(stream: StreamPlace, (most, len): (usize, usize), room: &mut [u8]) -> Option<()> {
    if most <= SOON / 2 {
        *room.first_chunk_mut::<{ SOON / 2 }>()? = *stream.bytes(SOON / 2).first_chunk()?;
    } else if most <= SOON {
        *room.first_chunk_mut::<SOON>()? = *stream.bytes(SOON).first_chunk()?;
    } else {
        let needed = most.min(len);
        room.get_mut(..needed)?.copy_from_slice(stream.bytes(needed));
    }
    Some(())
}

#[cfg(test)]
mod tests;
