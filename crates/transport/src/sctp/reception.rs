//! TSNs that have arrived, and when they are acknowledged (RFC 9260 sections 6.2 and 6.7).
//!
//! May: tell news from duplicates, and say when a SACK is due. May not: know streams or messages.

use units::{Nanos, SimTime};

use crate::packet::PathId;
use crate::sctp::config::{EagerSack, SackConfig, ticked};
use crate::sctp::gaps::GapBlocks;
use crate::sctp::tsn::Tsn;
use crate::tcp::ranges::{Range, RangeSet};

/// TSNs that have arrived.
#[derive(Clone, Debug, Default)]
pub struct ReceptionMap {
    /// The first TSN that has not arrived.
    next: Tsn,
    above: RangeSet<Tsn>,
    /// Duplicates since the last SACK.
    duplicates: u16,
}

impl ReceptionMap {
    /// The first TSN that has not arrived.
    pub fn next(&self) -> Tsn {
        self.next
    }

    /// Something is missing before what has arrived.
    pub fn has_gap(&self) -> bool {
        !self.above.is_empty()
    }

    /// TSN after the highest that has arrived.
    pub fn end(&self) -> Tsn {
        self.next.max(self.above.end())
    }

    /// The TSN has arrived before.
    pub fn contains(&self, tsn: Tsn) -> bool {
        tsn < self.next || self.above.find(tsn).is_some()
    }

    /// A TSN arrives. False if it has before.
    pub fn insert(&mut self, tsn: Tsn) -> bool {
        if self.contains(tsn) {
            self.duplicates = self.duplicates.saturating_add(1);
            return false;
        }
        if tsn == self.next {
            self.next = self.above.take_from(tsn.next());
        } else {
            self.above.insert(Range::new(tsn, tsn.next()));
        }
        self.check();
        true
    }

    /// Gap blocks for a SACK; as many as a packet has room for if there is a place for `more` of them.
    pub fn gaps(&self, more: Option<&mut [u8]>) -> GapBlocks {
        match more {
            Some(more) => GapBlocks::many(self.next, &self.above, more),
            None => GapBlocks::new(self.next, &self.above),
        }
    }

    /// Duplicates since this was asked last.
    pub fn take_duplicates(&mut self) -> u16 {
        std::mem::take(&mut self.duplicates)
    }

    fn check(&self) {
        debug_assert!(
            self.above.iter().next().is_none_or(|block| block.start > self.next),
            "what has arrived in order lies above a gap"
        );
    }
}

/// When a SACK is due, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct SackTimer {
    config: SackConfig,
    /// Packets with DATA since the last SACK.
    packets: u32,
    /// No DATA has come.
    untouched: bool,
    /// A SACK is due now.
    at_once: bool,
    /// A delayed SACK is due at this time; `NEVER` without one.
    due: SimTime,
    /// The path by which DATA came last: a SACK goes back there.
    path: PathId,
    /// Timers know multiples of it.
    tick: Nanos,
}

impl SackTimer {
    /// Nothing has arrived.
    pub fn new(config: SackConfig, tick: Nanos) -> Self {
        let (due, path) = (SimTime::NEVER, PathId::FIRST);
        Self { config, packets: 0, untouched: true, at_once: false, due, path, tick }
    }

    /// A packet with DATA has arrived; `urgent`: it is to be acknowledged without delay.
    pub fn on_packet(&mut self, now: SimTime, path: PathId, urgent: bool) {
        self.path = path;
        self.packets += 1;
        // RFC 9260 section 5.1: the first DATA chunk is acknowledged immediately.
        let first = std::mem::take(&mut self.untouched) && self.config.eager != EagerSack::Never;
        // RFC 9260 section 6.2: packets are counted, not chunks.
        if urgent || first || self.packets >= self.config.every {
            self.at_once = true;
        }
        self.due = self.due.min(ticked(now, self.tick) + self.config.delay);
        self.check();
    }

    /// Another packet leaves.
    pub fn on_departure(&mut self) {
        self.at_once |= self.config.eager == EagerSack::WithDepartures && self.is_pending();
    }

    /// A SACK leaves at once, though no DATA has come: the window has opened.
    pub fn hurry(&mut self) {
        self.at_once = true;
    }

    /// The deadline has come.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.at_once |= self.due <= now;
    }

    /// A SACK is due now.
    pub fn is_due(&self) -> bool {
        self.at_once
    }

    /// A SACK is due now or later: a packet that leaves by its path carries it.
    pub fn is_pending(&self) -> bool {
        self.at_once || !self.due.is_never()
    }

    /// When it is due; `NEVER` without one.
    pub fn due(&self) -> SimTime {
        self.due
    }

    /// The path on which it leaves.
    pub fn path(&self) -> PathId {
        self.path
    }

    /// A SACK leaves. Returns how many packets it acknowledges.
    pub fn take(&mut self) -> u32 {
        (self.at_once, self.due) = (false, SimTime::NEVER);
        let packets = std::mem::take(&mut self.packets);
        self.check();
        packets
    }

    fn check(&self) {
        debug_assert!(self.packets == 0 || self.is_pending(), "DATA that is never acknowledged");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_close_and_duplicates_are_counted() {
        let mut map = ReceptionMap::default();
        for (tsn, news) in [(1, true), (3, true), (1, false), (0, true), (0, false)] {
            assert_eq!(map.insert(Tsn(tsn)), news, "{tsn}");
        }
        assert_eq!((map.next(), map.end(), map.has_gap()), (Tsn(2), Tsn(4), true));
        assert_eq!(map.gaps(None).blocks(map.next(), &[]).collect::<Vec<_>>(), [Range::new(Tsn(3), Tsn(4))]);
        assert_eq!((map.take_duplicates(), map.take_duplicates()), (2, 0));
        assert!(map.insert(Tsn(2)) && !map.has_gap());
    }

    #[test]
    fn every_second_packet_or_after_the_delay() {
        let delay = Nanos::from_millis(200);
        let new =
            |eager| SackTimer::new(SackConfig { every: 2, eager, delay, non_renegable: false }, Nanos(1));
        let mut timer = new(EagerSack::Never);
        timer.on_packet(SimTime::from_millis(5), PathId(1), false);
        assert_eq!(
            (timer.is_due(), timer.due(), timer.path()),
            (false, SimTime::from_millis(205), PathId(1))
        );
        timer.on_packet(SimTime::from_millis(9), PathId(0), false);
        assert!(timer.is_due());
        assert_eq!((timer.take(), timer.is_pending()), (2, false));
        timer.on_packet(SimTime::from_millis(10), PathId(0), false);
        timer.on_timeout(SimTime::from_millis(209));
        assert!(!timer.is_due());
        timer.on_timeout(SimTime::from_millis(210));
        assert!(timer.is_due());
    }

    #[test]
    fn the_first_packet_is_acknowledged_at_once_and_others_when_a_packet_leaves() {
        let delay = Nanos::from_millis(200);
        for (eager, departs) in [(EagerSack::First, false), (EagerSack::WithDepartures, true)] {
            let mut timer =
                SackTimer::new(SackConfig { every: 2, eager, delay, non_renegable: false }, Nanos(1));
            timer.on_packet(SimTime::ZERO, PathId(0), false);
            assert_eq!((timer.is_due(), timer.take()), (true, 1));
            timer.on_packet(SimTime::ZERO, PathId(0), false);
            assert!(!timer.is_due());
            timer.on_departure();
            assert_eq!(timer.is_due(), departs);
            assert_eq!(timer.take(), 1);
            timer.on_departure();
            assert!(!timer.is_pending(), "nothing waits");
        }
    }
}
