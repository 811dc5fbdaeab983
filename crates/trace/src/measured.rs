//! Which columns of the tables a back end fills.

use crate::metric::{MetricSpec, TableSpec};
use crate::metrics::TABLES;

/// The measurements that a back end makes. All other columns are empty in its tables: a figure that was not measured is
/// missing, never 0. Columns that say which row this is are always filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured(Option<&'static [MeasuredTable]>);

/// A table of which a back end fills only some columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredTable {
    /// Name of the table.
    pub table: &'static str,
    /// Measurements that are filled.
    pub columns: &'static [&'static str],
}

impl Measured {
    /// Everything that is specified.
    pub const ALL: Self = Self(None);

    /// Only these tables, and of them only these columns. Tables that are not named have no rows.
    pub const fn only(tables: &'static [MeasuredTable]) -> Self {
        Self(Some(tables))
    }

    /// Whether the table has rows.
    pub fn has_table(&self, table: &TableSpec) -> bool {
        self.0.is_none_or(|tables| tables.iter().any(|measured| measured.table == table.name))
    }

    /// Whether a column of a table is filled.
    pub fn has(&self, table: &TableSpec, column: &MetricSpec) -> bool {
        let named = |measured: &MeasuredTable| {
            measured.table == table.name && (column.key || measured.columns.contains(&column.name))
        };
        self.0.is_none_or(|tables| tables.iter().any(named))
    }

    /// Names of tables and columns that are not specified, which a test of each back end wants to be none.
    pub fn unspecified(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        for measured in self.0.unwrap_or_default() {
            let spec = TABLES.iter().find(|spec| spec.name == measured.table);
            let known = |name: &str| spec.is_some_and(|spec| spec.column(name).is_some_and(|c| !c.key));
            let columns = measured.columns.iter().filter(|name| !known(name));
            unknown.extend(columns.map(|name| format!("{}.{name}", measured.table)));
            if spec.is_none() {
                unknown.push(measured.table.into());
            }
        }
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{FLOWS, RUNS};

    const SOME: Measured = Measured::only(&[MeasuredTable { table: "flows", columns: &["delivered_bytes"] }]);

    #[test]
    fn keys_are_filled_and_other_columns_where_they_are_named() {
        let column = |name| FLOWS.column(name).unwrap();
        let filled = |name| SOME.has(&FLOWS, column(name));
        assert_eq!(["run", "delivered_bytes", "timeouts"].map(filled), [true, true, false]);
        assert!(SOME.has_table(&FLOWS) && !SOME.has_table(&RUNS));
        assert!(Measured::ALL.has(&RUNS, RUNS.column("events").unwrap()));
    }

    #[test]
    fn unknown_names_are_found() {
        assert!(SOME.unspecified().is_empty());
        let wrong = Measured::only(&[
            MeasuredTable { table: "flows", columns: &["nothing", "run"] },
            MeasuredTable { table: "none", columns: &[] },
        ]);
        assert_eq!(wrong.unspecified(), ["flows.nothing", "flows.run", "none"]);
    }
}
