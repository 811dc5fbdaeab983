//! A file that is read here and judged further elsewhere: its values as plain data, and mistakes by the way to a value.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Report};
use crate::files::Files;
use crate::fill::Filler;
use crate::keys::Kind;
use crate::tree::{Origin, Placed, Table, Value};
use crate::vocabulary::NoAlgorithms;

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A file, and what has been found wrong with it so far.
#[derive(Clone, Debug)]
pub struct Source {
    file: String,
    text: String,
    written: Placed,
    filled: Placed,
    found: Vec<Diagnostic>,
    added: Vec<Added>,
}

/// A mistake that was found in the values.
#[derive(Clone, Debug)]
struct Added {
    at: Origin,
    code: Code,
    key: String,
    message: String,
    help: String,
}

/// Place, kind, key and message: equal for the same mistake.
fn told(one: &Diagnostic) -> (usize, usize, Code, &str, &str, &str) {
    (one.line, one.column, one.code, &one.key, &one.message, &one.help)
}

impl Source {
    /// Reads the `text` of `file`, whose top level is of this kind. Mistakes are kept.
    ///
    /// # Errors
    /// Mistakes in the TOML that make it unreadable.
    pub fn read(text: &str, file: &str, kind: Kind) -> Result<Self, Diagnostics> {
        let mut report = Report::new(file, text, &[]);
        let Some(root) = crate::read(text, &mut report) else { return Err(report.finish()) };
        let files = Files::beside(file);
        let written = Placed::new(Value::Table(root), Origin::Default);
        let mut checked = written.clone();
        let mut checker = Checker { vocabulary: &NoAlgorithms, files: &files, report: &mut report };
        checker.value(kind, &mut checked, "");
        let filled = Filler::new(checker).whole(kind, checked);
        let found = if report.is_empty() { Vec::new() } else { report.finish().iter().cloned().collect() };
        Ok(Self { file: file.into(), text: text.into(), written, filled, found, added: Vec::new() })
    }

    /// The values, defaults filled in; null where a value is missing or wrong.
    pub fn to_json(&self) -> Json {
        json(&self.filled.value)
    }

    /// Adds a mistake in the value at the end of `path`, or in its key. A missing key is reported at the nearest
    /// table around it.
    pub fn add(&mut self, path: &[Step], of_key: bool, code: Code, message: String, help: String) {
        let names: Vec<String> = path
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Index(index) => index.to_string(),
            })
            .collect();
        let at = place(&self.written, path, of_key);
        self.added.push(Added { at, code, key: names.join("."), message, help });
    }

    /// Nothing if the file has no mistakes.
    ///
    /// # Errors
    /// All that were found, in the order of the file.
    pub fn check(&self) -> Result<(), Diagnostics> {
        let mut found = self.found.clone();
        if !self.added.is_empty() {
            // One report for all: it looks for the lines of the text once.
            let mut report = Report::new(&self.file, &self.text, &[]);
            for one in &self.added {
                report.add(one.at, one.code, &one.key, one.message.clone(), one.help.clone());
            }
            let known: BTreeSet<_> = self.found.iter().map(told).collect();
            found.extend(report.finish().iter().filter(|one| !known.contains(&told(one))).cloned());
        }
        Diagnostics::sorted(found).map_or(Ok(()), Err)
    }
}

/// Where a way ends, or as far as it goes.
fn place(root: &Placed, path: &[Step], of_key: bool) -> Origin {
    let (mut node, mut at) = (root, root.at);
    for step in path {
        match (step, &node.value) {
            (Step::Key(key), Value::Table(Table { entries, .. })) => {
                let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { return at };
                node = &entry.node;
                at = if of_key { entry.at } else { node.at };
            }
            (Step::Index(index), Value::List(items)) => {
                let Some(item) = items.get(*index) else { return at };
                node = item;
                at = node.at;
            }
            _ => return at,
        }
    }
    at
}

fn json(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(items) => items.iter().map(|item| json(&item.value)).collect(),
        Value::Table(table) => {
            table.entries.iter().map(|entry| (entry.key.clone(), json(&entry.node.value))).collect()
        }
        Value::Foreign(_) | Value::Broken => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shorthand::TEXT;

    const TRICKY: &str = "\
# a comment with [[vary]] in it
a.b = \"x # no comment\" # one
'quoted key' = 1
list = [ # first
  1, \"two\",
  { k = 3, \"l\" = [4, 5] },
]
[[t]]
n = 1
[t.sub]
m = 2
[[t]]
n = 2
[t.sub]
m = 'here'
";

    #[test]
    fn mistakes_stand_where_the_way_leads() {
        let key = |key: &str| Step::Key(key.into());
        let mut source =
            Source::read(TRICKY, "f.toml", Kind::Map(&Kind::Scalar(crate::keys::Scalar::Any))).unwrap();
        assert!(source.check().is_ok());
        for (path, of_key, line, column, width) in [
            (vec![key("a"), key("b")], false, 2, 7, 16),
            (vec![key("quoted key")], false, 3, 16, 1),
            (vec![key("list"), Step::Index(1)], false, 5, 6, 5),
            (vec![key("list"), Step::Index(2), key("l"), Step::Index(1)], false, 6, 22, 1),
            (vec![key("t"), Step::Index(0), key("sub"), key("m")], false, 11, 5, 1),
            (vec![key("t"), Step::Index(1), key("n")], true, 13, 1, 1),
            (vec![key("t"), Step::Index(1), key("sub"), key("m")], false, 15, 5, 6),
            (vec![key("nothing")], false, 1, 1, 1),
        ] {
            source.added.clear();
            source.add(&path, of_key, Code::BadValue, "wrong".into(), "mend it".into());
            let told = source.check().unwrap_err();
            let one = told.iter().next().expect("one mistake");
            assert_eq!((one.line, one.column, one.width), (line, column, width), "{path:?}");
        }
        source.add(&[key("a"), key("b")], false, Code::BadValue, "wrong".into(), "mend it".into());
        source.add(&[key("a"), key("b")], false, Code::BadValue, "wrong".into(), "mend it".into());
        let all = source.check().unwrap_err();
        assert_eq!(all.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 2], "in order, each once");
        assert_eq!(source.to_json()["list"][2]["l"][1], 5);
    }

    #[test]
    fn values_of_the_wrong_type_are_null() {
        let source = Source::read("a = 1\nb = 'x'\n", "f.toml", Kind::Map(&TEXT)).unwrap();
        assert_eq!(source.to_json().to_string(), r#"{"a":null,"b":"x"}"#);
        assert!(source.check().unwrap_err().to_string().contains("f.toml:1:5: a: found the number 1"));
    }
}
