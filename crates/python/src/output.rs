//! Results of a set of replications as Python objects.

use pyo3::prelude::*;

use crate::columns::Columns;

/// Tables, totals and traces of a set of replications.
#[pyclass(frozen, module = "ropewalk._core")]
pub struct Output {
    /// `(name, columns)` of every table.
    #[pyo3(get)]
    tables: Vec<(&'static str, Py<Columns>)>,
    /// Events taken out of the queues, baselines included; none if the back end does not count them.
    #[pyo3(get)]
    events: Option<u64>,
    /// Packets crossing a link, baselines included.
    #[pyo3(get)]
    packet_hops: u64,
    /// CPU seconds inside the engine, over all threads.
    #[pyo3(get)]
    cpu_s: f64,
    /// `(seed, text)` of every readable trace.
    #[pyo3(get)]
    traces: Vec<(u64, String)>,
}

impl Output {
    pub(crate) fn new(py: Python<'_>, output: lab::Output) -> PyResult<Self> {
        let table = |table: trace::Table| {
            let name = table.name;
            Ok((name, Py::new(py, Columns::try_from(table)?)?))
        };
        Ok(Self {
            tables: output.tables.into_iter().map(table).collect::<PyResult<_>>()?,
            events: output.totals.events,
            packet_hops: output.totals.packet_hops,
            cpu_s: output.totals.cpu.map_or(0.0, |spent| spent.as_secs_f64()),
            traces: output.traces.into_iter().map(|trace| (trace.seed, trace.text)).collect(),
        })
    }
}
