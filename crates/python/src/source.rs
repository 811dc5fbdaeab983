//! A file of a reproduction as Python sees it: its values, and mistakes at their places.

use document::diagnostic::Code;
use document::source::Step;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::document::invalid;

/// A key of a table, or a position in a list.
#[derive(FromPyObject)]
enum Place {
    /// Into a list.
    Index(usize),
    /// Into a table.
    Key(String),
}

/// A file whose values Python judges further.
#[pyclass(module = "ropewalk._core")]
pub struct Source {
    inner: document::source::Source,
}

#[pymethods]
impl Source {
    /// Reads `text` as a file of this kind, one of those that `schema` has, or `any`; `file` is the name used in messages.
    ///
    /// Raises `InvalidScenario` if it is not TOML, `ValueError` if there is no such kind. Other mistakes are kept.
    #[staticmethod]
    fn read(text: &str, file: &str, kind: &str) -> PyResult<Self> {
        let read = study::read(text, file, kind)
            .ok_or_else(|| PyValueError::new_err(format!("there is no kind of file {kind}")))?;
        read.map(|inner| Self { inner }).map_err(|mistakes| invalid(&mistakes))
    }

    /// The values, defaults filled in: a JSON object, null where a value is wrong.
    fn values(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// Adds a mistake in the value at `path`, or in its key.
    ///
    /// Raises `ValueError` if there is no such code.
    fn add(
        &mut self,
        path: Vec<Place>,
        of_key: bool,
        code: &str,
        message: String,
        cure: String,
    ) -> PyResult<()> {
        let code = Code::of(code).ok_or_else(|| PyValueError::new_err(format!("there is no code {code}")))?;
        let step = |place| match place {
            Place::Index(index) => Step::Index(index),
            Place::Key(key) => Step::Key(key),
        };
        let path: Vec<Step> = path.into_iter().map(step).collect();
        self.inner.add(&path, of_key, code, message, cure);
        Ok(())
    }

    /// Raises `InvalidScenario` with all mistakes found so far, if there are any.
    fn check(&self) -> PyResult<()> {
        self.inner.check().map_err(|mistakes| invalid(&mistakes))
    }
}
