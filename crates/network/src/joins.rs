//! Subflows of MPTCP that never came about, at every end that opens such: the one of the application and those of proxies.
//!
//! May: read the state of their connections. May not: change how the run goes on.

use apps::ConnectionId;
use trace::JoinRecord;
use transport::packet::PathId;

use crate::flow::Flow;
use crate::flow::channel::Channel;
use crate::host::Hosts;
use crate::host::connection::HostConnection;
use crate::legs;
use crate::net::forwarding::Egress;
use crate::net::topology::duplex_link_of;
use crate::relay::Relays;
use crate::relay::leg::LegEnd;

/// The failed joins of a connection, from its client on.
pub(crate) fn records(
    flow: &Flow,
    (channel, number): (&Channel, ConnectionId),
    (hosts, relays): (&Hosts, &Relays),
) -> Vec<JoinRecord> {
    let opener = channel.socket(flow.opener().side()).map(|socket| hosts.get(socket));
    let Some(owner) = opener.map(HostConnection::owner) else { return Vec::new() };
    // A relay of one subflow passes on the joins of others.
    let whole = relays.of_connection(owner.flow, number).filter(|relay| relay.subflow().is_none());
    let onward = whole.filter_map(|relay| relay.socket(LegEnd::Server)).map(|socket| hosts.get(socket));
    opener.into_iter().chain(onward).flat_map(|end| of_end(number, end)).collect()
}

fn of_end(connection: ConnectionId, end: &HostConnection) -> impl Iterator<Item = JoinRecord> {
    let machine = legs::machine(Some(end));
    let failed = move |index: usize| Some((index, machine?.join_failure(index)?));
    let joined = 1..machine.map_or(0, transport::Connection::subflow_count);
    joined.filter_map(failed).filter_map(move |(index, failure)| {
        // A path exists since the SYN left.
        let route = end.path(PathId(index as u8))?.route;
        let duplex_link = match route.egress {
            Egress::Over(link) => Some(duplex_link_of(link)),
            Egress::PerPacket | Egress::Unreachable => None,
        };
        let (from, to) = (route.header.source.node(), route.header.destination.node());
        Some(JoinRecord { connection, subflow: index as u32, from, to, duplex_link, failure })
    })
}
