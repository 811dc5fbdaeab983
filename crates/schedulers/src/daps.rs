//! DAPS: delay-aware packet scheduling. A plan says in advance which subflow carries which block of the stream, so
//! that blocks arrive in order although paths differ in delay.
//!
//! Source: Kuhn et al., "DAPS: Intelligent Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014; the MPTCP
//! port of Ferlin. Units: nanoseconds, segments. D_i = srtt_i/2, E the least common multiple of the D_i:
//! ```text
//! for t = 1..E:  every i with t mod D_i = 0, by ascending D_i, gets the next cwnd_i segments
//! ```
//! Each subflow sends its own blocks as its window allows: the slow path sends its block at once, far ahead of what the
//! fast path has sent so far. cwnd_i is smoothed by 7/8 from plan to plan. When the window is full the oldest segment
//! is sent again as in `head.rs`, without penalties; what else is sent again goes as with minRTT.
//! Choice D-36: D_i are rounded to multiples of the smallest, so that E is finite, and E is at most 64 times the
//! smallest. A plan ends when it is carried out, that is when a subflow has sent its blocks and has free window, or when
//! the set of usable subflows changes. Segments that a subflow still has queued count against its first block in the
//! next plan.
//! Deviation: blocks queue on the subflow without regard to its send buffer, since they are a plan and no memory. A
//! subflow without round-trip sample is not in the plan; it is used when it has room and nothing is left of the plan.

use std::collections::VecDeque;

use units::Bytes;

use crate::eligible::{Eligible, Indexed};
use crate::head::Opportunistic;
use crate::minrtt::MinRtt;
use crate::{
    Algorithm, ConnectionView, Decision, Needs, Question, Queueing, Scheduler, SubflowSet, SubflowView,
};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "daps",
    summary: "a plan by delays: each path sends the block that is due when it arrives",
    source: "Kuhn et al., ICC 2014",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(Daps::default()),
};

/// Longest plan, in smallest delays.
const LONGEST: u64 = 64;

/// Delay-aware packet scheduling.
#[derive(Clone, Debug, Default)]
pub(crate) struct Daps {
    opportunistic: Opportunistic,
    /// Subflow and segments of each block that has not been given out.
    plan: VecDeque<(usize, u64)>,
    /// For whom the plan was made.
    members: SubflowSet,
    /// Smoothed windows in bytes by subflow index; 0: none yet.
    windows: Vec<u64>,
}

/// Delay in nanoseconds.
fn delay(subflow: &SubflowView) -> u64 {
    (subflow.srtt.unwrap_or_default().0 / 2).max(1)
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

impl Daps {
    /// Window of the subflow in segments, smoothed.
    fn window(&mut self, (index, subflow): Indexed<'_>) -> u64 {
        if self.windows.len() <= index {
            self.windows.resize(index + 1, 0);
        }
        let window = &mut self.windows[index];
        let cwnd = subflow.cwnd.0.min(u64::MAX / 8);
        *window = if *window == 0 { cwnd } else { (7 * *window + cwnd) / 8 };
        let mss = subflow.mss.0.max(1);
        (*window + mss / 2) / mss
    }

    /// A new plan for the subflows with round-trip samples.
    fn make_plan(&mut self, eligible: Eligible<'_>) {
        let mut paths: Vec<_> = eligible.usable().filter(|(_, s)| s.srtt.is_some()).collect();
        paths.sort_by_key(|&(index, s)| (delay(s), index));
        let Some(&(_, fastest)) = paths.first() else { return };
        let least = delay(fastest);
        let multiple = |s: &SubflowView| ((delay(s) + least / 2) / least).clamp(1, LONGEST);
        let end = paths.iter().fold(1, |end, (_, s)| lcm(end, multiple(s))).min(LONGEST);
        let blocks: Vec<_> =
            paths.iter().map(|&path| (path.0, multiple(path.1), self.window(path))).collect();
        let mut queued: Vec<_> = paths.iter().map(|(_, s)| s.segments(s.unsent)).collect();
        debug_assert!((1..=LONGEST).contains(&end), "a plan of {end} smallest delays");
        for t in 1..=end {
            for (&(index, every, window), queued) in blocks.iter().zip(&mut queued) {
                if t % every == 0 {
                    let already = window.min(*queued);
                    *queued -= already;
                    if window > already {
                        self.plan.push_back((index, window - already));
                    }
                }
            }
        }
    }

    fn new_data(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let eligible = Eligible::new(connection.subflows);
        let members: SubflowSet = eligible.usable().map(|(index, _)| index).collect();
        if members != self.members {
            self.members = members;
            self.plan.clear();
        }
        if self.plan.is_empty() && eligible.available().any(|(_, s)| s.srtt.is_some()) {
            self.make_plan(eligible);
        }
        let Some((index, left)) = self.plan.front_mut() else { return MinRtt.pick(connection) };
        let index = *index;
        debug_assert!(*left > 0, "an empty block in the plan");
        debug_assert!(self.members.contains(index), "subflow {index} is in the plan but not usable");
        *left -= 1;
        if *left == 0 {
            self.plan.pop_front();
        }
        Decision::Send(index)
    }
}

impl Scheduler for Daps {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        for (window, subflow) in self.windows.iter_mut().zip(connection.subflows) {
            // Another subflow will take its place.
            if subflow.srtt.is_none() {
                *window = Bytes::ZERO.0;
            }
        }
        match connection.question {
            Question::New => self.new_data(connection),
            Question::WindowFull | Question::BufferFull => self.opportunistic.pick(connection),
            Question::Again | Question::NothingNew => MinRtt.pick(connection),
        }
    }

    fn needs(&self) -> Needs {
        Needs { queueing: Queueing::Unlimited, head: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fill, full, pick, pick_blocked, plenty, queued, scene_s1, subflow};

    /// First segment, last segment and subflow of each stretch.
    fn stretches(chosen: &[usize]) -> Vec<(usize, usize, usize)> {
        let mut all: Vec<(usize, usize, usize)> = Vec::new();
        for (segment, &index) in chosen.iter().enumerate() {
            match all.last_mut().filter(|last| last.2 == index) {
                Some(last) => last.1 = segment,
                None => all.push((segment, segment, index)),
            }
        }
        all
    }

    #[test]
    fn dp_1_blocks_in_the_order_of_arrival() {
        let views = [subflow(20, 2, 0), subflow(60, 3, 0)];
        let mut daps = Daps::default();
        daps.make_plan(Eligible::new(&views));
        assert_eq!(daps.plan, [(0, 2), (0, 2), (0, 2), (1, 3)]);
        let mut views = views;
        assert_eq!(stretches(&fill(&mut Daps::default(), &mut views, 9)), [(0, 5, 0), (6, 8, 1)]);
    }

    #[test]
    fn dp_2_twelve_blocks_of_the_fast_path_before_one_of_the_slow() {
        let mut views = scene_s1();
        let chosen = fill(&mut Daps::default(), &mut views, 140);
        assert_eq!(stretches(&chosen), [(0, 119, 0), (120, 139, 1)]);
        assert_eq!(views[1].segments(views[1].inflight), 20, "what has room leaves at once");
        assert_eq!(pick(&mut Daps::default(), &scene_s1()), Decision::Send(0), "F first");
    }

    #[test]
    fn a_plan_is_followed_by_another_when_a_path_has_done_its_part() {
        let mut daps = Daps::default();
        let mut views = scene_s1();
        assert_eq!(fill(&mut daps, &mut views, 1000).len(), 140, "no subflow has free window");
        // S is done, F still has 25 of its 120: they count in the next plan.
        let half = [queued(subflow(50, 10, 10), 25), subflow(600, 20, 0)];
        let chosen = fill(&mut daps, &mut half.clone(), 115);
        assert_eq!(stretches(&chosen), [(0, 94, 0), (95, 114, 1)]);
    }

    #[test]
    fn windows_are_smoothed_and_forgotten_with_the_subflow() {
        let mut daps = Daps::default();
        let blocks = |daps: &mut Daps, cwnd| {
            daps.plan.clear();
            pick(daps, &[subflow(50, cwnd, 0)]);
            daps.plan.iter().map(|(_, segments)| segments + 1).collect::<Vec<_>>()
        };
        assert_eq!(blocks(&mut daps, 80), [80]);
        assert_eq!(blocks(&mut daps, 160), [90]);
        pick(&mut daps, &[SubflowView::default()]);
        assert_eq!(blocks(&mut daps, 160), [160]);
    }

    #[test]
    fn long_ratios_are_cut_and_odd_ones_rounded() {
        let plan = |a, b| {
            let mut daps = Daps::default();
            daps.make_plan(Eligible::new(&[subflow(a, 1, 0), subflow(b, 1, 0)]));
            daps.plan.len()
        };
        assert_eq!(plan(10, 10_000), 65);
        assert_eq!(plan(100, 260), 4, "2.6 is 3");
        assert_eq!(plan(100, 101), 2);
        let mut daps = Daps::default();
        daps.make_plan(Eligible::new(&[subflow(10, 1, 0), subflow(70, 1, 0), subflow(110, 1, 0)]));
        assert_eq!(daps.plan.len(), 64 + 9 + 5, "of the 77 only 64");
    }

    #[test]
    fn a_path_that_goes_ends_the_plan() {
        let [fast, slow] = scene_s1();
        let mut daps = Daps::default();
        assert_eq!(pick(&mut daps, &[fast, slow]), Decision::Send(0));
        let gone = SubflowView { usable: false, available: false, ..fast };
        assert_eq!(pick(&mut daps, &[gone, slow]), Decision::Send(1));
        assert_eq!(pick(&mut daps, &[gone, full(slow)]), Decision::Send(1), "the rest of its block");
        assert_eq!(pick(&mut daps, &[]), Decision::Wait);
    }

    #[test]
    fn without_samples_it_is_minrtt_and_without_window_a_path_is_left_out() {
        let unsampled = SubflowView { srtt: None, ..subflow(0, 10, 0) };
        assert_eq!(pick(&mut Daps::default(), &[full(unsampled), unsampled]), Decision::Send(1));
        let closed = SubflowView { cwnd: Bytes::ZERO, ..full(subflow(10, 0, 0)) };
        assert_eq!(pick(&mut Daps::default(), &[closed, subflow(50, 10, 0)]), Decision::Send(1));
        let mut daps = Daps::default();
        let busy = full(subflow(50, 10, 10));
        assert_eq!(pick(&mut daps, &[busy, unsampled]), Decision::Send(1), "it gets its first sample");
    }

    #[test]
    fn the_head_is_resent_without_penalty_and_the_rest_as_with_minrtt() {
        let views = [subflow(50, 10, 0), full(subflow(600, 20, 20))];
        assert_eq!(pick_blocked(&mut Daps::default(), &views, &[1]), Decision::ResendHead(0));
        let again = ConnectionView { question: Question::Again, ..plenty(&views) };
        assert_eq!(Daps::default().pick(&again), Decision::Send(0));
    }
}
