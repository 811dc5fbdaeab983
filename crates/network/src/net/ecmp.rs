//! Choice among next hops of equal cost: by a hash of the flow, or at random for each packet.
//!
//! May: mix bits, draw from the node's stream. May not: keep state of flows.

use engine::Stream;

/// How a node chooses. Its salt keeps nodes from all making the same choice for the same flow.
#[derive(Clone, Debug)]
pub enum Chooser {
    /// The same next hop for all packets with the same flow hash.
    ByFlow {
        /// Salt of the node.
        salt: u64,
    },
    /// Another for each packet.
    ByPacket(Stream),
}

impl Chooser {
    /// An index below `choices` (not zero) for a packet with this flow hash.
    pub fn choose(&mut self, flow_hash: u64, choices: usize) -> usize {
        debug_assert!(choices > 0, "no next hop to choose");
        let choice = match self {
            Self::ByFlow { salt } => {
                let mixed = mix(flow_hash ^ *salt);
                ((u128::from(mixed) * choices as u128) >> 64) as usize
            }
            Self::ByPacket(stream) => stream.below(choices as u64) as usize,
        };
        debug_assert!(choice < choices, "next hop {choice} of {choices}");
        choice
    }
}

/// Hash of what identifies a flow: each field changes all bits of the result.
pub fn flow_hash(fields: impl IntoIterator<Item = u64>) -> u64 {
    fields.into_iter().fold(0, |hash, field| mix(hash ^ field))
}

/// FNV-1a: a number for a name, so that a flow keeps its hash when other flows come and go.
pub fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014), after its increment so that zero is no fixed point.
fn mix(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salted(node: &str) -> Chooser {
        Chooser::ByFlow { salt: Stream::named(1, node, "ecmp").bits() }
    }

    /// Chi-square of flows over the joint choices of four nodes in a row: neither ports nor nodes correlate.
    #[test]
    fn flows_spread_evenly_over_whole_paths() {
        let choices = [3usize, 4, 6, 4];
        let mut nodes: Vec<Chooser> = (0..choices.len()).map(|i| salted(&format!("node{i}"))).collect();
        let paths: usize = choices.iter().product();
        let flows = 200 * paths as u64;
        let mut load = vec![0u64; paths];
        for port in 0..flows {
            let hash = flow_hash([name_hash("bulk"), 0, 1, 49_152 + port, 5001]);
            let path =
                nodes.iter_mut().zip(choices).fold(0, |path, (node, n)| path * n + node.choose(hash, n));
            load[path] += 1;
        }
        let expected = flows as f64 / paths as f64;
        let chi2: f64 = load.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        let (mean, sigma) = ((paths - 1) as f64, (2.0 * (paths - 1) as f64).sqrt());
        assert!((chi2 - mean).abs() < 4.0 * sigma, "chi-square {chi2} with {mean} degrees of freedom");
    }

    #[test]
    fn a_flow_stays_and_packets_spread() {
        let (mut by_flow, stream) = (salted("router"), Stream::named(1, "router", "ecmp"));
        let hash = flow_hash([1, 2, 3]);
        let first = by_flow.choose(hash, 7);
        assert!((0..100).all(|_| by_flow.choose(hash, 7) == first));
        let mut by_packet = Chooser::ByPacket(stream);
        let mut load = [0u32; 4];
        for _ in 0..40_000 {
            load[by_packet.choose(hash, 4)] += 1;
        }
        assert!(load.iter().all(|&n| n.abs_diff(10_000) < 400), "{load:?}");
    }

    #[test]
    fn the_order_of_fields_matters() {
        assert_ne!(flow_hash([1, 2]), flow_hash([2, 1]));
        assert_ne!(flow_hash([0]), flow_hash([0, 0]));
        assert_ne!(name_hash("a"), name_hash("b"));
    }
}
