//! Round robin by passes: each pass takes one segment for every subflow with room, and begins one subflow later than the last.
//!
//! Source: FreeBSD, `sctp_output.c`, `sctp_med_chunk_output` (libusrsctp 0.9.5). A pass ends when no subflow is left for it, when
//! nothing waits, or when time has passed. So a subflow that had no room is not owed a turn: where data is scarce the
//! one that had room gets the half of it that `roundrobin` would keep for the other.

use units::SimTime;

use crate::eligible::Eligible;
use crate::{Algorithm, ConnectionView, Decision, Needs, Question, Scheduler};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "roundrobin_pass",
    summary: "one segment for each subflow with room in a pass, which begins one subflow later than the last",
    source: "FreeBSD, sctp_med_chunk_output",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(RoundRobinPass::default()),
};

/// Turns of passes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundRobinPass {
    /// The subflow with which the pass begins, counted on from pass to pass.
    start: usize,
    /// The pass goes on: when it began, and how many turns are over.
    running: Option<(SimTime, usize)>,
}

impl RoundRobinPass {
    fn begin(&mut self, now: SimTime) {
        self.running = Some((now, 0));
    }

    fn end(&mut self) {
        self.running = None;
        self.start = self.start.wrapping_add(1);
    }
}

impl Scheduler for RoundRobinPass {
    fn needs(&self) -> Needs {
        Needs { single_writes: true, ..Needs::default() }
    }

    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let count = connection.subflows.len().max(1);
        let eligible = Eligible::new(connection.subflows);
        if eligible.available().next().is_none() {
            return Decision::Wait;
        }
        if self.running.is_some_and(|(began, _)| began != connection.now) {
            self.end();
        }
        // The rest of this pass, or the whole of the next.
        for _ in 0..2 {
            if self.running.is_none() {
                self.begin(connection.now);
            }
            let over = self.running.map_or(0, |(_, over)| over);
            let start = self.start % count;
            let turn = |index: usize| (index + count - start) % count;
            let left = eligible.available().map(|(index, _)| index).filter(|index| turn(*index) >= over);
            if let Some(index) = left.min_by_key(|index| turn(*index)) {
                self.running = Some((connection.now, turn(index) + 1));
                let last = connection.question == Question::New && connection.unassigned <= connection.len;
                if last {
                    self.end();
                }
                return Decision::Send(index);
            }
            self.end();
        }
        debug_assert!(false, "a whole pass found no room");
        Decision::Wait
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::SubflowView;
    use crate::testing::{full, plenty, subflow};

    fn pick(scheduler: &mut RoundRobinPass, now: u64, subflows: &[SubflowView]) -> Decision {
        scheduler.pick(&ConnectionView { now: SimTime(now), ..plenty(subflows) })
    }

    #[test]
    fn rp_1_passes_begin_at_each_subflow_in_turn() {
        let both = [subflow(40, 10, 0); 2];
        let mut scheduler = RoundRobinPass::default();
        let chosen: Vec<_> = (0..6).map(|_| pick(&mut scheduler, 1, &both)).collect();
        assert_eq!(chosen, [0, 1, 1, 0, 0, 1].map(Decision::Send));
        assert_eq!(pick(&mut scheduler, 1, &both), Decision::Send(1));
        assert_eq!(pick(&mut scheduler, 2, &both), Decision::Send(0), "the former pass is over");
    }

    #[test]
    fn rp_1_a_full_subflow_is_owed_nothing() {
        let free = subflow(40, 10, 0);
        let mut scheduler = RoundRobinPass::default();
        let one = |scheduler: &mut RoundRobinPass, now, subflows: &[SubflowView]| {
            let plenty = plenty(subflows);
            scheduler.pick(&ConnectionView { now: SimTime(now), unassigned: plenty.len, ..plenty })
        };
        assert_eq!(one(&mut scheduler, 1, &[free, full(free)]), Decision::Send(0));
        assert_eq!(one(&mut scheduler, 2, &[free, full(free)]), Decision::Send(0), "its turn passes");
        assert_eq!(one(&mut scheduler, 3, &[free, free]), Decision::Send(0));
        assert_eq!(one(&mut scheduler, 3, &[free, free]), Decision::Send(1));
        assert_eq!(one(&mut scheduler, 4, &[full(free), full(free)]), Decision::Wait);
        assert!(plenty(&[free]).len > Bytes::ZERO);
    }
}
