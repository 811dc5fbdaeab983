//! Tables of flows and of what belongs to them: subflows, delays.

use scenario::model::{Choice, DuplexLink, Flow};
use trace::{FlowRecord, SubflowRecord, Table, metrics};
use units::{Bytes, Nanos, SimTime};

use super::OneSeed;
use super::column::Columns;
use crate::backend::Replication;
use crate::replication::Variant;

/// One row of `flows`.
pub(super) struct FlowRow<'a> {
    pub(super) run: u64,
    pub(super) name: &'a str,
    flow: &'a Flow,
    duplex_links: &'a [DuplexLink],
    pub(super) record: &'a FlowRecord,
    /// Why it failed, with the links that carry nothing.
    failure: Option<String>,
    benefit: Option<Benefit>,
}

/// Goodput of a flow over that of its baselines under the same seed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Benefit {
    vs_best: f64,
    vs_sum: f64,
}

/// The flows of one seed, each followed by its baselines.
pub(super) fn rows<'a>(one: &OneSeed<'a>) -> Vec<FlowRow<'a>> {
    let (variant, replication) = (&one.variants[0], &one.of_seed[0]);
    let flows = 0..variant.scenario.flows.len();
    flows
        .flat_map(|index| {
            let baselines: Vec<_> = one.baselines(index).map(|(v, r)| row(v, r, index)).collect();
            let mut itself = row(variant, replication, index);
            itself.benefit = benefit(&itself, &baselines);
            std::iter::once(itself).chain(baselines)
        })
        .collect()
}

fn row<'a>(variant: &'a Variant<'a>, replication: &'a Replication, index: usize) -> FlowRow<'a> {
    let flow = &variant.scenario.flows[index];
    FlowRow {
        run: replication.record.seed,
        name: variant.baseline.as_ref().map_or(&flow.name, |b| &b.name),
        flow,
        duplex_links: &variant.scenario.duplex_links,
        record: &replication.record.flows[index],
        failure: failure(variant, replication, index),
        benefit: None,
    }
}

/// Why the flow failed. If its connection was never established the links that carry nothing are named, with the reason.
fn failure(variant: &Variant<'_>, replication: &Replication, index: usize) -> Option<String> {
    let failure = replication.record.flows[index].failure.as_deref()?;
    let mut told = failure.to_owned();
    if failure != trace::NEVER_ESTABLISHED {
        return Some(told);
    }
    let (scenario, seed) = (&*variant.scenario, replication.record.seed);
    let via = scenario.flows[index].via;
    for (number, link) in scenario.duplex_links.iter().enumerate() {
        if via.is_some_and(|via| via != number) {
            continue;
        }
        for (side, direction) in link.directions.iter().enumerate() {
            if let Some(why) = network::never_carries(scenario, seed, (number, side)) {
                told += &format!("; {} carries nothing: {why}", direction.name);
            }
        }
    }
    Some(told)
}

fn benefit(row: &FlowRow<'_>, baselines: &[FlowRow<'_>]) -> Option<Benefit> {
    let alone: Vec<f64> = baselines.iter().filter_map(FlowRow::goodput).collect();
    let best = alone.iter().copied().fold(0.0, f64::max);
    let goodput = row.goodput()?;
    (best > 0.0).then(|| Benefit { vs_best: goodput / best, vs_sum: goodput / alone.iter().sum::<f64>() })
}

impl FlowRow<'_> {
    fn lifetime(&self) -> Nanos {
        self.record.end.since(self.record.start)
    }

    /// Rate of `bytes` over the flow's life in bit/s; `None` if it had none.
    pub(super) fn rate(&self, bytes: Bytes) -> Option<f64> {
        let seconds = self.lifetime().as_secs_f64();
        (seconds > 0.0).then(|| bytes.as_f64() * 8.0 / seconds)
    }

    fn goodput(&self) -> Option<f64> {
        self.rate(self.record.delivered)
    }

    fn sum(&self, value: impl Fn(&SubflowRecord) -> u64) -> u64 {
        self.record.subflows.iter().map(value).sum()
    }

    /// Rate on the wire of the data sender, in bit/s.
    fn wire_rate(&self) -> Option<f64> {
        self.rate(self.record.subflows.iter().map(|s| s.sending.wire).sum())
    }

    /// Share of the segments that reached the receiver; `None` if none did, or if they have no order (UDP).
    fn seen_share(&self, count: impl Fn(&SubflowRecord) -> u64) -> Option<f64> {
        let ordered = self.flow.transport.udp.is_none();
        share(self.sum(count), self.sum(|s| s.segments_received)).filter(|_| ordered)
    }

    fn delay_quantile(&self, q: f64) -> Option<f64> {
        self.record.delay.quantile(q).map(Nanos::as_secs_f64)
    }

    /// Seconds under one of the limits, the mean of its connections: the limits add up to the lifetime. `None` if no
    /// connection was opened.
    fn limited(&self, limit: usize) -> Option<f64> {
        let connections = &self.record.limited;
        debug_assert!(
            connections.iter().all(|limited| limited.total() == self.lifetime()),
            "one limit holds at any instant"
        );
        let sum: f64 = connections.iter().map(|limited| limited.0[limit].as_secs_f64()).sum();
        (!connections.is_empty()).then(|| sum / connections.len() as f64)
    }

    fn transport(&self) -> &'static str {
        let transport = &self.flow.transport;
        match (&transport.mptcp, &transport.sctp, &transport.udp) {
            (_, _, Some(_)) => "udp",
            (_, Some(sctp), _) => {
                if sctp.config.cmt.is_some() {
                    "cmt-sctp"
                } else {
                    "sctp"
                }
            }
            (Some(_), ..) => "mptcp",
            (None, ..) => "tcp",
        }
    }

    fn congestion(&self) -> Option<&str> {
        self.flow.transport.congestion.as_ref().map(Choice::name)
    }

    fn scheduler(&self) -> Option<&str> {
        let transport = &self.flow.transport;
        let of_mptcp = transport.mptcp.as_ref().map(|mptcp| &mptcp.scheduler);
        let of_sctp = transport.sctp.as_ref().and_then(|sctp| sctp.scheduler.as_ref());
        of_mptcp.or(of_sctp).map(Choice::name)
    }
}

/// `part` as a share of `all`; `None` if `all` is 0.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

pub(super) fn flows(rows: &[FlowRow<'_>]) -> Table {
    Columns::new(&metrics::FLOWS, rows)
        .integer("run", |r| r.run)
        .word("flow", |r| Some(r.name))
        .word("transport", |r| Some(r.transport()))
        .word("congestion", |r| r.congestion())
        .word("scheduler", |r| r.scheduler())
        .real("start_s", |r| Some(r.record.start.as_secs_f64()))
        .real("end_s", |r| Some(r.record.end.as_secs_f64()))
        .flag("completed", |r| r.record.completed)
        .word("failure", |r| r.failure.as_deref())
        .flag("fell_back", |r| r.record.fell_back)
        .integer("delivered_bytes", |r| r.record.delivered.0)
        .real("last_delivery_s", |r| r.record.last_delivery.map(SimTime::as_secs_f64))
        .real("goodput_bit_s", FlowRow::goodput)
        .real("completion_s", |r| r.record.completed.then(|| r.lifetime().as_secs_f64()))
        .integer("segments_sent", |r| r.sum(|s| s.sending.segments))
        .integer("retransmitted_segments", |r| r.sum(|s| s.sending.retransmitted))
        .integer("timeouts", |r| r.sum(|s| s.sending.timeouts))
        .integer("fast_recoveries", |r| r.sum(|s| s.sending.fast_recoveries))
        .integer("reinjected_bytes", |r| r.sum(|s| s.reinjected.0))
        .real("delay_mean_s", |r| r.record.delay.mean())
        .real("delay_p50_s", |r| r.delay_quantile(0.50))
        .real("delay_p95_s", |r| r.delay_quantile(0.95))
        .real("delay_p99_s", |r| r.delay_quantile(0.99))
        .real("send_delay_mean_s", |r| r.record.send_delay_mean)
        .real("send_delay_p95_s", |r| r.record.send_delay_p95.map(Nanos::as_secs_f64))
        .real("wire_bit_s", FlowRow::wire_rate)
        .real("ofo_mean_bytes", |r| Some(r.record.ofo.mean))
        .integer("ofo_p95_bytes", |r| r.record.ofo.p95.0)
        .integer("ofo_max_bytes", |r| r.record.ofo.max.0)
        .real("meta_ofo_mean_bytes", |r| r.record.waiting_for_others.map(|held| held.mean))
        .optional("meta_ofo_p95_bytes", |r| r.record.waiting_for_others.map(|held| held.p95.0))
        .optional("meta_ofo_max_bytes", |r| r.record.waiting_for_others.map(|held| held.max.0))
        .real("seen_retransmitted_share", |r| r.seen_share(|s| s.segments_repeated))
        .real("seen_late_share", |r| r.seen_share(|s| s.segments_late))
        .real("benefit_vs_best", |r| r.benefit.map(|b| b.vs_best))
        .real("benefit_vs_sum", |r| r.benefit.map(|b| b.vs_sum))
        .real("out_of_order_s", |r| Some(r.record.ofo.time.as_secs_f64()))
        .limits(FlowRow::limited)
        .finish()
}

struct SubflowRow<'a> {
    of: &'a FlowRow<'a>,
    record: &'a SubflowRecord,
}

impl SubflowRow<'_> {
    fn path(&self) -> Option<&str> {
        self.record.duplex_link.map(|duplex_link| self.of.duplex_links[duplex_link].name.as_str())
    }

    /// Share of the received payload that this subflow carried; `None` if none was received.
    fn share(&self) -> Option<f64> {
        share(self.record.received.0, self.of.sum(|s| s.received.0))
    }

    /// Share of the segments that reached the receiver on this subflow.
    fn seen_share(&self, count: u64) -> Option<f64> {
        let ordered = self.of.flow.transport.udp.is_none();
        share(count, self.record.segments_received).filter(|_| ordered)
    }
}

pub(super) fn subflows(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<SubflowRow<'_>> = flows
        .iter()
        .flat_map(|of| of.record.subflows.iter().map(move |record| SubflowRow { of, record }))
        .collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::SUBFLOWS, rows)
        .integer("run", |r| r.of.run)
        .word("flow", |r| Some(r.of.name))
        .integer("connection", |r| r.record.connection.into())
        .integer("subflow", |r| r.record.subflow.into())
        .word("path", SubflowRow::path)
        .real("established_s", |r| r.record.established.map(SimTime::as_secs_f64))
        .real("goodput_bit_s", |r| r.of.rate(r.record.received))
        .real("share", SubflowRow::share)
        .real("srtt_mean_s", |r| r.record.sending.srtt_mean.map(Nanos::as_secs_f64))
        .real("cwnd_mean_bytes", |r| r.record.established.map(|_| r.record.sending.cwnd_mean))
        .real("ofo_mean_bytes", |r| Some(r.record.ofo.mean))
        .integer("ofo_p95_bytes", |r| r.record.ofo.p95.0)
        .integer("ofo_max_bytes", |r| r.record.ofo.max.0)
        .integer("segments_received", |r| r.record.segments_received)
        .real("seen_retransmitted_share", |r| r.seen_share(r.record.segments_repeated))
        .real("seen_late_share", |r| r.seen_share(r.record.segments_late))
        .sending(|r| &r.record.sending)
        .integer("reinjected_bytes", |r| r.record.reinjected.0)
        .integer("beyond_window_bytes", |r| r.record.beyond_window.0)
        .integer("overflow_bytes", |r| r.record.overflow.0)
        .real("out_of_order_s", |r| Some(r.record.ofo.time.as_secs_f64()))
        .limits(|r, limit| Some(r.record.limited.0[limit].as_secs_f64()))
        .finish()
}

/// Histograms of the delay from application write to in-order delivery: bytes per bucket that is not empty.
pub(super) fn delays(flows: &[FlowRow<'_>]) -> Table {
    let rows: Vec<(&FlowRow<'_>, Nanos, u64)> = flows
        .iter()
        .flat_map(|flow| flow.record.delay.buckets().map(move |(delay, bytes)| (flow, delay, bytes)))
        .collect();
    let rows = rows.as_slice();
    Columns::new(&metrics::DELAYS, rows)
        .integer("run", |r| r.0.run)
        .word("flow", |r| Some(r.0.name))
        .real("delay_s", |r| Some(r.1.as_secs_f64()))
        .integer("bytes", |r| r.2)
        .finish()
}
