//! The lists keep their own rules.

use std::collections::BTreeSet;

use super::*;
use crate::metric::{Better, Unit};

fn all() -> impl Iterator<Item = (&'static str, &'static MetricSpec)> {
    let columns = TABLES.iter().flat_map(|table| table.columns.iter().map(|column| (table.name, column)));
    columns.chain(TIME_SERIES.iter().map(|series| (series.of.as_str(), &series.metric)))
}

#[test]
fn a_name_stands_once_in_its_table() {
    let mut known = BTreeSet::new();
    for (table, metric) in all() {
        assert!(known.insert((table, metric.name)), "{table}.{}", metric.name);
    }
    for table in TABLES {
        assert_eq!(table.columns[0], RUN, "{} begins with the seed", table.name);
    }
}

#[test]
fn names_end_with_their_unit() {
    let ends = ["_s", "_bytes", "_bit_s", "_packets", "_segments"];
    for (table, metric) in all().filter(|(_, metric)| !metric.key) {
        if !["bytes", "bytes_sent"].contains(&metric.name) {
            assert!(metric.name.ends_with(metric.unit.suffix()), "{table}.{}", metric.name);
        }
        if metric.unit == Unit::One && !metric.name.ends_with("retransmitted_segments") {
            let suffixed = ends.iter().find(|end| metric.name.ends_with(*end));
            assert_eq!(suffixed, None, "{table}.{} has no unit", metric.name);
        }
    }
}

#[test]
fn figures_are_numbers_and_words_are_never_better() {
    for (table, metric) in all() {
        let words = metric.kind == Kind::Word || metric.key;
        assert!(!words || metric.better == Better::Neither, "{table}.{}", metric.name);
        assert!(!words || metric.unit == Unit::One, "{table}.{}", metric.name);
        assert!(!metric.label.is_empty() && !metric.doc.is_empty(), "{table}.{}", metric.name);
        assert!(
            !metric.doc.ends_with('.') && !metric.doc.contains('|'),
            "{table}.{}: {}",
            metric.name,
            metric.doc
        );
    }
}

#[test]
fn one_metric_is_wanted_alike_wherever_it_stands() {
    for (table, metric) in all().filter(|(_, metric)| !metric.key) {
        let other = all().find(|(_, other)| other.name == metric.name && other.better != metric.better);
        assert_eq!(other.map(|(table, _)| table), None, "{table}.{}", metric.name);
    }
}

#[test]
fn limits_have_a_column_each_in_their_order() {
    let short = |limit: &str| match limit {
        "congestion_window" => "cwnd".to_owned(),
        "receive_window" => "rwnd".to_owned(),
        "send_buffer" => "sndbuf".to_owned(),
        other => other.to_owned(),
    };
    for table in [&FLOWS, &SUBFLOWS] {
        let found =
            table.columns.iter().map(|column| column.name).filter(|name| name.starts_with("limited_"));
        let wanted = crate::LIMITS.map(|limit| format!("limited_{}_s", short(limit)));
        assert_eq!(found.collect::<Vec<_>>(), wanted, "{}", table.name);
    }
    let codes =
        TIME_SERIES.iter().find(|series| series.metric.name == "limit").map(|series| series.metric.doc);
    for (code, limit) in crate::LIMITS.iter().enumerate() {
        let word = format!("{code} {}", limit.replace('_', " "));
        assert!(codes.is_some_and(|doc| doc.contains(&word)), "{word}");
    }
}
