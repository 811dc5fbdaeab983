//! Where packets of a connection meet a proxy.
//!
//! May: ask routing which ways there are. May not: open connections.

use std::collections::BTreeMap;

use crate::net::routing::{Routes, TargetId};
use crate::net::topology::{LinkId, NodeId, opposite};

/// The first proxy on the way of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Node of the proxy.
    pub(crate) node: NodeId,
    /// Its interface where packets arrive; `None` if ways of equal length lead to several.
    pub(crate) arrives: Option<u8>,
    /// Its interface where packets for the server leave; `None` likewise.
    pub(crate) leaves: Option<u8>,
}

/// The first of the `proxies` that every way of a connection passes, which leaves `node` over `first`, or by routing.
pub(crate) fn first_stop(
    routes: &Routes,
    target: TargetId,
    (node, first): (NodeId, Option<LinkId>),
    proxies: &[NodeId],
) -> Option<Stop> {
    let mut known = BTreeMap::new();
    let met = match first {
        Some(link) => over(routes, target, link, proxies, &mut known),
        None => from(routes, target, node, proxies, &mut known),
    };
    let (node, arrives) = met?;
    let leaves = match routes.next_hops(target, node) {
        [only] => interface(routes, *only),
        _ => None,
    };
    Some(Stop { node, arrives, leaves })
}

/// Node of a proxy and the interface where packets arrive there.
type Met = Option<(NodeId, Option<u8>)>;

fn over(
    routes: &Routes,
    target: TargetId,
    link: LinkId,
    proxies: &[NodeId],
    known: &mut BTreeMap<NodeId, Met>,
) -> Met {
    let head = routes.topology().head(link);
    if proxies.contains(&head) {
        return Some((head, interface(routes, opposite(link))));
    }
    if let Some(met) = known.get(&head) {
        return *met;
    }
    let met = from(routes, target, head, proxies, known);
    known.insert(head, met);
    met
}

fn from(
    routes: &Routes,
    target: TargetId,
    node: NodeId,
    proxies: &[NodeId],
    known: &mut BTreeMap<NodeId, Met>,
) -> Met {
    let mut all: Option<Met> = None;
    for link in routes.next_hops(target, node) {
        let met = over(routes, target, *link, proxies, known);
        all = Some(match (all, met) {
            (None, met) => met,
            (Some(Some((one, there))), Some((other, here))) if one == other => {
                Some((one, there.filter(|there| Some(*there) == here)))
            }
            _ => None,
        });
    }
    all.flatten()
}

/// The number of the interface where a link leaves.
fn interface(routes: &Routes, link: LinkId) -> Option<u8> {
    let topology = routes.topology();
    let leaving = topology.leaving(topology.tail(link));
    leaving.iter().position(|other| *other == link).and_then(|index| u8::try_from(index).ok())
}
