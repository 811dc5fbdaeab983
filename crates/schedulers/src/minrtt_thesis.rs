//! minRTT as the thesis prints it: the active subflow with the smallest round-trip time, whether its window is full or
//! not.
//!
//! Source: Lantto and Svensson, "Exploring Performance Balancing in a Meshed Satellite MultiWAN Using MPTCP",
//! Chalmers 2025, Algorithm 1, which tests `active`; the text beside it says "available", which is [`MinRtt`]. Units:
//! nanoseconds. Data that does not fit into the window queues on the subflow, as much as the connection's send buffer and
//! send window permit. Ties go to the lowest index; a subflow without a sample comes last (choice D-31).
//! Reinjections go as with minRTT. Has no state.

use crate::eligible::{Eligible, fastest};
use crate::minrtt::MinRtt;
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Queueing, Scheduler};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minrtt_thesis",
    summary: "the smallest round-trip time, even while it is full: the rest queues there",
    source: "Lantto, Svensson, Chalmers 2025, Algorithm 1",
    notes: "not minRTT as it was published or as Linux has it, which takes the next subflow",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(MinRttThesis),
};

/// Lowest round-trip time, without a look at windows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinRttThesis;

impl Scheduler for MinRttThesis {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        if connection.question != Question::New {
            return MinRtt.pick(connection);
        }
        let active = Eligible::new(connection.subflows).usable();
        fastest(active).map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }

    fn needs(&self) -> Needs {
        Needs { queueing: Queueing::Unlimited, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowView;
    use crate::testing::{full, pick, plenty, scene_s1, scene_s2, subflow};

    #[test]
    fn a_full_window_does_not_matter() {
        assert_eq!(pick(&mut MinRttThesis, &scene_s1()), Decision::Send(0), "minRTT spills to the other");
        assert_eq!(pick(&mut MinRttThesis, &scene_s2()), Decision::Send(0));
        assert_eq!(pick(&mut MinRttThesis, &scene_s2().map(full)), Decision::Send(0));
    }

    #[test]
    fn ties_subflows_without_samples_and_no_subflow() {
        let same = subflow(40, 10, 0);
        assert_eq!(pick(&mut MinRttThesis, &[full(same), same]), Decision::Send(0));
        let unsampled = SubflowView { srtt: None, ..same };
        assert_eq!(pick(&mut MinRttThesis, &[unsampled, subflow(900, 10, 10)]), Decision::Send(1));
        let gone = SubflowView { usable: false, available: false, ..same };
        assert_eq!(pick(&mut MinRttThesis, &[gone, full(same)]), Decision::Send(1));
        assert_eq!(pick(&mut MinRttThesis, &[gone]), Decision::Wait);
    }

    #[test]
    fn what_is_sent_again_needs_room() {
        let [fast, slow] = scene_s1();
        let again = |views: &[SubflowView]| {
            MinRttThesis.pick(&ConnectionView { question: Question::Again, ..plenty(views) })
        };
        assert_eq!(again(&[full(fast), slow]), Decision::Send(1));
        assert_eq!(again(&[full(fast), full(slow)]), Decision::Wait);
    }
}
