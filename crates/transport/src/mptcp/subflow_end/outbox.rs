//! The sending side of an end: what its peer has acknowledged and offers at connection level, and the timer that asks
//! for a closed window.

use units::{Bytes, SimTime};

use crate::config::TcpConfig;
use crate::seq::Dsn;
use crate::tcp::send_buffer::{ExpandedBuffer, send_buffer, send_space};
use crate::tcp::sender::Sender;

/// Data ACK, window and buffer.
#[derive(Debug)]
pub(super) struct Outbox {
    /// Highest Data ACK of the peer.
    una: Dsn,
    /// Right edge of its window; never moves left.
    right: Dsn,
    /// Highest Data ACK that the other end has received.
    relayed: Dsn,
    /// Bytes given to the sender so far.
    given: u64,
    /// When the next window probe is due, and how many have been sent.
    persist: (SimTime, u32),
    buffer: ExpandedBuffer,
}

impl Outbox {
    /// Nothing sent, nothing offered.
    pub(super) fn new(tcp: &TcpConfig, sender: &Sender) -> Self {
        Self {
            una: Dsn::FIRST_DATA,
            right: Dsn::FIRST_DATA,
            relayed: Dsn::FIRST_DATA,
            given: 0,
            persist: (SimTime::NEVER, 0),
            buffer: ExpandedBuffer::new(tcp, sender.buffered_windows()),
        }
    }

    pub(super) fn una(&self) -> Dsn {
        self.una
    }

    pub(super) fn right(&self) -> Dsn {
        self.right
    }

    pub(super) fn relayed_ack(&self) -> Dsn {
        self.relayed
    }

    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// The other end has received this Data ACK.
    pub(super) fn relay_ack(&mut self, ack: Dsn) {
        self.relayed = self.relayed.max(ack);
    }

    /// Takes a Data ACK and the window that it offers.
    pub(super) fn on_data_ack(&mut self, ack: Dsn, window: Bytes) {
        self.una = self.una.max(ack);
        let right = Dsn(ack.0.saturating_add(window.0));
        if right > self.right {
            self.right = right;
            self.persist = (SimTime::NEVER, 0);
        }
    }

    /// `bytes` were given to the sender.
    pub(super) fn gave(&mut self, bytes: u64) {
        self.given += bytes;
    }

    /// An ACK has arrived: the send buffer may grow where it follows the window.
    pub(super) fn expand(&mut self, now: SimTime, tcp: &TcpConfig, sender: &Sender) {
        if self.space(tcp, sender) < tcp.segment.mss {
            self.buffer.on_ack(now, tcp, sender);
        }
    }

    /// Free bytes of the send buffer.
    pub(super) fn space(&self, tcp: &TcpConfig, sender: &Sender) -> Bytes {
        let size = send_buffer(tcp, || sender.controlled_cwnd(), self.buffer);
        send_space(tcp, size, Bytes(sender.unacked()), || sender.unsent())
    }

    /// When the next window probe is due.
    pub(super) fn persist_at(&self) -> SimTime {
        self.persist.0
    }

    /// Starts the persist timer (RFC 9293 section 3.8.6.1) while data waits, nothing is outstanding and so nothing will be
    /// acknowledged.
    pub(super) fn watch(&mut self, now: SimTime, waits: bool, sender: &Sender) {
        if !waits || sender.unacked() > 0 {
            self.persist.0 = SimTime::NEVER;
        } else if self.persist.0.is_never() {
            self.persist.0 = now + sender.rtt().rto(self.persist.1);
        }
    }

    /// The timer fires. True if a window probe is due.
    pub(super) fn persist_expires(&mut self, now: SimTime, sender: &Sender) -> bool {
        if self.persist.0 > now {
            return false;
        }
        self.persist.1 += 1;
        self.persist.0 = now + sender.rtt().rto(self.persist.1);
        true
    }
}
