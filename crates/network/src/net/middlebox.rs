//! A middlebox at the entrance of a link that takes MPTCP options away.
//!
//! May: read the options and the SYN of a segment, as no other part of the network does. May not: lose packets or
//! change their size: options are overwritten by padding.

use scenario::model::Strip;
use transport::segment::{MptcpOption, Segment};

/// Applies `strip` to a segment that crosses.
pub(crate) fn cross(strip: &mut Strip, segment: &mut Segment) {
    if segment.mptcp == MptcpOption::None {
        return;
    }
    let takes = match strip {
        Strip::Never => false,
        Strip::Always => true,
        Strip::Syn => segment.flags.syn,
        Strip::After(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Strip::After(_) => true,
    };
    if takes {
        segment.mptcp = MptcpOption::None;
    }
}
