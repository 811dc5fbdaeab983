//! Receive-buffer autotuning (dynamic right-sizing as in Linux) and the window that is told of it.

use units::{Bytes, Nanos, SimTime};

use crate::config::{ReceiveCounts, TcpConfig};
use crate::seq::Position;

/// Grows the receive buffer with the rate at which the application reads. Sizes are windows: bytes of payload.
///
/// Source for sizes in memory: Linux 6.x, `tcp_win_from_space` with the `scaling_ratio` that `tcp_measure_rcv_mss` finds, the
/// payload of a segment over the memory that holds it, in 256ths: a power of two for packet and trailer, and 256 bytes.
/// With [`ReceiveCounts::SubflowMemory`] a connection takes the least ratio of its subflows, and one without data has half
/// (`mptcp_rcv_space_adjust`).
/// SO_RCVBUF, a size that autotuning leaves alone, is doubled by the kernel. How far the window has opened is told by
/// [`super::opening::WindowOpening`].
/// Source of the growth: where sizes are memory `tcp_rcvbuf_grow` and `mptcp_rcvbuf_grow` of Linux 6.18, otherwise
/// `tcp_rcv_space_adjust` before it, which adds 16 segments and does not know of data out of order.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer {
    size: u64,
    /// Window of all memory that a connection has, at the usual ratio; that of its subflows is `size`.
    whole: u64,
    max: u64,
    counts: ReceiveCounts,
    mss: u64,
    /// Window of 256 bytes of memory.
    ratio: u64,
    /// A subflow without data had joined when the buffer was last reconsidered.
    thin: bool,
    /// Bytes read in the best interval so far.
    space: u64,
    copied: u64,
    /// Beginning of the present interval. The first begins with the connection where sizes are memory, and otherwise with the first
    /// read.
    since: SimTime,
    /// A connection of subflows that have memory of their own: the round-trip time when it was asked for last. Before that much has passed
    /// it is not asked for again.
    known_rtt: Nanos,
}

impl ReceiveBuffer {
    /// As configured; fixed if the maximum equals the initial size. `payload` is that of a full segment.
    pub fn new(config: &TcpConfig, payload: Bytes) -> Self {
        let buffers = &config.buffers;
        let first = memory_at_first(config);
        let [size, max] =
            [first, buffers.receive_buffer_max.max(first)].map(|size| match buffers.receive_counts {
                ReceiveCounts::Payload => size.0,
                _ => window_of(size, config, payload).0,
            });
        Self {
            size,
            whole: size,
            max,
            counts: buffers.receive_counts,
            mss: config.segment.mss.0,
            ratio: ratio_of(config, payload),
            thin: false,
            space: size.min(10 * config.segment.mss.0),
            copied: 0,
            since: SimTime::ZERO,
            known_rtt: Nanos::ZERO,
        }
    }

    /// Present size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Window of a connection that has used `taken` bytes of it.
    pub fn offers(&self, taken: u64) -> u64 {
        let free = self.whole.saturating_sub(taken);
        if self.thin { free * RATIO_AT_FIRST / self.ratio } else { free }
    }

    /// Whether the least ratio is that of a subflow without data.
    fn follow_ratio(&mut self, fresh: bool) {
        self.thin = fresh && self.counts == ReceiveCounts::SubflowMemory && self.ratio > RATIO_AT_FIRST;
    }

    /// Before a read: bytes count from the time on at which the connection was established.
    #[inline]
    pub fn begin(&mut self, established_at: impl FnOnce() -> Option<SimTime>) {
        if self.since == SimTime::ZERO && self.counts.is_memory() {
            self.since = established_at().unwrap_or(SimTime::ZERO);
        }
    }

    /// The application has read `bytes`; once per round-trip time, which is asked for only then, the buffer is reconsidered.
    /// `ahead`: bytes from the next one that is missing to the end of what has arrived out of order.
    pub fn on_read(
        &mut self,
        now: SimTime,
        bytes: u64,
        rtt: impl FnOnce() -> Option<Nanos>,
        ahead: impl FnOnce() -> u64,
    ) {
        if self.size < self.max {
            // Plain TCP goes by the round trip that it has now, even where it stands beside MPTCP with memory of subflows.
            self.known_rtt = Nanos::ZERO;
            let _ = self.on_read_of_connection(now, bytes, rtt, ahead, || false);
        }
    }

    /// The same for a connection of several subflows. `fresh`: one of them has had no data. Returns the bytes read if it has grown.
    pub fn on_read_of_connection(
        &mut self,
        now: SimTime,
        bytes: u64,
        rtt: impl FnOnce() -> Option<Nanos>,
        ahead: impl FnOnce() -> u64,
        fresh: impl FnOnce() -> bool,
    ) -> Option<u64> {
        if self.size >= self.max && self.counts != ReceiveCounts::SubflowMemory {
            return None;
        }
        self.copied += bytes;
        let passed = now.since(self.since);
        if passed < self.known_rtt {
            return None;
        }
        let rtt = rtt()?;
        if self.counts == ReceiveCounts::SubflowMemory {
            self.known_rtt = rtt;
        }
        // Also where the round trip has grown, so that the measurement goes on.
        self.follow_ratio(fresh());
        if passed < rtt {
            return None;
        }
        let mut grown = None;
        if self.copied > self.space {
            let window = if self.counts.is_memory() {
                tuned(self.copied, self.space, 0) + ahead()
            } else {
                tuned(self.copied, self.space, 16 * self.mss)
            };
            // Memory for this window.
            let whole = if self.thin { window * self.ratio / RATIO_AT_FIRST } else { window }.min(self.max);
            if whole > self.whole {
                (self.size, self.whole) = (self.size.max(window.min(self.max)), whole);
                grown = Some(self.copied);
            }
            self.space = self.copied;
        }
        self.copied = 0;
        self.since = now;
        grown
    }
}

/// The receive buffer of a subflow that has memory of its own. It grows when that of the connection does, and not later, from what it
/// was when it grew last: where the connection read more in a round trip and had room, the subflow does not know of that.
///
/// Source: Linux 6.18, `tcp_rcvbuf_grow` for each subflow, from `mptcp_rcv_space_adjust` where `mptcp_rcvbuf_grow` has enlarged the buffer.
#[derive(Clone, Copy, Debug)]
pub struct SubflowBuffer {
    size: u64,
    max: u64,
    /// Bytes read in the interval with which it grew last.
    space: u64,
}

impl SubflowBuffer {
    /// As configured; `payload` is that of a full segment.
    pub fn new(config: &TcpConfig, payload: Bytes) -> Self {
        let ReceiveBuffer { size, max, space, .. } = ReceiveBuffer::new(config, payload);
        Self { size, max, space }
    }

    /// Window of its memory.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    /// The buffer of the connection has grown, since `copied` bytes were read in a round trip. `ahead`: bytes from the next one that
    /// is missing to the end of what has arrived out of order.
    pub fn grow(&mut self, copied: u64, ahead: u64) {
        let window = tuned(copied, self.space.min(copied), 0) + ahead;
        self.size = self.size.max(window.min(self.max));
        self.space = copied;
    }
}

/// Memory of the first receive buffer. SO_RCVBUF, a size that autotuning leaves alone, is doubled by the kernel.
pub(super) fn memory_at_first(config: &TcpConfig) -> Bytes {
    let buffers = &config.buffers;
    let set = buffers.receive_buffer == buffers.receive_buffer_max;
    let doubled = set && buffers.receive_counts.is_memory();
    Bytes(buffers.receive_buffer.0.saturating_mul(if doubled { 2 } else { 1 }))
}

/// `TCP_DEFAULT_SCALING_RATIO`, before the first data.
const RATIO_AT_FIRST: u64 = 128;

/// Memory of `skb_shared_info`, behind the data of a packet, on 64-bit machines.
pub(super) const SHARED_INFO: u64 = 320;
/// Memory of `sk_buff`, that describes it.
pub(super) const SK_BUFF: u64 = 256;

/// Window of 256 bytes of memory.
fn ratio_of(config: &TcpConfig, payload: Bytes) -> u64 {
    let options = if config.options.timestamps { 12 } else { 0 };
    let packet = config.segment.mss.0 + options + config.segment.header.0;
    let each = (packet + SHARED_INFO).next_power_of_two() + SK_BUFF;
    (256 * payload.0 / each).max(1)
}

/// Window that a receiver with this memory offers.
pub(super) fn window_of(memory: Bytes, config: &TcpConfig, payload: Bytes) -> Bytes {
    let ratio = ratio_of(config, payload);
    Bytes((u128::from(memory.0) * u128::from(ratio) / 256) as u64)
}

/// Buffer for a sender that delivered `copied` bytes in a round-trip time, after `space` in an earlier one: room
/// for the next doubling of slow start, and for `more` bytes.
fn tuned(copied: u64, space: u64, more: u64) -> u64 {
    let window = 2 * copied + more;
    window + 2 * (u128::from(window) * u128::from(copied - space) / u128::from(space.max(1))) as u64
}

/// The receive window as the peer knows it. Its right edge never moves left. Where sizes of buffers are memory it moves right in units of the
/// window scale, rounded up (`__tcp_select_window` of Linux); otherwise in steps worth a segment (RFC 1122 4.2.3.3, receiver-side silly
/// window avoidance), and captures show it rounded down.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdvertisedWindow<P> {
    right: P,
    /// The largest that a segment can tell.
    cap: u64,
    /// Under this limit nothing has changed since it was last offered: an end that only sends offers the same with each
    /// segment.
    settled: Option<Bytes>,
    /// Shift of its unit, where it moves in units.
    scale: Option<u8>,
    /// The next segment advertises the window as it is, whatever is read meanwhile.
    told: bool,
}

/// A receive buffer as its window sees it.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Free bytes.
    pub free: Bytes,
    /// Size of the buffer.
    pub size: Bytes,
}

/// Largest window without the window scale option.
const UNSCALED_MAX: u64 = 65_535;

impl<P: Position + Default> AdvertisedWindow<P> {
    /// Before the first segment.
    pub fn new(config: &TcpConfig) -> Self {
        let in_units = config.buffers.receive_counts.is_memory();
        let cap = if config.options.window_scaling { u64::MAX } else { UNSCALED_MAX };
        Self { cap, scale: config.window_scale().filter(|_| in_units), ..Self::default() }
    }
}

impl<P: Position> AdvertisedWindow<P> {
    fn wanted(&self, next: P, free: Bytes) -> u64 {
        next.distance().saturating_add(free.0.min(self.cap)).max(self.right.distance())
    }

    /// The right edge as advertised.
    #[inline]
    pub fn right(&self) -> P {
        self.right
    }

    /// Something has arrived or was read: the window may be another one.
    #[inline]
    pub fn unsettle(&mut self) {
        self.settled = None;
    }

    /// The window to advertise from `next` if it was offered under this `limit`, and nothing has changed since.
    #[inline]
    pub fn offered(&self, next: P, limit: Bytes) -> Option<Bytes> {
        let same = self.settled == Some(limit);
        same.then(|| Bytes(self.right.distance().saturating_sub(next.distance())))
    }

    /// Window to advertise from `next`. Under the limit `settles` it remains so until something arrives or is read.
    #[inline]
    pub fn offer(&mut self, config: &TcpConfig, next: P, room: Room, settles: Option<Bytes>) -> Bytes {
        if std::mem::take(&mut self.told) {
            return Bytes(self.right.distance().saturating_sub(next.distance()));
        }
        self.settled = settles;
        let (wanted, right) = (self.wanted(next, room.free), self.right.distance());
        if let Some(shift) = self.scale {
            let units = (wanted - next.distance() + (1 << shift) - 1) >> shift;
            self.right = P::at(next.distance() + (units << shift));
        } else if wanted - right >= config.segment.mss.0.min(room.size.0 / 2).max(1) {
            self.right = P::at(wanted);
        }
        debug_assert!(self.right.distance() >= right, "the right edge moves left");
        Bytes(self.right.distance().saturating_sub(next.distance()))
    }

    /// A segment has filled a gap: its acknowledgement leaves before anything is read, where sizes of buffers are memory.
    pub fn tell_before_read(&mut self, config: &TcpConfig, next: P, room: Room) {
        if config.buffers.receive_counts.is_memory() {
            self.offer(config, next, room, None);
            self.told = true;
        }
    }

    /// The result of `offer` now.
    pub fn would_offer(mut self, config: &TcpConfig, next: P, room: Room) -> Bytes {
        self.offer(config, next, room, None)
    }

    /// All of the room, without advertising it.
    pub fn peek(&self, next: P, room: Room) -> Bytes {
        Bytes(self.wanted(next, room.free).saturating_sub(next.distance()))
    }

    /// The window has opened so far since it was last advertised that the peer should learn it at once: it has at least
    /// doubled, by a worthwhile amount. Of a buffer of `size` bytes these are `free`, which mostly is not asked.
    #[inline]
    pub fn deserves_update(
        &self,
        config: &TcpConfig,
        next: P,
        size: Bytes,
        free: impl FnOnce() -> Bytes,
    ) -> bool {
        let known = self.right.distance().saturating_sub(next.distance());
        if known > 0 && 2 * known > size.0 {
            // Not even the whole buffer would be twice as much.
            return false;
        }
        let now = self.wanted(next, free()).saturating_sub(next.distance());
        now >= 2 * known && now - known >= (2 * config.segment.mss.0).min(size.0 / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::Seq;

    /// In captures of Linux 6.18 windows grow by 2944 and 2816 bytes in turn, 23 and 22 units of 128, where they open by 2896, and what a sender
    /// may send after each is 1392 or 96 bytes beside full segments of 1424.
    #[test]
    fn a_window_of_memory_moves_in_units() {
        let config = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.buffers.receive_counts = ReceiveCounts::SubflowMemory;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(131_072), Bytes(6 << 20));
        });
        let room = |free| Room { free: Bytes(free), size: Bytes(168_548) };
        let mut window = AdvertisedWindow::<Seq>::new(&config);
        let told = [0, 1, 2, 3].map(|segments: u64| {
            let next = Seq(1424 * segments);
            window.offer(&config, next, room(64_088 + 2896 * segments), None).0
        });
        assert_eq!(told, [64_128, 67_072, 69_888, 72_832]);
        let mut fixed =
            AdvertisedWindow::<Seq>::new(&config.with(|c| c.buffers.receive_buffer_max = Bytes(256 << 10)));
        assert_eq!(fixed.offer(&TcpConfig::default(), Seq(0), room(322_161), None), Bytes(322_168));
    }

    /// In a capture the ACK that filled a gap of 112 kB told 188,416 bytes, and the next one 259,840 again.
    #[test]
    fn a_filled_gap_is_told_before_it_is_read() {
        let config = TcpConfig::default().with(|c| {
            c.buffers.receive_counts = ReceiveCounts::Memory;
            c.buffers.receive_buffer_max = Bytes(256 << 10);
        });
        let room = |free| Room { free: Bytes(free), size: Bytes(262_144) };
        let mut window = AdvertisedWindow::<Seq>::new(&config);
        let next = Seq(112_000);
        window.tell_before_read(&config, next, room(150_016));
        assert_eq!(window.offer(&config, next, room(262_016), None), Bytes(150_016));
        assert_eq!(window.offer(&config, next, room(262_016), None), Bytes(262_016));
    }

    /// Test vector AT-1.
    #[test]
    fn at_1() {
        assert_eq!(2 * 300_000 + 16 * 1460, 623_360);
        assert_eq!(tuned(300_000, 200_000, 16 * 1460), 1_246_720);
    }

    /// Linux 6.18 had 270,747 and 611,963 bytes of memory after these bytes in a round trip, 158/256 of them windows.
    #[test]
    fn growth_as_linux_has_it() {
        assert_eq!(tuned(28_480, 14_480, 0) * 256 / 158, 270_747);
        assert_eq!(tuned(59_464, 28_480, 0) * 256 / 158, 611_963);
    }

    /// SO_RCVBUF of 256 KiB: a window of 323,584 bytes, as Linux 6.18 was seen to offer for segments of 1424 bytes. With 6 MiB for
    /// autotuning 3.9 MB of plain TCP.
    #[test]
    fn memory_offers_a_part_of_it() {
        let linux = |size: u64, max: u64| {
            TcpConfig::default().with(|c| {
                c.segment.mss = Bytes(1448);
                c.options.timestamps = true;
                c.buffers.receive_counts = ReceiveCounts::Memory;
                (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(size), Bytes(max));
            })
        };
        let fixed = ReceiveBuffer::new(&linux(256 << 10, 256 << 10), Bytes(1424));
        assert_eq!((fixed.size, fixed.max), (323_584, 323_584));
        let tuned = ReceiveBuffer::new(&linux(131_072, 6 << 20), Bytes(1448));
        assert_eq!((tuned.size, tuned.max), (81_920, 3_932_160));
    }

    /// The buffer of a connection whose subflows have memory of their own.
    fn by_subflow(max: u64) -> ReceiveBuffer {
        let config = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
            c.buffers.receive_counts = ReceiveCounts::SubflowMemory;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(131_072), Bytes(max));
        });
        ReceiveBuffer::new(&config, Bytes(1424))
    }

    /// `tcp_rcvbuf_grow` is called for subflows when the buffer of the connection has grown, and only then. In a capture of Linux 6.18 a
    /// connection whose buffer was full at the ratio of a subflow without data had subflows with windows of 268,288 bytes for good.
    #[test]
    fn buffers_of_subflows_grow_with_that_of_the_connection_alone() {
        let mut buffer = by_subflow(512 << 10);
        let rtt = || Some(Nanos::from_millis(100));
        let mut read = |ms, bytes, fresh| {
            let grown = buffer.on_read_of_connection(SimTime::from_millis(ms), bytes, rtt, || 0, || fresh);
            (buffer.size, buffer.whole, grown)
        };
        let (size, whole, grown) = read(100, 35_000, true);
        assert!(size < whole && whole == 323_584 && grown == Some(35_000), "{size} {whole} {grown:?}");
        assert_eq!(read(200, 200_000, false), (size, whole, None));
    }

    /// `rcvq_space.rtt_us`: before 102 ms have passed a shorter round trip changes nothing.
    #[test]
    fn a_connection_goes_by_the_round_trip_that_it_found_last() {
        let mut buffer = by_subflow(6 << 20);
        let mut read = |us: u64, rtt: u64| {
            let now = SimTime::ZERO + Nanos(1000 * us);
            buffer.on_read_of_connection(now, 60_000, || Some(Nanos::from_millis(rtt)), || 0, || false)
        };
        assert_eq!(read(101_400, 102), None);
        assert_eq!(read(101_800, 101), None);
        assert_eq!(read(102_600, 106), None, "another subflow has brought data");
        assert_eq!(read(106_100, 101), Some(240_000));
    }

    /// In a capture of K7 the window stopped 104 ms after the measurement before, as a subflow without data had joined, though the round trip was 168 ms by
    /// then.
    #[test]
    fn the_ratio_follows_while_a_measurement_goes_on() {
        let mut buffer = by_subflow(256 << 10);
        let mut read = |ms: u64, rtt: u64, fresh: bool| {
            let rtt = || Some(Nanos::from_millis(rtt));
            buffer.on_read_of_connection(SimTime::from_millis(ms), 1424, rtt, || 0, || fresh);
            buffer.offers(0)
        };
        let before = read(101, 101, false);
        let after = read(205, 168, true);
        assert!(after < before * 9 / 10, "{before} {after}");
    }

    /// In a capture of Linux 6.18 11 segments were read in the first round trip, for which the buffer was large enough, and 21 in the
    /// next. The connection advertised 168,576 bytes, and the first subflow went on to acknowledge each segment until its window could have
    /// been 187 kB. A second subflow knows neither.
    #[test]
    fn a_subflow_grows_from_where_it_grew_last() {
        let mut buffer = by_subflow(6 << 20);
        let config = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
            c.buffers.receive_counts = ReceiveCounts::SubflowMemory;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(131_072), Bytes(6 << 20));
        });
        let mut first = SubflowBuffer::new(&config, Bytes(1424));
        let rtt = || Some(Nanos::from_millis(100));
        for (round, segments) in [(1, 11), (2, 21)] {
            let at = SimTime::from_millis(100 * round);
            if let Some(copied) = buffer.on_read_of_connection(at, segments * 1424, rtt, || 0, || false) {
                assert_eq!((round, copied), (2, 29_904));
                first.grow(copied, 0);
            }
        }
        assert_eq!((buffer.size, first.size), (168_548, 187_222));
    }

    /// Growth while the ratio is that of a subflow without data takes more memory for the same window; the subflows have theirs
    /// by their own ratios.
    #[test]
    fn a_buffer_that_grows_before_the_first_data_takes_more_memory() {
        let grown = |fresh: bool| {
            let mut buffer = by_subflow(6 << 20);
            let rtt = || Some(Nanos::from_millis(100));
            buffer.on_read_of_connection(SimTime::from_millis(100), 100_000, rtt, || 0, || fresh);
            (buffer.size, buffer.whole, buffer.offers(0))
        };
        let (usual, fresh) = (grown(false), grown(true));
        assert_eq!((usual.0, usual.0, usual.0), (usual.1, usual.2, fresh.0), "{usual:?} {fresh:?}");
        assert!(fresh.1 > usual.1 * 6 / 5 && fresh.2.abs_diff(usual.2) <= 1, "{usual:?} {fresh:?}");
    }
}
