//! Which satellite serves a pair of stations: the choice is made anew at every slot of a fixed length, as constellations
//! with a central scheduler do (Starlink: every 15 s; Tanveer et al., "Making Sense of Constellations", CoNEXT
//! Companion 2023; D-66).
//!
//! A satellite may serve a slot if both stations see it above the minimum elevation at its beginning and at its end; an
//! elevation has a single maximum during a pass, so it is above all the time.

use units::{Nanos, SimTime};

use crate::constellation::Constellation;
use crate::earth::GroundStation;
use crate::quantities::Degrees;

/// How far ahead the choice of the longest visible satellite looks; beyond, all are alike.
const HORIZON: f64 = 7200.0;
/// Its resolution, or one slot if that is longer.
const STRIDE: f64 = 5.0;

/// By what a satellite is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one that stands highest over the first station at the beginning of each slot.
    Highest,
    /// Keep the present one as long as it can serve; then the one that can serve longest.
    Longest,
}

/// How a pair of stations is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Both stations must see the satellite at least this high.
    pub min_elevation: Degrees,
    /// The choice is made anew this often.
    pub slot: Nanos,
    /// A slot begins this long after the start of the run; shorter than `slot`.
    pub phase: Nanos,
    /// After each change of the satellite nothing is carried for this long; shorter than `slot`.
    pub outage: Nanos,
    /// By what it is chosen.
    pub choice: Choice,
    /// 1: the best; 2: the second best, as for a second terminal beside the first; the last if there are fewer.
    pub rank: usize,
}

impl Service {
    /// Number of the slot that holds `t`. The slot of the start is 0 or 1.
    pub(crate) fn slot_of(&self, t: SimTime) -> u64 {
        debug_assert!(self.phase < self.slot, "a phase of {} in slots of {}", self.phase, self.slot);
        (t.0.saturating_add(self.slot.0 - self.phase.0)) / self.slot.0
    }

    /// Beginning of a slot; that of slot 0 may lie before the start, where time stands still.
    pub(crate) fn begin(&self, slot: u64) -> SimTime {
        SimTime((slot * self.slot.0 + self.phase.0).saturating_sub(self.slot.0))
    }

    /// The satellite that serves `slot`, if `previous` served the one before.
    pub(crate) fn choose(
        &self,
        sky: &Constellation,
        stations: &[GroundStation; 2],
        slot: u64,
        previous: Option<usize>,
    ) -> Option<usize> {
        let [begin, end] = [slot, slot + 1].map(|slot| self.begin(slot).as_secs_f64());
        debug_assert!(begin <= end, "slot {slot} from {begin} s to {end} s");
        let sin = self.min_elevation.sin();
        let serves = |satellite: usize| {
            let lowest = elevation(sky, stations, satellite, begin)?;
            (lowest.1 >= sin && elevation(sky, stations, satellite, end)?.1 >= sin).then_some(lowest.0)
        };
        if let (Choice::Longest, Some(previous)) = (self.choice, previous)
            && serves(previous).is_some()
        {
            return Some(previous);
        }
        let mut all: Vec<(f64, usize)> = (0..sky.len()).filter_map(|s| Some((serves(s)?, s))).collect();
        if self.choice == Choice::Longest {
            self.by_remaining(sky, stations, &mut all, end);
        }
        // Ties go to the lower number: the sort is stable.
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        debug_assert!(all.is_sorted_by(|a, b| a.0 >= b.0), "the best satellite is not the first: {all:?}");
        let rank = self.rank.min(all.len()).checked_sub(1)?;
        Some(all[rank].1)
    }

    /// Gives each satellite the time that it can still serve as its merit, and leaves out those that cannot be chosen:
    /// none serves longer than up to the horizon, and ties go to the lower number.
    fn by_remaining(
        &self,
        sky: &Constellation,
        stations: &[GroundStation; 2],
        all: &mut Vec<(f64, usize)>,
        from: f64,
    ) {
        let mut best = 0;
        for at in 0..all.len() {
            all[at].0 = self.remaining(sky, stations, all[at].1, from);
            best += usize::from(all[at].0 >= HORIZON);
            if best == self.rank {
                all.truncate(at + 1);
                return;
            }
        }
    }

    /// How long after `from` a satellite can still serve, in strides.
    fn remaining(
        &self,
        sky: &Constellation,
        stations: &[GroundStation; 2],
        satellite: usize,
        from: f64,
    ) -> f64 {
        let stride = STRIDE.max(self.slot.as_secs_f64());
        let sin = self.min_elevation.sin();
        let mut time = 0.0;
        while time < HORIZON
            && elevation(sky, stations, satellite, from + time).is_some_and(|(_, low)| low >= sin)
        {
            time += stride;
        }
        time
    }
}

/// Sines of the elevation at the first station, and of the lower of both; `None` if the satellite has decayed.
fn elevation(
    sky: &Constellation,
    stations: &[GroundStation; 2],
    satellite: usize,
    seconds: f64,
) -> Option<(f64, f64)> {
    let at = sky.position(satellite, seconds)?;
    let [first, second] = stations.map(|station| station.look(at).0);
    Some((first, first.min(second)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantities::Kilometres;
    use crate::walker::{Pattern, Shell, Walker};
    use crate::{GroundStation, Place};

    /// Satellites that all serve up to the horizon, and such whose passes end before it.
    #[test]
    fn the_longest_is_found_without_a_look_at_each() {
        let here = Place { latitude: Degrees(50.0), longitude: Degrees(8.0), altitude: Kilometres(0.0) };
        let stations = [GroundStation::on_sphere(here); 2];
        for (altitude, inclination) in [(20_000.0, 55.0), (1200.0, 53.0)] {
            let sky = Constellation::Walker(Walker::new(Shell {
                pattern: Pattern::Delta,
                altitude: Kilometres(altitude),
                inclination: Degrees(inclination),
                planes: 12,
                per_plane: 12,
                phasing: 1,
                node: Degrees(0.0),
                anomaly: Degrees(0.0),
            }));
            for (slot, rank) in [(1, 1), (1, 2), (7, 1), (7, 3), (40, 200)] {
                let service = Service {
                    min_elevation: Degrees(25.0),
                    slot: Nanos::from_secs(15),
                    phase: Nanos::ZERO,
                    outage: Nanos::ZERO,
                    choice: Choice::Longest,
                    rank,
                };
                let [begin, end] = [slot, slot + 1].map(|slot| service.begin(slot).as_secs_f64());
                let high = |satellite: usize, at| {
                    elevation(&sky, &stations, satellite, at)
                        .is_some_and(|(_, low)| low >= Degrees(25.0).sin())
                };
                let mut all: Vec<usize> =
                    (0..sky.len()).filter(|s| high(*s, begin) && high(*s, end)).collect();
                let left = |s: &usize| -service.remaining(&sky, &stations, *s, end);
                all.sort_by(|a, b| left(a).total_cmp(&left(b)));
                let wanted = all.get(rank.min(all.len()).saturating_sub(1)).copied();
                assert!(wanted.is_some());
                assert_eq!(service.choose(&sky, &stations, slot, None), wanted, "{altitude} {slot} {rank}");
            }
        }
    }
}
