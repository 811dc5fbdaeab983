//! The tables of `docs/reference/results.md` say what `trace::metrics` says.
//!
//! `ROPEWALK_BLESS=1 cargo test -p lab --test results_page` writes their rows anew; the text between them is by hand.

use std::path::{Path, PathBuf};

use trace::metrics::{TABLES, TIME_SERIES};
use trace::{Better, MetricSpec, SeriesSpec, TableSpec};

const CURE: &str = "ROPEWALK_BLESS=1 cargo test -p lab --test results_page";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/results.md")
}

fn arrow(metric: &MetricSpec) -> &'static str {
    match metric.better {
        Better::Up => "↑",
        Better::Down => "↓",
        Better::Neither => "",
    }
}

/// The columns of a table; the seed is in all of them and explained once.
fn columns(table: &TableSpec) -> String {
    let shown = table.columns.iter().filter(|column| column.name != "run" || table.name == "runs");
    let row = |column: &MetricSpec| format!("| `{}` | {} | {} |\n", column.name, arrow(column), column.doc);
    "| Column | Better | Meaning |\n|---|---|---|\n".to_owned() + &shown.map(row).collect::<String>()
}

fn series() -> String {
    let row = |series: &SeriesSpec| {
        let by: String = series.by.iter().map(|name| format!(", `{name}`")).collect();
        let metric = &series.metric;
        format!("| `{}` | {}{by} | {} | {} |\n", metric.name, series.of.as_str(), arrow(metric), metric.doc)
    };
    "| Metric | Of | Better | Meaning |\n|---|---|---|---|\n".to_owned()
        + &TIME_SERIES.iter().map(row).collect::<String>()
}

/// `page` with `table` in the place of the first table after `heading` whose first column is called `first`.
fn replaced(page: &str, heading: &str, first: &str, table: &str) -> String {
    let section = page.find(heading).unwrap_or_else(|| panic!("the page has no heading \"{heading}\""));
    let mark = format!("\n| {first} |");
    let start = page[section..].find(&mark).map(|at| section + at + 1);
    let start = start.unwrap_or_else(|| panic!("no table of {first} after \"{heading}\""));
    let length: usize =
        page[start..].split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    format!("{}{table}{}", &page[..start], &page[start + length..])
}

#[test]
fn the_page_has_every_column_and_every_series() {
    let found = std::fs::read_to_string(path()).unwrap_or_else(|e| panic!("{}: {e}", path().display()));
    let mut page = found.clone();
    for table in TABLES {
        page = replaced(&page, &format!("\n## `{}`: ", table.name), "Column", &columns(table));
    }
    page = replaced(&page, "\n## `series`: ", "Metric", &series());
    if std::env::var_os("ROPEWALK_BLESS").is_some() {
        std::fs::write(path(), &page).unwrap_or_else(|e| panic!("{}: {e}", path().display()));
        return;
    }
    let differing = page.lines().zip(found.lines()).find(|(should, is)| should != is);
    assert!(page == found, "docs/reference/results.md differs, {CURE}: {differing:#?}");
}
