//! Every registered controller under every history: the window stays a window.

use congestion::{
    Ack, Algorithm, Capabilities, CongestionControl, Dummies, DummyAnswer, Growth, Loss, Pacing, PathView,
    Paths, RateSample, Registry, Restart, Setup, SharedState, SsthreshFrom,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use registry::{OptionKind, OptionSpec, OptionValue, Options};
use units::{Bytes, Nanos, SimTime};

/// The state of the network as an ACK shows it.
#[derive(Clone, Debug)]
struct Network {
    pipe: u64,
    lost: u64,
    rwnd: u64,
    marked: bool,
    /// Bytes delivered, interval, bytes since the segment was sent, shortage of data.
    rate: Option<(u64, u64, u64, bool)>,
}

fn network() -> impl Strategy<Value = Network> {
    let rate = (size(), duration(), size(), any::<bool>());
    (size(), prop_oneof![4 => Just(0), 1 => size()], size(), any::<bool>(), proptest::option::of(rate))
        .prop_map(|(pipe, lost, rwnd, marked, rate)| Network { pipe, lost, rwnd, marked, rate })
}

/// One call of the trait.
#[derive(Clone, Debug)]
enum Event {
    Established(Option<u64>),
    Ack {
        acked: u64,
        rtt: Option<u64>,
        sent: u64,
        cwnd_limited: bool,
        network: Network,
    },
    DupAck,
    EnterRecovery {
        flight: u64,
        cwnd_limited: bool,
    },
    /// A congestion mark.
    Mark {
        flight: u64,
    },
    RecoveryAck {
        acked: u64,
    },
    ExitRecovery,
    Rto {
        flight: u64,
        first_timeout: bool,
    },
    SpuriousTimeout,
    IdleRestart {
        window: u64,
    },
    SetCwnd {
        window: u64,
    },
    SetSsthresh {
        threshold: u64,
    },
    /// `count` dummies are answered.
    Answers {
        count: u64,
        rwnd: u64,
    },
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
        12 => (size(), proptest::option::of(duration()), size(), any::<bool>(), network()).prop_map(
            |(acked, rtt, sent, cwnd_limited, network)| Event::Ack { acked, rtt, sent, cwnd_limited, network }
        ),
        1 => Just(Event::DupAck),
        2 => (size(), any::<bool>())
            .prop_map(|(flight, cwnd_limited)| Event::EnterRecovery { flight, cwnd_limited }),
        1 => size().prop_map(|flight| Event::Mark { flight }),
        1 => size().prop_map(|acked| Event::RecoveryAck { acked }),
        1 => Just(Event::ExitRecovery),
        1 => (size(), any::<bool>()).prop_map(|(flight, first_timeout)| Event::Rto { flight, first_timeout }),
        1 => Just(Event::SpuriousTimeout),
        1 => prop_oneof![size(), Just(u64::MAX)].prop_map(|window| Event::IdleRestart { window }),
        1 => size().prop_map(|window| Event::SetCwnd { window }),
        1 => size().prop_map(|threshold| Event::SetSsthresh { threshold }),
        1 => (0..100_u64, size()).prop_map(|(count, rwnd)| Event::Answers { count, rwnd }),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    let limit = select(vec![1, 2, 8, u32::MAX]);
    (1..=9000_u64, 1..=100_u64, prop_oneof![Just(u64::MAX), size()], limit, any::<bool>(), any::<bool>())
        .prop_map(|(mss, segments, ssthresh, slow_start_limit, byte_counting, paced)| Setup {
            mss: Bytes(mss),
            initial_window: Bytes(mss * segments),
            initial_ssthresh: Bytes(ssthresh),
            growth: Growth { slow_start_limit, byte_counting },
            ssthresh_from: if paced { SsthreshFrom::Cwnd } else { SsthreshFrom::Flight },
            paced,
            offload: paced,
        })
}

/// No view, or the path itself and up to four siblings, some without a sample.
fn siblings() -> impl Strategy<Value = Vec<PathView>> {
    let srtt = prop_oneof![1 => Just(0.0), 8 => 1e-6..10.0_f64];
    let measured = || prop_oneof![1 => Just(0.0), 4 => 1.0..1e12_f64];
    let view = (srtt, 1.0..1e12_f64, 1.0..9000.0_f64, any::<bool>(), measured(), measured()).prop_map(
        |(srtt, cwnd, mss, coupled, loss_interval, measured_rate)| PathView {
            loss_interval,
            measured_rate,
            ..PathView::new(cwnd, srtt, mss, coupled && srtt > 0.0)
        },
    );
    vec(view, 0..=5)
}

/// A controller and the little of its connection that makes calls legal.
struct History {
    cc: Box<dyn CongestionControl>,
    can: Capabilities,
    now: SimTime,
    srtt: Nanos,
    una: u64,
    nxt: u64,
    lost: u64,
    mss: u64,
    views: Vec<PathView>,
}

impl History {
    fn loss(&self, flight: u64, cwnd_limited: bool, first_timeout: bool) -> Loss {
        Loss {
            now: self.now,
            flight: Bytes(flight),
            cwnd_limited,
            srtt: self.srtt,
            snd_nxt: self.nxt,
            marked: false,
            first_timeout,
        }
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
            flight: Bytes::ZERO,
            pipe: Bytes::ZERO,
            lost: Bytes::ZERO,
            rwnd: Bytes(65_535),
            snd_una: self.una,
            snd_nxt: self.nxt,
            cwnd_limited,
            marked: false,
            rate: None,
        }
    }

    fn add_network(&mut self, ack: Ack, network: &Network) -> Ack {
        self.lost = self.lost.saturating_add(network.lost);
        let total = self.una;
        let rate = network.rate.map(|(delivered, interval, ago, app_limited)| RateSample {
            delivered: Bytes(delivered),
            interval: Nanos(interval.max(1)),
            before: Bytes(total.saturating_sub(ago)),
            total: Bytes(total),
            app_limited,
        });
        let (pipe, flight) = (Bytes(network.pipe), Bytes(self.nxt - self.una));
        Ack {
            pipe,
            flight,
            lost: Bytes(self.lost),
            rwnd: Bytes(network.rwnd),
            marked: network.marked,
            rate,
            ..ack
        }
    }

    fn take_dummies(&mut self) {
        let order = self.cc.probing().and_then(|probing| probing.take_dummies());
        assert_ne!(order, Some(Dummies::PerAck(0)));
    }

    fn answer_dummies(&mut self, count: u64, rwnd: Bytes) {
        let most = self.cc.window().cwnd.max(rwnd);
        let answer = DummyAnswer { now: self.now, rwnd };
        if let Some(probing) = self.cc.probing() {
            (0..count).for_each(|_| probing.on_dummy_answer(&answer));
        }
        assert!(self.cc.window().cwnd <= most, "answers open no more than is advertised");
    }

    /// Events that only the extensions of a controller handle.
    fn apply_to_extensions(&mut self, event: &Event) {
        match *event {
            Event::SpuriousTimeout => {
                if let Some(undo) = self.cc.spurious_timeouts() {
                    undo.on_spurious_timeout();
                }
            }
            Event::Answers { count, rwnd } => self.answer_dummies(count, Bytes(rwnd)),
            Event::RecoveryAck { acked } => {
                let ack = self.ack(acked, None, 0, true);
                if let Some(hooks) = self.cc.recovery_hooks() {
                    hooks.on_recovery_ack(&ack);
                }
            }
            Event::DupAck => {
                if let Some(hooks) = self.cc.recovery_hooks() {
                    hooks.on_dup_ack(self.now);
                }
            }
            Event::ExitRecovery => {
                if let Some(hooks) = self.cc.recovery_hooks() {
                    hooks.on_exit_recovery(self.now);
                }
            }
            _ => unreachable!("{event:?} is an event of the core trait"),
        }
    }

    fn apply(&mut self, event: &Event, pause: u64) {
        self.now += Nanos(pause);
        let before = self.cc.window().cwnd;
        // One that owns its window has rules of its own for growth, losses and idle times.
        let own = self.can.needs.whole_window;
        // A token bucket on the wire is no window at all.
        let open_loop = self.can.paces_headers;
        let mut views = std::mem::take(&mut self.views);
        if let Some(me) = views.first_mut() {
            (me.cwnd, me.mss, me.srtt) = (before.as_f64(), self.mss as f64, self.srtt.as_secs_f64());
            me.coupled &= me.srtt > 0.0;
            me.loss_interval = self.cc.shared_state().map_or(0.0, SharedState::loss_interval);
            me.measured_rate = self.cc.shared_state().map_or(0.0, SharedState::measured_rate);
        }
        let paths = Paths { all: &views, me: 0 };
        match *event {
            Event::Established(srtt) => {
                self.srtt = srtt.map_or(self.srtt, Nanos);
                self.cc.on_established(self.now, srtt.map(Nanos));
            }
            Event::Ack { acked, rtt, sent, cwnd_limited, ref network } => {
                let ack = self.ack(acked, rtt, sent, cwnd_limited);
                let ack = self.add_network(ack, network);
                self.cc.on_ack(&ack, paths);
                assert!(
                    own || cwnd_limited || self.cc.window().cwnd <= before,
                    "grew although something else was the limit"
                );
            }
            Event::EnterRecovery { flight, cwnd_limited } => {
                self.cc.on_loss(&self.loss(flight, cwnd_limited, false), paths);
                assert!(own || self.cc.window().ssthresh < Bytes::MAX, "a loss sets the threshold");
            }
            Event::Mark { flight } => {
                let loss = Loss { marked: true, ..self.loss(flight, true, true) };
                self.cc.on_ecn(&loss, paths);
            }
            Event::Rto { flight, first_timeout } => {
                let ssthresh = self.cc.window().ssthresh;
                self.cc.on_rto(&self.loss(flight, true, first_timeout), paths);
                assert!(
                    first_timeout || self.cc.window().ssthresh == ssthresh,
                    "ssthresh is reduced once per data"
                );
                // FreeBSD's SCTP has one MTU: the largest chunk and 32 bytes of headers.
                let usual = [self.mss, self.mss + 32].contains(&self.cc.window().cwnd.0);
                assert!(open_loop || usual, "one segment after a timeout");
            }
            Event::IdleRestart { window } => {
                // Both kinds of restart.
                let ssthresh = (window % 2 == 0).then_some(before);
                self.cc.on_idle_restart(self.now, &Restart { cwnd: Bytes(window), ssthresh });
                let capped = before.min(Bytes(window.max(self.mss)));
                // A window in pairs shows less by up to two segments.
                let allowed = capped.saturating_sub(Bytes(2 * self.mss))..=if own { before } else { capped };
                assert!(allowed.contains(&self.cc.window().cwnd), "capped, never raised");
            }
            Event::SetCwnd { window } => self.cc.set_window(Bytes(window), None),
            Event::SetSsthresh { threshold } => {
                let shown = self.cc.window();
                let before = shown.ssthresh;
                self.cc.set_window(shown.cwnd, Some(Bytes(threshold)));
                let (now, wanted) = (self.cc.window().ssthresh, Bytes(threshold.max(2 * self.mss)));
                let without_threshold = now == before && (before == Bytes::MAX || open_loop);
                assert!(now == wanted || without_threshold, "set_window gave {now:?}, not {wanted:?}");
            }
            Event::DupAck
            | Event::RecoveryAck { .. }
            | Event::ExitRecovery
            | Event::SpuriousTimeout
            | Event::Answers { .. } => self.apply_to_extensions(event),
        }
        self.views = views;
        self.check();
    }

    /// The invariants after every event.
    fn check(&mut self) {
        assert_eq!(Capabilities::of(&mut *self.cc), self.can, "what it can is the same at all times");
        assert!(self.cc.window().cwnd >= Bytes(self.mss), "at least one segment");
        assert!(
            self.cc.pacing().and_then(Pacing::pacing_rate).is_none_or(|rate| rate.0 > 0),
            "a rate of nothing stops the sender for good"
        );
        let paths = Paths { all: &self.views, me: 0 };
        self.cc.gauges(paths, &mut |name, value| assert!(value.is_finite(), "{name} {value}"));
    }
}

/// Defaults with some options replaced by others that are allowed.
fn options_of(specs: &'static [OptionSpec]) -> impl Strategy<Value = Options> {
    let defaults = Options::examples(specs);
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
    select(rows).prop_flat_map(|row| {
        let allowed = options_of(row.options)
            .prop_filter("a rule between options", move |options| (row.check)(options).is_ok());
        (Just(row), allowed)
    })
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
        let mut cc = (row.build)(&setup, &options);
        let can = Capabilities::of(&mut *cc);
        let mut history =
            History { cc, can, now: SimTime::ZERO, srtt: Nanos::ZERO, una: 0, nxt: 0, lost: 0, mss: setup.mss.0, views };
        for (event, pause) in &events {
            history.apply(event, *pause);
            history.take_dummies();
            // An infinite or undefined real would show in the state.
            let state = format!("{:?}", history.cc);
            prop_assert!(!state.contains("NaN") && !state.contains("cwnd: inf"), "{} {state}", row.name);
        }
    }
}

/// RFC 5681 equation 4 for all that have no estimate of their own.
#[test]
fn after_a_timeout_the_threshold_is_half_the_flight() {
    let setup = Setup {
        mss: Bytes(1000),
        initial_window: Bytes(40_000),
        initial_ssthresh: Bytes(40_000),
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        ssthresh_from: SsthreshFrom::Flight,
        paced: false,
        offload: false,
    };
    for row in Registry::builtin().iter() {
        let mut cc = (row.build)(&setup, &Options::examples(row.options));
        let loss = Loss {
            now: SimTime::ZERO,
            flight: Bytes(24_000),
            cwnd_limited: true,
            srtt: Nanos::ZERO,
            snd_nxt: 24_000,
            marked: false,
            first_timeout: true,
        };
        cc.on_rto(&loss, Paths::ALONE);
        let wanted = match row.name {
            // These controls have no slow-start threshold.
            "bbr" | "fixed-rate" => continue,
            "cubic" => Bytes(28_000),
            "peach" | "sctp" | "rpv1" | "rpv2" | "mptcp_like" => Bytes(20_000),
            _ => Bytes(12_000),
        };
        assert_eq!(cc.window().ssthresh, wanted, "{}", row.name);
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
        ssthresh_from: SsthreshFrom::Flight,
        paced: false,
        offload: false,
    };
    let mut names: Vec<&str> = registry.iter().map(|row| row.name).collect();
    for row in registry.iter() {
        let cc = (row.build)(&setup, &Options::examples(row.options));
        if row.name != "fixed-rate" {
            assert_eq!((cc.window().cwnd, cc.window().ssthresh), (Bytes(14_600), Bytes::MAX), "{}", row.name);
        }
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
        "bbr",
        "adalr",
        "fixed-rate",
        "jersey",
        "newvegas",
        "peach",
    ] {
        assert!(registry.get(name).is_some(), "{name}");
    }
}
