//! Jitter: each packet draws its own delay, independent of all others.
//!
//! Seconds in formulas. Uniform on [min, max]. Normal with mean and deviation, drawn again until it is not below min (D-64).
//! Pareto with scale `min` and shape a:
//!
//! ```text
//! P(delay > x) = (min / x)^a  for x >= min,   mean = a min / (a - 1)  for a > 1
//! ```
//!
//! drawn again until it does not exceed `max`. Without reordering a packet arrives no earlier than the one in front of
//! it, which makes the delays seen longer than those drawn where packets follow each other closely.

use std::f64::consts::PI;

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options, in_order};
use units::{Nanos, SimTime};

use super::{Algorithm, DelayModel};

const REORDER: OptionSpec = OptionSpec::compulsory(
    "reorder",
    OptionKind::Flag,
    "true: packets may overtake each other; false: they keep their order",
);

const SOURCE: &str = "independent delays";

pub(super) const UNIFORM: Algorithm = Algorithm {
    name: "uniform",
    summary: "jitter, uniform between two delays",
    source: SOURCE,
    notes: "",
    options: &[
        OptionSpec::compulsory("min", OptionKind::Duration, "shortest delay"),
        OptionSpec::compulsory("max", OptionKind::Duration, "longest delay"),
        REORDER,
    ],
    check: |options| in_order(("min", "max"), Options::duration, options),
    build: |options, stream| {
        let [min, max] = ["min", "max"].map(|key| options.duration(key).as_secs_f64());
        Jitter::boxed(Law::Uniform { min, max }, options, stream)
    },
};

pub(super) const NORMAL: Algorithm = Algorithm {
    name: "normal",
    summary: "jitter, normal and not below a least delay",
    source: SOURCE,
    notes: "",
    options: &[
        OptionSpec::compulsory("mean", OptionKind::Duration, "mean before drawing again"),
        OptionSpec::compulsory("deviation", OptionKind::Duration, "standard deviation before drawing again"),
        OptionSpec::new(
            "min",
            OptionKind::Duration,
            "0s",
            "least delay, at most the mean: values below are drawn again",
        ),
        REORDER,
    ],
    check: |options| in_order(("min", "mean"), Options::duration, options),
    build: |options, stream| {
        let [mean, deviation, min] =
            ["mean", "deviation", "min"].map(|key| options.duration(key).as_secs_f64());
        Jitter::boxed(Law::Normal { mean, deviation, min }, options, stream)
    },
};

pub(super) const PARETO: Algorithm = Algorithm {
    name: "pareto",
    summary: "jitter with a heavy tail",
    source: "Pareto distribution",
    notes: "",
    options: &[
        OptionSpec::compulsory("min", OptionKind::Duration, "shortest and most frequent delay"),
        OptionSpec::new(
            "shape",
            OptionKind::Number { min: 0.1, max: 1000.0 },
            "3",
            "the smaller the heavier is the tail; up to 1 the mean is infinite, up to 2 the variance",
        ),
        OptionSpec::new("max", OptionKind::Duration, "10s", "what is above is drawn again"),
        REORDER,
    ],
    check: |options| in_order(("min", "max"), Options::duration, options),
    build: |options, stream| {
        let [min, max] = ["min", "max"].map(|key| options.duration(key).as_secs_f64());
        Jitter::boxed(Law::Pareto { min, shape: options.number("shape"), max }, options, stream)
    },
};

/// Seconds.
#[derive(Clone, Copy, Debug)]
enum Law {
    Uniform { min: f64, max: f64 },
    Normal { mean: f64, deviation: f64, min: f64 },
    Pareto { min: f64, shape: f64, max: f64 },
}

impl Law {
    /// No delay is shorter, in seconds.
    fn least(self) -> f64 {
        match self {
            Self::Uniform { min, .. } | Self::Normal { min, .. } | Self::Pareto { min, .. } => min,
        }
    }

    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Uniform { min, max } => min + (max - min) * stream.uniform(),
            // `min` is at most the mean: each turn succeeds with probability 1/2 at least.
            Self::Normal { mean, deviation, min } => loop {
                let radius = (-2.0 * libm::log1p(-stream.uniform())).sqrt();
                let seconds = mean + deviation * radius * libm::cos(2.0 * PI * stream.uniform());
                if seconds >= min {
                    break seconds;
                }
            },
            // Inverse of the distribution function cut off at `max`.
            Self::Pareto { min, shape, max } => {
                let tail = if min > 0.0 { libm::pow(min / max, shape) } else { 0.0 };
                let survival = 1.0 - stream.uniform() * (1.0 - tail);
                (min * libm::pow(survival, -1.0 / shape)).min(max)
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Jitter {
    law: Law,
    reorder: bool,
    stream: Stream,
}

impl Jitter {
    fn boxed(law: Law, options: &Options, stream: Stream) -> Box<dyn DelayModel> {
        Box::new(Self { law, reorder: options.flag("reorder"), stream })
    }
}

/// Uniform on [`least`, `least + jitter`], in order: a link whose packets differ by what clocks and interrupts add.
pub fn jittered(least: Nanos, jitter: Nanos, stream: Stream) -> Box<dyn DelayModel> {
    let law = Law::Uniform { min: least.as_secs_f64(), max: (least + jitter).as_secs_f64() };
    Box::new(Jitter { law, reorder: false, stream })
}

impl DelayModel for Jitter {
    fn delay(&mut self, _depart: SimTime) -> Nanos {
        let seconds = self.law.draw(&mut self.stream);
        debug_assert!(seconds >= self.law.least(), "{seconds} s drawn from {:?}", self.law);
        Nanos::from_secs_f64(seconds)
    }

    fn reorders(&self) -> bool {
        self.reorder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of 10^6 draws against the law, within 4.5 standard errors of the mean.
    fn moments(law: Law, mean: f64, variance: f64) {
        let mut stream = Stream::named(1, "link", "delay");
        let n = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = law.draw(&mut stream);
            sum += x;
            squares += (x - mean) * (x - mean);
        }
        let n = f64::from(n);
        assert!((sum / n - mean).abs() < 4.5 * (variance / n).sqrt(), "{law:?}: mean {}", sum / n);
        assert!((squares / n / variance - 1.0).abs() < 0.02, "{law:?}: variance {}", squares / n);
    }

    #[test]
    fn laws_have_their_moments() {
        moments(Law::Uniform { min: 0.02, max: 0.05 }, 0.035, 0.03 * 0.03 / 12.0);
        moments(Law::Normal { mean: 0.1, deviation: 0.01, min: 0.0 }, 0.1, 1e-4);
        // Half a normal: mean sqrt(2/pi), variance 1 - 2/pi.
        let half = (2.0 / PI).sqrt();
        moments(
            Law::Normal { mean: 0.1, deviation: 0.01, min: 0.1 },
            0.1 + 0.01 * half,
            1e-4 * (1.0 - 2.0 / PI),
        );
        // Shape 5, the cut at a thousand times the scale takes nothing away that shows.
        moments(Law::Pareto { min: 0.02, shape: 5.0, max: 20.0 }, 0.025, 4e-4 * 5.0 / (16.0 * 3.0));
    }

    #[test]
    fn the_tail_is_cut() {
        let law = Law::Pareto { min: 0.02, shape: 0.5, max: 0.1 };
        let mut stream = Stream::named(1, "link", "delay");
        let draws: Vec<f64> = (0..100_000).map(|_| law.draw(&mut stream)).collect();
        assert!(draws.iter().all(|x| (0.02..=0.1).contains(x)));
        // P(X > 0.05) of the cut law: (sqrt(0.4) - sqrt(0.2)) / (1 - sqrt(0.2)).
        let expected = (0.4f64.sqrt() - 0.2f64.sqrt()) / (1.0 - 0.2f64.sqrt());
        let share = draws.iter().filter(|x| **x > 0.05).count() as f64 / 1e5;
        assert!((share - expected).abs() < 4.5 * (expected * (1.0 - expected) / 1e5).sqrt(), "{share}");
    }
}
