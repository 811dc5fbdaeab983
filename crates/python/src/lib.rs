//! The Python module `ropewalk._core`: text in, whole columns out.
//!
//! May: convert values, release the interpreter lock, pass on signals. May not: decide anything. The typed face
//! of it is `python/ropewalk/_core.pyi`, which a test compares with this module.

mod captures;
mod columns;
mod document;
mod output;
mod source;
mod study_file;
mod watched;

use pyo3::prelude::*;

/// The module `ropewalk._core`.
#[pymodule]
mod _core {
    use std::path::PathBuf;

    use pyo3::exceptions::{PyRuntimeError, PyValueError};
    use pyo3::prelude::*;
    use scenario::Registries;

    #[pymodule_export]
    use crate::columns::Columns;
    #[pymodule_export]
    use crate::document::Document;
    #[pymodule_export]
    use crate::output::Output;
    #[pymodule_export]
    use crate::source::Source;
    #[pymodule_export]
    use crate::study_file::Study;
    use crate::watched::watched;

    /// Version of the program.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// How the module was compiled, as its build script knows. Results do not depend on it, speed does.
    #[pymodule_export]
    const BUILD: &str = if cfg!(debug_assertions) {
        "unoptimised"
    } else if cfg!(profile_guided) {
        "guided by a profile"
    } else {
        "ordinary"
    };
    /// Raised whenever any result may change.
    #[pymodule_export]
    const MODEL_VERSION: u32 = lab::MODEL_VERSION;

    pyo3::create_exception!(
        ropewalk._core,
        InvalidScenario,
        PyValueError,
        "A file with mistakes. Arguments: all of them as text, and the same as JSON."
    );
    pyo3::create_exception!(
        ropewalk._core,
        RunFailed,
        PyRuntimeError,
        "A replication failed, or its back end is not installed. The text says what to do."
    );

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("InvalidScenario", module.py().get_type::<InvalidScenario>())?;
        module.add("RunFailed", module.py().get_type::<RunFailed>())
    }

    /// JSON Schema of a kind of file, as text: `scenario`, or one of those of studies and reproductions.
    ///
    /// Raises `ValueError` if there is no such kind.
    #[pyfunction]
    fn schema(kind: &str) -> PyResult<String> {
        let found = match kind {
            "scenario" => Some(scenario::schema(&Registries::builtin())),
            _ => study::schema(kind),
        };
        let Some(found) = found else {
            let kinds: Vec<&str> = std::iter::once("scenario").chain(study::kinds()).collect();
            let message = format!("there is no kind of file {kind}; kinds: {}", kinds.join(", "));
            return Err(PyValueError::new_err(message));
        };
        Ok(found.to_string())
    }

    /// The parts of the name of a metric, a JSON object.
    ///
    /// Raises `ValueError` with what is wrong and the cure.
    #[pyfunction]
    fn metric(text: &str) -> PyResult<String> {
        let found = study::Metric::parse(text).map(|metric| metric.to_json().to_string());
        found.map_err(|error| PyValueError::new_err((error.message, error.help)))
    }

    /// The parts of the name of a time series of which `function` makes one figure, a JSON object.
    ///
    /// Raises `ValueError` with what is wrong and the cure.
    #[pyfunction]
    fn series(text: &str, function: &str) -> PyResult<String> {
        let found = study::Series::parse(text, function).map(|series| series.to_json().to_string());
        found.map_err(|error| PyValueError::new_err((error.message, error.help)))
    }

    /// The cure for a name that is none of `known`: the nearest, and what there is.
    #[pyfunction]
    #[expect(clippy::needless_pass_by_value, reason = "values come out of Python owned")]
    fn suggest(name: &str, known: Vec<String>) -> String {
        document::diagnostic::suggest(name, "known", known.iter().map(String::as_str))
    }

    /// Every algorithm by name, with its options: a JSON object with one list per kind.
    #[pyfunction]
    fn catalogue() -> String {
        lab::catalogue(&Registries::builtin()).to_string()
    }

    /// The back ends, the one that is used unless another is asked for first: a JSON list with their names, what they
    /// are, what they measure, and what they can run.
    #[pyfunction]
    fn backends() -> String {
        lab::described().to_string()
    }

    /// The program for ns-3, built in the directory `folder` unless it is there.
    ///
    /// Raises `RunFailed` if it cannot be built, as where ns-3 is not installed.
    #[pyfunction]
    fn ns3_program(py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        watched(py, move || lab::ns3::built(&folder))?
            .map_err(|reason| RunFailed::new_err(reason.to_string()))
    }

    /// The connections of capture files: `(name, columns)` of each table, a sentence on each file that could not be read
    /// whole, and totals.
    #[pyfunction]
    fn read_captures(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<crate::captures::Read> {
        crate::captures::read(py, files)
    }

    /// Writes the TCP packets of capture files into the file `out`, without addresses, payload and keys. Returns how many were
    /// written and left out, and a sentence on each file that could not be read whole.
    ///
    /// Raises `OSError` if it cannot be written.
    #[pyfunction]
    fn anonymise_captures(
        py: Python<'_>,
        files: Vec<PathBuf>,
        out: PathBuf,
    ) -> PyResult<(u64, u64, Vec<String>)> {
        crate::captures::anonymise(py, files, out)
    }

    /// Version of the ns-3 that is installed, if any.
    #[pyfunction]
    fn ns3_version() -> Option<String> {
        lab::ns3::installed()
    }

    /// Rights of this process for the back end `linux`: `real-time`, `ordinary` (priority), `user-namespace` (only inside
    /// of one), or a sentence about what is missing and a line with the cure.
    #[pyfunction]
    fn emulation(py: Python<'_>) -> String {
        py.detach(lab::emulation)
    }

    /// Empty if this process may register congestion controls with the kernel; else a sentence about what is missing and a line
    /// with the cure.
    #[pyfunction]
    fn kernel_controls() -> String {
        lab::kernel_controls().err().map_or_else(String::new, |reason| reason.to_string())
    }

    /// The program that registers a congestion control with the kernel, and the BPF object of this control, built in the directory
    /// `folder` unless they are there.
    ///
    /// Raises `RunFailed` if there is no such control, or it cannot be built.
    #[pyfunction]
    fn kernel_control(py: Python<'_>, folder: PathBuf, name: String) -> PyResult<(PathBuf, PathBuf)> {
        watched(py, move || lab::kernel_control(&folder, &name))?
            .map_err(|reason| RunFailed::new_err(reason.to_string()))
    }

    /// Every column of every table, and every time series, with unit, label and meaning: a JSON object.
    #[pyfunction]
    fn metrics() -> String {
        lab::metrics().to_string()
    }
}
