//! Which observations a run makes, and the lines that the readable trace gets from the ends of connections.
//!
//! May: read gauges. May not: change anything; a run is the same with and without a trace. A run without one asks for
//! each packet whether there is a tap, and nothing else.

use transport::Connection;
use units::SimTime;

use crate::body::WorldNetwork;
use crate::host::connection::Path;
use crate::host::socket::{AppSocket, SocketId};
use crate::net::address::PacketAddresses;
use crate::net::forwarding::Route;
use crate::net::network::Delivery;
use crate::net::packets::Header;
use crate::tracer::TraceEvent;

/// Records besides totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Time series.
    pub series: bool,
    /// A line of text per event.
    pub trace: bool,
}

/// Writes a line for the draft, which `connection` sends; `None`: a datagram.
#[inline(always)]
pub(crate) fn trace_sending(
    now: SimTime,
    network: &mut WorldNetwork,
    route: &Route,
    connection: Option<&Connection>,
) {
    if network.is_traced() {
        write_sending(now, network, route, connection);
    }
}

#[cold]
#[inline(never)]
fn write_sending(now: SimTime, network: &mut WorldNetwork, route: &Route, connection: Option<&Connection>) {
    if let Some((observer, packet)) = network.tap_and_draft()
        && let Some(tracer) = observer.tracer()
    {
        let gauges = connection.and_then(|connection| connection.gauges(packet.path.index()));
        let Header { source, destination, .. } = route.header;
        let addresses = PacketAddresses { source, destination };
        tracer.packet(now, (TraceEvent::Send, source.node()), addresses, packet, gauges);
    }
}

/// Writes a line for a packet that has reached its host, where it belongs to `connection`.
#[inline(always)]
pub(crate) fn trace_delivery(
    now: SimTime,
    network: &mut WorldNetwork,
    delivery: Delivery,
    connection: Option<&Connection>,
) {
    if network.is_traced() {
        write_delivery(now, network, delivery, connection);
    }
}

#[cold]
#[inline(never)]
fn write_delivery(
    now: SimTime,
    network: &mut WorldNetwork,
    delivery: Delivery,
    connection: Option<&Connection>,
) {
    if let Some((observer, addresses, packet)) = network.tap_and_delivery(delivery)
        && let Some(tracer) = observer.tracer()
    {
        let gauges = connection.and_then(|connection| connection.gauges(packet.path.index()));
        let place = (TraceEvent::Recv, addresses.destination.node());
        tracer.packet(now, place, addresses, packet, gauges);
    }
}

/// Writes a line for each sender of a connection that has timed out or changed its state. `path` is that of its first
/// subflow.
#[cold]
#[inline(never)]
pub(crate) fn trace_states(
    now: SimTime,
    network: &mut WorldNetwork,
    (socket, owner): (SocketId, AppSocket),
    path: &Path,
    connection: &Connection,
) {
    if let Some((observer, _)) = network.tap_and_draft()
        && let Some(tracer) = observer.tracer()
    {
        let at = path.route.header.source.node();
        tracer.watch(now, at, (socket, owner.flow(), owner.connection), connection);
    }
}
