//! Reference pages, made of the key tables.

use std::fmt::Write;

use crate::diagnostic::Code;
use crate::keys::{Fallback, Kind, Section};

/// The tables of all keys of a file whose top level is `root`: a section for each table, in their order. `title` is that of
/// the first.
pub fn sections(out: &mut String, root: &'static Section, title: &str) {
    let mut found = Vec::new();
    collect(root, root, title.to_owned(), &mut found);
    for (section, title) in found {
        keys(out, section, &title);
    }
}

/// Each section once, in the order of the tables.
fn collect(
    root: &Section,
    section: &'static Section,
    title: String,
    found: &mut Vec<(&'static Section, String)>,
) {
    if found.iter().any(|(known, _)| known.name == section.name) {
        return;
    }
    found.push((section, title));
    for key in section.keys {
        match key.kind.one() {
            Kind::Tables(inner) if !inner.inline => {
                collect(root, inner, format!("`[[{}]]`", inner.name), found)
            }
            Kind::Table(inner) if section.name == root.name => {
                collect(root, inner, format!("`[{}]`", inner.name), found)
            }
            Kind::Table(inner) | Kind::Tables(inner) => {
                collect(root, inner, format!("The keys of {}", inner.what), found);
            }
            Kind::Either(kinds) => {
                for kind in kinds {
                    if let Kind::Table(inner) = kind {
                        collect(root, inner, format!("The keys of {}", inner.what), found);
                    }
                }
            }
            Kind::Map(Kind::Table(inner)) => collect(root, inner, format!("`[{}.NAME]`", inner.name), found),
            _ => {}
        }
    }
}

// Writing to a string cannot fail.
/// One line.
pub fn put(out: &mut String, line: &str) {
    let _ = writeln!(out, "{line}");
}

/// A table of Markdown.
pub fn table(out: &mut String, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    put(out, &format!("| {} |", head.join(" | ")));
    put(out, &format!("|{}", "---|".repeat(head.len())));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        put(out, &format!("| {} |", cells.join(" | ")));
    }
}

fn keys(out: &mut String, section: &Section, title: &str) {
    put(out, &format!("\n## {title}\n\n{}\n", section.doc));
    let rows = section.keys.iter().map(|key| {
        // Most keys apply to both TCP and MPTCP: only the exceptions are marked.
        let only = match key.only {
            [only] => format!(" (only {only})"),
            _ => String::new(),
        };
        let default = match key.default {
            Fallback::Compulsory => "**compulsory**".into(),
            Fallback::Absent => "–".into(),
            Fallback::Text("") => "empty".into(),
            Fallback::Text(text) => format!("`{text}`"),
            Fallback::Profile => "of the profile".into(),
            Fallback::Derived(what) => what.into(),
            Fallback::Keys => "of its keys".into(),
        };
        vec![format!("`{}`{only}", key.name), sentence(key.doc), key.kind.what(), default]
    });
    table(out, &["Key", "Meaning", "Value", "Default"], rows);
}

/// With a capital letter in front.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The section about error codes.
pub fn codes(out: &mut String) {
    put(
        out,
        "\n## Error codes\n\nAll mistakes of a file are reported at once, each with its place and its cure.\n",
    );
    let rows = Code::ALL.iter().map(|code| vec![code.as_str().to_owned(), sentence(code.meaning().trim())]);
    table(out, &["Code", "Meaning"], rows);
}
