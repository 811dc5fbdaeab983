//! Timers of ends: asked for as often as they are due before anything else can happen, so that a silent end costs one request
//! for many ticks.
//!
//! May: run timers of all ends at once, and put what they send into the order of time. May not: let an end run past the
//! instant at which a packet could reach it.

use std::iter;

use scenario::model::{Delay, Scenario};
use units::{Nanos, SimTime};

use super::driver::Run;
use super::end::{Request, Told};

/// More ticks than this are not asked for at once: a run can be stopped in between.
const MAX_TICKS: usize = 1_000;

/// An end that has run some of its timers.
#[derive(Debug)]
struct Stop {
    /// At its last tick so far.
    at: SimTime,
    conversation: usize,
    side: usize,
    /// Ticks that it has still to run.
    left: u32,
    told: Vec<Told>,
}

/// The shortest delay of all links; zero if one has no constant delay. A packet reaches no other end earlier than that.
pub(super) fn lookahead(scenario: &Scenario) -> Nanos {
    let sum = |delays: &[Delay]| {
        delays.iter().try_fold(Nanos::ZERO, |sum, delay| delay.value().map(|delay| sum + delay))
    };
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    let at_start = directions.map(|direction| sum(&direction.delay));
    let changed = scenario.events.iter().filter_map(|event| event.delay.as_ref()).map(|delay| sum(delay));
    let shortest = at_start.chain(changed).map(Option::unwrap_or_default).min();
    shortest.unwrap_or_default()
}

impl Run<'_> {
    /// Runs the timers of all ends that are due at `now` and, where nothing else is due then, those of later ticks up to the
    /// next other event. Returns the last instant at which an end told something.
    pub(super) fn run_timers(&mut self, now: SimTime, nothing_else: bool) -> Result<SimTime, String> {
        let others = self.next_but_timers();
        let last = if nothing_else { now + self.lookahead } else { now };
        let may_run = |tick: &SimTime| *tick == now || (*tick < others && *tick <= last);
        let ticks = iter::successors(Some(now), |tick| Some(*tick + self.tick));
        let due = ticks.take(MAX_TICKS).take_while(may_run).count() as u32;
        self.next_tick = now + self.tick * u64::from(due);
        for conversation in &mut self.conversations {
            for end in conversation.ends.iter_mut().flatten() {
                end.ask(now, timers(self.tick, due))?;
            }
        }
        let mut stops = Vec::new();
        for conversation in 0..self.conversations.len() {
            let sides = self.conversations[conversation].ends.as_ref().map_or(0, |ends| ends.len());
            for side in 0..sides {
                stops.push(self.stop((conversation, side), now, due)?);
            }
        }
        let mut reached = now;
        while let Some(first) = first_of(&stops) {
            let Stop { at, conversation, side, left, told } = stops.swap_remove(first);
            if told.len() > 1 {
                reached = at;
            }
            let speaker = &mut self.conversations[conversation];
            speaker.take((at, &mut self.carrier), side, told)?;
            if let (1.., Some(ends)) = (left, &mut speaker.ends) {
                let next = at + self.tick;
                ends[side].ask(next, timers(self.tick, left))?;
                stops.push(self.stop((conversation, side), next, left)?);
            }
        }
        Ok(reached)
    }

    /// Reads how far an end has come that was asked for `due` ticks from `from` on.
    fn stop(
        &mut self,
        (conversation, side): (usize, usize),
        from: SimTime,
        due: u32,
    ) -> Result<Stop, String> {
        let ends = self.conversations[conversation].ends.as_mut().ok_or("an end that does not exist")?;
        let told = ends[side].answer()?;
        let done = told.iter().find_map(|one| match one {
            Told::Timers(done) => Some(*done),
            _ => None,
        });
        let done = done.filter(|done| (1..=due).contains(done)).ok_or("timers did not run as asked")?;
        let at = from + self.tick * u64::from(done - 1);
        Ok(Stop { at, conversation, side, left: due - done, told })
    }
}

fn timers(tick: Nanos, due: u32) -> Request<'static> {
    Request::Timers { tick_ms: (tick.0 / Nanos::from_millis(1).0) as u32, due }
}

/// The stop that is first in time; of several that of the first end.
fn first_of(stops: &[Stop]) -> Option<usize> {
    (0..stops.len()).min_by_key(|&index| {
        let stop = &stops[index];
        (stop.at, stop.conversation, stop.side)
    })
}
