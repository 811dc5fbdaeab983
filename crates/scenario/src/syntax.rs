//! Mistakes in the TOML itself: each reported once, and how far the rest of the file can still be checked.

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use crate::diagnostic::{Code, Report};
use crate::tree::Origin;

/// Reports all syntax errors. Returns the offsets of unreadable values if the rest of the tree is as it was meant,
/// and nothing if a bracket or a key is broken: then what follows would be reported wrongly.
pub(crate) fn check(
    text: &str,
    tree: &DeTable<'_>,
    errors: &[Error],
    report: &mut Report<'_>,
) -> Option<Vec<usize>> {
    let start = |error: &Error| error.span().map_or(0, |span| span.start);
    let swallowed: Vec<std::ops::Range<usize>> = errors
        .iter()
        .filter(|e| {
            e.message().starts_with("unclosed inline table") || e.message().starts_with("unclosed array,")
        })
        .filter_map(|e| opening(tree, start(e)).map(|open| open..start(e)))
        .collect();
    let mut seen = Vec::new();
    let mut add = |at: usize, end: usize, message: String, help: String| {
        let line = text.get(..at).map_or(0, |before| before.matches('\n').count());
        if !seen.contains(&line) {
            seen.push(line);
            report.add(Origin::File { start: at, end }, Code::Syntax, "", message, help);
        }
    };
    for region in &swallowed {
        let bracket = text[region.start..].chars().next().unwrap_or('[');
        let close = if bracket == '{' { '}' } else { ']' };
        let message = format!("`{bracket}` is never closed");
        add(region.start, region.start + 1, message, format!("add `{close}`"));
    }
    let mut sound = swallowed.is_empty();
    let mut bad = Vec::new();
    let mut sorted: Vec<&Error> = errors.iter().collect();
    sorted.sort_by_key(|error| start(error));
    for error in sorted {
        let span = error.span().unwrap_or(0..0);
        if swallowed.iter().any(|region| region.contains(&span.start) || region.end == span.start) {
            continue;
        }
        let line_start = text.get(..span.start).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
        let in_header = text.get(line_start..).is_some_and(|line| line.trim_start().starts_with('['));
        sound &= !in_header && is_local(error.message());
        // The place after an unclosed quote belongs to the value before it.
        bad.extend([span.start, span.start.saturating_sub(1)]);
        add(span.start, span.end, error.message().into(), cure(text, error));
    }
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
    if message.starts_with("key with no value") {
        return "write key = value".into();
    }
    "see https://toml.io for the syntax of TOML".into()
}

/// Where the innermost list or inline table begins that ends at `end`.
fn opening(table: &DeTable<'_>, end: usize) -> Option<usize> {
    fn inside(value: &Spanned<DeValue<'_>>, end: usize) -> Option<usize> {
        let inner = match value.get_ref() {
            DeValue::Array(items) => items.iter().find_map(|item| inside(item, end)),
            DeValue::Table(table) => opening(table, end),
            _ => return None,
        };
        inner.or((value.span().end == end && value.span().start < end).then_some(value.span().start))
    }
    table.iter().find_map(|(_, value)| inside(value, end))
}
