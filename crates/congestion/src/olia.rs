//! OLIA, the Opportunistic Linked Increases Algorithm: balances load Pareto-optimally, and stays responsive.
//!
//! Source: draft-khalili-mptcp-congestion-control-05 sections 2 and 3; Khalili et al., CoNEXT 2012. Units: bytes and
//! seconds. An ACK of b bytes on path i in avoidance adds
//! `b * MSS_i * ((w_i / r_i^2) / (sum w / r)^2 + alpha_i / w_i)`. With l the larger of the bytes acknowledged between
//! the last two losses and those since the last one, M the paths with the largest window, B those with the largest
//! l / r^2 and C = B without M: alpha_i is 1 / (n |C|) in C, -1 / (n |M|) in M if C is not empty, else 0.
//! Slow start, decrease and timeout are those of Reno. A path in recovery enters the sums with its ssthresh.
//! Alone, or while no sibling has a round-trip sample, it is Reno to the last bit.
//! M compares whole segments, B with a relative tolerance of 1e-9 (choice D-07). The ranking is l / r^2 as in the
//! paper, not l^2 / r as in some copies of the draft: the rate of TCP goes with sqrt(l) / r (choice D-08).
//! Acknowledged bytes are counted by `snd_una`, so that those of the ACK that ends a loss episode count, too.
//! Deviation: when alpha shrinks the window, ssthresh is lowered to it, below two segments if necessary: otherwise the path
//! would enter slow start.
//! Deviation: where the connection counts ACKs and not bytes, b is one MSS.

use registry::Options;
use units::{Bytes, SimTime};

use crate::reno::{RenoWindow, may_grow};
use crate::{
    Ack, Algorithm, CongestionControl, Extensions, Loss, PathView, Paths, RecoveryHooks, Setup, SharedState,
};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "olia",
    summary: "opportunistic linked increases: favours the best paths that have small windows",
    source: "draft-khalili-mptcp-congestion-control-05",
    notes: "coupled: alone on a connection it is NewReno",
    options: &[],
    check: registry::independent,
    build: |setup: &Setup, _: &Options| Box::new(Olia::new(setup)),
};

/// Relative tolerance of the comparison of l / r^2.
const RANK_TOLERANCE: f64 = 1e-9;

/// OLIA on one path.
#[derive(Clone, Debug)]
pub(crate) struct Olia {
    window: RenoWindow,
    /// Bytes acknowledged between the last two losses (l1).
    between_losses: u64,
    /// `snd_una` at the last loss.
    una_at_loss: u64,
    /// Highest `snd_una` seen.
    una: u64,
}

impl Olia {
    /// For a path that was just set up.
    pub fn new(setup: &Setup) -> Self {
        Self { window: RenoWindow::new(setup), between_losses: 0, una_at_loss: 0, una: 0 }
    }

    /// Bytes acknowledged since the last loss (l2).
    fn since_loss(&self) -> u64 {
        self.una - self.una_at_loss
    }

    fn note_ack(&mut self, ack: &Ack) {
        self.una = self.una.max(ack.snd_una);
        self.check();
    }

    fn check(&self) {
        self.window.check();
        debug_assert!(
            self.una_at_loss <= self.una,
            "a loss at {} is ahead of {}",
            self.una_at_loss,
            self.una
        );
        debug_assert!(
            self.between_losses <= self.una_at_loss,
            "{} bytes between losses, {} before the last one",
            self.between_losses,
            self.una_at_loss
        );
    }

    /// A second loss before anything was acknowledged belongs to the first.
    fn note_loss(&mut self) {
        if self.since_loss() > 0 {
            self.between_losses = self.since_loss();
            self.una_at_loss = self.una;
        }
        self.check();
    }

    /// The bracket of the rule in 1/bytes; `None` while no other path takes part.
    fn increase_per_byte(&self, paths: Paths<'_>) -> Option<f64> {
        let Linked { me, sum_rate, alpha } = self.linked(paths)?;
        Some(me.cwnd / (me.srtt * me.srtt) / (sum_rate * sum_rate) + alpha / me.cwnd)
    }

    fn linked(&self, paths: Paths<'_>) -> Option<Linked> {
        let me = paths.all.get(paths.me).filter(|p| p.coupled)?;
        // The view of the own path is brought up to date; those of siblings are snapshots.
        let me = PathView { cwnd: self.window.cwnd, loss_interval: self.loss_interval(), ..*me };
        let linked = |index: usize, path: &PathView| if index == paths.me { me } else { *path };
        let counted =
            || paths.all.iter().enumerate().filter(|(_, p)| p.coupled).map(move |(i, p)| linked(i, p));
        let n = counted().count();
        if n < 2 {
            return None;
        }
        let sum_rate: f64 = counted().map(|p| p.cwnd / p.srtt).sum();
        let sets = Sets::of(counted());
        let alpha = sets.alpha(&me, n as f64);
        Some(Linked { me, sum_rate, alpha })
    }
}

/// Terms of the rule.
struct Linked {
    me: PathView,
    /// Sum of w / r in bytes per second.
    sum_rate: f64,
    /// alpha_i.
    alpha: f64,
}

/// The sets M and C: what makes a path a member, and how many members they have.
#[derive(Clone, Copy, Debug)]
struct Sets {
    /// Largest window in whole segments.
    largest: f64,
    /// Largest l / r^2.
    best: f64,
    /// |M|.
    largest_count: u32,
    /// |C|: best paths whose window is not among the largest.
    collected_count: u32,
}

impl Sets {
    fn of(paths: impl Iterator<Item = PathView> + Clone) -> Self {
        let (largest, best) = paths
            .clone()
            .fold((0.0_f64, 0.0_f64), |(w, rank), p| (w.max(whole_segments(&p)), rank.max(ranking(&p))));
        let sets = Self { largest, best, largest_count: 0, collected_count: 0 };
        let sets = paths.fold(sets, |mut counted, p| {
            counted.largest_count += u32::from(sets.has_largest_window(&p));
            counted.collected_count += u32::from(sets.is_collected(&p));
            counted
        });
        debug_assert!(sets.largest_count > 0, "one of the windows is the largest: {sets:?}");
        sets
    }

    fn has_largest_window(&self, path: &PathView) -> bool {
        whole_segments(path) >= self.largest
    }

    fn is_collected(&self, path: &PathView) -> bool {
        ranking(path) >= self.best * (1.0 - RANK_TOLERANCE) && !self.has_largest_window(path)
    }

    fn alpha(&self, path: &PathView, n: f64) -> f64 {
        if self.collected_count == 0 {
            0.0
        } else if self.is_collected(path) {
            1.0 / (n * f64::from(self.collected_count))
        } else if self.has_largest_window(path) {
            -1.0 / (n * f64::from(self.largest_count))
        } else {
            0.0
        }
    }
}

fn whole_segments(path: &PathView) -> f64 {
    (path.cwnd / path.mss).floor()
}

fn ranking(path: &PathView) -> f64 {
    path.loss_interval / (path.srtt * path.srtt)
}

impl Extensions for Olia {
    fn recovery_hooks(&mut self) -> Option<&mut dyn RecoveryHooks> {
        Some(self)
    }

    fn shared_state(&self) -> Option<&dyn SharedState> {
        Some(self)
    }
}

impl CongestionControl for Olia {
    fn on_ack(&mut self, ack: &Ack, paths: Paths<'_>) {
        self.note_ack(ack);
        if self.window.in_slow_start() || !may_grow(ack) {
            return self.window.grow(ack);
        }
        let Some(increase) = self.increase_per_byte(paths) else {
            return self.window.avoid(ack.acked);
        };
        let window = &mut self.window;
        window.cwnd = (window.cwnd + increase * window.mss * window.counted(ack.acked)).max(window.mss);
        if increase < 0.0 {
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        debug_assert!(!window.in_slow_start(), "avoidance led back to slow start: {window:?}");
    }

    fn on_loss(&mut self, loss: &Loss, _paths: Paths<'_>) {
        self.note_loss();
        self.window.halve(loss);
    }

    fn on_rto(&mut self, loss: &Loss, _paths: Paths<'_>) {
        if loss.first_timeout {
            self.note_loss();
        }
        let half = self.window.half(loss);
        self.window.time_out(loss, half);
    }

    fn gauges(&self, paths: Paths<'_>, report: &mut dyn FnMut(&'static str, f64)) {
        report("alpha", self.linked(paths).map_or(0.0, |linked| linked.alpha));
    }

    crate::reno::window_methods!();
}

impl SharedState for Olia {
    fn loss_interval(&self) -> f64 {
        self.between_losses.max(self.since_loss()) as f64
    }
}

impl RecoveryHooks for Olia {
    fn on_recovery_ack(&mut self, ack: &Ack) {
        self.note_ack(ack);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Growth;
    use crate::testing::{
        ack, assert_reno_when_alone, close, growth_in_avoidance, loss, setup, setup_with, views,
    };

    const BYTES: Growth = Growth { slow_start_limit: 1, byte_counting: true };
    const PER_ACK: Growth = Growth { slow_start_limit: 1, byte_counting: false };

    /// Coupled paths from (window in segments, srtt in seconds, l in bytes).
    fn paths_of(paths: &[(f64, f64, f64)], mss: f64) -> Vec<PathView> {
        let view =
            |&(w, r, loss_interval): &(f64, f64, f64)| PathView { loss_interval, ..views(&[(w, r, mss)])[0] };
        paths.iter().map(view).collect()
    }

    /// Growth in segments of path `me` by one ACK of one MSS in avoidance.
    fn increment(all: &[PathView], me: usize, growth: Growth) -> f64 {
        let new = |setup: &Setup| {
            let interval = all[me].loss_interval as u64;
            Olia { between_losses: interval, una_at_loss: interval, una: interval, ..Olia::new(setup) }
        };
        growth_in_avoidance(all, me, growth, new, |cc| cc.window.cwnd) / all[me].mss
    }

    #[test]
    fn olia_1_two_unlike_paths() {
        let all = paths_of(&[(20.0, 0.05, 40_000.0), (40.0, 0.6, 900_000.0)], 1428.0);
        close(ranking(&all[0]), 1.6e7, 1e-9);
        close(ranking(&all[1]), 2.5e6, 1e-9);
        let sets = Sets::of(all.iter().copied());
        assert!(sets.is_collected(&all[0]) && !sets.has_largest_window(&all[0]), "B = C = {{1}}");
        assert!(sets.has_largest_window(&all[1]) && !sets.is_collected(&all[1]), "M = {{2}}");
        close(sets.alpha(&all[0], 2.0), 0.5, 1e-12);
        close(sets.alpha(&all[1], 2.0), -0.5, 1e-12);
        for growth in [BYTES, PER_ACK] {
            close(increment(&all, 0, growth), 0.061_735, 1e-5);
            close(increment(&all, 1, growth), -0.011_990, 1e-4);
        }
    }

    #[test]
    fn olia_1_with_the_other_ranking_nothing_is_collected() {
        // l of the second path so large that it is best and largest: C is empty.
        let all = paths_of(&[(20.0, 0.05, 40_000.0), (40.0, 0.6, 9_000_000.0)], 1428.0);
        close(increment(&all, 0, BYTES), 0.036_735, 1e-5);
        close(increment(&all, 1, BYTES), 0.000_510, 1e-3);
    }

    #[test]
    fn lc_1_three_equal_paths() {
        let all = paths_of(&[(12.0, 0.3, 70_000.0); 3], 1000.0);
        close(increment(&all, 1, BYTES), 0.009_259, 1e-4);
        close(increment(&all, 1, BYTES), 1.0 / 108.0, 1e-9);
    }

    #[test]
    fn before_any_ack_all_paths_are_best() {
        let all = paths_of(&[(10.0, 0.1, 0.0), (20.0, 0.1, 0.0)], 1000.0);
        let sets = Sets::of(all.iter().copied());
        assert_eq!((sets.collected_count, sets.largest_count), (1, 1));
        assert!(sets.is_collected(&all[0]) && sets.has_largest_window(&all[1]));
    }

    #[test]
    fn the_loss_interval_is_the_larger_of_the_last_and_the_present() {
        let mut cc = Olia::new(&setup());
        let una = |snd_una| Ack { snd_una, ..ack(1460) };
        cc.on_ack(&una(50_000), Paths::ALONE);
        close(cc.loss_interval(), 50_000.0, 0.0);
        cc.on_loss(&loss(20_000), Paths::ALONE);
        cc.on_rto(&loss(20_000), Paths::ALONE);
        close(cc.loss_interval(), 50_000.0, 0.0);
        cc.on_recovery_ack(&una(60_000));
        close(cc.loss_interval(), 50_000.0, 0.0);
        cc.on_ack(&una(130_000), Paths::ALONE);
        close(cc.loss_interval(), 80_000.0, 0.0);
        cc.on_rto(&Loss { first_timeout: false, ..loss(20_000) }, Paths::ALONE);
        close(cc.loss_interval(), 80_000.0, 0.0);
        cc.on_rto(&loss(20_000), Paths::ALONE);
        cc.on_ack(&una(131_000), Paths::ALONE);
        assert_eq!((cc.between_losses, cc.since_loss()), (80_000, 1000));
    }

    #[test]
    fn a_shrinking_window_takes_ssthresh_along() {
        let all = paths_of(&[(1.0, 0.05, 40_000.0), (3.0, 0.6, 0.0)], 1000.0);
        let mut cc = Olia::new(&setup_with(1000, 3000, 3000, BYTES));
        for _ in 0..200 {
            cc.on_ack(&ack(1000), Paths { all: &all, me: 1 });
            assert!(!cc.window.in_slow_start());
        }
        // Below two segments it is no larger than its sibling: there the pressure ends.
        assert!((1500.0..2500.0).contains(&cc.window.cwnd), "{}", cc.window.cwnd);
        assert!(cc.window.ssthresh < 2000.0);
    }

    #[test]
    fn slow_start_and_decrease_are_not_coupled() {
        let all = views(&[(10.0, 0.1, 1000.0); 2]);
        let mut cc = Olia::new(&setup_with(1000, 10_000, 20_000, BYTES));
        cc.on_ack(&ack(1000), Paths { all: &all, me: 0 });
        assert_eq!(cc.window().cwnd, Bytes(11_000));
        cc.on_loss(&loss(11_000), Paths { all: &all, me: 0 });
        assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(5500), Bytes(5500)));
    }

    #[test]
    fn alone_or_with_siblings_that_do_not_count_it_is_reno_to_the_bit() {
        assert_reno_when_alone(Olia::new, |cc| cc.window.clone());
    }

    proptest! {
        #[test]
        fn n_equal_paths_share_the_growth_of_one(
            n in 2..16_usize, w in 2..500_u32, srtt in 0.001..3.0_f64, l in 0..1_000_000_u32,
        ) {
            let w = f64::from(w);
            let all = paths_of(&vec![(w, srtt, f64::from(l)); n], 1460.0);
            let count = n as f64;
            close(increment(&all, n - 1, BYTES), 1.0 / (count * count * w), 1e-6);
        }

        #[test]
        fn a_path_that_becomes_endless_leaves_reno_to_the_other(w in 4..500_u32, l in 0..1_000_000_u32) {
            // Equal windows: nothing is collected, alpha is 0.
            let w = f64::from(w);
            let all = paths_of(&[(w, 0.1, f64::from(l)), (w, 1e9, f64::from(l))], 1000.0);
            close(increment(&all, 0, PER_ACK), 1.0 / w, 1e-6);
        }

        #[test]
        fn the_scale_of_time_does_not_matter_and_the_alphas_add_up_to_nothing(
            paths in proptest::collection::vec((2..50_u32, 0.001..3.0_f64, 0..1_000_000_u32), 2..6),
            scale in 0.01..100.0_f64,
        ) {
            let near: Vec<_> = paths.iter().map(|&(w, r, l)| (f64::from(w), r, f64::from(l))).collect();
            let far: Vec<_> = near.iter().map(|&(w, r, l)| (w, r * scale, l)).collect();
            let (near, far) = (paths_of(&near, 1000.0), paths_of(&far, 1000.0));
            for me in 0..near.len() {
                let difference = increment(&near, me, BYTES) - increment(&far, me, BYTES);
                prop_assert!(difference.abs() < 1e-9, "{difference}");
            }
            let (sets, n) = (Sets::of(near.iter().copied()), near.len() as f64);
            let sum: f64 = near.iter().map(|p| sets.alpha(p, n)).sum();
            prop_assert!(sum.abs() < 1e-12);
        }
    }
}
