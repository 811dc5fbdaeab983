//! Every registered scheduler over every history of subflows, and the limiting cases of the round robins.

mod common;

use common::{connection, history, minrtt, open, pick, scheduler, subflow};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use registry::{OptionValue, Options};
use schedulers::{
    Algorithm, ConnectionView, Decision, Needs, Question, Queueing, Registry, Scheduler, SubflowSet,
    SubflowView,
};
use units::{Bytes, SimTime};

fn weighted(weights: Vec<f64>, cwnd_limited: bool) -> Box<dyn Scheduler> {
    let cwnd_limited = ("cwnd_limited", OptionValue::Flag(cwnd_limited));
    scheduler("wrr", &[("weights", OptionValue::Numbers(weights)), cwnd_limited])
}

fn any_row() -> impl Strategy<Value = Algorithm> {
    select(Registry::builtin().iter().copied().collect::<Vec<_>>())
}

/// Schedulers that send whenever a subflow has room; one that may hold back is not entered here.
fn work_conserving_row() -> impl Strategy<Value = Algorithm> {
    let registry = Registry::builtin();
    select(
        [
            "minrtt",
            "minrtt_rp",
            "roundrobin",
            "wrr",
            "lws",
            "lts",
            "hsr",
            "minratio_thesis",
            "redundant",
            "primary_first",
            "roundrobin_window",
            "roundrobin_pass",
        ]
        .map(|name| *registry.get(name).expect("registered"))
        .to_vec(),
    )
}

/// A question at some time.
#[derive(Clone, Debug)]
struct Moment {
    at: u64,
    question: usize,
    subflows: Vec<SubflowView>,
    lags: Vec<u64>,
    head: u64,
    window: u64,
}

fn moment() -> impl Strategy<Value = Moment> {
    let subflows = vec(subflow(), 0..6).prop_map(connection);
    let rest = (vec(prop_oneof![Just(0), 1..50_000_u64], 6), 0..64_u64, 0..200_000_u64);
    (0..100_000_u64, 0..4_usize, subflows, rest).prop_map(|(at, question, subflows, (lags, head, window))| {
        Moment { at, question, subflows, lags, head, window }
    })
}

/// Questions in the order of time.
fn moments() -> impl Strategy<Value = Vec<Moment>> {
    vec(moment(), 1..40).prop_map(|mut history| {
        history.sort_by_key(|moment| moment.at);
        history
    })
}

impl Moment {
    /// The view that the connection gives to a scheduler with these needs.
    fn view(&self, needs: Needs) -> ConnectionView<'_> {
        let question = match self.question {
            1 => Question::Again,
            2 if needs.head => Question::WindowFull,
            3 if needs.head => Question::BufferFull,
            2 | 3 if needs.copies => Question::NothingNew,
            _ => Question::New,
        };
        let blocked = matches!(question, Question::WindowFull | Question::BufferFull);
        ConnectionView {
            now: SimTime::from_millis(self.at),
            question,
            subflows: &self.subflows,
            unassigned: Bytes(self.window),
            len: Bytes(self.window.min(1400)),
            send_window: Bytes(2 * self.window),
            window_left: Bytes(self.window),
            head: SubflowSet(if blocked { self.head & ((1 << self.subflows.len()) - 1) } else { 0 }),
        }
    }

    /// With what each subflow lacks.
    fn with_lags(mut self) -> Self {
        self.subflows.iter_mut().zip(&self.lags).for_each(|(s, &lag)| s.lag = Bytes(lag));
        self
    }
}

/// The promises of each answer.
fn is_legal(decision: Decision, connection: &ConnectionView<'_>, needs: Needs) -> bool {
    let at = |index: usize| connection.subflows[index];
    let fresh = connection.question == Question::New;
    match decision {
        Decision::Wait => true,
        Decision::Send(index) => {
            let queues = match needs.queueing {
                Queueing::Never => false,
                Queueing::SendBuffer if at(index).unsent >= at(index).unsent_limit => false,
                Queueing::SendBuffer if needs.fragments => at(index).held < at(index).send_buffer,
                Queueing::SendBuffer => at(index).held + at(index).mss <= at(index).send_buffer,
                Queueing::Unlimited => true,
            };
            let asked = fresh || connection.question == Question::Again;
            asked && at(index).usable && (at(index).available || fresh && queues)
        }
        Decision::Copy(set) => {
            let lacks = |index| at(index).available && at(index).lag > Bytes::ZERO;
            needs.copies && !set.is_empty() && set.iter().all(lacks)
        }
        Decision::ResendHead(index) => {
            let asked = matches!(connection.question, Question::WindowFull | Question::BufferFull);
            asked && at(index).available && !connection.head.contains(index)
        }
        Decision::Penalise(set) => {
            let asked = connection.question == Question::WindowFull;
            asked && !set.is_empty() && set.iter().all(|o| connection.head.contains(o) && at(o).open)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The promises on which the connection relies, for every question after any history.
    #[test]
    fn every_answer_is_legal(row in any_row(), history in moments()) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        let needs = scheduler.needs();
        for moment in &history {
            let connection = moment.view(needs);
            let decision = scheduler.pick(&connection);
            prop_assert!(is_legal(decision, &connection, needs), "{}: {decision:?} to {connection:?}", row.name);
            scheduler.redistributes(&connection);
            scheduler.gauges(&mut |_, name, value| assert!(value.is_finite(), "{}: {name}", row.name));
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
        let free = SubflowView { unsent: Bytes::ZERO, inflight: Bytes::ZERO, held: Bytes::ZERO, ..only };
        subflows[at] = SubflowView { usable: true, available: true, ..free };
        prop_assert_eq!(pick(scheduler.as_mut(), &subflows), Decision::Send(at), "{}", row.name);
    }

    /// Waiting with room somewhere is legal only if an acknowledgement is certain to ask again.
    #[test]
    fn no_scheduler_waits_for_ever(row in any_row(), history in history()) {
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
    fn new_data_waits_only_if_no_subflow_has_room(row in work_conserving_row(), history in history()) {
        let mut scheduler = (row.build)(&Options::defaults(row.options));
        for subflows in &history {
            let fresh: Vec<_> = subflows.iter().map(|s| SubflowView { carried: false, ..*s }).collect();
            match pick(scheduler.as_mut(), &fresh) {
                Decision::Send(index) => prop_assert!(fresh[index].available, "{}", row.name),
                Decision::Wait => prop_assert!(!fresh.iter().any(|s| s.available), "{}", row.name),
                other => prop_assert!(false, "{}: {other:?}", row.name),
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

    /// Copies first where something is lacking, whichever subflow has the turn, and nothing new when nothing new may leave.
    #[test]
    fn redundant_copies_what_is_lacking(history in moments()) {
        let mut scheduler = scheduler("redundant", &[]);
        for moment in history.into_iter().map(Moment::with_lags) {
            let connection = moment.view(scheduler.needs());
            match scheduler.pick(&connection) {
                Decision::Send(index) if connection.question == Question::New => {
                    prop_assert_eq!(connection.subflows[index].lag, Bytes::ZERO);
                }
                decision => prop_assert!(is_legal(decision, &connection, scheduler.needs()), "{decision:?}"),
            }
        }
    }

    /// With a window that never fills the remedies are never asked for.
    #[test]
    fn without_a_full_window_rp_is_minrtt(history in history()) {
        let mut scheduler = scheduler("minrtt_rp", &[]);
        for subflows in &history {
            prop_assert_eq!(pick(scheduler.as_mut(), subflows), minrtt(subflows));
        }
    }

    #[test]
    fn equal_weights_are_round_robin(history in history(), weight in 0.001..1e6_f64, cwnd_limited: bool) {
        let mut weighted = weighted(vec![weight; 6], cwnd_limited);
        let mut plain = scheduler("roundrobin", &[("cwnd_limited", OptionValue::Flag(cwnd_limited))]);
        for subflows in &history {
            prop_assert_eq!(pick(weighted.as_mut(), subflows), pick(plain.as_mut(), subflows));
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
        let mut scheduler = weighted(weights.iter().map(|&w| w as f64).collect(), cwnd_limited);
        let subflows = vec![open(); weights.len()];
        let mut sent = vec![0; weights.len()];
        for _ in 0..10 * round {
            if let Decision::Send(index) = pick(scheduler.as_mut(), &subflows) {
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
    assert_eq!(count, 21);
    for name in [
        "minrtt",
        "minrtt_rp",
        "minrtt_bm",
        "minrtt_thesis",
        "minratio",
        "minratio_thesis",
        "ecf",
        "lws",
        "lts",
        "hsr",
        "espc",
        "blest",
        "otias",
        "daps",
        "roundrobin",
        "wrr",
        "redundant",
        "sttf",
        "primary_first",
        "roundrobin_pass",
        "roundrobin_window",
    ] {
        assert!(registry.get(name).is_some(), "{name}");
    }
}
