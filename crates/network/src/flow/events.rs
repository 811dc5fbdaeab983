//! Flow events: addresses of a host are added, removed or change their priority, and applications abort.
//!
//! May: tell a connection at the right time. May not: decide what a connection does about it.

use scenario::model::FlowAction;
use transport::{AbortForm, Connection};
use units::SimTime;

/// A change of one end of a connection from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndAction {
    /// The address of an interface is removed.
    RemoveAddress(u8),
    /// It is added, or added again.
    AddAddress(u8),
    /// The subflows of an address become backups, or are so no longer.
    SetBackup(u8, bool),
    /// The application aborts the connection.
    Abort(AbortForm),
}

impl EndAction {
    /// The action of a flow event on the host where `interface` has the address, if it concerns one.
    pub(crate) fn new(action: FlowAction, interface: u8) -> Self {
        match action {
            FlowAction::Leave(_) => Self::RemoveAddress(interface),
            FlowAction::Join(_) => Self::AddAddress(interface),
            FlowAction::Backup(_, backup) => Self::SetBackup(interface, backup),
            FlowAction::Abort(form) => Self::Abort(form),
        }
    }

    /// The address that exists from now on, or does so no longer.
    pub(crate) fn presence(self) -> Option<(u8, bool)> {
        match self {
            Self::RemoveAddress(address) => Some((address, false)),
            Self::AddAddress(address) => Some((address, true)),
            Self::SetBackup(..) | Self::Abort(_) => None,
        }
    }

    /// Tells a connection.
    pub(crate) fn apply(self, now: SimTime, connection: &mut Connection) {
        match self {
            Self::RemoveAddress(address) => connection.remove_address(now, address),
            Self::AddAddress(address) => connection.add_address(address),
            Self::SetBackup(address, backup) => connection.set_backup(address, backup),
            Self::Abort(form) => connection.abort(now, form),
        }
    }
}

/// A flow event with the end that it concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledEvent {
    pub(crate) at: SimTime,
    /// Index of the flow.
    pub(crate) flow: usize,
    /// At the end that opens the connections.
    pub(crate) client: bool,
    pub(crate) action: EndAction,
}
