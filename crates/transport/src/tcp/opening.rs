//! The beginning of a receive window: how far it has opened, and the round-trip time that autotuning goes by.

use units::{Bytes, Nanos, SimTime};

use super::buffers::{memory_at_first, window_of};
use crate::config::TcpConfig;

/// The largest window that an end offers so far, in bytes, whatever room its buffer has.
///
/// Source: Linux 6.x, `rcv_ssthresh`: `tcp_init_buffer_space` and `tcp_grow_window` in net/ipv4/tcp_input.c. Half of the memory at
/// first, less a segment; then two segments more with each that arrives, while the buffer has the room. A segment that is not full counts only while the window is a small part of the largest (`__tcp_grow_window`).
/// Each subflow of MPTCP has one. Where sizes of buffers are windows it is open from the start.
#[derive(Clone, Copy, Debug)]
pub struct WindowOpening {
    limit: u64,
    /// Payload of a full segment.
    full: u64,
    /// Bytes by which a segment opens the window.
    step: u64,
    /// Window of the largest buffer.
    max: u64,
}

/// A segment in order that is smaller opens nothing.
const SMALLEST: u64 = 128;

impl WindowOpening {
    /// Before the first segment; `payload` is that of a full one.
    pub fn new(config: &TcpConfig, payload: Bytes) -> Self {
        let mss = config.segment.mss.0;
        let half = memory_at_first(config).0 / 2;
        let first = half.saturating_sub(mss).max((2 * mss).min(half));
        let limited = config.buffers.receive_counts.is_memory();
        Self {
            limit: if limited { first } else { u64::MAX },
            full: payload.0,
            step: 2 * mss,
            max: window_of(config.buffers.receive_buffer_max, config, payload).0,
        }
    }

    /// The largest window to offer.
    #[inline]
    pub fn limit(&self) -> Bytes {
        Bytes(self.limit)
    }

    /// The same on a SYN, whose window is not scaled.
    pub fn limit_of_syn(&self) -> Bytes {
        const UNSCALED_MAX: u64 = 65_535;
        Bytes(if self.limit == u64::MAX { self.limit } else { self.limit.min(UNSCALED_MAX) })
    }

    /// A segment with `len` new bytes has arrived, and the buffer could offer `room` bytes. True if the window opens.
    #[inline]
    pub fn on_segment(&mut self, len: u64, room: Bytes) -> bool {
        if room.0 <= self.limit || len < self.full && !self.is_worth_it(len) {
            return false;
        }
        self.limit = self.limit.saturating_add(self.step.max(2 * len)).min(room.0);
        true
    }

    /// A small segment takes the memory of a full one: it opens the window while that is small.
    fn is_worth_it(&self, len: u64) -> bool {
        let (mut memory, mut window) = (self.full / 2, self.max / 2);
        while len >= SMALLEST && memory > 0 && self.limit <= window {
            if memory <= len {
                return true;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        false
    }
}

/// The payload of a full segment, as a receiver takes it.
///
/// Source: Linux, `tcp_measure_rcv_mss`: the largest so far, or a smaller one that comes twice, as an option takes room from some time on.
#[derive(Clone, Copy, Debug)]
struct FullSegment {
    payload: u32,
    last: u32,
}

impl Default for FullSegment {
    fn default() -> Self {
        Self { payload: Self::LEAST, last: 0 }
    }
}

impl FullSegment {
    /// TCP_MSS_DEFAULT.
    const LEAST: u32 = 536;

    /// A segment of `len` bytes has come; true if it is full.
    fn is(&mut self, len: u32) -> bool {
        let full = len >= self.payload || len >= Self::LEAST && len == self.last;
        self.last = len;
        if full {
            self.payload = len;
        }
        full
    }
}

/// Round-trip time as a data receiver sees it, from echoed timestamps.
///
/// Source: Linux 6.x, `tcp_rcv_rtt_update` and `tcp_rcv_rtt_measure_ts`: one sample for each timestamp that is echoed; it follows a
/// smaller one at once, and a larger one by an eighth. Where sizes of buffers are memory, timestamps are whole milliseconds, and a
/// segment that is not full gives none: the difference of 101.4 ms is 101 or 102, so that a measurement that begins with the first
/// segment of a round trip may end with the first or the second of the next.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverRtt {
    estimate: Option<Nanos>,
    /// Value of the last timestamp echoed; the largest before the first.
    echo: u64,
    /// Payload of a full segment, where timestamps are in milliseconds; `None` where every segment gives a sample.
    full: Option<FullSegment>,
}

impl ReceiverRtt {
    /// Before the first segment.
    pub fn new(config: &TcpConfig) -> Self {
        let memory = config.buffers.receive_counts.is_memory();
        Self { estimate: None, echo: u64::MAX, full: memory.then(FullSegment::default) }
    }

    /// The estimate.
    pub fn get(&self) -> Option<Nanos> {
        self.estimate
    }

    /// A segment of `len` bytes echoes the timestamp `echo`.
    #[inline(always)]
    pub fn on_echo(&mut self, now: SimTime, echo: SimTime, len: u32) {
        let Some(full) = &mut self.full else {
            if std::mem::replace(&mut self.echo, echo.0) != echo.0 {
                self.follow(now.since(echo));
            }
            return;
        };
        let stamp = in_milliseconds(echo);
        if std::mem::replace(&mut self.echo, stamp) == stamp {
            return;
        }
        let elapsed = in_milliseconds(now).saturating_sub(stamp);
        if full.is(len) && elapsed > 0 {
            self.follow(Nanos::from_millis(elapsed));
        }
    }

    #[inline(always)]
    fn follow(&mut self, sample: Nanos) {
        let follow = |rtt: Nanos| if sample < rtt { sample } else { Nanos((7 * rtt.0 + sample.0) / 8) };
        self.estimate = Some(self.estimate.map_or(sample, follow));
    }
}

/// The value of a timestamp.
fn in_milliseconds(at: SimTime) -> u64 {
    at.0 / Nanos::from_millis(1).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReceiveCounts;

    fn linux(size: u64, max: u64) -> TcpConfig {
        TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
            c.buffers.receive_counts = ReceiveCounts::Memory;
            (c.buffers.receive_buffer, c.buffers.receive_buffer_max) = (Bytes(size), Bytes(max));
        })
    }

    /// `rcv_ssthresh` as `ss` shows it on Linux 6.18: 64,088 after the handshake, 79,474 when the first buffer of MPTCP is open
    /// (79,472 here: the kernel rounds the segment that lies in the buffer).
    #[test]
    fn a_window_opens_by_two_segments_for_each_that_arrives() {
        let mut opening = WindowOpening::new(&linux(131_072, 6 << 20), Bytes(1424));
        assert_eq!(opening.limit(), Bytes(64_088));
        let room = Bytes(80_896 - 1424);
        let mut limits = vec![];
        while opening.on_segment(1424, room) {
            limits.push(opening.limit().0);
        }
        assert_eq!(limits, [66_984, 69_880, 72_776, 75_672, 78_568, 79_472]);
    }

    #[test]
    fn small_segments_open_a_small_window_alone() {
        let mut opening = WindowOpening::new(&linux(131_072, 6 << 20), Bytes(1448));
        let room = Bytes(3 << 20);
        assert!(!opening.on_segment(100, room), "below 128 bytes");
        assert!(opening.on_segment(200, room), "64 KB are less than a thirtieth of 3.9 MB");
        opening.limit = 500_000;
        assert!(!opening.on_segment(200, room));
        assert!(opening.on_segment(400, room), "half a megabyte is an eighth of it");
    }

    /// SO_RCVBUF of 256 KiB: Linux 6.18 told 272,280 bytes after four more segments. Of 4 KiB, doubled: two segments.
    #[test]
    fn the_first_window() {
        let first = |size| WindowOpening::new(&linux(size, size), Bytes(1424)).limit();
        assert_eq!((first(256 << 10), first(4096)), (Bytes(272_280 - 4 * 2896), Bytes(2896)));
        let windows = linux(131_072, 6 << 20).with(|c| c.buffers.receive_counts = ReceiveCounts::Payload);
        assert_eq!(WindowOpening::new(&windows, Bytes(1424)).limit(), Bytes(u64::MAX));
    }

    #[test]
    fn the_receivers_round_trip_falls_at_once_and_rises_slowly() {
        let mut rtt = ReceiverRtt::new(&TcpConfig::default());
        let at = SimTime::from_millis;
        for (now, echo, expected) in [(100, 0, 100), (260, 80, 110), (261, 80, 110), (350, 260, 90)] {
            rtt.on_echo(at(now), at(echo), 96);
            assert_eq!(rtt.get(), Some(Nanos::from_millis(expected)), "at {now} ms");
        }
    }

    /// In a capture of Linux 6.18 segments came 101.4 ms after the ACKs that let them out, and the buffer grew with the second of a
    /// round trip in four runs of five.
    #[test]
    fn timestamps_of_linux_are_whole_milliseconds() {
        let at = |us: u64| SimTime::from_millis(0) + Nanos(1000 * us);
        let sample = |sent: u64, len| {
            let mut rtt = ReceiverRtt::new(&linux(131_072, 6 << 20));
            rtt.on_echo(at(sent + 101_400), at(sent), len);
            rtt.get()
        };
        assert_eq!(sample(7_599, 1424), Some(Nanos::from_millis(101)));
        assert_eq!(sample(7_600, 1424), Some(Nanos::from_millis(102)));
        assert_eq!(sample(7_600, 96), None, "a small segment may have waited");
    }

    /// Data ACKs of 64 bits take four bytes from each segment as soon as data has come the other way.
    #[test]
    fn full_segments_may_become_smaller() {
        let mut full = FullSegment::default();
        let is_full = [1424, 900, 1420, 1420, 1420, 100, 100, 1424].map(|len| full.is(len));
        assert_eq!(is_full, [true, false, false, true, true, false, false, true]);
    }
}
