//! Primary path first: the first subflow with room, in their order.
//!
//! Source: CMT-SCTP of INET (`sendOnAllPaths(getPrimaryPath())` in `SctpAssociationSendAll.cc`): after each event the primary
//! path sends what its window permits, then the others. So a sender that never fills the window of the primary path hardly uses
//! the others. INET orders the others by a rule of its configuration; here they keep their order.

use crate::eligible::Eligible;
use crate::{Algorithm, ConnectionView, Decision, Needs, Scheduler};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "primary_first",
    summary: "the first path as long as it has room, then the next: overflow",
    source: "INET, SctpAssociationSendAll.cc",
    notes: "",
    options: &[],
    check: registry::independent,
    build: |_| Box::new(PrimaryFirst),
};

/// The lowest index with room. Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrimaryFirst;

impl Scheduler for PrimaryFirst {
    fn pick(&mut self, connection: &ConnectionView<'_>) -> Decision {
        let mut room = Eligible::new(connection.subflows).available();
        room.next().map_or(Decision::Wait, |(index, _)| Decision::Send(index))
    }

    fn needs(&self) -> Needs {
        Needs { greedy: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{full, pick, scene_s2, subflow};

    /// A frame of three segments fits into the first window of four: nothing overflows. The fifth segment does.
    #[test]
    fn pf_1_what_fits_into_the_first_window_stays_there() {
        let slow_first = [subflow(600, 4, 0), subflow(50, 10, 0)];
        assert_eq!(pick(&mut PrimaryFirst, &slow_first), Decision::Send(0));
        let [first, second] = slow_first;
        assert_eq!(pick(&mut PrimaryFirst, &[full(first), second]), Decision::Send(1));
        assert_eq!(pick(&mut PrimaryFirst, &scene_s2().map(full)), Decision::Wait);
    }
}
