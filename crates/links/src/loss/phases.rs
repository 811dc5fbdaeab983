//! Phases of the propagation channel: a process stays in a state for a random time, then jumps to another.
//!
//! Seconds in formulas, nanoseconds on the clock. The process runs from the start of the run and is advanced to the
//! instants it is asked about, phase by phase. Durations and jumps have a stream of their own, seeded by the first
//! number of the link's stream, or common to both directions of a link: the phases are the same whatever number of packets
//! ask, at whatever instants.

use std::f64::consts::{PI, SQRT_2};

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use super::LossModel;

/// No mean is shorter, in seconds: a run must not drown in phases that no packet sees.
pub(super) const SHORTEST: f64 = 1e-6;

/// A mean from here on, in seconds, never ends; so does the duration "unlimited".
const ENDLESS: f64 = 1.8e10;

/// How long a state lasts; seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dwell {
    /// Exponential with this mean.
    Exponential(f64),
    /// Normal, drawn again until positive (D-61).
    Normal {
        /// Before drawing again.
        mean: f64,
        /// Standard deviation before drawing again.
        deviation: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Mean of the duration, not of its logarithm.
        mean: f64,
        /// Standard deviation of the duration.
        deviation: f64,
    },
}

impl Dwell {
    /// The state is left at once, or never entered.
    fn is_zero(self) -> bool {
        matches!(self, Self::Exponential(0.0) | Self::Normal { mean: 0.0, deviation: 0.0 })
    }

    /// Expected duration in seconds, drawing again included.
    pub(super) fn mean(self) -> f64 {
        match self {
            Self::Exponential(mean) | Self::LogNormal { mean, .. } => mean,
            Self::Normal { mean, deviation: 0.0 } => mean,
            Self::Normal { mean, deviation } => {
                let z = mean / deviation;
                let density = libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt();
                mean + deviation * density / (0.5 * libm::erfc(-z / SQRT_2))
            }
        }
    }

    /// One duration, at least 1 ns.
    pub(super) fn draw(self, stream: &mut Stream) -> Nanos {
        let seconds = match self {
            Self::Exponential(mean) | Self::Normal { mean, .. } | Self::LogNormal { mean, .. }
                if mean >= ENDLESS =>
            {
                f64::INFINITY
            }
            Self::Exponential(mean) => -mean.max(SHORTEST) * libm::log1p(-stream.uniform()),
            Self::Normal { mean, deviation } => loop {
                // The mean is not negative: each turn succeeds with probability 1/2 at least.
                let seconds = mean.max(SHORTEST) + deviation * standard_normal(stream);
                if seconds > 0.0 {
                    break seconds;
                }
            },
            Self::LogNormal { mean, deviation } => {
                // Moments of the log-normal distribution, solved for those of the logarithm.
                let mean = mean.max(SHORTEST);
                let variance = libm::log1p((deviation / mean) * (deviation / mean));
                mean * libm::exp(variance.sqrt() * standard_normal(stream) - 0.5 * variance)
            }
        };
        Nanos::from_secs_f64(seconds).max(Nanos(1))
    }
}

/// Normal with mean 0 and variance 1 (Box and Muller 1958); the second of the pair is discarded.
fn standard_normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log1p(-stream.uniform())).sqrt();
    radius * libm::cos(2.0 * PI * stream.uniform())
}

/// A semi-Markov process.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    dwell: Vec<Dwell>,
    /// Row by row the probabilities of the next state; 0 for the state itself.
    jump: Vec<Vec<f64>>,
    /// Share of the visits that each state gets in the long run, up to a common factor.
    visits: Vec<f64>,
    /// State at the start of the run; `None`: at random by its share of time.
    start: Option<usize>,
    /// Stream of durations and jumps, if it is not seeded by the stream of the link.
    shared: Option<Stream>,
    running: Option<Running>,
}

#[derive(Clone, Debug)]
struct Running {
    stream: Stream,
    state: usize,
    until: SimTime,
}

impl Phases {
    /// Two states that alternate. A state of no duration does not occur.
    pub(super) fn alternating(mut dwell: [Dwell; 2], mut start: Option<usize>) -> Self {
        if let Some(zero) = [1, 0].into_iter().find(|&state| dwell[state].is_zero()) {
            dwell[1 - zero] = Dwell::Exponential(ENDLESS);
            start = Some(1 - zero);
        }
        let jump = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
        Self { dwell: dwell.to_vec(), jump, visits: vec![1.0; 2], start, shared: None, running: None }
    }

    /// Three states; `first_other[i]` is the probability that state i is followed by the first of the two others.
    /// No duration may be zero.
    pub(super) fn of_three(dwell: [Dwell; 3], first_other: [f64; 3]) -> Self {
        let [a, b, c] = first_other;
        let jump = [[0.0, a, 1.0 - a], [b, 0.0, 1.0 - b], [c, 1.0 - c, 0.0]];
        // Markov chain tree theorem: the trees that lead to state i.
        let visits = [0, 1, 2].map(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            jump[j][i] * jump[k][i] + jump[j][k] * jump[k][i] + jump[k][j] * jump[j][i]
        });
        let jump = jump.map(|row| row.to_vec()).to_vec();
        Self {
            dwell: dwell.to_vec(),
            jump,
            visits: visits.to_vec(),
            start: None,
            shared: None,
            running: None,
        }
    }

    /// Any number of states, each of which leads to each other one by some way. No duration may be zero.
    pub(super) fn of_many(dwell: Vec<Dwell>, jump: Vec<Vec<f64>>, start: Option<usize>) -> Self {
        debug_assert_eq!(dwell.len(), jump.len(), "a row of transitions for each state");
        debug_assert!(
            jump.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9),
            "each row of transitions adds up to 1: {jump:?}"
        );
        let visits = stationary(&jump);
        Self { dwell, jump, visits, start, shared: None, running: None }
    }

    /// Share of time in each state in the long run.
    pub(super) fn shares(&self) -> Vec<f64> {
        let times = self.visits.iter().zip(&self.dwell).map(|(visits, dwell)| visits * dwell.mean());
        let times: Vec<f64> = times.collect();
        let sum: f64 = times.iter().sum();
        debug_assert!(sum > 0.0, "no state is ever visited: {times:?}");
        times.into_iter().map(|time| time / sum).collect()
    }

    /// The state at `at`, which never goes back. A phase contains its beginning and not its end.
    pub(super) fn state_at(&mut self, at: SimTime, stream: &mut Stream) -> usize {
        if self.running.is_none() {
            let own = || Stream::named(stream.bits(), "loss", "phases");
            let mut phases = self.shared.take().unwrap_or_else(own);
            let state = self.start.unwrap_or_else(|| pick(&self.shares(), phases.uniform()));
            let until = SimTime::ZERO + self.dwell[state].draw(&mut phases);
            self.running = Some(Running { stream: phases, state, until });
        }
        let Some(Running { stream, state, until }) = &mut self.running else { return 0 };
        while *until <= at && !until.is_never() {
            let u = if self.dwell.len() > 2 { stream.uniform() } else { 0.0 };
            *state = pick(&self.jump[*state], u);
            let left = std::mem::replace(until, *until + self.dwell[*state].draw(stream));
            debug_assert!(*until > left, "a phase from {left} to {until}");
        }
        debug_assert!(*until > at || until.is_never(), "the phase is over at {until}");
        *state
    }
}

/// States with a packet loss each.
#[derive(Clone, Debug)]
pub(super) struct LossyPhases {
    pub(super) phases: Phases,
    pub(super) losses: Vec<f64>,
    /// Both directions of the link are in the same state at any time.
    pub(super) together: bool,
}

/// Whether the directions of a link have their phases together.
pub(super) const DIRECTIONS: OptionSpec = OptionSpec::new(
    "directions",
    OptionKind::Choice(&["apart", "together"]),
    "apart",
    "together: the other direction of the link, if it has the same options, is in the same state at any time",
);

/// The value of `DIRECTIONS`.
pub(super) fn together(options: &Options) -> bool {
    options.choice(DIRECTIONS.name) == "together"
}

impl LossModel for LossyPhases {
    fn is_lost(&mut self, at: SimTime, _size: Bytes, stream: &mut Stream) -> bool {
        debug_assert_eq!(self.losses.len(), self.phases.dwell.len(), "a loss for each state");
        let state = self.phases.state_at(at, stream);
        stream.uniform() < self.losses[state]
    }

    fn share(&mut self, shared: Stream) {
        if self.together {
            self.phases.shared = Some(shared);
        }
    }
}

/// The stationary distribution of an irreducible chain, up to a common factor, by state reduction without a subtraction
/// (Grassmann, Taksar, Heyman, Operations Research 33(5), 1985).
fn stationary(jump: &[Vec<f64>]) -> Vec<f64> {
    let mut p = jump.to_vec();
    for n in (1..p.len()).rev() {
        let onwards: f64 = p[n][..n].iter().sum();
        for i in 0..n {
            p[i][n] /= onwards;
            for j in 0..n {
                p[i][j] += p[i][n] * p[n][j];
            }
        }
    }
    let mut visits = vec![1.0];
    for n in 1..p.len() {
        let entering = visits.iter().zip(&p).map(|(visits, row)| visits * row[n]).sum();
        visits.push(entering);
    }
    debug_assert!(visits.iter().all(|share| *share > 0.0), "the chain is not irreducible: {visits:?}");
    visits
}

/// The index that `u` in [0, 1) falls on; never one of probability 0.
fn pick(probabilities: &[f64], u: f64) -> usize {
    let mut sum = 0.0;
    let mut last = 0;
    for (index, probability) in probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        sum += probability;
        last = index;
        if u < sum {
            break;
        }
    }
    debug_assert!(probabilities[last] > 0.0, "state {last} has probability 0: {probabilities:?}");
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::named(1, "link", "loss")
    }

    /// Mean of what is drawn against the formula, within 4.5 standard errors.
    fn mean_of_draws(dwell: Dwell, deviation: f64) {
        let (n, mut stream) = (200_000u32, stream());
        let sum: f64 = (0..n).map(|_| dwell.draw(&mut stream).as_secs_f64()).sum();
        let off = sum / f64::from(n) - dwell.mean();
        assert!(off.abs() < 4.5 * deviation / f64::from(n).sqrt(), "{dwell:?}: {off}");
    }

    #[test]
    fn draws_have_their_mean() {
        mean_of_draws(Dwell::Exponential(2.5), 2.5);
        mean_of_draws(Dwell::Normal { mean: 6.0, deviation: 0.5f64.sqrt() }, 0.5f64.sqrt());
        mean_of_draws(Dwell::Normal { mean: 1.0, deviation: 0.1f64.sqrt() }, 0.1f64.sqrt());
        mean_of_draws(Dwell::LogNormal { mean: 2.0, deviation: 3.0 }, 3.0);
        mean_of_draws(Dwell::LogNormal { mean: 2.0, deviation: 0.0 }, 1e-6);
        // Half a normal: drawing again matters most.
        mean_of_draws(Dwell::Normal { mean: 0.0, deviation: 1.0 }, 1.0);
    }

    #[test]
    fn standard_normal_has_its_moments() {
        let (n, mut stream) = (200_000, stream());
        let mut sums = [0.0; 4];
        let mut inside = 0u32;
        for _ in 0..n {
            let z = standard_normal(&mut stream);
            inside += u32::from(z.abs() < 1.0);
            let mut power = 1.0;
            for sum in &mut sums {
                power *= z;
                *sum += power / f64::from(n);
            }
        }
        // Variances of z, z^2, z^3, z^4: 1, 2, 15, 96.
        for (mean, (expected, variance)) in
            sums.iter().zip([(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0)])
        {
            assert!((mean - expected).abs() < 4.5 * f64::sqrt(variance / f64::from(n)), "{sums:?}");
        }
        assert!((f64::from(inside) / f64::from(n) - 0.682_689_5).abs() < 0.005);
    }

    #[test]
    fn a_state_of_no_duration_does_not_occur() {
        let (none, some) = (Dwell::Exponential(0.0), Dwell::Normal { mean: 1.0, deviation: 0.1 });
        for (dwell, only) in [([some, none], 0), ([none, some], 1), ([none, none], 0)] {
            for start in [None, Some(0), Some(1)] {
                let (mut phases, mut stream) = (Phases::alternating(dwell, start), stream());
                assert!((0..1000).all(|s| phases.state_at(SimTime::from_secs(s), &mut stream) == only));
                assert_eq!(phases.state_at(SimTime::NEVER, &mut stream), only);
            }
        }
    }

    #[test]
    fn unlimited_durations_never_end_and_short_ones_come_to_an_end() {
        let unlimited = Dwell::Exponential(Nanos(u64::MAX).as_secs_f64());
        let shortest = Dwell::Exponential(1e-9);
        let (mut phases, mut stream) = (Phases::alternating([shortest, unlimited], Some(0)), stream());
        assert_eq!(phases.state_at(SimTime::from_secs(1), &mut stream), 1);
        assert_eq!(phases.state_at(SimTime::NEVER, &mut stream), 1);
        let (mut phases, mut stream) = (Phases::alternating([shortest; 2], Some(0)), self::stream());
        phases.state_at(SimTime::from_millis(100), &mut stream);
    }

    #[test]
    fn constant_durations_end_on_the_nanosecond() {
        let second = Dwell::Normal { mean: 1.0, deviation: 0.0 };
        let (mut phases, mut stream) = (Phases::alternating([second; 2], Some(0)), stream());
        let cases = [(0, 0), (999_999_999, 0), (1_000_000_000, 1), (1_000_000_000, 1), (6_999_999_999, 0)];
        for (at, state) in cases {
            assert_eq!(phases.state_at(SimTime(at), &mut stream), state, "{at}");
        }
    }

    /// The phases share no number with the packets, nor with another process on the same stream.
    #[test]
    fn each_process_has_phases_of_its_own() {
        let mut stream = stream();
        let mut first_end = || {
            let mut phases = Phases::alternating([Dwell::Exponential(1.0); 2], None);
            phases.state_at(SimTime::ZERO, &mut stream);
            phases.running.map(|running| running.until)
        };
        assert_ne!(first_end(), first_end());
        let mut phases = Phases::alternating([Dwell::Exponential(1.0); 2], Some(0));
        phases.state_at(SimTime::ZERO, &mut stream);
        let mut sky = phases.running.unwrap().stream;
        assert!((0..4).all(|_| sky.bits() != stream.bits()));
    }

    /// The trees that lead to a state, and the reduction of states, say the same; four states in a ring by hand.
    #[test]
    fn visits_of_many_states() {
        let dwell = [1.0, 2.0, 3.0].map(Dwell::Exponential);
        let three = Phases::of_three(dwell, [0.9, 0.4, 0.3]);
        let many = Phases::of_many(dwell.to_vec(), three.jump.clone(), None);
        for (a, b) in three.shares().iter().zip(many.shares()) {
            assert!((a - b).abs() < 1e-12, "{:?} {:?}", three.shares(), many.shares());
        }
        // 1 -> 2 -> 3 or 4 -> 1: the last two share the visits of the others.
        let ring = vec![
            vec![0.0, 1.0, 0.0, 0.0],
            vec![0.0, 0.0, 0.25, 0.75],
            vec![1.0, 0.0, 0.0, 0.0],
            vec![1.0, 0.0, 0.0, 0.0],
        ];
        let shares = Phases::of_many(vec![Dwell::Exponential(1.0); 4], ring, None).shares();
        for (share, expected) in shares.iter().zip([1.0, 1.0, 0.25, 0.75]) {
            assert!((share - expected / 3.0).abs() < 1e-12, "{shares:?}");
        }
    }

    #[test]
    fn shares_of_three_states() {
        let phases = Phases::of_three([1.0, 2.0, 3.0].map(Dwell::Exponential), [0.9, 0.4, 0.3]);
        let shares = phases.shares();
        // Balance: what enters a state leaves it.
        let flow: Vec<f64> = (0..3).map(|i| shares[i] / phases.dwell[i].mean()).collect();
        for i in 0..3 {
            let entering: f64 = (0..3).map(|j| flow[j] * phases.jump[j][i]).sum();
            assert!((entering - flow[i]).abs() < 1e-12);
        }
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
