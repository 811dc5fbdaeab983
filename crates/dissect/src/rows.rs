//! Rows of a table: the columns of a run in their order, then those that only a reading has.

use std::collections::BTreeMap;

use trace::{Column, Data, Kind, Table, TableSpec};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Word(String),
    Count(u64),
    Real(f64),
    Flag(bool),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Word(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Word(value.into())
    }
}

/// One row; all other values are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row(BTreeMap<&'static str, Value>);

impl Row {
    /// Puts a value that is known.
    pub(crate) fn put(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.insert(name, value.into());
    }

    /// Puts a value if it is known.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

/// A column that tables of runs lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own(pub(crate) &'static str, pub(crate) Kind);

/// The table of these rows.
pub(crate) fn table(spec: &'static TableSpec, own: &[Own], rows: &[Row]) -> Table {
    let columns = spec.columns.iter().map(|metric| (metric.name, metric.kind));
    let columns = columns.chain(own.iter().map(|Own(name, kind)| (*name, *kind)));
    let columns: Vec<Column> =
        columns.map(|(name, kind)| Column { name: name.into(), data: data(name, kind, rows) }).collect();
    debug_assert!(
        rows.iter()
            .flat_map(|row| row.0.keys())
            .all(|name| columns.iter().any(|column| column.name == *name)),
        "each value has a column in {}",
        spec.name
    );
    Table { name: spec.name, columns }
}

fn data(name: &str, kind: Kind, rows: &[Row]) -> Data {
    let values = rows.iter().map(|row| row.0.get(name));
    match kind {
        Kind::Integer | Kind::OptionalInteger => {
            let count = |value: Option<&Value>| {
                if let Some(Value::Count(count)) = value { Some(*count) } else { None }
            };
            Data::OptionalInteger(values.map(count).collect())
        }
        Kind::Real => {
            let real =
                |value: Option<&Value>| if let Some(Value::Real(real)) = value { Some(*real) } else { None };
            Data::Real(values.map(real).collect())
        }
        Kind::Flag => Data::Flag(values.map(|value| value == Some(&Value::Flag(true))).collect()),
        Kind::Word => {
            let word = |value: Option<&'_ Value>| {
                if let Some(Value::Word(word)) = value { Some(word.clone()) } else { None }
            };
            let words: Vec<Option<String>> = values.map(word).collect();
            Data::words(words.iter().map(|word| word.as_deref()))
        }
    }
}
