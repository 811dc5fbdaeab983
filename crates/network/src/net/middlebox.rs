//! A middlebox at the entrance of a link that takes MPTCP options away.
//!
//! May: ask a packet whether it carries an MPTCP option or a SYN, and have the option taken away. May not: lose packets
//! or change their size: options are overwritten with padding.

use scenario::model::Strip;
use transport::packet::Packet;

/// Applies `strip` to a packet that crosses.
pub(crate) fn cross(strip: &mut Strip, packet: &mut Packet) {
    if !packet.is_multipath() {
        return;
    }
    let takes = match strip {
        Strip::Never => false,
        Strip::Always => true,
        Strip::Syn => packet.is_syn(),
        Strip::After(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Strip::After(_) => true,
    };
    if takes {
        packet.strip_multipath();
    }
}
