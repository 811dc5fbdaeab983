//! The table of time series: one row per sample, in the order of seeds, baselines and instants.

use std::collections::BTreeMap;

use scenario::model::Scenario;
use trace::{Data, Metric, SeriesKey, Table, TableBuilder, metrics};

use super::OneSeed;
use crate::backend::Replication;
use crate::replication::Variant;

/// The table `series`. A baseline has the samples of its flow only, under the name of the baseline.
pub(super) fn series(scenario: &Scenario, seeds: &[OneSeed<'_>]) -> Table {
    let mut rows = Rows::default();
    for one in seeds {
        for (variant, replication) in one.variants.iter().zip(one.of_seed) {
            rows.add(one.seed(), variant, replication);
        }
    }
    let links =
        scenario.duplex_links.iter().flat_map(|link| &link.directions).map(|d| d.name.clone()).collect();
    rows.table(links)
}

/// Columns under way. Words are indices already: a long run has millions of samples.
#[derive(Default)]
struct Rows {
    run: Vec<u64>,
    flow: Vec<Option<u32>>,
    flow_words: BTreeMap<String, u32>,
    connection: Vec<Option<u64>>,
    subflow: Vec<Option<u64>>,
    link: Vec<Option<u32>>,
    at: Vec<Option<f64>>,
    metric: Vec<Option<u32>>,
    /// By leg, where the metric is one of a leg.
    metric_words: BTreeMap<(Option<u32>, Metric), u32>,
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
                SeriesKey::Flow(flow) | SeriesKey::Leg(flow, _) => (Some(flow), None, None),
                SeriesKey::Subflow(flow, connection, subflow) => {
                    (Some(flow), Some((connection, subflow)), None)
                }
                SeriesKey::Link(link) => (None, None, Some(link)),
            };
            let leg = if let SeriesKey::Leg(_, leg) = *key { Some(leg) } else { None };
            if only.is_some() && only != flow {
                continue;
            }
            self.run.push(run);
            self.flow.push(flow.map(|f| names[f as usize]));
            self.connection.push(of_flow.map(|(connection, _)| connection.into()));
            self.subflow.push(of_flow.map(|(_, subflow)| subflow.into()));
            self.link.push(link);
            self.at.push(Some(at.as_secs_f64()));
            self.value.push(Some(*value));
            let next = self.metric_words.len() as u32;
            self.metric.push(Some(*self.metric_words.entry((leg, metric)).or_insert(next)));
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

    fn table(self, links: Vec<String>) -> Table {
        let mut names = vec![String::new(); self.metric_words.len()];
        for ((leg, name), index) in self.metric_words {
            names[index as usize] = leg.map_or_else(|| name.to_owned(), |leg| format!("leg{leg}_{name}"));
        }
        let mut flows = vec![String::new(); self.flow_words.len()];
        for (name, index) in self.flow_words {
            flows[index as usize] = name;
        }
        let mut table = TableBuilder::new(&metrics::SERIES, self.run.len());
        table.push("run", Data::Integer(self.run));
        table.push("flow", Data::Word { words: flows, rows: self.flow });
        table.push("connection", Data::OptionalInteger(self.connection));
        table.push("subflow", Data::OptionalInteger(self.subflow));
        table.push("link", Data::Word { words: links, rows: self.link });
        table.push("t_s", Data::Real(self.at));
        table.push("metric", Data::Word { words: names, rows: self.metric });
        table.push("value", Data::Real(self.value));
        table.finish()
    }
}
