//! Path managers: which subflows a client opens after the first one, and which addresses a server announces.

use crate::config::PathManager;
use crate::connection::AddressPair;

/// Pairs to join as soon as the connection is fully established, `first` being open already. `pairs` are the pairs
/// that routing can connect.
pub(super) fn joins_at_start(
    manager: PathManager,
    first: AddressPair,
    pairs: &[AddressPair],
) -> Vec<AddressPair> {
    match manager {
        PathManager::PerPath { subflows } => {
            let mut joins = vec![first; subflows.saturating_sub(1) as usize];
            let mut seen = vec![first.local];
            for pair in pairs {
                if seen.contains(&pair.local) {
                    continue;
                }
                seen.push(pair.local);
                // Prefer the remote interface with the same number: the other end of the same path.
                let same = AddressPair { local: pair.local, remote: pair.local };
                let chosen = if pairs.contains(&same) { same } else { *pair };
                joins.extend(std::iter::repeat_n(chosen, subflows as usize));
            }
            joins
        }
        PathManager::FullMesh { subflows } => {
            let mut joins = vec![first; subflows.saturating_sub(1) as usize];
            let known = pairs.iter().filter(|p| p.remote == first.remote && **p != first);
            joins.extend(known.flat_map(|p| std::iter::repeat_n(*p, subflows as usize)));
            joins
        }
        PathManager::NdiffPorts { subflows } => vec![first; subflows.saturating_sub(1) as usize],
    }
}

/// Pairs to join when the peer announces its address `remote`.
pub(super) fn joins_on_announcement(
    manager: PathManager,
    remote: u8,
    pairs: &[AddressPair],
) -> Vec<AddressPair> {
    let PathManager::FullMesh { subflows } = manager else { return Vec::new() };
    let reachable = pairs.iter().filter(|p| p.remote == Some(remote));
    reachable.flat_map(|p| std::iter::repeat_n(*p, subflows as usize)).collect()
}

/// Own addresses that a server announces: all but the one that the client knows already.
pub(super) fn addresses_to_announce(
    manager: PathManager,
    first: AddressPair,
    pairs: &[AddressPair],
) -> Vec<u8> {
    let PathManager::FullMesh { .. } = manager else { return Vec::new() };
    let mut addresses: Vec<u8> =
        pairs.iter().filter_map(|p| p.local).filter(|l| Some(*l) != first.local).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(local: u8, remote: u8) -> AddressPair {
        AddressPair { local: Some(local), remote: Some(remote) }
    }

    const DISJOINT: [(u8, u8); 3] = [(0, 0), (1, 1), (2, 2)];
    const MESH: [(u8, u8); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

    fn pairs(list: &[(u8, u8)]) -> Vec<AddressPair> {
        list.iter().map(|(l, r)| pair(*l, *r)).collect()
    }

    #[test]
    fn per_path_opens_each_path_once() {
        let joins = joins_at_start(PathManager::PerPath { subflows: 1 }, pair(0, 0), &pairs(&DISJOINT));
        assert_eq!(joins, pairs(&[(1, 1), (2, 2)]));
        let joins = joins_at_start(PathManager::PerPath { subflows: 2 }, pair(0, 0), &pairs(&MESH));
        assert_eq!(joins, pairs(&[(0, 0), (1, 1), (1, 1)]));
    }

    #[test]
    fn full_mesh_waits_for_announcements() {
        let manager = PathManager::FullMesh { subflows: 1 };
        assert_eq!(joins_at_start(manager, pair(0, 0), &pairs(&MESH)), pairs(&[(1, 0)]));
        assert_eq!(joins_on_announcement(manager, 1, &pairs(&MESH)), pairs(&[(0, 1), (1, 1)]));
        assert_eq!(joins_at_start(manager, pair(0, 0), &pairs(&DISJOINT)), []);
        assert_eq!(addresses_to_announce(manager, pair(0, 0), &pairs(&MESH)), [1]);
    }

    #[test]
    fn ndiffports_repeats_the_first_pair() {
        let anywhere = AddressPair { local: None, remote: None };
        let joins = joins_at_start(PathManager::NdiffPorts { subflows: 3 }, anywhere, &pairs(&MESH));
        assert_eq!(joins, [anywhere; 2]);
    }
}
