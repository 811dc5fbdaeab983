//! The part that schedulers share which queue segments behind a full window.

use units::Nanos;

use crate::eligible::{Eligible, Indexed, fastest};
use crate::minrtt::MinRtt;
use crate::{ConnectionView, Decision, Question, Scheduler};

/// The subflow whose segment arrives first; one that cannot be estimated only if the segment would have to queue
/// otherwise (choice D-31). Ties go to the lowest index.
pub(crate) fn arrival_first<'a>(
    eligible: Eligible<'a>,
    arrival: impl Fn(&crate::SubflowView) -> Option<Nanos>,
) -> Option<Indexed<'a>> {
    let estimated = eligible.usable().filter_map(|candidate| Some((arrival(candidate.1)?, candidate)));
    let first = estimated.min_by_key(|(arrival, _)| *arrival).map(|(_, candidate)| candidate);
    match first {
        Some((_, subflow)) if subflow.available => first,
        _ => eligible
            .available()
            .find(|(_, s)| arrival(s).is_none())
            .or(first)
            .or_else(|| fastest(eligible.usable())),
    }
}

/// New data goes where `choose` says if the send buffer there takes it; everything else goes as with minRTT.
pub(crate) fn place<'a>(
    connection: &ConnectionView<'a>,
    choose: impl FnOnce(Eligible<'a>) -> Option<Indexed<'a>>,
) -> Decision {
    if connection.question != Question::New {
        return MinRtt.pick(connection);
    }
    match choose(Eligible::new(connection.subflows)) {
        Some((index, subflow)) if subflow.available || subflow.has_queue_room() => Decision::Send(index),
        // Data in the full buffer will be acknowledged, and then the scheduler is asked again.
        _ => Decision::Wait,
    }
}
