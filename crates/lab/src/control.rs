//! The order to stop, and how far the runs of a call are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use network::Watch;
use units::Nanos;

/// Stops the runs of a call, and counts what they have simulated, all of them together.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    /// Nanoseconds.
    simulated: AtomicU64,
}

impl Control {
    /// Simulated time of all runs so far, in seconds; finished ones count with the duration of their scenario.
    pub fn simulated_s(&self) -> f64 {
        Nanos(self.simulated.load(Ordering::Relaxed)).as_secs_f64()
    }
}

impl Watch for Control {
    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    fn stop(&self) {
        self.stop.stop();
    }

    fn simulated(&self, span: Nanos) {
        self.simulated.fetch_add(span.0, Ordering::Relaxed);
    }
}
