//! Tables of named columns: the form in which results leave the Rust side.

use std::borrow::Cow;

use indexmap::IndexSet;

use crate::measured::Measured;
use crate::metric::{Kind, TableSpec};

/// A table; all columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name, as in `flows`.
    pub name: &'static str,
    /// Columns in order.
    pub columns: Vec<Column>,
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|c| c.name == name).map(|c| &c.data)
    }

    /// Empties the columns that `measured` does not have; a table that it does not have keeps no rows.
    ///
    /// # Panics
    /// If one of them holds yes or no, which has no third value.
    pub fn blank(&mut self, spec: &TableSpec, measured: Measured) {
        debug_assert_eq!(self.name, spec.name, "the specification of another table");
        for (column, metric) in self.columns.iter_mut().zip(spec.columns) {
            debug_assert_eq!(column.name, metric.name, "columns in the order of the specification");
            if !measured.has_table(spec) {
                column.data.clear();
            } else if !measured.has(spec, metric) {
                column.data.blank();
            }
        }
    }
}

/// A column. Its name carries the unit, as in `goodput_bit_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: Cow<'static, str>,
    /// Values.
    pub data: Data,
}

/// Values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Counts.
    Integer(Vec<u64>),
    /// Counts; `None` where there is none.
    OptionalInteger(Vec<Option<u64>>),
    /// Measurements; `None` where there is none.
    Real(Vec<Option<f64>>),
    /// Yes or no.
    Flag(Vec<bool>),
    /// Words from a short list: an index into `words` per row, `None` where there is none.
    Word {
        /// The list.
        words: Vec<String>,
        /// By row.
        rows: Vec<Option<u32>>,
    },
}

impl Data {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Integer(v) => v.len(),
            Self::OptionalInteger(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::Flag(v) => v.len(),
            Self::Word { rows, .. } => rows.len(),
        }
    }

    /// The type of the column.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Integer(_) => Kind::Integer,
            Self::OptionalInteger(_) => Kind::OptionalInteger,
            Self::Real(_) => Kind::Real,
            Self::Flag(_) => Kind::Flag,
            Self::Word { .. } => Kind::Word,
        }
    }

    /// No rows.
    fn clear(&mut self) {
        match self {
            Self::Integer(rows) => rows.clear(),
            Self::OptionalInteger(rows) => rows.clear(),
            Self::Real(rows) => rows.clear(),
            Self::Flag(rows) => rows.clear(),
            Self::Word { words, rows } => {
                words.clear();
                rows.clear();
            }
        }
    }

    /// No value in any row.
    fn blank(&mut self) {
        let rows = self.len();
        match self {
            Self::Integer(_) | Self::OptionalInteger(_) => *self = Self::OptionalInteger(vec![None; rows]),
            Self::Real(values) => values.fill(None),
            Self::Word { words, rows } => {
                words.clear();
                rows.fill(None);
            }
            Self::Flag(_) => panic!("a column of yes or no cannot be empty"),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A cell as text; empty where there is no value.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn text(&self, row: usize) -> String {
        match self {
            Self::Integer(v) => v[row].to_string(),
            Self::OptionalInteger(v) => v[row].map_or_else(String::new, |n| n.to_string()),
            Self::Real(v) => v[row].map_or_else(String::new, |x| x.to_string()),
            Self::Flag(v) => v[row].to_string(),
            Self::Word { words, rows } => rows[row].map_or_else(String::new, |w| words[w as usize].clone()),
        }
    }

    /// A column of words.
    pub fn words<'a>(rows: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut words = Words::default();
        rows.into_iter().for_each(|row| words.push(row));
        words.finish()
    }
}

/// A column of words in the making: each word is stored once.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Each word once, in the order of first use: indices do not depend on the hash.
    words: IndexSet<String>,
    /// The word of the last row that has one: rows with the same word mostly follow each other.
    last: u32,
    rows: Vec<Option<u32>>,
}

impl Words {
    /// Without a row, and with room for as many as this.
    pub fn with_capacity(rows: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), ..Self::default() }
    }

    /// The next row.
    pub fn push(&mut self, word: Option<&str>) {
        let index = word.map(|word| self.index(word));
        self.rows.push(index);
    }

    /// Rows without a word, until there are as many as this.
    pub fn pad(&mut self, rows: usize) {
        self.fill(None, rows);
    }

    /// Rows with this word, or without one, until there are as many as this.
    pub fn fill(&mut self, word: Option<&str>, rows: usize) {
        if rows > self.rows.len() {
            let index = word.map(|word| self.index(word));
            self.rows.resize(rows, index);
        }
    }

    /// The column.
    pub fn finish(self) -> Data {
        Data::Word { words: self.words.into_iter().collect(), rows: self.rows }
    }

    fn index(&mut self, word: &str) -> u32 {
        if self.words.get_index(self.last as usize).is_none_or(|last| last != word) {
            let known = self.words.get_index_of(word);
            self.last = known.unwrap_or_else(|| self.words.insert_full(word.to_owned()).0) as u32;
        }
        self.last
    }
}

/// A table in the making, column by column in the order of its specification.
#[derive(Debug)]
pub struct TableBuilder {
    spec: &'static TableSpec,
    rows: usize,
    columns: Vec<Column>,
}

impl TableBuilder {
    /// A table without columns; each column must have `rows` rows.
    pub fn new(spec: &'static TableSpec, rows: usize) -> Self {
        Self { spec, rows, columns: Vec::with_capacity(spec.columns.len()) }
    }

    /// The next column.
    ///
    /// # Panics
    /// If the specification has another column there, or one of another type, or if the number of rows differs.
    pub fn push(&mut self, name: &str, data: Data) {
        let place = self.columns.len();
        let table = self.spec.name;
        let spec = self.spec.columns.get(place).unwrap_or_else(|| panic!("{table}.{name} is not specified"));
        assert_eq!(
            (spec.name, spec.kind),
            (name, data.kind()),
            "{table} has another column in place {place}"
        );
        assert_eq!(data.len(), self.rows, "{table}.{name}: rows");
        self.columns.push(Column { name: spec.name.into(), data });
    }

    /// The next column, whichever it is.
    ///
    /// # Panics
    /// If there is none, or as [`Self::push`].
    pub fn push_next(&mut self, data: Data) {
        let next = self.spec.columns.get(self.columns.len());
        self.push(next.map_or("another column", |column| column.name), data);
    }

    /// The table.
    ///
    /// # Panics
    /// If a column is missing.
    pub fn finish(self) -> Table {
        let missing = self.spec.columns.get(self.columns.len()).map(|column| column.name);
        assert_eq!(missing, None, "a column of {} is missing", self.spec.name);
        Table { name: self.spec.name, columns: self.columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MeasuredTable;
    use crate::metrics::RUNS;

    #[test]
    fn words_are_stored_once() {
        let column = Data::words([Some("a"), Some("a"), None, Some("a"), Some("b"), Some("a")]);
        let Data::Word { words, rows } = column else { panic!() };
        assert_eq!(words, ["a", "b"]);
        assert_eq!(rows, [Some(0), Some(0), None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn rows_without_a_word_are_filled_in() {
        let mut words = Words::default();
        words.pad(2);
        words.push(Some("a"));
        words.pad(1);
        words.pad(4);
        words.fill(Some("b"), 4);
        words.fill(Some("c"), 6);
        let filled = [None, None, Some("a"), None, Some("c"), Some("c")];
        assert_eq!(words.finish(), Data::words(filled));
    }

    #[test]
    fn cells_by_name_and_row() {
        let real = Column { name: "delay_s".into(), data: Data::Real(vec![Some(0.25), None]) };
        let word = Column { name: "flow".into(), data: Data::words([Some("a"), None]) };
        let table = Table { name: "flows", columns: vec![real, word] };
        let texts = |name| table.column(name).map(|d| [d.text(0), d.text(1)]);
        assert_eq!(texts("delay_s"), Some(["0.25".into(), String::new()]));
        assert_eq!(texts("flow"), Some(["a".into(), String::new()]));
        assert_eq!(texts("none"), None);
    }

    #[test]
    fn columns_that_are_not_measured_are_empty() {
        let mut builder = TableBuilder::new(&RUNS, 2);
        builder.push("run", Data::Integer(vec![1, 2]));
        builder.push("events", Data::Integer(vec![0, 0]));
        builder.push("packet_hops", Data::Integer(vec![7, 8]));
        builder.push("end_s", Data::Real(vec![Some(1.0), Some(1.0)]));
        let mut table = builder.finish();
        table.blank(&RUNS, Measured::only(&[MeasuredTable { table: "runs", columns: &["packet_hops"] }]));
        assert_eq!(table.column("run"), Some(&Data::Integer(vec![1, 2])));
        assert_eq!(table.column("events"), Some(&Data::OptionalInteger(vec![None, None])));
        assert_eq!(table.column("packet_hops"), Some(&Data::Integer(vec![7, 8])));
        assert_eq!(table.column("end_s"), Some(&Data::Real(vec![None, None])));
    }
}
