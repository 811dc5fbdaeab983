//! Nodes, their interfaces and the link directions between them.
//!
//! May: say which nodes are connected. May not: know routes, rates or packets.

/// Index of a link direction: `2 * duplex_link` from the first end to the second, `2 * duplex_link + 1` back.
pub type LinkId = u32;

/// Index of a node.
pub type NodeId = usize;

#[derive(Clone, Debug)]
struct Vertex {
    forward: bool,
    /// By interface: the link that leaves there. Interfaces are numbered in the order of duplex links.
    leaving: Vec<LinkId>,
}

/// The graph of a network.
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: Vec<Vertex>,
    /// By link: the node where it ends.
    heads: Vec<NodeId>,
}

impl Topology {
    /// From `forward` by node and the two `ends` by duplex link.
    pub fn new(forward: impl IntoIterator<Item = bool>, ends: impl IntoIterator<Item = [NodeId; 2]>) -> Self {
        let mut nodes: Vec<_> =
            forward.into_iter().map(|forward| Vertex { forward, leaving: Vec::new() }).collect();
        let mut heads = Vec::new();
        for [first, second] in ends {
            let link = heads.len() as LinkId;
            nodes[first].leaving.push(link);
            nodes[second].leaving.push(link + 1);
            heads.extend([second, first]);
        }
        let topology = Self { nodes, heads };
        topology.check();
        topology
    }

    fn check(&self) {
        let leaving = self.nodes.iter().map(|node| node.leaving.len()).sum::<usize>();
        debug_assert_eq!(leaving, self.heads.len(), "each link direction leaves one node");
        debug_assert!(
            self.nodes
                .iter()
                .enumerate()
                .all(|(node, vertex)| { vertex.leaving.iter().all(|link| self.tail(*link) == node) }),
            "a link leaves the node where it begins"
        );
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// True if `node` passes on packets that are not for itself.
    pub fn forwards(&self, node: NodeId) -> bool {
        self.nodes[node].forward
    }

    /// The links that leave `node`, by interface.
    pub fn leaving(&self, node: NodeId) -> &[LinkId] {
        &self.nodes[node].leaving
    }

    /// The node where `link` ends.
    pub fn head(&self, link: LinkId) -> NodeId {
        self.heads[link as usize]
    }

    /// The node where `link` begins.
    pub fn tail(&self, link: LinkId) -> NodeId {
        self.heads[opposite(link) as usize]
    }

    /// Addresses of `node`: the indices of its interfaces. Only the first 256 have one.
    pub fn addresses(&self, node: NodeId) -> impl Iterator<Item = u8> + use<> {
        (0..=u8::MAX).take(self.nodes[node].leaving.len())
    }

    /// The address that `node` has on `duplex_link`; `None` if the duplex link does not end there.
    pub fn address_on(&self, node: NodeId, duplex_link: usize) -> Option<u8> {
        let on_duplex_link = |link: &LinkId| duplex_link_of(*link) == duplex_link;
        let interface = self.nodes[node].leaving.iter().position(on_duplex_link)?;
        u8::try_from(interface).ok()
    }
}

/// The other direction of the same duplex link.
pub const fn opposite(link: LinkId) -> LinkId {
    link ^ 1
}

/// The duplex link of a link direction.
pub const fn duplex_link_of(link: LinkId) -> usize {
    (link >> 1) as usize
}
