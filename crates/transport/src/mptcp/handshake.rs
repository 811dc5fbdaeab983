//! MP_CAPABLE, MP_JOIN and ADD_ADDR (RFC 8684 sections 3.1, 3.2, 3.4.1): who may do what when.

use units::{Nanos, SimTime};

use super::MAX_SUBFLOWS;
use super::connection::{Mode, MptcpConnection};
use super::keys::{Hmac64, add_addr_hmac, join_hmac64, join_hmac160};
use super::path_manager;
use super::subflow::Join;
use crate::connection::{AddressPair, Role};
use crate::segment::{MptcpOption, Segment};
use crate::tcp::endpoint::Input;
use crate::wire_size::sack_room;

/// SYN retransmissions that still carry MP_CAPABLE; the next ones are plain, in case a middlebox drops the option
/// (decision D-41).
pub(super) const CAPABLE_SYN_RETRIES: u32 = 2;
/// ADD_ADDR transmissions before the announcement is given up (RFC 8684 section 3.4.1 leaves it open).
const ANNOUNCEMENT_TRIES: u32 = 4;
/// Shortest time to wait for the echo of ADD_ADDR (decision D-42).
const ECHO_TIMEOUT: Nanos = Nanos::from_secs(1);

/// An address to be announced, or to be echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    pub id: u8,
    pub echo: bool,
    pub tries: u32,
    /// When it is due (again); `ZERO`: now.
    pub resend_at: SimTime,
}

/// Interfaces have no real addresses: a stand-in that the HMAC can cover.
fn address(id: u8) -> [u8; 4] {
    [10, 0, id, 1]
}

impl MptcpConnection {
    /// Plain TCP from now on.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Fallback;
        self.sack_blocks = sack_room(&self.tcp, None);
    }

    /// The option of a SYN or SYN/ACK of the first subflow.
    pub(super) fn negotiate(&mut self, segment: &Segment) {
        if self.mode != Mode::Negotiating {
            return;
        }
        match (self.role, segment.mptcp) {
            (Role::Server, MptcpOption::CapableSyn) if self.config.peer_capable => {}
            (Role::Client, MptcpOption::CapableSynAck(key)) => {
                self.peer_key = key;
                self.mode = Mode::Multipath;
            }
            _ => self.fall_back(),
        }
    }

    /// A SYN for an unknown subflow. Returns true if the subflow now exists.
    pub(super) fn accept_join(&mut self, segment: &Segment) -> bool {
        let MptcpOption::JoinSyn { token, nonce, addresses } = segment.mptcp else { return false };
        let allowed = self.role == Role::Server
            && self.mode == Mode::Multipath
            && token == self.own_key.token()
            && usize::from(segment.subflow) < MAX_SUBFLOWS;
        if allowed {
            let join = Join::AwaitingThirdAck { own: self.nonce(usize::from(segment.subflow)), peer: nonce };
            self.add_subflow(segment.subflow, addresses.reversed(), join);
        }
        allowed
    }

    /// Client: opens one more subflow.
    pub(super) fn open_join(&mut self, pair: AddressPair) {
        let index = self.subflows.len();
        if index >= MAX_SUBFLOWS {
            return;
        }
        self.add_subflow(index as u8, pair, Join::SynSent(self.nonce(index)));
        if let Some(subflow) = self.subflow(index) {
            subflow.endpoint.open();
        }
        self.busy |= 1 << index;
        self.touch(index);
    }

    /// The MPTCP option of a segment that `endpoint` has taken in on subflow `i`.
    pub(super) fn on_option(&mut self, now: SimTime, i: usize, segment: &Segment, input: &Input) {
        if i == 0 {
            self.on_capable(segment);
        } else {
            self.on_join(now, i, segment, input);
        }
        if let MptcpOption::AddAddr { id, echo, hmac, .. } = segment.mptcp {
            self.on_announcement(id, echo, hmac);
        }
    }

    fn on_capable(&mut self, segment: &Segment) {
        if segment.flags.syn || self.mode == Mode::Fallback {
            return;
        }
        match (self.role, segment.mptcp) {
            (Role::Server, MptcpOption::CapableAck { sender, .. }) => {
                self.peer_key = sender;
                self.mode = Mode::Multipath;
                self.become_fully_established();
            }
            // The third ACK lost its option on the way, or the client has fallen back.
            (Role::Server, MptcpOption::None) if self.mode == Mode::Negotiating => self.fall_back(),
            (Role::Client, MptcpOption::Dss(_) | MptcpOption::AddAddr { .. }) => {
                self.become_fully_established()
            }
            // The server took a plain SYN, or a middlebox strips options: data is acknowledged without a Data ACK.
            (Role::Client, MptcpOption::None)
                if !self.fully_established && (segment.ack > 1 || segment.len > 0) =>
            {
                self.fall_back();
            }
            _ => {}
        }
    }

    /// Joins are allowed from here on.
    fn become_fully_established(&mut self) {
        if std::mem::replace(&mut self.fully_established, true) {
            return;
        }
        let manager = self.config.path_manager;
        let first = self.address_pair(0);
        match self.role {
            Role::Client => {
                for pair in path_manager::joins_at_start(manager, first, &self.pairs) {
                    self.open_join(pair);
                }
            }
            Role::Server => {
                let addresses = path_manager::addresses_to_announce(manager, first, &self.pairs);
                let announce = |id| Announcement { id, echo: false, tries: 0, resend_at: SimTime::ZERO };
                self.announcements.extend(addresses.into_iter().map(announce));
            }
        }
    }

    fn on_join(&mut self, now: SimTime, i: usize, segment: &Segment, input: &Input) {
        let (own_key, peer_key) = (self.own_key, self.peer_key);
        let Some(subflow) = self.subflow(i) else { return };
        match subflow.join {
            Join::SynSent(own) if input.established => {
                let expected = |nonce| join_hmac64(peer_key, own_key, nonce, own);
                match segment.mptcp {
                    MptcpOption::JoinSynAck { hmac, nonce } if hmac == expected(nonce) => {
                        let resend_at = now + subflow.endpoint.sender().rtt().rto(0);
                        subflow.join = Join::AwaitingFourthAck { own, peer: nonce, resend_at, tries: 0 };
                    }
                    _ => subflow.endpoint.abort("the answer to MP_JOIN was not authentic"),
                }
            }
            Join::AwaitingFourthAck { .. } if !segment.flags.syn => {
                subflow.join = Join::Joined;
                self.became_usable(i);
            }
            Join::AwaitingThirdAck { own, peer } if !segment.flags.syn => {
                let expected = join_hmac160(peer_key, own_key, peer, own);
                match segment.mptcp {
                    MptcpOption::JoinAck { hmac } if hmac == expected => {
                        subflow.join = Join::Joined;
                        subflow.endpoint.acknowledge_now();
                        self.became_usable(i);
                    }
                    _ => subflow.endpoint.abort("the third ACK of MP_JOIN was not authentic"),
                }
            }
            // The fourth ACK was lost.
            Join::Joined if matches!(segment.mptcp, MptcpOption::JoinAck { .. }) => {
                subflow.endpoint.acknowledge_now();
            }
            _ => {}
        }
    }

    fn on_announcement(&mut self, id: u8, echo: bool, hmac: Hmac64) {
        if echo {
            self.announcements.retain(|a| a.id != id);
            return;
        }
        if hmac != add_addr_hmac(self.peer_key, self.own_key, id, address(id), 0) {
            return;
        }
        self.announcements.push(Announcement { id, echo: true, tries: 0, resend_at: SimTime::ZERO });
        if self.role != Role::Client {
            return;
        }
        let wanted = path_manager::joins_on_announcement(self.config.path_manager, id, &self.pairs);
        // Those that exist were opened when the address was announced before.
        let known = self.subflows.iter().flatten().filter(|s| s.pair.remote == Some(id)).count();
        for pair in wanted.into_iter().skip(known) {
            self.open_join(pair);
        }
    }

    /// The next ADD_ADDR or echo that is due at `now`, to be put into a pure ACK.
    pub(super) fn next_announcement(&mut self, now: SimTime, rto: Nanos) -> Option<MptcpOption> {
        let i = self.announcements.iter().position(|a| a.resend_at <= now)?;
        let announcement = &mut self.announcements[i];
        let id = announcement.id;
        if announcement.echo {
            self.announcements.remove(i);
            let hmac = Hmac64::default();
            return Some(MptcpOption::AddAddr { id, echo: true, hmac, data_ack: self.receive.next });
        }
        announcement.tries += 1;
        announcement.resend_at = now + rto.max(ECHO_TIMEOUT);
        if announcement.tries >= ANNOUNCEMENT_TRIES {
            self.announcements.remove(i);
        }
        let hmac = add_addr_hmac(self.own_key, self.peer_key, id, address(id), 0);
        Some(MptcpOption::AddAddr { id, echo: false, hmac, data_ack: self.receive.next })
    }
}
