//! Adaptive coding and modulation: a series of C/N0 or Es/N0 picks the modulation and code rate of DVB-S2 (ETSI
//! EN 302 307-1 Table 13: normal frames, no pilots, ideal Es/N0 for quasi-error-free reception).
//!
//! Es/N0 in dB, C/N0 in dBHz; symbol rate in symbol/s, efficiency in bit/symbol.
//!
//! ```text
//! Es/N0 = C/N0 - 10 log10(symbol rate)
//! rate  = symbol rate * efficiency
//! ```
//!
//! The most efficient row whose threshold lies at least `margin` below Es/N0 is taken; the present row is kept as long
//! as it satisfies this, unless a more efficient one does so with `hysteresis` to spare. Below all rows nothing is
//! sent.

use registry::{OptionKind, OptionSpec, Options};
use units::{BitsPerSecond, Nanos};

use super::Algorithm;
use super::piecewise::Piecewise;
use super::steps::Listed;
use crate::series_file::{COLUMN, ORIGIN, TIME, TIME_UNIT, checked};
use crate::trace_file;

const DECIBELS: OptionKind = OptionKind::Number { min: 0.0, max: 20.0 };

pub(super) const ROW: Algorithm = Algorithm {
    name: "acm",
    summary: "DVB-S2 modulation and coding chosen by a series of C/N0 or Es/N0",
    source: "ETSI EN 302 307-1 Table 13",
    notes: "",
    options: &[
        OptionSpec::compulsory(
            "file",
            OptionKind::File(trace_file::DECIBELS),
            "path of the series, from the folder of the scenario",
        ),
        OptionSpec::new(
            "quantity",
            OptionKind::Choice(&["es_n0", "c_n0"]),
            "es_n0",
            "what the series holds: Es/N0 in dB, or C/N0 in dBHz",
        ),
        COLUMN,
        TIME,
        TIME_UNIT,
        ORIGIN,
        OptionSpec::compulsory(
            "symbol_rate",
            OptionKind::Number { min: 1.0, max: 1e12 },
            "symbols per second",
        ),
        OptionSpec::new("margin", DECIBELS, "0.5", "dB that Es/N0 has to be above a threshold"),
        OptionSpec::new("hysteresis", DECIBELS, "0.5", "further dB before a more efficient row is taken"),
        OptionSpec::new(
            "repeat",
            OptionKind::Duration,
            "unlimited",
            "the series begins anew after this time, later than its last line",
        ),
    ],
    check: crate::check::series,
    build: |options, _| Box::new(Piecewise::new(Listed::of(rates(options), options.duration("repeat")))),
};

/// Efficiency in bit/symbol and threshold in dB of all rows: QPSK, 8PSK, 16APSK, 32APSK.
const DVB_S2: [(f64, f64); 28] = [
    (0.490243, -2.35),
    (0.656448, -1.24),
    (0.789412, -0.30),
    (0.988858, 1.00),
    (1.188304, 2.23),
    (1.322253, 3.10),
    (1.487473, 4.03),
    (1.587196, 4.68),
    (1.654663, 5.18),
    (1.766451, 6.20),
    (1.788612, 6.42),
    (1.779991, 5.50),
    (1.980636, 6.62),
    (2.228124, 7.91),
    (2.478562, 9.35),
    (2.646012, 10.69),
    (2.679207, 10.98),
    (2.637201, 8.97),
    (2.966728, 10.21),
    (3.165623, 11.03),
    (3.300184, 11.61),
    (3.523143, 12.89),
    (3.567342, 13.13),
    (3.703295, 12.73),
    (3.951571, 13.64),
    (4.119540, 14.28),
    (4.397854, 15.69),
    (4.453027, 16.05),
];

/// The most efficient row that needs no more than `es_n0`.
fn best(es_n0: f64) -> Option<(f64, f64)> {
    let usable = DVB_S2.into_iter().filter(|(_, threshold)| *threshold <= es_n0);
    usable.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The row for `es_n0` when `present` was in use.
fn choose(es_n0: f64, margin: f64, hysteresis: f64, present: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let chosen = match present.filter(|(_, threshold)| *threshold <= es_n0 - margin) {
        None => best(es_n0 - margin),
        Some(row) => best(es_n0 - margin - hysteresis).filter(|better| better.0 > row.0).or(Some(row)),
    };
    debug_assert!(
        chosen.is_none_or(|(_, threshold)| threshold <= es_n0 - margin),
        "{chosen:?} needs more than {es_n0} dB less the margin of {margin} dB"
    );
    chosen
}

/// Changes of the rate.
fn rates(options: &Options) -> Vec<(Nanos, BitsPerSecond)> {
    let symbol_rate = options.number("symbol_rate");
    let shift = if options.choice("quantity") == "c_n0" { 10.0 * libm::log10(symbol_rate) } else { 0.0 };
    let (margin, hysteresis) = (options.number("margin"), options.number("hysteresis"));
    let mut rows: Vec<(Nanos, BitsPerSecond)> = Vec::new();
    let mut present = None;
    for (at, value) in checked(options).iter() {
        present = choose(value - shift, margin, hysteresis, present);
        let rate =
            BitsPerSecond(present.map_or(0.0, |(efficiency, _)| symbol_rate * efficiency + 0.5) as u64);
        if rows.last().is_none_or(|(_, last)| *last != rate) {
            rows.push((*at, rate));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use registry::{NamedFile, OptionValue};

    use super::*;

    fn series(text: &str, quantity: &str, margin: f64, hysteresis: f64) -> Vec<(Nanos, BitsPerSecond)> {
        let file = NamedFile::read("", text, trace_file::DECIBELS).unwrap();
        rates(&Options::new(vec![
            ("file", OptionValue::File(file)),
            ("quantity", OptionValue::Choice(quantity.into())),
            ("symbol_rate", OptionValue::Number(5e6)),
            ("margin", OptionValue::Number(margin)),
            ("hysteresis", OptionValue::Number(hysteresis)),
        ]))
    }

    /// 5 Msymbol/s at 7.0 dB: 8PSK 2/3; after a fade of 4 dB: QPSK 3/5.
    #[test]
    fn a_fade_of_four_decibels() {
        let rates = series("0 7.0\n10 3.0", "es_n0", 0.0, 0.0);
        assert_eq!(
            rates,
            [(Nanos::ZERO, BitsPerSecond(9_903_180)), (Nanos::from_secs(10), BitsPerSecond(5_941_520))]
        );
        // 10 log10(5e6) = 66.9897 dB.
        assert_eq!(series("0 73.9898\n10 69.9898", "c_n0", 0.0, 0.0), rates);
    }

    #[test]
    fn margin_and_hysteresis() {
        // 8PSK 2/3 needs 6.62 dB; with 0.5 dB of margin 7.12 to stay and 7.62 to come.
        let text = "0 7.5\n1 7.63\n2 7.13\n3 7.11\n4 7.61\n5 -5";
        let rates: Vec<u64> = series(text, "es_n0", 0.5, 0.5).iter().map(|(_, rate)| rate.0 / 1000).collect();
        // The first is chosen without hysteresis; QPSK 9/10 at 7.11 dB (6.42 and margin).
        assert_eq!(rates, [9903, 8943, 0]);
        let all = series("0 -3\n1 30", "es_n0", 0.0, 0.0);
        assert_eq!(all[0].1.0, 0);
        assert_eq!(all[1].1.0, 22_265_135);
    }

    /// Each row of ETSI EN 302 307-1 Table 13 at its threshold, and not 0.01 dB below it. Where a row of another modulation
    /// carries more with less it is taken instead: 8PSK 3/5 for QPSK 8/9, 16APSK 2/3 for 8PSK 5/6 to 9/10,
    /// 32APSK 3/4 for 16APSK 8/9 and 9/10.
    #[test]
    fn each_row_is_chosen_at_its_threshold() {
        let qpsk = [
            (-2.35, 0.490243),
            (-1.24, 0.656448),
            (-0.30, 0.789412),
            (1.00, 0.988858),
            (2.23, 1.188304),
            (3.10, 1.322253),
            (4.03, 1.487473),
            (4.68, 1.587196),
            (5.18, 1.654663),
            (6.20, 1.766451),
            (6.42, 1.788612),
        ];
        let psk8 = [
            (5.50, 1.779991),
            (6.62, 1.980636),
            (7.91, 2.228124),
            (9.35, 2.478562),
            (10.69, 2.646012),
            (10.98, 2.679207),
        ];
        let apsk16 = [
            (8.97, 2.637201),
            (10.21, 2.966728),
            (11.03, 3.165623),
            (11.61, 3.300184),
            (12.89, 3.523143),
            (13.13, 3.567342),
        ];
        let apsk32 =
            [(12.73, 3.703295), (13.64, 3.951571), (14.28, 4.119540), (15.69, 4.397854), (16.05, 4.453027)];
        let table = [&qpsk[..], &psk8, &apsk16, &apsk32].concat();
        assert_eq!(table.len(), 28);
        let rate_at = |es_n0: f64| series(&format!("0 {es_n0}"), "es_n0", 0.0, 0.0)[0].1.0;
        let mut chosen = Vec::new();
        for (threshold, efficiency) in &table {
            let better = table.iter().any(|(other, more)| other <= threshold && more > efficiency);
            let rate = (5e6 * efficiency + 0.5) as u64;
            if better {
                assert!(rate_at(*threshold) > rate, "{efficiency}");
                continue;
            }
            assert_eq!(rate_at(*threshold), rate, "{efficiency} at {threshold} dB");
            assert!(rate_at(threshold - 0.01) < rate, "{efficiency} below {threshold} dB");
            // The same with margin, and coming from below with hysteresis.
            let (with, above) = (threshold + 1.0, threshold + 1.5001);
            assert_eq!(series(&format!("0 {}", with + 1e-4), "es_n0", 1.0, 0.5)[0].1.0, rate);
            assert_eq!(series(&format!("0 -0.5\n1 {above}"), "es_n0", 1.0, 0.5).last().unwrap().1.0, rate);
            chosen.push(*efficiency);
        }
        let passed_over: Vec<f64> =
            table.iter().map(|(_, efficiency)| *efficiency).filter(|e| !chosen.contains(e)).collect();
        assert_eq!(passed_over, [1.766451, 2.478562, 2.646012, 2.679207, 3.523143, 3.567342]);
        // The rows that are passed over in favour of others are in the table too.
        assert!(table.iter().all(|(threshold, efficiency)| DVB_S2.contains(&(*efficiency, *threshold))));
    }
}
