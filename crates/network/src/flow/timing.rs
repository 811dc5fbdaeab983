//! When a flow starts and stops.
//!
//! May: wait for other flows. May not: know what they do.

use engine::Stream;
use scenario::model::Flow as FlowModel;
use units::{Nanos, SimTime};

/// Start and stop of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    /// `NEVER` while it waits for other flows.
    start: SimTime,
    /// When its application stops writing at the latest.
    stop: SimTime,
    started: bool,
    /// Flows that must end before it starts, and the time from the last end to its start.
    after: Vec<usize>,
    pause: Nanos,
}

impl Timing {
    /// As the scenario has it; a random part of the start is drawn from a stream of the flow.
    pub(crate) fn new(model: &FlowModel, seed: u64, duration: SimTime) -> Self {
        let delay = match model.spread {
            Nanos::ZERO => Nanos::ZERO,
            spread => Nanos((Stream::named(seed, &model.name, "start").uniform() * spread.0 as f64) as u64),
        };
        let timing = Self {
            start: if model.after.is_empty() { model.start + delay } else { SimTime::NEVER },
            stop: model.stop.min(duration),
            started: false,
            after: model.after.clone(),
            pause: model.start.since(SimTime::ZERO) + delay,
        };
        timing.check();
        timing
    }

    /// When it starts or has started; `NEVER` if that is not known yet.
    pub(crate) fn start(&self) -> SimTime {
        self.start
    }

    /// When its interval begins: the start, were there no other flows to wait for.
    pub(crate) fn earliest(&self) -> SimTime {
        SimTime::ZERO + self.pause
    }

    /// When its application stops writing at the latest.
    pub(crate) fn stop(&self) -> SimTime {
        self.stop
    }

    /// True once the application runs.
    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// The application runs from now on.
    pub(crate) fn set_started(&mut self) {
        debug_assert!(!self.started, "a flow starts once");
        self.started = true;
        self.check();
    }

    /// It starts when others have ended.
    pub(crate) fn waits(&self) -> bool {
        !self.after.is_empty()
    }

    /// Another flow has ended. Returns when this one starts, if it waited for nothing else.
    pub(crate) fn other_ended(&mut self, now: SimTime, other: usize) -> Option<SimTime> {
        let before = self.after.len();
        self.after.retain(|&flow| flow != other);
        if self.after.len() == before || !self.after.is_empty() {
            return None;
        }
        self.start = now + self.pause;
        self.check();
        Some(self.start)
    }

    fn check(&self) {
        debug_assert_eq!(self.start.is_never(), !self.after.is_empty(), "only flows that wait have no start");
        debug_assert!(
            !self.started || self.after.is_empty(),
            "a flow has started before those it waits for ended"
        );
    }
}
