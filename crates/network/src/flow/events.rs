//! What happens to connections while the run goes on: addresses leave and come, change their priority, and
//! applications abort. And what connections must know of addresses at the start.
//!
//! May: translate duplex links into the interfaces of a host, and tell a connection at the right time. May not: decide what
//! a connection does about it.

use scenario::model::{Deed as DeedModel, DeedKind, Flow as FlowModel, Multipath, Scenario};
use transport::config::{Endpoint, MptcpConfig, PathManager};
use units::SimTime;

use crate::topology::{NodeId, Topology};
use crate::world::World;

/// Something that happens to one end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed {
    pub(crate) at: SimTime,
    flow: usize,
    /// The data sender (0) or receiver (1).
    end: usize,
    what: DeedKind,
    /// Interface of the address, where one is concerned.
    address: u8,
}

/// Node of the end that opens the connection, or of the other.
fn node_of(flow: &FlowModel, client: bool) -> NodeId {
    if client != flow.opened_by_receiver { flow.from } else { flow.to }
}

fn duplex_link_of(what: DeedKind) -> Option<usize> {
    match what {
        DeedKind::Leave(duplex_link) | DeedKind::Join(duplex_link) | DeedKind::Backup(duplex_link, _) => {
            Some(duplex_link)
        }
        DeedKind::Abort(_) => None,
    }
}

/// All deeds of a scenario, the last one first.
pub(crate) fn all(scenario: &Scenario, topology: &Topology) -> Vec<Deed> {
    let deed = |model: &DeedModel| {
        let flow = &scenario.flows[model.flow];
        let node = node_of(flow, model.client);
        let address =
            duplex_link_of(model.what).and_then(|duplex_link| topology.address_on(node, duplex_link));
        Deed {
            at: model.at,
            flow: model.flow,
            end: usize::from(model.client == flow.opened_by_receiver),
            what: model.what,
            address: address.unwrap_or_default(),
        }
    };
    let mut deeds: Vec<Deed> = scenario.deeds.iter().map(deed).collect();
    deeds.reverse();
    deeds
}

/// Addresses of sender and receiver of a flow that are not there at the start: those that come before they leave.
pub(crate) fn absent(scenario: &Scenario, flow: usize, topology: &Topology) -> [Vec<u8>; 2] {
    let mut absent = [Vec::new(), Vec::new()];
    let mut seen = Vec::new();
    let model = &scenario.flows[flow];
    for deed in scenario.deeds.iter().filter(|deed| deed.flow == flow) {
        let (DeedKind::Join(duplex_link) | DeedKind::Leave(duplex_link)) = deed.what else { continue };
        if seen.contains(&(deed.client, duplex_link)) {
            continue;
        }
        seen.push((deed.client, duplex_link));
        let address = topology.address_on(node_of(model, deed.client), duplex_link);
        if let (DeedKind::Join(_), Some(address)) = (deed.what, address) {
            absent[usize::from(deed.client == model.opened_by_receiver)].push(address);
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
    /// Does what is due at `now`.
    pub(crate) fn do_deeds(&mut self, now: SimTime) {
        while let Some(deed) = self.deeds.pop_if(|deed| deed.at <= now) {
            if let DeedKind::Leave(_) | DeedKind::Join(_) = deed.what {
                let present = matches!(deed.what, DeedKind::Join(_));
                self.flows[deed.flow].factory.set_present(deed.end, deed.address, present);
            }
            for channel in 0..self.channels.len() {
                if self.channels[channel].flow == deed.flow {
                    self.do_deed(now, deed, 2 * channel + deed.end);
                }
            }
            self.serve_touched(now);
        }
    }

    fn do_deed(&mut self, now: SimTime, deed: Deed, end: usize) {
        let (connection, address) = (&mut self.ends[end].connection, deed.address);
        match deed.what {
            DeedKind::Leave(_) => connection.remove_address(now, address),
            DeedKind::Join(_) => connection.add_address(address),
            DeedKind::Backup(_, backup) => connection.set_backup(address, backup),
            DeedKind::Abort(form) => connection.abort(now, form),
        }
        self.note_held(now, end);
        self.serve(now, end);
    }
}
