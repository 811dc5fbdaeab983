//! State of the TCP and MPTCP sockets of a namespace, by `sock_diag(7)`, the interface of `ss`.
//!
//! It has the same `tcp_info` and `mptcp_info` as `getsockopt` with MPTCP_FULL_INFO, which needs pointers inside its argument.
//! May: ask and read. May not: know flows.

use std::fmt;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{NetlinkAddr, bind};
use socket2::{Domain, Protocol, Socket, Type};
use units::{Bytes, Nanos};

use crate::fault::Fault;
use crate::socket::again;

const AF_NETLINK: i32 = 16;
const NETLINK_SOCK_DIAG: i32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// NLM_F_REQUEST and NLM_F_DUMP.
const DUMP: u16 = 0x301;
const AF_INET: u8 = 2;
/// Servers that listen on `::` have IPv4 peers in its mapped addresses.
const AF_INET6: u8 = 10;
/// Begins them.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const IPPROTO_TCP: u8 = 6;
const IPPROTO_MPTCP: u32 = 262;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_DIAG_REQ_PROTOCOL: u16 = 3;
const INET_ULP_INFO_MPTCP: u16 = 3;
const MPTCP_SUBFLOW_ATTR_TOKEN_LOC: u16 = 2;
/// All states of sockets but LISTEN and TIME_WAIT.
const STATES: u32 = !(1 << 10 | 1 << 6);
/// Bytes of `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// The request with a socket identity that says nothing.
const REQUEST: usize = 56;
const HEADER: usize = 16;
const LARGEST_ANSWER: usize = 1 << 16;

/// Name of a congestion control in the kernel: at most 15 bytes (`TCP_CA_NAME_MAX`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlName([u8; 16]);

impl ControlName {
    /// The first 15 bytes of `name`, up to the first zero.
    pub fn new(name: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        bytes.iter_mut().take(15).zip(name).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

impl fmt::Display for ControlName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        f.write_str(&String::from_utf8_lossy(name))
    }
}

/// Payload that a TCP socket has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayloadCounts {
    /// Sent, retransmissions included.
    pub sent: Bytes,
    /// Sent again.
    pub retransmitted: Bytes,
    /// Arrived in order.
    pub received: Bytes,
    /// Acknowledged by the peer.
    pub acked: Bytes,
}

/// Segments that a TCP socket has counted: those with payload, and those that acknowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Sent, retransmissions included.
    pub sent: u32,
    /// Retransmitted.
    pub retransmitted: u32,
    /// Arrived.
    pub received: u32,
    /// Arrived out of order.
    pub out_of_order: u32,
    /// Arrived with or without payload: nearly all have an acknowledgement.
    pub acks: u32,
}

/// One TCP socket, a subflow where it belongs to an MPTCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowState {
    /// Local address and port.
    pub local: (Ipv4Addr, u16),
    /// Remote address and port.
    pub remote: (Ipv4Addr, u16),
    /// `TCP_ESTABLISHED` is 1.
    pub state: u8,
    /// Token of its MPTCP connection.
    pub token: Option<u32>,
    /// Its congestion control; `None` of a socket that has gone.
    pub control: Option<ControlName>,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow-start threshold, in segments; `None`: unlimited.
    pub ssthresh: Option<u32>,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Smoothed round-trip time; zero without a sample.
    pub srtt: Nanos,
    /// Segments in flight.
    pub unacked: u32,
    /// Window that the peer has offered.
    pub send_window: Bytes,
    /// Payload, in bytes.
    pub payload: PayloadCounts,
    /// Segments with payload.
    pub segments: SegmentCounts,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

/// One MPTCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionState {
    /// Local address and port.
    pub local: (Ipv4Addr, u16),
    /// Remote address and port.
    pub remote: (Ipv4Addr, u16),
    /// Its token.
    pub token: u32,
    /// It has fallen back to TCP.
    pub fell_back: bool,
    /// Subflows beside the first.
    pub further_subflows: u8,
    /// Payload that was sent.
    pub sent: Bytes,
    /// Payload that was sent again by the connection.
    pub reinjected: Bytes,
    /// Payload that arrived in order.
    pub received: Bytes,
}

/// All sockets of a namespace at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sockets {
    pub(crate) subflows: Vec<SubflowState>,
    pub(crate) connections: Vec<ConnectionState>,
}

/// The way to ask about the sockets of the namespace in which it was made.
pub(crate) struct Diag {
    socket: Socket,
    /// Tells of TCP sockets that go, as they were at last.
    ends: Socket,
    answer: Vec<u8>,
}

/// Multicast groups of TCP sockets that go: SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY.
const GONE: u32 = 1 | 1 << 2;

impl Diag {
    pub(crate) fn new() -> Result<Self, Fault> {
        let failed = Fault::io("sock_diag");
        let protocol = Protocol::from(NETLINK_SOCK_DIAG);
        let open = || Socket::new(Domain::from(AF_NETLINK), Type::RAW, Some(protocol));
        let ends = open().map_err(&failed)?;
        bind(ends.as_raw_fd(), &NetlinkAddr::new(0, GONE)).map_err(|error| Fault::of("sock_diag", error))?;
        ends.set_nonblocking(true).map_err(&failed)?;
        Ok(Self { socket: open().map_err(&failed)?, ends, answer: vec![0; LARGEST_ANSWER] })
    }

    /// TCP sockets that have gone since the last time, as they were at last.
    pub(crate) fn gone(&mut self) -> Result<Vec<SubflowState>, Fault> {
        let mut found = Vec::new();
        loop {
            let length = match self.ends.read(&mut self.answer) {
                Ok(length) => length,
                Err(error) if again(&error) => return Ok(found),
                // Some are lost: their last sample stands.
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => continue,
                Err(error) => return Err(Fault::of("sock_diag", error)),
            };
            let mut rest = &self.answer[..length];
            while let Some((_, body, next)) = message(rest) {
                found.extend(subflow(body));
                rest = next;
            }
        }
    }

    /// All sockets with IPv4 addresses.
    pub(crate) fn sockets(&mut self) -> Result<Sockets, Fault> {
        let mut found = Sockets::default();
        for family in [AF_INET, AF_INET6] {
            self.dump((family, None), |message| found.subflows.extend(subflow(message)))?;
            let mptcp = (family, Some(IPPROTO_MPTCP));
            self.dump(mptcp, |message| found.connections.extend(connection(message)))?;
        }
        Ok(found)
    }

    fn dump(&mut self, of: (u8, Option<u32>), mut each: impl FnMut(&[u8])) -> Result<(), Fault> {
        self.socket.write_all(&request(of)).map_err(Fault::io("sock_diag"))?;
        loop {
            let length = self.socket.read(&mut self.answer).map_err(Fault::io("sock_diag"))?;
            let mut rest = &self.answer[..length];
            while let Some((kind, body, next)) = message(rest) {
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let code = number(body, 0).map_or(0, u32::cast_signed);
                        let error = std::io::Error::from_raw_os_error(-code);
                        return Err(Fault::of("sock_diag", error));
                    }
                    _ => each(body),
                }
                rest = next;
            }
        }
    }
}

/// A dump of all sockets of a family: of TCP, or of a protocol with a larger number.
fn request((family, protocol): (u8, Option<u32>)) -> Vec<u8> {
    let length = HEADER + REQUEST + if protocol.is_some() { 8 } else { 0 };
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.resize(HEADER, 0);
    let wanted = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
    bytes.extend([family, IPPROTO_TCP, wanted, 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    if let Some(protocol) = protocol {
        bytes.extend(8u16.to_ne_bytes());
        bytes.extend(INET_DIAG_REQ_PROTOCOL.to_ne_bytes());
        bytes.extend(protocol.to_ne_bytes());
    }
    bytes
}

/// Type and body of a netlink message, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = number(bytes, 0)? as usize;
    let body = bytes.get(HEADER..length)?;
    Some((short(bytes, 4)?, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// The attribute of this kind.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(short(bytes, 0)?);
        let body = bytes.get(4..length)?;
        // The upper two bits say how it is coded.
        if short(bytes, 2)? & 0x3fff == wanted {
            return Some(body);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Local and remote address and port of `struct inet_diag_msg`; `None` for addresses of IPv6.
fn ends(message: &[u8]) -> Option<[(Ipv4Addr, u16); 2]> {
    let address = |at: usize| {
        let bytes = message.get(at..)?.first_chunk::<16>()?;
        let [a, b, c, d, .., e, f, g, h] = *bytes;
        match message[0] {
            AF_INET => Some(Ipv4Addr::new(a, b, c, d)),
            _ if bytes.starts_with(&MAPPED) => Some(Ipv4Addr::new(e, f, g, h)),
            _ => None,
        }
    };
    let port = |at: usize| message.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
    Some([(address(8)?, port(4)?), (address(24)?, port(6)?)])
}

/// Offsets are those of `struct tcp_info`, which only grows.
fn subflow(message: &[u8]) -> Option<SubflowState> {
    let [local, remote] = ends(message)?;
    let attributes = message.get(MESSAGE..)?;
    let info = attribute(attributes, INET_DIAG_INFO)?;
    let field = |at: usize| number(info, at);
    // A kernel that does not have a counter leaves it at 0.
    let newer = |at: usize| number(info, at).unwrap_or(0);
    let bytes = |at: usize| Bytes(long(info, at).unwrap_or(0));
    let ulp = attribute(attributes, INET_DIAG_ULP_INFO);
    let mptcp = ulp.and_then(|ulp| attribute(ulp, INET_ULP_INFO_MPTCP));
    Some(SubflowState {
        local,
        remote,
        state: *message.get(1)?,
        token: mptcp
            .and_then(|mptcp| attribute(mptcp, MPTCP_SUBFLOW_ATTR_TOKEN_LOC))
            .and_then(|token| number(token, 0)),
        control: attribute(attributes, INET_DIAG_CONG).map(ControlName::new),
        cwnd: field(80)?,
        ssthresh: field(76).filter(|&ssthresh| ssthresh < i32::MAX as u32),
        mss: Bytes(u64::from(field(16)?)),
        srtt: Nanos(u64::from(field(68)?) * 1000),
        unacked: field(24)?,
        send_window: Bytes(u64::from(newer(228))),
        payload: PayloadCounts {
            sent: bytes(200),
            retransmitted: bytes(208),
            received: bytes(128),
            acked: bytes(120),
        },
        segments: SegmentCounts {
            sent: newer(156),
            retransmitted: field(100)?,
            received: newer(152),
            out_of_order: newer(224),
            acks: newer(140),
        },
        timeouts: short(info, 240).map_or(0, u32::from),
    })
}

/// Offsets are those of `struct mptcp_info`.
fn connection(message: &[u8]) -> Option<ConnectionState> {
    let [local, remote] = ends(message)?;
    let info = attribute(message.get(MESSAGE..)?, INET_DIAG_INFO)?;
    let bytes = |at: usize| Bytes(long(info, at).unwrap_or(0));
    Some(ConnectionState {
        local,
        remote,
        token: number(info, 12)?,
        fell_back: number(info, 8)? & 1 != 0,
        further_subflows: *info.first()?,
        sent: bytes(56),
        reinjected: bytes(48),
        received: bytes(64),
    })
}
