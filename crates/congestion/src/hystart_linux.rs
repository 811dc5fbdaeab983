//! HyStart as Linux has it: ends slow start when the ACKs of a round span half of the least round-trip time, or when the
//! delay of a round rises above the least.
//!
//! Source: S. Ha and I. Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks", PFLDnet 2008; what the
//! kernel makes of it, `hystart_update` and `cubictcp_acked` in net/ipv4/tcp_cubic.c of Linux 6.x, both detections on.
//! Units: nanoseconds, bytes; windows in segments. A round lasts until the data that was outstanding at its start is
//! acknowledged. Rounds are followed from the start; nothing else is looked at while the window is below 16 segments.
//! - ACK train: ACKs that follow each other within 2 ms, from the first of the round on. When they span more than the
//!   least round-trip time and the time of four of the largest bursts at the pacing rate (1 ms at most), slow start
//!   ends; a sender that does not pace counts half of that sum.
//! - Delay: from the ninth ACK of a round on, when the smallest sample of the round exceeds the least round-trip time by
//!   more than an eighth (4 to 16 ms).
//!
//! The controller keeps the least round-trip time. A retransmission timeout starts HyStart again.

use units::{Nanos, SimTime};

use crate::Ack;

const LOW_WINDOW: f64 = 16.0;
const ACK_DELTA: Nanos = Nanos::from_millis(2);
const MIN_SAMPLES: u32 = 8;
const DELAY_DIVISOR: u64 = 8;
const MIN_DELAY: Nanos = Nanos::from_millis(4);
const MAX_DELAY: Nanos = Nanos::from_millis(16);
/// Longest allowance for bursts in an ACK train.
const MAX_BURSTS: Nanos = Nanos::from_millis(1);
/// Four bursts of `sk_gso_max_size`.
const FOUR_BURSTS: f64 = 4.0 * 65_536.0;

/// Stands for "no sample yet".
pub(crate) const INFINITE: Nanos = Nanos(u64::MAX);

/// A round of slow start.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// First ACK of the round.
    start: SimTime,
    /// Last ACK of the train that began with it.
    last_ack: SimTime,
    /// The round ends with an ACK beyond this.
    end: u64,
    min_rtt: Nanos,
    /// Samples, counted up to [`MIN_SAMPLES`].
    samples: u32,
}

/// The window that HyStart watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// Congestion window in segments.
    pub segments: f64,
    /// Congestion window in bytes.
    pub bytes: f64,
    /// It is below ssthresh.
    pub in_slow_start: bool,
    /// Least round-trip time of the path, with the sample of this ACK.
    pub delay_min: Nanos,
}

/// HyStart of one path.
#[derive(Clone, Debug)]
pub(crate) struct LinuxHyStart {
    paced: bool,
    round: Option<Round>,
    /// Slow start has been ended.
    found: bool,
}

impl LinuxHyStart {
    /// `paced`: the sender spaces its segments.
    pub fn new(paced: bool) -> Self {
        Self { paced, round: None, found: false }
    }

    /// A retransmission timeout: starts again.
    pub fn restart(&mut self) {
        *self = Self::new(self.paced);
    }

    /// Takes in an ACK with a sample before the window grows by it; true when slow start ends with it.
    pub fn on_sample(&mut self, ack: &Ack, rtt: Nanos, window: &Watched) -> bool {
        if self.found || !window.in_slow_start {
            return false;
        }
        self.follow_rounds(ack);
        if window.segments < LOW_WINDOW {
            return false;
        }
        // Both are looked at, as they keep their own state.
        let train = self.is_train(ack, window);
        let delayed = self.is_delayed(rtt, window.delay_min);
        self.found = train || delayed;
        self.check(window.delay_min);
        self.found
    }

    fn follow_rounds(&mut self, ack: &Ack) {
        if self.round.is_none_or(|round| ack.snd_una > round.end) {
            self.round = Some(Round {
                start: ack.now,
                last_ack: ack.now,
                end: ack.snd_nxt,
                min_rtt: INFINITE,
                samples: 0,
            });
        }
    }

    fn is_train(&mut self, ack: &Ack, window: &Watched) -> bool {
        let Some(round) = &mut self.round else { return false };
        if ack.now.since(round.last_ack) > ACK_DELTA {
            return false;
        }
        round.last_ack = ack.now;
        let mut threshold = window.delay_min + time_of_bursts(ack.srtt, window.bytes);
        if !self.paced {
            threshold = threshold / 2;
        }
        ack.now.since(round.start) > threshold
    }

    fn is_delayed(&mut self, rtt: Nanos, delay_min: Nanos) -> bool {
        let Some(round) = &mut self.round else { return false };
        round.min_rtt = round.min_rtt.min(rtt);
        if round.samples < MIN_SAMPLES {
            round.samples += 1;
            return false;
        }
        round.min_rtt > delay_min + (delay_min / DELAY_DIVISOR).clamp(MIN_DELAY, MAX_DELAY)
    }

    fn check(&self, delay_min: Nanos) {
        let Some(round) = &self.round else { return };
        debug_assert!(round.start <= round.last_ack, "a train ends before it begins: {round:?}");
        debug_assert!(round.min_rtt >= delay_min, "a sample below the least of {delay_min:?}: {self:?}");
        debug_assert!(round.samples <= MIN_SAMPLES, "{round:?}");
    }
}

/// Time of four of the largest bursts at the rate at which Linux paces in slow start: two windows per round trip.
fn time_of_bursts(srtt: Nanos, window: f64) -> Nanos {
    let rate = 2.0 * window / srtt.as_secs_f64().max(1e-9);
    Nanos::from_secs_f64((FOUR_BURSTS / rate).min(MAX_BURSTS.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    const MSS: u64 = 1000;

    /// A slow start of 20 segments with a round-trip time of 100 ms.
    const WINDOW: Watched =
        Watched { segments: 20.0, bytes: 20_000.0, in_slow_start: true, delay_min: Nanos::from_millis(100) };

    /// ACK number `n` of one segment; 20 are outstanding.
    fn ack_at(n: u64, at_us: u64, rtt_us: u64) -> Ack {
        Ack {
            now: SimTime::ZERO + Nanos(at_us * 1000),
            rtt: Some(Nanos(rtt_us * 1000)),
            srtt: Nanos::from_millis(100),
            snd_una: n * MSS,
            snd_nxt: (n + 20) * MSS,
            ..ack(MSS)
        }
    }

    fn ends(hystart: &mut LinuxHyStart, ack: &Ack, window: &Watched) -> bool {
        hystart.on_sample(ack, ack.rtt.unwrap(), window)
    }

    /// The first of a row of ACKs, `gap_us` apart and with these samples, that ends slow start.
    fn ended_by(
        hystart: &mut LinuxHyStart,
        delay_min_us: u64,
        (count, gap_us): (u64, u64),
        rtt_us: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let window = Watched { delay_min: Nanos(delay_min_us * 1000), ..WINDOW };
        (0..count).find(|i| ends(hystart, &ack_at(1 + i, gap_us * i, rtt_us(*i)), &window))
    }

    /// The time of bursts is 1 ms here, so that a train of more than 50.5 ms ends slow start, 101 ms with pacing.
    #[test]
    fn hsl_1_a_train_of_half_the_least_round_trip_ends_slow_start() {
        // The round is 20 ACKs: at 2 ms their train lasts 38 ms, then the next begins.
        assert_eq!(ended_by(&mut LinuxHyStart::new(false), 100_000, (60, 2000), |_| 100_000), None);
        // One round in which the window has grown to many segments.
        let long = |gap_us: u64, paced: bool| {
            let mut hystart = LinuxHyStart::new(paced);
            (0..2000).find(|i| {
                let ack = Ack { snd_nxt: 10_000 * MSS, ..ack_at(1 + i, gap_us * i, 100_000) };
                ends(&mut hystart, &ack, &WINDOW)
            })
        };
        assert_eq!(long(500, false), Some(102), "50.5 ms are not more than 50.5 ms");
        assert_eq!(long(500, true), Some(203));
        assert_eq!(long(2001, false), None, "ACKs more than 2 ms apart are no train");
    }

    /// At 2.1 GB/s in slow start four bursts of 64 KiB take 125 us.
    #[test]
    fn hsl_1_the_allowance_for_bursts() {
        assert_eq!(time_of_bursts(Nanos::from_millis(100), 20_000.0), Nanos::from_millis(1));
        let fast = time_of_bursts(Nanos::from_millis(1), 1_048_576.0);
        assert_eq!(fast, Nanos(125_000));
    }

    /// Least delay 100 ms: the threshold is 12.5 ms; 4 ms at 20 ms, 16 ms at 600 ms. Eight samples do not count.
    #[test]
    fn hsl_1_a_rise_of_an_eighth_ends_slow_start_with_the_ninth_ack() {
        for (base, rise) in [(100_000, 12_500), (20_000, 4_000), (600_000, 16_000)] {
            let rounds = |above: u64| {
                let mut hystart = LinuxHyStart::new(false);
                // 5 ms apart: no train.
                ended_by(&mut hystart, base, (20, 5000), |_| base + rise + above)
            };
            assert_eq!((rounds(0), rounds(1)), (None, Some(8)), "least delay {base} us");
        }
    }

    /// One sample near the least keeps the round going: the smallest counts.
    #[test]
    fn hsl_1_the_smallest_sample_of_the_round_counts() {
        let mut hystart = LinuxHyStart::new(false);
        let samples = |i| if i == 3 { 101_000 } else { 150_000 };
        assert_eq!(ended_by(&mut hystart, 100_000, (20, 5000), samples), None);
    }

    #[test]
    fn nothing_happens_in_a_small_window_or_out_of_slow_start() {
        let ends_with = |window: Watched| {
            let mut hystart = LinuxHyStart::new(false);
            (0..200).any(|i| ends(&mut hystart, &ack_at(1 + i, 500 * i, 100_000), &window))
        };
        let window = Watched { delay_min: Nanos::from_millis(10), ..WINDOW };
        assert!(ends_with(window));
        assert!(!ends_with(Watched { segments: 15.9, ..window }));
        assert!(!ends_with(Watched { in_slow_start: false, ..window }));
    }

    #[test]
    fn it_ends_slow_start_once_until_a_timeout() {
        let mut hystart = LinuxHyStart::new(false);
        assert!(ended_by(&mut hystart, 20_000, (20, 5000), |_| 100_000).is_some());
        assert_eq!(ended_by(&mut hystart, 20_000, (20, 5000), |_| 100_000), None);
        hystart.restart();
        let samples = |i| if i < 20 { 20_000 } else { 100_000 };
        assert_eq!(ended_by(&mut hystart, 20_000, (40, 5000), samples), Some(29));
    }
}
