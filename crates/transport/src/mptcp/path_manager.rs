//! Path managers: which subflows a client opens and which addresses an end announces.
//!
//! A manager says which pairs of addresses should have subflows, given what is known of the addresses; a missing one
//! is opened whenever that knowledge changes. A subflow that has died counts as there, since nothing is opened twice,
//! unless its address has left.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::option::ResetReason;
use super::signals::Announcing;
use super::subflows::{MAX_SUBFLOWS, Subflows};
use crate::address::AddressPair;
use crate::config::{AddressEndpoint, EndpointFlags, InKernel, MptcpConfig, PathManager};
use crate::role::Role;

/// Addresses of both ends as known to one of them.
#[derive(Clone, Debug)]
pub(super) struct AddressBook {
    /// Settings of MPTCP; only those of the path manager are read here.
    config: Arc<MptcpConfig>,
    /// Addresses of the first subflow.
    first: AddressPair,
    /// Client: the configured pairs of an own and a remote address.
    pairs: Vec<AddressPair>,
    /// Server: own addresses that it may announce.
    own: Vec<u8>,
    /// Addresses that the peer has announced: `(ID, address)`, in order.
    announced: Vec<(u8, u8)>,
    /// Addresses of this end and of the peer that are not there.
    gone: [Vec<u8>; 2],
    /// How often an address of this end has come back: `(address, times)`.
    returns: Vec<(u8, u8)>,
    /// Addresses of this end whose subflows are backups.
    backups: Vec<u8>,
}

/// Positions in `AddressBook::gone`.
const HERE: usize = 0;
const THERE: usize = 1;

impl AddressBook {
    pub(super) fn new(
        config: Arc<MptcpConfig>,
        first: AddressPair,
        (pairs, own): (Vec<AddressPair>, Vec<u8>),
        gone: [Vec<u8>; 2],
    ) -> Self {
        let backups = endpoints(&config.path_manager).filter(|e| e.flags.backup).map(|e| e.address).collect();
        let (announced, returns) = (Vec::new(), Vec::new());
        Self { config, first, pairs, own, announced, gone, returns, backups }
    }

    fn manager(&self) -> &PathManager {
        &self.config.path_manager
    }

    /// Addresses of the first subflow.
    pub(super) fn first(&self) -> AddressPair {
        self.first
    }

    /// True if this end has the address; `None`, the host's own address, never leaves.
    pub(super) fn is_here(&self, address: Option<u8>) -> bool {
        address.is_none_or(|a| !self.gone[HERE].contains(&a))
    }

    fn is_usable(&self, pair: AddressPair) -> bool {
        self.is_here(pair.local) && pair.remote.is_none_or(|a| !self.gone[THERE].contains(&a))
    }

    /// Address ID: a new one each time the address returns, so that a late REMOVE_ADDR does not hit what is new.
    ///
    /// RFC 8684 section 3.4.1: "the address MUST be the same as the address previously assigned to this Address ID."
    pub(super) fn id_of(&self, address: u8) -> u8 {
        let returns = self.returns.iter().find(|(a, _)| *a == address).map_or(0, |(_, n)| *n);
        address.wrapping_add(returns.wrapping_mul(64))
    }

    pub(super) fn is_backup(&self, address: Option<u8>) -> bool {
        address.is_some_and(|a| self.backups.contains(&a))
    }

    pub(super) fn set_backup(&mut self, address: u8, backup: bool) {
        self.backups.retain(|a| *a != address);
        if backup {
            self.backups.push(address);
        }
    }

    /// An address of this end leaves. False if it was not there.
    pub(super) fn leave(&mut self, address: u8) -> bool {
        let there = self.is_here(Some(address));
        if there {
            self.gone[HERE].push(address);
        }
        there
    }

    /// An address of this end comes (back). False if it was there.
    pub(super) fn join(&mut self, address: u8) -> bool {
        let known = self.gone[HERE].len();
        self.gone[HERE].retain(|a| *a != address);
        let new = self.gone[HERE].len() < known;
        if new {
            match self.returns.iter_mut().find(|(a, _)| *a == address) {
                Some((_, times)) => *times += 1,
                None => self.returns.push((address, 1)),
            }
        }
        new
    }

    /// The peer announces an address.
    pub(super) fn peer_announces(&mut self, id: u8, address: u8) {
        let accepted = self.manager().accepted_addresses();
        self.gone[THERE].retain(|a| *a != address);
        if self.announced.len() < accepted && !self.announced.iter().any(|(_, a)| *a == address) {
            self.announced.push((id, address));
        }
    }

    /// The peer uses this address.
    pub(super) fn peer_uses(&mut self, address: Option<u8>) {
        self.gone[THERE].retain(|a| Some(*a) != address);
    }

    /// The peer withdraws an address; `still_used`: another subflow uses it under a newer ID.
    pub(super) fn peer_withdraws(&mut self, id: u8, address: u8, still_used: bool) {
        self.announced.retain(|(i, _)| *i != id);
        let announced_anew = self.announced.iter().any(|(_, a)| *a == address);
        if !still_used && !announced_anew && !self.gone[THERE].contains(&address) {
            self.gone[THERE].push(address);
        }
    }

    /// The pairs that should have subflows, the first one included, in the order of opening.
    fn wanted(&self) -> Vec<AddressPair> {
        let first = self.first;
        let mut wanted = match self.manager() {
            PathManager::Passive => Vec::new(),
            PathManager::NdiffPorts { subflows } => vec![first; *subflows as usize],
            PathManager::PerPath { subflows } => repeat(self.per_path(first), *subflows),
            PathManager::FullMesh { subflows } => repeat(self.full_mesh(first), *subflows),
            PathManager::Triangle { subflows } => self.triangle(first, *subflows as usize),
            PathManager::InKernel(kernel) => self.in_kernel(kernel, first),
        };
        wanted.retain(|pair| self.is_usable(*pair));
        wanted
    }

    /// The pairs that a client should open now: what the path manager wants and what does not exist.
    pub(super) fn missing(&self, subflows: &Subflows) -> Vec<AddressPair> {
        let mut wanted = self.wanted();
        for known in subflows.iter().filter(|s| !s.address_left()) {
            if let Some(i) = wanted.iter().position(|pair| *pair == known.pair()) {
                wanted.remove(i);
            }
        }
        let room = self.manager().further_subflows().saturating_sub(subflows.further());
        wanted.truncate(room);
        wanted
    }

    /// A server's judgement of MP_JOIN for subflow `index`; a reason, if it is refused.
    pub(super) fn refuses_join(&self, index: usize, subflows: &Subflows) -> Option<ResetReason> {
        if index >= MAX_SUBFLOWS {
            Some(ResetReason::Resources)
        } else if subflows.further() >= self.manager().further_subflows() {
            Some(ResetReason::Administrative)
        } else {
            None
        }
    }

    fn per_path(&self, first: AddressPair) -> Vec<AddressPair> {
        let mut wanted = vec![first];
        for pair in &self.pairs {
            if !wanted.iter().any(|known| known.local == pair.local) {
                wanted.extend(self.opposite(pair.local));
            }
        }
        wanted
    }

    /// The pair of a local address with the remote interface of the same number, the other end of the same path, or
    /// else with the first that it can reach.
    fn opposite(&self, local: Option<u8>) -> Option<AddressPair> {
        let same = AddressPair { local, remote: local };
        let there = |pair: &&AddressPair| pair.local == local && self.is_usable(**pair);
        let reachable = |pair: &&AddressPair| pair.local == local;
        if self.pairs.contains(&same) && self.is_usable(same) {
            return Some(same);
        }
        self.pairs.iter().find(there).or_else(|| self.pairs.iter().find(reachable)).copied()
    }

    fn full_mesh(&self, first: AddressPair) -> Vec<AddressPair> {
        let mut wanted = vec![first];
        let to = |remote: Option<u8>| self.pairs.iter().filter(move |p| p.remote == remote && **p != first);
        wanted.extend(to(first.remote));
        for (_, address) in self.announced.iter().filter(|(_, a)| Some(*a) != first.remote) {
            wanted.extend(to(Some(*address)));
        }
        wanted
    }

    fn triangle(&self, first: AddressPair, most: usize) -> Vec<AddressPair> {
        let place = |of: fn(&AddressPair) -> Option<u8>, pair: &AddressPair| {
            let mut known: Vec<_> = self.pairs.iter().map(of).filter(|address| *address < of(pair)).collect();
            known.sort_unstable();
            known.dedup();
            known.len()
        };
        let later = |pair: &&AddressPair| place(|p| p.remote, pair) >= place(|p| p.local, pair);
        let other = |pair: &&AddressPair| pair.local != first.local && pair.remote != first.remote;
        std::iter::once(first)
            .chain(self.pairs.iter().filter(later).filter(other).copied())
            .take(most)
            .collect()
    }

    /// Announced addresses come before endpoints, as in Linux, which takes ADD_ADDR for the sign that it may join.
    fn in_kernel(&self, kernel: &InKernel, first: AddressPair) -> Vec<AddressPair> {
        // With the mark of a stand-in: a subflow to the same address, where that is announced, is another one.
        let mut wanted: Vec<(AddressPair, bool)> = Vec::new();
        let mut add = |pair: (AddressPair, bool)| {
            if !wanted.contains(&pair) {
                wanted.push(pair);
            }
        };
        for (_, address) in &self.announced {
            self.announced_to_kernel(kernel, *address).into_iter().for_each(|pair| add((pair, false)));
        }
        for endpoint in kernel.endpoints.iter().filter(|endpoint| endpoint.flags.subflow) {
            let local = Some(endpoint.address);
            let to_first = AddressPair { local, remote: first.remote };
            if local == first.local {
                add((first, false));
            } else if self.pairs.contains(&to_first) {
                add((to_first, false));
            } else if let Some(pair) = self.opposite(local) {
                // On disjoint paths the address of the peer on the same path stands for its first one.
                add((pair, true));
            }
        }
        wanted.into_iter().map(|(pair, _)| pair).collect()
    }

    /// The pairs that an announced address should have.
    fn announced_to_kernel(&self, kernel: &InKernel, address: u8) -> Vec<AddressPair> {
        let with = |flag: fn(&EndpointFlags) -> bool| kernel.endpoints.iter().filter(move |e| flag(&e.flags));
        let reached = |local: u8| {
            let pair = AddressPair { local: Some(local), remote: Some(address) };
            self.pairs.contains(&pair).then_some(pair)
        };
        let meshed: Vec<_> = with(|f| f.subflow && f.fullmesh).filter_map(|e| reached(e.address)).collect();
        if !meshed.is_empty() {
            return meshed;
        }
        let routed = || self.pairs.iter().find(|p| p.remote == Some(address) && self.is_usable(**p));
        let laminar = with(|flags| flags.laminar).find_map(|e| reached(e.address));
        laminar.or_else(|| routed().copied()).into_iter().collect()
    }

    /// Own addresses that are announced when joins are allowed, in this order: all but the one that the peer knows.
    pub(super) fn to_announce(&self, role: Role) -> Vec<u8> {
        let manager = self.manager();
        let mut addresses: Vec<u8> = match manager {
            PathManager::FullMesh { .. } if role == Role::Server => {
                self.own.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
            }
            PathManager::InKernel(_) => {
                endpoints(manager).filter(|e| e.flags.signal).map(|e| e.address).collect()
            }
            _ => Vec::new(),
        };
        addresses.retain(|a| Some(*a) != self.first.local && self.is_here(Some(*a)));
        addresses
    }

    /// Whether they are announced at once.
    pub(super) fn announcing(&self) -> Announcing {
        match self.manager() {
            PathManager::InKernel(_) => Announcing::InTurn,
            _ => Announcing::AtOnce,
        }
    }

    /// True if a server tells the client about an address that comes (back).
    pub(super) fn announces_return(&self, address: u8) -> bool {
        self.manager().announces_return(address)
    }
}

fn repeat(pairs: Vec<AddressPair>, times: u32) -> Vec<AddressPair> {
    pairs.into_iter().flat_map(|pair| std::iter::repeat_n(pair, times as usize)).collect()
}

fn endpoints(manager: &PathManager) -> impl Iterator<Item = &AddressEndpoint> {
    let list = match manager {
        PathManager::InKernel(kernel) => kernel.endpoints.as_slice(),
        _ => &[],
    };
    list.iter()
}

impl PathManager {
    /// Subflows beside the first one that may live at once.
    fn further_subflows(&self) -> usize {
        match self {
            Self::InKernel(kernel) => kernel.subflows as usize,
            _ => usize::MAX,
        }
    }

    /// Announced addresses that are used.
    fn accepted_addresses(&self) -> usize {
        match self {
            Self::InKernel(kernel) => kernel.add_addr_accepted as usize,
            _ => usize::MAX,
        }
    }

    /// True if a server tells the client about an address that comes (back).
    fn announces_return(&self, address: u8) -> bool {
        match self {
            Self::Passive | Self::NdiffPorts { .. } => false,
            Self::Triangle { .. } | Self::PerPath { .. } | Self::FullMesh { .. } => true,
            Self::InKernel(_) => endpoints(self).any(|e| e.address == address && e.flags.signal),
        }
    }
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

    /// The first pair of the list is that of the first subflow.
    fn book(list: &[(u8, u8)], manager: &PathManager) -> AddressBook {
        book_from(pair(list[0].0, list[0].1), list, manager)
    }

    fn book_from(first: AddressPair, list: &[(u8, u8)], manager: &PathManager) -> AddressBook {
        let own = list.iter().map(|(local, _)| *local).collect();
        let config = MptcpConfig { path_manager: manager.clone(), ..MptcpConfig::default() };
        AddressBook::new(Arc::new(config), first, (pairs(list), own), [Vec::new(), Vec::new()])
    }

    #[test]
    fn per_path_wants_each_path_once() {
        let one = PathManager::PerPath { subflows: 1 };
        assert_eq!(book(&DISJOINT, &one).wanted(), pairs(&DISJOINT));
        let two = PathManager::PerPath { subflows: 2 };
        let wanted = book(&MESH, &two).wanted();
        assert_eq!(wanted, pairs(&[(0, 0), (0, 0), (1, 1), (1, 1)]));
    }

    #[test]
    fn full_mesh_waits_for_announcements() {
        let manager = PathManager::FullMesh { subflows: 1 };
        let mut book = book(&MESH, &manager);
        assert_eq!(book.wanted(), pairs(&[(0, 0), (1, 0)]));
        assert_eq!(book.to_announce(Role::Server), [1]);
        assert_eq!(book.to_announce(Role::Client), []);
        book.peer_announces(1, 1);
        assert_eq!(book.wanted(), pairs(&[(0, 0), (1, 0), (0, 1), (1, 1)]));
    }

    /// Six addresses at each end: the first pair decides how many of the 15 there are and how many leave by each line.
    #[test]
    fn the_triangle_pairs_addresses_with_later_ones() {
        let mesh: Vec<_> = (0..6).flat_map(|local| (0..6).map(move |remote| (local, remote))).collect();
        let lines = |first: AddressPair, subflows: u32| {
            let manager = PathManager::Triangle { subflows };
            let wanted = book_from(first, &mesh, &manager).wanted();
            assert_eq!(wanted[0], first);
            (0..6).map(|line| wanted.iter().filter(|p| p.local == Some(line)).count()).collect::<Vec<_>>()
        };
        assert_eq!(lines(pair(0, 5), 15), [1, 4, 3, 2, 1, 0], "eleven come about");
        assert_eq!(lines(pair(1, 5), 15), [5, 1, 3, 2, 1, 0], "twelve");
        assert_eq!(lines(pair(4, 5), 15), [5, 4, 3, 2, 1, 0]);
        assert_eq!(lines(pair(0, 0), 15), [1, 5, 4, 3, 2, 0]);
        assert_eq!(lines(pair(0, 0), 5), [1, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn the_others_want_little() {
        let anywhere = AddressPair { local: None, remote: None };
        let manager = PathManager::NdiffPorts { subflows: 3 };
        assert_eq!(book_from(anywhere, &MESH, &manager).wanted(), [anywhere; 3]);
        assert_eq!(book(&MESH, &PathManager::Passive).wanted(), []);
    }

    fn endpoint(address: u8, flags: &str) -> AddressEndpoint {
        let has = |flag: &str| flags.split(' ').any(|f| f == flag);
        let flags = EndpointFlags {
            subflow: has("subflow"),
            signal: has("signal"),
            backup: has("backup"),
            fullmesh: has("fullmesh"),
            laminar: has("laminar"),
        };
        AddressEndpoint { address, flags }
    }

    fn kernel(endpoints: Vec<AddressEndpoint>) -> PathManager {
        PathManager::InKernel(InKernel { subflows: 2, add_addr_accepted: 2, endpoints })
    }

    /// Two `subflow` endpoints, one of them the initial address: one join.
    #[test]
    fn subflow_endpoints_join_the_initial_address() {
        let manager = kernel(vec![endpoint(0, "subflow"), endpoint(1, "subflow")]);
        assert_eq!(book(&MESH, &manager).wanted(), pairs(&[(0, 0), (1, 0)]));
        let disjoint = book(&DISJOINT, &manager);
        assert_eq!(disjoint.wanted(), pairs(&[(0, 0), (1, 1)]), "its stand-in");
    }

    #[test]
    fn announced_addresses_are_joined_from_where_the_flags_say() {
        let joins = |flags: &[(u8, &str)]| {
            let manager = kernel(flags.iter().map(|(a, f)| endpoint(*a, f)).collect());
            let mut book = book(&MESH, &manager);
            book.peer_announces(1, 1);
            book.wanted()
        };
        assert_eq!(joins(&[]), pairs(&[(0, 1)]), "routing decides");
        assert_eq!(joins(&[(1, "laminar")]), pairs(&[(1, 1)]));
        let meshed = joins(&[(0, "subflow fullmesh"), (1, "subflow fullmesh")]);
        assert_eq!(meshed, pairs(&[(0, 1), (1, 1), (0, 0), (1, 0)]), "announced addresses first");
    }

    /// As on Linux 6.18 whose client reaches the first address of the server over each path: two subflows on the second path, and
    /// with room for one alone that to the announced address.
    #[test]
    fn an_announced_address_beside_a_stand_in_is_joined_as_well() {
        for flags in ["subflow", "subflow fullmesh"] {
            let mut book = book(&DISJOINT, &kernel(vec![endpoint(1, flags)]));
            assert_eq!(book.wanted(), pairs(&[(1, 1)]));
            book.peer_announces(1, 1);
            assert_eq!(book.wanted(), pairs(&[(1, 1), (1, 1)]), "{flags}");
            book.peer_announces(2, 2);
            assert_eq!(book.wanted(), pairs(&[(1, 1), (2, 2), (1, 1)]), "{flags}");
        }
    }

    #[test]
    fn only_so_many_announcements_are_accepted() {
        let accepting = |add_addr_accepted| {
            let endpoints = Vec::new();
            book(&MESH, &PathManager::InKernel(InKernel { subflows: 2, add_addr_accepted, endpoints }))
        };
        let mut none = accepting(0);
        none.peer_announces(1, 1);
        assert_eq!(none.wanted(), []);
        let mut book = accepting(1);
        book.peer_announces(1, 1);
        book.peer_announces(0, 0);
        assert_eq!(book.announced, [(1, 1)]);
        book.peer_withdraws(1, 1, false);
        book.peer_announces(0, 0);
        assert_eq!(book.announced, [(0, 0)], "room again");
    }

    #[test]
    fn what_has_left_is_not_wanted_until_it_returns() {
        let manager = PathManager::PerPath { subflows: 1 };
        let mut book = book(&DISJOINT, &manager);
        assert!(book.leave(1) && !book.leave(1));
        assert_eq!(book.wanted(), pairs(&[(0, 0), (2, 2)]));
        assert_eq!(book.id_of(1), 1);
        assert!(book.join(1) && !book.join(1));
        assert_eq!(book.id_of(1), 65, "a new ID");
        book.peer_withdraws(2, 2, false);
        assert_eq!(book.wanted(), pairs(&[(0, 0), (1, 1)]));
        book.peer_announces(66, 2);
        book.peer_withdraws(2, 2, false);
        assert_eq!(book.wanted(), pairs(&DISJOINT), "the withdrawal came late");
    }

    #[test]
    fn signal_endpoints_are_announced() {
        let manager = kernel(vec![endpoint(0, "signal"), endpoint(1, "signal"), endpoint(2, "subflow")]);
        let book = book(&DISJOINT, &manager);
        assert_eq!(book.to_announce(Role::Server), [1]);
        assert!(manager.announces_return(1) && !manager.announces_return(2));
    }
}
