//! Explicit congestion notification (RFC 3168): what the two ends tell each other about marks.
//!
//! The sending half reacts to ECN-echo like to a loss without a retransmission, once per window
//! (`sender/ack.rs`); this is the rest: negotiation, echo, and which segments may be marked.
//! Deviation: a SYN that is not answered is repeated with ECN.

use super::segment::Flags;
use crate::packet::Ecn;

/// ECN at one end.
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnState {
    /// This end is willing.
    wanted: bool,
    /// Both ends are.
    on: bool,
    /// The peer's SYN asked for it.
    asked: bool,
    /// A mark has arrived, and the peer has not said that it has reduced its window.
    echo: bool,
}

impl EcnState {
    /// Before the handshake.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Both ends have agreed.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// Section 6.1.1: a SYN asks with ECE and CWR, a SYN/ACK agrees with ECE alone.
    pub fn offer(self, passive: bool, flags: &mut Flags) {
        flags.ece = if passive { self.wanted && self.asked } else { self.wanted };
        flags.cwr = self.wanted && !passive;
    }

    /// The peer's SYN or SYN/ACK.
    pub fn on_syn(&mut self, flags: Flags) {
        if flags.ack {
            self.on = self.wanted && flags.ece && !flags.cwr;
        } else {
            self.asked = flags.ece && flags.cwr;
            self.on = self.wanted && self.asked;
        }
    }

    /// Section 6.1.3: a segment has arrived.
    pub fn on_segment(&mut self, ecn: Ecn, flags: Flags) {
        if self.on {
            self.echo = ecn == Ecn::Ce || (self.echo && !flags.cwr);
        }
    }

    /// The segment acknowledges: does it echo a mark?
    pub fn echoes(self) -> bool {
        self.echo
    }
}
