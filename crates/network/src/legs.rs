//! The legs of a connection that proxies have a part in: the connections between its data sender, the proxies and the
//! receiver.
//!
//! May: read counters and recorders of their ends. May not: change how the run goes on.

use std::collections::BTreeMap;
use std::ops::Range;

use apps::{ConnectionId, Side};
use trace::{Held, LegRecord};
use transport::packet::PathId;
use transport::{Connection, SubflowStats};
use units::{Bytes, SimTime};

use crate::flow::Flow;
use crate::flow::channel::Channel;
use crate::host::Hosts;
use crate::host::connection::{HostConnection, Path};
use crate::host::socket::SocketId;
use crate::net::forwarding::Egress;
use crate::net::topology::duplex_link_of;
use crate::outcome::{held, sending};
use crate::relay::leg::{Leg, LegEnd};
use crate::relay::{Relay, Relays};

/// The ends of one leg, in the direction of the data.
#[derive(Clone, Copy)]
pub(crate) struct LegEnds<'w> {
    /// From 0 at the data sender.
    pub(crate) number: usize,
    /// The only subflow of the connection that it is part of; `None`: all of them.
    pub(crate) subflow: Option<usize>,
    /// The end that sends the data.
    pub(crate) sender: Option<&'w HostConnection>,
    /// The end that receives it.
    pub(crate) receiver: Option<&'w HostConnection>,
    /// The relay that sends, with the end where the data reaches it.
    pub(crate) relay: Option<(&'w Relay, LegEnd)>,
}

impl LegEnds<'_> {
    /// Subflows that it has a part of, as its ends number them.
    pub(crate) fn subflows(&self) -> Range<usize> {
        match self.subflow {
            Some(one) => one..one + 1,
            None => 0..machine(self.sender).map_or(0, Connection::subflow_count),
        }
    }
}

/// The legs of a connection from its data sender on; none where no proxy has a part in it. Proxies that carry one subflow each make
/// legs of it alone, and the subflows beside them have none.
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
    let mut chains: BTreeMap<Option<PathId>, Vec<&Relay>> = BTreeMap::new();
    for relay in relays.of_connection(owner.flow, number) {
        chains.entry(relay.subflow()).or_default().push(relay);
    }
    let uploads = flow.opener().side() == Side::Sender;
    let of = |(subflow, chain): (Option<PathId>, Vec<&'w Relay>)| {
        let ends = chain_of(uploads, sockets, chain, hosts);
        ends.map(move |ends| LegEnds { subflow: subflow.map(PathId::index), ..ends })
    };
    chains.into_iter().flat_map(of).collect()
}

/// The legs that relays make of what goes from the first socket to the second.
fn chain_of<'w>(
    uploads: bool,
    [first, last]: [Option<SocketId>; 2],
    mut chain: Vec<&'w Relay>,
    hosts: &'w Hosts,
) -> impl Iterator<Item = LegEnds<'w>> {
    if !uploads {
        chain.reverse();
    }
    let (from, to) =
        if uploads { (LegEnd::Client, LegEnd::Server) } else { (LegEnd::Server, LegEnd::Client) };
    let senders: Vec<_> = std::iter::once(first).chain(chain.iter().map(|relay| relay.socket(to))).collect();
    let receivers: Vec<_> = chain.iter().map(|relay| relay.socket(from)).chain([last]).collect();
    let by = std::iter::once(None).chain(chain.into_iter().map(move |relay| Some((relay, from))));
    let end = move |socket: Option<_>| socket.map(|socket| hosts.get(socket));
    let ends = senders.into_iter().zip(receivers).zip(by).enumerate();
    ends.map(move |(number, ((sender, receiver), relay))| LegEnds {
        number,
        subflow: None,
        sender: end(sender),
        receiver: end(receiver),
        relay,
    })
}

/// The connection of an end, be it of an application or of a relay.
pub(crate) fn machine(end: Option<&HostConnection>) -> Option<&Connection> {
    let end = end?;
    end.connection().or_else(|| end.leg().map(Leg::connection))
}

/// Its packets carry MPTCP options: an end of it is one of MPTCP that has not fallen back, or it carries a subflow between others.
fn speaks_mptcp(ends: LegEnds<'_>) -> bool {
    let of_end = |end| machine(end).is_some_and(|one: &Connection| one.is_multipath() && !one.fell_back());
    ends.subflow.is_some() || of_end(ends.sender) || of_end(ends.receiver)
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
    for ends in &legs {
        for subflow in ends.subflows() {
            let of_leg = ends.sender.and_then(HostConnection::leg).map(Leg::recorder);
            let own = if of_leg.is_some() && ends.subflow.is_some() { 0 } else { subflow };
            let recorder = of_leg.or_else(|| channel.streams().map(|streams| &streams.recorder));
            let cwnd = recorder.and_then(|recorder| recorder.subflows.get(own)).and_then(|one| one.cwnd);
            let place = (number, own, subflow);
            let cwnd_mean = cwnd.map_or(0.0, |cwnd| cwnd.mean(now));
            records.extend(record(now, place, *ends, cwnd_mean));
        }
    }
    records
}

fn record(
    now: SimTime,
    (connection, own, subflow): (ConnectionId, usize, usize),
    ends: LegEnds<'_>,
    cwnd_mean: f64,
) -> Option<LegRecord> {
    let stats = |end| machine(end).map_or_else(SubflowStats::default, |one: &Connection| one.stats(subflow));
    let (sent, received) = (stats(ends.sender), stats(ends.receiver));
    let path = ends.sender.and_then(|sender| sender.path(PathId(own as u8)))?;
    let Path { route, wire } = *path;
    let duplex_link = match route.egress {
        Egress::Over(link) => Some(duplex_link_of(link)),
        Egress::PerPacket | Egress::Unreachable => None,
    };
    // A leg of one subflow among others has delivered what arrived on it; any other what its end has in order.
    let arrived = match (ends.subflow, machine(ends.receiver)) {
        (None, Some(receiver)) => receiver.delivered(),
        _ => Bytes(received.bytes_received),
    };
    let at_proxy = |(relay, from): (&Relay, LegEnd)| -> (Held, Bytes) {
        (held(relay.held(from), now), relay.lost(from, arrived))
    };
    Some(LegRecord {
        connection,
        leg: ends.number as u32,
        subflow: subflow as u32,
        multipath: speaks_mptcp(ends),
        from: route.header.source.node(),
        to: route.header.destination.node(),
        duplex_link,
        established: sent.established_at,
        received: Bytes(received.bytes_received),
        sending: sending(&sent, wire, cwnd_mean),
        held: ends.relay.map(at_proxy),
        overreach: ends.relay.and_then(|(relay, from)| relay.overreach(from)),
    })
}
