//! Losses that are written down: numbers of packets to drop, a file with the fate of each packet, a file with a
//! probability over time.
//!
//! Packets are numbered from 1 in the order of transmission on their link direction, whatever they carry: with one
//! connection number 1 is its SYN.

use std::sync::Arc;

use engine::Stream;
use registry::{Items, OptionFault, OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use super::{Algorithm, LossModel};
use crate::series_file::{COLUMN, ORIGIN, Series, TIME, TIME_UNIT, checked};
use crate::trace_file::{FATES, Fates, PROBABILITIES};

pub(super) const LIST: Algorithm = Algorithm {
    name: "list",
    summary: "drops the packets with given numbers",
    source: "a list",
    notes: "",
    options: &[OptionSpec::compulsory(
        "packets",
        OptionKind::List(Items::Integers),
        "numbers of the packets that are lost, from 1 in the order of transmission, rising",
    )],
    check: check_list,
    build: |options| Box::new(Numbered { numbers: options.integers("packets"), sent: 0, next: 0 }),
};

pub(super) const TRACE: Algorithm = Algorithm {
    name: "trace",
    summary: "drops packets as a file says, packet by packet",
    source: "a file with 0 and 1",
    notes: "the trace goes on with packets: idle time does not count",
    options: &[
        OptionSpec::compulsory(
            "file",
            OptionKind::File(FATES),
            "path of the file, from the folder of the scenario",
        ),
        OptionSpec::new(
            "repeat",
            OptionKind::Flag,
            "true",
            "after its last line the file begins anew; false: nothing more is lost",
        ),
    ],
    check: registry::independent,
    build: |options| {
        Box::new(Trace { fates: options.file("file").content(), repeat: options.flag("repeat"), next: 0 })
    },
};

pub(super) const SERIES: Algorithm = Algorithm {
    name: "series",
    summary: "each packet is lost with a probability that changes over time as a file says",
    source: "a file with times and probabilities",
    notes: "idle time counts",
    options: &[
        OptionSpec::compulsory(
            "file",
            OptionKind::File(PROBABILITIES),
            "path of the file, from the folder of the scenario",
        ),
        COLUMN,
        TIME,
        TIME_UNIT,
        ORIGIN,
        crate::check::REPEAT,
    ],
    check: crate::check::series,
    build: |options| Box::new(OverTime { rows: checked(options), period: options.duration("repeat") }),
};

fn check_list(options: &Options) -> Result<(), OptionFault> {
    crate::check::rising("packets", &options.integers("packets"))
}

#[derive(Clone, Debug)]
struct Numbered {
    numbers: Vec<u64>,
    sent: u64,
    /// Position of the next number.
    next: usize,
}

impl LossModel for Numbered {
    fn is_lost(&mut self, _at: SimTime, _size: Bytes, _stream: &mut Stream) -> bool {
        self.sent += 1;
        let lost = self.numbers.get(self.next) == Some(&self.sent);
        self.next += usize::from(lost);
        debug_assert!(
            self.numbers.get(self.next).is_none_or(|next| *next > self.sent),
            "packet {} is listed and has passed",
            self.numbers[self.next]
        );
        lost
    }
}

#[derive(Clone, Debug)]
struct Trace {
    fates: Arc<Fates>,
    repeat: bool,
    next: usize,
}

impl LossModel for Trace {
    fn is_lost(&mut self, _at: SimTime, _size: Bytes, _stream: &mut Stream) -> bool {
        let fates = &self.fates;
        if self.repeat && self.next == fates.len() {
            self.next = 0;
        }
        let lost = fates.get(self.next).copied().unwrap_or(false);
        self.next = (self.next + 1).min(fates.len());
        lost
    }
}

#[derive(Clone, Debug)]
struct OverTime {
    rows: Arc<Series>,
    period: Nanos,
}

impl OverTime {
    /// The probability that holds at `at`; before the first time it is that of the first line.
    fn probability(&self, at: SimTime) -> f64 {
        let at = if self.period == Nanos(u64::MAX) { at.0 } else { at.0 % self.period.0 };
        let next = self.rows.partition_point(|(time, _)| time.0 <= at);
        self.rows.get(next.saturating_sub(1)).map_or(0.0, |(_, probability)| *probability)
    }
}

impl LossModel for OverTime {
    fn is_lost(&mut self, at: SimTime, _size: Bytes, stream: &mut Stream) -> bool {
        stream.uniform() < self.probability(at)
    }
}

#[cfg(test)]
mod tests {
    use registry::{FileFormat, NamedFile, OptionValue};

    use super::*;

    fn file(format: FileFormat, text: &str) -> NamedFile {
        NamedFile::read("test", text, format).unwrap()
    }

    fn over_time(text: &str) -> OverTime {
        let options = Options::new(vec![("file", OptionValue::File(file(PROBABILITIES, text)))]);
        OverTime { rows: checked(&options), period: Nanos::from_secs(2) }
    }

    fn fates(model: &mut dyn LossModel, n: u64, gap_ms: u64) -> Vec<bool> {
        let mut stream = Stream::named(1, "link", "loss");
        (0..n).map(|i| model.is_lost(SimTime::from_millis(i * gap_ms), Bytes(40), &mut stream)).collect()
    }

    #[test]
    fn exactly_the_numbers_of_the_list() {
        let mut list = Numbered { numbers: vec![1, 3, 4, 10], sent: 0, next: 0 };
        let lost: Vec<usize> = fates(&mut list, 100, 1)
            .iter()
            .enumerate()
            .filter(|(_, lost)| **lost)
            .map(|(i, _)| i + 1)
            .collect();
        assert_eq!(lost, [1, 3, 4, 10]);
    }

    #[test]
    fn the_trace_packet_by_packet_and_again() {
        let fates_of = file(FATES, "0\n1\n1\n");
        let mut trace = Trace { fates: fates_of.content(), repeat: true, next: 0 };
        let expected = [false, true, true];
        assert!(fates(&mut trace, 300, 1).iter().eq(expected.iter().cycle().take(300)));
        trace = Trace { repeat: false, next: 0, ..trace };
        assert_eq!(fates(&mut trace, 300, 1).iter().filter(|lost| **lost).count(), 2);
    }

    /// One second at 0.1 and one at 0.5 in turns, ten packets each.
    #[test]
    fn losses_of_a_series_have_their_bursts() {
        use crate::loss::statistics;
        let mut model = over_time("0 0.1\n1 0.5");
        let probabilities = [[0.1; 10], [0.5; 10]].concat();
        let observed = statistics::fates(&mut model, Nanos::from_millis(100));
        statistics::check("series", &observed, &statistics::Theory::periodic(&probabilities));
    }

    /// A thousand seconds with a packet every ms: half a second of 0.5 in each two.
    #[test]
    fn probabilities_over_time() {
        let mut series = over_time("0 0\n1 50%\n1.5 0\n");
        let fates = fates(&mut series, 1_000_000, 1);
        assert!(fates.iter().enumerate().all(|(ms, lost)| !lost || (1000..1500).contains(&(ms % 2000))));
        let lost = fates.iter().filter(|lost| **lost).count() as f64;
        assert!((lost - 125_000.0).abs() < 4.5 * (250_000.0f64 * 0.25).sqrt(), "{lost}");
    }
}
