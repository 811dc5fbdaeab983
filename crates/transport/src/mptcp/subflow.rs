//! One subflow of an MPTCP connection: a TCP endpoint and what MPTCP adds to it.

use schedulers::{Needs, SubflowView};
use units::{Bytes, SimTime};

use super::keys::Nonce;
use super::meta_timer::Silence;
use super::receive_side::Mappings;
use crate::address::AddressPair;
use crate::segment::ResetReason;
use crate::tcp::buffers::ExpandedBuffer;
use crate::tcp::endpoint::Endpoint;

/// How far the subflow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// The first subflow: nothing to join.
    First,
    /// Client: MP_JOIN SYN sent with this nonce.
    SynSent(Nonce),
    /// Client: the third ACK carries our HMAC and is not acknowledged; data must wait (RFC 8684 section 3.2).
    AwaitingFourthAck {
        own: Nonce,
        peer: Nonce,
        /// When the third ACK is sent again.
        resend_at: SimTime,
        /// How often it was sent again.
        tries: u32,
    },
    /// Server: waits for the HMAC of the initiator.
    AwaitingThirdAck { own: Nonce, peer: Nonce },
    /// Complete.
    Joined,
}

/// One subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pub pair: AddressPair,
    pub endpoint: Endpoint,
    pub expanded: ExpandedBuffer,
    pub join: Join,
    /// Its last timeout has not been followed by progress: others carry its data.
    pub potentially_failed: bool,
    /// Its outstanding data has been queued for reinjection since it was last well.
    pub reinjected_since: bool,
    /// For how many ends of the connection's timer nothing has been heard of it.
    pub silence: Silence,
    /// Mappings of data that is out of order here.
    pub mappings: Mappings,
    /// Segments in a row that brought nothing new.
    pub repeats: u32,
    /// Payload bytes given to it that another subflow was given before.
    pub reinjected_bytes: u64,
    /// B, as this end has told the peer and as the peer has told this end: only for when no other is usable.
    pub backup: [bool; 2],
    /// ID of the peer's address; `None` for the first subflow and where the peer has not said.
    pub remote_id: Option<u8>,
    /// It has died, and what it held out of order is forgotten.
    pub buried: bool,
    /// Its address has left: it does not count among the subflows that were opened.
    pub left: bool,
    /// What its RST says.
    pub reset: Option<ResetReason>,
    /// It was reset because of what the peer sent: what still comes is answered with another RST.
    pub refused: bool,
    /// Where it goes on if every subflow carries everything.
    pub next_copy: u64,
}

/// Positions in `Subflow::backup`.
pub(super) const TOLD: usize = 0;
pub(super) const ASKED: usize = 1;

impl Subflow {
    pub(super) fn new(pair: AddressPair, endpoint: Endpoint, join: Join) -> Self {
        Self {
            pair,
            endpoint,
            expanded: ExpandedBuffer::default(),
            join,
            potentially_failed: false,
            reinjected_since: false,
            silence: Silence::default(),
            mappings: Mappings::default(),
            repeats: 0,
            reinjected_bytes: 0,
            backup: [false; 2],
            remote_id: None,
            buried: false,
            left: false,
            reset: None,
            refused: false,
            next_copy: 0,
        }
    }

    /// Ends it with a RST, because of what the peer has sent.
    pub(super) fn refuse(&mut self, why: &'static str, reason: ResetReason) {
        self.endpoint.abort(why);
        self.reset = Some(reason);
        self.refused = true;
    }

    /// It has not died.
    pub(super) fn is_alive(&self) -> bool {
        self.endpoint.death().is_none()
    }

    /// Established and joined as far as this end needs for sending data.
    pub(super) fn may_send(&self) -> bool {
        self.endpoint.is_established() && matches!(self.join, Join::First | Join::Joined)
    }

    /// New data may be given to it, now or as soon as its window opens.
    pub(super) fn usable(&self) -> bool {
        self.may_send() && !self.potentially_failed && !self.silence.is_stale()
    }

    /// It carries data only if no other is usable. As Linux since 6.11: what an end has marked as a backup it does not use
    /// lightly itself.
    pub(super) fn is_backup(&self) -> bool {
        self.backup[TOLD] || self.backup[ASKED]
    }

    /// Brings what the scheduler sees up to date, in place; room for `quantum` bytes makes it available. `needs`: for a
    /// scheduler that looks at more than most.
    pub(super) fn show(&self, view: &mut SubflowView, quantum: u64, needs: Option<Needs>) {
        let sender = self.endpoint.sender();
        view.srtt = sender.rtt().srtt();
        view.min_rtt = sender.rtt().min();
        view.rttvar = sender.rtt().rttvar();
        view.cwnd = sender.cwnd();
        view.ssthresh = sender.ssthresh();
        view.inflight = Bytes(sender.pipe());
        view.unsent = Bytes(sender.unsent());
        view.mss = Bytes(sender.mss());
        view.usable = self.usable();
        view.available = view.usable && sender.has_room_for(quantum);
        view.backup = self.is_backup();
        view.carried = false;
        if let Some(needs) = needs {
            view.latest_rtt = view.srtt.map(|_| sender.rtt().latest());
            view.held = Bytes(sender.unacked());
            view.send_window = sender.send_window();
            view.pacing_rate = if needs.pacing { sender.pacing_rate_estimate() } else { None };
            view.open = sender.is_open();
        }
    }

    /// Its next deadline.
    pub(super) fn next_deadline(&self) -> SimTime {
        let join = match self.join {
            Join::AwaitingFourthAck { resend_at, .. } if self.endpoint.is_established() => resend_at,
            _ => SimTime::NEVER,
        };
        self.endpoint.next_deadline().min(join)
    }
}
