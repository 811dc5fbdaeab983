//! A file as a tree in which every key and value remembers where it was written.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::work;

/// Characters of a text that are quoted in a message.
const LONGEST: usize = 100;

/// Where a key or a value comes from. Offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The file.
    File {
        /// First byte.
        start: usize,
        /// Behind the last byte.
        end: usize,
    },
    /// An override; offsets within its `KEY=VALUE` text.
    Set {
        /// Position among the overrides.
        index: usize,
        /// First byte.
        start: usize,
        /// Behind the last byte.
        end: usize,
    },
    /// A default, or a value of a profile.
    Default,
}

impl Origin {
    /// Overrides beat the file, later ones beat earlier ones.
    pub fn layer(self) -> usize {
        match self {
            Self::Set { index, .. } => index + 1,
            Self::File { .. } | Self::Default => 0,
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub at: Origin,
}

/// A value in a file.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// True or false.
    Flag(bool),
    /// An array.
    List(Vec<Placed>),
    /// A table.
    Table(Table),
    /// A date, a time, an integer beyond 64 bits: nothing that a key can hold. Holds the name of its type.
    Foreign(&'static str),
    /// Its mistake is already reported; everything that depends on it keeps silent.
    Broken,
}

/// Keys in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// All entries.
    pub entries: Vec<KeyValue>,
    /// Something that may have held keys is already reported: no key is missing here.
    pub partial: bool,
}

/// One key with its value.
#[derive(Clone, Debug)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub at: Origin,
    /// Its value.
    pub node: Placed,
}

impl Placed {
    /// A value at a place.
    pub fn new(value: Value, at: Origin) -> Self {
        Self { value, at }
    }

    /// How many values it has, itself included.
    pub fn count(&self) -> usize {
        let inner = match &self.value {
            Value::List(items) => items.iter().map(Self::count).sum(),
            Value::Table(table) => table.entries.iter().map(|entry| entry.node.count()).sum(),
            _ => 0,
        };
        1 + inner
    }

    /// A text that is a default.
    pub fn text(text: &str) -> Self {
        Self::new(Value::Text(text.into()), Origin::Default)
    }

    /// Placeholder of a value that is reported already.
    pub fn broken(at: Origin) -> Self {
        Self::new(Value::Broken, at)
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Elements of a list, nothing for anything else.
    pub fn items(&self) -> &[Placed] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Elements of a list; itself if it is none.
    pub fn one_or_more(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// True if its mistake is already reported.
    pub fn is_broken(&self) -> bool {
        matches!(self.value, Value::Broken)
    }

    /// From the parser's tree. `bad` are the places of syntax errors, rising: what lies there is reported already.
    pub fn from_toml(value: &Spanned<DeValue<'_>>, bad: &[usize]) -> Self {
        let span = value.span();
        let at = Origin::File { start: span.start, end: span.end };
        // `bad` rises, and can be as long as the file has values.
        let hit = || {
            let next = bad.partition_point(|offset| *offset < span.start);
            bad.get(next).is_some_and(|offset| *offset < span.end.max(span.start + 1))
        };
        let value = match value.get_ref() {
            DeValue::Array(items) => Value::List(items.iter().map(|v| Self::from_toml(v, bad)).collect()),
            DeValue::Table(table) => Value::Table(Table::from_toml(table, bad)),
            _ if hit() => Value::Broken,
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
                .map_or(Value::Foreign("integer beyond 64 bits"), Value::Integer),
            DeValue::Float(x) => x.as_str().parse().map_or(Value::Foreign("number"), Value::Float),
            DeValue::Datetime(_) => Value::Foreign("date or time"),
        };
        Self { value, at }
    }

    /// From a value of an override, which begins at `offset` of its text.
    pub fn from_override(value: &Spanned<DeValue<'_>>, index: usize, offset: usize) -> Self {
        let mut node = Self::from_toml(value, &[]);
        node.relocate(index, offset);
        node
    }

    fn shift(&mut self, by: usize) {
        self.at.shift(by);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.shift(by)),
            Value::Table(table) => table.shift(by),
            _ => {}
        }
    }

    fn relocate(&mut self, index: usize, offset: usize) {
        self.at.relocate(index, offset);
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.relocate(index, offset)),
            Value::Table(table) => {
                for entry in &mut table.entries {
                    entry.at.relocate(index, offset);
                    entry.node.relocate(index, offset);
                }
            }
            _ => {}
        }
    }
}

impl Origin {
    fn shift(&mut self, by: usize) {
        if let Self::File { start, end } = *self {
            *self = Self::File { start: start + by, end: end + by };
        }
    }

    fn relocate(&mut self, index: usize, offset: usize) {
        if let Self::File { start, end } = *self {
            *self = Self::Set { index, start: start + offset, end: end + offset };
        }
    }
}

impl Value {
    /// Its description, for "found ...".
    pub fn found(&self) -> String {
        match self {
            Self::Text(text) if text.chars().count() > LONGEST => {
                format!("the text \"{}...\"", text.chars().take(LONGEST).collect::<String>())
            }
            Self::Text(text) => format!("the text \"{text}\""),
            Self::Integer(n) => format!("the number {n}"),
            Self::Float(x) => format!("the number {x}"),
            Self::Flag(flag) => flag.to_string(),
            Self::List(_) => "a list".into(),
            Self::Table(_) => "a table".into(),
            Self::Foreign(what) if what.starts_with('i') => format!("an {what}"),
            Self::Foreign(what) => format!("a {what}"),
            Self::Broken => "something unreadable".into(),
        }
    }

    /// The text form of a scalar: what stands between the quotes, or the bare number or flag.
    pub fn bare(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(n) => Some(n.to_string()),
            Self::Float(x) => Some(format!("{x:?}")),
            Self::Flag(flag) => Some(flag.to_string()),
            _ => None,
        }
    }
}

impl Table {
    /// In the order of the file.
    pub fn from_toml(table: &DeTable<'_>, bad: &[usize]) -> Self {
        let mut entries: Vec<KeyValue> = table
            .iter()
            .map(|(key, value)| {
                let span = key.span();
                let at = Origin::File { start: span.start, end: span.end };
                KeyValue { key: key.get_ref().to_string(), at, node: Placed::from_toml(value, bad) }
            })
            .collect();
        entries.sort_by_key(|entry| match entry.at {
            Origin::File { start, .. } => start,
            _ => 0,
        });
        Self { entries, partial: false }
    }

    /// Adds `by` to all offsets: the tree of a text that a report includes.
    pub fn shift(&mut self, by: usize) {
        for entry in &mut self.entries {
            entry.at.shift(by);
            entry.node.shift(by);
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        let index = self.entries.iter().position(|entry| entry.key == key);
        work::add(index.unwrap_or(self.entries.len()));
        index
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Placed> {
        self.position(key).map(|index| &self.entries[index].node)
    }

    /// The value of `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Placed> {
        self.position(key).map(|index| &mut self.entries[index].node)
    }

    /// True if it has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets or replaces, in place.
    pub fn put(&mut self, key: &str, at: Origin, node: Placed) {
        match self.position(key) {
            Some(index) => self.entries[index] = KeyValue { key: key.into(), at, node },
            None => self.entries.push(KeyValue { key: key.into(), at, node }),
        }
    }

    /// Removes `key`.
    pub fn take(&mut self, key: &str) -> Option<KeyValue> {
        let index = self.position(key)?;
        work::add(self.entries.len() - index);
        Some(self.entries.remove(index))
    }

    /// Where the user wrote `key`; `None` if its value is a default.
    pub fn written(&self, key: &str) -> Option<Origin> {
        self.get(key).map(|node| node.at).filter(|at| *at != Origin::Default)
    }

    /// The value of `key`, if that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Placed::as_text)
    }

    /// The value of `key`, if that is a whole number.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.get(key)?.value {
            Value::Integer(n) => Some(n),
            _ => None,
        }
    }

    /// The value of `key`, if that is true or false.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// The value of `key`, if that is a table.
    pub fn table(&self, key: &str) -> Option<&Table> {
        self.get(key).and_then(Placed::as_table)
    }

    /// The elements of a list; none if `key` holds anything else.
    pub fn list(&self, key: &str) -> &[Placed] {
        self.get(key).map_or(&[], Placed::items)
    }

    /// The tables of an array of tables.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = (&Placed, &Table)> {
        self.list(key).iter().filter_map(|node| node.as_table().map(|table| (node, table)))
    }

    /// A checked text as what it stands for.
    pub fn parse<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }
}
