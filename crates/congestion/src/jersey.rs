//! TCP-Jersey: routers' marks tell congestion from random loss, and an estimate of the bandwidth sets the window.
//!
//! Source: Xu, Tian and Ansari, "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4), 2004, as secondary sources
//! give it. Units: bytes, seconds, bytes per second. With R from the filter in `abe.rs`, `ownd = R * SRTT`. Congestion
//! warning: `cwnd = ssthresh = min(cwnd, ownd)`, once per window (choice D-20), with or without a loss beside it. Loss
//! without a warning is random: it is repaired, and the window stays. Timeout: `ssthresh = ownd`, one segment.
//! The marks are those of ECN (RFC 3168). Growth is that of NewReno.
//! Deviation: after a random loss ssthresh is ownd, so that the first slow start does not go on for ever.
//! Deviation: a warning never raises the window.
//! Deviation: without an estimate a warning halves, as loss does for NewReno.

use registry::Options;
use units::{Bytes, Nanos, SimTime};

use crate::abe::AvailableBandwidth;
use crate::reno::{MIN_SSTHRESH_SEGMENTS, RenoWindow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryHooks, Setup};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "jersey",
    summary: "TCP-Jersey: the window by an estimate of the bandwidth when routers warn, loss alone is random",
    source: "Xu, Tian and Ansari, IEEE JSAC 22(4), 2004 (secondary sources)",
    notes: "fidelity is not claimed; needs `ecn = true` and a queue that marks",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Jersey::new(setup)),
};

/// TCP-Jersey on one path.
#[derive(Clone, Debug)]
pub(crate) struct Jersey {
    window: RenoWindow,
    abe: AvailableBandwidth,
    /// Seconds; 0 before the first sample.
    srtt: f64,
}

impl Jersey {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        let window = RenoWindow::new(setup);
        Self { abe: AvailableBandwidth::new(window.cwnd), window, srtt: 0.0 }
    }

    fn measure(&mut self, ack: &Ack) {
        self.abe.on_ack(ack);
        self.srtt = ack.srtt.as_secs_f64();
    }

    /// ownd: bytes that the path carries in a smoothed round trip.
    fn own_window(&self) -> Option<f64> {
        self.abe.product(self.srtt).filter(|window| *window > 0.0)
    }

    fn heed_warning(&mut self, loss: &Loss) {
        let window = self.own_window().unwrap_or(self.window.half(loss));
        let before = self.window.cwnd;
        self.window.reduce_to(window.min(before));
        debug_assert!(
            self.window.cwnd <= before.max(MIN_SSTHRESH_SEGMENTS * self.window.mss),
            "a warning raised the window from {before}: {:?}",
            self.window
        );
    }
}

impl Extensions for Jersey {
    fn needs(&self) -> Needs {
        Needs { ecn: true, tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }
}

impl CongestionControl for Jersey {
    fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        let srtt = srtt.unwrap_or(Nanos::ZERO);
        self.srtt = srtt.as_secs_f64();
        self.abe.start(now, srtt);
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.measure(ack);
        self.window.grow(ack);
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        if loss.marked {
            return self.heed_warning(loss);
        }
        let cwnd = self.window.cwnd;
        self.window.reduce_to(self.own_window().unwrap_or(cwnd));
        self.window.cwnd = cwnd;
        self.window.check();
    }

    fn on_ecn(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.heed_warning(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.time_out(loss, self.own_window().unwrap_or(self.window.half(loss)));
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.abe.gauges(report);
    }

    crate::reno::window_methods!();
}

impl RecoveryHooks for Jersey {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::testing::{ack, loss, setup_with};

    /// Vector TJ-1 ends with 55 segments; here `segments` is the window.
    fn measured(segments: u64) -> Jersey {
        let growth = Growth { slow_start_limit: 1, byte_counting: false };
        let mut cc = Jersey::new(&setup_with(1460, segments * 1460, segments * 1460, growth));
        cc.abe = AvailableBandwidth::new(120_000.0);
        let srtt = Nanos::from_millis(600);
        cc.on_established(SimTime::ZERO, Some(srtt));
        for (ms, una) in [(6, 1460), (12, 2920), (312, 4380)] {
            let ack =
                Ack { now: SimTime::from_millis(ms), snd_una: una, srtt, cwnd_limited: false, ..ack(1460) };
            cc.on_ack(&ack, Paths::ALONE);
        }
        cc
    }

    #[test]
    fn tj_1_a_warning_sets_the_window_to_what_the_path_carries() {
        let mut cc = measured(100);
        assert_eq!(cc.own_window().map(|w| (w / 1460.0).floor()), Some(55.0));
        cc.on_ecn(&Loss { marked: true, ..loss(140_000) }, Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(81_314), Bytes(81_314)));
        let mut cc = measured(100);
        cc.on_loss(&Loss { marked: true, ..loss(140_000) }, Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(81_314));
        let mut cc = measured(30);
        cc.on_ecn(&Loss { marked: true, ..loss(43_800) }, Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(30 * 1460), "a warning does not raise it");
    }

    #[test]
    fn loss_without_a_warning_is_random() {
        let mut cc = measured(100);
        cc.on_loss(&loss(140_000), Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(146_000), Bytes(81_314)));
        cc.on_rto(&loss(140_000), Paths::ALONE);
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1460), Bytes(81_314)));
    }
}
