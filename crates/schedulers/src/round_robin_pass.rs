//! Round robin by passes: each pass takes one segment for every subflow with room, and begins one subflow later than the last.
//!
//! Source: FreeBSD, `sctp_output.c`, `sctp_med_chunk_output` (libusrsctp 0.9.5). A pass ends when no subflow is left for it, when
//! nothing waits, or when time has passed. So a subflow that had no room is not owed a turn: where data is scarce the
//! one that had room gets the half of it that `roundrobin` would keep for the other.

use units::SimTime;

use crate::eligible::Eligible;
use crate::{Algorithm, ConnectionView, Decision, Needs, Occasion, Question, Scheduler, SubflowView};

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
    /// The present pass.
    running: Option<Pass>,
    /// Segments admitted and not yet sent. A pass that begins with none admits one for each subflow whose window is open.
    /// `None`: the transport does not report occasions.
    ready: Option<u64>,
    /// A pass has ended in which something left.
    goes_on: bool,
}

/// A pass.
#[derive(Clone, Copy, Debug)]
struct Pass {
    began: SimTime,
    /// Turns that are over.
    over: usize,
    /// Something has left.
    sent: bool,
}

impl RoundRobinPass {
    fn end(&mut self) {
        self.running = None;
        self.start = self.start.wrapping_add(1);
    }

    /// The next subflow of the pass that has room.
    fn next(&self, subflows: &[SubflowView], over: usize) -> Option<(usize, usize)> {
        let count = subflows.len().max(1);
        let start = self.start % count;
        let turn = |index: usize| (index + count - start) % count;
        let told = self.ready.is_some();
        let eligible = Eligible::new(subflows).available();
        let all = subflows.iter().enumerate().filter(|(_, subflow)| told && subflow.available);
        let free = eligible.chain(all).map(|(index, _)| (turn(index), index));
        free.filter(|(turn, _)| *turn >= over).min()
    }

    /// Admits segments if none are left from before.
    fn fill(&mut self, connection: &ConnectionView<'_>) {
        if let Some(ready @ 0) = &mut self.ready {
            let open = Eligible::new(connection.subflows).usable();
            let open = open.filter(|(_, subflow)| subflow.inflight < subflow.cwnd).count() as u64;
            *ready = open.min(connection.unassigned.0.div_ceil(connection.len.0.max(1)));
        }
    }

    /// An admitted segment is left, or none need be admitted.
    fn waits(&self) -> bool {
        self.ready.is_none_or(|ready| ready > 0)
    }
}

impl Scheduler for RoundRobinPass {
    fn needs(&self) -> Needs {
        Needs { single_writes: true, ..Needs::default() }
    }

    fn occasion(&mut self, occasion: Occasion) {
        if self.running.is_some() {
            self.end();
        }
        let waits = *self.ready.get_or_insert(0) > 0;
        match occasion {
            Occasion::Data => {}
            Occasion::Control => self.running = Some(Pass { began: SimTime::NEVER, over: 0, sent: true }),
            // A control packet has a pass of its own, and another follows.
            Occasion::ControlAlone => self.start = self.start.wrapping_add(1 + usize::from(waits)),
            Occasion::Nothing => self.start = self.start.wrapping_add(usize::from(waits)),
        }
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }

    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let told = self.ready.is_some();
        self.goes_on = false;
        if !told && Eligible::new(connection.subflows).available().next().is_none() {
            return Decision::Wait;
        }
        if !told && self.running.is_some_and(|pass| pass.began != connection.now) {
            self.end();
        }
        loop {
            let new = Pass { began: connection.now, over: 0, sent: false };
            let pass = match self.running {
                Some(pass) if !pass.began.is_never() => pass,
                _ => {
                    self.fill(connection);
                    if self.running.is_none() && !self.waits() {
                        return Decision::Wait;
                    }
                    *self.running.get_or_insert(new)
                }
            };
            let next = self.next(connection.subflows, pass.over).filter(|_| self.waits());
            if let Some((turn, index)) = next {
                self.running = Some(Pass { began: connection.now, over: turn + 1, sent: true });
                if let Some(ready) = &mut self.ready {
                    *ready -= 1;
                }
                let last = connection.question == Question::New && connection.unassigned <= connection.len;
                if last {
                    self.end();
                }
                return Decision::Send(index);
            }
            self.end();
            if told {
                self.goes_on = pass.sent;
                return Decision::Wait;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
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

    /// Occasions are reported. A pass admits a segment for each subflow whose window is open. While a buffer holds it back no more is admitted,
    /// and each call moves the beginning of the next pass, whether something leaves or not.
    #[test]
    fn rp_1_admitted_segments_move_the_turn() {
        let free = subflow(40, 10, 0);
        let blocked = SubflowView { available: false, ..free };
        let mut scheduler = RoundRobinPass::default();
        let mut at = |occasion, subflows: &[SubflowView]| {
            scheduler.occasion(occasion);
            let mut chosen = Vec::new();
            loop {
                match pick(&mut scheduler, 1, subflows) {
                    Decision::Send(index) => chosen.push(index),
                    _ if !scheduler.goes_on() => return chosen,
                    _ => {}
                }
                if chosen.len() == 5 {
                    return chosen;
                }
            }
        };
        assert_eq!(at(Occasion::Data, &[blocked, blocked]), [], "two are admitted now");
        assert_eq!(at(Occasion::Data, &[free, free]), [1, 0, 0, 1, 1], "the second pass");
        assert_eq!(at(Occasion::Data, &[blocked, blocked]), []);
        assert_eq!(at(Occasion::Nothing, &[blocked, blocked]), []);
        assert_eq!(at(Occasion::ControlAlone, &[blocked, free]), [1, 1, 1, 1, 1]);
    }

    /// A control packet has a turn, which data of the same call shares.
    #[test]
    fn rp_1_control_packets_take_a_turn() {
        let free = [subflow(40, 10, 0); 3];
        let first = |occasions: &[Occasion]| {
            let mut scheduler = RoundRobinPass::default();
            occasions.iter().for_each(|occasion| scheduler.occasion(*occasion));
            pick(&mut scheduler, 1, &free)
        };
        assert_eq!(first(&[Occasion::Data]), Decision::Send(0));
        assert_eq!(first(&[Occasion::Control]), Decision::Send(0));
        assert_eq!(first(&[Occasion::Control, Occasion::Data]), Decision::Send(1));
        assert_eq!(first(&[Occasion::ControlAlone, Occasion::ControlAlone]), Decision::Send(2));
        assert_eq!(first(&[Occasion::Nothing]), Decision::Send(0), "none is admitted");
    }

    /// An inactive subflow takes nothing in, and is offered what is there.
    #[test]
    fn rp_1_an_inactive_subflow_is_offered_segments() {
        let free = subflow(40, 10, 0);
        let inactive = SubflowView { backup: true, ..free };
        let mut scheduler = RoundRobinPass::default();
        scheduler.occasion(Occasion::Data);
        assert_eq!(pick(&mut scheduler, 1, &[inactive, free]), Decision::Send(0));
        assert_eq!(pick(&mut scheduler, 1, &[inactive, free]), Decision::Wait);
        assert!(scheduler.goes_on());
        assert_eq!(pick(&mut scheduler, 1, &[inactive, free]), Decision::Send(1));
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
