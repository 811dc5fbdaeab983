//! Options that pass from one end of a proxy to the other: the handshake, and signals of the connection.

use std::collections::VecDeque;

use crate::mptcp::option::{Mapped, MptcpOption};
use crate::role::Role;
use crate::tcp::segment::TcpSegment;

/// Options of one direction of the handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Spoken {
    /// Option of the SYN or SYN/ACK.
    syn: Option<MptcpOption>,
    /// Option of the first segment after it, which the client sends.
    third: Option<MptcpOption>,
    /// The server has answered that.
    confirmed: bool,
    /// Option of a RST.
    reset: MptcpOption,
}

/// Options that an end has received, and those that it is to say.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    received: Spoken,
    says: Spoken,
    /// The third segment has been received again since it was passed on.
    repeated: bool,
    received_notices: VecDeque<MptcpOption>,
    notices: VecDeque<MptcpOption>,
}

impl Greeting {
    /// The SYN will carry this option.
    pub(super) fn say_syn(&mut self, option: MptcpOption) {
        self.says.syn = Some(option);
    }

    /// One of the two sides does not use MPTCP.
    pub(super) fn is_plain(&self) -> bool {
        [self.says.syn, self.received.syn].contains(&Some(MptcpOption::None))
    }

    /// The client has sent the third segment.
    pub(super) fn has_third(&self) -> bool {
        self.says.third.is_some()
    }

    /// Data may leave this end.
    pub(super) fn permits_data(&self, role: Role) -> bool {
        match role {
            Role::Client => match self.says.third {
                Some(MptcpOption::JoinAck { .. }) => self.received.confirmed,
                third => third.is_some(),
            },
            Role::Server => self.received.third.is_some(),
        }
    }

    /// Option of the SYN or SYN/ACK.
    pub(super) fn syn(&self) -> MptcpOption {
        self.says.syn.unwrap_or_default()
    }

    /// Option of a RST.
    pub(super) fn reset(&self) -> MptcpOption {
        self.says.reset
    }

    /// The option of a segment while the third one is not confirmed; `first`: it has no payload or the first.
    pub(super) fn third(&self, first: bool, mapped: Option<Mapped>) -> Option<MptcpOption> {
        if self.received.confirmed {
            return None;
        }
        match self.says.third? {
            join @ MptcpOption::JoinAck { .. } => Some(join),
            MptcpOption::CapableAck { sender, receiver, .. } if first => {
                Some(MptcpOption::capable_ack(sender, receiver, mapped))
            }
            _ => None,
        }
    }

    /// The next signal to be sent.
    pub(super) fn next_notice(&mut self) -> Option<MptcpOption> {
        self.notices.pop_front()
    }

    /// A segment has arrived.
    pub(super) fn receive(&mut self, segment: &TcpSegment, role: Role) {
        let option = segment.mptcp;
        if segment.flags.rst {
            self.received.reset = option;
            return;
        }
        if segment.flags.syn {
            // A repeated SYN may have lost the option, and the other end has answered the first.
            self.received.syn.get_or_insert(option);
            return;
        }
        match role {
            Role::Client => self.received.confirmed = true,
            Role::Server if self.received.third.is_none() => self.received.third = Some(option),
            Role::Server => self.repeated |= matches!(option, MptcpOption::JoinAck { .. }),
        }
        match option {
            MptcpOption::AddAddr { .. }
            | MptcpOption::RemoveAddr { .. }
            | MptcpOption::Prio { .. }
            | MptcpOption::FastClose { .. } => self.received_notices.push_back(option),
            MptcpOption::Dss(dss) if dss.data_fin => self.received_notices.push_back(option),
            _ => {}
        }
    }

    /// Takes over what the other end has received. True if a segment without data should leave.
    pub(super) fn pass_on(&mut self, other: &mut Self) -> bool {
        let before = (self.says.third.is_some(), self.says.confirmed);
        self.says.syn = other.received.syn.or(self.says.syn);
        self.says.third = other.received.third.or(self.says.third);
        self.says.confirmed |= other.received.confirmed;
        self.says.reset = other.received.reset;
        self.notices.append(&mut other.received_notices);
        let asked = std::mem::take(&mut other.repeated);
        // The client repeats its HMAC: the answer of the server was lost behind the proxy, or before it.
        let again = asked && !self.received.confirmed;
        other.repeated = asked && self.received.confirmed;
        let repeats = std::mem::take(&mut self.repeated);
        again || repeats || before != (self.says.third.is_some(), self.says.confirmed)
    }
}
