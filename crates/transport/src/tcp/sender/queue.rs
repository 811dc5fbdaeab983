//! What the owner of a mapped stream may do besides giving data: look at what is queued and not sent, put data before
//! it, take it back, slow the path down.

use units::{Bytes, SimTime};

use super::{Chunk, Phase, Sender};

impl Sender {
    /// Congestion and receive window have room for `len` bytes, and no timeout is being repaired.
    pub(super) fn windows_have_room_for(&self, len: u64) -> bool {
        self.phase != Phase::Loss
            && self.in_flight() + len <= self.window() + self.limited_transmit_allowance()
            && self.nxt + len <= self.right_edge()
    }

    /// True if a new segment of `len` bytes could leave now if it were the next: what is queued does not count.
    pub fn has_room_ahead_of_queue(&self, now: SimTime, len: u64) -> bool {
        (self.held_until.is_never() || self.held_until <= now) && self.windows_have_room_for(len)
    }

    /// As `give`, but ahead of queued data with higher data sequence numbers.
    pub fn give_ahead(&mut self, dsn: u64, len: u64) {
        let Some(i) = self.unsent.iter().position(|chunk| chunk.dsn > dsn) else {
            self.give(dsn, len);
            return;
        };
        self.stream_end += len;
        self.unsent.insert(i, Chunk { dsn, len });
    }

    /// Takes back what was given and not sent, as connection-level ranges `(dsn, len)`: it has no sequence numbers
    /// yet and may go elsewhere.
    pub fn take_unsent(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.stream_end = self.stream_end.min(self.nxt);
        // Nothing is left that a closed window could hold up.
        self.timers.window_opened();
        self.unsent.drain(..).map(|chunk| (chunk.dsn, chunk.len))
    }

    /// The connection-level ranges `(dsn, len)` that were sent and not acknowledged, in order.
    pub fn sent_mappings(&self) -> impl Iterator<Item = (u64, u64)> {
        self.board.iter().filter(|s| !s.fin).map(|s| (s.dsn, u64::from(s.len)))
    }

    /// No loss episode is being repaired.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Halves the window, and the threshold if the window had reached it (Raiciu et al., NSDI 2012, section 4).
    pub fn penalise(&mut self) {
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let threshold = (cwnd >= ssthresh).then(|| Bytes((ssthresh / 2).max(2 * self.mss)));
        self.congestion.set_window(Bytes((cwnd / 2).max(self.mss)), threshold);
    }
}
