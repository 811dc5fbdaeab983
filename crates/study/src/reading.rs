//! Readings: one file for several studies that differ in a few keys. `[reading.NAME]` holds what one of them changes.

use document::diagnostic::{Code, Report, suggest};
use document::tree::{KeyValue, Origin, Placed, Table, Value};

/// Key of the table of readings.
const KEY: &str = "reading";

/// The readings of the file with this text, in its order; none if it has mistakes in its TOML.
pub fn readings(text: &str) -> Vec<String> {
    let root = document::read(text, &mut Report::new("", text, &[])).unwrap_or_default();
    let table = root.table(KEY);
    table.map_or_else(Vec::new, |table| table.entries.iter().map(|entry| entry.key.clone()).collect())
}

/// Lays what the reading `wanted` changes over the rest of the file. Without readings there is nothing to choose.
pub(crate) fn choose(root: &mut Table, wanted: Option<&str>, report: &mut Report<'_>) {
    let Some(given) = root.take(KEY) else {
        if let Some(wanted) = wanted {
            let message = format!("there is no reading \"{wanted}\": the study has none");
            report.add(Origin::Default, Code::UnknownName, KEY, message, "leave out --reading".into());
        }
        return;
    };
    let Some(table) = given.node.as_table() else { return };
    let names = || table.entries.iter().map(|entry| entry.key.as_str());
    let Some(wanted) = wanted else {
        let all: Vec<&str> = names().collect();
        let help = format!("choose one with --reading: {}", all.join(", "));
        return report.add(given.at, Code::MissingKey, KEY, "the study has several readings".into(), help);
    };
    match table.get(wanted) {
        Some(Placed { value: Value::Table(changes), .. }) => lay_over(root, changes.clone()),
        Some(_) => {}
        None => {
            let help = suggest(wanted, "known", names());
            report.add(given.at, Code::UnknownName, KEY, format!("there is no reading \"{wanted}\""), help);
        }
    }
}

fn lay_over(root: &mut Table, changes: Table) {
    for entry in changes.entries {
        match (entry.key.as_str(), root.get_mut("vary"), entry.node) {
            (
                "vary",
                Some(Placed { value: Value::List(own), .. }),
                Placed { value: Value::List(items), .. },
            ) => {
                items.into_iter().for_each(|item| vary(own, item));
            }
            (_, _, node) => lay(root, KeyValue { node, ..entry }),
        }
    }
}

/// A factor of the same name is changed, any other added.
fn vary(factors: &mut Vec<Placed>, change: Placed) {
    let name = change.as_table().and_then(name_of);
    let same = |own: &&mut Placed| name.is_some() && own.as_table().and_then(name_of) == name;
    match (factors.iter_mut().find(same).and_then(Placed::as_table_mut), change.value) {
        (Some(own), Value::Table(changes)) => changes.entries.into_iter().for_each(|entry| lay(own, entry)),
        (_, value) => factors.push(Placed::new(value, change.at)),
    }
}

/// Name of a factor.
fn name_of(table: &Table) -> Option<String> {
    let last = || table.text("key").and_then(|key| key.rsplit('.').next());
    table.text("name").or_else(last).map(str::to_owned)
}

/// A value takes the place of another; tables whose keys the user chooses are merged.
fn lay(base: &mut Table, entry: KeyValue) {
    let depth = match entry.key.as_str() {
        "set" | "zip" | "baseline" | "statistics" => 1,
        "cases" => 2,
        _ => 0,
    };
    merge(base, entry, depth);
}

fn merge(base: &mut Table, entry: KeyValue, depth: usize) {
    match (base.get_mut(&entry.key), entry.node.value) {
        (Some(Placed { value: Value::Table(own), .. }), Value::Table(changes)) if depth > 0 => {
            changes.entries.into_iter().for_each(|change| merge(own, change, depth - 1));
        }
        (_, value) => base.put(&entry.key, entry.at, Placed::new(value, entry.node.at)),
    }
}
