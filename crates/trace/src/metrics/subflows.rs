//! Columns of `subflows`.

use super::{RUN, limits};
use crate::metric::Better::{Down, Neither, Up};
use crate::metric::Unit::{BitsPerSecond, Bytes, One, Seconds, Share};
use crate::metric::{Better, Kind, MetricSpec, TableSpec};

const fn count(name: &'static str, better: Better, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::integer(name, One, better, label, doc)
}

const fn bytes(name: &'static str, better: Better, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::integer(name, Bytes, better, label, doc)
}

/// One row per seed, flow, connection and subflow; plain TCP has one subflow.
pub const SUBFLOWS: TableSpec = TableSpec {
    name: "subflows",
    row: "one row per seed, flow, connection and subflow",
    columns: &[
        RUN,
        MetricSpec::key("flow", Kind::Word, "name of the flow"),
        MetricSpec::key(
            "connection",
            Kind::Integer,
            "number of the connection from 0, in the order of opening; most flows have one",
        ),
        MetricSpec::key("subflow", Kind::Integer, "number of the subflow of that connection, from 0"),
        MetricSpec::word(
            "path",
            "path",
            "path or link over which it leaves the sender; null if that differs from packet to packet",
        ),
        MetricSpec::real("established_s", Seconds, Neither, "established", "when its handshake was complete"),
        MetricSpec::real(
            "goodput_bit_s",
            BitsPerSecond,
            Up,
            "goodput",
            "payload that reached the receiver, first copies on this subflow, over the life of the flow",
        ),
        MetricSpec::real(
            "share",
            Share,
            Neither,
            "share",
            "its part of the payload that reached the receiver over all subflows, 0 to 1",
        ),
        MetricSpec::real(
            "srtt_mean_s",
            Seconds,
            Neither,
            "mean round-trip time",
            "mean of the round-trip samples",
        ),
        MetricSpec::real(
            "cwnd_mean_bytes",
            Bytes,
            Neither,
            "mean congestion window",
            "congestion window, average over time from establishment to the end of the flow",
        ),
        MetricSpec::real(
            "ofo_mean_bytes",
            Bytes,
            Down,
            "mean out-of-order memory",
            "out-of-order bytes of this subflow, which wait for a gap on it, average over time as in `flows`",
        ),
        bytes(
            "ofo_p95_bytes",
            Down,
            "p95 out-of-order memory",
            "what they did not exceed for 95 % of the time",
        ),
        bytes("ofo_max_bytes", Down, "largest out-of-order memory", "their maximum"),
        count(
            "segments_received",
            Neither,
            "segments received",
            "segments with payload that reached the receiver",
        ),
        MetricSpec::real(
            "seen_retransmitted_share",
            Share,
            Down,
            "retransmitted share in a capture",
            "as in `flows`",
        ),
        MetricSpec::real("seen_late_share", Share, Down, "out-of-order share in a capture", "as in `flows`"),
        bytes("bytes_sent", Neither, "bytes sent", "payload sent, retransmissions included"),
        bytes(
            "wire_bytes",
            Neither,
            "bytes on the wire",
            "bytes on the wire sent: headers, options, payload, overhead",
        ),
        count("segments_sent", Neither, "segments sent", "as in `flows`"),
        count("retransmitted_segments", Down, "retransmitted segments", "as in `flows`"),
        count("timeouts", Down, "timeouts", "as in `flows`"),
        count("fast_recoveries", Down, "fast recoveries", "as in `flows`"),
        bytes("reinjected_bytes", Down, "reinjected bytes", "as in `flows`"),
        bytes(
            "beyond_window_bytes",
            Neither,
            "bytes beyond the window",
            "payload that the receiver took though it lay beyond the window it had advertised \
             ([adalr](congestion/adalr.md) sends such)",
        ),
        bytes(
            "overflow_bytes",
            Down,
            "bytes without room",
            "payload that the receiver threw away because its buffer had no room for it",
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
