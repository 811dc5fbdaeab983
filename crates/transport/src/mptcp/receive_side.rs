//! The receiving side of the data sequence space: connection-level reassembly, the receive buffer and the window that
//! is advertised.

use std::sync::Arc;

use units::{Bytes, Nanos, SimTime};

use crate::config::{ReceiveCounts, TcpConfig};
use crate::seq::Dsn;
use crate::tcp::buffers::{AdvertisedWindow, ReceiveBuffer, Room};
use crate::tcp::ranges::{Range, RangeSet};

/// Connection-level reassembly and the buffer behind it.
#[derive(Debug)]
pub(super) struct ReceiveSide {
    tcp: Arc<TcpConfig>,
    /// Next data sequence number expected: the Data ACK.
    next: Dsn,
    out_of_order: RangeSet<Dsn>,
    /// Number of DATA_FIN, once announced.
    fin: Option<Dsn>,
    /// Everything up to DATA_FIN has arrived.
    finished: bool,
    /// Bytes read by the application.
    read: u64,
    buffer: ReceiveBuffer,
    window: AdvertisedWindow<Dsn>,
    /// Each subflow has memory of its own, and goes by the window that it told itself.
    by_subflow: bool,
}

impl ReceiveSide {
    /// `payload` is that of a full segment of this end.
    pub(super) fn new(tcp: Arc<TcpConfig>, payload: Bytes) -> Self {
        Self {
            next: Dsn::FIRST_DATA,
            out_of_order: RangeSet::default(),
            fin: None,
            finished: false,
            read: 0,
            buffer: ReceiveBuffer::new(&tcp, payload),
            window: AdvertisedWindow::new(&tcp),
            by_subflow: tcp.buffers.receive_counts == ReceiveCounts::SubflowMemory,
            tcp,
        }
    }

    /// Next data sequence number expected: the Data ACK.
    #[inline]
    pub(super) fn next(&self) -> Dsn {
        self.next
    }

    /// In-order bytes so far.
    #[inline]
    pub(super) fn delivered(&self) -> u64 {
        (self.next - Dsn::FIRST_DATA).0 - u64::from(self.finished)
    }

    /// In-order bytes not read.
    #[inline]
    pub(super) fn readable(&self) -> u64 {
        self.delivered() - self.read
    }

    /// Bytes above a gap.
    #[inline]
    pub(super) fn out_of_order(&self) -> u64 {
        self.out_of_order.bytes()
    }

    /// Everything up to DATA_FIN has arrived.
    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.finished
    }

    /// The peer has closed and everything is read.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.finished && self.readable() == 0
    }

    /// Data arrived, in order on its subflow. Duplicates are dropped, and data behind DATA_FIN, which a wrong peer sends.
    #[inline(always)]
    pub(super) fn on_data(&mut self, data: Range<Dsn>) {
        self.window.unsettle();
        if data.end <= self.next || self.finished {
            return;
        }
        if data.start > self.next {
            self.out_of_order.insert(data);
            self.check();
            return;
        }
        self.next = data.end;
        if !self.out_of_order.is_empty() {
            self.next = self.out_of_order.take_from(self.next);
        }
        self.take_fin();
        self.check();
    }

    /// DATA_FIN with this number arrived.
    pub(super) fn on_fin(&mut self, dsn: Dsn) {
        self.window.unsettle();
        // Behind the end there is no other one, and none before what has arrived.
        if self.finished || dsn < self.next {
            return;
        }
        self.fin = Some(dsn);
        self.take_fin();
        self.check();
    }

    fn take_fin(&mut self) {
        if let Some(fin) = self.fin
            && self.next >= fin
        {
            self.next = fin + Bytes(1);
            self.finished = true;
            self.out_of_order = RangeSet::EMPTY;
        }
    }

    /// Before a read, see [`ReceiveBuffer::begin`].
    pub(super) fn begin(&mut self, established_at: impl FnOnce() -> Option<SimTime>) {
        self.buffer.begin(established_at);
    }

    /// The application takes `bytes` out of the buffer; `slowest` is the longest round-trip time of the subflows, `fresh` whether
    /// one of them has had no data. Returns the bytes of a round trip if the buffer has grown by them.
    pub(super) fn on_read(
        &mut self,
        now: SimTime,
        bytes: u64,
        slowest: impl Fn() -> Option<Nanos>,
        fresh: impl Fn() -> bool,
    ) -> Option<u64> {
        debug_assert!(bytes <= self.readable(), "{bytes} bytes read of {}", self.readable());
        self.read += bytes;
        self.window.unsettle();
        // Data of several subflows comes out of order without any loss. Linux does not count it (`mptcp_rcvbuf_grow` since commit
        // 6b329393502e, which 6.18 has got as well).
        let grown = self.buffer.on_read_of_connection(now, bytes, slowest, || 0, fresh);
        self.check();
        grown
    }

    /// Size of the buffer, and of those of the subflows.
    #[inline]
    pub(super) fn size(&self) -> Bytes {
        Bytes(self.buffer.size())
    }

    /// The buffer; `held` are the bytes that subflows hold out of order, `limit` is the largest window to offer. With
    /// memory by subflow, what one holds takes its own alone (`__mptcp_space`).
    #[inline]
    fn room(&self, held: u64, limit: Bytes) -> Room {
        let taken = self.readable() + self.out_of_order();
        let free = if self.by_subflow {
            Bytes(self.buffer.offers(taken))
        } else {
            self.size().saturating_sub(Bytes(taken + held))
        };
        Room { free: free.min(limit), size: self.room_size() }
    }

    /// All of that buffer.
    #[inline]
    fn room_size(&self) -> Bytes {
        if self.by_subflow { Bytes(self.buffer.offers(0)) } else { self.size() }
    }

    /// The window has opened so far that the peer must learn it at once; `held` as above.
    #[inline(always)]
    pub(super) fn deserves_update(&self, held: u64, limit: Bytes) -> bool {
        let free = || self.room(held, limit).free;
        self.window.deserves_update(&self.tcp, self.next, self.room_size(), free)
    }

    /// Each subflow has memory of its own, and goes by the window that it told itself.
    #[inline]
    pub(super) fn is_by_subflow(&self) -> bool {
        self.by_subflow
    }

    /// A subflow whose last segment advertised a window of which `told` is left, and which offers `limit` at most from a buffer of `size`,
    /// must advertise a window that is now at least twice as large.
    ///
    /// Source: Linux, `__tcp_cleanup_rbuf` for each subflow, from `mptcp_cleanup_rbuf`. While data of a slow subflow is missing, a fast one
    /// goes on to advertise a whole window. So a read after that data has come sends nothing on the fast one: its sender learns the Data ACK from
    /// the ACK on the slow one.
    pub(super) fn deserves_update_on(&self, told: Bytes, limit: Bytes, size: Bytes) -> bool {
        let free = self.room(0, limit).free;
        2 * told.0 <= size.0 && free > Bytes::ZERO && free.0 >= 2 * told.0
    }

    /// The window to advertise, which the peer may rely on from now on; `held` as above. `limit` is that of the subflow that tells
    /// it: the window is shared, so it is never less than another subflow has told (`mptcp_set_rwin` in Linux).
    #[inline(always)]
    pub(super) fn offer_window(&mut self, held: u64, limit: Bytes) -> Bytes {
        let settles = (held == 0).then_some(limit);
        if held == 0
            && let Some(window) = self.window.offered(self.next, limit)
        {
            debug_assert!(
                self.window.would_offer(&self.tcp, self.next, self.room(held, limit)) == window,
                "the window has changed unnoticed"
            );
            return window;
        }
        let room = self.room(held, limit);
        self.window.offer(&self.tcp, self.next, room, settles)
    }

    /// A segment has filled a gap of its subflow; arguments as above.
    pub(super) fn tell_before_read(&mut self, held: u64, limit: Bytes) {
        let room = self.room(held, limit);
        self.window.tell_before_read(&self.tcp, self.next, room);
    }

    /// The window that would be advertised; `held` as above.
    pub(super) fn window(&self, held: u64, limit: Bytes) -> Bytes {
        self.window.peek(self.next, self.room(held, limit))
    }

    fn check(&self) {
        debug_assert!(
            self.out_of_order.iter().next().is_none_or(|first| first.start > self.next),
            "a gap lies between what is in order and what is not"
        );
        debug_assert_eq!(self.finished, self.fin.is_some_and(|fin| self.next > fin), "the end has arrived");
        debug_assert!(self.read <= self.delivered(), "the application has read what has not arrived");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_delivered_once_and_in_order() {
        let mut side = ReceiveSide::new(Arc::default(), Bytes(1420));
        let data = |start, end| Range::new(Dsn(start), Dsn(end));
        side.on_data(data(101, 201));
        side.on_data(data(301, 401));
        assert_eq!((side.delivered(), side.out_of_order()), (0, 200));
        side.on_data(data(1, 151));
        assert_eq!((side.delivered(), side.out_of_order()), (200, 100));
        side.on_data(data(150, 351));
        assert_eq!((side.delivered(), side.out_of_order()), (400, 0));
        side.on_fin(Dsn(401));
        assert!(side.finished());
        assert_eq!((side.delivered(), side.next()), (400, Dsn(402)));
    }

    /// A peer's data and ends behind its end change nothing: the application has been told that there is no more.
    #[test]
    fn the_end_of_the_stream_stays_where_it_was() {
        let data = |start, end| Range::new(Dsn(start), Dsn(end));
        let mut side = ReceiveSide::new(Arc::default(), Bytes(1420));
        side.on_data(data(1, 101));
        side.on_fin(Dsn(50));
        assert!(!side.finished(), "an end before what has arrived is none");
        side.on_fin(Dsn(201));
        side.on_data(data(301, 401));
        side.on_data(data(101, 351));
        assert_eq!((side.delivered(), side.next(), side.out_of_order()), (200, Dsn(202), 0));
        side.on_fin(Dsn(301));
        side.on_data(data(202, 302));
        assert!(side.finished());
        assert_eq!((side.delivered(), side.next()), (200, Dsn(202)));
    }

    /// Vector PEP-1: 1 to 1000 travel over the first subflow, of which 501 to 600 are lost, and 1001 to 2000 over the second.
    /// A proxy that ends the connection acknowledges and offers what a receiver does: no more than it holds.
    #[test]
    fn a_proxy_acknowledges_up_to_the_gap_and_offers_the_rest_of_its_buffer() {
        let buffer = Bytes(100_000);
        let config = TcpConfig::default().with(|c| {
            c.buffers.receive_counts = ReceiveCounts::Payload;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (buffer, buffer);
        });
        let mut side = ReceiveSide::new(Arc::new(config), Bytes(1000));
        for (start, end) in [(1, 501), (1001, 2001), (601, 1001)] {
            side.on_data(Range::new(Dsn(start), Dsn(end)));
        }
        // The first 500 bytes have gone on towards the server.
        let _ = side.on_read(SimTime::from_millis(10), 500, || None, || false);
        assert_eq!(side.next(), Dsn(501), "the Data ACK");
        assert_eq!(side.window(0, buffer), Bytes(100_000 - 1400));
        side.on_data(Range::new(Dsn(501), Dsn(601)));
        assert_eq!((side.next(), side.readable()), (Dsn(2001), 1500));
    }

    fn linux(size: u64) -> ReceiveSide {
        let config = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
            c.buffers.receive_counts = ReceiveCounts::SubflowMemory;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(size), Bytes(size));
        });
        ReceiveSide::new(Arc::new(config), Bytes(1424))
    }

    /// Linux 6.18 with SO_RCVBUF of 256 KiB, seen in a capture: windows of 323,584 bytes, of 262,144 with the first read after the
    /// third ACK of a join, and of 323,584 again with the first read after data on that subflow.
    #[test]
    fn a_subflow_without_data_makes_the_window_smaller() {
        let mut side = linux(256 << 10);
        let (limit, rtt) = (Bytes(1 << 20), || Some(Nanos::from_millis(100)));
        let mut windows = vec![];
        for (n, fresh) in [false, true, false].into_iter().enumerate() {
            let start = Dsn::FIRST_DATA + Bytes(1424 * n as u64);
            side.on_data(Range::new(start, start + Bytes(1424)));
            let _ = side.on_read(SimTime::from_millis(100 * (n as u64 + 1)), 1424, rtt, || fresh);
            windows.push(side.room(0, limit).free.0);
        }
        assert_eq!(windows, [323_584, 262_144, 323_584]);
    }

    /// Memory of a subflow is its own: in the capture a window of 262,144 bytes stood while a subflow held 140 segments.
    #[test]
    fn what_a_subflow_holds_takes_room_unless_it_has_memory_of_its_own() {
        let limit = Bytes(1 << 20);
        assert_eq!(linux(256 << 10).room(200_000, limit).free, Bytes(323_584));
        let config = TcpConfig::default().with(|c| {
            c.buffers.receive_counts = ReceiveCounts::Payload;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(300_000), Bytes(300_000));
        });
        let side = ReceiveSide::new(Arc::new(config), Bytes(1424));
        assert_eq!(side.room(200_000, limit).free, Bytes(100_000));
    }

    /// In a capture of Linux 6.18 nothing told the fast path that data of the slow one had come and was read: its last ACK had told 262,144
    /// bytes. The ACK of the slow path did, a quarter of a second later.
    #[test]
    fn a_subflow_that_told_a_large_window_tells_no_other() {
        let side = linux(256 << 10);
        let (open, small) = (Bytes(1 << 20), Bytes(64_896));
        let deserves = |told, limit| side.deserves_update_on(told, limit, Bytes(323_584));
        assert!(!deserves(Bytes(262_144), open));
        assert!(deserves(Bytes(60_000), open));
        assert!(!deserves(Bytes(60_000), small), "it has not opened further itself");
        assert!(deserves(Bytes::ZERO, small));
    }

    /// Both ends of the gap are of different subflows, and nothing is lost: the size does not follow how far it reaches.
    #[test]
    fn data_out_of_order_between_subflows_does_not_enlarge_the_buffer() {
        let grown = |ahead: u64| {
            let config = TcpConfig::default().with(|c| {
                c.buffers.receive_counts = ReceiveCounts::Memory;
                (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(131_072), Bytes(6 << 20));
            });
            let mut side = ReceiveSide::new(Arc::new(config), Bytes(1424));
            side.on_data(Range::new(Dsn(1), Dsn(30_001)));
            side.on_data(Range::new(Dsn(40_001), Dsn(40_001 + ahead)));
            let _ =
                side.on_read(SimTime::from_millis(100), 30_000, || Some(Nanos::from_millis(100)), || false);
            side.size()
        };
        assert!(grown(1424) > Bytes(100_000), "{} bytes", grown(1424));
        assert_eq!(grown(1424), grown(200_000));
    }
}
