//! LWS, LTS, HSR: the subflow with the largest free window, the least delay per free window, the highest rate.
//!
//! Source: Kimura et al., "Alternative Scheduling Decisions for Multipath TCP", IEEE Communications Letters 2017.
//! Units: bytes of window, seconds. Over the available subflows with free window, `space = cwnd - inflight > 0`:
//! ```text
//! lws: argmax space      (not the largest cwnd, as some describe it)
//! lts: argmin srtt/space
//! hsr: argmax cwnd/srtt
//! ```
//! If none has free window they decide as minRTT. Ties go to the lowest index. None has state.
//! Deviation: a subflow without a round-trip sample is the last choice of `lts` and `hsr`.

use crate::eligible::{Eligible, best};
use crate::minrtt::MinRtt;
use crate::{Algorithm, ConnectionView, Decision, Scheduler, SubflowView};

const SOURCE: &str = "Kimura et al., IEEE Communications Letters 2017";

pub(crate) const LWS_ROW: Algorithm = Algorithm {
    name: "lws",
    summary: "largest window space: the path with the most free congestion window",
    source: SOURCE,
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(LargestSpace),
};

pub(crate) const LTS_ROW: Algorithm = Algorithm {
    name: "lts",
    summary: "lowest time/space: the least round-trip time per free congestion window",
    source: SOURCE,
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(LowestTimeSpace),
};

pub(crate) const HSR_ROW: Algorithm = Algorithm {
    name: "hsr",
    summary: "highest sending rate: the largest cwnd/srtt",
    source: SOURCE,
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(HighestRate),
};

/// LWS.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LargestSpace;

/// LTS.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LowestTimeSpace;

/// HSR.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HighestRate;

/// Free window; zero if a reduction has left less than is in flight.
fn space(subflow: &SubflowView) -> f64 {
    subflow.cwnd.saturating_sub(subflow.inflight).as_f64()
}

/// `amount` per second of round-trip time; nothing without a sample.
fn per_srtt(amount: f64, subflow: &SubflowView) -> f64 {
    subflow.srtt.map_or(0.0, |srtt| amount / srtt.as_secs_f64())
}

/// The subflow with free window that has the largest score, otherwise that of minRTT.
fn pick_by(connection: &ConnectionView<'_>, score: impl Fn(&SubflowView) -> f64) -> Decision {
    let with_space = Eligible::new(connection.subflows).available().filter(|(_, s)| space(s) > 0.0);
    match best(with_space, score) {
        Some((index, subflow)) => {
            debug_assert!(space(subflow) > 0.0, "subflow {index} has no free window");
            Decision::Send(index)
        }
        None => MinRtt.pick(connection),
    }
}

impl Scheduler for LargestSpace {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        pick_by(connection, space)
    }
}

impl Scheduler for LowestTimeSpace {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        // The smallest quotient is the largest reciprocal, which also orders round-trip times of zero.
        pick_by(connection, |subflow| per_srtt(space(subflow), subflow))
    }
}

impl Scheduler for HighestRate {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        pick_by(connection, |subflow| per_srtt(subflow.cwnd.as_f64(), subflow))
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::testing::{full, pick, scene_s1, scene_s2, subflow};

    fn all() -> [Box<dyn Scheduler>; 3] {
        [Box::new(LargestSpace), Box::new(LowestTimeSpace), Box::new(HighestRate)]
    }

    /// Equal to a number that the vector gives with four digits, in milliseconds and segments.
    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 5e-4 * expected.max(1.0)
    }

    #[test]
    fn scene_s1_takes_the_path_with_room() {
        for mut scheduler in all() {
            assert_eq!(pick(scheduler.as_mut(), &scene_s1()), Decision::Send(1), "{scheduler:?}");
        }
    }

    #[test]
    fn scene_s2_lws_takes_c() {
        let segments = scene_s2().map(|s| space(&s) / 1400.0);
        assert!(segments.iter().zip([9.0, 5.0, 10.0]).all(|(a, b)| near(*a, b)));
        assert_eq!(pick(&mut LargestSpace, &scene_s2()), Decision::Send(2), "the largest cwnd would be B");
    }

    #[test]
    fn scene_s2_lts_takes_a() {
        let quotients = scene_s2().map(|s| 1e3 * 1400.0 / per_srtt(space(&s), &s));
        assert!(quotients.iter().zip([3.333, 16.0, 3.5]).all(|(a, b)| near(*a, b)));
        assert_eq!(pick(&mut LowestTimeSpace, &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn scene_s2_hsr_takes_b() {
        let rates = scene_s2().map(|s| per_srtt(s.cwnd.as_f64(), &s) / 1400.0 * 1e-3);
        assert!(rates.iter().zip([0.333, 0.5, 0.343]).all(|(a, b)| near(*a, b)));
        assert_eq!(pick(&mut HighestRate, &scene_s2()), Decision::Send(1));
    }

    #[test]
    fn over_full_windows_are_no_candidates_and_alone_decide_as_minrtt() {
        let over = SubflowView { available: true, ..subflow(10, 5, 9) };
        let slower = SubflowView { available: true, ..subflow(20, 5, 9) };
        for mut scheduler in all() {
            assert_eq!(pick(scheduler.as_mut(), &[over, subflow(900, 2, 1)]), Decision::Send(1));
            assert_eq!(pick(scheduler.as_mut(), &[slower, over]), Decision::Send(1), "{scheduler:?}");
            assert_eq!(pick(scheduler.as_mut(), &[full(over), full(slower)]), Decision::Wait);
            assert_eq!(pick(scheduler.as_mut(), &[]), Decision::Wait);
        }
    }

    #[test]
    fn ties_no_sample_and_no_delay() {
        let unsampled = SubflowView { srtt: None, ..subflow(0, 90, 0) };
        let same = subflow(40, 10, 0);
        for mut scheduler in all() {
            assert_eq!(pick(scheduler.as_mut(), &[full(same), same, same]), Decision::Send(1));
            assert_eq!(pick(scheduler.as_mut(), &[unsampled, full(same)]), Decision::Send(0));
            assert_eq!(pick(scheduler.as_mut(), &[subflow(0, 10, 0), subflow(1, 10, 0)]), Decision::Send(0));
        }
        assert_eq!(pick(&mut LargestSpace, &[same, unsampled]), Decision::Send(1));
        assert_eq!(pick(&mut LowestTimeSpace, &[unsampled, same]), Decision::Send(1));
        let idle = SubflowView { inflight: Bytes::ZERO, ..same };
        assert_eq!(pick(&mut HighestRate, &[unsampled, idle]), Decision::Send(1));
    }
}
