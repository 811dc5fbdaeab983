//! Tables of what applications measure: messages, figures of each kind of message, pages.

use trace::{MessageRecord, MessageStats, PageRecord, Table, metrics};
use units::{Nanos, SimTime};

use super::column::Columns;
use super::flows::FlowRow;

pub(super) fn messages(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<(&FlowRow<'_>, u64, &MessageRecord)> = flows
        .iter()
        .flat_map(|flow| (0..).zip(&flow.record.messages).map(move |(index, message)| (flow, index, message)))
        .collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::MESSAGES, rows)
        .integer("run", |r| r.0.run)
        .word("flow", |r| Some(r.0.name))
        .integer("message", |r| r.1)
        .word("what", |r| Some(r.2.what))
        .integer("size_bytes", |r| r.2.size.0)
        .real("start_s", |r| Some(r.2.start.as_secs_f64()))
        .real("end_s", |r| r.2.end.map(SimTime::as_secs_f64))
        .real("delay_s", |r| r.2.delay.map(Nanos::as_secs_f64))
        .finish()
}

struct Measure<'a> {
    flow: &'a FlowRow<'a>,
    what: &'static str,
    bytes: u64,
    stats: MessageStats,
}

impl Measure<'_> {
    fn quantile(&self, q: f64) -> Option<f64> {
        self.stats.quantile(q).map(Nanos::as_secs_f64)
    }
}

/// One row per flow and kind of message, in the order in which the kinds first appear.
pub(super) fn measures(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<Measure<'_>> = flows.iter().flat_map(measures_of).collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::MEASURES, rows)
        .integer("run", |r| r.flow.run)
        .word("flow", |r| Some(r.flow.name))
        .word("what", |r| Some(r.what))
        .integer("sent", |r| r.stats.sent())
        .integer("delivered", |r| r.stats.delivered())
        .integer("delivered_bytes", |r| r.bytes)
        .real("delay_mean_s", |r| r.stats.mean())
        .real("delay_p50_s", |r| r.quantile(0.50))
        .real("delay_p95_s", |r| r.quantile(0.95))
        .real("delay_p99_s", |r| r.quantile(0.99))
        .real("delay_max_s", |r| r.quantile(1.0))
        .real("jitter_s", |r| r.stats.jitter())
        .real("jitter_rfc3550_s", |r| r.stats.smoothed_jitter())
        .real("late", |r| r.stats.late())
        .finish()
}

fn measures_of<'a>(flow: &'a FlowRow<'a>) -> Vec<Measure<'a>> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for message in &flow.record.messages {
        if !kinds.contains(&message.what) {
            kinds.push(message.what);
        }
    }
    let measure = |what| {
        let messages = || flow.record.messages.iter().filter(move |message| message.what == what);
        let bytes = messages().filter(|message| message.end.is_some()).map(|message| message.size.0).sum();
        let stats = MessageStats::of(messages().map(|message| message.delay), flow.record.deadline);
        Measure { flow, what, bytes, stats }
    };
    kinds.into_iter().map(measure).collect()
}

pub(super) fn pages(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<(&FlowRow<'_>, u64, &PageRecord)> = flows
        .iter()
        .flat_map(|flow| (0..).zip(&flow.record.pages).map(move |(index, page)| (flow, index, page)))
        .collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::PAGES, rows)
        .integer("run", |r| r.0.run)
        .word("flow", |r| Some(r.0.name))
        .integer("page", |r| r.1)
        .word("name", |r| Some(r.2.name))
        .integer("objects", |r| r.2.objects)
        .integer("arrived", |r| r.2.arrived)
        .integer("size_bytes", |r| r.2.size.0)
        .integer("connections", |r| r.2.connections)
        .real("start_s", |r| Some(r.2.start.as_secs_f64()))
        .real("end_s", |r| r.2.end.map(SimTime::as_secs_f64))
        .real("load_time_s", |r| r.2.end.map(|end| end.since(r.2.start).as_secs_f64()))
        .finish()
}
