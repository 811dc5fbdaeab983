//! The back ends as JSON: for Python and for the reference page.

use serde_json::{Value, json};
use trace::metrics::{TABLES, TIME_SERIES};

use super::{Backend, Rule, backends};

/// A list of back ends: `name`, `summary`, `series` and `trace` (whether it records them), `measured` (columns by table),
/// `runs` (values that it can run, by kind of table and key; empty: all).
pub fn described() -> Value {
    backends("".as_ref()).iter().map(|backend| one(backend.as_ref())).collect()
}

fn one(backend: &dyn Backend) -> Value {
    let (measured, observes) = (backend.measured(), backend.observes());
    let columns = TABLES.iter().filter(|table| measured.has_table(table)).map(|table| {
        let filled = table.columns.iter().filter(|column| !column.key && measured.has(table, column));
        (table.name.to_owned(), filled.map(|column| column.name).collect::<Value>())
    });
    let mut tables: serde_json::Map<String, Value> = columns.collect();
    if observes.series {
        tables.insert("series".into(), TIME_SERIES.iter().map(|series| series.metric.name).collect());
    }
    let runs: serde_json::Map<String, Value> =
        backend.rules().iter().map(|(of, rules)| ((*of).to_owned(), listed(rules))).collect();
    json!({ "name": backend.name(), "summary": backend.summary(), "series": observes.series,
            "trace": observes.trace, "capture": backend.captures(), "measured": tables, "runs": runs })
}

fn listed(rules: &[Rule]) -> Value {
    rules.iter().map(|rule| json!([rule.key, rule.allowed])).collect()
}
