//! From a world that has run to the record of the run.
//!
//! May: read counters and recorders. May not: change how the run goes on; a flow may be recorded before it ends.

use transport::Connection;
use units::{Bytes, SimTime};

use crate::end::End;
use crate::fabric::Exit;
use crate::flow::Flow;
use crate::record::{FlowRecord, MessageRecord, RunRecord, SubflowRecord};
use crate::recorder::Recorder;
use crate::topology::cable_of;
use crate::tracer::Tracer;
use crate::world::World;

impl World {
    /// The record of a run that ended at `end`.
    pub(crate) fn into_record(mut self, end: SimTime) -> RunRecord {
        if let Some(sampler) = &mut self.sampler {
            sampler.sample(end, &self.flows, &self.ends, &mut self.fabric);
        }
        let links = self.fabric.records(end);
        let flows = self.flows.iter_mut().zip(self.ends.chunks_exact(2));
        let flows = flows
            .map(|(flow, ends)| {
                let ends = [&ends[0], &ends[1]];
                let record = flow.record.take();
                let mut record =
                    record.unwrap_or_else(|| flow_record(end, flow.last_end(self.duration), flow, ends));
                record.failure = failure(ends);
                record
            })
            .collect();
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

/// What is known at `now` of a flow whose interval ends at `end`. `ends` are sender and receiver.
pub(crate) fn flow_record(now: SimTime, end: SimTime, flow: &Flow, ends: [&End; 2]) -> FlowRecord {
    let recorder = &flow.recorder;
    let [sender, receiver] = [&ends[0].connection, &ends[1].connection];
    let completed = flow.wrote_all() && flow.delivered_all(recorder.delivered);
    let message = |size| MessageRecord { size, start: flow.start, end };
    let messages = flow.total().filter(|_| completed).map(message);
    let subflows = 0..sender.subflow_count();
    FlowRecord {
        start: flow.start,
        end: end.max(flow.start),
        completed,
        delivered: recorder.delivered,
        delay: recorder.delay.clone(),
        ofo_mean: recorder.out_of_order.mean(now),
        ofo_max: recorder.out_of_order_max,
        failure: failure(ends),
        fell_back: sender.is_established() && (sender.fell_back() || receiver.fell_back()),
        subflows: subflows.map(|i| subflow_record(now, i, ends[0], receiver, recorder)).collect(),
        messages: messages.into_iter().collect(),
    }
}

fn failure(ends: [&End; 2]) -> Option<&'static str> {
    let [sender, receiver] = [&ends[0].connection, &ends[1].connection];
    let never_opened = || (!sender.is_established()).then_some("the connection was never established");
    sender.failure().or_else(|| receiver.failure()).or_else(never_opened)
}

fn subflow_record(
    now: SimTime,
    index: usize,
    sender: &End,
    receiver: &Connection,
    recorder: &Recorder,
) -> SubflowRecord {
    let stats = sender.connection.stats(index);
    let way = sender.ways.get(index);
    let cwnd = recorder.subflows.get(index).and_then(|subflow| subflow.cwnd);
    SubflowRecord {
        cable: way.and_then(|way| match way.route.exit {
            Exit::Over(link) => Some(cable_of(link)),
            Exit::Any | Exit::Nowhere => None,
        }),
        established: stats.established_at,
        received: Bytes(receiver.stats(index).bytes_received),
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
