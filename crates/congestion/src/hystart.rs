//! HyStart++: leaves slow start when the round-trip time rises, before packets are lost.
//!
//! Source: RFC 9406 sections 4.2 and 4.3. Units: nanoseconds and bytes. A round lasts until the data that was
//! outstanding at its start is acknowledged (`windowEnd`). If the smallest round-trip time of a round with at least
//! eight samples exceeds that of the round before by an eighth (4 to 16 ms), slow start turns into Conservative
//! Slow Start (CSS) at a quarter of the growth. Should the round-trip time fall again, slow start resumes; after five
//! rounds of CSS, the one in which it began included, slow start is over.
//! It works only before the first loss. L is 8, the value for senders that do not pace, and takes the place of the
//! connection's own limit while HyStart++ is at work.

use units::{Bytes, Nanos};

use crate::Ack;

const MIN_RTT_THRESH: Nanos = Nanos::from_millis(4);
const MAX_RTT_THRESH: Nanos = Nanos::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
const L: f64 = 8.0;

/// Stands for "no sample yet".
const INFINITE: Nanos = Nanos(u64::MAX);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative Slow Start, with the round-trip time that began it and the rounds completed so far.
    Css {
        baseline_min_rtt: Nanos,
        rounds: u32,
    },
}

/// The slow start of one path, from its first segment to its first loss or rise in delay.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    phase: Phase,
    /// End of the current round; `None` before the first ACK.
    window_end: Option<u64>,
    last_round_min_rtt: Nanos,
    current_round_min_rtt: Nanos,
    rtt_sample_count: u32,
}

impl HyStart {
    pub fn new() -> Self {
        Self {
            phase: Phase::SlowStart,
            window_end: None,
            last_round_min_rtt: INFINITE,
            current_round_min_rtt: INFINITE,
            rtt_sample_count: 0,
        }
    }

    /// Growth by an ACK of `acked` bytes, in bytes.
    pub fn increment(&self, acked: Bytes, mss: f64) -> f64 {
        let slow_start = acked.as_f64().min(L * mss);
        match self.phase {
            Phase::SlowStart => slow_start,
            Phase::Css { .. } => slow_start / CSS_GROWTH_DIVISOR,
        }
    }

    /// Counts the ACK; true when slow start is over.
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.compare_rounds();
        }
        let window_end = *self.window_end.get_or_insert(ack.snd_nxt);
        let over = ack.snd_una >= window_end && self.end_round(ack.snd_nxt);
        self.check();
        over
    }

    fn check(&self) {
        debug_assert_eq!(
            self.rtt_sample_count == 0,
            self.current_round_min_rtt == INFINITE,
            "samples of a round and their minimum begin together"
        );
        if let Phase::Css { baseline_min_rtt, rounds } = self.phase {
            debug_assert!(rounds <= CSS_ROUNDS, "{rounds} rounds of CSS");
            debug_assert!(baseline_min_rtt >= MIN_RTT_THRESH, "CSS without a rise in delay: {self:?}");
        }
    }

    fn compare_rounds(&mut self) {
        let current = self.current_round_min_rtt;
        match self.phase {
            // Before the second round the sum saturates and nothing reaches it.
            Phase::SlowStart if current >= self.last_round_min_rtt + rtt_thresh(self.last_round_min_rtt) => {
                self.phase = Phase::Css { baseline_min_rtt: current, rounds: 0 };
            }
            Phase::Css { baseline_min_rtt, .. } if current < baseline_min_rtt => {
                self.phase = Phase::SlowStart
            }
            _ => {}
        }
    }

    /// True if this was the last round of CSS.
    fn end_round(&mut self, snd_nxt: u64) -> bool {
        self.window_end = Some(snd_nxt);
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = INFINITE;
        self.rtt_sample_count = 0;
        match &mut self.phase {
            Phase::SlowStart => false,
            Phase::Css { rounds, .. } => {
                *rounds += 1;
                *rounds >= CSS_ROUNDS
            }
        }
    }
}

/// RttThresh: an eighth of the last round's minimum, between 4 and 16 ms.
fn rtt_thresh(last_round_min_rtt: Nanos) -> Nanos {
    (last_round_min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    const MSS: u64 = 1000;

    /// One round of `n` ACKs of one segment each with the round-trip time `rtt_us`; the last ACK ends it.
    fn round(hystart: &mut HyStart, first: u64, n: u64, rtt_us: u64) -> bool {
        let ack_of = |i: u64| Ack {
            rtt: Some(Nanos(rtt_us * 1000)),
            snd_una: (first + i) * MSS,
            snd_nxt: (first + n + i) * MSS,
            ..ack(MSS)
        };
        (1..=n).fold(false, |over, i| over | hystart.on_ack(&ack_of(i)))
    }

    /// After a round of 8 with the first round-trip time, is the second one enough for CSS?
    fn triggers(first_us: u64, second_us: u64) -> bool {
        let mut hystart = HyStart::new();
        hystart.window_end = Some(8 * MSS);
        round(&mut hystart, 0, 8, first_us);
        round(&mut hystart, 8, 8, second_us);
        hystart.phase != Phase::SlowStart
    }

    #[test]
    fn hs_1_threshold_and_trigger() {
        assert_eq!(rtt_thresh(Nanos::from_millis(600)), Nanos::from_millis(16));
        assert_eq!(rtt_thresh(Nanos::from_millis(50)), Nanos(6_250_000));
        assert_eq!(rtt_thresh(Nanos::from_millis(8)), Nanos::from_millis(4));
        assert!(!triggers(600_000, 615_999) && triggers(600_000, 616_000));
        assert!(!triggers(50_000, 56_249) && triggers(50_000, 56_250));
    }

    #[test]
    fn hs_1_css_grows_at_a_quarter() {
        let mut hystart = HyStart::new();
        let segments = |h: &HyStart, n: u64| h.increment(Bytes(n * MSS), MSS as f64) / MSS as f64;
        assert!((segments(&hystart, 2) - 2.0).abs() < 1e-12);
        assert!((segments(&hystart, 20) - 8.0).abs() < 1e-12, "L = 8");
        hystart.phase = Phase::Css { baseline_min_rtt: Nanos(1), rounds: 0 };
        assert!((segments(&hystart, 2) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn seven_samples_are_not_enough() {
        let mut hystart = HyStart::new();
        hystart.window_end = Some(8 * MSS);
        round(&mut hystart, 0, 8, 50_000);
        round(&mut hystart, 8, 7, 90_000);
        assert_eq!(hystart.phase, Phase::SlowStart);
    }

    #[test]
    fn five_rounds_of_css_end_slow_start() {
        let mut hystart = HyStart::new();
        hystart.window_end = Some(8 * MSS);
        round(&mut hystart, 0, 8, 50_000);
        // The round in which CSS begins is the first of the five.
        let over: Vec<bool> = (1..=5).map(|r| round(&mut hystart, 8 * r, 8, 60_000)).collect();
        assert_eq!(over, [false, false, false, false, true]);
    }

    #[test]
    fn a_falling_round_trip_time_resumes_slow_start() {
        let mut hystart = HyStart::new();
        hystart.window_end = Some(8 * MSS);
        round(&mut hystart, 0, 8, 50_000);
        round(&mut hystart, 8, 8, 60_000);
        assert!(matches!(hystart.phase, Phase::Css { rounds: 1, .. }));
        round(&mut hystart, 16, 8, 59_000);
        assert_eq!(hystart.phase, Phase::SlowStart);
    }
}
