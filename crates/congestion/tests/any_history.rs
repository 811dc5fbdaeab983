//! Every registered controller under every history: the window stays a window.

use congestion::{Ack, Algorithm, CongestionControl, Growth, Loss, PathView, Paths, Registry, Setup};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use units::{Bytes, Nanos, OptionKind, OptionSpec, OptionValue, Options, SimTime};

/// One call of the trait.
#[derive(Clone, Debug)]
enum Event {
    Established(Option<u64>),
    Ack { acked: u64, rtt: Option<u64>, sent: u64, cwnd_limited: bool },
    DupAck,
    EnterRecovery { flight: u64, cwnd_limited: bool },
    RecoveryAck { acked: u64 },
    ExitRecovery,
    Rto { flight: u64, first_timeout: bool },
    IdleRestart { window: u64 },
    SetCwnd { window: u64 },
}

/// Sizes from nothing to absurd, most of them sane.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200_000_u64, 2 => 0..5000_u64, 1 => 0..1_u64 << 50]
}

fn duration() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1_000_000..2_000_000_000_u64, 1 => 0..1000_u64, 1 => 0..1_u64 << 62]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => proptest::option::of(duration()).prop_map(Event::Established),
        12 => (size(), proptest::option::of(duration()), size(), any::<bool>())
            .prop_map(|(acked, rtt, sent, cwnd_limited)| Event::Ack { acked, rtt, sent, cwnd_limited }),
        1 => Just(Event::DupAck),
        2 => (size(), any::<bool>())
            .prop_map(|(flight, cwnd_limited)| Event::EnterRecovery { flight, cwnd_limited }),
        1 => size().prop_map(|acked| Event::RecoveryAck { acked }),
        1 => Just(Event::ExitRecovery),
        1 => (size(), any::<bool>()).prop_map(|(flight, first_timeout)| Event::Rto { flight, first_timeout }),
        1 => prop_oneof![size(), Just(u64::MAX)].prop_map(|window| Event::IdleRestart { window }),
        1 => size().prop_map(|window| Event::SetCwnd { window }),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    let limit = select(vec![1, 2, 8, u32::MAX]);
    (1..=9000_u64, 1..=100_u64, prop_oneof![Just(u64::MAX), size()], limit, any::<bool>()).prop_map(
        |(mss, segments, ssthresh, slow_start_limit, byte_counting)| Setup {
            mss: Bytes(mss),
            initial_window: Bytes(mss * segments),
            initial_ssthresh: Bytes(ssthresh),
            growth: Growth { slow_start_limit, byte_counting },
        },
    )
}

/// No view, or the path itself and up to four siblings, some without a sample.
fn siblings() -> impl Strategy<Value = Vec<PathView>> {
    let srtt = prop_oneof![1 => Just(0.0), 8 => 1e-6..10.0_f64];
    let measured = || prop_oneof![1 => Just(0.0), 4 => 1.0..1e12_f64];
    let view = (srtt, 1.0..1e12_f64, 1.0..9000.0_f64, any::<bool>(), measured(), measured()).prop_map(
        |(srtt, cwnd, mss, coupled, loss_interval, measured_rate)| PathView {
            cwnd,
            srtt,
            mss,
            coupled: coupled && srtt > 0.0,
            loss_interval,
            measured_rate,
        },
    );
    vec(view, 0..=5)
}

/// A controller and the little of its connection that makes calls legal.
struct History {
    cc: Box<dyn CongestionControl>,
    now: SimTime,
    srtt: Nanos,
    una: u64,
    nxt: u64,
    mss: u64,
    views: Vec<PathView>,
}

impl History {
    fn loss(&self, flight: u64, cwnd_limited: bool, first_timeout: bool) -> Loss {
        Loss { now: self.now, flight: Bytes(flight), cwnd_limited, srtt: self.srtt, first_timeout }
    }

    fn ack(&mut self, acked: u64, rtt: Option<u64>, sent: u64, cwnd_limited: bool) -> Ack {
        self.srtt = rtt.map_or(self.srtt, Nanos);
        self.una = self.una.saturating_add(acked);
        self.nxt = self.nxt.saturating_add(sent).max(self.una);
        Ack {
            now: self.now,
            acked: Bytes(acked),
            delivered: Bytes(acked),
            rtt: rtt.map(Nanos),
            srtt: self.srtt,
            flight_before: Bytes(acked),
            snd_una: self.una,
            snd_nxt: self.nxt,
            cwnd_limited,
        }
    }

    fn apply(&mut self, event: &Event, pause: u64) {
        self.now += Nanos(pause);
        let before = self.cc.cwnd();
        let mut views = std::mem::take(&mut self.views);
        if let Some(me) = views.first_mut() {
            (me.cwnd, me.mss, me.srtt) = (before.as_f64(), self.mss as f64, self.srtt.as_secs_f64());
            me.coupled &= me.srtt > 0.0;
            (me.loss_interval, me.measured_rate) = (self.cc.loss_interval(), self.cc.measured_rate());
        }
        let paths = Paths { all: &views, me: 0 };
        match *event {
            Event::Established(srtt) => {
                self.srtt = srtt.map_or(self.srtt, Nanos);
                self.cc.on_established(self.now, srtt.map(Nanos));
            }
            Event::Ack { acked, rtt, sent, cwnd_limited } => {
                let ack = self.ack(acked, rtt, sent, cwnd_limited);
                self.cc.on_ack(&ack, paths);
                assert!(
                    cwnd_limited || self.cc.cwnd() <= before,
                    "grew although something else was the limit"
                );
            }
            Event::DupAck => self.cc.on_dup_ack(self.now),
            Event::EnterRecovery { flight, cwnd_limited } => {
                self.cc.on_enter_recovery(&self.loss(flight, cwnd_limited, false), paths);
                assert!(self.cc.ssthresh() < Bytes::MAX, "a loss sets the threshold");
            }
            Event::RecoveryAck { acked } => {
                let ack = self.ack(acked, None, 0, true);
                self.cc.on_recovery_ack(&ack);
            }
            Event::ExitRecovery => self.cc.on_exit_recovery(self.now),
            Event::Rto { flight, first_timeout } => {
                let ssthresh = self.cc.ssthresh();
                self.cc.on_rto(&self.loss(flight, true, first_timeout), paths);
                assert!(first_timeout || self.cc.ssthresh() == ssthresh, "ssthresh is reduced once per data");
                assert_eq!(self.cc.cwnd(), Bytes(self.mss), "one segment after a timeout");
            }
            Event::IdleRestart { window } => {
                self.cc.on_idle_restart(self.now, Bytes(window));
                assert_eq!(self.cc.cwnd(), before.min(Bytes(window.max(self.mss))), "capped, never raised");
            }
            Event::SetCwnd { window } => self.cc.set_cwnd(Bytes(window)),
        }
        self.views = views;
        assert!(self.cc.cwnd() >= Bytes(self.mss), "at least one segment");
    }
}

/// Defaults with some options replaced by others that are allowed.
fn options_of(specs: &'static [OptionSpec]) -> impl Strategy<Value = Options> {
    let defaults = Options::defaults(specs);
    let values: Vec<_> = specs
        .iter()
        .map(|spec| match spec.kind {
            OptionKind::Flag => any::<bool>().prop_map(OptionValue::Flag).boxed(),
            OptionKind::Number { min, max } => (min..=max).prop_map(OptionValue::Number).boxed(),
            OptionKind::Integer { min, max } => (min..=max).prop_map(OptionValue::Integer).boxed(),
            OptionKind::Choice(words) => {
                select(words).prop_map(|w: &str| OptionValue::Choice(w.into())).boxed()
            }
            _ => Just(defaults.get(spec.name).expect("all are declared").clone()).boxed(),
        })
        .collect();
    values.prop_map(|values| Options::new(specs.iter().map(|s| s.name).zip(values).collect()))
}

fn algorithm_and_options() -> impl Strategy<Value = (Algorithm, Options)> {
    let rows: Vec<Algorithm> = Registry::builtin().iter().copied().collect();
    select(rows).prop_flat_map(|row| (Just(row), options_of(row.options)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_window_stays_finite_and_at_least_one_segment(
        (row, options) in algorithm_and_options(),
        setup in setup(),
        views in siblings(),
        events in vec((event(), duration()), 0..60),
    ) {
        let cc = (row.build)(&setup, &options);
        let mut history =
            History { cc, now: SimTime::ZERO, srtt: Nanos::ZERO, una: 0, nxt: 0, mss: setup.mss.0, views };
        for (event, pause) in &events {
            history.apply(event, *pause);
            // An infinite or undefined real would show in the state.
            let state = format!("{:?}", history.cc);
            prop_assert!(!state.contains("NaN") && !state.contains("cwnd: inf"), "{} {state}", row.name);
        }
    }
}

#[test]
fn every_row_builds_with_its_defaults_and_names_are_unique() {
    let registry = Registry::builtin();
    let setup = Setup {
        mss: Bytes(1460),
        initial_window: Bytes(14_600),
        initial_ssthresh: Bytes::MAX,
        growth: Growth { slow_start_limit: 1, byte_counting: true },
    };
    let mut names: Vec<&str> = registry.iter().map(|row| row.name).collect();
    for row in registry.iter() {
        let cc = (row.build)(&setup, &Options::defaults(row.options));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (Bytes(14_600), Bytes::MAX), "{}", row.name);
        assert!(!row.summary.is_empty() && !row.source.is_empty(), "{}", row.name);
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in [
        "newreno",
        "cubic",
        "lia",
        "olia",
        "balia",
        "wvegas",
        "westwood",
        "vegas",
        "vegas_linux",
        "hybla",
        "star",
    ] {
        assert!(registry.get(name).is_some(), "{name}");
    }
}
