//! Messages between a caller and running worlds: stop, and how far a run is.

use std::sync::atomic::{AtomicBool, Ordering};

use units::Nanos;

/// Looked at and told every few thousand events, from any thread. It changes no result.
pub trait Watch: Sync {
    /// Whether runs end early.
    fn is_stopped(&self) -> bool;

    /// Ends all runs early.
    fn stop(&self);

    /// A run has simulated `span` more. The spans of a finished run add up to the duration of its scenario.
    fn simulated(&self, _span: Nanos) {}
}

/// A flag that stops runs when it is set.
impl Watch for AtomicBool {
    fn is_stopped(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.store(true, Ordering::Relaxed);
    }
}
