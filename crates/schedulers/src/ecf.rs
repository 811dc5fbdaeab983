//! ECF: earliest completion first. The slow subflow is used only if what is left would not be done earlier by
//! waiting for the fast one.
//!
//! Source: Lim et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths", CoNEXT 2017; Linux out-of-tree
//! MPTCP, mptcp_ecf. Units: bytes, nanoseconds; products are exact integers. F is the fastest usable subflow, full or
//! not, S the one minRTT would take, k the bytes not yet given to any subflow, W a congestion window, `delta` the
//! larger of the deviations of the round-trip times, r = 1/beta = 4:
//! ```text
//! x_F = max(k, W_F);  T_F = srtt_F (x_F + W_F);  T_S = (srtt_S + delta) W_F
//! wait if  r T_F < (r + waiting) T_S  and  max(k, W_S) srtt_S >= W_S (2 srtt_F + delta)
//! ```
//! `waiting` is set by a wait and cleared when the first condition fails, or when the subflow waited for is gone.
//! Deviation: the deviation is RTTVAR of RFC 6298 (choice D-33); `linux_delta` takes max(2 RTTVAR, 100 ms) as the
//! kernel does. If F or S has no round-trip sample, or F has nothing in flight, S is used.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos};

use crate::eligible::{Contest, Eligible};
use crate::{Algorithm, ConnectionView, Decision, Report, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "linux_delta",
    OptionKind::Flag,
    "false",
    "margin max(2 RTTVAR, 100 ms) as in the kernel; false: RTTVAR",
)];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "ecf",
    summary: "the slow path only if waiting for the fast one would complete later",
    source: "Lim et al., CoNEXT 2017; Linux out-of-tree MPTCP, mptcp_ecf",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| Box::new(Ecf::new(options.flag("linux_delta"))),
};

/// r = 1/beta: hysteresis of a quarter. Not beta itself, which would turn 25 % into a factor of 5.
const R: u128 = 4;
/// Half of the floor of the kernel's variance term.
const LINUX_FLOOR: Nanos = Nanos::from_millis(100);

/// Earliest completion first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ecf {
    linux_delta: bool,
    /// The subflow waited for, as of the last wait.
    waiting: Option<usize>,
}

impl Ecf {
    /// `linux_delta`: the kernel's margin instead of RTTVAR.
    pub const fn new(linux_delta: bool) -> Self {
        Self { linux_delta, waiting: None }
    }

    fn delta(self, fast: &SubflowView, slow: &SubflowView) -> Nanos {
        let rttvar = fast.rttvar.max(slow.rttvar);
        if self.linux_delta { rttvar.saturating_mul(2).max(LINUX_FLOOR) } else { rttvar }
    }
}

/// The numbers of one decision, in nanoseconds times bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    /// T_F
    fast: u128,
    /// T_S
    slow: u128,
    /// The slow path would take longer than two rounds of the fast one.
    slow_is_late: bool,
}

impl Estimate {
    fn new(fast: &SubflowView, slow: &SubflowView, delta: Nanos, unassigned: Bytes) -> Self {
        let srtt = |s: &SubflowView| u128::from(s.srtt.unwrap_or_default().0);
        let (delta, k) = (u128::from(delta.0), u128::from(unassigned.0));
        let (fast_window, slow_window) = (u128::from(fast.cwnd.0), u128::from(slow.cwnd.0));
        Self {
            fast: srtt(fast) * (k.max(fast_window) + fast_window),
            slow: (srtt(slow) + delta) * fast_window,
            slow_is_late: k.max(slow_window) * srtt(slow) >= slow_window * (2 * srtt(fast) + delta),
        }
    }

    fn fast_completes_first(self, waiting: bool) -> bool {
        R * self.fast < (R + u128::from(waiting)) * self.slow
    }
}

impl Scheduler for Ecf {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let subflows = connection.subflows;
        self.waiting = self.waiting.filter(|&index| subflows.get(index).is_some_and(|s| s.usable));
        let (fast, slow) = match Eligible::new(subflows).contest() {
            Contest::Full => return Decision::Wait,
            Contest::Settled(index) => return Decision::Send(index),
            Contest::Open { fast, slow } => (fast, slow),
        };
        let estimate = Estimate::new(fast.1, slow.1, self.delta(fast.1, slow.1), connection.unassigned);
        if !estimate.fast_completes_first(self.waiting.is_some()) {
            self.waiting = None;
        } else if estimate.slow_is_late {
            debug_assert!(subflows[fast.0].usable, "waits for a subflow that is gone");
            self.waiting = Some(fast.0);
            return Decision::Wait;
        }
        Decision::Send(slow.0)
    }

    fn gauges(&self, report: Report<'_>) {
        report(None, "waiting", f64::from(u8::from(self.waiting.is_some())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, pick, scene_s1, scene_s2, subflow};

    /// Nanoseconds in a millisecond: the vectors are in ms times bytes.
    const MS: u128 = 1_000_000;

    fn with_delta(subflows: [SubflowView; 2], ms: u64) -> [SubflowView; 2] {
        subflows.map(|s| SubflowView { rttvar: Nanos::from_millis(ms), ..s })
    }

    fn ask(scheduler: &mut Ecf, subflows: &[SubflowView], k: u64) -> Decision {
        let send_window = Bytes(1 << 30);
        scheduler.pick(&ConnectionView {
            subflows,
            unassigned: Bytes(k),
            send_window,
            ..ConnectionView::default()
        })
    }

    fn estimate([fast, slow]: [SubflowView; 2], delta_ms: u64, k: u64) -> Estimate {
        Estimate::new(&fast, &slow, Nanos::from_millis(delta_ms), Bytes(k))
    }

    fn waiting() -> Ecf {
        Ecf { waiting: Some(0), ..Ecf::default() }
    }

    #[test]
    fn ecf_1_little_is_left_for_the_fast_path() {
        let scene = with_delta(scene_s1(), 20);
        let expected = Estimate { fast: 2_800_000 * MS, slow: 8_680_000 * MS, slow_is_late: true };
        assert_eq!(estimate(scene, 20, 42_000), expected);
        let mut ecf = Ecf::default();
        assert_eq!(ask(&mut ecf, &scene, 42_000), Decision::Wait);
        assert!(ecf.waiting.is_some());
        ecf.gauges(&mut |subflow, name, value| assert_eq!((subflow, name, value), (None, "waiting", 1.0)));
    }

    #[test]
    fn ecf_1_much_is_left_for_both() {
        let scene = with_delta(scene_s1(), 20);
        assert_eq!(estimate(scene, 20, 420_000).fast, 21_700_000 * MS);
        assert_eq!(estimate(scene, 20, 420_000).slow, 8_680_000 * MS);
        let mut ecf = waiting();
        assert_eq!(
            ask(&mut ecf, &scene, 420_000),
            Decision::Send(1),
            "beta in the place of 1/beta would wait"
        );
        assert!(ecf.waiting.is_none());
    }

    #[test]
    fn ecf_1_hysteresis() {
        let scene = with_delta(scene_s1(), 20);
        assert_eq!(estimate(scene, 20, 160_000).fast, 8_700_000 * MS);
        assert_eq!(ask(&mut Ecf::default(), &scene, 160_000), Decision::Send(1));
        assert_eq!(ask(&mut waiting(), &scene, 160_000), Decision::Wait);
    }

    #[test]
    fn ecf_1_the_slow_path_is_not_late() {
        let [fast, slow] = scene_s1();
        let slow = SubflowView { srtt: Some(Nanos::from_millis(105)), ..slow };
        let scene = with_delta([fast, slow], 10);
        let expected = Estimate { fast: 1_400_000 * MS, slow: 1_610_000 * MS, slow_is_late: false };
        assert_eq!(estimate(scene, 10, 14_000), expected);
        for mut ecf in [Ecf::default(), waiting()] {
            let before = ecf.waiting;
            assert_eq!(ask(&mut ecf, &scene, 14_000), Decision::Send(1));
            assert_eq!(ecf.waiting, before, "unchanged");
        }
    }

    #[test]
    fn scene_s1_waits_and_s2_takes_the_fastest() {
        assert_eq!(ask(&mut Ecf::default(), &scene_s1(), 1), Decision::Wait);
        assert_eq!(pick(&mut Ecf::default(), &scene_s2()), Decision::Send(0));
    }

    #[test]
    fn the_margin_of_the_kernel_is_never_below_100_ms() {
        let (fast, slow) = (subflow(50, 10, 10), subflow(600, 20, 5));
        let with = |ms| SubflowView { rttvar: Nanos::from_millis(ms), ..slow };
        assert_eq!(Ecf::new(true).delta(&fast, &slow), Nanos::from_millis(100));
        assert_eq!(Ecf::new(true).delta(&fast, &with(70)), Nanos::from_millis(140));
        assert_eq!(Ecf::new(false).delta(&fast, &with(70)), Nanos::from_millis(70));
        // T_S 9.8e6 instead of 8.4e6 ms B: between them the margin decides.
        assert_eq!(ask(&mut Ecf::new(true), &[fast, slow], 170_000), Decision::Wait);
        assert_eq!(ask(&mut Ecf::new(false), &[fast, slow], 170_000), Decision::Send(1));
    }

    #[test]
    fn waiting_ends_with_the_subflow_waited_for() {
        let [fast, slow] = with_delta(scene_s1(), 20);
        let gone = SubflowView { usable: false, available: false, ..fast };
        let mut ecf = waiting();
        assert_eq!(ask(&mut ecf, &[gone, slow, full(slow)], 42_000), Decision::Send(1));
        assert!(ecf.waiting.is_none());
        let mut ecf = Ecf { waiting: Some(7), ..Ecf::default() };
        assert_eq!(ask(&mut ecf, &[fast, slow], 160_000), Decision::Send(1), "the list has become shorter");
    }

    #[test]
    fn nothing_available_waits_without_remembering() {
        let mut ecf = Ecf::default();
        assert_eq!(pick(&mut ecf, &scene_s2().map(full)), Decision::Wait);
        assert_eq!(pick(&mut ecf, &[]), Decision::Wait);
        assert!(ecf.waiting.is_none());
    }
}
