//! A packet: an envelope, which is all that the network sees, and the body of one transport protocol.
//!
//! The type of the body is a parameter of [`Packet`]: code for packets with any body cannot look into it.
//! Packets are large, so they are written where they stay: a machine overwrites the body in place, completes it with
//! [`Packet::complete`], and nothing is copied until the packet has arrived.

use std::fmt;

use units::Bytes;

use crate::mptcp::option::MptcpOption;
use crate::sctp::chunk::{Control, SctpPacket};
use crate::seq::StreamOffset;
use crate::space::{SpaceSegment, SpaceSignal};
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;
use crate::udp::datagram::Datagram;

/// Index of a subflow in its connection, the same at both ends: it stands for the pair of addresses and ports.
/// A connection of plain TCP and a conversation over UDP have path 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u8);

impl PathId {
    /// The first path.
    pub const FIRST: Self = Self(0);

    /// As an index into tables by path.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Drop priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Ordinary packets.
    #[default]
    Normal,
    /// Routers with two bands drop these first.
    Low,
}

/// ECN codepoint of the packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The ends have not negotiated ECN: routers drop instead.
    #[default]
    NotEct,
    /// ECN-capable: routers may mark instead of dropping.
    Ect0,
    /// Marked: congestion experienced.
    Ce,
}

/// One packet with a body of type `B`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet<B = Body> {
    /// Over which path of the connection it travels.
    pub path: PathId,
    /// ECN codepoint; routers may change it.
    pub ecn: Ecn,
    /// Drop priority.
    pub priority: Priority,
    /// True for a retransmission; recorders read it, protocols do not.
    pub retransmission: bool,
    /// Size on the wire with headers, options and overhead.
    pub size: Bytes,
    /// Payload bytes.
    pub payload: u32,
    /// Where the payload begins in the stream of the connection; zero without payload.
    pub offset: StreamOffset,
    /// The part that only its two ends read.
    pub body: B,
}

/// The body of a packet, by protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// TCP and MPTCP.
    Tcp(TcpSegment),
    /// UDP.
    Udp(Datagram),
    /// SCPS-TP, STP and TCP-Peach, where they say more than TCP.
    Space(SpaceSegment),
    /// SCTP.
    Sctp(SctpPacket),
}

impl Default for Body {
    fn default() -> Self {
        Self::Tcp(TcpSegment::default())
    }
}

/// Packets are held in a slab by the thousand: no body may make all of them larger.
const LARGEST: usize = 224;
const _: () = assert!(size_of::<Packet>() <= LARGEST, "a body has made all packets larger");

/// The envelope, whatever the body is.
impl<B> Packet<B> {
    /// The part of the connection's stream that it carries; empty without payload.
    #[inline]
    pub fn stream(&self) -> Range<StreamOffset> {
        Range::new(self.offset, self.offset + Bytes(u64::from(self.payload)))
    }

    /// A router marks the packet instead of dropping it. False if its ends have not negotiated ECN: then it must be
    /// dropped.
    pub fn mark(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }

    /// Routers with two bands drop it first.
    pub fn is_low_priority(&self) -> bool {
        self.priority == Priority::Low
    }
}

impl Body {
    /// The TCP segment; that of a transport over space links too.
    #[inline]
    pub fn segment(&self) -> Option<&TcpSegment> {
        // Nearly all packets are of this kind, and this is asked several times for each.
        if let Self::Tcp(segment) = self {
            return Some(segment);
        }
        if let Self::Space(space) = self { Some(&space.segment) } else { None }
    }

    /// The same, to be changed.
    #[inline]
    pub fn segment_mut(&mut self) -> Option<&mut TcpSegment> {
        if let Self::Tcp(segment) = self {
            return Some(segment);
        }
        if let Self::Space(space) = self { Some(&mut space.segment) } else { None }
    }

    /// It opens a connection or a subflow: middleboxes treat these differently.
    pub fn is_syn(&self) -> bool {
        self.segment().is_some_and(|segment| segment.flags.syn)
    }

    /// It opens an association.
    pub fn is_init(&self) -> bool {
        matches!(self, Self::Sctp(SctpPacket { control: Control::Init(_), .. }))
    }

    /// It carries an MPTCP option.
    pub fn is_multipath(&self) -> bool {
        self.segment().is_some_and(|segment| segment.mptcp != MptcpOption::None)
    }

    /// A middlebox overwrites the MPTCP option with padding: the size stays.
    pub fn strip_multipath(&mut self) {
        if let Some(segment) = self.segment_mut() {
            segment.mptcp = MptcpOption::None;
        }
    }
}

impl Packet {
    /// A packet with a TCP segment that has still to be completed.
    pub fn tcp(path: PathId, segment: TcpSegment) -> Self {
        Self { path, body: Body::Tcp(segment), ..Self::default() }
    }

    /// Starts a new packet of TCP in place. The envelope is reset; the segment is left as it was, for the caller to
    /// overwrite.
    #[inline(always)]
    pub(crate) fn restart_tcp(&mut self, path: PathId) -> &mut TcpSegment {
        self.path = path;
        self.ecn = Ecn::NotEct;
        self.priority = Priority::Normal;
        self.retransmission = false;
        if !matches!(self.body, Body::Tcp(_)) {
            self.body = Body::default();
        }
        let Body::Tcp(segment) = &mut self.body else { unreachable!("the body has just been set") };
        segment
    }

    /// Adds what a transport over space links says to the segment.
    pub(crate) fn add_signal(&mut self, signal: SpaceSignal) {
        let Body::Tcp(segment) = self.body else { unreachable!("a signal is added to a TCP segment once") };
        self.priority = if signal.is_low_priority() { Priority::Low } else { Priority::Normal };
        self.body = Body::Space(SpaceSegment { segment, signal });
    }

    /// The TCP segment; that of a transport over space links too.
    #[inline]
    pub fn segment(&self) -> Option<&TcpSegment> {
        self.body.segment()
    }

    /// The same, to be changed.
    #[inline]
    pub fn segment_mut(&mut self) -> Option<&mut TcpSegment> {
        self.body.segment_mut()
    }

    /// It opens a connection or a subflow.
    pub fn is_syn(&self) -> bool {
        self.body.is_syn()
    }

    /// The signal of a transport over space links.
    #[inline]
    pub fn signal(&self) -> Option<&SpaceSignal> {
        match &self.body {
            Body::Space(space) => Some(&space.signal),
            Body::Tcp(_) | Body::Udp(_) | Body::Sctp(_) => None,
        }
    }

    /// Asserts, in debug builds, that the envelope says the same as the body. Holds for packets as their sender has
    /// written them.
    #[inline]
    pub fn check(&self) {
        #[cfg(debug_assertions)]
        self.check_envelope();
    }

    #[cfg(debug_assertions)]
    fn check_envelope(&self) {
        let payload = match &self.body {
            Body::Udp(datagram) => datagram.len,
            Body::Sctp(packet) => packet.data.user_data().0 as u32,
            Body::Tcp(segment) | Body::Space(SpaceSegment { segment, .. }) => segment.len,
        };
        assert_eq!(self.payload, payload, "the envelope names the payload: {self:?}");
        assert!(
            payload > 0 || self.offset == StreamOffset::START,
            "without payload there is no offset: {self:?}"
        );
        assert!(self.size > Bytes(u64::from(payload)), "the size covers headers and payload: {self:?}");
        let low = self.signal().is_some_and(SpaceSignal::is_low_priority);
        assert_eq!(
            self.is_low_priority(),
            low,
            "dummies and their answers alone have low priority: {self:?}"
        );
        // RFC 3168 sections 6.1.1 and 6.1.4 to 6.1.6: SYN, pure ACKs and retransmissions must not be ECN-capable.
        let may_be_marked = payload > 0 && !self.retransmission && !self.is_syn();
        assert!(self.ecn == Ecn::NotEct || may_be_marked, "only new data is ECN-capable: {self:?}");
        if let Some(segment) = self.segment() {
            assert!(
                !self.retransmission || segment.sequence_len() > Bytes::ZERO,
                "a segment without sequence numbers cannot be retransmitted: {self:?}"
            );
            assert!(!(segment.flags.syn && segment.flags.fin), "SYN and FIN exclude each other: {self:?}");
            assert!(segment.seq > crate::seq::Seq::SYN || payload == 0, "number 0 is the SYN: {self:?}");
        }
        if let Body::Space(SpaceSegment { segment, signal }) = &self.body {
            let converts = matches!(signal, SpaceSignal::Convert(_));
            assert!(!converts || segment.flags.syn, "a message for a converter opens a stream: {self:?}");
            let alone = segment.mptcp == MptcpOption::None || signal.is_low_priority() || converts;
            assert!(alone, "neither SCPS-TP nor STP travels on subflows of MPTCP: {self:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_of_ends_with_ecn_are_marked() {
        let mut packet: Packet = Packet::default();
        assert!(!packet.mark());
        packet.ecn = Ecn::Ect0;
        assert!(packet.mark());
        assert_eq!(packet.ecn, Ecn::Ce);
    }

    #[test]
    fn a_signal_sets_the_priority() {
        let mut packet = Packet::tcp(PathId(0), TcpSegment::default());
        packet.add_signal(SpaceSignal::DummyAnswer);
        assert!(packet.is_low_priority());
        packet.restart_tcp(PathId(1));
        assert_eq!((packet.priority, packet.signal()), (Priority::Normal, None));
        packet.add_signal(SpaceSignal::ScpsCapable);
        assert!(!packet.is_low_priority());
    }

    #[test]
    fn a_middlebox_strips_the_option_and_nothing_else() {
        let segment = TcpSegment { len: 7, mptcp: MptcpOption::CapableSyn, ..TcpSegment::default() };
        let mut packet = Packet { size: Bytes(80), ..Packet::tcp(PathId(2), segment) };
        assert!(packet.body.is_multipath());
        packet.body.strip_multipath();
        let stripped = TcpSegment { mptcp: MptcpOption::None, ..segment };
        assert_eq!(
            (packet.body.is_multipath(), packet.size, packet.segment()),
            (false, Bytes(80), Some(&stripped))
        );
    }
}
