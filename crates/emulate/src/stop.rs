//! How the threads of a run are told that it ends.

use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use units::SimTime;

use crate::clock::HostClock;

/// Stages of a run, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Applications write and read.
    Running,
    /// Applications have ended; connections stay open to be measured.
    Measuring,
    /// Connections are closed, threads end.
    Closing,
}

/// The stage, for all threads.
#[derive(Debug)]
pub(crate) struct Stop(AtomicU8);

/// Longest wait without a look at the stage.
const LOOK: Duration = Duration::from_millis(20);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.0.load(Ordering::Acquire) {
            0 => Stage::Running,
            1 => Stage::Measuring,
            _ => Stage::Closing,
        }
    }

    /// Goes on to a stage; never back.
    pub(crate) fn advance(&self, stage: Stage) {
        self.0.fetch_max(stage as u8, Ordering::AcqRel);
    }

    /// Waits until `at`. False if the stage is later than `stage` before.
    pub(crate) fn wait_until(&self, clock: HostClock, at: SimTime, stage: Stage) -> bool {
        loop {
            if self.stage() > stage {
                return false;
            }
            let left = clock.until(at);
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_do_not_go_back_and_end_waits() {
        let (stop, clock) = (Stop::new(), HostClock::starting_in(Duration::ZERO));
        assert!(stop.wait_until(clock, SimTime::ZERO, Stage::Running));
        stop.advance(Stage::Closing);
        stop.advance(Stage::Measuring);
        assert_eq!(stop.stage(), Stage::Closing);
        assert!(!stop.wait_until(clock, SimTime::from_millis(3_600_000), Stage::Measuring));
    }
}
