//! A world: hosts with their connections and applications, and the network between them, run event by event.
//!
//! May: hand segments, deadlines and wake-ups to whom they belong, in the order of the event queue. May not: draw
//! random numbers or decide anything that a link, a transport or an application decides.
//!
//! Changes of links and samples are known beforehand and kept out of the queue: at equal times they come before
//! all events, changes first.

use std::sync::atomic::{AtomicBool, Ordering};

use transport::segment::{Segment, SubflowId};
use units::SimTime;

use crate::end::{self, End};
use crate::fabric::{Delivery, EndId, Event, Fabric, LinkChange};
use crate::flow::Flow;
use crate::outcome;
use crate::record::RunRecord;
use crate::sampler::Sampler;
use crate::topology::LinkId;
use crate::tracer::What;

/// What to record besides totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Time series.
    pub series: bool,
    /// A line of text per event.
    pub trace: bool,
}

/// The run was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Events between two looks at the cancel flag, less one.
const CANCEL_MASK: u64 = 4095;

/// One replication of a scenario.
#[derive(Debug)]
pub struct World {
    pub(crate) seed: u64,
    pub(crate) duration: SimTime,
    pub(crate) fabric: Fabric,
    /// Sender and receiver of each flow, in turn.
    pub(crate) ends: Vec<End>,
    pub(crate) flows: Vec<Flow>,
    /// Hashes of the flows' names.
    pub(crate) names: Vec<u64>,
    /// The next change last.
    pub(crate) changes: Vec<LinkChange>,
    pub(crate) sampler: Option<Sampler>,
    /// Flows that are not done.
    pub(crate) open: usize,
}

impl World {
    /// Runs until the end of the scenario, or until every flow has delivered all that was written, or until
    /// nothing can happen any more.
    ///
    /// # Errors
    /// `cancel` was set while the run went on.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<RunRecord, Cancelled> {
        let end = self.advance(cancel)?;
        Ok(self.into_record(end))
    }

    /// Runs and returns when the run ended.
    pub(crate) fn advance(&mut self, cancel: &AtomicBool) -> Result<SimTime, Cancelled> {
        let mut aside = self.next_aside();
        while let Some(next) = self.fabric.queue.next_time() {
            if aside <= next {
                if aside > self.duration {
                    return Ok(self.duration);
                }
                self.on_aside(aside);
                aside = self.next_aside();
                continue;
            }
            if next > self.duration {
                return Ok(self.duration);
            }
            let Some((now, event)) = self.fabric.queue.pop() else { break };
            if self.fabric.queue.taken() & CANCEL_MASK == 0 && cancel.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            self.on_event(now, event);
            if self.open == 0 {
                return Ok(now);
            }
        }
        Ok(self.fabric.queue.now())
    }

    /// When the next change or sample is due.
    fn next_aside(&self) -> SimTime {
        let change = self.changes.last().map_or(SimTime::NEVER, |change| change.at);
        change.min(self.sampler.as_ref().map_or(SimTime::NEVER, Sampler::next))
    }

    fn on_aside(&mut self, now: SimTime) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= now) {
            self.fabric.change(now, change);
        }
        if let Some(sampler) = &mut self.sampler
            && sampler.next() <= now
        {
            sampler.sample(now, &self.flows, &self.ends, &mut self.fabric);
        }
    }

    fn on_event(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Arrival(link) => self.on_arrival(now, link),
            Event::Timer(end) => self.on_timer(now, end),
            Event::Start(flow) => self.on_start(now, flow as usize),
            Event::Wake(flow) => {
                if self.flows[flow as usize].wake_fires(now) {
                    self.serve(now, 2 * flow as usize);
                }
            }
            Event::Read(flow) => {
                if self.flows[flow as usize].read_fires(now) {
                    self.serve(now, 2 * flow as usize + 1);
                }
            }
        }
    }

    fn on_start(&mut self, now: SimTime, flow: usize) {
        self.flows[flow].started = true;
        let [sender, receiver] = [2 * flow, 2 * flow + 1];
        let (client, server) = if self.ends[sender].client { (sender, receiver) } else { (receiver, sender) };
        self.ends[client].connection.open(now);
        self.serve(now, client);
        // The application is asked at the start, wherever it writes.
        self.serve(now, server);
    }

    fn on_arrival(&mut self, now: SimTime, link: LinkId) {
        if !self.fabric.arrival_is_due(now, link) {
            return;
        }
        while let Some(delivery) = self.fabric.next_delivery(now, link) {
            self.deliver(now, delivery);
        }
    }

    fn deliver(&mut self, now: SimTime, delivery: Delivery) {
        let index = delivery.to as usize;
        let end = &mut self.ends[index];
        let segment = self.fabric.open(delivery);
        let subflow = segment.subflow;
        end.connection.on_segment(now, segment);
        self.fabric.trace_delivery(now, delivery, end);
        let flow = &mut self.flows[index / 2];
        if index.is_multiple_of(2) {
            flow.recorder.sent(now, &end.connection, subflow);
        } else {
            flow.recorder.received(now, &end.connection);
        }
        self.serve(now, index);
    }

    fn on_timer(&mut self, now: SimTime, end: EndId) {
        let index = end as usize;
        if !self.ends[index].timer.fires(now) {
            return;
        }
        if self.ends[index].connection.next_deadline() > now {
            self.arm(now, index);
            return;
        }
        self.ends[index].connection.on_timeout(now);
        let (flow, connection) = (&mut self.flows[index / 2], &self.ends[index].connection);
        if index.is_multiple_of(2) {
            for subflow in 0..connection.subflow_count() {
                flow.recorder.sent(now, connection, subflow as SubflowId);
            }
        }
        self.serve(now, index);
    }

    /// Lets the application act, then its connection send. One pass is enough: sending frees no buffer.
    fn serve(&mut self, now: SimTime, index: usize) {
        let flow = &mut self.flows[index / 2];
        let connection = &mut self.ends[index].connection;
        let (wake, event) = if index.is_multiple_of(2) {
            (flow.write(now, connection), Event::Wake(index as u32 / 2))
        } else {
            (flow.read(now, connection), Event::Read(index as u32 / 2))
        };
        if let Some(at) = wake {
            self.fabric.queue.push(at, event);
        }
        if let Some(tracer) = &mut self.fabric.tracer {
            tracer.watch(now, index as EndId, &self.ends[index]);
        }
        self.transmit(now, index);
        self.arm(now, index);
        self.note_progress(now, index / 2);
    }

    fn transmit(&mut self, now: SimTime, index: usize) {
        let mut segment = Segment::default();
        while self.ends[index].connection.poll_transmit_into(now, &mut segment) {
            let subflow = usize::from(segment.subflow);
            while self.ends[index].ways.len() <= subflow {
                self.add_way(index);
            }
            let way = &mut self.ends[index].ways[subflow];
            way.wire += segment.wire_size;
            let route = way.route;
            if let Some(tracer) = &mut self.fabric.tracer {
                let gauges = self.ends[index].connection.gauges(subflow);
                tracer.packet(now, (What::Send, route.node), route.label.to, &segment, gauges);
            }
            self.fabric.send(now, &route, &segment);
        }
    }

    /// Finds the way of the next subflow of an end. The client chose its addresses.
    fn add_way(&mut self, index: usize) {
        let peer = index ^ 1;
        let subflow = self.ends[index].ways.len() as SubflowId;
        let client = if self.ends[index].client { index } else { peer };
        let pair = self.ends[client].connection.address_pair(subflow);
        let pair = if client == index { pair } else { pair.reversed() };
        let ports = self.ends[index].connection.ports(subflow);
        let places = (self.ends[index].node, peer as EndId, self.ends[peer].node);
        let way = end::way(&mut self.fabric, self.names[index / 2], places, pair, ports);
        self.ends[index].ways.push(way);
    }

    /// Keeps the end's queue entry no later than its connection's deadline.
    fn arm(&mut self, now: SimTime, index: usize) {
        let end = &mut self.ends[index];
        if let Some(at) = end.timer.set(end.connection.next_deadline()) {
            self.fabric.queue.push(at.max(now), Event::Timer(index as EndId));
        }
    }

    /// Ends the flow's interval when its time has come, and counts it when nothing of it remains.
    fn note_progress(&mut self, now: SimTime, index: usize) {
        let flow = &mut self.flows[index];
        if flow.done {
            return;
        }
        let delivered = flow.recorder.delivered;
        let all = flow.delivered_all(delivered);
        let over = all || flow.stopped();
        if over && flow.record.is_none() {
            let ends = [&self.ends[2 * index], &self.ends[2 * index + 1]];
            flow.record = Some(outcome::flow_record(now, now, flow, ends));
        }
        if all {
            flow.done = true;
            let wrote_all = flow.wrote_all();
            if let Some(record) = &mut flow.record {
                record.completed = wrote_all;
            }
            self.open -= 1;
        }
    }
}
