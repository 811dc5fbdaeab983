//! Which end of a connection this is, and how it may be ended.

/// Which end opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens the connection and, with MPTCP, its subflows.
    Client,
    /// Waits for the first SYN.
    Server,
}

/// How a connection is aborted (RFC 8684 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortForm {
    /// MP_FASTCLOSE on an ACK of one subflow, to be answered by a RST; the other subflows are reset.
    Ack,
    /// MP_FASTCLOSE on a RST of each subflow.
    Reset,
}
