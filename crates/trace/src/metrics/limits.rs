//! Columns of time by limit: the same in `flows` and `subflows`.

use crate::LIMITS;
use crate::metric::Better::{Down, Neither};
use crate::metric::MetricSpec;
use crate::metric::Unit::Seconds;

const fn limited(name: &'static str, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::real(name, Seconds, Neither, label, doc)
}

/// In the order of [`LIMITS`].
pub const LIMITED: [MetricSpec; LIMITS.len()] = [
    limited("limited_application_s", "limited by the application", "time in which there was no data to send"),
    limited(
        "limited_cwnd_s",
        "limited by the congestion window",
        "time in which the congestion window was used up, outside loss recovery",
    ),
    limited(
        "limited_rwnd_s",
        "limited by the receive window",
        "time in which the next segment did not fit into the offered window, or `flight_limit` forbade it",
    ),
    limited(
        "limited_sndbuf_s",
        "limited by the send buffer",
        "time in which all data was sent, the windows had room, and the application had more than the send buffer took",
    ),
    limited(
        "limited_pacing_s",
        "limited by pacing",
        "time in which a segment waited for its transmission time",
    ),
    limited(
        "limited_scheduler_s",
        "limited by the scheduler",
        "time in which a subflow had room, the connection had data, and the scheduler sent none; with CMT-SCTP also that in which its part of a \
         split buffer was used up, with SCTP that in which another path was in use; 0 with TCP",
    ),
    limited(
        "limited_recovery_s",
        "limited by recovery",
        "time in which the window of a loss recovery, fast or after a timeout, was used up",
    ),
    limited(
        "limited_handshake_s",
        "limited by the handshake",
        "time before the connection or subflow was established",
    ),
    limited(
        "limited_path_down_s",
        "limited by the path",
        "time in which the connection or subflow was given up or reset, its address was gone, or its link was held \
         to be down",
    ),
];

/// How long data was held out of order.
pub(super) const OUT_OF_ORDER: MetricSpec = MetricSpec::real(
    "out_of_order_s",
    Seconds,
    Down,
    "out-of-order time",
    "time in which the receiver held data that waited for earlier data, and the application waited with it",
);
