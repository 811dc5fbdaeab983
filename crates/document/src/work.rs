//! Steps that reading files has taken: tests compare those of files of different lengths, because the time that they take
//! says more about the machine.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts entries that were looked at or moved, mistakes that were compared, or bytes that were read.
#[inline]
pub(crate) fn add(steps: usize) {
    STEPS.set(STEPS.get() + steps as u64);
}

/// Steps of this thread so far.
pub fn steps() -> u64 {
    STEPS.get()
}
