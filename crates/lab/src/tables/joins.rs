//! The table of subflows that never came about.

use scenario::model::Scenario;
use trace::{JoinRecord, Table, metrics};

use super::column::Columns;
use super::flows::FlowRow;

pub(super) fn failed_joins(scenario: &Scenario, flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<(&FlowRow<'_>, &JoinRecord)> =
        flows.iter().flat_map(|of| of.record.failed_joins.iter().map(move |record| (of, record))).collect();
    let rows = rows.as_slice();
    let node = |node: usize| Some(scenario.nodes[node].name.as_str());
    Columns::new(&metrics::FAILED_JOINS, rows)
        .integer("run", |r| r.0.run)
        .word("flow", |r| Some(r.0.name))
        .integer("connection", |r| r.1.connection.into())
        .integer("subflow", |r| r.1.subflow.into())
        .word("from", |r| node(r.1.from))
        .word("to", |r| node(r.1.to))
        .word("path", |r| r.1.duplex_link.map(|link| scenario.duplex_links[link].name.as_str()))
        .word("failure", |r| Some(r.1.failure))
        .finish()
}
