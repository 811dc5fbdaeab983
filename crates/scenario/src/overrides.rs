//! Overrides: `KEY=VALUE` written into the tree before anything is checked or inherited, as if it stood in the file.
//!
//! Tables of an array are addressed by name, events and parts of a list by position from 0. Whether the last key exists
//! and takes the value is left to the checks: they report with the place of the override.

use toml::de::DeValue;

use crate::keys::{BUFFER_RULES, ROOT};
use document::check::join;
use document::diagnostic::{Code, Report, suggest};
use document::keys::{Kind, Section};
use document::print::inline;
use document::tree::{KeyValue, Origin, Placed, Table, Value};

/// One segment of a dotted key and its offset.
type Segment<'k> = (&'k str, usize);

/// Writes all overrides in order; a later one wins. `left_out` gets the keys of the file that another `kind` does not
/// have.
pub(crate) fn apply<'a>(
    root: &mut Table,
    sets: &[(String, String)],
    report: &mut Report<'a>,
    left_out: &mut Report<'a>,
) {
    for (index, (key, value)) in sets.iter().enumerate() {
        let mut offset = 0;
        let segments: Vec<Segment<'_>> = key
            .split('.')
            .map(|segment| {
                let start = offset;
                offset += segment.len() + 1;
                (segment, start)
            })
            .collect();
        let mut writer = Writer { index, key, report, left_out };
        match segments.iter().find(|(segment, _)| segment.is_empty()) {
            Some(empty) => writer.refuse(*empty, "a part of the key is empty".into(), EXAMPLE.into()),
            None => writer.write(&ROOT, root, &segments, parse(value, index, key.len() + 1)),
        }
    }
}

const EXAMPLE: &str = "write for example path.beam1.up.rate=10Mbit/s";

/// A TOML value, and where that fails the text itself: quotes are tedious on a command line.
fn parse(text: &str, index: usize, offset: usize) -> Placed {
    match DeValue::parse(text) {
        Ok(value) if !matches!(value.get_ref(), DeValue::Datetime(_)) => {
            Placed::from_override(&value, index, offset)
        }
        _ => Placed::new(
            Value::Text(text.into()),
            Origin::Set { index, start: offset, end: offset + text.len() },
        ),
    }
}

struct Writer<'w, 'r, 'a> {
    index: usize,
    key: &'w str,
    report: &'r mut Report<'a>,
    left_out: &'r mut Report<'a>,
}

impl Writer<'_, '_, '_> {
    fn at(&self, (segment, start): Segment<'_>) -> Origin {
        Origin::Set { index: self.index, start, end: start + segment.len() }
    }

    fn refuse(&mut self, segment: Segment<'_>, message: String, help: String) {
        self.report.add(self.at(segment), Code::BadOverride, self.key, message, help);
    }

    fn write(
        &mut self,
        section: &'static Section,
        table: &mut Table,
        segments: &[Segment<'_>],
        value: Placed,
    ) {
        let [head, rest @ ..] = segments else { return };
        let at = self.at(*head);
        let Some(key) = section.key(head.0) else {
            // The check reports it with the nearest key.
            return table.put(head.0, at, Placed::broken(at));
        };
        match (key.kind.one(), rest) {
            // A list on one line can be replaced as a whole.
            (Kind::Tables(section), _) if !(section.inline && rest.is_empty()) => {
                self.element(section, table, *head, rest, value)
            }
            (_, []) => {
                match key.name {
                    "kind" => self.drop_other_kinds(section, table, &value),
                    "send_buffer" => self.drop_bound(table, &value),
                    _ => {}
                }
                table.put(head.0, at, value);
            }
            (one @ (Kind::Choice(_) | Kind::Setting { .. } | Kind::Table(_)), [which, rest @ ..])
                if matches!(table.get(head.0), Some(Placed { value: Value::List(_), .. })) =>
            {
                if let Some(node) = table.get_mut(head.0) {
                    // The whole list counts as written here, as it does where it is set as a whole.
                    node.at = at;
                    self.part(one, node, *which, rest, value);
                }
            }
            (Kind::Table(inner), _) => {
                if !table.has(head.0) {
                    table.put(head.0, at, Placed::new(Value::Table(Table::default()), at));
                }
                // Anything else than a table is reported by the check.
                if let Some(inner_table) = table.get_mut(head.0).and_then(Placed::as_table_mut) {
                    self.write(inner, inner_table, rest, value);
                }
            }
            (Kind::Choice(_) | Kind::Setting { .. }, [option]) => {
                if !table.has(head.0) {
                    table.put(head.0, at, Placed::new(Value::Table(Table::default()), at));
                }
                if let Some(node) = table.get_mut(head.0) {
                    self.option(node, *option, value);
                }
            }
            (_, [next, ..]) => {
                let message = format!("`{}` has no keys of its own", head.0);
                self.refuse(*next, message, format!("set `{}` itself", &self.key[..next.1 - 1]));
            }
        }
    }

    /// One of several models or buckets, by its position.
    fn part(
        &mut self,
        kind: Kind,
        list: &mut Placed,
        which: Segment<'_>,
        rest: &[Segment<'_>],
        value: Placed,
    ) {
        let Value::List(items) = &mut list.value else { return };
        let count = items.len();
        let Some(item) = which.0.parse().ok().and_then(|index: usize| items.get_mut(index)) else {
            let whole = &self.key[..which.1 - 1];
            let message = format!("`{whole}` is a list of {count} here");
            let help =
                format!("name one by its position from 0, as in {whole}.0, or set `{whole}` as a whole");
            return self.refuse(which, message, help);
        };
        match (kind, rest) {
            (_, []) => *item = value,
            (Kind::Table(section), _) => {
                if let Some(table) = item.as_table_mut() {
                    self.write(section, table, rest, value);
                }
            }
            (_, [option]) => self.option(item, *option, value),
            (_, [option, next, ..]) => {
                let message = format!("`{}` has no keys of its own", option.0);
                self.refuse(*next, message, format!("set `{}` itself", &self.key[..next.1 - 1]));
            }
        }
    }

    /// An option of an algorithm; a bare name becomes a table.
    fn option(&mut self, node: &mut Placed, option: Segment<'_>, value: Placed) {
        if node.as_text().is_some() {
            let at = node.at;
            let kind = std::mem::replace(node, Placed::new(Value::Table(Table::default()), at));
            if let Some(table) = node.as_table_mut() {
                table.put("kind", at, kind);
            }
        }
        let Some(table) = node.as_table_mut() else { return };
        if option.0 == "kind" && table.text("kind") != value.as_text() {
            // Options in the file belong to the algorithm in the file.
            for entry in table.entries.extract_if(.., |entry| entry.at.layer() == 0) {
                if entry.key != "kind" {
                    self.leave_out(&entry, &value, "");
                }
            }
        }
        table.put(option.0, self.at(option), value);
    }

    /// Keys in the file that only another kind has do not apply any more.
    fn drop_other_kinds(&mut self, section: &'static Section, table: &mut Table, kind: &Placed) {
        let exists = |name: &str| section.key(name).is_none_or(|key| key.exists_with(kind.as_text()));
        let other = |entry: &mut KeyValue| entry.at.layer() == 0 && !exists(&entry.key);
        for entry in table.entries.extract_if(.., other) {
            let near = entry.key.rsplit_once('_').map_or("", |(stem, _)| stem);
            let near = if section.key(near).is_some() && exists(near) { near } else { "" };
            self.leave_out(&entry, kind, near);
        }
    }

    /// The bound in the file on a send buffer that grows does not apply to a fixed one.
    fn drop_bound(&mut self, table: &mut Table, size: &Placed) {
        if size.as_text().is_none_or(|size| BUFFER_RULES.contains(&size)) {
            return;
        }
        let is_bound = |entry: &mut KeyValue| entry.at.layer() == 0 && entry.key == "send_buffer_max";
        for entry in table.entries.extract_if(.., is_bound) {
            let help = "remove `send_buffer_max`, or keep a buffer that grows".to_owned();
            self.note(&entry, &format!("send_buffer = {} is fixed", inline(&size.value)), help);
        }
    }

    /// Notes that a key of the file has no effect; `near` is a key with the same purpose, or empty.
    fn leave_out(&mut self, entry: &KeyValue, kind: &Placed, near: &str) {
        let help = match near {
            "" => format!("remove `{}`, or keep the kind of the file", entry.key),
            near => format!("set `{near}`, which this kind has"),
        };
        self.note(entry, &format!("kind = {} does not have it", inline(&kind.value)), help);
    }

    fn note(&mut self, entry: &KeyValue, why: &str, help: String) {
        let parent = self.key.rsplit_once('.').map_or("", |(parent, _)| parent);
        let message = format!("{} = {} is left out: {why}", entry.key, inline(&entry.node.value));
        self.left_out.add(entry.at, Code::NotApplicable, &join(parent, &entry.key), message, help);
    }

    fn element(
        &mut self,
        section: &'static Section,
        table: &mut Table,
        list: Segment<'_>,
        rest: &[Segment<'_>],
        value: Placed,
    ) {
        let [which, rest @ ..] = rest else {
            let help = "name one of them and one of its keys, as in path.beam1.up.rate=10Mbit/s".into();
            return self.refuse(list, format!("`{}` holds several tables", list.0), help);
        };
        let items: &mut [Placed] = match table.get_mut(list.0) {
            Some(Placed { value: Value::List(items), .. }) => items,
            // A mistake in the file that the check reports.
            Some(_) => return,
            None => &mut [],
        };
        let names: Vec<String> =
            items.iter().enumerate().map(|(i, item)| address(section, i, item)).collect();
        let Some(index) = names.iter().position(|name| name == which.0) else {
            let help = suggest(which.0, "known", names.iter().map(String::as_str));
            let message = format!("there is no {} \"{}\"", section.name, which.0);
            return self.report.add(self.at(*which), Code::UnknownName, self.key, message, help);
        };
        if rest.is_empty() {
            let help = format!("add one of its keys: {}", section.names().collect::<Vec<_>>().join(", "));
            return self.refuse(*which, format!("\"{}\" is a whole {}", which.0, section.name), help);
        }
        if let Some(element) = items[index].as_table_mut() {
            self.write(section, element, rest, value);
        }
    }
}

/// How an override addresses an element: by name, an event by position.
fn address(section: &'static Section, index: usize, item: &Placed) -> String {
    let name = item.as_table().and_then(|table| table.text("name")).filter(|_| section.key("name").is_some());
    name.map_or_else(|| index.to_string(), str::to_owned)
}
