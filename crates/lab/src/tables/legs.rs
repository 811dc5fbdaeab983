//! The table of legs: the connections that proxies make of one.

use scenario::model::Scenario;
use trace::{Held, LegRecord, Table, metrics};
use units::{Bytes, Nanos, SimTime};

use super::column::Columns;
use super::flows::FlowRow;

struct LegRow<'a> {
    of: &'a FlowRow<'a>,
    scenario: &'a Scenario,
    record: &'a LegRecord,
}

impl<'a> LegRow<'a> {
    fn node(&self, node: usize) -> Option<&'a str> {
        Some(self.scenario.nodes[node].name.as_str())
    }

    fn path(&self) -> Option<&'a str> {
        self.record.duplex_link.map(|link| self.scenario.duplex_links[link].name.as_str())
    }

    fn held(&self) -> Option<Held> {
        self.record.held.map(|(held, _)| held)
    }

    fn lost(&self) -> Option<Bytes> {
        self.record.held.map(|(_, lost)| lost)
    }
}

pub(super) fn legs(scenario: &Scenario, flows: &[FlowRow<'_>]) -> Table {
    let row = |of| move |record| LegRow { of, scenario, record };
    let rows: Vec<LegRow<'_>> = flows.iter().flat_map(|of| of.record.legs.iter().map(row(of))).collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::LEGS, rows)
        .integer("run", |r| r.of.run)
        .word("flow", |r| Some(r.of.name))
        .integer("connection", |r| r.record.connection.into())
        .integer("leg", |r| r.record.leg.into())
        .integer("subflow", |r| r.record.subflow.into())
        .word("from", |r| r.node(r.record.from))
        .word("to", |r| r.node(r.record.to))
        .word("path", LegRow::path)
        .word("transport", |r| Some(if r.record.multipath { "mptcp" } else { "tcp" }))
        .real("established_s", |r| r.record.established.map(SimTime::as_secs_f64))
        .real("goodput_bit_s", |r| r.of.rate(r.record.received))
        .real("srtt_mean_s", |r| r.record.sending.srtt_mean.map(Nanos::as_secs_f64))
        .real("cwnd_mean_bytes", |r| r.record.established.map(|_| r.record.sending.cwnd_mean))
        .sending(|r| &r.record.sending)
        .real("held_mean_bytes", |r| r.held().map(|held| held.mean))
        .optional("held_max_bytes", |r| r.held().map(|held| held.max.0))
        .optional("lost_bytes", |r| r.lost().map(|lost| lost.0))
        .optional("data_ack_ahead_bytes", |r| r.record.overreach.map(|[ahead, _]| ahead.0))
        .optional("window_beyond_bytes", |r| r.record.overreach.map(|[_, beyond]| beyond.0))
        .finish()
}
