//! The receiving side of an end: data in order on the subflow that the other end has not taken, and the buffer that it
//! shares with what waits behind a gap.

use std::collections::VecDeque;

use units::{Bytes, SimTime};

use crate::config::TcpConfig;
use crate::mptcp::mappings::Mappings;
use crate::seq::{Dsn, Seq};
use crate::tcp::buffers::{AdvertisedWindow, ReceiveBuffer, Room};
use crate::tcp::endpoint::Endpoint;
use crate::tcp::ranges::{Range, RangeSet};

/// Data on its way through the proxy.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Mappings of data that is out of order on the subflow.
    mappings: Mappings,
    /// Data in order, segment by segment.
    queue: VecDeque<Range<Dsn>>,
    /// Bytes in the queue, and bytes taken out of it so far.
    waiting: u64,
    taken: u64,
    /// After the highest data that has come into order here.
    ahead: Dsn,
    /// Data that has come into order here and that the true receiver has not acknowledged.
    had: RangeSet<Dsn>,
    buffer: ReceiveBuffer,
    window: AdvertisedWindow<Dsn>,
}

impl Inbox {
    /// Empty; `payload` is that of a full segment.
    pub(super) fn new(tcp: &TcpConfig, payload: Bytes) -> Self {
        Self {
            mappings: Mappings::default(),
            queue: VecDeque::new(),
            waiting: 0,
            taken: 0,
            ahead: Dsn::FIRST_DATA,
            had: RangeSet::default(),
            buffer: ReceiveBuffer::new(tcp, payload),
            window: AdvertisedWindow::new(tcp),
        }
    }

    /// Bytes in order that wait for the other end.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Bytes that the other end has taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// DSN + length of the highest data that has come into order.
    pub(super) fn ahead(&self) -> Dsn {
        self.ahead
    }

    /// The payload `subflow`, mapped to `dsn`, has arrived; `in_order` is what came into order with it.
    pub(super) fn on_data(&mut self, subflow: Range<Seq>, dsn: Dsn, in_order: Range<Seq>) {
        let start = subflow.start.max(in_order.start);
        let fresh = Range::new(start, subflow.end);
        self.mappings.insert(fresh, dsn + (start - subflow.start));
        let Self { mappings, queue, waiting, ahead, had, .. } = self;
        mappings.take_below(in_order.end, |data| {
            *waiting += data.len();
            *ahead = (*ahead).max(data.end);
            had.insert(data);
            queue.push_back(data);
        });
    }

    /// The true receiver has everything below `una`.
    pub(super) fn is_delivered(&mut self, una: Dsn) {
        self.had.remove_below(una);
    }

    /// Bytes that this end has acknowledged and never had, where the true receiver is known to have those below `una`.
    pub(super) fn unbacked(&self, una: Dsn) -> Bytes {
        self.ahead.saturating_since(una).saturating_sub(Bytes(self.had.bytes()))
    }

    /// The right edge of the window that it has told.
    pub(super) fn right(&self) -> Dsn {
        self.window.right()
    }

    /// Takes the next segment if it lies below `right` and fits into `space`; a part of it if the way is `idle` and the window
    /// has no room for all.
    pub(super) fn next(&mut self, right: Dsn, space: Bytes, idle: bool) -> Option<Range<Dsn>> {
        let front = self.queue.front_mut()?;
        let end = if idle { front.end.min(right.max(front.start)) } else { front.end };
        let data = Range::new(front.start, end);
        if data.is_empty() || data.end > right || Bytes(data.len()) > space && !idle {
            return None;
        }
        front.start = end;
        if front.is_empty() {
            self.queue.pop_front();
        }
        self.waiting -= data.len();
        self.taken += data.len();
        Some(data)
    }

    /// The other end has taken `bytes`: the buffer may grow.
    pub(super) fn was_read(&mut self, now: SimTime, bytes: Bytes, endpoint: &Endpoint) {
        let next = endpoint.receiver().next();
        let ahead = || endpoint.receiver().out_of_order_end().saturating_since(next).0;
        self.buffer.begin(|| endpoint.established_at());
        self.buffer.on_read(now, bytes.0, || endpoint.receive_rtt(), ahead);
    }

    /// Bytes that the buffer could hold beside what is in it; what waits behind a gap counts.
    pub(super) fn free(&self, endpoint: &Endpoint) -> Bytes {
        let held = endpoint.receiver().out_of_order();
        Bytes(self.buffer.size().saturating_sub(self.waiting + held))
    }

    /// The buffer, as the window sees it.
    pub(super) fn room(&self, endpoint: &Endpoint) -> Room {
        let free = self.free(endpoint).min(endpoint.window_limit());
        Room { free, size: Bytes(self.buffer.size()) }
    }

    /// The window to tell with this Data ACK.
    pub(super) fn offer_window(&mut self, tcp: &TcpConfig, ack: Dsn, room: Room) -> Bytes {
        self.window.offer(tcp, ack, room, None)
    }

    /// The same, without telling it.
    pub(super) fn peek_window(&self, ack: Dsn, room: Room) -> Bytes {
        self.window.peek(ack, room)
    }

    /// The window has opened so far that the peer must learn it at once.
    pub(super) fn deserves_update(&self, tcp: &TcpConfig, ack: Dsn, room: Room) -> bool {
        self.window.deserves_update(tcp, ack, room.size, || room.free)
    }
}
