//! The legs of a connection that proxies have a part in: the connections between its data sender, the proxies and the
//! receiver.
//!
//! May: read counters and recorders of their ends. May not: change how the run goes on.

use apps::{ConnectionId, Side};
use trace::{Held, LegRecord};
use transport::packet::PathId;
use transport::{Connection, SubflowStats};
use units::{Bytes, SimTime};

use crate::flow::Flow;
use crate::flow::channel::Channel;
use crate::host::Hosts;
use crate::host::connection::{HostConnection, Path};
use crate::net::forwarding::Egress;
use crate::net::topology::duplex_link_of;
use crate::outcome::held;
use crate::relay::leg::{Leg, LegEnd};
use crate::relay::{Relay, Relays};

/// The ends of one leg, in the direction of the data.
#[derive(Clone, Copy)]
pub(crate) struct LegEnds<'w> {
    /// The end that sends the data.
    pub(crate) sender: Option<&'w HostConnection>,
    /// The end that receives it.
    pub(crate) receiver: Option<&'w HostConnection>,
    /// The relay that sends, with the end where the data reaches it.
    pub(crate) relay: Option<(&'w Relay, LegEnd)>,
}

/// The legs of a connection from its data sender on; none where no proxy has a part in it.
pub(crate) fn legs<'w>(
    flow: &'w Flow,
    (channel, number): (&'w Channel, ConnectionId),
    (hosts, relays): (&'w Hosts, &'w Relays),
) -> Vec<LegEnds<'w>> {
    let sockets = [Side::Sender, Side::Receiver].map(|side| channel.socket(side));
    let Some(owner) = sockets.iter().flatten().next().map(|socket| hosts.get(*socket).owner()) else {
        return Vec::new();
    };
    if relays.is_empty() {
        return Vec::new();
    }
    let mut chain: Vec<&Relay> = relays.of_connection(owner.flow, number).collect();
    if chain.is_empty() {
        return Vec::new();
    }
    let uploads = flow.opener().side() == Side::Sender;
    let (from, to) =
        if uploads { (LegEnd::Client, LegEnd::Server) } else { (LegEnd::Server, LegEnd::Client) };
    if !uploads {
        chain.reverse();
    }
    let [first, last] = sockets;
    let senders = std::iter::once(first).chain(chain.iter().map(|relay| relay.socket(to)));
    let receivers = chain.iter().map(|relay| relay.socket(from)).chain([last]);
    let by = std::iter::once(None).chain(chain.iter().map(|relay| Some((*relay, from))));
    let end = |socket: Option<_>| socket.map(|socket| hosts.get(socket));
    let ends = senders.zip(receivers).zip(by);
    ends.map(|((sender, receiver), relay)| LegEnds { sender: end(sender), receiver: end(receiver), relay })
        .collect()
}

/// The connection of an end, be it of an application or of a relay.
pub(crate) fn machine(end: Option<&HostConnection>) -> Option<&Connection> {
    let end = end?;
    end.connection().or_else(|| end.leg().map(Leg::connection))
}

/// The records of the legs of a connection, seen at `now`.
pub(crate) fn records(
    now: SimTime,
    flow: &Flow,
    (channel, number): (&Channel, ConnectionId),
    (hosts, relays): (&Hosts, &Relays),
) -> Vec<LegRecord> {
    let legs = legs(flow, (channel, number), (hosts, relays));
    let mut records = Vec::new();
    for (index, ends) in legs.iter().enumerate() {
        let Some(sender) = machine(ends.sender) else { continue };
        for subflow in 0..sender.subflow_count() {
            let of_leg = ends.sender.and_then(HostConnection::leg).map(Leg::recorder);
            let recorder = of_leg.or_else(|| channel.streams().map(|streams| &streams.recorder));
            let cwnd = recorder.and_then(|recorder| recorder.subflows.get(subflow)).and_then(|one| one.cwnd);
            let place = (number, index as u32, subflow);
            let cwnd_mean = cwnd.map_or(0.0, |cwnd| cwnd.mean(now));
            records.extend(record(now, place, *ends, cwnd_mean));
        }
    }
    records
}

fn record(
    now: SimTime,
    (connection, leg, subflow): (ConnectionId, u32, usize),
    ends: LegEnds<'_>,
    cwnd_mean: f64,
) -> Option<LegRecord> {
    let stats = |end| machine(end).map_or_else(SubflowStats::default, |one: &Connection| one.stats(subflow));
    let (sent, received) = (stats(ends.sender), stats(ends.receiver));
    let path = ends.sender.and_then(|sender| sender.path(PathId(subflow as u8)))?;
    let Path { route, wire } = *path;
    let duplex_link = match route.egress {
        Egress::Over(link) => Some(duplex_link_of(link)),
        Egress::PerPacket | Egress::Unreachable => None,
    };
    let at_proxy = |(relay, from): (&Relay, LegEnd)| -> (Held, Bytes) {
        (held(relay.held(from), now), relay.lost(from))
    };
    Some(LegRecord {
        connection,
        leg,
        subflow: subflow as u32,
        from: route.header.source.node(),
        to: route.header.destination.node(),
        duplex_link,
        established: sent.established_at,
        received: Bytes(received.bytes_received),
        sent: Bytes(sent.bytes_sent),
        wire,
        segments_sent: sent.segments_sent,
        segments_retransmitted: sent.segments_retransmitted,
        timeouts: sent.timeouts,
        fast_recoveries: sent.fast_recoveries,
        srtt_mean: sent.rtt_mean,
        cwnd_mean,
        held: ends.relay.map(at_proxy),
    })
}
