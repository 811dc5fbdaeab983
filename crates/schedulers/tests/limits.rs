//! The limiting cases of the schedulers that may hold back, over arbitrary histories.

mod common;

use common::{connection, history, minrtt, pick, scheduler, subflow};
use proptest::collection::vec;
use proptest::prelude::*;
use registry::OptionValue;
use schedulers::{ConnectionView, Decision, Scheduler, SubflowView};
use units::{Bytes, Nanos, SimTime};

fn ecf(linux_delta: bool) -> Box<dyn Scheduler> {
    scheduler("ecf", &[("linux_delta", OptionValue::Flag(linux_delta))])
}

fn blest(formula: &str) -> Box<dyn Scheduler> {
    scheduler("blest", &[("formula", OptionValue::Choice(formula.into()))])
}

/// One decision at `at` with `unassigned` bytes left and a window of `send_window` from the Data ACK on.
fn ask(
    scheduler: &mut dyn Scheduler,
    subflows: &[SubflowView],
    at: u64,
    unassigned: u64,
    send_window: u64,
) -> Decision {
    let now = SimTime::from_millis(at);
    let (unassigned, send_window) = (Bytes(unassigned), Bytes(send_window));
    scheduler.pick(&ConnectionView { now, subflows, unassigned, send_window, ..ConnectionView::default() })
}

/// Round-trip times of a millisecond at least.
fn not_instant(subflows: &[SubflowView]) -> Vec<SubflowView> {
    let floor = |srtt: Nanos| srtt.max(Nanos::from_millis(1));
    subflows.iter().map(|s| SubflowView { srtt: s.srtt.map(floor), ..*s }).collect()
}

/// Fresh data over subflows of one round-trip time.
fn alike(srtt: u64) -> impl Strategy<Value = Vec<SubflowView>> {
    let equal = move |s: SubflowView| SubflowView { srtt: Some(Nanos(srtt)), carried: false, ..s };
    vec(subflow().prop_map(equal), 0..6).prop_map(connection)
}

fn formula() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("linux"), Just("paper")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn with_endless_data_ecf_is_minrtt(history in history(), linux_delta: bool) {
        let mut ecf = ecf(linux_delta);
        for subflows in history.iter().map(|subflows| not_instant(subflows)) {
            let expected = minrtt(&subflows);
            prop_assert_eq!(ask(ecf.as_mut(), &subflows, 0, u64::MAX, 1 << 30), expected);
        }
    }

    #[test]
    fn with_an_endless_window_blest_is_minrtt(history in history(), formula in formula()) {
        let mut blest = blest(formula);
        for (i, subflows) in history.iter().map(|subflows| not_instant(subflows)).enumerate() {
            let expected = minrtt(&subflows);
            prop_assert_eq!(ask(blest.as_mut(), &subflows, 100 * i as u64, 1 << 30, u64::MAX), expected);
        }
    }

    #[test]
    fn with_endless_lambda_the_mitigation_is_minrtt(history in history()) {
        let mut mitigated = scheduler("minrtt_bm", &[("lambda", OptionValue::Number(1e6))]);
        for subflows in &history {
            prop_assert_eq!(pick(mitigated.as_mut(), subflows), minrtt(subflows));
        }
    }

    #[test]
    fn they_never_wait_while_the_fastest_has_room(
        history in history(),
        formula in formula(),
        k in 0..1_000_000_u64,
        window in 0..1_000_000_u64,
    ) {
        let mut schedulers = [ecf(false), blest(formula)];
        for (i, subflows) in history.iter().enumerate() {
            let subflows: Vec<_> = subflows.iter().map(|s| SubflowView { carried: false, ..*s }).collect();
            let usable = || subflows.iter().filter(|s| s.usable && s.srtt.is_some());
            let main = |s: &&SubflowView| !s.backup || subflows.iter().all(|s| s.backup || !s.usable);
            let fastest = usable().filter(main).min_by_key(|s| s.srtt);
            for scheduler in &mut schedulers {
                let decision = ask(scheduler.as_mut(), &subflows, 100 * i as u64, k, window);
                if fastest.is_some_and(|s| s.available) {
                    prop_assert_ne!(decision, Decision::Wait);
                }
            }
        }
    }

    #[test]
    fn with_equal_delays_ecf_never_waits_for_a_window(
        history in vec(alike(80_000_000), 1..20),
        share in 0.0..=1.0_f64,
    ) {
        let mut ecf = ecf(false);
        for subflows in &history {
            let least = subflows.iter().map(|s| s.cwnd.0).min().unwrap_or(0);
            let k = (least as f64 * share) as u64;
            let positive: Vec<_> =
                subflows.iter().map(|s| SubflowView { cwnd: s.cwnd + Bytes(1), ..*s }).collect();
            prop_assert_eq!(ask(ecf.as_mut(), &positive, 0, k, 1 << 30), minrtt(&positive));
        }
    }

    #[test]
    fn with_equal_delays_blest_waits_only_for_a_small_window(
        subflows in alike(80_000_000),
        window in 0..400_000_u64,
    ) {
        let decision = ask(blest("paper").as_mut(), &subflows, 0, 1 << 30, window);
        if let (Decision::Wait, Decision::Send(slow)) = (decision, minrtt(&subflows)) {
            let need = subflows.iter().map(|s| s.cwnd.as_f64() * 1.2).fold(0.0, f64::max);
            let taken = subflows[slow].inflight + subflows[slow].mss;
            prop_assert!(need + taken.as_f64() > Bytes(window).as_f64());
        }
    }

    /// The kernel's estimate looks one round further: two windows in avoidance, three in the first slow start.
    #[test]
    fn with_equal_delays_blest_of_linux_waits_only_for_a_small_window(
        subflows in alike(80_000_000),
        ssthresh in prop_oneof![Just(u64::MAX), 0..100_000_u64],
        window in 0..800_000_u64,
    ) {
        let with = |s: &SubflowView| SubflowView { ssthresh: Bytes(ssthresh), ..*s };
        let subflows: Vec<_> = subflows.iter().map(with).collect();
        let decision = ask(blest("linux").as_mut(), &subflows, 0, 1 << 30, window);
        if let (Decision::Wait, Decision::Send(slow)) = (decision, minrtt(&subflows)) {
            let rounds = |s: &SubflowView| match s.ssthresh {
                Bytes::MAX => 3.0 * s.cwnd.as_f64(),
                ssthresh => 2.0 * s.cwnd.max(ssthresh + s.mss).as_f64(),
            };
            let need = subflows.iter().map(|s| 1.2 * rounds(s)).fold(0.0, f64::max);
            let taken = subflows[slow].inflight + subflows[slow].unsent + subflows[slow].mss;
            prop_assert!(need + taken.as_f64() > Bytes(window).as_f64());
        }
    }
}
