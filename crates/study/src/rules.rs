//! Rules across the keys of one file of a reproduction: what the key tables cannot say.
//!
//! Rules across files (a profile, a study, a quantity that another file names) are judged where the files meet, in
//! `python/ropewalk/reproduce`.

use document::diagnostic::{Code, Diagnostics, suggest};
use document::source::{Source, Step};
use serde_json::{Map, Value as Json};

use crate::metric::{Metric, NoMetric, Series};
use crate::reference::kind_of;
use crate::reproduction::KINDS;

type Fields = Map<String, Json>;

/// Keys of a quantity out of a table of the document, and those that only a time series has.
const OF_TABLES: [&str; 3] = ["table", "value", "by"];
const OF_SERIES: [&str; 4] = ["make", "bin", "from", "until"];
/// Keys that belong to a metric: a profile with another metric does not inherit them.
const OF_METRIC: [&str; 4] = ["metric", "over", "scale", "pool"];
/// Words of checks and kinds of causes that exclude or demand each other.
const BY_CHANCE: &str = "by_chance";
const CHANCE: &str = "chance";
const FITTED: &str = "fitted";
/// Longest name of a file that is made of an id.
const LONGEST_ID: usize = 100;

macro_rules! place {
    ($($step:expr),*) => { &[$(Step::from($step)),*][..] };
}

/// Reads a file of this kind, one of those that have a schema, or `any`; `None`: there is no such kind. Mistakes are kept.
pub fn read(text: &str, file: &str, kind: &str) -> Option<Result<Source, Diagnostics>> {
    let top = kind_of(kind)?;
    Some(Source::read(text, file, top).map(|source| {
        let values = source.to_json();
        let mut rules = Rules { source };
        if let Json::Object(root) = &values {
            match kind {
                "reproduction" => rules.reproduction(root),
                "quantities" => rules.quantities(root),
                "claims" => rules.claims(root),
                "figures" => rules.figures(root),
                _ => {}
            }
        }
        rules.source
    }))
}

/// The file in which mistakes are noted.
struct Rules {
    source: Source,
}

impl Rules {
    fn value(&mut self, at: &[Step], code: Code, message: impl Into<String>, cure: impl Into<String>) {
        self.source.add(at, false, code, message.into(), cure.into());
    }

    fn key(&mut self, at: &[Step], code: Code, message: impl Into<String>, cure: impl Into<String>) {
        self.source.add(at, true, code, message.into(), cure.into());
    }

    fn no_metric<T>(&mut self, at: &[Step], found: Result<T, NoMetric>) {
        if let Err(NoMetric { message, help }) = found {
            self.value(at, Code::UnknownName, message, help);
        }
    }

    /// Each name of a list of tables stands for one of them.
    fn no_twins(&mut self, table: &str, key: &str, names: &[String], cure: &str) {
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                let message = format!("\"{name}\" is there twice");
                self.value(place![table, index, key], Code::Contradiction, message, cure);
            }
        }
    }

    fn reproduction(&mut self, root: &Fields) {
        let profiles = texts(root, "profiles");
        let apart = texts(root, "apart");
        for profile in apart.iter().filter(|one| !profiles.contains(one)) {
            let cure = suggest(profile, "known", profiles.iter().copied());
            let message = format!("there is no profile \"{profile}\"");
            self.value(place!["apart"], Code::UnknownName, message, cure);
        }
        if !apart.is_empty() && profiles.iter().all(|one| apart.contains(one)) {
            let cure = "leave one out: the verdicts are reached under the others";
            self.value(place!["apart"], Code::Contradiction, "it names all profiles", cure);
        }
        let none = Fields::new();
        let readings = root.get("readings").and_then(Json::as_object).unwrap_or(&none);
        for name in readings.keys().filter(|name| !profiles.contains(&name.as_str())) {
            let cure = suggest(name, "known", profiles.iter().copied());
            let message = format!("there is no profile \"{name}\"");
            self.key(place!["readings", name.as_str()], Code::UnknownName, message, cure);
        }
        for profile in profiles.iter().filter(|one| !readings.contains_key(**one)) {
            let message = format!("nothing says what the profile \"{profile}\" is");
            let cure = format!("add [readings] with {profile} = \"two sentences\"");
            self.value(place!["profiles"], Code::MissingKey, message, cure);
        }
    }

    fn quantities(&mut self, root: &Fields) {
        for (name, table) in root {
            let Some(table) = table.as_object() else { continue };
            let at = place![name.as_str()];
            let letter = |c: char| c == '_' || c.is_alphanumeric();
            if !name.chars().all(letter) || name.starts_with(|c: char| c.is_numeric()) {
                let message = format!("\"{name}\" is no name");
                self.key(at, Code::BadValue, message, "write a name of letters, digits and _");
            } else if table.contains_key("table") {
                self.idle(table, at, |key| !OF_TABLES.contains(&key), "beside `table`");
                self.given(table, at, "value");
            } else {
                self.quantity(table, at);
                self.profiles(table, at);
            }
        }
    }

    /// A quantity as each profile has it that says otherwise.
    fn profiles(&mut self, table: &Fields, at: &[Step]) {
        for (profile, other) in table.get("profile").and_then(Json::as_object).into_iter().flatten() {
            let Some(other) = other.as_object() else { continue };
            let new_metric = other.contains_key("metric");
            let mut whole: Fields = table
                .iter()
                .filter(|(key, _)| *key != "profile" && !(new_metric && OF_METRIC.contains(&key.as_str())))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            whole.extend(other.iter().map(|(key, value)| (key.clone(), value.clone())));
            let inner = [at, place!["profile", profile.as_str()]].concat();
            self.quantity(&whole, &inner);
        }
    }

    fn quantity(&mut self, table: &Fields, at: &[Step]) {
        self.idle(table, at, |key| OF_TABLES.contains(&key), "without `table`");
        let series = table.contains_key("series");
        if !series {
            self.idle(table, at, |key| OF_SERIES.contains(&key), "without `series`");
        }
        self.given(table, at, "study");
        if series && table.contains_key("metric") {
            self.value(at, Code::Contradiction, "both `metric` and `series`", "keep one of them");
        }
        if table.get("scale").and_then(Json::as_f64) == Some(0.0) {
            let cure = "write what to multiply by";
            let inner = [at, place!["scale"]].concat();
            self.value(&inner, Code::BadValue, "with 0 there is nothing to see", cure);
        }
        let key = if series { "series" } else { "metric" };
        self.given(table, at, key);
        if let Some(text) = text(table, key) {
            let make = self::text(table, "make").unwrap_or("mean");
            let inner = [at, place![key]].concat();
            if series {
                self.no_metric(&inner, Series::parse(text, make));
            } else {
                self.no_metric(&inner, Metric::parse(text));
            }
        }
        self.quotient(table, at, series);
    }

    fn quotient(&mut self, table: &Fields, at: &[Step], series: bool) {
        let Some(over) = text(table, "over").filter(|over| !over.is_empty()) else { return };
        let inner = [at, place!["over"]].concat();
        self.no_metric(&inner, Metric::parse(over));
        if series || !table.contains_key("unit") || !table.contains_key("scale") {
            let message = "a quotient is made of two metrics, and nothing tells its unit";
            self.value(&inner, Code::Contradiction, message, "add `metric`, `scale` and `unit`");
        }
    }

    /// Keys that would have no effect.
    fn idle(&mut self, table: &Fields, at: &[Step], idle: impl Fn(&str) -> bool, beside: &str) {
        for key in table.keys().filter(|key| idle(key)) {
            let inner = [at, place![key.as_str()]].concat();
            self.key(
                &inner,
                Code::Contradiction,
                format!("`{key}` means nothing {beside}"),
                "remove one of them",
            );
        }
    }

    fn given(&mut self, table: &Fields, at: &[Step], key: &str) {
        if !table.contains_key(key) {
            self.key(at, Code::MissingKey, format!("`{key}` is missing"), format!("add {key} = ..."));
        }
    }

    fn claims(&mut self, root: &Fields) {
        let (roots, claims) = (tables(root, "root"), tables(root, "claim"));
        let of = |list: &[&Fields], key: &str| -> Vec<String> {
            list.iter().map(|table| text(table, key).unwrap_or_default().to_owned()).collect()
        };
        let names = of(&roots, "name");
        self.no_twins("root", "name", &names, "give each its own name");
        self.no_twins("claim", "id", &of(&claims, "id"), "give each its own id");
        if claims.is_empty() {
            self.value(place![], Code::MissingKey, "there are no claims", "add [[claim]]");
        }
        for (index, name) in names.iter().enumerate() {
            if !claims.iter().any(|claim| text(claim, "root") == Some(name)) {
                let message = format!("no claim has the root \"{name}\"");
                self.value(place!["root", index, "name"], Code::Contradiction, message, "name it in claims");
            }
        }
        for (index, claim) in claims.iter().enumerate() {
            self.claim(claim, index, &names);
            let named = text(claim, "root").filter(|name| !name.is_empty());
            let root = named.and_then(|name| roots.iter().find(|root| text(root, "name") == Some(name)));
            self.cause(claim, index, root.copied());
        }
    }

    fn claim(&mut self, claim: &Fields, index: usize, roots: &[String]) {
        let there = |key: &str| text(claim, key).is_some_and(|text| !text.is_empty());
        if there("check") == there("cannot") {
            let message =
                format!("\"{}\" needs either `check` or `cannot`", text(claim, "id").unwrap_or_default());
            let cure = "write an expression, or a sentence why there is none";
            self.key(place!["claim", index], Code::MissingKey, message, cure);
        }
        if let Some(name) = text(claim, "root").filter(|name| !name.is_empty())
            && !roots.iter().any(|root| root == name)
        {
            let cure = if roots.is_empty() {
                format!("add [[root]] with name = \"{name}\"")
            } else {
                suggest(name, "known", roots.iter().map(String::as_str))
            };
            let message = format!("there is no root \"{name}\"");
            self.value(place!["claim", index, "root"], Code::UnknownName, message, cure);
        }
    }

    /// A check of a cause needs the cause in words, and what it rests on.
    fn cause(&mut self, claim: &Fields, index: usize, root: Option<&Fields>) {
        let Some(check) = text(claim, "cause_check").filter(|check| !check.is_empty()) else { return };
        let at = place!["claim", index, "cause_check"];
        let here = |table: &Fields, key: &str| text(table, key).is_some_and(|text| !text.is_empty());
        if !here(claim, "cause") && !root.is_some_and(|root| here(root, "cause")) {
            let cure = "say what is shown, here or at the root";
            self.value(at, Code::MissingKey, "`cause` is missing", cure);
        }
        let Some(kind) = text(claim, "kind").or_else(|| root.and_then(|root| text(root, "kind"))) else {
            let cure = format!("add kind = one of {}, here or at the root", KINDS.join(", "));
            self.value(at, Code::MissingKey, "nothing says what the cause rests on", cure);
            return;
        };
        if kind == FITTED && !root.is_some_and(|root| here(root, "value")) {
            let cure = "name a root that says the one value for all of its claims";
            self.value(at, Code::MissingKey, "what is fitted needs a root with a `value`", cure);
        }
        let by_chance = check.contains(BY_CHANCE);
        if by_chance != (kind == CHANCE) {
            let with = if by_chance { "with" } else { "without" };
            let cure =
                format!("chance is computed: `{BY_CHANCE}` belongs to the kind `{CHANCE}`, and to no other");
            self.value(
                at,
                Code::Contradiction,
                format!("a cause of kind `{kind}` {with} `{BY_CHANCE}`"),
                cure,
            );
        }
    }

    fn figures(&mut self, root: &Fields) {
        let mut ids: Vec<String> = Vec::new();
        for (index, figure) in tables(root, "figure").into_iter().enumerate() {
            let id = text(figure, "id").unwrap_or_default();
            if figure.contains_key("id") && !is_file_name(id) {
                let cure =
                    "write letters, digits, _, - and dots, a letter or digit first: it is the name of a file";
                self.value(place!["figure", index, "id"], Code::BadValue, format!("\"{id}\" is no id"), cure);
            }
            // A figure of several profiles is one for each.
            let drawn: Vec<String> = match figure.get("profile") {
                Some(Json::Array(several)) => {
                    several.iter().filter_map(Json::as_str).map(|profile| format!("{id}-{profile}")).collect()
                }
                _ => vec![id.to_owned()],
            };
            for name in drawn {
                if ids.contains(&name) {
                    let message = format!("\"{name}\" is there twice");
                    self.value(place!["figure", index, "id"], Code::Contradiction, message, "choose another");
                }
                ids.push(name);
            }
            for (place, curve) in tables(figure, "curve").into_iter().enumerate() {
                self.curve(curve, place!["figure", index, "curve", place]);
            }
        }
    }

    fn curve(&mut self, curve: &Fields, at: &[Step]) {
        if !["value", "series", "published"].iter().any(|key| curve.contains_key(*key)) {
            let cure = "add value = ..., series = ... or published = {...}";
            self.value(at, Code::MissingKey, "nothing to draw", cure);
        }
        if let Some(series) = text(curve, "series") {
            let inner = [at, place!["series"]].concat();
            self.no_metric(&inner, Series::parse(series, "mean"));
            if curve.contains_key("bin") && curve.contains_key("total") {
                let inner = [at, place!["total"]].concat();
                let message = "`bin` means nothing beside `total`";
                self.value(&inner, Code::Contradiction, message, "remove one of them");
            }
        }
        let Some(points) = curve.get("published").and_then(Json::as_object) else { return };
        let of_file = ["x", "y", "where"].iter().any(|key| points.contains_key(*key));
        if of_file && !points.contains_key("values") && !points.contains_key("file") {
            let inner = [at, place!["published"]].concat();
            let cure = "add file = ... or values = [...]";
            self.value(&inner, Code::MissingKey, "`file` is missing", cure);
        }
    }
}

fn text<'t>(table: &'t Fields, key: &str) -> Option<&'t str> {
    table.get(key).and_then(Json::as_str)
}

fn texts<'t>(table: &'t Fields, key: &str) -> Vec<&'t str> {
    let all = table.get(key).and_then(Json::as_array).into_iter().flatten();
    all.filter_map(Json::as_str).filter(|text| !text.is_empty()).collect()
}

/// The tables of a list; one that is wrong is empty, so that the others keep their places.
fn tables<'t>(table: &'t Fields, key: &str) -> Vec<&'t Fields> {
    static NONE: std::sync::LazyLock<Fields> = std::sync::LazyLock::new(Fields::new);
    let all = table.get(key).and_then(Json::as_array).into_iter().flatten();
    all.map(|one| one.as_object().unwrap_or(&NONE)).collect()
}

fn is_file_name(id: &str) -> bool {
    id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
