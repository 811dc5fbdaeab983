//! A scenario that the parser accepts, made from a seed: what it refuses is taken out, key by key.

use std::sync::LazyLock;

use scenario::{Code, Diagnostic, Diagnostics, Document, Registries};
use serde_json::{Value, json};

use crate::generate;
use crate::grammar::Grammar;
use crate::text::{Place, Step, Text, at, remove};

/// Name of the file in messages; files that it names are in its text.
pub const FILE: &str = "storm.toml";

/// A scenario and its text.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its keys and values.
    pub tree: Value,
    /// The same as a file.
    pub toml: String,
    /// The parsed scenario.
    pub document: Document,
}

/// Rounds of repairs after which a scenario is given up.
const ROUNDS: usize = 40;

/// The rows of all registries, which do not change: made once.
static REGISTRIES: LazyLock<Registries> = LazyLock::new(Registries::builtin);

/// Parses the text of a scenario.
///
/// # Errors
/// Its mistakes.
pub fn parse(toml: &str) -> Result<Document, Diagnostics> {
    Document::parse(toml, FILE, &[], &REGISTRIES)
}

impl Case {
    /// The scenario of this seed; `None` if nothing that could run is left of it.
    pub fn of_seed(grammar: &Grammar, seed: u64) -> Option<Self> {
        let mut tree = Value::Object(generate::scenario(grammar, seed));
        for _ in 0..ROUNDS {
            let text = Text::of(tree.as_object()?);
            match parse(&text.toml) {
                Ok(document) => return Some(Self { tree, toml: text.toml, document }),
                Err(mistakes) => repair(&mut tree, &text, &mistakes)?,
            }
        }
        None
    }

    /// The scenario of a file. It has no tree: it cannot be made smaller.
    ///
    /// # Panics
    /// If it has mistakes.
    pub fn of_text(toml: &str) -> Self {
        let document = parse(toml).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        Self { tree: Value::Null, toml: toml.into(), document }
    }

    /// The scenario of a tree, if it has no mistakes.
    pub fn of_tree(tree: &Value) -> Option<Self> {
        let toml = Text::of(tree.as_object()?).toml;
        let document = parse(&toml).ok()?;
        Some(Self { tree: tree.clone(), toml, document })
    }
}

/// Mends what can be mended and takes out the rest; `None` if a mistake stands nowhere.
fn repair(tree: &mut Value, text: &Text, mistakes: &Diagnostics) -> Option<()> {
    let mut places: Vec<Place> = Vec::new();
    for mistake in mistakes.iter() {
        if mistake.code == Code::NothingToRun {
            return begin_anew(tree);
        }
        let place = inner(tree, text.place(mistake.line)?, mistake);
        if !mend(tree, &place, mistake) {
            places.push(place);
        }
    }
    // From the end of each list, so that earlier positions stay what they are.
    places.sort();
    places.dedup();
    places.iter().rev().for_each(|place| {
        remove(tree, place);
    });
    Some(())
}

/// A flow and a path, where all of them had to be taken out.
fn begin_anew(tree: &mut Value) -> Option<()> {
    let root = tree.as_object_mut()?;
    let directions = json!({ "rate": "5Mbit/s", "delay": "20ms" });
    // It is the same for many seeds: it is short.
    root.insert("duration".into(), "1s".into());
    root.insert("path".into(), json!([{ "name": "p0", "both": directions }]));
    let transport = json!({ "kind": "tcp" });
    let flow = json!({ "name": "f0", "from": "terminal", "to": "server", "transport": transport });
    root.insert("flow".into(), json!([flow]));
    Some(())
}

/// Writes a compulsory key that is missing, or a transport that suits the application. False if it is neither.
fn mend(tree: &mut Value, place: &Place, mistake: &Diagnostic) -> bool {
    let key = mistake.key.rsplit('.').next().unwrap_or_default();
    let value: Value = match (mistake.code, key) {
        (Code::Contradiction | Code::MissingKey, "kind") if mistake.key.ends_with("transport.kind") => {
            "tcp".into()
        }
        (Code::MissingKey, "rate") => "5Mbit/s".into(),
        (Code::MissingKey, "delay") => "20ms".into(),
        (Code::MissingKey, "queue_rtt") => "50ms".into(),
        (Code::MissingKey, "burst") => "15kB".into(),
        (Code::MissingKey, "up" | "down" | "forward" | "reverse") => {
            json!({ "rate": "5Mbit/s", "delay": "20ms" })
        }
        _ => return false,
    };
    let mut table = place.clone();
    while at(tree, &table).is_some_and(|value| !value.is_object()) {
        table.pop();
    }
    let Some(Value::Object(table)) = at(tree, &table) else { return false };
    if mistake.code == Code::MissingKey && table.contains_key(key) {
        return false;
    }
    table.insert(key.into(), value);
    true
}

/// The key inside the line that the mistake names, or the line.
fn inner(tree: &mut Value, place: &Place, mistake: &Diagnostic) -> Place {
    let mut place = place.clone();
    let last = place.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.clone()),
        Step::At(_) => None,
    });
    let steps: Vec<&str> = mistake.key.split('.').collect();
    let Some(from) = steps.iter().rposition(|step| last.as_deref() == Some(*step)) else { return place };
    for step in &steps[from + 1..] {
        let next = step.parse().map_or_else(|_| Step::Key((*step).to_owned()), Step::At);
        let mut longer = place.clone();
        longer.push(next);
        if *step == "kind" || at(tree, &longer).is_none() {
            break;
        }
        place = longer;
    }
    place
}
