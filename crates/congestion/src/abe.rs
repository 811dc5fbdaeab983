//! ABE, an estimate of the available bandwidth from the spacing of ACKs.
//!
//! Source: Xu, Tian and Ansari, "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4), 2004, as secondary
//! sources give it: `R_n = (RTT R_(n-1) + L_n) / ((t_n - t_(n-1)) + RTT)` with L_n bytes newly acknowledged and RTT the
//! smoothed round-trip time; R_0 is the initial window per RTT. Units: bytes, seconds, bytes per second.
//! Bytes are counted by `snd_una`, so that those of the ACK that ends a loss episode are not forgotten.

use units::{Nanos, SimTime};

use crate::Ack;
use crate::reno::MAX_WINDOW;

/// The filter.
#[derive(Clone, Debug)]
pub(crate) struct AvailableBandwidth {
    initial_window: f64,
    una: u64,
    /// Estimate and time of the last ACK; `None` before the first round-trip time.
    last: Option<(f64, SimTime)>,
}

impl AvailableBandwidth {
    pub fn new(initial_window: f64) -> Self {
        Self { initial_window, una: 0, last: None }
    }

    /// First estimate, unless there is one.
    pub fn start(&mut self, now: SimTime, srtt: Nanos) {
        if self.last.is_none() && srtt > Nanos::ZERO {
            self.last = Some((self.initial_window / srtt.as_secs_f64(), now));
        }
    }

    pub fn on_ack(&mut self, ack: &Ack) {
        let acked = ack.snd_una.saturating_sub(self.una) as f64;
        self.una = self.una.max(ack.snd_una);
        if ack.srtt == Nanos::ZERO {
            return;
        }
        debug_assert!(
            self.last.is_none_or(|(_, at)| at <= ack.now),
            "an ACK before the one that was counted last: {self:?}"
        );
        if let Some((rate, at)) = self.last {
            let rtt = ack.srtt.as_secs_f64();
            let rate = (rtt * rate + acked) / (ack.now.since(at).as_secs_f64() + rtt);
            self.last = Some((rate, ack.now));
        }
        self.start(ack.now, ack.srtt);
        self.check(ack);
    }

    /// Bytes per second; `None` before the first round-trip time.
    pub fn rate(&self) -> Option<f64> {
        self.last.map(|(rate, _)| rate)
    }

    /// Bytes that the path carries in `round_trip` seconds, at most the largest window of TCP; `None` before the first
    /// round-trip time.
    pub fn product(&self, round_trip: f64) -> Option<f64> {
        debug_assert!(round_trip >= 0.0, "a round trip of {round_trip} s");
        Some((self.rate()? * round_trip).min(MAX_WINDOW))
    }

    /// Reports the estimate, for recorders.
    pub fn gauges(&self, report: &mut dyn FnMut(&'static str, f64)) {
        if let Some(rate) = self.rate() {
            report("bandwidth_bit_s", 8.0 * rate);
        }
    }

    fn check(&self, ack: &Ack) {
        debug_assert!(
            self.last.is_none_or(|(rate, at)| rate >= 0.0 && rate.is_finite() && at == ack.now),
            "the estimate is of the last ACK: {self:?} {}",
            ack.now
        );
        debug_assert!(self.una >= ack.snd_una, "bytes up to {} are not counted", ack.snd_una);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, close};

    #[test]
    fn tj_1_three_acks() {
        // 120000 bytes in 0.6 s.
        let mut abe = AvailableBandwidth::new(120_000.0);
        let srtt = Nanos::from_millis(600);
        abe.start(SimTime::ZERO, srtt);
        for (ms, una, rate, segments) in [
            (6, 1460, 200_429.042_904, 82.0),
            (12, 2920, 200_853.837_859, 82.0),
            (312, 4380, 135_524.780_795, 55.0),
        ] {
            abe.on_ack(&Ack { now: SimTime::from_millis(ms), snd_una: una, srtt, ..ack(1460) });
            close(abe.rate().unwrap(), rate, 1e-9);
            close((abe.rate().unwrap() * 0.6 / 1460.0).floor(), segments, 0.0);
        }
    }

    #[test]
    fn without_a_round_trip_time_there_is_no_estimate() {
        let mut abe = AvailableBandwidth::new(10_000.0);
        abe.on_ack(&ack(1000));
        assert_eq!(abe.rate(), None);
        abe.on_ack(&Ack { srtt: Nanos::from_millis(500), ..ack(1000) });
        close(abe.rate().unwrap(), 20_000.0, 1e-12);
    }
}
