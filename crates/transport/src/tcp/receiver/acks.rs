//! When to acknowledge (RFC 5681 section 4.2): every few segments, after a delay, a few times per round trip, or at once.

use units::{Nanos, SimTime};

use super::pushed::Pushed;
use crate::config::AckConfig;
use crate::tcp::segment::TcpSegment;

/// Is an acknowledgement owed, and by when at the latest? Kept as that time, since each segment asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) struct Owed(SimTime);

impl Owed {
    /// None.
    pub(super) const NOTHING: Self = Self(SimTime::NEVER);
    /// At once.
    pub(super) const NOW: Self = Self(SimTime::ZERO);

    /// By `at`.
    pub(super) const fn by(at: SimTime) -> Self {
        Self(at)
    }
}

/// The acknowledgements of a receiver.
#[derive(Clone, Debug)]
pub(super) struct AckSchedule {
    config: AckConfig,
    owed: Owed,
    /// Data segments since the last acknowledgement.
    unacknowledged: u32,
    /// Segments that are still acknowledged one by one, at the beginning.
    quick: u32,
    /// For acknowledgements and reports by round trips: the smallest sample, since echoes grow old during losses.
    round_trip: Option<Nanos>,
    /// When the last one left, alone or with data.
    last_at: SimTime,
    /// Segments that ended what their sender had, where they matter.
    pushed: Option<Pushed>,
}

impl AckSchedule {
    /// Nothing received. `subflow`: of a connection of several.
    pub(super) fn new(config: AckConfig, subflow: bool) -> Self {
        Self {
            config,
            owed: Owed::NOTHING,
            unacknowledged: 0,
            quick: config.quick,
            round_trip: None,
            last_at: SimTime::ZERO,
            pushed: Pushed::new(config.pushed, subflow),
        }
    }

    /// The peer is a plain one: acknowledges as `config` says.
    pub(super) fn fall_back(&mut self, config: AckConfig) {
        self.config = config;
    }

    #[inline]
    pub(super) fn owed(&self) -> Owed {
        self.owed
    }

    /// It works by the round-trip time and wants to be told it.
    #[inline]
    pub(super) fn goes_by_round_trips(&self) -> bool {
        self.config.per_round_trip > 0
    }

    /// A round-trip time as this end sees it.
    pub(super) fn note_round_trip(&mut self, sample: Nanos) {
        self.round_trip = Some(self.round_trip.map_or(sample, |known| known.min(sample)));
    }

    /// The smallest round-trip time noted.
    pub(super) fn round_trip(&self) -> Option<Nanos> {
        self.round_trip
    }

    /// When the next of the acknowledgements per round trip is due; `None` if they are not sent like that, or the
    /// round trip is not known yet.
    #[inline]
    pub(super) fn next_in_rhythm(&self) -> Option<SimTime> {
        let times = u64::from(self.config.per_round_trip);
        let round_trip = self.round_trip.filter(|_| times > 0 && self.quick == 0)?;
        Some(self.last_at + round_trip / times)
    }

    /// An acknowledgement must leave at once.
    #[inline]
    pub(super) fn at_once(&mut self) {
        self.owed = Owed::NOW;
    }

    /// The window opens with a segment: acknowledged at once, as in Linux (`quick |= 1` in `tcp_grow_window`), where of the
    /// first segments only every second one is counted then.
    #[inline]
    pub(super) fn window_opened(&mut self) {
        self.owed = Owed::NOW;
        self.quick += self.quick & 1;
    }

    /// The ACK that is owed was decided elsewhere.
    #[inline]
    pub(super) fn decide(&mut self, owed: Owed) {
        self.owed = owed;
    }

    /// A segment has arrived in order, and nothing is missing. `fin`: the end of the stream is known.
    #[inline(always)]
    pub(super) fn data_arrived(&mut self, now: SimTime, segment: &TcpSegment, fin: bool) {
        self.unacknowledged += 1;
        if let Some(pushed) = &mut self.pushed {
            pushed.on_data(now, segment);
        }
        if self.quick > 0 {
            self.quick -= 1;
            self.owed = Owed::NOW;
        } else if let Some(at) = self.next_in_rhythm()
            && !fin
        {
            let at_once = self.owed == Owed::NOW || at <= now;
            self.owed = if at_once { Owed::NOW } else { Owed::by(at) };
        } else if self.unacknowledged >= self.config.every || fin {
            self.owed = Owed::NOW;
        } else if self.owed == Owed::NOTHING {
            self.owed = Owed::by(now + self.config.delay);
        }
        self.check(now);
    }

    /// A segment leaves, and acknowledges everything.
    #[inline]
    pub(super) fn acknowledged(&mut self, now: SimTime) {
        if let Some(pushed) = &mut self.pushed {
            pushed.acknowledged(self.owed > Owed::NOW && self.owed <= Owed::by(now));
        }
        self.owed = Owed::NOTHING;
        self.unacknowledged = 0;
    }

    /// Everything is read.
    #[inline]
    pub(super) fn everything_is_read(&mut self) {
        if self.awaits_read() {
            self.owed = Owed::NOW;
        }
    }

    /// An ACK is held back, and leaves as soon as everything is read.
    #[inline]
    pub(super) fn awaits_read(&self) -> bool {
        self.owed != Owed::NOTHING && self.pushed.as_ref().is_some_and(|pushed| pushed.is_due())
    }

    /// A segment with payload leaves.
    #[inline]
    pub(super) fn data_leaves(&mut self, now: SimTime) {
        if let Some(pushed) = &mut self.pushed {
            pushed.data_leaves(now, self.config.delay);
        }
    }

    /// The time for the rhythm: an acknowledgement leaves now.
    #[inline]
    pub(super) fn left(&mut self, now: SimTime) {
        debug_assert!(self.last_at <= now, "time goes back");
        self.last_at = now;
    }

    /// When an acknowledgement is due; `NEVER` if none is owed, zero if it is due at once.
    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.owed.0
    }

    #[inline]
    fn check(&self, now: SimTime) {
        debug_assert!(
            self.unacknowledged > 0 && self.owed != Owed::NOTHING,
            "data is acknowledged sooner or later"
        );
        debug_assert!(
            self.unacknowledged < self.config.every || self.goes_by_round_trips() || self.owed == Owed::NOW,
            "{} segments without an acknowledgement at {now}",
            self.unacknowledged
        );
    }
}
