//! The record of a flow.
//!
//! May: read counters and recorders. May not: change how the run goes on; a flow may be recorded before it ends.

use std::borrow::Cow;

use apps::{ConnectionId, Side};
use trace::{FlowRecord, Held, Sending, SubflowRecord, TimeLevels};
use transport::packet::PathId;
use transport::sctp::lifecycle::PEER_ABORTED;
use transport::udp::{UdpSocket, UdpStats};
use transport::{Connection, SubflowStats};
use units::{Bytes, SimTime};

use crate::flow::Flow;
use crate::flow::channel::Channel;
use crate::host::Hosts;
use crate::host::connection::HostConnection;
use crate::joins;
use crate::legs;
use crate::net::forwarding::Egress;
use crate::net::topology::{Topology, duplex_link_of};
use crate::relay::Relays;

/// The record of a flow in a run that ended at `end` and would have ended after `duration`.
pub(crate) fn final_record(end: SimTime, duration: SimTime, flow: &mut Flow, found: Found<'_>) -> FlowRecord {
    let last = flow.last_end(duration);
    let known = flow.log.record.take().map(|record| *record);
    let mut record = known.unwrap_or_else(|| flow_record(end, last, flow, found));
    debug_assert!(record.start <= record.end && record.end <= duration, "a flow lies within its run");
    debug_assert!(!record.completed || flow.finished(), "completed before its application has finished");
    record.failure = failure(flow, record.completed, found.hosts).map(Cow::Borrowed);
    // Messages may have arrived, and pages been given up, after the flow's interval.
    record.messages = std::mem::take(&mut flow.log.messages);
    record.pages = std::mem::take(&mut flow.log.pages);
    record
}

/// Everything outside of a flow that its record tells of.
#[derive(Clone, Copy)]
pub(crate) struct Found<'w> {
    pub(crate) hosts: &'w Hosts,
    pub(crate) relays: &'w Relays,
    pub(crate) topology: &'w Topology,
}

/// One connection of a flow with its two ends, as far as they exist.
#[derive(Clone, Copy)]
struct Ends<'w> {
    channel: &'w Channel,
    number: ConnectionId,
    sender: Option<&'w HostConnection>,
    receiver: Option<&'w HostConnection>,
}

impl<'w> Ends<'w> {
    /// Subflows of the sender; a connection that its server has not accepted would have one.
    fn subflows(&self) -> usize {
        self.connections()[0].map_or(1, Connection::subflow_count)
    }

    /// The connections of sender and receiver; `None` with datagrams too.
    fn connections(&self) -> [Option<&'w Connection>; 2] {
        [self.sender, self.receiver].map(|end| end.and_then(HostConnection::connection))
    }
}

/// The connections of a flow.
fn connections<'w>(flow: &'w Flow, hosts: &'w Hosts) -> impl Iterator<Item = Ends<'w>> {
    flow.channels().iter().zip(0..).map(|(channel, number)| {
        let [sender, receiver] =
            [Side::Sender, Side::Receiver].map(|side| channel.socket(side).map(|socket| hosts.get(socket)));
        Ends { channel, number, sender, receiver }
    })
}

/// Everything is delivered that the application wanted to send. A finished flow also needs its connections to be
/// established: one that carried no data tells nothing of them.
pub(crate) fn is_delivered(flow: &Flow, hosts: &Hosts) -> bool {
    let delivered = |socket| hosts.get(socket).delivered();
    let exists = |ends: Ends<'_>| {
        let streams = ends.channel.streams();
        let needed = flow.finished() && streams.is_some_and(|streams| !streams.has_carried());
        !needed || ends.connections()[0].is_some_and(Connection::is_established)
    };
    flow.channels().iter().all(|channel| channel.is_idle(delivered)) && connections(flow, hosts).all(exists)
}

/// The record at `now` of a flow whose interval ends at `end`, but for messages and pages, which come last. Takes the delays that
/// were recorded with it.
pub(crate) fn flow_record(
    now: SimTime,
    end: SimTime,
    flow: &mut Flow,
    Found { hosts, relays, topology }: Found<'_>,
) -> FlowRecord {
    let delay = std::mem::take(&mut flow.recorder.delay);
    let send_delay = std::mem::take(&mut flow.recorder.send_delay);
    let (flow, recorder) = (&*flow, &flow.recorder);
    let completed = flow.finished() && is_delivered(flow, hosts);
    let fell_back = |ends: Ends<'_>| {
        let connections = ends.connections();
        connections[0].is_some_and(Connection::is_established)
            && connections.into_iter().flatten().any(Connection::fell_back)
    };
    // There are thousands of flows with one subflow each: none takes more room than it needs.
    let mut subflows = Vec::with_capacity(connections(flow, hosts).map(|ends| ends.subflows()).sum());
    let (mut legs, mut failed_joins) = (Vec::new(), Vec::new());
    for ends in connections(flow, hosts) {
        let connection = (ends.channel, ends.number);
        legs.extend(legs::records(now, flow, connection, (hosts, relays)));
        failed_joins.extend(joins::records(flow, connection, (hosts, relays)));
        // The subflows of the data sender end at the first proxy on their way.
        let mut first = legs::legs(flow, connection, (hosts, relays));
        first.retain(|leg| leg.number == 0);
        subflows.extend((0..ends.subflows()).map(|index| {
            let mut ends = ends;
            if let Some(leg) = first.iter().find(|leg| leg.subflows().contains(&index)) {
                ends.receiver = leg.receiver;
            }
            subflow_record((now, end), index, ends, topology)
        }));
    }
    FlowRecord {
        start: flow.timing().start().min(end),
        end,
        completed,
        delivered: recorder.delivered,
        last_delivery: (recorder.delivered > Bytes::ZERO).then_some(recorder.last_delivery),
        delay,
        send_delay_mean: send_delay.mean(),
        send_delay_p95: send_delay.quantile(0.95),
        ofo: held(&recorder.out_of_order, now),
        waiting_for_others: flow.opener().protocol().is_multipath().then(|| {
            recorder.waiting_for_others.as_ref().map_or_else(Held::default, |levels| held(levels, now))
        }),
        failure: failure(flow, completed, hosts).map(Cow::Borrowed),
        limited: flow.channels().iter().map(|channel| channel.limits.of_connection(end)).collect(),
        fell_back: connections(flow, hosts).any(fell_back),
        subflows,
        legs,
        failed_joins,
        messages: Vec::new(),
        pages: Vec::new(),
        deadline: flow.deadline(),
    }
}

/// Bytes held until `now`.
pub(crate) fn held(levels: &TimeLevels, now: SimTime) -> Held {
    let time = levels.time_above_zero(now);
    Held { time, mean: levels.mean(now), p95: levels.quantile(now, 0.95), max: levels.max() }
}

/// Why the first of the flow's connections failed that did. One whose data went with the handshake (SCTP) can be complete before
/// the end that opened it knows that it is established.
fn failure(flow: &Flow, completed: bool, hosts: &Hosts) -> Option<&'static str> {
    if !flow.timing().has_started() {
        return Some("the flows that it waits for did not end in time");
    }
    let of = |ends: Ends<'_>| {
        // Datagrams need no connection.
        ends.channel.streams()?;
        let connections = ends.connections();
        let established = connections[0].is_some_and(Connection::is_established);
        let never_opened = || (!established && !completed).then_some(trace::NEVER_ESTABLISHED);
        let reported = || connections.into_iter().flatten().filter_map(Connection::failure);
        // The end that has given up knows why.
        let told = reported().find(|reason| *reason != PEER_ABORTED).or_else(|| reported().next());
        told.or_else(never_opened)
    };
    connections(flow, hosts).find_map(of)
}

/// Duplex link over which a subflow leaves the data sender; `None` if routing decides packet by packet.
fn duplex_link(index: u8, ends: Ends<'_>, topology: &Topology) -> Option<usize> {
    let sender = ends.sender?;
    if let Some(path) = sender.path(PathId(index)) {
        return match path.route.egress {
            Egress::Over(link) => Some(duplex_link_of(link)),
            Egress::PerPacket | Egress::Unreachable => None,
        };
    }
    // A later subflow has reached the server and this one has not: the link that its answers would take.
    let opened = ends.receiver.filter(|_| sender.path_count() > usize::from(index))?;
    let destination = opened.path(PathId(index))?.route.header.destination;
    let interface = usize::from(destination.interface()?);
    Some(duplex_link_of(topology.leaving(destination.node())[interface]))
}

fn subflow_record(
    (now, end): (SimTime, SimTime),
    index: usize,
    ends: Ends<'_>,
    topology: &Topology,
) -> SubflowRecord {
    let (stats, received) = stats(index, ends);
    let path = ends.sender.and_then(|sender| sender.path(PathId(index as u8)));
    let recorder = ends.channel.streams().and_then(|streams| streams.recorder.subflows.get(index));
    let cwnd = recorder.and_then(|subflow| subflow.cwnd);
    let ofo = recorder.and_then(|subflow| subflow.held.as_ref());
    SubflowRecord {
        connection: ends.number,
        subflow: index as u32,
        duplex_link: duplex_link(index as u8, ends, topology),
        established: stats.established_at,
        received: Bytes(received.bytes_received),
        beyond_window: Bytes(received.beyond_window_received),
        overflow: Bytes(received.overflow_received),
        segments_received: received.segments_received,
        segments_repeated: received.duplicates_received,
        segments_late: received.late_received,
        limited: ends.channel.limits.of_subflow(index, end),
        ofo: ofo.map_or_else(Held::default, |levels| held(levels, now)),
        sending: sending(
            &stats,
            path.map_or(Bytes::ZERO, |path| path.wire),
            cwnd.map_or(0.0, |cwnd| cwnd.mean(now)),
        ),
        reinjected: Bytes(stats.reinjected_bytes),
    }
}

/// Figures of the end that sends the data, with its bytes on the wire and its mean window.
pub(crate) fn sending(stats: &SubflowStats, wire: Bytes, cwnd_mean: f64) -> Sending {
    Sending {
        bytes: Bytes(stats.bytes_sent),
        wire,
        segments: stats.segments_sent,
        retransmitted: stats.segments_retransmitted,
        timeouts: stats.timeouts,
        fast_recoveries: stats.fast_recoveries,
        srtt_mean: stats.rtt_mean,
        cwnd_mean,
    }
}

/// Counters of a subflow at the sender and at the receiver.
fn stats(index: usize, ends: Ends<'_>) -> (SubflowStats, SubflowStats) {
    if let Some(conversation) = ends.channel.conversation() {
        let of = |end: Option<&HostConnection>| {
            end.and_then(|end| end.machine().datagrams()).map_or_else(UdpStats::default, UdpSocket::stats)
        };
        let (sent, received) = (of(ends.sender), of(ends.receiver));
        let (arrived, copies) = conversation.arrived(Side::Sender);
        let sent = SubflowStats {
            segments_sent: sent.sent,
            bytes_sent: sent.bytes_sent.0,
            ..SubflowStats::default()
        };
        let received = SubflowStats {
            bytes_received: arrived.0,
            segments_received: received.received,
            duplicates_received: copies,
            ..SubflowStats::default()
        };
        return (sent, received);
    }
    let of = |end: Option<&Connection>| end.map_or_else(SubflowStats::default, |end| end.stats(index));
    (of(legs::machine(ends.sender)), of(legs::machine(ends.receiver)))
}
