//! minRTT/BM: minRTT that does not fill queues of its own making.
//!
//! Source: Raiciu et al., "How Hard Can It Be?", NSDI 2012, section 4 (lambda = 2); Ferlin et al., "Multi-Path
//! Transport over Heterogeneous Wireless Networks: Does it really pay off?", GLOBECOM 2014 (lambda = 3). Units: bytes,
//! seconds. Before each decision the window of every subflow is held down while its round trips are long:
//! ```text
//! limit = max(lambda rtt_min/srtt cwnd, 2 mss);  usable window = min(cwnd, limit)
//! ```
//! and minRTT chooses among the subflows whose usable window has room for a full segment. Only this decision sees the
//! limit, the congestion control does not.
//! Deviation: rtt_min is that of the last 10 to 20 s and not of the connection's lifetime (choice D-39), since a
//! handover may lengthen the path for good. A subflow without round-trip samples has no limit.

use registry::{OptionKind, OptionSpec, Options};
use units::Nanos;

use crate::eligible::{Eligible, fastest};
use crate::{Algorithm, ConnectionView, Decision, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "lambda",
    OptionKind::Number { min: 1.0, max: 1e6 },
    "2",
    "multiple of the smallest round-trip time at which the window is frozen",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "minrtt_bm",
    summary: "minrtt with windows held down while round trips are long",
    source: "Raiciu et al., NSDI 2012; Ferlin et al., GLOBECOM 2014",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| Box::new(MinRttBm::new(options.number("lambda"))),
};

/// Lowest round-trip time first, with bufferbloat mitigation. Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRttBm {
    lambda: f64,
}

impl MinRttBm {
    /// Holds a window down while its round-trip time is beyond `lambda`, above 0, times the smallest.
    pub fn new(lambda: f64) -> Self {
        Self { lambda }
    }

    /// The limit in bytes.
    fn limit(self, subflow: &SubflowView) -> f64 {
        let (Some(min), Some(srtt)) = (subflow.min_rtt, subflow.srtt) else { return f64::INFINITY };
        // The quotient of two times of zero would be NaN.
        let [min, srtt] = [min, srtt].map(|time| time.max(Nanos(1)).as_secs_f64());
        let least = 2.0 * subflow.mss.as_f64();
        let limit = (self.lambda * (min / srtt) * subflow.cwnd.as_f64().max(1.0)).max(least);
        debug_assert!(limit >= least, "a limit of {limit} bytes leaves no room for two segments");
        limit
    }

    fn has_room(self, subflow: &SubflowView) -> bool {
        (subflow.inflight + subflow.unsent + subflow.mss).as_f64() <= self.limit(subflow)
    }
}

impl Scheduler for MinRttBm {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let candidates = Eligible::new(connection.subflows).available().filter(|(_, s)| self.has_room(s));
        fastest(candidates).map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{by_default, full, pick, scene_s1, scene_s2, subflow};

    fn bloated(min_ms: u64, srtt_ms: u64, cwnd: u64, inflight: u64) -> SubflowView {
        SubflowView { min_rtt: Some(Nanos::from_millis(min_ms)), ..subflow(srtt_ms, cwnd, inflight) }
    }

    fn segments(lambda: f64, subflow: &SubflowView) -> f64 {
        MinRttBm::new(lambda).limit(subflow) / 1400.0
    }

    #[test]
    fn bm_1_limits() {
        let path = bloated(500, 1200, 100, 0);
        assert!((segments(2.0, &path) - 250.0 / 3.0).abs() < 1e-6 * 83.333);
        assert!((segments(3.0, &path) - 125.0).abs() < 1e-6 * 125.0);
    }

    #[test]
    fn bm_1_decisions() {
        let slower = subflow(2000, 10, 0);
        let with =
            |lambda, inflight| pick(&mut MinRttBm::new(lambda), &[bloated(500, 1200, 100, inflight), slower]);
        assert_eq!(with(2.0, 82), Decision::Send(0));
        assert_eq!(with(2.0, 83), Decision::Send(1));
        assert_eq!(with(3.0, 99), Decision::Send(0), "no limit");
    }

    #[test]
    fn two_segments_are_always_allowed() {
        let path = |inflight| [bloated(10, 5000, 100, inflight)];
        assert!((segments(2.0, &path(0)[0]) - 2.0).abs() < 1e-9);
        assert_eq!(pick(&mut *by_default(&ROW), &path(1)), Decision::Send(0));
        assert_eq!(pick(&mut *by_default(&ROW), &path(2)), Decision::Wait);
    }

    #[test]
    fn scene_s1_spills_to_the_slow_path_and_s2_takes_the_fastest() {
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s1()), Decision::Send(1));
        assert_eq!(pick(&mut *by_default(&ROW), &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn without_samples_or_delay_there_is_no_limit() {
        let unsampled = SubflowView { srtt: None, min_rtt: None, ..subflow(0, 10, 9) };
        assert_eq!(pick(&mut *by_default(&ROW), &[unsampled]), Decision::Send(0));
        assert_eq!(pick(&mut MinRttBm::new(f64::INFINITY), &[bloated(0, 0, 10, 9)]), Decision::Send(0));
        assert_eq!(pick(&mut *by_default(&ROW), &[full(unsampled)]), Decision::Wait);
        assert_eq!(pick(&mut *by_default(&ROW), &[]), Decision::Wait);
    }
}
