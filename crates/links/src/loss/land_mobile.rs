//! Shadowing of a moving terminal, at the level of packets: states of the way to the satellite, each with a
//! probability of losing a packet, that last for a random distance.
//!
//! * `lutz`: open or shadowed (Lutz, Cygan, Dippold, Dolainsky, Papke, "The Land Mobile Satellite Communication
//!   Channel", IEEE Transactions on Vehicular Technology 40(2), 1991).
//! * `perez_fontan`: line of sight, moderate or deep shadow (Perez-Fontan et al., "Statistical Modeling of the LMS
//!   Channel", IEEE Transactions on Vehicular Technology 50(6), 2001).
//!
//! Distances in metres, speed in m/s; a state lasts for its distance over the speed. The share of time in shadow of
//! `lutz` is `distance_bad / (distance_good + distance_bad)`.
//!
//! Deviation: the sources model the envelope of the signal (Rice, Rayleigh with log-normal mean, Loo); here a state
//! has a packet loss, to be worked out from them and from the margin of the link.
//! Deviation: `perez_fontan` changes state after exponential distances and not by a matrix per frame of 3 to 5 m,
//! whose distances are geometric. A change of state leads to the first other state with a probability, so that no
//! choice of options contradicts itself; a matrix P has the mean frame/(1 - P_ii) and the probability
//! P_ij/(1 - P_ii).
//! Deviation: distances can be normal instead, drawn again until positive (D-61).

use registry::{OptionKind, OptionSpec, Options};

use super::Algorithm;
use super::phases::{DIRECTIONS, Dwell, LossyPhases, Phases, together};

const METRES: OptionKind = OptionKind::Number { min: 0.001, max: 1e9 };

const SPEED: OptionSpec = OptionSpec::compulsory(
    "speed",
    OptionKind::Number { min: 0.0, max: 1e5 },
    "speed of the terminal in m/s; 0: it stands",
);

const DISTANCES: OptionSpec = OptionSpec::new(
    "distances",
    OptionKind::Choice(&["exponential", "normal"]),
    "exponential",
    "distribution of the distances",
);

const DEVIATION: OptionSpec = OptionSpec::new(
    "deviation",
    OptionKind::Number { min: 0.0, max: 100.0 },
    "0.5",
    "of normal distances: standard deviation as a multiple of the mean",
);

const fn chance(name: &'static str, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Probability, default, doc)
}

pub(super) const LUTZ: Algorithm = Algorithm {
    name: "lutz",
    summary: "a moving terminal, in the open or in shadow",
    source: "Lutz et al. 1991, at the level of packets",
    notes: "idle time counts",
    options: &[
        OptionSpec::compulsory("distance_good", METRES, "mean distance in the open, in metres"),
        OptionSpec::compulsory("distance_bad", METRES, "mean distance in shadow, in metres"),
        SPEED,
        chance("loss_good", "0", "probability that a packet is lost in the open"),
        chance("loss_bad", "1", "probability that a packet is lost in shadow"),
        DISTANCES,
        DEVIATION,
        DIRECTIONS,
    ],
    check: registry::independent,
    build: |options| {
        let dwell = dwells(options, ["distance_good", "distance_bad"]);
        let losses = losses(options, ["loss_good", "loss_bad"]);
        Box::new(LossyPhases {
            phases: Phases::alternating(dwell, None),
            losses: losses.to_vec(),
            together: together(options),
        })
    },
};

pub(super) const PEREZ_FONTAN: Algorithm = Algorithm {
    name: "perez_fontan",
    summary: "a moving terminal with line of sight, in moderate or in deep shadow",
    source: "Perez-Fontan et al. 2001, at the level of packets",
    notes: "idle time counts",
    options: &[
        OptionSpec::compulsory("distance_los", METRES, "mean distance with line of sight, in metres"),
        OptionSpec::compulsory("distance_moderate", METRES, "mean distance in moderate shadow, in metres"),
        OptionSpec::compulsory("distance_deep", METRES, "mean distance in deep shadow, in metres"),
        OptionSpec::compulsory(
            "los_to_moderate",
            OptionKind::Probability,
            "probability that moderate shadow follows the line of sight, otherwise deep",
        ),
        OptionSpec::compulsory(
            "moderate_to_los",
            OptionKind::Probability,
            "probability that the line of sight follows moderate shadow, otherwise deep",
        ),
        OptionSpec::compulsory(
            "deep_to_los",
            OptionKind::Probability,
            "probability that the line of sight follows deep shadow, otherwise moderate",
        ),
        SPEED,
        chance("loss_los", "0", "probability that a packet is lost with line of sight"),
        OptionSpec::compulsory(
            "loss_moderate",
            OptionKind::Probability,
            "probability that a packet is lost in moderate shadow",
        ),
        chance("loss_deep", "1", "probability that a packet is lost in deep shadow"),
        DISTANCES,
        DEVIATION,
        DIRECTIONS,
    ],
    check: registry::independent,
    build: |options| {
        let dwell = dwells(options, ["distance_los", "distance_moderate", "distance_deep"]);
        let first_other = losses(options, ["los_to_moderate", "moderate_to_los", "deep_to_los"]);
        let losses = losses(options, ["loss_los", "loss_moderate", "loss_deep"]);
        Box::new(LossyPhases {
            phases: Phases::of_three(dwell, first_other),
            losses: losses.to_vec(),
            together: together(options),
        })
    },
};

/// Slower is standing, in m/s: a state then outlasts any run.
const STANDING: f64 = 1e-15;

fn dwells<const N: usize>(options: &Options, distances: [&str; N]) -> [Dwell; N] {
    let speed = options.number("speed").max(STANDING);
    let normal = options.choice("distances") == "normal";
    distances.map(|name| {
        let mean = options.number(name) / speed;
        match normal {
            true => Dwell::Normal { mean, deviation: mean * options.number("deviation") },
            false => Dwell::Exponential(mean),
        }
    })
}

fn losses<const N: usize>(options: &Options, names: [&str; N]) -> [f64; N] {
    names.map(|name| options.probability(name).get())
}

#[cfg(test)]
mod tests {
    use engine::Stream;
    use units::{Bytes, Nanos, SimTime};

    use super::*;
    use crate::loss::statistics::{Theory, measure};

    /// Options of a row from text; those not given have their defaults.
    fn options(row: &Algorithm, values: &[(&str, &str)]) -> Options {
        let value = |spec: &OptionSpec| {
            let given = values.iter().find(|(name, _)| *name == spec.name).map(|(_, text)| *text);
            (spec.name, spec.kind.parse(given.or(spec.default).unwrap()).unwrap())
        };
        Options::new(row.options.iter().map(value).collect())
    }

    const HIGHWAY: [(&str, &str); 3] = [("distance_good", "90"), ("distance_bad", "29"), ("speed", "10")];

    const THREE: [(&str, &str); 8] = [
        ("distance_los", "40"),
        ("distance_moderate", "20"),
        ("distance_deep", "10"),
        ("los_to_moderate", "0.8"),
        ("moderate_to_los", "0.6"),
        ("deep_to_los", "0.3"),
        ("speed", "10"),
        ("loss_moderate", "0.2"),
    ];

    fn fates(row: &Algorithm, values: &[(&str, &str)], n: usize, gap: Nanos, seed: u64) -> Vec<bool> {
        let mut model = (row.build)(&options(row, values));
        let mut stream = Stream::named(seed, "link", "loss");
        let mut at = SimTime::ZERO;
        let mut fate = || {
            at += gap;
            model.is_lost(at, Bytes(1500), &mut stream)
        };
        (0..n).map(|_| fate()).collect()
    }

    fn rate(fates: &[bool]) -> f64 {
        fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
    }

    #[test]
    fn share_of_shadow_and_durations() {
        for (good, bad, share) in [("90", "29", 0.2437), ("27", "52", 0.6582)] {
            let options = options(&LUTZ, &[("distance_good", good), ("distance_bad", bad), ("speed", "10")]);
            let dwell = dwells(&options, ["distance_good", "distance_bad"]);
            let phases = Phases::alternating(dwell, None);
            assert!((phases.shares()[1] - share).abs() < 5e-5);
            if good == "90" {
                assert_eq!(dwell, [Dwell::Exponential(9.0), Dwell::Exponential(2.9)]);
            }
        }
    }

    /// 10^6 packets, one every 100 ms.
    #[test]
    fn lutz_losses_and_bursts() {
        let gap = Nanos::from_millis(100);
        for (good, bad, losses) in [("0", "1", [0.0, 1.0]), ("0.01", "0.5", [0.01, 0.5])] {
            let some = [("loss_good", good), ("loss_bad", bad)];
            let theory = Theory::by_time([9.0, 2.9], [[0.0, 1.0], [1.0, 0.0]], losses, gap);
            measure("lutz", &[&HIGHWAY[..], &some].concat(), gap, &theory);
            let normal = [("distances", "normal"), ("deviation", "0.1")];
            let theory = Theory::alternating([9.0, 0.9], [2.9, 0.29], losses, gap);
            measure("lutz", &[&HIGHWAY[..], &some, &normal].concat(), gap, &theory);
        }
    }

    /// Normal distances whose deviation is half their mean.
    #[test]
    fn lutz_loses_its_share_with_wide_distances() {
        // Variance of the share of an alternating renewal process with exponential times g and b over t:
        // 2 g^2 b^2/((g + b)^3 t); with normal ones of half the mean a quarter of it.
        let (n, gap, share) = (1_000_000, Nanos::from_millis(100), 29.0 / 119.0);
        let sigma = (2.0 * 81.0 * 8.41 / (11.9f64 * 11.9 * 11.9) / 1e5).sqrt();
        let normal =
            [&HIGHWAY[..], &[("distances", "normal"), ("loss_good", "0.01"), ("loss_bad", "0.5")]].concat();
        let observed = rate(&fates(&LUTZ, &normal, n, gap, 1));
        let expected = share * 0.5 + (1.0 - share) * 0.01;
        assert!(
            (observed - expected).abs() < 4.0 * (0.25 * sigma * sigma * 0.49 * 0.49 + 1e-7).sqrt(),
            "{observed}"
        );
    }

    #[test]
    fn three_states_lose_their_shares() {
        let options = options(&PEREZ_FONTAN, &THREE);
        let dwell = dwells(&options, ["distance_los", "distance_moderate", "distance_deep"]);
        let shares = Phases::of_three(dwell, [0.8, 0.6, 0.3]).shares();
        // By hand: visits 0.6 + 0.4 * 0.3 = 0.72, 0.8 + 0.2 * 0.7 = 0.94, 0.2 + 0.8 * 0.4 = 0.52; times 4, 2, 1 s.
        for (share, weight) in shares.iter().zip([2.88, 1.88, 0.52]) {
            assert!((share - weight / 5.28).abs() < 1e-12, "{shares:?}");
        }
        let gap = Nanos::from_millis(100);
        let jump = [[0.0, 0.8, 0.2], [0.6, 0.0, 0.4], [0.3, 0.7, 0.0]];
        let theory = Theory::by_time([4.0, 2.0, 1.0], jump, [0.0, 0.2, 1.0], gap);
        assert!((theory.rate() - 0.2 * shares[1] - shares[2]).abs() < 1e-9, "{theory:?}");
        measure("perez_fontan", &THREE, gap, &theory);
        // Losses with line of sight and less than all of them in deep shadow.
        let theory = Theory::by_time([4.0, 2.0, 1.0], jump, [0.02, 0.2, 0.7], gap);
        let other = [&THREE[..], &[("loss_los", "0.02"), ("loss_deep", "0.7")]].concat();
        measure("perez_fontan", &other, gap, &theory);
    }

    #[test]
    fn a_terminal_that_stands_stays_in_its_state() {
        let standing = [("distance_good", "90"), ("distance_bad", "29"), ("speed", "0")];
        let shadowed = (0..2000)
            .filter(|seed| {
                let observed = fates(&LUTZ, &standing, 50, Nanos::from_secs(1000), *seed);
                assert!(observed.iter().all(|lost| *lost == observed[0]));
                observed[0]
            })
            .count();
        // By its share of time: 2000 * 0.2437, standard deviation 19.
        assert!((shadowed as f64 - 487.4).abs() < 80.0, "{shadowed}");
    }

    /// Two directions see each other's shadows if they are told to, whatever they send.
    #[test]
    fn directions_together_are_in_the_same_state() {
        let directions = |how| {
            let values = [&THREE[..7], &[("loss_moderate", "1"), ("directions", how)]].concat();
            let fates = |link: &str, gap: u64| {
                let mut model = (PEREZ_FONTAN.build)(&options(&PEREZ_FONTAN, &values));
                model.share(Stream::named(1, "link", "sky"));
                let mut stream = Stream::named(1, link, "loss");
                let step = 1000 / gap as usize;
                let all: Vec<bool> = (1..=500 * step as u64)
                    .map(|i| model.is_lost(SimTime::from_millis(i * gap), Bytes(1), &mut stream))
                    .collect();
                all.into_iter().skip(step - 1).step_by(step).collect::<Vec<_>>()
            };
            (fates("link.up", 10), fates("link.down", 250))
        };
        let (up, down) = directions("together");
        assert_eq!(up, down);
        assert!(up.contains(&true) && up.contains(&false));
        let (up, down) = directions("apart");
        assert_ne!(up, down);
    }

    #[test]
    fn states_do_not_depend_on_traffic() {
        let run =
            |n, gap| fates(&PEREZ_FONTAN, &[&THREE[..7], &[("loss_moderate", "1")]].concat(), n, gap, 5);
        let sparse = run(1000, Nanos::from_secs(1));
        let dense = run(100_000, Nanos::from_millis(10));
        assert_eq!(sparse, dense.into_iter().skip(99).step_by(100).collect::<Vec<_>>());
        assert_eq!(sparse, run(1000, Nanos::from_secs(1)));
    }
}
