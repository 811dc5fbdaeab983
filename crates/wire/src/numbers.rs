//! Numbers of a header that the machines do not know: where sequence numbers and timestamps begin, how windows are scaled.

use std::net::IpAddr;
use std::sync::Arc;

use transport::config::{MptcpConfig, TcpConfig};
use transport::seq::Seq32;
use units::{Bytes, SimTime};

/// Timestamps with two NOPs: the MSS option does not count options (RFC 6691), `mss` does.
const TIMESTAMPS: u64 = 12;
/// Nanoseconds of a tick of the timestamps option.
const TICK: u64 = 1_000_000;

/// Settings of one end that its bytes depend on.
#[derive(Clone, Debug)]
pub struct EndSettings {
    /// Value of the MSS option.
    pub mss: u16,
    /// SACK permitted is offered.
    pub sack: bool,
    /// Timestamps are configured: SACK permitted uses their padding on a SYN.
    pub timestamps: bool,
    /// Shift of its windows; `None`: window scaling is not offered.
    pub window_scale: Option<u8>,
    /// Bytes of a packet that are none of the IP datagram: framing of links.
    pub overhead: Bytes,
    /// MPTCP is configured.
    pub multipath: bool,
    /// DSS options have checksums.
    pub checksum: bool,
    /// Data sequence numbers have 64 bits in the option.
    pub wide: bool,
    /// IP address by interface.
    pub addresses: Arc<[IpAddr]>,
}

impl EndSettings {
    /// Settings of an end with this configuration and these addresses.
    pub fn new(tcp: &TcpConfig, mptcp: Option<&MptcpConfig>, addresses: Arc<[IpAddr]>) -> Self {
        let options = &tcp.options;
        let mss = tcp.segment.mss.0 + if options.timestamps { TIMESTAMPS } else { 0 };
        Self {
            mss: u16::try_from(mss).unwrap_or(u16::MAX),
            sack: options.sack,
            timestamps: options.timestamps,
            window_scale: tcp.window_scale(),
            overhead: tcp.segment.overhead,
            multipath: mptcp.is_some(),
            checksum: mptcp.is_some_and(|mptcp| mptcp.checksum),
            wide: mptcp.is_none_or(|mptcp| mptcp.wide_sequence),
            addresses,
        }
    }

    /// The window field of a segment that advertises `window`: rounded down to the unit of the scale, and at most what the
    /// field can say. That of a SYN is not scaled.
    pub(crate) fn window_field(&self, window: Bytes, syn: bool) -> u16 {
        scaled(window, self.shift(syn))
    }

    /// The window that a field means.
    pub(crate) fn window(&self, field: u16, syn: bool) -> Bytes {
        Bytes(u64::from(field) << self.shift(syn))
    }

    /// How far the windows of its segments are shifted.
    pub(crate) fn shift(&self, syn: bool) -> u8 {
        if syn { 0 } else { self.window_scale.unwrap_or(0) }
    }
}

impl EndSettings {
    /// Settings of an end of an association.
    pub fn of_association(overhead: Bytes, addresses: Arc<[IpAddr]>) -> Self {
        Self { overhead, ..Self::new(&TcpConfig::default(), None, addresses) }
    }
}

/// Numbers of one subflow that its ends would draw at random; those of the end that opens first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Initial sequence numbers.
    pub initial: [Seq32; 2],
    /// Timestamps at time zero.
    pub timestamps: [u32; 2],
}

impl Numbers {
    /// From a source of random bits.
    pub fn draw(mut bits: impl FnMut() -> u64) -> Self {
        // Each takes as many low bits as it has.
        let mut number = || bits() as u32;
        Self { initial: [Seq32(number()), Seq32(number())], timestamps: [number(), number()] }
    }

    /// The timestamp of an end at `time`: milliseconds, rounded down.
    pub(crate) fn timestamp(&self, end: usize, time: SimTime) -> u32 {
        self.timestamps[end].wrapping_add(ticks(time))
    }

    /// When an end wrote a timestamp, if that was within 49 days.
    pub(crate) fn time(&self, end: usize, timestamp: u32) -> SimTime {
        SimTime(u64::from(timestamp.wrapping_sub(self.timestamps[end])) * TICK)
    }
}

/// The field for a window with this shift, which is 14 at most.
#[inline(always)]
pub(crate) fn scaled(window: Bytes, shift: u8) -> u16 {
    u16::try_from(window.0 >> (shift & 63)).unwrap_or(u16::MAX)
}

/// Ticks of timestamps until `time`.
#[inline(always)]
pub(crate) fn ticks(time: SimTime) -> u32 {
    // Modulo 2^32 by definition of the field.
    (time.0 / TICK) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(buffer: u64, scaling: bool) -> EndSettings {
        let tcp = TcpConfig::default().with(|c| {
            c.buffers.receive_buffer_max = Bytes(buffer);
            c.options.window_scaling = scaling;
        });
        EndSettings::new(&tcp, None, Arc::new([]))
    }

    #[test]
    fn windows_are_rounded_down_to_the_scale() {
        // 6 MiB: the shift of Linux.
        let linux = settings(6_291_456, true);
        assert_eq!(linux.window_scale, Some(7));
        assert_eq!(
            (linux.window_field(Bytes(64_088), false), linux.window_field(Bytes(64_088), true)),
            (500, 64_088)
        );
        assert_eq!((linux.window(500, false), linux.window(500, true)), (Bytes(64_000), Bytes(500)));
        let plain = settings(6_291_456, false);
        assert_eq!((plain.window_scale, plain.window_field(Bytes(1 << 20), false)), (None, u16::MAX));
        assert_eq!(
            (settings(65_535, true).window_scale, settings(u64::MAX, true).window_scale),
            (Some(0), Some(14))
        );
    }

    /// Two segments within a millisecond have the same timestamp; the field wraps.
    #[test]
    fn timestamps_are_milliseconds() {
        let numbers = Numbers { timestamps: [u32::MAX, 7], ..Numbers::default() };
        let at = |micros: u64| numbers.timestamp(0, SimTime(micros * 1_000));
        assert_eq!([at(0), at(1_000), at(1_400), at(1_999), at(2_000)], [u32::MAX, 0, 0, 0, 1]);
        assert_eq!(
            (numbers.time(0, 1), numbers.time(1, 9)),
            (SimTime::from_millis(2), SimTime::from_millis(2))
        );
    }
}
