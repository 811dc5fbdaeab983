//! BLEST: blocking estimation. The slow subflow is used only if the fast one will not lack send window because of it.
//!
//! Source: Ferlin et al., "BLEST: Blocking Estimation-based MPTCP Scheduler for Heterogeneous Networks", IFIP
//! Networking 2016; Linux out-of-tree MPTCP, mptcp_blest. Units: bytes, nanoseconds, windows in segments where the
//! formula counts segments. F is the fastest usable subflow, full or not, S the one minRTT would take, W the window of
//! the connection from the Data ACK on. `formula = "paper"`:
//! ```text
//! rtts = srtt_S / srtt_F;  X = mss_F (cwnd_F + (rtts - 1)/2) rtts
//! wait if  lambda X > W - mss_S (inflight_S + 1)
//! ```
//! `formula = "linux"`, from the smallest and largest srtt seen of each subflow:
//! ```text
//! linger = max(srtt_S, max_S)                                                  if inflight_S + 1 >= cwnd_S
//!          max(srtt_S, min_S + (max_S - min_S) (inflight_S + 1) / cwnd_S)      otherwise
//! n = floor(linger / ((min_F + max_F) / 2)) + 1
//! X = mss_F (max(cwnd_F, ssthresh_F + 1) + floor((n - 1)/2)) n                 or, before the first loss,
//!     mss_F cwnd_F (2^n - 1), n <= 16
//! wait if  lambda X > W - (mss_S + what S holds)
//! ```
//! lambda starts at 1.2 and, at most every min_S, rises by 0.04 if the oldest segment was resent on a faster subflow
//! since, because the window was full (`head.rs`), and falls by 0.01 otherwise, within 1.0 and 1.3.
//! Deviation: no subflow is penalised for a full window; the kernel's copy of the mechanism does that too. Without
//! round-trip samples, or with nothing in flight on F, S is used.

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::eligible::{Contest, Eligible};
use crate::head::Opportunistic;
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Report, Scheduler, SubflowView};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "formula",
        OptionKind::Choice(&["linux", "paper"]),
        "linux",
        "estimate of what the fast path will send: as in the kernel or as printed in the paper",
    ),
    OptionSpec::new(
        "retransmit_head",
        OptionKind::Flag,
        "true",
        "when the window is full, resend the oldest segment on a much faster path; false: lambda only falls",
    ),
];

pub(crate) const ROW: Algorithm = Algorithm {
    name: "blest",
    summary: "the slow path only if it will not block the send window of the fast one",
    source: "Ferlin et al., IFIP Networking 2016; Linux out-of-tree MPTCP, mptcp_blest",
    notes: "",
    options: OPTIONS,
    check: registry::independent,
    build: |options: &Options| {
        let paper = options.choice("formula") == "paper";
        let formula = if paper { BlestFormula::Paper } else { BlestFormula::Linux };
        Box::new(Blest { retransmit_head: options.flag("retransmit_head"), ..Blest::new(formula) })
    },
};

/// Rounds of slow start that are looked ahead at most.
const MAX_DOUBLINGS: u64 = 16;

/// How the bytes of the fast subflow are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlestFormula {
    /// With the refinements of the kernel.
    Linux,
    /// As printed.
    Paper,
}

/// Blocking estimation.
#[derive(Clone, Debug)]
pub(crate) struct Blest {
    formula: BlestFormula,
    lambda: Lambda,
    retransmit_head: bool,
    opportunistic: Opportunistic,
    /// By subflow index.
    seen: Vec<Extremes>,
}

impl Blest {
    /// With one of the formulas.
    pub fn new(formula: BlestFormula) -> Self {
        Self {
            formula,
            lambda: Lambda::default(),
            retransmit_head: true,
            opportunistic: Opportunistic::default(),
            seen: Vec::new(),
        }
    }

    /// Takes in the round-trip times; a subflow without one is new at its index.
    fn observe(&mut self, subflows: &[SubflowView]) {
        if self.seen.len() < subflows.len() {
            self.seen.resize(subflows.len(), Extremes::default());
        }
        for (seen, subflow) in self.seen.iter_mut().zip(subflows) {
            match subflow.srtt {
                Some(srtt) if subflow.usable => seen.take_in(srtt),
                Some(_) => {}
                None => *seen = Extremes::default(),
            }
        }
    }

    /// Would S take the window that F is going to need?
    fn blocks(&self, fast: (usize, &SubflowView), slow: (usize, &SubflowView), window: f64) -> bool {
        let (needed, taken) = match self.formula {
            BlestFormula::Paper => (paper_bytes(fast.1, slow.1), slow.1.inflight + slow.1.mss),
            BlestFormula::Linux => {
                let linger = linger(slow.1, self.seen[slow.0]);
                let needed = linux_bytes(fast.1, self.seen[fast.0], linger);
                (needed, slow.1.mss + slow.1.inflight + slow.1.unsent)
            }
        };
        debug_assert!(needed >= 0.0, "F needs {needed} bytes");
        needed * self.lambda.value() > window - taken.as_f64()
    }
}

/// Smallest and largest smoothed round-trip time at scheduling instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extremes {
    min: Nanos,
    max: Nanos,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { min: Nanos(u64::MAX), max: Nanos::ZERO }
    }
}

impl Extremes {
    fn take_in(&mut self, srtt: Nanos) {
        self.min = self.min.min(srtt);
        self.max = self.max.max(srtt);
        debug_assert!(self.min <= srtt && srtt <= self.max, "{srtt} outside {self:?}");
    }
}

/// X of the paper.
fn paper_bytes(fast: &SubflowView, slow: &SubflowView) -> f64 {
    let srtt = |s: &SubflowView| s.srtt.unwrap_or_default().0.max(1) as f64;
    let rtts = srtt(slow) / srtt(fast);
    (fast.cwnd.as_f64() + fast.mss.as_f64() * (rtts - 1.0) / 2.0) * rtts
}

/// How long a segment will stay on S: longer the fuller its window is.
fn linger(slow: &SubflowView, seen: Extremes) -> Nanos {
    let next = slow.inflight + slow.mss;
    let estimate = if next >= slow.cwnd {
        seen.max
    } else {
        let filled = next.as_f64() / slow.cwnd.as_f64();
        seen.min + Nanos(((seen.max - seen.min).0 as f64 * filled) as u64)
    };
    estimate.max(slow.srtt.unwrap_or_default())
}

/// X of the kernel.
fn linux_bytes(fast: &SubflowView, seen: Extremes, linger: Nanos) -> f64 {
    let round = (seen.min + seen.max) / 2;
    let n = linger.0 / round.0.max(1) + 1;
    let mss = fast.mss.0.max(1);
    let segments = if fast.ssthresh == Bytes::MAX {
        (fast.cwnd.0 / mss) as f64 * ((1_u64 << n.min(MAX_DOUBLINGS)) - 1) as f64
    } else {
        let cwnd = (fast.cwnd.0 / mss).max(fast.ssthresh.0 / mss + 1);
        (cwnd as f64 + ((n - 1) / 2) as f64) * n as f64
    };
    segments * mss as f64
}

/// The margin, in thousandths.
#[derive(Clone, Copy, Debug)]
struct Lambda {
    thousandths: u64,
    /// When it was last changed; `None` before the first question.
    changed: Option<SimTime>,
    /// Data of a slower subflow has been repeated since.
    repeated: bool,
}

impl Default for Lambda {
    fn default() -> Self {
        Self { thousandths: 1200, changed: None, repeated: false }
    }
}

impl Lambda {
    fn value(self) -> f64 {
        self.thousandths as f64 / 1000.0
    }

    /// Moves by one step if the last one is `every` ago.
    fn step(&mut self, now: SimTime, every: Nanos) {
        let changed = *self.changed.get_or_insert(now);
        if now == changed || now.since(changed) < every {
            return;
        }
        let thousandths = if self.repeated { self.thousandths + 40 } else { self.thousandths - 10 };
        debug_assert!((1000..=1300).contains(&self.thousandths), "lambda {} / 1000", self.thousandths);
        *self = Self { thousandths: thousandths.clamp(1000, 1300), changed: Some(now), repeated: false };
    }
}

impl Scheduler for Blest {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        self.observe(connection.subflows);
        if matches!(connection.question, Question::WindowFull | Question::BufferFull) {
            let decision = self.opportunistic.pick(connection);
            self.lambda.repeated |= matches!(decision, Decision::ResendHead(_));
            return decision;
        }
        let (fast, slow) = match Eligible::new(connection.subflows).contest() {
            Contest::Full => return Decision::Wait,
            Contest::Settled(index) => return Decision::Send(index),
            Contest::Open { fast, slow } => (fast, slow),
        };
        self.lambda.step(connection.now, self.seen[slow.0].min);
        if self.blocks(fast, slow, connection.send_window.as_f64()) {
            return Decision::Wait;
        }
        Decision::Send(slow.0)
    }

    fn needs(&self) -> Needs {
        Needs { head: self.retransmit_head, watching: true, ..Needs::default() }
    }

    fn gauges(&self, report: Report<'_>) {
        report(None, "lambda", self.lambda.value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, pick, pick_blocked, scene_s1, scene_s2, subflow};

    /// One decision with a window of `window` from the Data ACK on.
    fn ask(blest: &mut Blest, subflows: &[SubflowView], window: u64, now_ms: u64) -> Decision {
        blest.pick(&ConnectionView {
            now: SimTime::from_millis(now_ms),
            subflows,
            unassigned: Bytes(1 << 20),
            send_window: Bytes(window),
            ..ConnectionView::default()
        })
    }

    fn extremes(min_ms: u64, max_ms: u64) -> Extremes {
        Extremes { min: Nanos::from_millis(min_ms), max: Nanos::from_millis(max_ms) }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs()
    }

    #[test]
    fn bl_1_formula_of_the_paper() {
        let [fast, slow] = scene_s1();
        let mut blest = Blest::new(BlestFormula::Paper);
        assert!(close(paper_bytes(&fast, &slow), 260_400.0));
        assert!(close(paper_bytes(&fast, &slow) * blest.lambda.value(), 312_480.0));
        assert_eq!(slow.inflight + slow.mss, Bytes(100_000 - 91_600));
        assert_eq!(ask(&mut blest, &[fast, slow], 100_000, 0), Decision::Wait);
        assert_eq!(slow.inflight + slow.mss, Bytes(400_000 - 391_600));
        assert_eq!(ask(&mut blest, &[fast, slow], 400_000, 0), Decision::Send(1));
    }

    #[test]
    fn bl_1_refinements_of_the_kernel() {
        let [fast, slow] = scene_s1();
        let (seen_fast, seen_slow) = (extremes(40, 60), extremes(550, 700));
        let linger = linger(&slow, seen_slow);
        assert_eq!(linger, Nanos::from_millis(600));
        let bytes = linux_bytes(&fast, seen_fast, linger);
        assert!(close(bytes / 1400.0, 208.0));
        let mut blest = Blest { seen: vec![seen_fast, seen_slow], ..Blest::new(BlestFormula::Linux) };
        assert!(close(bytes * blest.lambda.value(), 349_440.0));
        assert_eq!(ask(&mut blest, &[fast, slow], 100_000, 0), Decision::Wait);
        assert_eq!(ask(&mut blest, &[fast, slow], 400_000, 0), Decision::Send(1));
    }

    #[test]
    fn bl_1_lambda_sequence_bad_good() {
        let [fast, slow] = scene_s1();
        let mut blest = Blest::new(BlestFormula::Linux);
        let resend = |blest: &mut Blest| {
            let roomy = SubflowView { available: true, ..fast };
            assert_eq!(pick_blocked(blest, &[roomy, full(slow)], &[1]), Decision::ResendHead(0));
        };
        let lambda = |blest: &mut Blest, now_ms| {
            ask(blest, &[fast, slow], 100_000, now_ms);
            blest.lambda.value()
        };
        let mut calm = Blest::new(BlestFormula::Linux);
        assert!(
            close(lambda(&mut calm, 0), 1.2) && close(lambda(&mut calm, 600), 1.19),
            "nothing was resent"
        );
        assert!(close(lambda(&mut blest, 0), 1.2));
        resend(&mut blest);
        assert!(close(lambda(&mut blest, 599), 1.2), "not before its round trip is over");
        assert!(close(lambda(&mut blest, 600), 1.24));
        assert!(close(lambda(&mut blest, 1200), 1.23));
        for i in 3..40 {
            lambda(&mut blest, i * 600);
        }
        assert!(close(lambda(&mut blest, 40 * 600), 1.0), "its floor");
        for i in 41..60 {
            resend(&mut blest);
            lambda(&mut blest, i * 600);
        }
        assert!(close(blest.lambda.value(), 1.3), "its ceiling");
        let mut seen = Vec::new();
        blest.gauges(&mut |subflow, name, value| seen.push((subflow, name, value)));
        assert_eq!(seen, [(None, "lambda", 1.3)]);
    }

    #[test]
    fn a_fuller_window_lingers_longer() {
        let seen = extremes(500, 700);
        let at = |inflight| linger(&subflow(500, 10, inflight), seen);
        assert_eq!(at(0), Nanos::from_millis(520));
        assert_eq!(at(4), Nanos::from_millis(600));
        assert_eq!(at(9), Nanos::from_millis(700));
    }

    #[test]
    fn initial_slow_start_doubles_sixteen_times_at_most() {
        let fast = subflow(50, 10, 10);
        let segments =
            |linger_ms| linux_bytes(&fast, extremes(50, 50), Nanos::from_millis(linger_ms)) / 1400.0;
        assert!(close(segments(49), 10.0));
        assert!(close(segments(100), 70.0));
        assert!(close(segments(50_000), 655_350.0));
    }

    #[test]
    fn scene_s1_depends_on_the_window_and_s2_takes_the_fastest() {
        for formula in [BlestFormula::Linux, BlestFormula::Paper] {
            assert_eq!(ask(&mut Blest::new(formula), &scene_s1(), 100_000, 0), Decision::Wait);
            assert_eq!(ask(&mut Blest::new(formula), &scene_s1(), 400_000, 0), Decision::Send(1));
            assert_eq!(pick(&mut Blest::new(formula), &scene_s2()), Decision::Send(0));
        }
    }

    #[test]
    fn without_window_it_waits_for_the_fastest_only() {
        let [fast, slow] = scene_s1();
        assert_eq!(ask(&mut Blest::new(BlestFormula::Linux), &[fast, slow], 21_000, 0), Decision::Wait);
        let idle = SubflowView { inflight: Bytes::ZERO, ..fast };
        assert_eq!(
            ask(&mut Blest::new(BlestFormula::Linux), &[idle, slow], 7_000, 0),
            Decision::Send(1),
            "a probe goes out"
        );
        assert_eq!(
            ask(&mut Blest::new(BlestFormula::Linux), &[slow, full(slow)], 14_000, 0),
            Decision::Send(0)
        );
    }

    #[test]
    fn what_was_seen_survives_others_and_ends_with_the_subflow() {
        let [fast, slow] = scene_s1();
        let mut blest = Blest::new(BlestFormula::Linux);
        pick(&mut blest, &[fast, slow]);
        pick(&mut blest, &[fast]);
        pick(
            &mut blest,
            &[fast, SubflowView { usable: false, available: false, ..slow }, subflow(70, 10, 0)],
        );
        assert_eq!(blest.seen, [extremes(50, 50), extremes(600, 600), extremes(70, 70)]);
        pick(&mut blest, &[fast, SubflowView { srtt: None, ..slow }]);
        assert_eq!(blest.seen[1], Extremes::default());
        assert_eq!(pick(&mut blest, &[]), Decision::Wait);
    }
}
