//! Chunks that were acknowledged and no longer are.
//!
//! RFC 9260 section 6.2.1 has no rule for a SACK without a block that an earlier one had, but that the peer may have discarded the data.
//! With concurrent transfer a SACK by a slow path is overtaken by later ones, and FreeBSD takes it for that.

use super::Association;
use super::input::PathNews;
use crate::sctp::chunk::Sack;
use crate::tcp::ranges::Range;

impl Association {
    /// Chunks that a gap block had acknowledged, and that lie between those of this SACK, are in flight again, and so are all if it has
    /// none. The window grows by as much until they are acknowledged anew (`sctp_check_for_revoked`, `sctp_handle_sack`).
    pub(super) fn revoke(&mut self, (sack, more): (&Sack, &[u8]), news: &mut [PathNews]) {
        let Self { outqueue, paths, .. } = self;
        let mut start = sack.next;
        let all = Range::new(outqueue.next(), outqueue.next());
        let last = sack.gaps.is_empty().then_some(all);
        for block in sack.gaps.blocks(sack.next, more).chain(last) {
            outqueue.revoke(Range::new(start, block.start), |sent| {
                let length = sent.chunk.length();
                paths.get_mut(sent.path).window.revoked(length);
                news[sent.path.index()].flight += length;
            });
            start = block.end;
        }
    }
}
