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
            for (merit, satellite) in &mut all {
                *merit = self.remaining(sky, stations, *satellite, end);
            }
        }
        // Ties go to the lower number: the sort is stable.
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        debug_assert!(all.is_sorted_by(|a, b| a.0 >= b.0), "the best satellite is not the first: {all:?}");
        let rank = self.rank.min(all.len()).checked_sub(1)?;
        Some(all[rank].1)
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
