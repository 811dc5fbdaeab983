//! A study file as Python sees it.

use pyo3::prelude::*;
use scenario::Registries;
use study::StudyFile;

use crate::document::invalid;
use crate::watched::watched;

/// Name, levels by factor, overrides, and expanded scenario of a case.
type Case = (String, Vec<(String, String)>, Vec<(String, String)>, String, Vec<String>);

/// A checked study file.
#[pyclass(frozen, module = "ropewalk._core")]
pub struct Study {
    inner: StudyFile,
}

#[pymethods]
impl Study {
    /// Parses `text` in one of its readings, if it has any; `file` is the name used in messages, beside which the scenario is
    /// looked for.
    ///
    /// Raises `InvalidScenario` with all mistakes at once.
    #[staticmethod]
    #[pyo3(signature = (text, file, reading = None))]
    fn parse(py: Python<'_>, text: String, file: String, reading: Option<String>) -> PyResult<Self> {
        let parse = move || StudyFile::parse(&text, &file, reading.as_deref(), &Registries::builtin());
        watched(py, parse)?.map(|inner| Self { inner }).map_err(|mistakes| invalid(&mistakes))
    }

    /// The readings of the file with this text; none if it is not TOML. The study that it is like is looked for beside `file`.
    #[staticmethod]
    fn readings(py: Python<'_>, text: String, file: String) -> PyResult<Vec<String>> {
        watched(py, move || study::readings(&text, &file))
    }

    /// The study file `file` with this text as one that is like no other; in one of its readings if one is named.
    ///
    /// Raises `InvalidScenario` with all mistakes at once.
    #[staticmethod]
    #[pyo3(signature = (text, file, reading = None))]
    fn whole(py: Python<'_>, text: String, file: String, reading: Option<String>) -> PyResult<String> {
        watched(py, move || study::whole(&text, &file, reading.as_deref()))?
            .map_err(|mistakes| invalid(&mistakes))
    }

    /// The content of the file, defaults filled in: a JSON object.
    fn keys(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// All cases: name, levels by factor, overrides, expanded scenario, keys of the file that a `kind` leaves out. `sets` hold for each of them.
    ///
    /// Raises `InvalidScenario` with all mistakes at once.
    fn cases(&self, py: Python<'_>, sets: Vec<(String, String)>) -> PyResult<Vec<Case>> {
        let inner = self.inner.clone();
        let cases = watched(py, move || inner.cases(&sets, &Registries::builtin()))?;
        let cases = cases.map_err(|mistakes| invalid(&mistakes))?;
        let told = |case: study::Case| (case.name, case.levels, case.overrides, case.text, case.left_out);
        Ok(cases.into_iter().map(told).collect())
    }

    /// The effect of setting each of some keys for all cases: `all`, `absent` (there is no such key) or `varied`.
    ///
    /// Raises `InvalidScenario` if a key does not take its value.
    fn reach(&self, py: Python<'_>, sets: Vec<(String, String)>) -> PyResult<Vec<&'static str>> {
        let inner = self.inner.clone();
        let found = watched(py, move || inner.reach(&sets, &Registries::builtin()))?;
        let found = found.map_err(|mistakes| invalid(&mistakes))?;
        Ok(found.into_iter().map(study::Reach::word).collect())
    }

    /// The metrics of a study that names none, by an expanded scenario.
    #[staticmethod]
    fn usual_metrics(text: &str) -> Vec<String> {
        study::usual_metrics(text, &Registries::builtin())
    }

    /// Checks that the flows and links that metrics name are among those of the runs.
    ///
    /// Raises `InvalidScenario` with all that are not.
    #[expect(clippy::needless_pass_by_value, reason = "values come out of Python owned")]
    fn check_names(&self, flows: Vec<String>, links: Vec<String>) -> PyResult<()> {
        self.inner.check_names(&flows, &links).map_err(|mistakes| invalid(&mistakes))
    }
}
