//! The size of the send buffer, and what is in it.

use units::{BitsPerSecond, Bytes, SimTime};

use super::buffers::{SHARED_INFO, SK_BUFF};
use super::sender::Sender;
use crate::config::{SendBuffer, TcpConfig};

/// Send buffer for a congestion window: twice the window and 16 KiB, 87,040 bytes at least (choice D-32).
pub fn send_buffer_for(cwnd: Bytes) -> Bytes {
    Bytes(cwnd.0.saturating_mul(2).saturating_add(16 * 1024).max(87_040))
}

/// Bytes that the send buffer of an MPTCP connection has beside those of its subflows: the first value of tcp_wmem.
pub const CONNECTION_BUFFER: Bytes = Bytes(4096);

/// Send buffer of a subflow whose SYN has no answer: the second value of tcp_wmem.
pub const CONNECTING_BUFFER: Bytes = Bytes(16 * 1024);

/// Windows for which a send buffer that expands has room; a controller may ask for one more.
pub const BUFFERED_WINDOWS: u64 = 2;

/// The send buffer for congestion windows of together `cwnd` bytes (choice D-32), or what it has been expanded to.
pub fn send_buffer(config: &TcpConfig, cwnd: impl FnOnce() -> u64, expanded: ExpandedBuffer) -> Bytes {
    match config.buffers.send_buffer {
        SendBuffer::Fixed(size) => size,
        SendBuffer::Auto { max } => send_buffer_for(Bytes(cwnd())).min(max),
        SendBuffer::Expand { max, .. } => Bytes(expanded.size.min(max.0)),
    }
}

/// Bytes that the application may write. A send buffer of `size` holds `unacked` bytes, `unsent` of them not sent.
///
/// Source: Linux, `sk_stream_memory_free` in include/net/sock.h with `TCP_NOTSENT_LOWAT`. Room that appears because
/// something leaves is used with the next ACK, as there.
pub fn send_space(config: &TcpConfig, size: Bytes, unacked: Bytes, unsent: impl FnOnce() -> u64) -> Bytes {
    let room = size.saturating_sub(unacked);
    match config.buffers.unsent_limit {
        Bytes::MAX => room,
        limit => room.min(limit.saturating_sub(Bytes(unsent()))),
    }
}

/// Size to which a send buffer has been expanded, in bytes.
///
/// Source: Linux, `tcp_sndbuf_expand` in net/ipv4/tcp_input.c: room for two windows (`Sender::buffered_windows`), each segment with the memory
/// that the kernel reckons for it, considered when an ACK finds the application waiting for space; it never shrinks.
/// For an MPTCP connection see [`crate::config::ConnectionBuffer`].
#[derive(Clone, Copy, Debug)]
pub struct ExpandedBuffer {
    size: u64,
    /// The largest window so far, in segments.
    segments: u64,
}

impl ExpandedBuffer {
    /// Before the first ACK, with room for this number of windows.
    pub fn new(config: &TcpConfig, windows: u64) -> Self {
        Self { size: expanded_for(config, windows, 0), segments: 0 }
    }

    /// An ACK has found the application waiting, on the subflow of this sender. While data that waits fills the congestion window the buffer
    /// stays as it is (`tcp_should_expand_sndbuf`).
    #[inline]
    pub fn on_ack(&mut self, now: SimTime, config: &TcpConfig, sender: &Sender) {
        if !sender.fills_window(now) {
            self.expand(config, sender.buffered_windows(), sender.window_segments());
        }
    }

    fn expand(&mut self, config: &TcpConfig, windows: u64, segments: u64) {
        if segments > self.segments {
            *self = Self { size: self.size.max(expanded_for(config, windows, segments)), segments };
        }
        debug_assert!(
            self.size >= expanded_for(config, windows, segments),
            "a window without room: {self:?}"
        );
    }
}

/// Memory for `windows` of `segments`, at least of ten (TCP_INIT_CWND).
fn expanded_for(config: &TcpConfig, windows: u64, segments: u64) -> u64 {
    windows * segment_memory(config) * segments.max(10)
}

/// Memory that the queue of a subflow takes of its send buffer (`sk_wmem_queued`): payload and the overhead of the socket buffers
/// (skb) that hold it.
pub fn queue_memory(config: &TcpConfig, sender: &Sender) -> Bytes {
    let (unacked, unsent) = (sender.unacked(), sender.unsent());
    let skbs = skbs(unacked - unsent, unsent, sender.mss().max(1), sender.pacing_rate_estimate());
    Bytes(unacked + skbs * skb_overhead(config))
}

/// Socket buffers in the queue of a subflow: one for each send quantum of `sent` bytes, two segments at least, and one for 64 KiB of
/// `unsent`.
///
/// Deviation: a segment that is not full counts by its bytes, and `unsent` is cut by the largest quantum instead of half of the
/// receive window.
fn skbs(sent: u64, unsent: u64, mss: u64, rate: Option<BitsPerSecond>) -> u64 {
    sent.div_ceil(mss * send_quantum(rate, mss)) + unsent.div_ceil(MAX_QUANTUM.0)
}

/// Segments that are handed down as one packet: what leaves in a 1024th of a second at the pacing rate, two at least.
///
/// Source: Linux 6.18, `tcp_tso_autosize`.
pub(super) fn send_quantum(rate: Option<BitsPerSecond>, mss: u64) -> u64 {
    let paced = rate.map_or(0, |rate| rate.0 / 8 / 1024 / mss);
    paced.clamp(MIN_QUANTUM, MIN_QUANTUM + MAX_QUANTUM.0 / mss)
}

/// Least send quantum in segments (`tcp_min_tso_segs`).
pub(super) const MIN_QUANTUM: u64 = 2;
/// Largest send quantum (`sk_gso_max_size`).
const MAX_QUANTUM: Bytes = Bytes(65_536);

/// Memory of a socket buffer beside its payload. Heads of packets come from a cache whose entries are no power of two
/// (`SKB_SMALL_HEAD_CACHE_SIZE`).
fn skb_overhead(config: &TcpConfig) -> u64 {
    let head = config.buffers.header_room.0 + SHARED_INFO;
    head + if head.is_power_of_two() { 64 } else { 0 } + SK_BUFF
}

/// Memory that the kernel reckons for a full segment with headers and the structures around it, on 64-bit machines: 4352 bytes for
/// one of Ethernet with the headers of a distribution.
fn segment_memory(config: &TcpConfig) -> u64 {
    let mss = config.segment.mss.0 + if config.options.timestamps { 12 } else { 0 };
    (mss + config.buffers.header_room.0 + SHARED_INFO).next_power_of_two() + SK_BUFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConnectionBuffer;

    /// `ss` of Linux 6.18 told `w` beside bytes unacknowledged and not sent, and the pacing rate of a subflow in slow start: eight, 24 and
    /// 73 socket buffers with 832 bytes of overhead. Queues are up to 5 % smaller here.
    #[test]
    fn socket_buffers_take_memory_beside_their_payload() {
        let config = TcpConfig::default().with(|c| c.buffers.header_room = Bytes(192));
        assert_eq!(skb_overhead(&config), 832);
        assert_eq!(skb_overhead(&TcpConfig::default()), 896, "with the headers of a distribution");
        for (unacked, unsent, rate, told) in [
            (65_160, 50_920, 2_306_600, 71_816),
            (92_720, 37_120, 8_391_632, 112_688),
            (196_968, 192, 26_285_176, 257_704),
        ] {
            let skbs = skbs(unacked - unsent, unsent, 1424, Some(BitsPerSecond(rate)));
            let memory = unacked + skbs * skb_overhead(&config);
            assert!((told * 95 / 100..=told).contains(&memory), "{memory} of {told}");
        }
    }

    /// 87,040 bytes at first, as every Linux shows; 8704 bytes for each further segment of the window, for ever.
    #[test]
    fn an_expanded_buffer_follows_the_largest_window() {
        let mut config = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
        });
        config.buffers.send_buffer =
            SendBuffer::Expand { max: Bytes(200_000), connection: ConnectionBuffer::Sum };
        let mut buffer = ExpandedBuffer::new(&config, 2);
        let size = |buffer| send_buffer(&config, || 1_000_000, buffer);
        assert_eq!(size(buffer), Bytes(87_040));
        buffer.expand(&config, 2, 20);
        assert_eq!(size(buffer), Bytes(174_080));
        buffer.expand(&config, 2, 5);
        assert_eq!(size(buffer), Bytes(174_080));
        buffer.expand(&config, 2, 40);
        assert_eq!(size(buffer), Bytes(200_000), "not beyond the limit");
    }

    /// The kernel of the comparison, built without wireless networks and tunnels, charged 2304 bytes: `ss` told a buffer of 594,432 for
    /// 129 segments.
    #[test]
    fn a_segment_costs_less_where_headers_are_short() {
        let linux = |room: u64| {
            TcpConfig::default().with(|c| {
                c.segment.mss = Bytes(1448);
                c.options.timestamps = true;
                c.buffers.header_room = Bytes(room);
            })
        };
        assert_eq!([192, 268, 269, 320].map(|room| segment_memory(&linux(room))), [2304, 2304, 4352, 4352]);
        assert_eq!(expanded_for(&linux(192), 2, 129), 594_432);
        // With BBR the kernel told 152,064 bytes for 22.
        assert_eq!(expanded_for(&linux(192), 3, 22), 152_064);
    }
}
