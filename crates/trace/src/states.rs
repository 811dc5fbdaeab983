//! How long something was in each of a few states.

use units::{Nanos, SimTime};

/// Time spent in each of `N` states, of which one holds at any instant: the times sum to the time since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateTimes<const N: usize> {
    start: SimTime,
    /// Last change.
    since: SimTime,
    state: u8,
    /// Nanoseconds by state up to the last change.
    lasted: [u64; N],
}

impl<const N: usize> StateTimes<N> {
    /// In `state`, below `N`, from `now` on.
    pub fn new(now: SimTime, state: u8) -> Self {
        let times = Self { start: now, since: now, state, lasted: [0; N] };
        times.check();
        times
    }

    /// The present state.
    pub fn state(&self) -> u8 {
        self.state
    }

    /// In `state`, below `N`, from `now` on.
    #[inline]
    pub fn set(&mut self, now: SimTime, state: u8) {
        if state != self.state {
            self.lasted[usize::from(self.state)] += now.since(self.since).0;
            self.since = now;
            self.state = state;
            self.check();
        }
    }

    /// Time in each state from the start to `now`.
    pub fn times(&self, now: SimTime) -> [Nanos; N] {
        let mut lasted = self.lasted;
        lasted[usize::from(self.state)] += now.since(self.since).0;
        debug_assert_eq!(lasted.iter().sum::<u64>(), now.since(self.start).0, "one state at any instant");
        lasted.map(Nanos)
    }

    fn check(&self) {
        debug_assert!(usize::from(self.state) < N, "state {} of {N}", self.state);
        debug_assert!(self.start <= self.since, "the last change is before the start");
        debug_assert_eq!(
            self.lasted.iter().sum::<u64>(),
            self.since.since(self.start).0,
            "one state at any instant"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sum_to_the_time_since_the_start() {
        let mut times = StateTimes::<3>::new(SimTime(100), 2);
        times.set(SimTime(150), 0);
        times.set(SimTime(170), 0);
        times.set(SimTime(180), 2);
        assert_eq!(times.times(SimTime(200)), [Nanos(30), Nanos(0), Nanos(70)]);
        assert_eq!(times.state(), 2);
    }
}
