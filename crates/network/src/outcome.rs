//! From a world that has run to the record of the run.
//!
//! May: read counters and recorders. May not: change how the run goes on; a flow may be recorded before it ends.

use trace::{FlowRecord, Held, RunRecord, SubflowRecord, TimeLevels};
use transport::Connection;
use units::{Bytes, SimTime};

use crate::fabric::Exit;
use crate::flow::Flow;
use crate::flow::channel::Channel;
use crate::host::endpoint::End;
use crate::topology::duplex_link_of;
use crate::tracer::Tracer;
use crate::world::World;

impl World {
    /// The record of a run that ended at `end`.
    pub(crate) fn into_record(mut self, end: SimTime) -> RunRecord {
        if let Some(sampler) = &mut self.sampler {
            sampler.sample(end, &self.flows, &self.channels, &self.ends, &mut self.fabric);
        }
        let links = self.fabric.records(end);
        let (channels, ends) = (&self.channels, &self.ends);
        let settled = |flow: &mut Flow| {
            let record = flow.record.take();
            let mut record = record.unwrap_or_else(|| {
                let last = flow.last_end(self.duration);
                Box::new(flow_record(end, last, flow, channels, ends))
            });
            record.failure = failure(flow, ends);
            // Messages may have arrived, and pages been given up, after the flow's interval.
            record.messages = std::mem::take(&mut flow.messages);
            record.pages = std::mem::take(&mut flow.pages);
            *record
        };
        let flows = self.flows.iter_mut().map(settled).collect();
        RunRecord {
            seed: self.seed,
            events: self.fabric.queue.taken(),
            packet_hops: links.iter().map(|link| link.packets).sum(),
            end,
            flows,
            links,
            series: self.sampler.map(crate::sampler::Sampler::into_series).unwrap_or_default(),
            trace: self.fabric.tracer.map(|tracer| Tracer::into_text(*tracer)).unwrap_or_default(),
        }
    }
}

/// What is known at `now` of a flow whose interval ends at `end`; messages and pages come last. Takes the delays that
/// were recorded with it.
pub(crate) fn flow_record(
    now: SimTime,
    end: SimTime,
    flow: &mut Flow,
    channels: &[Channel],
    ends: &[End],
) -> FlowRecord {
    let delay = std::mem::take(&mut flow.recorder.delay);
    let send_delay = std::mem::take(&mut flow.recorder.send_delay);
    let (flow, recorder) = (&*flow, &flow.recorder);
    let pairs = || flow.channels.iter().map(|&i| (&channels[i], &ends[2 * i], &ends[2 * i + 1]));
    let completed =
        flow.finished() && flow.channels.iter().all(|&i| channels[i].is_idle(&ends[2 * i..2 * i + 2]));
    let fell_back = |(_, a, b): (_, &End, &End)| {
        a.connection.is_established() && (a.connection.fell_back() || b.connection.fell_back())
    };
    // There are thousands of flows with one subflow each: none takes more room than it needs.
    let mut subflows = Vec::with_capacity(pairs().map(|(_, end, _)| end.connection.subflow_count()).sum());
    for (channel, sender, receiver) in pairs() {
        let record = |i| subflow_record(now, i, channel, sender, &receiver.connection);
        subflows.extend((0..sender.connection.subflow_count()).map(record));
    }
    FlowRecord {
        start: flow.start.min(end),
        end,
        completed,
        delivered: recorder.delivered,
        last_delivery: (recorder.delivered > Bytes::ZERO).then_some(recorder.last_delivery),
        delay,
        send_delay_mean: send_delay.mean(),
        send_delay_p95: send_delay.quantile(0.95),
        ofo: held(&recorder.out_of_order, now),
        waiting_for_others: flow.factory.multipath().then(|| held(&recorder.waiting_for_others, now)),
        failure: failure(flow, ends),
        fell_back: pairs().any(fell_back),
        subflows,
        messages: Vec::new(),
        pages: Vec::new(),
        deadline: flow.app.as_ref().and_then(|app| app.deadline()),
    }
}

fn held(levels: &TimeLevels, now: SimTime) -> Held {
    Held { mean: levels.mean(now), p95: levels.quantile(now, 0.95), max: levels.max() }
}

/// Why the first of the flow's connections failed that did.
fn failure(flow: &Flow, ends: &[End]) -> Option<&'static str> {
    if !flow.started {
        return Some("the flows that it waits for did not end in time");
    }
    let of = |&i: &usize| {
        let [sender, receiver] = [&ends[2 * i].connection, &ends[2 * i + 1].connection];
        let never_opened = || (!sender.is_established()).then_some("the connection was never established");
        sender.failure().or_else(|| receiver.failure()).or_else(never_opened)
    };
    flow.channels.iter().find_map(of)
}

fn subflow_record(
    now: SimTime,
    index: usize,
    channel: &Channel,
    sender: &End,
    receiver: &Connection,
) -> SubflowRecord {
    let (stats, received) = (sender.connection.stats(index), receiver.stats(index));
    let way = sender.ways.get(index);
    let recorder = channel.recorder.subflows.get(index);
    let cwnd = recorder.and_then(|subflow| subflow.cwnd);
    let ofo = recorder.and_then(|subflow| subflow.held.as_ref());
    SubflowRecord {
        connection: channel.number,
        subflow: index as u32,
        duplex_link: way.and_then(|way| match way.route.exit {
            Exit::Over(link) => Some(duplex_link_of(link)),
            Exit::Any | Exit::Nowhere => None,
        }),
        established: stats.established_at,
        received: Bytes(received.bytes_received),
        beyond_window: Bytes(received.beyond_window_received),
        overflow: Bytes(received.overflow_received),
        segments_received: received.segments_received,
        segments_repeated: received.duplicates_received,
        segments_late: received.late_received,
        ofo: ofo.map_or_else(Held::default, |levels| held(levels, now)),
        sent: Bytes(stats.bytes_sent),
        wire: way.map_or(Bytes::ZERO, |way| way.wire),
        segments_sent: stats.segments_sent,
        segments_retransmitted: stats.segments_retransmitted,
        timeouts: stats.timeouts,
        fast_recoveries: stats.fast_recoveries,
        reinjected: Bytes(stats.reinjected_bytes),
        srtt_mean: stats.rtt_mean,
        cwnd_mean: cwnd.map_or(0.0, |cwnd| cwnd.mean(now)),
    }
}
