//! Readings: one file for several studies that differ in a few keys. `[reading.NAME]` holds what one of them changes.

use document::diagnostic::{Code, Report, suggest};
use document::tree::{KeyValue, Origin, Placed, Table, Value};

use crate::like;

/// Key of the table of readings.
const KEY: &str = "reading";
const LIKE: &str = "like";
/// The factor that a further one stands before.
pub(crate) const BEFORE: &str = "before";
/// The keys that say what the levels of a factor are, of which one is given.
pub(crate) const WAYS: [&str; 3] = ["values", "zip", "cases"];

/// The readings of the file with this text, in its order; none if it has mistakes in its TOML. The study that it is like is
/// looked for beside `file`.
pub fn readings(text: &str, file: &str) -> Vec<String> {
    let mut report = Report::new(file, text, &[]);
    let root = document::read(text, &mut report).unwrap_or_default();
    names(&like::whole(root, file, &mut report).root)
}

/// The readings of a tree.
pub(crate) fn names(root: &Table) -> Vec<String> {
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
    if !table.has(wanted) {
        let help = suggest(wanted, "known", names());
        report.add(given.at, Code::UnknownName, KEY, format!("there is no reading \"{wanted}\""), help);
        return;
    }
    for name in chain(table, wanted, report).into_iter().rev() {
        if let Some(changes) = table.table(&name) {
            let mut changes = changes.clone();
            changes.take(LIKE);
            lay_over(root, changes);
        }
    }
}

/// A reading, the one that it is like, and so on.
fn chain(table: &Table, wanted: &str, report: &mut Report<'_>) -> Vec<String> {
    let mut all = vec![wanted.to_owned()];
    while let Some(node) = all.last().and_then(|name| table.table(name)).and_then(|one| one.get(LIKE)) {
        let key = format!("{KEY}.{}.{LIKE}", all.last().map_or("", String::as_str));
        let Some(next) = node.as_text().map(str::to_owned) else { break };
        if all.contains(&next) {
            let message = format!("`like` leads back to \"{next}\"");
            let help = "write the keys out in one of them and remove its `like`".into();
            report.add(node.at, Code::LikeCircle, &key, message, help);
            break;
        }
        if !table.has(&next) {
            let help = suggest(&next, "known", table.entries.iter().map(|entry| entry.key.as_str()));
            report.add(node.at, Code::UnknownName, &key, format!("there is no reading \"{next}\""), help);
            break;
        }
        all.push(next);
    }
    all
}

/// Lays changes over a study or one of its readings.
pub(crate) fn lay_over(root: &mut Table, changes: Table) {
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
        (Some(own), Value::Table(changes)) => {
            make_room(own, &changes);
            changes.entries.into_iter().for_each(|entry| lay(own, entry));
        }
        (_, value) => add(factors, Placed::new(value, change.at)),
    }
}

/// A further factor, before the one that it names. A name that does not exist stays, and is reported with the factors.
fn add(factors: &mut Vec<Placed>, mut factor: Placed) {
    let next = factor.as_table().and_then(|table| table.text(BEFORE)).map(str::to_owned);
    let named = |own: &Placed| next.is_some() && own.as_table().and_then(name_of) == next;
    match (factors.iter().position(named), factor.as_table_mut()) {
        (Some(index), Some(table)) => {
            table.take(BEFORE);
            factors.insert(index, factor);
        }
        _ => factors.push(factor),
    }
}

/// Levels that are given in another way take the place of all that said what the levels were.
fn make_room(own: &mut Table, changes: &Table) {
    let Some(way) = WAYS.iter().find(|way| changes.has(way)) else { return };
    let others = WAYS.iter().filter(|other| *other != way);
    if others.filter(|other| own.take(other).is_some()).count() > 0 {
        for key in ["key", "labels", "levels"] {
            own.take(key);
        }
    }
}

/// Name of a factor.
pub(crate) fn name_of(table: &Table) -> Option<String> {
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
