//! minRTT/RP: minRTT that unblocks a full window by opportunistic retransmission and penalisation.
//!
//! Source: Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012,
//! section 4; Linux out-of-tree MPTCP (v0.9x). New data goes as with minRTT. When the send window is full the oldest
//! segment without Data ACK is sent again on a much faster subflow that has room, and the windows of the slower
//! subflows that carry it are halved; the formulas are in `head.rs`. When the send buffer is full and everything in it
//! was given to subflows, the segment is sent again without penalty.
//! Deviation: all slower carriers are penalised, the kernel penalises the first one it finds (choice D-38).

use registry::{OptionKind, OptionSpec, Options};

use crate::head::Opportunistic;
use crate::minrtt::MinRtt;
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Scheduler};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "penalise",
    OptionKind::Flag,
    "true",
    "halve the windows of slower subflows that hold up the connection; false: only send again",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minrtt_rp",
    summary: "minrtt that resends what holds up a full window and slows down its carrier",
    source: "Raiciu et al., NSDI 2012; Linux out-of-tree MPTCP, mptcp_rcv_buf_optimization",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| Box::new(MinRttRp::new(options.flag("penalise"))),
};

/// Lowest round-trip time first, with opportunistic retransmission and penalisation.
#[derive(Clone, Debug)]
pub(crate) struct MinRttRp {
    opportunistic: Opportunistic,
}

impl MinRttRp {
    /// `penalise`: halve the windows of slower subflows that hold up the connection.
    pub fn new(penalise: bool) -> Self {
        Self { opportunistic: Opportunistic::new(penalise) }
    }
}

impl Scheduler for MinRttRp {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        match connection.question {
            Question::WindowFull | Question::BufferFull => self.opportunistic.pick(connection),
            Question::New | Question::Again | Question::NothingNew => MinRtt.pick(connection),
        }
    }

    fn needs(&self) -> Needs {
        Needs { head: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, SimTime};

    use super::*;
    use crate::testing::{MSS, by_default, full, pick, pick_blocked, plenty, scene_s1, scene_s2, subflow};
    use crate::{SubflowSet, SubflowView};

    const SK: usize = 0;
    const O: usize = 1;

    fn carrier(srtt_ms: u64, cwnd: u64, ssthresh: u64) -> SubflowView {
        SubflowView { ssthresh: Bytes(ssthresh * MSS), ..full(subflow(srtt_ms, cwnd, cwnd)) }
    }

    fn penalise(index: usize) -> Decision {
        Decision::Penalise([index].into_iter().collect())
    }

    /// The window after the penalty. Its arithmetic is tested in the connection.
    fn halved(s: SubflowView) -> SubflowView {
        SubflowView { cwnd: Bytes(s.cwnd.0 / 2), ssthresh: Bytes(s.ssthresh.0 / 2), ..s }
    }

    #[test]
    fn rp_1_the_head_is_resent_and_its_carrier_slowed_down() {
        let (sk, o) = (subflow(50, 10, 0), carrier(600, 40, 30));
        let rp = &mut *by_default(&ROW);
        assert_eq!(pick_blocked(rp, &[sk, o], &[O]), penalise(O));
        assert_eq!(pick_blocked(rp, &[sk, halved(o)], &[O]), Decision::ResendHead(SK));
        assert_eq!(pick_blocked(rp, &[sk, halved(o)], &[SK, O]), Decision::Wait, "it has carried it now");
    }

    #[test]
    fn rp_1_not_resent_on_a_path_that_is_hardly_faster() {
        let (sk, o) = (subflow(50, 10, 0), carrier(180, 40, 30));
        let rp = &mut *by_default(&ROW);
        assert_eq!(pick_blocked(rp, &[sk, o], &[O]), penalise(O));
        assert_eq!(pick_blocked(rp, &[sk, halved(o)], &[O]), Decision::Wait, "200 >= 180");
    }

    #[test]
    fn rp_1_resent_because_the_carrier_has_four_segments_left() {
        let (sk, o) = (subflow(50, 10, 0), carrier(180, 8, 6));
        let rp = &mut *by_default(&ROW);
        assert_eq!(pick_blocked(rp, &[sk, o], &[O]), penalise(O));
        assert_eq!(pick_blocked(rp, &[sk, halved(o)], &[O]), Decision::ResendHead(SK));
    }

    #[test]
    fn a_penalty_once_per_round_trip_of_the_penalised() {
        let subflows = [subflow(50, 10, 0), carrier(180, 40, 30)];
        let rp = &mut *by_default(&ROW);
        let mut at = |ms| {
            rp.pick(&ConnectionView {
                now: SimTime::from_millis(ms),
                question: Question::WindowFull,
                head: SubflowSet(1 << O),
                ..plenty(&subflows)
            })
        };
        assert_eq!([at(100), at(149), at(150)], [penalise(O), Decision::Wait, penalise(O)]);
    }

    #[test]
    fn no_subflow_is_penalised_for_a_full_send_buffer_a_loss_or_being_faster() {
        let (sk, o) = (subflow(50, 10, 0), carrier(600, 40, 30));
        let full_buffer = |subflows: &[SubflowView]| {
            let question = Question::BufferFull;
            by_default(&ROW).pick(&ConnectionView { question, head: SubflowSet(1 << O), ..plenty(subflows) })
        };
        assert_eq!(full_buffer(&[sk, o]), Decision::ResendHead(SK));
        let recovering = SubflowView { open: false, ..o };
        assert_eq!(pick_blocked(&mut *by_default(&ROW), &[sk, recovering], &[O]), Decision::ResendHead(SK));
        assert_eq!(pick_blocked(&mut *by_default(&ROW), &[sk, carrier(40, 40, 30)], &[O]), Decision::Wait);
        assert_eq!(pick_blocked(&mut MinRttRp::new(false), &[sk, o], &[O]), Decision::ResendHead(SK));
    }

    #[test]
    fn all_slower_carriers_are_penalised_and_all_must_be_worth_it() {
        let (sk, slow, slower) = (subflow(50, 10, 0), carrier(180, 40, 30), carrier(600, 40, 30));
        let rp = &mut *by_default(&ROW);
        let both: SubflowSet = [1, 2].into_iter().collect();
        assert_eq!(pick_blocked(rp, &[sk, slow, slower], &[1, 2]), Decision::Penalise(both));
        assert_eq!(pick_blocked(rp, &[sk, slow, slower], &[1, 2]), Decision::Wait, "one may be back soon");
    }

    #[test]
    fn without_room_sample_or_head_it_waits() {
        let o = carrier(600, 40, 30);
        let rp = &mut *by_default(&ROW);
        assert_eq!(pick_blocked(rp, &[full(subflow(50, 10, 10)), o], &[O]), Decision::Wait);
        assert_eq!(
            pick_blocked(rp, &[SubflowView { srtt: None, ..subflow(50, 10, 0) }, o], &[O]),
            Decision::Wait
        );
        assert_eq!(pick_blocked(rp, &[subflow(50, 10, 0), o], &[]), Decision::Wait);
        assert_eq!(pick_blocked(rp, &[], &[O]), Decision::Wait);
    }

    #[test]
    fn new_data_goes_as_with_minrtt() {
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s1()), Decision::Send(1));
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s2()), Decision::Send(0));
    }
}
