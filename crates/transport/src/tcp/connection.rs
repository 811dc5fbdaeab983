//! Plain TCP: an endpoint between two byte streams.
//!
//! When the peer has finished and everything is read, this end finishes too, unless it is held open: then the
//! application closes it.

use std::sync::Arc;

use congestion::Paths;
use units::{Bytes, SimTime};

use super::buffers::{AdvertisedWindow, ReceiveBuffer, Room};
use super::endpoint::{Endpoint, Offer};
use super::segment::{Flags, TcpSegment};
use super::send_buffer::{ExpandedBuffer, send_buffer, send_space};
use crate::arrival::Arrival;
use crate::config::{SendBuffer, TcpConfig};
use crate::convert::ConvertMessage;
use crate::departure::Departure;
use crate::limit::Limit;
use crate::packet::{Body, Packet, PathId};
use crate::role::Role;
use crate::seq::{Seq, StreamOffset};
use crate::setup::Setup;
use crate::wire_size::{PacketSizes, sack_room};

/// One end of a plain TCP connection.
#[derive(Debug)]
pub struct TcpConnection {
    config: Arc<TcpConfig>,
    endpoint: Endpoint,
    buffer: ReceiveBuffer,
    window: AdvertisedWindow<Seq>,
    read: u64,
    held_open: bool,
    /// Bytes accepted beyond the advertised window, and those discarded because the buffer had no room.
    beyond_window: u64,
    overflow: u64,
    expanded: ExpandedBuffer,
    sack_blocks: [usize; 2],
    sizes: PacketSizes,
    role: Role,
    /// The next deadline, when it was last asked for.
    woken: SimTime,
}

impl TcpConnection {
    /// A client that waits for `open`, or a server that waits for a SYN.
    pub fn new(setup: &Setup) -> Self {
        let config = Arc::clone(&setup.tcp);
        let congestion = setup.new_congestion(config.segment.mss);
        let endpoint =
            Endpoint::new(Arc::clone(&config), PathId::FIRST, config.segment.mss, congestion, false);
        Self {
            buffer: ReceiveBuffer::new(&config, config.segment.mss),
            window: AdvertisedWindow::new(&config),
            read: 0,
            held_open: false,
            beyond_window: 0,
            overflow: 0,
            expanded: ExpandedBuffer::new(&config, endpoint.sender().buffered_windows()),
            endpoint,
            sack_blocks: sack_room(&config, None),
            sizes: PacketSizes::new(&config, None),
            config,
            role: setup.role,
            woken: SimTime::NEVER,
        }
    }

    /// Every segment takes the general way; for tests.
    pub fn close_usual_way(&mut self) {
        self.endpoint.close_usual_way();
    }

    /// Its SYN or SYN/ACK has this payload.
    pub fn say(&mut self, message: ConvertMessage) {
        self.endpoint.say(message);
    }

    /// Active open.
    pub fn open(&mut self) {
        self.endpoint.open();
    }

    /// The application appends to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.endpoint.sender_mut().write(Bytes(bytes));
    }

    /// The address that it uses is gone.
    pub fn lose_address(&mut self) {
        self.endpoint.end_silently("its address has left");
    }

    /// The peer gets a RST.
    pub fn abort(&mut self) {
        self.endpoint.abort("aborted by the application");
    }

    /// No more data.
    pub fn close(&mut self) {
        self.endpoint.sender_mut().finish();
    }

    /// Free bytes of the send buffer.
    pub fn send_space(&self) -> Bytes {
        if !self.endpoint.is_established() {
            return Bytes::ZERO;
        }
        let sender = self.endpoint.sender();
        let size = send_buffer(&self.config, || sender.controlled_cwnd(), self.expanded);
        send_space(&self.config, size, Bytes(sender.unacked()), || sender.unsent())
    }

    /// The buffer expands, and the application waits for room for a segment.
    #[inline]
    fn is_blocked(&self) -> bool {
        let buffers = &self.config.buffers;
        let SendBuffer::Expand { max, .. } = buffers.send_buffer else { return false };
        let mss = self.config.segment.mss;
        if self.endpoint.sender().unacked() == 0 && max >= mss && buffers.unsent_limit == Bytes::MAX {
            // All of the buffer is free, at least of ten segments.
            return false;
        }
        self.endpoint.is_established() && self.send_space() < mss
    }

    /// In-order bytes so far.
    pub fn delivered(&self) -> u64 {
        self.endpoint.receiver().delivered().0
    }

    /// Bytes written and not acknowledged.
    pub fn send_buffered(&self) -> Bytes {
        Bytes(self.endpoint.sender().unacked())
    }

    /// In-order bytes not yet read.
    pub fn readable(&self) -> u64 {
        self.delivered() - self.read
    }

    /// The application takes bytes out of the receive buffer.
    pub fn read(&mut self, now: SimTime, bytes: u64) {
        debug_assert!(bytes <= self.readable());
        self.read += bytes;
        self.window.unsettle();
        let (endpoint, next) = (&self.endpoint, self.endpoint.receiver().next());
        let ahead = || endpoint.receiver().out_of_order_end().saturating_since(next).0;
        self.buffer.begin(|| endpoint.established_at());
        self.buffer.on_read(now, bytes, || endpoint.receive_rtt(), ahead);
        let (size, free) = (Bytes(self.buffer.size()), || self.room().free);
        if self.window.deserves_update(&self.config, next, size, free) {
            self.endpoint.acknowledge_now();
        }
        if self.readable() == 0 {
            self.endpoint.receiver_mut().everything_is_read();
        }
        self.follow_the_peer();
    }

    /// This end closes only when told to.
    pub fn hold_open(&mut self) {
        self.held_open = true;
    }

    /// The peer has closed and everything is read.
    pub fn peer_finished(&self) -> bool {
        self.endpoint.receiver().finished() && self.readable() == 0
    }

    fn follow_the_peer(&mut self) {
        if self.peer_finished() && !self.held_open {
            self.endpoint.sender_mut().finish();
        }
    }

    #[inline]
    fn free(&self) -> Bytes {
        let held = self.readable() + self.endpoint.receiver().out_of_order();
        Bytes(self.buffer.size().saturating_sub(held))
    }

    #[inline]
    fn room(&self) -> Room {
        Room { free: self.free().min(self.endpoint.window_limit()), size: Bytes(self.buffer.size()) }
    }

    /// Takes in a packet; one that carries no segment of TCP is ignored.
    #[inline(never)]
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        let blocked = self.is_blocked();
        let usual = self.on_usual_packet(now, packet);
        if usual.is_none() {
            self.take_in(now, packet);
        }
        if blocked {
            self.expanded.on_ack(now, &self.config, self.endpoint.sender());
        }
        self.follow_the_peer();
        usual.unwrap_or(Arrival::Any)
    }

    /// The usual arrivals: the next data, or a bare ACK of new data. `None` if the packet is another; then nothing has changed.
    #[inline(always)]
    fn on_usual_packet(&mut self, now: SimTime, packet: &Packet) -> Option<Arrival> {
        let Body::Tcp(segment) = &packet.body else { return None };
        if !segment.flags.is_ack_alone() {
            return None;
        }
        if segment.len == 0 {
            let taken = self.endpoint.on_new_ack(now, segment, Paths::ALONE);
            return taken.then(|| Arrival::Acknowledged(self.endpoint.sender().cwnd()));
        }
        if segment.end() > self.window.right() || !self.endpoint.on_next_data(now, segment) {
            return None;
        }
        self.window.unsettle();
        self.endpoint.open_window(segment.len, self.free());
        Some(Arrival::Any)
    }

    #[inline(never)]
    fn take_in(&mut self, now: SimTime, packet: &Packet) {
        let Some(segment) = packet.segment() else { return };
        if segment.sequence_len() > Bytes::ZERO {
            self.window.unsettle();
        }
        if segment.payload().end > self.window.right() && segment.len > 0 && self.endpoint.is_established() {
            self.on_segment_beyond(now, packet, segment);
        } else {
            let input = self.endpoint.on_packet(now, packet, Paths::ALONE);
            if input.received.is_some_and(|received| received.fresh > Bytes::ZERO) {
                self.endpoint.open_window(segment.len, self.free());
            }
            if input.received.is_some_and(|received| received.has_filled_gap(segment.len)) {
                let (next, room) = (self.endpoint.receiver().next(), self.room());
                self.window.tell_before_read(&self.config, next, room);
            }
        }
    }

    /// The peer did not keep to the window: what the buffer can hold is taken, what it cannot is cut off and answered
    /// like any segment that is not acceptable (RFC 9293 section 3.10.7.4).
    fn on_segment_beyond(&mut self, now: SimTime, packet: &Packet, segment: &TcpSegment) {
        let right = self.window.right();
        let end = segment.payload().end;
        let buffer_end = Seq::FIRST_DATA + Bytes(self.read + self.buffer.size());
        let kept_end = end.min(buffer_end).max(segment.seq);
        let cut = (end - kept_end).0;
        let flags = Flags { fin: segment.flags.fin && cut == 0, ..segment.flags };
        let mut kept = *packet;
        if let Some(part) = kept.segment_mut() {
            *part = TcpSegment { len: (kept_end - segment.seq).0 as u32, flags, ..*segment };
        }
        let before = self.received();
        self.endpoint.on_packet(now, &kept, Paths::ALONE);
        let beyond = kept_end.saturating_since(segment.seq.max(right)).0;
        self.beyond_window += beyond.min(self.received() - before);
        if cut > 0 {
            self.overflow += cut;
            self.endpoint.acknowledge_now();
        }
    }

    /// Bytes received for the first time.
    fn received(&self) -> u64 {
        self.delivered() + self.endpoint.receiver().out_of_order()
    }

    /// Bytes accepted beyond the advertised window, and bytes that found no room in the buffer.
    pub fn beyond_window(&self) -> (u64, u64) {
        (self.beyond_window, self.overflow)
    }

    /// Acts on what is due.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.endpoint.on_timeout(now, Paths::ALONE);
    }

    /// Writes the next packet into `packet`; call until there is none.
    #[inline(never)]
    pub fn poll_transmit(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        // An end that only receives.
        if self.endpoint.write_ack(now, self.sack_blocks[1], packet) {
            let window = self.offer_window();
            self.sizes.complete_usual(packet, window, (Some(self.sizes.plain()), StreamOffset::START));
            let waits = self.endpoint.sender().awaits_ack();
            return if waits { Departure::LAST } else { Departure::LAST.quiet() };
        }
        match self.endpoint.write_data(now, self.sack_blocks[0], packet) {
            Some(Some(seq)) => return self.complete_data(now, seq, packet),
            Some(None) => return self.rest(Departure::NOTHING),
            None => {}
        }
        let offer = Offer { sack_blocks: self.sack_blocks, may_send: true };
        let Some(written) = self.endpoint.poll_transmit(now, &offer, packet) else {
            return Departure::NOTHING;
        };
        let window = self.offer_window();
        self.sizes.complete(packet, window);
        self.push_last(packet);
        if self.endpoint.rests_after(now, written) { self.rest(Departure::LAST) } else { Departure::PACKET }
    }

    /// Adds what the envelope says to a full segment, and finds out whether another may follow.
    #[inline(always)]
    fn complete_data(&mut self, now: SimTime, seq: Seq, packet: &mut Packet) -> Departure {
        let offset = StreamOffset((seq - Seq::FIRST_DATA).0);
        let window = self.offer_window();
        self.sizes.complete_usual(packet, window, (Some(self.sizes.plain()), offset));
        self.push_last(packet);
        if !self.endpoint.rests_after_data(now) {
            return Departure::PACKET;
        }
        let last = self.rest(Departure::LAST);
        let filled = self.endpoint.sender().limit(false) == Limit::CongestionWindow;
        if filled { last.filled() } else { last }
    }

    /// RFC 9293 section 3.9.1.2: the last segment of what was written has PSH.
    #[inline(always)]
    fn push_last(&self, packet: &mut Packet) {
        if let Some(segment) = packet.segment_mut() {
            segment.flags.psh |= segment.len > 0 && self.endpoint.sender().unsent() == 0;
        }
    }

    /// Nothing more leaves now.
    #[inline(always)]
    fn rest(&self, departure: Departure) -> Departure {
        if self.endpoint.next_deadline() >= self.woken { departure.quiet() } else { departure }
    }

    /// The next deadline.
    #[inline]
    pub fn next_deadline(&mut self) -> SimTime {
        self.woken = self.endpoint.next_deadline();
        self.woken
    }

    /// The window of the next segment.
    #[inline]
    fn offer_window(&mut self) -> Bytes {
        let (next, limit) = (self.endpoint.receiver().next(), self.endpoint.window_limit());
        if let Some(window) = self.window.offered(next, limit) {
            debug_assert!(
                self.window.would_offer(&self.config, next, self.room()) == window,
                "the window has changed unnoticed"
            );
            return window;
        }
        self.window.offer(&self.config, next, self.room(), Some(limit))
    }

    /// The window it would advertise.
    pub fn receive_window(&self) -> Bytes {
        self.window.peek(self.endpoint.receiver().next(), self.room())
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Both directions are finished and acknowledged.
    pub fn is_closed(&self) -> bool {
        self.endpoint.receiver().finished() && self.endpoint.sender().finished()
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }
}
