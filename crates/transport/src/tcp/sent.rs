//! A transmitted segment, and what an ACK changes of a scoreboard.

use units::SimTime;

use super::counted::Tally;
use super::ranges::Range;
use crate::mptcp::option::{Mapped, Margin};
use crate::seq::{Dsn, Seq};

/// One transmitted segment that is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First sequence number.
    pub seq: Seq,
    /// Sequence numbers occupied.
    pub len: u32,
    /// It is a FIN (without data).
    pub fin: bool,
    /// Data sequence number of its first byte; its mapping never changes.
    pub dsn: Dsn,
    /// More that the mapping covers.
    pub margin: Margin,
    /// Last transmission.
    pub sent_at: SimTime,
    /// Selectively acknowledged.
    pub sacked: bool,
    /// Deemed lost; a retransmission of it may be on its way.
    pub lost: bool,
    /// A retransmission is in the network.
    pub in_flight_again: bool,
    /// Was retransmitted at least once: gives no round-trip sample without timestamps (Karn).
    pub retransmitted: bool,
}

impl Sent {
    /// A segment that leaves for the first time, with `len` sequence numbers; `fin`: it is a FIN.
    #[inline]
    pub fn new(seq: Seq, (len, fin): (u32, bool), Mapped { dsn, margin }: Mapped, now: SimTime) -> Self {
        Self {
            seq,
            len,
            fin,
            dsn,
            margin,
            sent_at: now,
            sacked: false,
            lost: false,
            in_flight_again: false,
            retransmitted: false,
        }
    }

    /// Sequence number after it.
    #[inline]
    pub fn end(&self) -> Seq {
        Seq(self.seq.0 + u64::from(self.len))
    }

    pub(super) fn mapped(&self) -> Mapped {
        Mapped { dsn: self.dsn, margin: self.margin }
    }

    /// Removes the part below `una` and returns its length.
    #[inline]
    pub(super) fn cut(&mut self, una: Seq) -> u64 {
        let cut = una - self.seq;
        self.seq = una;
        self.len -= cut.0 as u32;
        self.dsn += cut;
        // A mapping has at most 64 KiB. Plain TCP may have longer segments, and none.
        self.margin.before = self.margin.before.wrapping_add(cut.0 as u16);
        cut.0
    }

    pub(super) fn range(&self) -> Range<Seq> {
        Range::new(self.seq, self.end())
    }
}

/// A segment that an ACK has just delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Sequence number after it.
    pub end: Seq,
    /// Its last transmission.
    pub sent_at: SimTime,
    /// Was it ever retransmitted?
    pub retransmitted: bool,
}

/// Changes by an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Bytes newly covered by the cumulative ACK.
    pub acked: u64,
    /// Newly delivered, cumulatively or selectively.
    pub delivered: Tally,
    /// Bytes newly SACKed.
    pub sacked: u64,
    /// Transmission time of the oldest segment newly acknowledged, if none of them was retransmitted.
    pub oldest_clean: Option<SimTime>,
    /// The delivered segment that was sent last.
    pub latest: Option<Delivered>,
    /// The same without retransmissions whose original has arrived, as `echo` shows.
    pub latest_proved: Option<Delivered>,
    /// The timestamp that a cumulative ACK echoes. One that only SACKs echoes what arrived before the hole.
    pub echo: Option<SimTime>,
    /// Smallest end of a delivered segment that was never retransmitted: below the highest end delivered
    /// before, it shows reordering.
    pub lowest_clean: Option<Seq>,
    /// Largest end of a delivered segment.
    pub highest: Seq,
}

impl Change {
    /// `segment`, of which `part` counts, has arrived.
    pub(super) fn deliver(&mut self, segment: &Sent, part: Tally) {
        self.delivered += part;
        let candidate =
            Delivered { end: segment.end(), sent_at: segment.sent_at, retransmitted: segment.retransmitted };
        self.highest = self.highest.max(candidate.end);
        if !segment.retransmitted {
            self.lowest_clean = Some(self.lowest_clean.map_or(candidate.end, |l| l.min(candidate.end)));
        }
        let newer = |than: Option<Delivered>| {
            than.is_none_or(|l| (l.sent_at, l.end) < (candidate.sent_at, candidate.end))
        };
        let needless = segment.retransmitted && self.echo.is_some_and(|echo| echo < segment.sent_at);
        if !needless && newer(self.latest_proved) {
            self.latest_proved = Some(candidate);
        }
        if newer(self.latest) {
            self.latest = Some(candidate);
        }
    }
}

/// Segments covered by an ACK while nothing was lost, SACKed or retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct CleanAck {
    /// When the oldest segment left of those that are acknowledged as a whole; `NEVER` if none is.
    pub oldest_sent_at: SimTime,
    /// When the newest left.
    pub newest_sent_at: SimTime,
}
