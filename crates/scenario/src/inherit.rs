//! Inheritance: `both` gives keys to both directions of a link, `like` takes keys from a table of the same kind.

use std::collections::BTreeMap;

use crate::keys::{DIRECTION, ROOT};
use document::check::element_path;
use document::diagnostic::{Code, Report, suggest};
use document::keys::{Kind, Section};
use document::tree::{Origin, Placed, Table, Value};

/// Values that `like` may copy in one file: a small file with long lists could ask for more than any memory.
const MAX_COPIES: usize = 2_000_000;

/// Resolves `both` and then `like` in all arrays of tables.
pub(crate) fn resolve(root: &mut Table, report: &mut Report<'_>) {
    for key in ROOT.keys {
        let Kind::Tables(section) = key.kind else { continue };
        let Some(Placed { value: Value::List(items), .. }) = root.get_mut(key.name) else { continue };
        if section.key("both").is_some() {
            items.iter_mut().filter_map(Placed::as_table_mut).for_each(|table| spread(section, table));
        }
        if section.key("like").is_some() {
            let mut names = BTreeMap::new();
            for (index, item) in items.iter().enumerate() {
                let name = item.as_table().and_then(|table| table.text("name"));
                name.map(|name| names.entry(name.to_owned()).or_insert(index));
            }
            Likes { section, items, names, copies: 0, reported: false, report }.resolve();
        }
        if section.key("both").is_some() {
            for (index, item) in items.iter_mut().enumerate() {
                let path = element_path("", section.name, index, item);
                let at = item.at;
                if let Some(table) = item.as_table_mut() {
                    at_least_one_direction(section, table, at, &path, report);
                }
            }
        }
    }
}

/// The names of the two directions of a path, link or mesh.
pub(crate) fn direction_names(section: &Section) -> [&'static str; 2] {
    if section.key("up").is_some() { ["up", "down"] } else { ["forward", "reverse"] }
}

/// Moves the keys of `both` into the directions.
pub(crate) fn spread(section: &Section, table: &mut Table) {
    let Some(both) = table.take("both") else { return };
    for name in direction_names(section) {
        match table.get_mut(name) {
            None => table.put(name, both.at, both.node.clone()),
            Some(own) => match (&both.node.value, own.as_table_mut()) {
                // By layer: an override of `both` is meant for both directions, whatever the file says of one.
                (Value::Table(base), Some(own)) => merge(&DIRECTION, base, own, true),
                (_, Some(own)) => own.partial = true,
                (_, None) => {}
            },
        }
    }
}

/// Neither direction is one mistake, not two.
fn at_least_one_direction(
    section: &Section,
    table: &mut Table,
    at: Origin,
    path: &str,
    report: &mut Report<'_>,
) {
    let [there, back] = direction_names(section);
    if table.partial || table.has(there) || table.has(back) {
        return;
    }
    let message = format!("neither `both` nor `{there}` and `{back}` are given");
    let help = "add for example both = { rate = \"10Mbit/s\", delay = \"250ms\" }".into();
    report.add(at, Code::MissingKey, path, message, help);
    table.partial = true;
}

/// Fills in what `own` does not say. With `layers` a value of an override in `base` beats one of the file in `own`.
fn merge(section: &Section, base: &Table, own: &mut Table, layers: bool) {
    own.partial |= base.partial;
    let kind = own.text("kind").map(str::to_owned);
    for entry in &base.entries {
        let Some(key) = section.key(&entry.key) else { continue };
        // Keys that exist only with another kind are not inherited.
        if kind.is_some() && !key.exists_with(kind.as_deref()) {
            continue;
        }
        let Some(mine) = own.get_mut(&entry.key) else {
            own.put(&entry.key, entry.at, entry.node.clone());
            continue;
        };
        match (key.kind.one(), &entry.node.value, &mut mine.value) {
            (Kind::Table(inner), Value::Table(base), Value::Table(mine)) => {
                merge(inner, base, mine, layers);
            }
            (Kind::Choice(_) | Kind::Setting { .. }, ..) => merge_choice(&entry.node, mine, layers),
            _ if layers && entry.node.at.layer() > mine.at.layer() => *mine = entry.node.clone(),
            _ => {}
        }
    }
}

/// Options are inherited as long as the algorithm is the same.
fn merge_choice(base: &Placed, own: &mut Placed, layers: bool) {
    let kind_of = |node: &Placed| match &node.value {
        Value::Text(name) => Some((name.clone(), node.at)),
        Value::Table(table) => table.get("kind").and_then(|k| Some((k.as_text()?.to_owned(), k.at))),
        // A list is taken or left as a whole.
        Value::List(_) => Some(("[]".to_owned(), node.at)),
        _ => None,
    };
    let (theirs, mine) = (kind_of(base), kind_of(own));
    if let (true, Some((_, base_at)), Some((_, own_at))) = (layers, &theirs, &mine)
        && base_at.layer() > own_at.layer()
    {
        *own = base.clone();
        return;
    }
    let same = match (&theirs, &mine) {
        (Some((a, _)), Some((b, _))) => a == b,
        _ => true,
    };
    // A bare name asks for the defaults of its options.
    let Some(own_table) = own.as_table_mut().filter(|_| same) else { return };
    match &base.value {
        Value::Text(_) => {
            if !own_table.has("kind") {
                own_table.put("kind", base.at, base.clone());
            }
        }
        Value::Table(base_table) => {
            for entry in &base_table.entries {
                match own_table.get(&entry.key) {
                    Some(mine) if !(layers && entry.node.at.layer() > mine.at.layer()) => {}
                    _ => own_table.put(&entry.key, entry.at, entry.node.clone()),
                }
            }
        }
        // The file does not say which part of a list an override means.
        Value::List(_) => {}
        _ => own_table.partial = true,
    }
}

/// How far an element's inheritance is resolved.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    /// On the way from here: meeting it again is a circle.
    Busy,
    Done,
}

struct Likes<'l, 'r, 'a> {
    section: &'static Section,
    items: &'l mut [Placed],
    /// Position of the first element of each name.
    names: BTreeMap<String, usize>,
    /// Values that were copied, and whether it is reported that they are too many.
    copies: usize,
    reported: bool,
    report: &'r mut Report<'a>,
}

impl Likes<'_, '_, '_> {
    fn resolve(&mut self) {
        let mut states = vec![State::Open; self.items.len()];
        for start in 0..self.items.len() {
            // Follow the chain to its end, then merge on the way back.
            let mut chain = vec![];
            let mut next = Some(start);
            while let Some(index) = next.filter(|i| states[*i] == State::Open) {
                states[index] = State::Busy;
                chain.push(index);
                next = self.base_of(index);
            }
            if let Some(end) = next.filter(|i| states[*i] == State::Busy) {
                self.circle(&chain, end);
            }
            for index in chain.into_iter().rev() {
                self.inherit(index);
                states[index] = State::Done;
            }
        }
    }

    fn path(&self, index: usize) -> String {
        element_path("", self.section.name, index, &self.items[index])
    }

    /// The element that `like` names; a name that does not exist is reported.
    fn base_of(&mut self, index: usize) -> Option<usize> {
        let like = self.items[index].as_table()?.get("like")?;
        let (name, at) = (like.as_text()?.to_owned(), like.at);
        let found = self.names.get(&name).copied();
        if found.is_none() {
            let others = self.items.iter().enumerate().filter(|(i, _)| *i != index);
            let others = others.filter_map(|(_, item)| item.as_table().and_then(|table| table.text("name")));
            let help = suggest(&name, &format!("other {}s", self.section.name), others);
            let message = format!("there is no {} \"{name}\"", self.section.name);
            self.report.add(at, Code::UnknownName, &format!("{}.like", self.path(index)), message, help);
            self.sever(index);
        }
        found
    }

    fn circle(&mut self, chain: &[usize], start: usize) {
        let circle = &chain[chain.iter().position(|i| *i == start).unwrap_or(0)..];
        let names: Vec<String> = circle.iter().map(|i| self.path(*i)).collect();
        let at = self.items[start].as_table().and_then(|t| t.get("like")).map_or(Origin::Default, |n| n.at);
        let message = match names.as_slice() {
            [_] => "it is like itself".to_owned(),
            _ => format!("`like` leads in a circle: {}", names.join(", ")),
        };
        let help = "write the keys out in one of them and remove its `like`".into();
        self.report.add(at, Code::LikeCircle, &format!("{}.like", self.path(start)), message, help);
        circle.iter().for_each(|index| self.sever(*index));
    }

    /// Its keys are unknown from here on, so none of them is missing.
    fn sever(&mut self, index: usize) {
        if let Some(table) = self.items[index].as_table_mut() {
            table.take("like");
            table.partial = true;
        }
    }

    /// Reported once: all that follow have too many as well.
    fn too_many_copies(&mut self, index: usize) {
        if !self.reported {
            let at =
                self.items[index].as_table().and_then(|t| t.get("like")).map_or(Origin::Default, |n| n.at);
            let message = format!("`like` copies more than {MAX_COPIES} values in all");
            let help = "use shorter lists, or files in their place".into();
            self.report.add(at, Code::TooMany, &format!("{}.like", self.path(index)), message, help);
            self.reported = true;
        }
        self.sever(index);
    }

    fn inherit(&mut self, index: usize) {
        let Some(base) = self.base_of(index) else {
            if let Some(table) = self.items[index].as_table_mut() {
                // A `like` that is not a name is reported, and hides what it would have given.
                table.partial |= table.take("like").is_some();
            }
            return;
        };
        self.copies = self.copies.saturating_add(self.items[base].count());
        if self.copies > MAX_COPIES {
            return self.too_many_copies(index);
        }
        let Some(mut base) = self.items[base].as_table().cloned() else { return };
        base.take("name");
        if let Some(table) = self.items[index].as_table_mut() {
            table.take("like");
            merge(self.section, &base, table, false);
        }
    }
}
