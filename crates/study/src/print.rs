//! Writes the tree of a study as TOML.

use document::check::Checker;
use document::diagnostic::{Diagnostics, Report};
use document::files::Files;
use document::print::quote;
use document::tree::{KeyValue, Table, Value};
use document::vocabulary::NoAlgorithms;

use crate::keys::STUDY;
use crate::like::{self, Whole};
use crate::{reading, value};

/// The `text` of the study file `file` as a file that is like no other; in one of its readings if one is named.
///
/// # Errors
/// Mistakes in keys, types and bounds; there is no such reading.
pub fn whole(text: &str, file: &str, reading: Option<&str>) -> Result<String, Diagnostics> {
    let mut report = Report::new(file, text, &[]);
    let Some(root) = document::read(text, &mut report) else { return Err(report.finish()) };
    let files = Files::beside(file);
    let Whole { mut root, .. } = like::whole(root, file, &mut report);
    let mut written = root.clone();
    Checker { vocabulary: &NoAlgorithms, files: &files, report: &mut report }.table(&STUDY, &mut root, "");
    if reading.is_some() {
        reading::choose(&mut written, reading, &mut report);
    }
    if report.is_empty() { Ok(study(&written)) } else { Err(report.finish()) }
}

fn study(root: &Table) -> String {
    let mut out = String::new();
    body(&mut out, root, "");
    out
}

/// Plain keys first: in TOML they would otherwise belong to the table before them.
fn body(out: &mut String, table: &Table, path: &str) {
    for entry in table.entries.iter().filter(|entry| !has_header(&entry.key, &entry.node.value)) {
        out.push_str(&format!("{} = {}\n", key(&entry.key), inline(&entry.node.value)));
    }
    for entry in table.entries.iter().filter(|entry| has_header(&entry.key, &entry.node.value)) {
        let path = if path.is_empty() { key(&entry.key) } else { format!("{path}.{}", key(&entry.key)) };
        match &entry.node.value {
            Value::Table(inner) => headed(out, inner, &path),
            value => {
                for inner in items(value) {
                    out.push_str(&format!("\n[[{path}]]\n"));
                    body(out, inner, &path);
                }
            }
        }
    }
}

/// Under a header; readings stand under headers of their own.
fn headed(out: &mut String, table: &Table, path: &str) {
    let readings = path == "reading";
    if !readings {
        out.push_str(&format!("\n[{path}]\n"));
    }
    for entry in &table.entries {
        match &entry.node.value {
            Value::Table(reading) if readings => {
                let path = format!("{path}.{}", key(&entry.key));
                out.push_str(&format!("\n[{path}]\n"));
                body(out, reading, &path);
            }
            value => out.push_str(&format!("{} = {}\n", key(&entry.key), inline(value))),
        }
    }
}

/// True for tables whose entries stand on lines of their own, and for factors.
fn has_header(key: &str, value: &Value) -> bool {
    match value {
        Value::Table(_) => ["set", "cases", "zip", "statistics", "reading"].contains(&key),
        Value::List(items) => key == "vary" && items.iter().all(|item| item.as_table().is_some()),
        _ => false,
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Table> {
    let items = if let Value::List(items) = value { items.as_slice() } else { &[] };
    items.iter().filter_map(|item| item.as_table())
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { quote(name) }
}

/// A value on one line.
fn inline(node: &Value) -> String {
    match node {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) if table.entries.is_empty() => "{}".into(),
        Value::Table(table) => {
            let pair = |entry: &KeyValue| format!("{} = {}", key(&entry.key), inline(&entry.node.value));
            let pairs: Vec<String> = table.entries.iter().map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => value::toml(other),
    }
}
