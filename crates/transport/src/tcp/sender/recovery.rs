//! A loss episode: fast recovery (RFC 6582, RFC 6675, with PRR of RFC 6937), and the time after a timeout.

use units::Bytes;

use super::super::prr::{Before, News, Prr};
use super::super::scoreboard::Scoreboard;
use super::super::sent::Sent;
use super::undo::Undo;
use crate::config::PrrRule;
use crate::seq::Seq;

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss episode.
    Open,
    /// Fast recovery, until what was outstanding at its start is acknowledged.
    Recovery,
    /// After a timeout, until the same.
    Loss,
}

/// The present loss episode, or the last one.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    phase: Phase,
    /// snd_nxt when the last episode began: it ends when everything below is acknowledged. RFC 6582's `recover` plus
    /// one; `None` before the first episode.
    until: Option<Seq>,
    /// The first partial ACK of this recovery has restarted the timer.
    partial_seen: bool,
    /// The oldest segment leaves again whatever the window says.
    forced: bool,
    /// The present fast recovery, or the last one.
    fast: Option<Box<FastRecovery>>,
    /// The reduction that may be taken back; `None` before the first episode, and where none is.
    undo: Option<Box<Undo>>,
}

/// Limits of a fast recovery.
#[derive(Clone, Debug)]
struct FastRecovery {
    /// Inflated (NewReno), ssthresh (SACK), pipe + sndcnt (PRR).
    window: u64,
    prr: Prr,
    /// RFC 6675 HighRxt: the end of what was retransmitted in this recovery.
    high_rxt: Seq,
    /// RFC 6675 RescueRxt: what must be acknowledged before a rescue retransmission; `None`: it has been made.
    rescue_rxt: Option<Seq>,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self { phase: Phase::Open, until: None, partial_seen: false, forced: false, fast: None, undo: None }
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// No loss episode, and no retransmission that is due.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.is_open() && !self.forced
    }

    /// Window during fast recovery.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        debug_assert_eq!(self.phase, Phase::Recovery, "only fast recovery has a window of its own");
        self.fast.as_deref().map_or(0, |fast| fast.window)
    }

    /// The ACK up to `una` ends the episode.
    pub(super) fn is_over(&self, una: Seq) -> bool {
        self.until.is_none_or(|until| una >= until)
    }

    /// `una` lies above what was outstanding when the last episode began (RFC 6582 section 3.2 step 2).
    pub(super) fn is_above(&self, una: Seq) -> bool {
        self.until.is_none_or(|until| una > until)
    }

    /// `seq` was sent before the fast recovery that is under way.
    pub(super) fn concerns(&self, seq: Seq) -> bool {
        self.phase == Phase::Recovery && self.until.is_some_and(|until| seq < until)
    }

    /// Fast recovery begins with a window of `window` bytes. `oldest_end` is the end of the oldest segment, `forced`
    /// whether it leaves at once.
    pub(super) fn begin(&mut self, (una, nxt): (Seq, Seq), oldest_end: Seq, window: Bytes, forced: bool) {
        debug_assert_ne!(self.phase, Phase::Recovery, "one fast recovery at a time");
        debug_assert!(una < oldest_end && oldest_end <= nxt, "{oldest_end} outside {una}..{nxt}");
        self.phase = Phase::Recovery;
        self.until = Some(nxt);
        self.partial_seen = false;
        self.forced = forced;
        let (window, prr) = (window.0, Prr::default());
        let fast = FastRecovery { window, prr, high_rxt: una, rescue_rxt: Some(oldest_end) };
        match &mut self.fast {
            Some(last) => **last = fast,
            None => self.fast = Some(Box::new(fast)),
        }
    }

    /// The fast recovery that is under way.
    #[inline]
    fn under_way(&mut self) -> Option<&mut FastRecovery> {
        self.fast.as_deref_mut().filter(|_| self.phase == Phase::Recovery)
    }

    /// PRR begins.
    pub(super) fn begin_reduction(&mut self, rule: PrrRule, before: Before) {
        if let Some(fast) = self.under_way() {
            fast.prr = Prr::new(rule, before);
        }
    }

    /// PRR: what may be sent now is proportional to what was delivered.
    pub(super) fn spread_reduction(&mut self, news: News, pipe: Bytes, ssthresh: Bytes, mss: Bytes) {
        if let Some(fast) = self.under_way() {
            fast.window = (pipe + fast.prr.on_ack(news, pipe, ssthresh, mss)).0;
        }
    }

    /// PRR after a loss that was found without an ACK: true if the window follows what is still in flight.
    pub(super) fn follows_pipe(&self) -> bool {
        self.fast.as_deref().is_some_and(|fast| fast.prr.follows_pipe())
    }

    /// Payload leaves, new or again: PRR counts it.
    #[inline]
    pub(super) fn sent(&mut self, len: u64) {
        if let Some(fast) = self.under_way() {
            fast.prr.on_send(Bytes(len));
        }
    }

    /// RFC 6582: a duplicate ACK says that another segment has left the network.
    pub(super) fn inflate(&mut self, mss: u64) {
        if let Some(fast) = self.under_way() {
            fast.window += mss;
        }
    }

    /// RFC 6582 section 3.2 step 5, partial acknowledgement: the window shrinks by what was acknowledged, but for one
    /// segment.
    pub(super) fn deflate(&mut self, acked: Bytes, mss: Bytes) {
        if let Some(fast) = self.under_way() {
            fast.window = fast.window.saturating_sub(acked.0) + if acked >= mss { mss.0 } else { 0 };
        }
    }

    /// The congestion control has a window of its own for the rest of the recovery.
    pub(super) fn set_window(&mut self, window: u64) {
        if let Some(fast) = self.under_way() {
            fast.window = window;
        }
    }

    /// The oldest segment leaves again, whatever the window says.
    pub(super) fn force(&mut self) {
        self.forced = true;
    }

    #[inline]
    pub(super) fn is_forced(&self) -> bool {
        self.forced
    }

    #[inline]
    pub(super) fn take_forced(&mut self) -> bool {
        std::mem::take(&mut self.forced)
    }

    /// An ACK has advanced in a fast recovery that goes by partial ACKs, or (`partial` false) in any other state.
    /// Returns true if it is not the first partial ACK of the recovery.
    #[inline]
    pub(super) fn note_partial(&mut self, partial: bool) -> bool {
        let seen = partial && self.partial_seen;
        self.partial_seen = partial;
        seen
    }

    /// A timeout: data outstanding below `nxt` belongs to the episode.
    pub(super) fn on_timeout(&mut self, nxt: Seq) {
        self.phase = Phase::Loss;
        self.until = Some(nxt);
        self.forced = true;
    }

    /// The episode ends.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Open;
        self.forced = false;
    }

    /// The time after a timeout is over; a retransmission that is due still leaves.
    pub(super) fn end_loss(&mut self) {
        debug_assert_eq!(self.phase, Phase::Loss);
        self.phase = Phase::Open;
    }

    /// The reduction by the present episode, or the last one.
    #[inline]
    pub(super) fn undo(&mut self) -> Option<&mut Undo> {
        self.undo.as_deref_mut()
    }

    /// Segments deemed lost have probably arrived: none is sent again for the moment.
    pub(super) fn holds_back(&self) -> bool {
        self.phase == Phase::Recovery && self.undo.as_deref().is_some_and(Undo::holds)
    }

    pub(super) fn undo_or_insert(&mut self, nothing: Undo) -> &mut Undo {
        self.undo.get_or_insert_with(|| Box::new(nothing))
    }

    /// The timeout was needless: as if there had been no episode.
    pub(super) fn forget(&mut self) {
        self.end();
        self.until = None;
    }

    /// A segment that ends at `end` was retransmitted.
    #[inline]
    pub(super) fn resent(&mut self, end: Seq) {
        if let Some(fast) = self.under_way() {
            fast.high_rxt = fast.high_rxt.max(end);
        }
    }

    /// RFC 6675 NextSeg rules 3 and 4: with nothing better to send, a hole that is not yet deemed lost, or once per
    /// recovery the last segment. The rescue does not move HighRxt.
    pub(super) fn next_hole(&mut self, board: &Scoreboard, una: Seq) -> Option<(Sent, HoleKind)> {
        let fast = self.under_way()?;
        if let Some(hole) = board.next_hole(fast.high_rxt) {
            return Some((hole, HoleKind::Hole));
        }
        let last = board.back().copied().filter(|s| !s.sacked && !s.in_flight_again)?;
        if fast.rescue_rxt.is_none_or(|rescue| una <= rescue) {
            return None;
        }
        // Once per recovery: that ends when the recovery point is acknowledged.
        fast.rescue_rxt = None;
        Some((last, HoleKind::Rescue))
    }
}

/// Which rule of RFC 6675 chose a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoleKind {
    /// Rule 3.
    Hole,
    /// Rule 4.
    Rescue,
}
