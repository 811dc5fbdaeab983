//! Data on its way to the application, and the window that SACKs tell of it.
//!
//! May: count and tell windows. May not: say which TSNs have arrived.

use std::collections::VecDeque;

use units::Bytes;

use super::{Association, window_field};
use crate::sctp::chunk::Sack;
use crate::sctp::config::{EagerSack, SctpConfig};
use crate::sctp::reassembly::Delivery;

/// SCTP_MIN_RWND of FreeBSD.
const MIN_RWND: Bytes = Bytes(1500);

/// Data that was delivered, and the windows that were advertised.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// User data delivered in all.
    pub(super) delivered: Bytes,
    /// Chunks of messages that can be read.
    unread: u64,
    /// The window in the last SACK, or in the last of `due`.
    advertised: Bytes,
    /// Windows of SACKs that leave now, where reading does not wait for them.
    due: VecDeque<Bytes>,
    /// Memory that reading has freed since it was last looked at whether that is worth a SACK.
    freed: Bytes,
}

impl Reader {
    /// Nothing has arrived.
    pub(super) fn new(config: &SctpConfig) -> Self {
        Self {
            delivered: Bytes::ZERO,
            unread: 0,
            advertised: config.buffers.receive,
            due: VecDeque::new(),
            freed: Bytes::ZERO,
        }
    }

    /// Another SACK leaves with this window.
    fn tell(&mut self, window: Bytes) {
        self.due.push_back(window);
        (self.advertised, self.freed) = (window, Bytes::ZERO);
    }
}

impl Association {
    /// The next message that has arrived.
    pub fn receive(&mut self) -> Option<Delivery> {
        let delivery = self.reassembly.read()?;
        self.note_read(delivery.size, Bytes::ZERO);
        self.update_window();
        Some(delivery)
    }

    /// The next message that can be read and was not announced before, whether it was read or not.
    pub fn announce(&mut self) -> Option<Delivery> {
        self.reassembly.announce()
    }

    /// User data that can be read.
    pub fn readable(&self) -> Bytes {
        self.reassembly.readable()
    }

    /// Reads user data, whatever messages it belongs to.
    pub fn read(&mut self, bytes: Bytes) {
        let mut left = bytes;
        while left > Bytes::ZERO
            && let Some(size) = self.reassembly.next_size()
        {
            let part = left.min(size).min(self.config.packet.payload);
            self.reassembly.read_bytes(part);
            self.note_read(size, size - part);
            left -= part;
        }
        self.update_window();
    }

    /// User data delivered so far.
    pub fn delivered(&self) -> Bytes {
        self.reader.delivered
    }

    /// User data that has arrived and waits for other chunks.
    pub fn out_of_order(&self) -> Bytes {
        self.reassembly.waiting()
    }

    /// The window that it would advertise now.
    pub fn receive_window(&self) -> Bytes {
        let buffers = self.config.buffers;
        let used = self.reassembly.buffered() + buffers.chunk_overhead * self.reassembly.pieces();
        // FreeBSD charges the overhead until data is read.
        let charged = if self.tells_early() { self.reader.unread } else { 0 };
        let unread = buffers.chunk_overhead * charged;
        let free = buffers.receive.saturating_sub(used);
        let window = free.saturating_sub(unread);
        // `sctp_calc_rwnd`: a window that the overhead of unread data nearly fills is one byte.
        if window < unread { free.min(Bytes(1)) } else { window }
    }

    /// SACKs advertise the window from before data is read.
    fn tells_early(&self) -> bool {
        self.config.sack.eager == EagerSack::WithDepartures
    }

    /// Chunks of a message that can be read.
    fn chunks_of(&self, size: Bytes) -> u64 {
        size.0.div_ceil(self.config.packet.payload.0)
    }

    /// The messages from number `from` of those that can be read on became complete.
    pub(super) fn note_complete(&mut self, from: usize) {
        let chunks: u64 = self.reassembly.ready_from(from).map(|size| self.chunks_of(size)).sum();
        self.reader.unread += chunks;
    }

    /// A part of the next message was read: `left` remains of `before`.
    fn note_read(&mut self, before: Bytes, left: Bytes) {
        self.reader.unread -= self.chunks_of(before) - self.chunks_of(left);
        if !self.tells_early() {
            return;
        }
        // `sctp_sorecvmsg` looks after each chunk whether an eighth of the buffer is free anew, `sctp_user_rcvd` at the window.
        self.reader.freed += before - left + self.config.buffers.chunk_overhead;
        let step = Bytes(self.config.buffers.receive.0 / 8).max(MIN_RWND);
        if self.reader.freed >= step {
            self.reader.freed = Bytes::ZERO;
            let window = self.receive_window();
            if window >= self.reader.advertised + step {
                self.reader.tell(window);
                self.sack.hurry();
            }
        }
    }

    /// Reading has opened the window: a sender that waits for it is told. Small steps are not worth a
    /// SACK (RFC 9260 section 6.2).
    fn update_window(&mut self) {
        if !self.tells_early() {
            let (payload, window) = (self.config.packet.payload, self.receive_window());
            let step = payload.min(Bytes(self.config.buffers.receive.0 / 2));
            if self.reader.advertised < payload && window >= self.reader.advertised + step {
                self.reader.advertised = window;
                self.sack.hurry();
            }
        }
        self.check();
    }

    /// A SACK that is due is made before data is read (`sctp_sack_check`).
    pub(super) fn prepare_sack(&mut self) {
        if self.tells_early() && self.sack.is_due() {
            let window = self.receive_window();
            self.reader.tell(window);
        }
    }

    /// The SACK that leaves now; `more`: room for gap blocks that have no place in it.
    pub(super) fn take_sack(&mut self, more: &mut [u8]) -> Sack {
        let packets = self.sack.take();
        if self.reader.due.is_empty() {
            let window = self.receive_window();
            self.reader.tell(window);
        }
        let window = self.reader.due.pop_front().unwrap_or(self.reader.advertised);
        if !self.reader.due.is_empty() {
            self.sack.hurry();
        }
        Sack {
            next: self.received.next(),
            window: window_field(window),
            duplicates: self.received.take_duplicates(),
            packets: packets.min(u32::from(u8::MAX)) as u8,
            gaps: self.received.gaps(self.config.recovers_as_freebsd().then_some(more)),
            promise: self.config.promise(),
        }
    }
}
