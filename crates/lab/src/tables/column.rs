//! Columns from rows: one line per column of a table.

use trace::{Data, LIMITS, Sending, Table, TableBuilder, TableSpec};

/// A table in the making over rows of one type.
pub(super) struct Columns<'r, T> {
    builder: TableBuilder,
    rows: &'r [T],
}

impl<'r, T> Columns<'r, T> {
    /// The table that `spec` describes, one row per element of `rows`.
    pub(super) fn new(spec: &'static TableSpec, rows: &'r [T]) -> Self {
        Self { builder: TableBuilder::new(spec, rows.len()), rows }
    }

    pub(super) fn integer(self, name: &str, value: impl Fn(&'r T) -> u64) -> Self {
        let data = Data::Integer(self.rows.iter().map(value).collect());
        self.column(name, data)
    }

    pub(super) fn optional(self, name: &str, value: impl Fn(&'r T) -> Option<u64>) -> Self {
        let data = Data::OptionalInteger(self.rows.iter().map(value).collect());
        self.column(name, data)
    }

    /// The columns of the end that sends, alike in the tables of subflows and of legs.
    pub(super) fn sending(self, of: impl Fn(&'r T) -> &'r Sending) -> Self {
        self.integer("bytes_sent", |r| of(r).bytes.0)
            .integer("wire_bytes", |r| of(r).wire.0)
            .integer("segments_sent", |r| of(r).segments)
            .integer("retransmitted_segments", |r| of(r).retransmitted)
            .integer("timeouts", |r| of(r).timeouts)
            .integer("fast_recoveries", |r| of(r).fast_recoveries)
    }

    pub(super) fn real(self, name: &str, value: impl Fn(&'r T) -> Option<f64>) -> Self {
        let data = Data::Real(self.rows.iter().map(value).collect());
        self.column(name, data)
    }

    /// The columns of time by limit, in the order of [`LIMITS`].
    pub(super) fn limits(mut self, value: impl Fn(&'r T, usize) -> Option<f64>) -> Self {
        for limit in 0..LIMITS.len() {
            let data = Data::Real(self.rows.iter().map(|row| value(row, limit)).collect());
            self.builder.push_next(data);
        }
        self
    }

    pub(super) fn flag(self, name: &str, value: impl Fn(&'r T) -> bool) -> Self {
        let data = Data::Flag(self.rows.iter().map(value).collect());
        self.column(name, data)
    }

    pub(super) fn word(self, name: &str, value: impl Fn(&'r T) -> Option<&'r str>) -> Self {
        let data = Data::words(self.rows.iter().map(value));
        self.column(name, data)
    }

    pub(super) fn finish(self) -> Table {
        self.builder.finish()
    }

    fn column(mut self, name: &str, data: Data) -> Self {
        self.builder.push(name, data);
        self
    }
}
