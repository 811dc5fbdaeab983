//! Fills in every default: afterwards each table has all of its keys, in the order of the key tables, and only the
//! mistakes already reported are missing.

use crate::check::{Checker, element_path, join, names_model};
use crate::diagnostic::{Code, Report};
use crate::files::Files;
use crate::keys::{Fallback, Key, Kind, Scalar, Section};
use crate::scalar::{from_default, scalar, sketch};
use crate::tree::{KeyValue, Origin, Placed, Table, Value};
use crate::vocabulary::{Catalogue, Vocabulary};

/// Inputs on which the defaults of a table depend.
#[derive(Clone, Copy, Default)]
struct Context<'c> {
    /// `kind` of this table, if it has one.
    kind: Option<&'c str>,
    profile: Option<&'c str>,
}

/// Fills a whole file, whose top level is `section`.
pub fn fill(
    section: &'static Section,
    root: Table,
    vocabulary: &dyn Vocabulary,
    files: &Files,
    report: &mut Report<'_>,
) -> Table {
    Filler::new(Checker { vocabulary, files, report }).table(section, root, Origin::Default, "")
}

/// Checks that a filled tree without mistakes has only known keys, each once and with a readable value.
pub fn check(section: &'static Section, table: &Table) {
    debug_assert!(!table.partial, "{}: a mistake was not reported", section.name);
    for (index, entry) in table.entries.iter().enumerate() {
        let (key, node) = (entry.key.as_str(), &entry.node);
        let first = table.entries[..index].iter().all(|other| other.key != key);
        debug_assert!(first, "{}: two `{key}`", section.name);
        debug_assert!(!matches!(node.value, Value::Broken | Value::Foreign(_)), "`{key}` cannot be read");
        let known = section.key(key);
        debug_assert!(known.is_some(), "{}: `{key}` is unknown", section.name);
        match known.map(|key| key.kind.one()) {
            Some(Kind::Table(inner)) => {
                node.one_or_more().iter().filter_map(Placed::as_table).for_each(|table| check(inner, table));
            }
            Some(Kind::Tables(inner)) => {
                debug_assert!(matches!(node.value, Value::List(_)), "`{key}` is no array of tables");
                node.items().iter().filter_map(Placed::as_table).for_each(|table| check(inner, table));
            }
            Some(Kind::Choice(_)) => {
                let named = |node: &Placed| node.as_table().is_some_and(|table| table.has("kind"));
                debug_assert!(node.one_or_more().iter().all(named), "`{key}` names no algorithm");
            }
            _ => {}
        }
    }
    let missing = |key: &&Key| matches!(key.default, Fallback::Compulsory) && !table.has(key.name);
    let kind = table.text("kind");
    let mut missing = section.keys.iter().filter(|key| key.exists_with(kind)).filter(missing);
    debug_assert!(missing.next().is_none(), "{}: a compulsory key is missing", section.name);
}

/// Fills trees that are checked.
pub(crate) struct Filler<'r, 's, 'a> {
    checker: Checker<'r, 's, 'a>,
}

impl<'r, 's, 'a> Filler<'r, 's, 'a> {
    pub fn new(checker: Checker<'r, 's, 'a>) -> Self {
        Self { checker }
    }

    /// A whole file, whose top level is of this kind.
    pub fn whole(&mut self, kind: Kind, root: Placed) -> Placed {
        let key = Key { name: "", kind, default: Fallback::Absent, doc: "", only: &[] };
        self.given(&key, kind, root, Context::default(), "")
    }

    fn table(&mut self, section: &'static Section, mut given: Table, at: Origin, path: &str) -> Table {
        let kind = given.text("kind").map(str::to_owned);
        let profile = match given.get("profile") {
            Some(node) => node.as_text().map(str::to_owned),
            None => match section.key("profile").map(|key| key.default) {
                Some(Fallback::Text(name)) => Some(name.to_owned()),
                _ => None,
            },
        };
        let context = Context { kind: kind.as_deref(), profile: profile.as_deref() };
        let mut filled = Table { entries: Vec::new(), partial: given.partial };
        for key in section.keys {
            let entry = given.take(key.name);
            if !key.exists_with(context.kind) {
                self.not_applicable(key, entry, context, path);
                continue;
            }
            let written = entry.as_ref().map_or(Origin::Default, |entry| entry.at);
            let node = match entry {
                Some(entry) => Some(self.given(key, key.kind, entry.node, context, &join(path, key.name))),
                None => self.default(key, filled.partial, at, context, path),
            };
            if let Some(node) = node {
                filled.put(key.name, written, node);
            }
        }
        filled
    }

    fn not_applicable(&mut self, key: &Key, entry: Option<KeyValue>, context: Context<'_>, path: &str) {
        // Without a readable kind it cannot be told.
        let (Some(entry), Some(kind)) = (entry, context.kind) else { return };
        // The file does not have this key: it is what a misspelt one may have meant.
        if entry.at == Origin::Default && entry.node.is_broken() {
            return;
        }
        let only = key.only.join("\" or \"");
        let message = format!("`{}` exists only with kind = \"{only}\"; found kind = \"{kind}\"", key.name);
        let help = format!("remove `{}`, or set kind = \"{only}\"", key.name);
        self.checker.report.add(entry.at, Code::NotApplicable, &join(path, key.name), message, help);
    }

    /// Expands a value according to `kind`, the kind of the key or of an item in its list.
    fn given(&mut self, key: &Key, kind: Kind, node: Placed, context: Context<'_>, path: &str) -> Placed {
        let at = node.at;
        match (kind.of_form(&node.value), node.value) {
            (Kind::Table(section), Value::Table(table)) => {
                Placed::new(Value::Table(self.table(section, table, at, path)), at)
            }
            (Kind::Tables(section), Value::List(items)) => {
                let fill = |(index, item): (usize, Placed)| {
                    let path = element_path("", section.name, index, &item);
                    match item.value {
                        Value::Table(table) => {
                            Placed::new(Value::Table(self.table(section, table, item.at, &path)), item.at)
                        }
                        other => Placed::new(other, item.at),
                    }
                };
                Placed::new(Value::List(items.into_iter().enumerate().map(fill).collect()), at)
            }
            (Kind::Map(one), Value::Table(mut table)) => {
                for entry in &mut table.entries {
                    let node = std::mem::replace(&mut entry.node, Placed::broken(at));
                    entry.node = self.given(key, *one, node, context, &join(path, &entry.key));
                }
                Placed::new(Value::Table(table), at)
            }
            (Kind::OneOrMore(one) | Kind::List(one), Value::List(items)) => {
                let fill = |(index, item): (usize, Placed)| {
                    self.given(key, *one, item, context, &join(path, &index.to_string()))
                };
                Placed::new(Value::List(items.into_iter().enumerate().map(fill).collect()), at)
            }
            (Kind::Setting { models, .. }, value) if names_model(&value) => {
                self.choice(key, models, Placed::new(value, at), context, path)
            }
            (Kind::OneOrMore(one), value) => self.given(key, *one, Placed::new(value, at), context, path),
            (Kind::Choice(catalogue), value) => {
                self.choice(key, catalogue, Placed::new(value, at), context, path)
            }
            (_, value) => Placed::new(value, at),
        }
    }

    /// The value of a key that is not given.
    fn default(
        &mut self,
        key: &Key,
        partial: bool,
        at: Origin,
        context: Context<'_>,
        path: &str,
    ) -> Option<Placed> {
        let node = match key.default {
            Fallback::Absent | Fallback::Derived(_) => return None,
            Fallback::Keys => Placed::new(Value::Table(Table::default()), at),
            Fallback::Compulsory => {
                if !partial {
                    let message = format!("`{}` is missing", key.name);
                    let what = match key.kind {
                        Kind::Table(section) => sketch(section),
                        kind => kind.what(),
                    };
                    let help = format!("add `{}` ({}): {what}", key.name, key.doc);
                    self.checker.report.add(at, Code::MissingKey, &join(path, key.name), message, help);
                }
                return Some(Placed::broken(at));
            }
            Fallback::Text(text) => Placed::new(from_default(key.kind, text), at),
            // Without a readable profile or kind: broken, as is what they would have given.
            Fallback::Profile => match (context.profile, context.kind) {
                (Some(profile), Some(kind)) => self.checker.vocabulary.preset(profile, kind, key.name)?,
                _ => return Some(Placed::broken(at)),
            },
        };
        // An algorithm that is not registered is reported at the table that needs it.
        let value = scalar(key.kind, &node.value).unwrap_or(node.value);
        let filled = self.given(key, key.kind, Placed::new(value, at), context, &join(path, key.name));
        Some(Placed::new(filled.value, Origin::Default))
    }

    /// An algorithm with all of its options; the kind may come from the default.
    fn choice(
        &mut self,
        key: &Key,
        catalogue: Catalogue,
        mut node: Placed,
        context: Context<'_>,
        path: &str,
    ) -> Placed {
        let at = node.at;
        if let Some(table) = node.as_table_mut().filter(|table| !table.has("kind")) {
            match self.default_kind(key, catalogue, context) {
                Some(kind) => table.put("kind", Origin::Default, Placed::text(&kind)),
                None if table.partial => return Placed::broken(at),
                None => {
                    let names = self.checker.vocabulary.all(catalogue);
                    let names: Vec<&str> = names.iter().map(|a| a.name).collect();
                    let help = format!("add `kind`: the name of {} ({})", catalogue.one, names.join(", "));
                    let key = join(path, "kind");
                    self.checker.report.add(at, Code::MissingKey, &key, "`kind` is missing".into(), help);
                    return Placed::broken(at);
                }
            }
        }
        self.checker.choice(catalogue, &mut node, path);
        let (name, mut given) = match node.value {
            Value::Text(name) => (name, Table::default()),
            Value::Table(table) => match table.text("kind") {
                Some(kind) => (kind.to_owned(), table),
                None => return Placed::broken(at),
            },
            _ => return Placed::broken(at),
        };
        let Some(algorithm) = self.checker.vocabulary.find(catalogue, &name) else {
            return Placed::broken(at);
        };
        let mut filled = Table::default();
        filled.put("kind", Origin::Default, Placed::text(&name));
        for option in algorithm.options {
            let of_profile =
                || self.checker.vocabulary.preset_option(context.profile?, (key.name, &name), option.name);
            let node =
                match (given.take(option.name).map(|entry| entry.node).or_else(of_profile), option.default) {
                    (Some(node), _) => node,
                    (None, Some(text)) => {
                        let kind = Kind::Scalar(Scalar::Plain(option.kind));
                        let value = from_default(kind, text);
                        Placed::new(scalar(kind, &value).unwrap_or(value), Origin::Default)
                    }
                    (None, None) => {
                        if !given.partial {
                            let message =
                                format!("`{}` is missing: {name} has no default for it", option.name);
                            let what = Kind::Scalar(Scalar::Plain(option.kind)).what();
                            let help =
                                format!("write {{ kind = \"{name}\", {} = ... }}: {what}", option.name);
                            let key = join(path, option.name);
                            self.checker.report.add(at, Code::MissingKey, &key, message, help);
                        }
                        Placed::broken(at)
                    }
                };
            filled.put(option.name, Origin::Default, node);
        }
        Placed::new(Value::Table(filled), at)
    }

    /// The algorithm whose options are meant when only options are given.
    fn default_kind(&self, key: &Key, catalogue: Catalogue, context: Context<'_>) -> Option<String> {
        match key.default {
            // Its default is a plain value.
            _ if matches!(key.kind.one(), Kind::Setting { .. }) => None,
            Fallback::Text(name) if Some(name) != catalogue.none => Some(name.to_owned()),
            Fallback::Profile => {
                let node = self.checker.vocabulary.preset(context.profile?, context.kind?, key.name)?;
                node.as_text().map(str::to_owned)
            }
            _ => None,
        }
    }
}
