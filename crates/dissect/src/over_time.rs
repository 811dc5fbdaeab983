//! The tables `series` and `samples`: they may have more rows than the capture has packets. Their columns are built where they stand,
//! and the rows of one subflow are told at once whose they are.

use trace::{Better, Data, Kind, MetricSpec, Table, TableBuilder, TableSpec, Unit, Words, metrics};

use crate::samples::Sample;

/// In place of a seed.
pub(crate) const RUN: u64 = 0;

/// Counters of subflows over time, as their sender's place shows them.
const SAMPLES: TableSpec = TableSpec {
    name: "samples",
    row: "one row per sample of a subflow",
    columns: &[
        own("flow", Kind::Word),
        own("subflow", Kind::Integer),
        own("t_s", Kind::Real),
        own("acked_bytes", Kind::Integer),
        own("inflight_bytes", Kind::Integer),
        own("rtt_s", Kind::Real),
        own("retransmitted_segments", Kind::Integer),
    ],
};

/// A column of a table that runs lack.
pub(crate) const fn own(name: &'static str, kind: Kind) -> MetricSpec {
    MetricSpec { name, kind, key: true, unit: Unit::One, better: Better::Neither, label: name, doc: "" }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// The table `series` in the making.
#[derive(Debug, Default)]
pub(crate) struct SeriesRows {
    flow: Words,
    subflow: Vec<Option<u64>>,
    at: Vec<Option<f64>>,
    metric: Vec<Option<u32>>,
    /// In the order of first use. They are few, and take turns.
    metrics: Vec<&'static str>,
    value: Vec<Option<f64>>,
}

impl SeriesRows {
    /// Without a row, and with room for as many as this: no column moves while it grows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            flow: Words::with_capacity(rows),
            subflow: Vec::with_capacity(rows),
            at: Vec::with_capacity(rows),
            metric: Vec::with_capacity(rows),
            metrics: Vec::new(),
            value: Vec::with_capacity(rows),
        }
    }

    /// The next row: a value, or none, `at` nanoseconds from the first packet of all.
    pub(crate) fn push(&mut self, at: u64, metric: &'static str, value: impl Into<Option<f64>>) {
        let known = self.metrics.iter().position(|known| *known == metric);
        let metric = known.unwrap_or_else(|| {
            self.metrics.push(metric);
            self.metrics.len() - 1
        });
        self.at.push(Some(seconds(at)));
        self.metric.push(Some(metric as u32));
        self.value.push(value.into());
    }

    /// A row for the rate between each two of these instants with their bytes so far.
    pub(crate) fn rates(&mut self, metric: &'static str, samples: impl Iterator<Item = (u64, u64)>) {
        let (mut since, mut had) = (0, 0);
        for (at, bytes) in samples {
            if at > since {
                let rate = bytes.saturating_sub(had) as f64 * 8e9 / (at - since) as f64;
                self.push(at, metric, rate);
            }
            (since, had) = (at, bytes);
        }
    }

    /// The rows since the last call are those of a subflow, or of the flow itself.
    pub(crate) fn belong_to(&mut self, flow: &str, subflow: Option<u64>) {
        self.flow.fill(Some(flow), self.at.len());
        self.subflow.resize(self.at.len(), subflow);
    }

    /// The table.
    pub(crate) fn finish(self) -> Table {
        let rows = self.at.len();
        let words = self.metrics.into_iter().map(str::to_owned).collect();
        let mut table = TableBuilder::new(&metrics::SERIES, rows);
        table.push("run", Data::Integer(vec![RUN; rows]));
        table.push("flow", self.flow.finish());
        let connection = self.subflow.iter().map(|subflow| subflow.map(|_| 0)).collect();
        table.push("connection", Data::OptionalInteger(connection));
        table.push("subflow", Data::OptionalInteger(self.subflow));
        table.push("link", Data::Word { words: Vec::new(), rows: vec![None; rows] });
        table.push("t_s", Data::Real(self.at));
        table.push("metric", Data::Word { words, rows: self.metric });
        table.push("value", Data::Real(self.value));
        table.finish()
    }
}

/// The table `samples` in the making.
#[derive(Debug, Default)]
pub(crate) struct SampleRows {
    flow: Words,
    subflow: Vec<u64>,
    at: Vec<Option<f64>>,
    acked: Vec<u64>,
    inflight: Vec<u64>,
    rtt: Vec<Option<f64>>,
    retransmitted: Vec<u64>,
}

impl SampleRows {
    /// The samples of a subflow.
    pub(crate) fn add<'s>(&mut self, flow: &str, subflow: u64, samples: impl Iterator<Item = &'s Sample>) {
        for sample in samples {
            self.at.push(Some(seconds(sample.at)));
            self.acked.push(sample.acked);
            self.inflight.push(sample.waiting);
            self.rtt.push((sample.rtt > 0).then(|| seconds(sample.rtt)));
            self.retransmitted.push(sample.repeated);
        }
        self.flow.fill(Some(flow), self.at.len());
        self.subflow.resize(self.at.len(), subflow);
    }

    /// The table.
    pub(crate) fn finish(self) -> Table {
        let mut table = TableBuilder::new(&SAMPLES, self.at.len());
        table.push("flow", self.flow.finish());
        table.push("subflow", Data::Integer(self.subflow));
        table.push("t_s", Data::Real(self.at));
        table.push("acked_bytes", Data::Integer(self.acked));
        table.push("inflight_bytes", Data::Integer(self.inflight));
        table.push("rtt_s", Data::Real(self.rtt));
        table.push("retransmitted_segments", Data::Integer(self.retransmitted));
        table.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_whoever_comes_next() {
        let mut series = SeriesRows::with_capacity(1);
        // One without a row is not mentioned.
        series.belong_to("none", Some(7));
        let second = 1_000_000_000;
        series.rates("throughput_bit_s", [(second, 10), (second, 20), (3 * second, 45)].into_iter());
        series.push(3 * second, "limit", None);
        series.belong_to("a", Some(1));
        series.push(2 * second, "limit", 4.0);
        series.belong_to("a", None);
        let table = series.finish();
        let column = |name| table.column(name).expect("it is specified").clone();
        assert_eq!(column("run"), Data::Integer(vec![0; 4]));
        assert_eq!(column("flow"), Data::words([Some("a"); 4]));
        assert_eq!(column("connection"), Data::OptionalInteger(vec![Some(0), Some(0), Some(0), None]));
        assert_eq!(column("subflow"), Data::OptionalInteger(vec![Some(1), Some(1), Some(1), None]));
        assert_eq!(column("t_s"), Data::Real([1.0, 3.0, 3.0, 2.0].map(Some).to_vec()));
        let metrics = ["throughput_bit_s", "throughput_bit_s", "limit", "limit"];
        assert_eq!(column("metric"), Data::words(metrics.map(Some)));
        assert_eq!(column("value"), Data::Real(vec![Some(80.0), Some(100.0), None, Some(4.0)]));
    }
}
