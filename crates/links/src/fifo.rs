//! The simple link direction: a FIFO transmitter behind a drop-tail queue, constant rate and delay between changes, loss.
//!
//! May: hold packet numbers and sizes, and say when each arrives. May not: schedule events (the owner asks for
//! [`Fifo::next_arrival`] after each call) or know what a packet means.
//!
//! When a packet is offered, everything about it is known: when its transmission starts and ends, when it
//! arrives, whether it is lost. One ring holds all packets that wait, are on the transmitter or in propagation,
//! in this order from back to front, so a packet costs its owner one event. Counters are updated when a packet leaves the
//! ring; [`Fifo::counters`] adds the packets still in the ring that have departed.

#[cfg(test)]
mod tests;

use engine::Stream;
use rings::Ring;
use units::{BitsPerSecond, Bytes, Nanos, QueueLimit, SimTime};

use crate::rate::WORK_PER_BYTE;
use crate::{Counters, LossModel};

/// Outcome of offering a packet to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It will come out of `take_arrival`, unless the link goes down while it is being transmitted.
    Accepted,
    /// Refused: the queue is full.
    QueueFull,
    /// It takes its place in the queue and its time on the transmitter, but will never come out.
    LostInTransit,
}

/// Physical parameters of a link direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Serialisation rate, not zero.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Nanos,
    /// Limit of the queue in front of the transmitter.
    pub queue: QueueLimit,
}

/// One packet on the link. While the link is down, the times of waiting packets are `NEVER`.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    offered: SimTime,
    /// First bit enters the transmitter.
    start: SimTime,
    /// Last bit leaves the transmitter.
    depart: SimTime,
    /// Instant of arrival; for a lost packet that of the last packet before it that is not lost.
    arrival: SimTime,
    size: u32,
    id: u32,
    lost: bool,
}

impl Entry {
    /// It has left the transmitter.
    fn count(&self, counters: &mut Counters) {
        counters.departure(Bytes(self.size.into()), self.start - self.offered);
        counters.drops_error += u64::from(self.lost);
    }
}

/// Progress of a transmission during which the rate changed.
#[derive(Clone, Copy, Debug)]
struct Partial {
    /// Identifies the packet: transmissions take time, so no two start at the same instant.
    start: SimTime,
    /// Last change of the rate.
    since: SimTime,
    /// Work left at that instant.
    work: u128,
}

/// The loss model and its random numbers.
#[derive(Debug)]
struct LossDraws {
    model: Option<Box<dyn LossModel>>,
    stream: Stream,
    /// No draw is for an earlier instant than the one before.
    drawn_at: SimTime,
}

impl LossDraws {
    /// One draw per packet, in the order of transmission, whatever becomes of the packet afterwards.
    fn draw(&mut self, at: SimTime, size: Bytes) -> bool {
        let Some(model) = &mut self.model else { return false };
        self.drawn_at = self.drawn_at.max(at);
        model.is_lost(self.drawn_at, size, &mut self.stream)
    }
}

/// Integral of the rate up to `since`, in work units.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    work: u128,
    since: SimTime,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Fifo {
    parameters: Parameters,
    up: bool,
    losses: LossDraws,
    /// Packets in FIFO order: in propagation, then at most one on the transmitter, then the waiting.
    ring: Ring<Entry>,
    /// Packets before this number do not wait: no fewer, and exactly these after `note_starts`, which is called before more
    /// depends on it. One pass over those that have started meanwhile costs less than a look at each offer.
    started: usize,
    /// Number of the first packet that is not lost, and when it arrives: `NEVER` if there is none.
    first_live: usize,
    next_arrival: SimTime,
    /// Arrival of the last packet taken out of the ring.
    taken_arrival: SimTime,
    /// Bytes of the packets behind the first `started`.
    waiting_bytes: Bytes,
    /// Departure and arrival of the last packet in the ring; without one a past departure and `taken_arrival`.
    last: (SimTime, SimTime),
    /// The last size, and the time that it takes to send: most packets of a direction are of one size.
    sized: (Bytes, Nanos),
    /// Boxed: rarely there, and a link is read for each packet.
    partial: Option<Box<Partial>>,
    /// Counts packets that have left the ring, and those that never entered it.
    counters: Counters,
    allowed: Allowed,
}

impl Fifo {
    /// An idle link that is up. `loss` draws from `stream` once per packet; `None`: nothing is lost.
    pub fn new(parameters: Parameters, loss: Option<Box<dyn LossModel>>, stream: Stream) -> Self {
        Self {
            parameters,
            up: true,
            losses: LossDraws { model: loss, stream, drawn_at: SimTime::ZERO },
            ring: Ring::default(),
            started: 0,
            first_live: 0,
            next_arrival: SimTime::NEVER,
            taken_arrival: SimTime::ZERO,
            waiting_bytes: Bytes::ZERO,
            last: (SimTime::ZERO, SimTime::ZERO),
            sized: (Bytes::ZERO, Nanos::ZERO),
            partial: None,
            counters: Counters::default(),
            allowed: Allowed { work: 0, since: SimTime::ZERO },
        }
    }

    /// Offers the packet `id` of `size` bytes (not zero, below 4 GiB).
    ///
    /// Mostly nothing is lost, the time for this size is known and the ring has a place: then nothing is called, and no register saved.
    #[inline(never)]
    pub fn offer(&mut self, now: SimTime, size: Bytes, id: u32) -> Offered {
        let plain = self.losses.model.is_none() && self.sized.0 == size && !self.ring.is_full();
        if plain && self.first_live == self.ring.first() {
            self.take_in::<false>(now, size, id)
        } else {
            self.offer_any(now, size, id)
        }
    }

    #[inline(never)]
    fn offer_any(&mut self, now: SimTime, size: Bytes, id: u32) -> Offered {
        if self.first_live > self.ring.first() {
            self.settle(now);
        }
        if self.ring.is_full() {
            self.ring.grow(Entry::default());
        }
        if self.sized.0 != size {
            self.sized = (size, self.parameters.rate.time_to_send(size));
        }
        self.take_in::<true>(now, size, id)
    }

    /// There is a place in the ring, and the time to send `size` bytes is known. `LOSES`: there may be a loss model.
    #[inline(always)]
    fn take_in<const LOSES: bool>(&mut self, now: SimTime, size: Bytes, id: u32) -> Offered {
        debug_assert!(size.0 > 0 && size.0 <= u64::from(u32::MAX), "packet of {size}");
        debug_assert_eq!(self.sized, (size, self.parameters.rate.time_to_send(size)), "of another rate");
        let (free, previous) = self.last;
        let free = if self.up { free } else { SimTime::NEVER };
        let starts_now = free <= now;
        if !starts_now && !self.admits(now, size) {
            self.counters.drops_queue += 1;
            return Offered::QueueFull;
        }
        let start = free.max(now);
        let depart = start + self.sized.1;
        let lost = LOSES && self.losses.draw(if self.up { depart } else { now }, size);
        let arrival = if lost { previous } else { (depart + self.parameters.delay).max(previous) };
        if self.first_live == self.ring.next() {
            if lost {
                self.first_live += 1;
            } else {
                self.next_arrival = arrival;
            }
        }
        self.ring.push_within(Entry { offered: now, start, depart, arrival, size: size.0 as u32, id, lost });
        self.last = (depart, arrival);
        if starts_now {
            // So have all before it.
            self.started = self.ring.next();
            self.waiting_bytes = Bytes::ZERO;
        } else {
            self.waiting_bytes += size;
        }
        self.check();
        if lost { Offered::LostInTransit } else { Offered::Accepted }
    }

    /// True if a packet of `size` bytes that must wait has room in the queue; then it is counted as waiting.
    #[inline(always)]
    fn admits(&mut self, now: SimTime, size: Bytes) -> bool {
        // Mostly it has room and is not the longest queue so far even if no packet has started since the last look.
        if self.waiting() >= self.counters.queue_max || !self.has_room(size) {
            self.note_starts(now);
            if !self.has_room(size) {
                return false;
            }
            self.counters.queue_max = self.counters.queue_max.max(self.waiting() + 1);
        }
        true
    }

    fn has_room(&self, size: Bytes) -> bool {
        self.parameters.queue.admits(self.waiting(), self.waiting_bytes, size)
    }

    /// When the next packet arrives at the far end; `NEVER` if none is under way.
    pub fn next_arrival(&self) -> SimTime {
        self.next_arrival
    }

    /// Takes out the next packet that has arrived by `now`. Call it until `None`: several may arrive at once.
    #[inline(always)]
    pub fn take_arrival(&mut self, now: SimTime) -> Option<u32> {
        if self.next_arrival > now {
            return None;
        }
        // Usually its start has been noticed with that of an earlier packet.
        if self.started <= self.first_live {
            self.note_starts(now);
        }
        // Packets stay in order, so all in front of it are lost and have left the transmitter.
        while self.first_live > self.ring.first() {
            self.drop_front();
        }
        let id = self.drop_front();
        self.first_live = self.ring.first();
        match self.ring.front() {
            Some(next) if !next.lost => self.next_arrival = next.arrival,
            _ => self.find_live(),
        }
        self.check();
        Some(id)
    }

    /// Finds the first packet that is not lost, behind those that are known to be.
    #[inline(never)]
    fn find_live(&mut self) {
        while let Some(entry) = self.ring.get(self.first_live) {
            if !entry.lost {
                self.next_arrival = entry.arrival;
                return;
            }
            self.first_live += 1;
        }
        self.next_arrival = SimTime::NEVER;
    }

    /// Packets on the link: they wait, are transmitted or propagate, and will arrive.
    pub fn packets(&self) -> usize {
        self.ring.iter().filter(|entry| !entry.lost).count()
    }

    /// Packets and bytes that wait in front of the transmitter; the packet on it does not count.
    pub fn queue_length(&mut self, now: SimTime) -> (u64, Bytes) {
        self.settle(now);
        (self.waiting(), self.waiting_bytes)
    }

    /// Counters up to `now`.
    pub fn counters(&self, now: SimTime) -> Counters {
        let mut counters = self.counters;
        for entry in self.ring.iter().take_while(|entry| entry.depart <= now) {
            entry.count(&mut counters);
        }
        counters
    }

    /// Bits of the packets that left the transmitter, over the integral of the rate from the start to `now`
    /// (outages included: a link that is down half of the time reaches one half at most). Zero at the start.
    pub fn utilisation(&self, now: SimTime) -> f64 {
        let allowed = self.allowed.work + self.work_since(self.allowed.since, now);
        if allowed == 0 {
            return 0.0;
        }
        let share = self.counters(now).bytes.as_f64() * WORK_PER_BYTE as f64 / allowed as f64;
        debug_assert!(share <= 1.0 + 1e-9, "more bits have left than the rate allowed: {share}");
        share
    }

    /// From now on bits leave at `rate` (not zero). Bits of the packet on the transmitter that were sent stay
    /// sent; the rest of it and the waiting packets go at the new rate.
    pub fn set_rate(&mut self, now: SimTime, rate: BitsPerSecond) {
        self.settle(now);
        let departed = self.departed(now);
        if departed < self.started
            && let Some(entry) = self.ring.get(departed).copied()
        {
            let (since, work) = match &self.partial {
                Some(partial) if partial.start == entry.start => (partial.since, partial.work),
                _ => (entry.start, u128::from(entry.size) * WORK_PER_BYTE),
            };
            let done = self.work_since(since, now);
            debug_assert!(done < work, "the transmission of {entry:?} is over at {now}");
            let left = work - done;
            self.partial = Some(Box::new(Partial { start: entry.start, since: now, work: left }));
            let time = Nanos(u64::try_from(left.div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX));
            self.ring.get_mut(departed).expect("it is there").depart = now + time;
        }
        self.allowed =
            Allowed { work: self.allowed.work + self.work_since(self.allowed.since, now), since: now };
        self.parameters.rate = rate;
        self.sized = (Bytes::ZERO, Nanos::ZERO);
        self.reschedule(now);
    }

    /// From now on packets whose last bit has not left the transmitter travel for `delay`. FIFO order is kept when the
    /// delay shrinks: a packet that would overtake arrives at the same instant as its predecessor.
    pub fn set_delay(&mut self, now: SimTime, delay: Nanos) {
        self.settle(now);
        self.parameters.delay = delay;
        self.reschedule(now);
    }

    /// New queue limit for packets offered from now on; what waits stays.
    pub fn set_queue(&mut self, queue: QueueLimit) {
        self.parameters.queue = queue;
    }

    /// New loss model for packets offered from now on; the fate of the others is known already.
    pub fn set_loss(&mut self, loss: Option<Box<dyn LossModel>>) {
        self.losses.model = loss;
    }

    /// Down: the packet on the transmitter is cut off and lost, waiting packets stay, packets in propagation
    /// arrive, packets offered wait. Up again: what waits is transmitted. Returns the packet that was cut off,
    /// unless its loss had been announced when it was offered.
    pub fn set_up(&mut self, now: SimTime, up: bool) -> Option<u32> {
        if self.up == up {
            return None;
        }
        self.settle(now);
        self.up = up;
        let departed = self.departed(now);
        let cut = (departed < self.started).then(|| self.ring.remove(departed)).flatten();
        if let Some(entry) = cut {
            self.started -= 1;
            // The next one may start at the same instant.
            self.partial = None;
            self.counters.drops_down += 1;
            self.first_live = self.ring.first();
            debug_assert!(!up, "nothing is transmitted while a link is down: {entry:?}");
        }
        self.reschedule(now);
        cut.filter(|entry| !entry.lost).map(|entry| entry.id)
    }

    fn waiting(&self) -> u64 {
        (self.ring.next() - self.started) as u64
    }

    /// Work that the present rate does from `since` to `now`.
    fn work_since(&self, since: SimTime, now: SimTime) -> u128 {
        u128::from(self.parameters.rate.0) * u128::from(now.since(since).0)
    }

    /// Number of the first packet that is not in propagation.
    fn departed(&self, now: SimTime) -> usize {
        self.ring.partition_point(|entry| entry.depart <= now)
    }

    /// Brings the ring up to `now`: notes which packets have started, and takes out lost ones in front that have left.
    fn settle(&mut self, now: SimTime) {
        self.note_starts(now);
        if self.first_live > self.ring.first() {
            self.drop_lost(now);
        }
    }

    /// Notes which packets have started by `now`.
    #[inline]
    fn note_starts(&mut self, now: SimTime) {
        while let Some(entry) = self.ring.get(self.started)
            && entry.start <= now
        {
            self.started += 1;
            self.waiting_bytes -= Bytes(entry.size.into());
        }
    }

    /// Takes out lost packets that have left the transmitter, up to the next to arrive.
    #[cold]
    fn drop_lost(&mut self, now: SimTime) {
        while self.first_live > self.ring.first()
            && self.ring.front().is_some_and(|entry| entry.depart <= now)
        {
            self.drop_front();
        }
    }

    /// Takes the first packet, which has left the transmitter, out of the ring, and returns what its owner calls it.
    #[inline(always)]
    fn drop_front(&mut self) -> u32 {
        let entry = self.ring.front().expect("only called for a packet in the ring");
        entry.count(&mut self.counters);
        debug_assert!(entry.arrival >= self.taken_arrival, "{entry:?} arrives before {}", self.taken_arrival);
        self.taken_arrival = entry.arrival;
        let id = entry.id;
        self.ring.drop_front();
        id
    }

    /// Computes anew all times that a change of a parameter at `now` may move.
    fn reschedule(&mut self, now: SimTime) {
        let mut free = if self.up { now } else { SimTime::NEVER };
        let departed = self.departed(now);
        let in_front = departed.checked_sub(1).and_then(|before| self.ring.get(before));
        let mut previous = in_front.map_or(self.taken_arrival, |entry| entry.arrival);
        for number in departed..self.ring.next() {
            let Some(entry) = self.ring.get_mut(number) else { break };
            if number >= self.started {
                entry.start = free;
                entry.depart = free + self.parameters.rate.time_to_send(Bytes(entry.size.into()));
            }
            entry.arrival =
                if entry.lost { previous } else { (entry.depart + self.parameters.delay).max(previous) };
            (free, previous) = (entry.depart, entry.arrival);
        }
        self.last =
            self.ring.back().map_or((SimTime::ZERO, self.taken_arrival), |last| (last.depart, last.arrival));
        self.find_live();
        self.check();
        self.check_ring();
    }

    /// Invariants that one look at the ends of the ring tells; a short ring is checked as a whole.
    fn check(&self) {
        debug_assert!(
            self.started <= self.ring.next(),
            "{} of {} packets have started",
            self.started,
            self.ring.next()
        );
        debug_assert!(
            (self.ring.first()..=self.ring.next()).contains(&self.first_live),
            "first at {} of {}",
            self.first_live,
            self.ring.next()
        );
        debug_assert_eq!(
            self.next_arrival,
            self.ring.get(self.first_live).map_or(SimTime::NEVER, |entry| entry.arrival),
            "the next arrival is that of the first packet that is not lost"
        );
        debug_assert!(
            self.ring.get(self.first_live).is_none_or(|entry| !entry.lost),
            "a lost packet does not arrive"
        );
        debug_assert_eq!(
            self.waiting() == 0,
            self.waiting_bytes == Bytes::ZERO,
            "bytes of packets that wait"
        );
        debug_assert_eq!(
            self.last.1,
            self.ring.back().map_or(self.taken_arrival, |entry| entry.arrival),
            "the last arrival is that of the packet at the back"
        );
        debug_assert!(
            self.ring.back().is_none_or(|entry| entry.depart == self.last.0),
            "the last departure is that of the packet at the back"
        );
        debug_assert!(
            self.ring.front().is_none_or(|entry| entry.arrival >= self.taken_arrival),
            "a packet overtakes the one that arrived at {}",
            self.taken_arrival
        );
        if cfg!(debug_assertions) && self.ring.len() <= 16 {
            self.check_ring();
        }
    }

    /// Invariants of all packets.
    fn check_ring(&self) {
        debug_assert!(self.ring.iter().is_sorted_by_key(|entry| entry.depart), "packets leave in order");
        debug_assert!(self.ring.iter().is_sorted_by_key(|entry| entry.arrival), "packets arrive in order");
        debug_assert!(
            self.ring.iter().all(|entry| entry.offered <= entry.start),
            "sent before it was offered"
        );
        debug_assert!(
            self.ring.iter().take(self.first_live - self.ring.first()).all(|entry| entry.lost),
            "a packet in front of the next to arrive is not lost"
        );
        let waiting = || {
            self.ring.iter().skip(self.started - self.ring.first()).map(|entry| u64::from(entry.size)).sum()
        };
        debug_assert_eq!(
            Bytes(waiting()),
            self.waiting_bytes,
            "bytes of the {} packets that wait",
            self.waiting()
        );
    }
}
