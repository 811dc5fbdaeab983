//! A way from a terminal up to a satellite and down to a gateway: its delay and its gaps as functions of time.
//!
//! Within a slot the delay is interpolated between knots 100 ms apart. Light needs a few milliseconds, in which a
//! satellite in low orbit moves by tens of metres; both hops are taken at the same instant, and so is either direction.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Nanos, SimTime};

use crate::constellation::Constellation;
use crate::earth::GroundStation;
use crate::quantities::Kilometres;
use crate::serving::{Choice, Service};

/// Distance of the knots. The second derivative of the delay over a satellite in low orbit is below 1 us/s², which
/// bounds the error of the interpolation by 1.25 ns.
const KNOTS: Nanos = Nanos::from_millis(100);
/// How many slots a search for the next change goes ahead.
const LOOK_AHEAD: u64 = 1000;
/// Slots before the one asked for that are kept at least, of up to twice as many.
const KEPT: u64 = 4 * LOOK_AHEAD;
/// Satellites that a search that may be continued looks at, so that a run can be interrupted in between.
const LOOKED_AT: u64 = 2_000_000;

/// Service of a pair of stations at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A satellite that carries.
    Up {
        /// Its number in the constellation.
        satellite: usize,
        /// One way from station to station.
        delay: Nanos,
    },
    /// A new satellite is taking over.
    HandOver {
        /// Its number.
        satellite: usize,
        /// When it carries.
        until: SimTime,
    },
    /// No satellite that both stations see high enough.
    Gap {
        /// Nothing changes before this instant; then ask again.
        until: SimTime,
    },
}

/// Two stations and their satellites.
#[derive(Clone, Debug)]
pub struct BentPipe {
    sky: Arc<Constellation>,
    stations: [GroundStation; 2],
    service: Service,
    /// The satellite of each slot from `first` on, as far as it has been asked for.
    serving: VecDeque<Option<usize>>,
    /// The slot of the first entry of `serving`.
    first: u64,
    knot: Knot,
}

/// One stretch of the piecewise linear delay, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Knot {
    from: SimTime,
    until: SimTime,
    satellite: usize,
    start: f64,
    slope: f64,
}

impl BentPipe {
    /// # Panics
    /// If the phase or the outage is not shorter than the slot.
    pub fn new(sky: Arc<Constellation>, stations: [GroundStation; 2], service: Service) -> Self {
        assert!(service.phase < service.slot && service.outage < service.slot, "{service:?}");
        let knot = Knot { from: SimTime::ZERO, until: SimTime::ZERO, satellite: 0, start: 0.0, slope: 0.0 };
        Self { sky, stations, service, serving: VecDeque::new(), first: 0, knot }
    }

    /// The service at `t`. Cheap within 100 ms of the last question; any order of times gives the same answers.
    pub fn at(&mut self, t: SimTime) -> Sight {
        if t >= self.knot.from && t < self.knot.until {
            return self.on_knot(t);
        }
        if t.is_never() {
            return Sight::Gap { until: t };
        }
        let slot = self.service.slot_of(t);
        let Some(satellite) = self.serves(slot) else {
            return Sight::Gap { until: self.change_after(slot) };
        };
        let begin = self.service.begin(slot);
        if self.takes_over(slot) && t < begin + self.service.outage {
            return Sight::HandOver { satellite, until: begin + self.service.outage };
        }
        self.knot = self.stretch(satellite, slot, t);
        self.on_knot(t)
    }

    /// The first instant not before `t` at which a satellite carries; `NEVER` if there is none for a thousand slots.
    pub fn next_up(&mut self, t: SimTime) -> SimTime {
        self.next_up_within(t, LOOK_AHEAD)
    }

    /// [`Self::next_up`] for a search that goes on at the second instant where the first is `NEVER`: it takes little
    /// time, however many satellites there are.
    pub fn next_up_or_again(&mut self, t: SimTime) -> (SimTime, SimTime) {
        let slots = LOOK_AHEAD.min((LOOKED_AT / self.sky.len().max(1) as u64).max(1));
        (self.next_up_within(t, slots), self.service.begin(self.service.slot_of(t) + slots))
    }

    /// True if a satellite carries at `t`.
    pub fn carries(&mut self, t: SimTime) -> bool {
        self.next_up_within(t, 0) == t && !t.is_never()
    }

    fn next_up_within(&mut self, t: SimTime, slots: u64) -> SimTime {
        if t >= self.knot.from && t < self.knot.until {
            return t;
        }
        if t.is_never() {
            return t;
        }
        let first = self.service.slot_of(t);
        let Some(slot) = (first..=first + slots).find(|slot| self.serves(*slot).is_some()) else {
            return SimTime::NEVER;
        };
        let begin = self.service.begin(slot);
        if self.takes_over(slot) { t.max(begin + self.service.outage) } else { t.max(begin) }
    }

    /// End of the slot that holds `t`; the satellite that serves at `t` serves until then.
    pub fn slot_end(&self, t: SimTime) -> SimTime {
        self.service.begin(self.service.slot_of(t) + 1)
    }

    fn on_knot(&self, t: SimTime) -> Sight {
        let knot = &self.knot;
        debug_assert!(
            (knot.from..knot.until).contains(&t),
            "{t} is not between {} and {}",
            knot.from,
            knot.until
        );
        let nanos = knot.start + knot.slope * t.since(knot.from).0 as f64;
        debug_assert!(nanos > 0.0, "a signal arrives before it leaves: {knot:?}");
        Sight::Up { satellite: knot.satellite, delay: Nanos((nanos + 0.5) as u64) }
    }

    /// The stretch of the slot's delay that holds `t`.
    fn stretch(&self, satellite: usize, slot: u64, t: SimTime) -> Knot {
        let (begin, end) = (self.service.begin(slot), self.service.begin(slot + 1));
        let step = (t.since(begin).0 / KNOTS.0) * KNOTS.0;
        let from = begin + Nanos(step);
        let delay = |t: SimTime| self.delay(satellite, t);
        let start = delay(from);
        let slope = (delay(from + KNOTS) - start) / KNOTS.0 as f64;
        // An outage at the beginning of the slot is not part of any stretch.
        let open = if self.takes(slot) { begin + self.service.outage } else { begin };
        let shift = open.since(from).0;
        debug_assert!(
            from <= t && t < from + KNOTS && shift < KNOTS.0,
            "knots from {from} on do not hold {t}"
        );
        let start = start + slope * shift as f64;
        Knot { from: from + Nanos(shift), until: end.min(from + KNOTS), satellite, start, slope }
    }

    /// From station to station in nanoseconds.
    fn delay(&self, satellite: usize, t: SimTime) -> f64 {
        let at = self.sky.position(satellite, t.as_secs_f64());
        let at = at.expect("a satellite that stands above the horizon has not decayed");
        let [up, down] = self.stations.map(|station| Kilometres(station.look(at).1));
        (up + down).light_nanos()
    }

    fn serves(&mut self, slot: u64) -> Option<usize> {
        let end = self.first + self.serving.len() as u64;
        let forgotten = slot <= self.first && self.first > 0;
        // The highest satellite does not depend on earlier slots: those in between are left out.
        if self.service.choice == Choice::Highest && (slot > end || forgotten) {
            self.serving.clear();
            self.first = slot.saturating_sub(1);
        } else if forgotten {
            self.serving.clear();
            self.first = 0;
        }
        while self.first + self.serving.len() as u64 <= slot {
            let next = self.first + self.serving.len() as u64;
            let previous = self.serving.back().copied().flatten();
            let chosen = self.service.choose(&self.sky, &self.stations, next, previous);
            self.serving.push_back(chosen);
            if self.serving.len() as u64 > 2 * KEPT {
                self.serving.drain(..KEPT as usize);
                self.first += KEPT;
            }
        }
        let chosen = self.serving[(slot - self.first) as usize];
        debug_assert!(
            chosen.is_none_or(|satellite| satellite < self.sky.len()),
            "no such satellite: {chosen:?}"
        );
        chosen
    }

    /// True if the satellite of `slot` is not that of the slot before. The first slot of a run takes nothing over.
    fn takes_over(&mut self, slot: u64) -> bool {
        self.serves(slot);
        self.takes(slot)
    }

    /// [`Self::takes_over`] of a slot that has been asked for.
    fn takes(&self, slot: u64) -> bool {
        let of = |slot: u64| self.serving[(slot - self.first) as usize];
        slot > self.service.slot_of(SimTime::ZERO) && of(slot) != of(slot - 1)
    }

    /// Beginning of the first slot after `slot` with another satellite, or of the last one looked at.
    fn change_after(&mut self, slot: u64) -> SimTime {
        let present = self.serves(slot);
        let last = slot + LOOK_AHEAD;
        let mut next = slot + 1;
        while next < last && self.serves(next) == present {
            next += 1;
        }
        self.service.begin(next)
    }
}

#[cfg(test)]
mod tests;
