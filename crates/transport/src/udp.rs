//! One end of a conversation over UDP (RFC 768): datagrams leave as fast as they are written, without handshake,
//! congestion control or retransmission.
//!
//! A message larger than the payload of a datagram is cut into several, as an application would do to stay below the
//! MTU; there is no IP fragmentation. The offset of a packet counts the bytes that this end has sent before, so that
//! the peer can tell which message a datagram belongs to and whether the network has delivered it twice.

use std::collections::VecDeque;

use units::{Bytes, SimTime};

use crate::config::UdpConfig;
use crate::packet::{Body, Packet};
use crate::role::Role;
use crate::seq::StreamOffset;
use crate::stats::SubflowStats;
use crate::tcp::ranges::{Range, RangeSet};

/// One datagram. The envelope says which bytes of the conversation it carries, which stands for what an application
/// would write into them: that lets the peer tell to which message they belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Payload bytes.
    pub len: u32,
}

/// One end.
#[derive(Debug)]
pub struct UdpSocket {
    config: UdpConfig,
    role: Role,
    written: u64,
    /// Not sent yet.
    waiting: VecDeque<Range>,
    /// What has arrived at least once.
    seen: RangeSet,
    /// Arrived and not handed out.
    arrived: VecDeque<Range>,
    sent: SubflowStats,
    received: u64,
    duplicates: u64,
}

impl UdpSocket {
    /// Nothing sent, nothing received.
    pub fn new(config: UdpConfig, role: Role) -> Self {
        Self {
            config,
            role,
            written: 0,
            waiting: VecDeque::new(),
            seen: RangeSet::default(),
            arrived: VecDeque::new(),
            sent: SubflowStats::default(),
            received: 0,
            duplicates: 0,
        }
    }

    /// There is nothing to open.
    pub fn open(&mut self) {}

    /// There is nothing to close.
    pub fn close(&mut self) {}

    /// There is nothing to hold.
    pub fn hold_open(&mut self) {}

    /// Nobody says that he has finished.
    pub fn peer_finished(&self) -> bool {
        false
    }

    /// Sends a message.
    pub fn write(&mut self, bytes: u64) {
        let end = self.written + bytes;
        while self.written < end {
            let next = end.min(self.written + self.config.payload.0);
            self.waiting.push_back(Range::new(self.written, next));
            self.written = next;
        }
    }

    /// Datagrams are never refused.
    pub fn send_space(&self) -> Bytes {
        Bytes::MAX
    }

    /// Datagrams are handed out one by one, not as a stream.
    pub fn readable(&self) -> u64 {
        0
    }

    /// See `readable`.
    pub fn read(&mut self, _now: SimTime, _bytes: u64) {}

    /// There is no window.
    pub fn receive_window(&self) -> Bytes {
        Bytes::ZERO
    }

    /// Bytes that have arrived, each counted once.
    pub fn delivered(&self) -> u64 {
        self.seen.bytes()
    }

    /// Takes in a packet; one that carries no datagram is ignored.
    pub fn on_packet(&mut self, _now: SimTime, packet: &Packet) {
        let Body::Udp(_) = packet.body else { return };
        let range = Range::new(packet.offset.0, packet.offset.0 + u64::from(packet.payload));
        self.received += 1;
        if self.seen.insert(range) == 0 {
            self.duplicates += 1;
        } else {
            self.arrived.push_back(range);
        }
    }

    /// The next datagram that has arrived for the first time.
    pub fn next_datagram(&mut self) -> Option<Range> {
        self.arrived.pop_front()
    }

    /// Nothing is ever due.
    pub fn on_timeout(&mut self, _now: SimTime) {}

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, _now: SimTime, packet: &mut Packet) -> Option<()> {
        let range = self.waiting.pop_front()?;
        self.sent.segments_sent += 1;
        self.sent.bytes_sent += range.len();
        *packet = Packet {
            size: self.config.header + self.config.overhead + Bytes(range.len()),
            payload: range.len() as u32,
            offset: StreamOffset(range.start),
            body: Body::Udp(Datagram { len: range.len() as u32 }),
            ..Packet::default()
        };
        packet.check();
        Some(())
    }

    /// Nothing is ever closed.
    pub fn is_closed(&self) -> bool {
        false
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Counters.
    pub fn stats(&self) -> SubflowStats {
        SubflowStats {
            bytes_received: self.seen.bytes(),
            segments_received: self.received,
            duplicates_received: self.duplicates,
            ..self.sent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(socket: &mut UdpSocket) -> Vec<Packet> {
        let mut packet = Packet::default();
        std::iter::from_fn(|| socket.poll_transmit(SimTime::ZERO, &mut packet).map(|()| packet)).collect()
    }

    #[test]
    fn messages_are_cut_and_keep_their_bounds() {
        let mut socket = UdpSocket::new(UdpConfig::default(), Role::Client);
        socket.write(3000);
        socket.write(100);
        let sent = all(&mut socket);
        let sizes: Vec<_> = sent.iter().map(|p| (p.offset.0, p.payload, p.size.0)).collect();
        assert_eq!(sizes, [(0, 1472, 1500), (1472, 1472, 1500), (2944, 56, 84), (3000, 100, 128)]);
        assert_eq!(socket.stats().bytes_sent, 3100);
    }

    #[test]
    fn a_datagram_is_handed_out_once_in_whatever_order() {
        let mut one = UdpSocket::new(UdpConfig::default(), Role::Client);
        let mut other = UdpSocket::new(UdpConfig::default(), Role::Server);
        (0..3).for_each(|_| one.write(10));
        let sent = all(&mut one);
        for i in [2, 0, 2] {
            other.on_packet(SimTime::ZERO, &sent[i]);
        }
        let got: Vec<_> = std::iter::from_fn(|| other.next_datagram()).map(|r| r.start).collect();
        assert_eq!(got, [20, 0]);
        assert_eq!((other.delivered(), other.stats().duplicates_received), (20, 1));
    }
}
