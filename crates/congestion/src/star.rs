//! STAR: fewer needless reductions and faster growth, by an estimate of the available bandwidth.
//!
//! Source: Obata, Ishida, Takeuchi and Hanasaki, "TCP-STAR: TCP Congestion Control Method for Satellite Internet",
//! IEICE Transactions on Communications E89-B(6), 2006, as secondary sources give it.
//! Fidelity is not claimed: the original could not be read, and the law of growth is Ropewalk's (choice D-22).
//! Units: bytes and seconds.
//! With `target = ABE * smallest RTT`, where ABE is the filter of `abe.rs`:
//! CWS, a loss sets `ssthresh = cwnd = min(cwnd, target)`, at least two segments; a timeout sets ssthresh so.
//! LWC, below the target avoidance adds `max(1, (target - cwnd) / 2) / cwnd` segments per ACK; above it is Reno.
//! AEN, with which the receiver helps to tell lost ACKs from lost data, is stood for by timestamps (Eifel, RFC 3522): a
//! timeout that they show to have been needless leaves cwnd and ssthresh as they were.
//! Deviation: before the first estimate a loss halves.

use registry::Options;
use units::{Bytes, Nanos, SimTime};

use crate::abe::AvailableBandwidth;
use crate::reno::{RenoWindow, may_grow};
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, Needs, Paths, RecoveryHooks, Setup, SpuriousTimeouts,
};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "star",
    summary: "window by an estimate of the available bandwidth, after a loss and in avoidance",
    source: "Obata et al., IEICE Transactions on Communications E89-B(6), 2006 (secondary sources)",
    notes: "fidelity is not claimed",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Star::new(setup)),
};

/// STAR on one path.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    window: RenoWindow,
    abe: AvailableBandwidth,
    /// Smallest round-trip sample.
    min_rtt: Option<Nanos>,
    /// cwnd and ssthresh before the last first timeout.
    before_timeout: Option<(f64, f64)>,
}

impl Star {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        let window = RenoWindow::new(setup);
        Self { abe: AvailableBandwidth::new(window.cwnd), window, min_rtt: None, before_timeout: None }
    }

    fn measure(&mut self, ack: &Ack) {
        self.abe.on_ack(ack);
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    /// Bytes that the path holds without a queue.
    fn target(&self) -> Option<f64> {
        self.abe.product(self.min_rtt?.as_secs_f64())
    }

    fn ssthresh_after(&self, loss: &Loss) -> f64 {
        self.target().map_or(self.window.half(loss), |target| target.min(self.window.cwnd))
    }

    fn avoid(&mut self, acked: Bytes, target: f64) {
        let window = &mut self.window;
        debug_assert!(target > window.cwnd, "the lifted growth stops at the target {target}: {window:?}");
        let lift = window.mss.max((target - window.cwnd) / 2.0);
        window.cwnd += window.counted(acked) * lift / window.cwnd;
        window.check();
    }
}

impl Extensions for Star {
    fn needs(&self) -> Needs {
        Needs { tcp_sender: true, ..Needs::default() }
    }

    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn spurious_timeouts(&mut self) -> Option<&mut dyn SpuriousTimeouts> {
        Some(self)
    }
}

impl CongestionControl for Star {
    fn on_established(&mut self, now: SimTime, srtt: Option<Nanos>) {
        self.abe.start(now, srtt.unwrap_or(Nanos::ZERO));
    }

    fn on_ack(&mut self, ack: &Ack, _paths: Paths<'_>) {
        self.measure(ack);
        match self.target() {
            Some(target) if !self.window.in_slow_start() && target > self.window.cwnd && may_grow(ack) => {
                self.avoid(ack.acked, target);
            }
            _ => self.window.grow(ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.reduce_to(self.ssthresh_after(loss));
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        if loss.first_timeout {
            self.before_timeout = Some((self.window.cwnd, self.window.ssthresh));
        }
        self.window.time_out(loss, self.ssthresh_after(loss));
    }

    fn gauges(&self, _paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        self.abe.gauges(report);
    }

    crate::reno::window_methods!();
}

impl SpuriousTimeouts for Star {
    fn on_spurious_timeout(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before_timeout.take() {
            (self.window.cwnd, self.window.ssthresh) = (cwnd, ssthresh);
            self.window.check();
        }
    }
}

impl RecoveryHooks for Star {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.measure(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Growth;
    use crate::newreno::NewReno;
    use crate::reno::MAX_WINDOW;
    use crate::testing::{ack, close, loss, setup_with};

    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    /// STAR with a window of `segments` of 1400 bytes, 250000 B/s and 0.56 s.
    fn star(segments: u64) -> Star {
        let mut cc = Star::new(&setup_with(1400, 1400 * segments, 1400 * segments, PER_ACK));
        cc.abe = AvailableBandwidth::new(140_000.0);
        cc.on_established(SimTime::ZERO, Some(Nanos::from_millis(560)));
        cc.min_rtt = Some(Nanos::from_millis(560));
        cc
    }

    #[test]
    fn ts_1_target_growth_and_loss() {
        close(star(60).abe.rate().unwrap(), 250_000.0, 1e-12);
        close(star(60).target().unwrap() / 1400.0, 100.0, 1e-12);
        let mut cc = star(60);
        cc.avoid(Bytes(1400), 140_000.0);
        close(cc.window.cwnd / 1400.0 - 60.0, 0.333_333, 2e-6);
        for (segments, after) in [(120, 100), (80, 80)] {
            let mut cc = star(segments);
            cc.on_loss(&loss(1400 * segments), Paths::ALONE);
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1400 * after), Bytes(1400 * after)));
            let mut cc = star(segments);
            cc.on_rto(&loss(1400 * segments), Paths::ALONE);
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1400), Bytes(1400 * after)));
        }
    }

    #[test]
    fn a_needless_timeout_costs_nothing() {
        let mut cc = star(120);
        let before = (cc.window().cwnd, cc.window().ssthresh);
        cc.on_rto(&Loss { first_timeout: true, ..loss(1400 * 120) }, Paths::ALONE);
        cc.on_rto(&Loss { first_timeout: false, ..loss(1400 * 120) }, Paths::ALONE);
        assert_eq!(cc.window().cwnd, Bytes(1400));
        cc.on_spurious_timeout();
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), before);
    }

    #[test]
    fn growth_is_lifted_below_the_target_only() {
        for (segments, lifted) in [(60, true), (120, false)] {
            let mut cc = star(segments);
            let srtt = Nanos::from_millis(560);
            cc.on_ack(&Ack { snd_una: 1400, srtt, rtt: Some(srtt), ..ack(1400) }, Paths::ALONE);
            let growth = (cc.window.cwnd / 1400.0 - segments as f64) * segments as f64;
            assert_eq!(growth > 1.001, lifted, "{growth}");
        }
    }

    #[test]
    fn an_absurd_estimate_does_not_exceed_the_largest_window() {
        let mut cc = star(60);
        cc.abe = AvailableBandwidth::new(1e30);
        cc.on_established(SimTime::ZERO, Some(Nanos(1)));
        close(cc.target().unwrap(), MAX_WINDOW, 0.0);
    }

    #[test]
    fn without_an_estimate_it_is_reno() {
        let setup = setup_with(1400, 14_000, 28_000, PER_ACK);
        let (mut cc, mut reno) = (Star::new(&setup), NewReno::new(&setup));
        let both: [&mut dyn CongestionControl; 2] = [&mut cc, &mut reno];
        for one in both {
            (0..30).for_each(|_| one.on_ack(&ack(1400), Paths::ALONE));
            one.on_loss(&loss(40_000), Paths::ALONE);
            (0..50).for_each(|_| one.on_ack(&ack(1400), Paths::ALONE));
            one.on_rto(&loss(30_000), Paths::ALONE);
        }
        assert_eq!(format!("{:?}", cc.window), format!("{:?}", reno.window));
    }
}
