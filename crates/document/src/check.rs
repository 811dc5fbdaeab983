//! Checks each table and value as it was written, before anything is inherited: unknown keys, types, bounds. A mistake
//! is reported once and its place marked as broken, so that later steps do not report it again.

use crate::diagnostic::{Code, Report, nearest, suggest};
use crate::files::Files;
use crate::keys::UNLIMITED;
use crate::keys::{Kind, Scalar, Section};
use crate::scalar::{Fault, scalar, wrong_type};
use crate::tree::{KeyValue, Origin, Placed, Table, Value};
use crate::vocabulary::{Catalogue, Vocabulary};
use crate::work;
use registry::OptionKind;

/// Checks values against the key tables.
pub struct Checker<'r, 's, 'a> {
    /// Algorithms that keys name.
    pub vocabulary: &'r dyn Vocabulary,
    /// Files that keys name.
    pub files: &'r Files,
    /// Takes the mistakes.
    pub report: &'s mut Report<'a>,
}

/// `parent.key`.
pub fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.into() } else { format!("{parent}.{key}") }
}

/// `section.NAME`, or the position where there is no name.
pub fn element_path(parent: &str, list: &str, index: usize, node: &Placed) -> String {
    let name = node.as_table().and_then(|t| t.text("name"));
    join(parent, &format!("{list}.{}", name.map_or_else(|| index.to_string(), str::to_owned)))
}

impl Checker<'_, '_, '_> {
    /// All keys of a table.
    pub fn table(&mut self, section: &'static Section, table: &mut Table, path: &str) {
        // Removing unknown keys one by one would take time that grows with the square of their number.
        work::add(table.entries.len());
        let known = |entry: &KeyValue| section.key(&entry.key).is_some();
        let (entries, unknown): (Vec<_>, Vec<_>) =
            std::mem::take(&mut table.entries).into_iter().partition(known);
        table.entries = entries;
        let names: Vec<String> = table.entries.iter().map(|e| e.key.clone()).collect();
        for entry in unknown {
            self.unknown(section, table, entry, path);
        }
        let readable =
            |node: &&Placed| section.key("kind").is_some_and(|key| scalar(key.kind, &node.value).is_ok());
        let kind = table.get("kind").filter(readable).and_then(Placed::as_text).map(str::to_owned);
        for name in names {
            match section.key(&name) {
                None => {}
                // A key that does not apply is reported as such, whatever its value.
                Some(key) if kind.is_some() && !key.exists_with(kind.as_deref()) => {}
                Some(key) => {
                    if let Some(node) = table.get_mut(&name) {
                        self.value(key.kind, node, &join(path, &name));
                    }
                }
            }
        }
    }

    /// A value of any kind.
    pub fn value(&mut self, kind: Kind, node: &mut Placed, path: &str) {
        if node.is_broken() {
            return;
        }
        let kind = kind.of_form(&node.value);
        match (kind, &mut node.value) {
            (Kind::Map(one), Value::Table(table)) => {
                for entry in &mut table.entries {
                    self.value(*one, &mut entry.node, &join(path, &entry.key));
                }
                return;
            }
            (Kind::List(one), Value::List(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(*one, item, &join(path, &index.to_string()));
                }
                return;
            }
            (Kind::Table(section), Value::Table(table)) => return self.table(section, table, path),
            (Kind::Tables(section), Value::List(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let (parent, list) = path.rsplit_once('.').unwrap_or(("", path));
                    let path = element_path(parent, list, index, item);
                    self.value(Kind::Table(section), item, &path);
                }
                return;
            }
            (Kind::OneOrMore(one), Value::List(items)) if !items.is_empty() => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(*one, item, &join(path, &index.to_string()));
                }
                return;
            }
            (Kind::OneOrMore(_), Value::List(_)) => {}
            (Kind::OneOrMore(one), _) => return self.value(*one, node, path),
            (Kind::Choice(catalogue), _) => return self.choice(catalogue, node, path),
            (Kind::Setting { models, .. }, value) if names_model(value) => {
                return self.choice(models, node, path);
            }
            (Kind::Setting { plain, .. }, Value::Text(_)) => return self.value(*plain, node, path),
            _ => {}
        }
        match scalar(kind, &node.value) {
            Ok(value) => node.value = value,
            Err(fault) => return self.fault(node, path, fault),
        }
        if let (Kind::Scalar(Scalar::Plain(OptionKind::File(format))), Some(file)) = (kind, node.as_text())
            && let Err(fault) = self.files.load(file, format)
        {
            self.fault(node, path, fault);
        }
    }

    fn fault(&mut self, node: &mut Placed, path: &str, fault: Fault) {
        // A bad name is still what the rest of the file refers to.
        let usable = fault.code == Code::BadName;
        self.report.add(node.at, fault.code, path, fault.message, fault.help);
        if !usable {
            node.value = Value::Broken;
        }
    }

    /// An algorithm by bare name or as a table. Without `kind` its options are checked once the kind is known.
    pub fn choice(&mut self, catalogue: Catalogue, node: &mut Placed, path: &str) {
        match &mut node.value {
            Value::Broken => {}
            Value::Text(name) => {
                if let Err(fault) = self.known(catalogue, name) {
                    let help = self.as_option(catalogue, &node.value).unwrap_or(fault.help);
                    self.fault(node, path, Fault { help, ..fault });
                }
            }
            Value::Table(table) => {
                let Some(kind) = table.get_mut("kind") else { return };
                let fault = match &kind.value {
                    Value::Text(name) => self.known(catalogue, name).err(),
                    Value::Broken => return,
                    other => Some(wrong_type(Kind::Scalar(Scalar::Reference(catalogue.one)), other)),
                };
                if let Some(fault) = fault {
                    return self.fault(kind, &join(path, "kind"), fault);
                }
                self.options(catalogue, table, path);
            }
            other => {
                let fault = wrong_type(Kind::Choice(catalogue), other);
                let help = self.as_option(catalogue, other).unwrap_or(fault.help);
                self.fault(node, path, Fault { help, ..fault });
            }
        }
    }

    /// The cure for a bare value in the place of an algorithm of which only such a value must be told: `loss = 0.01`.
    fn as_option(&self, catalogue: Catalogue, value: &Value) -> Option<String> {
        let written = match value {
            Value::Text(_) if names_model(value) => return None,
            Value::Text(text) => format!("\"{text}\""),
            other => other.bare()?,
        };
        self.vocabulary.all(catalogue).iter().find_map(|algorithm| {
            let mut compulsory = algorithm.options.iter().filter(|option| option.default.is_none());
            let (option, None) = (compulsory.next()?, compulsory.next()) else { return None };
            scalar(Kind::Scalar(Scalar::Plain(option.kind)), value).ok()?;
            Some(format!("write {{ kind = \"{}\", {} = {written} }}", algorithm.name, option.name))
        })
    }

    fn known(&self, catalogue: Catalogue, name: &str) -> Result<(), Fault> {
        if self.vocabulary.find(catalogue, name).is_some() {
            return Ok(());
        }
        let all = self.vocabulary.all(catalogue);
        let help = suggest(name, "known", all.iter().map(|a| a.name));
        let message = format!("found \"{name}\", which is not {}", catalogue.one);
        Err(Fault { code: Code::UnknownWord, message, help })
    }

    /// The options of a table whose kind is known.
    fn options(&mut self, catalogue: Catalogue, table: &mut Table, path: &str) {
        let Some(algorithm) = table.text("kind").and_then(|kind| self.vocabulary.find(catalogue, kind))
        else {
            return;
        };
        for entry in &mut table.entries {
            let path = join(path, &entry.key);
            if entry.key == "kind" {
                continue;
            }
            match algorithm.options.iter().find(|option| option.name == entry.key) {
                Some(option) => self.value(Kind::Scalar(Scalar::Plain(option.kind)), &mut entry.node, &path),
                None => {
                    let names = algorithm.options.iter().map(|option| option.name);
                    let message = format!("`{}` is not an option of {}", entry.key, algorithm.name);
                    let what = format!("options of {}", algorithm.name);
                    let help = suggest(&entry.key, &what, names);
                    self.report.add(entry.at, Code::UnknownKey, &path, message, help);
                    entry.node.value = Value::Broken;
                }
            }
        }
        misspelt(table, algorithm.options.iter().map(|option| option.name));
    }

    /// A key of the file that the section does not have. `table` is without it.
    fn unknown(&mut self, section: &'static Section, table: &mut Table, entry: KeyValue, path: &str) {
        let name = entry.key.as_str();
        if self.report.is_full() {
            self.report.add(entry.at, Code::UnknownKey, "", String::new(), String::new());
            table.partial = true;
            return;
        }
        let inner = section.keys.iter().find_map(|key| match key.kind.one() {
            Kind::Table(inner) if inner.key(name).is_some() => Some(key.name),
            _ => None,
        });
        let what = format!("keys of {}", section.what);
        let help = match inner {
            Some(inner) => format!("`{name}` belongs in `{inner}`: write `{inner} = {{ {name} = ... }}`"),
            None => suggest(name, &what, section.names()),
        };
        let message = format!("`{name}` is not a key of {}", section.what);
        self.report.add(entry.at, Code::UnknownKey, &join(path, name), message, help);
        table.partial |= inner.is_some();
        let Some(meant) = inner.or_else(|| nearest(name, section.names())).and_then(|n| section.key(n))
        else {
            return;
        };
        // The misspelt key is not missing, and what it declares may be referred to.
        let broken = Placed::broken(entry.at);
        match (meant.kind, table.get_mut(meant.name)) {
            (Kind::Tables(_), Some(Placed { value: Value::List(items), .. })) => items.push(broken),
            (_, Some(_)) => {}
            (_, None) => table.put(meant.name, Origin::Default, broken),
        }
    }
}

/// True for a table and for a word: quantities begin with a digit or a sign.
pub fn names_model(value: &Value) -> bool {
    match value {
        Value::Table(_) => true,
        Value::Text(text) => text.starts_with(|c: char| c.is_ascii_alphabetic()) && text != UNLIMITED,
        _ => false,
    }
}

/// Marks what unknown options were probably meant to be.
fn misspelt(table: &mut Table, names: impl Iterator<Item = &'static str> + Clone) {
    let unknown: Vec<&'static str> = table
        .entries
        .iter()
        .filter(|entry| entry.key != "kind" && !names.clone().any(|name| name == entry.key))
        .filter_map(|entry| nearest(&entry.key, names.clone()))
        .collect();
    table.entries.retain(|entry| entry.key == "kind" || names.clone().any(|name| name == entry.key));
    for name in unknown {
        if !table.has(name) {
            table.put(name, Origin::Default, Placed::broken(Origin::Default));
        }
    }
}
