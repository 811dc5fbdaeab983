//! minRatio as the thesis words it: the subflow whose window is filled least.
//!
//! Source: Lantto and Svensson, "Exploring Performance Balancing in a Meshed Satellite MultiWAN Using MPTCP",
//! Chalmers 2025, section 2.2.1: minimum occupied to total window. Units: bytes. Over the available subflows
//! `argmin inflight/cwnd`; ties go to the lowest index. Has no state.
//! Deviation: this is not what the kernel's default scheduler computes (queued bytes over pacing rate).

use units::Bytes;

use crate::eligible::{Eligible, best};
use crate::{Algorithm, ConnectionView, Decision, Scheduler, SubflowView};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minratio_thesis",
    summary: "the path whose congestion window is filled least",
    source: "Lantto, Svensson, Chalmers 2025, section 2.2.1",
    notes: "not the default scheduler of the kernel, which the thesis means to describe",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(MinRatioThesis),
};

/// Lowest ratio of flight to window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinRatioThesis;

/// Filled part of the window; a closed window is as full as can be.
fn ratio(subflow: &SubflowView) -> f64 {
    if subflow.cwnd == Bytes::ZERO {
        return f64::INFINITY;
    }
    subflow.inflight.as_f64() / subflow.cwnd.as_f64()
}

impl Scheduler for MinRatioThesis {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        best(Eligible::new(connection.subflows).available(), |subflow| -ratio(subflow))
            .map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, pick, scene_s1, scene_s2, subflow};

    #[test]
    fn scene_s1_picks_s() {
        let [fast, slow] = scene_s1().map(|s| ratio(&s));
        assert!((slow - 0.25).abs() < 1e-6 && (fast - 1.0).abs() < 1e-6);
        assert_eq!(pick(&mut MinRatioThesis, &scene_s1()), Decision::Send(1));
    }

    #[test]
    fn scene_s2_picks_a() {
        assert_eq!(pick(&mut MinRatioThesis, &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn ties_closed_windows_and_nothing() {
        let half = subflow(90, 10, 5);
        assert_eq!(pick(&mut MinRatioThesis, &[full(half), subflow(80, 20, 10), half]), Decision::Send(1));
        let closed = SubflowView { available: true, ..subflow(10, 0, 0) };
        assert_eq!(pick(&mut MinRatioThesis, &[closed, half]), Decision::Send(1));
        assert_eq!(pick(&mut MinRatioThesis, &[closed]), Decision::Send(0));
        assert_eq!(pick(&mut MinRatioThesis, &[full(half)]), Decision::Wait);
        assert_eq!(pick(&mut MinRatioThesis, &[]), Decision::Wait);
    }
}
