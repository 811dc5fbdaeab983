//! A flow: its application, the times that it asked for, and where it stands.
//!
//! May: keep what the application needs between events. May not: touch connections; the desk and the channels do.

pub(crate) mod channel;
pub(crate) mod context;
pub(crate) mod events;
pub(crate) mod recorder;
mod writes;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use apps::App;
use engine::{LazyTimer, Stream};
use scenario::model::Flow as FlowModel;
use trace::{FlowRecord, MessageRecord, PageRecord};
use units::{Nanos, SimTime};

use crate::build::connections::Factory;
use crate::flow::recorder::FlowRecorder;

/// How an application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has asked for all that it ever wanted to send.
    Finished,
    /// Its time was over.
    Stopped,
}

/// One flow.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Away while it is being told something.
    pub(crate) app: Option<Box<dyn App>>,
    pub(crate) factory: Factory,
    /// Random numbers of the application.
    pub(crate) random: Stream,
    /// When it starts, and when its application stops writing at the latest.
    pub(crate) start: SimTime,
    pub(crate) stop: SimTime,
    pub(crate) started: bool,
    /// Flows that must end before it starts, and how long it waits then.
    after: Vec<usize>,
    pause: Nanos,
    /// Indices of its connections.
    pub(crate) channels: Vec<usize>,
    /// Wake-ups that the application has asked for: time, order, tag.
    alarms: BinaryHeap<Reverse<(SimTime, u64, u64)>>,
    alarms_set: u64,
    timer: LazyTimer,
    pub(crate) recorder: FlowRecorder,
    pub(crate) messages: Vec<MessageRecord>,
    pub(crate) pages: Vec<PageRecord>,
    pub(crate) ended: Option<Ended>,
    /// Filled in when the flow's interval is over.
    pub(crate) record: Option<Box<FlowRecord>>,
    /// Nothing remains to be written or delivered.
    pub(crate) done: bool,
}

impl Flow {
    /// A flow that has not started.
    pub(crate) fn new(model: &FlowModel, mut factory: Factory, seed: u64, duration: SimTime) -> Self {
        let delay = match model.spread {
            Nanos::ZERO => Nanos::ZERO,
            spread => Nanos((Stream::named(seed, &model.name, "start").uniform() * spread.0 as f64) as u64),
        };
        Self {
            app: factory.app.take(),
            factory,
            random: Stream::named(seed, &model.name, "application"),
            start: if model.after.is_empty() { model.start + delay } else { SimTime::NEVER },
            after: model.after.clone(),
            pause: model.start.since(SimTime::ZERO) + delay,
            stop: model.stop.min(duration),
            started: false,
            channels: Vec::new(),
            alarms: BinaryHeap::new(),
            alarms_set: 0,
            timer: LazyTimer::default(),
            recorder: FlowRecorder::new(model.start + delay),
            messages: Vec::new(),
            pages: Vec::new(),
            ended: None,
            record: None,
            done: false,
        }
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
        self.recorder = FlowRecorder::new(self.start);
        Some(self.start)
    }

    /// True if the application has asked for all that it wanted to send, and was not cut short.
    pub(crate) fn finished(&self) -> bool {
        self.ended == Some(Ended::Finished)
    }

    /// The end of the interval of a flow that is still going on when the run ends after `duration`: what is
    /// asked for may be delivered until then (datagrams do not take that long), but nothing is written after `stop`.
    pub(crate) fn last_end(&self, duration: SimTime) -> SimTime {
        match self.ended {
            // What has not arrived by now is lost.
            Some(Ended::Finished) if self.factory.datagrams() => self.recorder.last_delivery,
            Some(Ended::Finished) => duration,
            Some(Ended::Stopped) | None => self.stop,
        }
    }

    /// The application asks to be woken.
    pub(crate) fn wake_at(&mut self, at: SimTime, tag: u64) {
        self.alarms_set += 1;
        self.alarms.push(Reverse((at, self.alarms_set, tag)));
    }

    /// The flow's time is over: nobody is woken any more.
    pub(crate) fn sleep(&mut self) {
        self.alarms.clear();
    }

    /// The tag of the next wish that is due.
    pub(crate) fn due(&mut self, now: SimTime) -> Option<u64> {
        let Reverse((at, _, tag)) = *self.alarms.peek()?;
        if at > now {
            return None;
        }
        self.alarms.pop();
        Some(tag)
    }

    /// The instant to push into the queue for the next wake-up or the end of the flow's time, if one is needed.
    pub(crate) fn arm(&mut self, now: SimTime) -> Option<SimTime> {
        let alarm = self.alarms.peek().map_or(SimTime::NEVER, |Reverse((at, ..))| *at);
        let stop = if now < self.stop { self.stop } else { SimTime::NEVER };
        // A wish in the past would stop the clock.
        self.timer.set(alarm.min(stop).max(now))
    }

    /// A wake-up came out of the queue. False if it was a stale one.
    pub(crate) fn wake_fires(&mut self, now: SimTime) -> bool {
        self.timer.fires(now)
    }
}
