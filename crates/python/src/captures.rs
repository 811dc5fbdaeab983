//! Capture files as tables.

use std::fs::File;
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::columns::Columns;
use crate::watched::watched;

/// Packets by what they are, or have.
type Packets = Vec<(&'static str, u64)>;
/// Tables by name, problems, totals, and packets by option of MPTCP.
pub(crate) type Read = (Vec<(&'static str, Py<Columns>)>, Vec<String>, Packets, Packets);

/// Returns packets written and left out, and problems.
pub(crate) fn anonymise(
    py: Python<'_>,
    files: Vec<PathBuf>,
    out: PathBuf,
) -> PyResult<(u64, u64, Vec<String>)> {
    let done = watched(py, move || {
        let (found, file) = dissect::anonymise(&files, File::create(out)?)?;
        file.sync_all()?;
        Ok::<_, std::io::Error>(found)
    })??;
    let problems = done.problems.iter().map(ToString::to_string).collect();
    Ok((done.written, done.left_out, problems))
}

/// Tables, problems and totals of the captures, and their packets by option of MPTCP.
pub(crate) fn read(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Read> {
    let (tables, problems, options) = watched(py, move || {
        let reading = dissect::read(&files);
        let tables = dissect::tables(&reading);
        let problems = reading.problems().iter().map(ToString::to_string).collect();
        let options = *reading.options();
        // Its memory then serves the columns.
        drop(reading);
        // A table without a row has no columns, which Arrow refuses.
        let tables = tables.into_iter().filter(|table| !table.columns.is_empty());
        let tables = tables.map(|table| Ok((table.name, Columns::try_from(table)?)));
        (tables.collect::<PyResult<Vec<_>>>(), problems, options)
    })?;
    let tables = tables?.into_iter().map(|(name, columns)| Ok((name, Py::new(py, columns)?)));
    let tables = tables.collect::<PyResult<_>>()?;
    let totals = [("packets", options.packets), ("other", options.other), ("not_read", options.not_read)];
    Ok((tables, problems, totals.into(), options.by_name().collect()))
}
