//! OTIAS: out-of-order transmission for in-order arrival. Each segment goes to the queue from which it would arrive
//! first.
//!
//! Source: Yang, Wang, Amer, "Out-of-Order Transmission for In-Order Arrival Scheduling for Multipath TCP", WAINA 2014;
//! the implementations of Ferlin (MPTCP) and of MP-DCCP. Units: segments, nanoseconds. For every usable subflow, its
//! window full or not:
//! ```text
//! sendable = max(0, cwnd - inflight)
//! wait = 0 if unsent < sendable, otherwise ceil((unsent - sendable + 1)/cwnd) srtt
//! T = wait + srtt/2
//! ```
//! and the segment is queued where T is least. `rounds = "floor"` takes floor((unsent - sendable)/cwnd) as MP-DCCP
//! does (choice D-35). If the send buffer of that subflow is full it waits (choice D-32). A segment that is sent
//! again goes only to a subflow with free window. A subflow without round-trip sample is used when the segment would
//! have to queue elsewhere. Has no state.

use registry::{OptionKind, OptionSpec, Options};
use units::Nanos;

use crate::eligible::Eligible;
use crate::queueing::{arrival_first, place};
use crate::{Algorithm, ConnectionView, Decision, Needs, Queueing, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "rounds",
    OptionKind::Choice(&["ceil", "floor"]),
    "ceil",
    "how the round trips that a queue takes are rounded",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "otias",
    summary: "queue each segment where it would arrive first",
    source: "Yang, Wang, Amer, WAINA 2014",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| Box::new(Otias::new(options.choice("rounds") == "floor")),
};

/// Earliest estimated arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Otias {
    floor: bool,
}

impl Otias {
    /// `floor`: round the round trips that a queue takes down.
    pub const fn new(floor: bool) -> Self {
        Self { floor }
    }

    /// T; `None` without a round-trip sample.
    fn arrival(self, subflow: &SubflowView) -> Option<Nanos> {
        let srtt = subflow.srtt?;
        let mss = subflow.mss.0.max(1);
        let cwnd = (subflow.cwnd.0 / mss).max(1);
        let sendable = cwnd.saturating_sub(subflow.segments(subflow.inflight));
        let unsent = subflow.segments(subflow.unsent);
        let rounds = match unsent.checked_sub(sendable) {
            None => 0,
            Some(behind) if self.floor => behind / cwnd,
            Some(behind) => (behind + 1).div_ceil(cwnd),
        };
        Some(Nanos(srtt.0.saturating_mul(rounds).saturating_add(srtt.0 / 2)))
    }
}

impl Scheduler for Otias {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        place(connection, |eligible: Eligible<'_>| arrival_first(eligible, |s| self.arrival(s)))
    }

    fn needs(&self) -> Needs {
        Needs { queueing: Queueing::SendBuffer, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::Question;
    use crate::testing::{MSS, fill, full, pick, plenty, queued, scene_s1, scene_s2, subflow};

    fn ms(otias: Otias, subflow: &SubflowView) -> u64 {
        otias.arrival(subflow).expect("sampled").0 / 1_000_000
    }

    #[test]
    fn ot_1_arrivals_and_choices() {
        let [fast, slow] = scene_s1();
        for (unsent, ceil, floor, chosen) in [(0, 75, 25, 0), (12, 125, 75, 0), (60, 375, 325, 1)] {
            // The vector's third queue is longer than the send buffer of F allows.
            let fast = SubflowView { cwnd: fast.cwnd, ..queued(fast, unsent) };
            assert_eq!((ms(Otias::new(false), &fast), ms(Otias::new(true), &fast)), (ceil, floor));
            assert_eq!(pick(&mut Otias::new(false), &[fast, slow]), Decision::Send(chosen));
        }
        assert_eq!(ms(Otias::default(), &slow), 300);
    }

    #[test]
    fn scene_s1_queues_on_the_full_path_and_s2_takes_the_fastest() {
        assert_eq!(pick(&mut Otias::default(), &scene_s1()), Decision::Send(0));
        assert_eq!(pick(&mut Otias::default(), &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn free_window_is_filled_before_anything_counts_as_a_queue() {
        let path = queued(subflow(100, 10, 4), 5);
        assert_eq!(ms(Otias::default(), &path), 50);
        assert_eq!(ms(Otias::default(), &queued(path, 6)), 150);
        let mut views = scene_s1();
        // Each round trip of F carries ten more; from 300 ms on S is as early, and the lower index keeps ties.
        let chosen = fill(&mut Otias::default(), &mut views, 60);
        assert!(chosen.iter().take(49).all(|&i| i == 0), "{chosen:?}");
        assert!(chosen.contains(&1), "{chosen:?}");
    }

    #[test]
    fn a_full_send_buffer_waits_and_a_second_best_is_not_tried() {
        let [fast, slow] = [subflow(1, 10, 10), subflow(2000, 20, 5)];
        assert_eq!(fast.send_buffer, Bytes(87_040));
        let room = 87_040 / MSS - 10;
        assert_eq!(pick(&mut Otias::default(), &[queued(fast, room - 1), slow]), Decision::Send(0));
        assert_eq!(pick(&mut Otias::default(), &[queued(fast, room), slow]), Decision::Wait);
        let limited = SubflowView { unsent_limit: Bytes(MSS), ..queued(fast, 1) };
        assert_eq!(pick(&mut Otias::default(), &[limited, slow]), Decision::Wait, "a segment waits there");
    }

    #[test]
    fn what_is_sent_again_does_not_queue() {
        let [fast, slow] = scene_s1();
        let again = |subflows: &[SubflowView]| {
            Otias::default().pick(&ConnectionView { question: Question::Again, ..plenty(subflows) })
        };
        assert_eq!(again(&[fast, slow]), Decision::Send(1));
        assert_eq!(again(&[fast, full(slow)]), Decision::Wait);
        assert_eq!(again(&[fast, SubflowView { carried: true, ..slow }]), Decision::Wait, "F will have room");
    }

    #[test]
    fn without_a_sample_it_is_used_when_others_would_queue() {
        let [fast, slow] = scene_s1();
        let unsampled = SubflowView { srtt: None, ..subflow(0, 10, 0) };
        assert_eq!(pick(&mut Otias::default(), &[unsampled, slow]), Decision::Send(1));
        assert_eq!(pick(&mut Otias::default(), &[fast, slow, unsampled]), Decision::Send(2));
        assert_eq!(pick(&mut Otias::default(), &[full(unsampled)]), Decision::Send(0), "it is all there is");
        assert_eq!(pick(&mut Otias::default(), &[]), Decision::Wait);
    }
}
