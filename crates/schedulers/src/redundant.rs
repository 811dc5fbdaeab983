//! Redundant: every subflow carries everything, each at its own pace.
//!
//! Source: Linux out-of-tree MPTCP, mptcp_redundant; Frommgen et al., "ReMP TCP: Low Latency Multipath TCP", ICC
//! 2016. Each subflow has its own place in the stream. In turn, every subflow that has room is given the segment after
//! its place: new data, or data that others were given before. Data with a Data ACK is passed over, so that the
//! fastest leads and a slow one jumps forward. Backups carry nothing while another subflow is usable.
//! Deviation: nothing is reinjected after timeouts, because every other subflow carries the data anyway.

use crate::eligible::Eligible;
use crate::minrtt::MinRtt;
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Scheduler, SubflowSet};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "redundant",
    summary: "every path carries everything; the first copy counts",
    source: "Linux out-of-tree MPTCP, mptcp_redundant; Frommgen et al., ICC 2016",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(Redundant::default()),
};

/// Everything on every subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Redundant {
    /// Where the round goes on.
    next: usize,
}

impl Scheduler for Redundant {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        if connection.question == Question::Again {
            return MinRtt.pick(connection);
        }
        let fresh = connection.question == Question::New;
        let eligible = Eligible::new(connection.subflows);
        let candidates = || eligible.available().filter(|(_, s)| fresh || s.lag.0 > 0);
        let turn = candidates().find(|&(index, _)| index >= self.next).or_else(|| candidates().next());
        let Some((first, subflow)) = turn else { return Decision::Wait };
        self.next = first + 1;
        if subflow.lag.0 == 0 {
            return Decision::Send(first);
        }
        // And those whose turn comes next, up to one that lacks nothing.
        let following = candidates().skip_while(|&(index, _)| index < first).take_while(|(_, s)| s.lag.0 > 0);
        let set: SubflowSet =
            following.map(|(index, _)| index).inspect(|index| self.next = index + 1).collect();
        debug_assert!(set.contains(first), "the subflow whose turn it is gets nothing: {set:?}");
        debug_assert!(self.next > first, "the round stands still at {first}");
        Decision::Copy(set)
    }

    fn needs(&self) -> Needs {
        Needs { copies: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::SubflowView;
    use crate::testing::{MSS, full, pick, picks, plenty, scene_s1, scene_s2, subflow};

    fn behind(subflow: SubflowView, segments: u64) -> SubflowView {
        SubflowView { lag: Bytes(segments * MSS), ..subflow }
    }

    /// Gives out `segments` over two subflows as the connection does: what goes to whom.
    fn transmissions(segments: u64, acked_after: Option<(usize, u64)>) -> String {
        let mut scheduler = Redundant::default();
        let mut place = [0_u64; 2];
        let mut next = 0_u64;
        let mut said = String::new();
        for step in 0..100 {
            if let Some((_, acked)) = acked_after.filter(|&(at, _)| at == step) {
                place = place.map(|place| place.max(acked));
            }
            let views = place.map(|place| behind(subflow(50, 100, 0), next - place));
            let question = if next < segments { Question::New } else { Question::NothingNew };
            match scheduler.pick(&ConnectionView { question, ..plenty(&views) }) {
                Decision::Send(index) => {
                    next += 1;
                    place[index] = next;
                    said += &format!("{next}{} ", ["A", "B"][index]);
                }
                Decision::Copy(set) => {
                    for index in set.iter() {
                        place[index] += 1;
                        said += &format!("{}{} ", place[index], ["A", "B"][index]);
                    }
                }
                Decision::Wait | Decision::ResendHead(_) | Decision::Penalise(_) => break,
            }
        }
        said
    }

    #[test]
    fn rd_1_both_carry_all_four() {
        assert_eq!(transmissions(4, None), "1A 1B 2A 2B 3A 3B 4A 4B ");
    }

    #[test]
    fn rd_1_what_is_acknowledged_is_passed_over() {
        let mut scheduler = Redundant::default();
        let a = behind(subflow(50, 10, 0), 0);
        let blocked = behind(full(subflow(50, 10, 10)), 3);
        assert_eq!(picks(&mut scheduler, &[a, blocked], 3), "AAA");
        let open = behind(subflow(50, 10, 0), 0);
        assert_eq!(pick(&mut scheduler, &[full(a), open]), Decision::Send(1), "it goes on with the fourth");
        assert_eq!(transmissions(4, Some((2, 1))), "1A 1B 2A 2B 3A 3B 4A 4B ");
    }

    #[test]
    fn when_nothing_new_may_leave_only_copies_do() {
        let mut scheduler = Redundant::default();
        let views = [subflow(50, 10, 0), behind(subflow(600, 10, 0), 2)];
        let question = Question::NothingNew;
        assert_eq!(
            scheduler.pick(&ConnectionView { question, ..plenty(&views) }),
            Decision::Copy(SubflowSet(0b10))
        );
        assert_eq!(scheduler.pick(&ConnectionView { question, ..plenty(&views[..1]) }), Decision::Wait);
    }

    #[test]
    fn scene_s1_gives_s_the_next_and_s2_all_in_turn() {
        assert_eq!(pick(&mut Redundant::default(), &scene_s1()), Decision::Send(1));
        let [a, b, c] = scene_s2();
        assert_eq!(picks(&mut Redundant::default(), &[a, behind(b, 1), behind(c, 1)], 4), "AbcAbc");
        assert_eq!(pick(&mut Redundant::default(), &scene_s2().map(full)), Decision::Wait);
        assert_eq!(pick(&mut Redundant::default(), &[]), Decision::Wait);
    }

    #[test]
    fn a_backup_carries_nothing_while_another_is_usable() {
        let backup = SubflowView { backup: true, ..behind(subflow(10, 10, 0), 5) };
        let mut scheduler = Redundant::default();
        assert_eq!(picks(&mut scheduler, &[full(subflow(50, 10, 10)), backup], 2), "--");
        assert_eq!(picks(&mut scheduler, &[SubflowView::default(), backup], 1), "b");
    }
}
