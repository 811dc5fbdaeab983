//! Work of unknown length on a thread of its own, while this one passes on signals.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// How often signals are looked at.
pub(crate) const POLL: Duration = Duration::from_millis(50);
/// Bytes of the stack of the thread, as many as the main thread has on Linux.
const STACK: usize = 8 << 20;

/// The result of `work`, which does not hold the interpreter lock; on a signal its exception, such as `KeyboardInterrupt`.
///
/// Work cannot be stopped from outside: after a signal its thread ends by itself, or with the process.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel::<()>();
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        let done = work();
        drop(sender);
        done
    })?;
    py.detach(move || {
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(POLL) {
            Python::attach(|py| py.check_signals())?;
        }
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
