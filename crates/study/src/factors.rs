//! Factors of a study, their levels, and the keys that each level sets.

use document::diagnostic::{Code, Report, suggest};
use document::scalar::LONGEST_TEXT;
use document::tree::{KeyValue, Origin, Placed, Table, Value};

use crate::reading::{BEFORE, WAYS};
use crate::value::{label, toml};

/// Most cases of a study.
const MAX_CASES: usize = 100_000;
/// Columns of the tables of a study: factors cannot have these names.
const RESERVED: [&str; 29] = [
    "case",
    "run",
    "metric",
    "value",
    "replications",
    "failed",
    "key",
    "n",
    "mean",
    "sd",
    "ci95",
    "min",
    "p5",
    "p25",
    "median",
    "p75",
    "p95",
    "max",
    "outliers",
    "baseline",
    "pairs",
    "difference",
    "relative",
    "p",
    "p_adjusted",
    "differs",
    "groups",
    "gap",
    "poolable",
];

/// A key of the scenario and its value, as after `--set`.
#[derive(Clone, Debug)]
pub struct Override {
    /// Dotted key.
    pub key: String,
    /// TOML.
    pub value: String,
    /// Where the key stands in the study file.
    pub(crate) key_at: Origin,
    /// Where the value stands.
    pub(crate) at: Origin,
}

/// One setting of a factor.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name.
    pub label: String,
    /// Keys that it sets.
    pub overrides: Vec<Override>,
}

/// Something that is varied.
#[derive(Clone, Debug)]
pub struct Factor {
    /// A column of all tables.
    pub name: String,
    /// In the order of the file.
    pub levels: Vec<Level>,
    /// Where `values`, `zip` or `cases` stands.
    pub(crate) at: Origin,
    /// Its one level holds for all cases, which are not named after it.
    pub(crate) held: bool,
}

/// The factors of the filled tree of a study.
pub(crate) fn factors(root: &Table, report: &mut Report<'_>) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for (index, (node, table)) in root.tables("vary").enumerate() {
        let path = format!("vary.{}", table.text("name").map_or_else(|| index.to_string(), str::to_owned));
        let Some(factor) = (Reader { node, table, path, report: &mut *report }).factor() else { continue };
        if factors.iter().any(|other| other.name == factor.name) {
            let message = format!("another [[vary]] is called \"{}\", too", factor.name);
            let help = "give this one another `name`".into();
            report.add(node.at, Code::DuplicateName, "vary", message, help);
        }
        factors.push(factor);
    }
    let cases = factors.iter().map(|factor| factor.levels.len().max(1)).try_fold(1, usize::checked_mul);
    if cases.is_none_or(|cases| cases > MAX_CASES)
        && let Some(node) = root.get("vary")
    {
        let found = cases.map_or_else(|| "more than can be counted".into(), |cases| cases.to_string());
        let message = format!("found {found} cases; allowed: up to {MAX_CASES}");
        report.add(node.at, Code::TooMany, "vary", message, "vary less at a time".into());
    }
    factors
}

/// The keys of a table of overrides, in the order of the file.
pub(crate) fn overrides(table: &Table) -> Vec<Override> {
    table.entries.iter().map(|entry| of(&entry.key, entry.at, &entry.node)).collect()
}

fn of(key: &str, key_at: Origin, node: &Placed) -> Override {
    // A mistake is reported, and the study is not expanded.
    let value = if node.is_broken() { "0".into() } else { toml(&node.value) };
    Override { key: key.into(), value, key_at, at: node.at }
}

/// A key that two places set would silently have the value of one of them.
pub(crate) fn distinct(common: &[Override], factors: &[Factor], report: &mut Report<'_>) {
    let mut seen: Vec<(&str, String)> = Vec::new();
    let of_factors = factors.iter().map(|factor| {
        let all: Vec<&Override> = factor.levels.iter().flat_map(|level| &level.overrides).collect();
        (format!("[[vary]] \"{}\"", factor.name), all)
    });
    for (owner, all) in std::iter::once(("`set`".to_owned(), common.iter().collect())).chain(of_factors) {
        for one in all {
            match seen.iter().find(|(key, _)| *key == one.key) {
                None => seen.push((&one.key, owner.clone())),
                Some((_, other)) if *other == owner => {}
                Some((_, other)) => {
                    let message = format!("{other} sets `{}`, too", one.key);
                    report.add(
                        one.key_at,
                        Code::Contradiction,
                        &one.key,
                        message,
                        "set it in one place".into(),
                    );
                }
            }
        }
    }
}

/// Reads one `[[vary]]`.
struct Reader<'t, 'r, 'a> {
    node: &'t Placed,
    table: &'t Table,
    path: String,
    report: &'r mut Report<'a>,
}

impl<'t> Reader<'t, '_, '_> {
    fn add(
        &mut self,
        at: Origin,
        key: &str,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let path = if key.is_empty() { self.path.clone() } else { format!("{}.{key}", self.path) };
        self.report.add(at, code, &path, message.into(), help.into());
    }

    fn entry(&self, key: &str) -> Option<&'t KeyValue> {
        self.table.entries.iter().find(|entry| entry.key == key)
    }

    fn factor(mut self) -> Option<Factor> {
        let ways: Vec<&KeyValue> = WAYS.iter().filter_map(|way| self.entry(way)).collect();
        let [way] = ways.as_slice() else {
            if ways.is_empty() && self.table.partial {
                return None;
            }
            let found: Vec<String> = ways.iter().map(|way| format!("`{}`", way.key)).collect();
            let (code, found) = match found.as_slice() {
                [] => (Code::MissingKey, "nothing to vary".to_owned()),
                _ => (Code::Contradiction, found.join(" and ")),
            };
            let help =
                "write one of `key` with `values`, `zip` (keys in step), `cases` (sets of keys by name)";
            self.add(self.node.at, "", code, format!("found {found}"), help);
            return None;
        };
        self.fits(way);
        let levels = match way.key.as_str() {
            "values" => self.listed(way),
            "zip" => self.zipped(way),
            _ => self.sets(way),
        };
        let key = self.table.text("key").unwrap_or_default();
        let name = self.table.text("name").or(key.rsplit('.').next()).unwrap_or_default();
        let at = self.entry("name").or_else(|| self.entry("key")).map_or(self.node.at, |entry| entry.node.at);
        if name.is_empty() && !self.table.get("key").is_some_and(Placed::is_broken) {
            self.add(at, "name", Code::MissingKey, "`name` is missing", "give it a name of its own");
        } else if RESERVED.contains(&name) {
            let message = format!("\"{name}\" is a column of the tables of a study");
            self.add(at, "name", Code::BadName, message, format!("write name = \"{name}s\" or another"));
        }
        self.twice(way, &levels);
        self.long(way, &levels);
        let (levels, held) = self.chosen(levels);
        if let Some(before) = self.entry(BEFORE) {
            let message = "there is no such factor that this one could stand before";
            let help = "name a factor of the study below; in one file factors stand in the order of the file";
            self.add(before.node.at, BEFORE, Code::UnknownName, message, help);
        }
        Some(Factor { name: name.into(), levels, at: way.at, held })
    }

    /// `key` goes with `values` alone, `labels` not with `cases`.
    fn fits(&mut self, way: &KeyValue) {
        match (way.key.as_str(), self.entry("key"), self.entry("labels")) {
            ("values", None, _) => {
                let help = "add key = \"flow.NAME.transport.scheduler\" or the like";
                self.add(way.at, "key", Code::MissingKey, "`key` is missing", help);
            }
            ("zip" | "cases", Some(key), _) => {
                let message = format!("`key` means nothing beside `{}`", way.key);
                self.add(key.at, "key", Code::Contradiction, message, "remove it");
            }
            ("cases", _, Some(labels)) => {
                self.add(
                    labels.at,
                    "labels",
                    Code::Contradiction,
                    "cases have names already",
                    "remove `labels`",
                );
            }
            _ => {}
        }
    }

    /// Names of levels stand in every table and file of the results; those of `labels` are texts, which are bounded.
    fn long(&mut self, way: &KeyValue, levels: &[Level]) {
        let length = |level: &Level| level.label.chars().count();
        let Some(longest) = levels.iter().map(length).max().filter(|length| *length > LONGEST_TEXT) else {
            return;
        };
        let message =
            format!("found a level whose name has {longest} characters; allowed: up to {LONGEST_TEXT}");
        let help = if way.key == "cases" { "shorten it" } else { "name the levels with `labels`" };
        self.add(way.node.at, &way.key, Code::BadName, message, help);
    }

    /// Levels are told apart by their names.
    fn twice(&mut self, way: &KeyValue, levels: &[Level]) {
        for (index, level) in levels.iter().enumerate() {
            if levels[..index].iter().any(|other| other.label == level.label) {
                let message = format!("two levels are called \"{}\"", level.label);
                self.add(
                    way.node.at,
                    &way.key,
                    Code::DuplicateName,
                    message,
                    "name them apart with `labels`",
                );
            }
        }
    }

    /// The levels that `levels` names, in its order, or the one that `hold` names.
    fn chosen(&mut self, all: Vec<Level>) -> (Vec<Level>, bool) {
        let given = |key| self.entry(key).filter(|entry| !entry.node.is_broken());
        match (given("levels"), given("hold")) {
            (None, None) => (all, false),
            (Some(levels), None) => {
                if levels.node.items().is_empty() {
                    let help = "name at least one, or remove it";
                    self.add(levels.node.at, "levels", Code::BadValue, "no level is kept", help);
                }
                (self.named_in("levels", levels.node.items(), &all), false)
            }
            (None, Some(hold)) => (self.named_in("hold", std::slice::from_ref(&hold.node), &all), true),
            (Some(_), Some(hold)) => {
                let message = "`hold` chooses one level, `levels` several";
                self.add(hold.at, "hold", Code::Contradiction, message, "remove one of them");
                (all, false)
            }
        }
    }

    fn named_in(&mut self, key: &str, nodes: &[Placed], all: &[Level]) -> Vec<Level> {
        let mut found: Vec<Level> = Vec::new();
        for node in nodes {
            let Some(wanted) = node.as_text() else { continue };
            match all.iter().find(|level| level.label == wanted) {
                Some(_) if found.iter().any(|level| level.label == wanted) => {
                    let message = format!("\"{wanted}\" stands there twice");
                    self.add(node.at, key, Code::Contradiction, message, "remove one");
                }
                Some(level) => found.push(level.clone()),
                None => {
                    let message = format!("there is no level \"{wanted}\"");
                    let help = suggest(wanted, "known", all.iter().map(|level| level.label.as_str()));
                    self.add(node.at, key, Code::UnknownName, message, help);
                }
            }
        }
        found
    }

    fn listed(&mut self, way: &KeyValue) -> Vec<Level> {
        let values = way.node.items();
        let labels = self.labels(way, values.iter().map(|node| label(&node.value)).collect());
        let Some(entry) = self.entry("key") else { return Vec::new() };
        let Some(key) = entry.node.as_text() else { return Vec::new() };
        let level =
            |(label, node): (String, &Placed)| Level { label, overrides: vec![of(key, entry.node.at, node)] };
        labels.into_iter().zip(values).map(level).collect()
    }

    fn zipped(&mut self, way: &KeyValue) -> Vec<Level> {
        let Some(lists) = way.node.as_table() else { return Vec::new() };
        let lengths: Vec<usize> = lists.entries.iter().map(|list| list.node.items().len()).collect();
        if lists.entries.iter().any(|list| list.node.is_broken()) {
            return Vec::new();
        }
        let rows = lengths.first().copied().unwrap_or_default();
        if lengths.iter().any(|length| *length != rows) {
            let found: Vec<String> =
                lists.entries.iter().zip(&lengths).map(|(list, n)| format!("{}: {n}", list.key)).collect();
            let message = format!("the lists differ in length ({})", found.join(", "));
            self.add(way.at, "zip", Code::Contradiction, message, "give each key as many values");
            return Vec::new();
        }
        let row = |row: usize| lists.entries.iter().map(move |list| (list, &list.node.items()[row]));
        let name = |index| {
            let labels: Vec<String> = row(index).map(|(_, node)| label(&node.value)).collect();
            labels.join(", ")
        };
        let labels = self.labels(way, (0..rows).map(name).collect());
        let level = |(index, label)| Level {
            label,
            overrides: row(index).map(|(list, node)| of(&list.key, list.at, node)).collect(),
        };
        labels.into_iter().enumerate().map(level).collect()
    }

    fn sets(&mut self, way: &KeyValue) -> Vec<Level> {
        let entries = way.node.as_table().map_or(&[][..], |table| &table.entries);
        if entries.is_empty() && !way.node.is_broken() {
            self.add(
                way.node.at,
                "cases",
                Code::BadValue,
                "there is nothing in it",
                "write at least one case",
            );
        }
        let level = |entry: &KeyValue| Level {
            label: entry.key.clone(),
            overrides: entry.node.as_table().map_or_else(Vec::new, overrides),
        };
        entries.iter().map(level).collect()
    }

    /// Names of the levels: those given, or else those of the values.
    fn labels(&mut self, way: &KeyValue, automatic: Vec<String>) -> Vec<String> {
        if automatic.is_empty() && !way.node.is_broken() {
            self.add(
                way.node.at,
                &way.key,
                Code::BadValue,
                "there is nothing in it",
                "write at least one value",
            );
        }
        let Some(given) = self.entry("labels").filter(|entry| !entry.node.is_broken()) else {
            return automatic;
        };
        let labels = given.node.items();
        if labels.len() != automatic.len() {
            let message = format!("found {} labels for {} levels", labels.len(), automatic.len());
            let help = "write one label for each level";
            self.add(given.node.at, "labels", Code::Contradiction, message, help);
            return automatic;
        }
        let text = |(node, automatic): (&Placed, String)| match &node.value {
            Value::Text(text) => text.clone(),
            _ => automatic,
        };
        labels.iter().zip(automatic).map(text).collect()
    }
}
