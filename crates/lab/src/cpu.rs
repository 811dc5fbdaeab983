//! CPU time of one thread, where the machine has a clock for it.

use std::time::Duration;

/// Started with a replication, on its thread.
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    start: cpu_time::ThreadTime,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            start: cpu_time::ThreadTime::now(),
        }
    }

    /// CPU time since the start. `None` on WebAssembly, which has no such clock.
    #[cfg(not(target_family = "wasm"))]
    #[expect(clippy::unnecessary_wraps, reason = "the other target has no clock")]
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        Some(self.start.elapsed())
    }

    /// CPU time since the start. `None` on WebAssembly, which has no such clock.
    #[cfg(target_family = "wasm")]
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        None
    }
}
