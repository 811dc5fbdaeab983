//! A world: hosts with their connections and applications, and the network between them, run event by event.
//!
//! May: hand segments, deadlines and wake-ups to whom they belong, in the order of the event queue. May not: draw
//! random numbers or decide anything that a link, a transport or an application decides.
//!
//! Changes of links, what happens to connections, and samples are known beforehand and kept out of the queue: at
//! equal times they come before all events, in this order.

use std::sync::atomic::{AtomicBool, Ordering};

use apps::Side;
use trace::RunRecord;
use transport::segment::SubflowId;
use units::SimTime;

use crate::ecmp;
use crate::fabric::{Delivery, EndId, Event, Fabric};
use crate::flow::channel::{Channel, Mark};
use crate::flow::context::{FlowContext, Traits};
use crate::flow::events::ScheduledEvent;
use crate::flow::{Ended, Flow};
use crate::host::endpoint::{self, End};
use crate::lane::LinkChange;
use crate::outcome;
use crate::sampler::Sampler;
use crate::topology::LinkId;

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
    /// Sender and receiver of each connection, in turn.
    pub(crate) ends: Vec<End>,
    /// Connections, in the order of opening.
    pub(crate) channels: Vec<Channel>,
    /// Ends for which an application has asked for something.
    pub(crate) touched: Vec<usize>,
    pub(crate) flows: Vec<Flow>,
    /// Hashes of the flows' names.
    pub(crate) names: Vec<u64>,
    /// The next change last.
    pub(crate) changes: Vec<LinkChange>,
    /// The next flow event last.
    pub(crate) flow_events: Vec<ScheduledEvent>,
    pub(crate) sampler: Option<Sampler>,
    /// Some flow waits for the end of others.
    pub(crate) waits: bool,
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
        let event = self.flow_events.last().map_or(SimTime::NEVER, |event| event.at);
        change.min(event).min(self.sampler.as_ref().map_or(SimTime::NEVER, Sampler::next))
    }

    fn on_aside(&mut self, now: SimTime) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= now) {
            self.fabric.change(now, change);
        }
        self.apply_flow_events(now);
        if let Some(sampler) = &mut self.sampler
            && sampler.next() <= now
        {
            sampler.sample(now, &self.flows, &self.channels, &self.ends, &mut self.fabric);
        }
    }

    fn on_event(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Arrival(link) => self.on_arrival(now, link),
            Event::Timer(end) => self.on_timer(now, end),
            Event::Start(flow) => self.on_start(now, flow as usize),
            Event::Wake(flow) => self.on_wake(now, flow as usize),
            Event::Read(channel) => {
                if self.channels[channel as usize].read_fires(now) {
                    self.serve(now, 2 * channel as usize + 1);
                }
            }
        }
        self.serve_touched(now);
    }

    /// Serves the ends that applications have written to.
    pub(crate) fn serve_touched(&mut self, now: SimTime) {
        while !self.touched.is_empty() {
            let end = self.touched.remove(0);
            self.serve(now, end);
        }
    }

    fn on_start(&mut self, now: SimTime, flow: usize) {
        if now >= self.flows[flow].stop {
            // It waited for others until its time was over.
            self.flows[flow].ended = Some(Ended::Stopped);
            return self.note_progress(now, flow);
        }
        self.flows[flow].started = true;
        self.tell(now, flow, Some(apps::Event::Start));
    }

    fn on_wake(&mut self, now: SimTime, flow: usize) {
        if !self.flows[flow].wake_fires(now) {
            return;
        }
        if now >= self.flows[flow].stop {
            self.stop(now, flow);
        } else {
            while let Some(tag) = self.flows[flow].due(now) {
                self.tell(now, flow, Some(apps::Event::Wake(tag)));
            }
        }
        self.arm_flow(now, flow);
        self.note_progress(now, flow);
    }

    /// The flow's time is over.
    fn stop(&mut self, now: SimTime, flow: usize) {
        if self.flows[flow].ended.is_none() {
            self.tell(now, flow, None);
        }
        let mut ctx = self.context(now, flow, Traits { read_rate: None, talks_both_ways: false });
        apps::AppContext::stop(&mut ctx);
        self.flows[flow].sleep();
    }

    /// Tells an application what has happened, or that its time is over.
    fn tell(&mut self, now: SimTime, flow: usize, event: Option<apps::Event>) {
        if self.flows[flow].ended == Some(Ended::Stopped) {
            return;
        }
        let Some(mut app) = self.flows[flow].app.take() else { return };
        let traits = Traits { read_rate: app.read_rate(), talks_both_ways: app.talks_both_ways() };
        let mut ctx = self.context(now, flow, traits);
        match event {
            Some(event) => app.on_event(event, &mut ctx),
            None => app.on_end(&mut ctx),
        }
        self.flows[flow].app = Some(app);
        if let Some(tracer) = &mut self.fabric.tracer {
            tracer.know(self.channels.iter().map(|channel| (channel.flow, channel.number)));
        }
        self.arm_flow(now, flow);
    }

    fn context(&mut self, now: SimTime, index: usize, traits: Traits) -> FlowContext<'_> {
        let Self { flows, channels, ends, touched, .. } = self;
        FlowContext { now, index, flow: &mut flows[index], channels, ends, touched, traits }
    }

    /// Keeps the flow's queue entry no later than the next wish of its application.
    fn arm_flow(&mut self, now: SimTime, flow: usize) {
        if let Some(at) = self.flows[flow].arm(now) {
            self.fabric.queue.push(at, Event::Wake(flow as u32));
        }
    }

    fn on_arrival(&mut self, now: SimTime, link: LinkId) {
        if !self.fabric.arrival_is_due(now, link) {
            return;
        }
        while let Some(delivery) = self.fabric.next_delivery(now, link) {
            self.deliver(now, delivery);
            if !self.fabric.more_is_due(now, link) {
                return self.fabric.arm(link);
            }
        }
    }

    fn deliver(&mut self, now: SimTime, delivery: Delivery) {
        let index = delivery.to as usize;
        let end = &mut self.ends[index];
        let segment = self.fabric.open(delivery);
        let subflow = segment.subflow;
        end.connection.on_segment(now, segment);
        self.fabric.trace_delivery(now, delivery, end);
        let channel = &mut self.channels[index / 2];
        if channel.datagrams {
            self.take_datagrams(now, index);
        } else if index.is_multiple_of(2) {
            channel.recorder.sent(now, &end.connection, subflow);
        } else {
            let flow = &mut self.flows[channel.flow].recorder;
            channel.recorder.received(now, &end.connection, subflow, flow);
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
        let (channel, connection) = (&mut self.channels[index / 2], &self.ends[index].connection);
        if index.is_multiple_of(2) {
            for subflow in 0..connection.subflow_count() {
                channel.recorder.sent(now, connection, subflow as SubflowId);
            }
        }
        self.note_held(now, index);
        self.serve(now, index);
    }

    /// Hands over what has arrived, writes what the application wants to send, and lets the connection send. One
    /// pass is enough: sending frees no buffer.
    pub(crate) fn serve(&mut self, now: SimTime, index: usize) {
        let side = if index.is_multiple_of(2) { Side::Sender } else { Side::Receiver };
        let channel = &mut self.channels[index / 2];
        let end = &mut self.ends[index];
        if let Some(at) = channel.read(now, side, &mut end.connection) {
            self.fabric.queue.push(at, Event::Read(index as u32 / 2));
        }
        if channel.outgoing[1 - side.index()].has_marks() && !channel.datagrams {
            self.hand_over(now, index, side);
        }
        let channel = &mut self.channels[index / 2];
        if channel.write(now, side, &mut self.ends[index].connection) {
            let (flow, connection) = (channel.flow, channel.number);
            self.tell(now, flow, Some(apps::Event::Accepted { connection, from: side }));
        }
        if let Some(tracer) = &mut self.fabric.tracer {
            tracer.watch(now, index as EndId, &self.ends[index]);
        }
        self.transmit(now, index);
        self.arm(now, index);
        let channel = &self.channels[index / 2];
        if channel.outgoing[0].backlog() == 0 {
            self.note_progress(now, channel.flow);
        }
    }

    /// Messages of a stream whose last byte has arrived at this end.
    fn hand_over(&mut self, now: SimTime, index: usize, at: Side) {
        let delivered = self.ends[index].connection.delivered();
        while let Some(mark) = self.channels[index / 2].outgoing[1 - at.index()].take_delivered(delivered) {
            self.arrived(now, index, mark);
        }
    }

    /// Datagrams that have arrived at this end.
    fn take_datagrams(&mut self, now: SimTime, index: usize) {
        while let Some(range) = self.ends[index].connection.next_datagram() {
            let channel = &mut self.channels[index / 2];
            let Some(mark) = channel.outgoing[1 - index % 2].take_datagram(now, range) else { continue };
            if !index.is_multiple_of(2) {
                self.flows[channel.flow].recorder.datagram(now, mark.sent, range.len());
            }
            if mark.left == 0 {
                self.arrived(now, index, mark);
            }
        }
    }

    /// All of a message is at this end.
    fn arrived(&mut self, now: SimTime, index: usize, mark: Mark) {
        let channel = &self.channels[index / 2];
        let (flow, connection) = (channel.flow, channel.number);
        let Mark { tag, size, sent, .. } = mark;
        if let Some(row) = mark.row {
            let message = &mut self.flows[flow].messages[row as usize];
            message.end = Some(now);
            message.delay = Some(now.since(sent));
        }
        let at = if index.is_multiple_of(2) { Side::Sender } else { Side::Receiver };
        self.tell(now, flow, Some(apps::Event::Arrived { connection, at, tag, size, sent }));
    }

    fn transmit(&mut self, now: SimTime, index: usize) {
        while self.ends[index].connection.poll_transmit_into(now, self.fabric.draft()) {
            let segment = self.fabric.draft();
            let (subflow, size) = (usize::from(segment.subflow), segment.wire_size);
            if index.is_multiple_of(2) && segment.len > 0 && !segment.retransmission {
                self.note_leaving(now, index);
            }
            while self.ends[index].ways.len() <= subflow {
                self.add_way(index);
            }
            let end = &mut self.ends[index];
            end.ways[subflow].wire += size;
            let route = end.ways[subflow].route;
            self.fabric.trace_sending(now, &route, end);
            self.fabric.send(now, &route);
        }
    }

    /// Data of a flow leaves on a subflow that has not carried it before.
    fn note_leaving(&mut self, now: SimTime, index: usize) {
        let channel = &mut self.channels[index / 2];
        if !channel.datagrams {
            let flow = &mut self.flows[channel.flow].recorder;
            channel.recorder.left(now, self.fabric.draft().stream_range(), flow);
        }
    }

    /// What a receiver holds may have changed without a segment.
    pub(crate) fn note_held(&mut self, now: SimTime, index: usize) {
        let channel = &mut self.channels[index / 2];
        if index.is_multiple_of(2) || channel.datagrams {
            return;
        }
        let connection = &self.ends[index].connection;
        for subflow in 0..connection.subflow_count() {
            let flow = &mut self.flows[channel.flow].recorder;
            channel.recorder.received(now, connection, subflow as SubflowId, flow);
        }
    }

    /// Finds the way of the next subflow of an end. The client chose its addresses.
    fn add_way(&mut self, index: usize) {
        let peer = index ^ 1;
        let subflow = self.ends[index].ways.len() as SubflowId;
        let client = if self.ends[index].client { index } else { peer };
        let pair = self.ends[client].connection.address_pair(subflow);
        let pair = if client == index { pair } else { pair.reversed() };
        let ports = endpoint::ports(self.ends[index].client, subflow);
        let places = (self.ends[index].node, peer as EndId, self.ends[peer].node);
        let channel = &self.channels[index / 2];
        let name = match channel.number {
            0 => self.names[channel.flow],
            // Further connections have ports of their own.
            number => ecmp::flow_hash([self.names[channel.flow], u64::from(number)]),
        };
        let way = endpoint::way(&mut self.fabric, name, places, pair, ports);
        let ways = &mut self.ends[index].ways;
        ways.reserve_exact(1);
        ways.push(way);
    }

    /// Keeps the end's queue entry no later than its connection's deadline.
    fn arm(&mut self, now: SimTime, index: usize) {
        let end = &mut self.ends[index];
        // A deadline that lies in the past is due now.
        if let Some(at) = end.timer.set(end.connection.wake_at().max(now)) {
            self.fabric.queue.push(at, Event::Timer(index as EndId));
        }
    }

    /// Flows that waited for this one may start.
    fn release(&mut self, now: SimTime, ended: usize) {
        if !self.waits {
            return;
        }
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if let Some(at) = flow.other_ended(now, ended) {
                self.fabric.queue.push(at, Event::Start(index as u32));
            }
        }
    }

    /// Ends the flow's interval when its time has come, and counts it when nothing of it remains.
    #[inline]
    fn note_progress(&mut self, now: SimTime, index: usize) {
        let flow = &self.flows[index];
        if let Some(ended) = flow.ended
            && !flow.done
        {
            self.conclude(now, index, ended);
        }
    }

    /// What `note_progress` does for a flow whose application has ended.
    fn conclude(&mut self, now: SimTime, index: usize, ended: Ended) {
        let flow = &self.flows[index];
        let idle =
            |&channel: &usize| self.channels[channel].is_idle(&self.ends[2 * channel..2 * channel + 2]);
        let all = flow.channels.iter().all(idle);
        if (all || ended == Ended::Stopped) && flow.record.is_none() {
            let flow = &mut self.flows[index];
            let record = outcome::flow_record(now, now, flow, &self.channels, &self.ends);
            flow.record = Some(Box::new(record));
            self.release(now, index);
        }
        if all {
            let flow = &mut self.flows[index];
            flow.done = true;
            if let Some(record) = &mut flow.record {
                record.completed = ended == Ended::Finished;
            }
            self.open -= 1;
        }
    }
}
