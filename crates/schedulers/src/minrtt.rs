//! minRTT: the available subflow with the smallest smoothed round-trip time.
//!
//! Source: the default scheduler of the out-of-tree MPTCP of Linux (v0.9x); Raiciu et al., "How Hard Can It Be?",
//! NSDI 2012, section 4. Units: nanoseconds. If the fastest subflow is full the next one is used at once. Ties go to
//! the lowest index.
//! Deviation: a subflow without a round-trip sample is the last choice. The kernel takes it as zero and would
//! prefer the path of which it knows least.

use crate::eligible::{Eligible, fastest};
use crate::{Algorithm, ConnectionView, Decision, Needs, Scheduler};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minrtt",
    summary: "the smallest round-trip time first, the next one when it is full",
    source: "Raiciu et al., NSDI 2012; Linux out-of-tree MPTCP, default scheduler",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(MinRtt),
};

/// Lowest round-trip time first. Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRtt;

impl Scheduler for MinRtt {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let available = Eligible::new(connection.subflows).available();
        fastest(available).map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }

    fn needs(&self) -> Needs {
        Needs { greedy: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowView;
    use crate::testing::{full, pick, scene_s1, scene_s2, subflow};

    #[test]
    fn scene_s1_spills_to_the_slow_path() {
        assert_eq!(pick(&mut MinRtt, &scene_s1()), Decision::Send(1));
    }

    #[test]
    fn scene_s2_takes_the_fastest() {
        assert_eq!(pick(&mut MinRtt, &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn ties_go_to_the_lowest_index() {
        let same = subflow(40, 10, 0);
        assert_eq!(pick(&mut MinRtt, &[full(same), same, same]), Decision::Send(1));
    }

    #[test]
    fn an_unsampled_subflow_is_the_last_choice_but_a_choice() {
        let unsampled = SubflowView { srtt: None, ..subflow(0, 10, 0) };
        assert_eq!(pick(&mut MinRtt, &[unsampled, subflow(900, 10, 0)]), Decision::Send(1));
        assert_eq!(pick(&mut MinRtt, &[unsampled, full(subflow(900, 10, 0))]), Decision::Send(0));
    }

    #[test]
    fn nothing_available_waits() {
        assert_eq!(pick(&mut MinRtt, &scene_s2().map(full)), Decision::Wait);
        assert_eq!(pick(&mut MinRtt, &[]), Decision::Wait);
    }
}
