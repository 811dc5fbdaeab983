//! Tables of replications and of links.

use scenario::model::Scenario;
use trace::{LinkRecord, Table, metrics};
use units::Nanos;

use super::OneSeed;
use super::column::Columns;

/// One row per seed. Events and packet hops include those of its baselines.
pub(super) fn runs(seeds: &[OneSeed<'_>]) -> Table {
    Columns::new(&metrics::RUNS, seeds)
        .integer("run", OneSeed::seed)
        .integer("events", |s| s.of_seed.iter().map(|r| r.record.events).sum())
        .integer("packet_hops", |s| s.of_seed.iter().map(|r| r.record.packet_hops).sum())
        .real("end_s", |s| Some(s.of_seed[0].record.end.as_secs_f64()))
        .finish()
}

struct LinkRow<'a> {
    run: u64,
    name: &'a str,
    record: &'a LinkRecord,
}

/// One row per link direction and seed; baselines have none.
pub(super) fn links(scenario: &Scenario, seeds: &[OneSeed<'_>]) -> Table {
    let names = || scenario.duplex_links.iter().flat_map(|link| &link.directions).map(|d| d.name.as_str());
    let rows: Vec<LinkRow<'_>> = seeds
        .iter()
        .flat_map(|one| {
            let run = one.seed();
            names().zip(&one.of_seed[0].record.links).map(move |(name, record)| LinkRow { run, name, record })
        })
        .collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::LINKS, rows)
        .integer("run", |r| r.run)
        .word("link", |r| Some(r.name))
        .integer("packets", |r| r.record.packets)
        .integer("bytes", |r| r.record.bytes.0)
        .real("utilisation", |r| Some(r.record.utilisation))
        .integer("drops_queue", |r| r.record.drops_queue)
        .integer("drops_error", |r| r.record.drops_error)
        .integer("drops_down", |r| r.record.drops_down)
        .integer("drops_corrupt", |r| r.record.drops_corrupt)
        .integer("duplicated", |r| r.record.duplicated)
        .integer("marked", |r| r.record.marked)
        .real("queue_delay_mean_s", |r| waiting(r, r.record.queue_delay_mean))
        .real("queue_delay_max_s", |r| waiting(r, r.record.queue_delay_max))
        .integer("queue_max_packets", |r| r.record.queue_max)
        .finish()
}

/// Waiting time in seconds; `None` on a link that no packet used.
fn waiting(row: &LinkRow<'_>, delay: Nanos) -> Option<f64> {
    (row.record.packets > 0).then(|| delay.as_secs_f64())
}
