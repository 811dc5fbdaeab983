//! How far a run is, and what it holds: told to its watch every few thousand events, and at least once per simulated second.
//!
//! May: give the run up. May not: change a result.

use units::{Nanos, SimTime};

use crate::flow::Flow;
use crate::memory::Footprint;
use crate::observer::Observer;
use crate::watch::Watch;
use crate::world::{Unfinished, World};

/// Events and datagrams sent between two looks at the watch: one event may send a message of many thousand datagrams.
const WATCH_WORK: u64 = 4096;
/// And this often in simulated time: an event may be a long search, as for the next of many satellites.
const WATCH: Nanos = Nanos::from_secs(1);
/// Events and datagrams between two counts of what is held. In between a world grows by megabytes.
pub(super) const MEMORY_WORK: u64 = 65_536;

/// The state of the reports to the watch of a run.
pub(super) struct Progress<'w> {
    watch: &'w dyn Watch,
    told: SimTime,
    /// Work at which the watch is told next, and at which memory is counted next.
    look: u64,
    count: u64,
}

impl<'w> Progress<'w> {
    /// Nothing has been told.
    pub(super) fn new(watch: &'w dyn Watch) -> Self {
        Self { watch, told: SimTime::ZERO, look: WATCH_WORK, count: MEMORY_WORK }
    }

    /// The watch is told before anything happens at this instant or later.
    pub(super) fn next(&self) -> SimTime {
        self.told + WATCH
    }

    /// The watch is to be told after this number of events and datagrams.
    #[inline]
    pub(super) fn is_due(&self, work: u64) -> bool {
        work >= self.look
    }

    /// Nothing happens in the rest of a run that ends early.
    pub(super) fn finish(&self, end: SimTime) {
        self.watch.simulated(end.since(self.told));
    }
}

impl World {
    /// Events and datagrams so far.
    #[inline]
    pub(super) fn work(&self) -> u64 {
        self.queue.taken() + self.datagrams
    }

    /// Tells the watch that the run has come to `now`, and gives it up if it is to stop or holds too much.
    #[cold]
    #[inline(never)]
    pub(super) fn report(&self, now: SimTime, progress: &mut Progress<'_>) -> Result<(), Unfinished> {
        let work = self.work();
        progress.look = work + WATCH_WORK;
        if progress.watch.is_stopped() {
            return Err(Unfinished::Cancelled);
        }
        if work >= progress.count {
            progress.count = work + MEMORY_WORK;
            self.bound_memory(now)?;
        }
        progress.watch.simulated(now.since(progress.told));
        progress.told = now;
        Ok(())
    }

    /// Gives the run up if it holds too much.
    #[cold]
    #[inline(never)]
    pub(super) fn bound_memory(&self, at: SimTime) -> Result<(), Unfinished> {
        let held = Footprint {
            at,
            packets: self.network.held() as u64,
            messages: self.flows.all().iter().map(Flow::held).sum::<usize>() as u64,
            trace: self.network.tap().map_or(0, Observer::trace_length) as u64,
        };
        if held.bytes() > self.memory { Err(Unfinished::TooMuchMemory(held)) } else { Ok(()) }
    }
}
