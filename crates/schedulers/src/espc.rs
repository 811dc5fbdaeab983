//! ESPC: stay below the flight at which the path is believed to lose, and find it by bisection.
//!
//! Source: Yang, Amer, Ekiz, "A Scheduler for Multipath TCP", ICCCN 2013, known to us through secondary sources only.
//! Units: segments of the subflow. Of each subflow `lo` is the largest flight that went without loss, `hi` the flight
//! of the last loss:
//! ```text
//! cap = (lo + hi)/2
//! one srtt after the flight reached cap, without loss:  lo = cap
//! loss:                                                 hi = flight at the loss, lo = max(hi/2, 2)
//! ```
//! Before the first loss there is no cap but the window. Candidates are the available subflows with less than cap in
//! flight; the smallest srtt is chosen; without candidates it waits.
//! Deviation: fidelity is not claimed (choice D-34). Losses are read from the view: the slow-start threshold has
//! changed to less than the window seen before. Their flight is that of the question before. `hi` is 2 at least.

use units::{Bytes, Nanos, SimTime};

use crate::eligible::{Eligible, fastest};
use crate::{Algorithm, ConnectionView, Decision, Needs, Report, Scheduler, SubflowView};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "espc",
    summary: "the smallest round-trip time among paths below their estimated point of loss",
    source: "Yang, Amer, Ekiz, ICCCN 2013 (secondary sources)",
    notes: "fidelity is not claimed",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(Espc::default()),
};

/// Smallest bound, in segments.
const LEAST: f64 = 2.0;

/// Estimated path capacity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Espc {
    /// By subflow index.
    paths: Vec<Memory>,
}

/// The bisection, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    lo: f64,
    /// Infinite before the first loss.
    hi: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { lo: LEAST, hi: f64::INFINITY }
    }
}

impl Bounds {
    fn cap(self) -> f64 {
        f64::midpoint(self.lo, self.hi)
    }

    /// The cap was carried for a round trip.
    fn sustained(&mut self) {
        self.lo = self.cap();
        self.check();
    }

    fn check(&self) {
        debug_assert!(LEAST <= self.lo && self.lo <= self.hi, "{self:?}");
        debug_assert!(self.cap() >= self.lo && self.cap() <= self.hi, "a cap outside its bounds: {self:?}");
    }

    fn lost(&mut self, flight: f64) {
        self.hi = flight.max(LEAST);
        self.lo = (self.hi / 2.0).max(LEAST);
        self.check();
    }
}

/// Memory of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    bounds: Bounds,
    /// When the flight first reached the present cap.
    reached: Option<SimTime>,
    /// Window and threshold at the last call: they tell a loss, and the flight in segments.
    cwnd: Bytes,
    ssthresh: Bytes,
    flight: f64,
}

fn flight(subflow: &SubflowView) -> f64 {
    subflow.inflight.as_f64() / subflow.mss.as_f64().max(1.0)
}

impl Memory {
    fn observe(&mut self, now: SimTime, subflow: &SubflowView, srtt: Nanos) {
        if subflow.ssthresh != self.ssthresh && subflow.ssthresh < self.cwnd {
            self.bounds.lost(self.flight);
            self.reached = None;
        }
        if self.reached.is_some_and(|at| now.since(at) >= srtt) {
            self.bounds.sustained();
            self.reached = None;
        }
        self.flight = flight(subflow);
        (self.cwnd, self.ssthresh) = (subflow.cwnd, subflow.ssthresh);
        if self.bounds.hi.is_finite() && self.flight >= self.bounds.cap() {
            self.reached.get_or_insert(now);
        }
    }
}

impl Espc {
    /// A subflow without a round-trip time is new at its index.
    fn observe(&mut self, connection: &ConnectionView<'_>) {
        let subflows = connection.subflows;
        if self.paths.len() < subflows.len() {
            self.paths.resize(subflows.len(), Memory::default());
        }
        for (path, subflow) in self.paths.iter_mut().zip(subflows) {
            match subflow.srtt {
                Some(srtt) => path.observe(connection.now, subflow, srtt),
                None => *path = Memory::default(),
            }
        }
    }
}

impl Scheduler for Espc {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        self.observe(connection);
        let below = |&(index, s): &(usize, &SubflowView)| flight(s) < self.paths[index].bounds.cap();
        let candidates = Eligible::new(connection.subflows).available().filter(below);
        fastest(candidates).map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }

    fn needs(&self) -> Needs {
        Needs { watching: true, ..Needs::default() }
    }

    fn gauges(&self, report: Report<'_>) {
        let caps = self.paths.iter().map(|path| path.bounds.cap()).enumerate();
        caps.filter(|(_, cap)| cap.is_finite())
            .for_each(|(index, cap)| report(Some(index), "cap_segments", cap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, pick, scene_s1, scene_s2, subflow};

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b
    }

    fn ask(espc: &mut Espc, subflows: &[SubflowView], now_ms: u64) -> Decision {
        let wide = Bytes(1 << 20);
        let now = SimTime::from_millis(now_ms);
        espc.pick(&ConnectionView {
            now,
            subflows,
            unassigned: wide,
            send_window: wide,
            ..ConnectionView::default()
        })
    }

    /// 100 ms, a window of 60 and a threshold of `ssthresh` segments.
    fn path(ssthresh: u64, inflight: u64) -> SubflowView {
        SubflowView { ssthresh: Bytes(ssthresh * 1400), ..subflow(100, 60, inflight) }
    }

    #[test]
    fn es_1_bisection() {
        let mut bounds = Bounds { lo: 20.0, hi: 40.0 };
        assert!(close(bounds.cap(), 30.0));
        bounds.sustained();
        assert!(close(bounds.lo, 30.0) && close(bounds.cap(), 35.0));
        bounds.lost(33.0);
        assert!(close(bounds.hi, 33.0) && close(bounds.lo, 16.5) && close(bounds.cap(), 24.75));
    }

    #[test]
    fn es_1_from_what_the_views_show() {
        let mut espc = Espc::default();
        let mut cap = |subflow: SubflowView, now_ms| {
            let decision = ask(&mut espc, &[subflow], now_ms);
            (decision, espc.paths[0].bounds.cap())
        };
        assert_eq!(cap(path(1 << 20, 40), 0), (Decision::Send(0), f64::INFINITY));
        assert_eq!(cap(path(20, 25), 10), (Decision::Send(0), 30.0), "loss at 40");
        assert_eq!(cap(path(20, 30), 20).0, Decision::Wait, "the cap is reached");
        assert_eq!(cap(path(20, 29), 60), (Decision::Send(0), 30.0));
        assert_eq!(cap(path(20, 30), 120), (Decision::Send(0), 35.0), "an RTT at 30 without loss");
        assert_eq!(cap(path(20, 33), 130), (Decision::Send(0), 35.0));
        assert_eq!(cap(path(16, 30), 140), (Decision::Wait, 24.75), "loss at 33");
    }

    #[test]
    fn the_end_of_slow_start_is_no_loss() {
        let mut espc = Espc::default();
        ask(&mut espc, &[SubflowView { ssthresh: Bytes::MAX, ..subflow(100, 60, 40) }], 0);
        ask(&mut espc, &[SubflowView { ssthresh: Bytes(64 * 1400), ..subflow(100, 64, 40) }], 10);
        assert_eq!(espc.paths[0].bounds, Bounds::default());
    }

    #[test]
    fn an_idle_path_is_below_every_cap() {
        let mut espc = Espc::default();
        ask(&mut espc, &[path(1 << 20, 0)], 0);
        assert_eq!(ask(&mut espc, &[path(2, 0)], 10), Decision::Send(0), "a loss with nothing in flight");
        assert!(close(espc.paths[0].bounds.cap(), 2.0));
        assert_eq!(ask(&mut espc, &[path(2, 2)], 20), Decision::Wait);
    }

    #[test]
    fn a_capped_path_leaves_it_to_a_slower_one() {
        let mut espc = Espc::default();
        let slower = subflow(300, 10, 0);
        ask(&mut espc, &[path(1 << 20, 40), slower], 0);
        assert_eq!(ask(&mut espc, &[path(20, 30), slower], 10), Decision::Send(1));
        let gone = SubflowView { usable: false, available: false, ..path(20, 0) };
        assert_eq!(ask(&mut espc, &[gone, slower], 20), Decision::Send(1));
        assert_eq!(ask(&mut espc, &[path(20, 30)], 30), Decision::Wait, "remembered");
        assert_eq!(ask(&mut espc, &[SubflowView { srtt: None, ..gone }, slower], 40), Decision::Send(1));
        assert_eq!(ask(&mut espc, &[path(20, 30)], 50), Decision::Send(0), "a new subflow in its place");
    }

    #[test]
    fn scene_s1_spills_to_the_slow_path_and_s2_takes_the_fastest() {
        assert_eq!(pick(&mut Espc::default(), &scene_s1()), Decision::Send(1));
        assert_eq!(pick(&mut Espc::default(), &scene_s2()), Decision::Send(0));
        assert_eq!(pick(&mut Espc::default(), &scene_s2().map(full)), Decision::Wait);
        assert_eq!(pick(&mut Espc::default(), &[]), Decision::Wait);
    }
}
