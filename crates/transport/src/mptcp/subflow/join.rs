//! How far the handshake of a subflow is.

use units::SimTime;

use crate::mptcp::keys::Nonce;

/// Progress of MP_JOIN (RFC 8684 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mptcp) enum Join {
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
        /// Retransmissions of the third ACK.
        tries: u32,
    },
    /// Server: waits for the HMAC of the initiator.
    AwaitingThirdAck { own: Nonce, peer: Nonce },
    /// Complete.
    Joined,
}
