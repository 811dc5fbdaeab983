//! Bursts of losses: a Markov chain of a good and a bad state with a loss probability each (Gilbert, "Capacity of a
//! Burst-Noise Channel", 1960; Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", 1963).
//!
//! Two forms with rows of their own, so that no file can mix their parameters. By packets the chain makes a step per
//! packet, p from good to bad, r back, and the time between packets does not matter. By time (names that end in
//! `_time`) the states last for exponential times in seconds, and idle periods count (D-62). In both the share of the
//! bad state is mean_bad/(mean_good + mean_bad) = p/(p + r), the loss its average over the states.
//!
//! Deviation: the origins lose bits; here a packet is one symbol, whatever its size.

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, Ratio, SimTime};

use super::phases::{Dwell, Phases, SHORTEST};
use super::{Algorithm, LossModel};

const BY_PACKETS: &str = "the state changes per packet: idle time does not count";
const BY_TIME: &str = "the state changes with time: idle time counts";
const SOURCE: &str = "Gilbert 1960, Elliott 1963";

const P: OptionSpec = chance("p", "probability that a packet in the good state is followed by the bad state");
const R: OptionSpec = chance("r", "probability that a packet in the bad state is followed by the good state");
const MEAN_GOOD: OptionSpec = time("mean_good", "mean duration of the good state");
const MEAN_BAD: OptionSpec = time("mean_bad", "mean duration of the bad state");
const E_GOOD: OptionSpec = chance("e_good", "probability that a packet is lost in the good state");
const E_BAD: OptionSpec = chance("e_bad", "probability that a packet is lost in the bad state");

const fn chance(name: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::compulsory(name, OptionKind::Probability, doc)
}

const fn time(name: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::compulsory(name, OptionKind::Duration, doc)
}

pub(super) const GILBERT_ELLIOTT: Algorithm = Algorithm {
    name: "gilbert_elliott",
    summary: "a good and a bad state with a loss probability each; they change by packets",
    source: SOURCE,
    notes: BY_PACKETS,
    options: &[P, R, E_GOOD, E_BAD],
    check: registry::independent,
    build: |options| Box::new(GilbertElliott::by_packets(steps(options), losses(options))),
};

pub(super) const GILBERT_ELLIOTT_TIME: Algorithm = Algorithm {
    name: "gilbert_elliott_time",
    summary: "a good and a bad state with a loss probability each; they last for exponential times",
    source: SOURCE,
    notes: BY_TIME,
    options: &[MEAN_GOOD, MEAN_BAD, E_GOOD, E_BAD],
    check: registry::independent,
    build: |options| Box::new(GilbertElliott::by_time(dwells(options), losses(options))),
};

pub(super) const GILBERT: Algorithm = Algorithm {
    name: "gilbert",
    summary: "nothing is lost in the good state, everything in the bad one; they change by packets",
    source: SOURCE,
    notes: BY_PACKETS,
    options: &[P, R],
    check: registry::independent,
    build: |options| Box::new(GilbertElliott::by_packets(steps(options), ALL_OR_NOTHING)),
};

pub(super) const GILBERT_TIME: Algorithm = Algorithm {
    name: "gilbert_time",
    summary: "nothing is lost in the good state, everything in the bad one; they last for exponential times",
    source: SOURCE,
    notes: BY_TIME,
    options: &[MEAN_GOOD, MEAN_BAD],
    check: registry::independent,
    build: |options| Box::new(GilbertElliott::by_time(dwells(options), ALL_OR_NOTHING)),
};

pub(super) const BURSTY: Algorithm = Algorithm {
    name: "bursty",
    summary: "bursts in which everything is lost, by mean loss and mean burst in packets",
    source: SOURCE,
    notes: BY_PACKETS,
    options: &[
        OptionSpec::compulsory(
            "loss",
            // Above one half a burst of one packet would be too short for the loss.
            OptionKind::Number { min: 0.0, max: 0.5 },
            "share of the packets that is lost",
        ),
        OptionSpec::compulsory(
            "burst",
            OptionKind::Number { min: 1.0, max: 1e9 },
            "mean number of packets lost in a row",
        ),
    ],
    check: registry::independent,
    build: |options| {
        let steps = bursty(options.number("loss"), options.number("burst"));
        Box::new(GilbertElliott::by_packets(steps, ALL_OR_NOTHING))
    },
};

pub(super) const BURSTY_TIME: Algorithm = Algorithm {
    name: "bursty_time",
    summary: "bursts in which everything is lost, by mean loss and mean duration of a burst",
    source: SOURCE,
    notes: BY_TIME,
    options: &[
        chance("loss", "share of the time in which everything is lost"),
        time("burst", "mean time for which everything is lost"),
    ],
    check: registry::independent,
    build: |options| {
        let dwells = bursty_time(options.probability("loss"), options.duration("burst"));
        Box::new(GilbertElliott::by_time(dwells, ALL_OR_NOTHING))
    },
};

const ALL_OR_NOTHING: [f64; 2] = [0.0, 1.0];

fn losses(options: &Options) -> [f64; 2] {
    ["e_good", "e_bad"].map(|name| options.probability(name).get())
}

fn steps(options: &Options) -> [f64; 2] {
    ["p", "r"].map(|name| options.probability(name).get())
}

fn dwells(options: &Options) -> [f64; 2] {
    ["mean_good", "mean_bad"].map(|name| options.duration(name).as_secs_f64())
}

/// p and r of a chain with this loss, below 1, and this mean burst in packets.
fn bursty(loss: f64, burst: f64) -> [f64; 2] {
    let steps = [loss / (1.0 - loss) / burst, 1.0 / burst];
    debug_assert!(
        (bad_share(steps) - loss).abs() < 1e-9,
        "{steps:?} lose {} and not {loss}",
        bad_share(steps)
    );
    steps
}

/// Mean durations of the good and the bad state in seconds.
fn bursty_time(loss: Ratio, burst: Nanos) -> [f64; 2] {
    let odds = loss.get() / (1.0 - loss.get());
    if odds <= 0.0 {
        [1.0, 0.0]
    } else if odds.is_infinite() {
        [0.0, 1.0]
    } else {
        // Neither burst nor gap below the shortest mean, for the sake of the loss.
        let burst = burst.as_secs_f64().max(SHORTEST * odds.max(1.0));
        [burst / odds, burst]
    }
}

/// A good state (0) and a bad one (1). The state at the start is drawn by the shares.
#[derive(Clone, Debug)]
pub(super) struct GilbertElliott {
    states: States,
    losses: [f64; 2],
}

#[derive(Clone, Debug)]
enum States {
    ByPackets {
        /// Probability of leaving the state after a packet.
        steps: [f64; 2],
        /// State of the next packet; `None` before the first.
        state: Option<usize>,
    },
    ByTime(Phases),
}

impl GilbertElliott {
    /// With the probabilities p and r, and those of a loss in each state.
    fn by_packets(steps: [f64; 2], losses: [f64; 2]) -> Self {
        debug_assert!(
            [steps, losses].as_flattened().iter().all(|p| (0.0..=1.0).contains(p)),
            "probabilities {steps:?} {losses:?}"
        );
        Self { states: States::ByPackets { steps, state: None }, losses }
    }

    /// With the mean durations of the states in seconds, and the probabilities of a loss in each.
    fn by_time(dwells: [f64; 2], losses: [f64; 2]) -> Self {
        Self { states: States::ByTime(Phases::alternating(dwells.map(Dwell::Exponential), None)), losses }
    }
}

/// Share of the bad state; a chain that never moves stays good.
fn bad_share([p, r]: [f64; 2]) -> f64 {
    if p > 0.0 { p / (p + r) } else { 0.0 }
}

impl LossModel for GilbertElliott {
    fn is_lost(&mut self, at: SimTime, _size: Bytes, stream: &mut Stream) -> bool {
        let now = match &mut self.states {
            States::ByTime(phases) => phases.state_at(at, stream),
            States::ByPackets { steps, state } => {
                let now = state.unwrap_or_else(|| usize::from(stream.uniform() < bad_share(*steps)));
                *state = Some(if stream.uniform() < steps[now] { 1 - now } else { now });
                now
            }
        };
        stream.uniform() < self.losses[now]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::statistics::{Theory, build, measure};

    /// The fates of `n` packets that follow each other after `gap`.
    fn fates(model: &mut dyn LossModel, n: usize, gap: Nanos) -> Vec<bool> {
        let mut stream = Stream::named(7, "link", "loss");
        let mut at = SimTime::ZERO;
        let mut fate = || {
            at += gap;
            model.is_lost(at, Bytes(1500), &mut stream)
        };
        (0..n).map(|_| fate()).collect()
    }

    fn by_packets([p, r]: [f64; 2], losses: [f64; 2]) -> Theory {
        Theory::chain([[1.0 - p, p], [r, 1.0 - r]], losses)
    }

    /// Test vector GE-1.
    #[test]
    fn ge_1() {
        let (steps, e) = ([0.01, 0.25], [0.001, 0.5]);
        let bad = bad_share(steps);
        assert!((bad - 0.038_461_5).abs() < 1e-6 * bad);
        let loss = (1.0 - bad) * e[0] + bad * e[1];
        assert!((loss - 0.020_192_3).abs() < 5e-6 * loss);
        let theory = by_packets(steps, e);
        assert!((theory.rate() - loss).abs() < 1e-9);
        let options = [("p", "0.01"), ("r", "0.25"), ("e_good", "0.001"), ("e_bad", "0.5")];
        measure("gilbert_elliott", &options, Nanos::from_millis(1), &theory);
    }

    #[test]
    fn gilbert_by_packets() {
        let theory = by_packets([0.01, 0.25], ALL_OR_NOTHING);
        assert!((theory.mean_burst() - 4.0).abs() < 1e-9);
        assert!((theory.autocorrelation() - (1.0 - 0.01 - 0.25)).abs() < 1e-9);
        measure("gilbert", &[("p", "0.01"), ("r", "0.25")], Nanos::ZERO, &theory);
        // Loss 1/26 in bursts of 4 is the same model.
        let same = [("loss", "0.038461538461538464"), ("burst", "4")];
        measure("bursty", &same, Nanos::ZERO, &theory);
    }

    #[test]
    fn short_forms_have_their_loss_and_burst() {
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b, "{a} is not {b}");
        for (loss, burst) in [(0.01, 4.0), (0.5, 1.0), (0.3, 1.5), (0.5, 1e6)] {
            let [p, r] = bursty(loss, burst);
            same(bad_share([p, r]), loss);
            same(1.0 / r, burst);
            assert!(p <= 1.0);
        }
        for (loss, burst) in [(0.01, 50_000_000), (0.99, 1_000_000), (0.99, 10), (0.2, 0)] {
            let [good, bad] = bursty_time(Ratio::new(loss).unwrap(), Nanos(burst));
            same(bad / (good + bad), loss);
            assert!(good.min(bad) > 0.999 * SHORTEST);
            if burst > 1000 {
                same(bad, burst as f64 * 1e-9);
            }
        }
    }

    /// States of 100 ms and 4 ms, a packet every millisecond.
    #[test]
    fn by_time() {
        let gap = Nanos::from_millis(1);
        let theory = |losses| Theory::by_time([0.1, 0.004], [[0.0, 1.0], [1.0, 0.0]], losses, gap);
        let dwells = [("mean_good", "100ms"), ("mean_bad", "4ms")];
        let options = [dwells[0], dwells[1], ("e_good", "0.001"), ("e_bad", "0.5")];
        measure("gilbert_elliott_time", &options, gap, &theory([0.001, 0.5]));
        // The chain of dwell times, seen at equal distances, is a chain by packets.
        let all = theory(ALL_OR_NOTHING);
        assert!((all.rate() - 1.0 / 26.0).abs() < 1e-9);
        assert!((all.autocorrelation() - libm::exp(-0.01 - 0.25)).abs() < 1e-9);
        measure("gilbert_time", &dwells, gap, &all);
        measure("bursty_time", &[("loss", "0.038461538461538464"), ("burst", "4ms")], gap, &all);
    }

    /// A packet that follows a lost one after a long pause knows nothing of it by time, and all of it by packets.
    #[test]
    fn idle_time_counts_by_time_alone() {
        let after_a_loss = |observed: &[bool]| {
            let after: Vec<bool> = observed.windows(2).filter(|w| w[0]).map(|w| w[1]).collect();
            after.iter().filter(|lost| **lost).count() as f64 / after.len() as f64
        };
        let mut by_time = build("gilbert_time", &[("mean_good", "30ms"), ("mean_bad", "10ms")]);
        let mut by_packets = build("gilbert", &[("p", "0.03"), ("r", "0.1")]);
        let pause = Nanos::from_millis(100);
        assert!((after_a_loss(&fates(by_time.as_mut(), 20_000, pause)) - 0.25).abs() < 0.03);
        assert!((after_a_loss(&fates(by_packets.as_mut(), 20_000, pause)) - 0.9).abs() < 0.03);
        let mut by_time = build("gilbert_time", &[("mean_good", "30ms"), ("mean_bad", "10ms")]);
        assert!(after_a_loss(&fates(by_time.as_mut(), 200_000, Nanos(100_000))) > 0.98);
    }

    /// A sender of more packets meets the same states of the channel.
    #[test]
    fn phases_do_not_depend_on_the_packets() {
        let options = [("mean_good", "30ms"), ("mean_bad", "10ms")];
        let sparse = fates(build("gilbert_time", &options).as_mut(), 1000, Nanos::from_millis(10));
        let dense = fates(build("gilbert_time", &options).as_mut(), 10_000, Nanos::from_millis(1));
        let common: Vec<bool> = dense.into_iter().skip(9).step_by(10).collect();
        assert_eq!(sparse, common);
    }

    #[test]
    fn same_stream_same_fates() {
        let cases: [(&str, &[(&str, &str)]); 2] = [
            ("gilbert_elliott", &[("p", "0.1"), ("r", "0.3"), ("e_good", "0.1"), ("e_bad", "0.5")]),
            (
                "gilbert_elliott_time",
                &[("mean_good", "9ms"), ("mean_bad", "3ms"), ("e_good", "0.1"), ("e_bad", "0.5")],
            ),
        ];
        for (name, options) in cases {
            let run = || fates(build(name, options).as_mut(), 1000, Nanos::from_millis(1));
            assert_eq!(run(), run());
        }
    }

    #[test]
    fn limits() {
        let all = |name, options: &[(&str, &str)], fate| {
            let observed = fates(build(name, options).as_mut(), 1000, Nanos::from_millis(1));
            assert!(observed.iter().all(|lost| *lost == fate), "{name} {options:?}");
        };
        all("gilbert", &[("p", "0"), ("r", "0")], false);
        all("gilbert", &[("p", "0.1"), ("r", "0")], true);
        all("bursty", &[("loss", "0"), ("burst", "1")], false);
        all("bursty_time", &[("loss", "0"), ("burst", "1s")], false);
        all("bursty_time", &[("loss", "1"), ("burst", "1s")], true);
        all("gilbert_time", &[("mean_good", "1s"), ("mean_bad", "0ns")], false);
        all("gilbert_time", &[("mean_good", "0ns"), ("mean_bad", "1s")], true);
        all("gilbert_time", &[("mean_good", "unlimited"), ("mean_bad", "0ns")], false);
        // Half lost one by one is every other packet.
        let every_other =
            fates(build("bursty", &[("loss", "0.5"), ("burst", "1")]).as_mut(), 100, Nanos::ZERO);
        assert!(every_other.windows(2).all(|w| w[0] != w[1]));
        // Bursts of no duration leave independent losses.
        for (text, loss) in [("0.1", 0.1), ("0.9", 0.9)] {
            let options = [("loss", text), ("burst", "0ns")];
            measure("bursty_time", &options, Nanos(10_000), &Theory::independent(loss));
        }
    }
}
