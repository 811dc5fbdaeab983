//! Segments like the one before them: its headers, with other numbers in them.
//!
//! Most segments of a direction differ in sequence numbers, window, timestamps and DSS alone. Their headers are those of the last
//! segment that was written option by option, and their checksum is the sum of its other words and of these fields.

use transport::mptcp::option::{Dss, MptcpOption};
use transport::packet::{Body, Ecn, Packet};
use transport::tcp::segment::{Flags, TcpSegment, Timestamps};
use units::Bytes;

use super::encode::IP_HEADERS;
use super::{Association, Codec, Subflow, Way};
use crate::frame::TCP_HEADER;
use crate::options::OPTION_SPACE;
use crate::payload::{StreamPlace, folded};

/// Room for the headers of a segment: those of IPv6 and TCP, all options, and a power of two, which is copied without a call.
pub const HEADERS: usize = WORD * WORDS;
/// Headers are words of 32 bits.
const WORD: usize = 4;
const WORDS: usize = 32;
/// A TCP header and its options, behind an IP header.
const TCP_WORDS: usize = (TCP_HEADER + OPTION_SPACE) / WORD;
const _: () = assert!(IP_HEADERS[1] / WORD + TCP_WORDS <= WORDS, "all options have room");
/// Where the checksum stands in the TCP header.
const CHECKSUM: usize = 16;
/// Payload that is copied without a call, where there is room for as much.
const SOON: usize = 32;

/// Properties of a segment that decide where its header has which field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// SYN, FIN, RST and ACK; PSH, ECE and CWR: compared as numbers.
    flags: ([bool; 4], [bool; 3]),
    ecn: Ecn,
    /// Number of SACK blocks.
    blocks: u8,
    timestamps: bool,
    dss: u8,
}

impl Shape {
    const DSS: u8 = 1;
    const DATA_ACK: u8 = 2;
    const MAPPING: u8 = 4;

    /// `None` for segments that are written option by option.
    #[inline(always)]
    fn of(ecn: Ecn, segment: &TcpSegment) -> Option<Self> {
        let Flags { syn, ack, fin, rst, psh, ece, cwr } = segment.flags;
        let dss = match &segment.mptcp {
            MptcpOption::None => 0,
            // A mapping without data is that of a DATA_FIN.
            MptcpOption::Dss(Dss { data_ack, dsn, data_fin: false }) if dsn.is_none() || segment.len > 0 => {
                let (data_ack, mapping) = (u8::from(data_ack.is_some()), u8::from(dsn.is_some()));
                Self::DSS | (data_ack * Self::DATA_ACK) | (mapping * Self::MAPPING)
            }
            _ => return None,
        };
        Some(Self {
            flags: ([syn, fin, rst, ack], [psh, ece, cwr]),
            ecn,
            // Four at most.
            blocks: segment.sack.as_slice().len() as u8,
            timestamps: segment.timestamps.is_some(),
            dss,
        })
    }

    /// A segment that opens or aborts, or is no acknowledgement, has options of its own.
    fn is_usual(self) -> bool {
        let [syn, _, rst, ack] = self.flags.0;
        ack && !syn && !rst
    }
}

/// Headers of the last segment of a kind that was written option by option.
#[derive(Clone, Debug)]
struct Headers {
    /// `None`: there was no such segment.
    shape: Option<Shape>,
    form: Form,
    words: [[u8; WORD]; WORDS],
    /// In bytes.
    len: usize,
    /// Length of the datagram, as it stands in them; with the checksum of IPv4.
    length: u16,
    /// Sum of all words of TCP that are no fields, with its pseudo header.
    sum: u64,
}

/// The form of fields that have more than one.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    six: bool,
    /// The Data ACK, and the data sequence number of a mapping, have eight bytes.
    wide: [bool; 2],
}

impl Default for Headers {
    fn default() -> Self {
        let words = [[0; WORD]; WORDS];
        Self { shape: None, form: Form::default(), words, len: 0, length: 0, sum: 0 }
    }
}

impl Headers {
    /// Keeps the headers of a segment, without its payload.
    fn keep(&mut self, segment: (Shape, &Sender<'_>, &TcpSegment), form: Form, headers: &[u8]) {
        *self = Self { len: headers.len(), form, ..Self::default() };
        let Some(place) = self.words.as_flattened_mut().get_mut(..headers.len()) else { return };
        place.copy_from_slice(headers);
        let (shape, sender, segment) = segment;
        let (ip, tcp) = headers.split_at(IP_HEADERS[usize::from(form.six)]);
        // The length field of IPv6 leaves its own header out.
        let (addresses, field, outside) =
            if form.six { (&ip[8..], [ip[4], ip[5]], ip.len()) } else { (&ip[12..], [ip[2], ip[3]], 0) };
        let Some(length) = u16::from_be_bytes(field).checked_add(outside as u16) else { return };
        let Some((before, behind)) = tcp.split_at_checked(CHECKSUM) else { return };
        let Some(fields) = write(&mut self.words, form, sender, segment) else { return };
        debug_assert_eq!(
            &self.words.as_flattened()[..headers.len()],
            headers,
            "fields stand at their places"
        );
        // The pseudo header: addresses, protocol, and a length, which is no constant. A complement is the negative.
        let constant =
            sum_of(addresses) + 6 + sum_of(before) + sum_of(&behind[2..]) + u64::from(!folded(fields));
        self.sum = constant + payload_of(form, length);
        (self.shape, self.length) = (Some(shape), length);
    }

    /// The datagrams have another length from now on.
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
        (sender, segment): (&Sender<'_>, &TcpSegment),
        (length, payload): (u16, u32),
        words: &mut [[u8; WORD]; WORDS],
    ) -> Option<()> {
        if self.length != length {
            self.set_length(length);
        }
        *words = self.words;
        let fields = write(words, self.form, sender, segment)?;
        let sum = !folded(self.sum + u64::from(payload) + fields);
        put_half(&mut tcp_words(words, self.form.six)?[CHECKSUM / WORD], 0, sum);
        Some(())
    }
}

/// Bytes of a datagram behind the header of IP: its fixed part has another length in both versions.
#[inline(always)]
fn payload_of(form: Form, length: u16) -> u64 {
    u64::from(length).saturating_sub(IP_HEADERS[usize::from(form.six)] as u64)
}

/// Words of the TCP header.
#[inline(always)]
fn tcp_words(words: &mut [[u8; WORD]; WORDS], six: bool) -> Option<&mut [[u8; WORD]; TCP_WORDS]> {
    if six {
        words[IP_HEADERS[1] / WORD..].first_chunk_mut()
    } else {
        words[IP_HEADERS[0] / WORD..].first_chunk_mut()
    }
}

/// The end that sends a segment.
struct Sender<'a> {
    subflow: &'a Subflow,
    association: &'a Association,
    end: usize,
}

/// Writes the fields that differ from segment to segment into their places, but for checksums, and returns the sum of their words: 2^16 is 1
/// in ones' complement arithmetic, so those of a longer field may be added at once. `None` if there is no place for one of them.
#[inline(always)]
fn write(
    words: &mut [[u8; WORD]; WORDS],
    Form { six, wide }: Form,
    sender: &Sender<'_>,
    segment: &TcpSegment,
) -> Option<u64> {
    let Sender { subflow, association, end } = *sender;
    let peer = 1 - end;
    let words = tcp_words(words, six)?;
    let (seq, ack) = (subflow.field(end, segment.seq).0, subflow.field(peer, segment.ack).0);
    let window = association.settings[end].window_field(segment.window, false);
    (words[1], words[2]) = (seq.to_be_bytes(), ack.to_be_bytes());
    put_half(&mut words[3], 1, window);
    let mut sum = u64::from(seq) + u64::from(ack) + u64::from(window);
    let mut at = TCP_HEADER / WORD;
    // Timestamps stand behind two NOPs.
    if let Some(Timestamps { value, echo }) = segment.timestamps {
        let numbers = &subflow.numbers;
        let value = numbers.timestamp(end, value);
        let echo = if echo.is_never() { 0 } else { numbers.timestamp(peer, echo) };
        (words[6], words[7]) = (value.to_be_bytes(), echo.to_be_bytes());
        sum += u64::from(value) + u64::from(echo);
        at += 3;
    }
    if !segment.sack.is_empty() {
        // Two NOPs, kind and length.
        at += 1;
        for block in segment.sack.as_slice() {
            let (start, end) = (subflow.field(peer, block.start).0, subflow.field(peer, block.end).0);
            *words.get_mut(at..)?.first_chunk_mut()? = [start.to_be_bytes(), end.to_be_bytes()];
            sum += u64::from(start) + u64::from(end);
            at += 2;
        }
    }
    let MptcpOption::Dss(dss) = &segment.mptcp else { return Some(sum) };
    // Kind, length, subtype and flags.
    let mut rest = words.get_mut(at + 1..)?;
    if let Some(ack) = dss.data_ack {
        let number = association.initial[peer].wrapping_add(ack.0);
        rest = put_number(rest, (number, wide[0]), &mut sum)?;
    }
    if let Some(dsn) = dss.dsn {
        let number = association.initial[end].wrapping_add(dsn.0);
        let mapping: &mut [[u8; WORD]; 2] =
            put_number(rest, (number, wide[1]), &mut sum)?.first_chunk_mut()?;
        // No longer than the datagram.
        let (ssn, mapped) = (subflow.ssn(end, segment.seq), segment.len as u16);
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

/// Writes a number of eight bytes, or the low half of it, adds its words to a sum, and returns the words behind it.
#[inline(always)]
fn put_number<'a>(
    to: &'a mut [[u8; WORD]],
    (number, wide): (u64, bool),
    sum: &mut u64,
) -> Option<&'a mut [[u8; WORD]]> {
    let (high, low) = ((number >> 32) as u32, number as u32);
    *sum += u64::from(low);
    if wide {
        *sum += u64::from(high);
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
    fn of(&mut self, way: Way, kind: usize) -> Option<&mut Headers> {
        let (known, headers) = self.0[way.0 as usize % WAYS].as_deref_mut()?;
        if *known == way { headers.get_mut(kind) } else { None }
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
        let words = room.as_chunks_mut().0.first_chunk_mut()?;
        let sender = Sender { subflow, association, end };
        if segment.len > 0 {
            let (stream, len) = (StreamPlace::of(packet.offset), segment.len as usize);
            headers.fill((&sender, segment), (length, stream.sum(len)), words)?;
            let needed = most.saturating_sub(headers.len).min(len);
            write_payload(stream, needed, room.get_mut(headers.len..)?)?;
        } else {
            headers.fill((&sender, segment), (length, 0), words)?;
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
        let Some(shape) = Shape::of(packet.ecn, segment).filter(|shape| shape.is_usual()) else { return };
        let (index, end) = way.parts();
        let subflow = &self.subflows[index];
        let association = &self.associations[subflow.association];
        let settings = &association.settings[end];
        // The checksum of a mapping covers the data.
        if settings.checksum && shape.dss & Shape::MAPPING != 0 {
            return;
        }
        let six = subflow.ends.source.is_ipv6();
        let overhead = settings.overhead.0 + u64::from(segment.len);
        let headers = packet.size.0.checked_sub(overhead).and_then(|len| datagram.get(..len as usize));
        if let Some(headers) = headers {
            let form = Form { six, wide: [subflow.wide[end] && settings.wide, settings.wide] };
            let sender = Sender { subflow, association, end };
            self.templates.place(way, kind(segment)).keep((shape, &sender, segment), form, headers);
        }
    }
}

/// Bytes of the stream, and perhaps others behind them. `None` without room for them.
#[inline(always)]
fn write_payload(stream: StreamPlace, len: usize, room: &mut [u8]) -> Option<()> {
    match room.first_chunk_mut::<SOON>() {
        Some(place) if len <= SOON => *place = *stream.bytes(SOON).first_chunk()?,
        _ => room.get_mut(..len)?.copy_from_slice(stream.bytes(len)),
    }
    Some(())
}

#[cfg(test)]
mod tests;
