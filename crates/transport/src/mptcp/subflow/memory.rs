//! The buffers of a subflow.

use units::Bytes;

use super::{Join, Subflow};
use crate::config::TcpConfig;
use crate::tcp::send_buffer::CONNECTING_BUFFER;

impl Subflow {
    /// A segment of `len` bytes has brought something new, and the connection has a receive buffer of `size`: the window may
    /// open. The kernel counts what lies in the queue of the subflow, which is the segment and what waits behind a gap.
    #[inline(always)]
    pub(in crate::mptcp) fn open_window(&mut self, len: u32, size: Bytes) -> bool {
        let size = self.buffer.map_or(size, |own| own.size());
        let in_queue = self.endpoint.receiver().out_of_order().max(u64::from(len));
        self.endpoint.open_window(len, size.saturating_sub(Bytes(in_queue)))
    }

    /// Size of its receive buffer; no limit where it has none of its own.
    pub(in crate::mptcp) fn buffer_size(&self) -> Bytes {
        self.buffer.map_or(Bytes::MAX, |own| own.size())
    }

    /// The receive buffer of the connection has grown, since `copied` bytes were read in a round trip.
    pub(in crate::mptcp) fn grow_buffer(&mut self, copied: u64) {
        if let Some(own) = self.buffer.as_mut().filter(|_| self.endpoint.is_established()) {
            let receiver = self.endpoint.receiver();
            own.grow(copied, receiver.out_of_order_end().saturating_since(receiver.next()).0);
        }
    }

    /// The rest of the window that the last segment of this subflow told. Data of other subflows takes nothing of it.
    pub(in crate::mptcp) fn told_window(&self) -> Bytes {
        self.told.saturating_since(self.endpoint.receiver().next())
    }

    /// Its part of the send buffer of the connection: of a join the first size while it connects (the second value of tcp_wmem), and
    /// all of it from the SYN/ACK on (`__mptcp_sync_sndbuf`), though data waits for the fourth ACK.
    pub(in crate::mptcp) fn send_buffer_share(&self, tcp: &TcpConfig) -> Bytes {
        match self.join {
            Join::SynSent(_) if self.is_alive() => CONNECTING_BUFFER,
            Join::AwaitingThirdAck { .. } => Bytes::ZERO,
            _ if self.endpoint.is_established() => self.expanded_send_buffer(tcp),
            _ => Bytes::ZERO,
        }
    }
}
