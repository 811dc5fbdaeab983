//! Columns of `failed_joins`.

use super::{FLOW, RUN};
use crate::metric::{Kind, MetricSpec, TableSpec};

/// One row per seed, flow, connection and subflow that never came about.
pub const FAILED_JOINS: TableSpec = TableSpec {
    name: "failed_joins",
    row: "one row per seed, flow, connection and subflow of MPTCP whose join failed",
    columns: &[
        RUN,
        FLOW,
        MetricSpec::key("connection", Kind::Integer, "number of the connection, as in `subflows`"),
        MetricSpec::key("subflow", Kind::Integer, "number of the subflow at the end that opened it"),
        MetricSpec::word("from", "from", "node that opened it"),
        MetricSpec::word(
            "to",
            "to",
            "node that its packets go to: a proxy that intercepts them, or the far end",
        ),
        MetricSpec::word("path", "path", "path or link over which they leave that node, as in `subflows`"),
        MetricSpec::word("failure", "failure", "why the join failed, in the words of the end that opened it"),
    ],
};
