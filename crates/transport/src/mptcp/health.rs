//! Whether a subflow gets data: what its timeouts and its silence say of the path.

use units::SimTime;

/// A subflow that was silent more often is stale (`stale_loss_cnt` of Linux).
pub(super) const STALE_LOSS_COUNT: u32 = 4;

/// How long a subflow with data outstanding has been silent, in expirations of the timer of the connection.
///
/// Source: Linux, `mptcp_pm_subflow_chk_stale` and `mptcp_pm_nl_subflow_chk_stale`.
#[derive(Clone, Copy, Debug, Default)]
struct Silence {
    /// Arrival of the latest segment.
    heard_at: SimTime,
    /// `heard_at` when the silence began.
    since: SimTime,
    /// Expirations without a segment in between.
    count: u32,
    stale: bool,
}

impl Silence {
    /// A segment has arrived.
    #[inline]
    fn end(&mut self, now: SimTime) {
        (self.heard_at, self.stale) = (now, false);
    }

    /// The timer has expired with data outstanding here. True if it has been silent for too long.
    fn note(&mut self) -> bool {
        if self.count == 0 {
            (self.since, self.count) = (self.heard_at, 1);
            return false;
        }
        if self.since != self.heard_at {
            self.count = 0;
            return false;
        }
        self.count = self.count.saturating_add(1);
        !self.stale && self.count > STALE_LOSS_COUNT
    }
}

/// State of the path of a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Health {
    /// A timeout that no progress has followed: other subflows carry its data.
    potentially_failed: bool,
    /// Its outstanding data has been queued for reinjection since it last made progress.
    reinjected: bool,
    silence: Silence,
}

impl Health {
    /// A segment has arrived; `progress`: it acknowledges new bytes.
    #[inline]
    pub(super) fn on_segment(&mut self, now: SimTime, progress: bool) {
        debug_assert!(self.silence.heard_at <= now, "segments arrive in the order of time");
        self.silence.end(now);
        if progress {
            (self.potentially_failed, self.reinjected) = (false, false);
        }
        self.check();
    }

    /// Its retransmission timer has expired.
    pub(super) fn timed_out(&mut self) {
        self.potentially_failed = true;
    }

    /// Its outstanding data is queued for reinjection.
    pub(super) fn note_reinjection(&mut self) {
        self.reinjected = true;
    }

    /// The timer of the connection has expired with data outstanding here. True if it has been silent for too long.
    pub(super) fn note_silence(&mut self) -> bool {
        let too_long = self.silence.note();
        self.check();
        too_long
    }

    /// It gets no data until a segment arrives.
    pub(super) fn set_stale(&mut self) {
        self.silence.stale = true;
        self.check();
    }

    /// It may get data.
    #[inline]
    pub(super) fn is_well(&self) -> bool {
        !self.potentially_failed && !self.silence.stale
    }

    /// A timeout that no progress has followed.
    #[inline]
    pub(super) fn is_potentially_failed(&self) -> bool {
        self.potentially_failed
    }

    /// Its outstanding data has been queued for reinjection since it last made progress.
    pub(super) fn was_reinjected(&self) -> bool {
        self.reinjected
    }

    /// Expirations of the timer of the connection without a segment in between.
    pub(super) fn silences(&self) -> u32 {
        self.silence.count
    }

    fn check(&self) {
        let Silence { heard_at, since, count, stale } = self.silence;
        debug_assert!(!stale || count > STALE_LOSS_COUNT, "stale after {count} silences");
        debug_assert!(count == 0 || since <= heard_at, "a silence begins with a segment");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subflow_is_stale_after_more_than_four_silences_until_a_segment_arrives() {
        let mut silence = Silence::default();
        silence.end(SimTime::from_millis(10));
        let noted: Vec<bool> = (0..6).map(|_| silence.note()).collect();
        assert_eq!(noted, [false, false, false, false, true, true]);
        silence.stale = true;
        assert!(!silence.note(), "once is enough");
        silence.end(SimTime::from_millis(20));
        assert!(
            !silence.stale && silence.count == 7,
            "the timer of the connection passes over it until it ends"
        );
        assert!(!silence.note() && silence.count == 0, "a segment has arrived in between");
        silence.note();
        silence.end(SimTime::from_millis(30));
        silence.note();
        assert_eq!(silence.count, 0, "a segment has arrived in between");
    }

    #[test]
    fn progress_makes_a_failed_subflow_well() {
        let mut health = Health::default();
        health.timed_out();
        health.note_reinjection();
        health.on_segment(SimTime::from_millis(1), false);
        assert!(!health.is_well() && health.was_reinjected(), "a segment alone is no progress");
        health.on_segment(SimTime::from_millis(2), true);
        assert!(health.is_well() && !health.was_reinjected());
    }
}
