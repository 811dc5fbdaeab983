//! A scenario file as Python sees it, and running it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use lab::{Backend, CaptureOrder, Control, RunError, RunOptions, Watch};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use scenario::{Diagnostics, Registries};

use crate::_core::{InvalidScenario, RunFailed};
use crate::output::Output;
use crate::watched::{POLL, watched};

/// How long a run that was told to stop may take to end before it is left alone.
const GRACE: Duration = Duration::from_millis(500);

/// A checked scenario.
#[pyclass(frozen, module = "ropewalk._core")]
pub struct Document {
    inner: Arc<scenario::Document>,
}

#[pymethods]
impl Document {
    /// Parses `text`; `file` is the name used in messages, `sets` overrides keys by dotted path.
    ///
    /// Raises `InvalidScenario` with all mistakes at once.
    #[staticmethod]
    fn parse(py: Python<'_>, text: String, file: String, sets: Vec<(String, String)>) -> PyResult<Self> {
        let parse = move || scenario::Document::parse(&text, &file, &sets, &Registries::builtin());
        match watched(py, parse)? {
            Ok(inner) => Ok(Self { inner: Arc::new(inner) }),
            Err(mistakes) => Err(invalid(&mistakes)),
        }
    }

    /// The scenario with every default filled in.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        let inner = Arc::clone(&self.inner);
        watched(py, move || inner.to_toml())
    }

    /// The same with the content of each file in the place of its path.
    fn to_whole_toml(&self, py: Python<'_>) -> PyResult<String> {
        let inner = Arc::clone(&self.inner);
        watched(py, move || inner.to_whole_toml())
    }

    /// Keys of the file that an override of `kind` leaves out, as messages with places; `None` if there are none.
    fn left_out(&self) -> Option<String> {
        self.inner.left_out().map(ToString::to_string)
    }

    /// Title.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.scenario.name
    }

    /// Simulated time in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.scenario.duration.as_secs_f64()
    }

    /// Seeds of the replications.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.inner.scenario.seeds.clone()
    }

    /// Changes of links while the run goes on: `(instant in seconds, links, what happens)`.
    fn events(&self) -> Vec<(f64, String, String)> {
        let marks = lab::marks(&self.inner.scenario);
        marks.into_iter().map(|mark| (mark.at.as_secs_f64(), mark.links, mark.what)).collect()
    }

    /// The delivery opportunities of a link direction under a seed, in the format of mahimahi.
    ///
    /// Raises `ValueError` if there is no such link, or if it never carries anything, or too much.
    fn opportunities(&self, py: Python<'_>, link: String, seed: u64) -> PyResult<String> {
        let inner = Arc::clone(&self.inner);
        let text = watched(py, move || {
            inner.under(seed).map(|scenario| lab::opportunities(&scenario, seed, &link))
        })?;
        let text = text.map_err(|mistakes| invalid(&mistakes))?;
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Mean rate in bit/s of a link direction between each two of `edges` (s) under a seed, outages included.
    ///
    /// Raises `ValueError` if there is no such link, or if the edges do not rise.
    fn capacity(&self, py: Python<'_>, link: String, seed: u64, edges: Vec<f64>) -> PyResult<Vec<f64>> {
        if edges.iter().any(|edge| edge.is_nan()) || !edges.is_sorted() {
            return Err(PyValueError::new_err("the edges are seconds that rise"));
        }
        let inner = Arc::clone(&self.inner);
        let rates = watched(py, move || {
            inner.under(seed).map(|scenario| lab::capacity(&scenario, seed, &link, &edges))
        })?;
        let rates = rates.map_err(|mistakes| invalid(&mistakes))?;
        rates.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The arguments of the program for ns-3 that mean this scenario, without the seed.
    ///
    /// Raises `InvalidScenario` with all keys that ns-3 cannot run.
    fn ns3_arguments(&self) -> PyResult<BTreeMap<String, String>> {
        let arguments = lab::ns3::arguments(&self.inner.scenario);
        arguments.or_else(|unsupported| {
            self.inner.refuse("ns3", &unsupported).map_err(|mistakes| invalid(&mistakes))?;
            Ok(BTreeMap::new())
        })
    }

    /// Raises `InvalidScenario` with each key that the back end of this name cannot run.
    fn check_backend(&self, backend: &str) -> PyResult<()> {
        let all = lab::backends(Path::new(""));
        let Some(chosen) = all.iter().find(|one| one.name() == backend) else { return Ok(()) };
        let unsupported = chosen.unsupported(&self.inner.scenario);
        self.inner.refuse(chosen.name(), &unsupported).map_err(|mistakes| invalid(&mistakes))
    }

    /// Runs one replication per seed on `jobs` threads, without the interpreter lock. `progress` is called with
    /// `(done, total)` about every 50 ms, and a last time at the end; `simulated` before it with the simulated seconds
    /// of all runs, baselines included, of which one that ended early counts with its whole duration. `backend` is the name of one of `backends()`,
    /// which keeps what it builds in the directory `folder`. `capture`: directory of captures, node or link or `both`,
    /// and bytes that are kept of a packet (0: all); each replication is a file there, `seed-1.pcapng`.
    ///
    /// Raises `InvalidScenario` if the back end cannot run it, `RunFailed`, `KeyboardInterrupt`, or whatever a signal
    /// handler or `progress` raises; all of these end the run at once. `ValueError` if there is no such back end, or nothing to capture.
    #[pyo3(signature = (seeds, jobs, series, trace, progress = None, backend = "simulator", folder = PathBuf::new(), simulated = None, capture = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn run(
        &self,
        py: Python<'_>,
        seeds: Vec<u64>,
        jobs: NonZeroUsize,
        series: bool,
        trace: bool,
        progress: Option<Py<PyAny>>,
        backend: &str,
        folder: PathBuf,
        simulated: Option<Py<PyAny>>,
        capture: Option<(PathBuf, String, u32)>,
    ) -> PyResult<Output> {
        let order = capture.map(|(folder, at, snap)| {
            CaptureOrder::new(&self.inner.scenario, &folder, &at, snap).map_err(PyValueError::new_err)
        });
        let options = RunOptions { seeds, jobs, series, trace, capture: order.transpose()? };
        let watch = Progress { progress, simulated, counts: Arc::default() };
        let mut all = lab::backends(&folder);
        let Some(place) = all.iter().position(|one| one.name() == backend) else {
            let names: Vec<&str> = all.iter().map(|one| one.name()).collect();
            let message = format!("there is no back end {backend}; back ends: {}", names.join(", "));
            return Err(PyValueError::new_err(message));
        };
        let chosen = all.swap_remove(place);
        let output = py.detach(|| self.run_watched(chosen, options, &watch))?;
        watch.report(py)?;
        Output::new(py, output)
    }
}

impl Document {
    /// The work is done on threads of its own; this one watches.
    ///
    /// A run looks at the order to stop between events, and one event may be a search of hours: a simulation that does
    /// not end is left alone, and its thread ends after that event or with the process. Other back ends have processes
    /// and networks to take down, and are waited for.
    fn run_watched(
        &self,
        backend: Box<dyn Backend>,
        options: RunOptions,
        watch: &Progress,
    ) -> PyResult<lab::Output> {
        let abandonable = backend.name() == "simulator";
        let (document, counts) = (Arc::clone(&self.inner), Arc::clone(&watch.counts));
        let (sender, receiver) = mpsc::channel::<()>();
        let work = thread::Builder::new().spawn(move || {
            let note = |done, total| counts.note(done, total);
            let outcome = lab::run_on(backend.as_ref(), &document, &options, &note, &counts.control);
            drop(sender);
            outcome
        })?;
        let mut interruption = None;
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(POLL) {
            let Err(error) = Python::attach(|py| watch.poll(py)) else { continue };
            watch.counts.control.stop();
            interruption.get_or_insert(error);
            if abandonable {
                break;
            }
        }
        if let Some(error) = interruption.take_if(|_| abandonable) {
            // The channel closes when the work ends.
            if receiver.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                return Err(error);
            }
            interruption = Some(error);
        }
        let outcome: Result<lab::Output, RunError> =
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match interruption {
            Some(error) => Err(error),
            None => outcome.map_err(|error| match error {
                RunError::Cancelled => PyKeyboardInterrupt::new_err(()),
                RunError::Unsupported(mistakes) => invalid(&mistakes),
                failure @ (RunError::Failed { .. }
                | RunError::NotReady(_)
                | RunError::TooManyConnections { .. }
                | RunError::TooMuchMemory { .. }
                | RunError::TooManyMessages { .. }
                | RunError::Grown(_)
                | RunError::TooManySamples { .. }) => RunFailed::new_err(failure.to_string()),
            }),
        }
    }
}

pub(crate) fn invalid(mistakes: &Diagnostics) -> PyErr {
    InvalidScenario::new_err((mistakes.to_string(), mistakes.to_json().to_string()))
}

/// How far the run is, and what to call with it.
struct Progress {
    counts: Arc<Counts>,
    progress: Option<Py<PyAny>>,
    simulated: Option<Py<PyAny>>,
}

/// The part that the threads of the run know.
#[derive(Default)]
struct Counts {
    control: Control,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Counts {
    /// Calls come from many threads and may overtake each other.
    fn note(&self, done: usize, total: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.done.fetch_max(done, Ordering::Relaxed);
    }
}

impl Progress {
    fn poll(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        self.report(py)
    }

    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let counts = &self.counts;
        let (done, total) = (counts.done.load(Ordering::Relaxed), counts.total.load(Ordering::Relaxed));
        if let Some(simulated) = &self.simulated {
            simulated.call1(py, (counts.control.simulated_s(),))?;
        }
        match &self.progress {
            Some(progress) if total > 0 => progress.call1(py, (done, total)).map(drop),
            _ => Ok(()),
        }
    }
}
