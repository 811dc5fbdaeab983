//! Columns from rows: one line per column of a table.

use trace::{Column, Data};

pub(super) fn integer<T>(name: &'static str, rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column { name, data: Data::Integer(rows.iter().map(value).collect()) }
}

pub(super) fn real<T>(name: &'static str, rows: &[T], value: impl Fn(&T) -> Option<f64>) -> Column {
    Column { name, data: Data::Real(rows.iter().map(value).collect()) }
}

pub(super) fn flag<T>(name: &'static str, rows: &[T], value: impl Fn(&T) -> bool) -> Column {
    Column { name, data: Data::Flag(rows.iter().map(value).collect()) }
}

pub(super) fn word<'a, T>(
    name: &'static str,
    rows: &'a [T],
    value: impl Fn(&'a T) -> Option<&'a str>,
) -> Column {
    Column { name, data: Data::words(rows.iter().map(value)) }
}
