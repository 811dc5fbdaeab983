//! MP_CAPABLE, MP_JOIN and ADD_ADDR (RFC 8684 sections 3.1, 3.2, 3.4.1): who may do what when.

use units::{Nanos, SimTime};

use super::MAX_SUBFLOWS;
use super::connection::{Mode, MptcpConnection};
use super::keys::{Hmac64, add_addr_hmac, join_hmac64, join_hmac160};
use super::send_side::DataFin;
use super::subflow::{ASKED, Join, Subflow, TOLD};
use crate::address::AddressPair;
use crate::role::Role;
use crate::segment::{Flags, MptcpOption, ResetReason, Segment, SubflowId};
use crate::setup::new_congestion;
use crate::tcp::endpoint::Input;
use crate::wire_size::{sack_room, wire_size};

/// SYN retransmissions that still carry MP_CAPABLE; the next ones are plain, in case a middlebox drops the option
/// (choice D-41).
pub(super) const CAPABLE_SYN_RETRIES: u32 = 2;
/// ADD_ADDR transmissions before the announcement is given up (RFC 8684 section 3.4.1 leaves it open).
const ANNOUNCEMENT_TRIES: u32 = 4;
/// Shortest time to wait for the echo of ADD_ADDR (choice D-42).
const ECHO_TIMEOUT: Nanos = Nanos::from_secs(1);

/// An address to be announced, or to be echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    pub id: u8,
    pub address: u8,
    pub echo: bool,
    pub tries: u32,
    /// When it is due (again); `ZERO`: now.
    pub resend_at: SimTime,
}

/// An answer to the SYN of a subflow that does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub subflow: SubflowId,
    /// A RST for this reason; `None`: a SYN/ACK without options, as a listener gives that knows nothing of the
    /// connection.
    pub refusal: Option<ResetReason>,
}

/// Interfaces have no real addresses: a stand-in that the HMAC can cover.
fn address(interface: u8) -> [u8; 4] {
    [10, 0, interface, 1]
}

impl MptcpConnection {
    /// Plain TCP from the start: nothing was sent, so segments may be as large as those of TCP.
    fn fall_back_at_once(&mut self) {
        self.fall_back();
        self.mss = self.tcp.mss;
        let congestion = new_congestion(&self.tcp, &self.new_congestion.0, self.mss);
        let mss = self.mss;
        if let Some(first) = self.subflow(0) {
            first.endpoint.replace_sender(mss, congestion);
        }
        self.touch(0);
    }

    /// False if the segment must not be taken in: it has lost the options that it must have had, and its subflow is
    /// reset for it. The only subflow that there ever was goes on as plain TCP instead (RFC 8684 section 3.7): its
    /// sequence numbers are those of the data.
    pub(super) fn has_its_options(&mut self, now: SimTime, i: usize, segment: &Segment) -> bool {
        if self.mode == Mode::Fallback {
            return i == 0;
        }
        if segment.mptcp != MptcpOption::None || self.mode != Mode::Multipath || !self.fully_established {
            return true;
        }
        let Some(subflow) = self.subflow(i) else { return true };
        let flags = segment.flags;
        let acknowledges = flags.ack && segment.ack > subflow.endpoint.sender().una();
        if flags.syn || flags.rst || !(segment.len > 0 || flags.fin || acknowledges) {
            return true;
        }
        if i == 0 && !self.has_ever_joined() {
            self.fall_back_late();
            return true;
        }
        let Some(subflow) = self.subflow(i) else { return true };
        if matches!(subflow.join, Join::First | Join::Joined | Join::AwaitingFourthAck { .. })
            && subflow.is_alive()
        {
            subflow.refuse("a middlebox takes MPTCP options away", ResetReason::Middlebox);
            self.busy |= 1 << i;
            self.subflow_died(now, i);
            self.touch(i);
            return false;
        }
        true
    }

    /// A second subflow has carried, or could have carried, data.
    pub(super) fn has_ever_joined(&self) -> bool {
        let joined = |s: &Subflow| matches!(s.join, Join::Joined | Join::AwaitingFourthAck { .. });
        self.subflows.iter().flatten().any(joined)
    }

    /// Plain TCP in mid-transfer, on the only subflow that there ever was.
    pub(super) fn fall_back_late(&mut self) {
        self.fall_back();
        for i in 1..self.subflows.len() {
            if let Some(subflow) = self.subflow(i).filter(|s| s.is_alive()) {
                subflow.refuse("the connection has become plain TCP", ResetReason::Protocol);
                self.busy |= 1 << i;
                self.touch(i);
            }
        }
        if let DataFin::Sent(_) = self.send.fin {
            self.send.fin = DataFin::Wanted;
        }
    }

    /// Plain TCP from now on.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Fallback;
        self.signals.clear();
        self.announcements.clear();
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
            _ => self.fall_back_at_once(),
        }
    }

    /// A SYN for an unknown subflow. Returns true if the subflow now exists.
    pub(super) fn accept_join(&mut self, segment: &Segment) -> bool {
        if self.role != Role::Server || !segment.flags.syn || segment.flags.ack {
            return false;
        }
        let index = usize::from(segment.subflow);
        let MptcpOption::JoinSyn { token, nonce, addresses, id, backup } = segment.mptcp else {
            // A middlebox has taken MP_JOIN away: whoever listens takes it for a new connection.
            self.replies.push(Reply { subflow: segment.subflow, refusal: None });
            return false;
        };
        if !self.book.is_here(addresses.remote) {
            return false;
        }
        let refusal = if self.mode != Mode::Multipath || token != self.own_key.token() {
            Some(ResetReason::Protocol)
        } else if index >= MAX_SUBFLOWS {
            Some(ResetReason::Resources)
        } else if self.further_subflows() >= self.config.path_manager.further_subflows() {
            Some(ResetReason::Administrative)
        } else {
            None
        };
        if refusal.is_some() {
            self.replies.push(Reply { subflow: segment.subflow, refusal });
            return false;
        }
        let join = Join::AwaitingThirdAck { own: self.nonce(index), peer: nonce };
        self.add_subflow(segment.subflow, addresses.reversed(), join);
        self.book.peer_uses(addresses.local);
        self.alone_since = SimTime::NEVER;
        let told = self.book.is_backup(addresses.remote);
        if let Some(subflow) = self.subflow(index) {
            subflow.backup = [told, backup];
            subflow.remote_id = Some(id);
        }
        true
    }

    /// Subflows beside the first one that live.
    fn further_subflows(&self) -> usize {
        self.subflows.iter().flatten().filter(|s| s.join != Join::First && s.is_alive()).count()
    }

    /// The next answer to a SYN that nobody was there for.
    pub(super) fn reply(&mut self, segment: &mut Segment) -> Option<()> {
        let Reply { subflow, refusal } = self.replies.pop()?;
        let flags = Flags { syn: refusal.is_none(), rst: refusal.is_some(), ack: true, ..Flags::default() };
        let mptcp = refusal.map_or(MptcpOption::None, MptcpOption::Reset);
        *segment = Segment { subflow, flags, ack: 1, mptcp, ..Segment::default() };
        segment.wire_size = wire_size(segment, &self.tcp, Some(&self.config));
        Some(())
    }

    /// Client: opens what the path manager wants and what is not there.
    pub(super) fn open_missing(&mut self) {
        if self.role != Role::Client || self.mode != Mode::Multipath || !self.fully_established {
            return;
        }
        let mut wanted = self.book.wanted(&self.config.path_manager, self.first);
        for known in self.subflows.iter().flatten().filter(|s| !s.left) {
            if let Some(i) = wanted.iter().position(|pair| *pair == known.pair) {
                wanted.remove(i);
            }
        }
        let room = self.config.path_manager.further_subflows().saturating_sub(self.further_subflows());
        for pair in wanted.into_iter().take(room) {
            self.open_join(pair);
        }
    }

    /// Client: opens one more subflow.
    fn open_join(&mut self, pair: AddressPair) {
        let index = self.subflows.len();
        if index >= MAX_SUBFLOWS {
            return;
        }
        self.add_subflow(index as u8, pair, Join::SynSent(self.nonce(index)));
        let told = self.book.is_backup(pair.local);
        if let Some(subflow) = self.subflow(index) {
            subflow.backup[TOLD] = told;
            subflow.endpoint.open();
        }
        self.alone_since = SimTime::NEVER;
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
        match segment.mptcp {
            MptcpOption::AddAddr { id, address, echo, hmac, .. } => {
                self.on_announcement((id, address), echo, hmac);
            }
            MptcpOption::RemoveAddr { id, .. } => self.on_removal(now, id),
            MptcpOption::Prio { backup, .. } => self.on_priority(i, backup),
            MptcpOption::FastClose { key } => self.on_fast_close(key, segment.flags.rst),
            _ => {}
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
            (
                Role::Client,
                MptcpOption::Dss(_)
                | MptcpOption::AddAddr { .. }
                | MptcpOption::RemoveAddr { .. }
                | MptcpOption::Prio { .. },
            ) => self.become_fully_established(),
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
        // MP_CAPABLE has no B: what should be a backup from the start is declared now.
        if self.book.is_backup(self.first.local) {
            self.tell_priority(0, true);
        }
        self.open_missing();
        for address in self.book.to_announce(&self.config.path_manager, self.role, self.first) {
            self.announce(address);
        }
    }

    /// Announces an address of this end.
    pub(super) fn announce(&mut self, address: u8) {
        let id = self.book.id_of(address);
        self.announcements.retain(|a| a.echo || a.address != address);
        let resend_at = SimTime::ZERO;
        self.announcements.push(Announcement { id, address, echo: false, tries: 0, resend_at });
    }

    fn on_join(&mut self, now: SimTime, i: usize, segment: &Segment, input: &Input) {
        let (own_key, peer_key) = (self.own_key, self.peer_key);
        let Some(subflow) = self.subflow(i) else { return };
        match subflow.join {
            Join::SynSent(own) if input.established => {
                let expected = |nonce| join_hmac64(peer_key, own_key, nonce, own);
                match segment.mptcp {
                    MptcpOption::JoinSynAck { hmac, nonce, id, backup } if hmac == expected(nonce) => {
                        subflow.remote_id = Some(id);
                        subflow.backup[ASKED] = backup;
                        let resend_at = now + subflow.endpoint.sender().rtt().rto(0);
                        subflow.join = Join::AwaitingFourthAck { own, peer: nonce, resend_at, tries: 0 };
                    }
                    // Another listener has answered, or the option is lost; or somebody is lying.
                    MptcpOption::None => {
                        subflow.refuse("the answer to MP_JOIN had no MP_JOIN", ResetReason::Middlebox);
                    }
                    _ => subflow.refuse("the answer to MP_JOIN was not authentic", ResetReason::Protocol),
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
                    _ => subflow.refuse("the third ACK of MP_JOIN was not authentic", ResetReason::Protocol),
                }
            }
            // The fourth ACK was lost.
            Join::Joined if matches!(segment.mptcp, MptcpOption::JoinAck { .. }) => {
                subflow.endpoint.acknowledge_now();
            }
            _ => {}
        }
    }

    fn on_announcement(&mut self, (id, place): (u8, u8), echo: bool, hmac: Hmac64) {
        if echo {
            self.announcements.retain(|a| a.id != id);
            return;
        }
        if hmac != add_addr_hmac(self.peer_key, self.own_key, id, address(place), 0) {
            return;
        }
        let resend_at = SimTime::ZERO;
        self.announcements.push(Announcement { id, address: place, echo: true, tries: 0, resend_at });
        self.book.peer_announces(id, place, self.config.path_manager.accepted_addresses());
        self.open_missing();
    }

    /// The next ADD_ADDR or echo that is due at `now`, to be put into a pure ACK.
    pub(super) fn next_announcement(&mut self, now: SimTime, rto: Nanos) -> Option<MptcpOption> {
        let i = self.announcements.iter().position(|a| a.resend_at <= now)?;
        let announcement = &mut self.announcements[i];
        let Announcement { id, address: place, .. } = *announcement;
        if announcement.echo {
            self.announcements.remove(i);
            let (hmac, data_ack) = (Hmac64::default(), self.receive.next);
            return Some(MptcpOption::AddAddr { id, address: place, echo: true, hmac, data_ack });
        }
        announcement.tries += 1;
        announcement.resend_at = now + rto.max(ECHO_TIMEOUT);
        if announcement.tries >= ANNOUNCEMENT_TRIES {
            self.announcements.remove(i);
        }
        let hmac = add_addr_hmac(self.own_key, self.peer_key, id, address(place), 0);
        Some(MptcpOption::AddAddr { id, address: place, echo: false, hmac, data_ack: self.receive.next })
    }
}
