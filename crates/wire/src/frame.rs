//! IP datagrams with TCP, UDP or SCTP in them: header fields and bytes.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpDscp, IpNumber, Ipv4Header, Ipv6Header, LaxIpSlice};
use transport::seq::{Seq32, StreamOffset};

use crate::crc32c::Crc32c;
use crate::options::{OPTION_SPACE, OptionBytes, Options, bytes_at};
use crate::payload::{Payload, payload};
use crate::sctp::{self, Chunks, SctpHeader};

/// Hops that a packet may make: the default of Linux.
const TTL: u8 = 64;
/// A TCP header without options.
pub const TCP_HEADER: usize = 20;
/// A UDP header.
pub const UDP_HEADER: usize = 8;
/// Differentiated services come before the two bits of ECN.
const ECN_BITS: u8 = 0b11;

/// Flags of a TCP header: the low twelve bits of its thirteenth and fourteenth byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data.
    pub const FIN: Self = Self(0x001);
    /// Synchronise.
    pub const SYN: Self = Self(0x002);
    /// Reset.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x010);
    /// ECN-echo.
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x080);
    /// A reserved bit, which stands for the dummies of TCP-Peach here.
    pub const DUMMY: Self = Self(0x800);

    /// All of these are set.
    #[inline]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these too, if `set`.
    #[must_use]
    pub fn with(self, flags: Self, set: bool) -> Self {
        if set { Self(self.0 | flags.0) } else { self }
    }
}

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a> {
    /// Sequence number.
    pub seq: Seq32,
    /// Acknowledgement number.
    pub ack: Seq32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, before scaling.
    pub window: u16,
    /// Checksum, as it was read; ignored when it is written.
    pub checksum: u16,
    /// Options, as far as they were captured.
    pub options: Options<'a>,
    /// Bytes of options that the header has.
    pub options_len: usize,
}

/// The content of an IP datagram.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(TcpHeader<'a>),
    /// UDP.
    Udp,
    /// SCTP.
    Sctp(SctpHeader<'a>),
    /// Another protocol, or a fragment.
    Other(u8),
}

/// Addresses and ports of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// Address and port of the sender.
    pub source: SocketAddr,
    /// Address and port of the receiver.
    pub destination: SocketAddr,
}

impl Ends {
    /// Addresses and ports of packets in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

/// An IP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Addresses and ports; ports are 0 for other protocols than TCP, UDP and SCTP.
    pub ends: Ends,
    /// ECN codepoint.
    pub ecn: u8,
    /// Its content.
    pub transport: Transport<'a>,
    /// Bytes of the datagram, as its header has it; more than were captured where it was cut.
    pub len: usize,
    /// Bytes of payload behind the header of TCP or UDP, or the common header of SCTP, as the IP header has it.
    pub payload_len: usize,
    /// Bytes of the payload that were captured.
    pub payload: &'a [u8],
}

/// Why bytes are no IP datagram with the header of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The IP header is cut off, or none.
    Ip,
    /// The header of TCP, UDP or SCTP is cut off.
    Cut,
    /// Its lengths contradict each other.
    Length,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "no IP header",
            Self::Cut => "the header of TCP, UDP or SCTP is cut off",
            Self::Length => "lengths of headers contradict each other",
        })
    }
}

impl std::error::Error for Malformed {}

impl<'a> Frame<'a> {
    /// Reads a datagram, which may be cut off, or followed by padding of the link.
    ///
    /// # Errors
    /// The headers are not all there, or contradict each other.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode_of(bytes, bytes.len())
    }

    /// Reads a datagram that had `sent` bytes. Where the interface cuts it into segments its header may have no length yet, and has
    /// none beyond 64 KiB.
    ///
    /// # Errors
    /// The headers are not all there, or contradict each other.
    pub fn decode_of(bytes: &'a [u8], sent: usize) -> Result<Self, Malformed> {
        let (ip, _) = LaxIpSlice::from_slice(bytes).map_err(|_| Malformed::Ip)?;
        let (ecn, header, total) = match &ip {
            LaxIpSlice::Ipv4(ip) => {
                let auth = ip.extensions().auth.map_or(0, |auth| auth.slice().len());
                let header = ip.header();
                let total = usize::from(header.total_len());
                (header.ecn().value(), header.slice().len() + auth, if total == 0 { sent } else { total })
            }
            LaxIpSlice::Ipv6(ip) => {
                let extensions = ip.extensions().slice().len();
                let payload = usize::from(ip.header().payload_length());
                let total = if payload == 0 { sent } else { Ipv6Header::LEN + payload };
                (ip.header().traffic_class() & ECN_BITS, Ipv6Header::LEN + extensions, total)
            }
        };
        let carried = total.checked_sub(header).ok_or(Malformed::Length)?;
        let (source, destination) = (ip.source_addr(), ip.destination_addr());
        let body = ip.payload();
        let ends = |ports: [u16; 2]| Ends {
            source: SocketAddr::new(source, ports[0]),
            destination: SocketAddr::new(destination, ports[1]),
        };
        let frame = |ports, transport, header: usize| -> Result<Self, Malformed> {
            let payload_len = carried.checked_sub(header).ok_or(Malformed::Length)?;
            let payload = body.payload.get(header..).unwrap_or_default();
            Ok(Self { ends: ends(ports), ecn, transport, len: total, payload_len, payload })
        };
        let number = body.ip_number;
        if body.fragmented || ![IpNumber::TCP, IpNumber::UDP, IpNumber::SCTP].contains(&number) {
            return frame([0, 0], Transport::Other(number.0), 0);
        }
        let ports = bytes_at::<4>(body.payload, 0).ok_or(Malformed::Cut)?;
        let ports = [u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]])];
        if number == IpNumber::UDP {
            return frame(ports, Transport::Udp, UDP_HEADER);
        }
        if number == IpNumber::SCTP {
            let left = carried.checked_sub(sctp::COMMON_HEADER).ok_or(Malformed::Length)?;
            return frame(ports, Transport::Sctp(sctp_header(body.payload, left)?), sctp::COMMON_HEADER);
        }
        let tcp = tcp_header(body.payload)?;
        frame(ports, Transport::Tcp(tcp), TCP_HEADER + tcp.options_len)
    }
}

/// `left`: bytes of chunks, by the IP header.
fn sctp_header(bytes: &[u8], left: usize) -> Result<SctpHeader<'_>, Malformed> {
    let tag = bytes_at(bytes, 4).map(u32::from_be_bytes).ok_or(Malformed::Cut)?;
    let checksum = bytes_at(bytes, 8).ok_or(Malformed::Cut)?;
    Ok(SctpHeader { tag, checksum, chunks: Chunks::new(&bytes[sctp::COMMON_HEADER..], left) })
}

fn tcp_header(bytes: &[u8]) -> Result<TcpHeader<'_>, Malformed> {
    let word = |at| bytes_at(bytes, at).map(u32::from_be_bytes).ok_or(Malformed::Cut);
    let half = |at| bytes_at(bytes, at).map(u16::from_be_bytes).ok_or(Malformed::Cut);
    let (seq, ack, control, window, checksum) = (word(4)?, word(8)?, half(12)?, half(14)?, half(16)?);
    half(18)?;
    let length = usize::from(control >> 12) * 4;
    let options_len = length.checked_sub(TCP_HEADER).ok_or(Malformed::Length)?;
    let options = &bytes[TCP_HEADER..bytes.len().min(length)];
    Ok(TcpHeader {
        seq: Seq32(seq),
        ack: Seq32(ack),
        flags: TcpFlags(control & 0x0fff),
        window,
        checksum,
        options: Options(options),
        options_len,
    })
}

/// A TCP segment to be written.
#[derive(Clone, Copy, Debug)]
pub struct TcpFields {
    /// Sequence number.
    pub seq: Seq32,
    /// Acknowledgement number.
    pub ack: Seq32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, before scaling.
    pub window: u16,
}

/// Appends an IP datagram with a TCP segment to `out`. Its identification is 0, as RFC 6864 permits where fragments are not: the
/// same packet has the same bytes wherever it is seen.
pub fn write_tcp(
    out: &mut Vec<u8>,
    (ends, ecn): (Ends, u8),
    tcp: &TcpFields,
    options: &OptionBytes,
    payload: &Payload<'_>,
) {
    let options = options.as_slice();
    debug_assert!(options.len().is_multiple_of(4) && options.len() <= OPTION_SPACE, "options fill words");
    let length = TCP_HEADER + options.len();
    let mut header = [0; TCP_HEADER];
    header[0..2].copy_from_slice(&ends.source.port().to_be_bytes());
    header[2..4].copy_from_slice(&ends.destination.port().to_be_bytes());
    header[4..8].copy_from_slice(&tcp.seq.0.to_be_bytes());
    header[8..12].copy_from_slice(&tcp.ack.0.to_be_bytes());
    // At most 60 bytes: fifteen words.
    let control = ((length / 4) as u16) << 12 | tcp.flags.0 & 0x0fff;
    header[12..14].copy_from_slice(&control.to_be_bytes());
    header[14..16].copy_from_slice(&tcp.window.to_be_bytes());
    let sum = pseudo_header(ends, IpNumber::TCP, length + payload.len());
    let sum =
        sum.add_slice(&header).add_slice(options).add_2bytes(payload.sum().to_be_bytes()).ones_complement();
    // The sum of the library is in the byte order of the machine, as its documentation has it.
    header[16..18].copy_from_slice(&sum.to_be().to_be_bytes());
    write_ip(out, ends, ecn, IpNumber::TCP, length + payload.len());
    out.extend_from_slice(&header);
    out.extend_from_slice(options);
    out.extend_from_slice(payload.bytes());
}

/// Appends an IP datagram with a UDP datagram to `out`.
pub fn write_udp(out: &mut Vec<u8>, ends: Ends, ecn: u8, payload: &[u8]) {
    let length = UDP_HEADER + payload.len();
    let mut header = [0; UDP_HEADER];
    header[0..2].copy_from_slice(&ends.source.port().to_be_bytes());
    header[2..4].copy_from_slice(&ends.destination.port().to_be_bytes());
    // An IP packet has no room for more than 65,535 bytes.
    header[4..6].copy_from_slice(&(length.min(usize::from(u16::MAX)) as u16).to_be_bytes());
    let sum = pseudo_header(ends, IpNumber::UDP, length).add_slice(&header).add_slice(payload);
    header[6..8].copy_from_slice(&sum.to_ones_complement_with_no_zero().to_be().to_be_bytes());
    write_ip(out, ends, ecn, IpNumber::UDP, length);
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
}

/// Appends an IP datagram with an SCTP packet to `out`.
pub fn write_sctp(out: &mut Vec<u8>, ends: Ends, ecn: u8, tag: u32, chunks: &[u8]) {
    let mut packet = SctpWriter::new(out, (ends, ecn), tag, (chunks.len(), usize::MAX));
    packet.bytes(chunks);
    packet.finish();
}

/// Appends an IP datagram with an SCTP packet in parts.
#[derive(Debug)]
pub struct SctpWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Where the checksum stands.
    field: usize,
    /// Bytes behind this place of the buffer may be missing.
    most: usize,
    checksum: Crc32c,
    missing: usize,
}

impl<'a> SctpWriter<'a> {
    /// A packet with `length` bytes of chunks. Bytes behind the first `most` of the datagram may be missing.
    pub fn new(
        out: &'a mut Vec<u8>,
        (ends, ecn): (Ends, u8),
        tag: u32,
        (length, most): (usize, usize),
    ) -> Self {
        let most = out.len().saturating_add(most);
        let mut header = [0; sctp::COMMON_HEADER];
        header[0..2].copy_from_slice(&ends.source.port().to_be_bytes());
        header[2..4].copy_from_slice(&ends.destination.port().to_be_bytes());
        header[4..8].copy_from_slice(&tag.to_be_bytes());
        write_ip(out, ends, ecn, IpNumber::SCTP, header.len() + length);
        let field = out.len() + 8;
        out.extend_from_slice(&header);
        // RFC 9260 section 6.8: the checksum is computed with a field of zeros.
        Self { out, field, most, checksum: Crc32c::default().with(&header), missing: 0 }
    }

    /// These bytes follow.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.checksum = self.checksum.with(bytes);
        self.append(bytes);
    }

    /// Bytes of the stream follow.
    pub fn payload(&mut self, offset: StreamOffset, len: usize) {
        self.checksum = self.checksum.with_payload(offset, len);
        self.append(payload(offset, len));
    }

    fn append(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.most.saturating_sub(self.out.len()));
        self.out.extend_from_slice(&bytes[..kept]);
        self.missing += bytes.len() - kept;
    }

    /// Ends the packet, and returns how many bytes of it are missing.
    pub fn finish(self) -> usize {
        self.out[self.field..self.field + 4].copy_from_slice(&self.checksum.field());
        self.missing
    }
}

/// The part of an IP header that the checksums of TCP and UDP cover.
fn pseudo_header(ends: Ends, number: IpNumber, length: usize) -> Sum16BitWords {
    let mut sum = Sum16BitWords::new();
    for address in [ends.source.ip(), ends.destination.ip()] {
        sum = match address {
            IpAddr::V4(address) => sum.add_4bytes(address.octets()),
            IpAddr::V6(address) => sum.add_16bytes(address.octets()),
        };
    }
    sum.add_2bytes([0, number.0]).add_4bytes((length as u32).to_be_bytes())
}

fn write_ip(out: &mut Vec<u8>, ends: Ends, ecn: u8, number: IpNumber, length: usize) {
    // A simulated packet may be larger than an IP packet can be; its headers then say the most that they can.
    let payload = length.min(usize::from(u16::MAX) - Ipv4Header::MIN_LEN) as u16;
    match (ends.source.ip(), ends.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = Ipv4Header {
                dscp: IpDscp::ZERO,
                ecn: ecn.try_into().unwrap_or_default(),
                total_len: payload + Ipv4Header::MIN_LEN_U16,
                dont_fragment: true,
                time_to_live: TTL,
                protocol: number,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (source, destination) => {
            let octets = |address| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let header = Ipv6Header {
                traffic_class: ecn & ECN_BITS,
                payload_length: payload,
                next_header: number,
                hop_limit: TTL,
                source: octets(source),
                destination: octets(destination),
                ..Ipv6Header::default()
            };
            out.extend_from_slice(&header.to_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::options::TcpOption;

    fn ends(six: bool) -> Ends {
        let address = |host: u8| -> IpAddr {
            if six { [0xfd00, 0, 0, 0, 0, 0, 0, u16::from(host)].into() } else { [10, 0, 0, host].into() }
        };
        Ends { source: SocketAddr::new(address(1), 49152), destination: SocketAddr::new(address(2), 5001) }
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        for six in [false, true] {
            let mut options = OptionBytes::default();
            options.push(&TcpOption::Mss(1460)).expect("it fits");
            let tcp = TcpFields {
                seq: Seq32(7),
                ack: Seq32(u32::MAX),
                flags: TcpFlags::ACK.with(TcpFlags::PSH, true),
                window: 9,
            };
            let mut bytes = Vec::new();
            write_tcp(&mut bytes, (ends(six), 2), &tcp, &options, &Payload::of(b"hello"));
            assert_eq!(bytes.len(), if six { 40 } else { 20 } + 24 + 5);
            // A link pads short packets.
            bytes.extend([0; 9]);
            let frame = Frame::decode(&bytes).expect("it is whole");
            assert_eq!(
                (frame.ends, frame.ecn, frame.payload, frame.payload_len),
                (ends(six), 2, &b"hello"[..], 5)
            );
            let Transport::Tcp(header) = frame.transport else { panic!("{frame:?}") };
            assert_eq!(
                (header.seq, header.ack, header.flags, header.window),
                (tcp.seq, tcp.ack, tcp.flags, 9)
            );
            assert!({ header.options }.eq([TcpOption::Mss(1460)]));
            // Without a length, as a packet that its interface cuts into segments.
            let field = if six { 4..6 } else { 2..4 };
            let mut whole = bytes[..bytes.len() - 9].to_vec();
            whole[field].fill(0);
            let large =
                Frame::decode_of(&whole[..whole.len() - 5], whole.len()).expect("the header is there");
            assert_eq!((large.payload_len, large.payload.len(), large.len), (5, 0, frame.len));
            // Cut behind the header: the lengths stay.
            let cut = Frame::decode(&bytes[..bytes.len() - 14]).expect("the header is there");
            assert_eq!((cut.payload_len, cut.payload.len(), cut.len), (5, 0, frame.len));
        }
    }

    /// Checksums worked out by hand: the words of header and pseudo header add up to 0xffff.
    #[test]
    fn checksums_add_up() {
        let words = |bytes: &[u8]| {
            let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
            let mut sum: u32 = bytes.chunks(2).map(word).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            sum
        };
        let mut bytes = Vec::new();
        let fields = TcpFields { seq: Seq32(1), ack: Seq32(2), flags: TcpFlags::ACK, window: 3 };
        write_tcp(&mut bytes, (ends(false), 0), &fields, &OptionBytes::default(), &Payload::of(b"abc"));
        assert_eq!(words(&bytes[..20]), 0xffff);
        let pseudo = [&bytes[12..20], &[0, 6, 0, 23][..], &bytes[20..]].concat();
        assert_eq!(words(&pseudo), 0xffff);
        bytes.clear();
        write_udp(&mut bytes, ends(false), 0, b"abcd");
        let pseudo = [&bytes[12..20], &[0, 17, 0, 12][..], &bytes[20..]].concat();
        assert_eq!(words(&pseudo), 0xffff);
    }

    #[test]
    fn an_sctp_packet_is_read_as_it_was_written() {
        for six in [false, true] {
            let mut bytes = Vec::new();
            // COOKIE ACK.
            write_sctp(&mut bytes, ends(six), 0, 0x0102_0304, &[11, 0, 0, 4]);
            let frame = Frame::decode(&bytes).expect("it is whole");
            assert_eq!((frame.ends, frame.payload_len), (ends(six), 4));
            let Transport::Sctp(header) = frame.transport else { panic!("{frame:?}") };
            assert_eq!(header.tag, 0x0102_0304);
            assert_eq!({ header.chunks }.map(|chunk| chunk.kind).collect::<Vec<_>>(), [11]);
            let start = if six { 40 } else { 20 };
            let sum = [&bytes[start..start + 8], &[0; 4], &bytes[start + 12..]].concat();
            assert_eq!(header.checksum, Crc32c::default().with(&sum).field());
            assert!(Frame::decode(&bytes[..start + 10]).is_err(), "the common header is cut off");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), ip in 0usize..3) {
            // Most begin as a datagram would.
            if let Some(first) = bytes.first_mut() {
                *first = [*first, 0x45, 0x60][ip];
            }
            if let Some(protocol) = bytes.get_mut(9) && ip == 1 {
                *protocol = 6;
            }
            if let Ok(frame) = Frame::decode(&bytes) && let Transport::Tcp(header) = frame.transport {
                prop_assert!(header.options.count() <= OPTION_SPACE);
                prop_assert!(frame.payload.len() <= frame.payload_len.max(bytes.len()));
            }
        }
    }
}
