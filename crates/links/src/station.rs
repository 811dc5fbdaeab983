//! The general link direction: a queue discipline, token buckets, a transmitter whose rate may vary, a delay that may
//! vary, loss and faults.
//!
//! May: hold packets, and say what becomes of each and when. May not: schedule events (the owner asks for
//! [`Station::next_event`] after each call) or know what a packet means.
//!
//! Decisions are taken when they are due: a queue discipline chooses a packet when the transmitter is free, loss, faults and
//! delay are drawn when its last bit leaves. A packet costs its owner two events. After each call the owner reads
//! [`Station::swap_fates`]; when the link is looked at does not change it.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use engine::Stream;
use units::{Bytes, SimTime};

use crate::queue::{Context, Waiting};
use crate::rate::work_of;
use crate::shaper::TokenBucket;
use crate::{Counters, DelayModel, Faults, LossModel, Packet, QueueDiscipline, RateModel, Shaper};

/// Models of a link direction.
#[derive(Debug)]
pub struct Models {
    /// How fast bits are clocked.
    pub rate: Box<dyn RateModel>,
    /// How long packets travel.
    pub delay: Box<dyn DelayModel>,
    /// Which packets wait, and which goes next.
    pub queue: Box<dyn QueueDiscipline>,
    /// Which packets are lost; `None`: none.
    pub loss: Option<Box<dyn LossModel>>,
    /// Token buckets behind the queue: a packet leaves when all of them let it.
    pub shapers: Vec<Shaper>,
    /// Other faults.
    pub faults: Faults,
}

/// Random numbers of the link itself; its models have their own.
#[derive(Clone, Debug)]
pub struct Streams {
    /// For the loss model.
    pub loss: Stream,
    /// For faults.
    pub faults: Stream,
}

/// Decision about a packet, by its number. After all but `Marked` the packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped by the queue.
    Refused(u32),
    /// Marked by the queue: congestion experienced.
    Marked(u32),
    /// Lost after its transmission.
    Lost(u32),
    /// Damaged, and dropped at the far end.
    Corrupted(u32),
    /// Cut off on the transmitter when the link went down.
    CutOff(u32),
}

/// A packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub id: u32,
    /// A copy that the link made; the packet itself follows.
    pub copy: bool,
}

/// The packet on the transmitter.
#[derive(Clone, Copy, Debug)]
struct Sending {
    waiting: Waiting,
    start: SimTime,
    /// Last change of the rate model, and the work left then.
    since: SimTime,
    left: u128,
    end: SimTime,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    at: SimTime,
    arrival: Arrival,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Station {
    models: Models,
    buckets: Vec<TokenBucket>,
    streams: Streams,
    up: bool,
    sending: Option<Sending>,
    /// Taken out of the queue, waiting for tokens.
    held: Option<Waiting>,
    /// When to try again to start a transmission.
    wake: SimTime,
    /// In propagation, by arrival.
    flights: VecDeque<Flight>,
    /// Latest arrival of a packet that must not be overtaken.
    last_arrival: SimTime,
    fates: Vec<Fate>,
    counters: Counters,
    /// Work that earlier rate models allowed, and the capacity of the present one when it came.
    allowed: u128,
    capacity_at_change: u128,
}

impl Station {
    /// An idle link that is up.
    pub fn new(models: Models, streams: Streams) -> Self {
        Self {
            buckets: models.shapers.iter().map(|shaper| TokenBucket::new(*shaper, SimTime::ZERO)).collect(),
            models,
            streams,
            up: true,
            sending: None,
            held: None,
            wake: SimTime::NEVER,
            flights: VecDeque::new(),
            last_arrival: SimTime::ZERO,
            fates: Vec::new(),
            counters: Counters::default(),
            allowed: 0,
            capacity_at_change: 0,
        }
    }

    /// Offers `packet`. Its end on the link is a fate or an arrival.
    pub fn offer(&mut self, now: SimTime, packet: Packet) {
        debug_assert!(packet.size > 0, "packet without a size");
        self.advance(now);
        let idle = self.up && self.sending.is_none() && self.queue_length().0 == 0;
        self.ask_queue(now, |queue, context| {
            context.idle = idle;
            queue.enqueue(packet, context);
        });
        if self.sending.is_none() {
            self.start_next(now);
            self.advance(now);
        }
        self.counters.queue_max = self.counters.queue_max.max(self.queue_length().0);
        self.check();
    }

    /// When something happens by itself; `NEVER` if nothing does.
    pub fn next_event(&self) -> SimTime {
        let transmitter = self.sending.map_or(self.wake, |sending| sending.end);
        self.flights.front().map_or(transmitter, |flight| flight.at.min(transmitter))
    }

    /// Does what is due by `now`.
    pub fn advance(&mut self, now: SimTime) {
        loop {
            match self.sending {
                Some(sending) if sending.end <= now => {
                    self.sending = None;
                    self.depart(sending);
                    self.start_next(sending.end);
                }
                None if self.wake <= now => self.start_next(self.wake),
                _ => break,
            }
        }
        self.check();
        debug_assert!(self.sending.is_some() || self.wake > now, "a transmission is due at {}", self.wake);
    }

    fn check(&self) {
        if let Some(sending) = &self.sending {
            debug_assert!(self.up, "transmits while the link is down: {sending:?}");
            debug_assert!(self.wake.is_never(), "the transmitter is busy and would start at {}", self.wake);
            debug_assert!(self.held.is_none(), "{:?} waits for tokens behind a transmission", self.held);
            debug_assert!(
                sending.waiting.since <= sending.start && sending.start <= sending.since,
                "waits, starts, changes in this order: {sending:?}"
            );
            debug_assert!(sending.since <= sending.end, "a transmission of negative length: {sending:?}");
        }
        debug_assert!(
            self.flights.len() > 16 || self.flights.iter().is_sorted_by_key(|flight| flight.at),
            "packets in propagation are not in the order of arrival"
        );
        self.counters.check();
    }

    /// Takes out the next packet that has arrived by `now`. Call it until `None`: several may arrive at once.
    pub fn take_arrival(&mut self, now: SimTime) -> Option<Arrival> {
        self.advance(now);
        let flight = self.flights.front().filter(|flight| flight.at <= now)?;
        let arrival = flight.arrival;
        self.flights.pop_front();
        Some(arrival)
    }

    /// Exchanges what has been decided since the last call for `empty`.
    pub fn swap_fates(&mut self, empty: &mut Vec<Fate>) {
        std::mem::swap(&mut self.fates, empty);
    }

    /// Packets on the link: they wait, are transmitted or propagate. Copies that the link made have no number yet.
    pub fn packets(&self) -> usize {
        let (waiting, _) = self.queue_length();
        let propagating = self.flights.iter().filter(|flight| !flight.arrival.copy).count();
        waiting as usize + usize::from(self.sending.is_some()) + propagating
    }

    /// Packets and bytes that wait in front of the transmitter; the packet on it does not count.
    pub fn queue_length(&self) -> (u64, Bytes) {
        let (packets, bytes) = self.models.queue.length();
        match self.held {
            Some(held) => (packets + 1, bytes + Bytes(held.packet.size.into())),
            None => (packets, bytes),
        }
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bits of the packets that left the transmitter, over what the rate allowed until `now`, outages included. Zero
    /// at the start.
    pub fn utilisation(&mut self, now: SimTime) -> f64 {
        let allowed = self.allowed + self.models.rate.capacity(now) - self.capacity_at_change;
        if allowed == 0 {
            return 0.0;
        }
        let share = work_of(self.counters.bytes) as f64 / allowed as f64;
        debug_assert!(share <= 1.0 + 1e-9, "more bits have left than the rate allowed: {share}");
        share
    }

    /// From now on bits leave by another model. Bits of the packet on the transmitter that were sent stay sent.
    pub fn set_rate(&mut self, now: SimTime, mut rate: Box<dyn RateModel>) {
        self.advance(now);
        let old = &mut self.models.rate;
        if let Some(sending) = &mut self.sending {
            sending.left = sending.left.saturating_sub(old.served(sending.since, now));
            sending.since = now;
            sending.end = rate.end(now, sending.left);
        }
        self.allowed += old.capacity(now) - self.capacity_at_change;
        self.capacity_at_change = rate.capacity(now);
        self.models.rate = rate;
        self.resume(now);
    }

    /// From now on packets whose last bit has not left the transmitter travel by another model.
    pub fn set_delay(&mut self, now: SimTime, delay: Box<dyn DelayModel>) {
        self.advance(now);
        self.models.delay = delay;
    }

    /// Another queue discipline takes over what waits, whatever its limit.
    pub fn set_queue(&mut self, now: SimTime, mut queue: Box<dyn QueueDiscipline>) {
        self.advance(now);
        let before = self.models.queue.length();
        for waiting in self.models.queue.release() {
            queue.adopt(waiting);
        }
        debug_assert_eq!(self.models.queue.length(), (0, Bytes::ZERO), "a discipline keeps packets back");
        debug_assert_eq!(queue.length(), before, "packets are lost on the way to another discipline");
        self.models.queue = queue;
    }

    /// Another loss model for packets whose last bit has not left.
    pub fn set_loss(&mut self, now: SimTime, loss: Option<Box<dyn LossModel>>) {
        self.advance(now);
        self.models.loss = loss;
    }

    /// Other token buckets. Tokens of the first stay in the first as far as they fit, and so on; where there was none it
    /// begins full.
    pub fn set_shapers(&mut self, now: SimTime, shapers: &[Shaper]) {
        self.advance(now);
        let bucket = |(i, shaper): (usize, &Shaper)| match self.buckets.get(i) {
            Some(bucket) => bucket.with(*shaper, now),
            None => TokenBucket::new(*shaper, now),
        };
        self.buckets = shapers.iter().enumerate().map(bucket).collect();
        self.resume(now);
    }

    /// Other probabilities of faults for packets whose last bit has not left.
    pub fn set_faults(&mut self, now: SimTime, faults: Faults) {
        self.advance(now);
        self.models.faults = faults;
    }

    /// Down: the packet on the transmitter is cut off and lost, waiting packets stay, packets in propagation
    /// arrive, packets offered wait. Up again: what waits is transmitted.
    pub fn set_up(&mut self, now: SimTime, up: bool) {
        self.advance(now);
        if self.up == up {
            return;
        }
        self.up = up;
        self.wake = SimTime::NEVER;
        if let Some(cut) = self.sending.take() {
            self.counters.drops_down += 1;
            self.fates.push(Fate::CutOff(cut.waiting.packet.id));
        }
        self.resume(now);
    }

    /// Tries to start a transmission after a change, and does what is due at once.
    fn resume(&mut self, now: SimTime) {
        if self.sending.is_none() {
            self.start_next(now);
        }
        self.advance(now);
    }

    /// Lets the queue decide something, and counts what it decides.
    fn ask_queue<T>(
        &mut self,
        now: SimTime,
        ask: impl FnOnce(&mut dyn QueueDiscipline, &mut Context<'_>) -> T,
    ) -> T {
        let known = self.fates.len();
        let mut context = Context { now, idle: false, fates: &mut self.fates };
        let answer = ask(&mut *self.models.queue, &mut context);
        for fate in &self.fates[known..] {
            match fate {
                Fate::Marked(_) => self.counters.marked += 1,
                _ => self.counters.drops_queue += 1,
            }
        }
        answer
    }

    /// Begins the next transmission at `at`, when the transmitter is free, or sets `wake`.
    fn start_next(&mut self, at: SimTime) {
        self.wake = SimTime::NEVER;
        if !self.up || self.queue_length().0 == 0 {
            return;
        }
        // The queue decides as late as possible: not before a bit can leave.
        let ready = self.models.rate.ready(at);
        debug_assert!(ready >= at, "the rate allows a transmission at {ready}, before {at}");
        if ready > at {
            self.wake = ready;
            return;
        }
        let held = self.held.take();
        let Some(waiting) = held.or_else(|| self.ask_queue(at, |queue, context| queue.dequeue(context)))
        else {
            return;
        };
        let size = Bytes(waiting.packet.size.into());
        let work = work_of(size);
        let tokens = self.buckets.iter_mut().fold(at, |latest, bucket| latest.max(bucket.ready(at, size)));
        if tokens > at {
            (self.held, self.wake) = (Some(waiting), tokens);
            return;
        }
        let end = self.models.rate.end(at, work);
        debug_assert!(end >= at, "a transmission from {at} to {end}");
        let carried = self.models.delay.ready(at, end);
        if carried > at {
            (self.held, self.wake) = (Some(waiting), carried);
            return;
        }
        for bucket in &mut self.buckets {
            bucket.take(at, size);
        }
        self.models.queue.transmitted(end.since(at));
        self.sending = Some(Sending { waiting, start: at, since: at, left: work, end });
    }

    /// The last bit of a packet has left the transmitter. Every packet draws the same numbers, whatever becomes of it.
    fn depart(&mut self, sending: Sending) {
        let Sending { waiting: Waiting { packet, since }, start, end, .. } = sending;
        let size = Bytes(packet.size.into());
        self.counters.departure(size, start.since(since));
        let loss = self.models.loss.as_mut();
        let lost = loss.is_some_and(|loss| loss.is_lost(end, size, &mut self.streams.loss));
        let lost = self.models.delay.loses(end) || lost;
        let fault = self.models.faults.draw(&mut self.streams.faults);
        let delay = self.models.delay.delay(end);
        if lost {
            self.counters.drops_error += 1;
            return self.fates.push(Fate::Lost(packet.id));
        }
        if fault.corrupt {
            self.counters.drops_corrupt += 1;
            return self.fates.push(Fate::Corrupted(packet.id));
        }
        let mut at = end + delay;
        match fault.held {
            Some(held) => at += held,
            None => {
                if !self.models.delay.reorders() {
                    at = at.max(self.last_arrival);
                }
                self.last_arrival = self.last_arrival.max(at);
            }
        }
        if fault.duplicate {
            self.counters.duplicated += 1;
            self.fly(at, Arrival { id: packet.id, copy: true });
        }
        self.fly(at, Arrival { id: packet.id, copy: false });
    }

    /// Adds an arrival behind all that are no later.
    fn fly(&mut self, at: SimTime, arrival: Arrival) {
        let flight = Flight { at, arrival };
        if self.flights.back().is_none_or(|last| last.at <= at) {
            return self.flights.push_back(flight);
        }
        let index = self.flights.partition_point(|other| other.at <= at);
        debug_assert!(index < self.flights.len(), "behind all others it is pushed");
        self.flights.insert(index, flight);
    }

    /// Packets in propagation.
    #[cfg(test)]
    fn in_propagation(&self) -> usize {
        self.flights.iter().filter(|flight| !flight.arrival.copy).count()
    }
}
