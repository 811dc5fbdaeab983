//! Flow events of a scenario as scheduled events, and the addresses that exist at the start.
//!
//! May: translate duplex links into the interfaces of a host. May not: make any event happen.

use scenario::model::{Flow as FlowModel, FlowAction, FlowEvent, Multipath, Scenario};
use transport::config::{AddressEndpoint, MptcpConfig, PathManager};

use crate::flow::events::{EndAction, ScheduledEvent};
use crate::net::topology::{NodeId, Topology};

/// Node of the client, which opens the connection, or of the server.
pub(super) fn node_of(flow: &FlowModel, client: bool) -> NodeId {
    if client != flow.opened_by_receiver { flow.from } else { flow.to }
}

fn duplex_link_of(action: FlowAction) -> Option<usize> {
    match action {
        FlowAction::Leave(link) | FlowAction::Join(link) | FlowAction::Backup(link, _) => Some(link),
        FlowAction::Abort(_) => None,
    }
}

/// All flow events of a scenario, the last one first.
pub(super) fn all(scenario: &Scenario, topology: &Topology) -> Vec<ScheduledEvent> {
    let event = |model: &FlowEvent| {
        let node = node_of(&scenario.flows[model.flow], model.client);
        let interface = duplex_link_of(model.what).and_then(|link| topology.address_on(node, link));
        let action = EndAction::new(model.what, interface.unwrap_or_default());
        ScheduledEvent { at: model.at, flow: model.flow, client: model.client, action }
    };
    let mut events: Vec<ScheduledEvent> = scenario.flow_events.iter().map(event).collect();
    events.reverse();
    debug_assert!(events.is_sorted_by(|one, next| one.at >= next.at), "the scenario sorts its flow events");
    events
}

/// Addresses of the client and of the server of a flow that do not exist at the start: those that are added before
/// they are removed.
pub(super) fn absent(scenario: &Scenario, flow: usize, topology: &Topology) -> [Vec<u8>; 2] {
    let mut absent = [Vec::new(), Vec::new()];
    let mut seen = Vec::new();
    let model = &scenario.flows[flow];
    for event in scenario.flow_events.iter().filter(|event| event.flow == flow) {
        let (FlowAction::Join(link) | FlowAction::Leave(link)) = event.what else { continue };
        if seen.contains(&(event.client, link)) {
            continue;
        }
        seen.push((event.client, link));
        let address = topology.address_on(node_of(model, event.client), link);
        if let (FlowAction::Join(_), Some(address)) = (event.what, address) {
            absent[usize::from(!event.client)].push(address);
        }
    }
    absent
}

/// The MPTCP settings of one end: its endpoints get their interfaces.
pub(super) fn end_config(
    multipath: &Multipath,
    flow: &FlowModel,
    client: bool,
    topology: &Topology,
) -> MptcpConfig {
    let node = node_of(flow, client);
    let mut config = multipath.config.clone();
    if let PathManager::InKernel(kernel) = &mut config.path_manager {
        let own = multipath.endpoints.iter().filter(|endpoint| endpoint.client == client);
        kernel.endpoints = own
            .filter_map(|e| {
                Some(AddressEndpoint { address: topology.address_on(node, e.duplex_link)?, flags: e.flags })
            })
            .collect();
    }
    config
}
