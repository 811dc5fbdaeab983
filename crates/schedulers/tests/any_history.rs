//! Every registered scheduler over every history of subflows, and the limiting cases of the round robins.

mod common;

use common::{history, open, pick, subflow};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use schedulers::{Algorithm, Decision, Registry, RoundRobin, SubflowView, WeightedRoundRobin};
use units::{Bytes, Options};

fn any_row() -> impl Strategy<Value = Algorithm> {
    select(Registry::builtin().iter().copied().collect::<Vec<_>>())
}

/// Those that send whenever somebody has room; a scheduler that may hold back is not entered here.
fn work_conserving_row() -> impl Strategy<Value = Algorithm> {
    let registry = Registry::builtin();
    select(
        ["minrtt", "roundrobin", "wrr", "lws", "lts", "hsr"]
            .map(|name| *registry.get(name).expect("registered"))
            .to_vec(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_sent_on_an_unusable_subflow(row in any_row(), history in history()) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        for subflows in &history {
            if let Decision::Send(index) = pick(scheduler.as_mut(), subflows) {
                prop_assert!(subflows[index].usable, "{}", row.name);
            }
        }
    }

    #[test]
    fn one_usable_subflow_is_used_whenever_it_has_room(
        row in any_row(),
        history in history(),
        only in subflow(),
        at in 0..3_usize,
    ) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        history.iter().for_each(|subflows| _ = pick(scheduler.as_mut(), subflows));
        let gone = SubflowView { usable: false, available: false, ..only };
        let mut subflows = [gone; 3];
        subflows[at] = SubflowView { usable: true, available: true, unsent: Bytes::ZERO, inflight: Bytes::ZERO, ..only };
        prop_assert_eq!(pick(scheduler.as_mut(), &subflows), Decision::Send(at), "{}", row.name);
    }

    /// Waiting with room somewhere is legal only if an acknowledgement is certain to ask again.
    #[test]
    fn nobody_waits_for_ever(row in any_row(), history in history()) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        for subflows in &history {
            let fresh: Vec<_> = subflows.iter().map(|s| SubflowView { carried: false, ..*s }).collect();
            if pick(scheduler.as_mut(), &fresh) == Decision::Wait && fresh.iter().any(|s| s.available) {
                let acknowledges = |s: &SubflowView| s.usable && s.inflight + s.unsent > Bytes::ZERO;
                prop_assert!(fresh.iter().any(acknowledges), "{}", row.name);
            }
        }
    }

    #[test]
    fn new_data_waits_only_if_nobody_has_room(row in work_conserving_row(), history in history()) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        for subflows in &history {
            let fresh: Vec<_> = subflows.iter().map(|s| SubflowView { carried: false, ..*s }).collect();
            match pick(scheduler.as_mut(), &fresh) {
                Decision::Send(index) => prop_assert!(fresh[index].available, "{}", row.name),
                Decision::Wait => prop_assert!(!fresh.iter().any(|s| s.available), "{}", row.name),
            }
        }
    }

    #[test]
    fn a_reinjection_repeats_a_path_only_if_all_have_carried_it(
        row in work_conserving_row(),
        history in history(),
    ) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        for subflows in &history {
            if let Decision::Send(index) = pick(scheduler.as_mut(), subflows) {
                let another = |s: &SubflowView| s.available && !s.carried;
                prop_assert!(!subflows[index].carried || !subflows.iter().any(another), "{}", row.name);
            }
        }
    }

    #[test]
    fn equal_weights_are_round_robin(history in history(), weight in 0.001..1e6_f64, cwnd_limited: bool) {
        let mut weighted = WeightedRoundRobin::with_weights(vec![weight; 6], cwnd_limited);
        let mut plain = RoundRobin::new(1, cwnd_limited);
        for subflows in &history {
            prop_assert_eq!(pick(&mut weighted, subflows), pick(&mut plain, subflows));
        }
    }

    #[test]
    fn shares_of_whole_rounds_are_those_of_the_weights(
        weights in vec(1..9_u64, 2..5),
        cwnd_limited: bool,
    ) {
        let least = *weights.iter().min().expect("not empty");
        let quota = |w: u64| libm::round(w as f64 / least as f64) as usize;
        let round: usize = weights.iter().map(|&w| quota(w)).sum();
        let mut scheduler =
            WeightedRoundRobin::with_weights(weights.iter().map(|&w| w as f64).collect(), cwnd_limited);
        let subflows = vec![open(); weights.len()];
        let mut sent = vec![0; weights.len()];
        for _ in 0..10 * round {
            if let Decision::Send(index) = pick(&mut scheduler, &subflows) {
                sent[index] += 1;
            }
        }
        let expected: Vec<usize> = weights.iter().map(|&w| 10 * quota(w)).collect();
        prop_assert_eq!(sent, expected);
    }
}

#[test]
fn every_row_builds_with_its_defaults_and_names_are_unique() {
    let registry = Registry::builtin();
    let mut names: Vec<&str> = registry.iter().map(|row| row.name).collect();
    for row in registry.iter() {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        assert_eq!(pick(scheduler.as_mut(), &[open()]), Decision::Send(0), "{}", row.name);
        assert!(!row.summary.is_empty() && !row.source.is_empty(), "{}", row.name);
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in [
        "minrtt",
        "roundrobin",
        "wrr",
        "ecf",
        "blest",
        "lws",
        "lts",
        "hsr",
        "minrtt_bm",
        "espc",
        "minratio_thesis",
    ] {
        assert!(registry.get(name).is_some(), "{name}");
    }
}
