//! A link direction and its changes, as the builder makes them from a scenario.
//!
//! May: tell the two kinds of links apart. May not: decide what a link decides, or know packets and queue entries.

use links::delay::{self, DelayModel};
use links::queue::{DropTail, QueueDiscipline};
use links::rate::{self, RateModel};
use links::{Counters, Faults, Fifo, LossModel, Shaper, Station};
use scenario::model::Strip;
use trace::LinkRecord;
use units::{BitsPerSecond, Bytes, Nanos, QueueLimit, SimTime};

use crate::net::topology::LinkId;

/// Simple links know everything about a packet when it is offered; the others decide when the time has come.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the simple link is the hot path: no pointer in between")]
pub enum Link {
    /// Constant rate and delay between changes, and a drop-tail queue.
    Fifo(Fifo),
    /// Everything else.
    Station(Box<Station>),
}

/// A plain value, or a model of it.
#[derive(Debug)]
pub enum Part<V, M: ?Sized> {
    /// Constant.
    Value(V),
    /// By a model.
    Model(Box<M>),
}

/// A change of one link at an instant; `None` leaves a parameter as it is.
#[derive(Debug, Default)]
pub struct LinkChange {
    /// When.
    pub at: SimTime,
    /// Which link direction.
    pub link: LinkId,
    /// A step of a rate model, not an event of the scenario: no line in a trace.
    pub quiet: bool,
    /// New rate.
    pub rate: Option<Part<BitsPerSecond, dyn RateModel>>,
    /// New propagation delay.
    pub delay: Option<Part<Nanos, dyn DelayModel>>,
    /// New queue limit or discipline.
    pub queue: Option<Part<QueueLimit, dyn QueueDiscipline>>,
    /// New loss model; `Some(None)`: nothing is lost from now on.
    pub loss: Option<Option<Box<dyn LossModel>>>,
    /// New token buckets.
    pub shapers: Option<Vec<Shaper>>,
    /// New probabilities of faults.
    pub faults: Option<Faults>,
    /// New middlebox at the entrance.
    pub strip: Option<Strip>,
    /// Down: nothing is transmitted; up again: transmission goes on.
    pub up: Option<bool>,
}

/// A link that anything but plain values is meant for is a station from the start.
const SIMPLE: &str = "only stations have models";

impl LinkChange {
    /// The rate of a model from `at` on.
    pub(crate) fn step(at: SimTime, link: LinkId, rate: BitsPerSecond) -> Self {
        Self { at, link, quiet: true, rate: Some(Part::Value(rate)), ..Self::default() }
    }

    /// Applies it to a simple link. Returns the packet that was cut off on the transmitter.
    pub fn apply(self, now: SimTime, link: &mut Fifo) -> Option<u32> {
        debug_assert!(self.shapers.is_none() && self.faults.is_none(), "{SIMPLE}");
        match self.rate {
            Some(Part::Value(rate)) => link.set_rate(now, rate),
            Some(Part::Model(_)) => unreachable!("{SIMPLE}"),
            None => {}
        }
        match self.delay {
            Some(Part::Value(delay)) => link.set_delay(now, delay),
            Some(Part::Model(_)) => unreachable!("{SIMPLE}"),
            None => {}
        }
        match self.queue {
            Some(Part::Value(queue)) => link.set_queue(queue),
            Some(Part::Model(_)) => unreachable!("{SIMPLE}"),
            None => {}
        }
        if let Some(loss) = self.loss {
            link.set_loss(loss);
        }
        self.up.and_then(|up| link.set_up(now, up))
    }

    /// Applies it to a station.
    pub fn apply_station(self, now: SimTime, station: &mut Station) {
        if let Some(rate) = self.rate {
            station.set_rate(now, rate.into_model());
        }
        if let Some(delay) = self.delay {
            station.set_delay(now, delay.into_model());
        }
        if let Some(queue) = self.queue {
            station.set_queue(now, queue.into_model());
        }
        if let Some(loss) = self.loss {
            station.set_loss(now, loss);
        }
        if let Some(shapers) = self.shapers {
            station.set_shapers(now, &shapers);
        }
        if let Some(faults) = self.faults {
            station.set_faults(now, faults);
        }
        if let Some(up) = self.up {
            station.set_up(now, up);
        }
    }
}

impl<V, M: ?Sized> Part<V, M> {
    /// A model of a constant becomes a plain value.
    pub(crate) fn simplified(self, value: impl Fn(&M) -> Option<V>) -> Self {
        match self {
            Self::Model(model) => value(&model).map_or(Self::Model(model), Self::Value),
            plain @ Self::Value(_) => plain,
        }
    }
}

impl Part<BitsPerSecond, dyn RateModel> {
    /// The model, or one of a constant.
    pub fn into_model(self) -> Box<dyn RateModel> {
        match self {
            Self::Value(rate) => Box::new(rate::ConstantRate::new(rate)),
            Self::Model(model) => model,
        }
    }
}

impl Part<Nanos, dyn DelayModel> {
    /// The model, or one of a constant.
    pub fn into_model(self) -> Box<dyn DelayModel> {
        match self {
            Self::Value(delay) => Box::new(delay::ConstantDelay(delay)),
            Self::Model(model) => model,
        }
    }
}

impl Part<QueueLimit, dyn QueueDiscipline> {
    /// The model, or one of a constant.
    pub fn into_model(self) -> Box<dyn QueueDiscipline> {
        match self {
            Self::Value(limit) => Box::new(DropTail::new(limit)),
            Self::Model(model) => model,
        }
    }
}

impl Link {
    /// When it must be called next.
    pub fn next_event(&self) -> SimTime {
        match self {
            Self::Fifo(link) => link.next_arrival(),
            Self::Station(station) => station.next_event(),
        }
    }

    /// Its counters up to `now`.
    pub fn counters(&mut self, now: SimTime) -> Counters {
        match self {
            Self::Fifo(link) => link.counters(now),
            Self::Station(station) => station.counters(),
        }
    }

    /// Packets that it holds.
    pub fn packets(&self) -> usize {
        match self {
            Self::Fifo(link) => link.packets(),
            Self::Station(station) => station.packets(),
        }
    }

    /// Packets and bytes that wait in front of it.
    pub fn queue_length(&mut self, now: SimTime) -> (u64, Bytes) {
        match self {
            Self::Fifo(link) => link.queue_length(now),
            Self::Station(station) => station.queue_length(),
        }
    }

    /// Its row at the end of a run.
    pub fn record(&mut self, end: SimTime) -> LinkRecord {
        let counters = self.counters(end);
        let utilisation = match self {
            Self::Fifo(link) => link.utilisation(end),
            Self::Station(station) => station.utilisation(end),
        };
        LinkRecord {
            packets: counters.packets,
            bytes: counters.bytes,
            utilisation,
            drops_queue: counters.drops_queue,
            drops_error: counters.drops_error,
            drops_down: counters.drops_down,
            drops_corrupt: counters.drops_corrupt,
            duplicated: counters.duplicated,
            marked: counters.marked,
            queue_delay_mean: counters.queue_delay_mean(),
            queue_delay_max: counters.queue_delay_max,
            queue_max: counters.queue_max,
        }
    }
}
