//! The data of a sender: given by its owner, and, with a mapped stream, put ahead of other data or taken back.

use units::{Bytes, SimTime};

use super::Sender;
use super::recovery::Phase;
use crate::seq::{Dsn, Seq};
use crate::tcp::ranges::Range;

impl Sender {
    /// The stream of plain TCP grows by `len` bytes.
    pub fn write(&mut self, len: Bytes) {
        self.send.extend(len);
    }

    /// The mapped stream grows by `data` of the connection's stream.
    pub fn give(&mut self, data: Range<Dsn>) {
        self.send.give(data);
    }

    /// As `give`, with data that follows what was given before in the same segments, as long as none of them has left. `whole`:
    /// segments name the mapping of all that they follow in.
    pub fn give_fragment(&mut self, data: Range<Dsn>, whole: bool) {
        self.send.give_fragment(data, whole);
    }

    /// As `give`, but ahead of queued data with higher data sequence numbers.
    pub fn give_ahead(&mut self, data: Range<Dsn>) {
        self.send.give_ahead(data);
    }

    /// Takes back what was given and not sent: it has no sequence numbers yet and may leave on another subflow.
    pub fn take_unsent(&mut self) -> impl Iterator<Item = Range<Dsn>> {
        // Nothing is left that a closed window could hold up.
        self.window.stop_persist();
        self.send.take_unsent()
    }

    /// Data of the connection that was sent and not acknowledged here, in the order of sending.
    pub fn sent_mappings(&self) -> impl Iterator<Item = Range<Dsn>> {
        self.board.iter().filter(|s| !s.fin).map(|s| Range::new(s.dsn, s.dsn + Bytes(u64::from(s.len))))
    }

    /// No more data after what was given.
    pub fn finish(&mut self) {
        self.send.close();
    }

    /// True if a new segment of `len` bytes could leave now: congestion and receive window have room, nothing
    /// waits before it, no timeout is being repaired.
    #[inline(always)]
    pub fn has_room_for(&self, len: u64) -> bool {
        self.send.unsent() == 0 && !self.pacer.holds() && self.windows_have_room_for(len)
    }

    /// True if a new segment of `len` bytes could leave now if it were the next: queued data does not count.
    pub fn has_room_ahead_of_queue(&self, now: SimTime, len: u64) -> bool {
        self.pacer.permits(now) && self.windows_have_room_for(len)
    }

    /// Congestion and receive window have room for `len` bytes, and no timeout is being repaired.
    #[inline(always)]
    pub(super) fn windows_have_room_for(&self, len: u64) -> bool {
        if self.usual.is_open() {
            return self.board.outstanding_counted() + self.board.counted().one(len)
                <= self.congestion.cwnd()
                && Seq(self.send.nxt().0 + len) <= self.right_edge();
        }
        self.cwnd_has_room_for(len) && Seq(self.send.nxt().0 + len) <= self.right_edge()
    }

    /// The window has room for `len` new bytes, and no timeout is being repaired.
    #[inline]
    pub(super) fn cwnd_has_room_for(&self, len: u64) -> bool {
        self.recovery.phase() != Phase::Loss
            && self.has_room_beside(self.in_flight(), len, self.usable_window())
    }

    /// Halves the window, and the threshold if the window had reached it (Raiciu et al., NSDI 2012, section 4).
    pub fn penalise(&mut self) {
        self.keep_rate();
        let (cwnd, ssthresh, mss) = (self.congestion.cwnd(), self.congestion.ssthresh(), self.send.mss());
        let threshold = (cwnd >= ssthresh).then(|| Bytes((ssthresh / 2).max(2 * mss)));
        self.congestion.set_window(Bytes((cwnd / 2).max(mss)), threshold);
        self.check();
    }
}
