//! Why an emulation ended without a result.

use std::fmt;
use std::io;

/// An error of the host, and its cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The failure.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl Fault {
    /// A system call or a command that failed.
    pub(crate) fn of(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self {
            message: format!("{what}: {error}"),
            help: "`ropewalk doctor` says what emulation needs and what this machine has".into(),
        }
    }

    /// The same of an error of the kernel: for `map_err`.
    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::of(what, error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.message, self.help)
    }
}
