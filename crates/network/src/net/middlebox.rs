//! A middlebox at the entrance of a link that removes MPTCP options.
//!
//! May: ask a body whether it carries an MPTCP option or a SYN, and have the option removed. May not: lose packets
//! or change their size: options are overwritten with padding.

use scenario::model::Strip;
use transport::packet::Packet;

/// The body of a packet as a middlebox can read and change it.
pub(crate) trait MiddleboxAccess {
    /// It carries an MPTCP option.
    fn is_multipath(&self) -> bool;
    /// It opens a connection or a subflow.
    fn is_syn(&self) -> bool;
    /// Overwrites the MPTCP option with padding.
    fn strip_multipath(&mut self);
}

/// Applies `strip` to a packet that crosses.
#[cold]
#[inline(never)]
pub(crate) fn cross<B: MiddleboxAccess>(strip: &mut Strip, packet: &mut Packet<B>) {
    let body = &mut packet.body;
    if !body.is_multipath() {
        return;
    }
    let takes = match strip {
        Strip::Never => false,
        Strip::Always => true,
        Strip::Syn => body.is_syn(),
        Strip::After(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Strip::After(_) => true,
    };
    if takes {
        body.strip_multipath();
        debug_assert!(!body.is_multipath(), "an option has been left");
    }
}
