//! Losses of 10^6 packets compared with theory: rate, bursts, lag-1 autocorrelation. For tests of
//! all rows.
//!
//! All three follow from `L_k`, the probability that k packets in a row are lost:
//!
//! ```text
//! rate                   L_1
//! mean burst             L_1 / (L_1 - L_2)
//! bursts of k per packet L_k - 2 L_(k+1) + L_(k+2)
//! autocorrelation        (L_2 - L_1^2) / (L_1 (1 - L_1))
//! ```

use engine::Stream;
use units::{Bytes, Nanos, SimTime};

use super::{LossModel, Registry};

/// Packets that each model is asked about.
pub(super) const PACKETS: usize = 1_000_000;
/// Size of each packet.
pub(super) const SIZE: Bytes = Bytes(1000);
/// Bursts are told apart up to this length.
const LONGEST: usize = 24;
/// Batches long enough to be independent, whose spread gives the standard errors of bursts and autocorrelation.
const BATCHES: usize = 100;
/// Standard errors that an observation may be off.
const SIGMAS: f64 = 4.5;

/// The model of a row with these options; those not given have their defaults.
pub(super) fn build(name: &str, values: &[(&str, &str)]) -> Box<dyn LossModel> {
    let registry = Registry::builtin();
    let row = registry.get(name).unwrap();
    assert!(values.iter().all(|(name, _)| row.options.iter().any(|spec| spec.name == *name)));
    let value = |spec: &registry::OptionSpec| {
        let given = values.iter().find(|(name, _)| *name == spec.name).map(|(_, text)| *text);
        (spec.name, spec.kind.parse(given.or(spec.default).unwrap()).unwrap())
    };
    (row.build)(&registry::Options::new(row.options.iter().map(value).collect()))
}

/// The fates of `PACKETS` packets of `SIZE` that follow each other after `gap`.
pub(super) fn fates(model: &mut dyn LossModel, gap: Nanos) -> Vec<bool> {
    let mut stream = Stream::named(11, "link", "loss");
    (1..=PACKETS as u64).map(|i| model.is_lost(SimTime(i * gap.0), SIZE, &mut stream)).collect()
}

/// Theoretical figures for packets at equal distances.
#[derive(Debug)]
pub(super) struct Theory {
    /// L_1, L_2, ...
    runs: Vec<f64>,
    /// Variance of the number of losses per packet, over many packets.
    variance: f64,
}

const RUNS: i32 = LONGEST as i32 + 2;

impl Theory {
    /// Each packet is lost with probability `p`.
    pub(super) fn independent(p: f64) -> Self {
        Self { runs: (1..=RUNS).map(|k| p.powi(k)).collect(), variance: p * (1.0 - p) }
    }

    /// Packet i is lost with probability `p[i % p.len()]`.
    pub(super) fn periodic(p: &[f64]) -> Self {
        let n = p.len();
        let run = |k| (0..n).map(|start| (0..k).map(|i| p[(start + i) % n]).product::<f64>()).sum::<f64>();
        Self {
            runs: (1..=RUNS as usize).map(|k| run(k) / n as f64).collect(),
            variance: p.iter().map(|p| p * (1.0 - p)).sum::<f64>() / n as f64,
        }
    }

    /// A stationary Markov chain that moves by `step` after each packet, with a loss in each state.
    pub(super) fn chain<const N: usize>(step: [[f64; N]; N], losses: [f64; N]) -> Self {
        let next = |now: [f64; N]| -> [f64; N] {
            std::array::from_fn(|j| (0..N).map(|i| now[i] * step[i][j]).sum())
        };
        // The lazy chain has the same shares and no period.
        let shares = (0..100_000).fold([1.0 / N as f64; N], |now, _| {
            let then = next(now);
            std::array::from_fn(|i| 0.5 * (now[i] + then[i]))
        });
        let lost = |now: [f64; N]| -> [f64; N] { std::array::from_fn(|i| now[i] * losses[i]) };
        let mut here = lost(shares);
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(here.iter().sum());
            here = lost(next(here));
        }
        let rate: f64 = runs[0];
        let mut apart: [f64; N] = std::array::from_fn(|i| shares[i] * (losses[i] - rate));
        let mut variance: f64 = rate * (1.0 - rate);
        for _ in 0..100_000 {
            apart = next(apart);
            variance += 2.0 * (0..N).map(|i| apart[i] * losses[i]).sum::<f64>();
        }
        Self { runs, variance }
    }

    /// States that last for exponential times with these means in seconds and then jump, seen every `gap`.
    pub(super) fn by_time<const N: usize>(
        means: [f64; N],
        jump: [[f64; N]; N],
        losses: [f64; N],
        gap: Nanos,
    ) -> Self {
        let eye = |i, j| f64::from(u8::from(i == j));
        let generator = |i: usize, j: usize| (jump[i][j] - eye(i, j)) / means[i] * gap.as_secs_f64();
        // exp(generator) by its series.
        let mut term: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| eye(i, j)));
        let mut step = term;
        for order in 1..40 {
            term = std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    (0..N).map(|l| term[i][l] * generator(l, j)).sum::<f64>() / f64::from(order)
                })
            });
            step = std::array::from_fn(|i| std::array::from_fn(|j| step[i][j] + term[i][j]));
        }
        Self::chain(step, losses)
    }

    /// Good and bad phases in turns, of normal durations (mean and deviation in seconds) that are drawn again until
    /// positive. Good phases are never as short as the time of `LONGEST` packets, so that of the packets of such a
    /// time those in a bad phase are neighbours: d + 1 of them span one with probability `W_d`.
    pub(super) fn alternating(good: [f64; 2], bad: [f64; 2], losses: [f64; 2], gap: Nanos) -> Self {
        let (gap, [a, b]) = (gap.as_secs_f64(), losses);
        assert!(good[0] - 4.5 * good[1] > gap * f64::from(RUNS), "short good phases");
        let above = |x: f64| 0.5 * libm::erfc((x - bad[0]) / bad[1] / std::f64::consts::SQRT_2);
        let longer = |x: f64| above(x) / above(0.0);
        let density = libm::exp(-0.5 * (bad[0] / bad[1]).powi(2)) / (2.0 * std::f64::consts::PI).sqrt();
        let bad_mean = bad[0] + bad[1] * density / above(0.0);
        let cycle = good[0] + bad_mean;
        // Midpoint rule.
        let spent =
            |until: f64| (0..1000).map(|i| longer((f64::from(i) + 0.5) * until / 1000.0)).sum::<f64>();
        let w = |d: i32| (bad_mean - spent(f64::from(d) * gap) * f64::from(d) * gap / 1000.0) / cycle;
        let run = |k: i32| {
            let two = |d: i32| f64::from(k - d) * a.powi(k - d - 1) * b.powi(d - 1) * w(d);
            a.powi(k)
                + f64::from(k) * a.powi(k - 1) * (b - a) * w(0)
                + (b - a) * (b - a) * (1..k).map(two).sum::<f64>()
        };
        let share = w(0);
        let of_share = ((good[0] * bad[1]).powi(2) + (bad[0] * good[1]).powi(2)) / cycle.powi(3);
        let variance =
            (1.0 - share) * a * (1.0 - a) + share * b * (1.0 - b) + (b - a) * (b - a) * of_share / gap;
        Self { runs: (1..=RUNS).map(run).collect(), variance }
    }

    /// The loss.
    pub(super) fn rate(&self) -> f64 {
        self.runs[0]
    }

    /// Packets lost in a row on average.
    pub(super) fn mean_burst(&self) -> f64 {
        self.runs[0] / (self.runs[0] - self.runs[1])
    }

    /// Correlation of the fates of neighbours.
    pub(super) fn autocorrelation(&self) -> f64 {
        (self.runs[1] - self.runs[0] * self.runs[0]) / (self.runs[0] * (1.0 - self.runs[0]))
    }
}

/// Losses, bursts, pairs of neighbours that are both lost, and bursts by length; longer ones come last.
#[derive(Clone, Debug, Default)]
struct Batch {
    lost: f64,
    bursts: f64,
    pairs: f64,
    lengths: [f64; LONGEST + 1],
}

/// Bursts and pairs count where they begin.
fn batches(observed: &[bool]) -> Vec<Batch> {
    let mut batches = vec![Batch::default(); BATCHES];
    let of = |i: usize| i * BATCHES / observed.len();
    let mut run = 0;
    for (i, lost) in observed.iter().chain([&false]).enumerate() {
        if *lost {
            batches[of(i)].lost += 1.0;
            if run > 0 {
                batches[of(i - 1)].pairs += 1.0;
            }
            run += 1;
        } else if run > 0 {
            let batch = &mut batches[of(i - run)];
            batch.bursts += 1.0;
            batch.lengths[(run - 1).min(LONGEST)] += 1.0;
            run = 0;
        }
    }
    batches
}

/// Sum over the batches and its standard error.
fn total(batches: &[Batch], value: impl Fn(&Batch) -> f64) -> (f64, f64) {
    let sum: f64 = batches.iter().map(&value).sum();
    let mean = sum / BATCHES as f64;
    let spread: f64 = batches.iter().map(|batch| (value(batch) - mean).powi(2)).sum();
    (sum, (spread * BATCHES as f64 / (BATCHES as f64 - 1.0)).sqrt())
}

/// Rate, bursts and autocorrelation of what was `observed` lie within their intervals.
pub(super) fn check(what: &str, observed: &[bool], theory: &Theory) {
    let close = |quantity: &str, found: f64, expected: f64, sigma: f64| {
        let off = (found - expected).abs();
        assert!(off <= SIGMAS * sigma, "{what}, {quantity}: {found}, not {expected} +- {sigma}");
    };
    let (n, batches) = (observed.len() as f64, batches(observed));
    let (lost, deviation) = total(&batches, |batch| batch.lost);
    close("rate", lost / n, theory.rate(), (theory.variance / n).sqrt());
    // The spread of 100 batches has a standard error of 7 %.
    close("spread of the rate", deviation / (theory.variance * n).sqrt(), 1.0, 0.07);

    let mean = theory.mean_burst();
    let bursts = total(&batches, |batch| batch.bursts).0;
    close("mean burst", lost / bursts, mean, total(&batches, |b| b.lost - mean * b.bursts).1 / bursts);

    let (rho, m) = (theory.autocorrelation(), theory.rate());
    // (pairs/n - m^2) / (m (1 - m)), linear in pairs and losses around the expected values.
    let slope = 2.0 * m + rho * (1.0 - 2.0 * m);
    let sigma = total(&batches, |batch| batch.pairs - slope * batch.lost).1 / n / (m * (1.0 - m));
    let (pairs, rate) = (total(&batches, |batch| batch.pairs).0 / (n - 1.0), lost / n);
    close("autocorrelation", (pairs - rate * rate) / (rate * (1.0 - rate)), rho, sigma);

    let at_least = |k: usize| n * (theory.runs[k - 1] - theory.runs[k]);
    let mut rest = at_least(1);
    for k in 1..=LONGEST + 1 {
        let expected = if k <= LONGEST { at_least(k) - at_least(k + 1) } else { rest };
        rest -= expected;
        // Where few are expected the spread of the batches is not to be trusted.
        let (found, sigma) = total(&batches, |batch| batch.lengths[k - 1]);
        close(&format!("bursts of {k}"), found, expected, sigma.max(expected.sqrt()).max(1.0));
    }
}

/// Asks a row about `PACKETS` packets at equal distances.
pub(super) fn measure(name: &str, values: &[(&str, &str)], gap: Nanos, theory: &Theory) {
    let observed = fates(build(name, values).as_mut(), gap);
    check(&format!("{name} {values:?}"), &observed, theory);
}

/// The check itself finds what is wrong by little.
#[test]
fn wrong_theories_are_refuted() {
    let observed = fates(build("gilbert", &[("p", "0.01"), ("r", "0.25")]).as_mut(), Nanos(1));
    let chain = |p: f64, r: f64| Theory::chain([[1.0 - p, p], [r, 1.0 - r]], [0.0, 1.0]);
    check("gilbert", &observed, &chain(0.01, 0.25));
    for (p, r) in [(0.0105, 0.25), (0.01, 0.262), (0.0105, 0.2625)] {
        let refuted = std::panic::catch_unwind(|| check("gilbert", &observed, &chain(p, r)));
        assert!(refuted.is_err(), "{p} {r}");
    }
    // The same rate without bursts.
    assert!(std::panic::catch_unwind(|| check("", &observed, &Theory::independent(1.0 / 26.0))).is_err());
}
