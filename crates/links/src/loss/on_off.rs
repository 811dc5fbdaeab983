//! Phases of service and of outage that alternate, with normal durations (M. Pedrazzi, "Evaluation of MPTCP in
//! Satellite Networks", bachelor thesis, University of Bern, 2020, sections 5.2.2 and 5.2.3).
//!
//! Means in seconds, variances in s^2. The first phase is ON and begins with the run. ON loses packets by bit errors
//! alone, OFF loses each packet with one probability. Long-run loss without bit errors, with the means as drawn:
//!
//! ```text
//! loss * mean_off / (mean_on + mean_off)
//! ```
//!
//! Deviation: a duration is drawn again until it is positive (D-61); the source is silent, and the tool that it used
//! draws negative ones too. Its means 1 s and 6 s become 1.0008507 s and, within 1e-15, 6 s.
//! Deviation: a packet is judged by the phase in which its last bit leaves the transmitter, not by that in which it
//! arrives. With a constant delay this shifts all phases by the delay.
//! Deviation: n of the bit errors is the packet's own size (D-60).

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, SimTime};

use super::bit_errors::BitErrors;
use super::phases::{Dwell, Phases};
use super::{Algorithm, LossModel};

const VARIANCE: OptionKind = OptionKind::Number { min: 0.0, max: 1e9 };

pub(super) const ROW: Algorithm = Algorithm {
    name: "on_off",
    summary: "phases of service and of outage with normal durations; bit errors while ON",
    source: "Pedrazzi 2020, sections 5.2.2 and 5.2.3",
    notes: "",
    options: &[
        OptionSpec::compulsory("mean_on", OptionKind::Duration, "mean duration of ON"),
        OptionSpec::compulsory("variance_on", VARIANCE, "variance of the duration of ON in s^2"),
        OptionSpec::compulsory("mean_off", OptionKind::Duration, "mean duration of OFF"),
        OptionSpec::compulsory("variance_off", VARIANCE, "variance of the duration of OFF in s^2"),
        OptionSpec::compulsory(
            "loss",
            OptionKind::Probability,
            "probability that a packet is lost while OFF",
        ),
        OptionSpec::new("ber", OptionKind::Probability, "0", "bit error ratio while ON"),
        OptionSpec::new(
            "mode",
            OptionKind::Choice(&["replace", "add"]),
            "replace",
            "while OFF `loss` replaces the bit errors, or adds to them",
        ),
    ],
    check: registry::independent,
    build: |options| Box::new(OnOff::new(options)),
};

const ON: usize = 0;

/// Service and outage in turns.
#[derive(Clone, Debug)]
pub(super) struct OnOff {
    phases: Phases,
    loss: f64,
    bit_errors: BitErrors,
    /// Bit errors while OFF too.
    add: bool,
}

impl OnOff {
    fn new(options: &Options) -> Self {
        let dwell = [("mean_on", "variance_on"), ("mean_off", "variance_off")].map(|(mean, variance)| {
            let mean = options.duration(mean).as_secs_f64();
            Dwell::Normal { mean, deviation: options.number(variance).sqrt() }
        });
        Self {
            phases: Phases::alternating(dwell, Some(ON)),
            loss: options.probability("loss").get(),
            bit_errors: BitErrors::new(options.probability("ber")),
            add: options.choice("mode") == "add",
        }
    }

    /// Probability that a packet of `size` is lost in this phase.
    fn probability(&mut self, phase: usize, size: Bytes) -> f64 {
        match (phase, self.add) {
            (ON, _) => self.bit_errors.probability(size),
            (_, false) => self.loss,
            (_, true) => 1.0 - (1.0 - self.loss) * (1.0 - self.bit_errors.probability(size)),
        }
    }
}

impl LossModel for OnOff {
    fn is_lost(&mut self, at: SimTime, size: Bytes, stream: &mut Stream) -> bool {
        let phase = self.phases.state_at(at, stream);
        stream.uniform() < self.probability(phase, size)
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;
    use units::{Nanos, Ratio};

    use super::*;
    use crate::loss::statistics::{Theory, measure};

    const OFF: usize = 1;

    /// The published durations with this loss, bit error ratio and mode.
    fn published(loss: f64, ber: f64, mode: &str) -> OnOff {
        let ratio = |x| OptionValue::Probability(Ratio::new(x).unwrap());
        OnOff::new(&Options::new(vec![
            ("mean_on", OptionValue::Duration(Nanos::from_secs(6))),
            ("variance_on", OptionValue::Number(0.5)),
            ("mean_off", OptionValue::Duration(Nanos::from_secs(1))),
            ("variance_off", OptionValue::Number(0.1)),
            ("loss", ratio(loss)),
            ("ber", ratio(ber)),
            ("mode", OptionValue::Choice(mode.into())),
        ]))
    }

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    fn fates(mut model: OnOff, n: usize, gap: Nanos, size: Bytes) -> Vec<bool> {
        let mut stream = Stream::named(3, "link", "loss");
        let mut at = SimTime::ZERO;
        let mut fate = || {
            at += gap;
            model.is_lost(at, size, &mut stream)
        };
        (0..n).map(|_| fate()).collect()
    }

    #[test]
    fn drawing_again_moves_the_means() {
        let model = published(0.0, 0.0, "replace");
        let off = Dwell::Normal { mean: 1.0, deviation: 0.1f64.sqrt() };
        let on = Dwell::Normal { mean: 6.0, deviation: 0.5f64.sqrt() };
        close(off.mean(), 1.000_850_7, 1e-7);
        close(on.mean(), 6.0, 1e-14);
        close(model.phases.shares()[OFF], 1.000_850_7 / 7.000_850_7, 1e-7);
    }

    #[test]
    fn shares_and_long_run_losses() {
        for (on, share) in [(4.0, 0.2), (6.0, 0.142_857), (8.0, 0.111_111)] {
            let dwell = |mean| Dwell::Normal { mean, deviation: 0.0 };
            let phases = Phases::alternating([dwell(on), dwell(1.0)], Some(ON));
            close(phases.shares()[OFF], share, 1e-5);
        }
        for (loss, long_run) in [(0.01, 0.001_428_57), (0.5, 0.071_428_6)] {
            let mut model = published(loss, 0.0, "replace");
            close(model.probability(OFF, Bytes(1000)) / 7.0, long_run, 1e-5);
            assert_eq!(model.probability(ON, Bytes(1000)).to_bits(), 0.0f64.to_bits());
        }
    }

    #[test]
    fn bit_errors_are_replaced_or_added_to() {
        let n = Bytes(1000);
        let mut replace = published(0.01, 1e-6, "replace");
        close((6.0 * replace.probability(ON, n) + replace.probability(OFF, n)) / 7.0, 0.008_258_36, 1e-6);
        let mut add = published(0.01, 1e-6, "add");
        close(add.probability(ON, n), 0.007_968_09, 1e-6);
        close(add.probability(OFF, n), 1.0 - 0.99 * (1.0 - 0.007_968_09), 1e-6);
        // Smaller packets suffer less from bit errors, not from outages.
        assert!(replace.probability(ON, Bytes(40)) < 0.1 * replace.probability(ON, n));
        close(replace.probability(OFF, Bytes(40)), 0.01, 1e-12);
    }

    /// 10^6 packets, one every 100 ms.
    #[test]
    fn losses_and_bursts_in_both_modes() {
        const PER: f64 = 0.007_968_09;
        let gap = Nanos::from_millis(100);
        let added = |loss: f64| 1.0 - (1.0 - loss) * (1.0 - PER);
        let cases = [
            ("0.5", "0", "replace", [0.0, 0.5]),
            ("1", "0", "replace", [0.0, 1.0]),
            ("0.01", "1e-6", "replace", [PER, 0.01]),
            ("0.01", "1e-6", "add", [PER, added(0.01)]),
            ("0.5", "1e-6", "add", [PER, added(0.5)]),
        ];
        for (loss, ber, mode, losses) in cases {
            let theory = Theory::alternating([6.0, 0.5f64.sqrt()], [1.0, 0.1f64.sqrt()], losses, gap);
            let durations =
                [("mean_on", "6s"), ("variance_on", "0.5"), ("mean_off", "1s"), ("variance_off", "0.1")];
            let options = [&durations[..], &[("loss", loss), ("ber", ber), ("mode", mode)]].concat();
            measure("on_off", &options, gap, &theory);
        }
    }

    /// The share of the normal distribution of OFF below zero, and the means that clamping and drawing again give.
    #[test]
    fn negative_durations() {
        let deviation = 0.1f64.sqrt();
        let z = 1.0 / deviation;
        let below = 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
        close(below, 7.827e-4, 1e-4);
        let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
        let clamped = (1.0 - below) + deviation * density;
        assert!((clamped - 1.000_067_3).abs() < 5e-8, "{clamped}");
        // Drawn again: the clamped sum over what is positive alone.
        let again = Dwell::Normal { mean: 1.0, deviation };
        assert!((again.mean() - clamped / (1.0 - below)).abs() < 1e-12);
        let mut stream = Stream::named(3, "link", "loss");
        assert!((0..100_000).all(|_| again.draw(&mut stream) > Nanos(1)));
    }

    #[test]
    fn outages_have_their_number_and_length() {
        // 10^5 s, a packet every 100 ms; everything is lost while OFF.
        let observed = fates(published(1.0, 0.0, "replace"), 1_000_000, Nanos::from_millis(100), Bytes(1500));
        let outages: Vec<f64> =
            observed.split(|lost| !lost).filter(|run| !run.is_empty()).map(|run| run.len() as f64).collect();
        let count = outages.len() as f64;
        // Renewals: variance of their number is time * variance of a cycle / mean^3. Outages that fall between
        // two packets are missing: P(OFF < 100 ms) = 0.0022, half of them and more are seen.
        let expected = 1e5 / 7.000_850_7;
        let sigma = (1e5 * 0.6 / (7.0f64 * 7.0 * 7.0)).sqrt();
        assert!(count < expected + 4.0 * sigma && count > expected * 0.9977 - 4.0 * sigma, "{count}");
        let mean = outages.iter().sum::<f64>() / count;
        let variance = outages.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        // In packets: 10 per second; rounding to packets adds a variance of 1/6 packet^2.
        assert!((mean - 10.0085).abs() < 4.0 * (10.0 / count).sqrt() + 0.02, "{mean}");
        assert!((variance - 10.0).abs() < 0.6, "{variance}");
    }

    #[test]
    fn the_run_starts_on_and_idle_time_counts() {
        let mut model = published(1.0, 0.0, "replace");
        let mut stream = Stream::named(3, "link", "loss");
        // ON is shorter than 2 s with a probability below 1e-8.
        assert!(!model.is_lost(SimTime::from_secs(2), Bytes(1500), &mut stream));
        // The state depends neither on packets in between nor on how often it is asked for.
        let dense = fates(published(1.0, 0.0, "replace"), 100_000, Nanos::from_millis(10), Bytes(1500));
        let sparse = fates(published(1.0, 0.0, "replace"), 1000, Nanos::from_secs(1), Bytes(1500));
        assert_eq!(dense.into_iter().skip(99).step_by(100).collect::<Vec<_>>(), sparse);
        assert_eq!(sparse, fates(published(1.0, 0.0, "replace"), 1000, Nanos::from_secs(1), Bytes(40)));
    }
}
