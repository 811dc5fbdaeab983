//! Shortest paths by number of duplex links, with all next hops of equal cost.
//!
//! May: read the topology. May not: see packets, queues or time; routes do not change while a run goes on.
//!
//! A target is a host (any of its interfaces will do) or one interface of a host (then the last duplex link is given).
//! A node that does not forward, and the target itself, are never on the way.

use scenario::UNREACHABLE;

use crate::net::topology::{LinkId, NodeId, Topology, opposite};

/// Where packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub node: NodeId,
    /// Its interface; `None`: whichever is nearest.
    pub interface: Option<u8>,
}

/// Index of a target in [`Routes`].
pub type TargetId = u32;

/// Next hops of all nodes towards one target.
#[derive(Clone, Debug)]
struct RouteTable {
    target: Target,
    /// Duplex links to the target, by node.
    distance: Vec<u32>,
    /// `links[offset[node]..offset[node + 1]]` are the next hops of `node`.
    offset: Vec<u32>,
    links: Vec<LinkId>,
}

/// The routes to all targets asked for so far.
#[derive(Clone, Debug)]
pub struct Routes {
    topology: Topology,
    tables: Vec<RouteTable>,
}

impl Routes {
    /// No targets yet.
    pub fn new(topology: Topology) -> Self {
        Self { topology, tables: Vec::new() }
    }

    /// The graph.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The index of `target`; its routes are computed when it is first asked for.
    pub fn target(&mut self, target: Target) -> TargetId {
        let known = self.tables.iter().position(|table| table.target == target);
        let index = known.unwrap_or_else(|| {
            self.tables.push(RouteTable::new(&self.topology, target));
            self.tables.len() - 1
        });
        index as TargetId
    }

    /// The links over which `node` may pass on a packet for `target`, all of the same cost; empty at the target
    /// itself and where there is no way.
    pub fn next_hops(&self, target: TargetId, node: NodeId) -> &[LinkId] {
        self.tables[target as usize].next_hops(node)
    }

    /// Duplex links that a packet crosses to `target` if it leaves its source by `link`; `None` if there is no way.
    pub fn hops_over(&self, target: TargetId, link: LinkId) -> Option<u32> {
        let table = &self.tables[target as usize];
        let head = self.topology.head(link);
        let arrives = head == table.target.node;
        let passes =
            if arrives { table.target.accepts(&self.topology, link) } else { self.topology.forwards(head) };
        (passes && table.distance[head] != UNREACHABLE).then(|| table.distance[head] + 1)
    }
}

impl Target {
    /// True if `link`, which ends at the target's host, ends at the right interface.
    fn accepts(self, topology: &Topology, link: LinkId) -> bool {
        let interface = |i: u8| topology.leaving(self.node)[usize::from(i)];
        self.interface.is_none_or(|i| interface(i) == opposite(link))
    }
}

impl RouteTable {
    fn new(topology: &Topology, target: Target) -> Self {
        let distance = distances(topology, target);
        let (mut offset, mut links) = (vec![0], Vec::new());
        for node in 0..topology.nodes() {
            let nearer = |&&link: &&LinkId| {
                let head = topology.head(link);
                let next = distance[head] != UNREACHABLE && distance[node] == distance[head] + 1;
                let passes = if head == target.node {
                    target.accepts(topology, link)
                } else {
                    topology.forwards(head)
                };
                next && passes
            };
            if distance[node] != UNREACHABLE {
                links.extend(topology.leaving(node).iter().filter(nearer));
            }
            offset.push(links.len() as u32);
        }
        debug_assert_eq!(offset.len(), topology.nodes() + 1, "each node has a range of next hops");
        debug_assert!(
            (0..topology.nodes()).all(|node| {
                let hops = offset[node] < offset[node + 1];
                hops == (distance[node] != UNREACHABLE && distance[node] > 0)
            }),
            "nodes with a way to {target:?} have a next hop, and no others"
        );
        Self { target, distance, offset, links }
    }

    fn next_hops(&self, node: NodeId) -> &[LinkId] {
        &self.links[self.offset[node] as usize..self.offset[node + 1] as usize]
    }
}

/// Duplex links from each node to the target, through nodes that forward.
fn distances(topology: &Topology, target: Target) -> Vec<u32> {
    // The search begins at the target, against the direction of packets: `link` leaves a node that has been reached,
    // and packets come in over the opposite direction.
    let onward = |node: NodeId| {
        let passes = node == target.node || topology.forwards(node);
        let links = if passes { topology.leaving(node) } else { &[] };
        let usable = move |link: &&LinkId| node != target.node || target.accepts(topology, opposite(**link));
        links.iter().filter(usable).map(|link| topology.head(*link))
    };
    scenario::distances(topology.nodes(), target.node, onward)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every node of each layer is connected with every node of the next; only the outermost do not forward.
    fn layered(sizes: &[usize]) -> Topology {
        let layers: Vec<Vec<NodeId>> = sizes
            .iter()
            .scan(0, |first, &size| {
                *first += size;
                Some((*first - size..*first).collect())
            })
            .collect();
        let forward = layers
            .iter()
            .enumerate()
            .flat_map(|(i, layer)| layer.iter().map(move |_| i > 0 && i + 1 < sizes.len()));
        let mut ends = Vec::new();
        for pair in layers.windows(2) {
            for &a in &pair[0] {
                ends.extend(pair[1].iter().map(|&b| [a, b]));
            }
        }
        Topology::new(forward, ends)
    }

    fn host(node: NodeId) -> Target {
        Target { node, interface: None }
    }

    /// Number of shortest paths from host to host.
    fn paths(routes: &mut Routes, from: NodeId, to: NodeId) -> u64 {
        let target = routes.target(host(to));
        let onward = |routes: &Routes| -> Vec<NodeId> {
            routes.next_hops(target, from).iter().map(|&link| routes.topology().head(link)).collect()
        };
        if from == to { 1 } else { onward(routes).into_iter().map(|node| paths(routes, node, to)).sum() }
    }

    /// 5 terminals, routers, dishes, satellites and mirrored: 3 * 4 * 6 * 4 * 3 ways.
    #[test]
    fn layers_of_pedrazzi_2020_have_864_paths() {
        let mut routes = Routes::new(layered(&[5, 3, 4, 6, 4, 3, 5]));
        let last = routes.topology().nodes() - 1;
        assert_eq!(paths(&mut routes, 0, last), 864);
        assert_eq!(paths(&mut routes, last, 4), 864);
        // Two terminals of one side meet at any of their three routers.
        assert_eq!(paths(&mut routes, 0, 1), 3);
        let target = routes.target(host(last));
        assert_eq!(routes.next_hops(target, 0).len(), 3);
        assert_eq!(routes.next_hops(target, 5).len(), 4);
        assert!(routes.next_hops(target, last).is_empty());
    }

    #[test]
    fn parallel_duplex_links_are_paths_of_their_own() {
        let mut routes = Routes::new(Topology::new([false, false], [[0, 1], [0, 1], [1, 0]]));
        assert_eq!(paths(&mut routes, 0, 1), 3);
        let (any, second) = (routes.target(host(1)), routes.target(Target { node: 1, interface: Some(1) }));
        assert_eq!(routes.next_hops(any, 0), [0, 2, 5]);
        assert_eq!(routes.next_hops(second, 0), [2]);
        assert_eq!((routes.hops_over(any, 5), routes.hops_over(second, 0)), (Some(1), None));
    }

    /// A client with two access paths, a server with one: the first duplex link can be chosen, the last is common.
    ///
    /// ```text
    ///   0 --- 1 --- 3 --- 4      (1, 2, 3 forward)
    ///    \--- 2 ---/
    /// ```
    #[test]
    fn one_interface_of_the_far_host_is_a_target_of_its_own() {
        let ends = [[0, 1], [0, 2], [1, 3], [2, 3], [3, 4]];
        let mut routes = Routes::new(Topology::new([false, true, true, true, false], ends));
        let server = routes.target(Target { node: 4, interface: Some(0) });
        assert_eq!(routes.next_hops(server, 0), [0, 2]);
        assert_eq!((routes.hops_over(server, 0), routes.hops_over(server, 2)), (Some(3), Some(3)));
        let second = routes.target(Target { node: 0, interface: Some(1) });
        assert_eq!(routes.next_hops(second, 4), [9], "over the only duplex link");
        assert_eq!(routes.next_hops(second, 3), [7], "towards node 2, not node 1");
        // Leaving towards node 1, the packet comes back over node 3.
        assert_eq!(routes.next_hops(second, 1), [4]);
    }

    #[test]
    fn hosts_are_not_on_the_way() {
        // 0 - 1 - 2 in a row, and a detour 0 - 3 - 4 - 2 over nodes that forward.
        let ends = [[0, 1], [1, 2], [0, 3], [3, 4], [4, 2]];
        let mut routes = Routes::new(Topology::new([false, false, false, true, true], ends));
        let target = routes.target(host(2));
        assert_eq!(routes.next_hops(target, 0), [4]);
        assert_eq!((routes.hops_over(target, 0), routes.hops_over(target, 4)), (None, Some(3)));
        assert_eq!(paths(&mut routes, 0, 1), 1, "but they can be reached");
        // The target does not pass on packets to its own far interface, even if it forwards.
        let mut ring = Routes::new(Topology::new([false, true, true], [[0, 1], [1, 2], [2, 0]]));
        let far = ring.target(Target { node: 1, interface: Some(1) });
        assert_eq!(ring.next_hops(far, 0), [5], "the long way round, not through node 1");
        let nowhere = ring.target(Target { node: 0, interface: Some(0) });
        assert_eq!(ring.hops_over(nowhere, 4), None, "the wrong interface");
    }

    #[test]
    fn without_a_way_there_are_no_hops() {
        let mut routes = Routes::new(Topology::new([true, true, true], [[0, 1]]));
        assert_eq!(paths(&mut routes, 0, 2), 0);
        let target = routes.target(host(2));
        assert!(routes.next_hops(target, 0).is_empty());
        assert_eq!(routes.hops_over(target, 0), None);
    }
}
