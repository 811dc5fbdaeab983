//! A world: hosts with their connections and applications, and the network between them, run event by event.
//!
//! May: hand packets, deadlines and wake-ups to what they belong to, in the order of the event queue. May not: draw
//! random numbers or decide anything that a link, a transport or an application decides.
//!
//! Changes of links, flow events and samples are known beforehand and kept out of the queue: at equal times they come
//! before all events, in this order.

mod datagrams;
mod progress;
mod relays;
mod turn;

use apps::Side;
use engine::EventQueue;
use trace::RunRecord;
use transport::mptcp::option::MptcpOption;
use transport::packet::PathId;
use units::{Bytes, SimTime};

use crate::body::WorldNetwork;
use crate::event::Event;
use crate::flow::Ended;

use crate::flow::context::{FlowContext, Traits};
use crate::flow::events::ScheduledEvent;
use crate::flow::flows::{DirtyList, Flows};
use crate::flow::message::Mark;
use crate::host::Hosts;
use crate::host::socket::{AppSocket, SocketId};
use crate::memory::{Footprint, MAX_MEMORY};
use crate::net::address::PacketAddresses;
use crate::net::network::Delivery;
use crate::net::topology::LinkId;
use crate::observe::trace_delivery;
use crate::observer::Observer;
use crate::outcome::{self, Found};
use crate::plan::Plan;
use crate::relay::Relays;
use crate::sampler::Sampler;
use crate::watch::Watch;
use crate::world::progress::Progress;
use crate::world::turn::Pause;

/// Why a run has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It was stopped from outside.
    Cancelled,
    /// It held more than it may.
    TooMuchMemory(Footprint),
}

/// Bits of all subflows of a connection.
const ALL_SUBFLOWS: u64 = u64::MAX;

/// One replication of a scenario.
#[derive(Debug)]
pub struct World {
    seed: u64,
    duration: SimTime,
    queue: EventQueue<Event>,
    pub(crate) network: WorldNetwork,
    hosts: Hosts,
    flows: Flows,
    /// Sockets that applications have written to.
    dirty: DirtyList,
    plan: Plan,
    relays: Relays,
    sampler: Option<Sampler>,
    /// Bytes that it may hold.
    memory: u64,
    /// Datagrams that hosts have sent.
    datagrams: u64,
}

impl World {
    /// At time zero.
    pub(crate) fn at_start(
        (seed, duration): (u64, SimTime),
        (queue, network, hosts): (EventQueue<Event>, WorldNetwork, Hosts),
        (flows, relays): (Flows, Relays),
        plan: Plan,
        sampler: Option<Sampler>,
    ) -> Self {
        let dirty = DirtyList::default();
        let memory = MAX_MEMORY;
        Self {
            seed,
            duration,
            queue,
            network,
            hosts,
            flows,
            dirty,
            plan,
            relays,
            sampler,
            memory,
            datagrams: 0,
        }
    }

    /// Runs until the end of the scenario, or until every flow has delivered all that was written, or until
    /// nothing can happen any more.
    ///
    /// # Errors
    /// It was stopped while it went on, or needs too much memory.
    pub fn run(mut self, watch: &dyn Watch) -> Result<RunRecord, Unfinished> {
        let end = self.advance(watch)?;
        Ok(self.into_record(end))
    }

    /// The record of a run that ended at `end`.
    #[inline(never)]
    pub(crate) fn into_record(mut self, end: SimTime) -> RunRecord {
        let Self { seed, duration, hosts, network, flows, relays, sampler, .. } = &mut self;
        if let Some(sampler) = sampler {
            sampler.sample(end, flows, (hosts, relays), network);
        }
        let links = network.records(end);
        let found = Found { hosts, relays, topology: network.forwarding().topology() };
        let record = |flow| outcome::final_record(end, *duration, flow, found);
        let flows = flows.all_mut().iter_mut().map(record).collect();
        RunRecord {
            seed: *seed,
            events: self.queue.taken(),
            packet_hops: links.iter().map(|link| link.packets).sum(),
            end,
            flows,
            links,
            series: self.sampler.map(Sampler::into_series).unwrap_or_default(),
            trace: self.network.into_tap().map(Observer::into_text).unwrap_or_default(),
        }
    }

    /// Runs and returns when the run ended.
    pub(crate) fn advance(&mut self, watch: &dyn Watch) -> Result<SimTime, Unfinished> {
        let mut progress = Progress::new(watch);
        let end = self.advance_watched(&mut progress)?;
        progress.finish(self.duration);
        Ok(end)
    }

    fn advance_watched(&mut self, progress: &mut Progress<'_>) -> Result<SimTime, Unfinished> {
        let end = SimTime(self.duration.0.saturating_add(1));
        loop {
            let planned = self.next_planned();
            let next_change = planned.min(end);
            let until = next_change.min(progress.next());
            while let Some((now, event)) = self.queue.pop_before(until) {
                if progress.is_due(self.work()) {
                    self.report(now, progress)?;
                }
                self.on_event(now, event);
                if self.flows.are_done() {
                    return Ok(now);
                }
            }
            match self.queue.next_time() {
                None => {
                    self.bound_memory(self.queue.now())?;
                    return Ok(self.queue.now());
                }
                Some(next) if next < next_change => self.report(next, progress)?,
                Some(_) if planned >= end => return Ok(self.duration),
                Some(_) => self.on_planned(planned),
            }
        }
    }

    /// The same with another bound on its memory, in bytes.
    #[cfg(test)]
    pub(crate) fn with_memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// When the next planned change or sample is due.
    fn next_planned(&self) -> SimTime {
        self.plan.next().min(self.sampler.as_ref().map_or(SimTime::NEVER, Sampler::next))
    }

    #[cold]
    #[inline(never)]
    fn on_planned(&mut self, now: SimTime) {
        while let Some(change) = self.plan.take_change(now) {
            self.network.change(&mut self.queue, now, change);
        }
        while let Some(event) = self.plan.take_flow_event(now) {
            self.on_flow_event(now, event);
            self.serve_dirty(now);
        }
        while let Some(crash) = self.plan.take_crash(now) {
            self.crash(now, crash);
        }
        if let Some(sampler) = &mut self.sampler
            && sampler.next() <= now
        {
            sampler.sample(now, &self.flows, (&self.hosts, &self.relays), &mut self.network);
        }
    }

    /// Something happens to one end of all connections of a flow.
    fn on_flow_event(&mut self, now: SimTime, event: ScheduledEvent) {
        let ScheduledEvent { flow: index, client, action, .. } = event;
        let flow = &mut self.flows[index];
        if let Some((address, present)) = action.presence() {
            flow.opener_mut().set_present(client, address, present);
            let (node, port) = flow.opener().server(false);
            // The server of a converted flow is where its converter leads.
            let own = client || flow.opener().asks(false).is_some();
            if let (false, Some(listener)) = (own, self.hosts.listener_mut(node, port)) {
                listener.set_present(address, present);
            }
        }
        let side = if client { flow.opener().side() } else { flow.opener().side().other() };
        for connection in 0..flow.channels().len() as u32 {
            let channel = self.flows[index].channel_mut(connection);
            let socket = channel.socket(side);
            match (socket.map(|socket| self.hosts.get_mut(socket)), channel.streams_mut()) {
                (Some(end), Some(_)) => {
                    if let Some(machine) = end.connection_mut() {
                        action.apply(now, machine);
                    }
                    if side == Side::Receiver {
                        self.note_all(now, socket.expect("there is one"));
                    }
                }
                (None, Some(streams)) => streams.before_accept(action),
                // Datagrams have one path and no subflows.
                (_, None) => {}
            }
            self.serve(now, AppSocket { flow: index as u32, connection, side }, ALL_SUBFLOWS);
        }
    }

    fn on_event(&mut self, now: SimTime, event: Event) {
        if let Event::Arrival(link) = event {
            self.on_arrival(now, link);
        } else {
            self.on_other_event(now, event);
        }
        self.serve_dirty(now);
    }

    #[inline(never)]
    fn on_other_event(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Arrival(_) => unreachable!("it has a way of its own"),
            Event::Timer(socket) => self.on_timer(now, socket),
            Event::Start(flow) => self.on_start(now, flow as usize),
            Event::Wake(flow) => self.on_wake(now, flow as usize),
            Event::Read(socket) => {
                let owner = self.hosts.get(socket).owner();
                let streams = self.flows[owner.flow()].channel_mut(owner.connection).streams_mut();
                if streams.is_some_and(|streams| streams.read_fires(now)) {
                    self.serve(now, owner, 0);
                }
            }
        }
    }

    /// Serves the sockets that applications have written to.
    fn serve_dirty(&mut self, now: SimTime) {
        while let Some(socket) = self.dirty.take() {
            self.serve(now, socket, 0);
        }
    }

    fn on_start(&mut self, now: SimTime, flow: usize) {
        if now >= self.flows[flow].timing().stop() {
            // It waited for others until its time was over.
            self.flows[flow].stop();
            return self.note_end(now, flow);
        }
        self.flows[flow].set_started();
        self.tell(now, flow, Some(apps::Event::Start));
    }

    fn on_wake(&mut self, now: SimTime, flow: usize) {
        if !self.flows[flow].alarms_mut().fires(now) {
            return;
        }
        if now >= self.flows[flow].timing().stop() {
            self.stop(now, flow);
        } else {
            while let Some(tag) = self.flows[flow].alarms_mut().take_due(now) {
                self.tell(now, flow, Some(apps::Event::Wake(tag)));
            }
        }
        self.arm_flow(now, flow);
        self.note_end(now, flow);
    }

    /// The flow's time is over.
    fn stop(&mut self, now: SimTime, flow: usize) {
        if self.flows[flow].ended().is_none() {
            self.tell(now, flow, None);
        }
        let mut context = self.context(now, flow, Traits::default());
        apps::AppContext::stop(&mut context);
        self.flows[flow].alarms_mut().clear();
    }

    /// Tells an application what has happened, or that its time is over.
    fn tell(&mut self, now: SimTime, flow: usize, event: Option<apps::Event>) {
        if self.flows[flow].ended() == Some(Ended::Stopped) {
            return;
        }
        let Some(mut app) = self.flows[flow].take_app() else { return };
        let (read_rate, write_size) = (app.read_rate(), app.write_size());
        let traits = Traits { read_rate, write_size, talks_both_ways: app.talks_both_ways() };
        let mut context = self.context(now, flow, traits);
        match event {
            Some(event) => app.on_event(event, &mut context),
            None => app.on_end(&mut context),
        }
        self.flows[flow].put_app(app);
        self.arm_flow(now, flow);
    }

    fn context(&mut self, now: SimTime, index: usize, traits: Traits) -> FlowContext<'_> {
        let Self { flows, hosts, network, dirty, .. } = self;
        FlowContext { now, index, flow: &mut flows[index], hosts, network, dirty, traits }
    }

    /// Re-arms the flow's timer for the earliest wake-up that its application requested.
    fn arm_flow(&mut self, now: SimTime, flow: usize) {
        if let Some(at) = self.flows[flow].arm(now) {
            self.queue.push(at, Event::Wake(flow as u32));
        }
    }

    fn on_arrival(&mut self, now: SimTime, link: LinkId) {
        if !self.network.arrival_is_due(now, link) {
            return;
        }
        while let Some(delivery) = self.network.next_delivery(&mut self.queue, now, link) {
            self.deliver(now, delivery);
            if !self.network.arm_unless_due(&mut self.queue, now, link) {
                return;
            }
        }
    }

    /// A packet has reached its host.
    fn deliver(&mut self, now: SimTime, delivery: Delivery) {
        let socket = match self.hosts.find(self.network.addresses(delivery)) {
            Some(known) => known.socket,
            None => match self.first_packet(now, delivery) {
                Some(socket) => socket,
                None => return self.discard(now, delivery),
            },
        };
        let Some(mut turn) = self.turn(now, socket, 0) else {
            return self.deliver_datagram(now, socket, delivery);
        };
        turn.receive(delivery);
        let (pause, owner, changed) = (turn.go(), turn.owner(), turn.changed());
        self.after_turn(now, (socket, owner), changed, pause);
    }

    /// A turn is over, or pauses.
    #[inline(always)]
    fn after_turn(
        &mut self,
        now: SimTime,
        (socket, owner): (SocketId, AppSocket),
        changed: u64,
        pause: Pause,
    ) {
        match pause {
            Pause::Over(false) => {}
            Pause::Over(true) => self.note_progress(now, owner),
            pause => self.go_on(now, socket, changed, pause),
        }
    }

    /// Nothing listens for a packet, and nothing answers for it.
    #[cold]
    fn discard(&mut self, now: SimTime, delivery: Delivery) {
        self.network.open(delivery);
        trace_delivery(now, &mut self.network, delivery, None);
    }

    /// Finds the connection of a packet with unknown addresses: a SYN opens a connection or, if it names the token of
    /// one, a subflow of it.
    #[cold]
    fn first_packet(&mut self, now: SimTime, delivery: Delivery) -> Option<SocketId> {
        let addresses = self.network.addresses(delivery);
        let PacketAddresses { source, destination } = addresses;
        if let Some(proxy) = self.relays.listening(destination) {
            return self.first_at_proxy(now, proxy, delivery);
        }
        let packet = self.network.peek(delivery);
        let (subflow, option) = match packet.segment() {
            Some(segment) if segment.flags.syn && !segment.flags.ack => (packet.path, segment.mptcp),
            None if packet.body.is_init() => (packet.path, MptcpOption::None),
            _ => return None,
        };
        let flow = self.hosts.listener(destination.node(), destination.port())?.flow();
        if let MptcpOption::JoinSyn { token, .. } = option {
            let socket = self.hosts.with_token(destination.node(), token)?;
            self.hosts.learn_path((now, self.network.forwarding_mut()), addresses, socket, subflow);
            return Some(socket);
        }
        if subflow != PathId::FIRST {
            return self.without_token(flow, addresses, subflow);
        }
        let connection = self.flows[flow as usize].accepted(source);
        debug_assert!(connection.is_some(), "a SYN from {source:?}, which has opened nothing");
        let connection = connection?;
        let side = self.flows[flow as usize].opener().side().other();
        let owner = AppSocket { flow, connection, side };
        let label = self.flows[flow as usize].label(connection);
        let socket = self.hosts.accept((now, self.network.forwarding_mut()), addresses, (owner, label));
        let channel = self.flows[flow as usize].channel_mut(connection);
        channel.connect(side, socket);
        let machine = self.hosts.get_mut(socket).connection_mut()?;
        for action in channel.streams_mut()?.connect(machine) {
            action.apply(now, machine);
        }
        Some(socket)
    }

    /// The SYN of a further subflow whose MP_JOIN a middlebox has removed. A listener would take it for a new
    /// connection; a connection of the flow that has no such subflow gives the same answer (choice D-44).
    fn without_token(&mut self, flow: u32, addresses: PacketAddresses, subflow: PathId) -> Option<SocketId> {
        let Self { flows, hosts, network, .. } = self;
        let flow = &flows[flow as usize];
        let server = flow.opener().side().other();
        let connection = |socket: SocketId| hosts.get(socket).connection();
        let lacks =
            |socket: &SocketId| connection(*socket).is_some_and(|c| c.gauges(subflow.index()).is_none());
        let socket = flow.channels().iter().filter_map(|channel| channel.socket(server)).find(lacks)?;
        hosts.answer_path(network.forwarding_mut(), addresses, socket, subflow);
        Some(socket)
    }

    fn on_timer(&mut self, now: SimTime, socket: SocketId) {
        let end = self.hosts.get_mut(socket);
        if !end.timer_fires(now) {
            return;
        }
        let owner = end.owner();
        let Some(connection) = end.connection_mut() else { return self.on_leg_timer(now, socket) };
        let next = connection.next_deadline();
        if next > now {
            if let Some(at) = end.arm_for(next) {
                self.queue.push(at, Event::Timer(socket));
            }
            return;
        }
        connection.on_timeout(now);
        self.note_all(now, socket);
        self.serve(now, owner, ALL_SUBFLOWS);
    }

    /// Records all subflows of a connection, which may have changed without a packet.
    fn note_all(&mut self, now: SimTime, socket: SocketId) {
        if let Some(mut turn) = self.turn(now, socket, ALL_SUBFLOWS) {
            turn.record_all();
        }
    }

    /// Gives a turn to one end of a connection. `changed` has a bit for each subflow that something has happened to.
    fn serve(&mut self, now: SimTime, owner: AppSocket, changed: u64) {
        let side = owner.side;
        let channel = self.flows[owner.flow()].channel_mut(owner.connection);
        let Some(socket) = channel.socket(side) else { return self.serve_unconnected(now, owner) };
        let Some(mut turn) = self.turn(now, socket, changed) else {
            return self.serve_datagrams(now, owner, socket);
        };
        let (pause, changed) = (turn.go(), turn.changed());
        self.after_turn(now, (socket, owner), changed, pause);
    }

    /// The same for the server end of a connection that its host has not accepted.
    #[cold]
    fn serve_unconnected(&mut self, now: SimTime, owner: AppSocket) {
        // Messages without bytes need no connection.
        self.hand_over(now, owner, Bytes::ZERO);
        let streams = self.flows[owner.flow()].channel_mut(owner.connection).streams_mut();
        if streams.is_some_and(|streams| streams.write_nothing(owner.side)) {
            self.tell_accepted(now, owner);
        }
        self.note_progress(now, owner);
    }

    /// The send buffer has accepted all data of one end.
    fn tell_accepted(&mut self, now: SimTime, owner: AppSocket) {
        let AppSocket { connection, side, .. } = owner;
        self.tell(now, owner.flow(), Some(apps::Event::Accepted { connection, from: side }));
    }

    /// Messages of a stream whose last byte has arrived at this end.
    fn hand_over(&mut self, now: SimTime, at: AppSocket, delivered: Bytes) {
        loop {
            let streams = self.flows[at.flow()].channel_mut(at.connection).streams_mut();
            let mark = streams.and_then(|s| s.outgoing_mut(at.side.other()).take_delivered(delivered));
            let Some(mark) = mark else { return };
            self.arrived(now, at, mark);
        }
    }

    /// All of a message is at this end.
    fn arrived(&mut self, now: SimTime, at: AppSocket, mark: Mark) {
        let Mark { tag, size, sent, .. } = mark;
        if let Some(row) = mark.row {
            let message = &mut self.flows[at.flow()].log.messages[row as usize];
            message.end = Some(now);
            message.delay = Some(now.since(sent));
        }
        let AppSocket { connection, side, .. } = at;
        self.tell(now, at.flow(), Some(apps::Event::Arrived { connection, at: side, tag, size, sent }));
    }

    /// A subflow is opened by its first packet.
    #[cold]
    fn open_path(&mut self, now: SimTime, socket: SocketId, subflow: PathId) {
        let Self { hosts, network, .. } = self;
        let owner = hosts.get(socket).owner();
        let addresses = hosts.open_path((now, network.forwarding_mut()), socket, subflow);
        if let Some((observer, _)) = network.tap_and_draft() {
            observer.know(addresses, (owner.flow(), owner.connection), subflow);
        }
    }

    /// Ends the flow's interval when its time has come, and counts it when nothing of it remains.
    #[inline]
    fn note_progress(&mut self, now: SimTime, owner: AppSocket) {
        let flow = &self.flows[owner.flow()];
        if let Some(ended) = flow.ended()
            && !flow.is_done()
            && flow.channel(owner.connection).backlog(Side::Sender) == 0
        {
            self.conclude(now, owner.flow(), ended);
        }
    }

    /// The application of a flow may have ended without any of its connections.
    fn note_end(&mut self, now: SimTime, index: usize) {
        let flow = &self.flows[index];
        if let Some(ended) = flow.ended()
            && !flow.is_done()
        {
            self.conclude(now, index, ended);
        }
    }

    /// Ends the interval of a flow whose application has ended, if everything is delivered or its time is over.
    fn conclude(&mut self, now: SimTime, index: usize, ended: Ended) {
        if now >= self.duration {
            // The final record also counts what is still to come at the last instant.
            return;
        }
        let Self { flows, hosts, relays, network, .. } = self;
        let all = outcome::is_delivered(&flows[index], hosts);
        if (all || ended == Ended::Stopped) && flows[index].log.record.is_none() {
            let found = Found { hosts, relays, topology: network.forwarding().topology() };
            let record = outcome::flow_record(now, now, &mut flows[index], found);
            flows[index].log.record = Some(Box::new(record));
            for (other, at) in flows.ended(now, index) {
                self.queue.push(at, Event::Start(other as u32));
            }
        }
        if all {
            if let Some(record) = &mut self.flows[index].log.record {
                record.completed = ended == Ended::Finished;
            }
            self.flows.set_done(index);
        }
    }
}
