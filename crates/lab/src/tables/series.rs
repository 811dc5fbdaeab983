//! The table of time series: one row per sample, in the order of seeds, baselines and instants.

use std::collections::BTreeMap;

use scenario::model::Scenario;
use trace::{Column, Data, Metric, SeriesKey, Table};

use super::OneSeed;
use crate::replication::{Replication, Variant};

/// Of a baseline only the samples of its flow are kept, under the name of the baseline.
pub(super) fn series(scenario: &Scenario, seeds: &[OneSeed<'_>]) -> Table {
    let mut rows = Rows::default();
    for one in seeds {
        for (variant, replication) in one.variants.iter().zip(one.of_seed) {
            rows.add(one.seed(), variant, replication);
        }
    }
    let links =
        scenario.duplex_links.iter().flat_map(|link| &link.directions).map(|d| d.name.clone()).collect();
    Table { name: "series", columns: rows.columns(links) }
}

/// Columns under way. Words are indices already: a long run has millions of samples.
#[derive(Default)]
struct Rows {
    run: Vec<u64>,
    flow: Vec<Option<u32>>,
    flow_words: BTreeMap<String, u32>,
    connection: Vec<Option<f64>>,
    subflow: Vec<Option<f64>>,
    link: Vec<Option<u32>>,
    at: Vec<Option<f64>>,
    metric: Vec<Option<u32>>,
    metric_words: BTreeMap<Metric, u32>,
    value: Vec<Option<f64>>,
}

impl Rows {
    fn add(&mut self, run: u64, variant: &Variant<'_>, replication: &Replication) {
        let only = variant.baseline.as_ref().map(|b| b.flow as u32);
        let names: Vec<u32> = variant
            .scenario
            .flows
            .iter()
            .map(|flow| self.flow_word(variant.baseline.as_ref().map_or(&flow.name, |b| &b.name)))
            .collect();
        let series = &replication.record.series;
        for (((at, key), metric), value) in
            series.at.iter().zip(&series.key).zip(&series.metric).zip(&series.value)
        {
            let (flow, of_flow, link) = match *key {
                SeriesKey::Flow(flow) => (Some(flow), None, None),
                SeriesKey::Subflow(flow, connection, subflow) => {
                    (Some(flow), Some((connection, subflow)), None)
                }
                SeriesKey::Link(link) => (None, None, Some(link)),
            };
            if only.is_some() && only != flow {
                continue;
            }
            self.run.push(run);
            self.flow.push(flow.map(|f| names[f as usize]));
            self.connection.push(of_flow.map(|(connection, _)| f64::from(connection)));
            self.subflow.push(of_flow.map(|(_, subflow)| f64::from(subflow)));
            self.link.push(link);
            self.at.push(Some(at.as_secs_f64()));
            self.value.push(Some(*value));
            let next = self.metric_words.len() as u32;
            self.metric.push(Some(*self.metric_words.entry(metric).or_insert(next)));
        }
    }

    fn flow_word(&mut self, name: &str) -> u32 {
        if let Some(known) = self.flow_words.get(name) {
            return *known;
        }
        let next = self.flow_words.len() as u32;
        self.flow_words.insert(name.to_owned(), next);
        next
    }

    fn columns(self, links: Vec<String>) -> Vec<Column> {
        let mut metrics = vec![String::new(); self.metric_words.len()];
        for (name, index) in self.metric_words {
            name.clone_into(&mut metrics[index as usize]);
        }
        let mut flows = vec![String::new(); self.flow_words.len()];
        for (name, index) in self.flow_words {
            flows[index as usize] = name;
        }
        vec![
            Column { name: "run", data: Data::Integer(self.run) },
            Column { name: "flow", data: Data::Word { words: flows, rows: self.flow } },
            Column { name: "connection", data: Data::Real(self.connection) },
            Column { name: "subflow", data: Data::Real(self.subflow) },
            Column { name: "link", data: Data::Word { words: links, rows: self.link } },
            Column { name: "t_s", data: Data::Real(self.at) },
            Column { name: "metric", data: Data::Word { words: metrics, rows: self.metric } },
            Column { name: "value", data: Data::Real(self.value) },
        ]
    }
}
