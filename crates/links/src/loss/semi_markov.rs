//! A semi-Markov process with any number of states, each with a packet loss and a distribution of how long it lasts: the
//! frame into which channels fit that are published as states, dwell times and transitions, such as the two states with
//! log-normal durations of ITU-R P.681.
//!
//! Durations in seconds. State i lasts for a random time and is then followed by state j with a probability in the
//! proportion of the weights `jump[i * N + j]`. Share of time in state i: v_i m_i / sum(v_k m_k), where m are the mean
//! durations and v the shares of visits.
//!
//! Deviation: one kind of distribution for all states, each with its own mean and deviation.

use registry::{Items, OptionFault, OptionKind, OptionSpec, Options};

use super::Algorithm;
use super::phases::{DIRECTIONS, Dwell, LossyPhases, Phases, together};
use crate::check;

const fn compulsory(name: &'static str, items: Items, doc: &'static str) -> OptionSpec {
    OptionSpec::compulsory(name, OptionKind::List(items), doc)
}

pub(super) const ROW: Algorithm = Algorithm {
    name: "semi_markov",
    summary: "any number of states that last for random times, with a packet loss each",
    source: "semi-Markov process, as in ITU-R P.681",
    notes: "idle time counts",
    options: &[
        compulsory("dwell", Items::Durations, "mean duration of each state, from 1 us on"),
        compulsory("losses", Items::Numbers, "probability that a packet is lost in each state"),
        check::JUMP,
        OptionSpec::new(
            "distribution",
            OptionKind::Choice(&["exponential", "normal", "log-normal"]),
            "exponential",
            "distribution of the durations; normal ones are drawn again until positive (D-61)",
        ),
        OptionSpec::new(
            "deviation",
            OptionKind::List(Items::Durations),
            "0s",
            "of normal and log-normal durations: standard deviation of each state",
        ),
        OptionSpec::new(
            "first",
            OptionKind::Integer { min: 0, max: MOST as u64 },
            "0",
            "state at the start of the run, counted from 1; 0: drawn by its share of time",
        ),
        DIRECTIONS,
    ],
    check,
    build: |options| {
        let means = options.durations("dwell").into_iter().map(units::Nanos::as_secs_f64);
        let deviations: Vec<f64> =
            options.durations("deviation").into_iter().map(units::Nanos::as_secs_f64).collect();
        let of = |(state, mean)| {
            let deviation = deviations.get(state).copied().unwrap_or_default();
            match options.choice("distribution").as_str() {
                "normal" => Dwell::Normal { mean, deviation },
                "log-normal" => Dwell::LogNormal { mean, deviation },
                _ => Dwell::Exponential(mean),
            }
        };
        let dwell: Vec<Dwell> = means.enumerate().map(of).collect();
        let jump = weights(&options.numbers("jump"), dwell.len());
        let start = (options.integer("first") as usize).checked_sub(1);
        Box::new(LossyPhases {
            phases: Phases::of_many(dwell, jump, start),
            losses: options.numbers("losses"),
            together: together(options),
        })
    },
};

/// Most states.
const MOST: usize = 64;

/// Rows of probabilities.
fn weights(jump: &[f64], n: usize) -> Vec<Vec<f64>> {
    if jump == [1.0] {
        let alike = |i, j| if i == j { 0.0 } else { 1.0 / (n - 1) as f64 };
        return (0..n).map(|i| (0..n).map(|j| alike(i, j)).collect()).collect();
    }
    let row = |row: &[f64]| row.iter().map(|weight| weight / row.iter().sum::<f64>()).collect();
    jump.chunks(n).map(row).collect()
}

fn fault(option: &'static str, message: String, help: impl Into<String>) -> OptionFault {
    OptionFault { option, message, help: help.into() }
}

/// Rules between the lists.
fn check(options: &Options) -> Result<(), OptionFault> {
    let dwell = options.durations("dwell");
    let n = dwell.len();
    if !(2..=MOST).contains(&n) {
        return Err(fault("dwell", format!("found {n} states"), format!("give 2 to {MOST} mean durations")));
    }
    check::no_shorter("dwell", &dwell)?;
    let losses = options.numbers("losses");
    check::as_many("losses", losses.len(), "dwell", n)?;
    if let Some(loss) = losses.iter().find(|loss| **loss > 1.0) {
        return Err(fault("losses", format!("found {loss}"), "give probabilities from 0 to 1"));
    }
    check_jump(&options.numbers("jump"), n)?;
    let deviation = options.durations("deviation");
    if options.choice("distribution") != "exponential" {
        check::as_many("deviation", deviation.len(), "dwell", n)?;
    } else if deviation.iter().any(|deviation| deviation.0 > 0) {
        let help = "exponential durations have none: leave it out, or choose another distribution";
        return Err(fault("deviation", "found deviations".into(), help));
    }
    let first = options.integer("first");
    if first > n as u64 {
        return Err(fault(
            "first",
            format!("found {first}, but there are {n} states"),
            format!("at most {n}"),
        ));
    }
    Ok(())
}

fn check_jump(jump: &[f64], n: usize) -> Result<(), OptionFault> {
    if jump == [1.0] {
        return Ok(());
    }
    check::jump(jump, "dwell", n)?;
    for forwards in [true, false] {
        let step = |i: usize, j: usize| if forwards { jump[i * n + j] } else { jump[j * n + i] };
        let mut reached = vec![0];
        let mut next = 0;
        while let Some(&i) = reached.get(next) {
            let new: Vec<usize> = (0..n).filter(|j| step(i, *j) > 0.0 && !reached.contains(j)).collect();
            reached.extend(new);
            next += 1;
        }
        if let Some(lost) = (0..n).find(|i| !reached.contains(i)) {
            let (from, to) = if forwards { (1, lost + 1) } else { (lost + 1, 1) };
            let found = format!("there is no way from state {from} to state {to}");
            return Err(fault("jump", found, "each state must lead to each other one, if by others"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use engine::Stream;
    use registry::OptionValue;
    use units::{Bytes, Nanos, SimTime};

    use super::*;
    use crate::loss::statistics::{Theory, build, measure};

    const FOUR: [(&str, &str); 3] = [
        ("dwell", "8s, 3s, 1s, 500ms"),
        ("losses", "0, 0.05, 0.4, 1"),
        ("jump", "0, 0.7, 0.2, 0.1, 0.5, 0, 0.5, 0, 3, 3, 0, 4, 1, 0, 0, 0"),
    ];

    /// 10^6 packets against a Markov chain in continuous time.
    #[test]
    fn four_states_lose_as_theory_says() {
        let gap = Nanos::from_millis(100);
        let jump = [[0.0, 0.7, 0.2, 0.1], [0.5, 0.0, 0.5, 0.0], [0.3, 0.3, 0.0, 0.4], [1.0, 0.0, 0.0, 0.0]];
        let theory = Theory::by_time([8.0, 3.0, 1.0, 0.5], jump, [0.0, 0.05, 0.4, 1.0], gap);
        measure("semi_markov", &FOUR, gap, &theory);
    }

    /// The same numbers as the two states that have a model of their own.
    #[test]
    fn two_states_with_normal_durations_lose_as_theory_says() {
        let gap = Nanos::from_millis(100);
        let values = [
            ("dwell", "9s, 2900ms"),
            ("losses", "0.01, 0.5"),
            ("distribution", "normal"),
            ("deviation", "900ms, 290ms"),
        ];
        measure("semi_markov", &values, gap, &Theory::alternating([9.0, 0.9], [2.9, 0.29], [0.01, 0.5], gap));
    }

    /// Log-normal outages: their share of the time, and their median, which is mean / sqrt(1 + (deviation/mean)^2).
    #[test]
    fn log_normal_outages_have_their_share_and_median() {
        let values = [
            ("dwell", "4s, 1s"),
            ("losses", "0, 1"),
            ("jump", "0, 1, 1, 0"),
            ("distribution", "log-normal"),
            ("deviation", "2s, 1500ms"),
            ("first", "1"),
        ];
        let mut model = build("semi_markov", &values);
        let (mut stream, gap, n) = (Stream::named(5, "link", "loss"), Nanos::from_millis(10), 1_000_000_u64);
        let fates: Vec<bool> =
            (1..=n).map(|i| model.is_lost(SimTime(i * gap.0), Bytes(1000), &mut stream)).collect();
        assert!(!fates[0], "it starts in the first state");
        let share = fates.iter().filter(|lost| **lost).count() as f64 / n as f64;
        // Variance of the share over t: (g^2 s_b^2 + b^2 s_g^2) / ((g + b)^3 t), t = 10^4 s.
        let sigma = ((16.0 * 2.25 + 4.0) / 125.0 / 1e4_f64).sqrt();
        assert!((share - 0.2).abs() < 4.5 * sigma, "{share} +- {sigma}");
        let bursts: Vec<usize> =
            fates.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let median = 1.0 / (1.0 + 2.25_f64).sqrt();
        let below = bursts.iter().filter(|burst| (**burst as f64) < median * 100.0).count() as f64;
        let (count, half) = (bursts.len() as f64, bursts.len() as f64 / 2.0);
        // Outages between two packets are not seen: about one in a hundred is that short.
        assert!((below - half).abs() < 4.5 * (count / 4.0).sqrt() + 0.01 * count, "{below} of {count}");
    }

    #[test]
    fn lists_that_contradict_each_other_are_refused() {
        let registry = crate::loss::Registry::builtin();
        let row = registry.get("semi_markov").unwrap();
        let refused = |name: &str, text: &str| {
            let value = |spec: &OptionSpec| {
                let given = FOUR.iter().find(|(option, _)| *option == spec.name).map(|(_, text)| *text);
                let text = if spec.name == name { Some(text) } else { given };
                (spec.name, spec.kind.parse(text.or(spec.default).unwrap()).unwrap())
            };
            let values: Vec<(&'static str, OptionValue)> = row.options.iter().map(value).collect();
            check(&Options::new(values)).map_err(|fault| (fault.option, fault.message))
        };
        assert_eq!((refused("first", "4"), refused("jump", "1")), (Ok(()), Ok(())));
        for (name, text, option, message) in [
            ("dwell", "1s", "dwell", "found 1 states"),
            ("dwell", "8s, 3s, 1s, 1ns", "dwell", "1ns"),
            ("losses", "0, 0.05, 0.4", "losses", "found 3 items"),
            ("losses", "0, 0.05, 0.4, 1.5", "losses", "1.5"),
            ("jump", "0, 1, 1, 0", "jump", "found 4 items"),
            ("jump", "1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0", "jump", "state 1 follows itself"),
            ("jump", "0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0", "jump", "from state 1 to state 3"),
            ("jump", "0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0", "jump", "from state 2 to state 1"),
            ("distribution", "log-normal", "deviation", "found 1 items"),
            ("deviation", "1s, 1s, 1s, 1s", "deviation", "found deviations"),
            ("first", "5", "first", "found 5"),
        ] {
            let (found, said) = refused(name, text).unwrap_err();
            assert!(found == option && said.contains(message), "{name} = {text}: {found}: {said}");
        }
    }
}
