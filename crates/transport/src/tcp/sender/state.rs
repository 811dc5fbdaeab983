//! State of a sender, as recorders name it.

use std::fmt;

/// State of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// Before the handshake is complete.
    Handshake,
    /// cwnd below ssthresh.
    SlowStart,
    /// cwnd at or above ssthresh.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
    /// Closed or given up.
    Closed,
}

impl SenderState {
    /// Its number in time series.
    pub fn code(self) -> u8 {
        match self {
            Self::Handshake => 0,
            Self::SlowStart => 1,
            Self::Avoidance => 2,
            Self::Recovery => 3,
            Self::Loss => 4,
            Self::Closed => 5,
        }
    }
}

impl fmt::Display for SenderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow-start",
            Self::Avoidance => "avoidance",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
            Self::Closed => "closed",
        })
    }
}
