//! The tables of `docs/reference/backends.md` say what the back ends say of themselves.
//!
//! `ROPEWALK_BLESS=1 cargo test -p lab --test backends_page` writes them anew; the text between them is by hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

const CURE: &str = "ROPEWALK_BLESS=1 cargo test -p lab --test backends_page";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/backends.md")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn overview(all: &[Value]) -> String {
    let yes = |value: &Value| if value == true { "yes" } else { "no" };
    all.iter().fold(String::new(), |mut rows, one| {
        let (series, trace) = (yes(&one["series"]), yes(&one["trace"]));
        writeln!(rows, "| `{}` | {} | {series} | {trace} |", text(&one["name"]), text(&one["summary"]))
            .expect("a String");
        rows
    })
}

/// Table of the columns that back ends measure which do not measure all.
fn measured(all: &[Value]) -> String {
    let everything = &all[0]["measured"];
    let mut rows = format!("| all | `{}` | all |\n", text(&all[0]["name"]));
    for one in &all[1..] {
        for table in everything.as_object().expect("tables").keys() {
            let columns = one["measured"].get(table).map(list).unwrap_or_default();
            let names: Vec<String> = columns.iter().map(|name| format!("`{}`", text(name))).collect();
            let names = if columns == list(&everything[table]) {
                "all".into()
            } else if columns.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            };
            writeln!(rows, "| `{table}` | `{}` | {names} |", text(&one["name"])).expect("a String");
        }
    }
    rows
}

fn rules(one: &Value) -> String {
    let mut rows = String::new();
    for (of, keys) in one["runs"].as_object().expect("kinds of tables") {
        for rule in list(keys) {
            let key =
                if text(&rule[0]).is_empty() { "itself".into() } else { format!("`{}`", text(&rule[0])) };
            writeln!(rows, "| {of} | {key} | {} |", text(&rule[1])).expect("a String");
        }
    }
    rows
}

/// `page` with `rows` below the first table head after `heading`.
fn replaced(page: &str, heading: &str, rows: &str) -> String {
    let section = page.find(heading).unwrap_or_else(|| panic!("the page has no heading \"{heading}\""));
    let rule = page[section..].find("|---").map(|at| section + at).expect("a table below the heading");
    let start = rule + page[rule..].find('\n').expect("the page ends with a line") + 1;
    let length: usize =
        page[start..].split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    format!("{}{rows}{}", &page[..start], &page[start + length..])
}

#[test]
fn the_page_says_what_the_back_ends_say() {
    let described = lab::described();
    let all = list(&described);
    let named = |name| all.iter().find(|one| one["name"] == name).expect("a back end");
    let found = std::fs::read_to_string(path()).unwrap_or_else(|e| panic!("{}: {e}", path().display()));
    let mut page = replaced(&found, "\n## Overview", &overview(all));
    page = replaced(&page, "\n## What each measures", &measured(all));
    page = replaced(&page, "\n## What ns-3 can run", &rules(named("ns3")));
    page = replaced(&page, "\n## What the Linux kernel can run", &rules(named("linux")));
    if std::env::var_os("ROPEWALK_BLESS").is_some() {
        std::fs::write(path(), &page).unwrap_or_else(|e| panic!("{}: {e}", path().display()));
        return;
    }
    assert!(page == found, "docs/reference/backends.md is stale; write it anew: {CURE}");
}

/// Rules name keys as text: the compiler does not notice a wrong one.
#[test]
fn every_rule_is_about_a_key_of_scenarios() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let keys = std::fs::read_to_string(path).expect("the reference page");
    for one in list(&lab::described()) {
        for rule in one["runs"].as_object().expect("kinds of tables").values().flat_map(list) {
            let key = text(&rule[0]).rsplit('.').next().unwrap_or_default();
            assert!(key.is_empty() || keys.contains(&format!("`{key}`")), "{key} is no key of scenarios");
        }
    }
}
