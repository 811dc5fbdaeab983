//! Mistakes in the TOML itself: each reported once, and how far the rest of the file can still be checked.

use toml::de::{DeTable, Error};

use crate::diagnostic::{Code, Report};
use crate::tree::{Origin, Table};
use crate::work;

/// The tree of a file; `None` if a bracket or a key is broken, so that what follows would be reported wrongly. Mistakes in
/// the TOML itself are reported.
pub fn read(text: &str, report: &mut Report<'_>) -> Option<Table> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let bad = check(text, &errors, report)?;
    Some(Table::from_toml(tree.get_ref(), &bad))
}

/// Reports all syntax errors. Returns the offsets of unreadable values if the rest of the tree is as it was meant,
/// and nothing if a bracket or a key is broken: then what follows would be reported wrongly.
fn check(text: &str, errors: &[Error], report: &mut Report<'_>) -> Option<Vec<usize>> {
    let mut errors: Vec<(usize, &Error)> =
        errors.iter().map(|error| (error.span().map_or(0, |span| span.start), error)).collect();
    errors.sort_by_key(|(start, _)| *start);
    let unclosed =
        |message: &str| ["unclosed inline table", "unclosed array,"].iter().any(|m| message.starts_with(m));
    // An open bracket swallows everything after it, and every line of that looks wrong.
    let open = errors.iter().any(|(_, e)| unclosed(e.message())).then(|| open_bracket(text)).flatten();
    let mut sound = open.is_none();
    let mut bad = Vec::new();
    let mut last_line = None;
    // In the order of the file, each line is looked at once, however many mistakes it has.
    let mut line_start = 0;
    let mut seen = 0;
    for (start, error) in errors {
        if open.is_some_and(|open| start > open) {
            break;
        }
        let before = text.get(seen..start).unwrap_or_default();
        work::add(before.len());
        line_start = before.rfind('\n').map_or(line_start, |i| seen + i + 1);
        seen += before.len();
        let in_header = text.get(line_start..).is_some_and(|line| line.trim_start().starts_with('['));
        sound &= !in_header && is_local(error.message());
        // The place after an unclosed quote belongs to the value before it.
        bad.extend([start, start.saturating_sub(1)]);
        if last_line != Some(line_start) {
            let end = error.span().map_or(start, |span| span.end);
            let message = error.message().replace("recursion limit", "nested too deeply");
            report.add(Origin::File { start, end }, Code::Syntax, "", message, cure(text, error));
        }
        last_line = Some(line_start);
    }
    if let Some(open) = open {
        let bracket = if text[open..].starts_with('{') { ('{', '}') } else { ('[', ']') };
        let at = Origin::File { start: open, end: open + 1 };
        let message = format!("`{}` is never closed", bracket.0);
        report.add(at, Code::Syntax, "", message, format!("add `{}`", bracket.1));
    }
    bad.sort_unstable();
    sound.then_some(bad)
}

/// Errors after which the parser goes on as if the value were right.
fn is_local(message: &str) -> bool {
    ["string values must be quoted", "invalid ", "duplicate key"]
        .iter()
        .any(|start| message.starts_with(start))
}

fn cure(text: &str, error: &Error) -> String {
    let message = error.message();
    let found = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    if message.starts_with("string values must be quoted") {
        return format!("write \"{found}\"");
    }
    if message.starts_with("duplicate key") {
        return format!("`{found}` is given twice: remove one of them");
    }
    if message.starts_with("invalid basic string") {
        return "close the quotes".into();
    }
    if message.starts_with("recursion limit") {
        return "write fewer levels".into();
    }
    if message.starts_with("key with no value") {
        return "write key = value".into();
    }
    "see https://toml.io for the syntax of TOML".into()
}

/// The first bracket that no other closes. Strings and comments are skipped.
fn open_bracket(text: &str) -> Option<usize> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '#' => skip_to(&mut rest, '\n', false),
            '"' | '\'' => {
                let triple: String = std::iter::repeat_n(c, 3).collect();
                if text[at..].starts_with(&triple) {
                    let body = at + triple.len();
                    let end = text[body..].find(&triple).map_or(text.len(), |i| body + i + triple.len());
                    while rest.clone().next().is_some_and(|(i, _)| i < end) {
                        rest.next();
                    }
                } else {
                    skip_to(&mut rest, c, c == '"');
                }
            }
            '{' => open.push((at, '}')),
            '[' => open.push((at, ']')),
            '}' | ']' if open.last().is_some_and(|(_, close)| *close == c) => {
                open.pop();
            }
            _ => {}
        }
    }
    open.first().map(|(at, _)| *at)
}

/// To the end of a string or of the line.
fn skip_to(rest: &mut std::str::CharIndices<'_>, end: char, escapes: bool) {
    while let Some((_, c)) = rest.next() {
        if c == end || c == '\n' {
            return;
        }
        if escapes && c == '\\' {
            rest.next();
        }
    }
}
