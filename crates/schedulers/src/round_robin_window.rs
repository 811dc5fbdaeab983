//! Round robin by windows: the subflows take turns, each with as much as its window takes.
//!
//! Source: Yedugundla et al., "Is multi-path transport suitable for latency sensitive traffic?", Computer Networks 2016,
//! section 2.3.2 (CMT-SCTP with a limit of bursts). An event opens windows; the first subflow with room after the one that
//! was used last gets segments until it is full, then the next. Segments that are placed at one instant belong to
//! one event.

use units::SimTime;

use crate::eligible::Eligible;
use crate::{Algorithm, ConnectionView, Decision, Scheduler};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "roundrobin_window",
    summary: "subflows take turns, each with as much as its window takes",
    source: "Yedugundla et al., Computer Networks 2016, section 2.3.2",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(RoundRobinWindow::default()),
};

/// Turns of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundRobinWindow {
    /// The subflow that was used last, and when.
    last: Option<(usize, SimTime)>,
}

impl Scheduler for RoundRobinWindow {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let count = connection.subflows.len();
        let first = match self.last {
            Some((last, at)) if at == connection.now => last,
            Some((last, _)) => last + 1,
            None => 0,
        };
        // How many turns away a subflow is.
        let away = |index: usize| (index + count - first % count) % count;
        let next = Eligible::new(connection.subflows).available().min_by_key(|(index, _)| away(*index));
        let Some((index, _)) = next else { return Decision::Wait };
        self.last = Some((index, connection.now));
        Decision::Send(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubflowView;
    use crate::testing::{full, plenty, subflow};

    fn pick(scheduler: &mut RoundRobinWindow, now: u64, subflows: &[SubflowView]) -> Decision {
        scheduler.pick(&ConnectionView { now: SimTime(now), ..plenty(subflows) })
    }

    #[test]
    fn rw_1_a_path_keeps_its_turn_until_it_is_full_or_time_has_passed() {
        let free = subflow(40, 10, 0);
        let mut scheduler = RoundRobinWindow::default();
        let three = [free; 3];
        assert_eq!(pick(&mut scheduler, 1, &three), Decision::Send(0));
        assert_eq!(pick(&mut scheduler, 1, &three), Decision::Send(0), "the same event");
        assert_eq!(pick(&mut scheduler, 1, &[full(free), free, free]), Decision::Send(1));
        assert_eq!(pick(&mut scheduler, 2, &three), Decision::Send(2), "after the one used last");
        assert_eq!(pick(&mut scheduler, 3, &three), Decision::Send(0));
        assert_eq!(
            pick(&mut scheduler, 4, &[free, full(free), free]),
            Decision::Send(2),
            "no room in between"
        );
        assert_eq!(pick(&mut scheduler, 5, &three.map(full)), Decision::Wait);
    }
}
