//! The long-term rate: a path that loses much at a steady rate is taken for one with a token-bucket policer, and its rate is kept to.
//!
//! Source: Linux 6.x, `bbr_lt_bw_sampling` and `bbr_lt_bw_interval_done` in net/ipv4/tcp_bbr.c. Units: bytes, bytes per second.
//! Intervals begin with the first loss. One of 4 to 16 rounds ends with a loss when 50 bytes were lost for 256 delivered. When the rates
//! of two in a row differ by an eighth or by 4 kbit/s at most, their mean is the rate for 48 rounds of PROBE_BW. A lack of
//! data, or a longer interval, begins anew.

use units::{Nanos, SimTime};

/// Least rounds of an interval; four times as many are too many.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Bytes lost for each one delivered.
const LOSSY: f64 = 50.0 / 256.0;
/// Difference of two rates that are the same, as a part of the first or in bytes per second.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_RATE: f64 = 4000.0 / 8.0;
/// Rounds of PROBE_BW for which the rate is used.
const ROUNDS_OF_USE: u32 = 48;
/// The clock of the kernel's intervals.
const TICK: Nanos = Nanos::from_millis(1);

/// The news of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) now: SimTime,
    /// Bytes delivered, and deemed lost, so far.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Something was deemed lost since the last ACK.
    pub(super) lossy: bool,
    /// The sample is of a segment sent while data was short.
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    /// In PROBE_BW.
    pub(super) probing: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    since: u64,
    delivered: u64,
    lost: u64,
    rounds: u32,
}

impl Interval {
    fn new(progress: &Progress) -> Self {
        let Progress { delivered, lost, .. } = *progress;
        Self { since: ticks(progress.now), delivered, lost, rounds: 0 }
    }

    /// Its delivery rate, if it ends here.
    fn rate(&self, progress: &Progress) -> Option<f64> {
        debug_assert!(
            progress.delivered >= self.delivered && progress.lost >= self.lost,
            "back in time: {self:?}"
        );
        let delivered = (progress.delivered - self.delivered) as f64;
        let lost = (progress.lost - self.lost) as f64;
        let time = ticks(progress.now) - self.since;
        let ends = progress.lossy && delivered > 0.0 && lost >= LOSSY * delivered && time > 0;
        ends.then(|| delivered / (time as f64 * TICK.as_secs_f64()))
    }
}

fn ticks(at: SimTime) -> u64 {
    at.0 / TICK.0
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Nothing was lost.
    #[default]
    Waiting,
    /// An interval after one with this rate.
    Sampling(Interval, Option<f64>),
    /// The rate is used, and has been for some rounds.
    Used { rate: f64, rounds: u32 },
}

/// Looks for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer(State);

impl Policer {
    /// The rate to keep to.
    pub(super) fn rate(&self) -> Option<f64> {
        match self.0 {
            State::Used { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// A sample of the delivery rate. True when the rate is used no longer: probing begins anew.
    pub(super) fn on_sample(&mut self, progress: &Progress) -> bool {
        let (state, ended) = self.next(progress);
        self.0 = state;
        ended
    }

    fn next(&self, progress: &Progress) -> (State, bool) {
        let (mut interval, before) = match self.0 {
            State::Used { rate, rounds } => {
                let rounds = rounds + u32::from(progress.probing && progress.round_start);
                let ended = rounds >= ROUNDS_OF_USE;
                return (if ended { State::Waiting } else { State::Used { rate, rounds } }, ended);
            }
            State::Waiting if !progress.lossy => return (State::Waiting, false),
            State::Waiting => (Interval::new(progress), None),
            State::Sampling(interval, before) => (interval, before),
        };
        interval.rounds += u32::from(progress.round_start);
        if progress.app_limited || interval.rounds > MOST_ROUNDS {
            return (State::Waiting, false);
        }
        let rate = if interval.rounds < LEAST_ROUNDS { None } else { interval.rate(progress) };
        let state = match (rate, before) {
            (None, _) => State::Sampling(interval, before),
            (Some(rate), Some(before)) if is_same(rate, before) => {
                State::Used { rate: f64::midpoint(rate, before), rounds: 0 }
            }
            (Some(rate), _) => State::Sampling(Interval::new(progress), Some(rate)),
        };
        (state, false)
    }
}

fn is_same(rate: f64, before: f64) -> bool {
    let difference = (rate - before).abs();
    difference <= SAME_SHARE * before || difference <= SAME_RATE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    /// A path that delivers `rate` bytes per second and loses `share` of that again, in rounds of 100 ms.
    struct Path {
        policer: Policer,
        progress: Progress,
    }

    impl Path {
        fn new() -> Self {
            let progress = Progress {
                now: SimTime::ZERO,
                delivered: 0,
                lost: 0,
                lossy: false,
                app_limited: false,
                round_start: true,
                probing: true,
            };
            Self { policer: Policer::default(), progress }
        }

        fn round(&mut self, rate: u64, share: f64) -> bool {
            let progress = &mut self.progress;
            progress.now += Nanos::from_millis(100);
            progress.delivered += rate / 10;
            progress.lost += (share * rate as f64 / 10.0) as u64;
            progress.lossy = share > 0.0;
            self.policer.on_sample(progress)
        }

        fn rounds(&mut self, count: u32, rate: u64, share: f64) {
            (0..count).for_each(|_| assert!(!self.round(rate, share)));
        }
    }

    /// The first interval begins with the first loss, which counts as its first round, and lasts three more; the second one four.
    #[test]
    fn two_lossy_intervals_of_the_same_rate_are_a_policer() {
        let mut path = Path::new();
        path.rounds(9, 1_000_000, 0.0);
        path.rounds(7, 1_000_000, 0.25);
        assert_eq!(path.policer.rate(), None);
        assert!(!path.round(1_100_000, 0.25));
        // 1 000 000 in the first, 1 025 000 in the second one.
        close(path.policer.rate().expect("a rate"), 1_012_500.0, 1e-6);
    }

    #[test]
    fn the_rate_is_used_for_48_rounds_of_probing() {
        let mut path = Path::new();
        path.rounds(8, 1_000_000, 0.25);
        path.progress.probing = false;
        path.rounds(20, 1_000_000, 0.0);
        path.progress.probing = true;
        path.rounds(47, 1_000_000, 0.0);
        assert!(path.policer.rate().is_some());
        assert!(path.round(1_000_000, 0.0), "it ends here");
        assert_eq!(path.policer.rate(), None);
    }

    #[test]
    fn few_losses_other_rates_and_a_lack_of_data_are_none() {
        let mut path = Path::new();
        path.rounds(40, 1_000_000, 0.19);
        assert_eq!(path.policer.rate(), None, "less than 50 of 256");
        let mut path = Path::new();
        for n in 0..8 {
            path.rounds(4, 1_000_000 + (n % 2) * 200_000, 0.25);
        }
        assert_eq!(path.policer.rate(), None, "a fifth apart");
        let mut path = Path::new();
        path.rounds(7, 1_000_000, 0.25);
        path.progress.app_limited = true;
        path.rounds(1, 1_000_000, 0.25);
        path.progress.app_limited = false;
        path.rounds(7, 1_000_000, 0.25);
        assert_eq!(path.policer.rate(), None, "begun anew");
        path.rounds(1, 1_000_000, 0.25);
        assert!(path.policer.rate().is_some());
    }

    /// Losses at the beginning and after seventeen rounds only: the interval was too long, or the second one would end with the rate of the first.
    #[test]
    fn a_long_interval_begins_anew() {
        let mut path = Path::new();
        path.rounds(4, 1_000_000, 0.25);
        path.rounds(16, 1_000_000, 0.0);
        path.rounds(4, 1_000_000, 2.0);
        assert_eq!(path.policer.rate(), None);
    }
}
