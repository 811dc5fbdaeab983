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
    /// Seed, lateness (median, 99th percentile, maximum, in seconds), share of a core, and whether it had real-time priority, of
    /// each replication in the time of the host.
    #[pyo3(get)]
    accuracies: Vec<(u64, f64, f64, f64, f64, bool)>,
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
            accuracies: output.accuracies.into_iter().map(accuracy).collect(),
            traces: output.traces.into_iter().map(|trace| (trace.seed, trace.text)).collect(),
        })
    }
}

fn accuracy((seed, found): (u64, trace::Accuracy)) -> (u64, f64, f64, f64, f64, bool) {
    let [p50, p99, max] = [found.p50, found.p99, found.max].map(|late| late.as_secs_f64());
    (seed, p50, p99, max, found.cpu_share, found.real_time)
}
