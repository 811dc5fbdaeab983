//! Which nodes packets can reach over duplex links, and how far away they are.
//!
//! May: search. May not: know which nodes forward or which interfaces count; callers say that.

/// The distance of a node that cannot be reached.
pub const UNREACHABLE: u32 = u32::MAX;

/// Links from `from` to each of `nodes` nodes, found breadth first; [`UNREACHABLE`] where there is no way. `onward` are
/// the nodes next to one that has been reached to which the search goes on from there.
pub fn distances<N: IntoIterator<Item = usize>>(
    nodes: usize,
    from: usize,
    onward: impl Fn(usize) -> N,
) -> Vec<u32> {
    let mut distance = vec![UNREACHABLE; nodes];
    distance[from] = 0;
    let mut reached = Vec::with_capacity(nodes);
    reached.push(from);
    let mut done = 0;
    while let Some(&node) = reached.get(done) {
        done += 1;
        for next in onward(node) {
            if distance[next] == UNREACHABLE {
                distance[next] = distance[node] + 1;
                debug_assert!(
                    reached.last().is_some_and(|last| distance[*last] <= distance[next]),
                    "nodes are reached in the order of their distance"
                );
                reached.push(next);
            }
        }
    }
    debug_assert!(reached.len() <= nodes, "a node was reached twice");
    distance
}

/// A sender and a receiver, by index of their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePair {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

/// Nodes and their neighbours. Links are duplex, so that each way leads back as well.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    neighbours: Vec<Vec<usize>>,
    links: usize,
}

impl Graph {
    /// A graph of `nodes` nodes; `ends` are those of its links.
    pub fn new(nodes: usize, ends: impl IntoIterator<Item = [usize; 2]>) -> Self {
        let mut graph = Self { neighbours: vec![Vec::new(); nodes], links: 0 };
        for [a, b] in ends {
            graph.neighbours[a].push(b);
            graph.neighbours[b].push(a);
            graph.links += 1;
        }
        graph.check();
        graph
    }

    /// How many links end at `node`.
    pub fn degree(&self, node: usize) -> usize {
        self.neighbours[node].len()
    }

    /// Nodes that packets from `from` reach without passing `without`; only nodes with `forwards` pass them on.
    pub fn reached(
        &self,
        from: usize,
        without: Option<usize>,
        forwards: impl Fn(usize) -> bool,
    ) -> Vec<bool> {
        debug_assert!(without != Some(from), "a search that begins where it must not pass");
        let onward = |node: usize| {
            let passes = node == from || forwards(node);
            let neighbours = if passes { self.neighbours[node].as_slice() } else { &[] };
            neighbours.iter().copied().filter(|next| Some(*next) != without)
        };
        let distances = distances(self.neighbours.len(), from, onward);
        let seen: Vec<bool> = distances.into_iter().map(|distance| distance != UNREACHABLE).collect();
        debug_assert!(without.is_none_or(|node| !seen[node]), "the node to be avoided was passed");
        seen
    }

    /// True if packets get from one node to the other.
    pub fn joins(&self, pair: NodePair, forwards: impl Fn(usize) -> bool) -> bool {
        self.reached(pair.from, None, forwards)[pair.to]
    }

    /// True if a packet that leaves its sender over the link with these `ends` can arrive at its receiver without
    /// passing its sender again.
    pub fn leads(&self, ends: [usize; 2], pair: NodePair, forwards: impl Fn(usize) -> bool) -> bool {
        let next = other_end(ends, pair.from);
        next == pair.to || (forwards(next) && self.reached(next, Some(pair.from), forwards)[pair.to])
    }

    fn check(&self) {
        let degrees = self.neighbours.iter().map(Vec::len).sum::<usize>();
        debug_assert_eq!(degrees, 2 * self.links, "each link has two ends");
        let inside = |node: &usize| *node < self.neighbours.len();
        debug_assert!(self.neighbours.iter().flatten().all(inside), "a link ends at no node");
    }
}

/// The end of a link that is not `near`.
pub fn other_end(ends: [usize; 2], near: usize) -> usize {
    debug_assert!(ends.contains(&near), "{near} is no end of {ends:?}");
    if ends[0] == near { ends[1] } else { ends[0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 - 1 - 2 - 3, and 0 - 4 - 3.
    fn ring() -> Graph {
        Graph::new(5, [[0, 1], [1, 2], [2, 3], [0, 4], [4, 3]])
    }

    #[test]
    fn packets_pass_only_through_nodes_that_forward() {
        let graph = ring();
        assert_eq!(graph.reached(0, None, |node| node == 4), [true, true, false, true, true]);
        assert!(graph.joins(NodePair { from: 0, to: 3 }, |node| node == 4));
        assert!(!graph.joins(NodePair { from: 0, to: 3 }, |node| node == 1));
        assert_eq!((graph.degree(0), graph.degree(2)), (2, 2));
    }

    #[test]
    fn the_first_link_decides() {
        let (graph, pair) = (ring(), NodePair { from: 0, to: 3 });
        assert!(graph.leads([0, 1], pair, |node| node != 4) && graph.leads([0, 4], pair, |_| true));
        assert!(!graph.leads([0, 4], pair, |node| node != 4), "the way back over the sender does not count");
    }
}
