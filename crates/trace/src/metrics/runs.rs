//! Columns of `runs` and `links`.

use super::RUN;
use crate::metric::Better::{Down, Neither};
use crate::metric::Unit::{Bytes, One, Packets, Seconds, Share};
use crate::metric::{Better, Kind, MetricSpec, TableSpec};

const fn count(name: &'static str, better: Better, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::integer(name, One, better, label, doc)
}

/// One row per seed; the work of its baselines is counted in.
pub const RUNS: TableSpec = TableSpec {
    name: "runs",
    row: "one row per seed",
    columns: &[
        RUN,
        count(
            "events",
            Neither,
            "events",
            "events taken out of the event queue, those of the baselines included",
        ),
        count(
            "packet_hops",
            Neither,
            "packet hops",
            "packets that crossed a link, data or ACK, one count per link; those of the baselines included",
        ),
        MetricSpec::real(
            "end_s",
            Seconds,
            Neither,
            "end",
            "when the run ended: at `duration`, or when every flow had delivered all that was written",
        ),
    ],
};

/// One row per seed and link direction, of the scenario itself.
pub const LINKS: TableSpec = TableSpec {
    name: "links",
    row: "one row per seed and link direction",
    columns: &[
        RUN,
        MetricSpec::key("link", Kind::Word, "name, such as `beam1.up`"),
        count(
            "packets",
            Neither,
            "packets",
            "packets that left the transmitter, those lost in transit included",
        ),
        MetricSpec::integer("bytes", Bytes, Neither, "bytes", "their bytes on the wire"),
        MetricSpec::real(
            "utilisation",
            Share,
            Neither,
            "utilisation",
            "bits that left the transmitter over those that the rate allowed until the run ended, 0 to 1; \
             outages count as time",
        ),
        count(
            "drops_queue",
            Down,
            "drops by the queue",
            "packets dropped by the queue: refused because it was full, or dropped by its discipline",
        ),
        count("drops_error", Down, "drops by the loss model", "packets lost by the loss model"),
        count(
            "drops_down",
            Down,
            "drops by outages",
            "packets cut off on the transmitter when the link went down",
        ),
        count(
            "drops_corrupt",
            Down,
            "drops by corruption",
            "packets damaged on the link and dropped at its far end (fault `corrupt`)",
        ),
        count("duplicated", Neither, "duplicates", "copies that the link made (fault `duplicate`)"),
        count(
            "marked",
            Neither,
            "marked packets",
            "packets marked by the queue discipline instead of dropped (ECN)",
        ),
        MetricSpec::real(
            "queue_delay_mean_s",
            Seconds,
            Down,
            "mean queueing delay",
            "mean time in the queue of the packets transmitted, their own transmission not included; \
             null if there were none",
        ),
        MetricSpec::real("queue_delay_max_s", Seconds, Down, "largest queueing delay", "its maximum"),
        MetricSpec::integer(
            "queue_max_packets",
            Packets,
            Down,
            "longest queue",
            "largest number of packets waiting",
        ),
    ],
};
