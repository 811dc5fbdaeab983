//! A Markov chain on N states, each with a rate.
//!
//! In state i the rate is `rates[i]` for an exponential time with mean `dwell[i]`; the next state is j with a probability
//! in the proportion of the weights `jump[i * N + j]`. Shares of time in the long run: pi_i * dwell_i over their sum,
//! where pi are the shares of visits. With exponential times this is a Markov chain in continuous time. The phases do
//! not depend on what is sent.

use engine::Stream;
use registry::{Items, OptionFault, OptionKind, OptionSpec, Options};
use units::{BitsPerSecond, Nanos, SimTime};

use super::Algorithm;
use super::piecewise::{Piecewise, Source};
use crate::check;

pub(super) const ROW: Algorithm = Algorithm {
    name: "markov",
    summary: "a Markov chain on N states, each with a rate",
    source: "Markov chain in continuous time",
    notes: "",
    options: &[
        OptionSpec::compulsory(
            "rates",
            OptionKind::List(Items::Rates),
            "the rate in each state; 0bit/s sends nothing",
        ),
        OptionSpec::compulsory(
            "dwell",
            OptionKind::List(Items::Durations),
            "mean time in each state, exponential, from 1 us on",
        ),
        check::JUMP,
        OptionSpec::new(
            "first",
            OptionKind::Integer { min: 1, max: 1000 },
            "1",
            "state at the start of the run, from 1",
        ),
    ],
    check,
    build: |options, stream| Box::new(Piecewise::new(Chain::new(options, stream))),
};

fn check(options: &Options) -> Result<(), OptionFault> {
    let n = options.rates("rates").len();
    let dwell = options.durations("dwell");
    check::as_many("dwell", dwell.len(), "rates", n)?;
    check::no_shorter("dwell", &dwell)?;
    let jump = options.numbers("jump");
    if jump != [1.0] {
        check::jump(&jump, "rates", n)?;
    }
    let first = options.integer("first");
    if first as usize > n {
        let message = format!("found {first}, but there are {n} states");
        return Err(OptionFault { option: "first", message, help: format!("at most {n}") });
    }
    Ok(())
}

#[derive(Clone, Debug)]
struct Chain {
    rates: Vec<BitsPerSecond>,
    /// Seconds.
    dwell: Vec<f64>,
    jump: Vec<f64>,
    stream: Stream,
    state: usize,
    next_at: SimTime,
}

impl Chain {
    fn new(options: &Options, stream: Stream) -> Self {
        let rates = options.rates("rates");
        let n = rates.len();
        let mut jump = options.numbers("jump");
        // 1 alone, with one state too: all others alike.
        if jump.len() != n * n || jump == [1.0] {
            jump = (0..n * n).map(|k| if k / n == k % n { 0.0 } else { 1.0 }).collect();
        }
        let dwell = options.durations("dwell").into_iter().map(Nanos::as_secs_f64).collect();
        let state = (options.integer("first") as usize).clamp(1, n) - 1;
        debug_assert!(jump.iter().all(|weight| *weight >= 0.0), "weights {jump:?}");
        debug_assert!((0..n).all(|state| jump[state * n + state] == 0.0), "a state follows itself: {jump:?}");
        Self { rates, dwell, jump, stream, state, next_at: SimTime::ZERO }
    }

    /// The state after this one; itself where all weights are zero.
    fn jump(&mut self) -> usize {
        let n = self.rates.len();
        let row = &self.jump[self.state * n..(self.state + 1) * n];
        let mut left = self.stream.uniform() * row.iter().sum::<f64>();
        let mut last = self.state;
        for (state, weight) in row.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            last = state;
            if left < *weight {
                break;
            }
            left -= weight;
        }
        last
    }
}

impl Source for Chain {
    fn next(&mut self) -> Option<(SimTime, BitsPerSecond)> {
        if self.next_at.is_never() {
            return None;
        }
        let piece = (self.next_at, self.rates[self.state]);
        let seconds = -self.dwell[self.state] * libm::log1p(-self.stream.uniform());
        self.next_at += Nanos::from_secs_f64(seconds).max(Nanos(1));
        self.state = self.jump();
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;

    fn chain(jump: &str) -> Chain {
        let parse = |kind: OptionKind, text: &str| kind.parse(text).unwrap();
        let options = Options::new(vec![
            ("rates", parse(OptionKind::List(Items::Rates), "1Mbit/s, 2Mbit/s, 4Mbit/s")),
            ("dwell", parse(OptionKind::List(Items::Durations), "1s, 2s, 3s")),
            ("jump", parse(OptionKind::List(Items::Numbers), jump)),
            ("first", OptionValue::Integer(2)),
        ]);
        Chain::new(&options, Stream::named(1, "link", "rate"))
    }

    /// Shares of time against theory, within 4.5 standard errors of a renewal estimate.
    fn shares(jump: &str, expected: [f64; 3]) {
        let mut chain = chain(jump);
        assert_eq!(chain.next(), Some((SimTime::ZERO, BitsPerSecond(2_000_000))));
        let (mut time, mut sums) = (0.0, [0.0; 3]);
        let mut last = (SimTime::ZERO, BitsPerSecond(2_000_000));
        for _ in 0..200_000 {
            let next = chain.next().unwrap();
            let length = next.0.since(last.0).as_secs_f64();
            sums[last.1.0.ilog2() as usize - 19] += length;
            time += length;
            last = next;
        }
        for (sum, expected) in sums.iter().zip(expected) {
            assert!((sum / time - expected).abs() < 0.01, "{sums:?} of {time}, expected {expected}");
        }
    }

    #[test]
    fn shares_of_time() {
        // All others alike: visits are uniform.
        shares("1", [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
        // 1 -> 2 -> 3 -> 2 or 1 with 3:1. Visits: x1 = x3/4, x2 = x1 + 3 x3/4 = x3: 1, 4, 4 of 9.
        let sum = 1.0 + 8.0 + 12.0;
        shares("0, 1, 0, 0, 0, 1, 1, 3, 0", [1.0 / sum, 8.0 / sum, 12.0 / sum]);
    }
}
