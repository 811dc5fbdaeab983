//! Round robin: the subflows take turns, `num_segments` each.
//!
//! Source: the "roundrobin" scheduler of the out-of-tree MPTCP of Linux (v0.9x). Units: segments. A subflow that has
//! used up its quota is left out until the round is over; among the others the lowest index is next. With `cwnd_limited` a
//! subflow without room is skipped and the round ends when every available subflow has used its quota; without it
//! the round waits for the subflow, and shares are equal.

use registry::{OptionKind, OptionSpec, Options};

use crate::eligible::Eligible;
use crate::{Algorithm, ConnectionView, Decision, Scheduler};

/// Shared with the weighted form.
pub(crate) const CWND_LIMITED: OptionSpec = OptionSpec::new(
    "cwnd_limited",
    OptionKind::Flag,
    "true",
    "skip a subflow whose window is full; false: wait for it",
);

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "num_segments",
        OptionKind::Integer { min: 1, max: 255 },
        "1",
        "segments per subflow and round",
    ),
    CWND_LIMITED,
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "roundrobin",
    summary: "subflows take turns, a fixed number of segments each",
    source: "Linux out-of-tree MPTCP, mptcp_rr",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| {
        Box::new(RoundRobin::new(options.integer("num_segments"), options.flag("cwnd_limited")))
    },
};

/// Equal turns.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    num_segments: u64,
    cwnd_limited: bool,
    round: Round,
}

impl RoundRobin {
    /// `num_segments` per turn, at least 1; `cwnd_limited`: skip a full subflow instead of waiting for it.
    pub fn new(num_segments: u64, cwnd_limited: bool) -> Self {
        Self { num_segments, cwnd_limited, round: Round::default() }
    }
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let eligible = Eligible::new(connection.subflows);
        self.round.cover(connection.subflows.len());
        match self.round.next(eligible, self.cwnd_limited, |_| self.num_segments) {
            Turn::Of(decision) => decision,
            Turn::Over => {
                self.round.restart();
                self.round.next(eligible, self.cwnd_limited, |_| self.num_segments).decision()
            }
        }
    }
}

/// Segments that each subflow has sent in this round. Subflows that join later enter the current round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    used: Vec<u64>,
}

/// Answer of a round.
pub(crate) enum Turn {
    /// Send, or wait for the next subflow.
    Of(Decision),
    /// All have used their quota.
    Over,
}

impl Turn {
    /// Decision of a new round, in which no quota is used: it does not end while a subflow is eligible.
    pub fn decision(self) -> Decision {
        match self {
            Self::Of(decision) => decision,
            Self::Over => {
                debug_assert!(false, "a new round has ended before its first segment");
                Decision::Wait
            }
        }
    }
}

impl Round {
    /// Makes room for `subflows`; those already there keep their count.
    pub fn cover(&mut self, subflows: usize) {
        if self.used.len() < subflows {
            self.used.resize(subflows, 0);
        }
    }

    /// The next subflow; its turn counts as used if it can send.
    pub fn next(&mut self, eligible: Eligible<'_>, skip_full: bool, quota: impl Fn(usize) -> u64) -> Turn {
        if eligible.available().next().is_none() {
            return Turn::Of(Decision::Wait);
        }
        let candidates = eligible.usable().filter(|(_, s)| s.available || !skip_full);
        match candidates.into_iter().find(|&(index, _)| self.used[index] < quota(index)) {
            Some((index, subflow)) if subflow.available => {
                self.used[index] += 1;
                debug_assert!(
                    self.used[index] <= quota(index),
                    "subflow {index} has sent more than its quota"
                );
                Turn::Of(Decision::Send(index))
            }
            Some(_) => Turn::Of(Decision::Wait),
            None => Turn::Over,
        }
    }

    /// A new round: no quota is used.
    pub fn restart(&mut self) {
        self.used.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowView;
    use crate::testing::{by_default, full, pick, picks, scene_s1, scene_s2, subflow};

    #[test]
    fn rr_1_three_subflows_take_turns() {
        let abc = [subflow(10, 10, 0); 3];
        assert_eq!(picks(&mut *by_default(&ROW), &abc, 6), "ABCABC");
    }

    #[test]
    fn rr_1_a_full_subflow_is_skipped() {
        let free = subflow(10, 10, 0);
        assert_eq!(picks(&mut *by_default(&ROW), &[free, full(free), free], 4), "ACAC");
    }

    #[test]
    fn scene_s1_takes_the_path_with_room_and_s2_the_next() {
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s1()), Decision::Send(1));
        assert_eq!(picks(&mut *by_default(&ROW), &scene_s2(), 4), "ABCA");
    }

    #[test]
    fn a_turn_may_be_several_segments() {
        let ab = [subflow(10, 10, 0); 2];
        assert_eq!(picks(&mut RoundRobin::new(3, true), &ab, 9), "AAABBBAAA");
    }

    #[test]
    fn without_cwnd_limited_the_round_waits_for_equal_shares() {
        let free = subflow(10, 10, 0);
        let mut scheduler = RoundRobin::new(1, false);
        assert_eq!(picks(&mut scheduler, &[free, full(free), free], 3), "A--");
        assert_eq!(picks(&mut scheduler, &[free; 3], 3), "BCA");
        let gone = SubflowView { usable: false, available: false, ..free };
        assert_eq!(picks(&mut scheduler, &[free, gone, free], 3), "CAC", "but not for one that is gone");
    }

    #[test]
    fn quotas_survive_waiting_growth_and_loss_of_subflows() {
        let free = subflow(10, 10, 0);
        let scheduler = &mut *by_default(&ROW);
        assert_eq!(picks(scheduler, &[free; 2], 1), "A");
        assert_eq!(picks(scheduler, &[full(free); 2], 2), "--");
        assert_eq!(picks(scheduler, &[free; 3], 3), "BCA", "the third joins the running round");
        let gone = SubflowView { usable: false, available: false, ..free };
        assert_eq!(picks(scheduler, &[gone, free, free], 3), "BCB");
        assert_eq!(picks(scheduler, &[free; 1], 2), "AA", "a shorter list does no harm");
    }
}
