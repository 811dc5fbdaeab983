//! A scenario as a tree of values, and its text: every key on a line of its own, so that a mistake leads back to its key.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Where a key stands: `["path", 0, "both", "rate"]`, list positions as numbers.
pub type Place = Vec<Step>;

/// One step of a [`Place`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// A position of a list.
    At(usize),
}

/// The text of a scenario, and which key each line holds.
#[derive(Clone, Debug)]
pub struct Text {
    /// TOML.
    pub toml: String,
    lines: Vec<Place>,
}

impl Text {
    /// Writes the tree.
    pub fn of(tree: &Map<String, Value>) -> Self {
        let mut text = Self { toml: String::new(), lines: Vec::new() };
        text.table(tree, &mut Vec::new(), "");
        text
    }

    /// The key on a line, counted from 1.
    pub fn place(&self, line: usize) -> Option<&Place> {
        self.lines.get(line.checked_sub(1)?)
    }

    fn line(&mut self, place: &Place, text: &str) {
        // A text of several lines stays in one: its line ends are escaped.
        debug_assert!(!text.contains('\n'), "a line of the file is one line: {text}");
        self.lines.push(place.clone());
        self.toml += text;
        self.toml.push('\n');
    }

    /// Plain keys first: what follows a header belongs to it.
    fn table(&mut self, table: &Map<String, Value>, place: &mut Place, header: &str) {
        let tables = |value: &Value| {
            value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
        };
        let own = |key: &str, value: &Value| {
            matches!(key, "both" | "up" | "down" | "forward" | "reverse" | "transport") && value.is_object()
        };
        for (key, value) in table {
            if !(own(key, value) || place.is_empty() && tables(value)) {
                place.push(Step::Key(key.clone()));
                self.line(place, &format!("{key} = {}", inline(value)));
                place.pop();
            }
        }
        for (key, value) in table {
            place.push(Step::Key(key.clone()));
            let full = if header.is_empty() { key.clone() } else { format!("{header}.{key}") };
            if own(key, value) {
                self.line(place, &format!("[{full}]"));
                self.table(value.as_object().expect("a table"), place, &full);
            } else if place.len() == 1 && tables(value) {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    place.push(Step::At(index));
                    self.line(place, &format!("[[{full}]]"));
                    self.table(item.as_object().expect("a table"), place, &full);
                    place.pop();
                }
            }
            place.pop();
        }
    }
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(table) => {
            let keys: Vec<String> =
                table.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Value::String(text) => quoted(text),
        Value::Null => quoted(""),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out += "\\n",
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c)).expect("a String"),
            c => out.push(c),
        }
    }
    out + "\""
}

/// The value at a place.
pub fn at<'a>(tree: &'a mut Value, place: &[Step]) -> Option<&'a mut Value> {
    place.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::At(index) => value.get_mut(*index),
    })
}

/// Takes the value at a place away. False if there is none.
pub fn remove(tree: &mut Value, place: &[Step]) -> bool {
    let Some((last, parent)) = place.split_last() else { return false };
    match (at(tree, parent), last) {
        (Some(Value::Object(table)), Step::Key(key)) => table.shift_remove(key).is_some(),
        (Some(Value::Array(items)), Step::At(index)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_leads_to_its_key() {
        let mut tree = json!({
            "duration": "1s",
            "path": [{ "name": "p", "both": { "rate": ["1Mbit/s", "2Mbit/s"], "delay": { "kind": "geo" } } }],
            "event": [],
        });
        let text = Text::of(tree.as_object().unwrap());
        let lines = [
            "duration = \"1s\"",
            "event = []",
            "[[path]]",
            "name = \"p\"",
            "[path.both]",
            "rate = [\"1Mbit/s\", \"2Mbit/s\"]",
            "delay = { kind = \"geo\" }",
        ];
        assert_eq!(text.toml.lines().collect::<Vec<_>>(), lines);
        let place = text.place(6).unwrap().clone();
        assert_eq!(at(&mut tree, &place).unwrap()[1], "2Mbit/s");
        assert!(remove(&mut tree, &place) && !remove(&mut tree, &place));
        assert_eq!(text.place(8), None);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(quoted("a\n\"\\\u{1}ä"), "\"a\\n\\\"\\\\\\u0001ä\"");
    }
}
