//! From the transport of a flow to what its two sides make connections of.
//!
//! May: ask routing which addresses are connected. May not: make any event happen.

use std::sync::Arc;

use apps::Side;
use congestion::CongestionControl;
use engine::Stream;
use scenario::model::{Associations, Choice, Flow as FlowModel, Transport};
use schedulers::Schedulers;
use transport::config::MptcpConfig;
use transport::sctp::chunk::MAX_ADDRESSES;
use transport::{AddressPair, NewCongestion};

use crate::build::addresses::{connected_pairs, first_pair};
use crate::build::flow_events::{end_config, node_of};
use crate::host::Hosts;
use crate::host::config::{KnownAddresses, Listener, NewScheduler, Opener, Protocol};
use crate::net::routing::Routes;
use crate::net::topology::Topology;

/// Lets the server of a flow listen and returns the side that opens. `absent` are the addresses of client and server
/// that do not exist at the start.
pub(super) fn sides(
    (index, flow): (usize, &FlowModel),
    seed: u64,
    (routes, hosts): (&mut Routes, &mut Hosts),
    absent: [Vec<u8>; 2],
) -> Opener {
    let at_client = protocol(flow, routes.topology());
    let at_server = at_server(&at_client, flow, routes.topology());
    // Only MPTCP and SCTP use further pairs.
    let pairs =
        if at_client.is_multihomed() { connected_pairs(routes, flow.from, flow.to) } else { Vec::new() };
    let present = |pair: &AddressPair| {
        let AddressPair { local, remote } = from_client(flow, *pair);
        local.is_none_or(|a| !absent[0].contains(&a)) && remote.is_none_or(|a| !absent[1].contains(&a))
    };
    let existing: Vec<_> = pairs.iter().filter(|pair| present(pair)).copied().collect();
    let first = from_client(flow, first_pair(flow, routes, &existing));
    let pairs: Vec<_> = pairs.into_iter().map(|pair| from_client(flow, pair)).collect();
    let associates = at_client.is_association();
    let alone = flow.transport.sctp.as_ref().is_some_and(|sctp| sctp.single_homed);
    let pairs = match (associates, alone) {
        (true, true) => vec![first],
        (true, false) => paths_of(first, &pairs),
        (false, _) => pairs,
    };
    let at_listener = pairs.iter().filter(|_| associates).map(|pair| pair.reversed()).collect();
    let own = pairs.iter().filter(|_| !associates).filter_map(|pair| pair.remote).collect();
    let mut keys = at_client.is_multihomed().then(|| Stream::named(seed, &flow.name, "keys"));
    let keys_of_server = keys.as_mut().map(Stream::split);
    let server = node_of(flow, false);
    let plain = plain_server(&at_server, flow);
    let listener = Listener::new(at_server, index as u32, own, absent[1].clone(), keys_of_server)
        .with_paths(at_listener);
    let port = hosts.listen(server, listener);
    let plain = plain.map_or(port, |protocol| {
        // It has no addresses to announce: every connection falls back.
        let keys = Stream::named(seed, &flow.name, "keys of the plain server");
        hosts.listen(server, Listener::new(protocol, index as u32, Vec::new(), Vec::new(), Some(keys)))
    });
    let addresses = KnownAddresses { first, pairs, absent };
    let side = if flow.opened_by_receiver { Side::Receiver } else { Side::Sender };
    Opener::new(at_client, (node_of(flow, true), side), (server, [port, plain]), addresses, keys)
}

/// The protocol of servers that do not speak MPTCP, where the application meets such.
fn plain_server(at_server: &Protocol, flow: &FlowModel) -> Option<Protocol> {
    let app = (flow.app.row.build)(&flow.app.options);
    let Protocol::Stream { tcp, congestion, mptcp: Some((config, scheduler)) } = at_server else {
        return None;
    };
    app.meets_plain_servers().then(|| {
        let config = MptcpConfig { peer_capable: false, ..(**config).clone() };
        let mptcp = Some((Arc::new(config), Arc::clone(scheduler)));
        Protocol::Stream { tcp: Arc::clone(tcp), congestion: Arc::clone(congestion), mptcp }
    })
}

/// The paths of an association: the first pair, then pairs of addresses of both ends that no other path has, then those
/// that give an address of one end another path.
fn paths_of(first: AddressPair, pairs: &[AddressPair]) -> Vec<AddressPair> {
    let mut paths = vec![first];
    if first.local.is_none() || first.remote.is_none() {
        return paths;
    }
    for both in [true, false] {
        for pair in pairs {
            let has_local = paths.iter().any(|known| known.local == pair.local);
            let has_remote = paths.iter().any(|known| known.remote == pair.remote);
            let adds = if both { !has_local && !has_remote } else { !has_local || !has_remote };
            if adds && paths.len() < MAX_ADDRESSES {
                paths.push(*pair);
            }
        }
    }
    paths
}

/// A pair seen from the data sender, as the client sees it.
fn from_client(flow: &FlowModel, pair: AddressPair) -> AddressPair {
    if flow.opened_by_receiver { pair.reversed() } else { pair }
}

/// The protocol of the client.
fn protocol(flow: &FlowModel, topology: &Topology) -> Protocol {
    if let Some(udp) = flow.transport.udp {
        return Protocol::Datagrams(udp);
    }
    if let Some(Associations { config, scheduler, single_homed: _ }) = flow.transport.sctp.clone() {
        let congestion = congestion(&flow.transport);
        return Protocol::Association { config, congestion, scheduler: scheduler.map(new_scheduler) };
    }
    let config = flow.transport.mptcp.as_ref().map(|multipath| end_config(multipath, flow, true, topology));
    stream_protocol(&flow.transport, config)
}

/// TCP, or MPTCP with these settings.
pub(super) fn stream_protocol(transport: &Arc<Transport>, config: Option<MptcpConfig>) -> Protocol {
    let mptcp = transport
        .mptcp
        .as_ref()
        .zip(config)
        .map(|(multipath, config)| (Arc::new(config), new_scheduler(multipath.scheduler.clone())));
    Protocol::Stream { tcp: Arc::clone(&transport.tcp), congestion: congestion(transport), mptcp }
}

fn new_scheduler(choice: Choice<Schedulers>) -> NewScheduler {
    Arc::new(move || (choice.row.build)(&choice.options))
}

fn congestion(transport: &Arc<Transport>) -> NewCongestion {
    // Flows of one `count` share a transport: there may be thousands.
    let transport = Arc::clone(transport);
    Arc::new(move |setup| -> Box<dyn CongestionControl> {
        let choice = transport.congestion.as_ref();
        let choice = choice.expect("all transports but UDP have a congestion control");
        (choice.row.build)(setup, &choice.options)
    })
}

/// The protocol of the server, whose path manager has endpoints of its own.
fn at_server(at_client: &Protocol, flow: &FlowModel, topology: &Topology) -> Protocol {
    let mut protocol = at_client.clone();
    if let (Protocol::Stream { mptcp: Some((config, _)), .. }, Some(multipath)) =
        (&mut protocol, &flow.transport.mptcp)
    {
        *config = Arc::new(end_config(multipath, flow, false, topology));
    }
    protocol
}
