//! Every column and every time series, as JSON: for Python, which adds no knowledge of its own.

use serde_json::{Value, json};
use trace::metrics::{LIMITED, TABLES, TIME_SERIES};
use trace::{Kind, LIMITS, MetricSpec};

/// `tables`: a list of tables with their `columns`; `series`: a list of time series; `limits`: the limits of a sender, each
/// with its column.
pub fn metrics() -> Value {
    let table = |table: &&trace::TableSpec| {
        let columns: Vec<Value> = table.columns.iter().map(metric).collect();
        json!({ "name": table.name, "row": table.row, "columns": columns })
    };
    let series = |series: &trace::SeriesSpec| {
        let mut described = metric(&series.metric);
        described["of"] = series.of.as_str().into();
        described["by"] = series.by.into();
        described
    };
    let limits = LIMITED.iter().zip(LIMITS);
    json!({
        "limits": limits
            .map(|(column, limit)| json!({ "column": column.name, "name": limit.replace('_', " ") }))
            .collect::<Vec<_>>(),
        "tables": TABLES.iter().map(table).collect::<Vec<_>>(),
        "series": TIME_SERIES.iter().map(series).collect::<Vec<_>>(),
    })
}

fn metric(spec: &MetricSpec) -> Value {
    let kind = match spec.kind {
        Kind::Integer | Kind::OptionalInteger => "integer",
        Kind::Real => "real",
        Kind::Flag => "flag",
        Kind::Word => "word",
    };
    let (unit, scale) = spec.unit.shown();
    json!({ "name": spec.name, "kind": kind, "key": spec.key, "unit": unit, "scale": scale,
            "better": spec.better.as_str(), "label": spec.label, "doc": spec.doc })
}
