//! Tables of what applications measure: messages, figures of each kind of message, pages.

use trace::{MessageRecord, MessageStats, PageRecord, Table};
use units::{Nanos, SimTime};

use super::column::{integer, real, word};
use super::flows::FlowRow;

pub(super) fn messages(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<(&FlowRow<'_>, u64, &MessageRecord)> = flows
        .iter()
        .flat_map(|flow| (0..).zip(&flow.record.messages).map(move |(index, message)| (flow, index, message)))
        .collect();
    let rows = rows.as_slice();
    let columns = vec![
        integer("run", rows, |r| r.0.run),
        word("flow", rows, |r| Some(r.0.name)),
        integer("message", rows, |r| r.1),
        word("what", rows, |r| Some(r.2.what)),
        integer("size_bytes", rows, |r| r.2.size.0),
        real("start_s", rows, |r| Some(r.2.start.as_secs_f64())),
        real("end_s", rows, |r| r.2.end.map(SimTime::as_secs_f64)),
        real("delay_s", rows, |r| r.2.delay.map(Nanos::as_secs_f64)),
    ];
    Table { name: "messages", columns }
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
    let columns = vec![
        integer("run", rows, |r| r.flow.run),
        word("flow", rows, |r| Some(r.flow.name)),
        word("what", rows, |r| Some(r.what)),
        integer("sent", rows, |r| r.stats.sent()),
        integer("delivered", rows, |r| r.stats.delivered()),
        integer("delivered_bytes", rows, |r| r.bytes),
        real("delay_mean_s", rows, |r| r.stats.mean()),
        real("delay_p50_s", rows, |r| r.quantile(0.50)),
        real("delay_p95_s", rows, |r| r.quantile(0.95)),
        real("delay_p99_s", rows, |r| r.quantile(0.99)),
        real("delay_max_s", rows, |r| r.quantile(1.0)),
        real("jitter_s", rows, |r| r.stats.jitter()),
        real("jitter_rfc3550_s", rows, |r| r.stats.smoothed_jitter()),
        real("late", rows, |r| r.stats.late()),
    ];
    Table { name: "measures", columns }
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
    let columns = vec![
        integer("run", rows, |r| r.0.run),
        word("flow", rows, |r| Some(r.0.name)),
        integer("page", rows, |r| r.1),
        word("name", rows, |r| Some(r.2.name)),
        integer("objects", rows, |r| r.2.objects),
        integer("arrived", rows, |r| r.2.arrived),
        integer("size_bytes", rows, |r| r.2.size.0),
        integer("connections", rows, |r| r.2.connections),
        real("start_s", rows, |r| Some(r.2.start.as_secs_f64())),
        real("end_s", rows, |r| r.2.end.map(SimTime::as_secs_f64)),
        real("load_time_s", rows, |r| r.2.end.map(|end| end.since(r.2.start).as_secs_f64())),
    ];
    Table { name: "pages", columns }
}
