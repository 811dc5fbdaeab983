//! One end of a conversation over UDP (RFC 768): datagrams leave as fast as they are sent, without handshake,
//! congestion control or retransmission, and arrive as the network delivers them: late, twice, or not at all.
//!
//! A message larger than the payload of a datagram is cut into several, as an application would do to stay below the
//! MTU; there is no IP fragmentation.

pub(crate) mod datagram;

use std::collections::VecDeque;

use units::Bytes;

use crate::config::UdpConfig;
use crate::packet::{Body, Packet};

pub use datagram::{Datagram, MessageNumber};

/// Counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpStats {
    /// Datagrams sent.
    pub sent: u64,
    /// Their payload.
    pub bytes_sent: Bytes,
    /// Datagrams received, copies included.
    pub received: u64,
}

/// One end.
#[derive(Debug)]
pub struct UdpSocket {
    config: UdpConfig,
    /// Number of the next datagram.
    next: u64,
    /// Not transmitted yet.
    waiting: VecDeque<Datagram>,
    /// Received and not taken by the application.
    arrived: VecDeque<Datagram>,
    stats: UdpStats,
}

impl UdpSocket {
    /// Nothing sent, nothing received.
    pub fn new(config: UdpConfig) -> Self {
        debug_assert!(config.payload > Bytes::ZERO, "datagrams without payload");
        Self {
            config,
            next: 0,
            waiting: VecDeque::new(),
            arrived: VecDeque::new(),
            stats: UdpStats::default(),
        }
    }

    /// Sends a message of this size in as many datagrams as it takes.
    pub fn send(&mut self, message: MessageNumber, size: Bytes) {
        let mut left = size.0;
        while left > 0 {
            let len = left.min(self.config.payload.0);
            self.waiting.push_back(Datagram { number: self.next, message, len: len as u32 });
            self.next += 1;
            left -= len;
        }
        self.check();
    }

    /// The next datagram to put on the wire: overwrites `packet` and returns true, or returns false when there is none.
    pub fn poll_transmit_into(&mut self, packet: &mut Packet) -> bool {
        let Some(datagram) = self.waiting.pop_front() else { return false };
        let payload = Bytes(u64::from(datagram.len));
        self.stats.sent += 1;
        self.stats.bytes_sent += payload;
        *packet = Packet {
            size: self.config.header + self.config.overhead + payload,
            payload: datagram.len,
            body: Body::Udp(datagram),
            ..Packet::default()
        };
        packet.check();
        self.check();
        true
    }

    /// Takes in a packet; one that carries no datagram is ignored.
    pub fn on_packet(&mut self, packet: &Packet) {
        if let Body::Udp(datagram) = packet.body {
            self.stats.received += 1;
            self.arrived.push_back(datagram);
        }
    }

    /// The next datagram that has arrived.
    pub fn receive(&mut self) -> Option<Datagram> {
        self.arrived.pop_front()
    }

    /// Counters.
    pub fn stats(&self) -> UdpStats {
        self.stats
    }

    fn check(&self) {
        debug_assert_eq!(
            self.next,
            self.stats.sent + self.waiting.len() as u64,
            "each datagram is sent or waits"
        );
        debug_assert!(self.arrived.len() as u64 <= self.stats.received, "more datagrams than have arrived");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(socket: &mut UdpSocket) -> Vec<Packet> {
        let mut packet = Packet::default();
        std::iter::from_fn(|| socket.poll_transmit_into(&mut packet).then_some(packet)).collect()
    }

    #[test]
    fn messages_are_cut_and_keep_their_bounds() {
        let mut socket = UdpSocket::new(UdpConfig::default());
        socket.send(MessageNumber(0), Bytes(3000));
        socket.send(MessageNumber(1), Bytes::ZERO);
        socket.send(MessageNumber(2), Bytes(100));
        let datagram = |packet: &Packet| match packet.body {
            Body::Udp(datagram) => (datagram.number, datagram.message.0, datagram.len, packet.size.0),
            _ => panic!("no datagram: {packet:?}"),
        };
        let sent: Vec<_> = all(&mut socket).iter().map(datagram).collect();
        assert_eq!(sent, [(0, 0, 1472, 1500), (1, 0, 1472, 1500), (2, 0, 56, 84), (3, 2, 100, 128)]);
        assert_eq!(socket.stats(), UdpStats { sent: 4, bytes_sent: Bytes(3100), received: 0 });
    }

    #[test]
    fn datagrams_arrive_as_the_network_delivers_them() {
        let mut one = UdpSocket::new(UdpConfig::default());
        let mut other = UdpSocket::new(UdpConfig::default());
        (0..3).for_each(|i| one.send(MessageNumber(i), Bytes(10)));
        let sent = all(&mut one);
        for i in [2, 0, 2] {
            other.on_packet(&sent[i]);
        }
        let got: Vec<_> = std::iter::from_fn(|| other.receive()).map(|d| d.number).collect();
        assert_eq!((got, other.stats().received), (vec![2, 0, 2], 3));
    }
}
