//! One readable table for each shipped scenario under seed 1: what happens to its links, the goodput of each flow
//! between two rows, the window and round-trip time of each of its subflows at the row, and the figures at the end. The
//! digests (`digests.rs`) say that a result moved; these tables say where and when.
//!
//! `ROPEWALK_BLESS=1 cargo test -p lab --test golden_scenarios` rewrites them, in a commit whose message says why
//! results moved.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::RunOptions;
use scenario::model::Scenario;
use scenario::{Document, Registries};
use trace::Table;

/// Rows of the table over time.
const ROWS: usize = 20;

/// Figures of each flow at the end: name of the column, and places behind the point.
const FIGURES: [(&str, usize); 8] = [
    ("completion_s", 3),
    ("goodput_bit_s", 0),
    ("segments_sent", 0),
    ("retransmitted_segments", 0),
    ("timeouts", 0),
    ("fast_recoveries", 0),
    ("reinjected_bytes", 0),
    ("delay_p95_s", 3),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names of the shipped scenarios, in order.
fn shipped() -> Vec<String> {
    let files = std::fs::read_dir(root().join("scenarios")).expect("the shipped scenarios");
    let mut names = Vec::new();
    for file in files {
        let name = file.expect("a file of the folder").file_name().into_string().expect("a name in UTF-8");
        names.extend(name.strip_suffix(".toml").map(str::to_owned));
    }
    names.sort();
    names
}

/// A row of a table as text, by the names of the columns; null is empty.
type Row = BTreeMap<String, String>;

fn rows(tables: &[Table], name: &str) -> Vec<Row> {
    let Some(table) = tables.iter().find(|table| table.name == name) else { return Vec::new() };
    let count = table.columns.first().map_or(0, |column| column.data.len());
    let cells =
        |row| table.columns.iter().map(|column| (column.name.to_string(), column.data.text(row))).collect();
    (0..count).map(cells).collect()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Samples of one metric of one flow or subflow: time in seconds and value.
#[derive(Default)]
struct Samples(Vec<(f64, f64)>);

impl Samples {
    /// Mean after `from` until `to`, if there is a sample.
    fn mean(&self, from: f64, to: f64) -> Option<f64> {
        let values: Vec<f64> =
            self.0.iter().filter(|(t, _)| from < *t && *t <= to).map(|(_, v)| *v).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The last sample after `from` until `to`.
    fn last(&self, from: f64, to: f64) -> Option<f64> {
        self.0.iter().rfind(|(t, _)| from < *t && *t <= to).map(|(_, v)| *v)
    }
}

/// Time series by flow, connection, subflow and metric.
type Series = BTreeMap<(String, u32, Option<u32>, String), Samples>;

/// Time series of flows, without baselines.
fn series(tables: &[Table]) -> Series {
    let mut found = Series::new();
    for row in rows(tables, "series") {
        let flow = &row["flow"];
        if flow.is_empty() || flow.contains('@') {
            continue;
        }
        let connection = row["connection"].parse().unwrap_or_default();
        let key = (flow.clone(), connection, row["subflow"].parse().ok(), row["metric"].clone());
        let sample = (number(&row["t_s"]).expect("a time"), number(&row["value"]).expect("a value"));
        found.entry(key).or_default().0.push(sample);
    }
    found
}

fn cell(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.places$}"))
}

/// The rows of one flow over time.
fn timeline(flow: &str, all: &Series, duration: f64, text: &mut String) {
    let get = |connection, subflow, metric: &str| {
        all.get(&(flow.to_owned(), connection, subflow, metric.to_owned()))
    };
    // The first connection of the flow stands for the others.
    let subflows: Vec<u32> =
        (0..64).filter(|subflow| get(0, Some(*subflow), "cwnd_bytes").is_some()).collect();
    write!(text, "\n# {flow}\n#    t_s  Mbit/s").expect("a String");
    for subflow in &subflows {
        write!(text, "   cwnd{subflow} kB  srtt{subflow} ms").expect("a String");
    }
    text.push('\n');
    for row in 1..=ROWS {
        let [from, to] = [row - 1, row].map(|row| duration * row as f64 / ROWS as f64);
        let goodput = get(0, None, "goodput_bit_s").and_then(|samples| samples.mean(from, to));
        write!(text, "{to:>8.1} {:>7}", cell(goodput.map(|rate| rate / 1e6), 3)).expect("a String");
        for subflow in &subflows {
            let last = |metric| get(0, Some(*subflow), metric).and_then(|samples| samples.last(from, to));
            let (cwnd, srtt) = (last("cwnd_bytes").map(|v| v / 1e3), last("srtt_s").map(|v| v * 1e3));
            write!(text, " {:>10} {:>9}", cell(cwnd, 1), cell(srtt, 1)).expect("a String");
        }
        text.push('\n');
    }
}

/// The text that is compared.
fn table(name: &str, scenario: &Scenario, tables: &[Table]) -> String {
    let duration = scenario.duration.as_secs_f64();
    let mut text = format!("# scenarios/{name}.toml, seed 1, {duration} s\n");
    for mark in lab::marks(scenario) {
        writeln!(text, "{:>8.1} {} {}", mark.at.0 as f64 / 1e9, mark.links, mark.what).expect("a String");
    }
    let (flows, all) = (rows(tables, "flows"), series(tables));
    for flow in flows.iter().filter(|flow| !flow["flow"].contains('@')) {
        timeline(&flow["flow"], &all, duration, &mut text);
    }
    text.push_str("\n# at the end\n");
    for flow in &flows {
        let figures = FIGURES.iter().filter_map(|(name, places)| {
            number(&flow[*name]).map(|value| format!(" {name} {}", cell(Some(value), *places)))
        });
        writeln!(text, "{}{}", flow["flow"], figures.collect::<String>()).expect("a String");
    }
    text
}

#[test]
fn each_shipped_scenario() {
    for name in shipped() {
        let path = root().join("scenarios").join(format!("{name}.toml"));
        let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let document = Document::parse(&source, &path.to_string_lossy(), &[], &Registries::builtin());
        let document = document.unwrap_or_else(|e| panic!("{e}"));
        let options =
            RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: true, trace: false, capture: None };
        let output = lab::run(&document.scenario, &options, &|_, _| (), &AtomicBool::new(false));
        let tables = output.unwrap_or_else(|e| panic!("{name}: {e}")).tables;
        let found = table(&name, &document.scenario, &tables);
        let file = format!("scenarios/{name}.txt");
        testkit::golden::compare(env!("CARGO_MANIFEST_DIR"), &file, &found);
    }
}
