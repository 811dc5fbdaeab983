//! Rows of a table: the columns of a run in their order, then those that only a reading has.
//!
//! Values go into their columns at once: a capture of many connections has as many rows as packets.

use trace::{Column, Data, Kind, Table, TableSpec, Words};

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Word(&'a str),
    Count(u64),
    Real(f64),
    Flag(bool),
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Word(value)
    }
}

/// A column that tables of runs lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own(pub(crate) &'static str, pub(crate) Kind);

/// A column in the making. It ends with its last value: rows behind that are filled in when another value comes.
#[derive(Debug)]
enum Cells {
    Count(Vec<Option<u64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<bool>),
    Word(Words),
}

impl Cells {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Integer | Kind::OptionalInteger => Self::Count(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Flag => Self::Flag(Vec::new()),
            Kind::Word => Self::Word(Words::default()),
        }
    }

    /// Rows without a value, until there are `rows`.
    fn pad(&mut self, rows: usize) {
        match self {
            Self::Count(cells) => cells.resize(rows.max(cells.len()), None),
            Self::Real(cells) => cells.resize(rows.max(cells.len()), None),
            Self::Flag(cells) => cells.resize(rows.max(cells.len()), false),
            Self::Word(cells) => cells.pad(rows),
        }
    }

    fn finish(mut self, rows: usize) -> Data {
        self.pad(rows);
        match self {
            Self::Count(cells) => Data::OptionalInteger(cells),
            Self::Real(cells) => Data::Real(cells),
            Self::Flag(cells) => Data::Flag(cells),
            Self::Word(cells) => cells.finish(),
        }
    }
}

/// A table in the making, row by row.
#[derive(Debug)]
pub(crate) struct Sheet {
    table: &'static str,
    columns: Vec<(&'static str, Cells)>,
    rows: usize,
}

impl Sheet {
    /// A table without rows.
    pub(crate) fn new(spec: &TableSpec, own: &[Own]) -> Self {
        let columns = spec.columns.iter().map(|metric| (metric.name, metric.kind));
        let columns = columns.chain(own.iter().map(|Own(name, kind)| (*name, *kind)));
        let columns = columns.map(|(name, kind)| (name, Cells::new(kind))).collect();
        Self { table: spec.name, columns, rows: 0 }
    }

    /// The next row, without a value.
    pub(crate) fn row(&mut self) -> Row<'_> {
        self.rows += 1;
        Row { sheet: self, next: 0 }
    }

    /// The table.
    pub(crate) fn finish(self) -> Table {
        let rows = self.rows;
        let columns = self.columns.into_iter();
        let columns: Vec<Column> =
            columns.map(|(name, cells)| Column { name: name.into(), data: cells.finish(rows) }).collect();
        debug_assert!(
            columns.iter().all(|column| column.data.len() == rows),
            "{} has a value twice in a row",
            self.table
        );
        Table { name: self.table, columns }
    }
}

/// The last row of a table; values that are not put are empty.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    sheet: &'a mut Sheet,
    /// The column behind that of the last value: values mostly come in the order of columns.
    next: usize,
}

impl Row<'_> {
    /// Puts a value that is known.
    ///
    /// # Panics
    /// If the table has no such column, or one of another type; debug builds also if the row has the value, at the end.
    pub(crate) fn put<'v>(&mut self, name: &'static str, value: impl Into<Value<'v>>) {
        let Sheet { table, columns, rows } = &mut *self.sheet;
        let (before, behind) = columns.split_at(self.next);
        let is = |column: &(&'static str, Cells)| column.0 == name;
        let place = behind.iter().position(is).map(|place| place + self.next);
        let place = place.or_else(|| before.iter().position(is));
        let place = place.unwrap_or_else(|| panic!("{table} has no column {name}"));
        self.next = place + 1;
        let cells = &mut columns[place].1;
        cells.pad(*rows - 1);
        match (cells, value.into()) {
            (Cells::Count(cells), Value::Count(value)) => cells.push(Some(value)),
            (Cells::Real(cells), Value::Real(value)) => cells.push(Some(value)),
            (Cells::Flag(cells), Value::Flag(value)) => cells.push(value),
            (Cells::Word(cells), Value::Word(value)) => cells.push(Some(value)),
            (_, value) => panic!("{table}.{name} has another type than {value:?}"),
        }
    }

    /// Puts a value if it is known.
    pub(crate) fn maybe<'v>(&mut self, name: &'static str, value: Option<impl Into<Value<'v>>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use trace::metrics::RUNS;

    use super::*;

    #[test]
    fn values_that_are_not_put_are_empty() {
        let own = [Own("side", Kind::Word), Own("reset", Kind::Flag)];
        let mut sheet = Sheet::new(&RUNS, &own);
        sheet.row().put("end_s", 0.5);
        sheet.row();
        let mut row = sheet.row();
        // Not in the order of the columns.
        row.put("reset", true);
        row.put("side", "client");
        row.maybe("run", Some(7));
        row.maybe("end_s", None::<f64>);
        sheet.row();
        let table = sheet.finish();
        assert_eq!(table.column("run"), Some(&Data::OptionalInteger(vec![None, None, Some(7), None])));
        assert_eq!(table.column("end_s"), Some(&Data::Real(vec![Some(0.5), None, None, None])));
        assert_eq!(table.column("reset"), Some(&Data::Flag(vec![false, false, true, false])));
        assert_eq!(table.column("side"), Some(&Data::words([None, None, Some("client"), None])));
        assert!(table.columns.iter().all(|column| column.data.len() == 4));
    }
}
