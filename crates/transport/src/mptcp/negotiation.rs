//! Result of the negotiation (RFC 8684 section 3.1): MPTCP or plain TCP, the keys, and the values derived from
//! them.

use super::keys::{Hmac64, Hmac160, Key, Nonce, add_addr_hmac, join_hmac64, join_hmac160, stand_in_address};
use super::option::MptcpOption;
use crate::role::Role;
use crate::seq::Seq;
use crate::tcp::segment::TcpSegment;

/// Result of the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The handshake is under way.
    Negotiating,
    /// MPTCP.
    Multipath,
    /// Plain TCP on the first subflow: sequence numbers are data sequence numbers.
    Fallback,
}

/// Effect of a segment of the first subflow on the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing changes.
    None,
    /// The peer has shown for the first time that it holds both keys.
    FullyEstablished,
    /// The peer does not use MPTCP, or a middlebox removed the option.
    FallBack,
}

/// State of the negotiation at one end.
#[derive(Clone, Debug)]
pub(super) struct Negotiation {
    role: Role,
    mode: Mode,
    /// The peer has shown that it holds both keys: joins are allowed (RFC 8684 section 3.1).
    fully_established: bool,
    own_key: Key,
    peer_key: Key,
    nonce_seed: u64,
}

impl Negotiation {
    pub(super) fn new(role: Role, own_key: Key, nonce_seed: u64) -> Self {
        let (mode, peer_key) = (Mode::Negotiating, Key::default());
        Self { role, mode, fully_established: false, own_key, peer_key, nonce_seed }
    }

    /// Which end this is.
    #[inline]
    pub(super) fn role(&self) -> Role {
        self.role
    }

    #[inline]
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    #[inline]
    pub(super) fn is_multipath(&self) -> bool {
        self.mode == Mode::Multipath
    }

    #[inline]
    pub(super) fn is_fallback(&self) -> bool {
        self.mode == Mode::Fallback
    }

    /// Joins are allowed.
    #[inline]
    pub(super) fn is_fully_established(&self) -> bool {
        self.fully_established
    }

    #[inline]
    pub(super) fn own_key(&self) -> Key {
        self.own_key
    }

    #[inline]
    pub(super) fn peer_key(&self) -> Key {
        self.peer_key
    }

    /// Plain TCP from now on.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Fallback;
        self.check();
    }

    /// The option of a SYN or SYN/ACK of the first subflow; A server answers with MPTCP if it is `capable`. False if the
    /// connection must fall back.
    pub(super) fn on_syn(&mut self, option: MptcpOption, capable: bool) -> bool {
        if self.mode != Mode::Negotiating {
            return true;
        }
        match (self.role, option) {
            (Role::Server, MptcpOption::CapableSyn) => capable,
            (Role::Client, MptcpOption::CapableSynAck(key)) => {
                (self.peer_key, self.mode) = (key, Mode::Multipath);
                self.check();
                true
            }
            _ => false,
        }
    }

    /// A segment of the first subflow other than a SYN.
    pub(super) fn on_segment(&mut self, segment: &TcpSegment) -> Progress {
        if segment.flags.syn || self.is_fallback() {
            return Progress::None;
        }
        match (self.role, segment.mptcp) {
            (Role::Server, MptcpOption::CapableAck { sender, .. }) => {
                (self.peer_key, self.mode) = (sender, Mode::Multipath);
                self.confirm()
            }
            // The third ACK lost its option on the way, or the client has fallen back.
            (Role::Server, MptcpOption::None) if self.mode == Mode::Negotiating => Progress::FallBack,
            (
                Role::Client,
                MptcpOption::Dss(_)
                | MptcpOption::AddAddr { .. }
                | MptcpOption::RemoveAddr { .. }
                | MptcpOption::Prio { .. },
            ) if self.mode == Mode::Multipath => self.confirm(),
            // The server took a plain SYN, or a middlebox strips options: data is acknowledged without a Data ACK.
            (Role::Client, MptcpOption::None)
                if !self.fully_established && (segment.ack > Seq::FIRST_DATA || segment.len > 0) =>
            {
                Progress::FallBack
            }
            _ => Progress::None,
        }
    }

    fn confirm(&mut self) -> Progress {
        let known = std::mem::replace(&mut self.fully_established, true);
        self.check();
        if known { Progress::None } else { Progress::FullyEstablished }
    }

    /// Deterministic random number of this end for subflow `index`.
    pub(super) fn nonce(&self, index: usize) -> Nonce {
        // SplitMix64's finaliser: any function that mixes well will do, a simulation has no attackers.
        let mut x = self.nonce_seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Nonce((x >> 32) as u32)
    }

    /// HMAC of this end in the SYN/ACK of MP_JOIN.
    pub(super) fn syn_ack_hmac(&self, own: Nonce, peer: Nonce) -> Hmac64 {
        join_hmac64(self.own_key, self.peer_key, own, peer)
    }

    /// HMAC of this end in the third ACK of MP_JOIN.
    pub(super) fn third_ack_hmac(&self, own: Nonce, peer: Nonce) -> Hmac160 {
        join_hmac160(self.own_key, self.peer_key, own, peer)
    }

    /// The SYN/ACK of MP_JOIN comes from an end that holds both keys.
    pub(super) fn is_authentic_syn_ack(&self, hmac: Hmac64, own: Nonce, peer: Nonce) -> bool {
        hmac == join_hmac64(self.peer_key, self.own_key, peer, own)
    }

    /// The third ACK of MP_JOIN comes from an end that holds both keys.
    pub(super) fn is_authentic_third_ack(&self, hmac: Hmac160, own: Nonce, peer: Nonce) -> bool {
        hmac == join_hmac160(self.peer_key, self.own_key, peer, own)
    }

    /// HMAC of this end in ADD_ADDR.
    pub(super) fn announcement_hmac(&self, id: u8, address: u8) -> Hmac64 {
        add_addr_hmac(self.own_key, self.peer_key, id, stand_in_address(address), 0)
    }

    /// ADD_ADDR comes from an end that holds both keys.
    pub(super) fn is_authentic_announcement(&self, hmac: Hmac64, id: u8, address: u8) -> bool {
        hmac == add_addr_hmac(self.peer_key, self.own_key, id, stand_in_address(address), 0)
    }

    fn check(&self) {
        debug_assert!(
            !self.fully_established || self.mode != Mode::Negotiating,
            "keys are confirmed after the handshake"
        );
    }
}
