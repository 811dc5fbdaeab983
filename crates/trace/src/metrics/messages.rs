//! Columns of `messages`, `measures` and `pages`.

use super::RUN;
use crate::metric::Better::{Down, Neither, Up};
use crate::metric::Unit::{Bytes, One, Seconds, Share};
use crate::metric::{Kind, MetricSpec, TableSpec};

const FLOW: MetricSpec = MetricSpec::key("flow", Kind::Word, "name of the flow");

const fn seconds(name: &'static str, label: &'static str, doc: &'static str) -> MetricSpec {
    MetricSpec::real(name, Seconds, Down, label, doc)
}

/// One row per application message.
pub const MESSAGES: TableSpec = TableSpec {
    name: "messages",
    row: "one row per application message",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::key("message", Kind::Integer, "number of the message, from 0"),
        MetricSpec::word("what", "kind", "what it is, such as `transfer`"),
        MetricSpec::integer("size_bytes", Bytes, Neither, "size", "its size"),
        MetricSpec::real(
            "start_s",
            Seconds,
            Neither,
            "start",
            "when the application asked for it to be sent; the wait for the send buffer counts",
        ),
        MetricSpec::real(
            "end_s",
            Seconds,
            Neither,
            "end",
            "when its last byte was delivered; null if it never was",
        ),
        seconds(
            "delay_s",
            "delay",
            "`end_s` - `start_s`, or what the page of the application says; null if there is none",
        ),
    ],
};

/// Figures of the messages of one kind.
pub const MEASURES: TableSpec = TableSpec {
    name: "measures",
    row: "one row per seed, flow and kind of message",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::key("what", Kind::Word, "kind of message as in `messages`"),
        MetricSpec::integer("sent", One, Neither, "messages sent", "messages sent"),
        MetricSpec::integer("delivered", One, Up, "messages delivered", "how many of them arrived"),
        MetricSpec::integer("delivered_bytes", Bytes, Up, "bytes delivered", "bytes of those"),
        seconds("delay_mean_s", "mean delay", "mean of `delay_s` of the messages that arrived"),
        seconds("delay_p50_s", "median delay", "smallest delay that half of them do not exceed"),
        seconds("delay_p95_s", "p95 delay", "smallest delay that 95 % of them do not exceed"),
        seconds("delay_p99_s", "p99 delay", "smallest delay that 99 % of them do not exceed"),
        seconds("delay_max_s", "largest delay", "the largest"),
        seconds("jitter_s", "jitter", "mean absolute difference of the delays of consecutive messages"),
        seconds(
            "jitter_rfc3550_s",
            "jitter (RFC 3550)",
            "J after the last message, with J += (abs(D) - J)/16 for each (RFC 3550 section 6.4.1)",
        ),
        MetricSpec::real(
            "late",
            Share,
            Down,
            "late or lost",
            "share of the messages sent that took longer than the application's `deadline` or never arrived, 0 to 1",
        ),
    ],
};

/// One row per page that an application fetched.
pub const PAGES: TableSpec = TableSpec {
    name: "pages",
    row: "one row per page that was fetched",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::key("page", Kind::Integer, "number of the page, from 0"),
        MetricSpec::word("name", "name", "which page"),
        MetricSpec::integer("objects", One, Neither, "objects", "its objects, the main one included"),
        MetricSpec::integer("arrived", One, Up, "objects that arrived", "objects that arrived"),
        MetricSpec::integer("size_bytes", Bytes, Neither, "size", "bytes of the objects that arrived"),
        MetricSpec::integer("connections", One, Neither, "connections", "connections opened for it"),
        MetricSpec::real(
            "start_s",
            Seconds,
            Neither,
            "start",
            "when its first SYN, or its request over a connection that was open, left",
        ),
        MetricSpec::real(
            "end_s",
            Seconds,
            Neither,
            "end",
            "when its last object had arrived; null if not all of them did",
        ),
        seconds("load_time_s", "load time", "page load time: `end_s` - `start_s`"),
    ],
};
