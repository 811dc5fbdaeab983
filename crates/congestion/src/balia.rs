//! BALIA, the Balanced Linked Adaptation: between the friendliness of OLIA and the responsiveness of LIA.
//!
//! Source: draft-walid-mptcp-congestion-control-04 section 2. Units: bytes and seconds. With x_i = w_i / r_i and
//! `alpha_i = max x / x_i` an ACK of b bytes on path i in avoidance adds
//! `b * MSS_i * x_i / (r_i * (sum x)^2) * (1 + alpha_i) / 2 * (4 + alpha_i) / 5`; a loss takes
//! `min(alpha_i, 1.5) / 2` of the flight. Slow start is that of Reno; all terms are computed anew at each event.
//! A path in recovery enters the sums with its ssthresh. Alone, or while no sibling has a round-trip sample, it is
//! Reno to the last bit.
//! Deviation: a loss takes its share of FlightSize and not of the window, as Reno does (RFC 5681 equation 4).
//! Deviation: ssthresh never falls below two segments; the draft allows one (choice D-09).
//! Deviation: where the connection counts ACKs and not bytes, b is one MSS.

use registry::Options;
use units::{Bytes, SimTime};

use crate::reno::{RenoWindow, may_grow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Setup};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "balia",
    summary: "balanced linked adaptation: coupled increase and decrease",
    source: "draft-walid-mptcp-congestion-control-04",
    notes: "coupled: alone on a connection it is NewReno",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Balia::new(setup)),
};

/// Cap of alpha in the decrease.
const MAX_DECREASE_ALPHA: f64 = 1.5;

/// BALIA on one path.
#[derive(Clone, Debug)]
pub(crate) struct Balia {
    window: RenoWindow,
}

/// Rates in bytes per second of a path that is linked with others.
#[derive(Clone, Copy, Debug)]
struct Rates {
    mine: f64,
    best: f64,
    sum: f64,
}

impl Rates {
    /// `cwnd` is the window of `paths.me` to the fraction of a byte. `None` if the path or all of its siblings are
    /// not coupled.
    fn of(cwnd: f64, paths: Paths<'_>) -> Option<Self> {
        let me = paths.all.get(paths.me).filter(|p| p.coupled)?;
        let mine = cwnd / me.srtt;
        let mut rates = Self { mine, best: mine, sum: mine };
        let mut linked = false;
        for (index, path) in paths.all.iter().enumerate() {
            if index != paths.me && path.coupled {
                let rate = path.cwnd / path.srtt;
                rates.best = rates.best.max(rate);
                rates.sum += rate;
                linked = true;
            }
        }
        debug_assert!(rates.best >= rates.mine && rates.sum >= rates.best, "{rates:?}");
        linked.then_some(rates)
    }

    fn alpha(&self) -> f64 {
        self.best / self.mine
    }

    /// Factor on the growth of Reno, at most 1.
    fn share(&self) -> f64 {
        let reduced = self.mine * self.mine / (self.sum * self.sum);
        reduced * (1.0 + self.alpha()) / 2.0 * (4.0 + self.alpha()) / 5.0
    }
}

impl Balia {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        Self { window: RenoWindow::new(setup) }
    }

    fn ssthresh_after(&self, loss: &Loss, paths: Paths<'_>) -> f64 {
        let alpha = Rates::of(self.window.cwnd, paths).map_or(1.0, |rates| rates.alpha());
        let flight = self.window.at_loss(loss);
        debug_assert!(alpha >= 1.0, "alpha {alpha}: a path is faster than the fastest");
        flight - flight / 2.0 * alpha.min(MAX_DECREASE_ALPHA)
    }
}

impl Extensions for Balia {}

impl CongestionControl for Balia {
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        if self.window.in_slow_start() || !may_grow(ack) {
            return self.window.grow(ack);
        }
        match Rates::of(self.window.cwnd, paths) {
            Some(rates) => {
                let reno = self.window.counted(ack.acked) * self.window.mss / self.window.cwnd;
                debug_assert!(
                    rates.share() <= 1.0 + 1e-9,
                    "a path grew faster than Reno: {} {rates:?}",
                    rates.share()
                );
                self.window.cwnd += rates.share() * reno;
            }
            None => self.window.avoid(ack.acked),
        }
    }

    fn on_loss(&mut self, loss: &Loss, paths: Paths<'_>) {
        let ssthresh = self.ssthresh_after(loss, paths);
        self.window.reduce_to(ssthresh);
    }

    fn on_rto(&mut self, loss: &Loss, paths: Paths<'_>) {
        let ssthresh = self.ssthresh_after(loss, paths);
        self.window.time_out(loss, ssthresh);
    }

    fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("alpha", Rates::of(self.window.cwnd, paths).map_or(1.0, |rates| rates.alpha()));
    }

    crate::reno::window_methods!();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ack, assert_reno_when_alone, close, growth_in_avoidance, loss, setup_with, views};
    use crate::{Growth, PathView};

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };
    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    /// Growth in segments of path `me` by one ACK of one MSS in avoidance.
    fn increment(all: &[PathView], me: usize, growth: Growth) -> f64 {
        growth_in_avoidance(all, me, growth, Balia::new, |cc| cc.window.cwnd) / all[me].mss
    }

    /// Window in segments after a loss on path `me` with a full window out.
    fn after_loss(all: &[PathView], me: usize) -> f64 {
        let window = all[me].cwnd as u64;
        let mut cc = Balia::new(&setup_with(all[me].mss as u64, window, window, BYTES));
        cc.on_loss(&loss(window), Paths { all, me });
        assert_eq!(cc.window().cwnd, cc.window().ssthresh);
        cc.window.cwnd / all[me].mss
    }

    #[test]
    fn balia_1_two_unlike_paths() {
        let all = views(&[(20.0, 0.05, 1428.0), (40.0, 0.6, 1428.0)]);
        for (me, rate, alpha) in [(0, 400.0, 1.0), (1, 66.666_667, 6.0)] {
            let rates = Rates::of(all[me].cwnd, Paths { all: &all, me }).unwrap();
            close(rates.mine / 1428.0, rate, 1e-6);
            close(rates.alpha(), alpha, 1e-12);
        }
        for growth in [BYTES, PER_ACK] {
            close(increment(&all, 0, growth), 0.036_735, 1e-5);
            close(increment(&all, 1, growth), 0.003_571, 2e-4);
            close(1.0 / increment(&all, 0, growth), 27.2222, 1e-5);
            close(1.0 / increment(&all, 1, growth), 280.0, 1e-9);
        }
        close(after_loss(&all, 0), 10.0, 1e-12);
        close(after_loss(&all, 1), 10.0, 1e-12);
    }

    #[test]
    fn lc_1_three_equal_paths() {
        let all = views(&[(12.0, 0.3, 1000.0); 3]);
        close(increment(&all, 1, BYTES), 0.009_259, 1e-4);
        close(increment(&all, 1, BYTES), 1.0 / 108.0, 1e-9);
    }

    #[test]
    fn a_timeout_sets_ssthresh_by_the_same_rule() {
        let all = views(&[(20.0, 0.05, 1000.0), (40.0, 0.6, 1000.0)]);
        let mut cc = Balia::new(&setup_with(1000, 40_000, 40_000, BYTES));
        cc.on_rto(&loss(40_000), Paths { all: &all, me: 1 });
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(1000), Bytes(10_000)));
        cc.on_loss(&loss(4000), Paths { all: &all, me: 1 });
        assert_eq!(cc.window().ssthresh, Bytes(2000), "never below two segments");
    }

    #[test]
    fn slow_start_is_not_coupled() {
        let all = views(&[(10.0, 0.1, 1000.0); 2]);
        let mut cc = Balia::new(&setup_with(1000, 10_000, 20_000, BYTES));
        cc.on_ack(&ack(1000), Paths { all: &all, me: 0 });
        assert_eq!(cc.window().cwnd, Bytes(11_000));
    }

    #[test]
    fn alone_or_with_siblings_that_do_not_count_it_is_reno_to_the_bit() {
        assert_reno_when_alone(Balia::new, |cc| cc.window.clone());
    }

    proptest! {
        #[test]
        fn n_equal_paths_share_the_growth_of_one(
            n in 2..16_usize, w in 2..500_u32, srtt in 0.001..3.0_f64, mss in 100..9000_u32,
        ) {
            let w = f64::from(w);
            let all = views(&vec![(w, srtt, f64::from(mss)); n]);
            let count = n as f64;
            close(increment(&all, n - 1, BYTES), 1.0 / (count * count * w), 1e-6);
            close(after_loss(&all, 0), (w / 2.0).max(2.0), 1e-9);
        }

        #[test]
        fn a_path_that_becomes_endless_leaves_reno_to_the_other(w in 4..500_u32, other in 4..500_u32) {
            let (w, other) = (f64::from(w), f64::from(other));
            let all = views(&[(w, 0.1, 1000.0), (other, 1e9, 1000.0)]);
            close(increment(&all, 0, PER_ACK), 1.0 / w, 1e-6);
            close(after_loss(&all, 1), (0.25 * other).max(2.0), 1e-9);
        }

        #[test]
        fn the_scale_of_time_does_not_matter_and_reno_is_never_outgrown(
            paths in proptest::collection::vec((2..500_u32, 0.001..3.0_f64), 2..6), scale in 0.01..100.0_f64,
        ) {
            let near: Vec<_> = paths.iter().map(|&(w, r)| (f64::from(w), r, 1000.0)).collect();
            let far: Vec<_> = near.iter().map(|&(w, r, m)| (w, r * scale, m)).collect();
            let (near, far) = (views(&near), views(&far));
            for me in 0..near.len() {
                // The increment is what is left of a subtraction of windows.
                close(increment(&near, me, BYTES), increment(&far, me, BYTES), 1e-5);
                prop_assert!(increment(&near, me, BYTES) <= 1000.0 / near[me].cwnd * (1.0 + 1e-9));
                close(after_loss(&near, me), after_loss(&far, me), 1e-9);
            }
        }
    }
}
