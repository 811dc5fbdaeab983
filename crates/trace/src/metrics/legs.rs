//! Columns of `legs`.

use super::{FLOW, RUN};
use crate::metric::Better::{Down, Neither, Up};
use crate::metric::Unit::{BitsPerSecond, Bytes, One, Seconds};
use crate::metric::{Better, Kind, MetricSpec, TableSpec};

const fn count(name: &'static str, better: Better, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::integer(name, One, better, label, doc)
}

const fn bytes(name: &'static str, better: Better, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::integer(name, Bytes, better, label, doc)
}

/// One row per seed, flow, connection, leg and subflow of it.
pub const LEGS: TableSpec = TableSpec {
    name: "legs",
    row: "one row per seed, flow, connection and leg of a connection that a proxy has a part in, and subflow of the leg",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::key("connection", Kind::Integer, "number of the connection, as in `subflows`"),
        MetricSpec::key("leg", Kind::Integer, "number of the leg, from 0 at the data sender"),
        MetricSpec::key("subflow", Kind::Integer, "number of the subflow on this leg, from 0"),
        MetricSpec::word("from", "from", "node where the leg begins, in the direction of the data"),
        MetricSpec::word("to", "to", "node where it ends"),
        MetricSpec::word("path", "path", "path or link over which it leaves that node, as in `subflows`"),
        MetricSpec::word(
            "transport",
            "transport",
            "`mptcp` if its packets carry MPTCP options, `tcp` if an end does not speak MPTCP or has fallen back",
        ),
        MetricSpec::real("established_s", Seconds, Neither, "established", "when its handshake was complete"),
        MetricSpec::real(
            "goodput_bit_s",
            BitsPerSecond,
            Up,
            "goodput",
            "payload that reached its end, first copies, over the life of the flow",
        ),
        MetricSpec::real("srtt_mean_s", Seconds, Neither, "mean round-trip time", "mean of the round-trip samples"),
        MetricSpec::real(
            "cwnd_mean_bytes",
            Bytes,
            Neither,
            "mean congestion window",
            "congestion window of the end that sends the data, average over time",
        ),
        bytes("bytes_sent", Neither, "bytes sent", "payload sent, retransmissions included"),
        bytes("wire_bytes", Neither, "bytes on the wire", "bytes on the wire that this end sent"),
        count("segments_sent", Neither, "segments sent", "segments with payload, retransmissions included"),
        count("retransmitted_segments", Down, "retransmitted segments", "retransmissions among them"),
        count("timeouts", Down, "timeouts", "retransmission timeouts"),
        count("fast_recoveries", Down, "fast recoveries", "loss episodes repaired without a timeout"),
        MetricSpec::real(
            "held_mean_bytes",
            Bytes,
            Down,
            "mean of the bytes held at the proxy",
            "bytes of the data that the proxy at the beginning of the leg had acknowledged and that were not acknowledged \
             behind it, average over time; null at the data sender",
        ),
        bytes("held_max_bytes", Down, "most bytes held at the proxy", "their maximum; null at the data sender")
            .optional(),
        bytes(
            "lost_bytes",
            Down,
            "bytes lost at the proxy",
            "those of them that were lost because the proxy stopped or one of its connections failed; null at the data \
             sender",
        )
        .optional(),
        bytes(
            "data_ack_ahead_bytes",
            Down,
            "bytes acknowledged ahead",
            "most bytes that the proxy at the beginning of the leg had acknowledged at connection level although it never had \
             them and the receiver had not acknowledged them; null where it carries whole connections",
        )
        .optional(),
        bytes(
            "window_beyond_bytes",
            Down,
            "window beyond the receiver's",
            "most bytes by which the right edge of its window passed that of the receiver; null where it carries whole \
             connections",
        )
        .optional(),
    ],
};
