//! One subflow of an MPTCP connection: a TCP endpoint and what MPTCP adds to it.

use schedulers::SubflowView;
use units::{Bytes, Nanos, SimTime};

use super::keys::Nonce;
use super::receive_side::Mappings;
use crate::connection::AddressPair;
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
    pub join: Join,
    /// Its last timeout has not been followed by progress: others carry its data.
    pub potentially_failed: bool,
    /// Its outstanding data has been queued for reinjection since it was last well.
    pub reinjected_since: bool,
    /// Mappings of data that is out of order here.
    pub mappings: Mappings,
    /// Payload bytes given to it by reinjection.
    pub reinjected_bytes: u64,
}

impl Subflow {
    pub(super) fn new(pair: AddressPair, endpoint: Endpoint, join: Join) -> Self {
        Self {
            pair,
            endpoint,
            join,
            potentially_failed: false,
            reinjected_since: false,
            mappings: Mappings::default(),
            reinjected_bytes: 0,
        }
    }

    /// Established and joined as far as this end needs for sending data.
    pub(super) fn may_send(&self) -> bool {
        self.endpoint.is_established() && matches!(self.join, Join::First | Join::Joined)
    }

    /// New data may be given to it, now or as soon as its window opens.
    pub(super) fn usable(&self) -> bool {
        self.may_send() && !self.potentially_failed
    }

    /// What the scheduler sees; room for `quantum` bytes makes it available.
    pub(super) fn view(&self, quantum: u64) -> SubflowView {
        let sender = self.endpoint.sender();
        let usable = self.usable();
        SubflowView {
            srtt: sender.rtt().srtt(),
            min_rtt: sender.rtt().min(),
            rttvar: sender.rtt().rttvar(),
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            inflight: Bytes(sender.pipe()),
            unsent: Bytes(sender.unsent()),
            mss: Bytes(sender.mss()),
            usable,
            available: usable && sender.has_room_for(quantum),
            backup: false,
            carried: false,
        }
    }

    /// The view of a subflow that does not exist.
    pub(super) const ABSENT: SubflowView = SubflowView {
        srtt: None,
        min_rtt: None,
        rttvar: Nanos::ZERO,
        cwnd: Bytes::ZERO,
        ssthresh: Bytes::ZERO,
        inflight: Bytes::ZERO,
        unsent: Bytes::ZERO,
        mss: Bytes::ZERO,
        usable: false,
        available: false,
        backup: false,
        carried: false,
    };

    /// Its next deadline.
    pub(super) fn next_deadline(&self) -> SimTime {
        let join = match self.join {
            Join::AwaitingFourthAck { resend_at, .. } if self.endpoint.is_established() => resend_at,
            _ => SimTime::NEVER,
        };
        self.endpoint.next_deadline().min(join)
    }
}
