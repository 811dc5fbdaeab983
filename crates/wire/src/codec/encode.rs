//! From a packet to its bytes.

use transport::mptcp::keys::{Hmac64, Key, add_addr_hmac, stand_in_address};
use transport::mptcp::option::{Dss, MptcpOption};
use transport::packet::{Body, Ecn, Packet};
use transport::seq::{Dsn, Seq, StreamOffset};
use transport::space::{Snack, SpaceSignal};
use transport::tcp::segment::{TcpSegment, Timestamps};
use transport::udp::Datagram;
use units::Bytes;

use super::associations::Peers;
use super::{Association, Codec, CodecError, HEADERS, Subflow, Way};
use crate::convert;
use crate::frame::{self, Ends, TCP_HEADER, TcpFields, TcpFlags};
use crate::mptcp::{Mapping, Mptcp, Number};
use crate::options::{OPTION_SPACE, OptionBytes, TcpOption};
use crate::payload::{Payload, payload};

/// SCPS capabilities: the short form of SNACK is understood (CCSDS 714.0-B-2 section 3.2.3).
const SNACK_CAPABLE: u8 = 0x40;
/// An IPv4 header without options; an IPv6 header.
pub(super) const IP_HEADERS: [usize; 2] = [20, 40];

/// The codepoint in the IP header (RFC 3168 section 5).
pub(super) fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

/// The context in which the segment of one end is written.
struct Writer<'a> {
    subflow: &'a Subflow,
    association: &'a Association,
    /// The end that sends.
    end: usize,
    six: bool,
}

/// How the options of a header fill it.
struct Fitted {
    /// Bytes in the place of an option that is gone.
    padding: usize,
    /// The Data ACK has eight bytes.
    wide: bool,
}

impl Codec {
    /// Appends the IP datagram of a packet to `out`: as long as the size that the simulator charges, without overhead.
    ///
    /// # Errors
    /// It has no bytes; `out` is as before.
    pub fn encode(&mut self, ends: Ends, packet: &Packet, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let way = self.way(ends)?;
        let start = out.len();
        out.resize(start + HEADERS + packet.size.0 as usize, 0);
        let again = self.encode_again(way, packet, usize::MAX, &mut out[start..]);
        out.truncate(start + again.unwrap_or(0));
        if again.is_none() {
            self.encode_head(way, packet, usize::MAX, out)?;
        } else if let Some(segment) = packet.segment() {
            let (index, end) = way.parts();
            let subflow = &mut self.subflows[index];
            subflow.sent[end] = subflow.sent[end].max(segment.end());
            self.associations[subflow.association].follow(end, segment);
        }
        Ok(())
    }

    /// The same, of which the first `most` bytes are needed: payload of TCP behind them may be missing. Returns the length of the datagram.
    ///
    /// # Errors
    /// It has no bytes; `out` is as before.
    pub fn encode_head(
        &mut self,
        way: Way,
        packet: &Packet,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let (start, padded) = (out.len(), self.padded);
        let length = self.encode_any(way, packet, most, out)?;
        if self.padded == padded {
            self.keep_headers(way, packet, &out[start..]);
        }
        Ok(length)
    }

    /// Writes the first `most` bytes of the datagram into `room`, for little: the packet differs from one before it in a few fields alone.
    /// Bytes behind them may be anything. Returns the length of the datagram. For those that only write: the codec does not learn from the packet
    /// how far its stream is, which [`Codec::decode`] asks.
    ///
    /// `None`: the packet is of another kind, or the room is smaller than [`HEADERS`] and those bytes.
    #[inline(always)]
    pub fn encode_again(&mut self, way: Way, packet: &Packet, most: usize, room: &mut [u8]) -> Option<usize> {
        let length = self.encode_usual(way, packet, most, room)?;
        if cfg!(debug_assertions) {
            self.check_usual(way, packet, &room[..length.min(most)], length);
        }
        Some(length)
    }

    /// A segment that is like the one before it has the bytes that it would have alone.
    fn check_usual(&mut self, way: Way, packet: &Packet, head: &[u8], length: usize) {
        let mut alone = Vec::new();
        assert_eq!(self.encode_any(way, packet, head.len(), &mut alone), Ok(length), "{packet:?}");
        assert_eq!(alone.get(..head.len()), Some(head), "{packet:?}");
    }

    /// Any packet: option by option.
    fn encode_any(
        &mut self,
        way: Way,
        packet: &Packet,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let (index, end) = way.parts();
        let association = self.subflows[index].association;
        if self.associations[association].learn(end, packet) {
            self.forget_headers(association);
        }
        if let Some(SpaceSignal::Convert(message)) = packet.signal() {
            self.subflows[index].greetings[end] = message.size();
            self.templates.forget(index);
        }
        let (subflow, association) = (&mut self.subflows[index], &self.associations[association]);
        let ends = subflow.ends(end);
        let ecn = codepoint(packet.ecn);
        let charged = packet.size.0.saturating_sub(association.settings[end].overhead.0);
        let start = out.len();
        let six = ends.source.is_ipv6();
        let mut missing = 0;
        match &packet.body {
            Body::Sctp(body) => {
                let peers = Peers::new(association, &subflow.opening, (six, end));
                let written = peers.write((ends, ecn, packet.offset), body, most, out);
                missing = written.inspect_err(|_| out.truncate(start))?;
            }
            Body::Udp(datagram) => write_datagram(out, ends, ecn, packet.offset, datagram),
            Body::Tcp(segment) => {
                let writer = Writer { subflow, association, end, six };
                let room = (charged as usize).saturating_sub(IP_HEADERS[usize::from(six)] + TCP_HEADER);
                let room = room.saturating_sub(segment.len as usize);
                let mut options = OptionBytes::default();
                let Fitted { padding, wide } = writer.fitting_options(&mut options, (segment, None), room)?;
                self.padded += u64::from(padding > 0);
                let data = Payload::of_stream(packet.offset, segment.len as usize);
                let data = data.up_to(most.saturating_sub(headers(six, &options)));
                missing = data.missing();
                frame::write_tcp(out, (ends, ecn), &writer.fields(segment), &options, &data);
                subflow.sent[end] = subflow.sent[end].max(segment.end());
                subflow.wide[end] = wide;
            }
            Body::Space(space) => {
                let segment = &space.segment;
                let writer = Writer { subflow, association, end, six };
                let len = segment.len + space.signal.payload();
                let room = (charged as usize).saturating_sub(IP_HEADERS[usize::from(six)] + TCP_HEADER);
                let signal = Some(&space.signal);
                let mut options = OptionBytes::default();
                let room = room.saturating_sub(len as usize);
                writer.fitting_options(&mut options, (segment, signal), room)?;
                let mut fields = writer.fields(segment);
                fields.flags = fields.flags.with(TcpFlags::DUMMY, space.signal.is_low_priority());
                let mut message = Vec::new();
                let data = if let SpaceSignal::Convert(said) = space.signal {
                    convert::write(&mut message, said, subflow.server);
                    Payload::of(&message)
                } else {
                    Payload::of_stream(packet.offset, len as usize)
                };
                let data = data.up_to(most.saturating_sub(headers(six, &options)));
                missing = data.missing();
                frame::write_tcp(out, (ends, ecn), &fields, &options, &data);
                subflow.sent[end] = subflow.sent[end].max(segment.end());
            }
        }
        let length = out.len() - start + missing;
        if length as u64 != charged {
            out.truncate(start);
            return Err(CodecError::Size { written: Bytes(length as u64), charged: Bytes(charged) });
        }
        Ok(length)
    }
}

/// Bytes before the payload of a segment.
fn headers(six: bool, options: &OptionBytes) -> usize {
    IP_HEADERS[usize::from(six)] + TCP_HEADER + options.as_slice().len()
}

/// The application writes numbers at the head of a datagram as far as they fit, in network byte order.
fn write_datagram(out: &mut Vec<u8>, ends: Ends, ecn: u8, offset: StreamOffset, datagram: &Datagram) {
    let mut data = payload(offset, datagram.len as usize).to_vec();
    let numbers = [datagram.number.to_be_bytes(), datagram.message.0.to_be_bytes()].concat();
    let head = data.len().min(numbers.len());
    data[..head].copy_from_slice(&numbers[..head]);
    frame::write_udp(out, ends, ecn, &data);
}

impl Association {
    /// Keys and the progress of the stream, from a packet of `end`. True if a key is another than before.
    fn learn(&mut self, end: usize, packet: &Packet) -> bool {
        if let Body::Sctp(body) = &packet.body {
            self.tags.learn(end, body);
        }
        let Some(segment) = packet.segment() else { return false };
        self.follow(end, segment);
        match segment.mptcp {
            MptcpOption::CapableSynAck(key) => self.learn_key(end, key),
            MptcpOption::CapableAck { sender, receiver, .. } => {
                self.learn_key(end, sender) | self.learn_key(1 - end, receiver)
            }
            _ => false,
        }
    }

    /// The progress of the stream, from a segment of `end`.
    fn follow(&mut self, end: usize, segment: &TcpSegment) {
        if let Some(dsn) = segment.mptcp.mapping() {
            self.sent[end] = self.sent[end].max(dsn + Bytes(u64::from(segment.len)));
        }
    }
}

impl Writer<'_> {
    fn fields(&self, segment: &TcpSegment) -> TcpFields {
        let flags = segment.flags;
        let bits = TcpFlags::default()
            .with(TcpFlags::SYN, flags.syn)
            .with(TcpFlags::ACK, flags.ack)
            .with(TcpFlags::FIN, flags.fin)
            .with(TcpFlags::RST, flags.rst)
            .with(TcpFlags::PSH, flags.psh)
            .with(TcpFlags::ECE, flags.ece)
            .with(TcpFlags::CWR, flags.cwr);
        let ack = if flags.ack { self.subflow.field(1 - self.end, segment.ack) } else { Default::default() };
        TcpFields {
            seq: if flags.syn {
                segment.seq.on_wire(self.subflow.numbers.initial[self.end])
            } else {
                self.subflow.field(self.end, segment.seq)
            },
            ack,
            flags: bits,
            window: self.association.settings[self.end].window_field(segment.window, flags.syn),
        }
    }

    /// Options with which the header has `room` bytes of them, into an empty list: the length of the Data ACK depends on the state of its
    /// machine, and a middlebox overwrites an option with padding.
    fn fitting_options(
        &self,
        options: &mut OptionBytes,
        (segment, signal): (&TcpSegment, Option<&SpaceSignal>),
        room: usize,
    ) -> Result<Fitted, CodecError> {
        self.tcp_options(options, segment)?;
        if let Some(signal) = signal {
            write_signal(options, signal)?;
        }
        let shared = options.as_slice().len();
        // The two forms differ by a word: at most one of them fits. That of the packet before is tried first.
        let last = self.subflow.wide[self.end];
        let mut written = Ok(());
        for wide in [last, !last] {
            options.truncate(shared);
            written = self.mptcp(options, segment, wide);
            if written.is_ok() && options.as_slice().len() == room {
                return Ok(Fitted { padding: 0, wide });
            }
        }
        written?;
        let stripped = segment.mptcp == MptcpOption::None && self.association.settings[self.end].multipath;
        let missing = room.min(OPTION_SPACE).saturating_sub(options.as_slice().len());
        let padding = if stripped { missing } else { 0 };
        options.nops(padding)?;
        Ok(Fitted { padding, wide: last })
    }

    /// In the order of Linux.
    fn tcp_options(&self, options: &mut OptionBytes, segment: &TcpSegment) -> Result<(), CodecError> {
        let settings = &self.association.settings[self.end];
        let syn = segment.flags.syn;
        if syn {
            options.push(&TcpOption::Mss(settings.mss))?;
        }
        if syn && settings.sack && segment.timestamps.is_some() {
            options.push(&TcpOption::SackPermitted)?;
        } else if segment.timestamps.is_some() || syn && settings.sack && !settings.timestamps {
            options.nops(2)?;
        }
        if let Some(Timestamps { value, echo }) = segment.timestamps {
            let numbers = &self.subflow.numbers;
            let echo = if echo.is_never() { 0 } else { numbers.timestamp(1 - self.end, echo) };
            options.push(&TcpOption::Timestamps { value: numbers.timestamp(self.end, value), echo })?;
        } else if syn && settings.sack && !settings.timestamps {
            options.push(&TcpOption::SackPermitted)?;
        }
        if let (true, Some(shift)) = (syn, settings.window_scale) {
            options.nops(1)?;
            options.push(&TcpOption::WindowScale(shift))?;
        }
        let blocks = segment.sack.as_slice();
        if !blocks.is_empty() {
            let field = |seq: Seq| self.subflow.field(1 - self.end, seq);
            let mut fields = [[Default::default(); 2]; 4];
            for (place, block) in fields.iter_mut().zip(blocks) {
                *place = [field(block.start), field(block.end)];
            }
            options.nops(2)?;
            options.sack(&fields[..blocks.len()])?;
        }
        Ok(())
    }

    /// The MPTCP option, and the Data ACK beside a signal, padded.
    fn mptcp(&self, options: &mut OptionBytes, segment: &TcpSegment, wide: bool) -> Result<(), CodecError> {
        if let MptcpOption::AddAddr { data_ack, .. }
        | MptcpOption::RemoveAddr { data_ack, .. }
        | MptcpOption::Prio { data_ack, .. } = segment.mptcp
        {
            // Beside an IPv6 address there is no room for it.
            let long = self.six && matches!(segment.mptcp, MptcpOption::AddAddr { .. });
            let option =
                Mptcp::Dss { data_ack: Some(self.data_ack(data_ack, wide)?), mapping: None, data_fin: false };
            if !long {
                option.write(options)?;
            }
        }
        if let Some(option) = self.option(segment, wide)? {
            option.write(options)?;
        } else if let MptcpOption::RemoveAddr { id, .. } = segment.mptcp {
            Mptcp::RemoveAddr(&[id]).write(options)?;
        }
        Ok(options.align()?)
    }

    fn option(&self, segment: &TcpSegment, wide: bool) -> Result<Option<Mptcp<'static>>, CodecError> {
        let checksum = self.association.settings[self.end].checksum;
        Ok(Some(match segment.mptcp {
            MptcpOption::None | MptcpOption::RemoveAddr { .. } => return Ok(None),
            MptcpOption::CapableSyn => Mptcp::capable(None, None, checksum),
            MptcpOption::CapableSynAck(key) => Mptcp::capable(Some(key), None, checksum),
            MptcpOption::CapableAck { sender, receiver, after } => {
                return self.capable_ack(segment, (sender, receiver), after).map(Some);
            }
            MptcpOption::JoinSyn { token, nonce, id, backup, .. } => {
                Mptcp::JoinSyn { backup, id, token, nonce }
            }
            MptcpOption::JoinSynAck { hmac, nonce, id, backup } => {
                Mptcp::JoinSynAck { backup, id, hmac, nonce }
            }
            MptcpOption::JoinAck { hmac } => Mptcp::JoinAck { hmac },
            MptcpOption::Dss(dss) => self.dss(segment, dss, wide)?,
            MptcpOption::AddAddr { id, address, echo, hmac, .. } => {
                // An echo repeats an address of the other end.
                let of = if echo { 1 - self.end } else { self.end };
                let addresses = &self.association.settings[of].addresses;
                let ip = addresses.get(usize::from(address)).copied();
                let ip = ip.ok_or(CodecError::Meaningless("an address that its host does not have"))?;
                let hmac = (!echo).then(|| self.hmac_on_wire(hmac, id, address));
                Mptcp::AddAddr { echo, id, address: ip, port: None, hmac }
            }
            MptcpOption::Prio { backup, .. } => Mptcp::Prio { backup },
            MptcpOption::FastClose { key } => Mptcp::FastClose { key },
            MptcpOption::Reset(reason) => Mptcp::Reset { flags: 0, reason: reason.code() },
        }))
    }

    /// MP_CAPABLE on the third ACK, or on data: its mapping begins with the first byte.
    fn capable_ack(
        &self,
        segment: &TcpSegment,
        (sender, receiver): (Key, Key),
        after: Option<u16>,
    ) -> Result<Mptcp<'static>, CodecError> {
        let checksum = self.association.settings[self.end].checksum;
        let mut option = Mptcp::capable(Some(sender), Some(receiver), checksum);
        let Mptcp::Capable { data_len, checksum: sum, .. } = &mut option else { return Ok(option) };
        if let Some(after) = after {
            if segment.seq != Seq::FIRST_DATA {
                return Err(CodecError::Meaningless("a mapping of MP_CAPABLE that is not the first"));
            }
            let len = mapped_len(segment.len + u32::from(after))?;
            *data_len = Some(len);
            if checksum {
                let start = sender.initial_dsn().wrapping_add(1);
                let ssn = self.subflow.ssn(self.end, Seq::FIRST_DATA);
                *sum = Some(dss_checksum((start, ssn, len), payload(StreamOffset::START, usize::from(len))));
            }
        }
        Ok(option)
    }

    fn dss(&self, segment: &TcpSegment, dss: Dss, wide: bool) -> Result<Mptcp<'static>, CodecError> {
        let settings = &self.association.settings[self.end];
        let data_ack = dss.data_ack.map(|ack| self.data_ack(ack, wide)).transpose()?;
        let Some(dsn) = dss.dsn else {
            return Ok(Mptcp::Dss { data_ack, mapping: None, data_fin: dss.data_fin });
        };
        let before = dss.margin.before;
        // RFC 8684 section 3.3.3: "when the DATA_FIN is not attached to a TCP segment containing data, the DSS MUST have a subflow sequence
        // number of 0, a Data-Level Length of 1, and the data sequence number that corresponds with the DATA_FIN itself."
        let ssn = if segment.len == 0 {
            0
        } else {
            self.subflow.ssn(self.end, segment.seq).wrapping_sub(before.into())
        };
        let data_len = u32::from(before) + segment.len + u32::from(dss.margin.after);
        let len = mapped_len(data_len + u32::from(dss.data_fin))?;
        let start = self.association.dsn_on_wire(self.end, dsn)?.wrapping_sub(before.into());
        let offset = StreamOffset(segment.stream_offset().0.wrapping_sub(before.into()));
        let checksum =
            settings.checksum.then(|| dss_checksum((start, ssn, len), payload(offset, data_len as usize)));
        let mapping = Mapping { dsn: Number::new(start, settings.wide), ssn, len, checksum };
        Ok(Mptcp::Dss { data_ack, mapping: Some(mapping), data_fin: dss.data_fin })
    }

    /// A Data ACK counts data of the other end.
    fn data_ack(&self, ack: Dsn, wide: bool) -> Result<Number, CodecError> {
        let wide = wide && self.association.settings[self.end].wide;
        Ok(Number::new(self.association.dsn_on_wire(1 - self.end, ack)?, wide))
    }

    /// That of the machine covers a stand-in for the address; one that it does not cover stays wrong.
    fn hmac_on_wire(&self, hmac: Hmac64, id: u8, address: u8) -> Hmac64 {
        let [Some(own), Some(peer)] = [self.association.keys[self.end], self.association.keys[1 - self.end]]
        else {
            return hmac;
        };
        let authentic = hmac == add_addr_hmac(own, peer, id, stand_in_address(address), 0);
        let addresses = &self.association.settings[self.end].addresses;
        match addresses.get(usize::from(address)) {
            Some(ip) if authentic => add_addr_hmac(own, peer, id, *ip, 0),
            _ => hmac,
        }
    }
}

/// RFC 8684 section 3.3.1: over the data sequence number, the subflow sequence number, the length, zeros and the data.
pub fn dss_checksum((dsn, ssn, len): (u64, u32, u16), data: &[u8]) -> u16 {
    let sum = etherparse::checksum::Sum16BitWords::new()
        .add_8bytes(dsn.to_be_bytes())
        .add_4bytes(ssn.to_be_bytes())
        .add_2bytes(len.to_be_bytes())
        .add_slice(data);
    sum.ones_complement().to_be()
}

fn write_signal(options: &mut OptionBytes, signal: &SpaceSignal) -> Result<(), CodecError> {
    match signal {
        SpaceSignal::Dummy { .. } | SpaceSignal::DummyAnswer | SpaceSignal::Convert(_) => {}
        SpaceSignal::ScpsCapable => options.push(&TcpOption::ScpsCapable([SNACK_CAPABLE, 0]))?,
        SpaceSignal::Snack(Snack { offset, size, bits, vector }) => {
            // The first bit is the lowest there, and the highest of its byte here.
            let bytes = vector.to_le_bytes().map(u8::reverse_bits);
            let vector = &bytes[..usize::from(*bits).div_ceil(8).min(bytes.len())];
            options.push(&TcpOption::Snack { offset: *offset, size: *size, vector })?;
            options.align()?;
        }
        SpaceSignal::Poll { .. } | SpaceSignal::Stat { .. } | SpaceSignal::Ustat => {
            return Err(CodecError::NoForm);
        }
    }
    Ok(())
}

/// The length field of a mapping.
fn mapped_len(len: u32) -> Result<u16, CodecError> {
    u16::try_from(len).map_err(|_| CodecError::Meaningless("a mapping longer than 64 KiB"))
}
