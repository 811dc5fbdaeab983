//! The buffers of a subflow.

use units::Bytes;

use super::{Join, Subflow};
use crate::config::{SendBuffer, TcpConfig};
use crate::tcp::send_buffer::{CONNECTING_BUFFER, queue_memory, send_buffer_for};

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

    /// The content of its queue, and the size of its send buffer. Where data is placed in `fragments`, as in Linux 6, a fixed buffer of the
    /// connection, SO_SNDBUF, holds for each subflow (`sync_socket_options`), and counts memory.
    pub(in crate::mptcp) fn queue(&self, tcp: &TcpConfig, fragments: bool) -> (Bytes, Bytes) {
        let sender = self.sender();
        match tcp.buffers.send_buffer {
            SendBuffer::Expand { .. } => (queue_memory(tcp, sender), self.expanded_send_buffer(tcp)),
            SendBuffer::Fixed(size) if fragments => (queue_memory(tcp, sender), size),
            SendBuffer::Fixed(_) | SendBuffer::Auto { .. } => {
                (Bytes(sender.unacked()), send_buffer_for(sender.cwnd()))
            }
        }
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
