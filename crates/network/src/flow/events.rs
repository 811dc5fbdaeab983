//! Flow events of a scenario: addresses of a host are removed, added or change their priority, and applications abort.
//! And which addresses exist at the start.
//!
//! May: translate duplex links into the interfaces of a host, and tell a connection at the right time. May not: decide what
//! a connection does about it.

use scenario::model::{Flow as FlowModel, FlowAction, FlowEvent, Multipath, Scenario};
use transport::config::{Endpoint, MptcpConfig, PathManager};
use units::SimTime;

use crate::topology::{NodeId, Topology};
use crate::world::World;

/// A flow event with the address that it concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledEvent {
    pub(crate) at: SimTime,
    flow: usize,
    /// The data sender (0) or receiver (1).
    end: usize,
    what: FlowAction,
    /// Interface of the address, where one is concerned.
    address: u8,
}

/// Node of the end that opens the connection, or of the other.
fn node_of(flow: &FlowModel, client: bool) -> NodeId {
    if client != flow.opened_by_receiver { flow.from } else { flow.to }
}

fn duplex_link_of(what: FlowAction) -> Option<usize> {
    match what {
        FlowAction::Leave(duplex_link)
        | FlowAction::Join(duplex_link)
        | FlowAction::Backup(duplex_link, _) => Some(duplex_link),
        FlowAction::Abort(_) => None,
    }
}

/// All flow events of a scenario, the last one first.
pub(crate) fn all(scenario: &Scenario, topology: &Topology) -> Vec<ScheduledEvent> {
    let event = |model: &FlowEvent| {
        let flow = &scenario.flows[model.flow];
        let node = node_of(flow, model.client);
        let address =
            duplex_link_of(model.what).and_then(|duplex_link| topology.address_on(node, duplex_link));
        ScheduledEvent {
            at: model.at,
            flow: model.flow,
            end: usize::from(model.client == flow.opened_by_receiver),
            what: model.what,
            address: address.unwrap_or_default(),
        }
    };
    let mut flow_events: Vec<ScheduledEvent> = scenario.flow_events.iter().map(event).collect();
    flow_events.reverse();
    flow_events
}

/// Addresses of sender and receiver of a flow that are not there at the start: those that come before they leave.
pub(crate) fn absent(scenario: &Scenario, flow: usize, topology: &Topology) -> [Vec<u8>; 2] {
    let mut absent = [Vec::new(), Vec::new()];
    let mut seen = Vec::new();
    let model = &scenario.flows[flow];
    for event in scenario.flow_events.iter().filter(|event| event.flow == flow) {
        let (FlowAction::Join(duplex_link) | FlowAction::Leave(duplex_link)) = event.what else { continue };
        if seen.contains(&(event.client, duplex_link)) {
            continue;
        }
        seen.push((event.client, duplex_link));
        let address = topology.address_on(node_of(model, event.client), duplex_link);
        if let (FlowAction::Join(_), Some(address)) = (event.what, address) {
            absent[usize::from(event.client == model.opened_by_receiver)].push(address);
        }
    }
    absent
}

/// The MPTCP settings of one end: its endpoints get their interfaces.
pub(crate) fn end_config(
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
                Some(Endpoint { address: topology.address_on(node, e.duplex_link)?, flags: e.flags })
            })
            .collect();
    }
    config
}

impl World {
    /// Applies the flow events that are due at `now`.
    pub(crate) fn apply_flow_events(&mut self, now: SimTime) {
        while let Some(event) = self.flow_events.pop_if(|event| event.at <= now) {
            if let FlowAction::Leave(_) | FlowAction::Join(_) = event.what {
                let present = matches!(event.what, FlowAction::Join(_));
                self.flows[event.flow].factory.set_present(event.end, event.address, present);
            }
            for channel in 0..self.channels.len() {
                if self.channels[channel].flow == event.flow {
                    self.apply_flow_event(now, event, 2 * channel + event.end);
                }
            }
            self.serve_touched(now);
        }
    }

    fn apply_flow_event(&mut self, now: SimTime, event: ScheduledEvent, end: usize) {
        let (connection, address) = (&mut self.ends[end].connection, event.address);
        match event.what {
            FlowAction::Leave(_) => connection.remove_address(now, address),
            FlowAction::Join(_) => connection.add_address(address),
            FlowAction::Backup(_, backup) => connection.set_backup(address, backup),
            FlowAction::Abort(form) => connection.abort(now, form),
        }
        self.note_held(now, end);
        self.serve(now, end);
    }
}
