//! Columns of `flows` and `delays`.

use super::{FLOW, RUN, limits};
use crate::metric::Better::{Down, Neither, Up};
use crate::metric::Unit::{BitsPerSecond, Bytes, One, Seconds, Share};
use crate::metric::{MetricSpec, TableSpec};

const fn seconds(name: &'static str, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::real(name, Seconds, Down, label, doc)
}

const fn instant(name: &'static str, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::real(name, Seconds, Neither, label, doc)
}

const fn held(name: &'static str, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::real(name, Bytes, Down, label, doc)
}

/// One row per seed and flow or baseline.
pub const FLOWS: TableSpec = TableSpec {
    name: "flows",
    row: "one row per seed and flow or baseline",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::word("transport", "transport", "`tcp`, `mptcp`, `sctp`, `cmt-sctp` or `udp`"),
        MetricSpec::word("congestion", "congestion control", "congestion control; null with UDP"),
        MetricSpec::word("scheduler", "scheduler", "scheduler; null without MPTCP"),
        instant("start_s", "start", "when the connection was opened"),
        instant(
            "end_s",
            "end",
            "when the last byte was delivered, the application stopped writing (flows without a size, or stopped \
             early), or the run ended",
        ),
        MetricSpec::flag(
            "completed",
            Up,
            "completed",
            "the transfer has a size and all of it was delivered; never true of one without a size, or stopped \
             before its size was written",
        ),
        MetricSpec::word(
            "failure",
            "failure",
            "why the connection failed, if it did, even where all of its data had been delivered and only ACKs were \
             missing; that of one that never opened begins with `the connection was never established`, and names \
             the links that carry nothing",
        ),
        MetricSpec::flag(
            "fell_back",
            Down,
            "fallback to TCP",
            "MPTCP was wanted and the connection became plain TCP",
        ),
        MetricSpec::integer(
            "delivered_bytes",
            Bytes,
            Up,
            "bytes delivered",
            "application bytes delivered in order until `end_s`",
        ),
        instant(
            "last_delivery_s",
            "last delivery",
            "when the last of them so far was delivered; null if there are none",
        ),
        MetricSpec::real(
            "goodput_bit_s",
            BitsPerSecond,
            Up,
            "goodput",
            "`delivered_bytes` * 8 / (`end_s` - `start_s`); the handshake counts as time",
        ),
        seconds(
            "completion_s",
            "completion time",
            "flow completion time: `end_s` - `start_s` if `completed`, otherwise null, see below",
        ),
        MetricSpec::integer(
            "segments_sent",
            One,
            Neither,
            "segments sent",
            "segments with payload, retransmissions included, all subflows",
        ),
        MetricSpec::integer(
            "retransmitted_segments",
            One,
            Down,
            "retransmitted segments",
            "of these, retransmissions within a subflow; reinjections on another one do not count",
        ),
        MetricSpec::integer("timeouts", One, Down, "timeouts", "retransmission timeouts"),
        MetricSpec::integer(
            "fast_recoveries",
            One,
            Down,
            "fast recoveries",
            "loss episodes repaired without a timeout",
        ),
        MetricSpec::integer(
            "reinjected_bytes",
            Bytes,
            Down,
            "reinjected bytes",
            "payload given to a subflow after another one had carried it",
        ),
        seconds("delay_mean_s", "mean delay", "mean data-delivery delay, see below"),
        seconds("delay_p50_s", "median delay", "its median"),
        seconds("delay_p95_s", "p95 delay", "its 95 % quantile"),
        seconds("delay_p99_s", "p99 delay", "its 99 % quantile"),
        seconds(
            "send_delay_mean_s",
            "mean send delay",
            "wait in the send buffer: mean time of a byte from its write to its first transmission; null with UDP, \
             which does not wait",
        ),
        seconds("send_delay_p95_s", "p95 send delay", "its 95 % quantile"),
        MetricSpec::real(
            "wire_bit_s",
            BitsPerSecond,
            Neither,
            "throughput on the wire",
            "throughput on the wire: bytes that the data sender put on its links, with headers, options and \
             retransmissions, * 8 / (`end_s` - `start_s`)",
        ),
        held(
            "ofo_mean_bytes",
            "mean out-of-order memory",
            "out-of-order bytes, average over time from `start_s` to `end_s`, see below",
        ),
        MetricSpec::integer(
            "ofo_p95_bytes",
            Bytes,
            Down,
            "p95 out-of-order memory",
            "what they did not exceed for 95 % of that time, within 1 %",
        ),
        MetricSpec::integer("ofo_max_bytes", Bytes, Down, "largest out-of-order memory", "their maximum"),
        held(
            "meta_ofo_mean_bytes",
            "mean out-of-order memory of the connection",
            "the mean of the queue of the MPTCP connection alone: bytes complete on their subflow that wait for \
             another one; null without MPTCP",
        ),
        MetricSpec::integer(
            "meta_ofo_p95_bytes",
            Bytes,
            Down,
            "p95 out-of-order memory of the connection",
            "its 95 % level over time",
        )
        .optional(),
        MetricSpec::integer(
            "meta_ofo_max_bytes",
            Bytes,
            Down,
            "largest out-of-order memory of the connection",
            "its maximum",
        )
        .optional(),
        MetricSpec::real(
            "seen_retransmitted_share",
            Share,
            Down,
            "retransmitted share in a capture",
            "part of the data segments at the receiver that a capture there would call retransmissions, 0 to 1, see \
             below; null with UDP",
        ),
        MetricSpec::real(
            "seen_late_share",
            Share,
            Down,
            "out-of-order share in a capture",
            "part of them that it would call out of order",
        ),
        MetricSpec::real(
            "benefit_vs_best",
            One,
            Up,
            "aggregation benefit over the best path",
            "goodput over that of the best baseline of the same seed",
        ),
        MetricSpec::real(
            "benefit_vs_sum",
            One,
            Up,
            "aggregation benefit over the sum of paths",
            "goodput over the sum of the baselines of the same seed",
        ),
        limits::OUT_OF_ORDER,
        limits::LIMITED[0],
        limits::LIMITED[1],
        limits::LIMITED[2],
        limits::LIMITED[3],
        limits::LIMITED[4],
        limits::LIMITED[5],
        limits::LIMITED[6],
        limits::LIMITED[7],
        limits::LIMITED[8],
    ],
};

/// Histograms of the data-delivery delay.
pub const DELAYS: TableSpec = TableSpec {
    name: "delays",
    row: "distribution of the data-delivery delay, one row per bucket that is not empty",
    columns: &[
        RUN,
        FLOW,
        seconds("delay_s", "delay", "middle of a bucket; buckets are less than 1 % wide"),
        MetricSpec::integer("bytes", Bytes, Neither, "bytes", "bytes whose delay fell into it"),
    ],
};
