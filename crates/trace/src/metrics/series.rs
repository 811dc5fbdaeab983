//! Columns of `series`, and the time series that it holds.

use super::RUN;
use crate::metric::Better::{Down, Neither, Up};
use crate::metric::Owner::{Connection, Flow, Leg, Link, Subflow};
use crate::metric::Unit::{BitsPerSecond, Bytes, One, Packets, Seconds, Segments};
use crate::metric::{Better, Kind, MetricSpec, Owner, SeriesSpec, TableSpec, Unit};

/// One row per sample.
pub const SERIES: TableSpec = TableSpec {
    name: "series",
    row: "time series, one row per sample",
    columns: &[
        RUN,
        MetricSpec::key("flow", Kind::Word, "flow whose sample it is; null of a link"),
        MetricSpec::key("connection", Kind::OptionalInteger, "its connection; null of a flow or link"),
        MetricSpec::key(
            "subflow",
            Kind::OptionalInteger,
            "subflow of the connection; null of a flow or link",
        ),
        MetricSpec::key("link", Kind::Word, "link direction whose sample it is; null of a flow or subflow"),
        MetricSpec::key("t_s", Kind::Real, "when it was taken"),
        MetricSpec::key("metric", Kind::Word, "what it is, see below"),
        MetricSpec::real("value", One, Neither, "value", "in the unit of the metric"),
    ],
};

const fn of(
    of: Owner,
    name: &'static str,
    unit: Unit,
    better: Better,
    label: &'static str,
    doc: &'static str,
) -> SeriesSpec {
    SeriesSpec { of, by: &[], metric: MetricSpec::real(name, unit, better, label, doc) }
}

/// A series of a leg; `N` in the name stands for its number.
const fn leg(
    name: &'static str,
    unit: Unit,
    better: Better,
    label: &'static str,
    doc: &'static str,
) -> SeriesSpec {
    of(Leg, name, unit, better, label, doc)
}

const fn by(
    by: &'static [&'static str],
    name: &'static str,
    unit: Unit,
    label: &'static str,
    doc: &'static str,
) -> SeriesSpec {
    SeriesSpec { of: Subflow, by, metric: MetricSpec::real(name, unit, Neither, label, doc) }
}

pub(super) const ALL: &[SeriesSpec] = &[
    of(
        Flow,
        "goodput_bit_s",
        BitsPerSecond,
        Up,
        "goodput",
        "bytes delivered in order since the last sample, as a rate",
    ),
    of(Flow, "ofo_bytes", Bytes, Down, "out-of-order memory", "out-of-order bytes"),
    of(
        Flow,
        "rwnd_bytes",
        Bytes,
        Neither,
        "receive window",
        "receive window that the receiver would advertise",
    ),
    of(
        Flow,
        "send_buffer_bytes",
        Bytes,
        Neither,
        "send buffer",
        "bytes in the send buffer: written and not acknowledged",
    ),
    of(
        Flow,
        "send_buffer_size_bytes",
        Bytes,
        Neither,
        "size of the send buffer",
        "size of the send buffer: its bytes and the free ones, of which there are none before the handshake is complete",
    ),
    of(
        Flow,
        "proxy_held_bytes",
        Bytes,
        Down,
        "bytes held at proxies",
        "bytes of the data that proxies have acknowledged and that nothing behind them has; only with proxies",
    ),
    leg(
        "legN_cwnd_bytes",
        Bytes,
        Neither,
        "congestion window of the leg",
        "congestion window of leg N, from 1, all subflows, see `legs`; leg 0 has that of its subflows",
    ),
    leg(
        "legN_srtt_s",
        Seconds,
        Neither,
        "round-trip time of the leg",
        "smallest smoothed round-trip time of its subflows; N from 1",
    ),
    leg(
        "legN_throughput_bit_s",
        BitsPerSecond,
        Neither,
        "throughput of the leg",
        "payload that reached its end since the last sample, as a rate; N from 1",
    ),
    leg(
        "legN_retransmitted_segments",
        One,
        Down,
        "retransmitted segments of the leg",
        "retransmissions on leg N so far, from 0, all connections and subflows",
    ),
    leg(
        "legN_held_bytes",
        Bytes,
        Neither,
        "bytes held before the leg",
        "part of `proxy_held_bytes` at the proxies where the leg begins; N from 1",
    ),
    of(Subflow, "cwnd_bytes", Bytes, Neither, "congestion window", "congestion window"),
    of(
        Subflow,
        "ssthresh_bytes",
        Bytes,
        Neither,
        "slow-start threshold",
        "slow-start threshold; no sample while it is unlimited",
    ),
    of(Subflow, "srtt_s", Seconds, Neither, "round-trip time", "smoothed round-trip time"),
    of(Subflow, "inflight_bytes", Bytes, Neither, "bytes in flight", "bytes believed to be in the network"),
    of(
        Subflow,
        "throughput_bit_s",
        BitsPerSecond,
        Up,
        "throughput",
        "payload that reached the receiver since the last sample, as a rate",
    ),
    of(
        Subflow,
        "sender_state",
        One,
        Neither,
        "state of the sender",
        "what the sender does: 1 slow start, 2 congestion avoidance, 3 fast recovery, 4 after a timeout",
    ),
    of(
        Subflow,
        "limit",
        One,
        Neither,
        "limit",
        "what keeps the sender from sending: 0 application, 1 congestion window, 2 receive window, 3 send buffer, \
         4 pacing, 5 scheduler, 6 recovery, 7 handshake, 8 path down",
    ),
    of(
        Subflow,
        "pacing_rate_bit_s",
        BitsPerSecond,
        Neither,
        "pacing rate",
        "rate of payload at which segments are spaced; no sample of a sender that does not space them (neither \
         `pacing = true` nor a controller that paces by itself), and none before it knows a rate",
    ),
    by(
        &["cubic"],
        "w_max_bytes",
        Bytes,
        "window before the last reduction",
        "window before the last reduction",
    ),
    by(
        &["cubic"],
        "k_s",
        Seconds,
        "K of CUBIC",
        "time from the start of the present stage until the window is there again",
    ),
    by(
        &["lia", "olia", "balia"],
        "alpha",
        One,
        "alpha",
        "their alpha: factor of the increase, share moved to or from the path, best rate over that of the path",
    ),
    by(
        &["vegas", "vegas_linux", "newvegas", "wvegas", "bbr"],
        "base_rtt_s",
        Seconds,
        "base round-trip time",
        "smallest round-trip time",
    ),
    by(
        &["vegas", "vegas_linux", "newvegas", "wvegas"],
        "diff_segments",
        Segments,
        "queued segments",
        "segments queued in the last round",
    ),
    by(&["wvegas"], "alpha_segments", Segments, "alpha", "segments that it may keep queued"),
    by(&["wvegas"], "weight", One, "weight", "share in the rate of the connection"),
    by(
        &["hybla", "adalr"],
        "rho",
        One,
        "rho",
        "round-trip time over that of the path whose growth is copied; 60 times it in seconds, from 1 to 60",
    ),
    by(
        &["adalr"],
        "beyond_window_bytes",
        Bytes,
        "bytes beyond the window",
        "by how much the sender may pass the advertised window; 0 on subflows of MPTCP, whose window belongs to the \
         connection",
    ),
    by(&["peach"], "dummies_sent", One, "dummy segments", "dummy segments sent"),
    by(
        &["peach"],
        "ignored_dummies",
        One,
        "answers to ignore",
        "answers to dummies that are still to be ignored",
    ),
    by(
        &["westwood", "star", "jersey", "bbr"],
        "bandwidth_bit_s",
        BitsPerSecond,
        "estimate of the bandwidth",
        "estimate of the bandwidth",
    ),
    by(&["bbr"], "pacing_gain", One, "pacing gain", "factor of the estimate for the pace"),
    by(&["bbr"], "window_gain", One, "window gain", "factor of the estimate for the window"),
    SeriesSpec {
        of: Connection,
        by: &["blest"],
        metric: MetricSpec::real(
            "lambda",
            One,
            Neither,
            "lambda",
            "margin on what the fast path is expected to send",
        ),
    },
    SeriesSpec {
        of: Connection,
        by: &["ecf"],
        metric: MetricSpec::real(
            "waiting",
            One,
            Neither,
            "waiting",
            "1 while it waits for the fast path, 0 otherwise",
        ),
    },
    by(
        &["minratio"],
        "avg_pacing_rate_bit_s",
        BitsPerSecond,
        "average pacing rate",
        "averaged pacing rate by which it divides",
    ),
    by(
        &["espc"],
        "cap_segments",
        Segments,
        "estimated point of loss",
        "estimated point of loss; no sample before the first loss",
    ),
    of(Link, "queue_packets", Packets, Down, "queue", "packets that wait in front of the transmitter"),
    of(Link, "queue_bytes", Bytes, Down, "queue", "their bytes"),
    of(
        Link,
        "throughput_bit_s",
        BitsPerSecond,
        Up,
        "throughput",
        "bits that left the transmitter since the last sample, as a rate",
    ),
];
