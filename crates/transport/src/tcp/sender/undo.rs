//! A reduction of the window that proves needless is taken back, as in Linux: nothing was lost, it was late.
//!
//! Source: Linux 6.x, net/ipv4/tcp_input.c (`tcp_init_undo`, `tcp_may_undo`, `tcp_try_undo_loss`, `tcp_try_undo_partial`,
//! `tcp_try_undo_recovery`, `tcp_try_undo_dsack`, `tcp_undo_cwnd_reduction`). Two signs show it: an ACK of new data echoes a
//! time before the first retransmission of the episode (Eifel, RFC 3522 and 4015), or each retransmission was reported as a
//! duplicate (DSACK, RFC 3708).
//! Not modelled: F-RTO (RFC 5682), which shows a needless timeout where there are no timestamps.

use units::{Bytes, SimTime};

use super::Sender;
use super::recovery::Phase;
use crate::config::UndoRule;
use crate::seq::Seq;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

/// The reduction by the present loss episode, or the last one, and the fate of its retransmissions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// snd_una when the window was reduced; `None`: there is nothing to take back.
    marker: Option<Seq>,
    /// Congestion window and slow-start threshold before.
    before: (Bytes, Bytes),
    /// First retransmission of the episode; `NEVER`: none yet.
    resent_at: SimTime,
    /// Retransmissions that were not reported as duplicates; `None` before the first.
    unreported: Option<u64>,
    /// The last ACK answers an original while retransmissions are in flight: nothing is sent again until they have arrived.
    holds: bool,
}

impl Undo {
    const NOTHING: Self = Self {
        marker: None,
        before: (Bytes::ZERO, Bytes::ZERO),
        resent_at: SimTime::NEVER,
        unreported: None,
        holds: false,
    };

    /// The window is reduced. `again`: segments whose retransmissions are in flight, of an earlier episode or a probe, and when the
    /// oldest of these left. An answer to them is none to an original (`tcp_any_retrans_done` keeps `retrans_stamp`).
    fn arm(&mut self, una: Seq, before: (Bytes, Bytes), (again, oldest): (u64, SimTime)) {
        let resent_at = if again > 0 { self.resent_at.min(oldest) } else { SimTime::NEVER };
        *self = Self {
            marker: Some(una),
            before,
            resent_at,
            unreported: (again > 0).then_some(again),
            holds: false,
        };
    }

    fn resent(&mut self, now: SimTime) {
        self.resent_at = self.resent_at.min(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// The peer had `duplicate` already, of `segments` segments; `una` was snd_una before this ACK.
    fn reported(&mut self, duplicate: Range<Seq>, segments: u64, una: Seq) {
        let concerned = self.marker.is_some_and(|marker| marker < duplicate.end) && duplicate.end <= una;
        if let Some(unreported) = self.unreported.as_mut().filter(|_| concerned) {
            *unreported = unreported.saturating_sub(segments);
        }
    }

    /// Nothing is sent again for the moment.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// The ACK answers what was sent before the first retransmission.
    fn answers_original(&self, segment: &TcpSegment) -> bool {
        let echo = segment.timestamps.map_or(SimTime::NEVER, |t| t.echo);
        self.marker.is_some() && !self.resent_at.is_never() && echo < self.resent_at
    }

    /// All retransmissions were duplicates.
    fn all_reported(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }
}

impl Sender {
    /// The window is about to be reduced.
    pub(super) fn remember_window(&mut self) {
        if self.config.recovery.undo_rule == UndoRule::Never
            || self.congestion.capabilities().needs.whole_window
        {
            return;
        }
        let (cwnd, ssthresh) = (self.congestion.cwnd(), self.congestion.ssthresh());
        // `tcp_current_ssthresh`
        let before = (Bytes(cwnd), Bytes(ssthresh.max(cwnd / 2 + cwnd / 4)));
        let again = (self.board.segments_in_flight_again(), self.board.oldest_retransmission());
        self.recovery.undo_or_insert(Undo::NOTHING).arm(self.send.una(), before, again);
    }

    /// A timeout begins an episode of its own unless a fast recovery, or a timeout before it, goes on.
    pub(super) fn remember_window_of_timeout(&mut self) {
        let goes_on = match self.recovery.phase() {
            Phase::Open => false,
            Phase::Recovery => !self.recovery.is_over(self.send.una()),
            Phase::Loss => self.timer.timeouts() > 0,
        };
        if !goes_on {
            self.remember_window();
        }
    }

    /// A segment is sent again at `now`. A probe of the tail counts when an episode begins while it is in flight.
    pub(super) fn note_resent(&mut self, now: SimTime) {
        if !self.recovery.is_open()
            && let Some(undo) = self.recovery.undo()
        {
            undo.resent(now);
        }
    }

    /// The peer has reported `duplicate` (RFC 2883), before the ACK is taken in.
    pub(super) fn note_duplicate(&mut self, duplicate: Range<Seq>) {
        let (una, mss) = (self.send.una(), self.send.mss());
        if let Some(undo) = self.recovery.undo() {
            undo.reported(duplicate, duplicate.len().div_ceil(mss), una);
        }
    }

    /// The ACK may show that the last reduction was needless: then the window is again what it was, and what was deemed lost
    /// is in flight. Returns true if that ends a fast recovery: then this ACK shows no loss.
    pub(super) fn take_back_reduction(&mut self, segment: &TcpSegment, advanced: bool) -> bool {
        let again = self.board.segments_in_flight_again();
        let over = self.recovery.is_over(self.send.una());
        let phase = self.recovery.phase();
        let Some(undo) = self.recovery.undo() else { return false };
        let (answers, reported) = (advanced && undo.answers_original(segment), undo.all_reported());
        undo.holds = phase == Phase::Recovery && !over && answers && again > 0;
        match phase {
            Phase::Loss if advanced && (answers || reported) => self.resume(),
            Phase::Recovery if !over && answers && again == 0 => {
                self.resume();
                return true;
            }
            Phase::Recovery if (over && answers) || reported => self.restore_window(),
            Phase::Open if reported => self.restore_window(),
            _ => {}
        }
        false
    }

    /// The episode is over, without losses.
    fn resume(&mut self) {
        self.board.forget_losses();
        self.restore_window();
        self.recovery.end();
    }

    /// `tcp_undo_cwnd_reduction`
    fn restore_window(&mut self) {
        let Some(undo) = self.recovery.undo() else { return };
        let (cwnd, ssthresh) = undo.before;
        undo.marker = None;
        let threshold = (ssthresh.0 > self.congestion.ssthresh()).then_some(ssthresh);
        self.congestion.set_window(cwnd.max(Bytes(self.congestion.cwnd())), threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Timestamps;

    const BEFORE: (Bytes, Bytes) = (Bytes(14_600), Bytes::MAX);

    fn answer(echo: u64) -> TcpSegment {
        let timestamps = Timestamps { value: SimTime::from_millis(900), echo: SimTime::from_millis(echo) };
        TcpSegment { timestamps: Some(timestamps), ..TcpSegment::default() }
    }

    fn armed(again: u64) -> Undo {
        let mut undo = Undo::NOTHING;
        undo.arm(Seq(1), BEFORE, (0, SimTime::NEVER));
        undo.resent(SimTime::from_millis(300));
        undo.arm(Seq(5000), BEFORE, (again, SimTime::from_millis(350)));
        undo.resent(SimTime::from_millis(500));
        undo
    }

    #[test]
    fn the_echo_of_an_original_is_older_than_the_first_retransmission() {
        let undo = armed(0);
        assert!(undo.answers_original(&answer(499)) && !undo.answers_original(&answer(500)));
        assert!(!Undo::NOTHING.answers_original(&answer(1)), "there is no reduction");
        assert!(!undo.answers_original(&TcpSegment::default()), "without timestamps nothing is known");
    }

    /// A retransmission of the episode before was in flight when the window was reduced: its answer is none to an original.
    #[test]
    fn a_retransmission_of_the_episode_before_is_no_original() {
        let undo = armed(1);
        assert!(!undo.answers_original(&answer(300)) && undo.answers_original(&answer(299)));
        let mut probed = Undo::NOTHING;
        probed.arm(Seq(1), BEFORE, (1, SimTime::from_millis(200)));
        assert!(!probed.answers_original(&answer(200)) && probed.answers_original(&answer(199)));
    }

    #[test]
    fn duplicates_count_that_lie_in_what_was_reduced_for() {
        let mut undo = armed(1);
        undo.reported(Range::new(Seq(4000), Seq(5000)), 1, Seq(9000));
        undo.reported(Range::new(Seq(8000), Seq(9001)), 1, Seq(9000));
        undo.reported(Range::new(Seq(5000), Seq(6000)), 1, Seq(9000));
        assert!(!undo.all_reported(), "one below, one that is not acknowledged, one of two");
        undo.reported(Range::new(Seq(6000), Seq(7000)), 1, Seq(9000));
        assert!(undo.all_reported());
    }
}
