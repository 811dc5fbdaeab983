//! Weighted round robin: turns as long as the subflow's share.
//!
//! Source: Choi et al., "Optimal Load Balancing Scheduler for MPTCP-Based Bandwidth Aggregation in Heterogeneous
//! Wireless Environments", Computer Communications 2017, known to us through secondary sources only: no claim to
//! fidelity. Units: segments per round; default weights in byte/s.
//! `quota_i = max(1, round(weight_i / min_k weight_k))`. The weights are given by subflow index, or cwnd_i / srtt_i as
//! found at the start of each round (choice D-37). A subflow without a round-trip sample, without a given weight, or
//! that joins during the round has the quota 1. The rest is as in `round_robin.rs`.

use registry::{Items, OptionFault, OptionKind, OptionSpec, Options};
use units::Bytes;

use crate::eligible::Eligible;
use crate::round_robin::{CWND_LIMITED, Round, Turn};
use crate::{Algorithm, ConnectionView, Decision, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "weights",
        OptionKind::List(Items::Numbers),
        "0",
        "one positive number per subflow; [0]: cwnd/srtt at the start of each round",
    ),
    CWND_LIMITED,
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "wrr",
    summary: "subflows take turns in proportion to weights, or to cwnd/srtt",
    source: "Choi et al., Computer Communications 2017 (secondary sources)",
    notes: "fidelity is not claimed",
    options: OPTIONS,
    check,
    build: |options: &Options| {
        let (weights, cwnd_limited) = (options.numbers("weights"), options.flag("cwnd_limited"));
        let given = weights.iter().any(|weight| *weight > 0.0);
        Box::new(if given {
            WeightedRoundRobin::with_weights(weights, cwnd_limited)
        } else {
            WeightedRoundRobin::new(cwnd_limited)
        })
    },
};

/// Weights are positive; a single zero asks for none.
fn check(options: &Options) -> Result<(), OptionFault> {
    let weights = options.numbers("weights");
    if weights == [0.0] || !weights.contains(&0.0) {
        return Ok(());
    }
    Err(OptionFault {
        option: "weights",
        message: "found the weight 0: that subflow would never have a turn".into(),
        help: "give positive weights, or [0] alone for cwnd/srtt".into(),
    })
}

/// Turns in proportion to weights.
#[derive(Clone, Debug)]
pub(crate) struct WeightedRoundRobin {
    cwnd_limited: bool,
    /// By subflow index; `None`: cwnd/srtt.
    fixed: Option<Vec<f64>>,
    /// Quotas of the current round, by subflow index.
    quotas: Vec<u64>,
    round: Round,
}

impl WeightedRoundRobin {
    /// Weights cwnd/srtt; `cwnd_limited`: skip a full subflow instead of waiting for it.
    pub fn new(cwnd_limited: bool) -> Self {
        Self { cwnd_limited, fixed: None, quotas: Vec::new(), round: Round::default() }
    }

    /// Fixed weights by subflow index, each above 0.
    pub fn with_weights(weights: Vec<f64>, cwnd_limited: bool) -> Self {
        Self { fixed: Some(weights), ..Self::new(cwnd_limited) }
    }

    fn start_round(&mut self, eligible: Eligible<'_>) {
        self.round.restart();
        self.quotas.fill(1);
        let fixed = self.fixed.as_deref();
        let weights = || eligible.usable().filter_map(|(index, s)| Some((index, weight(fixed, index, s)?)));
        let least = weights().map(|(_, weight)| weight).fold(f64::INFINITY, f64::min);
        for (index, weight) in weights() {
            debug_assert!(
                weight > 0.0 && weight >= least,
                "weight {weight} of subflow {index}, least {least}"
            );
            self.quotas[index] = libm::round(weight / least).max(1.0) as u64;
        }
        debug_assert!(
            self.quotas.iter().all(|quota| *quota > 0),
            "a subflow never has a turn: {:?}",
            self.quotas
        );
    }

    fn next(&mut self, eligible: Eligible<'_>) -> Turn {
        let Self { round, quotas, cwnd_limited, .. } = self;
        round.next(eligible, *cwnd_limited, |index| quotas[index])
    }
}

/// Weight of a subflow; `None` if it has none yet.
fn weight(fixed: Option<&[f64]>, index: usize, subflow: &SubflowView) -> Option<f64> {
    if let Some(weights) = fixed {
        return weights.get(index).copied();
    }
    let srtt = subflow.srtt?.as_secs_f64();
    (srtt > 0.0 && subflow.cwnd > Bytes::ZERO).then(|| subflow.cwnd.as_f64() / srtt)
}

impl Scheduler for WeightedRoundRobin {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let eligible = Eligible::new(connection.subflows);
        let subflows = connection.subflows.len();
        self.round.cover(subflows);
        let first = self.quotas.is_empty();
        if self.quotas.len() < subflows {
            self.quotas.resize(subflows, 1);
        }
        if first {
            self.start_round(eligible);
        }
        match self.next(eligible) {
            Turn::Of(decision) => decision,
            Turn::Over => {
                self.start_round(eligible);
                self.next(eligible).decision()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{by_default, full, pick, picks, scene_s1, scene_s2, subflow};

    #[test]
    fn wrr_1_three_to_one() {
        let mut scheduler = WeightedRoundRobin::with_weights(vec![3.0, 1.0], true);
        assert_eq!(picks(&mut scheduler, &[subflow(10, 10, 0); 2], 8), "AAABAAAB");
    }

    #[test]
    fn wrr_1_only_the_ratio_counts_and_it_is_rounded() {
        for (weights, expected) in
            [(vec![0.6, 0.2], "AAABAAAB"), (vec![3.4, 1.0], "AAABAAAB"), (vec![1.0, 2.5], "ABBBABBB")]
        {
            let mut scheduler = WeightedRoundRobin::with_weights(weights, true);
            assert_eq!(picks(&mut scheduler, &[subflow(10, 10, 0); 2], 8), expected);
        }
    }

    #[test]
    fn default_weights_are_cwnd_over_srtt_of_each_round() {
        let mut scheduler = by_default(&ROW);
        // 400 and 100 segments/s.
        assert_eq!(picks(&mut *scheduler, &[subflow(50, 20, 0), subflow(100, 10, 0)], 7), "AAAABAA");
        // The fast one halves its window: this round keeps its quota, the next one is two to one.
        assert_eq!(picks(&mut *scheduler, &[subflow(50, 10, 0), subflow(100, 10, 0)], 6), "AABAAB");
    }

    #[test]
    fn scene_s1_takes_the_path_with_room_and_s2_goes_by_rate() {
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s1()), Decision::Send(1));
        // 333, 500 and 343 segments/s round to 1, 2 and 1.
        assert_eq!(picks(&mut *by_default(&ROW), &scene_s2(), 8), "ABBCABBC");
    }

    #[test]
    fn unsampled_and_unlisted_subflows_have_one_segment() {
        let unsampled = SubflowView { srtt: None, ..subflow(0, 10, 0) };
        let sampled = [subflow(50, 20, 0), subflow(100, 20, 0), unsampled];
        assert_eq!(picks(&mut *by_default(&ROW), &sampled, 8), "AABCAABC");
        assert_eq!(picks(&mut *by_default(&ROW), &[unsampled; 2], 4), "ABAB");
        let mut listed = WeightedRoundRobin::with_weights(vec![2.0, 1.0], true);
        assert_eq!(picks(&mut listed, &sampled, 8), "AABCAABC");
    }

    #[test]
    fn a_subflow_that_joins_gets_its_weight_in_the_next_round() {
        let (slow, fast) = (subflow(100, 10, 0), subflow(100, 30, 0));
        let mut scheduler = by_default(&ROW);
        assert_eq!(picks(&mut *scheduler, &[slow], 1), "A");
        assert_eq!(picks(&mut *scheduler, &[slow, fast], 5), "BABBB");
    }

    #[test]
    fn a_full_subflow_is_skipped_or_waited_for() {
        let free = subflow(10, 10, 0);
        let mut skips = WeightedRoundRobin::with_weights(vec![2.0, 1.0], true);
        assert_eq!(picks(&mut skips, &[full(free), free], 3), "BBB");
        let mut waits = WeightedRoundRobin::with_weights(vec![2.0, 1.0], false);
        assert_eq!(picks(&mut waits, &[full(free), free], 2), "--");
        assert_eq!(picks(&mut waits, &[free, free], 3), "AAB");
    }

    #[test]
    fn weights_from_options() {
        let with = |weights: &[f64]| {
            let weights = OptionValue::Numbers(weights.to_vec());
            let mut scheduler = (ROW.build)(&Options::defaults(OPTIONS).with("weights", weights));
            picks(scheduler.as_mut(), &[subflow(100, 10, 0), subflow(100, 20, 0)], 6)
        };
        assert_eq!(with(&[3.0, 1.0]), "AAABAA");
        assert_eq!(with(&[0.0]), "ABBABB", "cwnd/srtt");
    }
}
