//! Data of the send buffer in fragments of pages, as the kernel keeps and places it.
//!
//! Source: Linux 6.x net/mptcp/protocol.c (`mptcp_sendmsg`, `mptcp_carve_data_frag`, `mptcp_frag_can_collapse_to`,
//! `__subflow_push_pending`), `skb_page_frag_refill` in net/core/sock.c, `sk_stream_is_writeable` in include/net/sock.h.
//! Writes are copied into pages of 32 KiB. One extends the last fragment while some of that waits for a subflow
//! and its page has room; otherwise a fragment begins, with a head of its own. A subflow is given fragments as a whole.
//! They are given to subflows when the program writes, with each Data ACK while the window has room, and when the timer of the connection
//! ends; an ACK that makes room on a subflow moves nothing while the window is full (`ack_update_msk`, `__mptcp_check_push`).
//! The writer fills the buffer, beyond its size to the end of a page, and then sleeps until a third of the buffer is free.

use std::collections::VecDeque;

use units::Bytes;

use crate::seq::Dsn;

/// A page of `SKB_FRAG_PAGE_ORDER`.
const PAGE: u64 = 32_768;
/// `struct mptcp_data_frag`.
const HEAD: u64 = 40;
/// A page with less room than this is left.
const LEAST: u64 = 32 + HEAD;
/// Fragments begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// Fragments without Data ACK, and the page that is being filled.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Ends of the fragments, ascending.
    ends: VecDeque<Dsn>,
    /// Bytes left of the page.
    room: u64,
    /// The buffer was full and the writer has not been woken.
    sleeps: bool,
    /// Waiting data is to be given to subflows now.
    pushed: bool,
    /// Where the last write begins.
    last: Dsn,
    whole_chunks: bool,
}

impl Fragments {
    /// `whole_chunks`: nothing that a subflow has begun to send is taken back from it, or parted by other data.
    pub(super) fn new(whole_chunks: bool) -> Self {
        Self { whole_chunks, ..Self::default() }
    }

    /// Segments name the mapping of a whole chunk of fragments, as the kernel's. A mapping must not change (RFC 8684 section 3.3.1), so
    /// they cannot where a chunk may yet be parted.
    #[inline]
    pub(super) fn maps_whole_chunks(&self) -> bool {
        self.whole_chunks
    }

    /// `bytes` are written from `start` on; `waits`: some of what lies before has not been given to a subflow.
    pub(super) fn write(&mut self, start: Dsn, waits: bool, bytes: u64) {
        (self.pushed, self.last) = (true, start);
        let (mut at, mut left, mut extends) = (start, bytes, waits);
        while left > 0 {
            let new = !(extends && self.room > 0) || self.ends.is_empty();
            if new {
                self.begin();
            }
            let piece = left.min(self.room);
            self.room -= piece;
            at += Bytes(piece);
            match self.ends.back_mut() {
                Some(end) if !new => *end = at,
                _ => self.ends.push_back(at),
            }
            (left, extends) = (left - piece, true);
        }
        self.check();
    }

    /// Where the last write begins.
    pub(super) fn last_write(&self) -> Dsn {
        self.last
    }

    /// A fragment begins, on another page if this one has too little room.
    fn begin(&mut self) {
        if self.room < LEAST {
            self.room = PAGE;
        }
        let used = HEAD + self.room % ALIGNMENT;
        self.room -= used;
    }

    /// Waiting data is to be given to subflows.
    #[inline]
    pub(super) fn push(&mut self) {
        self.pushed = true;
    }

    /// Waiting data is to be given to subflows now; false until something happens that lets it.
    #[inline]
    pub(super) fn take_push(&mut self) -> bool {
        std::mem::take(&mut self.pushed)
    }

    /// Everything before `una` has its Data ACK.
    #[inline]
    pub(super) fn acknowledge(&mut self, una: Dsn) {
        while self.ends.front().is_some_and(|end| *end <= una) {
            self.ends.pop_front();
        }
    }

    /// End of the fragment that holds byte `dsn`, which was written and has no Data ACK.
    #[inline]
    pub(super) fn end_of(&self, dsn: Dsn) -> Option<Dsn> {
        self.ends.get(self.ends.partition_point(|end| *end <= dsn)).copied()
    }

    /// The buffer of `size` bytes holds `held`: bytes that the writer copies into it now.
    #[inline]
    pub(super) fn space(&self, size: Bytes, held: Bytes, waits: bool) -> Bytes {
        let free = size.saturating_sub(held);
        if free == Bytes::ZERO || self.sleeps && free.0 < held.0 / 2 {
            return Bytes::ZERO;
        }
        let page = if waits && self.room > 0 || self.room >= LEAST { self.room } else { PAGE - HEAD };
        // The rest of a page is filled without a look at the size.
        Bytes(page + free.0.saturating_sub(page).div_ceil(PAGE - HEAD) * (PAGE - HEAD))
    }

    /// The buffer of `size` bytes holds `held` after a write.
    #[inline]
    pub(super) fn note_write(&mut self, size: Bytes, held: Bytes) {
        self.sleeps = held >= size;
    }

    fn check(&self) {
        debug_assert!(self.room <= PAGE - HEAD, "{} bytes left of a page", self.room);
        // A full buffer has thousands: all are looked at whenever their number is a power of two.
        debug_assert!(
            !self.ends.len().is_power_of_two() || self.ends.iter().is_sorted_by(|a, b| a < b),
            "fragments ascend: {:?}",
            self.ends
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(fragments: &Fragments) -> Vec<u64> {
        fragments.ends.iter().map(|end| end.0 - Dsn::FIRST_DATA.0).collect()
    }

    /// Writes of 64 KiB that subflows take at once: 32,728 bytes to a page, and the rest is a fragment of 80.
    #[test]
    fn each_write_ends_a_fragment_if_nothing_waits() {
        let mut fragments = Fragments::default();
        fragments.write(Dsn::FIRST_DATA, false, 65_536);
        assert_eq!(ends(&fragments), [32_728, 65_456, 65_536]);
        fragments.write(Dsn::FIRST_DATA + Bytes(65_536), false, 65_536);
        // 80 bytes and two heads are gone of the page.
        assert_eq!(ends(&fragments)[3..], [65_536 + 32_608, 65_536 + 65_336, 131_072]);
    }

    #[test]
    fn what_waits_is_extended() {
        let mut fragments = Fragments::default();
        for n in 0..4 {
            fragments.write(Dsn::FIRST_DATA + Bytes(n * 10_000), n > 0, 10_000);
        }
        assert_eq!(ends(&fragments), [32_728, 40_000]);
        assert_eq!(fragments.end_of(Dsn::FIRST_DATA), Some(Dsn::FIRST_DATA + Bytes(32_728)));
        fragments.acknowledge(Dsn::FIRST_DATA + Bytes(32_728));
        assert_eq!(ends(&fragments), [40_000]);
    }

    #[test]
    fn what_waits_is_placed_once_for_each_reason() {
        let mut fragments = Fragments::default();
        assert!(!fragments.take_push());
        fragments.write(Dsn::FIRST_DATA, false, 1000);
        assert!(fragments.take_push() && !fragments.take_push(), "a write is a reason");
        fragments.acknowledge(Dsn::FIRST_DATA + Bytes(10));
        assert!(!fragments.take_push(), "an acknowledgement alone is none");
        fragments.push();
        assert!(fragments.take_push());
    }

    /// `sk_stream_is_writeable`: at least half as much is free as is held.
    #[test]
    fn the_writer_sleeps_until_a_third_is_free() {
        let mut fragments = Fragments::default();
        let size = Bytes(87_040);
        assert_eq!(fragments.space(size, Bytes(0), false), Bytes(3 * 32_728));
        fragments.write(Dsn::FIRST_DATA, false, 3 * 32_728);
        fragments.note_write(size, Bytes(3 * 32_728));
        assert_eq!(fragments.space(size, Bytes(58_030), false), Bytes::ZERO);
        assert_eq!(fragments.space(size, Bytes(58_020), false), Bytes(32_728));
        fragments.note_write(size, Bytes(70_000));
        assert_eq!(fragments.space(size, Bytes(70_000), false), Bytes(32_728));
    }
}
