//! The clock of a run: the host's monotonic clock, from time zero of the scenario on.

use std::time::{Duration, Instant};

use units::SimTime;

/// Time since the start of a run; `ZERO` before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostClock {
    zero: Instant,
}

impl HostClock {
    /// A clock of a run that starts after `delay`.
    #[expect(clippy::disallowed_methods, reason = "an emulation runs in the time of the host")]
    pub(crate) fn starting_in(delay: Duration) -> Self {
        Self { zero: Instant::now() + delay }
    }

    /// Time of the run.
    #[expect(clippy::disallowed_methods, reason = "an emulation runs in the time of the host")]
    pub(crate) fn now(self) -> SimTime {
        let elapsed = Instant::now().saturating_duration_since(self.zero);
        SimTime(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long from now until `at`; zero if that has passed.
    #[expect(clippy::disallowed_methods, reason = "an emulation runs in the time of the host")]
    pub(crate) fn until(self, at: SimTime) -> Duration {
        let Some(at) = self.zero.checked_add(Duration::from_nanos(at.0)) else { return Duration::MAX };
        at.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_not_begun_before_its_zero() {
        let clock = HostClock::starting_in(Duration::from_secs(60));
        assert_eq!(clock.now(), SimTime::ZERO);
        let left = clock.until(SimTime::from_millis(1000));
        assert!((Duration::from_secs(60)..=Duration::from_secs(61)).contains(&left), "{left:?}");
        let clock = HostClock::starting_in(Duration::ZERO);
        assert_eq!(clock.until(SimTime::ZERO), Duration::ZERO);
    }
}
