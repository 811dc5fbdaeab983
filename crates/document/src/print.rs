//! Writes a filled tree as TOML: the expanded file.

use std::fmt::Write;

use crate::keys::{Kind, Section};
use crate::tree::{Table, Value};

/// The whole file behind its first line, keys in the order of the tables.
pub fn document(first_line: &str, section: &Section, root: &Table) -> String {
    let mut out = format!("{first_line}\n");
    body(&mut out, section, root, "");
    out
}

/// Plain keys first: in TOML they would otherwise belong to the table before them.
fn body(out: &mut String, section: &Section, table: &Table, path: &str) {
    let present = || section.keys.iter().filter_map(|key| table.get(key.name).map(|node| (key, node)));
    for (key, node) in present() {
        let nested = match key.kind {
            Kind::Table(section) => !section.inline,
            Kind::Tables(section) => !section.inline,
            _ => false,
        };
        if !nested {
            line(out, key.name, &node.value);
        }
    }
    for (key, node) in present() {
        let path = crate::check::join(path, key.name);
        match (key.kind, &node.value) {
            (Kind::Table(section), Value::Table(table)) if !section.inline => {
                header(out, &format!("[{path}]"));
                body(out, section, table, &path);
            }
            (Kind::Tables(section), Value::List(items)) if !section.inline => {
                for table in items.iter().filter_map(|item| item.as_table()) {
                    header(out, &format!("[[{path}]]"));
                    body(out, section, table, &path);
                }
            }
            _ => {}
        }
    }
}

// Writing to a string cannot fail.
fn header(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

fn line(out: &mut String, key: &str, value: &Value) {
    let _ = writeln!(out, "{key} = {}", inline(value));
}

/// A value on one line.
pub fn inline(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => match table.entries.as_slice() {
            // An algorithm without options.
            [only] if only.key == "kind" => inline(&only.node.value),
            entries => {
                let pairs: Vec<String> =
                    entries.iter().map(|e| format!("{} = {}", e.key, inline(&e.node.value))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        },
        other => other.bare().unwrap_or_default(),
    }
}

/// A basic string of TOML.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
