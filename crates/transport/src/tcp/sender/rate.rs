//! The rate at which a sender paces. Rates are of payload, as the congestion controls measure them, or of whole packets
//! for one that says so.

use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use super::Sender;
use crate::config::PacingRule;
use crate::tcp::send_buffer::{MIN_QUANTUM, send_quantum};

/// Slow start is over for Linux pacing when the window has reached half of ssthresh; gains in percent.
const SLOW_START_GAIN: u64 = 200;
const AVOIDANCE_GAIN: u64 = 120;
/// Least rate: a sender always gets a segment out eventually.
const BYTE_PER_SECOND: BitsPerSecond = BitsPerSecond(8);

impl Sender {
    /// A segment with `len` payload bytes has left: the next one waits for its time.
    #[inline]
    pub(super) fn hold_after(&mut self, now: SimTime, len: u64) {
        if let Some(rate) = self.pacing_rate()
            && len > 0
        {
            let whole = self.congestion.capabilities().paces_headers;
            let (size, rate) =
                if whole { (len + self.beside_payload(), rate) } else { (len, self.rate_of_payload(rate)) };
            self.pacer.sent(now, Bytes(size), rate, self.congestion.pacing_burst());
        }
    }

    /// The rate at which payload leaves.
    ///
    /// Source: Linux, `bbr_rate_bytes_per_sec` and `tcp_update_pacing_rate` multiply segments by `mss_cache`, and
    /// `tcp_update_skb_after_send` spaces the payload that they have.
    fn rate_of_payload(&self, rate: BitsPerSecond) -> BitsPerSecond {
        let (mss, whole) = (self.send.mss(), self.config.segment.mss.0);
        if self.config.sending.pacing_rule == PacingRule::Ideal || mss == whole {
            return rate;
        }
        let faster = u128::from(rate.0) * u128::from(whole) / u128::from(mss.max(1));
        BitsPerSecond(u64::try_from(faster).unwrap_or(u64::MAX))
    }

    /// The segment of `len` bytes that has just been taken ends a send unit of several segments: the last of them has PSH.
    ///
    /// Source: Linux, `__tcp_transmit_skb` sets PSH on each packet of several segments, which `tcp_write_xmit` makes of what the window
    /// lets out at once, up to a send quantum; `mptcp_sendmsg_frag` on one that data from elsewhere in the stream follows.
    /// Deviation: of segments that are sent again those that leave at once are one unit.
    #[inline(always)]
    pub fn ends_unit(&mut self, now: SimTime, len: u32) -> bool {
        self.config.sending.pacing_rule == PacingRule::Linux && len > 0 && self.is_end_of_unit(now, len)
    }

    #[inline(always)]
    fn is_end_of_unit(&mut self, now: SimTime, len: u32) -> bool {
        let segments = self.activity.unit(now);
        let short = self.send.is_mapped() && u64::from(len) < self.send.mss();
        let ends = short || segments >= MIN_QUANTUM && self.is_quantum(segments);
        if ends {
            self.activity.end_unit();
        }
        ends
    }

    /// A unit of this many segments is what the windows let out, or a send quantum.
    #[inline(never)]
    fn is_quantum(&self, segments: u64) -> bool {
        let mss = self.send.mss();
        !self.windows_have_room_for(mss) || segments >= send_quantum(self.pacing_rate_estimate(), mss)
    }

    /// Bytes on the wire beside the payload of a segment.
    fn beside_payload(&self) -> u64 {
        const TIMESTAMPS: u64 = 12;
        let config = &self.config;
        let options =
            config.segment.mss.0 - self.send.mss() + if config.options.timestamps { TIMESTAMPS } else { 0 };
        config.segment.header.0 + config.segment.overhead.0 + options
    }

    /// The rate at which it paces; `None` if it does not.
    #[inline]
    pub fn pacing_rate(&self) -> Option<BitsPerSecond> {
        let own = self.congestion.pacing_rate();
        if self.config.sending.pacing && !self.congestion.capabilities().pacing {
            return self.pacing_rate_estimate();
        }
        own
    }

    /// The rate of its pacer, or the one at which Linux would pace a controller without one: twice the window per
    /// smoothed round trip in slow start, else 1.2 times. `None` (unlimited) before the first round-trip sample
    /// (choice D-02). It follows the window with the next ACK.
    ///
    /// Source: Linux, `tcp_update_pacing_rate`, which `tcp_ack` calls, and nothing that changes the window by time.
    pub fn pacing_rate_estimate(&self) -> Option<BitsPerSecond> {
        let srtt = self.rtt.srtt()?.max(Nanos(1));
        if self.congestion.capabilities().pacing {
            return self.congestion.pacing_rate().map(|rate| rate.max(BYTE_PER_SECOND));
        }
        let basis = self.pacer.basis().unwrap_or_else(|| self.rate_basis());
        let rate = u128::from(basis) * 8 * 1_000_000_000 / 100 / u128::from(srtt.0);
        Some(BitsPerSecond(u64::try_from(rate).unwrap_or(u64::MAX)).max(BYTE_PER_SECOND))
    }

    /// Bytes in a round trip at the rate, in hundredths.
    fn rate_basis(&self) -> u64 {
        let cwnd = self.congestion.cwnd();
        let gain = if cwnd < self.congestion.ssthresh() / 2 { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
        cwnd.max(self.board.outstanding_counted()).saturating_mul(gain)
    }

    /// The window is about to change without an ACK, and the rate stays.
    #[cold]
    pub(super) fn keep_rate(&mut self) {
        if self.pacer.basis().is_none() {
            self.pacer.keep_basis(self.rate_basis());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use congestion::{Paths, Registry, Setup};
    use registry::Options;

    use super::*;
    use crate::config::{IdleRestart, QuantumRule, TcpConfig};
    use crate::seq::{Dsn, Seq};
    use crate::tcp::ranges::Range;
    use crate::tcp::segment::TcpSegment;

    fn sender(config: Arc<TcpConfig>, name: &str) -> Sender {
        sender_of(config, name, false)
    }

    /// `mapped`: its stream is a part of that of a connection, given in ranges.
    fn sender_of(config: Arc<TcpConfig>, name: &str, mapped: bool) -> Sender {
        let row = *Registry::builtin().get(name).unwrap();
        let setup = Setup {
            mss: config.segment.mss,
            initial_window: config.segment.mss * u64::from(config.window.initial_window),
            initial_ssthresh: config.window.initial_ssthresh,
            growth: config.window.growth,
            ssthresh_from: config.window.ssthresh_from,
            paced: config.sending.pacing,
            offload: config.sending.pacing_rule == PacingRule::Linux,
        };
        let congestion = (row.build)(&setup, &Options::defaults(row.options));
        Sender::new(Arc::clone(&config), config.segment.mss, congestion, mapped)
    }

    /// Ten segments per 0.6 s, twice that in slow start.
    #[test]
    fn the_estimate_is_that_of_linux() {
        let config =
            |ssthresh| Arc::new(TcpConfig::default().with(|c| c.window.initial_ssthresh = Bytes(ssthresh)));
        for (ssthresh, expected) in [(u64::MAX, 389_333), (29_200, 233_600), (29_202, 389_333)] {
            let mut sender = sender(config(ssthresh), "newreno");
            assert_eq!(sender.pacing_rate_estimate(), None, "unlimited before a sample");
            sender.on_established(SimTime::ZERO, Bytes(65_535), Some(Nanos::from_millis(600)), false);
            assert_eq!(sender.pacing_rate_estimate(), Some(BitsPerSecond(expected)), "{ssthresh}");
            assert_eq!(sender.pacing_rate(), None);
        }
    }

    /// Neither a timeout nor a restart after idling asks for another rate: the next ACK does.
    #[test]
    fn the_estimate_follows_the_window_with_the_next_ack() {
        let rate = |cwnd: u64, gain: u64| Some(BitsPerSecond(cwnd * 8 * 10 * gain / 100));
        for idle in [false, true] {
            let config = TcpConfig::default().with(|c| c.window.idle_restart = IdleRestart::Initial);
            let mut sender = sender(Arc::new(config), "newreno");
            sender.on_established(SimTime::ZERO, Bytes(65_535), Some(Nanos::from_millis(100)), false);
            let full = sender.mss();
            let ack = |sender: &mut Sender, ms: u64, segments: u64| {
                let ack = TcpSegment { ack: Seq(1) + Bytes(segments * full), ..TcpSegment::default() };
                let right = ack.ack + Bytes(65_535);
                sender.on_ack(SimTime(ms * 1_000_000), (&ack, None), right, Paths::ALONE);
            };
            sender.write(Bytes(10 * full));
            while sender.next(SimTime::ZERO).is_some() {}
            if idle {
                ack(&mut sender, 100, 10);
                sender.write(Bytes(full));
                let grown = sender.controlled_cwnd();
                assert!(grown > 10 * full && sender.pacing_rate_estimate() == rate(grown, 200));
                assert!(sender.next(SimTime(9_000_000_000)).is_some(), "after idling");
                assert_eq!(sender.controlled_cwnd(), 10 * full);
                assert_eq!(sender.pacing_rate_estimate(), rate(grown, 200));
                ack(&mut sender, 9100, 11);
                assert!(sender.pacing_rate_estimate() < rate(grown, 200), "the window is smaller");
            } else {
                sender.on_timeout(SimTime(2_000_000_000), Paths::ALONE);
                assert_eq!(sender.controlled_cwnd(), full);
                assert_eq!(sender.pacing_rate_estimate(), rate(10 * full, 200));
                ack(&mut sender, 2100, 10);
                assert!(sender.pacing_rate_estimate() < rate(10 * full, 200));
            }
        }
    }

    /// Ten segments fill the first window, and nine leave room for one.
    #[test]
    fn data_that_waits_fills_the_window_in_slow_start_alone() {
        for (segments, ssthresh, expected) in [(10, u64::MAX, true), (9, u64::MAX, false), (10, 2920, false)]
        {
            let config = TcpConfig::default().with(|c| c.window.initial_ssthresh = Bytes(ssthresh));
            let mut sender = sender(Arc::new(config), "newreno");
            sender.on_established(SimTime::ZERO, Bytes(65_535), Some(Nanos::from_millis(100)), false);
            assert!(!sender.fills_window(SimTime::ZERO), "nothing waits");
            sender.write(Bytes(segments * sender.mss()));
            assert_eq!(sender.fills_window(SimTime::ZERO), expected, "{segments} {ssthresh}");
        }
    }

    /// An ACK of the first segment lets the second window grow to eleven. Beside eight segments three may leave: two do, and where quanta are
    /// those of Linux the third waits for an ACK that is due. So in the capture `reinjection`, whose send buffer grew.
    #[test]
    fn a_window_with_a_part_of_a_quantum_left_is_not_full() {
        for (rule, first, late_ms, short, full) in [
            (QuantumRule::Linux, 9, 100, 0, false),
            (QuantumRule::Linux, 10, 100, 0, true),
            (QuantumRule::Linux, 10, 100, 700, false),
            (QuantumRule::Linux, 9, 1, 0, true),
            (QuantumRule::None, 9, 100, 0, true),
        ] {
            let config = TcpConfig::default().with(|c| c.sending.quantum_rule = rule);
            let mut sender = sender_of(Arc::new(config), "newreno", true);
            sender.on_established(SimTime::ZERO, Bytes(65_535), Some(Nanos::from_millis(100)), false);
            let mss = sender.mss();
            sender.give(Range::new(Dsn(100_000), Dsn(100_000 + first * mss)));
            while sender.next(SimTime::ZERO).is_some() {}
            if short > 0 {
                // The end of a fragment leaves alone.
                sender.give(Range::new(Dsn(1), Dsn(1 + short)));
                sender.give(Range::new(Dsn(900_000), Dsn(900_000 + 9 * mss)));
            } else {
                sender.give(Range::new(Dsn(100_000 + first * mss), Dsn(100_000 + (first + 9) * mss)));
            }
            let now = SimTime(late_ms * 1_000_000);
            let ack = TcpSegment { ack: Seq(1) + Bytes(mss), ..TcpSegment::default() };
            sender.on_ack(now, (&ack, None), ack.ack + Bytes(65_535), Paths::ALONE);
            assert_eq!(sender.window_segments(), 11);
            assert_eq!(sender.fills_window(now), full, "{rule:?} {first} {late_ms} {short}");
            let leaves = std::iter::from_fn(|| sender.next(now)).count() as u64;
            assert_eq!(first - 1 + leaves == 11, full, "and so it comes: {leaves} leave");
        }
    }
}
