//! LIA, the Linked Increases Algorithm: together as much as TCP on the best path, nowhere more than TCP.
//!
//! Source: RFC 6356 sections 3 and 4. Units: bytes and seconds, "form B": with w_i in bytes and r_i the SRTT,
//! `alpha = W_tot * max(w_i / r_i^2) / (sum w_i / r_i)^2` and an ACK of b bytes on path i in avoidance adds
//! `min(alpha * b * MSS_i / W_tot, b * MSS_i / w_i)`. Slow start, decrease and timeout are those of Reno.
//! alpha is computed anew at each ACK (D-06); a path in recovery enters the sums with its ssthresh.
//! Alone, or while no sibling has a round-trip sample, it is Reno to the last bit.
//! Deviation: where the connection counts ACKs and not bytes, b is one MSS: with the bytes of a delayed ACK the
//! cap would allow twice the growth of the Reno it must not exceed.
//! ssthresh never falls below two segments (RFC 5681 equation 4), however many paths there are.

use registry::{OptionKind, OptionSpec, Options, at_most};
use units::{Bytes, SimTime};

use crate::reno::{RenoWindow, may_grow};
use crate::{Ack, Algorithm, CongestionControl, Extensions, Loss, Paths, Setup};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "min_increase",
    OptionKind::Size,
    "0B",
    "a linked increase per ACK is at least this; 1B: computed in whole bytes, as in the model for ns-3",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "lia",
    summary: "linked increases: in sum one TCP on the best path, capped by Reno on each",
    source: "RFC 6356",
    notes: "coupled: alone on a connection it is NewReno",
    options: OPTIONS,
    check: |options| at_most("min_increase", Bytes(1_000_000), Options::size, options),
    build: |setup: &Setup, options: &Options| {
        Box::new(Lia { min_increase: options.size("min_increase").as_f64(), ..Lia::new(setup) })
    },
};

/// LIA on one path.
#[derive(Clone, Debug)]
pub(crate) struct Lia {
    window: RenoWindow,
    /// Least linked increase per ACK, bytes.
    min_increase: f64,
}

impl Lia {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        Self { window: RenoWindow::new(setup), min_increase: 0.0 }
    }

    /// Linked increase of one acknowledged byte on this path, capped by Reno; `None` when nothing is linked.
    fn increase_per_byte(&self, paths: Paths<'_>) -> Option<f64> {
        let reno = self.window.mss / self.window.cwnd;
        let linked = self.window.mss * alpha_over_total(self.window.cwnd, paths)?;
        debug_assert!(linked >= 0.0 && linked.is_finite(), "a linked increase of {linked} per byte");
        // Comparisons are cheaper than `f64::min` and `f64::max`, which also treat NaN.
        Some(if linked < reno { linked } else { reno })
    }
}

/// `alpha / W_tot`, in 1/bytes: W_tot cancels. `cwnd` is the window of `paths.me` to the fraction of a byte.
/// `None` if the path or all of its siblings are not coupled: those have an `inverse_srtt` of 0, which adds nothing to
/// the sums.
fn alpha_over_total(cwnd: f64, paths: Paths<'_>) -> Option<f64> {
    let me = paths.all.get(paths.me)?.inverse_srtt;
    let mut sum_rate = cwnd * me;
    let mut best = sum_rate * me;
    let mut linked = false;
    for siblings in [&paths.all[..paths.me], &paths.all[paths.me + 1..]] {
        for path in siblings {
            let rate = path.cwnd * path.inverse_srtt;
            sum_rate += rate;
            best = if rate * path.inverse_srtt > best { rate * path.inverse_srtt } else { best };
            linked |= path.coupled;
        }
    }
    debug_assert!(best >= cwnd * me * me, "the best of the paths is worse than this one");
    (linked && me > 0.0).then(|| best / (sum_rate * sum_rate))
}

impl Extensions for Lia {}

impl CongestionControl for Lia {
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        if self.window.in_slow_start() || !may_grow(ack) {
            return self.window.grow(ack);
        }
        match self.increase_per_byte(paths) {
            Some(increase) => {
                let linked = increase * self.window.counted(ack.acked);
                self.window.cwnd += if linked > self.min_increase { linked } else { self.min_increase };
                self.window.check();
            }
            None => self.window.avoid(ack.acked),
        }
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        let half = self.window.half(loss);
        self.window.time_out(loss, half);
    }

    fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        let total: f64 = paths.all.iter().filter(|p| p.coupled).map(|p| p.cwnd).sum();
        report("alpha", alpha_over_total(self.window.cwnd, paths).map_or(1.0, |share| share * total));
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

    /// alpha of RFC 6356 in form B.
    fn alpha(all: &[PathView]) -> f64 {
        let total: f64 = all.iter().map(|p| p.cwnd).sum();
        total * alpha_over_total(all[0].cwnd, Paths { all, me: 0 }).unwrap()
    }

    /// Growth in bytes of path `me` by one ACK of one MSS in avoidance.
    fn increment(all: &[PathView], me: usize, growth: Growth) -> f64 {
        growth_in_avoidance(all, me, growth, Lia::new, |cc| cc.window.cwnd)
    }

    #[test]
    fn lia_1_two_unlike_paths() {
        let all = views(&[(20.0, 0.05, 1428.0), (40.0, 0.6, 1428.0)]);
        close(alpha(&all), 2.204_082, 1e-6);
        for growth in [BYTES, PER_ACK] {
            close(increment(&all, 0, growth) / 1428.0, 0.036_735, 1e-5);
            close(increment(&all, 0, growth), 52.457_143, 1e-6);
            // The cap binds: 1/40 of a segment, as Reno alone.
            close(increment(&all, 1, growth), 35.7, 1e-6);
        }
    }

    #[test]
    fn lia_2_fifteen_equal_paths() {
        let all = views(&[(10.0, 1.18, 1000.0); 15]);
        close(alpha(&all), 0.066_667, 1e-5);
        close(alpha(&all), 1.0 / 15.0, 1e-12);
        // One round trip is ten ACKs: 1/n^2 of a segment each, 1/n together.
        close(10.0 * increment(&all, 3, BYTES) / 1000.0, 0.004_444, 1e-3);
        close(10.0 * increment(&all, 3, BYTES) / 1000.0, 1.0 / 225.0, 1e-9);
    }

    #[test]
    fn the_least_increase_binds_where_many_wide_paths_share_one() {
        // Twelve windows of 66 segments: 1000 / (12 * 12 * 66) of a byte per ACK.
        let all = views(&[(66.0, 1.18, 1000.0); 12]);
        close(increment(&all, 0, PER_ACK), 1000.0 / 9504.0, 1e-9);
        let whole_bytes = |setup: &Setup| Lia { min_increase: 1.0, ..Lia::new(setup) };
        close(growth_in_avoidance(&all, 0, PER_ACK, whole_bytes, |cc| cc.window.cwnd), 1.0, 1e-9);
        // It does not bind where the rule gives more.
        let few = views(&[(10.0, 0.1, 1000.0); 2]);
        close(growth_in_avoidance(&few, 0, PER_ACK, whole_bytes, |cc| cc.window.cwnd), 25.0, 1e-9);
    }

    #[test]
    fn lia_3_unlike_segments_packets_and_bytes_differ() {
        let (wide, narrow): (f64, f64) = (1460.0, 536.0);
        let all = views(&[(20.0, 0.05, wide), (40.0, 0.6, narrow)]);
        close(alpha(&all), 1.540_022, 1e-6);
        let term = |w: f64, r: f64, m: f64| w * m * m / (r * r);
        let sum = 20.0 * wide / 0.05 + 40.0 * narrow / 0.6;
        let form_p = 60.0 * term(20.0, 0.05, wide).max(term(40.0, 0.6, narrow)) / (sum * sum);
        close(form_p, 2.664_019, 1e-6);
    }

    #[test]
    fn lc_1_three_equal_paths() {
        let all = views(&[(12.0, 0.3, 1000.0); 3]);
        close(increment(&all, 1, BYTES) / 1000.0, 0.009_259, 1e-4);
        close(increment(&all, 1, BYTES) / 1000.0, 1.0 / 108.0, 1e-9);
    }

    #[test]
    fn alone_or_with_siblings_that_do_not_count_it_is_reno_to_the_bit() {
        assert_reno_when_alone(Lia::new, |cc| cc.window.clone());
    }

    #[test]
    fn slow_start_and_decrease_are_not_coupled() {
        let all = views(&[(10.0, 0.1, 1000.0); 2]);
        let mut cc = Lia::new(&setup_with(1000, 10_000, 20_000, BYTES));
        cc.on_ack(&ack(1000), Paths { all: &all, me: 0 });
        assert_eq!(cc.window().cwnd, Bytes(11_000));
        cc.on_loss(&loss(11_000), Paths { all: &all, me: 0 });
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(5500), Bytes(5500)));
    }

    #[test]
    fn per_ack_counting_never_outgrows_reno_under_delayed_acks() {
        let all = views(&[(10.0, 0.1, 1000.0), (1.0, 0.1, 1000.0)]);
        let mut cc = Lia::new(&setup_with(1000, 10_000, 10_000, PER_ACK));
        cc.on_ack(&ack(2000), Paths { all: &all, me: 0 });
        assert!(cc.window.cwnd <= 10_100.0);
    }

    proptest! {
        #[test]
        fn n_equal_paths_share_the_growth_of_one(
            n in 2..16_usize, w in 2..500_u32, srtt in 0.001..3.0_f64, mss in 100..9000_u32,
        ) {
            let (w, mss, count) = (f64::from(w), f64::from(mss), n as f64);
            let all = views(&vec![(w, srtt, mss); n]);
            close(alpha(&all), 1.0 / count, 1e-9);
            close(increment(&all, n - 1, BYTES) / mss, 1.0 / (count * count * w), 1e-6);
        }

        #[test]
        fn a_path_that_becomes_endless_leaves_reno_to_the_other_and_is_no_faster(
            w in 2..500_u32, other in 2..500_u32,
        ) {
            let (w, other) = (f64::from(w), f64::from(other));
            let all = views(&[(w, 0.1, 1000.0), (other, 1e9, 1000.0)]);
            close(increment(&all, 0, PER_ACK), 1000.0 / w, 1e-6);
            prop_assert!(increment(&all, 1, PER_ACK) <= 1000.0 / other * (1.0 + 1e-9));
        }

        #[test]
        fn the_scale_of_time_does_not_matter_and_reno_is_never_outgrown(
            paths in proptest::collection::vec((2..500_u32, 0.001..3.0_f64), 2..6), scale in 0.01..100.0_f64,
        ) {
            let near: Vec<_> = paths.iter().map(|&(w, r)| (f64::from(w), r, 1000.0)).collect();
            let far: Vec<_> = near.iter().map(|&(w, r, m)| (w, r * scale, m)).collect();
            let (near, far) = (views(&near), views(&far));
            close(alpha(&near), alpha(&far), 1e-9);
            for me in 0..near.len() {
                // The increment is what is left of a subtraction of windows.
                close(increment(&near, me, BYTES), increment(&far, me, BYTES), 1e-5);
                prop_assert!(increment(&near, me, BYTES) <= 1e6 / near[me].cwnd * (1.0 + 1e-9));
            }
        }
    }
}
